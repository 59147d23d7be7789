"""The site on this machine's port, for tools that measure pages: `with served() as origin`.

It runs on the services that DATABASE_URL and REDIS_URL name, after `denpex.prepare`; the make
targets that measure see to both.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PROJECT", "served"]

PROJECT = Path(__file__).parent.parent
_START_SECONDS = 60


@contextlib.contextmanager
def served(application: str = "denpex.wsgi:application", *options: str) -> Iterator[str]:
    """Serve `application` by gunicorn while the block runs; gives its origin."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = (
            *(sys.executable, "-m", "gunicorn", application),
            *("--bind", f"fd://{listener.fileno()}", "--threads", "4"),
            *("--no-control-socket", "--log-level", "warning", *options),
        )
        process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=os.environ | {"DENPEX_ORIGIN": origin},
            pass_fds=[listener.fileno()],
        )
    try:
        _wait_until_ready(origin, process)
        yield origin
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(origin: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{origin}/healthz", timeout=_START_SECONDS).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
