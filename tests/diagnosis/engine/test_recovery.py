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
