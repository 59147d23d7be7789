"""The WSGI entry point. It refuses to start with wrong settings, and names them."""

from __future__ import annotations

import os

from django.core.management.base import BaseCommand
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")
application = get_wsgi_application()
BaseCommand().check()

from diagnosis.preloaded import compiled  # noqa: E402 - once the settings are known to be right

# Search asks the engine: nobody's first search should wait for it to load.
compiled()
