"""A judgement put into words: the verdict as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diagnosis.engine.causality import Explained, Judgement, ranks_of
from diagnosis.engine.compiled import Compiled
from diagnosis.engine.events import LAST_WORDS, Event
from diagnosis.engine.filling import fill_fix
from diagnosis.engine.findings import Findings
from diagnosis.engine.hypotheses import hypotheses
from diagnosis.engine.initiator import Initiator
from diagnosis.engine.log import Log
from diagnosis.engine.verdict import (
    EVIDENCE_CHARACTERS,
    EVIDENCE_LINES,
    Consequence,
    Coverage,
    EngineStamp,
    Evidence,
    FailureLink,
    FilledFix,
    Primary,
    Recovered,
    Verdict,
)
from diagnosis.engine.wording import ranks_in_words
from encyclopedia.catalogue import Failure

__all__ = ["report", "unreadable"]

_LONGEST_MESSAGE = 300


def report(findings: Findings) -> Verdict:
    """Turn findings into a verdict."""
    outcome = _outcome(findings)
    primary = _primary(findings, outcome)
    return Verdict(
        outcome=outcome,
        primary=primary,
        fix=_fix(findings),
        hypotheses=hypotheses(findings, outcome),
        consequences=_consequences(findings),
        recovered=_recovered(findings),
        ranks=findings.fates,
        coverage=findings.coverage,
        stack=dict(findings.stack),
        engine=_stamp(findings.log.compiled),
    )


def unreadable(compiled: Compiled, coverage: Coverage, reason: str) -> Verdict:
    """Return the verdict on text that is no log, with the reason in words."""
    primary = Primary(None, reason, None, None, None, None, None, "high", reason, ())
    return Verdict("unreadable", primary, None, (), (), (), (), coverage, {}, _stamp(compiled))


def _stamp(compiled: Compiled) -> EngineStamp:
    return EngineStamp(compiled.version, compiled.fingerprint, compiled.signatures)


def _outcome(findings: Findings) -> str:
    judgement = findings.judgement
    root = judgement.root
    if root is None:
        return "no_failure"
    if root.failure is None:
        return "unrecognised"
    if root.role != "cause":
        return "symptom_only"
    return "probable" if root.inferred or _rivalled(judgement) else "established"


def _rivalled(judgement: Judgement) -> bool:
    return any(rival.failure is not None for rival in judgement.rivals)


def _confidence(findings: Findings, outcome: str) -> str:
    if outcome in ("no_failure", "established"):
        return "high"
    if outcome == "probable":
        return "medium"
    root = findings.judgement.root
    named = root is not None and root.raised is not None and root.raised.is_named
    return "medium" if outcome == "unrecognised" and named else "low"


def _primary(findings: Findings, outcome: str) -> Primary | None:
    judgement, initiator = findings.judgement, findings.initiator
    if judgement.interrupted is not None:
        return _interrupted(findings, judgement.interrupted)
    root = judgement.root
    if root is None:
        return None
    failure = findings.failure_of(root)
    return Primary(
        failure=None if failure is None else _link(failure),
        summary=_summary(findings, root, failure, outcome),
        rank=initiator.rank,
        local_rank=initiator.local_rank,
        rank_basis=initiator.basis,
        host=initiator.host,
        time=root.first.facts.time_text,
        confidence=_confidence(findings, outcome),
        why=_why(findings, root, outcome),
        evidence=_evidence(findings, root),
    )


def _interrupted(findings: Findings, event: Event) -> Primary:
    return Primary(
        failure=None,
        summary="A person stopped this run (Ctrl-C or SIGINT); nothing failed before that.",
        rank=None,
        local_rank=None,
        rank_basis=None,
        host=event.subject.host,
        time=event.first.facts.time_text,
        confidence="high",
        why="The interrupt stands before every error, and what follows is the run being ended.",
        evidence=tuple(_evidence_lines(findings.log, [event])),
    )


def _link(failure: Failure) -> FailureLink:
    return FailureLink(
        slug=failure.slug,
        title=failure.title,
        category=failure.category,
        severity=failure.severity,
        url=f"/failures/{failure.slug}/",
    )


def _summary(findings: Findings, root: Event, failure: Failure | None, outcome: str) -> str:
    who = _who(findings.initiator)
    if failure is None:
        place = f" on {who}" if who else ""
        return f"{_unknown_in_words(root)}{place}. No failure of the catalogue matches it."
    if outcome == "symptom_only":
        where = f" It points to {who}." if who else ""
        return f"{failure.title}. This is where it hurt; the cause is not in this log.{where}"
    return f"{failure.title}{f', first on {who}' if who else ''}."


def _unknown_in_words(root: Event) -> str:
    if root.raised is not None:
        message = root.raised.message[:_LONGEST_MESSAGE]
        text = f"{root.raised.type}: {message}" if message else root.raised.type
        place = f" (raised at {root.raised.frame})" if root.raised.frame else ""
        return text.rstrip(". ") + place
    if root.exit is not None:
        return f"A process ended with {root.exit.in_words()} and printed no reason"
    return "Something failed"


def _who(initiator: Initiator) -> str:
    if initiator.rank is None:
        return f"host {initiator.host}" if initiator.host else ""
    return f"rank {initiator.rank}" + (f" ({initiator.host})" if initiator.host else "")


def _why(findings: Findings, root: Event, outcome: str) -> str:
    sentences = [_why_root(findings, root, outcome)]
    sentences.extend(findings.initiator.reasons)
    sentences.extend(_why_not_others(findings))
    return " ".join(sentence for sentence in sentences if sentence)


def _why_root(findings: Findings, root: Event, outcome: str) -> str:
    line = f"Line {findings.log.number(root.first)}"
    if len(findings.log.texts) > 1:
        line += f" of {findings.log.name(root.first)}"
    reason = root.captures.get("reason", "").rstrip(". ")
    if outcome == "symptom_only" and reason:
        return f"{line} is the first sign. It gives a reason: {reason}."
    if outcome == "symptom_only":
        return f"{line} is the first sign, and no line of this log says what led to it."
    if root.inferred:
        return (
            f"{line} is the last word before the wait began; no line states that it was the cause."
        )
    if root.failure is None:
        return f"{line} is the earliest failure that nothing else in this log explains."
    return f"{line} states the cause itself."


def _why_not_others(findings: Findings) -> Iterable[str]:
    told: set[str] = set()
    for each in findings.judgement.explained:
        if each.event.failure is None or each.event.failure in told:
            continue
        told.add(each.event.failure)
        group = _group(findings.judgement.explained, each.event.failure)
        yield _why_not(findings, each, group)
    root = findings.judgement.root
    for rival in findings.judgement.rivals[:1]:
        if root is not None and rival.key == root.key:
            yield f"{_title(findings, rival)} prints the same line; the log does not decide."
            continue
        if rival in findings.judgement.tied:
            yield (
                f"{_title(findings, rival)} (line {findings.log.number(rival.first)} of"
                f" {findings.log.name(rival.first)}) may have come first: the clocks of the two"
                " files do not tell."
            )
            continue
        yield (
            f"{_title(findings, rival)} (line {findings.log.number(rival.first)}) stands in the log"
            " as well and came later; nothing ties the two together."
        )


def _why_not(findings: Findings, each: Explained, group: Sequence[Event]) -> str:
    ranks = ranks_in_words(ranks_of(group))
    place = f" on {ranks}" if ranks else ""
    # What only tells of others is explained by that; what a rank suffers itself may be an effect.
    suffered = each.event.role not in ("consequence", "summary")
    reason = {
        "edge": "follows from it",
        "chain": "was raised while it was being handled",
        "role": "may be an effect of it" if suffered else "only reports that another process ended",
        "less": "says less",
        "interrupted": "follows the interrupt",
        "later": "belongs to a later attempt",
    }[each.reason]
    return f"{_title(findings, each.event)}{place} {reason}."


def _title(findings: Findings, event: Event) -> str:
    failure = findings.failure_of(event)
    return event.name if failure is None else failure.title


def _evidence(findings: Findings, root: Event) -> tuple[Evidence, ...]:
    """Return the root's own lines, then one line of each failure that it explains."""
    judgement = findings.judgement
    others: dict[str, Event] = {}
    for each in sorted(judgement.explained, key=lambda each: _weight(each.event)):
        if each.event.raised is None or each.event.raised.is_named:
            others.setdefault(each.event.name, each.event)
    events = [root, *findings.initiator.witnesses, *judgement.peers, *others.values()]
    lines = list(_evidence_lines(findings.log, events))
    return _with_rank_line(findings, lines[:EVIDENCE_LINES])


def _with_rank_line(findings: Findings, lines: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Add the line from which the rank was derived; of more lines than fit, the last gives way."""
    initiator = findings.initiator
    line = initiator.told_by if initiator.basis == "derived" else None
    if line is None or initiator.rank is None:
        return tuple(lines)
    log = findings.log
    shown = log.shown(line, line.hit, EVIDENCE_CHARACTERS)
    added = Evidence(log.name(line), log.number(line), initiator.rank, shown, "summary")
    if any((each.file, each.line) == (added.file, added.line) for each in lines):
        return tuple(lines)
    return (*lines[: EVIDENCE_LINES - 1], added)


def _weight(event: Event) -> tuple[int, tuple[int, int]]:
    return _ROLE_ORDER.get(event.role, len(_ROLE_ORDER)), event.key


def _evidence_lines(log: Log, events: Sequence[Event]) -> Iterable[Evidence]:
    """Yield up to three lines of the first event, then one of each other, no line twice."""
    told: set[tuple[int, int]] = set()
    for place, event in enumerate(events):
        lines = sorted(event.lines, key=lambda line: _ROLE_ORDER.get(line.role, len(_ROLE_ORDER)))
        for witness in lines[: 3 if place == 0 else 1]:
            line = witness.line
            if line.key in told:
                continue
            told.add(line.key)
            yield Evidence(
                file=log.name(line),
                line=log.number(line),
                rank=witness.rank,
                text=log.shown(line, witness.hit, EVIDENCE_CHARACTERS),
                role=witness.role if witness.role in _ROLE_ORDER else "summary",
            )


_ROLE_ORDER = {"cause": 0, "symptom": 1, "consequence": 2, "summary": 3}


def _fix(findings: Findings) -> FilledFix | None:
    root = findings.judgement.root
    if root is None:
        return None
    failure = findings.failure_of(root)
    if failure is not None:
        return fill_fix(failure.fix, _values(findings, root))
    return FilledFix(summary=_advice_for_unknown(root), command=None, verify=None, infra=None)


def _values(findings: Findings, root: Event) -> Mapping[str, str]:
    """Return what may stand for the placeholders of a fix: the captures, and the initiator."""
    initiator = findings.initiator
    own = {"rank": initiator.rank, "host": initiator.host}
    told = {name: str(value) for name, value in own.items() if value is not None}
    return {**_place(findings, root), **root.captures, **told}


def _place(findings: Findings, root: Event) -> Mapping[str, str]:
    """Return the node and the pod of the initiator, where the root's line tells which is which."""
    host, pod = findings.initiator.host, root.first.facts.source.pod
    if pod is None:
        return {"node": host} if host else {}
    if root.subject.rank != findings.initiator.rank:
        return {}
    # Who is in a pod and names no host goes by the name of the pod.
    return {"pod": pod, "node": host} if host and host != pod else {"pod": pod}


def _advice_for_unknown(root: Event) -> str:
    if root.raised is not None and root.raised.frame is not None:
        return f"Start at {root.raised.frame}: that is the innermost frame of your own code."
    if root.raised is not None and root.raised.type == LAST_WORDS:
        return "Start at what that line says: the program ended with it."
    if root.raised is not None:
        return "Start at the exception: no frame of your own code stands in its traceback."
    return "Look at what the process printed last, and at the kernel log of its host at that time."


def _group(explained: Sequence[Explained], slug: str) -> list[Event]:
    return [each.event for each in explained if each.event.failure == slug]


def _consequences(findings: Findings) -> tuple[Consequence, ...]:
    slugs = dict.fromkeys(
        each.event.failure for each in findings.judgement.explained if each.event.failure
    )
    found = [_consequence(findings, slug) for slug in slugs if slug != _root_slug(findings)]
    return tuple(sorted(found, key=lambda each: (each.file, each.first_line, each.failure)))


def _root_slug(findings: Findings) -> str | None:
    root = findings.judgement.root
    return None if root is None else root.failure


def _consequence(findings: Findings, slug: str) -> Consequence:
    group = _group(findings.judgement.explained, slug)
    first = min(group, key=lambda event: event.key)
    return Consequence(
        failure=slug,
        ranks=ranks_of(group),
        hosts=tuple(sorted({each.subject.host for each in group if each.subject.host})),
        count=sum(each.count for each in group),
        file=findings.log.name(first.first),
        first_line=findings.log.number(first.first),
        explained_by=_root_slug(findings),
    )


def _recovered(findings: Findings) -> tuple[Recovered, ...]:
    return tuple(
        Recovered(
            failure=each.event.failure,
            ranks=ranks_of([each.event]),
            first_line=findings.log.number(each.event.first),
            recovered_by_line=findings.log.number(each.line),
        )
        for each in findings.judgement.recovered
        if each.event.failure is not None
    )
