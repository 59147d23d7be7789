"""Django's settings. What differs from one installation to the next is read by `environment`."""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url

from denpex import environment
from denpex.accounts.tiers import TIERS
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
DENPEX_CONTACT = ENVIRONMENT.contact
DENPEX_DATA = ENVIRONMENT.data
DENPEX_LOG_LIMIT_BYTES = ENVIRONMENT.log_limit_bytes
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
REDIS_URL = ENVIRONMENT.redis_url

INSTALLED_APPS = [
    "denpex.apps.DenpexConfig",
    "denpex.accounts",
    "denpex.accounts.organisations",
    "denpex.mail",
    "encyclopedia",
    "diagnosis",
    "diagnosis.history",
    "diagnosis.curation",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "denpex.apps.StaffConfig",
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
    "denpex.uploads.SmallRequestsMiddleware",
    "denpex.session_keys.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "denpex.errors.MethodNotAllowedMiddleware",
]

# Public pages are rendered without a request, so that none of these gives them a session, a
# message or a token.
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
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

# What the highest tier may send; the views that take logs hold each sender to its own.
_LARGEST_FACTOR = max(tier.log_limit_factor for tier in TIERS.values())
_REQUEST_BYTES = 3 * DENPEX_LOG_LIMIT_BYTES * _LARGEST_FACTOR + 1_000_000
DATA_UPLOAD_MAX_MEMORY_SIZE = _REQUEST_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50
DATA_UPLOAD_MAX_NUMBER_FILES = 1024
# In memory alone: a log is masked before it is written anywhere, so never spooled to a file.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = _REQUEST_BYTES

# ---- Accounts

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["denpex.accounts.login.AddressBackend"]
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
PASSWORD_RESET_TIMEOUT = 4 * 3600
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "account"

ACCOUNT_ADAPTER = "denpex.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "add_email": "denpex.accounts.forms.AddEmailForm",
    "change_password": "denpex.accounts.forms.ChangePasswordForm",
    "login": "denpex.accounts.forms.LoginForm",
    "reset_password": "denpex.accounts.forms.ResetPasswordForm",
    "reset_password_from_key": "denpex.accounts.forms.NewPasswordForm",
    "set_password": "denpex.accounts.forms.SetPasswordForm",
    "signup": "denpex.accounts.forms.SignupForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# An account works before its address is verified, with the tier `account`.
ACCOUNT_EMAIL_VERIFICATION = "optional"
# Signing up answers the same whether or not an address has an account: it makes another one, which
# gets nothing from the first, and only one of them can verify the address.
ACCOUNT_PREVENT_ENUMERATION = "strict"
ACCOUNT_MAX_EMAIL_ADDRESSES = 3
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "signup": "20/h/ip",
    "signup_address": "3/d/key",
    "reset_password": "10/h/ip,3/h/key",
    "confirm_email": "1/m/key,10/d/key",
    # Our own. A code has too many values to be guessed; the limit shows who tries.
    "request_code": "6/d/user,3/d/key",
    "redeem_code": "10/h/user",
    # Ours, counted in the same way.
    "export_history": "10/h/user",
    "feedback": "10/h/ip",
}
MFA_ADAPTER = "denpex.accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Denpex"
# The code before and the code after count as well: telephones' clocks differ.
MFA_TOTP_TOLERANCE = 1

# ---- Mail

DEFAULT_FROM_EMAIL = ENVIRONMENT.mail_from
EMAIL_BACKEND = "denpex.mail.file_outbox.FileOutbox"
# Shorter than a task may take.
EMAIL_TIMEOUT = 8
if ENVIRONMENT.mail_server is not None:
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST = ENVIRONMENT.mail_server.host
    EMAIL_PORT = ENVIRONMENT.mail_server.port
    EMAIL_HOST_USER = ENVIRONMENT.mail_server.user
    EMAIL_HOST_PASSWORD = ENVIRONMENT.mail_server.password
    EMAIL_USE_SSL = ENVIRONMENT.mail_server.tls_at_once
    EMAIL_USE_TLS = not EMAIL_USE_SSL

# ---- Cookies and headers

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
    # Two accounts may give one address as long as neither has verified it (see
    # ACCOUNT_PREVENT_ENUMERATION); AddressBackend knows that.
    "auth.W004",
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
