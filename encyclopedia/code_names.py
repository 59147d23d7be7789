"""Names in a sentence that are surely code: flags, variables, calls, and words joined by `_`.

A fix in one sentence names them in plain words, and the pages show them as code. What might be
prose, or only a part of an expression, stays as it is.
"""

from __future__ import annotations

import re

__all__ = ["names_as_code"]

_VALUE = r"""(?:"[^"\s`]*"|'[^'\s`]*'|[\w.][\w.:/,@^-]*\w|\w)"""
_NAMES = (
    rf"--[a-z][\w-]*\w(?:={_VALUE})?",  # --shm-size=16g
    rf"[A-Za-z_][\w.]*={_VALUE}",  # NCCL_P2P_DISABLE=1
    r"[A-Za-z_][\w.]*\w\(\)",  # clone()
    r"[A-Za-z][A-Za-z0-9]*[._][\w.]*\([^()\s`<>]*\)",  # torch.cuda.set_device(local_rank)
    r"__[a-z]\w*__",  # __getitem__
    r"[A-Za-z][A-Za-z0-9.]*_[\w.]*[A-Za-z0-9]",  # LD_LIBRARY_PATH
)
# Not within a path, a quoted text or an expression, nor the beginning of one.
_BEFORE = r"""(?<![\w./~$\\<{\["'`*=-])(?<!\w\()"""
_BEHIND = r"""(?![\w/=({\["'*`-])(?![.:]\w)"""
_CODE_OR_NAME = re.compile(rf"(?P<code>`[^`]*`)|{_BEFORE}(?:{'|'.join(_NAMES)}){_BEHIND}")


def names_as_code(text: str) -> str:
    """Return a text of Markdown in which the names that are surely code are set as code."""
    return _CODE_OR_NAME.sub(lambda found: found["code"] or f"`{found[0]}`", text)
