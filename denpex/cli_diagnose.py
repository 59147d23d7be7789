"""`denpex diagnose`: files in, a verdict that people can read out."""

from __future__ import annotations

import gzip
import shutil
import sys
import textwrap
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnosis.engine import LogFile, diagnose, load_compiled
from diagnosis.engine.verdict import Primary, Verdict
from diagnosis.number_runs import runs

if TYPE_CHECKING:
    from diagnosis.engine.masking import Masked

__all__ = ["InputError", "diagnose_files", "print_json", "print_verdict"]

_GZIP_MAGIC = b"\x1f\x8b"
_OUTCOME_WORDS = {
    "established": "Root cause",
    "probable": "Probable root cause",
    "symptom_only": "Symptom (the cause is not in this log)",
    "unrecognised": "Not recognised",
    "no_failure": "No failure seen",
    "unreadable": "Unreadable",
}
# Control characters, and those that turn the direction of text or hide: a log may hold a terminal's
# commands.
_UNPRINTABLE = ("Cc", "Cf")
_RANK_BASES = {"derived": "derived", "eliminated": "found by elimination"}


class InputError(Exception):
    """A file that cannot be read; the message says which and why."""


def diagnose_files(names: Sequence[str], *, mask: bool) -> tuple[Verdict, Masked | None]:
    """Read the named files (`-` or none: standard input) and diagnose them as one run.

    Returns the verdict and, where `mask` is set, what was masked. Raises InputError.
    """
    files = [_read(name) for name in names or ["-"]]
    masked = _mask(files) if mask else None
    verdict = diagnose(files if masked is None else masked.logs, load_compiled())
    return verdict, masked


def _mask(files: Sequence[LogFile]) -> Masked:
    from diagnosis.engine.masking import mask

    return mask(files)


def _read(name: str) -> LogFile:
    if name == "-":
        if sys.stdin.isatty():
            print("denpex: reading the log from the terminal; Ctrl-D ends it", file=sys.stderr)
        return LogFile("stdin", _unpacked("standard input", sys.stdin.buffer.read()))
    try:
        data = Path(name).read_bytes()
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder; name the log files in it") from error
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from error
    return LogFile(name.removesuffix(".gz"), _unpacked(name, data))


def _unpacked(name: str, data: bytes) -> bytes:
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: damaged gzip data: {error}") from error


def print_json(verdict: Verdict) -> None:
    """Print the verdict as JSON in UTF-8, whatever the locale."""
    sys.stdout.buffer.write(verdict.as_json().encode("utf-8", "surrogateescape") + b"\n")


def print_verdict(verdict: Verdict, masked: Masked | None) -> None:
    """Print the verdict for a person at a terminal."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    for line in _lines(verdict, masked):
        print(_wrapped(_printable(line), width))


def _printable(line: str) -> str:
    """Return a line that does nothing to a terminal but show itself."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(each) in _UNPRINTABLE and each != "\t"
        else each
        for each in line
    )


def _wrapped(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip())
    if len(line) <= width or indent >= _VERBATIM_INDENT:
        return line
    return textwrap.fill(
        line.lstrip(),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Lines indented this far are commands and log lines, and are never broken.
_VERBATIM_INDENT = 4


def _lines(verdict: Verdict, masked: Masked | None) -> Iterator[str]:
    heading = _OUTCOME_WORDS[verdict.outcome]
    primary = verdict.primary
    if primary is None:
        yield f"{heading} in {verdict.coverage.lines} lines."
    else:
        yield f"{heading}: {primary.failure.title if primary.failure else primary.summary}"
        yield from _about(primary)
    yield from _fix(verdict)
    place = _placer(verdict)
    yield from _evidence(primary, place)
    if primary is not None and primary.why and primary.why != primary.summary:
        yield ""
        yield "Why"
        yield f"  {primary.why}"
    yield from _hypotheses(verdict)
    yield from _consequences(verdict, place)
    yield from _recovered(verdict)
    yield from _masked(masked)


def _about(primary: Primary) -> Iterator[str]:
    if primary.rank is not None:
        basis = _RANK_BASES.get(primary.rank_basis or "")
        yield f"  first on rank {primary.rank}" + (f" ({basis})" if basis else "")
    if primary.host is not None:
        yield f"  host {primary.host}"
    if primary.failure is not None:
        yield f"  confidence {primary.confidence} · severity {primary.failure.severity}"


def _fix(verdict: Verdict) -> Iterator[str]:
    fix = verdict.fix
    if fix is None:
        return
    yield ""
    yield "Fix"
    yield f"  {fix.summary}"
    if fix.command:
        yield from (f"    {line}" for line in fix.command.strip().splitlines())
    if fix.verify:
        yield "  Verify"
        yield from (f"    {line}" for line in fix.verify.strip().splitlines())
    if fix.expect:
        yield f"  Expect: {fix.expect}"
    if fix.infra:
        yield f"  Platform: {fix.infra}"


def _placer(verdict: Verdict) -> Callable[[str, int], str]:
    """Return how to name a line: by its number, and by its file too where there are several."""
    evidence = verdict.primary.evidence if verdict.primary else ()
    files = {each.file for each in evidence} | {each.file for each in verdict.consequences}
    if len(files) > 1:
        return lambda file, line: f"{file}:{line}"
    return lambda _file, line: f"line {line}"


def _evidence(primary: Primary | None, place: Callable[[str, int], str]) -> Iterator[str]:
    if primary is None or not primary.evidence:
        return
    yield ""
    yield "Evidence"
    for each in primary.evidence:
        yield f"    {place(each.file, each.line)}: {each.text}"


def _hypotheses(verdict: Verdict) -> Iterator[str]:
    if not verdict.hypotheses:
        return
    yield ""
    yield "What may be behind it"
    for each in verdict.hypotheses:
        yield f"  {each.failure}: {each.for_} {each.against}"
        if each.collect_next:
            yield f"  To decide: {each.collect_next}"


def _consequences(verdict: Verdict, place: Callable[[str, int], str]) -> Iterator[str]:
    if not verdict.consequences:
        return
    yield ""
    yield "Consequences"
    for each in verdict.consequences:
        ranks = f" on rank{'s' * (len(each.ranks) > 1)} {_spans(each.ranks)}" if each.ranks else ""
        times = "once" if each.count == 1 else f"{each.count} times"
        yield f"  {each.failure}{ranks}, {times} from {place(each.file, each.first_line)}"


def _recovered(verdict: Verdict) -> Iterator[str]:
    for each in verdict.recovered:
        yield ""
        yield (
            f"Recovered: {each.failure} on line {each.first_line};"
            f" line {each.recovered_by_line} shows the run going on."
        )


def _masked(masked: Masked | None) -> Iterator[str]:
    if masked is None or not masked.replacements:
        return
    yield ""
    yield "Masked"
    for each in masked.replacements:
        yield f"  {each.placeholder}: first on line {each.line} of {each.file}, {each.count} times"


def _spans(ranks: Sequence[int]) -> str:
    """Return ascending ranks in short: 0-2, 5."""
    return ", ".join(
        str(run.start) if len(run) == 1 else f"{run.start}-{run.stop - 1}" for run in runs(ranks)
    )
