"""Which numbers are addresses of machines: IPv4, IPv6 and hardware addresses by form and validity.

Versions, clock times, C++ names and fingerprints have the same characters; what tells them apart
stands here. Addresses that every machine has (loopback, unspecified, netmasks, the cloud's metadata
service) tell nothing of the paste's owner and are no addresses in this sense.
"""

from __future__ import annotations

import functools
import re
import socket

__all__ = ["ADDRESS_REACH", "hardware_addresses", "hardware_identity", "ip_v4", "ip_v6", "is_plain"]

Range = tuple[int, int]

_OCTET = rb"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
# First octets 1 to 223: 0 is "this network", 224 and above are groups, netmasks and broadcast.
_FIRST_OCTET = rb"(?:22[0-3]|2[01]\d|1\d\d|[1-9]\d?)"
# Bytes from two before an address to the first digit of its fourth number, that digit included.
ADDRESS_REACH = 15
_VALID = re.compile(_FIRST_OCTET + rb"(?:\." + _OCTET + rb"){3}\Z")
_V4 = re.compile(rb"(?<![\d.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}")
# What may stand beside an address at first sight; anything else is looked at more closely.
_PLAIN_BEFORE = frozenset(bytes([each]) for each in b" \n\r\t[('\",@;") | {b""}
_PLAIN_BEHIND = frozenset(bytes([each]) for each in b" \n\r\t])'\",;<:") | {b""}
_COMPARISONS = (b"=", b"<", b">", b"~", b"!")
# What may stand before: no letter, digit or dot, except the end of an escape or of a colour code.
_BEFORE = re.compile(rb"(?:\A|[^\w.]|_|\\[nrtbf]|%[0-9A-Fa-f]{2}|\dm)\Z")
_NEVER_BEHIND = re.compile(rb"\d|\.\d|[A-Za-z]")
_EVERY_MACHINE = re.compile(rb"127\.|169\.254\.169\.25[34]\Z")
_PUBLIC, _PRIVATE = 1, 2
_PRIVATE_BLOCKS = re.compile(
    rb"10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\."
)
# A port, NCCL's <port>, a bracket or a prefix length behind it: an address whatever stands before.
_ADDRESS_BEHIND = re.compile(rb":\d{1,5}(?!\d)|<\d|>|\]:|/\d{1,2}(?![\d.])")
# A comparison before, or a revision, a build or an archive behind: a version.
_VERSION_BEFORE = re.compile(rb"(?:[=<>~!]=|<)\Z")
_VERSION_BEHIND = re.compile(
    rb"[+~]|-\d+(?![\d.])|-py\d|-cp\d|\.(?:tar|zip|whl|so|deb|rpm|gz|exe|dll|dylib|post|dev|rc)\b"
)
# A name joined to it: `Chrome/119.0.0.0`, `cudnn-8.9.2.26`, `node_10.0.0.1`.
_JOINED_BEFORE = re.compile(rb"(?:\w/|[-_])\Z")
_JOINED_BEHIND = re.compile(rb"[-_]")

_V6_RUN = re.compile(rb"[0-9A-Fa-f:]{4,40}+")
# Before it: no part of an address. An interface may be joined by a colon (`eth0:fe80::1`), and NCCL
# prints `remoteGids` joined to the address.
_V6_BEFORE = re.compile(rb"(?:\A|Gids?|[^\w:.]|\\[nrtbf]|\dm|(?:\A|[^\w:.])\w*[g-zG-Z_]\w*:)\Z")
_V6_LOOK_BACK = 24
# Python's `x[2000::5]`.
_SLICE = re.compile(rb"\d+::\d*\Z")
_HARDWARE_RUN = re.compile(
    rb"(?<![0-9A-Za-z:-])[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2})*+(?![0-9A-Za-z])"
)
_PAIR_BEHIND = re.compile(rb"[:-][0-9A-Fa-f]")
_DASHED_DATE = re.compile(rb"[\d-]+\Z")
_NULL_OR_BROADCAST = (b"00" * 6, b"ff" * 6)
_PAIRS_OF_MAC, _PAIRS_OF_GUID, _PAIRS_OF_FRAME = 6, 8, 14


def ip_v4(text: bytes, end: int, *, in_version: bool) -> Range | None:
    """Return where the IPv4 address stands whose fourth number begins just before `end`.

    `in_version` says that the words before speak of a version. Returns None where the four numbers
    are no address, or one that every machine has.
    """
    found = _V4.search(text, max(0, end - ADDRESS_REACH + 2), end + 2)
    if found is None:
        return None
    start, stop = found.span()
    if stop < end:
        return None
    block = _block(found.group())
    if not block:
        return None
    if not in_version and is_plain(text, start, stop):
        return start, stop
    before, behind = text[max(0, start - 4) : start], text[stop : stop + 8]
    return (start, stop) if _is_address(block, before, behind, in_version=in_version) else None


def is_plain(text: bytes, start: int, stop: int) -> bool:
    """Say whether what stands beside four numbers is what stands beside addresses, not versions."""
    if text[stop : stop + 1] not in _PLAIN_BEHIND:
        return False
    before = text[max(0, start - 2) : start]
    return before[-1:] in _PLAIN_BEFORE or (before[-1:] == b"=" and before[:1] not in _COMPARISONS)


@functools.lru_cache(maxsize=1 << 14)
def _block(value: bytes) -> int:
    """Return of which block the address is, `_PRIVATE` or `_PUBLIC`; 0 where it is none."""
    if not _VALID.match(value) or _EVERY_MACHINE.match(value):
        return 0
    return _PRIVATE if _PRIVATE_BLOCKS.match(value) else _PUBLIC


def _is_address(block: int, before: bytes, behind: bytes, *, in_version: bool) -> bool:
    if not _BEFORE.search(before) or _NEVER_BEHIND.match(behind):
        return False
    if _ADDRESS_BEHIND.match(behind):
        return True
    if in_version or _VERSION_BEFORE.search(before) or _VERSION_BEHIND.match(behind):
        return False
    joined = _JOINED_BEFORE.search(before) or _JOINED_BEHIND.match(behind)
    return block == _PRIVATE or not joined


def ip_v6(text: bytes, start: int) -> tuple[Range, bytes] | None:
    """Return the IPv6 address at `start` and its 16 bytes; None where there is none."""
    if not _V6_BEFORE.search(text[max(0, start - _V6_LOOK_BACK) : start]):
        return None
    run = _V6_RUN.match(text, start)
    if not run:
        return None
    value = run.group()
    if text[run.end() : run.end() + 1].isalnum():
        return None
    if value.endswith(b":") and not value.endswith(b"::"):
        value = value[:-1]
    try:
        packed = socket.inet_pton(socket.AF_INET6, value.decode("ascii"))
    except OSError:
        return None
    if not _in_use(packed) or _SLICE.match(value):
        return None
    return (start, start + len(value)), packed


def _in_use(packed: bytes) -> bool:
    """Say whether the address is of a block of RFC 4291 that machines have."""
    first, second = packed[0], packed[1]
    return (
        0x20 <= first <= 0x3F
        or first in (0xFC, 0xFD)
        or (first == 0xFE and 0x80 <= second <= 0xBF)
        or (packed.startswith(bytes(10) + b"\xff\xff") and packed[12] != 127 and any(packed[12:]))
    )


def hardware_addresses(text: bytes, start: int) -> tuple[list[Range], int]:
    """Return the hardware addresses in the run of pairs at `start`, and where the run ends.

    They are a MAC, a GUID, or the two MACs of an Ethernet header as netfilter logs it. Fingerprints
    have other lengths, and are none.
    """
    run = _HARDWARE_RUN.match(text, start)
    if not run:
        return [], start
    value, end = run.group(), run.end()
    pairs = (len(value) + 1) // 3
    if b"-" in value and (b":" in value or _DASHED_DATE.match(value)):
        return [], end
    if pairs == _PAIRS_OF_FRAME:
        ranges = [(start, start + 17), (start + 18, start + 35)]
    elif pairs in (_PAIRS_OF_MAC, _PAIRS_OF_GUID) and not _PAIR_BEHIND.match(text, end):
        ranges = [(start, end)]
    else:
        return [], end
    return [
        each for each in ranges if hardware_identity(text[slice(*each)]) not in _NULL_OR_BROADCAST
    ], end


def hardware_identity(value: bytes) -> bytes:
    """Return the address without its separators, in lower case."""
    return value.replace(b":", b"").replace(b"-", b"").lower()
