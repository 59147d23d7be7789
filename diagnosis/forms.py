"""A posted paste form, read within bounds."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from denpex.uploads import announced_bytes, request_bytes
from diagnosis.paste import PasteError, Upload, too_large
from diagnosis.submission import Submission
from encyclopedia.models import Failure

__all__ = ["known_failure", "read_form"]

# A refusal reaches the browser only if it could send all of its request, so that much is read and
# thrown away; who sends more than this sees a broken connection.
_READ_OF_TOO_LARGE = 100_000_000
_STEP = 1 << 16
_FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")


def read_form(request: HttpRequest, limit: int) -> Submission:
    """Return what the form says; raises PasteError where a log is larger than `limit`."""
    if "Transfer-Encoding" in request.headers:
        raise PasteError(
            "This request does not say how long it is.",
            "Send it with a Content-Length: curl -F files=@log.txt does.",
        )
    if request.content_type not in _FORM_TYPES:
        raise PasteError(
            "This request is not a form.", "Send it as one: curl -F files=@log.txt does."
        )
    if announced_bytes(request) > request_bytes(limit):
        _read_away(request)
        raise too_large(limit)
    try:
        return Submission(
            text=request.POST.get("log", ""),
            uploads=tuple(_uploads(request)),
            nonce=request.POST.get("nonce", ""),
            asked_about=known_failure(request.POST.get("failure", "")),
        )
    except RequestDataTooBig:
        raise too_large(limit) from None
    except TooManyFilesSent:
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        raise PasteError(
            f"Those are more than {most} files.", "Send the logs of fewer ranks."
        ) from None


def _uploads(request: HttpRequest) -> Iterator[Upload]:
    """Yield the files, those of the text field too: `curl -F log=@run.log` sends one there."""
    for field in ("log", "files"):
        for file in request.FILES.getlist(field):
            if isinstance(file, UploadedFile):
                yield Upload(file.name or "", file.read())


def known_failure(slug: str) -> str:
    """Return the slug if a failure has it, else ""."""
    found = Failure.objects.filter(slug=slug.replace("\x00", "")).values_list("slug", flat=True)
    return found.first() or "" if slug else ""


def _read_away(request: HttpRequest) -> None:
    remaining = _READ_OF_TOO_LARGE
    while remaining > 0:
        read = len(request.read(_STEP))
        if not read:
            return
        remaining -= read
