from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.test import Client

from denpex.accounts.models import User
from diagnosis.history import reruns
from diagnosis.history.models import HistoryFile
from diagnosis.preloaded import compiled
from tests.diagnosis.history.conftest import DISK_FULL, OUT_OF_MEMORY, Diagnosed

pytestmark = pytest.mark.django_db


def download(browser: Client, name: str) -> bytes:
    response = browser.post(f"/account/history/{name}")
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment")
    assert response["Cache-Control"] == "private, no-store"
    return response.getvalue()


def test_json_holds_everything(
    as_alice: Client, alice: User, diagnosed: Diagnosed, small_catalogue
) -> None:
    first = diagnosed(alice, project="llama", note='a "note"\n', share_key="s" * 26)
    second = diagnosed(alice, OUT_OF_MEMORY, small_catalogue)
    reruns.read_again(second.pk, compiled())
    second.refresh_from_db()

    content = json.loads(download(as_alice, "export.json"))

    assert content["schema"] == "denpex.history/1"
    assert content["account"]["email"] == "alice@example.org"
    one, two = content["entries"]
    assert (one["id"], one["project"], one["note"]) == (first.pk, "llama", 'a "note"\n')
    assert one["is_shared"]
    assert "s" * 26 not in json.dumps(content)
    assert one["verdict"] == json.loads(first.verdict)
    text = first.files.get().data.decode("utf-8", "replace")
    assert one["log"] == [{"name": "run.log", "text": text}]
    assert len(text) > len(DISK_FULL) // 2
    assert one["masked"] == first.replacements
    assert two["verdict"] == json.loads(second.verdict)
    assert [each["outcome"] for each in two["earlier_verdicts"]] == ["unrecognised"]


def test_zip_holds_everything(
    as_alice: Client, alice: User, diagnosed: Diagnosed, small_catalogue
) -> None:
    entry = diagnosed(alice, project="llama")
    HistoryFile.objects.create(
        entry=entry, number=1, name="rank_1.log", lines=1, size=4, packed=entry.files.get().packed
    )
    again = diagnosed(alice, OUT_OF_MEMORY, small_catalogue)
    reruns.read_again(again.pk, compiled())

    with zipfile.ZipFile(io.BytesIO(download(as_alice, "export.zip"))) as archive:
        assert archive.testzip() is None
        files = {name.partition("/")[2] or name: archive.read(name) for name in archive.namelist()}
        folders = {name.partition("/")[0] for name in archive.namelist() if "/" in name}

    assert len(folders) == 2
    assert {"history.json", "entry.json", "verdict.json", "log/run.log", "log/rank_1.log"} <= set(
        files
    )
    assert json.loads(files["earlier-verdict-1.json"])["outcome"] == "unrecognised"
    assert files["log/rank_1.log"] == entry.files.first().data


@pytest.mark.parametrize("name", ["export.json", "export.zip"])
def test_an_empty_history_is_a_sound_file(as_alice: Client, name: str) -> None:
    data = download(as_alice, name)

    if name.endswith("json"):
        assert json.loads(data)["entries"] == []
    else:
        assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["history.json"]


def test_it_comes_piece_by_piece(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    for number in range(3):
        diagnosed(alice, DISK_FULL + b"%d\n" % number)

    pieces = list(as_alice.post("/account/history/export.zip"))

    assert len(pieces) == 4
    assert all(pieces)


def test_exports_are_limited(as_alice: Client) -> None:
    answers = [as_alice.post("/account/history/export.json") for _ in range(11)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert "Try again in an hour." in answers[-1].text
