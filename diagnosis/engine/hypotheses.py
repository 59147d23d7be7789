"""What may be behind a failure that the log does not decide, with what speaks for and against it.

Behind a symptom stand the causes that the catalogue knows for it; beside a probable cause, those
that nothing explains. What a sentence says of the log is read from the log: who reports the
symptom, who does not, where, and in which collective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from diagnosis.engine.causality import ranks_of
from diagnosis.engine.endings import pids_accounted_for
from diagnosis.engine.events import Event
from diagnosis.engine.findings import Findings
from diagnosis.engine.log import Log
from diagnosis.engine.verdict import HYPOTHESES, Hypothesis
from diagnosis.engine.wording import ranks_in_words
from encyclopedia.catalogue import Failure

__all__ = ["UNDECIDED", "hypotheses"]

# What speaks against a failure that prints the very line of the one named first.
UNDECIDED = "Nothing in this log decides between the two."

# How a cause shows itself where no line states it.
_ENDED = "ended"  # from outside: the process says nothing more
_HELD = "held"  # it lives, and comes late or not at all
_ORDER = "order"  # ranks call different collectives
_LINK = "link"  # what lies between the ranks
_SAID = "said"  # in words of its own
_ELSEWHERE = "elsewhere"  # in a system that the run does not seem to use
_WAYS_OF_CATEGORIES = {"hardware": _ENDED, "orchestration": _ENDED, "communication": _LINK}
_WAYS = {
    **dict.fromkeys(
        (
            "host-oom-killer",
            "container-memory-limit-oomkilled",
            "ray-memory-monitor-kill",
            "slurm-step-oom-kill",
            "dataloader-worker-killed-by-oom",
        ),
        _ENDED,
    ),
    **dict.fromkeys(
        (
            "checkpoint-save-exceeds-collective-timeout",
            "dataloader-worker-timeout",
            "gpu-clock-throttling",
            "rank0-preprocessing-exceeds-timeout",
            "stalled-rank-collective-timeout",
            "stalled-storage-read",
            "uneven-inputs-collective-hang",
        ),
        _HELD,
    ),
    **dict.fromkeys(
        ("collective-order-desync", "collective-shape-mismatch", "ddp-unused-parameters"), _ORDER
    ),
}
# How well each fits where a rank is silent, where none is, and where the others waited for it until
# their time was up: a process that was ended is silent, an exception is not, and a launcher does
# not let the others wait for one that has ended. 0 fits best.
_FIT = {
    _ENDED: (0, 2, 1),
    _HELD: (1, 0, 0),
    _SAID: (2, 3, 3),
    _LINK: (3, 1, 2),
    _ORDER: (4, 4, 4),
}
_WORST_FIT = 5
# What a log holds of a system, by the first word of the system's name.
_TRACES = {
    "Kubernetes": (b"kubelet", b"kubectl", b"kubernetes", b"k8s", b"[pod/"),
    "Slurm": (b"slurm", b"SLURM", b"srun:", b"srun "),
    "Ray": (b"ray::", b"raylet", b"(Ray", b"/ray/", b"RayTask"),
    "Open": (b"mpirun", b"mpiexec", b"prterun", b"orted", b"MPI_"),
    "DeepSpeed": (b"deepspeed", b"DeepSpeed"),
    "Horovod": (b"horovod",),
    "JAX": (b"/jax/", b"jaxlib", b"jax."),
    "TensorFlow": (b"tensorflow",),
}
# Traces are looked for in so much of either end of a file.
_TRACED_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class _Situation:
    """Who reports the symptom, and who does not.

    `silent` are the ranks that report nothing, or the one at fault; `unseen` those of them that are
    not in the log at all, though a higher one is or the number of ranks is told. `everyone` says
    that every rank of a known number reports it, `counted` that the number is known: it is told, or
    those that the log shows lack none from 0 on. `waits` says that the symptom is a wait for
    others, or their loss; `waiting` is the one collective in which all that report it wait.
    `accounted` says that the launcher knew of as many processes as there
    are ranks, until it ended them. `traces` are the keys of `_TRACES` that the log holds.
    """

    reporting: tuple[int, ...]
    silent: tuple[int, ...]
    unseen: tuple[int, ...]
    hosts: tuple[str, ...]
    everyone: bool
    counted: bool
    waits: bool
    waiting: str | None
    accounted: bool
    traces: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Clue:
    """A sentence that speaks for or against causes that show themselves in one way."""

    way: str
    holds: Callable[[_Situation], object]
    sentence: str


def _always(_seen: _Situation) -> bool:
    return True


_FOR = (
    _Clue(
        _ENDED,
        lambda seen: seen.unseen and not seen.accounted,
        "{unseen}: not in this log, nor how it ended.",
    ),
    _Clue(
        _ENDED,
        lambda seen: seen.silent and not seen.accounted,
        "No error in the words of {silent_too}, as when something outside ends a process.",
    ),
    _Clue(
        _HELD,
        lambda seen: seen.silent and seen.waits,
        "{silent}: no word, while the others wait.",
    ),
    _Clue(
        _HELD,
        lambda seen: seen.waiting and not seen.everyone,
        "All that report it wait in one collective ({waiting}), as for one that does not come.",
    ),
    _Clue(_LINK, lambda seen: len(seen.hosts) > 1, "It is reported on {count} hosts: {hosts}."),
    _Clue(
        _LINK,
        lambda seen: seen.everyone,
        "All {reporting} ranks report it, as they do when what lies between them fails.",
    ),
    _Clue(_SAID, lambda seen: seen.unseen, "{unseen}: not in this log, and may have said so."),
)
_AGAINST = (
    _Clue(_ELSEWHERE, _always, "Nothing in this log is of {system}."),
    _Clue(
        _ENDED,
        lambda seen: seen.everyone,
        "All {reporting} ranks report the symptom, and one that was ended could not.",
    ),
    _Clue(
        _ENDED,
        lambda seen: seen.accounted,
        "The launcher found the others alive when it stopped them.",
    ),
    _Clue(
        _ENDED,
        lambda seen: not seen.everyone,
        "{system} would tell of it; no line of this log does.",
    ),
    _Clue(
        _HELD,
        lambda seen: seen.everyone,
        "All {reporting} ranks report it, so that none of them was held up elsewhere.",
    ),
    _Clue(
        _HELD,
        lambda seen: not (seen.counted or seen.silent),
        "The log does not tell how many ranks there were, so that nobody is seen to be missing.",
    ),
    _Clue(_HELD, lambda seen: seen.silent, "No line says what held {silent_too} up."),
    _Clue(_ORDER, lambda seen: seen.waiting, "All that report it wait in one: {waiting}."),
    _Clue(
        _LINK,
        lambda seen: seen.silent,
        "A broken link shows at both of its ends, and not a word of it comes from {silent_too}.",
    ),
    _Clue(
        _LINK,
        lambda seen: len(seen.hosts) == 1,
        "All ranks that report it are on one host, {hosts}.",
    ),
    _Clue(
        _SAID,
        lambda seen: not seen.silent,
        "It has words of its own, and no rank of this log says them.",
    ),
)
_KNOWN_FOR = "Known to end in this symptom."
_NOT_SAID = "Its own words are not in this log."


def hypotheses(findings: Findings, outcome: str) -> tuple[Hypothesis, ...]:
    """Return at most three causes that the log leaves open, the most plausible first.

    None where the outcome is neither `symptom_only` nor `probable`.
    """
    root = findings.judgement.root
    if outcome == "probable":
        return tuple(_rivals(findings))
    if outcome == "symptom_only" and root is not None and root.failure:
        return _behind_a_symptom(findings, root)
    return ()


# --- beside a probable cause --------------------------------------------------------------------


def _rivals(findings: Findings) -> Iterable[Hypothesis]:
    told: set[str] = set()
    for rival in findings.judgement.rivals:
        if rival.failure is None or rival.failure in told or len(told) == HYPOTHESES:
            continue
        told.add(rival.failure)
        yield _rival(findings, rival, findings.catalogue.failures[rival.failure])


def _is_on_the_same_line(findings: Findings, rival: Event) -> bool:
    root = findings.judgement.root
    return root is not None and rival.key == root.key


def _rival(findings: Findings, rival: Event, failure: Failure) -> Hypothesis:
    line = findings.log.number(rival.first)
    root = findings.judgement.root
    if root is not None and _is_on_the_same_line(findings, rival):
        return Hypothesis(
            failure=failure.slug,
            for_=f"Line {line} is what it prints, too.",
            against=UNDECIDED,
            collect_next=_tell_apart(findings, root, failure) or _next_step(failure),
        )
    return Hypothesis(
        failure=failure.slug,
        for_=f"Its own words stand on line {line}.",
        against="It stands later in the log than the failure named first.",
        collect_next=_next_step(failure),
    )


def _tell_apart(findings: Findings, root: Event, other: Failure) -> str | None:
    """Return the sentence of either page that says how the two differ."""
    own = findings.failure_of(root)
    if own is None:
        return None
    for page, slug in ((own, other.slug), (other, own.slug)):
        for each in page.looks_like:
            if each.slug == slug:
                return each.tell_apart
    return None


def _next_step(failure: Failure) -> str:
    return failure.facts.cheapest_check or failure.fix.verify or ""


# --- behind a symptom ---------------------------------------------------------------------------


def _behind_a_symptom(findings: Findings, root: Event) -> tuple[Hypothesis, ...]:
    """Return who prints the same line, then the causes that the catalogue knows for it."""
    same = [
        _rival(findings, rival, findings.catalogue.failures[rival.failure])
        for rival in findings.judgement.rivals
        if rival.failure is not None and _is_on_the_same_line(findings, rival)
    ]
    found = {each.failure: each for each in (*_possible_causes(findings, root), *same)}
    first = [each.failure for each in same]
    return tuple(found[slug] for slug in dict.fromkeys((*first, *found)))[:HYPOTHESES]


def _possible_causes(findings: Findings, root: Event) -> Iterable[Hypothesis]:
    """Yield the causes that the catalogue knows for the root, the most plausible first.

    Where something speaks for some of them, those for which nothing does are left out.
    """
    failures = findings.catalogue.failures
    symptom = failures[root.failure or ""]
    causes = dict.fromkeys(symptom.consequence_of)
    # What is only taken for it may be behind it if it is a cause.
    alike = (each.slug for each in symptom.looks_like if each.slug not in causes)
    wanted = {**dict.fromkeys(causes, ("cause", "symptom")), **dict.fromkeys(alike, ("cause",))}
    seen = _situation(findings)
    ordered = sorted(
        (failures[slug] for slug, roles in wanted.items() if failures[slug].role in roles),
        key=lambda each: _implausibility(each, seen),
    )
    supported = [each for each in ordered if _is_supported(each, seen)]
    for failure in (supported or ordered)[:HYPOTHESES]:
        yield Hypothesis(
            failure=failure.slug,
            for_=_first(_FOR, failure, seen) or _KNOWN_FOR,
            against=_first(_AGAINST, failure, seen) or _NOT_SAID,
            collect_next=_next_step(failure),
        )


def _situation(findings: Findings) -> _Situation:
    log, events = findings.log, findings.judgement.reports
    reporting = tuple(ranks_of(events))
    world = findings.coverage.world_size or _ranks_without_a_gap(findings)
    silent = _silent_ranks(findings)
    ranks = world or max((*reporting, *silent), default=-1) + 1
    return _Situation(
        reporting=reporting,
        silent=silent,
        unseen=tuple(rank for rank in _unseen_ranks(findings) if rank in silent),
        hosts=tuple(sorted({event.subject.host for event in events if event.subject.host})),
        everyone=world is not None and len(reporting) > 1 and set(reporting) >= set(range(world)),
        counted=world is not None,
        waits=any(_category(findings, event) == "communication" for event in events),
        waiting=_waiting(events),
        accounted=findings.initiator.rank is None and 0 < ranks <= len(pids_accounted_for(log)),
        traces=frozenset(name for name, words in _TRACES.items() if _holds(log, words)),
    )


def _ranks_without_a_gap(findings: Findings) -> int | None:
    """Return how many ranks the log shows if none is missing from 0 on, else None."""
    seen = {each.rank for each in findings.fates if each.fate != "not_in_this_log"}
    return len(seen) if len(seen) > 1 and max(seen) < len(seen) else None


def _category(findings: Findings, event: Event) -> str | None:
    failure = findings.failure_of(event)
    return None if failure is None else failure.category


def _holds(log: Log, words: Sequence[bytes]) -> bool:
    ends = ((text.data[:_TRACED_BYTES], text.data[-_TRACED_BYTES:]) for text in log.texts)
    return any(word in end for pair in ends for end in pair for word in words)


def _silent_ranks(findings: Findings) -> tuple[int, ...]:
    """Return the rank at fault if it says nothing; if none is known, all that report nothing."""
    first = findings.initiator.rank
    if first is not None:
        return () if first in _speaking(findings) else (first,)
    quiet = (each.rank for each in findings.fates if each.fate in ("torn_down", "finished"))
    return tuple(sorted({*quiet, *_unseen_ranks(findings)}))


def _speaking(findings: Findings) -> set[int | None]:
    """Return the ranks that tell of the symptom, or of what went with it, in their own words."""
    explained = (each.event for each in findings.judgement.explained)
    return {
        event.subject.rank
        for event in (*findings.judgement.reports, *explained)
        if event.role != "summary" and (event.raised is not None or not _is_told_by_other(event))
    }


def _is_told_by_other(event: Event) -> bool:
    """Say whether a launcher or a peer tells of the process, which need not have said a word."""
    if event.reported or event.subject.named:
        return True
    return "rank" in event.captures and event.first.facts.source.rank is None


def _unseen_ranks(findings: Findings) -> tuple[int, ...]:
    """Return the ranks that there must have been and that the log does not show.

    Where it shows none at all, none may have been started.
    """
    seen = {each.rank for each in findings.fates if each.fate != "not_in_this_log"}
    world = findings.coverage.world_size or max(seen, default=-1) + 1
    return tuple(rank for rank in range(world) if rank not in seen) if seen else ()


def _waiting(events: Sequence[Event]) -> str | None:
    """Return the collective in which all of several events wait; None where they tell of more."""
    told = {(each.captures["seq"], each.captures["op"]) for each in events if _tells_where(each)}
    if len(told) != 1 or sum(map(_tells_where, events)) < 2:
        return None
    number, operation = told.pop()
    return f"number {number}, {operation}"


def _tells_where(event: Event) -> bool:
    return bool(event.captures.get("seq") and event.captures.get("op"))


def _way(failure: Failure) -> str:
    """Return how the failure shows itself where no line states it."""
    return _WAYS.get(failure.slug) or _WAYS_OF_CATEGORIES.get(failure.category, _SAID)


def _implausibility(failure: Failure, seen: _Situation) -> tuple[bool, int, int]:
    """Order causes by how well they fit; what belongs to a system that is not there comes last."""
    way = _way(failure)
    missing, none_missing, waited_for = _FIT[way]
    if (way == _ENDED and seen.accounted) or (way == _HELD and not seen.waits):
        return _is_elsewhere(failure, seen), _WORST_FIT, 0
    fit = none_missing if not seen.silent else waited_for if seen.waiting else missing
    return _is_elsewhere(failure, seen), fit, 0 if failure.role == "cause" else 1


def _is_supported(failure: Failure, seen: _Situation) -> bool:
    """Say whether something in the log speaks for the failure."""
    return not _is_elsewhere(failure, seen) and _first(_FOR, failure, seen) is not None


def _is_elsewhere(failure: Failure, seen: _Situation) -> bool:
    """Say whether the failure belongs to a system of which the log holds no trace."""
    systems = [system.split()[0] for system in failure.systems]
    return systems[0] in _TRACES and not seen.traces.intersection(systems)


def _first(clues: Iterable[_Clue], failure: Failure, seen: _Situation) -> str | None:
    """Return the sentence of the first clue that holds, in the terms of the log."""
    ways = (_ELSEWHERE, _way(failure)) if _is_elsewhere(failure, seen) else (_way(failure),)
    for clue in clues:
        if clue.way in ways and clue.holds(seen):
            return clue.sentence.format(
                silent=_capital(ranks_in_words(seen.silent)),
                silent_too=ranks_in_words(seen.silent),
                unseen=_capital(ranks_in_words(seen.unseen)),
                reporting=len(seen.reporting),
                count=len(seen.hosts),
                hosts=", ".join(seen.hosts),
                waiting=seen.waiting,
                system=failure.systems[0],
            )
    return None


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
