"""The account's own pages, besides those that django-allauth brings."""

from __future__ import annotations

from http import HTTPStatus

from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.views import confirm_email as verify
from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from denpex.accounts.deletion import delete_account
from denpex.accounts.forms import DeletionForm
from denpex.accounts.http import AccountRequest
from denpex.accounts.organisations import overview as workplaces
from denpex.accounts.standing import current_grant, tier_of
from denpex.accounts.tiers import Entitlement
from denpex.uploads import megabytes
from diagnosis import quota, visitors
from diagnosis.curation.models import ExcerptConsent
from diagnosis.history import overview as history
from diagnosis.senders import log_limit_bytes
from diagnosis.views import private

__all__ = ["confirm_email", "delete", "overview"]


@login_required
@require_safe
def overview(request: AccountRequest) -> HttpResponseBase:
    """Show what the account may do, what is left of it, and the way to everything else."""
    account = request.user
    tier = tier_of(account)
    ctx = {
        "tier": tier,
        "grant": current_grant(account),
        "limit_megabytes": megabytes(log_limit_bytes(tier)),
        "entitlements": sorted(tier.entitlements, key=list(Entitlement).index),
        "allowance": quota.allowance_of(account, tier, visitors.today()),
        "address": EmailAddress.objects.filter(user=account).order_by("-primary").first(),
        "has_second_factor": is_mfa_enabled(account),
        "work": workplaces.of(account),
        "history": history.of(account),
        "shows_excerpts": ExcerptConsent.objects.filter(account=account).exists(),
    }
    return render(request, "account/overview.html", ctx)


@login_required
def confirm_email(request: HttpRequest, key: str) -> HttpResponseBase:
    """Verify an address for the account that is logged in, and for no other.

    Else whoever signed up with the address of somebody else would get it verified by that person's
    click on the link.
    """
    confirmation = EmailConfirmationHMAC.from_key(key)
    if confirmation is not None and confirmation.email_address.user_id != request.user.pk:
        ctx = {"email": confirmation.email_address.email}
        return render(request, "account/email_of_another.html", ctx, status=403)
    response: HttpResponseBase = verify(request, key=key)
    return response


@private
@login_required
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: AccountRequest) -> HttpResponseBase:
    """Delete the account with everything, once its password is given again."""
    account = request.user
    form = DeletionForm(request, account)
    if form.is_valid():
        delete_account(account)
        logout(request)
        return render(request, "account/deleted.html")
    ctx = {"form": form, "kept": history.of(account).count}
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    return render(request, "account/delete.html", ctx, status=status)
