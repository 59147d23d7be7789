"""Python tracebacks, each with the source that printed it, also where ranks interleave.

A traceback begins with its header; what follows belongs to it if the same source printed it.
Tracebacks that Python joined ("During handling of …", "The above exception was the direct cause …")
are one chain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnosis.engine.log import Line, Log
from diagnosis.engine.paragraphs import is_paragraph, parts
from diagnosis.engine.probes import probe_pattern
from diagnosis.engine.progress import shows_bar
from diagnosis.engine.sources import Source

__all__ = ["Chain", "Frame", "Traceback", "read_chains"]

_HEADER = b"Traceback (most recent call last)"
_HEADER_PATTERN = probe_pattern("traceback")
# torch/_utils.py, ExceptionWrapper: what is raised again quotes what a worker raised.
_QUOTED = b"Original " + _HEADER
# torch/utils/data/dataloader.py before 1.2: the message is a traceback, header and all.
_QUOTING = re.compile(rb"[A-Za-z_][\w.]{0,200}: " + re.escape(_HEADER))
# CPython's sys.unraisablehook: an exception in a finaliser or a callback, which nobody can catch.
_IGNORED = (b"Exception ignored in", b"Exception ignored on", b"Exception ignored while")
# ray/train/v2/_internal/execution/scaling_policy: a request that was late on a busy machine.
_HARMLESS = b"safe to ignore this error"
_CHAINED = (
    b"During handling of the above exception, another exception occurred",
    b"The above exception was the direct cause of the following exception",
)
_FRAME = re.compile(
    rb'File "(?P<file>[^"\n]{1,512})", line (?P<line>\d{1,9})(?:, in (?P<function>\S+))?'
)
_FLUSH_FRAME = b'File "'
# What Python 3.11 and newer draw below the code of a frame.
_CARETS = re.compile(rb"[~^]+")
# What names an exception: a type with a message, or a type that ends as exceptions do. Python names
# the module of all but its own; what stands alone and small is another program's word.
_SUFFIX = (
    rb"(?:Error|Exception|Interrupt|Exit|Iteration|Empty|Full|Timeout|Abort|Aborted|Failed|Failure"
    rb"|Killed|Died|Expired)"
)
_EXCEPTION = re.compile(
    rb"(?P<type>(?:[A-Za-z_]\w{0,200}\.[\w.]{0,200}\w|[A-Z]\w{0,200})):(?: (?P<message>.*))?$"
    rb"|(?P<bare>(?:\w+\.)*(?:[A-Z]\w{0,100})?" + _SUFFIX + rb")$"
)
_NAMED_AS_EXCEPTION = re.compile(rb"(?:\w+\.)*[A-Z]\w*" + _SUFFIX + rb"(?::|$)")
# Text under an exception type that is no exception: a logger's level, a field of a report, a
# counter.
_NO_EXCEPTION = re.compile(
    rb"(?:INFO|DEBUG|WARNING|WARN|ERROR|CRITICAL|NOTE|note|File)\b"
    rb"|(?!\w*" + _SUFFIX + rb":)[A-Z]\w*: +[\d.]+(?:%|/|,|$| )"
)
_TORN_TYPE = re.compile(rb"(?:[A-Z][a-z]+)+?(?:Error|Exception)")
_LIBRARY = re.compile(
    rb"site-packages|dist-packages|/lib/python\d|\\lib\\(?!site)|<frozen |/usr/lib/|torchrun$"
)
# Bounds on how far one traceback is followed: its own lines, and other sources' lines in between.
_OWN_LINES = 600
_FOREIGN_LINES = 400
_FOREIGN_BYTES = 1 << 20
# `[rank3]: `, `[default1]:[rank5]: `, `10: [rank2]: `: labels with numbers, and nothing else.
_FIXED_PREFIX = re.compile(rb"(?:\[?[A-Za-z/_.-]{0,40} ?\d{1,6}\]?: ?)+")
# torch/distributed/distributed_c10d.py, _distributed_excepthook: what stands behind `[rank3]: ` is
# an exception to the end of its message, blank lines of which carry no prefix.
_EXCEPTHOOK = re.compile(rb"(?:\[?[A-Za-z/_.-]{0,40} ?\d{1,6}\]?: ?)*\[rank\d{1,6}\]: ")
# torch/csrc/cuda/nccl.cpp and distributed/c10d/NCCLUtils.cpp: what NCCL itself said of its error.
_NCCL_RESULT = re.compile(rb"nccl[A-Z]\w{0,40}: ")
_LAST_ERROR = b"Last error:"
_CHAIN_GAP = 4
# Lines that a process printed before its traceback, all of which its parent quotes.
_QUOTE_GAP = 4
_BLANK_BYTES = 256
# Lines that a terminal cut, or that another process printed without a prefix.
_STRAYS = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: file, line and function as Python prints them."""

    file: str
    line: int
    function: str | None
    library: bool

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place} in {self.function}" if self.function else place


@dataclass(frozen=True, slots=True)
class Traceback:
    """One traceback: its lines in order, its frames outermost first, and the exception it ends in.

    `type` and `message` are None where the log ends, or the source falls silent, before it.
    """

    lines: tuple[Line, ...]
    frames: tuple[Frame, ...]
    type: str | None
    message: str | None
    last: Line

    @property
    def innermost_user_frame(self) -> Frame | None:
        """Return the frame nearest to the fault that is not a library's."""
        return next((frame for frame in reversed(self.frames) if not frame.library), None)


@dataclass(frozen=True, slots=True)
class Chain:
    """Tracebacks of one source that Python itself joined, in the order printed: cause first.

    `ignored` says that it was announced as "Exception ignored in …" or as safe to ignore: nothing
    failed of it.
    `quoted_by` is the header of the traceback whose message quotes this one, if one does.
    """

    source: Source
    tracebacks: tuple[Traceback, ...]
    ignored: bool = False
    quoted_by: Line | None = None

    @property
    def first(self) -> Line:
        """The line on which the chain begins."""
        return self.tracebacks[0].lines[0]

    @property
    def last(self) -> Line:
        """The last line that belongs to the chain."""
        return self.tracebacks[-1].last

    def lines(self) -> Iterator[Line]:
        """Yield every line of the chain."""
        for traceback in self.tracebacks:
            yield from traceback.lines

    @property
    def innermost_user_frame(self) -> Frame | None:
        """Return the user's frame nearest to the first exception."""
        frames = (traceback.innermost_user_frame for traceback in self.tracebacks)
        return next((frame for frame in frames if frame is not None), None)


def read_chains(log: Log) -> list[Chain]:
    """Return the chains of tracebacks of all sources, in the order in which they begin."""
    taken: set[tuple[int, int]] = set()
    found: list[Chain] = []
    for header in log.lines_with(_HEADER_PATTERN):
        if header.key not in taken:
            chain = _read_chain(log, header, found[-1] if found else None)
            taken.update(line.key for line in chain.lines() if not _quotes(line))
            found.append(chain)
    return found


def _read_chain(log: Log, header: Line, before: Chain | None) -> Chain:
    above = log.line_at(header.file, header.start - 1) if header.start else None
    return Chain(
        source=header.facts.source,
        tracebacks=tuple(_read_joined(log, header)),
        ignored=above is not None and _announces_nothing(above.facts.message),
        quoted_by=None if before is None else _quoting(log, before, header),
    )


def _quotes(line: Line) -> bool:
    """Say whether the message of an exception begins with the header of another traceback."""
    return _QUOTING.match(line.facts.message.lstrip()) is not None


def _announces_nothing(message: bytes) -> bool:
    """Say whether the traceback below is announced as one of which nothing failed."""
    return message.lstrip().startswith(_IGNORED) or _HARMLESS in message


def _quoting(log: Log, before: Chain, header: Line) -> Line | None:
    """Return where the chain begins whose message quotes this one: above, or in its line."""
    if before.last.key == header.key:
        return before.first
    if before.last.file != header.file:
        return None
    between = log.texts[header.file].data[before.last.end : header.start]
    if header.facts.message.lstrip().startswith(_QUOTED):
        return None if between.strip() else before.first
    near = before.last.speaker == header.speaker and between.count(b"\n") <= _QUOTE_GAP
    return before.first if near and _announces_more(before.tracebacks[-1]) else None


def _announces_more(traceback: Traceback) -> bool:
    """Say whether a message ends in a colon: what it quotes stands below it."""
    return traceback.message is not None and traceback.message.endswith(":")


def _read_joined(log: Log, header: Line) -> Iterator[Traceback]:
    """Yield the traceback under `header` and those that Python chained to it."""
    if is_paragraph(header.facts.message):
        yield from _read_paragraph(log, header)
        return
    current: Line | None = header
    while current is not None:
        traceback = _read_one(log, current)
        yield traceback
        current = _next_in_chain(log, traceback)


def _read_paragraph(log: Log, line: Line) -> Iterator[Traceback]:
    """Yield the tracebacks that stand in one line."""
    for part in parts(log.texts[line.file].data[line.start : line.end]):
        frames = tuple(map(_frame_of, _FRAME.finditer(part.frames)))
        raised = _text(part.type) or None
        message = None if raised is None else _text(part.message).strip()
        yield Traceback((line,), frames, raised, message, line)


def _next_in_chain(log: Log, traceback: Traceback) -> Line | None:
    """Return the header of the next traceback of the chain, or None where the chain ends."""
    announced = False
    gap = 0
    for line in _own_lines(log, traceback.last):
        text = line.facts.message.strip()
        if not text:
            continue
        if announced and text.startswith(_HEADER):
            return line
        announced = announced or text.startswith(_CHAINED)
        gap += 1
        if gap > _CHAIN_GAP:
            return None
    return None


def _read_one(log: Log, header: Line) -> Traceback:
    lines = [header]
    frames: list[Frame] = []
    margin = _margin(header.facts.message)
    strays = 0
    # Where copying lost the indents, the code of a frame stands as far left as all else.
    code_follows = False
    for line in _lines_below(log, header):
        message = line.facts.message
        body = message[margin:] if not message[:margin].strip() else message.lstrip()
        if frame := _frame(body):
            frames.append(frame)
            code_follows = body.startswith(_FLUSH_FRAME)
        elif body.startswith(_HEADER):
            break
        elif shows_bar(body):
            continue
        elif body.strip() and not body.startswith((b" ", b"\t")):
            is_code = code_follows and _NAMED_AS_EXCEPTION.match(body) is None
            ended = None if is_code else _ended(log, lines, frames, line, body)
            if ended is not None:
                return ended
            strays += not (is_code or _CARETS.fullmatch(body.strip()))
            code_follows = False
            if strays > _STRAYS:
                break
        lines.append(line)
        if len(lines) > _OWN_LINES:
            break
    return Traceback(tuple(lines), tuple(frames), None, None, lines[-1])


def _ended(
    log: Log, lines: Sequence[Line], frames: Sequence[Frame], line: Line, body: bytes
) -> Traceback | None:
    """Close a traceback at the line that names its exception; None if this is no such line."""
    match = None if _NO_EXCEPTION.match(body) else _EXCEPTION.match(body.rstrip())
    if match is None:
        named, message = _torn_type(lines, body), body.removeprefix(b": ")
    else:
        named, message = match["type"] or match["bare"], match["message"] or b""
    if named is None:
        return None
    continuation = list(_message_lines(log, line))
    return Traceback(
        lines=(*lines, line, *continuation),
        frames=tuple(frames),
        type=_text(named),
        message=_text(message).strip(),
        last=continuation[-1] if continuation else line,
    )


def _torn_type(lines: Sequence[Line], body: bytes) -> bytes | None:
    """Return the type of the exception whose message another process cut off, colon and all.

    Python writes the type and the rest of the line one after the other.
    """
    if not body.startswith(b": ") or not body[2:].strip():
        return None
    above = (_TORN_TYPE.search(line.facts.message) for line in reversed(lines[-_STRAYS:]))
    found = next((match for match in above if match is not None), None)
    return None if found is None else found[0]


def _message_lines(log: Log, line: Line) -> Iterator[Line]:
    """Yield the further lines of a message that spans several, as far as that can be told.

    They are told from other output by an indent, or by standing directly below with the mark of
    the hook that printed the exception or as words that NCCL gave to it.
    """
    prefix = _literal_prefix(log, line)
    hooked = prefix is not None and _EXCEPTHOOK.fullmatch(prefix) is not None
    last = line
    blank = False
    for count, following in enumerate(_own_lines(log, line)):
        body = following.facts.message
        if not body.strip():
            blank = True
            continue
        indented = not blank and body.startswith((b" ", b"\t")) and not _FRAME.search(body)
        spoken = hooked and not blank and not body.startswith((_HEADER, *_CHAINED))
        below = (spoken or _is_of_nccl(last, body)) and _touch(log, last, following)
        if count >= _CHAIN_GAP * 2 or not (indented or below):
            return
        yield following
        last = following


def _is_of_nccl(above: Line, body: bytes) -> bool:
    """Say whether a line is NCCL's word on its error, or what follows on its `Last error:`."""
    said = above.facts.message.strip() == _LAST_ERROR
    return said or body.rstrip() == _LAST_ERROR or _NCCL_RESULT.match(body) is not None


def _touch(log: Log, above: Line, below: Line) -> bool:
    """Say whether nothing but a few blank lines stands between two lines."""
    near = below.start - above.end <= _BLANK_BYTES
    return near and not log.texts[above.file].data[above.end : below.start].strip()


def _lines_below(log: Log, header: Line) -> Iterator[Line]:
    """Yield the lines that may belong to the traceback under a header.

    A logger that marks the first line of a record alone leaves the frames below it bare.
    """
    below = log.line_after(header)
    bare = header.speaker is not None and below is not None and below.speaker is None
    if bare and below is not None and _frame(below.facts.message) is not None:
        yield below
        yield from _own_lines(log, below)
    else:
        yield from _own_lines(log, header)


def _own_lines(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines after `line` that its speaker printed, with a bound on others in between."""
    literal = _literal_prefix(log, line)
    if literal is None:
        yield from _own_lines_by_visiting(log, line)
        return
    data = log.texts[line.file].data
    start = line.end
    while True:
        start = data.find(literal, start, start + _FOREIGN_BYTES)
        if start < 0:
            return
        own = log.line_at(line.file, start)
        if own.speaker == line.speaker:
            yield own
        start = max(own.end, start + 1)


def _literal_prefix(log: Log, line: Line) -> bytes | None:
    """Return what all lines of this speaker begin with, if it is one fixed text."""
    if line.speaker is None:
        return None
    length = line.facts.message_offset
    prefix = log.texts[line.file].data[line.start : line.start + length]
    return prefix if _fixed(prefix) else None


def _fixed(prefix: bytes) -> bool:
    """Say whether a prefix is made of a rank or a label alone: no stamp, nothing that changes."""
    return len(prefix) > 2 and _FIXED_PREFIX.fullmatch(prefix) is not None


def _own_lines_by_visiting(log: Log, line: Line) -> Iterator[Line]:
    foreign = 0
    following = log.line_after(line)
    while following is not None and foreign < _FOREIGN_LINES:
        if following.speaker == line.speaker:
            foreign = 0
            yield following
        else:
            foreign += 1
        following = log.line_after(following)


def _margin(message: bytes) -> int:
    """Return how far the header is indented; what stands before it on its line is no margin."""
    position = message.find(_HEADER)
    before = message[:position]
    return len(before) if not before.strip() else len(message) - len(message.lstrip())


def _frame(body: bytes) -> Frame | None:
    match = _FRAME.search(body)
    return None if match is None else _frame_of(match)


def _frame_of(match: re.Match[bytes]) -> Frame:
    file = match["file"]
    function = match["function"]
    return Frame(
        file=_text(file),
        line=int(match["line"]),
        function=_text(function) if function else None,
        library=_LIBRARY.search(file) is not None,
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
