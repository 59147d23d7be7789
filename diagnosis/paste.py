"""What a person pasted or uploaded, as log files: unpacked, named, and known to be text.

Every refusal says what is wrong and what to do.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from diagnosis.engine import LogFile

__all__ = [
    "PASTED_NAME",
    "EmptyPasteError",
    "PasteError",
    "PasteTooLargeError",
    "UnreadablePasteError",
    "Upload",
    "read_paste",
    "too_large",
]

PASTED_NAME = "log.txt"

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = zlib.MAX_WBITS | 16
_READ_STEP = 1 << 14
_UNPACK_STEP = 1 << 20
# Each member costs time however little is in it. bgzip makes one of 64 KB of text.
_MOST_MEMBERS = 20_000
_NAME_CHARACTERS = 100
_UNSAFE_IN_NAMES = re.compile(r"[^\w.:@+=,-]+", re.ASCII)

# Bytes that text never holds: control characters other than white space, backspace (progress bars)
# and escape (colours). NUL stays out of it, since a crash can leave runs of NUL in a real log.
_CONTROL = bytes(range(0x01, 0x08)) + bytes(range(0x0E, 0x1B)) + bytes(range(0x1C, 0x20)) + b"\x7f"
_SAMPLE_BYTES = 1 << 16
_CONTROL_SHARE = 0.05
# A browser shows bytes that are no UTF-8 as U+FFFD. A log with mangled progress bars has many.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_REPLACEMENT_SHARE = 0.6
# In UTF-16, every other byte of plain English is NUL.
_WIDE_SHARE = 0.7

_SEND_THE_LOG = "Upload the log itself: what the run printed, as text."
_COPY_THE_TEXT = "Copy the text instead of a screenshot."
_UNPACK_FIRST = "If it holds logs, unpack it and upload those."


@dataclass(frozen=True, slots=True)
class _Format:
    """A file format that is no text: its first bytes (from `offset`), and what to say of it."""

    magic: bytes
    name: str
    offset: int = 0
    advice: str = _SEND_THE_LOG


# First bytes as the file(1) database lists them; torch.save writes a ZIP file, or a bare pickle.
_FORMATS = (
    _Format(b"\x7fELF", "an ELF binary"),
    _Format(b"\x89PNG\r\n\x1a\n", "a PNG image", advice=_COPY_THE_TEXT),
    _Format(b"\xff\xd8\xff", "a JPEG image", advice=_COPY_THE_TEXT),
    _Format(b"GIF89a", "a GIF image", advice=_COPY_THE_TEXT),
    _Format(b"%PDF-", "a PDF file"),
    _Format(b"PK\x03\x04", "a ZIP file, as checkpoints (.pt) are too", advice=_UNPACK_FIRST),
    *(
        _Format(b"\x80" + protocol, "a pickle, as checkpoints (.pt) are too")
        for protocol in (b"\x02", b"\x03", b"\x04", b"\x05")
    ),
    _Format(b'\x00{"', "a safetensors file", offset=7),
    _Format(b"GGUF\x03\x00", "a GGUF model"),
    _Format(b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    _Format(b"\x93NUMPY", "a NumPy array"),
    _Format(b"SQLite format 3\x00", "an SQLite database"),
    _Format(_GZIP, "a gzip file inside a gzip file", advice=_UNPACK_FIRST),
    _Format(b"\x28\xb5\x2f\xfd", "a Zstandard file", advice=_UNPACK_FIRST),
    _Format(b"\xfd7zXZ\x00", "an XZ file", advice=_UNPACK_FIRST),
    _Format(b"BZh91AY&SY", "a bzip2 file", advice=_UNPACK_FIRST),
    _Format(b"7z\xbc\xaf\x27\x1c", "a 7-Zip file", advice=_UNPACK_FIRST),
    _Format(b"ustar", "a tar archive", offset=257, advice=_UNPACK_FIRST),
)


class PasteError(Exception):
    """A paste that cannot be taken: what is wrong, and what to do."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class EmptyPasteError(PasteError):
    """Nothing was pasted, or nothing but white space."""


class PasteTooLargeError(PasteError):
    """More text than the limit allows."""


class UnreadablePasteError(PasteError):
    """A file that is no text, or that cannot be unpacked."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent: the name that the browser gives, and its bytes, plain or gzip."""

    name: str
    data: bytes


def read_paste(text: str, uploads: Sequence[Upload], limit: int) -> tuple[LogFile, ...]:
    """Return what was pasted and uploaded as text files with safe, distinct names.

    `limit` is in bytes of text, over all files, after unpacking. Raises PasteError.
    """
    files = _unpacked(text, uploads, limit)
    filled = tuple(_distinctly_named(file for file in files if _holds_something(file)))
    if not filled:
        raise EmptyPasteError(
            "There is no log here yet.", "Paste the text of your log, or choose a file."
        )
    for file in filled:
        _refuse_binary(file)
    return filled


def _holds_something(file: LogFile) -> bool:
    return bool(bytes(file.data).strip(b" \t\r\n\x00"))


def too_large(limit: int) -> PasteTooLargeError:
    """Return the refusal for more than `limit` bytes of text."""
    return PasteTooLargeError(
        f"That is more than {limit / 1_000_000:g} MB of text.",
        "Send the part around the first error: a few thousand lines before it and all that follows,"
        " of every rank where you can. `denpex diagnose` on your own machine has no limit.",
    )


def _unpacked(text: str, uploads: Sequence[Upload], limit: int) -> Iterator[LogFile]:
    room = limit
    pasted = (PASTED_NAME, _as_file(text))
    for name, data in (pasted, *((each.name, each.data) for each in uploads)):
        plain = _unpack(name, data, room) if data.startswith(_GZIP) else data
        room -= len(plain)
        if room < 0:
            raise too_large(limit)
        yield LogFile(_safe_name(name), _narrow(plain))


def _as_file(text: str) -> bytes:
    """Return the text of a text area as its log was, as far as can be known.

    A browser sends every line end as CR LF, and what people select ends before the last line's.
    """
    lines = text.replace("\r\n", "\n")
    ended = not lines or lines.endswith("\n")
    return (lines if ended else f"{lines}\n").encode("utf-8", "replace")


def _unpack(name: str, packed: bytes, room: int) -> bytes:
    """Unpack gzip data, one or more members of it, and stop as soon as there is no room.

    A file that was cut short gives what is there: that of a killed run is. It is read in small
    pieces, since what follows a member is copied each time.
    """
    plain = bytearray()
    rest = memoryview(packed)
    members = 0
    while rest[: len(_GZIP)] == _GZIP and len(plain) <= room:
        members += 1
        if members > _MOST_MEMBERS:
            raise UnreadablePasteError(
                f"{_safe_name(name)} is packed in more than {_MOST_MEMBERS:,} pieces.",
                "Unpack it, and upload the plain text.",
            )
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        while not unpacker.eof and rest and len(plain) <= room:
            piece = rest[:_READ_STEP]
            try:
                plain += unpacker.decompress(piece, _UNPACK_STEP)
            except zlib.error as error:
                raise UnreadablePasteError(
                    f"{_safe_name(name)} is damaged: it cannot be unpacked.",
                    "Pack it again, or upload the plain text.",
                ) from error
            unread = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            rest = rest[len(piece) - len(unread) :]
        if not rest:
            plain += unpacker.flush()
    return bytes(plain)


def _narrow(data: bytes) -> bytes:
    """Return UTF-16 text (PowerShell writes it) as UTF-8, also where no mark announces it."""
    encoding = _wide_encoding(data)
    if encoding is None:
        return data
    return data.decode(encoding, "replace").removeprefix("\ufeff").encode("utf-8", "replace")


def _wide_encoding(data: bytes) -> str | None:
    sample = data[:_SAMPLE_BYTES]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    mostly = _WIDE_SHARE * len(sample) / 2
    if sample.startswith(codecs.BOM_UTF16_LE) or (even == 0 and odd > mostly):
        return "utf-16-le"
    if sample.startswith(codecs.BOM_UTF16_BE) or (odd == 0 and even > mostly):
        return "utf-16-be"
    return None


def _safe_name(name: str) -> str:
    """Return the file's name without folders, without what a page or a shell could misread."""
    base = re.split(r"[/\\]", name)[-1].removesuffix(".gz")
    return _UNSAFE_IN_NAMES.sub("_", base).strip("._")[-_NAME_CHARACTERS:] or PASTED_NAME


def _distinctly_named(files: Iterable[LogFile]) -> Iterator[LogFile]:
    taken: set[str] = set()
    for file in files:
        name, number = file.name, 1
        while name in taken:
            number += 1
            name = f"{file.name}.{number}"
        taken.add(name)
        yield LogFile(name, file.data)


def _refuse_binary(file: LogFile) -> None:
    data = bytes(file.data[: 2 * _SAMPLE_BYTES])
    for form in _FORMATS:
        if data.startswith(form.magic, form.offset):
            raise UnreadablePasteError(f"{file.name} is {form.name}, not a log.", form.advice)
    if _is_binary(data):
        raise UnreadablePasteError(f"{file.name} is not a text file.", _SEND_THE_LOG)


def _is_binary(data: bytes) -> bool:
    filled = data.replace(b"\x00", b"")
    control = len(filled) - len(filled.translate(None, _CONTROL))
    replaced = data.count(_REPLACEMENT) * len(_REPLACEMENT)
    return control > _CONTROL_SHARE * len(filled) or replaced > _REPLACEMENT_SHARE * len(filled)
