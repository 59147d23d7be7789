"""Characters that act on text instead of standing in it, made visible.

A log is hostile input: a mark that turns the direction of writing would let a line read as what it
is not, and the words of the page behind it as well.
"""

from __future__ import annotations

from typing import Any

__all__ = ["visible", "visible_throughout"]

_DIRECTION_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = (0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, *range(0xE0000, 0xE0080))
# Unicode has a picture for each ASCII control character; tab and line feed stay what they are.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: 0x2421
}
_SHOWN: dict[int, int | str] = {
    **_PICTURES,
    **dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    **{code: f"<U+{code:04X}>" for code in (*_DIRECTION_MARKS, *_UNSEEN)},
}


def visible(text: str) -> str:
    """Return `text` with a visible stand-in for each character that would act and not show."""
    # Almost all text is plain, and a verdict of a thousand ranks has much of it.
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def visible_throughout(value: Any) -> Any:
    """Return what JSON holds, with `visible` text in it."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_throughout(each) for each in value]
    if isinstance(value, dict):
        return {visible(key): visible_throughout(each) for key, each in value.items()}
    return value
