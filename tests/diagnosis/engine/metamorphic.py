"""Changes to a log of which it is known what they may do to its verdict.

A *lossless* change leaves all that the log tells: the verdict must name the same failure, rank,
outcome and confidence. A *lossy* one takes something away: the failure stays or the outcome turns
more careful, and another failure is never named. Each change is a function of a sample and of a
source of chance that is seeded by the names of both, so that a variant is the same in every run.
"""

from __future__ import annotations

import datetime
import functools
import html
import itertools
import json
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from denpex.evaluation import Case
from diagnosis.engine import Compiled, LogFile, Verdict, diagnose
from diagnosis.engine.anchors import pattern_of
from diagnosis.engine.events import UNNAMED
from diagnosis.engine.masking import mask
from diagnosis.engine.sources import LineFacts
from diagnosis.engine.verdict import OUTCOMES
from encyclopedia.catalogue import Catalogue

Files = Sequence[LogFile]

HARMLESS_BYTES = 5_000_000
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_STAMP_STEP = datetime.timedelta(milliseconds=7)
_FIRST_STAMP = datetime.datetime(2026, 11, 30, 6, 0, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Sample:
    """A case, the verdict on it as it is, and the engine that gave it."""

    case: Case
    verdict: Verdict
    compiled: Compiled

    @functools.cached_property
    def lines(self) -> list[bytes]:
        """The lines, each with its feed."""
        return re.findall(rb"[^\n]*\n|[^\n]+", self.case.log)

    @functools.cached_property
    def starts(self) -> list[int]:
        """The offset of each line."""
        return list(itertools.accumulate((len(line) for line in self.lines[:-1]), initial=0))

    @functools.cached_property
    def facts(self) -> list[LineFacts]:
        """What the envelopes of each line tell."""
        return [self.compiled.envelopes.parse(line[:4096]) for line in self.lines]

    @functools.cached_property
    def ranks(self) -> list[int | None]:
        """The rank that each line prints in front of it."""
        return [facts.source.rank for facts in self.facts]


Change = Callable[[Sample, random.Random], Files | None]


def _is_wide(log: bytes) -> bool:
    return log.startswith(_UTF_16)


def variant(name: str, change: Change, sample: Sample) -> Files | None:
    """Return the changed files, or None where the change has nothing to take hold of."""
    return change(sample, random.Random(f"{name} {sample.case.id}"))


# Changes that lose nothing


def _one(log: bytes) -> Files:
    return [LogFile("log.txt", log)]


def _by_line(sample: Sample, changed: Callable[[int, bytes], bytes]) -> Files | None:
    """Change each line without its end; a log in UTF-16 has no lines of bytes."""
    if _is_wide(sample.case.log):
        return None
    parts = []
    for number, line in enumerate(sample.lines):
        body = line.removesuffix(b"\n")
        parts.append(changed(number, body) + line[len(body) :])
    return _one(b"".join(parts))


_COLOURS = (b"\x1b[31m", b"\x1b[1;33m", b"\x1b[38;5;208m", b"\x1b[36m", b"\x1b[2m")
_PLAIN = b"\x1b[0m"


def ansi_colours(sample: Sample, chance: random.Random) -> Files | None:
    """Colour lines and words, as loggers and terminals do."""

    def coloured(_number: int, line: bytes) -> bytes:
        colour = chance.choice(_COLOURS)
        way = chance.randrange(4)
        if not line.strip() or way == 0:
            return line
        if way == 1 or b"\x1b" in line:
            return colour + line + _PLAIN
        if way == 2:
            return line + b"\x1b[K"
        words = re.split(rb"(\s+)", line)
        place = chance.choice([at for at, word in enumerate(words) if word.strip()])
        words[place] = colour + words[place] + _PLAIN
        return b"".join(words)

    return _by_line(sample, coloured)


def crlf(sample: Sample, _chance: random.Random) -> Files | None:
    """End lines as Windows does."""
    return _by_line(sample, lambda _number, line: line.removesuffix(b"\r") + b"\r")


def utf_16(sample: Sample, _chance: random.Random) -> Files | None:
    """Encode the log as PowerShell's redirection does."""
    try:
        text = sample.case.log.decode()
    except UnicodeDecodeError:
        return None
    return _one(_UTF_16[0] + text.encode("utf-16-le"))


def nul_bytes(sample: Sample, chance: random.Random) -> Files | None:
    """Put NUL bytes into lines, as torch ends its line on a bus error."""

    def holed(_number: int, line: bytes) -> bytes:
        place = chance.randrange(2 * len(line) + 1)
        return line if place > len(line) else line[:place] + b"\0" + line[place:]

    return _by_line(sample, holed)


def _in_place_of_line(form: Callable[[int, bytes], bytes]) -> Change:
    """Return the change that writes every line in another form."""
    return lambda sample, _chance: _by_line(sample, form)


_HARMLESS = (
    b"loading shard %d of 40000 from /data/tokens",
    b"step %d/90000 | loss 2.31 | lr 1.2e-04 | grad_norm 0.71 | 41.2k tok/s",
    b"eval: error_rate 0.%d, timeout_s 1800, oom_retries 0, nan_count 0",
    b"UserWarning: cache entry %d is older than a day and is read again",
    b"GET /v1/models/%d HTTP/1.1 200 OK",
    b"checkpoint %d saved to /ckpt in 3.2 s",
)


@functools.cache
def harmless_text() -> bytes:
    """Return five megabytes of what healthy runs print."""
    lines = []
    size = number = 0
    while size < HARMLESS_BYTES:
        lines.append(_HARMLESS[number % len(_HARMLESS)] % number + b"\n")
        size += len(lines[-1])
        number += 1
    return b"".join(lines)


def harmless_text_before(sample: Sample, _chance: random.Random) -> Files | None:
    """Put much text of a healthy run in front."""
    if _is_wide(sample.case.log):
        return None
    return _one(harmless_text() + sample.case.log)


def masked(sample: Sample, _chance: random.Random) -> Files | None:
    """Hide secrets and personal details, as every paste is before it is diagnosed."""
    return mask(_one(sample.case.log)).logs


def _enveloped(front: Callable[[int], str]) -> Change:
    """Return the change that puts an envelope in front of every line."""

    def change(sample: Sample, _chance: random.Random) -> Files | None:
        return _by_line(sample, lambda number, line: front(number).encode() + line)

    return change


def _stamp(number: int) -> datetime.datetime:
    return _FIRST_STAMP + number * _STAMP_STEP


def _iso(number: int) -> str:
    return f"{_stamp(number):%Y-%m-%dT%H:%M:%S.%f}Z"


def docker_json(sample: Sample, _chance: random.Random) -> Files | None:
    """Write every line as Docker's json-file driver does."""

    def record(number: int, line: bytes) -> bytes:
        text = line.decode("utf-8", "replace") + "\n"
        return json.dumps(
            {"log": text, "stream": "stderr", "time": _iso(number)},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()

    return _by_line(sample, record)


_LINES_IN_RECORD = 40


def records_of_many_lines(sample: Sample, _chance: random.Random) -> Files | None:
    """Write what one rank prints in one go as one record, as agents of log services do."""
    records: list[bytes] = []
    for number, (_rank, group) in enumerate(
        itertools.groupby(
            enumerate(zip(sample.ranks, sample.lines, strict=True)),
            key=lambda item: (item[1][0], item[0] // _LINES_IN_RECORD),
        )
    ):
        text = b"".join(line for _, (_, line) in group).decode("utf-8", "replace")
        record = {"severity": "ERROR", "message": text, "timestamp": _iso(number)}
        records.append(json.dumps(record).encode() + b"\n")
    return _one(b"".join(records))


def _in_place_of_text(changed: Callable[[bytes], bytes]) -> Change:
    """Change the text as a whole, where it is one of bytes."""

    def change(sample: Sample, _chance: random.Random) -> Files | None:
        return None if _is_wide(sample.case.log) else _one(changed(sample.case.log))

    return change


def typeset(log: bytes) -> bytes:
    """Set quotes as a forum does; a quote that nothing closes stays."""
    log = re.sub(rb'"([^"\n]*)"', "\u201c\\1\u201d".encode(), log)
    return re.sub(rb"'([^'\n]*)'", "\u2018\\1\u2019".encode(), log)


def as_html(log: bytes) -> bytes:
    """Write marks as entities, as the source of a page has them."""
    return html.escape(log.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


_RANK_PREFIX = re.compile(rb"^\[rank(\d+)\]:")


def local_rank_in_front(sample: Sample, _chance: random.Random) -> Files | None:
    """Print the local rank before the rank, as `torchrun --tee 3` does."""
    local_ranks = {each.rank: each.local_rank for each in sample.verdict.ranks}
    if any(each is None for each in local_ranks.values()):
        return None
    found = False

    def labelled(_number: int, line: bytes) -> bytes:
        nonlocal found
        mark = _RANK_PREFIX.match(line)
        local_rank = local_ranks.get(int(mark[1])) if mark else None
        if local_rank is None:
            return line
        found = True
        return b"[default%d]:%b" % (local_rank, line)

    changed = _by_line(sample, labelled)
    return changed if found else None


LOSSLESS: Mapping[str, Change] = {
    "ANSI colours": ansi_colours,
    "CRLF": crlf,
    "UTF-16": utf_16,
    "NUL bytes": nul_bytes,
    "blanks behind": _in_place_of_line(lambda _number, line: line + b"  \t"),
    "blank lines between": _in_place_of_line(lambda _number, line: line + b"\n"),
    "indented": _in_place_of_line(lambda _number, line: b"    " + line),
    "quoted": _in_place_of_line(lambda _number, line: b"> " + line),
    "cat -n": _in_place_of_line(lambda number, line: b"%6d\t%b" % (number + 1, line)),
    "harmless text before": harmless_text_before,
    "masking": masked,
    "typeset quotes": _in_place_of_text(typeset),
    "no-break blanks": _in_place_of_text(lambda log: log.replace(b" ", "\u00a0".encode())),
    "blanks of no width": _in_place_of_text(lambda log: log.replace(b": ", ":\u200b ".encode())),
    "HTML entities": _in_place_of_text(as_html),
    "colours without escapes": _in_place_of_line(lambda _number, line: b"[31m" + line + b"[0m"),
    "one string": _in_place_of_text(lambda log: log.replace(b"\n", b"\\n")),
    "indents lost": _in_place_of_line(lambda _number, line: line.lstrip(b" ")),
    "grep -n": _in_place_of_line(lambda number, line: b"%d:%b" % (number + 1, line)),
    "grep -Hn": _in_place_of_line(lambda number, line: b"logs/run.log:%d:%b" % (number + 1, line)),
    "kubectl --prefix": _enveloped(lambda _number: "[pod/trainer-0/main] "),
    "compose": _enveloped(lambda _number: "trainer-1  | "),
    "CRI": _enveloped(lambda number: f"{_iso(number)} stderr F "),
    "journald": _enveloped(
        lambda number: f"{_stamp(number):%b %d %H:%M:%S} gpu-node-7 trainer[4711]: "
    ),
    "ISO stamps": _enveloped(lambda number: f"{_iso(number)} "),
    "stern": _enveloped(lambda _number: "trainer-worker-0 pytorch "),
    "syslog with dates": _enveloped(lambda number: f"{_iso(number)} gpu-node-7 trainer[4711]: "),
    "GitLab": _enveloped(lambda number: f"{_iso(number)} 01O "),
    "numbers in brackets": _enveloped(lambda number: f"[{number + 1}] "),
    "a prefix of no known kind": _enveloped(lambda _number: "train-job.node-7.nolog [stderr] "),
    "minutes": _enveloped(lambda number: f" {_stamp(number):%Y-%m-%d %H:%M} "),
    "kubectl over CRI": _enveloped(lambda number: f"[pod/trainer-0/main] {_iso(number)} "),
    "Docker JSON": docker_json,
    "records of many lines": records_of_many_lines,
    "local rank in front": local_rank_in_front,
}


# Changes that lose something


def other_ranks_dropped(sample: Sample, _chance: random.Random) -> Files | None:
    """Keep the lines of the culprit, and those that print no rank."""
    culprit = sample.case.truth["initiating_rank"]
    if culprit is None or not set(sample.ranks) - {None, culprit}:
        return None
    return _one(
        b"".join(
            line
            for line, rank in zip(sample.lines, sample.ranks, strict=True)
            if rank in (None, culprit)
        )
    )


def _proof(sample: Sample) -> int | None:
    """Return the offset of the line that completes the proof of the verdict.

    A verdict that names the truth is proved by the lines that the truth cites, any other by the
    line that it cites first itself; and what only several lines together tell, by all that it
    cites.
    """
    truth, verdict, log = sample.case.truth, sample.verdict, sample.case.log
    cited = [line.line for line in verdict.primary.evidence] if verdict.primary else []
    found: list[int] = []
    if named(verdict) in sample.case.right:
        found = [at for piece in truth["evidence"] if (at := log.find(piece.encode())) >= 0]
    if _told_together(sample):
        found += [sample.starts[number - 1] for number in cited]
    return max(found or [sample.starts[number - 1] for number in cited[:1]], default=None)


def _told_together(sample: Sample) -> bool:
    """Say whether the verdict rests on a comparison of ranks, or on lines far from each other."""
    failure = sample.compiled.catalogue.failures.get(named(sample.verdict) or "")
    if failure is None:
        return False
    cited = [line.text.encode() for line in sample.verdict.primary.evidence]
    telling = [
        signature
        for signature in failure.signatures
        if any(pattern_of(signature.pattern).search(text) for text in cited)
    ]
    return failure.told_by == "comparison" or any(
        requirement.within != "event" for signature in telling for requirement in signature.requires
    )


def cut_behind_the_proof(sample: Sample, _chance: random.Random) -> Files | None:
    """End the log with the line that completes the proof."""
    return _cut(sample, lambda _following: 0)


def cut_later(sample: Sample, chance: random.Random) -> Files | None:
    """End the log somewhere behind the line that completes the proof."""
    return _cut(sample, chance.randrange)


def _cut(sample: Sample, choose: Callable[[int], int]) -> Files | None:
    proof = None if _is_wide(sample.case.log) else _proof(sample)
    if proof is None:
        return None
    last = bisect_right(sample.starts, proof)
    following = len(sample.lines) - last
    if following == 0:
        return None
    return _one(b"".join(sample.lines[: last + choose(following)]))


def ranks_shuffled(sample: Sample, chance: random.Random) -> Files | None:
    """Interleave the ranks anew; the lines of one stay in order, and those of none in place."""
    if len(set(sample.ranks) - {None}) < 2:
        return None
    output: list[bytes] = []
    run: list[tuple[int, bytes]] = []
    for line, rank in zip([*sample.lines, b""], [*sample.ranks, None], strict=True):
        if rank is None:
            output.extend(_interleaved(run, chance))
            output.append(line)
            run = []
        else:
            run.append((rank, line))
    return None if output == [*sample.lines, b""] else _one(b"".join(output))


def _interleaved(run: Sequence[tuple[int, bytes]], chance: random.Random) -> list[bytes]:
    order = [rank for rank, _ in run]
    chance.shuffle(order)
    streams = {rank: iter([line for each, line in run if each == rank]) for rank in set(order)}
    return [next(streams[rank]) for rank in order]


_DAY_AND_TIME = re.compile(
    rb"(?P<date>\d{4}-\d\d-\d\d)(?P<between>[T _])(?P<time>\d\d:\d\d:\d\d)|\b\d\d:\d\d:\d\d\b"
)


def _moved(stamp: re.Match[bytes], by: datetime.timedelta) -> bytes:
    if stamp["date"] is None:
        moment = datetime.datetime.strptime(stamp[0].decode(), "%H:%M:%S") + by  # noqa: DTZ007
        return f"{moment:%H:%M:%S}".encode()
    text = f"{stamp['date'].decode()} {stamp['time'].decode()}"
    moment = datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S") + by  # noqa: DTZ007
    return f"{moment:%Y-%m-%d}{stamp['between'].decode()}{moment:%H:%M:%S}".encode()


def _hosts(sample: Sample) -> list[str | None]:
    return [facts.source.host or facts.source.pod for facts in sample.facts]


def _clock_moved(seconds: int, *, file_by_host: bool = False) -> Change:
    """Return the change that moves the clock of one host of several.

    With `file_by_host` the lines of each host come as a file of its own, so that only the stamps
    tell what came first.
    """
    by = datetime.timedelta(seconds=seconds)

    def change(sample: Sample, chance: random.Random) -> Files | None:
        hosts = _hosts(sample)
        stamped = {
            host
            for host, facts in zip(hosts, sample.facts, strict=True)
            if host is not None and facts.time is not None
        }
        if len(stamped) < 2:
            return None
        astray = chance.choice(sorted(stamped))
        files: dict[str, list[bytes]] = {}
        for line, host in zip(sample.lines, hosts, strict=True):
            moved = _DAY_AND_TIME.sub(lambda stamp: _moved(stamp, by), line)
            name = f"{host or 'log'}.txt" if file_by_host else "log.txt"
            files.setdefault(name, []).append(moved if host == astray else line)
        return [LogFile(name, b"".join(lines)) for name, lines in files.items()]

    return change


LOSSY: Mapping[str, Change] = {
    "other ranks dropped": other_ranks_dropped,
    "cut behind the proof": cut_behind_the_proof,
    "cut later": cut_later,
    "cut later still": cut_later,
    "ranks shuffled": ranks_shuffled,
    "ranks shuffled otherwise": ranks_shuffled,
    **{f"a clock {seconds:+} s": _clock_moved(seconds) for seconds in (-90, -2, 2, 90)},
    **{
        f"a file by host, a clock {seconds:+} s": _clock_moved(seconds, file_by_host=True)
        for seconds in (-90, -2, 0, 2, 90)
    },
}


# What became of the verdict


@dataclass(frozen=True, slots=True)
class Told:
    """What of a verdict must not change where nothing was lost."""

    failure: str | None
    rank: int | None
    outcome: str
    confidence: str | None


def told(verdict: Verdict) -> Told:
    """Return the part of a verdict that people act on."""
    primary = verdict.primary
    return Told(
        named(verdict),
        primary.rank if primary else None,
        verdict.outcome,
        primary.confidence if primary else None,
    )


_BEHIND_NAME = re.compile(r": | \(raised at| on rank| on host|\. No failure")


def named(verdict: Verdict) -> str | None:
    """Return the slug of the failure; of what the catalogue does not know, the verdict's word."""
    if verdict.primary is None or verdict.outcome == "no_failure":
        return None
    if verdict.primary.failure is not None:
        return verdict.primary.failure.slug
    return _BEHIND_NAME.split(verdict.primary.summary)[0]


def compared(sample: Sample, files: Files) -> tuple[str, Verdict]:
    """Say what a lossy change did to the verdict: "kept", "careful" or "other"; and the verdict."""
    verdict = diagnose(files, sample.compiled)
    if named(verdict) in _same(sample, verdict):
        return "kept", verdict
    if _is_more_careful(sample, verdict, files):
        return "careful", verdict
    return "other", verdict


def _same(sample: Sample, verdict: Verdict) -> set[str | None]:
    """Return the names that stand for no other failure than the sample's."""
    truth, before = sample.case.truth, named(sample.verdict)
    same = {before}
    if sample.case.is_negative or verdict.outcome in ("no_failure", "unreadable"):
        return same
    same.update((truth["primary"], *truth["accept"]))
    same.update(_general(before, sample.compiled.catalogue))
    if _first_line(verdict) == _first_line(sample.verdict):
        same.update(each.failure for each in sample.verdict.hypotheses)
    return same


def _general(name: str | None, catalogue: Catalogue) -> Iterable[str]:
    return catalogue.general_failures(name) if name and name in catalogue.failures else ()


def _first_line(verdict: Verdict) -> str | None:
    return (
        verdict.primary.evidence[0].text if verdict.primary and verdict.primary.evidence else None
    )


def _is_more_careful(sample: Sample, verdict: Verdict, files: Files) -> bool:
    before, after = named(sample.verdict), named(verdict)
    if verdict.outcome in ("no_failure", "unreadable"):
        survived = {each.failure for each in verdict.recovered}
        return before in survived or not _shows_proof(sample, files)
    if verdict.outcome in ("established", "probable"):
        return False
    if OUTCOMES.index(verdict.outcome) > OUTCOMES.index(sample.verdict.outcome):
        return True
    if verdict.outcome == "unrecognised":
        return after == UNNAMED
    # Of a symptom, only what follows from it may be left.
    explains = sample.compiled.catalogue.explains
    return bool(before and after and _known(before, after, sample) and explains(before, after))


def _shows_proof(sample: Sample, files: Files) -> bool:
    proof = [piece.encode() for piece in sample.case.truth["evidence"]]
    return any(piece in file.data for piece in proof for file in files)


def _known(one: str, other: str, sample: Sample) -> bool:
    return {one, other} <= sample.compiled.catalogue.failures.keys()
