"""The pages of an evaluation, from the request to the code; joining and leaving an organisation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from denpex.accounts.http import AccountRequest
from denpex.accounts.models import User
from denpex.accounts.organisations import codes, drafts, memberships, overview, requests
from denpex.accounts.organisations.answers import Answer, answer_to_code, answer_to_proof, day
from denpex.accounts.organisations.codes import CodeRefusedError
from denpex.accounts.organisations.forms import CodeForm, RequestForm
from denpex.accounts.organisations.memberships import AddressTakenError, OrganisationClosedError
from denpex.accounts.organisations.models import EvaluationRequest, Membership
from denpex.accounts.tiers import EVALUATION_PERIOD, TIERS
from denpex.uploads import megabytes
from diagnosis.senders import log_limit_bytes

__all__ = ["evaluation", "join", "leave", "redeem", "request_code", "verify"]

_View = Callable[..., HttpResponseBase]
_READ_AND_SEND = require_http_methods(["GET", "HEAD", "POST"])

_TOO_MANY_REQUESTS = Answer(
    "That is as many requests as one day allows.",
    "Open the link of the newest mail, or come back tomorrow. What you typed is still here.",
)
_TOO_MANY_CODES = Answer(
    "That is as many codes as one hour allows.",
    "Try again in an hour. What you typed is still here, and a code that you hold stays as it is.",
)


def kept_through_login(*names: str, back: str | None = None) -> Callable[[_View], _View]:
    """Ask to log in, as `login_required` does, without losing what a form brought.

    Who has logged in comes to the same page, or to `back`.
    """

    def decorate(view: _View) -> _View:
        @functools.wraps(view)
        def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if isinstance(request.user, User):
                return view(request, *args, **kwargs)
            response = redirect_to_login(reverse(back) if back else request.path)
            if request.method == "POST":
                drafts.keep(response, request.POST.dict(), names)
            return response

        return answered

    return decorate


@require_safe
def evaluation(request: HttpRequest) -> HttpResponseBase:
    """Say what an evaluation is, to everybody; and where it stands, to an account."""
    tier = TIERS["evaluation"]
    ctx: dict[str, Any] = {
        "days": EVALUATION_PERIOD.days,
        "tier": tier,
        "limit_megabytes": megabytes(log_limit_bytes(tier)),
    }
    if isinstance(request.user, User):
        ctx["work"] = overview.of(request.user)
        ctx["form"] = CodeForm()
    return render(request, "organisations/evaluation.html", ctx)


@_READ_AND_SEND
@kept_through_login(*RequestForm.Meta.fields)
def request_code(request: AccountRequest) -> HttpResponseBase:
    """Take a request, and answer the same whoever the address belongs to."""
    names = RequestForm.Meta.fields
    if request.method != "POST":
        return _request_page(request, RequestForm(initial=drafts.read(request, names)))
    form = RequestForm(request.POST)
    if not form.is_valid():
        return _request_page(request, form)
    application = form.application()
    if not ratelimit.consume(request, action="request_code", key=application.address):
        return _request_page(request, form, _TOO_MANY_REQUESTS, HTTPStatus.TOO_MANY_REQUESTS)
    requests.ask(request.user, application)
    return _done(redirect("evaluation"))


@_READ_AND_SEND
@login_required
def verify(request: AccountRequest, secret: str) -> HttpResponseBase:
    """Ask whether the address of a link is the sender's own; a click alone proves nothing."""
    asked = requests.find(secret)
    if asked is None:
        return _link_page(request, "used_up", HTTPStatus.NOT_FOUND)
    if asked.account != request.user:
        return _link_page(request, "of_another", HTTPStatus.FORBIDDEN, asked)
    if not requests.is_open(asked):
        return _link_page(request, "used_up", HTTPStatus.GONE, asked)
    if request.method != "POST":
        return _link_page(request, "open", HTTPStatus.OK, asked)
    try:
        outcome = requests.prove(asked)
    except requests.LinkUsedUpError:
        return _link_page(request, "used_up", HTTPStatus.GONE, asked)
    _tell(request, answer_to_proof(outcome, asked))
    return redirect("evaluation")


@_READ_AND_SEND
@kept_through_login("code")
def redeem(request: AccountRequest) -> HttpResponseBase:
    """Start the evaluation of an organisation with its code."""
    if request.method != "POST":
        return _code_page(request, CodeForm(initial=drafts.read(request, ["code"])))
    form = CodeForm(request.POST)
    if not form.is_valid():
        return _code_page(request, form)
    if not ratelimit.consume(request, action="redeem_code", user=request.user):
        return _code_page(request, form, _TOO_MANY_CODES, HTTPStatus.TOO_MANY_REQUESTS)
    try:
        grant = codes.redeem(request.user, form.typed())
    except CodeRefusedError as error:
        form.add_error("code", str(answer_to_code(error)))
        return _code_page(request, form, status=HTTPStatus.CONFLICT)
    limit = TIERS[grant.tier].diagnoses_a_day
    end = f" until {grant.ends_at:%H:%M} UTC on {day(grant.ends_at)}" if grant.ends_at else ""
    messages.success(request, f"The evaluation has begun: {limit} diagnoses a day{end}.")
    return _done(redirect("account"))


@require_POST
@kept_through_login(back="account")
def join(request: AccountRequest, address_id: int) -> HttpResponseBase:
    """Make the account a member by one of its verified addresses."""
    own = {address.pk for address in memberships.joinable(request.user)}
    address = get_object_or_404(EmailAddress, pk=address_id, pk__in=own)
    try:
        membership = memberships.join(request.user, address)
    except AddressTakenError:
        messages.error(
            request,
            f"{address.email} has made another account a member already: leave there first.",
        )
    except OrganisationClosedError:
        messages.error(request, "This organisation takes no members any more.")
    else:
        limit = TIERS["organisation"].diagnoses_a_day
        domain = membership.organisation.domain
        messages.success(request, f"You are a member of {domain}: {limit} diagnoses a day.")
    return redirect("account")


@require_POST
@kept_through_login(back="account")
def leave(request: AccountRequest, membership_id: int) -> HttpResponseBase:
    """End a membership of the account."""
    own = request.user.memberships.select_related("organisation", "account")
    membership: Membership = get_object_or_404(own, pk=membership_id)
    memberships.leave(membership)
    messages.success(request, f"You have left {membership.organisation.domain}.")
    return redirect("account")


def _request_page(
    request: HttpRequest,
    form: BaseForm,
    answer: Answer | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    ctx: dict[str, Any] = {"form": form, "answer": answer}
    ctx |= {"days": EVALUATION_PERIOD.days, "tier": TIERS["evaluation"]}
    return render(request, "organisations/request_code.html", ctx, status=status)


def _code_page(
    request: HttpRequest,
    form: BaseForm,
    answer: Answer | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    ctx = {"form": form, "answer": answer}
    return render(request, "organisations/redeem.html", ctx, status=status)


def _link_page(
    request: HttpRequest, state: str, status: HTTPStatus, asked: EvaluationRequest | None = None
) -> HttpResponse:
    ctx = {"asked": asked, "state": state}
    return render(request, "organisations/verify.html", ctx, status=status)


def _tell(request: HttpRequest, answer: Answer) -> None:
    say = messages.success if answer.is_good else messages.warning
    say(request, str(answer))


def _done(response: HttpResponse) -> HttpResponse:
    drafts.forget(response)
    return response
