"""Fixtures that run the real services: nothing here is a fake, and no test lacks one.

Services (started once, when the first test asks for them, in a temporary folder):
    services        PostgreSQL and Valkey run; `db` and its kin ask for them by themselves
    redis           a redis-py client of that Valkey
    Valkey is emptied before each test; the database is Django's test database.

Accounts:
    make_account(email, verified=True)      an account whose password is PASSWORD -> User

Processes of the site, on the test database (use `transactional_db`: they see committed rows only):
    start_worker(*options, **environment)   start a Celery worker, wait until it is ready -> Child
    start_beat(*options, **environment)     start Celery beat -> Child
    worker          one worker for this test
    site            a gunicorn for the whole run; its address, as http://127.0.0.1:41231
    A Child has .process (pid, send_signal, …), .has_ended(), .end() and .last_lines().

Browser (Chromium from the system, else Playwright's own):
    browser         one Chromium for the whole run
    wide_page, narrow_page   a page of 1440 px, of 390 px; relative addresses are those of `site`
    scriptless_page          a page of 1440 px without JavaScript
    A page that raises a script error or breaks the content security policy fails its test.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import django
import hypothesis
import pytest

from denpex import embedded, processes
from tests import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from redis import Redis

# No test is timed, and a run that failed can be repeated.
hypothesis.settings.register_profile(
    "denpex", deadline=None, derandomize="CI" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("denpex")

StartProcess = Callable[..., processes.Child]
MakeAccount = Callable[..., Any]

PASSWORD = "seven green anvils"

PROJECT = Path(__file__).parent.parent
PREFIX = f"denpex-tests-{os.geteuid()}-"
CHROMIUM_OPTIONS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _temporary_root() -> Path:
    """Return a folder for temporary files whose path leaves room for that of a socket."""
    root = Path(tempfile.gettempdir())
    return root if len(os.fsencode(root)) <= 40 else Path("/tmp")


FOLDER = _temporary_root() / f"{PREFIX}{secrets.token_hex(4)}"


def _configure() -> None:
    """Point the settings at services that are started later, by the first test that needs them."""
    sockets = FOLDER / "postgresql" / "socket"
    os.environ.update(
        DJANGO_SETTINGS_MODULE="denpex.settings",
        DATABASE_URL=f"postgresql://denpex@{quote(str(sockets), safe='')}:5432/denpex",
        REDIS_URL=f"unix://{FOLDER / 'valkey' / 'valkey.sock'}",
        DENPEX_DATA=str(FOLDER / "data"),
        DENPEX_SECRET_KEY="for-tests-alone-" * 4,
        DENPEX_HTTPS="0",
        DENPEX_DEBUG="0",
        DENPEX_ALLOWED_HOSTS="127.0.0.1,localhost,testserver",
    )
    for name in ("DENPEX_ORIGIN", "TRUSTED_PROXIES", "DENPEX_LOG_LIMIT_BYTES"):
        os.environ.pop(name, None)


_configure()


def pytest_configure() -> None:
    """Load Django here, since pytest-django looks for settings before this file is read."""
    django.setup()
    # A worker of pytest-xdist inherits these variables, and must not find settings before its
    # own copy of this file has pointed them at services of its own.
    del os.environ["DJANGO_SETTINGS_MODULE"]


# Services


class _Services:
    """Whether PostgreSQL and Valkey run: only then is there anything to empty between tests."""

    running = False


@pytest.fixture(scope="session")
def services() -> Iterator[None]:
    from django.core.management import call_command

    _end_what_killed_runs_left()
    FOLDER.mkdir(mode=0o700)
    (FOLDER / "pytest.pid").write_text(f"{os.getpid()}\n{processes.mark(os.getpid())}\n")
    try:
        with embedded.postgres(FOLDER, durable=False), embedded.valkey(FOLDER):
            _Services.running = True
            call_command("collectstatic", interactive=False, verbosity=0)
            yield
            _Services.running = False
    finally:
        _remove(FOLDER)


def _end_what_killed_runs_left() -> None:
    for folder in FOLDER.parent.glob(f"{PREFIX}*"):
        # Another run that starts at this moment may clear it away first.
        with contextlib.suppress(FileNotFoundError):
            owner = processes.recorded(folder / "pytest.pid")
            ours = folder.lstat().st_uid == os.geteuid()
            if ours and owner is not None and not processes.is_alive(*owner):
                processes.end_leftovers(folder)
                _remove(folder)


def _remove(folder: Path) -> None:
    embedded.remove_cluster(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: None) -> None:
    """Let pytest-django make the test database only once PostgreSQL runs."""


@pytest.fixture(scope="session")
def redis(services: None) -> Iterator[Redis]:
    from redis import Redis

    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        yield client


@pytest.fixture(autouse=True)
def _empty_valkey(request: pytest.FixtureRequest) -> None:
    if _Services.running:
        request.getfixturevalue("redis").flushall()


@pytest.fixture(autouse=True)
def _no_stored_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the pages of the test before, which had failures of its own."""
    from encyclopedia import stored

    monkeypatch.setattr(stored, "_store", stored._PageStore())


# Accounts


@pytest.fixture
def make_account(db: None) -> MakeAccount:
    """Make an account: `make_account("bob@example.org", verified=True)`."""
    from allauth.account.models import EmailAddress

    from denpex.accounts.models import User

    def make(email: str = "alice@example.org", *, verified: bool = False, **fields: object) -> User:
        account = User.objects.create_user(email, PASSWORD, **fields)
        EmailAddress.objects.create(user=account, email=email, primary=True, verified=verified)
        return account

    return make


# Processes of the site


@pytest.fixture(scope="session")
def site_environment(django_db_setup: None) -> dict[str, str]:
    """Return the environment of a process that works on the test database."""
    from django.conf import settings

    address = urlsplit(os.environ["DATABASE_URL"])
    database = address._replace(path=f"/{settings.DATABASES['default']['NAME']}")
    return os.environ | {"DATABASE_URL": database.geturl(), "PYTHONPATH": str(PROJECT)}


@pytest.fixture
def start_process(site_environment: dict[str, str]) -> Iterator[StartProcess]:
    """Start a Python module as a process of the site: `start_process(name, module, *options)`."""
    with contextlib.ExitStack() as started:

        def start(name: str, *command: str, **environment: str) -> processes.Child:
            program = processes.Program(
                f"{name}-{time.monotonic_ns()}",
                (sys.executable, "-m", *command),
                site_environment | environment,
                PROJECT,
            )
            child = program.start(FOLDER)
            # Of a test that fails, pytest shows what its processes wrote.
            started.callback(lambda: sys.stderr.write(child.last_lines(40)))
            started.callback(child.end, patience=0)
            return child

        yield start


@pytest.fixture
def start_worker(start_process: StartProcess) -> StartProcess:
    def start(*options: str, **environment: str) -> processes.Child:
        command = ("celery", "-A", "denpex.celery", "worker", "--loglevel=INFO", "--without-mingle")
        concurrency = () if any(o.startswith(("-c", "--conc")) for o in options) else ("-c", "1")
        child = start_process("worker", *command, *concurrency, *options, **environment)
        return _wait_for(child, lambda: "ready." in child.last_lines())

    return start


@pytest.fixture
def start_beat(start_process: StartProcess) -> StartProcess:
    def start(*options: str, **environment: str) -> processes.Child:
        command = ("celery", "-A", "denpex.celery", "beat", "--loglevel=INFO", "--pidfile=")
        child = start_process("beat", *command, *options, **environment)
        return _wait_for(child, lambda: "beat: Starting" in child.last_lines())

    return start


@pytest.fixture
def worker(start_worker: StartProcess) -> processes.Child:
    return start_worker()


@pytest.fixture(scope="session")
def site(site_environment: dict[str, str]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        gunicorn = (
            *(sys.executable, "-m", "gunicorn", "denpex.wsgi:application"),
            *("--bind", f"fd://{listener.fileno()}", "--threads", "4"),
            *("--worker-class", "denpex.gunicorn_worker.Worker"),
            *("--no-control-socket", "--graceful-timeout", "2", "--limit-request-line", "8190"),
        )
        program = processes.Program(
            "site", gunicorn, site_environment, PROJECT, pass_files=(listener.fileno(),)
        )
        child = program.start(FOLDER)
    try:
        _wait_for(child, lambda: "Booting worker" in child.last_lines())
        yield f"http://127.0.0.1:{port}"
    finally:
        child.end(patience=0)


def _wait_for(
    child: processes.Child, condition: Callable[[], bool], seconds: float = 120
) -> processes.Child:
    deadline = time.monotonic() + seconds
    while not condition():
        if child.has_ended() or time.monotonic() > deadline:
            pytest.fail(f"{child.name} did not start. It wrote:\n{child.last_lines()}")
        time.sleep(0.05)
    return child


# Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from django.db import connections
    from playwright.sync_api import sync_playwright

    # Playwright's synchronous interface keeps an event loop in this thread, where Django would
    # refuse to touch the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.find(),
            args=list(CHROMIUM_OPTIONS),
            chromium_sandbox=False,  # Root has none, nor do most containers; only our pages load.
        )
        yield started
        started.close()
        # While that loop runs, Django keeps connections apart, which nobody else would close.
        connections.close_all()


@pytest.fixture
def wide_page(browser: Browser, site: str) -> Iterator[Page]:
    with _page(browser, site, width=1440, height=900) as page:
        yield page


@pytest.fixture
def narrow_page(browser: Browser, site: str) -> Iterator[Page]:
    with _page(browser, site, width=390, height=844) as page:
        yield page


@pytest.fixture
def scriptless_page(browser: Browser, site: str) -> Iterator[Page]:
    with _page(browser, site, width=1440, height=900, scripts=False) as page:
        yield page


@contextlib.contextmanager
def _page(
    browser: Browser, site: str, *, width: int, height: int, scripts: bool = True
) -> Iterator[Page]:
    faults: list[str] = []

    def note_violation(text: str) -> None:
        if "Content Security Policy" in text:
            faults.append(text)

    context = browser.new_context(
        base_url=site,
        viewport={"width": width, "height": height},
        java_script_enabled=scripts,
    )
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: note_violation(message.text))
    try:
        yield page
    finally:
        context.close()
    assert not faults
