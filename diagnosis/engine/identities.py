"""Which process was which rank: facts that tie pid, host, pod, label and local rank to a rank.

What a line says outright is a sighting; what several lines together imply (the rank of a pid, of a
pod that holds one rank) is answered by `Identities.rank_of`, and is derived.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from diagnosis.engine.blocks import Blocks, read_blocks
from diagnosis.engine.numbered_places import rank_by_number
from diagnosis.engine.places import NAMED_PLACES, PLACES, Placed
from diagnosis.engine.sightings import Count, IdentityPattern, Sighting, read_sightings
from diagnosis.engine.sources import NO_WORKERS, Source

if TYPE_CHECKING:
    from diagnosis.engine.log import Line, Log

__all__ = [
    "Identities",
    "IdentityPattern",
    "RankFacts",
    "Told",
    "identify",
    "read_identities",
]


class Told(NamedTuple):
    """A number and the line that says it; `derived` where the line does not say it outright."""

    value: int
    line: Line
    derived: bool = False


@dataclass(frozen=True, slots=True)
class RankFacts:
    """What is known of one rank; `line` is the first that tells of it.

    After an elastic restart, `pid` is that of the first attempt.
    """

    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    pod: str | None = None
    node_rank: int | None = None
    line: Line | None = None


@dataclass(frozen=True)
class Identities:
    """Ranks by what the log calls their processes.

    `world` is the number of ranks. `announced` are the ranks that some line names. `labels_are`
    says what a launcher's numeric label counts: "rank" or "node". `nodes` and `ranks_a_node` are
    what a launcher says that it starts. `own_names` are what the processes of a host call it, by
    what who collects their lines calls it.
    """

    world: Told | None = None
    announced: tuple[int, ...] = ()
    ranks: Mapping[int, RankFacts] = field(default_factory=dict)
    sightings: Sequence[Sighting] = ()
    labels_are: str = "rank"
    nodes: int | None = None
    ranks_a_node: int | None = None
    own_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def world_size(self) -> int | None:
        """Return the number of ranks, or None where nothing tells it."""
        return None if self.world is None else self.world.value

    def of_rank(self, rank: int) -> RankFacts:
        """Return what is known of a rank."""
        return self.ranks.get(rank, _UNKNOWN)

    def rank_of(self, asked: Source) -> int | None:
        """Return the one rank that these facts of a process fit, or None where none or several do.

        The answer is derived: no line prints it for this process, and a rank in `asked` is not
        looked at. Facts are tried in the order in which they bind: the pid, the local rank on its
        node, or in the node's block of ranks, a label that counts ranks, a place that holds one
        rank or is numbered as such places are, the rank within a group, and that there is but one.
        Who is on no host that the program names may be on the one that who collected its lines
        names.
        """
        asked = self._with_group_rank(asked)
        rank = self._derived(self._by_own_name(asked))
        if rank is None and asked.collected_from is not None:
            rank = self._derived(dataclasses.replace(asked, host=asked.collected_from))
        return rank

    def _derived(self, asked: Source) -> int | None:
        for derive in (
            self._by_pid,
            self._by_local_rank,
            self._by_block,
            self._by_label,
            self._by_place,
            self._by_numbered_place,
            self._by_group_rank,
            self._by_solitude,
        ):
            rank = derive(asked)
            if rank is not None:
                return rank
        return None

    def _by_pid(self, asked: Source) -> int | None:
        placed = self._having["pid"].get(asked.pid or 0)
        return None if placed is None else placed.rank_near(asked)

    def _by_local_rank(self, asked: Source) -> int | None:
        local_rank = asked.local_rank
        if local_rank is None:
            return None
        placed = self._having["local_rank"].get(local_rank)
        if not self._one_node:
            return None if placed is None else placed.rank_at(asked)
        rank = None if placed is None else placed.rank_near(asked)
        return local_rank if rank is None and self._exists(local_rank) else rank

    def _by_block(self, asked: Source) -> int | None:
        """Count from the first rank of the node, where ranks are dealt to nodes in blocks."""
        rank = None if self._blocks is None else self._blocks.rank_of(asked)
        return rank if rank is not None and self._exists(rank) else None

    @cached_property
    def _blocks(self) -> Blocks | None:
        ranked = [seen.source for seen in self.sightings]
        if not self._groups_differ:
            ranked = [_with_rank_of_group(source) for source in ranked]
        return read_blocks(
            map(self._by_own_name, ranked),
            size=self.ranks_a_node,
            world=self.world_size,
            nodes=self.nodes or self._numbered_nodes,
            labels_are_nodes=self.labels_are == "node",
        )

    @cached_property
    def _numbered_nodes(self) -> int | None:
        """Return how many nodes there are where agents speak behind labels from 0 on."""
        agents = {int(seen.source.label or 0) for seen in self.sightings if _is_agent(seen)}
        return len(agents) if agents == set(range(len(agents))) and len(agents) > 1 else None

    def _by_label(self, asked: Source) -> int | None:
        if self.labels_are != "rank" or not _is_number(asked.label):
            return None
        rank = int(asked.label or "")
        return rank if self._exists(rank) else None

    def _by_place(self, asked: Source) -> int | None:
        for place in PLACES:
            at = getattr(asked, place)
            if at is not None and (rank := self._lone_ranks[place].get(at)) is not None:
                return rank
        return None

    def _by_numbered_place(self, asked: Source) -> int | None:
        if asked.local_rank or (self.ranks_a_node or 1) > 1:
            return None
        for place in NAMED_PLACES:
            at = getattr(asked, place)
            rank = None if at is None else rank_by_number(at, self._lone_ranks[place])
            if rank is not None:
                return rank if self._exists(rank) else None
        return None

    def _by_group_rank(self, asked: Source) -> int | None:
        """Take a rank within a group for the global one where no line shows the two to differ."""
        rank = asked.group_rank
        if rank is None or self._groups_differ:
            return None
        return rank if self._exists(rank) else None

    def _with_group_rank(self, asked: Source) -> Source:
        """Return the source with the rank that its device has in the group of all, if one told."""
        if asked.group_rank is not None or asked.pid is None or asked.device is None:
            return asked
        known = self._group_ranks.get((asked.host, asked.pid, asked.device), set())
        return dataclasses.replace(asked, group_rank=min(known)) if len(known) == 1 else asked

    def _by_solitude(self, asked: Source) -> int | None:
        """Take the one rank of a run of one that names it; what is no worker has none."""
        service = asked.service_pid is not None and asked.role not in NO_WORKERS
        worker = asked.role in (None, "worker") or service
        return 0 if self.world_size == 1 and worker and self._names_the_first else None

    @cached_property
    def _names_the_first(self) -> bool:
        """Say whether some line counts from rank 0: most runs of one process know no ranks."""
        return any(0 in (seen.source.rank, seen.source.local_rank) for seen in self.sightings)

    def line_of(self, rank: int, pid: int | None) -> Line | None:
        """Return the line that ties a process to its rank, as far as one line prints both.

        That is the first that prints the rank beside the pid, else the first that prints the rank.
        """
        naming = [
            seen for seen in self.sightings if seen.source.rank == rank and _prints(seen.line, rank)
        ]
        of_process = (seen for seen in naming if pid is not None and seen.source.pid == pid)
        found = next(of_process, naming[0] if naming else None)
        return None if found is None else found.line

    def _exists(self, rank: int) -> bool:
        return self.world is None or rank < self.world.value

    def _by_own_name(self, source: Source) -> Source:
        own_name = self.own_names.get(source.host or "")
        return source if own_name is None else dataclasses.replace(source, host=own_name)

    @cached_property
    def _ranked(self) -> Sequence[Source]:
        ranked = (seen.source for seen in self.sightings if seen.source.rank is not None)
        return [self._by_own_name(source) for source in ranked]

    @cached_property
    def _having(self) -> Mapping[str, Mapping[int, Placed]]:
        """Index the processes of known rank by pid and by local rank."""
        index: dict[str, dict[int, list[Source]]] = {"pid": {}, "local_rank": {}}
        for source in self._ranked:
            for name, by_value in index.items():
                value = getattr(source, name)
                if value is not None:
                    by_value.setdefault(value, []).append(source)
        return {
            name: {value: Placed(sources) for value, sources in by_value.items()}
            for name, by_value in index.items()
        }

    @property
    def _size(self) -> int:
        """Return the number of ranks as far as it is known."""
        return max(self.world_size or 0, max(self.announced, default=-1) + 1)

    @cached_property
    def _one_node(self) -> bool:
        """Say whether all ranks run on one node: then each local rank is its rank.

        They do where a launcher says so, or where a second node with as many ranks would make more
        than there are.
        """
        if self.nodes == 1:
            return True
        if self.ranks_a_node is not None and self.ranks_a_node == self.world_size:
            return True
        pairs = {
            (source.rank, source.local_rank)
            for source in self._ranked
            if source.local_rank is not None
        }
        if self.world is None or any(rank != local_rank for rank, local_rank in pairs):
            return False
        largest = max((rank for rank, _ in pairs if rank is not None), default=-1)
        return self._size < 2 * (1 + largest)

    @cached_property
    def _lone_ranks(self) -> Mapping[str, Mapping[str, int]]:
        return {place: dict(_lone_ranks(self._ranked, place)) for place in PLACES}

    @cached_property
    def _group_ranks(self) -> Mapping[tuple[str | None, int, int], set[int]]:
        """Index the ranks within a group by host, process and device; parts of the world aside."""
        index: dict[tuple[str | None, int, int], set[int]] = {}
        for seen in self.sightings:
            source, rank = seen.source, seen.source.group_rank
            if source.pid is None or source.device is None or rank is None:
                continue
            if seen.group_size in (None, self.world_size):
                index.setdefault((source.host, source.pid, source.device), set()).add(rank)
        return index

    @cached_property
    def _groups_differ(self) -> bool:
        return any(
            source.group_rank is not None and source.group_rank != source.rank
            for source in self._ranked
        )


_T = TypeVar("_T")
_UNKNOWN = RankFacts()


def read_identities(log: Log) -> Identities:
    """Gather who is who from the matched lines of a log."""
    return identify(*read_sightings(log))


def identify(sightings: Sequence[Sighting], counts: Sequence[Count]) -> Identities:
    """Join what lines say of processes and of the run; both in the order of the log."""
    labels_are = "node" if _labels_are_nodes(sightings) else "rank"
    printed = {seen.source.rank for seen in sightings if seen.source.rank is not None}
    world = _world(counts, sightings, labels_are, max(printed, default=-1) + 1)
    known = Identities(
        world=world,
        announced=tuple(sorted(printed)),
        sightings=sightings,
        labels_are=labels_are,
        nodes=_largest(counts, "nodes"),
        ranks_a_node=_largest(counts, "local_world_size"),
        own_names=_own_names(sightings),
    )
    joined = [*sightings, *_resolved(known, sightings)]
    announced = {seen.source.rank for seen in joined if seen.source.rank is not None}
    return dataclasses.replace(
        known,
        announced=tuple(sorted(announced)),
        ranks=_rank_facts(joined),
        sightings=joined,
    )


def _own_names(sightings: Iterable[Sighting]) -> Mapping[str, str]:
    """Return the hosts that are called otherwise by their collector and by themselves.

    A container has a name of its own; where a host holds several, nothing is told by it.
    """
    names: dict[str, set[str]] = {}
    for seen in sightings:
        outer, inner = seen.line.facts.source.host, seen.source.host
        if seen.here and outer is not None and inner is not None and outer != inner:
            names.setdefault(outer, set()).add(inner)
    return {outer: found.pop() for outer, found in names.items() if len(found) == 1}


def _with_rank_of_group(source: Source) -> Source:
    return (
        source if source.rank is not None else dataclasses.replace(source, rank=source.group_rank)
    )


def _is_agent(seen: Sighting) -> bool:
    return seen.agent and _is_number(seen.source.label)


def _labels_are_nodes(sightings: Sequence[Sighting]) -> bool:
    """Say whether a launcher's label counts nodes.

    It does where an agent, or another rank, stands behind it; and where an agent speaks without a
    label, for then each task that a later line names is one.
    """
    labelled = [seen for seen in sightings if _is_number(seen.source.label)]
    if not labelled:
        return any(seen.agent for seen in sightings)
    return any(
        seen.agent
        or (seen.source.rank is not None and str(seen.source.rank) != _plain(seen.source.label))
        for seen in labelled
    )


def _world(
    counts: Sequence[Count], sightings: Sequence[Sighting], labels_are: str, smallest: int
) -> Told | None:
    """Return the number of ranks; None where what is said is refuted by a rank beyond it."""
    told = list(_told_worlds(counts))
    derived = list(_derived_worlds(counts, labels_are))
    groups = [
        Told(seen.group_size, seen.line, derived=True)
        for seen in sightings
        if seen.group_size is not None
    ]
    for candidates in (told, derived, groups):
        # A part of the run may call itself the world; nothing calls itself more.
        world = max(candidates, key=lambda each: each.value, default=None)
        if world is not None:
            return world if world.value >= smallest else None
    return None


def _told_worlds(counts: Iterable[Count]) -> Iterator[Told]:
    for count in counts:
        if count.name == "world_size" and count.value > 0:
            yield Told(count.value, count.line)


def _derived_worlds(counts: Sequence[Count], labels_are: str) -> Iterator[Told]:
    """Yield processes a node times nodes, and the tasks of a launcher whose tasks are ranks."""
    nodes = _largest(counts, "nodes")
    for count in counts:
        if count.name == "local_world_size" and nodes:
            yield Told(count.value * nodes, count.line, derived=True)
        if count.name == "tasks" and labels_are == "rank":
            yield Told(count.value, count.line, derived=True)


def _largest(counts: Iterable[Count], name: str) -> int | None:
    return max((count.value for count in counts if count.name == name), default=None)


def _resolved(known: Identities, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Yield the sightings that name no rank with the rank that the others give them."""
    for seen in sightings:
        source = seen.source
        if source.rank is not None or seen.agent:
            continue
        rank = known.rank_of(dataclasses.replace(source, group_rank=None))
        if rank is None and seen.group_size is not None and seen.group_size == known.world_size:
            rank = source.group_rank
        if rank is not None:
            yield dataclasses.replace(seen, source=dataclasses.replace(source, rank=rank))


def _rank_facts(sightings: Iterable[Sighting]) -> Mapping[int, RankFacts]:
    """Return for each rank the first that is said of each of its fields."""
    facts: dict[int, RankFacts] = {}
    for seen in sightings:
        source = seen.source
        if source.rank is None:
            continue
        known = facts.get(source.rank, RankFacts(line=seen.line))
        facts[source.rank] = RankFacts(
            local_rank=_first(known.local_rank, source.local_rank),
            host=_first(known.host, source.host),
            pid=_first(known.pid, source.pid or None),
            pod=_first(known.pod, source.pod),
            node_rank=_first(known.node_rank, source.node_rank),
            line=known.line,
        )
    return dict(sorted(facts.items()))


def _lone_ranks(ranked: Sequence[Source], place: str) -> Iterator[tuple[str, int]]:
    """Yield the places with their rank, where each of several places holds exactly one."""
    ranks: dict[str, set[int]] = {}
    for source in ranked:
        at = getattr(source, place)
        if at is not None and source.rank is not None:
            ranks.setdefault(at, set()).add(source.rank)
    if len(ranks) > 1 and all(len(found) == 1 for found in ranks.values()):
        for at, found in ranks.items():
            yield at, found.pop()


def _prints(line: Line, rank: int) -> bool:
    """Say whether a line prints this very number, as its prefix or in its words."""
    words = re.search(rb"\b%d\b" % rank, line.facts.message)
    return line.facts.source.rank == rank or words is not None


def _first(one: _T | None, other: _T | None) -> _T | None:
    return other if one is None else one


def _is_number(label: str | None) -> bool:
    return label is not None and label.isascii() and label.isdigit()


def _plain(label: str | None) -> str:
    """Return a label's number without its leading zeros."""
    return str(int(label or ""))
