"""The engine's one door: text → lines and sources → matches → events → causality → verdict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from diagnosis.engine import log as logs
from diagnosis.engine.attempts import read_attempts
from diagnosis.engine.causality import Judgement, judge
from diagnosis.engine.clock import Clock
from diagnosis.engine.collectives import last_collectives
from diagnosis.engine.comparison import Scene, compare
from diagnosis.engine.compiled import Compiled
from diagnosis.engine.endings import read_ends
from diagnosis.engine.events import Event, fold
from diagnosis.engine.fates import fates, read_roster, words_of_fate
from diagnosis.engine.findings import Findings
from diagnosis.engine.identities import read_identities
from diagnosis.engine.initiator import Processes, find_initiator
from diagnosis.engine.last_words import read_last_words
from diagnosis.engine.legible import TOO_LITTLE, is_too_little, why_unreadable
from diagnosis.engine.log import Log
from diagnosis.engine.matches import Observation, observe
from diagnosis.engine.peer_addresses import read_owners
from diagnosis.engine.recovery import find_recoveries
from diagnosis.engine.report import report, unreadable
from diagnosis.engine.skew import Skew, read_skew
from diagnosis.engine.stack import read_stack
from diagnosis.engine.subjects import Subjects
from diagnosis.engine.text import LogFile
from diagnosis.engine.tracebacks import Chain, read_chains
from diagnosis.engine.verdict import Coverage, Verdict

__all__ = ["diagnose"]


def diagnose(files: Sequence[LogFile], compiled: Compiled) -> Verdict:
    """Say why the run that wrote these files died, which rank went first, and what to do.

    Takes the files of one run in any order and any bytes; pure and deterministic: equal files and
    an equal `compiled.fingerprint` give an equal verdict. Never raises for what a file holds.
    """
    log = logs.read(files, compiled)
    reason = why_unreadable(log.texts)
    if reason is not None:
        return unreadable(compiled, _coverage(log, 0, None, Skew({}, ())), reason)
    chains = read_chains(log)
    identities = read_identities(log)
    subjects = Subjects(log, identities)
    ends = read_ends(log, subjects)
    observations = observe(log, chains)
    events = fold(log, observations, chains, ends, subjects)
    roster = read_roster(log, identities, events)
    attempts = read_attempts(log)
    recovered = find_recoveries(log, events, ends, attempts)
    forced = frozenset(end.subject.pid for end in ends if end.forced and end.subject.pid)
    skew = read_skew(log, subjects)
    clock = Clock(log, attempts, skew)
    judgement = judge(events, compiled.catalogue, forced, recovered, clock)
    rank_of = _ranks_of_lines(observations, chains, subjects)
    told_together = compare(
        Scene(
            log=log,
            judgement=judgement,
            observations=observations,
            rank_of=rank_of,
            roster=roster,
            ends=ends,
            identities=identities,
            catalogue=compiled.catalogue,
        )
    )
    unheard = told_together or _last_words(log, judgement, subjects)
    if unheard is not None:
        events = [*events, unheard]
        judgement = judge(events, compiled.catalogue, forced, recovered, clock)
    if not events and is_too_little(log.texts):
        return unreadable(compiled, _coverage(log, 0, None, skew), TOO_LITTLE)
    processes = Processes(roster, identities, ends, partial(read_owners, log, subjects, identities))
    initiator = find_initiator(judgement, processes, compiled.catalogue)
    words = words_of_fate(roster, judgement, ends, initiator.rank)
    collectives = last_collectives(log, observations, rank_of)
    return report(
        Findings(
            log=log,
            judgement=judgement,
            initiator=initiator,
            fates=fates(log, roster, identities, words, collectives),
            coverage=_coverage(log, len(roster.present), roster.world_size, skew),
            stack=read_stack(log),
        )
    )


def _last_words(log: Log, judgement: Judgement, subjects: Subjects) -> Event | None:
    """Return the error with which the log ends where nothing else in it failed."""
    heard = judgement.root is not None or judgement.interrupted is not None
    return None if heard else read_last_words(log, subjects)


def _ranks_of_lines(
    observations: Sequence[Observation], chains: Sequence[Chain], subjects: Subjects
) -> dict[tuple[int, int], int]:
    """Return the rank that each observation is about, by its line."""
    return {
        each.key: rank
        for each in observations
        if (rank := subjects.of_observation(each, chains).rank) is not None
    }


def _coverage(log: Log, ranks_seen: int, world_size: int | None, skew: Skew) -> Coverage:
    return Coverage(
        lines=sum(text.lines for text in log.texts),
        bytes=sum(text.size for text in log.texts),
        ranks_seen=ranks_seen,
        world_size=world_size,
        cut=any(_is_cut(text.data) for text in log.texts),
        clock_skew={host: round(offset, 3) for host, offset in sorted(skew.offsets.items())}
        or None,
    )


def _is_cut(data: bytes) -> bool:
    """Say whether the text stops in the middle of a line."""
    return bool(data) and not data.endswith(b"\n")
