"""The error with which a log ends, where no failure that is known or named was heard.

A program in another language, a shell, or a command line that refuses an option dies without a
Python traceback. Its last lines say so, and such a log is not one in which nothing failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from diagnosis.engine.events import LAST_WORDS, Event, Raised, Witness
from diagnosis.engine.log import Line, Log
from diagnosis.engine.progress import shows_work
from diagnosis.engine.subjects import Subjects

__all__ = ["read_last_words"]

# How many lines that show something may follow on what ends a program.
_NEAR, _FAR = 4, 64
# `error: 0.01` and `ERROR: rate = 3%` are measured.
_MEASURED = re.compile(rb"(?:[\w ./@-]{0,64}[:=])? *[\d.]+%?")
_FORMS = (
    # Any program's word for it at the beginning of what it says: `train.sh: line 3: error: …`.
    (
        _NEAR,
        re.compile(
            rb"(?:[\w./-]{1,64}(?:\[\d{1,9}\])?: )?(?:line \d{1,6}: )?"
            rb"(?:(?:[Ff]atal|[Ee]rror|[Pp]anic)(?: [Ee]rror)?: "
            rb"|\[?(?:FATAL|ERROR|CRITICAL)\]?[ :-]+)(?P<said>\S.*)"
        ),
    ),
    # bash(1) and dash(1), whose own errors name no level.
    (
        _NEAR,
        re.compile(
            rb"(?:[\w./-]{1,64}: )+(?P<said>(?:line )?\d{1,6}: \S.*: (?:command )?not found)"
        ),
    ),
    # library/std/src/panicking.rs of Rust: its message stands below, a backtrace may follow.
    (_FAR, re.compile(rb"thread '[^'\n]{1,128}'(?: \(\d{1,9}\))? (?P<said>panicked at .*)")),
    # runtime/panic.go of Go: the stacks of its goroutines follow.
    (_FAR, re.compile(rb"(?:panic|fatal error): (?P<said>\S.*)")),
    # java.lang.ThreadGroup.uncaughtException of Java: its stack follows.
    (_FAR, re.compile(rb'Exception in thread "[^"\n]{1,128}" (?P<said>\S.*)')),
)


def read_last_words(log: Log, subjects: Subjects) -> Event | None:
    """Return the error with which a file of the log ends, the first such file's; None if none does.

    Work that goes on behind an error shows that it was survived.
    """
    for number in range(len(log.texts)):
        lines = list(_last_lines(log, number))
        found = _last_error(lines, _reach_of_levels(lines))
        if found is not None:
            line, said = found
            subject = subjects.of_line(line)
            return Event(
                failure=None,
                role="exit",
                subject=subject,
                first=line,
                hit=line.end,
                count=1,
                captures={},
                raised=Raised(LAST_WORDS, said.decode("utf-8", "replace").strip(), None),
                lines=(Witness(line, line.end, "symptom", subject.rank),),
            )
    return None


def _last_lines(log: Log, number: int) -> Iterator[Line]:
    """Yield the last lines of a file that show something, the last one first."""
    end = len(log.texts[number].data)
    shown = 0
    while end > 0 and shown < _FAR:
        line = log.line_at(number, end - 1)
        if line.facts.message.strip():
            shown += 1
            yield line
        end = line.start


def _reach_of_levels(lines: Sequence[Line]) -> Mapping[str | None, int]:
    """Return by a logger's level how near the end it must stand.

    Where most lines are errors, a collector calls all of stderr so.
    """
    errors = sum(line.facts.severity == "error" for line in lines)
    return {"fatal": _NEAR, "error": 1 if 2 * errors <= len(lines) else 0}


def _last_error(
    lines: Iterable[Line], reaches: Mapping[str | None, int]
) -> tuple[Line, bytes] | None:
    """Return the uppermost error among the last lines, the last one first, and what it says.

    What ends in a colon goes on in the line below.
    """
    found = None
    below = b""
    for behind, line in enumerate(lines):
        said = _words_of_error(line, behind)
        if said is None and behind < reaches.get(line.facts.severity, 0) and not shows_work(line):
            said = line.facts.message.strip()
        if said is not None and _MEASURED.fullmatch(said) is None:
            found = line, said + b" " + below if said.endswith(b":") else said
        elif shows_work(line):
            break
        below = line.facts.message.strip()
    return found


def _words_of_error(line: Line, behind: int) -> bytes | None:
    """Return what a line says of the end of a program; `behind` it stand so many lines."""
    message = line.facts.message.strip()
    for reach, form in _FORMS:
        match = form.match(message) if behind < reach else None
        if match is not None:
            return match["said"]
    return None
