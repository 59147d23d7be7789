"""A process of its own that redeems a code: `python -m … ACCOUNT CODE`.

It says "ready", waits for a line, redeems, and says what came of it.
"""

from __future__ import annotations

import sys

import django


def main() -> None:
    django.setup()
    from denpex.accounts.models import User
    from denpex.accounts.organisations.codes import CodeRefusedError, redeem

    account = User.objects.get(pk=sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        redeem(account, sys.argv[2])
    except CodeRefusedError as error:
        print(error.refusal)
    else:
        print("redeemed")


if __name__ == "__main__":
    main()
