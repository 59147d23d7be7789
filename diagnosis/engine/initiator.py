"""Which rank went first: printed by the root itself, derived, or found by elimination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from diagnosis.engine.causality import Judgement, ranks_of
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.fates import Roster
from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Line
from diagnosis.engine.odd_one import find_odd_one
from diagnosis.engine.peer_addresses import follow
from diagnosis.engine.subjects import Subject
from encyclopedia.catalogue import Catalogue

__all__ = ["Initiator", "Processes", "find_initiator"]


# What a process suffers itself.
_OWN_FAULTS = ("cause", "crash", "exit")
# By which rules of causality an effect is one of the root's own process.
_REASONS = ("edge",)
_REASONS_OF_DEVICES = ("edge", "role")
_TIED = "Ranks {ranks} report it on different hosts, and the clocks do not tell which came first."
_TOGETHER = (
    "Ranks {ranks} report it together, line between line; the log tells no first among them."
)
_EFFECTS = "The line names no rank; what follows from it shows on rank {rank} alone."
_ODD = "Rank {rank} runs another collective than the {accusers} ranks that say so."
_ENDED = "The launcher reports that rank {rank} alone ended of itself."
_SINK = "The lost connections lead to {address}."
_SINK_BEHIND = "The lost connections lead to {address}; {through}, lost as well, lost it."
_SILENT = (
    "Rank {rank} is the only one of {ranks} that reports nothing, and the others report that they"
    " lost or waited for a peer."
)


@dataclass(frozen=True, slots=True)
class Initiator:
    """The rank and host of the root, how that is known, and the reasons in sentences.

    `witnesses` are the events that point at it where it did not speak itself; `told_by` is the line
    that ties its process to the rank.
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    basis: str | None = None
    reasons: tuple[str, ...] = ()
    witnesses: tuple[Event, ...] = ()
    told_by: Line | None = None


@dataclass(frozen=True, slots=True)
class Processes:
    """What the log tells of the processes of the run: who they were, and how they ended.

    `owners` returns hosts by address; it is asked only where nothing else tells.
    """

    roster: Roster
    identities: Identities
    ends: Sequence[ProcessEnd]
    owners: Callable[[], Mapping[str, str]]


def find_initiator(judgement: Judgement, processes: Processes, catalogue: Catalogue) -> Initiator:
    """Name the rank that failed first, or nobody where the log does not tell."""
    root = judgement.root
    if root is None:
        return Initiator()
    found = _find(judgement, root, processes, catalogue)
    if found.rank is None:
        return found
    return replace(found, told_by=processes.identities.line_of(found.rank, root.subject.pid))


def _find(
    judgement: Judgement, root: Event, processes: Processes, catalogue: Catalogue
) -> Initiator:
    if _speaks_of_others(root, catalogue):
        alone = Initiator(host=_common_host(judgement.reports))
        found = _by_elimination(judgement, processes) or alone
    else:
        odd = _by_disagreement(judgement, processes)
        found = odd or _of_root(judgement, root, processes.roster, catalogue)
    if found.rank is not None:
        return found
    if root.role in _OWN_FAULTS:
        if _reports_alike(judgement, processes.roster):
            return found
        by_ends = _by_ends(judgement, root, processes.ends, catalogue)
        return by_ends or _by_silence(judgement, processes) or found
    return _by_addresses(judgement, processes) or found


def _speaks_of_others(root: Event, catalogue: Catalogue) -> bool:
    """Say whether the rank that reports the root only waited for, or lost, another one.

    That is so for what is below a cause in the communication between ranks, unless the line names
    the rank it is about.
    """
    if root.role in _OWN_FAULTS or root.subject.named:
        return False
    return (
        root.role in ("consequence", "summary")
        or root.failure is None
        or catalogue.failures[root.failure].category == "communication"
    )


def _by_disagreement(judgement: Judgement, processes: Processes) -> Initiator | None:
    """Return the one rank that does what no other does, by what all others say."""
    odd = find_odd_one(judgement.reports)
    if odd is None:
        return None
    known = processes.identities.of_rank(odd.rank)
    return Initiator(
        rank=odd.rank,
        local_rank=known.local_rank,
        host=known.host,
        basis="derived",
        reasons=(_ODD.format(rank=odd.rank, accusers=len(odd.told_by)),),
        witnesses=odd.told_by[:2],
    )


def _of_root(judgement: Judgement, root: Event, roster: Roster, catalogue: Catalogue) -> Initiator:
    telling = _telling(judgement)
    alike = ranks_of(telling)
    if _reports_alike(judgement, roster):
        return Initiator(
            host=_common_host(telling),
            reasons=(f"All {len(alike)} ranks report it, so no one of them is the initiator.",),
        )
    tied = [root, *(event for event in judgement.tied if event in telling)]
    if len(ranks_of(tied)) > 1:
        words = _TOGETHER if len({event.first.file for event in tied}) == 1 else _TIED
        return Initiator(
            host=_common_host(tied),
            reasons=(words.format(ranks=", ".join(map(str, ranks_of(tied)))),),
        )
    first = root if root in telling else telling[0]
    if first.subject.rank is None:
        return _of_effects(judgement, catalogue) or _without_rank(first)
    reasons: tuple[str, ...] = ()
    if len(alike) > 1:
        reasons = (f"Rank {first.subject.rank} reports it before the others that do.",)
    return Initiator(
        rank=first.subject.rank,
        local_rank=first.subject.local_rank,
        host=first.subject.host,
        basis=first.subject.basis,
        reasons=reasons,
    )


def _telling(judgement: Judgement) -> list[Event]:
    """Return the events of the root's failure that tell of a process.

    Who is named by others' lines goes before who printed one: ranks repeat a peer's exception.
    """
    named = [event for event in judgement.reports if event.subject.named]
    return named or list(judgement.reports)


def _reports_alike(judgement: Judgement, roster: Roster) -> bool:
    """Say whether all ranks report the root's failure.

    Where nothing tells how many there are, those that speak are all if none is missing from 0 on.
    """
    alike = ranks_of(_telling(judgement))
    whole = roster.world_size is not None or max(alike, default=0) < len(alike)
    return len(alike) > 1 and whole and set(alike) >= set(roster.ranks)


def _without_rank(event: Event) -> Initiator:
    return Initiator(local_rank=event.subject.local_rank, host=event.subject.host)


def _of_effects(judgement: Judgement, catalogue: Catalogue) -> Initiator | None:
    """Return the one rank on which the root's own effects show, where the root names none.

    A thread or a device speaks without a rank; what it breaks in the same process has one. Who
    waited for a peer or lost one does not count: that is another process.
    """
    reasons = _REASONS_OF_DEVICES if _is_of_device(judgement, catalogue) else _REASONS
    waiting = _waiting(judgement, catalogue)
    effects = [
        each.event
        for each in judgement.explained
        if each.reason in reasons
        and each.event.role in ("cause", "symptom")
        and each.event.failure is not None
        and not _is_wait(each.event, catalogue)
        and each.event.subject.rank not in waiting
    ]
    ranks = ranks_of(effects)
    if len(ranks) != 1:
        return None
    effect = next(event for event in effects if event.subject.rank == ranks[0])
    return Initiator(
        rank=ranks[0],
        local_rank=effect.subject.local_rank,
        host=effect.subject.host,
        basis="derived",
        reasons=(_EFFECTS.format(rank=ranks[0]),),
        witnesses=(effect,),
    )


def _waiting(judgement: Judgement, catalogue: Catalogue) -> set[int | None]:
    """Return the ranks that say that they waited for a peer, or lost one."""
    complaints = _complaining(judgement)
    return {event.subject.rank for event in complaints if _is_wait(event, catalogue)}


def _is_wait(event: Event, catalogue: Catalogue) -> bool:
    """Say whether the event tells of the communication with other ranks."""
    return (
        event.failure is not None and catalogue.failures[event.failure].category == "communication"
    )


def _is_of_device(judgement: Judgement, catalogue: Catalogue) -> bool:
    """Say whether the root is a fault of a device: what its process then says has many words."""
    slug = None if judgement.root is None else judgement.root.failure
    return slug is not None and catalogue.failures[slug].category == "hardware"


def _by_ends(
    judgement: Judgement, root: Event, ends: Sequence[ProcessEnd], catalogue: Catalogue
) -> Initiator | None:
    """Return the rank that a launcher saw end of itself, alone, before it ended the others.

    It is asked where the root has no rank, or several. A cause that nothing explains may be what
    ended that rank instead, and so may a peer that it waited for, or an exception that followed
    from a root that raised none.
    """
    own = (end for end in ends if end.is_failure and not end.told and not end.of_agent)
    failed = {end.subject.rank: end for end in own}
    if len(failed) != 1 or judgement.rivals or (root.raised is None and _raised_later(judgement)):
        return None
    rank, end = failed.popitem()
    reporting = ranks_of(judgement.reports)
    if rank is None or (reporting and rank not in reporting):
        return None
    if root.raised is None and rank in _waiting(judgement, catalogue):
        return None
    return Initiator(
        rank=rank,
        local_rank=end.subject.local_rank,
        host=end.subject.host,
        basis="derived",
        reasons=(_ENDED.format(rank=rank),),
    )


def _raised_later(judgement: Judgement) -> bool:
    """Say whether what follows from the root raised an exception, a launcher's own left out."""
    return any(
        each.event.raised is not None and each.event.role != "summary"
        for each in judgement.explained
    )


def _by_addresses(judgement: Judgement, processes: Processes) -> Initiator | None:
    """Return the node that the lost connections lead to, and its rank where only one is silent."""
    complaining = _complaining(judgement)
    sink = follow(complaining, processes.owners())
    if sink is None:
        return None
    words = _SINK_BEHIND if sink.through else _SINK
    identities = processes.identities
    silent = set(processes.roster.ranks) - set(ranks_of(complaining))
    there = [rank for rank in silent if sink.host and identities.of_rank(rank).host == sink.host]
    alone = there[0] if len(there) == 1 else None
    return Initiator(
        rank=alone,
        local_rank=None if alone is None else identities.of_rank(alone).local_rank,
        host=sink.host or sink.address,
        basis=None if alone is None else "eliminated",
        reasons=(words.format(address=sink.address, through=", ".join(sink.through)),),
        witnesses=tuple(complaining[:2]),
    )


def _complaining(judgement: Judgement) -> list[Event]:
    """Return what tells of others: symptoms and consequences, first the root and its like."""
    explained = (each.event for each in judgement.explained)
    others = (event for event in explained if event.role in ("symptom", "consequence"))
    return [event for event in (*judgement.reports, *others) if not event.repeats]


def _common_host(events: Sequence[Event]) -> str | None:
    hosts = {event.subject.host for event in events}
    return next(iter(hosts)) if len(hosts) == 1 else None


def _by_elimination(judgement: Judgement, processes: Processes) -> Initiator | None:
    """Return the one rank that all others complain of and that says nothing itself."""
    if any(event.subject.rank is None for event in judgement.reports):
        # Whoever says it may be the very rank that seems to be silent.
        return None
    return _the_silent(_complaining(judgement), processes, processes.roster.ranks)


def _by_silence(judgement: Judgement, processes: Processes) -> Initiator | None:
    """Return the one rank that all others wait for, where nobody knows who printed the root.

    Those below a rank that speaks exist as well, also where nothing tells how many there are. Who
    lost a peer tells less: that one may have been no rank at all.
    """
    complaining = _complaining(judgement)
    unmarked = all(event.subject == Subject() for event in judgement.reports)
    if not unmarked or judgement.rivals:
        return None
    if any(event.role == "consequence" for event in complaining):
        return None
    ranks = range(max(processes.roster.ranks, default=-1) + 1)
    return _the_silent(complaining, processes, ranks)


def _the_silent(
    complaining: Sequence[Event], processes: Processes, ranks: Sequence[int]
) -> Initiator | None:
    silent = set(ranks) - set(ranks_of(complaining))
    if len(silent) != 1 or len(ranks_of(complaining)) < 2:
        return None
    rank = silent.pop()
    known = processes.identities.of_rank(rank)
    return Initiator(
        rank=rank,
        local_rank=known.local_rank,
        host=known.host,
        basis="eliminated",
        reasons=(_SILENT.format(rank=rank, ranks=len(ranks)),),
        witnesses=tuple(complaining[:2]),
    )
