import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.text import LogFile, prepare


def text_of(data: bytes):
    return prepare(LogFile("log.txt", data))


def test_it_works() -> None:
    text = text_of(b"one\ntwo\n")
    assert (text.data, text.lines, text.size) == (b"one\ntwo\n", 2, 8)


def test_line_numbers_are_those_of_the_paste_whatever_the_line_ends() -> None:
    for data in (b"a\nb\nfault", b"a\r\nb\r\nfault", b"a\nprogress 1\rprogress 2\nfault"):
        text = text_of(data)
        assert text.line_number(text.data.index(b"fault")) == 3, data


def test_a_carriage_return_ends_what_is_matched() -> None:
    assert text_of(b" 5%|\r 6%|\nend").data.splitlines() == [b" 5%|", b" 6%|", b"end"]


def test_nul_bytes_hide_neither_a_message_nor_its_prefix() -> None:
    assert text_of(b"Bus error\0\n\0[rank0]: next").data == b"Bus error\n[rank0]: next"


def test_colour_codes_are_cut() -> None:
    assert text_of(b"\x1b[36m(Worker pid=7)\x1b[0m \x1b[1;31mError\x1b[m\n").data == (
        b"(Worker pid=7) Error\n"
    )


def test_terminal_titles_and_links_are_cut() -> None:
    assert text_of(b"\x1b]0;title\x07run\x1b]8;;https://example.com\x1b\\here\n").data == (
        b"runhere\n"
    )


def test_text_saved_by_a_windows_shell_is_read() -> None:
    for encoding in ("utf-16", "utf-16-be", "utf-8-sig"):
        data = "RuntimeError: Ü\nnext".encode(encoding)
        if encoding == "utf-16-be":
            data = b"\xfe\xff" + data
        assert text_of(data).data.decode() == "RuntimeError: Ü\nnext"


def test_an_unfinished_last_line_counts() -> None:
    assert [text_of(data).lines for data in (b"", b"a", b"a\n", b"a\nb")] == [0, 1, 1, 2]


@given(st.binary(max_size=400))
def test_any_bytes_give_text_of_two_equal_lengths(data: bytes) -> None:
    text = text_of(data)
    assert len(text.data) == len(text.counted)
    assert b"\r" not in text.data
    assert b"\0" not in text.data


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"long line"]), max_size=60))
def test_a_line_number_counts_the_line_feeds_before_it(parts: list[bytes]) -> None:
    text = text_of(b"".join(parts))
    for offset in range(len(text.data)):
        assert text.line_number(offset) == text.counted[:offset].count(b"\n") + 1


def test_line_numbers_hold_beyond_the_first_stride() -> None:
    data = b"x" * 99 + b"\n"
    text = text_of(data * 5000)
    for line in (1, 2, 700, 4999, 5000):
        assert text.line_number((line - 1) * 100 + 5) == line
        assert text.offset_of_line(line) == (line - 1) * 100


def test_a_line_is_drawn_over_what_its_feed_began() -> None:
    text = text_of(b"one\n10%\r20%\rtwo\nthree\r\nfour")
    words = (b"one", b"10%", b"20%", b"two", b"three", b"four")
    begun = [text.redrawn_from(text.data.index(word)) for word in words]
    assert begun == [None, None, 4, 4, None, None]


def test_a_file_that_ends_its_lines_with_returns_alone_draws_over_nothing() -> None:
    text = text_of(b"[rank0]: one\rtwo\rthree")
    assert text.redrawn_from(text.data.index(b"three")) is None


def lines_of(data: bytes) -> list[bytes]:
    text = text_of(data)
    bounds = {text.bounds(offset) for offset in range(len(data)) if data[offset] != ord("\n")}
    return [data[start:end] for start, end in sorted(bounds)]


@pytest.mark.parametrize(
    "pieces",
    [
        [b"[rank0]: closed by peer:37252", b"[rank1]: KeyError: 'a'"],
        [b"[rank0]: Traceback (most recent call last):", b"[rank1]: Traceback", b"[rank2]: x"],
        [b"step 3", b"[rank12]: x"],
    ],
)
def test_lines_that_ranks_tore_are_told_apart(pieces: list[bytes]) -> None:
    assert lines_of(b"before\n" + b"".join(pieces) + b"\nafter") == [b"before", *pieces, b"after"]


@pytest.mark.parametrize(
    "line",
    [
        b"[default5]:[rank5]: x",
        b"10: [rank2]: x",
        b"[pod/a-0/b] [rank2]: x",
        b"gpu-a-17:[rank2]: x",
        b"[2026-11-30 06:20:17,050][rank0]: x",
        b" 24%|##3 | 9/38 [3:56<12:46,  1.58s/it][rank3]: x",
        b"trainer-1  |[rank3]: x",
        b"waiting for [rank3]: x",
    ],
)
def test_a_rank_behind_a_label_is_not_torn(line: bytes) -> None:
    assert lines_of(line) == [line]
