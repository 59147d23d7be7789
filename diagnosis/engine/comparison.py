"""Failures without words of their own, told by comparing what the ranks say and do not say.

Each rule is named for the failure that it tells. Rules are asked in the order of `RULES`, and only
where no rank states a cause; the first that answers adds its event to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnosis.engine.causality import LEVELS, Judgement, ranks_of
from diagnosis.engine.collectives import TIMEOUTS, group_of, numbered_by_group, told_whole
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event, Witness
from diagnosis.engine.fates import Roster
from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Line, Log
from diagnosis.engine.matches import Observation
from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.stamps import DATED
from diagnosis.engine.subjects import Subject
from encyclopedia.catalogue import Catalogue

__all__ = ["RULES", "Scene", "compare"]

LOST_PEERS = frozenset({"gloo-peer-closed", "nccl-remote-peer-closed"})
_AGENT = "torchelastic-child-failed"
# Sizes of these differ between ranks in a healthy run.
_UNEVEN_OPERATIONS = frozenset({"ALLTOALL", "ALLTOALL_BASE", "SEND", "RECV", "COALESCED"})
# What a rank says last that has done its share and goes.
_LEAVING = BytePattern(
    r"(?i:\b(?:exhausted|leaving|exiting|early[ _-]?stopp(?:ing|ed)|stopping early"
    r"|no more (?:data|batches|samples))\b)"
)
_FINISHED = BytePattern(r"(?i:\b(?:finished|done|completed?)\b)")
# What is done between steps: to have finished that is not to leave.
_PART = BytePattern(
    r"(?i:\b(?:sav(?:ed|ing)|checkpoint|load(?:ed|ing)|download|tokeniz|pre-?process|evaluat|validat"
    r"|compil|warm-?up|initiali[sz])|\bsetup\b)"
)
# What a rank says last that works on alone, while the others already wait for it.
_BEGUN = {
    "checkpoint-save-exceeds-collective-timeout": BytePattern(
        r"(?i:\b(?:saving|writing|dumping|storing|gathering)\b.{0,64}"
        r"(?:\b(?:checkpoint|ckpt|snapshot|model|weights|state|optimizer)|[/.]step)"
        r"|\bcheckpoint(?:ing)? (?:started|begins))"
    ),
    "rank0-preprocessing-exceeds-timeout": BytePattern(
        r"(?i:\b(?:tokeniz|pre-?process|download|pack|index)ing\b.{0,64}"
        r"\b(?:data|dataset|corpus|documents?|examples|shards?|split))"
    ),
}
# The same line may go on to say that it is done.
_ENDED = BytePattern(
    r"(?i:\b(?:done|finished|completed|complete(?:[.!)]|$)|took|ok$"
    r"|in \d+(?:\.\d+)? ?(?:s|sec|ms)\b))"
)
# A wait begins within this of what holds it up, in seconds; and so far up is that looked for.
_WAIT_BEGINS = 60.0
_LINES_ABOVE = 64


@dataclass(frozen=True, slots=True)
class Scene:
    """What a rule looks at: the judgement so far, and all that is known of the ranks."""

    log: Log
    judgement: Judgement
    observations: Sequence[Observation]
    rank_of: Mapping[tuple[int, int], int]
    roster: Roster
    ends: Sequence[ProcessEnd]
    identities: Identities
    catalogue: Catalogue

    def complaints(self, failures: Iterable[str]) -> list[Event]:
        """Return the events of these failures, whatever became of them in the judgement."""
        wanted = frozenset(failures)
        return [
            event
            for event in _events(self.judgement)
            if event.failure in wanted and not event.repeats
        ]

    @property
    def silent(self) -> list[int]:
        """Return the ranks that say nothing of a failure themselves, ascending."""
        own = (event for event in _events(self.judgement) if _speaks(event))
        heard = {*ranks_of(self.complaints(TIMEOUTS | LOST_PEERS)), *ranks_of(own)}
        return [rank for rank in self.roster.ranks if rank not in heard]

    def last_line(self, rank: int) -> Line | None:
        """Return the last line that a rank marked as its own."""
        presence = self.roster.present.get(rank)
        return None if presence is None else presence.last

    def event(
        self,
        slug: str,
        lines: Sequence[Witness],
        rank: int | None = None,
        basis: str | None = None,
        *,
        inferred: bool = False,
    ) -> Event:
        """Return an event of a failure told by comparison, with the lines that tell it."""
        known = self.identities.of_rank(rank) if rank is not None else None
        subject = Subject(
            rank=rank,
            local_rank=known.local_rank if known else None,
            host=known.host if known else None,
            basis=basis,
            named=True,
        )
        first = lines[0]
        return Event(
            failure=slug,
            role=self.catalogue.failures[slug].role,
            subject=subject,
            first=first.line,
            hit=first.hit,
            count=len(lines),
            captures={},
            lines=tuple(lines),
            inferred=inferred,
        )


def _events(judgement: Judgement) -> Iterator[Event]:
    if judgement.root is not None:
        yield judgement.root
    yield from judgement.peers
    yield from judgement.rivals
    yield from (each.event for each in judgement.explained)


def _speaks(event: Event) -> bool:
    """Say whether the event is in the words of the rank that it is about."""
    own = event.role in ("cause", "symptom", "consequence") and not event.reported
    return event.raised is not None or (own and not event.subject.named)


def compare(scene: Scene) -> Event | None:
    """Return the failure that the ranks tell together, or None where one of them tells a cause."""
    root = scene.judgement.root
    if root is None or LEVELS.index(root.role) < LEVELS.index("symptom"):
        return None
    if root.role == "symptom" and (root.failure not in TIMEOUTS or root.subject.named):
        return None
    for slug, rule in RULES.items():
        event = rule(scene, slug) if slug in scene.catalogue.failures else None
        if event is not None:
            return event
    return None


Rule = Callable[[Scene, str], Event | None]


def _operations_differ(scene: Scene, slug: str) -> Event | None:
    """Ranks of one group wait under one sequence number in different operations."""
    return _differing(scene, slug, "op")


def _sizes_differ(scene: Scene, slug: str) -> Event | None:
    """Ranks of one group wait in one operation with different sizes."""
    return _differing(scene, slug, "numel_in")


def _differing(scene: Scene, slug: str, name: str) -> Event | None:
    kinds: dict[tuple[str, ...], dict[str, list[Observation]]] = {}
    for each in scene.observations:
        captured = each.captures
        if told_whole(each, "seq", name) and captured.get("op") not in _UNEVEN_OPERATIONS:
            operation = () if name == "op" else (captured["op"],)
            same = (captured["seq"], group_of(scene.log, each), *operation)
            kinds.setdefault(same, {}).setdefault(captured[name], []).append(each)
    for values in kinds.values():
        if len(values) > 1:
            lines = [_witness(scene, told[0], "cause") for told in values.values()]
            odd = _rank_alone(scene, tuple(values.values()))
            lines.sort(key=lambda line: line.rank != odd)
            return scene.event(slug, lines, odd, None if odd is None else "derived")
    return None


def _rank_alone(scene: Scene, parties: Sequence[Sequence[Observation]]) -> int | None:
    """Return the rank that stands alone against all others, or None."""
    ranks = [{scene.rank_of.get(each.key) for each in party} for party in parties]
    alone = [rank for party in ranks if len(party) == 1 for rank in party]
    return alone[0] if len(ranks) == 2 and len(alone) == 1 else None


def _witness(scene: Scene, observation: Observation, role: str) -> Witness:
    rank = scene.rank_of.get(observation.key)
    return Witness(observation.line, observation.hit, role, rank)


def _one_rank_ran_out(scene: Scene, slug: str) -> Event | None:
    """One rank has left, or is a collective behind, while the others wait for it or lose it."""
    return _left_early(scene, slug) or _lags_behind(scene, slug)


def _left_early(scene: Scene, slug: str) -> Event | None:
    complaints = scene.complaints(TIMEOUTS | LOST_PEERS)
    failed = {end.subject.rank for end in scene.ends if end.is_failure}
    observed = {each.key for each in scene.observations}
    for rank in scene.silent:
        last = scene.last_line(rank)
        if last is None or rank in failed or not complaints:
            continue
        if last.key not in observed and _says_that_it_leaves(last):
            lines = [Witness(last, last.end, "cause", rank), *_witnesses(complaints)]
            return scene.event(slug, lines, rank, "printed")
    return None


def _says_that_it_leaves(line: Line) -> bool:
    said = line.facts.message
    if _LEAVING.search(said) is not None:
        return True
    return _FINISHED.search(said) is not None and _PART.search(said) is None


def _lags_behind(scene: Scene, slug: str) -> Event | None:
    """One rank is a collective behind the others of its group, and no work between steps is told.

    The number says who is late; that it ran out of batches is the likeliest reason of several.
    """
    behind = _rank_behind(scene)
    if behind is None or _is_at_work(scene):
        return None
    return scene.event(slug, behind, behind[0].rank, "derived", inferred=True)


def _rank_behind(scene: Scene) -> list[Witness] | None:
    """Return the last collective of the one rank that enqueued less than all others, and theirs.

    Numbers count within a process group. Of several groups in which one is behind, none is chosen.
    """
    groups = numbered_by_group(scene.log, scene.observations, scene.rank_of, "last_enqueued")
    found = [lines for ranks in groups.values() if (lines := _behind(scene, ranks)) is not None]
    return found[0] if len({lines[0].rank for lines in found}) == 1 else None


def _behind(scene: Scene, enqueued: Mapping[int, tuple[int, Observation]]) -> list[Witness] | None:
    lowest = min(number for number, _ in enqueued.values())
    behind = [rank for rank, (number, _) in enqueued.items() if number == lowest]
    if len(behind) != 1 or len(enqueued) < 2:
        return None
    ahead = max(enqueued.items(), key=lambda item: (item[1][0], -item[0]))[1][1]
    return [
        _witness(scene, enqueued[behind[0]][1], "cause"),
        _witness(scene, ahead, "symptom"),
    ]


def _is_at_work(scene: Scene) -> bool:
    """Say whether what was printed last before the time-outs is work that is done between steps."""
    first = min(scene.complaints(TIMEOUTS), key=lambda event: event.key, default=None)
    above = () if first is None else _lines_above(scene.log, first.first)
    said = next((line.facts.message for line in above if line.facts.message.strip()), b"")
    return _PART.search(said) is not None


def _lines_above(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines above, the nearest first, as far up as is looked."""
    for _ in range(_LINES_ABOVE):
        if line.start == 0:
            return
        line = log.line_at(line.file, line.start - 1)
        yield line


def _one_rank_stalled(scene: Scene, slug: str) -> Event | None:
    """All ranks but one time out, and that one neither says anything nor leaves of itself.

    Or it is a collective behind the others, which says the same of it.
    """
    behind = _rank_behind(scene)
    if behind is not None:
        lines = [witness._replace(role="symptom") for witness in behind]
        return scene.event(slug, lines, lines[0].rank, "derived")
    timeouts = scene.complaints(TIMEOUTS)
    silent = scene.silent
    if len(silent) != 1 or not timeouts:
        return None
    (rank,) = silent
    forced = any(end.subject.rank == rank and end.forced for end in scene.ends)
    by_gloo = any(event.failure == "gloo-collective-timeout" for event in timeouts)
    left = any(end.subject.rank == rank and end.is_failure and not end.forced for end in scene.ends)
    if left or rank not in scene.roster.present or not (forced or by_gloo):
        return None
    return scene.event(slug, list(_witnesses(timeouts)), rank, "eliminated")


def _one_rank_worked_on(scene: Scene, slug: str) -> Event | None:
    """All wait for one rank, which said last what it began and never that it was done."""
    stalled = _one_rank_stalled(scene, slug)
    rank = None if stalled is None else stalled.subject.rank
    last = None if rank is None else scene.last_line(rank)
    if stalled is None or last is None:
        return None
    if not _begins(slug, last):
        return None
    return scene.event(
        slug, [Witness(last, last.end, "cause", rank), *stalled.lines], rank, "printed"
    )


def _begins(slug: str, line: Line) -> bool:
    """Say whether a line begins what the failure is about, and does not end it as well."""
    said = line.facts.message
    return _BEGUN[slug].search(said) is not None and _ENDED.search(said) is None


def _save_outlasted(scene: Scene, slug: str) -> Event | None:
    """One rank saves on, or nobody says which: the wait began as a save was announced."""
    return _one_rank_worked_on(scene, slug) or _wait_begins(scene, slug)


def _wait_begins(scene: Scene, slug: str) -> Event | None:
    """Ranks time out, and their wait began with what was begun last, whoever it was."""
    told = [event for event in scene.complaints(TIMEOUTS) if "timeout_ms" in event.captures]
    if not told:
        return None
    first = min(told, key=lambda event: event.key)
    seconds = int(first.captures["timeout_ms"]) / 1000
    begun = _last_stamped(scene.log, first.first)
    waits = [end - seconds for end in _moments(first.first)]
    if begun is None or not _begins(slug, begun) or not _near(_moments(begun), waits):
        return None
    rank = begun.facts.source.rank
    lines = [Witness(begun, begun.end, "cause", rank), *_witnesses(told)]
    return scene.event(slug, lines, rank, None if rank is None else "printed", inferred=True)


def _last_stamped(log: Log, line: Line) -> Line | None:
    """Return the nearest line above that has a stamp with a date."""
    return next((above for above in _lines_above(log, line) if _moments(above)), None)


def _near(ones: Iterable[float], others: Sequence[float]) -> bool:
    """Say whether two lines may be of one moment, by any of the clocks that stamp them."""
    return any(abs(one - other) <= _WAIT_BEGINS for one in ones for other in others)


def _moments(line: Line) -> list[float]:
    """Return when a line was written, in seconds, by each clock that stamps it."""
    return [stamp.seconds for stamp in line.facts.stamps if stamp.clock in DATED]


def _network_lost(scene: Scene, slug: str) -> Event | None:
    """Every rank of several nodes times out, and none is silent."""
    timeouts = scene.complaints(TIMEOUTS)
    hosts = {event.subject.host for event in timeouts if event.subject.host}
    if scene.silent or len(hosts) < 2 or scene.roster.world_size is None:
        return None
    if set(ranks_of(timeouts)) < set(scene.roster.ranks):
        return None
    return scene.event(slug, list(_witnesses(timeouts)))


def _rank_vanished(scene: Scene, slug: str) -> Event | None:
    """Ranks lose a peer, and the one they lose has printed no error."""
    lost = scene.complaints(LOST_PEERS)
    silent = scene.silent
    unknown = [event for event in lost if event.subject.rank is None]
    if not lost or scene.complaints(TIMEOUTS) or 0 < len(unknown) < len(lost):
        return None
    present = [rank for rank in silent if rank in scene.roster.present]
    if not ranks_of(lost):
        silent = _unaccounted(scene)
    if silent and len(silent) == 1:
        return scene.event(slug, list(_witnesses(lost)), silent[0], "eliminated")
    if silent and not present:
        return scene.event(slug, list(_witnesses(lost)))
    return None


def _unaccounted(scene: Scene) -> list[int]:
    """Return the ranks that the agent neither saw fail nor told to end: they had left by then.

    An agent tells all its workers that still run as soon as one fails; it is asked where nobody
    knows whose exceptions the log holds.
    """
    ended = {end.subject.rank for end in scene.ends}
    accounted = {*ended, *ranks_of(scene.complaints([_AGENT]))}
    return [rank for rank in scene.roster.ranks if rank not in accounted]


def _witnesses(events: Sequence[Event]) -> Iterator[Witness]:
    """Yield the first line of the first events of each rank."""
    told: set[int | None] = set()
    for event in sorted(events, key=lambda each: each.key):
        if event.subject.rank not in told:
            told.add(event.subject.rank)
            yield Witness(event.first, event.hit, event.role, event.subject.rank)


RULES: Mapping[str, Rule] = {
    "collective-order-desync": _operations_differ,
    "collective-shape-mismatch": _sizes_differ,
    "uneven-inputs-collective-hang": _one_rank_ran_out,
    "checkpoint-save-exceeds-collective-timeout": _save_outlasted,
    "rank0-preprocessing-exceeds-timeout": _one_rank_worked_on,
    "stalled-rank-collective-timeout": _one_rank_stalled,
    "inter-node-network-lost": _network_lost,
    "rank-vanished-without-error": _rank_vanished,
}
