from diagnosis.engine import Compiled, LogFile
from diagnosis.engine import log as logs
from diagnosis.engine.attempts import read_attempts
from tests.diagnosis.engine.logs import elastic_failed, elastic_summary, of_rank, steps


def starts(compiled: Compiled, *parts: str) -> list[int]:
    log = logs.read([LogFile("log.txt", "\n".join((*parts, "")).encode())], compiled)
    return [log.number(line) for line in read_attempts(log).starts.get(0, ())]


def test_work_after_a_failed_group_is_another_attempt(compiled: Compiled) -> None:
    assert starts(compiled, elastic_failed(0, 9000), steps(1, 9, rank=0)) == [1]
    assert starts(compiled, elastic_failed(0, 9000), of_rank(0, "KeyError: 'a'")) == [1]


def test_an_agent_that_gives_up_starts_no_attempt(compiled: Compiled) -> None:
    assert starts(compiled, elastic_failed(0, 9000), elastic_summary((0, 9000, 1))) == []


def test_a_log_that_ends_within_the_agent_s_own_traceback_has_one_attempt(
    compiled: Compiled,
) -> None:
    summary = elastic_summary((0, 9000, 1)).splitlines()
    launcher = '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/run.py", line 918'
    assert starts(compiled, elastic_failed(0, 9000), summary[0]) == []
    assert starts(compiled, elastic_failed(0, 9000), *summary[:2], launcher) == []


def test_ranks_of_another_node_that_work_on_are_no_restart(compiled: Compiled) -> None:
    """The one agent died with its ranks; the other's work and wait for half an hour more."""
    failed = f"1: {elastic_failed(3, 9011, -9)}"
    there = [f"0: {line}" for line in steps(4, 9).splitlines()]
    here = [f"1: {line}" for line in steps(4, 9).splitlines()]
    assert starts(compiled, failed, *there) == []
    assert starts(compiled, failed, *there, *here) == [1]
