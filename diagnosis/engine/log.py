"""The whole paste as the engine sees it: the texts, the hits by pattern, and the lines that matter.

Only matched lines are parsed, and each of them once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import accumulate, groupby
from operator import attrgetter, itemgetter

from diagnosis.engine.anchors import is_anchored, pattern_of, stands_in
from diagnosis.engine.compiled import Compiled
from diagnosis.engine.newest_first import oldest_first
from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.probes import probe_pattern
from diagnosis.engine.shared_prefix import SharedPrefix, find_shared_prefix
from diagnosis.engine.sources import SECTION_PATTERN, LineFacts, Sections, Source, merge
from diagnosis.engine.stamps import year_told
from diagnosis.engine.text import LogFile, Text, prepare
from diagnosis.engine.unfolded import HEAD, without_head
from diagnosis.engine.wrapped import Continue, joined_lines, raised_in_paragraphs

__all__ = ["Line", "Log", "Speaker", "read"]

# By the index of the pattern: file, and offset just behind the match; ascending.
Hits = dict[int, list[tuple[int, int]]]
# What tells one printing process from another.
Speaker = tuple[object, ...]
_SPEAKER_FIELDS = attrgetter(
    "rank", "local_rank", "host", "pod", "container", "pid", "label", "service_pid"
)
_NOBODY: Speaker = _SPEAKER_FIELDS(Source())

# Around these a message may have been cut.
_TRACEBACK, _EXCEPTION = probe_pattern("traceback"), probe_pattern("exception")
# So many hits are looked at; where there are more, of the most frequent patterns only the first and
# the last of each file, so that a flood of one line costs no more than its scan.
MOST_HITS = 1 << 15
# So many lines show what all lines of a text share.
_SAMPLES = 128
# The messages of a flood follow each other.
_LINES_REMEMBERED = 64
# What is read of a line: the message of a failure stands in its first kilobytes.
LINE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """A line that matters: where it stands, and what its envelopes say.

    `start` and `end` are byte offsets in its text; `hit` is where the pattern ended that led here.
    `speaker` is what its envelopes tell of the process that printed it, None where they do not.
    """

    file: int
    start: int
    end: int
    hit: int
    facts: LineFacts
    speaker: Speaker | None

    @property
    def key(self) -> tuple[int, int]:
        """Order and identity of the line: file, then offset."""
        return self.file, self.start


@dataclass
class Log:
    """Texts, hits and the cache of parsed lines.

    `joined` holds what a line says together with the lines that it was cut into. `year` is that of
    the first dated line, for the stamps that name none.
    """

    texts: tuple[Text, ...]
    compiled: Compiled
    hits: Hits
    joined: dict[tuple[int, int], bytes] = field(default_factory=dict)
    searched: dict[tuple[BytePattern, int, int], list[int]] = field(default_factory=dict)
    searched_by_rank: dict[tuple[BytePattern, int, int], dict[int | None, list[int]]] = field(
        default_factory=dict
    )
    _lines: dict[tuple[int, int], Line] = field(default_factory=dict)
    year: int | None = None
    _inherited: tuple[Sections, ...] = ()
    _shared: tuple[SharedPrefix | None, ...] = ()
    _with: dict[str, list[Line]] = field(default_factory=dict)

    def lines_with(self, pattern: str) -> list[Line]:
        """Return the lines with a hit of `pattern`, in order, each once."""
        known = self._with.get(pattern)
        if known is None:
            found: dict[tuple[int, int], Line] = {}
            for line, _end in self.found(pattern):
                found.setdefault(line.key, line)
            known = self._with[pattern] = list(found.values())
        return known

    def first_with(self, pattern: str) -> Line | None:
        """Return the first line with a hit of `pattern`, or None; parses no other."""
        return next((line for line, _end in self.found(pattern)), None)

    def found(self, pattern: str) -> Iterator[tuple[Line, int]]:
        """Yield each hit of `pattern`: its line, and the offset in the text where it ended."""
        anchored = is_anchored(pattern)
        for file, end in self.hits.get(self.compiled.index[pattern], ()):
            line = self.line_at(file, max(end - 1, 0), hit=end)
            if not anchored or self._stands(pattern, line, end):
                yield line, end

    def _stands(self, pattern: str, line: Line, end: int) -> bool:
        """Say whether the pattern stands, anchors and all, in the message or the line as it is.

        A message that goes on below ends at its own line for some patterns, there for others.
        """
        texts = dict.fromkeys((self.around(line, end), self._part_of(line, end)))
        return any(
            stands_in(pattern, text[line.facts.message_offset :]) or stands_in(pattern, text)
            for text in texts
        )

    def line_at(self, file: int, offset: int, hit: int | None = None) -> Line:
        """Return the line that holds `offset` of text `file`, parsed."""
        start, end = self.texts[file].bounds(offset)
        line = self._lines.get((file, start))
        if line is None:
            facts = self._facts(file, start, end)
            speaker = _SPEAKER_FIELDS(facts.source)
            line = Line(
                file,
                start,
                end,
                start if hit is None else hit,
                facts,
                None if speaker == _NOBODY else speaker,
            )
            self._lines[file, start] = line
        return line

    def source_up_to(self, line: Line, end: int) -> Source:
        """Return who printed a line as far as `end`: another process may have gone on behind it."""
        return self._facts(line.file, line.start, end).source

    def _facts(self, file: int, start: int, end: int) -> LineFacts:
        text = self.texts[file]
        inherited = self._inherited[file].at(start)
        head = text.data[start : min(end, start + LINE_BYTES)]
        begin = text.redrawn_from(start)
        if begin is not None and HEAD not in head:
            # A collector prints its prefix once, before the bar that is drawn over.
            inherited = merge(inherited, self.line_at(file, begin).facts.source)
        shared = self._shared[file] if self._shared else None
        return self.compiled.envelopes.parse(head, inherited, self.year, shared)

    def words_behind(self, file: int) -> Continue:
        """Return what tells of a line what it adds to the message of one above it.

        It adds its own message if it has no prefix, or is of the same process and has the same
        prefixes but for their times. Else it begins anew, and so does what has a logger's level.
        """
        shared = self._shared[file] if self._shared else None
        parse = lru_cache(_LINES_REMEMBERED)(partial(self.compiled.envelopes.parse, shared=shared))
        names = self.compiled.envelopes.names

        def goes_on(first: bytes, line: bytes) -> bytes | None:
            told = parse(line)
            if not told.message_offset:
                return line
            alike = told.source == parse(first).source and names(line) == names(first)
            return told.message if alike and told.severity is None else None

        return goes_on

    def line_after(self, line: Line) -> Line | None:
        """Return the next line of the same text, or None at its end."""
        data = self.texts[line.file].data
        start = line.end + data.startswith(b"\n", line.end)
        return self.line_at(line.file, start) if start < len(data) else None

    def number(self, line: Line) -> int:
        """Return the number of the line in its file as it came, from 1."""
        return self.texts[line.file].line_number(line.start)

    def name(self, line: Line) -> str:
        """Return the name of the line's file."""
        return self.texts[line.file].name

    def around(self, line: Line, hit: int) -> bytes:
        """Return the part of the line that holds the hit, at most LINE_BYTES of it.

        Where the message goes on in the lines below because it was cut, all of it.
        """
        if line.key in self.joined:
            return self.joined[line.key][:LINE_BYTES]
        return self._part_of(line, hit)

    def _part_of(self, line: Line, hit: int) -> bytes:
        start = max(line.start, hit - LINE_BYTES // 2)
        return self.texts[line.file].data[start : min(line.end, start + LINE_BYTES)]

    def shown(self, line: Line, hit: int, characters: int) -> str:
        """Return what to show of the line as text: all of it, or `characters` around the hit."""
        data = self.texts[line.file].data
        text = without_head(data[line.start : line.end]).decode("utf-8", "replace").strip()
        if len(text) <= characters:
            return text
        before = len(without_head(data[line.start : hit]).decode("utf-8", "replace"))
        start = max(0, min(before - characters // 2, len(text) - characters))
        return text[start : start + characters]


def read(files: Sequence[LogFile], compiled: Compiled) -> Log:
    """Make the files even and find all patterns in one pass over each."""
    envelopes = compiled.envelopes
    texts = tuple(oldest_first(prepare(file, envelopes.unfold), envelopes) for file in files)
    hits: Hits = {}
    for number, text in enumerate(texts):
        for index, end in compiled.scanner.scan(text.data):
            hits.setdefault(index, []).append((number, end))
    if sum(map(len, hits.values())) > MOST_HITS:
        hits = _thinned(hits)
    own = own_ends([text.name for text in texts])
    sections = tuple(_sections(n, text, own[n], hits, compiled) for n, text in enumerate(texts))
    years = (year_told(text.data) for text in texts)
    year = next((each for each in years if each is not None), None)
    shared = tuple(
        _shared_prefix(number, text, hits, compiled) for number, text in enumerate(texts)
    )
    log = Log(texts, compiled, hits, year=year, _inherited=sections, _shared=shared)
    for number in range(len(texts)):
        _add_wrapped(log, number)
    return log


def _thinned(hits: Hits) -> Hits:
    """Return MOST_HITS hits or about as many, with one bound for all patterns and files."""
    by_file = {
        (index, file): list(of_file)
        for index, found in hits.items()
        for file, of_file in groupby(found, key=itemgetter(0))
    }
    bound = _bound(sorted(map(len, by_file.values())))
    thinned: Hits = {}
    for (index, _file), found in by_file.items():
        if len(found) > bound:
            found[bound // 2 : len(found) - bound // 2] = []
        thinned.setdefault(index, []).extend(found)
    return thinned


def _bound(lengths: Sequence[int]) -> int:
    """Return how many of each group may stay so that MOST_HITS stay; lengths are ascending."""
    most = MOST_HITS
    for place, length in enumerate(lengths):
        left = len(lengths) - place
        if length * left > most:
            return max(2, most // left)
        most -= length
    return lengths[-1] if lengths else 0


def own_ends(names: Sequence[str]) -> list[str]:
    """Return the ends of paths from the first folder on that tells the files apart.

    Folders that all files are in tell nothing of any one of them; of one file that is all of them.
    """
    parts = [name.split("/") for name in names]
    shortest = min((len(each) - 1 for each in parts), default=0)
    shared = 0
    while shared < shortest and len({each[shared] for each in parts}) == 1:
        shared += 1
    return ["/".join(each[shared:]) for each in parts]


def _sections(
    number: int,
    text: Text,
    own: str,
    hits: Mapping[int, Sequence[tuple[int, int]]],
    compiled: Compiled,
) -> Sections:
    """Find out who wrote which part of a text that shows several files."""
    headers = (
        text.bounds(end - 1)
        for file, end in hits.get(compiled.index[SECTION_PATTERN], ())
        if file == number
    )
    lines = ((start, bytes(text.data[start:end])) for start, end in headers)
    shown = ((start, line) for start, line in lines if pattern_of(SECTION_PATTERN).match(line))
    return compiled.envelopes.sections(text.name, shown, own)


def _shared_prefix(number: int, text: Text, hits: Hits, compiled: Compiled) -> SharedPrefix | None:
    """Return the prefix of no known kind that the lines of a text share, or None.

    Samples are spread over the text: of lines, and of those in which a pattern was found. What a
    pattern finds must still be found when the prefix is off, else it is a part of the message.
    """
    ends = sorted(
        (end, index) for index, found in hits.items() for file, end in found if file == number
    )
    some = ends[:: max(1, len(ends) // _SAMPLES)]
    indexes = {text.bounds(max(end - 1, 0)): index for end, index in some}
    step = max(1, len(text.data) // _SAMPLES)
    plain = {text.bounds(offset) for offset in range(0, len(text.data), step)} - indexes.keys()
    telling = dict(_messages(text, indexes, compiled))
    envelopes = compiled.envelopes
    shared = find_shared_prefix(
        [message for _line, message in _messages(text, plain, compiled)],
        list(telling.values()),
        lambda rest: bool(envelopes.names(rest)),
    )
    if shared is None:
        return None
    patterns = {index: pattern for pattern, index in compiled.index.items()}
    intact = all(
        stands_in(patterns[indexes[line]], message[shared.length_in(message) :])
        for line, message in telling.items()
        if stands_in(patterns[indexes[line]], message)
    )
    return shared if intact else None


def _messages(
    text: Text, lines: Iterable[tuple[int, int]], compiled: Compiled
) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield what is left of lines when all known envelopes are off.

    Blank lines are passed over, and what is drawn over another line: its prefix stands before that.
    """
    for start, end in sorted(lines):
        if text.redrawn_from(start) is None:
            head = text.data[start : min(end, start + LINE_BYTES)]
            message = compiled.envelopes.parse(head).message
            if message.strip():
                yield (start, end), message


def _add_wrapped(log: Log, number: int) -> None:
    """Scan what was cut into several lines, and count each new hit for the line it begins on.

    Of what was run together into one line, that is read which was a line of its own.
    """
    text = log.texts[number]
    headers = _offsets(log, number, _TRACEBACK)
    offsets = sorted((*headers, *_offsets(log, number, _EXCEPTION)))
    joined = list(joined_lines(text, offsets, log.words_behind(number)))
    starts = list(accumulate((len(each.data) + 1 for each in joined), initial=0))
    for index, end in log.compiled.scanner.scan(b"\n".join(each.data for each in joined)):
        whole = joined[bisect_right(starts, end - 1) - 1]
        known = log.hits.setdefault(index, [])
        place = bisect_right(known, (number, whole.start))
        if place == len(known) or known[place] > (number, whole.last):
            known.insert(place, (number, max(whole.end, whole.start + 1)))
            log.joined[number, whole.start] = whole.data
    for start, raised in raised_in_paragraphs(text, headers):
        log.joined[number, start] = raised


def _offsets(log: Log, number: int, pattern: str) -> list[int]:
    """Return the last byte of each hit of a pattern in one text."""
    hits = log.hits.get(log.compiled.index[pattern], ())
    return [end - 1 for file, end in hits if file == number]
