"""Which event explains the others: role first, then edges, then logic, then time, then order.

The rules stand in `RULES`, strongest first; each is a sentence that a verdict can give as its
reason. What no rule explains is a root; the loudness of a line counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from diagnosis.engine.events import Event, with_role
from diagnosis.engine.log import Line
from encyclopedia.catalogue import Catalogue

__all__ = ["Explained", "Judgement", "Recovery", "judge"]

# What may be the root, best first. A `crash` is a process that a signal ended without a word, an
# `exit` one that left with an exit code and no word.
LEVELS = ("cause", "crash", "symptom", "exit", "consequence", "summary")
_ABORT = "process-aborted"


@dataclass(frozen=True, slots=True)
class Explained:
    """An event that is not the root, and the rule that explains it."""

    event: Event
    reason: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """A fault that the run survived, and the line that shows it."""

    event: Event
    line: Line


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the events amount to.

    `root` is None where nothing failed. `peers` are the events of the root's own failure on other
    ranks. `rivals` are causes that nothing explains and that lost by time or order alone.
    `tied` are those of both that may have come before the root as well. `interrupted` is set where
    a person stopped the run before anything failed.
    """

    root: Event | None = None
    peers: tuple[Event, ...] = ()
    rivals: tuple[Event, ...] = ()
    tied: tuple[Event, ...] = ()
    explained: tuple[Explained, ...] = ()
    recovered: tuple[Recovery, ...] = ()
    interrupted: Event | None = None

    @property
    def reports(self) -> tuple[Event, ...]:
        """Return the root and its like on other ranks; none where nothing failed."""
        return () if self.root is None else (self.root, *self.peers)


class Clock(Protocol):
    """When events happened, as far as the log tells."""

    def attempt(self, event: Event) -> int:
        """Return the attempt of an elastic run that the event belongs to, from 0."""

    def order(self, event: Event) -> tuple[object, ...]:
        """Return the sort key of the event's moment."""

    def tied(self, one: Event, other: Event) -> bool:
        """Say whether the log does not tell which of two events came first."""


def judge(
    events: Sequence[Event],
    catalogue: Catalogue,
    forced: frozenset[int],
    recovered: Sequence[Recovery],
    clock: Clock,
) -> Judgement:
    """Find the event that no other explains.

    `forced` are the pids that their own launcher killed; `clock` says to which attempt an event
    belongs, and orders events by when they happened as well as the log tells.
    """
    survived = {id(each.event) for each in recovered}
    standing = [_demoted(event, forced) for event in events if id(event) not in survived]
    standing = _without_bare_exits(standing)
    standing = _without_aftermath(standing, catalogue)
    standing = _without_aborts_of_left_ranks(standing)
    standing = _without_general(standing, catalogue)
    interrupted = _interrupted(standing, clock)
    if interrupted is not None:
        return _stopped(interrupted, standing, recovered)
    standing = [event for event in standing if event.role in LEVELS]
    if not standing:
        return Judgement(recovered=tuple(recovered))
    attempt = min(clock.attempt(event) for event in standing)
    later = [event for event in standing if clock.attempt(event) != attempt]
    standing = [event for event in standing if clock.attempt(event) == attempt]
    explanations = _explanations(standing, catalogue)
    root, alike, rivals = _root(standing, explanations, _moments(standing, catalogue, clock))
    chosen = {id(event) for event in (root, *alike, *rivals)}
    explained = [
        explanations.get(id(event)) or Explained(event, "less")
        for event in standing
        if id(event) not in chosen
    ]
    explained.extend(Explained(event, "later") for event in later)
    return Judgement(
        root=root,
        peers=alike,
        rivals=rivals,
        tied=tuple(event for event in (*alike, *rivals) if clock.tied(root, event)),
        explained=tuple(explained),
        recovered=tuple(recovered),
    )


def _stopped(interrupt: Event, events: Sequence[Event], recovered: Sequence[Recovery]) -> Judgement:
    """Return the judgement on a run that a person stopped."""
    explained = tuple(Explained(event, "interrupted") for event in events if event is not interrupt)
    return Judgement(explained=explained, recovered=tuple(recovered), interrupted=interrupt)


def _root(
    events: Sequence[Event],
    explanations: Mapping[int, Explained],
    moment: Callable[[Event], tuple[object, ...]],
) -> tuple[Event, tuple[Event, ...], tuple[Event, ...]]:
    """Return the root, its likes on other ranks, and what stands beside it unexplained.

    `moment` returns the sort key of when an event happened.
    """
    unexplained = [event for event in events if id(event) not in explanations]
    top = min((event.role for event in unexplained), key=LEVELS.index)
    candidates = sorted((event for event in unexplained if event.role == top), key=moment)
    root = _most_telling(candidates[0], candidates)
    return (
        root,
        tuple(event for event in candidates if event is not root and _alike(event, root)),
        tuple(event for event in candidates if not _alike(event, root)),
    )


def _moments(
    events: Sequence[Event], catalogue: Catalogue, clock: Clock
) -> Callable[[Event], tuple[object, ...]]:
    """Return when events happened: none is later than what it did to the same process.

    A kernel's log is often pasted below the run's, and its clock counts from the boot.
    """
    of_process: dict[int, list[Event]] = {}
    for event in events:
        if (pid := _pid(event)) is not None:
            of_process.setdefault(pid, []).append(event)

    def moment(event: Event) -> tuple[object, ...]:
        pid = _pid(event)
        of_same = () if pid is None else of_process[pid]
        effects = [other for other in of_same if _by_edge(event, other, catalogue)]
        return min(clock.order(each) for each in (event, *effects))

    return moment


def _pid(event: Event) -> int | None:
    """Return the process that an event befell, as far as its line tells."""
    captured = _number(event.captures.get("pid"))
    return event.subject.pid if captured is None else captured


def _most_telling(first: Event, candidates: Sequence[Event]) -> Event:
    """Return the first event, or its first like that names the rank where it does not itself."""
    if first.subject.rank is not None:
        return first
    alike = (event for event in candidates if _alike(event, first))
    return next((event for event in alike if event.subject.rank is not None), first)


def _demoted(event: Event, forced: frozenset[int]) -> Event:
    """Return the event as a consequence where its process was killed by its own launcher."""
    pids = {event.subject.pid, _number(event.captures.get("pid"))}
    if event.role in ("cause", "crash", "symptom") and event.chain is None and pids & forced:
        return with_role(event, "consequence")
    return event


def _without_bare_exits(events: Sequence[Event]) -> list[Event]:
    """Return the exits of Python as mere reports where exceptions of unknown ranks tell of peers.

    Before torch 2 marked an exception with its rank, such an exit was the end of one of those.
    """
    unmarked = any(
        event.role == "consequence" and event.raised is not None and event.subject.rank is None
        for event in events
    )
    return [
        with_role(event, "summary") if unmarked and _is_uncaught(event) else event
        for event in events
    ]


def _without_aftermath(events: Sequence[Event], catalogue: Catalogue) -> list[Event]:
    """Return what nobody knows as mere exits where the same process had raised a symptom before.

    Threads and teardown go on to raise exceptions in a process that is about to end. Who only
    waited for a peer, or lost one, may have been hurt by what is raised later.
    """
    raised = [
        event
        for event in events
        if event.role == "symptom"
        and event.raised is not None
        and not event.reported
        and event.failure is not None
        and catalogue.failures[event.failure].category != "communication"
    ]
    several = any(event.subject.rank is not None or event.role == "summary" for event in events)
    return [
        with_role(event, "exit")
        if event.role == "cause"
        and event.failure is None
        and any(_is_of_one_process(event, other, several=several) for other in raised)
        else event
        for event in events
    ]


def _without_aborts_of_left_ranks(events: Sequence[Event]) -> list[Event]:
    """Return the aborts of ranks that had lost a peer before as what follows from that.

    NCCL and Gloo raise where nothing catches it, and the process ends by SIGABRT.
    """
    lost: dict[int | None, tuple[int, int]] = {}
    for event in events:
        if event.role == "consequence" and event.subject.rank is not None:
            rank = event.subject.rank
            lost[rank] = min(event.key, lost.get(rank, event.key))
    return [
        with_role(event, "consequence")
        if event.failure == _ABORT and event.key > lost.get(event.subject.rank, event.key)
        else event
        for event in events
    ]


def _is_of_one_process(later: Event, earlier: Event, *, several: bool) -> bool:
    """Say whether one process printed both, in this order; `several` says that there are more."""
    known = later.subject.rank is not None or not several
    return known and later.subject.identity == earlier.subject.identity and earlier.key < later.key


def _is_uncaught(event: Event) -> bool:
    """Say whether the process ended as Python does after an exception that nothing caught."""
    return event.role == "exit" and event.exit is not None and event.exit.exitcode == 1


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _without_general(events: Sequence[Event], catalogue: Catalogue) -> list[Event]:
    """Leave out a general failure where a kind of it was seen in the same event or source."""
    kinds: dict[str, list[Event]] = {}
    for event in events:
        for general in catalogue.general_failures(event.failure) if event.failure else ():
            kinds.setdefault(general, []).append(event)
    seen = {
        general: {place for kind in found for place in _places(kind)}
        for general, found in kinds.items()
    }
    return [event for event in events if not seen.get(event.failure or "", set()) & _places(event)]


def _places(event: Event) -> set[tuple[object, ...]]:
    """Return what two events share if they are one, or of one source."""
    of_source = ("source", *event.subject.identity)
    return {of_source} if event.chain is None else {of_source, ("chain", event.chain)}


def _alike(one: Event, other: Event) -> bool:
    return one.name == other.name


def _interrupted(events: Sequence[Event], clock: Clock) -> Event | None:
    """Return the interrupt by a person that came before every failure, or None."""
    interrupts = [event for event in events if event.role == "interrupt"]
    if not interrupts:
        return None
    first = min(interrupts, key=clock.order)
    failures = [event for event in events if event.role in ("cause", "crash", "symptom")]
    return first if all(clock.order(first) < clock.order(event) for event in failures) else None


def _explanations(events: Sequence[Event], catalogue: Catalogue) -> dict[int, Explained]:
    """Return, by the identity of each event that another explains, that explanation.

    Rules look at failures and roles, not at ranks; so one event of each kind stands for its likes,
    and a thousand ranks cost no more than a dozen.
    """
    chains = _by_chain(events)
    kinds = _kinds(events)
    by_kind: dict[tuple[str, str], str | None] = {}
    found: dict[int, Explained] = {}
    for event in events:
        reason = "chain" if _is_raised_while_handling(event, chains) else None
        if reason is None:
            kind = (event.name, event.role)
            if kind not in by_kind:
                by_kind[kind] = _reason(event, kinds, catalogue)
            reason = by_kind[kind]
        if reason is not None:
            found[id(event)] = Explained(event, reason)
    return found


def _by_chain(events: Iterable[Event]) -> Mapping[int, Sequence[Event]]:
    chains: dict[int, list[Event]] = {}
    for event in events:
        if event.chain is not None:
            chains.setdefault(event.chain, []).append(event)
    return chains


def _kinds(events: Iterable[Event]) -> Sequence[Event]:
    """Return an event of each failure and role; of what no failure is known for, two by role.

    Nothing is explained by its like, so that of the unknown a second name may be needed.
    """
    kinds: dict[tuple[object, ...], Event] = {}
    names: dict[str, set[str]] = {}
    for event in events:
        known = names.setdefault(event.role, set())
        if event.failure is None and len(known) < 2:
            known.add(event.name)
        if event.failure is not None or event.name in known:
            kinds.setdefault((event.name, event.role), event)
    return list(kinds.values())


def _reason(event: Event, others: Iterable[Event], catalogue: Catalogue) -> str | None:
    """Return the first rule by which another event explains this one, or None."""
    for reason, rule in RULES.items():
        for other in others:
            if not _alike(other, event) and rule(other, event, catalogue):
                return reason
    return None


def _is_raised_while_handling(event: Event, chains: Mapping[int, Sequence[Event]]) -> bool:
    """Say whether Python raised this while it was handling another exception of the chain."""
    return event.chain is not None and any(
        other.depth < event.depth and LEVELS.index(other.role) <= LEVELS.index(event.role)
        for other in chains[event.chain]
    )


def _by_edge(cause: Event, effect: Event, catalogue: Catalogue) -> bool:
    return (
        cause.failure is not None
        and effect.failure is not None
        and LEVELS.index(cause.role) <= LEVELS.index(effect.role)
        and catalogue.explains(cause.failure, effect.failure)
    )


def _by_role(cause: Event, effect: Event, _catalogue: Catalogue) -> bool:
    """Say whether the one's role alone makes the other collateral: it stands higher in LEVELS.

    Two causes are never told apart by role.
    """
    return LEVELS.index(cause.role) < LEVELS.index(effect.role)


Rule = Callable[[Event, Event, Catalogue], bool]
RULES: Mapping[str, Rule] = {"edge": _by_edge, "role": _by_role}


def ranks_of(events: Iterable[Event]) -> tuple[int, ...]:
    """Return the ranks of the events, ascending, each once."""
    return tuple(sorted({each.subject.rank for each in events if each.subject.rank is not None}))
