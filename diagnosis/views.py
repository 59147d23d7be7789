"""The pages of a diagnosis: the form, the way to the verdict, and the verdict."""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from denpex.accounts.models import User
from denpex.errors import error_page
from denpex.uploads import megabytes, takes_logs
from diagnosis import answers, jobs, senders, visitors
from diagnosis.answers import Answer
from diagnosis.forms import known_failure, read_form
from diagnosis.history import entry_page, kept_answers
from diagnosis.history.entry_page import EntryPage
from diagnosis.history.models import HistoryEntry
from diagnosis.models import Job, JobQuerySet
from diagnosis.origin import is_foreign
from diagnosis.presentation import present
from diagnosis.quota import Allowance, AllowanceSpentError
from diagnosis.refusals import REFUSED, Refusal, refusal_of
from diagnosis.samples import SAMPLES
from diagnosis.senders import Sender, log_limit_bytes
from diagnosis.store import StoreUnavailableError
from diagnosis.submission import Submission, submit
from diagnosis.verdict_markdown import as_markdown

__all__ = [
    "allowance",
    "delete",
    "deleted",
    "diagnose",
    "find",
    "gone",
    "log_file",
    "no_such_file",
    "not_there",
    "own_forms_only",
    "private",
    "verdict",
    "verdict_json",
    "verdict_markdown",
]

_Parameters = ParamSpec("_Parameters")
_Request = TypeVar("_Request", bound=HttpRequest)
_View = Callable[Concatenate[_Request, _Parameters], HttpResponseBase]

# A longer text is not sent back with a refusal; the browser's Back button still has it.
_TEXT_SENT_BACK = 1_000_000
_DAY_SECONDS = 86_400
# Read by whoever comes by a posted address, so robots.txt must not forbid to fetch it: what nobody
# may fetch is listed bare. From there no crawler goes on to the log and the other forms.
_ROBOTS = "noindex, nofollow"
_PLAIN_TEXT = "text/plain; charset=utf-8"
_MARKDOWN = "text/markdown; charset=utf-8"


def private(view: _View[_Request, _Parameters]) -> _View[_Request, _Parameters]:
    """Keep what `view` answers out of caches and search engines; an outage becomes a 503."""

    @functools.wraps(view)
    def answered(
        request: _Request, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except StoreUnavailableError as error:
            response = error_page(
                request,
                HTTPStatus.SERVICE_UNAVAILABLE,
                retry_after=refusal_of(error).retry_after,
                message="Our store does not answer at the moment.",
                advice="Verdicts are kept there. Reload in half a minute.",
            )
        response.headers["Cache-Control"] = "private, no-store"
        response.headers["X-Robots-Tag"] = _ROBOTS
        return response

    return answered


def own_forms_only(view: _View[_Request, _Parameters]) -> _View[_Request, _Parameters]:
    """Refuse what another site sends; in place of a token, which public pages cannot carry."""

    @functools.wraps(view)
    def answered(
        request: _Request, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> HttpResponseBase:
        if request.method == "POST" and is_foreign(request):
            return error_page(
                request,
                HTTPStatus.FORBIDDEN,
                message="This form was sent from another site.",
                advice="Open the page here on which its button stands, and send it from there.",
                form_page=_page_of_form(kwargs.get("job_id")),
            )
        return view(request, *args, **kwargs)

    return csrf_exempt(answered)


def _page_of_form(job_id: object) -> str:
    """Return the page on which the button of a form stands: a verdict's, or the paste form's."""
    return reverse("verdict", args=[job_id]) if job_id else reverse("diagnose")


@takes_logs
@private
@own_forms_only
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def diagnose(request: HttpRequest) -> HttpResponseBase:
    """Show the paste form, or take a paste and lead to its verdict."""
    sender = senders.identify(request)
    if request.method != "POST":
        return _with_cookie(_form(request, sender), sender)
    try:
        submission = read_form(request, log_limit_bytes(sender.tier))
    except REFUSED as error:
        return _form(request, sender, refusal=refusal_of(error))
    sender = sender.with_cookie()
    try:
        job = submit(submission, sender)
    except AllowanceSpentError as error:
        refused = _form(request, sender, submission, refusal_of(error))
        return _with_rate_limit(refused, error.allowance)
    except REFUSED as error:
        return _form(request, sender, submission, refusal_of(error))
    taken = _with_cookie(_see(request, reverse("verdict", args=[job.pk])), sender)
    return _with_rate_limit(taken, sender.allowance())


@private
@require_safe
def allowance(request: HttpRequest) -> HttpResponseBase:
    """Say what is left today, as a piece of a page."""
    sender = senders.identify(request)
    ctx = {
        "allowance": sender.allowance(),
        "limit_megabytes": megabytes(log_limit_bytes(sender.tier)),
        "keep_for": sender.tier.keep_for,
    }
    return _with_cookie(render(request, "diagnosis/allowance.html", ctx), sender)


@private
@require_safe
def verdict(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Show where a diagnosis stands: waiting, failed by our fault, or its verdict."""
    found = find(request, job_id)
    match found:
        case Answer():
            page = present(found, by_lines=request.GET.get("axis") == "lines")
            ctx = {
                "page": page,
                "markdown": as_markdown(page, settings.DENPEX_ORIGIN),
                "history": _history_of(request, found),
            }
            return render(request, "diagnosis/verdict.html", ctx)
        case Job(state=Job.State.FAILED):
            return render(request, "diagnosis/failed.html", {"job": found})
        case Job():
            return render(request, "diagnosis/waiting.html", {"job": found})
    return gone(request, job_id)


@private
@require_safe
def verdict_json(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Return the verdict as the engine made it, or the state of the job."""
    found = find(request, job_id)
    match found:
        case Answer():
            return HttpResponse(found.json, content_type="application/json")
        case Job(state=Job.State.FAILED):
            body = {"state": found.state, "reason": found.failure_reason, "refunded": True}
            return JsonResponse(body, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        case Job():
            body = {"state": found.state, "place_in_line": found.place_in_line()}
            return JsonResponse(body, status=HTTPStatus.ACCEPTED)
    return JsonResponse({"state": "unknown or expired"}, status=HTTPStatus.NOT_FOUND)


@private
@require_safe
def verdict_markdown(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Return the verdict as Markdown for an issue or a chat, or a sentence on where it stands."""
    found = find(request, job_id)
    match found:
        case Answer():
            text, status = as_markdown(present(found), settings.DENPEX_ORIGIN), HTTPStatus.OK
        case Job(state=Job.State.FAILED):
            text = "This diagnosis failed by a fault of ours, and was refunded.\n"
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        case Job():
            text, status = "No verdict yet: ask again in a second.\n", HTTPStatus.ACCEPTED
        case None:
            text, status = "Unknown or expired.\n", HTTPStatus.NOT_FOUND
    return HttpResponse(text, content_type=_MARKDOWN, status=status)


@private
@require_safe
def log_file(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """Return one file of the masked log as plain text; files count from 1."""
    found = find(request, job_id)
    if not isinstance(found, Answer) or found.file(number) is None:
        return no_such_file(request, job_id, found, number)
    data = found.read_file(number - 1)
    if data is None:
        return gone(request, job_id)
    response = HttpResponse(data.decode("utf-8", "replace"), content_type=_PLAIN_TEXT)
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


@private
@own_forms_only
@require_POST
def delete(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Remove log and verdict now. Whoever may read them may."""
    if not _may_delete(request, job_id) or not jobs.delete(job_id):
        why = "A sample stays, and of a verdict that is shared its owner alone disposes."
        found = find(request, job_id)
        return not_there(request, job_id, found, "This diagnosis is not yours to delete", why)
    return HttpResponseRedirect(reverse("deleted"), status=HTTPStatus.SEE_OTHER)


@private
@require_safe
def deleted(request: HttpRequest) -> HttpResponseBase:
    """Say that something was deleted, at an address that can be opened again."""
    return render(request, "diagnosis/deleted.html")


def _see(request: HttpRequest, path: str) -> HttpResponse:
    """Lead to `path`; the body names it too, for who sent the form with a program."""
    response = HttpResponse(
        f"{request.build_absolute_uri(path)}\n",
        content_type=_PLAIN_TEXT,
        status=HTTPStatus.SEE_OTHER,
    )
    response.headers["Location"] = path
    return response


def _form(
    request: HttpRequest,
    sender: Sender,
    submission: Submission | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    text = submission.text if submission else ""
    too_long = len(text) > _TEXT_SENT_BACK
    asked_about = (
        submission.asked_about if submission else known_failure(request.GET.get("failure", ""))
    )
    ctx = {
        "allowance": sender.allowance(),
        "limit_megabytes": megabytes(log_limit_bytes(sender.tier)),
        "keep_for": sender.tier.keep_for,
        "nonce": secrets.token_urlsafe(16),
        "refusal": refusal,
        "text": "" if too_long else text,
        "text_is_missing": too_long,
        "files_are_missing": bool(submission and submission.uploads),
        "failure": {"slug": asked_about} if asked_about else None,
    }
    if refusal is None:
        return render(request, "diagnosis/diagnose.html", ctx)
    if _is_program(request):
        response = HttpResponse(f"{refusal.message} {refusal.advice}\n", content_type=_PLAIN_TEXT)
    else:
        response = render(request, "diagnosis/diagnose.html", ctx)
    response.status_code = refusal.status
    if refusal.retry_after is not None:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def _is_program(request: HttpRequest) -> bool:
    """Say whether curl or a script asks: a browser says that it reads HTML."""
    return request.headers.get("Accept") == "*/*"


def _with_rate_limit(response: HttpResponse, allowance: Allowance) -> HttpResponse:
    """Say what is left today in the header fields that programs read (an IETF draft)."""
    seconds = max(0, math.ceil((allowance.returns_at - timezone.now()).total_seconds()))
    response.headers["RateLimit-Policy"] = f'"day";q={allowance.limit};w={_DAY_SECONDS}'
    response.headers["RateLimit"] = f'"day";r={allowance.left};t={seconds}'
    return response


def _with_cookie(response: HttpResponse, sender: Sender) -> HttpResponse:
    """Give a visitor the cookie to be counted by; an account needs none."""
    if sender.account is None:
        visitors.give_cookie(response, sender.cookie or visitors.new_cookie())
    return response


def find(request: HttpRequest, job_id: str) -> Answer | Job | None:
    """Return the answer under this id, or the job that has none yet; None where nothing is kept.

    A job of another account is as one that never was.
    """
    if job_id in SAMPLES:
        return answers.of_sample(SAMPLES[job_id])
    kept = kept_answers.find(_account(request), job_id)
    if kept is not None:
        return kept
    job = _seen_by(request).live().filter(pk=job_id).first()
    if job is None or job.state != Job.State.DONE:
        return job
    # A verdict that was kept between the two questions is in the history by now.
    return answers.of_job(job) or kept_answers.find(_account(request), job_id)


def _history_of(request: HttpRequest, answer: Answer) -> EntryPage | None:
    """Return what the owner's history says of the answer; None for everyone else."""
    account = _account(request)
    if account is None or not answer.owned:
        return None
    entry = HistoryEntry.objects.of(account).filter(pk=answer.id).first()
    return None if entry is None else entry_page.present(entry)


def _may_delete(request: HttpRequest, job_id: str) -> bool:
    account = _account(request)
    if account is not None and HistoryEntry.objects.of(account).filter(pk=job_id).exists():
        return True
    return _seen_by(request).filter(pk=job_id).exists()


def _account(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _seen_by(request: HttpRequest) -> JobQuerySet:
    """Select the jobs whose pages this request may open, if it knows their ids."""
    return Job.objects.all().seen_by(_account(request))


def no_such_file(
    request: HttpRequest, job_id: str, found: Answer | Job | None, number: int
) -> HttpResponse:
    """Say that what was found under this id has no file of that number."""
    files = len(found.about.files) if isinstance(found, Answer) else 0
    why = "It has one file." if files == 1 else f"Its {files:,} files count from 1."
    return not_there(request, job_id, found, f"There is no file {number} in this diagnosis", why)


def not_there(
    request: HttpRequest, job_id: str, found: Answer | Job | None, what: str, why: str
) -> HttpResponse:
    """Say what a diagnosis has not, and lead to what it has; where it is gone itself, say that."""
    if found is None:
        return gone(request, job_id)
    ctx = {"found": found, "job_id": job_id, "what": what, "why": why}
    return render(request, "diagnosis/not_there.html", ctx, status=HTTPStatus.NOT_FOUND)


def gone(request: HttpRequest, job_id: str) -> HttpResponse:
    """Say that nothing is kept under this id, or no longer."""
    ctx = {"job": _seen_by(request).filter(pk=job_id).first()}
    return render(request, "diagnosis/gone.html", ctx, status=HTTPStatus.NOT_FOUND)
