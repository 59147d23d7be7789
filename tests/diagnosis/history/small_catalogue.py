"""Loaded into a real worker by `--include`: its catalogue knows three failures alone."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from diagnosis import preloaded
from diagnosis.engine import load_compiled

_load = functools.partial(load_compiled, Path(os.environ["DENPEX_TEST_CATALOGUE"]))
setattr(preloaded, "load_compiled", _load)  # noqa: B010 - not one of its own names
preloaded.compiled.cache_clear()
