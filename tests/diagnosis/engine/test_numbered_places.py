import pytest

from diagnosis.engine import Compiled
from diagnosis.engine.numbered_places import rank_by_number
from tests.diagnosis.engine.logs import traceback, verdict_on

PODS = {"ddp-worker-0": 1, "ddp-worker-1": 2, "ddp-master-0": 0}


def test_a_place_without_a_known_rank_is_counted_like_the_others() -> None:
    assert rank_by_number("ddp-worker-4", PODS) == 5


@pytest.mark.parametrize(
    ("place", "ranks"),
    [
        ("ddp-launcher-2", PODS),  # of another kind
        ("ddp-worker", PODS),  # without a number
        ("gpu-3", {"gpu-0": 0, "gpu-1": 8}),  # numbered otherwise
        ("gpu-3", {"gpu-0": 0}),  # one shows no order
        ("gpu-3", {"gpu-0": 0, "gpu-1": 1, "cpu-0": 3}),  # that rank is elsewhere
        ("gpu-0", {"gpu-1": 0, "gpu-2": 1}),  # below all ranks
    ],
)
def test_a_place_that_shows_no_rank_has_none(place: str, ranks: dict[str, int]) -> None:
    assert rank_by_number(place, ranks) is None


def waited(rank: int) -> str:
    return (
        f"fs-worker-{rank} pytorch [rank{rank}]:[E ProcessGroupNCCL.cpp:587] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=81211, OpType=ALLREDUCE,"
        " Timeout(ms)=1800000) ran for 1800728 milliseconds before timing out."
    )


def test_the_pod_that_never_named_its_rank_is_known_by_its_number(compiled: Compiled) -> None:
    failed = traceback("KeyError: 'mask'", prefix="fs-worker-3 pytorch ")
    primary = verdict_on(compiled, failed, *map(waited, (0, 1, 2))).primary
    assert primary is not None
    assert (primary.rank, primary.rank_basis) == (3, "derived")
