"""A fix in the log's own terms: the node and the pod that failed first, where it tells them."""

from __future__ import annotations

from diagnosis.engine import Compiled, LogFile, diagnose
from diagnosis.engine.masking import mask
from diagnosis.engine.verdict import Verdict
from tests.diagnosis.conftest import case_log
from tests.diagnosis.engine.logs import verdict_on

FALLEN_OFF = (
    "kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
)
BACK_OFF = "31m  Warning  BackOff  pod/gpt-mini-2  Back-off restarting failed container trainer"


def fix_of(verdict: Verdict) -> tuple[str, str, str]:
    """Return summary, command and verify."""
    assert verdict.fix is not None
    return verdict.fix.summary, verdict.fix.command or "", verdict.fix.verify or ""


def test_node_of_a_command_is_the_host_that_failed_first(compiled: Compiled) -> None:
    _, command, _ = fix_of(verdict_on(compiled, f"Nov 30 06:20:17 gpu-a-017 {FALLEN_OFF}"))
    assert "nodename='gpu-a-017'" in command


def test_host_that_was_masked_stands_in_the_command_as_in_the_sentence(compiled: Compiled) -> None:
    masked = mask([LogFile("log.txt", case_log("lab-oom-monitor-ray2"))])
    summary, _, verify = fix_of(diagnose(masked.logs, compiled))
    assert "node <ip-1>" in summary
    assert "ssh '<ip-1>'" in verify


def test_pod_of_a_command_is_the_one_that_the_line_is_of(compiled: Compiled) -> None:
    _, _, verify = fix_of(verdict_on(compiled, BACK_OFF))
    assert "kubectl get pod 'gpt-mini-2'" in verify


def test_name_of_a_pod_is_not_taken_for_its_node(compiled: Compiled) -> None:
    line = f"[pod/gpt-mini-2/trainer] Nov 30 06:20:17 gpt-mini-2 {FALLEN_OFF}"
    _, command, _ = fix_of(verdict_on(compiled, line))
    assert "nodename='<node>'" in command
