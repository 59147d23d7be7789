"""Reads a failure file: YAML front matter, then Markdown in sections."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from encyclopedia.catalogue import (
    CatalogueError,
    Facts,
    Failure,
    Fix,
    LookAlike,
    Monitor,
    Reference,
    Requirement,
    Section,
    Signature,
)

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

__all__ = ["Where", "line_of", "parse", "with_fences"]

_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n(.*)\Z", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

# The keys and indices that lead to a value of the front matter; ("## Fix",) is a section.
Where = tuple[str | int, ...]


def parse(text: str, path: Path) -> Failure:
    """Turn the text of the failure file at `path` into a Failure: see `catalogue.parse`."""
    found = _FRONT_MATTER.match(text)
    if not found:
        raise CatalogueError(f"{path}:1: the file starts with '---', YAML and '---'")
    front_matter, body = found[1], found[2]
    try:
        data = yaml.load(front_matter, Loader=_Loader)  # noqa: S506
        return _failure(_Reader(data, ()), tuple(_sections(body)), path)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise CatalogueError(f"{path}:{line}: the YAML cannot be read: {error.problem}") from error
    except yaml.YAMLError as error:
        raise CatalogueError(f"{path}:1: the YAML cannot be read: {error}") from error
    except _ReadingError as error:
        line = line_of(error.where, text)
        raise CatalogueError(f"{path}:{line}: {error}") from error


class _Loader(_SafeLoader):
    """YAML's safe subset, without a key that silently takes the place of an earlier one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        keys = [self.construct_object(key, deep=True) for key, _value in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                mark = node.value[index][0].start_mark
                raise yaml.MarkedYAMLError(problem=f"{key!r} stands twice", problem_mark=mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


class _ReadingError(Exception):
    """A value that is not what the schema asks for; `where` is the way of keys to it."""

    def __init__(self, where: Where, message: str) -> None:
        name = ".".join(str(key) for key in where)
        super().__init__(f"{name}: {message}" if name else message)
        self.where = where


class _Reader:
    """Takes the values of one YAML mapping by key and kind, and knows which were not asked for."""

    def __init__(self, data: object, where: Where) -> None:
        if not isinstance(data, dict):
            raise _ReadingError(where, "is a mapping of keys to values")
        self._data = dict(data)
        self._where = where

    def text(self, key: str) -> str:
        return _text(self._take(key), (*self._where, key))

    def optional_text(self, key: str) -> str | None:
        return None if self._absent(key) else self.text(key)

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        items = self._items(key, optional=optional)
        return tuple(_text(value, where) for where, value in items)

    def mappings(self, key: str, *, optional: bool = False) -> Iterator[_Reader]:
        for where, value in self._items(key, optional=optional):
            yield _Reader(value, where)

    def mapping(self, key: str) -> _Reader:
        return _Reader(self._take(key), (*self._where, key))

    def optional_mapping(self, key: str) -> _Reader:
        return _Reader({}, self._where) if self._absent(key) else self.mapping(key)

    def date(self, key: str) -> dt.date:
        value = self._take(key)
        if type(value) is not dt.date:
            raise self._error(key, f"is a date such as 2026-12-01, not {value!r}")
        return value

    def finish(self) -> None:
        """Raise _ReadingError where a key is left that nothing asked for."""
        for key in self._data:
            raise self._error(key, "is no key of the schema here")

    def _absent(self, key: str) -> bool:
        """Say whether `key` is missing or null, and drop it if so."""
        if self._data.get(key) is not None:
            return False
        self._data.pop(key, None)
        return True

    def _items(self, key: str, *, optional: bool) -> Iterator[tuple[Where, Any]]:
        if optional and self._absent(key):
            return
        values = self._take(key)
        if not isinstance(values, list):
            raise self._error(key, f"is a list, not {values!r}")
        for index, value in enumerate(values):
            yield (*self._where, key, index), value

    def _take(self, key: str) -> Any:
        if key not in self._data:
            raise _ReadingError(self._where, f"the key {key!r} is missing")
        return self._data.pop(key)

    def _error(self, key: str, message: str) -> _ReadingError:
        return _ReadingError((*self._where, key), message)


def _text(value: object, where: Where) -> str:
    if not isinstance(value, str):
        raise _ReadingError(where, f"is text; put {value!r} in quotes if it is meant as such")
    return value


def _failure(data: _Reader, sections: tuple[Section, ...], path: Path) -> Failure:
    role = data.text("role")
    failure = Failure(
        slug=path.stem,
        category=path.parent.name,
        title=data.text("title"),
        severity=data.text("severity"),
        role=role,
        told_by=data.text("told_by"),
        kind_of=data.optional_text("kind_of"),
        tags=data.texts("tags"),
        systems=data.texts("systems"),
        signatures=tuple(_signature(each, role) for each in data.mappings("signatures")),
        consequence_of=data.texts("consequence_of"),
        looks_like=tuple(map(_look_alike, data.mappings("looks_like"))),
        facts=_facts(data.mapping("facts")),
        fix=_fix(data.mapping("fix")),
        aliases=data.texts("aliases"),
        references=tuple(map(_reference, data.mappings("references"))),
        reviewed=data.date("reviewed"),
        sections=sections,
        message=data.optional_text("message"),
        codes=data.texts("codes", optional=True),
    )
    data.finish()
    return failure


def _signature(data: _Reader, failure_role: str) -> Signature:
    signature = Signature(
        id=data.text("id"),
        pattern=data.text("pattern"),
        role=data.optional_text("role") or failure_role,
        requires=tuple(map(_requirement, data.mappings("requires", optional=True))),
        excludes=tuple(map(_requirement, data.mappings("excludes", optional=True))),
        captures=data.optional_text("captures"),
        matches=data.texts("matches", optional=True),
        ignores=data.texts("ignores", optional=True),
    )
    data.finish()
    return signature


def _requirement(data: _Reader) -> Requirement:
    requirement = Requirement(
        pattern=data.text("pattern"), within=data.optional_text("within") or "event"
    )
    data.finish()
    return requirement


def _look_alike(data: _Reader) -> LookAlike:
    look_alike = LookAlike(slug=data.text("slug"), tell_apart=data.text("tell_apart"))
    data.finish()
    return look_alike


def _facts(data: _Reader) -> Facts:
    monitor = data.optional_mapping("monitor")
    facts = Facts(
        layer=data.optional_text("layer"),
        affects=data.optional_text("affects"),
        time_to_fix=data.optional_text("time_to_fix"),
        cheapest_check=data.optional_text("cheapest_check"),
        recurs=data.optional_text("recurs"),
        monitor=Monitor(
            grep=monitor.optional_text("grep"),
            logql=monitor.optional_text("logql"),
            promql=monitor.optional_text("promql"),
        ),
    )
    monitor.finish()
    data.finish()
    return facts


def _fix(data: _Reader) -> Fix:
    fix = Fix(
        summary=data.text("summary"),
        told=data.optional_text("told"),
        command=data.optional_text("command"),
        verify=data.optional_text("verify"),
        expect=data.optional_text("expect"),
        infra=data.optional_text("infra"),
    )
    data.finish()
    return fix


def _reference(data: _Reader) -> Reference:
    reference = Reference(title=data.text("title"), url=data.text("url"))
    data.finish()
    return reference


def _sections(body: str) -> Iterator[Section]:
    heading: str | None = None
    lines: list[str] = []
    for line, fenced in with_fences(body):
        if line.startswith("## ") and not fenced:
            yield from _section(heading, lines)
            heading, lines = line[3:].strip(), []
        else:
            lines.append(line)
    yield from _section(heading, lines)


def _section(heading: str | None, lines: Sequence[str]) -> Iterator[Section]:
    text = "\n".join(lines).strip()
    if heading is not None:
        yield Section(heading, text)
    elif text:
        raise _ReadingError((), f"text stands above the first ## heading: {text[:40]!r}")


def with_fences(body: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of `body` and whether it belongs to a fenced block of code."""
    fence: str | None = None
    for line in body.splitlines():
        found = _FENCE.match(line)
        if fence is None:
            fence = found[1] if found else None
            yield line, found is not None
        else:
            yield line, True
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = None


def line_of(where: Where, text: str) -> int:
    """Return the line of a failure file's `text`, from 1, on which `where` stands, or starts."""
    if where and str(where[0]).startswith("## "):
        lines = text.splitlines()
        return lines.index(str(where[0])) + 1 if where[0] in lines else 1
    found = _FRONT_MATTER.match(text)
    node = yaml.compose(found[1], Loader=_SafeLoader) if found else None
    line = 1
    for key in where:
        step = _step(node, key)
        if step is None:
            break
        line, node = step
    return line


def _step(node: yaml.Node | None, key: str | int) -> tuple[int, yaml.Node] | None:
    # The front matter's first line is the file's second, and marks count from 0.
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
        return node.value[key].start_mark.line + 2, node.value[key]
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line + 2, value
    return None
