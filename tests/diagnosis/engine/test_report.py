"""A fix in the log's own terms: the node and the pod that failed first, where it tells them."""

from __future__ import annotations

from diagnosis.engine import Compiled, LogFile, diagnose
from diagnosis.engine.masking import mask
from tests.diagnosis.conftest import case_log
from tests.diagnosis.engine.logs import verdict_on

FALLEN_OFF = (
    "kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
)
BACK_OFF = "31m  Warning  BackOff  pod/gpt-mini-2  Back-off restarting failed container trainer"


def test_node_of_a_command_is_the_host_that_failed_first(compiled: Compiled) -> None:
    fix = verdict_on(compiled, f"Nov 30 06:20:17 gpu-a-017 {FALLEN_OFF}").fix
    assert "nodename='gpu-a-017'" in fix.command


def test_host_that_was_masked_stands_in_the_command_as_in_the_sentence(compiled: Compiled) -> None:
    masked = mask([LogFile("log.txt", case_log("lab-oom-monitor-ray2"))])
    fix = diagnose(masked.logs, compiled).fix
    assert "node <ip-1>" in fix.summary
    assert "-ip '<ip-1>'" in fix.verify


def test_pod_of_a_command_is_the_one_that_the_line_is_of(compiled: Compiled) -> None:
    assert "kubectl get pod 'gpt-mini-2'" in verdict_on(compiled, BACK_OFF).fix.verify


def test_name_of_a_pod_is_not_taken_for_its_node(compiled: Compiled) -> None:
    line = f"[pod/gpt-mini-2/trainer] Nov 30 06:20:17 gpt-mini-2 {FALLEN_OFF}"
    assert "nodename='<node>'" in verdict_on(compiled, line).fix.command
