"""A verdict as its page shows it: every code of the JSON put into words, in one table each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.answers import Answer
from diagnosis.excerpts import Excerpt, LogReader, anchor, runs
from encyclopedia.models import Failure

__all__ = ["VerdictPage", "present"]


@dataclass(frozen=True, slots=True)
class Label:
    """An outcome in a few words, its badge, and the template that opens the page."""

    words: str
    role: str
    opening: str


_FOUND = "diagnosis/openings/_found.html"
OUTCOMES: Mapping[str, Label] = {
    "established": Label("Cause established", "cause", _FOUND),
    "probable": Label("Probable cause", "cause", _FOUND),
    "symptom_only": Label("Symptom only", "symptom", _FOUND),
    "unrecognised": Label("Unrecognised", "symptom", _FOUND),
    "no_failure": Label("No failure seen", "", "diagnosis/openings/no_failure.html"),
    "unreadable": Label("Unreadable", "", "diagnosis/openings/unreadable.html"),
}
RANK_BASES: Mapping[str, str] = {
    "printed": "the log itself names it",
    "derived": "worked out from host, process and launcher lines",
    "eliminated": "found by elimination: every other rank reported and this one did not",
}
CONFIDENCES: Mapping[str, str] = {
    "high": "High confidence",
    "medium": "Medium confidence",
    "low": "Low confidence",
}
FATES: Mapping[str, str] = {
    "initiated": "failed first",
    "aborted_by_peer": "aborted when it lost a peer",
    "torn_down": "stopped by the launcher",
    "stalled_waiting": "waited for a peer that did not come",
    "finished": "finished",
    "not_in_this_log": "not in this log",
}
ROLES: Mapping[str, str] = {
    "cause": "cause",
    "symptom": "symptom",
    "consequence": "consequence",
    "summary": "launcher's report",
}
KINDS: Mapping[str, str] = {
    "ip": "IP address",
    "mac": "hardware address",
    "email": "e-mail address",
    "user": "user name",
    "password": "password",
    "token": "access token",
    "key": "private key",
}
_ROWS_BEFORE_MERGING = 16
_ROWS_BEFORE_HOSTS_MERGE = 64
_HOSTS_NAMED = 3
_PLACEHOLDER = re.compile(r"<[a-z](?:[\w .-]*\w)?>")
# Clocks that agree so well put no line in another place.
_SMALLEST_SKEW_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """A line as the page names it: linked where the page shows the line itself."""

    file: str
    line: int
    anchor: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A line of evidence, as the list below the excerpts names it."""

    line: int
    anchor: str
    role: str
    rank: int | None


@dataclass(frozen=True, slots=True)
class Other:
    """Another failure in the verdict: its slug, its title, and where it is first seen."""

    slug: str
    title: str
    ranks: str
    hosts: str
    count: int
    first: Place


@dataclass(frozen=True, slots=True)
class Possibility:
    """A failure that the log allows and does not prove."""

    slug: str
    title: str
    speaks_for: str
    speaks_against: str
    collect_next: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """A placeholder, and where its owner finds what it stands for."""

    placeholder: str
    kind: str
    file: str
    line: int
    count: int


@dataclass(frozen=True, slots=True)
class Survived:
    """A fault that the run recovered from."""

    slug: str
    title: str
    ranks: str
    first_line: int
    recovered_by_line: int


@dataclass(frozen=True, slots=True)
class FateRow:
    """What became of one rank, or of neighbouring ranks that shared a fate."""

    ranks: str
    hosts: str
    fate: str
    words: str
    lines: str
    times: str


@dataclass(frozen=True, slots=True)
class AskedAbout:
    """The failure whose page the paste came from, and how the verdict relates to it."""

    slug: str
    title: str
    relation: str  # same | consequence | hypothesis | recovered | other


@dataclass(frozen=True, slots=True)
class VerdictPage:
    """Everything that the page of a verdict says."""

    answer: Answer
    verdict: Mapping[str, Any]
    title: str
    label: Label
    telling: Place | None
    has_short_page: bool
    confidence: str
    rank_basis: str
    placeholders: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]
    proofs: tuple[Proof, ...]
    consequences: tuple[Other, ...]
    possibilities: tuple[Possibility, ...]
    recovered: tuple[Survived, ...]
    fates: tuple[FateRow, ...]
    fates_have: Mapping[str, bool]
    skews: str
    asked_about: AskedAbout | None
    many_files: bool
    hidden: tuple[Hidden, ...]
    hidden_besides: int


def present(answer: Answer) -> VerdictPage:
    """Put an answer into the words of its page."""
    verdict = answer.verdict
    primary = verdict["primary"] or {}
    reader = LogReader([file.name for file in answer.about.files], answer.read_file)
    excerpts = reader.excerpts(primary.get("evidence", ()))
    titles = _titles(answer, verdict)
    place = _place_maker(reader, excerpts)
    fates = _fate_rows(verdict["ranks"])
    label = OUTCOMES[verdict["outcome"]]
    return VerdictPage(
        answer=answer,
        verdict=verdict,
        title=(primary.get("failure") or {}).get("title", label.words),
        label=label,
        telling=_telling(primary.get("evidence", ()), reader),
        has_short_page=_has_short_page(primary.get("failure") or {}),
        confidence=CONFIDENCES.get(primary.get("confidence", ""), ""),
        rank_basis=RANK_BASES.get(primary.get("rank_basis") or "", ""),
        placeholders=_placeholders(verdict["fix"] or {}),
        excerpts=excerpts,
        proofs=tuple(_proofs(primary.get("evidence", ()), reader)),
        consequences=tuple(_others(verdict["consequences"], titles, place)),
        possibilities=tuple(_possibilities(verdict["hypotheses"], titles)),
        recovered=tuple(_survived(verdict["recovered"], titles)),
        fates=fates,
        fates_have={
            column: any(getattr(row, column) for row in fates)
            for column in ("hosts", "lines", "times")
        },
        skews=_skews(verdict["coverage"]["clock_skew"] or {}),
        asked_about=_asked_about(answer.asked_about, verdict, titles),
        many_files=len(answer.about.files) > 1,
        hidden=tuple(
            Hidden(each.placeholder, KINDS[each.kind], each.file, each.line, each.count)
            for each in answer.about.replacements
        ),
        hidden_besides=answer.about.replaced - len(answer.about.replacements),
    )


def _telling(evidence: Sequence[Mapping[str, Any]], reader: LogReader) -> Place | None:
    """Return the line that says it best."""
    for each in evidence[:1]:
        number = reader.file_number(each["file"])
        return Place(each["file"], each["line"], anchor(number, each["line"]), each["text"].strip())
    return None


def _has_short_page(failure: Mapping[str, Any]) -> bool:
    found = Failure.objects.filter(slug=failure.get("slug", "")).only("sections").first()
    return found is not None and found.is_short


def _titles(answer: Answer, verdict: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the titles of all failures that the page names; an unknown slug stands for itself."""
    slugs = {answer.asked_about} if answer.asked_about else set()
    for key in ("consequences", "hypotheses", "recovered"):
        slugs.update(each["failure"] for each in verdict[key])
    known = dict(Failure.objects.filter(slug__in=slugs).values_list("slug", "title"))
    return {slug: known.get(slug, slug) for slug in slugs}


def _placeholders(fix: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the commands still leave open, each once."""
    commands = f"{fix.get('command') or ''}\n{fix.get('verify') or ''}"
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(commands)))


def _proofs(evidence: Sequence[Mapping[str, Any]], reader: LogReader) -> Iterable[Proof]:
    for each in evidence:
        yield Proof(
            line=each["line"],
            anchor=anchor(reader.file_number(each["file"]), each["line"]),
            role=ROLES[each["role"]],
            rank=each["rank"],
        )


def _skews(seconds: Mapping[str, float]) -> str:
    return ", ".join(
        f"{host} by {skew:+g} s"
        for host, skew in sorted(seconds.items())
        if abs(skew) >= _SMALLEST_SKEW_SECONDS
    )


def _place_maker(reader: LogReader, excerpts: Iterable[Excerpt]) -> Callable[[str, int], Place]:
    shown = {(each.file, line.number) for each in excerpts for line in each.lines}

    def place(file: str, line: int) -> Place:
        linked = anchor(reader.file_number(file), line) if (file, line) in shown else None
        return Place(file, line, linked, reader.line(file, line))

    return place


def _others(
    consequences: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    place: Callable[[str, int], Place],
) -> Iterable[Other]:
    for each in consequences:
        yield Other(
            slug=each["failure"],
            title=titles[each["failure"]],
            ranks=_ranks_in_words(each["ranks"]),
            hosts=", ".join(each["hosts"]),
            count=each["count"],
            first=place(each["file"], each["first_line"]),
        )


def _possibilities(
    hypotheses: Sequence[Mapping[str, Any]], titles: Mapping[str, str]
) -> Iterable[Possibility]:
    for each in hypotheses:
        yield Possibility(
            slug=each["failure"],
            title=titles[each["failure"]],
            speaks_for=each["for"],
            speaks_against=each["against"],
            collect_next=each["collect_next"],
        )


def _survived(
    recovered: Sequence[Mapping[str, Any]], titles: Mapping[str, str]
) -> Iterable[Survived]:
    for each in recovered:
        yield Survived(
            slug=each["failure"],
            title=titles[each["failure"]],
            ranks=_ranks_in_words(each["ranks"]),
            first_line=each["first_line"],
            recovered_by_line=each["recovered_by_line"],
        )


def _fate_rows(fates: Sequence[Mapping[str, Any]]) -> tuple[FateRow, ...]:
    """Return the rank that failed first, then the others: the more of them, the more is merged."""
    ordered = sorted(fates, key=lambda each: (each["fate"] != "initiated", each["rank"]))
    groups = [[each] for each in ordered]
    if len(groups) > _ROWS_BEFORE_MERGING:
        groups = _neighbours(ordered, ("fate", "host"))
    if len(groups) > _ROWS_BEFORE_HOSTS_MERGE:
        groups = _neighbours(ordered, ("fate",))
    return tuple(map(_fate_row, groups))


def _neighbours(
    fates: Iterable[Mapping[str, Any]], alike_in: Sequence[str]
) -> list[list[Mapping[str, Any]]]:
    groups: list[list[Mapping[str, Any]]] = []
    for each in fates:
        if groups and all(groups[-1][-1][key] == each[key] for key in alike_in):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _fate_row(group: Sequence[Mapping[str, Any]]) -> FateRow:
    hosts = list(dict.fromkeys(each["host"] for each in group if each["host"]))
    return FateRow(
        ranks=numbers_in_words([each["rank"] for each in group]),
        hosts=", ".join(hosts) if len(hosts) <= _HOSTS_NAMED else f"{len(hosts)} hosts",
        fate=group[0]["fate"],
        words=FATES[group[0]["fate"]],
        lines=_span(group, "first_line", "last_line"),
        times=_span(group, "first_time", "last_time"),
    )


def _span(group: Sequence[Mapping[str, Any]], first: str, last: str) -> str:
    starts = [each[first] for each in group if each[first] is not None]
    ends = [each[last] for each in group if each[last] is not None]
    if not starts or not ends:
        return ""
    start, end = min(starts), max(ends)
    return str(start) if start == end else f"{start} \N{EN DASH} {end}"


def _asked_about(
    slug: str, verdict: Mapping[str, Any], titles: Mapping[str, str]
) -> AskedAbout | None:
    if not slug:
        return None
    primary = verdict["primary"] or {}
    found = (primary.get("failure") or {}).get("slug")
    relation = "same" if found == slug else "other"
    for key, name in (
        ("consequences", "consequence"),
        ("hypotheses", "hypothesis"),
        ("recovered", "recovered"),
    ):
        if relation == "other" and any(each["failure"] == slug for each in verdict[key]):
            relation = name
    return AskedAbout(slug, titles[slug], relation)


def _ranks_in_words(ranks: Sequence[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {numbers_in_words(ranks)}" if ranks else ""


def numbers_in_words(numbers: Sequence[int]) -> str:
    """Return ranks as people write them, runs of them by first and last."""
    return ", ".join(
        str(run.start) if len(run) == 1 else f"{run.start}\N{EN DASH}{run.stop - 1}"
        for run in runs(sorted(numbers))
    )
