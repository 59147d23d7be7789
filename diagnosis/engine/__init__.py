"""Log text in, verdict out: no Django, no network, no clock."""

from diagnosis.engine.compiled import Compiled, load_compiled
from diagnosis.engine.diagnose import diagnose
from diagnosis.engine.text import LogFile
from diagnosis.engine.verdict import Verdict

__all__ = ["Compiled", "LogFile", "Verdict", "diagnose", "load_compiled"]
