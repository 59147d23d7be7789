from __future__ import annotations

import gzip
import random
import time
import zlib

import pytest

from diagnosis.paste import (
    EmptyPasteError,
    PasteTooLargeError,
    UnreadablePasteError,
    Upload,
    read_paste,
)

LIMIT = 10_000_000
LINE = b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def test_it_works() -> None:
    (log,) = read_paste("Traceback\r\nKeyError: 'x'\r\n", (), LIMIT)

    assert (log.name, log.data) == ("log.txt", b"Traceback\nKeyError: 'x'\n")


def test_last_line_of_a_text_area_is_a_whole_line() -> None:
    """Else every paste would look as if its log stopped in the middle of a line."""
    (log,) = read_paste("Traceback\r\nKeyError: 'x'", (), LIMIT)

    assert log.data == b"Traceback\nKeyError: 'x'\n"


def test_line_ends_of_a_file_stay_as_they_are() -> None:
    (log,) = read_paste("", (Upload("a.log", b"10%\r20%\r\nend\n"),), LIMIT)

    assert log.data == b"10%\r20%\r\nend\n"


@pytest.mark.parametrize("text", ["", "   ", "\r\n\t \r\n"])
def test_nothing_but_white_space_is_empty(text: str) -> None:
    with pytest.raises(EmptyPasteError):
        read_paste(text, (Upload("empty.log", b""), Upload("blank.log", b" \n\x00\x00")), LIMIT)


def test_empty_files_are_left_out() -> None:
    logs = read_paste("", (Upload("rank_0.log", b""), Upload("rank_1.log", LINE)), LIMIT)

    assert [log.name for log in logs] == ["rank_1.log"]


def test_text_above_the_limit_is_refused() -> None:
    with pytest.raises(PasteTooLargeError, match="10 MB"):
        read_paste("x" * 11_000_000, (), LIMIT)


def test_the_limit_holds_over_all_files_together() -> None:
    half = Upload("a.log", LINE * (LIMIT // 2 // len(LINE)))

    assert len(read_paste("", (half, half), LIMIT)) == 2
    with pytest.raises(PasteTooLargeError):
        read_paste("more", (half, half, Upload("b.log", b"x" * 1000)), LIMIT)


def test_gzip_is_unpacked_and_loses_its_ending() -> None:
    (log,) = read_paste("", (Upload("rank_3.log.gz", gzip.compress(LINE)),), LIMIT)

    assert (log.name, log.data) == ("rank_3.log", LINE)


def test_gzip_members_are_joined() -> None:
    packed = gzip.compress(b"first\n") + gzip.compress(b"second\n")

    (log,) = read_paste("", (Upload("a.gz", packed),), LIMIT)

    assert log.data == b"first\nsecond\n"


def test_gzip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[int] = []

    class Unpacker:
        def __init__(self, window: int) -> None:
            self.real = real_unpacker(window)

        def decompress(self, data: bytes, most: int) -> bytes:
            plain: bytes = self.real.decompress(data, most)
            unpacked.append(len(plain))
            return plain

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

    real_unpacker = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Unpacker)
    bomb = gzip.compress(bytes(300_000_000), compresslevel=1)

    with pytest.raises(PasteTooLargeError):
        read_paste("", (Upload("bomb.gz", bomb),), LIMIT)

    assert sum(unpacked) < 1.2 * LIMIT


def test_many_empty_gzip_members_are_refused_quickly() -> None:
    """Copying what follows each member took minutes for a file of 4 MB."""
    packed = gzip.compress(b"") * 200_000
    started = time.process_time()

    with pytest.raises(UnreadablePasteError, match="20,000 pieces"):
        read_paste("", (Upload("a.gz", packed),), LIMIT)

    assert time.process_time() - started < 5


def test_gzip_in_blocks_is_unpacked() -> None:
    text = b"".join(b"step %d loss %f\n" % (n, random.Random(n).random()) for n in range(9000))
    blocks = (text[start : start + 100] for start in range(0, len(text), 100))

    (log,) = read_paste("", (Upload("a.gz", b"".join(map(gzip.compress, blocks))),), LIMIT)

    assert log.data == text


def test_gzip_that_was_cut_short_gives_what_is_there() -> None:
    text = b"".join(b"step %d loss %f\n" % (n, random.Random(n).random()) for n in range(20_000))
    packed = gzip.compress(text)

    (log,) = read_paste("", (Upload("a.log.gz", packed[: len(packed) // 2]),), LIMIT)

    assert len(log.data) > len(text) // 3
    assert text.startswith(log.data)


def test_damaged_gzip_is_told_apart_from_binary() -> None:
    packed = bytearray(gzip.compress(LINE * 1000))
    packed[20:40] = b"\xff" * 20

    with pytest.raises(UnreadablePasteError, match="damaged"):
        read_paste("", (Upload("a.log.gz", bytes(packed)),), LIMIT)


BINARIES = {
    "ELF": b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4,
    "PNG": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
    "ZIP": b"PK\x03\x04\x00\x00\x08\x08" + b"archive/data.pkl" + bytes(200),
    "pickle": b"\x80\x02}q\x00X\x05\x00\x00\x00epochq\x01K\x07",
    "safetensors": b"\x48\x5f\x00\x00\x00\x00\x00\x00" + b'{"lm_head.weight":{"dtype":"BF16"',
    "tar": b"rank_0.log".ljust(257, b"\x00") + b"ustar\x0000" + LINE,
    "Zstandard": b"\x28\xb5\x2f\xfd" + bytes(range(256)),
    "not a text file": random.Random(7).randbytes(50_000),
}


@pytest.mark.parametrize("name", BINARIES)
def test_binary_is_named_and_refused(name: str) -> None:
    with pytest.raises(UnreadablePasteError, match=name) as raised:
        read_paste("", (Upload("thing.bin", BINARIES[name]),), LIMIT)

    assert raised.value.advice


def test_binary_inside_gzip_is_refused() -> None:
    with pytest.raises(UnreadablePasteError, match="tar archive"):
        read_paste("", (Upload("logs.tar.gz", gzip.compress(BINARIES["tar"])),), LIMIT)


def test_gzip_inside_gzip_is_named() -> None:
    packed_twice = gzip.compress(gzip.compress(LINE))

    with pytest.raises(UnreadablePasteError, match="gzip file inside a gzip file"):
        read_paste("", (Upload("a.log.gz.gz", packed_twice),), LIMIT)


def test_binary_pasted_as_text_is_refused() -> None:
    with pytest.raises(UnreadablePasteError, match="not a text file"):
        read_paste(BINARIES["not a text file"].decode("utf-8", "replace"), (), LIMIT)


REAL_BUT_ROUGH = {
    "NUL": LINE + bytes(5000) + LINE,
    "invalid UTF-8": b"Datei l\xe4sst sich nicht \xf6ffnen\n" + LINE,
    "colours": b"\x1b[31;1mERROR\x1b[0m failed\n" * 100,
    "progress bars": b"10%|\xe2\x96\x88  |\r20%|\xe2\x96\x88\xe2\x96\x88 |\r" * 200 + b"\x08\x08\n",
    "mangled progress bars": "100%|\ufffd\ufffd\ufffd\ufffd| 12/12 [00:01]\n".encode() * 50 + LINE,
    "one line of 5 MB": b"x" * 5_000_000,
}


@pytest.mark.parametrize("name", REAL_BUT_ROUGH)
def test_rough_text_is_taken_as_it_is(name: str) -> None:
    (log,) = read_paste("", (Upload("a.log", REAL_BUT_ROUGH[name]),), LIMIT)

    assert log.data == REAL_BUT_ROUGH[name]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_wide_text_becomes_utf_8_so_that_masking_sees_it(encoding: str) -> None:
    (log,) = read_paste("", (Upload("a.log", LINE.decode().encode(encoding)),), LIMIT)

    assert log.data == LINE


def test_names_hold_nothing_that_a_page_or_a_shell_could_misread() -> None:
    names = ("../../etc/rank 1.log", "<script>.log", "$(reboot).log", "", "x" * 300 + ".log")

    logs = read_paste("", [Upload(name, LINE) for name in names], LIMIT)

    found = [log.name for log in logs]
    assert found[:4] == ["rank_1.log", "script_.log", "reboot_.log", "log.txt"]
    assert len(found[4]) <= 100
    assert found[4].endswith(".log")


def test_equal_names_are_told_apart() -> None:
    logs = read_paste("pasted", [Upload("log.txt", LINE), Upload("stderr", LINE)] * 2, LIMIT)

    assert [log.name for log in logs] == ["log.txt", "log.txt.2", "stderr", "log.txt.3", "stderr.2"]
