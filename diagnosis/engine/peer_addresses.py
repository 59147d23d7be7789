"""Follows lost connections from address to address, to the node that was lost and lost nobody.

Gloo names in each error the peer that went away (gloo/transport/tcp/pair.cc): where ranks on one
node lost a second, and ranks on the second lost a third, the third went first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnosis.engine.events import Event
from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Log
from diagnosis.engine.matches import capture
from diagnosis.engine.probes import probe_pattern
from diagnosis.engine.subjects import Subjects

__all__ = ["Sink", "follow", "read_owners"]

_OWN_ADDRESS = probe_pattern("own-address")
# The port stands behind it; InfiniBand's line names the interface for what is out of its band.
_OWN_CAPTURES = r"(?:Using |OOB )(?:\[\d+\])?[\w.-]+:(?P<address>[0-9a-fA-F.:]+|<ip-\d+>)<\d+>"
_PEER = re.compile(r"\[(?P<address>[^\]]+)\]")
_LOOPBACK = re.compile(r"127\.|::1$|localhost")
# A host that is named for its address, as clouds do: ip-10-77-0-11.
_NAMED_FOR = re.compile(r"(?:ip-)?(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?:\.|$)")


@dataclass(frozen=True, slots=True)
class Sink:
    """The address that the lost connections lead to, and its host where the log tells it.

    `through` are the addresses that were lost and lost others, in the order of the log.
    """

    address: str
    host: str | None
    through: tuple[str, ...]


def read_owners(log: Log, subjects: Subjects, identities: Identities) -> Mapping[str, str]:
    """Return hosts by address: as they are named, or as a process there says of itself."""
    hosts = {facts.host for facts in identities.ranks.values() if facts.host}
    owners = {_named_for(host) or host: host for host in sorted(hosts)}
    for line in log.lines_with(_OWN_ADDRESS):
        address = capture(_OWN_CAPTURES, log.around(line, line.hit)).get("address")
        host = subjects.of_line(line).host
        if address and host:
            owners.setdefault(address, host)
    return owners


def follow(complaints: Sequence[Event], owners: Mapping[str, str]) -> Sink | None:
    """Return the one address that was lost and whose own node lost no other, or None."""
    lost = {}
    complaining: dict[str, set[str]] = {}
    for event in complaints:
        address = _peer_of(event)
        if address is not None:
            lost[address] = owners.get(address)
            complaining.setdefault(event.subject.host or "", set()).add(address)
    sinks = [
        address
        for address, owner in lost.items()
        if complaining.get(owner or "", set()) <= {address}
    ]
    if len(sinks) != 1:
        return None
    (sink,) = sinks
    return Sink(sink, lost[sink], tuple(address for address in lost if address != sink))


def _peer_of(event: Event) -> str | None:
    """Return the address of the peer that an event says it lost; none of this very machine."""
    found = _PEER.search(event.captures.get("peer", ""))
    if found is None or _LOOPBACK.match(found["address"]):
        return None
    return found["address"]


def _named_for(host: str) -> str | None:
    found = _NAMED_FOR.match(host)
    return ".".join(found.groups()) if found else None
