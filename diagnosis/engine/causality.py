"""Which event explains the others: role first, then edges, then logic, then time, then order.

The rules stand in `EXPLANATIONS`, strongest first; each is a sentence that a verdict can give as its
reason. What no rule explains is a root; the loudness of a line counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from diagnosis.engine.events import Event, with_role
from diagnosis.engine.log import Line
from encyclopedia.catalogue import Catalogue

__all__ = ["Explained", "Judgement", "Recovery", "judge"]

# What may be the root, best first. An `ending` is a process that died without a word.
LEVELS = ("cause", "ending", "symptom", "consequence", "summary")


@dataclass(frozen=True, slots=True)
class Explained:
    """An event that is not the root, and the event and rule that explain it."""

    event: Event
    by: Event | None
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
    `interrupted` is set where a person stopped the run before anything failed.
    """

    root: Event | None
    peers: tuple[Event, ...]
    rivals: tuple[Event, ...]
    explained: tuple[Explained, ...]
    recovered: tuple[Recovery, ...]
    interrupted: Event | None

    @property
    def level(self) -> str | None:
        """The level of the root among LEVELS."""
        return None if self.root is None else self.root.role


Order = Callable[[Event], tuple[object, ...]]


def judge(
    events: Sequence[Event],
    catalogue: Catalogue,
    forced: frozenset[int],
    recovered: Sequence[Recovery],
    order: Order,
) -> Judgement:
    """Find the event that no other explains.

    `forced` are the pids that their own launcher killed, `order` sorts events by when they happened
    as well as the log tells.
    """
    survived = {id(each.event) for each in recovered}
    standing = [_demoted(event, forced) for event in events if id(event) not in survived]
    standing = _without_general(standing, catalogue)
    interrupted = _interrupted(standing, order)
    if interrupted is not None:
        explained = [Explained(each, interrupted, "interrupted") for each in standing]
        return Judgement(None, (), (), tuple(explained), tuple(recovered), interrupted)
    standing = [event for event in standing if event.role in LEVELS]
    explanations = {id(event): _explanation(event, standing, catalogue) for event in standing}
    roots = [event for event in standing if explanations[id(event)] is None]
    if not roots:
        return Judgement(None, (), (), (), tuple(recovered), None)
    top = min((event.role for event in roots), key=LEVELS.index)
    candidates = sorted((event for event in roots if event.role == top), key=order)
    root = candidates[0]
    alike = [event for event in candidates[1:] if _alike(event, root)]
    rivals = [event for event in candidates[1:] if not _alike(event, root)]
    explained = [
        explanations[id(event)] or Explained(event, root, "less")
        for event in standing
        if event is not root and event not in alike and event not in rivals
    ]
    return Judgement(
        root, tuple(alike), tuple(rivals), tuple(explained), tuple(recovered), None
    )


def _demoted(event: Event, forced: frozenset[int]) -> Event:
    """Return the event as a consequence where its process was killed by its own launcher."""
    pids = {event.subject.pid, _number(event.captures.get("pid"))}
    if event.role in ("cause", "symptom", "ending") and event.chain is None and pids & forced:
        return with_role(event, "consequence")
    return event


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _without_general(events: Sequence[Event], catalogue: Catalogue) -> list[Event]:
    """Leave out a general failure where a kind of it was seen in the same event or source."""
    return [
        event
        for event in events
        if not any(_is_kind(other, event, catalogue) and _together(other, event) for other in events)
    ]


def _is_kind(special: Event, general: Event, catalogue: Catalogue) -> bool:
    return (
        special.failure is not None
        and general.failure is not None
        and general.failure in catalogue.general_failures(special.failure)
    )


def _together(one: Event, other: Event) -> bool:
    if one.chain is not None and one.chain == other.chain:
        return True
    return one.subject.identity == other.subject.identity


def _alike(one: Event, other: Event) -> bool:
    return one.name == other.name


def _interrupted(events: Sequence[Event], order: Order) -> Event | None:
    """Return the interrupt by a person that came before every failure, or None."""
    interrupts = [event for event in events if event.role == "interrupt"]
    if not interrupts:
        return None
    first = min(interrupts, key=order)
    failures = [event for event in events if event.role in ("cause", "symptom", "ending")]
    return first if all(order(first) < order(event) for event in failures) else None


def _explanation(
    event: Event, events: Sequence[Event], catalogue: Catalogue
) -> Explained | None:
    for reason, rule in EXPLANATIONS.items():
        for other in events:
            if other is not event and not _alike(other, event) and rule(other, event, catalogue):
                return Explained(event, other, reason)
    return None


def _by_edge(cause: Event, effect: Event, catalogue: Catalogue) -> bool:
    return (
        cause.failure is not None
        and effect.failure is not None
        and LEVELS.index(cause.role) <= LEVELS.index(effect.role)
        and catalogue.explains(cause.failure, effect.failure)
    )


def _by_chain(cause: Event, effect: Event, _catalogue: Catalogue) -> bool:
    """An exception explains those that Python raised while handling it."""
    return (
        cause.chain is not None
        and cause.chain == effect.chain
        and cause.depth < effect.depth
        and LEVELS.index(cause.role) <= LEVELS.index(effect.role)
    )


def _by_role(cause: Event, effect: Event, _catalogue: Catalogue) -> bool:
    """A cause explains symptoms, and whatever failed explains consequences and reports."""
    if effect.role == "summary":
        return cause.role in ("cause", "ending", "symptom", "consequence")
    if effect.role == "consequence":
        return cause.role in ("cause", "ending", "symptom")
    if effect.role == "symptom":
        return cause.role in ("cause", "ending")
    return effect.role == "ending" and cause.role == "cause"


Rule = Callable[[Event, Event, Catalogue], bool]
EXPLANATIONS: Mapping[str, Rule] = {
    "edge": _by_edge,
    "chain": _by_chain,
    "role": _by_role,
}


def ranks_of(events: Iterable[Event]) -> tuple[int, ...]:
    """Return the ranks of the events, ascending, each once."""
    return tuple(sorted({each.subject.rank for each in events if each.subject.rank is not None}))
