import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import steps, traceback, verdict_on


def bar(step: int, seconds: int) -> str:
    return f" {step}%|#2   | {step}/100 [00:{seconds:02}<00:09, 9.1it/s]"


def test_a_bar_that_goes_on_shows_that_the_run_did(compiled: Compiled) -> None:
    fault = traceback("KeyError: 'optional'")
    bars = [bar(step, step) for step in range(12, 20)]
    assert verdict_on(compiled, bar(11, 11), fault, *bars).outcome == "no_failure"


def test_a_bar_that_is_only_drawn_again_shows_nothing(compiled: Compiled) -> None:
    fault = traceback("KeyError: 'optional'")
    bars = [bar(12, seconds) for seconds in range(12, 20)]
    verdict = verdict_on(compiled, bar(12, 11), fault, *bars)
    assert verdict.primary.failure.slug == "python-key-error"


def test_a_step_that_every_rank_prints_is_one_step(compiled: Compiled) -> None:
    lines = [steps(7, 7)] * 8
    verdict = verdict_on(compiled, steps(1, 6), traceback("KeyError: 'optional'"), *lines)
    assert verdict.primary.failure.slug == "python-key-error"


def test_what_tests_provoke_that_all_pass_was_meant(compiled: Compiled) -> None:
    error = traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    passed = "======================== 10 passed, 1 warning in 14.27s ========================"
    failed = "=================== 1 failed, 9 passed, 1 warning in 14.27s ===================="
    assert verdict_on(compiled, error, passed).outcome == "no_failure"
    assert verdict_on(compiled, error, failed).outcome == "established"


STALLED = "[1,0]<stderr>:HorovodBroadcast_dense_bias_Momentum_0 [missing ranks: 1]"


def test_a_rank_that_was_waited_for_has_come_once_another_works_on(compiled: Compiled) -> None:
    worked = [f"[1,0]<stderr>:INFO:tensorflow:loss = 0.1, step = {n} (0.9 sec)" for n in range(9)]
    assert verdict_on(compiled, STALLED).primary.rank == 1
    assert verdict_on(compiled, STALLED, *worked).outcome == "no_failure"


@pytest.mark.parametrize("fill", ["#######   ", "███████▏  ", "=======>..."])
def test_a_bar_without_a_rate_shows_work_too(compiled: Compiled, fill: str) -> None:
    bars = [f"train: {n}%|{fill}| {n}/100 loss=2.33" for n in range(70, 75)]
    fault = traceback("KeyError: 'optional'")
    assert verdict_on(compiled, fault, *bars).outcome == "no_failure"
    assert verdict_on(compiled, *bars, fault).outcome != "no_failure"


def test_to_have_done_all_epochs_is_the_end_that_was_wanted(compiled: Compiled) -> None:
    fault = traceback("KeyError: 'optional'")
    done = "2026-11-30 02:26:02,002 INFO all 2 epochs done, destroying process group"
    assert verdict_on(compiled, fault, done).outcome == "no_failure"


REFUSED = [
    traceback(
        "ValueError: This model's maximum context length is 8192 tokens. However, you "
        "requested 9158 tokens (8646 in the messages, 512 in the completion)."
    ),
    'INFO:     10.8.1.77:44911 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request',
]


def access(status: str, *, method: str = "POST", path: str = "/v1/chat/completions") -> str:
    return f'INFO:     10.8.1.20:52110 - "{method} {path} HTTP/1.1" {status}'


def test_a_server_that_serves_on_has_survived_what_it_refused(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        *REFUSED,
        access("404 Not Found", method="GET", path="/v1/model"),
        access("200 OK"),
    )
    assert verdict.outcome == "no_failure"
    assert [each.failure for each in verdict.recovered] == ["prompt-exceeds-context-length"]


def test_a_server_that_refuses_all_has_not_recovered(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, *REFUSED * 4)
    assert verdict.primary.failure.slug == "prompt-exceeds-context-length"


def test_a_server_that_fails_all_has_not_recovered(compiled: Compiled) -> None:
    failed = [access("500 Internal Server Error")] * 8
    verdict = verdict_on(compiled, *REFUSED, access("200 OK"), *failed)
    assert verdict.primary.failure.slug == "prompt-exceeds-context-length"


def test_health_answered_is_no_work_done(compiled: Compiled) -> None:
    asked = [access("200 OK", method="GET", path="/health")] * 8
    verdict = verdict_on(compiled, *REFUSED, *asked)
    assert verdict.primary.failure.slug == "prompt-exceeds-context-length"
