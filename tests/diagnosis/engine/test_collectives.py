from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import announced, verdict_on, watchdog

DUMP_OF_RANK_1 = (
    "[rank1]:[E1130 05:53:43.475 ProcessGroupNCCL.cpp:1683] [PG ID 0 PG GUID 0(default_pg) Rank 1]"
    " Received a dump signal due to a collective timeout from this local rank and we will try our"
    " best to dump the debug info. Last enqueued NCCL work: 42, last completed NCCL work: 41."
)


def last_collectives(compiled: Compiled, *parts: str) -> dict[int, int | None]:
    ranks = verdict_on(compiled, *parts).ranks
    return {each.rank: each.last_collective for each in ranks}


def test_each_rank_has_the_number_that_it_enqueued_last(compiled: Compiled) -> None:
    waiting = [watchdog(rank, seq=42, enqueued=42 + rank) for rank in (0, 2)]
    told = last_collectives(compiled, announced(3), *waiting)
    assert told == {0: 42, 1: None, 2: 44}


def test_where_none_says_what_it_enqueued_it_is_what_it_waits_in(compiled: Compiled) -> None:
    waiting = [watchdog(rank, seq=42 + rank, enqueued=50).splitlines()[0] for rank in (0, 1)]
    assert last_collectives(compiled, announced(2), *waiting) == {0: 42, 1: 43}


def test_what_one_enqueued_is_not_set_beside_what_another_waits_in(compiled: Compiled) -> None:
    waiting = [watchdog(0, seq=41, enqueued=44), watchdog(2, seq=41, enqueued=44)]
    waits = watchdog(1, seq=41, enqueued=44).splitlines()[0]
    assert last_collectives(compiled, announced(3), *waiting, waits) == {0: 44, 1: None, 2: 44}


def test_numbers_are_those_of_one_group(compiled: Compiled) -> None:
    other = watchdog(3, seq=17, enqueued=17).replace("GUID 0(default_pg)", "GUID 119")
    waiting = [watchdog(rank, seq=42, enqueued=42) for rank in (0, 1)]
    told = last_collectives(compiled, announced(4), *waiting, other)
    assert told == {0: 42, 1: 42, 2: None, 3: None}


def test_one_rank_alone_is_compared_with_nobody(compiled: Compiled) -> None:
    assert last_collectives(compiled, announced(2), DUMP_OF_RANK_1) == {0: None, 1: None}
