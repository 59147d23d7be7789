"""Where visitors speak to curators: feedback on a verdict, and leave to read excerpts."""

from __future__ import annotations

from http import HTTPStatus

from allauth.core import ratelimit
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from denpex.accounts.http import AccountRequest
from denpex.accounts.models import User
from denpex.errors import error_page
from diagnosis.answers import Answer
from diagnosis.curation.feedback import FeedbackForm, keep
from diagnosis.curation.models import ExcerptConsent
from diagnosis.views import find, not_there, own_forms_only, private

__all__ = ["excerpts", "feedback"]


@private
@own_forms_only
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def feedback(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Take what is said of a verdict, from whoever may read it by an id of their own."""
    answer = find(request, job_id)
    if not isinstance(answer, Answer) or answer.sample or answer.shared:
        why = "Of a sample, or of a verdict that somebody shares, there is none to give."
        return not_there(request, job_id, answer, "This diagnosis takes no feedback", why)
    form = FeedbackForm(request.POST if request.method == "POST" else None)
    ctx = {"form": form, "answer": answer}
    if request.method != "POST":
        return render(request, "curation/feedback.html", ctx)
    if not form.is_valid():
        return render(request, "curation/feedback.html", ctx, status=HTTPStatus.BAD_REQUEST)
    if not ratelimit.consume(request, action="feedback"):
        return error_page(
            request,
            HTTPStatus.TOO_MANY_REQUESTS,
            message="Your network has sent much feedback within the last hour.",
            advice="Go back, keep your words, and send them in an hour.",
        )
    owner = request.user if isinstance(request.user, User) else None
    keep(answer.verdict, form.cleaned_data, owner, job_id)
    return render(request, "curation/feedback_sent.html", ctx)


@login_required
@require_POST
def excerpts(request: AccountRequest) -> HttpResponseBase:
    """Let curators read masked excerpts of the account's logs, or no longer."""
    if request.POST.get("allow"):
        ExcerptConsent.objects.get_or_create(account=request.user)
        messages.success(request, "Curators may read masked excerpts of your logs.")
    else:
        ExcerptConsent.objects.filter(account=request.user).delete()
        messages.success(request, "Curators read nothing of your logs.")
    return HttpResponseRedirect(reverse("account"))
