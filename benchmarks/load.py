"""Asks one address as often as the server answers, over a few connections that stay open."""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["requests_a_second"]

_CONNECTIONS = 8
_HEAD_END = b"\r\n\r\n"


@dataclass
class _Connection:
    """An open connection, and what has come of the answer it waits for."""

    socket: socket.socket
    received: bytearray


def requests_a_second(url: str, seconds: float, **headers: str) -> float:
    """Return how many answers a second came from `url`; raises ValueError for one but 200 or 304.

    The bytes are looked at no more than needed, so that the server and not this is measured.
    """
    address = urlsplit(url)
    lines = (f"GET {address.path} HTTP/1.1", f"Host: {address.netloc}")
    more = (f"{name.replace('_', '-')}: {value}" for name, value in headers.items())
    request = "\r\n".join((*lines, *more, "", "")).encode()
    answers = 0
    with selectors.DefaultSelector() as selector:
        for _ in range(_CONNECTIONS):
            connection = socket.create_connection((address.hostname or "", address.port or 80))
            state = _Connection(connection, bytearray())
            selector.register(connection, selectors.EVENT_READ, state)
            connection.sendall(request)
        start = time.perf_counter()
        while (now := time.perf_counter()) < start + seconds:
            for key, _events in selector.select(seconds):
                connection = key.data
                connection.received += connection.socket.recv(1 << 18)
                if _is_whole(connection.received):
                    answers += 1
                    connection.received.clear()
                    connection.socket.sendall(request)
        for key in list(selector.get_map().values()):
            key.data.socket.close()
    return answers / (now - start)


def _is_whole(answer: bytearray) -> bool:
    end = answer.find(_HEAD_END)
    if end < 0:
        return False
    head = bytes(answer[:end]).lower()
    status = head.split(b" ", 2)[1]
    if status not in {b"200", b"304"}:
        raise ValueError(head.decode())
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return len(answer) >= end + len(_HEAD_END) + int(length or 0)
