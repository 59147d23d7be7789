"""`denpex check`: what holds for every failure file, and for all of them together.

Schema and names, patterns, code blocks, sentences that stand twice, and each file's own texts run
through the engine itself: there is no second rule for what a verdict on them must be.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from diagnosis.engine import Compiled, LogFile, Verdict, diagnose, load_compiled
from diagnosis.engine.anchors import scan_form
from diagnosis.engine.masking import mask
from diagnosis.engine.pattern_rules import faults
from diagnosis.engine.patterns import BytePattern, PatternError
from diagnosis.engine.scanner import Scanner
from encyclopedia.catalogue import (
    FAILURES,
    ROLES,
    Catalogue,
    CatalogueError,
    Failure,
    Problem,
    load,
    problems,
)

__all__ = ["check_failures", "code_problems", "fix_faults"]

# In a list, a block stands as far in as its item.
_FENCE = re.compile(r"^ *(?:```|~~~)(\w*)[^\n]*\n(.*?)^ *(?:```|~~~)\s*$", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`<\[*_])")
_SHORTEST_SENTENCE = 25
_PLACEHOLDER = re.compile(r"<([a-z][a-z0-9_]*)>")
_CAPTURE = re.compile(r"\(\?P<(\w+)>")
# What runs code from elsewhere. A log may be somebody else's: none of these may name what a log
# said, since who copies the command would install or fetch it.
_FETCHES = re.compile(
    r"\b(?:(?:pip|pip3|conda|mamba|npm|apt|apt-get|yum|dnf|uv) [^|;&\n]*\b(?:install|add)\b"
    r"|docker (?:run|pull)\b|git (?:clone|fetch|pull)\b|curl\b|wget\b|npx\b)[^|;&\n]*"
)
# What a run prints all day long. A pattern that finds these costs a call for each line of a log.
_ORDINARY_LINES = b"""\
2026-11-30 06:21:07,000 INFO train: [rank 3] step 120/100000 | loss 2.31 | grad_norm 0.44 | lr 1e-3
[rank5]: {'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 2e-05, 'epoch': 0.4}
[default7]:[rank7]: iteration 40/ 1000 | consumed samples: 5120 | elapsed time per step (ms): 9.1
[1,11]<stdout>:epoch 3 batch 40 accuracy 0.71
 12%|####      | 120/1000 [00:52<06:21,  2.31it/s]
(RayTrainWorker pid=4711) step 9 loss 1.1
10: saved checkpoint to /data/run/step-000120/rank-00010-of-00064.pt in 1.4 s
node-7:4711:4801 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM
[2026-11-30 06:21:07,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05]
INFO 11-30 06:21:07 [loggers.py:111] Engine 000: Avg prompt throughput: 120.3 tokens/s
"""


def check_failures(slugs: Sequence[str]) -> int:
    """Check all failure files, or print only what concerns `slugs`; 0 where nothing is wrong."""
    try:
        catalogue = load()
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    unknown = [slug for slug in slugs if slug not in catalogue.failures]
    if unknown:
        print(f"denpex: no such failure: {', '.join(unknown)}", file=sys.stderr)
        return 2
    chosen = [failure for failure in catalogue if not slugs or failure.slug in slugs]
    found = [
        problem
        for problem in _all_problems(catalogue, chosen)
        if not slugs or problem.path.rpartition("/")[2].removesuffix(".md") in slugs
    ]
    for problem in found:
        print(f"{FAILURES.parent.name}/{FAILURES.name}/{problem}")
    print(f"{len(chosen)} failure files, {len(found)} problems")
    return 1 if found else 0


def _all_problems(catalogue: Catalogue, chosen: Sequence[Failure]) -> Iterator[Problem]:
    yield from problems(catalogue)
    pattern_problems = [each for failure in chosen for each in _pattern_problems(failure)]
    yield from pattern_problems
    for failure in chosen:
        yield from code_problems(failure)
        yield from _one_sided_links(failure, catalogue)
    yield from _sentences_twice(catalogue)
    if not pattern_problems:
        compiled = load_compiled()
        for failure in chosen:
            yield from _text_problems(failure, compiled)


def _problem(failure: Failure, needle: str, message: str) -> Problem:
    """Return the problem with the line of the file on which `needle` first stands."""
    path = FAILURES / failure.category / f"{failure.slug}.md"
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next((n for n, line in enumerate(lines, 1) if needle and needle in line), 1)
    return Problem(f"{failure.category}/{failure.slug}.md", number, message)


def _pattern_problems(failure: Failure) -> Iterator[Problem]:
    for signature in failure.signatures:
        where = f"id: {signature.id}"
        patterns = [
            signature.pattern,
            *(r.pattern for r in (*signature.requires, *signature.excludes)),
        ]
        for pattern in patterns:
            for fault in (*faults(pattern), *_compile_faults(pattern)):
                yield _problem(failure, where, f"signature {signature.id}: {pattern!r} {fault}")
        if signature.captures is not None:
            for fault in _re2_faults(signature.captures):
                yield _problem(failure, where, f"signature {signature.id}: captures: {fault}")


def _compile_faults(pattern: str) -> Iterator[str]:
    yield from _re2_faults(pattern)
    try:
        hits = Scanner([scan_form(pattern).encode()]).scan(_ORDINARY_LINES)
    except ValueError as error:
        yield str(error)
        return
    for _index, end in hits[:1]:
        line = _ORDINARY_LINES[:end].rpartition(b"\n")[2].decode()
        yield f"finds what healthy runs print on every line, such as {line!r}"


def _re2_faults(pattern: str) -> Iterator[str]:
    try:
        BytePattern(pattern)
    except PatternError as error:
        yield f"is not RE2: {error}"


def code_problems(failure: Failure) -> Iterator[Problem]:
    """Yield what does not parse: code blocks of the page, and the commands of the fix."""
    for section in failure.sections:
        for language, indented in _FENCE.findall(section.markdown):
            code = textwrap.dedent(indented)
            fault = _code_fault(language, code)
            if fault:
                first = next((line for line in code.splitlines() if line.strip()), "")
                yield _problem(failure, first, f"{section.heading}: the {language} block {fault}")
    for key, fault in fix_faults(failure):
        yield _problem(failure, f"  {key}:", f"fix.{key} {fault}")


def fix_faults(failure: Failure) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the commands of a fix: which of them, and why."""
    for key, command in (("command", failure.fix.command), ("verify", failure.fix.verify)):
        for fault in _command_faults(command or "", failure):
            yield key, fault


def _command_faults(command: str, failure: Failure) -> Iterator[str]:
    if fault := _bash_fault(command):
        yield fault
    captured = {
        name
        for signature in failure.signatures
        if signature.captures is not None
        for name in _CAPTURE.findall(signature.captures)
    }
    for part in _FETCHES.findall(command):
        for name in captured.intersection(_PLACEHOLDER.findall(part)):
            yield (
                f"installs or fetches what a log names: call the placeholder something else than"
                f" <{name}>, which a capture fills"
            )


def _code_fault(language: str, code: str) -> str | None:
    check = {
        "bash": _bash_fault,
        "sh": _bash_fault,
        "python": _python_fault,
        "yaml": _yaml_fault,
        "json": _json_fault,
    }.get(language)
    return check(code) if check else None


def _bash_fault(code: str) -> str | None:
    bash = shutil.which("bash") or "/bin/bash"
    done = subprocess.run([bash, "-n"], input=code, capture_output=True, text=True, check=False)  # noqa: S603
    return None if done.returncode == 0 else f"does not parse: {done.stderr.strip()}"


def _python_fault(code: str) -> str | None:
    try:
        ast.parse(code)
    except SyntaxError as error:
        return f"does not compile: {error}"
    return None


def _yaml_fault(code: str) -> str | None:
    try:
        list(yaml.safe_load_all(code))
    except yaml.YAMLError as error:
        return f"is not YAML: {error}"
    return None


def _json_fault(code: str) -> str | None:
    try:
        json.loads(code)
    except ValueError as error:
        return f"is not JSON: {error}"
    return None


def _one_sided_links(failure: Failure, catalogue: Catalogue) -> Iterator[Problem]:
    for other in failure.looks_like:
        theirs = catalogue.failures.get(other.slug)
        if theirs and failure.slug not in {each.slug for each in theirs.looks_like}:
            yield _problem(
                theirs, "looks_like", f"looks_like: {failure.slug} names this failure; name it back"
            )


def _sentences_twice(catalogue: Catalogue) -> Iterator[Problem]:
    seen: dict[str, Failure] = {}
    for failure in catalogue:
        for sentence in sorted(set(_sentences(failure))):
            other = seen.setdefault(sentence, failure)
            if other is not failure:
                yield _problem(
                    failure,
                    sentence[:40],
                    f"this sentence stands in {other.slug} too: {sentence!r}",
                )


def _sentences(failure: Failure) -> Iterator[str]:
    prose = [_FENCE.sub("\n\n", section.markdown) for section in failure.sections]
    facts = failure.facts
    prose += [
        failure.fix.summary,
        failure.fix.infra or "",
        *(each.tell_apart for each in failure.looks_like),
        *(facts.layer or "", facts.affects or "", facts.time_to_fix or ""),
        *(facts.cheapest_check or "", facts.recurs or ""),
    ]
    for text in prose:
        for paragraph in re.split(r"\n\s*\n|\n(?=[-*|\d#])", text):
            for cell in paragraph.split("|"):
                for sentence in _SENTENCE_END.split(" ".join(cell.split())):
                    plain = sentence.strip(" -*#")
                    if len(plain) >= _SHORTEST_SENTENCE and " " in plain:
                        yield plain


@dataclass(frozen=True, slots=True)
class _Told:
    """What a verdict names: slug → how it names it."""

    outcome: str
    primary: str | None
    others: dict[str, str]


def _told(verdict: Verdict) -> _Told:
    primary = verdict.primary
    others = {
        **{each.failure: "hypothesis" for each in verdict.hypotheses},
        **{each.failure: "recovered" for each in verdict.recovered},
        **{each.failure: "consequence" for each in verdict.consequences},
    }
    slug = primary.failure.slug if primary and primary.failure else None
    return _Told(verdict.outcome, slug, others)


def _text_problems(failure: Failure, compiled: Compiled) -> Iterator[Problem]:
    for signature in failure.signatures:
        for text in signature.matches:
            for kind, told in _readings(text, compiled):
                for fault in _match_faults(failure, signature.role, told, compiled.catalogue):
                    first = text.strip().splitlines()[0][:60]
                    yield _problem(
                        failure, first, f"matches of {signature.id} ({kind}): {fault}: {text!r}"
                    )
        for text in signature.ignores:
            for kind, told in _readings(text, compiled):
                if failure.slug in (told.primary, *_stated(told)):
                    first = text.strip().splitlines()[0][:60]
                    yield _problem(
                        failure, first, f"ignores of {signature.id} ({kind}) yields it: {text!r}"
                    )


def _stated(told: _Told) -> Iterator[str]:
    """Yield the failures that the log itself shows; a hypothesis is no sighting."""
    for slug, how in told.others.items():
        if how != "hypothesis":
            yield slug


def _readings(text: str, compiled: Compiled) -> Iterator[tuple[str, _Told]]:
    raw = LogFile("log.txt", text.encode() + b"\n")
    yield "raw", _told(diagnose([raw], compiled))
    yield "masked", _told(diagnose(mask([raw]).logs, compiled))


def _match_faults(failure: Failure, role: str, told: _Told, catalogue: Catalogue) -> Iterator[str]:
    if role == "advice":
        if told.primary == failure.slug or failure.slug in set(_stated(told)):
            yield "is advice, and yields the failure all the same"
        return
    if role in ("cause", "symptom"):
        if told.primary != failure.slug and not _is_tied(failure, told):
            yield f"the primary is {told.primary or told.outcome}"
    elif told.primary != failure.slug and failure.slug not in set(_stated(told)):
        yield f"not among the consequences; the primary is {told.primary or told.outcome}"
    for other in (told.primary, *_stated(told)):
        if other and other != failure.slug and not _may_stand_beside(failure, other, catalogue):
            yield f"{other} is found as well: join them by an edge, kind_of or looks_like"


def _is_tied(failure: Failure, told: _Told) -> bool:
    """Say whether words cannot tell it from a look-alike, and the verdict is open for it."""
    return (
        told.outcome in ("probable", "symptom_only")
        and told.others.get(failure.slug) == "hypothesis"
        and told.primary in {each.slug for each in failure.looks_like}
    )


def _may_stand_beside(failure: Failure, other: str, catalogue: Catalogue) -> bool:
    if other in catalogue.general_failures(failure.slug):
        return True
    if failure.slug in catalogue.general_failures(other):
        return True
    if catalogue.explains(failure.slug, other) or catalogue.explains(other, failure.slug):
        return True
    if ROLES.index(catalogue.failures[other].role) > ROLES.index(failure.role):
        return True
    return other in {each.slug for each in failure.looks_like}
