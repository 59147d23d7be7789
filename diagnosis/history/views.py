"""The pages of a history. Each view finds an entry among those of its own account alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus

from allauth.core import ratelimit
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from denpex.accounts.http import AccountRequest
from denpex.accounts.models import User
from denpex.accounts.standing import tier_of
from denpex.accounts.tiers import Entitlement
from denpex.errors import error_page
from diagnosis import jobs
from diagnosis.history import export, listing, recurrences, reruns, tasks
from diagnosis.history.forms import DescribeForm
from diagnosis.history.models import HistoryEntry
from diagnosis.models import new_job_id
from diagnosis.preloaded import compiled
from diagnosis.views import private

__all__ = [
    "delete",
    "delete_all",
    "describe",
    "export_json",
    "export_zip",
    "history",
    "rerun",
    "share",
    "withdraw",
]


@private
@login_required
@require_safe
def history(request: AccountRequest) -> HttpResponseBase:
    """List what the account keeps, narrowed by the filters in the address."""
    tier = tier_of(request.user)
    form, page = listing.page_of(request.user, request.GET)
    ctx = {
        "form": form,
        "page": page,
        "recurrences": recurrences.of_entries(request.user, list(page)),
        "tier": tier,
        "keeps_history": tier.may(Entitlement.HISTORY),
    }
    return render(request, "history/history.html", ctx)


@private
@login_required
@sensitive_post_parameters()
@require_POST
def describe(request: AccountRequest, entry_id: str) -> HttpResponseBase:
    """Keep the project's label and the note."""
    entry = _own(request, entry_id)
    form = DescribeForm(request.POST, instance=entry)
    if not form.is_valid():
        ctx = {"form": form, "entry_id": entry_id}
        return render(request, "history/describe.html", ctx, status=HTTPStatus.BAD_REQUEST)
    HistoryEntry.objects.filter(pk=entry_id).update(**form.cleaned_data)
    messages.success(request, "Project and note are saved.")
    return _back_to(entry_id)


@private
@login_required
@require_POST
def rerun(request: AccountRequest, entry_id: str) -> HttpResponseBase:
    """Let a worker read the log again with today's catalogue."""
    entry = _own(request, entry_id)
    if reruns.ask(entry, compiled().fingerprint):
        transaction.on_commit(lambda: tasks.publish(entry_id))
    else:
        messages.info(request, "This verdict was made with today's catalogue already.")
    return _back_to(entry_id)


@private
@login_required
@require_POST
def share(request: AccountRequest, entry_id: str) -> HttpResponseBase:
    """Make a link that opens the verdict to everyone; one that is there already stays."""
    entry = _own(request, entry_id)
    HistoryEntry.objects.filter(pk=entry.pk, share_key=None).update(share_key=new_job_id())
    return _back_to(entry_id)


@private
@login_required
@require_POST
def withdraw(request: AccountRequest, entry_id: str) -> HttpResponseBase:
    """Close the link for good: sharing again makes another."""
    entry = _own(request, entry_id)
    HistoryEntry.objects.filter(pk=entry.pk).update(share_key=None)
    messages.success(request, "The link is withdrawn: it shows nothing any more.")
    return _back_to(entry_id)


@private
@login_required
@require_POST
def delete(request: AccountRequest, entry_id: str) -> HttpResponseBase:
    """Remove one entry with its log, and lead back to the list."""
    entry = _own(request, entry_id)
    jobs.delete(entry.pk)
    messages.success(request, "Verdict and log are deleted.")
    return HttpResponseRedirect(reverse("history"))


@private
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_all(request: AccountRequest) -> HttpResponseBase:
    """Ask once, and then remove every verdict with its log."""
    if request.method != "POST":
        ctx = {"kept": HistoryEntry.objects.of(request.user).count()}
        return render(request, "history/delete_all.html", ctx)
    jobs.delete_all(request.user)
    messages.success(request, "All verdicts and their logs are deleted.")
    return HttpResponseRedirect(reverse("history"))


@private
@login_required
@require_POST
def export_json(request: AccountRequest) -> HttpResponseBase:
    """Return everything that the account keeps, as JSON."""
    return _download(request, "denpex-history.json", "application/json", export.as_json)


@private
@login_required
@require_POST
def export_zip(request: AccountRequest) -> HttpResponseBase:
    """Return everything that the account keeps, as a ZIP file."""
    return _download(request, "denpex-history.zip", "application/zip", export.as_zip)


def _own(request: AccountRequest, entry_id: str) -> HistoryEntry:
    """Return the entry; that of another account is as one that never was."""
    return get_object_or_404(HistoryEntry.objects.of(request.user), pk=entry_id)


def _back_to(entry_id: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('verdict', args=[entry_id])}#history")


def _download(
    request: AccountRequest,
    name: str,
    content_type: str,
    pieces_of: Callable[[User], Iterator[bytes]],
) -> HttpResponseBase:
    if not ratelimit.consume(request, action="export_history"):
        return error_page(
            request,
            HTTPStatus.TOO_MANY_REQUESTS,
            message="You have downloaded your history often within the last hour.",
            advice="Try again in an hour.",
        )
    response = StreamingHttpResponse(pieces_of(request.user), content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
