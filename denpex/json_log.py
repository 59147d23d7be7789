"""Application logs as one JSON object a line: a constant event name, and its facts as fields."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

__all__ = ["JsonFormatter"]

_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request"}


class JsonFormatter(logging.Formatter):
    """Writes time, level, logger, event and the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return `record` as one line of JSON; a traceback becomes the field `traceback`."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _OWN_FIELDS}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)
