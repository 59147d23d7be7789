"""Events: one thing that happened to one source, folded from all that tells of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from signal import SIGABRT
from typing import NamedTuple

from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.log import Line, Log
from diagnosis.engine.matches import Observation
from diagnosis.engine.probes import (
    INTERRUPTS,
    SIGNALS,
    WRAPPER_FILES,
    WRAPPER_MESSAGES,
    WRAPPERS,
    probe_pattern,
)
from diagnosis.engine.subjects import Subject, Subjects
from diagnosis.engine.tracebacks import Chain, Traceback
from encyclopedia.catalogue import ROLES

__all__ = ["LAST_WORDS", "UNNAMED", "Event", "Exit", "Raised", "Witness", "fold"]

# Unknown exceptions whose words say that another process was lost: they hurt here, and began there.
_PEER_WORDS = (
    "Connection reset by peer",
    "Connection closed by peer",
    "Connection refused",
    "Broken pipe",
    "recvValue failed",
    "sendBytes failed",
    "remote process exited",
    "wait timeout after",
    "DistBackendError",
    # asyncio: what waits on a task that failed is cancelled, or waits until its time is up.
    "CancelledError",
    "asyncio.exceptions.TimeoutError",
)


_EXCEPTION = probe_pattern("exception")
_INTERRUPT = probe_pattern("interrupt")
# An exception as Python prints it, at the very start of a message.
_BARE = re.compile(
    rb"(?P<type>(?:[a-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Interrupt)|Exception))"
    rb"(?:$|: ?(?P<message>.*))"
)

# Stands for the type where a log ends, or falls silent, within a traceback.
UNNAMED = "An exception whose name this log does not show"
# Stands for the type of an error with which a log ends, whatever its program calls it.
LAST_WORDS = "The log ends with an error"


class Witness(NamedTuple):
    """A line that tells of an event: where in it the pattern ended, as what, and of which rank."""

    line: Line
    hit: int
    role: str
    rank: int | None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception: its type and message as printed, and where in the user's code it was raised.

    `wraps` says that it only reports what another process or thread raised.
    """

    type: str
    message: str
    frame: str | None
    wraps: bool = False

    @property
    def name(self) -> str:
        """The type without its module."""
        return self.type.rpartition(".")[2]

    @property
    def is_named(self) -> bool:
        """Whether the log says what kind of error it was."""
        return self.type not in (UNNAMED, LAST_WORDS)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: an exit code or a signal's number."""

    exitcode: int | None
    signal: int | None

    def in_words(self) -> str:
        """Say it as a person would."""
        if self.signal is not None:
            name, words = SIGNALS.get(self.signal, (f"signal {self.signal}", "ended by a signal"))
            return f"{name} ({words})"
        return f"exit code {self.exitcode}"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one source.

    `failure` is None where no signature knows it; then `raised` or `exit` says what it was. `role`
    is the strongest of its observations. `first` is its first line, `hit` where in it the pattern
    ended, `count` how many lines were folded. `chain` is the index of its chain of tracebacks, and
    `depth` the place in that chain: 0 is what was raised first. `reported` says that only another
    process (a launcher's summary) told of it. `begun` is where its traceback begins, if it has one.
    `inferred` says that no line states it: what several lines tell together makes it likely.
    """

    failure: str | None
    role: str
    subject: Subject
    first: Line
    hit: int
    count: int
    captures: Mapping[str, str]
    chain: int | None = None
    depth: int = 0
    raised: Raised | None = None
    exit: Exit | None = None
    reported: bool = False
    lines: tuple[Witness, ...] = ()
    begun: Line | None = None
    inferred: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Order in the log: file, then offset."""
        return self.first.key

    @property
    def repeats(self) -> bool:
        """Whether the process only repeats what another rank told it, and suffered nothing."""
        return self.role == "consequence" and "peer_rank" in self.captures

    @property
    def name(self) -> str:
        """The failure's slug, or what it was in the process's own terms."""
        if self.failure is not None:
            return self.failure
        if self.raised is not None:
            return self.raised.name
        return self.exit.in_words() if self.exit is not None else "?"


def fold(
    log: Log,
    observations: Sequence[Observation],
    chains: Sequence[Chain],
    ends: Sequence[ProcessEnd],
    subjects: Subjects,
) -> list[Event]:
    """Return the events in the order of their first lines."""
    events = [
        *_known(observations, chains, subjects),
        *_unknown_exceptions(observations, chains, subjects),
        *_bare_exceptions(log, observations, chains, subjects),
        *_interrupts(log, subjects),
    ]
    events = _merge_reports(events)
    events.extend(_unexplained_ends(ends, events))
    return sorted(events, key=lambda event: (event.key, event.name))


def _known(
    observations: Sequence[Observation], chains: Sequence[Chain], subjects: Subjects
) -> Iterator[Event]:
    folded: dict[tuple[object, ...], list[Observation]] = {}
    for observation in observations:
        if observation.role == "advice" or _is_ignored(observation, chains):
            continue
        subject = subjects.of_observation(observation, chains)
        folded.setdefault((observation.failure, *subject.identity), []).append(observation)
    for group in folded.values():
        yield _folded(group, chains, subjects)


def _is_ignored(observation: Observation, chains: Sequence[Chain]) -> bool:
    return observation.chain is not None and chains[observation.chain].ignored


def _folded(group: Sequence[Observation], chains: Sequence[Chain], subjects: Subjects) -> Event:
    strongest = min(group, key=lambda each: (ROLES.index(each.role), each.key))
    captures: dict[str, str] = {}
    for observation in group:
        for name, value in observation.captures.items():
            captures.setdefault(name, value)
    chain = next((each.chain for each in group if each.chain is not None), None)
    subject = subjects.of_observation(strongest, chains)
    return Event(
        failure=strongest.failure,
        role=strongest.role,
        subject=subject,
        first=group[0].line,
        hit=group[0].hit,
        count=len(group),
        captures=captures,
        chain=chain,
        depth=0 if chain is None else _depth(group, chains[chain]),
        raised=None if chain is None else raised_by(chains[chain]),
        reported=all(subjects.is_report(each.line) for each in group),
        lines=tuple(Witness(each.line, each.hit, each.role, subject.rank) for each in group),
        begun=None if chain is None else chains[chain].first,
    )


def _depth(group: Iterable[Observation], chain: Chain) -> int:
    """Return which traceback of the chain holds the group's first line."""
    keys = {observation.key for observation in group}
    for depth, traceback in enumerate(chain.tracebacks):
        if any(line.key in keys for line in traceback.lines):
            return depth
    return 0


def raised_by(chain: Chain) -> Raised | None:
    """Return the exception that a chain is about: the first that is no mere report."""
    told = [each for each in chain.tracebacks if each.type is not None]
    if not told:
        return None
    own = next((each for each in told if not _is_wrapper(each)), told[0])
    frame = own.innermost_user_frame or chain.innermost_user_frame
    return Raised(
        own.type or "", own.message or "", str(frame) if frame else None, _is_wrapper(own)
    )


def _unnamed(chain: Chain) -> Raised | None:
    """Return what is left of an exception whose traceback breaks off before it is named."""
    frame = chain.innermost_user_frame
    begun = any(traceback.frames for traceback in chain.tracebacks)
    if not begun and not chain.first.facts.message.lstrip().startswith(b"Traceback (most recent"):
        return None
    return Raised(UNNAMED, "", str(frame) if frame else None)


def _is_wrapper(traceback: Traceback) -> bool:
    return _wraps(traceback.type or "", traceback.message or "") or (
        not traceback.message and _raised_in(traceback, WRAPPER_FILES)
    )


def _wraps(type_: str, message: str) -> bool:
    return type_.rpartition(".")[2] in WRAPPERS or message.startswith(WRAPPER_MESSAGES)


def _raised_in(traceback: Traceback, files: tuple[str, ...]) -> bool:
    return bool(traceback.frames) and traceback.frames[-1].file.endswith(files)


def _unknown_exceptions(
    observations: Sequence[Observation], chains: Sequence[Chain], subjects: Subjects
) -> Iterator[Event]:
    """Yield an event for each chain in which no signature saw a failure."""
    known = {each.chain for each in observations if each.role != "advice"}
    quoting = {chain.quoted_by.key for chain in chains if chain.quoted_by is not None}
    folded: dict[tuple[object, ...], list[tuple[int, Raised]]] = {}
    for index, chain in enumerate(chains):
        if index in known or chain.ignored:
            continue
        raised = raised_by(chain) or _unnamed(chain)
        if raised is not None:
            raised = replace(raised, wraps=raised.wraps or chain.first.key in quoting)
            subject = subjects.of_chain(chain)
            folded.setdefault((raised.name, *subject.identity), []).append((index, raised))
    for group in folded.values():
        index, raised = group[0]
        role = _role_of_unknown(raised)
        subject = subjects.of_chain(chains[index])
        last = _exception_line(chains[index], raised)
        yield Event(
            failure=None,
            role=role,
            subject=subject,
            first=last,
            hit=last.end,
            count=len(group),
            captures={},
            chain=index,
            raised=raised,
            reported=all(subjects.is_report(chains[each].first) for each, _ in group),
            lines=tuple(
                Witness(line, line.end, role, subject.rank)
                for line in (_exception_line(chains[each], raised) for each, raised in group)
            ),
            begun=chains[index].first,
        )


def _bare_exceptions(
    log: Log, observations: Sequence[Observation], chains: Sequence[Chain], subjects: Subjects
) -> Iterator[Event]:
    """Yield an event for each exception that stands alone: somebody pasted only the last line."""
    known = {line.key for chain in chains for line in chain.lines()}
    known.update(each.key for each in observations)
    folded: dict[tuple[object, ...], list[tuple[Line, Raised]]] = {}
    for line in log.lines_with(_EXCEPTION):
        found = None if line.key in known else _BARE.match(line.facts.message)
        if found is None:
            continue
        named, message = found["type"].decode(), (found["message"] or b"").decode(errors="replace")
        raised = Raised(named, message, None, _wraps(named, message))
        subject = subjects.of_line(line)
        folded.setdefault((raised.name, *subject.identity), []).append((line, raised))
    for group in folded.values():
        line, raised = group[0]
        # Without a kind and without a traceback it says least of all.
        role = "exit" if raised.name == "Exception" else _role_of_unknown(raised)
        subject = subjects.of_line(line)
        yield Event(
            failure=None,
            role=role,
            subject=subject,
            first=line,
            hit=line.hit,
            count=len(group),
            captures={},
            raised=raised,
            reported=all(subjects.is_report(each) for each, _ in group),
            lines=tuple(Witness(each, each.hit, role, subject.rank) for each, _ in group),
        )


def _interrupts(log: Log, subjects: Subjects) -> Iterator[Event]:
    """Yield an event where a launcher or a trainer says that somebody pressed Ctrl-C."""
    for line in log.lines_with(_INTERRUPT)[:1]:
        subject = subjects.of_line(line)
        yield Event(
            failure=None,
            role="interrupt",
            subject=subject,
            first=line,
            hit=line.hit,
            count=1,
            captures={},
            raised=Raised("KeyboardInterrupt", "", None),
            lines=(Witness(line, line.hit, "summary", subject.rank),),
        )


def _exception_line(chain: Chain, raised: Raised) -> Line:
    """Return the line that names the exception."""
    for traceback in chain.tracebacks:
        if traceback.type == raised.type:
            named = [
                line
                for line in traceback.lines
                if line.facts.message.lstrip().startswith(raised.type.encode())
            ]
            return named[-1] if named else traceback.last
    return chain.last


def _role_of_unknown(raised: Raised) -> str:
    if raised.type == UNNAMED:
        return "exit"
    if raised.wraps:
        return "summary"
    if raised.name in INTERRUPTS:
        return "interrupt"
    if any(word in f"{raised.type}: {raised.message}" for word in _PEER_WORDS):
        return "consequence"
    return "cause"


def _merge_reports(events: Sequence[Event]) -> list[Event]:
    """Drop what a launcher repeats of an exception that the rank printed itself."""
    told = {
        (event.name, event.subject.rank)
        for event in events
        if not event.reported and event.subject.rank is not None
    }
    return [
        event
        for event in events
        if not (event.reported and (event.name, event.subject.rank) in told)
    ]


def _unexplained_ends(ends: Sequence[ProcessEnd], events: Sequence[Event]) -> Iterator[Event]:
    """Yield an event for each process that ended badly without a word of its own."""
    spoke = {event.subject.identity for event in events if event.role != "summary"}
    yielded: set[tuple[object, ...]] = set()
    for end in ends:
        identity = end.subject.identity
        if not end.is_failure or identity in spoke or identity in yielded:
            continue
        yielded.add(identity)
        yield Event(
            failure=None,
            # A process that aborts has said why, if only to another log.
            role="exit" if end.signal in (None, SIGABRT) else "crash",
            subject=end.subject,
            first=end.line,
            hit=end.line.hit,
            count=1,
            captures={},
            exit=Exit(end.exitcode, end.signal),
            reported=True,
            lines=(Witness(end.line, end.line.hit, "summary", end.subject.rank),),
        )


def with_role(event: Event, role: str) -> Event:
    """Return the event with another role."""
    return replace(event, role=role)
