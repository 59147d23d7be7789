from __future__ import annotations

import pytest
from redis import Redis

from diagnosis import store
from diagnosis.engine import LogFile
from diagnosis.engine.masking import mask
from diagnosis.store import StoreUnavailableError

LOGS = (
    LogFile("rank_0.log", b"dialling 203.0.113.8\nand on\n"),
    LogFile("rank_1.log", b"\xff\x00"),
)


def test_it_works(redis: Redis) -> None:
    store.keep_log("one", mask(LOGS), 60)

    logs = store.read_log("one")
    about = store.about_log("one")
    assert logs is not None
    assert about is not None
    assert [(log.name, log.data) for log in logs] == [
        ("rank_0.log", b"dialling <ip-1>\nand on\n"),
        ("rank_1.log", b"\xff\x00"),
    ]
    assert [(file.lines, file.size) for file in about.files] == [(2, 23), (1, 2)]
    assert [(each.placeholder, each.line) for each in about.replacements] == [("<ip-1>", 1)]


def test_log_is_kept_compressed_and_for_its_time(redis: Redis) -> None:
    store.keep_log("one", mask([LogFile("log.txt", b"step\n" * 100_000)]), 60)

    assert (redis.memory_usage("diagnosis:one:log") or 0) < 20_000
    assert 0 < redis.ttl("diagnosis:one:log") <= 60


def test_of_many_replacements_the_first_are_kept_and_all_are_counted(redis: Redis) -> None:
    addresses = (b"10.7.%d.%d\n" % (n // 250, n % 250 + 1) for n in range(5000))
    store.keep_log("one", mask([LogFile("log.txt", b"".join(addresses))]), 60)

    about = store.about_log("one")

    assert about is not None
    assert [each.placeholder for each in about.replacements[:2]] == ["<ip-1>", "<ip-2>"]
    assert (len(about.replacements), about.replaced) == (50, 5000)


def test_verdict_comes_back_as_it_was(redis: Redis) -> None:
    store.keep_verdict("one", '{"summary": "×"}', 60)

    assert store.read_verdict("one") == '{"summary": "×"}'


def test_what_is_not_there_is_none(redis: Redis) -> None:
    assert store.read_log("nothing") is None
    assert store.about_log("nothing") is None
    assert store.read_verdict("nothing") is None


def test_delete_removes_both(redis: Redis) -> None:
    store.keep_log("one", mask(LOGS), 60)
    store.keep_verdict("one", "{}", 60)

    store.delete("one")

    assert not redis.keys("*one*")


def test_full_store_keeps_nothing_and_says_so(redis: Redis) -> None:
    before = redis.config_get("maxmemory")["maxmemory"] or "0"
    redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailableError, match="OutOfMemory"):
            store.keep_log("one", mask(LOGS), 60)
    finally:
        redis.config_set("maxmemory", before)

    assert not redis.keys("*one*")


def test_store_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Redis.from_url("unix:///nowhere/valkey.sock")
    monkeypatch.setattr(store, "_client", lambda: gone)

    with pytest.raises(StoreUnavailableError, match="ConnectionError"):
        store.read_verdict("one")
