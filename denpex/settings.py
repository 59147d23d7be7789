"""Django's settings. What differs from one installation to the next is read by `environment`."""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url

from denpex import environment
from denpex.headers import CONTENT_SECURITY_POLICY

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = environment.read(os.environ, BASE_DIR)

DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.secret_key
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
ROOT_URLCONF = "denpex.urls"
WSGI_APPLICATION = "denpex.wsgi.application"

# Our own: read by views, tasks and checks.
DENPEX_ORIGIN = ENVIRONMENT.origin
DENPEX_DATA = ENVIRONMENT.data
DENPEX_LOG_LIMIT_BYTES = ENVIRONMENT.log_limit_bytes
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
REDIS_URL = ENVIRONMENT.redis_url

INSTALLED_APPS = [
    "denpex.apps.DenpexConfig",
    "denpex.accounts",
    "encyclopedia",
    "diagnosis",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "denpex.headers.SecurityHeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

# No context processor that touches the session or the CSRF token: public pages carry neither.
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

# ---- Database, cache and queue

# The pool keeps connections open by itself, so that CONN_MAX_AGE stays 0.
_POOL = {"min_size": 1, "max_size": 8, "timeout": 5}
_DATABASE = dj_database_url.parse(
    ENVIRONMENT.database_url or "postgresql:///denpex", conn_health_checks=True
)
# What the address asks for, such as sslmode, holds for the pool's connections.
DATABASES = {
    "default": {**_DATABASE, "OPTIONS": {**_DATABASE.get("OPTIONS", {}), "pool": _POOL}},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache",
    }
}

CELERY_BROKER_URL = environment.celery_broker_url(REDIS_URL)
CELERY_TIMEZONE = "UTC"

# ---- Uploads

# Form encoding turns one byte into three at worst; 1 MB more is for the form's other parts.
_REQUEST_BYTES = 3 * DENPEX_LOG_LIMIT_BYTES + 1_000_000
DATA_UPLOAD_MAX_MEMORY_SIZE = _REQUEST_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50
DATA_UPLOAD_MAX_NUMBER_FILES = 1024
# In memory alone: a log is masked before it is written anywhere, so never spooled to a file.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = _REQUEST_BYTES

# ---- Accounts, cookies and headers

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.https
CSRF_FAILURE_VIEW = "denpex.errors.csrf_failure"

SECURE_SSL_REDIRECT = ENVIRONMENT.https
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if ENVIRONMENT.https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT.trusted_proxies else None
)
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = CONTENT_SECURITY_POLICY
SILENCED_SYSTEM_CHECKS = [
    # HSTS for sub-domains, and preloading, bind names that this site does not serve: the
    # owner of the domain decides those in the proxy.
    "security.W005",
    "security.W021",
]

# ---- Static files

STATIC_URL = "/static/"
STATIC_ROOT = DENPEX_DATA / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if DEBUG
            else "whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}

# ---- Language, time and logs

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "denpex.json_log.JsonFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    # Django's own handlers mail error reports, which hold what was posted: a log.
    "loggers": {"django": {"handlers": [], "level": "INFO", "propagate": True}},
}
