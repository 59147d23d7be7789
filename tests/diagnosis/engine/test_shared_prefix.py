import pytest

from diagnosis.engine import Compiled
from diagnosis.engine.shared_prefix import SharedPrefix, find_shared_prefix
from tests.diagnosis.engine.logs import announced, of_rank, steps, verdict_on

PLAIN = [b"step %d loss 2.1" % n for n in range(20)] + [b"saved", b"epoch 2", b"[a] b"] * 3
TELLING = [b"Traceback (most recent call last):", b"KeyError: 'mask'"]


def found(plain: list[bytes], telling: list[bytes]) -> SharedPrefix | None:
    return find_shared_prefix(plain, telling, lambda rest: rest.startswith(b"[rank"))


def behind(prefix: bytes, messages: list[bytes]) -> list[bytes]:
    return [prefix.replace(b"%", b"%d" % (n % 4)) + each for n, each in enumerate(messages)]


@pytest.mark.parametrize(
    ("prefix", "labels"),
    [
        (b"train-job.node-7.nolog [stderr] ", False),
        (b"node-% run/x7 > ", True),
        (b"<job 1%>: ", True),
        (b"mol0%: ", True),
        (b"2026-11-30 06:1% ", False),
    ],
)
def test_what_all_lines_begin_with_is_found(prefix: bytes, *, labels: bool) -> None:
    shared = found(behind(prefix, PLAIN), behind(prefix, TELLING))
    assert shared is not None
    assert shared.labels == labels
    for line in behind(prefix, TELLING):
        assert line[shared.length_in(line) :] in TELLING


def test_a_blank_at_the_end_may_be_missing() -> None:
    prefix = b"job 7 [stderr] "
    shared = found(behind(prefix, PLAIN), behind(prefix, TELLING))
    assert shared is not None
    assert shared.length_in(b"job 7 [stderr]") == len(prefix) - 1
    assert shared.length_in(b"job 7 [stderr]x") == 0


def test_what_lines_say_is_no_prefix() -> None:
    assert found(PLAIN, TELLING) is None


def test_what_only_lines_without_a_failure_begin_with_is_no_prefix() -> None:
    assert found([b"shards: %d of 4" % n for n in range(40)], TELLING) is None


def test_a_few_lines_prove_nothing() -> None:
    assert found(behind(b"job 7 > ", PLAIN[:4]), behind(b"job 7 > ", TELLING)) is None


def test_it_ends_where_a_known_prefix_begins() -> None:
    prefix = b"job 7 > [rank%]: "
    shared = found(behind(prefix, PLAIN), behind(prefix, TELLING))
    assert shared is not None
    assert shared.length_in(b"job 7 > [rank3]: x") == len(b"job 7 > ")


def test_ranks_are_read_behind_it(compiled: Compiled) -> None:
    log = "\n".join((announced(4), steps(1, 20), of_rank(2, "KeyError: 'mask'")))
    lines = "\n".join(f"train-job.node-7 [stderr] {line}" for line in log.splitlines())
    verdict = verdict_on(compiled, lines)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 2)
    assert verdict.coverage.world_size == 4


def test_what_a_pattern_finds_is_never_cut(compiled: Compiled) -> None:
    lines = "\n".join(
        f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,"
        " OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600018"
        " milliseconds before timing out."
        for rank in range(12)
    )
    verdict = verdict_on(compiled, lines)
    assert verdict.primary.failure.slug == "nccl-watchdog-timeout"
    assert len(verdict.ranks) == 12
