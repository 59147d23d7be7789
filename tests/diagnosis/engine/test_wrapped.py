import textwrap

import pytest

from diagnosis.engine import Compiled
from diagnosis.engine.text import LogFile, prepare
from diagnosis.engine.wrapped import joined_lines
from tests.diagnosis.engine.logs import of_rank, steps, traceback, verdict_on


def unless_in_brackets(_first: bytes, line: bytes) -> bytes | None:
    return None if line.startswith(b"[") else line


def joined(text: str, *interesting: str) -> list[str]:
    data = text.encode()
    offsets = sorted(data.index(each.encode()) for each in interesting)
    lines = joined_lines(prepare(LogFile("x", data)), offsets, unless_in_brackets)
    return [each.data.decode() for each in lines]


def cut(text: str, width: int) -> str:
    """Cut lines at one width, also inside words, as a terminal does."""
    return "\n".join(
        line[start : start + width]
        for line in text.splitlines()
        for start in range(0, max(len(line), 1), width)
    )


def test_lines_cut_at_one_width_are_joined() -> None:
    lines = [f"{number} " + "word " * 30 + "end" for number in range(3)]
    assert joined(cut("\n".join(lines), 80)) == lines


def test_text_without_a_common_width_is_left_alone() -> None:
    assert joined(steps(1, 50)) == []


def test_a_message_broken_at_blanks_is_joined() -> None:
    text = "ValueError: the batch size is not\nequal to 4 *\n8 * 1\n\nnext paragraph"
    assert "ValueError: the batch size is not equal to 4 * 8 * 1" in joined(text, "ValueError")


def test_a_boxed_message_is_joined_without_its_box() -> None:
    text = "│ ValueError: the batch size is not │\n│ equal to 32                        │\n╰────╯"
    assert "ValueError: the batch size is not equal to 32" in joined(text, "ValueError")


def test_a_message_ends_where_a_line_begins_anew() -> None:
    text = "ValueError: the batch is not\nequal to the world size\n[rank1]: loss nan"
    found = joined(text, "ValueError")
    assert "ValueError: the batch is not equal to the world size" in found
    assert not [each for each in found if "nan" in each]


@pytest.mark.parametrize(
    "prefix", ["", "[rank0]: ", "2026-11-30T05:53:43.1Z stderr F ", "gpu-a-017: [rank0]: "]
)
def test_a_message_goes_on_behind_the_same_prefix(compiled: Compiled, prefix: str) -> None:
    error = "RuntimeError: Failed to import transformers.modeling_utils because of the following"
    words = "/opt/venv/lib/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    failed = traceback(f"{error} error (look up to see its traceback):")
    lines = [prefix + line for line in (*failed.splitlines(), words)]
    primary = verdict_on(compiled, *lines).primary
    assert primary is not None
    assert primary.failure is not None
    assert primary.failure.slug == "extension-abi-undefined-symbol"


@pytest.mark.parametrize("error", ["ValueError: bad value", "KeyError: 'x'", "RuntimeError: x"])
@pytest.mark.parametrize("rank", ["", "[rank1]: ", "node-2: [rank1]: ", "[1,1]<stderr>:"])
@pytest.mark.parametrize("line", ["iter 2040: loss nan, time 512.04ms", "step 2 loss nan"])
def test_what_follows_an_exception_is_no_word_of_it(
    compiled: Compiled, error: str, rank: str, line: str
) -> None:
    own = rank.replace("1]", "0]").replace("1,1", "1,0").replace("-2", "-1")
    alone = verdict_on(compiled, traceback(error, prefix=own)).primary
    followed = verdict_on(compiled, traceback(error, prefix=own), f"{rank}{line}").primary
    assert alone is not None
    assert followed is not None
    assert followed.summary == alone.summary


def test_a_message_cut_inside_a_word_is_found(compiled: Compiled) -> None:
    error = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 79.15 GiB of which 1.00 GiB is free."
    )
    whole = "\n".join((steps(1, 3), traceback(error), ""))
    for width in range(70, 100):
        verdict = verdict_on(compiled, cut(whole, width))
        assert verdict.primary is not None, width
        assert verdict.primary.failure is not None, width
        assert verdict.primary.failure.slug == "cuda-out-of-memory", width


def test_a_joined_message_counts_for_the_line_it_begins_on(compiled: Compiled) -> None:
    text = cut("\n".join((of_rank(0, "KeyError: 'mask'"), "x" * 200, "y" * 200, "z" * 200)), 80)
    verdict = verdict_on(compiled, text)
    assert verdict.primary.evidence[0].text.endswith("KeyError: 'mask'")


def test_joining_invents_no_match_across_unrelated_lines(compiled: Compiled) -> None:
    lines = [textwrap.shorten("step " * 40, 90).ljust(90, ".") for _ in range(20)]
    assert verdict_on(compiled, *lines).outcome == "no_failure"
