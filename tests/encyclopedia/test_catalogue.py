"""The parser of failure files, and what it says of broken ones."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from encyclopedia.catalogue import Catalogue, CatalogueError, Failure, load, parse, problems

FILE = """\
---
title: Disk Full
severity: high
role: cause
told_by: text
kind_of: null
tags: [Disk]
systems: [Linux]
signatures:
  - id: no-space
    pattern: 'No space left on device'
    matches:
      - 'OSError: [Errno 28] No space left on device'
      - 'tar: No space left on device'
    ignores:
      - 'Quota exceeded'
      - 'space left: 3 GB'
consequence_of: []
looks_like: []
facts: {layer: software, monitor: {grep: 'No space left'}}
fix: {summary: Delete old files., verify: df -h, expect: less than 90 %}
aliases: [enospc]
references: [{title: errno(3), url: 'https://man7.org/linux/man-pages/man3/errno.3.html'}]
reviewed: 2026-11-30
---
## Quick answer

The disk is full.

## What you saw

```text
OSError: [Errno 28] No space left on device
```

## Is it this?

`df -h` says 100 %.

## Why it happens

Nothing was deleted.

## Fix

Delete something.

## Symptoms

Writes fail.

## Prevent

Watch it.

## On call

It can wait.
"""
PATH = Path("storage/disk-full.md")

Messages = Callable[..., list[str]]


def parsed(text: str = FILE, path: Path = PATH) -> Failure:
    return parse(text, path)


def catalogue_of(*files: tuple[str, str]) -> Catalogue:
    failures = [parse(text, Path(path)) for path, text in files]
    return Catalogue({failure.slug: failure for failure in failures})


@pytest.fixture
def messages(tmp_path: Path) -> Messages:
    """Write files, given as path and text, and return what is wrong with them."""

    def write_and_ask(*files: tuple[str, str]) -> list[str]:
        for name, text in files:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return [str(problem) for problem in problems(load(tmp_path), tmp_path)]

    return write_and_ask


def error_with(old: str, new: str) -> str:
    assert old in FILE
    with pytest.raises(CatalogueError) as raised:
        parsed(FILE.replace(old, new))
    return str(raised.value)


def test_it_works() -> None:
    failure = parsed()
    assert failure.slug == "disk-full"
    assert failure.category == "storage"
    assert failure.reviewed == dt.date(2026, 11, 30)
    assert failure.signatures[0].role == "cause"
    assert failure.facts.monitor.grep == "No space left"
    assert failure.facts.recurs is None
    assert failure.fix.command is None
    assert failure.section("Fix") == "Delete something."
    assert failure.section("Code") is None
    assert list(problems(catalogue_of((str(PATH), FILE)))) == []


def test_load_reads_each_folder_in_the_order_of_slugs(small_catalogue: Catalogue) -> None:
    assert list(small_catalogue.failures) == [
        "peer-closed",
        "scratch-disk-full",
        "scratch-quota-exceeded",
    ]


def test_a_slug_in_two_categories_is_refused(tmp_path: Path) -> None:
    for category in ("memory", "storage"):
        (tmp_path / category).mkdir()
        (tmp_path / category / "disk-full.md").write_text(FILE)
    with pytest.raises(CatalogueError, match=r"storage/disk-full.md:1: .* memory too"):
        load(tmp_path)


# Files that cannot be read


def test_a_file_without_front_matter_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"disk-full\.md:1: the file starts with '---'"):
        parsed("## Quick answer\n\nThe disk is full.\n")


def test_bad_yaml_is_refused_with_its_line() -> None:
    assert "disk-full.md:10: the YAML cannot be read" in error_with(
        "systems: [Linux]", "systems: ["
    )


def test_a_front_matter_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(CatalogueError, match="is a mapping of keys to values"):
        parsed("---\n- one\n- two\n---\n")


def test_an_unknown_key_is_refused_with_its_line() -> None:
    error = error_with("aliases:", "colour: red\naliases:")
    assert "disk-full.md:22: colour: is no key of the schema" in error


def test_a_missing_key_is_refused() -> None:
    assert "the key 'severity' is missing" in error_with("severity: high\n", "")


def test_a_key_that_stands_twice_is_refused() -> None:
    error = error_with("severity: high", "severity: high\nseverity: low")
    assert "disk-full.md:4: the YAML cannot be read: 'severity' stands twice" in error


def test_a_number_where_text_belongs_is_refused_with_its_line() -> None:
    error = error_with("- 'Quota exceeded'", "- 122")
    assert "disk-full.md:16: signatures.0.ignores.0: is text; put 122 in quotes" in error


def test_one_text_where_a_list_belongs_is_refused() -> None:
    assert "tags: is a list, not 'Disk'" in error_with("tags: [Disk]", "tags: Disk")


def test_a_date_that_is_none_is_refused() -> None:
    assert "reviewed: is a date" in error_with("reviewed: 2026-11-30", "reviewed: last week")


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("pattern: 'No space left on device'", "regex: 'x'", "signatures.0"),
        ("id: no-space", "id: no-space\n    colour: red", "signatures.0.colour"),
        ("id: no-space", "id: no-space\n    requires: [{patern: x}]", "signatures.0.requires.0"),
        ("looks_like: []", "looks_like: [{slug: other}]", "looks_like.0"),
        ("verify: df -h", "verfy: df -h", "fix.verfy"),
        ("layer: software", "layers: software", "facts.layers"),
        ("grep: 'No space left'", "grpe: 'No space left'", "facts.monitor.grpe"),
        ("title: errno(3)", "name: errno(3)", "references.0"),
    ],
)
def test_a_misspelt_key_within_is_refused_by_its_place(old: str, new: str, where: str) -> None:
    assert f" {where}: " in error_with(old, new)


def test_text_above_the_first_heading_is_refused() -> None:
    error = error_with("---\n## Quick answer", "---\nHello.\n\n## Quick answer")
    assert "text stands above the first ## heading: 'Hello.'" in error


# Files that can be read and are wrong


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("severity: high", "severity: bad", "disk-full.md:3: severity is 'bad'; it is one of"),
        ("role: cause", "role: advice", "disk-full.md:4: role is 'advice'; it is one of"),
        ("told_by: text", "told_by: rumour", "disk-full.md:5: told_by is 'rumour'; it is one of"),
        ("tags: [Disk]", "tags: []", "disk-full.md:7: tags is empty"),
        ("systems: [Linux]", "systems: []", "disk-full.md:8: systems is empty"),
        ("systems: [Linux]", "systems: [TGI]", ":8: TGI is called Text Generation Inference here"),
        ("title: Disk Full", "title: ''", "disk-full.md:2: title is empty"),
        ("url: 'https://", "url: 'http://", "the address starts with https://"),
        ("told_by: text", "told_by: comparison", "has a named rule and no signature"),
        ("id: no-space", "id: No_Space", "an id is lower-case words joined by hyphens"),
        ("id: no-space", "id: no-space\n    role: loud", "role is 'loud'; one of"),
        ("      - 'tar: No space left on device'\n", "", "at least two texts among matches"),
        ("      - 'Quota exceeded'\n", "", "at least two near misses among ignores"),
        ("aliases: [enospc]", "aliases: [Full Disk]", "'Full Disk' is no slug"),
        ("aliases: [enospc]", "aliases: [disk-full]", "disk-full stands for disk-full and disk-"),
        ("kind_of: null", "kind_of: no-such", "disk-full.md:6: kind_of: there is no failure"),
        ("consequence_of: []", "consequence_of: [a, no-such]", "there is no failure no-such"),
        ("consequence_of: []", "consequence_of: [disk-full]", "names the failure itself"),
        ("expect: less than 90 %", "expect: <free>", "fix.expect leaves a value open"),
        ("verify: df -h", "verify: df -h, infra: Watch <host>.", "fix.infra leaves a value open"),
        ("Delete old files.", "Delete <path>.", "fix.summary leaves a value open"),
        ("verify: df -h", "verify: df -h, told: Full.", "fix.told adds nothing that a log tells"),
        (", expect: less than 90 %", "", "fix.verify and fix.expect, what it shows, stand"),
        ("## Fix\n", "## Cure\n", "unknown section 'Cure'"),
        ("## Fix\n", "## Cure\n", "the section 'Fix' is missing"),
        ("Delete something.", "", "the section 'Fix' is empty"),
        ("Delete something.", "# Hello", "the section 'Fix' has a # heading"),
        (
            "title: Disk Full",
            "title: Disk Full\nmessage: Disk is full",
            "message stands in none of",
        ),
        (
            "title: Disk Full",
            "title: Disk Full\nmessage: 'tar:'",
            "message stops in mid-sentence",
        ),
        (
            "title: Disk Full",
            'title: Disk Full\nmessage: "tar: rank 3: No space left on device"',
            "message holds 'rank 3' of one run: write … in its place",
        ),
    ],
)
def test_what_breaks_the_rules_is_named(
    messages: Messages, old: str, new: str, problem: str
) -> None:
    assert old in FILE
    assert problem in "\n".join(messages((str(PATH), FILE.replace(old, new))))


def test_a_signature_without_a_text_is_named(messages: Messages) -> None:
    text = FILE.replace(
        "consequence_of: []", "  - {id: bare, pattern: disk full}\nconsequence_of: []"
    )
    assert "signature bare: no text among matches" in "\n".join(messages((str(PATH), text)))


def test_a_signature_above_the_role_of_its_failure_is_named(messages: Messages) -> None:
    text = FILE.replace("role: cause", "role: symptom").replace(
        "id: no-space", "id: no-space\n    role: cause"
    )
    assert "role cause is above the failure's symptom" in "\n".join(messages((str(PATH), text)))


def test_a_requirement_of_an_unknown_reach_is_named(messages: Messages) -> None:
    text = FILE.replace("id: no-space", "id: no-space\n    requires: [{pattern: x, within: run}]")
    assert "within is 'run'; one of event, source, log" in messages((str(PATH), text))[0]


def test_an_unknown_category_is_named(messages: Messages) -> None:
    assert "category is 'weather'" in messages(("weather/disk-full.md", FILE))[0]


def test_sections_in_the_wrong_order_are_named(messages: Messages) -> None:
    fix = "## Fix\n\nDelete something.\n"
    text = FILE.replace(fix, "").replace("## Why it happens", f"{fix}\n## Why it happens")
    assert "the sections stand in the order" in messages((str(PATH), text))[0]


def test_a_section_that_stands_twice_is_named(messages: Messages) -> None:
    assert "each once" in messages((str(PATH), FILE + "\n## Fix\n\nAgain.\n"))[0]


def test_one_alias_of_two_failures_is_named_at_both(messages: Messages) -> None:
    found = messages(("storage/disk-full.md", FILE), ("storage/no-space.md", FILE))
    assert [problem.split(": ", 1)[1] for problem in found] == [
        "the name enospc stands for disk-full and no-space"
    ] * 2


@pytest.mark.parametrize(("key", "other"), [("tags", "disk"), ("systems", "LINUX")])
def test_two_spellings_of_one_label_are_named_at_both(
    messages: Messages, key: str, other: str
) -> None:
    label = {"tags": "Disk", "systems": "Linux"}[key]
    first = FILE.replace("aliases: [enospc]", "aliases: []")
    second = first.replace(f"{key}: [{label}]", f"{key}: [{other}]")
    found = messages(("storage/disk-full.md", first), ("storage/no-space.md", second))
    spellings = ", ".join(sorted((label, other)))
    assert [problem.split(": ", 1)[1] for problem in found] == [
        f"one name is spelt in 2 ways: {spellings}"
    ] * 2


def test_a_code_that_is_none_is_named(messages: Messages) -> None:
    text = FILE.replace("aliases: [enospc]", "aliases: []\ncodes: ['137', ENOSPC]")
    assert messages((str(PATH), text)) == [
        "storage/disk-full.md:23: '137' is no code such as Xid 79, exit 137 or SIGBUS"
    ]


def test_one_code_of_two_failures_is_named_at_both(messages: Messages) -> None:
    first = FILE.replace("aliases: [enospc]", "aliases: []\ncodes: [exit code 137]")
    second = FILE.replace("aliases: [enospc]", "aliases: []\ncodes: ['exitcode: -9']")
    found = messages((str(PATH), first), ("memory/ram-full.md", second))
    assert len(found) == 2
    assert all("stands for disk-full and ram-full" in each for each in found)


def test_a_page_may_be_short(messages: Messages) -> None:
    text = FILE[: FILE.index("## Is it this?")]
    assert parsed(text).is_short
    assert not parsed().is_short
    assert messages((str(PATH), text)) == []


def test_a_page_between_short_and_whole_is_named(messages: Messages) -> None:
    text = FILE[: FILE.index("## Why it happens")]
    assert "the section 'Why it happens' is missing" in messages((str(PATH), text))[0]


def test_an_edge_that_stands_twice_is_named(messages: Messages) -> None:
    text = FILE.replace("consequence_of: []", "consequence_of: [other, other]")
    found = messages(("storage/disk-full.md", text), ("storage/other.md", without_alias(FILE)))
    assert [problem.split(": ", 1)[1] for problem in found] == ["consequence_of: names other twice"]


def test_a_link_to_a_page_that_is_not_there_is_named(messages: Messages) -> None:
    links = "[a](/failures/gone/), [b](/failures/disk-full/#fix) and [c](/failures/enospc/)"
    text = FILE.replace("Nothing was deleted.", f"Nothing was deleted: {links}.")
    assert messages((str(PATH), text)) == [
        "storage/disk-full.md:40: a link leads to /failures/gone/: no such page"
    ]


def test_a_problem_stands_on_the_line_of_its_value(messages: Messages) -> None:
    text = FILE.replace("consequence_of: []", "consequence_of:\n  - gone")
    found = messages((str(PATH), text))
    assert found == ["storage/disk-full.md:19: consequence_of: there is no failure gone"]


# What a start costs


def test_a_catalogue_that_was_read_before_needs_no_yaml(tmp_path: Path) -> None:
    kept = tmp_path / "catalogue"
    kept.write_bytes(pickle.dumps(Catalogue({"disk-full": parsed()})))
    program = (
        "import pathlib, pickle, sys\n"
        "from encyclopedia.catalogue import CATEGORIES, Catalogue, load, parse, problems\n"
        "catalogue = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "assert [failure.title for failure in catalogue] == ['Disk Full']\n"
        "assert 'yaml' not in sys.modules, 'YAML was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program, kept], check=True)


# Cycles


def without_alias(text: str) -> str:
    return text.replace("aliases: [enospc]", "aliases: []")


def node(slug: str, *causes: str, kind_of: str | None = None) -> tuple[str, str]:
    text = without_alias(FILE).replace(
        "consequence_of: []", f"consequence_of: [{','.join(causes)}]"
    )
    return f"storage/{slug}.md", text.replace("kind_of: null", f"kind_of: {kind_of or 'null'}")


def test_a_chain_is_no_cycle(messages: Messages) -> None:
    assert messages(node("a"), node("b", "a"), node("c", "a", "b")) == []


def test_a_cycle_of_causes_is_named(messages: Messages) -> None:
    found = messages(node("a", "c"), node("b", "a"), node("c", "b"))
    assert len(found) == 1
    assert "consequence_of forms a cycle: " in found[0]


def test_a_cycle_of_kinds_is_named(messages: Messages) -> None:
    found = messages(node("a", kind_of="b"), node("b", kind_of="a"))
    assert "kind_of forms a cycle: " in found[0]


def test_a_cycle_through_a_general_failure_is_named(messages: Messages) -> None:
    """`general` explains `effect`, so its kind does too, and `effect` explains the kind."""
    found = messages(
        node("general"), node("effect", "general"), node("kind", "effect", kind_of="general")
    )
    assert len(found) == 1
    assert "consequence_of forms a cycle: " in found[0]


def test_a_general_failure_may_follow_from_its_own_kind(messages: Messages) -> None:
    assert messages(node("killed", "oom"), node("oom", kind_of="killed")) == []


# What the catalogue knows


def test_an_edge_holds_for_all_kinds_of_its_cause_and_its_effect() -> None:
    catalogue = catalogue_of(
        node("killed"),
        node("oom", kind_of="killed"),
        node("closed", "killed"),
        node("gloo-closed", kind_of="closed"),
    )
    assert catalogue.general_failures("gloo-closed") == ("closed",)
    assert catalogue.explains("oom", "gloo-closed")
    assert not catalogue.explains("gloo-closed", "oom")


# Sections


def test_a_heading_inside_a_fence_starts_no_section() -> None:
    text = FILE.replace("Delete something.", "```bash\n## not a heading\n```")
    assert parsed(text).section("Fix") == "```bash\n## not a heading\n```"


def test_a_fence_closes_with_its_own_kind_alone() -> None:
    code = "````md\n```\n## still code\n```\n````"
    assert parsed(FILE.replace("Delete something.", code)).section("Fix") == code


def test_a_fence_with_other_marks_does_not_close_it() -> None:
    code = "~~~\n```\n## still code\n~~~"
    assert parsed(FILE.replace("Delete something.", code)).section("Fix") == code
