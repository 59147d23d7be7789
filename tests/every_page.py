"""One page of each kind in each of its states, as the site answers it: `every_page()`.

For what looks at all pages alike: axe, the HTML check, screenshots. It fills the database and the
store that the settings name with a few invented accounts and diagnoses.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from allauth.account.forms import SetPasswordForm
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.test import Client, RequestFactory
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import memberships
from denpex.accounts.organisations.models import Organisation
from denpex.accounts.tiers import ANONYMOUS, TIERS
from denpex.errors import error_page
from denpex.mail.models import WaitingMail
from diagnosis import jobs, store
from diagnosis.engine import diagnose
from diagnosis.models import Job
from diagnosis.paste import Upload
from diagnosis.preloaded import compiled
from diagnosis.samples import SAMPLES
from diagnosis.senders import Sender
from diagnosis.submission import Submission, submit
from diagnosis.visitors import Visitor
from tests.page_list import FAILURE_PAGE, PAGES

__all__ = ["TEMPLATES", "every_page", "page_templates"]

TEMPLATES = Path(__file__).parent.parent / "templates"
PASSWORD = "seven green anvils"
CASES = Path(__file__).parent / "cases"
UNRECOGNISED = (
    b"[rank2]: Traceback (most recent call last):\n"
    b'[rank2]:   File "/srv/train.py", line 12, in <module>\n'
    b"[rank2]: zephyr.loom.KernelError: cuDNN gave CUDNN_STATUS_WOVEN_TWICE\n"
)
HEALTHY = b"INFO step 1 loss 3.0\n" * 60
NO_LOG = b"GGUF is how this file begins, and the engine knows what such files are\n" * 3

_LINK = re.compile(r"https?://[^/\s]+(/\S+)")
_EXTENDS = re.compile(r'{% extends "([^"]+)"')
# Laid out by Django's own admin.
_NOT_OURS = "staff/"

Pages = Iterator[tuple[str, HttpResponseBase]]


def page_templates() -> set[str]:
    """Return the names of all templates that are whole pages of the site."""
    sources = {
        str(path.relative_to(TEMPLATES)): path.read_text() for path in TEMPLATES.rglob("*.html")
    }
    extending = {
        name: found[1] for name, source in sources.items() if (found := _EXTENDS.match(source))
    }
    frames = set(extending.values())
    return {name for name in extending if name not in frames and not name.startswith(_NOT_OURS)}


def every_page() -> Mapping[str, HttpResponse]:
    """Return the answers by their names; the catalogue must be loaded."""
    parts = (_public(), _errors(), _diagnoses(), _entering(), _account(), _history(), _workplace())
    pages: dict[str, HttpResponse] = {}
    for part in parts:
        for name, response in part:
            assert name not in pages, name
            assert isinstance(response, HttpResponse)
            assert response["Content-Type"].startswith("text/html"), (name, response)
            pages[name] = response
    return pages


def _public() -> Pages:
    client = Client()
    for address in PAGES:
        yield f"public {address}", client.get(address)


def _errors() -> Pages:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    for status in (400, 403, 404, 405, 413, 414, 429, 500, 503):
        yield f"error {status}", error_page(request, status)


# Diagnoses


def _answer(job: Job) -> Job:
    """Answer a job as a worker does."""
    assert jobs.take_lease(job.pk, "every page")
    logs = store.read_log(job.pk)
    assert logs is not None
    assert jobs.finish(job.pk, "every page", diagnose(logs, compiled()).as_json())
    return job


def _sent(address: str, *logs: bytes, **more: str) -> Job:
    names = ["run.log"] if len(logs) == 1 else [f"rank_{n}.log" for n in range(len(logs))]
    uploads = tuple(Upload(name, log) for name, log in zip(names, logs, strict=True))
    return submit(Submission("", uploads, **more), Sender(ANONYMOUS, Visitor(address, None)))


def case(name: str) -> bytes:
    return (CASES / name / "log.txt").read_bytes()


def ranks(world: int, lines: int = 0) -> bytes:
    """Return a log of a run in which one rank fills its disk and all others wait for it."""
    first = world // 2
    steps = [
        f"2026-11-30 06:{n // 60 % 58:02}:{n % 60:02},000 [rank{n % world}]: step {n // world}"
        for n in range(lines or 3 * world)
    ]
    crash = [
        f"2026-11-30 06:58:00,000 [rank{first}]: Traceback (most recent call last):",
        f"2026-11-30 06:58:00,000 [rank{first}]: OSError: [Errno 28] No space left on device",
    ]
    waiting = [
        f"[rank{n}]:[E1130 07:28:00.{n:06} ProcessGroupNCCL.cpp:616] [Rank {n}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=189, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=1800000) ran for 1800084 milliseconds before timing out."
        for n in range(world)
        if n != first
    ]
    return "\n".join((f"[rank0]: world_size={world}", *steps, *crash, *waiting, "")).encode()


def _diagnoses() -> Pages:
    client = Client()
    for sample in SAMPLES:
        yield sample, client.get(f"/d/{sample}/")
    answered = {
        "symptom only": (case("lab-sigkill-torchrun8"),),
        "hypotheses": (case("comm-three-ranks-wait-for-stop-flag"),),
        "several files": (case("lab-disk-full-rank0-torchrun4"), HEALTHY),
        "clock skew": (case("lab-disk-full-skew-4node-files"),),
        "unrecognised": (UNRECOGNISED,),
        "no failure": (HEALTHY,),
        "unreadable": (NO_LOG,),
        **{f"{world} ranks": (ranks(world),) for world in (1, 2, 64, 1024)},
    }
    for number, (name, logs) in enumerate(answered.items()):
        job = _answer(_sent(f"203.0.113.{number}", *logs))
        yield f"verdict, {name}", client.get(f"/d/{job.pk}/")
    asked = _answer(_sent("203.0.113.99", UNRECOGNISED, asked_about="process-sigbus"))
    yield "verdict, asked about a failure", client.get(f"/d/{asked.pk}/")
    yield "verdict by lines", client.get("/d/sample-killed-rank/?axis=lines")
    yield "log", client.get("/d/sample-killed-rank/log/1/?line=64")
    yield "log, search", client.get("/d/sample-killed-rank/log/?q=error")
    yield "log, nothing found", client.get("/d/sample-killed-rank/log/?q=zebra")
    yield "log, files", client.get("/d/sample-killed-rank/log/")
    yield "log, no such line", client.get("/d/sample-killed-rank/log/1/?line=99999")
    yield "log, no such file", client.get("/d/sample-killed-rank/log/9/")
    yield "feedback", client.get(f"/d/{asked.pk}/feedback/")
    yield "feedback, sent", client.post(f"/d/{asked.pk}/feedback/", {"words": "It was a cable."})
    yield from _states(client)
    yield "refusal", client.post("/diagnose/", {"log": ""}, headers={"Accept": "text/html"})
    yield "deleted", client.post(f"/d/{asked.pk}/delete/", follow=True)


def _states(client: Client) -> Pages:
    later = timezone.now() + dt.timedelta(hours=1)
    states: dict[str, dict[str, object]] = {
        "queued": {},
        "queued, second": {},
        "running": {"state": "running", "lease": "one", "lease_until": later},
        "failed": {"state": "failed", "failure_reason": "attempts_spent", "attempts": 2},
        "failed, log lost": {"state": "failed", "failure_reason": "log_lost"},
        "expired": {"expires_at": timezone.now() - dt.timedelta(minutes=1)},
    }
    for number, (name, fields) in enumerate(states.items()):
        row = {"tier": ANONYMOUS.key, "log_digest": f"{number:064}", "expires_at": later}
        job = Job.objects.create(**row | fields)
        yield f"job, {name}", client.get(f"/d/{job.pk}/")
        yield f"log of a job, {name}", client.get(f"/d/{job.pk}/log/")
    yield "job, unknown", client.get("/d/nosuch/")


# Accounts


def _make(email: str, *, password: str | None = PASSWORD) -> User:
    account = User.objects.create_user(email, password)
    EmailAddress.objects.create(user=account, email=email, primary=True, verified=True)
    return account


def _logged_in(email: str) -> Client:
    """Log in, and give the password once more, as changes of what logs in ask for."""
    client = Client()
    assert client.post("/account/login/", {"login": email, "password": PASSWORD}).status_code == 302
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    return client


def _link_to(email: str) -> str:
    mail = WaitingMail.objects.filter(recipient=email).latest("pk")
    found = _LINK.search(mail.text)
    assert found is not None
    return found[1]


def _entering() -> Pages:
    _make("erin@example.org")
    client = Client()
    for name in ("signup", "login", "password/reset", "password/reset/done", "inactive"):
        yield f"account, {name}", client.get(f"/account/{name}/")
    yield "signing up, refused", client.post("/account/signup/", {"email": "no", "password1": "x"})
    yield "logging in, refused", client.post("/account/login/", {"login": "a@b.example"})
    client.post("/account/password/reset/", {"email": "erin@example.org"})
    link = _link_to("erin@example.org")
    yield "new password", client.get(link, follow=True)
    yield "new password, link used up", Client().get(f"{link[:-3]}x/", follow=True)
    yield "new password, done", client.get("/account/password/reset/key/done/")
    yield "signing up, closed", _rendered("account/signup_closed.html")


def _rendered(template: str, **context: object) -> HttpResponseBase:
    """Render a page that no address leads to as the site is set up."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    return render(request, template, context)


def _account() -> Pages:
    account = _make("alice@example.org")
    client = _logged_in(account.email)
    names = ("", "email/", "password/change/", "2fa/", "delete/", "logout/", "confirm-email/")
    for name in names:
        yield f"account /{name}", client.get(f"/account/{name}")
    yield from _second_factor(client, account)
    other = EmailAddress.objects.create(user=account, email="alice@work.example")
    key = EmailConfirmationHMAC.create(other).key
    yield "address, unverified", client.get("/account/email/")
    yield "address, confirm", client.get(f"/account/confirm-email/{key}/")
    yield "address, link used up", client.get("/account/confirm-email/nosuch/")
    bob = _make("bob@example.org")
    yield "address, of another", _logged_in(bob.email).get(f"/account/confirm-email/{key}/")
    yield "whole failure page", client.get(FAILURE_PAGE)
    stale = Client()
    stale.force_login(bob)
    yield "account, asked again", stale.get("/account/reauthenticate/")
    form = SetPasswordForm(user=_make("carol@example.org", password=None))
    yield "password, unset", _rendered("account/password_set.html", form=form)
    leaving = _make("dave@example.org")
    gone = _logged_in(leaving.email).post("/account/delete/", {"password": PASSWORD})
    yield "account, deleted", gone


def _second_factor(client: Client, account: User) -> Pages:
    setting_up = client.get("/account/2fa/totp/activate/")
    yield "second factor, set up", setting_up
    found = re.search(r"Secret: <code>([\w ]+)</code>", setting_up.content.decode())
    assert found is not None
    code = format_hotp_value(hotp_value(found[1].replace(" ", ""), int(time.time()) // 30))
    client.post("/account/2fa/totp/activate/", {"code": code})
    yield "second factor, on", client.get("/account/2fa/")
    for name in ("totp/deactivate", "recovery-codes", "recovery-codes/generate"):
        yield f"second factor, {name}", client.get(f"/account/2fa/{name}/")
    asked = Client()
    asked.post("/account/login/", {"login": account.email, "password": PASSWORD})
    yield "second factor, asked for", asked.get("/account/2fa/authenticate/")
    stale = Client()
    stale.force_login(account)
    yield "second factor, asked again", stale.get("/account/2fa/reauthenticate/", follow=True)


def _history() -> Pages:
    account = _make("grace@example.org")
    client = _logged_in(account.email)
    yield "history, empty", client.get("/account/history/")
    Grant.objects.create(account=account, tier="scale", why="to show its pages")
    logs = (case("lab-disk-full-rank0-torchrun4"), case("lab-sigkill-torchrun8"), UNRECOGNISED)
    for log in (*logs, logs[0] + b"epoch 2 was the last\n"):
        yield from _kept(client, account, log)
    yield "history", client.get("/account/history/")
    yield "history, deletion of all", client.get("/account/history/delete/")
    yield "history, nothing like it", client.get("/account/history/?project=nosuch")
    yield "account with a history", client.get("/account/")


def _kept(client: Client, account: User, log: bytes) -> Pages:
    sender = Sender(TIERS["scale"], Visitor("203.0.113.200", None), account)
    job = _answer(submit(Submission("", (Upload("run.log", log),)), sender))
    yield f"kept verdict {job.pk}", client.get(f"/d/{job.pk}/")
    refused = client.post(f"/account/history/{job.pk}/describe/", {"project": "x" * 999})
    yield f"kept verdict {job.pk}, description refused", refused


def _workplace() -> Pages:
    yield "evaluation, for a visitor", Client().get("/account/evaluation/")
    account = _make("heidi@example.org")
    client = _logged_in(account.email)
    for name in ("", "request/", "redeem/"):
        yield f"evaluation /{name}", client.get(f"/account/evaluation/{name}")
    yield "code, refused", client.post("/account/evaluation/redeem/", {"code": "AAAA"})
    typed = {
        "address": "heidi@gpu.lab.example",
        "organisation_name": "The Lab",
        "purpose": "Runs of 512 ranks that end in time-outs.",
    }
    client.post("/account/evaluation/request/", typed)
    yield "evaluation, requested", client.get("/account/evaluation/")
    link = _link_to(typed["address"])
    yield "workplace, verify", client.get(link)
    yield "workplace, link used up", client.get("/account/evaluation/verify/nosuch/")
    lab = Organisation.objects.create(domain="lab.example", name="The Lab")
    memberships.admit(account, lab, typed["address"])
    yield "account with a workplace", client.get("/account/")
