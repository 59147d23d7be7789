import pytest

from diagnosis.engine import Compiled, LogFile, diagnose
from tests.diagnosis.engine.logs import steps, verdict_on

BEGINNING = "INFO:root:reading the data set, which takes a moment\nINFO:root:building the model"

RUST = """\
thread 'main' panicked at src/main.rs:12:5:
index out of bounds: the len is 3

note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"""
GO = """\
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
\t/src/main.go:9 +0x1d
exit status 2"""
JAVA = """\
Exception in thread "main" java.lang.NoClassDefFoundError: org/apache/Conf
\tat org.apache.Tool.main(Tool.java:9)
\t... 1 more"""


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (
            "usage: train.py [-h] [--lr LR]\ntrain.py: error: argument --lr: invalid value: 'x'",
            "argument --lr: invalid value: 'x'",
        ),
        (
            "Usage: run [OPTIONS]\nTry 'run --help' for help.\n\nError: No such option: --foo",
            "No such option: --foo",
        ),
        ("/opt/run.sh: line 12: module: command not found", "line 12: module: command not found"),
        (
            RUST,
            "panicked at src/main.rs:12:5: index out of bounds: the len is 3",
        ),
        (
            GO,
            "runtime error: index out of range [3] with length 3",
        ),
        (
            JAVA,
            "java.lang.NoClassDefFoundError: org/apache/Conf",
        ),
        ("F1130 06:02:14.000000 12 check.cc:33] Check failed: x == y", "Check failed: x == y"),
        ("[ERROR] the preset tiny is unknown", "the preset tiny is unknown"),
        ("2026-11-30 06:02:14,119 ERROR server: the port is taken", "the port is taken"),
    ],
)
def test_error_with_which_a_log_ends_is_told(compiled: Compiled, ending: str, said: str) -> None:
    verdict = verdict_on(compiled, BEGINNING, ending)

    assert verdict.outcome == "unrecognised"
    assert verdict.primary is not None
    assert verdict.primary.summary.startswith(f"The log ends with an error: {said}")
    assert verdict.primary.confidence == "low"
    assert verdict.primary.evidence
    assert verdict.fix is not None
    assert "what that line says" in verdict.fix.summary


@pytest.mark.parametrize(
    "ending",
    [
        "error: 0.021",
        "Error rate: 3.1%",
        "ERROR: mean = 0.4",
        "errors: none, as far as was seen",
        "INFO: an error was not seen",
    ],
)
def test_what_is_measured_is_no_error(compiled: Compiled, ending: str) -> None:
    assert verdict_on(compiled, BEGINNING, ending).outcome == "no_failure"


@pytest.mark.parametrize(
    "behind", [steps(1, 2), "Successfully installed numpy-2.1", "training finished"]
)
def test_error_behind_which_work_goes_on_was_survived(compiled: Compiled, behind: str) -> None:
    verdict = verdict_on(compiled, BEGINNING, "ERROR: the metrics were not sent", behind)
    assert verdict.outcome == "no_failure"


def test_level_that_a_collector_gives_to_all_of_stderr_is_no_error(compiled: Compiled) -> None:
    log = "\n".join(f"2026-11-30 06:02:1{n} ERROR still reading part {n}" for n in range(9))
    assert verdict_on(compiled, log).outcome == "no_failure"


def test_error_far_above_the_end_is_no_last_word(compiled: Compiled) -> None:
    idle = "\n".join(f"INFO:root:waiting for work of queue {name}" for name in "abcdef")
    verdict = verdict_on(compiled, BEGINNING, "ERROR: the metrics were not sent", idle)
    assert verdict.outcome == "no_failure"


def test_whatever_else_is_heard_comes_before_last_words(compiled: Compiled) -> None:
    raised = "ValueError: batch of 3 does not divide by 2"
    verdict = verdict_on(compiled, BEGINNING, raised, "run.sh: error: the trainer has ended")
    assert verdict.primary is not None
    assert verdict.primary.summary.startswith(raised)


def test_last_words_of_any_file_are_heard(compiled: Compiled) -> None:
    quiet = LogFile("rank_0.log", f"{BEGINNING}\n".encode())
    loud = LogFile("rank_1.log", f"{BEGINNING}\nFATAL: no such preset\n".encode())
    verdict = diagnose([quiet, loud], compiled)
    assert verdict.primary is not None
    assert verdict.primary.evidence[0].file == "rank_1.log"
