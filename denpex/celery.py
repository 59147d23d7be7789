"""The Celery app: what the broker may lose, how long a task may take, and how often the sweep runs.

The job row in PostgreSQL is the truth, and the sweep publishes again what got lost. So a message is
acknowledged early, and nothing is ever tried twice here.
"""

from __future__ import annotations

import os

from celery import Celery

from denpex.accounts import tiers

__all__ = [
    "HARD_TIME_LIMIT_SECONDS",
    "HOUSEKEEPING",
    "MAIL",
    "RERUNS",
    "SOFT_TIME_LIMIT_SECONDS",
    "app",
]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")

HARD_TIME_LIMIT_SECONDS = 15
# Python code ends by itself a little earlier, and says where it was.
SOFT_TIME_LIMIT_SECONDS = 12
SWEEP_SECONDS = 5
MAIL_SWEEP_SECONDS = 30
PRUNE_SECONDS = 600
DATES_SECONDS = 1800
RERUN_SWEEP_SECONDS = 60
HOUSEKEEPING = "housekeeping"
# A queue of its own: a mail server may take its time.
MAIL = "mail"
# Likewise: what a new catalogue reads again is no reason for new logs to wait.
RERUNS = "reruns"

_EXCHANGE = "denpex"
_SOCKET_TIMEOUT_SECONDS = 2
_MAX_MEMORY_KILOBYTES = 1_000_000
_MAX_TASKS = 1000

app = Celery("denpex")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_acks_late=False,
    task_ignore_result=True,
    task_publish_retry=False,
    task_time_limit=HARD_TIME_LIMIT_SECONDS,
    task_soft_time_limit=SOFT_TIME_LIMIT_SECONDS,
    task_default_queue=tiers.Queue.STANDARD,
    # A routing key for each, or every queue would get every message.
    task_queues={
        str(name): {"exchange": _EXCHANGE, "routing_key": str(name)}
        for name in (*tiers.Queue, HOUSEKEEPING, MAIL, RERUNS)
    },
    worker_prefetch_multiplier=1,
    worker_max_memory_per_child=_MAX_MEMORY_KILOBYTES,
    worker_max_tasks_per_child=_MAX_TASKS,
    # The settings' LOGGING writes one JSON object a line; Celery's own format would replace it.
    worker_hijack_root_logger=False,
    # A broker that is away must not hold up a web request, or the worker's own work.
    broker_transport_options={
        "socket_timeout": _SOCKET_TIMEOUT_SECONDS,
        "socket_connect_timeout": _SOCKET_TIMEOUT_SECONDS,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # Entries that need no memory of when they last ran: no schedule file to keep.
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        "sweep": {
            "task": "diagnosis.tasks.sweep",
            "schedule": SWEEP_SECONDS,
            # A sweep that waited for the next one has nothing left to do.
            "options": {"queue": HOUSEKEEPING, "expires": SWEEP_SECONDS},
        },
        "sweep-mail": {
            "task": "denpex.mail.tasks.sweep",
            "schedule": MAIL_SWEEP_SECONDS,
            "options": {"queue": HOUSEKEEPING, "expires": MAIL_SWEEP_SECONDS},
        },
        "sweep-reruns": {
            "task": "diagnosis.history.tasks.sweep",
            "schedule": RERUN_SWEEP_SECONDS,
            "options": {"queue": HOUSEKEEPING, "expires": RERUN_SWEEP_SECONDS},
        },
        "prune": {
            "task": "diagnosis.tasks.prune",
            "schedule": PRUNE_SECONDS,
            "options": {"queue": HOUSEKEEPING, "expires": PRUNE_SECONDS},
        },
        "keep-dates-of-evaluations": {
            "task": "denpex.accounts.organisations.tasks.keep_dates",
            "schedule": DATES_SECONDS,
            "options": {"queue": HOUSEKEEPING, "expires": DATES_SECONDS},
        },
    },
)
app.autodiscover_tasks()
