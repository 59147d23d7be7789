"""Application logs as JSON lines."""

from __future__ import annotations

import json
import logging
import sys

from denpex.json_log import JsonFormatter


def line(**fields: object) -> dict[str, object]:
    record = logging.makeLogRecord(
        {"name": "diagnosis", "levelname": "INFO", "levelno": 20, **fields}
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found: dict[str, object] = json.loads(text)
    return found


def test_it_works() -> None:
    found = line(msg="job done", created=0.25, job="a1", seconds=0.4)
    assert found == {
        "time": "1970-01-01T00:00:00.250+00:00",
        "level": "info",
        "logger": "diagnosis",
        "event": "job done",
        "job": "a1",
        "seconds": 0.4,
    }


def test_the_request_is_left_out() -> None:
    """Django adds it to its records, and it may hold what was posted."""
    assert "request" not in line(msg="Not Found: /x", request=object())


def test_a_value_that_is_not_json_is_written_as_text() -> None:
    assert line(msg="x", where=logging)["where"] == str(logging)


def test_a_traceback_is_one_field() -> None:
    try:
        int("wrong")
    except ValueError:
        found = line(msg="failed", exc_info=sys.exc_info())
    assert "ValueError: invalid literal" in str(found["traceback"])
