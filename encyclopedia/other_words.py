"""Words that people use for one thing: to search, pages and questions say all of them alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["in_one_word", "words_besides"]

# The word that stands for the others, in pages and in what is asked.
_ONE_WORD: Mapping[str, Sequence[str]] = {
    "certificate": ("cert", "certs", "certificates"),
    "corrupt": ("corrupted", "corruption", "truncated", "incomplete"),
    "died": ("dead", "dies", "vanished", "gone"),
    "differs": ("mismatch", "mismatched", "does not match", "do not match", "differ", "different"),
    "dns": ("name resolution", "does not resolve", "getaddrinfo", "gai error"),
    "down": ("link failure", "port error", "port down", "link down"),
    "fallen": ("fell", "falls", "fall"),
    "hang": (
        "hangs",
        "hung",
        "hanging",
        "stuck",
        "stall",
        "stalls",
        "stalled",
        "freezes",
        "frozen",
    ),
    "infiniband": ("ib",),
    "inplace": ("in place", "inplace operation"),
    "missing": ("not found", "lacks", "could not be found", "does not exist", "cannot find"),
    "nan": ("not a number", "non finite", "nonfinite"),
    "oom": (
        *("out of memory", "outofmemory", "outofmemoryerror", "oomkilled", "oomkill", "ran out of"),
        *("out of host memory", "out of gpu memory", "memory exhausted", "memory is exhausted"),
    ),
    "pvc": ("persistentvolumeclaim", "persistent volume claim"),
    "segfault": ("segmentation fault", "sigsegv", "segv"),
    "shm": ("shared memory", "dev shm"),
    "slow": ("slowed", "slows", "slowdown", "throttling", "throttled", "throttle", "straggler"),
    "timeout": ("time out", "timed out", "times out", "timeouts", "timing out"),
    "unavailable": ("not available", "not visible", "no longer available"),
}
# A page that says one of these speaks of that as well, but not the other way round.
_SAYS_ALSO: Mapping[str, Sequence[str]] = {
    "differs": ("does not fit", "do not fit", "disagrees", "another"),
    "docker": ("container",),
    "error": ("failure", "fails", "failed", "fault", "exception"),
    "failure": ("failed", "fails", "fault"),
    "gpu": ("cuda", "xid", "nvidia"),
    "huggingface": ("hugging face",),
    "pod": ("container", "kubernetes"),
    "slurm": ("srun",),
}


def in_one_word(text: str) -> str:
    """Return what is asked with each thing in the word that stands for it: `oom`, `timeout`."""
    for pattern, word in _QUESTION:
        text = pattern.sub(word, text)
    return text


def words_besides(text: str) -> str:
    """Return the words by which people may ask for what `text` says in others."""
    return " ".join(dict.fromkeys(word for pattern, word in _PAGE if pattern.search(text)))


def _patterns(table: Mapping[str, Sequence[str]]) -> Sequence[tuple[re.Pattern[str], str]]:
    return [(_pattern(others), word) for word, others in table.items()]


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    either = "|".join(r"[\s_/-]+".join(phrase.split()) for phrase in longest_first)
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


_QUESTION = _patterns(_ONE_WORD)
_PAGE = (*_QUESTION, *_patterns(_SAYS_ALSO))
