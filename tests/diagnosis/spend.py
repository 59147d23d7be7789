"""A process of its own that works on one account: `python -m tests.diagnosis.spend ID WORK`.

It says "ready", waits for a line, does its work, and says how often that went well.
"""

from __future__ import annotations

import os
import sys

import django

LOG = "[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n"
ATTEMPTS = 4


def main() -> None:
    django.setup()
    from denpex.accounts.models import User

    account = User.objects.get(pk=sys.argv[1])
    work = {"submit": submit_often, "fail": fail_all}[sys.argv[2]]
    print("ready", flush=True)
    sys.stdin.readline()
    print(work(account), flush=True)


def submit_often(account) -> int:
    from denpex.accounts.standing import tier_of
    from diagnosis.quota import AllowanceSpentError
    from diagnosis.senders import Sender
    from diagnosis.submission import Submission, submit
    from diagnosis.visitors import Visitor

    sender = Sender(tier_of(account), Visitor("203.0.113.7", None), account)
    taken = 0
    for number in range(ATTEMPTS):
        try:
            submit(Submission(f"{LOG}{os.getpid()} {number}\n"), sender)
        except AllowanceSpentError:
            continue
        taken += 1
    return taken


def fail_all(account) -> int:
    from diagnosis import jobs
    from diagnosis.models import Job

    jobs.fail(account.jobs.all(), Job.FailureReason.LOG_LOST)
    return account.jobs.filter(state=Job.State.FAILED).count()


if __name__ == "__main__":
    main()
