"""Work is counted, not timed: bytes scanned, spans looked for, and characters that `re` walked."""

from __future__ import annotations

import re

import pytest

from diagnosis.engine import (
    addresses,
    mask_assignments,
    mask_finders,
    mask_key_blocks,
    mask_spans,
    mask_values,
)
from diagnosis.engine.mask_files import load_masks
from diagnosis.engine.masking import Masker
from diagnosis.engine.text import LogFile

MASKS = load_masks()
UNBOUNDED = 4096
MODULES = (
    addresses,
    mask_assignments,
    mask_finders,
    mask_key_blocks,
    mask_spans,
    mask_values,
)
KEY_BEGIN = b"-----BEGIN RSA PRIVATE KEY-----"


class Work:
    """Counts the calls of patterns and the characters that their matches cover."""

    def __init__(self) -> None:
        self.done = 0

    def counted(self, pattern: re.Pattern[bytes]) -> Counted:
        return Counted(pattern, self)


class Counted:
    """A compiled pattern that notes what it does."""

    def __init__(self, pattern: re.Pattern[bytes], work: Work) -> None:
        self._pattern = pattern
        self._work = work
        self.groupindex = pattern.groupindex

    def _note(self, match, start):
        self._work.done += 1 + (match.end() - start if match else 0)
        return match

    def match(self, text, start=0):
        return self._note(self._pattern.match(text, start), start)

    def search(self, text, start=0, end=None):
        limits = (start,) if end is None else (start, end)
        found = self._pattern.search(text, *limits)
        self._work.done += (found.end() if found else limits[-1] if end else len(text)) - start + 1
        return found

    def finditer(self, text, start=0, end=None):
        limits = (start,) if end is None else (start, end)
        self._work.done += (len(text) if end is None else end) - start
        return self._pattern.finditer(text, *limits)

    def sub(self, replacement, text):
        self._work.done += len(text)
        return self._pattern.sub(replacement, text)

    def split(self, text):
        self._work.done += len(text)
        return self._pattern.split(text)


_compile = re.compile
MASKER = Masker(MASKS)


@pytest.fixture
def work(monkeypatch):
    """Count what the patterns of masking do, those in the modules and those of the data files."""
    work = Work()
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, work.counted(value))
    monkeypatch.setattr(
        re, "compile", lambda pattern, flags=0: work.counted(_compile(pattern, flags))
    )
    mask_values._quoted_content.cache_clear()
    yield work
    mask_values._quoted_content.cache_clear()


HOSTILE = {
    "many @": b"@",
    "mail addresses without end": b"a@b.",
    "logins": b"a@",
    "private keys that begin, in one line": KEY_BEGIN,
    "private keys that begin, line by line": KEY_BEGIN + b"\n",
    "private keys that begin, and a short line": KEY_BEGIN + b"\nab\n",
    "digits and dots": b"1.",
    "addresses glued together": b"1.2.3.4.",
    "addresses": b"10.0.0.1 ",
    "IPv6 glued together": b"fe80:",
    "pairs": b"aa:",
    "tokens that begin": b"eyJ",
    "tokens of a weak prefix": b"sk-",
    "tokens of a strong prefix": b"glpat-",
    "names without values": b"password=",
    "names as values of names": b"token=",
    "names as values behind separators that end nothing": b"token=,/",
    "tokens glued together": b"AKIA",
    "names torn by colours": b"token\x1b[0m=",
    "quotes that open": b'password="',
    "escaped quotes that open": b'password=\\"',
    "quotes of two kinds": b"password='x token=\"y ",
    "names of arguments": b" --key ",
    "references": b"x_token=$",
    "addresses with passwords that begin": b"://a:",
    "addresses with passwords": b"://a:b@",
    "homes": b"/home/a/",
    "backslashes": b"password=\\",
    "headers": b"Authorization: Bearer abcdefg ",
    "cookies": b"cookie: abcdefg; ",
    "colour codes": b"\x1b[31m10.0.0.1\x1b[0m",
    "one long token": b"hf_" + b"aB3d" * 5000,
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_four_times_the_text_is_four_times_the_work(work, unit):
    def work_for(size: int) -> int:
        work.done = 0
        masker = Masker(MASKS, MASKER.scanner)
        masker.mask([LogFile("log", (unit * (size // len(unit) + 1))[:size])])
        return work.done + size

    small, large = work_for(20_000), work_for(80_000)

    assert large <= 4.5 * small + 10_000


def repeats_of(tree):
    """Yield the kind and the most of each repeat in a parsed pattern."""
    for operation, argument in tree:
        if str(operation) in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            yield str(operation), argument[1]
            yield from repeats_of(argument[2])
        elif str(operation) == "SUBPATTERN":
            yield from repeats_of(argument[3])
        elif str(operation) == "BRANCH":
            for branch in argument[1]:
                yield from repeats_of(branch)
        elif str(operation) in {"ASSERT", "ASSERT_NOT"}:
            yield from repeats_of(argument[1])


@pytest.mark.parametrize("each", [each for each in MASKS if each.pattern], ids=lambda each: each.id)
def test_repeat_without_a_bound_never_gives_back(each):
    for operation, most in repeats_of(re._parser.parse(each.pattern.encode())):
        assert operation == "POSSESSIVE_REPEAT" or most <= UNBOUNDED
