"""A verdict as its page shows it: every code of the JSON put into words, in one table each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from diagnosis.answers import Answer
from diagnosis.engine.filling import MASKED
from diagnosis.excerpts import Excerpt, Excerpts
from diagnosis.gutter import Gutter, marked_lines, stand_for
from diagnosis.log_reader import LogReader, anchor
from diagnosis.moments import Moments
from diagnosis.nearest import Near, nearest
from diagnosis.number_runs import numbers_in_words, ranks_in_words
from diagnosis.preloaded import compiled
from diagnosis.rank_groups import RankGroup, group_ranks, merge_silent
from diagnosis.timeline import KINDS as EVENTS
from diagnosis.timeline import LETTERS, Timeline, draw, ranks_singled_out
from encyclopedia.models import Failure

__all__ = ["Headline", "LogLinks", "VerdictPage", "headline_of", "present"]


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
    "derived": "worked out from what other lines tell",
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
    "torn_down": "stopped with the run",
    "stalled_waiting": "waited for a peer that did not come",
    "finished": "finished",
    "not_in_this_log": "not in this log",
}
ROLES: Mapping[str, str] = {
    "sign": "first error",
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
STACK_NAMES: Mapping[str, str] = {
    "torch": "PyTorch",
    "nccl": "NCCL",
    "cuda": "CUDA",
    "driver": "Driver",
    "python": "Python",
    "launcher": "Launcher",
}
_HOSTS_NAMED = 3
# In percent of the strip beside an excerpt: 24 pixels where it is lowest.
_GUTTER_APART = 12.5
# As the engine's `report` words it.
_RAISED_AT = re.compile(r"^(.*) \(raised at (.*)\)([^)]*)$", re.DOTALL)
_PLACEHOLDER = re.compile(r"<[a-z](?:[\w .-]*\w)?>")
_FINE_FRACTION = re.compile(r"([.,]\d{3})\d+")
# Clocks that agree so well put no line in another place.
_SMALLEST_SKEW_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Headline:
    """The summary of a verdict, and the place in the code that it names beside that.

    `message` is its beginning: what was raised, where that is told.
    """

    text: str
    message: str
    raised_at: str


@dataclass(frozen=True, slots=True)
class Place:
    """A line, and the way to where it is shown; `text` where the page quotes it.

    `other_file` is its file where the page has to name it: see `LogLinks.home`.
    """

    file: str
    line: int
    href: str
    other_file: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """A line of evidence, as the list above the excerpts names it."""

    place: Place
    role: str
    rank: int | None


@dataclass(frozen=True, slots=True)
class Frame:
    """The evidence of one file in its context, and the strip that stands for the whole file.

    Where all of the file is shown there is no strip.
    """

    excerpt: Excerpt
    gutter: Gutter | None
    proofs: tuple[Proof, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """Another failure in the verdict: its slug, its title, and where it is first seen.

    `follows` is the title of the failure that it follows from, where that is not the cause itself;
    `reason` is why it is not the cause, to be read on from its title.
    """

    slug: str
    title: str
    ranks: str
    hosts: str
    count: int
    first: Place
    text: str
    follows: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why another failure is not the cause: `words` are to be read on from its title."""

    slug: str
    title: str
    words: str


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
    first: Place
    count: int


@dataclass(frozen=True, slots=True)
class Survived:
    """A fault that the run recovered from; the places are None where the file is not told."""

    slug: str
    title: str
    ranks: str
    first_line: int
    recovered_by_line: int
    first: Place | None
    recovered_by: Place | None


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that befell a row of ranks, at a line; None where the verdict names no line."""

    place: Place | None
    words: str


@dataclass(frozen=True, slots=True)
class FateRow:
    """What became of one rank, or of ranks that shared a fate, and what the log shows of them."""

    ranks: str
    hosts: tuple[str, ...]
    fate: str
    letter: str
    words: str
    first: Place | None
    last: Place | None
    files: int
    times: str
    happenings: tuple[Happening, ...]
    last_collective: str = ""


@dataclass(frozen=True, slots=True)
class AskedAbout:
    """The failure whose page the paste came from, and how the verdict relates to it."""

    slug: str
    title: str
    relation: str  # same | consequence | hypothesis | recovered | other


@dataclass(frozen=True, slots=True)
class LogLinks:
    """Ways to lines of the log: within the page where it shows them, else to its own pages.

    `home` is the file that a line is of where none is named; "" where each has to be named.
    """

    answer_id: str
    files: tuple[str, ...]
    shown: frozenset[tuple[str, int]] = frozenset()
    home: str = ""

    def to(self, file: str, line: int) -> str:
        """Return the address of a line."""
        if file not in self.files:
            return "#log"
        number = self.files.index(file) + 1
        fragment = f"#{anchor(number, line)}"
        if (file, line) in self.shown:
            return fragment
        return f"{reverse('log-page', args=[self.answer_id, number])}?line={line}{fragment}"

    def place(self, file: str, line: int, text: str = "") -> Place:
        """Return a line with its address."""
        other = "" if file == self.home else file
        return Place(file, line, self.to(file, line), other, text)


@dataclass(frozen=True, slots=True)
class VerdictPage:
    """Everything that the page of a verdict says; `absent` are the ranks of which no line is."""

    answer: Answer
    verdict: Mapping[str, Any]
    title: str
    label: Label
    headline: Headline
    telling: Place | None
    has_short_page: bool
    confidence: str
    rank_basis: str
    placeholders: tuple[str, ...]
    masked_in_fix: tuple[str, ...]
    frames: tuple[Frame, ...]
    why: str
    why_not: tuple[Reason, ...]
    consequences: tuple[Other, ...]
    possibilities: tuple[Possibility, ...]
    nearest: tuple[Near, ...]
    recovered: tuple[Survived, ...]
    timeline: Timeline | None
    fates: tuple[FateRow, ...]
    fates_have: Mapping[str, bool]
    absent: str
    skews: str
    uncompared: str
    asked_about: AskedAbout | None
    links: LogLinks
    many_files: bool
    stack: Mapping[str, str]
    hidden: tuple[Hidden, ...]
    hidden_besides: int

    @property
    def louder_lines(self) -> int:
        """How often the log tells of what only followed."""
        return sum(each.count for each in self.consequences)

    @property
    def shared_for(self) -> str:
        """What speaks for each of the possibilities alike; "" where they differ."""
        return _shared(each.speaks_for for each in self.possibilities)

    @property
    def shared_against(self) -> str:
        """What speaks against each of the possibilities alike; "" where they differ."""
        return _shared(each.speaks_against for each in self.possibilities)


def present(answer: Answer, *, by_lines: bool = False) -> VerdictPage:
    """Put an answer into the words of its page; its timeline shows time or, if asked, lines."""
    verdict: Mapping[str, Any] = answer.shown_verdict
    primary = verdict["primary"] or {}
    evidence = primary.get("evidence", ())
    reader = LogReader([file.name for file in answer.about.files], answer.read_file)
    excerpts = Excerpts(reader, evidence).of_evidence()
    links = LogLinks(
        answer.id, reader.names, frozenset(_lines_shown(excerpts)), _home(reader.names, excerpts)
    )
    place = links.place
    titles = _titles(answer, verdict)
    groups = merge_silent(group_ranks(verdict["ranks"]), ranks_singled_out(verdict))
    lines_of = {file.name: file.lines for file in answer.about.files}
    moments = Moments(reader, compiled().envelopes)
    drawing = draw(verdict, groups, lines_of, moments.at, by_lines=by_lines)
    # One rank that failed first is told of where the page opens.
    alone = drawing is None and [group.fate for group in groups] == ["initiated"]
    more = _consequences_of_some(verdict)
    fates = () if alone else tuple(_fate_rows(groups, drawing, more, titles, place))
    label = OUTCOMES[verdict["outcome"]]
    open_in_fix = _placeholders(verdict["fix"] or {})
    why, reasons = _why_parts(primary.get("why", ""), titles)
    first_reasons = {each.slug: each for each in reversed(reasons)}
    consequences = tuple(_others(verdict, titles, first_reasons, reader, place))
    told = {first_reasons.get(each.slug) for each in consequences}
    return VerdictPage(
        answer=answer,
        verdict=verdict,
        title=(primary.get("failure") or {}).get("title", label.words),
        label=label,
        headline=headline_of(primary.get("summary", "")),
        telling=_telling(evidence, place),
        has_short_page=_has_short_page(primary.get("failure") or {}),
        # Of what names no failure, it would be confidence in nothing.
        confidence=CONFIDENCES[primary["confidence"]] if primary.get("failure") else "",
        rank_basis=RANK_BASES.get(primary.get("rank_basis") or "", ""),
        placeholders=tuple(each for each in open_in_fix if not MASKED.fullmatch(each)),
        masked_in_fix=tuple(each for each in open_in_fix if MASKED.fullmatch(each)),
        frames=tuple(_frames(answer, verdict, excerpts, links)),
        why=why,
        why_not=tuple(each for each in reasons if each not in told),
        consequences=consequences,
        possibilities=tuple(_possibilities(verdict["hypotheses"], titles)),
        nearest=_nearest(verdict["outcome"], evidence),
        recovered=tuple(_survived(verdict["recovered"], titles, reader.names, place)),
        timeline=drawing,
        fates=fates,
        fates_have={
            "hosts": any(row.hosts for row in fates),
            "lines": any(row.first or row.files for row in fates),
            "times": any(row.times for row in fates),
            "happenings": any(row.happenings for row in fates),
            "collectives": any(row.last_collective for row in fates),
        },
        absent=ranks_in_words(
            [each["rank"] for each in verdict["ranks"] if each["fate"] == "not_in_this_log"]
        ),
        skews=_skews(verdict["coverage"]["clock_skew"] or {}),
        uncompared=_uncompared(drawing.hosts if drawing else (), verdict["coverage"]["clock_skew"]),
        asked_about=_asked_about(answer.asked_about, verdict, titles),
        links=links,
        many_files=len(answer.about.files) > 1,
        stack={STACK_NAMES.get(part, part): value for part, value in verdict["stack"].items()},
        hidden=tuple(
            Hidden(each.placeholder, KINDS[each.kind], place(each.file, each.line), each.count)
            for each in answer.about.replacements
        ),
        hidden_besides=answer.about.replaced - len(answer.about.replacements),
    )


def headline_of(summary: str) -> Headline:
    """Part the summary of a verdict from the place in the code that it names."""
    found = _RAISED_AT.match(summary)
    if found is None:
        return Headline(summary, summary, "")
    return Headline(found[1] + found[3], found[1], found[2])


def _lines_shown(excerpts: Iterable[Excerpt]) -> Iterable[tuple[str, int]]:
    for excerpt in excerpts:
        for run in excerpt.shown:
            yield from ((excerpt.file, line) for line in run)


def _home(files: Sequence[str], excerpts: Sequence[Excerpt]) -> str:
    """Return the file that lines are of where none is named: the one, or the one with evidence."""
    if len(files) == 1:
        return files[0]
    return excerpts[0].file if len(excerpts) == 1 else ""


def _frames(
    answer: Answer, verdict: Mapping[str, Any], excerpts: Iterable[Excerpt], links: LogLinks
) -> Iterable[Frame]:
    for excerpt in excerpts:
        file = answer.about.files[excerpt.file_number - 1]
        marked = marked_lines(verdict, file.name)
        gutter = stand_for(file, marked, excerpt.shown, links.to, _GUTTER_APART)
        proofs = tuple(_proofs((verdict["primary"] or {})["evidence"], file.name, links.place))
        yield Frame(excerpt, gutter if len(excerpt.pieces) > 1 else None, proofs)


def _telling(
    evidence: Sequence[Mapping[str, Any]], place: Callable[[str, int, str], Place]
) -> Place | None:
    """Return the line that says it best."""
    for each in evidence[:1]:
        return place(each["file"], each["line"], each["text"].strip())
    return None


def _nearest(outcome: str, evidence: Sequence[Mapping[str, Any]]) -> tuple[Near, ...]:
    """Return what is most like the line of a failure that the catalogue does not know."""
    if outcome != "unrecognised" or not evidence:
        return ()
    return nearest(evidence[0]["text"])


def _has_short_page(failure: Mapping[str, Any]) -> bool:
    found = Failure.objects.filter(slug=failure.get("slug", "")).only("sections").first()
    return found is not None and found.is_short


def _titles(answer: Answer, verdict: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the titles of all failures that the page names; an unknown slug stands for itself."""
    slugs = {answer.asked_about} if answer.asked_about else set()
    for key in ("consequences", "hypotheses", "recovered"):
        slugs.update(each["failure"] for each in verdict[key])
    slugs.update(each["explained_by"] for each in verdict["consequences"] if each["explained_by"])
    known = dict(Failure.objects.filter(slug__in=slugs).values_list("slug", "title"))
    return {slug: known.get(slug, slug) for slug in slugs}


def _shared(texts: Iterable[str]) -> str:
    """Return the text that several have alike; "" where they differ, or there is but one."""
    all_of_them = list(texts)
    return all_of_them[0] if len(all_of_them) > 1 and len(set(all_of_them)) == 1 else ""


def _why_parts(why: str, titles: Mapping[str, str]) -> tuple[str, tuple[Reason, ...]]:
    """Part the engine's reasons: those for the verdict, and those against each other failure.

    A sentence that begins with the title of another failure is about that one.
    """
    starts = sorted(
        (found.start(1), slug)
        for slug, title in titles.items()
        for found in re.finditer(rf"(?:^|\. )({re.escape(title)} )", why)
    )
    if not starts:
        return why, ()
    ends = [*(start for start, _slug in starts[1:]), len(why)]
    reasons = (
        Reason(slug, titles[slug], why[start:end].removeprefix(titles[slug]).strip())
        for (start, slug), end in zip(starts, ends, strict=True)
    )
    return why[: starts[0][0]].strip(), tuple(reasons)


def _placeholders(fix: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the commands still leave open, each once."""
    commands = f"{fix.get('command') or ''}\n{fix.get('verify') or ''}"
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(commands)))


def _proofs(
    evidence: Iterable[Mapping[str, Any]], file: str, place: Callable[[str, int], Place]
) -> Iterable[Proof]:
    for each in evidence:
        if each["file"] == file:
            yield Proof(place(file, each["line"]), ROLES[each["role"]], each["rank"])


def _skews(seconds: Mapping[str, float]) -> str:
    """Return how far the clocks of hosts run from the first one's, the furthest first."""
    found = sorted(
        ((host, skew) for host, skew in seconds.items() if abs(skew) >= _SMALLEST_SKEW_SECONDS),
        key=lambda each: (-abs(each[1]), each[0]),
    )
    named = [
        f"{host} {abs(skew):.3g} s {'ahead' if skew > 0 else 'behind'}"
        for host, skew in found[:_HOSTS_NAMED]
    ]
    rest = len(found) - len(named)
    return ", ".join(named) + (f", {rest} more by less" if rest else "")


def _uncompared(hosts: Sequence[str], skews: Mapping[str, float] | None) -> str:
    """Say of which of several hosts nothing in the log tells how far their clocks are apart."""
    rest = [host for host in hosts if host not in (skews or {})]
    if len(hosts) < 2 or not rest:
        return ""
    if len(rest) == len(hosts):
        whose = "s of the hosts"
    elif len(rest) == 1:
        whose = f" of {rest[0]}"
    elif len(rest) <= _HOSTS_NAMED:
        whose = f"s of {', '.join(rest[:-1])} and {rest[-1]}"
    else:
        whose = f"s of {len(rest)} of the {len(hosts)} hosts"
    return f"The clock{whose} could not be compared."


def _others(
    verdict: Mapping[str, Any],
    titles: Mapping[str, str],
    reasons: Mapping[str, Reason],
    reader: LogReader,
    place: Callable[[str, int], Place],
) -> Iterable[Other]:
    root = ((verdict["primary"] or {}).get("failure") or {}).get("slug")
    for each in verdict["consequences"]:
        by = each["explained_by"]
        follows = titles[by] if by and by not in (root, each["failure"]) else ""
        reason = reasons.get(each["failure"])
        yield Other(
            slug=each["failure"],
            title=titles[each["failure"]],
            ranks=ranks_in_words(each["ranks"]),
            hosts=", ".join(_few_hosts(each["hosts"])),
            count=each["count"],
            first=place(each["file"], each["first_line"]),
            text=reader.line(each["file"], each["first_line"]),
            follows=follows,
            reason=reason.words if reason and not follows else "",
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
    recovered: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    files: Sequence[str],
    place: Callable[[str, int], Place],
) -> Iterable[Survived]:
    for each in recovered:
        # A verdict gives lines alone here: with several files they lead nowhere for sure.
        places = (
            (place(files[0], each["first_line"]), place(files[0], each["recovered_by_line"]))
            if len(files) == 1
            else (None, None)
        )
        yield Survived(
            each["failure"],
            titles[each["failure"]],
            ranks_in_words(each["ranks"]),
            each["first_line"],
            each["recovered_by_line"],
            *places,
        )


def _consequences_of_some(verdict: Mapping[str, Any]) -> Sequence[tuple[str, frozenset[int]]]:
    """Return the consequences that did not befall all ranks alike, each with its ranks."""
    world = {each["rank"] for each in verdict["ranks"]}
    found = ((each["failure"], frozenset(each["ranks"])) for each in verdict["consequences"])
    return [(slug, ranks) for slug, ranks in found if not ranks >= world]


def _fate_rows(
    groups: Sequence[RankGroup],
    drawing: Timeline | None,
    more: Sequence[tuple[str, frozenset[int]]],
    titles: Mapping[str, str],
    place: Callable[[str, int], Place],
) -> Iterable[FateRow]:
    """Yield a row for each lane of the timeline, so that the table says what the drawing shows.

    A consequence is drawn where it is seen first; `more` tells what befell the other ranks.
    """
    if drawing is None:
        yield from (_fate_row(group, (), place) for group in groups)
        return
    for lane in drawing.lanes:
        happenings = tuple(
            Happening(place(event.file, event.line), titles.get(event.failure, EVENTS[event.kind]))
            for event in lane.events
        )
        if lane.group is not None:
            drawn = {event.failure for event in lane.events}
            also = tuple(
                Happening(None, titles[slug])
                for slug, ranks in more
                if slug not in drawn and ranks.intersection(lane.group.ranks)
            )
            yield _fate_row(lane.group, happenings + also, place)
        else:
            yield FateRow(lane.label, (), "", "", "", None, None, 0, "", happenings)


def _fate_row(
    group: RankGroup, happenings: tuple[Happening, ...], place: Callable[[str, int], Place]
) -> FateRow:
    first = last = None
    if len(group.spans) == 1:
        (span,) = group.spans
        first, last = place(span.file, span.first_line), place(span.file, span.last_line)
    return FateRow(
        ranks=numbers_in_words(group.ranks),
        hosts=_few_hosts(group.hosts),
        fate=group.fate,
        letter=LETTERS[group.fate],
        words=FATES[group.fate],
        first=first,
        last=last,
        files=len(group.spans),
        times=_times_in_words(group.first_time, group.last_time),
        happenings=happenings,
        last_collective=group.last_collective,
    )


def _times_in_words(first: str, last: str) -> str:
    """Return the stamps of the first and the last line, as far as the two bear one.

    Digits behind the millisecond would break the column.
    """
    first, last = (_FINE_FRACTION.sub(r"\1", stamp) for stamp in (first, last))
    if not first or not last:
        return f"from {first}" if first else f"until {last}" if last else ""
    return first if first == last else f"{first}\n\N{EN DASH} {last}"


def _few_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts by name, or how many they are."""
    return tuple(hosts) if len(hosts) <= _HOSTS_NAMED else (f"{len(hosts)} hosts",)


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
