from __future__ import annotations

import pytest

from diagnosis.engine.masking import mask
from diagnosis.engine.text import LogFile
from tests.diagnosis.engine.planted import CONTEXTS, Planted, planted

PLANTED = list(planted())


def test_forty_kinds_are_planted_each_in_five_contexts():
    kinds = {each.kind for each in PLANTED}

    assert len(kinds) >= 40
    for kind in kinds:
        assert tuple(each.context for each in PLANTED if each.kind == kind)[:5] == CONTEXTS


@pytest.mark.parametrize("each", PLANTED, ids=lambda each: f"{each.kind}, {each.context}")
def test_planted_secret_is_gone(each: Planted):
    masked = mask([LogFile("log", each.log.encode())]).logs[0].data.decode()

    assert each.left(masked) == []
    assert masked.count("\n") == each.log.count("\n")
    assert masked.count("\r") == each.log.count("\r")


@pytest.mark.parametrize("each", PLANTED, ids=lambda each: f"{each.kind}, {each.context}")
def test_masking_a_masked_secret_changes_nothing(each: Planted):
    once = mask([LogFile("log", each.log.encode())])

    assert mask(once.logs).logs == once.logs


def test_all_secrets_in_one_paste_are_gone():
    logs = [LogFile(f"{n}.txt", each.log.encode()) for n, each in enumerate(PLANTED)]

    masked = mask(logs)

    for each, log in zip(PLANTED, masked.logs, strict=True):
        assert each.left(log.data.decode()) == []
