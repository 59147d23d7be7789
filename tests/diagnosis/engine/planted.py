"""Secrets planted in logs: each kind in five contexts, invented anew from its own seed."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LETTERS_AND_DIGITS = string.ascii_letters + string.digits
URL_SAFE = LETTERS_AND_DIGITS + "-_"
BASE64 = LETTERS_AND_DIGITS + "+/"
HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + string.digits

CONTEXTS = ("traceback", "environment", "json", "url", "several lines")


@dataclass(frozen=True)
class Planted:
    """A log with one secret in it; the secret is in `parts` where it has several lines.

    Of what is `whole`, pieces may stay (the domain of a mail address, the block of an address).
    """

    kind: str
    context: str
    log: str
    parts: tuple[str, ...]
    whole: bool = False

    def left(self, masked: str) -> list[str]:
        """Return the pieces of eight characters of the secret that stand in `masked`."""
        if self.whole:
            return [part for part in self.parts if part in masked]
        return [
            part[at : at + 8]
            for part in self.parts
            for at in range(max(1, len(part) - 7))
            if part[at : at + 8] in masked
        ]


class Invent:
    """Invents characters; the same seed invents the same."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def __call__(self, characters: str, count: int) -> str:
        return "".join(self._random.choice(characters) for _ in range(count))


# Kinds that their own shape betrays, in any context.
SHAPES: dict[str, Callable[[Invent], str]] = {
    "hugging face": lambda new: "hf_" + new(string.ascii_letters, 34),
    "hugging face organisation": lambda new: "api_org_" + new(string.ascii_letters, 34),
    "wandb": lambda new: "wandb_v1_" + new(LETTERS_AND_DIGITS, 23) + "_" + new(BASE64[:62], 53),
    "kaggle": lambda new: "KGAT_" + new(HEX, 32),
    "replicate": lambda new: "r8_" + new(LETTERS_AND_DIGITS, 37),
    "neptune": lambda new: "eyJhcGlfYWRkcmVzcyI6" + new(BASE64, 90) + "=",
    "databricks": lambda new: "dapi" + new(HEX, 32) + "-2",
    "nvidia": lambda new: "nvapi-" + new(URL_SAFE, 64),
    "openai": lambda new: "sk-" + new(LETTERS_AND_DIGITS, 20) + "T3BlbkFJ" + new(BASE64[:62], 20),
    "openai project": lambda new: "sk-proj-" + new(URL_SAFE, 120) + "Zz9",
    "anthropic": lambda new: "sk-ant-api03-" + new(URL_SAFE, 93) + "AA",
    "openrouter": lambda new: "sk-or-v1-" + new(HEX, 64),
    "groq": lambda new: "gsk_" + new(LETTERS_AND_DIGITS, 52),
    "xai": lambda new: "xai-" + new(LETTERS_AND_DIGITS, 80),
    "langsmith": lambda new: "lsv2_pt_" + new(HEX, 32) + "_" + new(HEX, 10),
    "pinecone": lambda new: "pcsk_" + new(LETTERS_AND_DIGITS, 6) + "_" + new(BASE64[:62], 60),
    "github classic": lambda new: "ghp_" + new(LETTERS_AND_DIGITS, 36),
    "github oauth": lambda new: "gho_" + new(LETTERS_AND_DIGITS, 36),
    "github app": lambda new: "ghs_" + new(LETTERS_AND_DIGITS, 36),
    "github refresh": lambda new: "ghr_" + new(LETTERS_AND_DIGITS, 76),
    "github fine-grained": lambda new: f"github_pat_{new(CAPITALS, 22)}_{new(BASE64[:62], 59)}",
    "gitlab": lambda new: "glpat-" + new(URL_SAFE, 19) + "7",
    "gitlab deploy": lambda new: "gldt-" + new(LETTERS_AND_DIGITS, 19) + "7",
    "gitlab job": lambda new: "glcbt-64_" + new(LETTERS_AND_DIGITS, 20),
    "npm": lambda new: "npm_" + new(LETTERS_AND_DIGITS, 36),
    "pypi": lambda new: "pypi-AgEIcHlwaS5vcmc" + new(URL_SAFE, 150),
    "docker hub": lambda new: "dckr_pat_" + new(URL_SAFE, 26) + "7",
    "artifactory": lambda new: "AKCp8" + new(LETTERS_AND_DIGITS, 68),
    "sentry": lambda new: "sntryu_" + new(HEX, 64),
    "aws key id": lambda new: "AKIA" + new(CAPITALS, 16),
    "aws temporary key id": lambda new: "ASIA" + new(CAPITALS, 16),
    "google api key": lambda new: "AIza" + new(URL_SAFE, 35),
    "google access token": lambda new: "ya29." + new(URL_SAFE, 120),
    "google client secret": lambda new: "GOCSPX-" + new(URL_SAFE, 28),
    "azure storage key": lambda new: new(BASE64, 86) + "==",
    "azure client secret": lambda new: new(BASE64[:62], 3) + "8Q~" + new(URL_SAFE, 34),
    "digitalocean": lambda new: "dop_v1_" + new(HEX, 64),
    "alibaba": lambda new: "LTAI5t" + new(LETTERS_AND_DIGITS, 18),
    "vault": lambda new: "hvs." + new(URL_SAFE, 90),
    "terraform": lambda new: f"{new(BASE64[:62], 14)}.atlasv1.{new(BASE64[:62], 67)}",
    "doppler": lambda new: "dp.pt." + new(LETTERS_AND_DIGITS, 43),
    "grafana": lambda new: "glsa_" + new(LETTERS_AND_DIGITS, 32) + "_" + new(HEX, 8),
    "slack bot": lambda new: (
        f"xoxb-{new('123456789', 12)}-{new('123456789', 12)}-" + new(LETTERS_AND_DIGITS, 24)
    ),
    "slack app": lambda new: f"xapp-1-A{new(CAPITALS, 10)}-{new('123456789', 13)}-{new(HEX, 64)}",
    "discord bot": lambda new: (
        "MT" + new(BASE64[:62], 22) + f".{new(BASE64[:62], 6)}." + new(URL_SAFE, 27)
    ),
    "telegram bot": lambda new: f"{new('123456789', 10)}:AA{new(URL_SAFE, 33)}",
    "twilio": lambda new: "SK" + new(HEX, 32),
    "sendgrid": lambda new: f"SG.{new(URL_SAFE, 22)}.{new(URL_SAFE, 43)}",
    "mailgun": lambda new: "key-" + new(HEX, 32),
    "stripe": lambda new: "sk_live_51" + new(LETTERS_AND_DIGITS, 97),
    "shopify": lambda new: "shpat_" + new(HEX, 32),
    "notion": lambda new: "ntn_" + new("123456789", 10) + new(LETTERS_AND_DIGITS, 36),
    "linear": lambda new: "lin_api_" + new(LETTERS_AND_DIGITS, 40),
    "json web token": lambda new: ".".join(
        (
            "eyJ" + new(URL_SAFE, 33),
            "eyJ" + new(URL_SAFE, 90),
            new(URL_SAFE, 43),
        )
    ),
    "age": lambda new: "AGE-SECRET-KEY-1" + new(CAPITALS, 58),
}

# Kinds whose address betrays what comes behind it.
WEBHOOKS: dict[str, tuple[str, Callable[[Invent], str]]] = {
    "webhook of slack": (
        "https://hooks.slack.com/services/",
        lambda new: f"T{new(CAPITALS, 8)}/B{new(CAPITALS, 8)}/{new(BASE64[:62], 24)}",
    ),
    "webhook of discord": (
        "https://discord.com/api/webhooks/",
        lambda new: f"{new('123456789', 18)}/{new(URL_SAFE, 68)}",
    ),
}

PERSONAL = (
    "mail address",
    "private address",
    "public address",
    "ip v6 address",
    "hardware address",
    "user of a home",
)

# Kinds that only their name betrays.
NAMED: dict[str, tuple[str, Callable[[Invent], str]]] = {
    "aws secret key": ("AWS_SECRET_ACCESS_KEY", lambda new: new(BASE64, 40)),
    "aws session token": ("AWS_SESSION_TOKEN", lambda new: "IQoJ" + new(BASE64, 400)),
    "wandb, old": ("WANDB_API_KEY", lambda new: new(HEX, 40)),
    "comet": ("COMET_API_KEY", lambda new: new(LETTERS_AND_DIGITS, 25)),
    "mlflow password": (
        "MLFLOW_TRACKING_PASSWORD",
        lambda new: "pw" + new(string.ascii_letters, 9),
    ),
    "any token": ("ACME_TOKEN", lambda new: new(LETTERS_AND_DIGITS, 12)),
    "any secret": ("ACME_SECRET", lambda new: new(string.ascii_lowercase, 14)),
    "any key": ("ACME_KEY", lambda new: new(LETTERS_AND_DIGITS, 20)),
    "database password": ("db_password", lambda new: new(string.ascii_lowercase, 11) + "7"),
    "client secret": ("client_secret", lambda new: new(URL_SAFE, 30) + "7"),
    "access token": ("access_token", lambda new: new(URL_SAFE, 30) + "7"),
}


def planted() -> Iterator[Planted]:
    """Yield every kind in every context."""
    for kind, shape in SHAPES.items():
        secret = shape(Invent(kind))
        for context, log in zip(CONTEXTS, _around(secret), strict=True):
            yield Planted(kind, context, log, (secret,))
    for kind, (address, shape) in WEBHOOKS.items():
        secret = shape(Invent(kind))
        for context, log in zip(CONTEXTS, _around(address + secret), strict=True):
            yield Planted(kind, context, log, (secret,))
    for kind, (name, shape) in NAMED.items():
        secret = shape(Invent(kind))
        for context, log in zip(CONTEXTS, _assigned(name, secret), strict=True):
            yield Planted(kind, context, log, (secret,))
    for kind, (secret, logs) in _PLACED.items():
        for context, log in zip(CONTEXTS, logs, strict=True):
            yield Planted(kind, context, log, (secret,), whole=kind in PERSONAL)
    for context, (log, parts) in _private_keys().items():
        yield Planted("private key", context, log, parts)


_TRACEBACK = 'Traceback (most recent call last):\n  File "/app/run.py", line 7, in <module>\n'


def _around(secret: str) -> tuple[str, ...]:
    return (
        _TRACEBACK + f'    login("{secret}")\nValueError: refused: {secret}\n',
        f"CUDA_VISIBLE_DEVICES=0,1\nACME_SETTING={secret}\nLANG=C\n",
        f'{{"run": 3, "detail": "{{\\"used\\": \\"{secret}\\"}}", "also": ["{secret}"]}}\n',
        f"GET https://trainer:{secret}@hub.example.com/v1?x={secret}&y=1 401\n",
        f"command: |\n  train.py \\\r\n    --with {secret} \\\r\n    --epochs 3\r\n",
    )


def _assigned(name: str, secret: str) -> tuple[str, ...]:
    return (
        _TRACEBACK + f"    connect({name}='{secret}', retries=3)\n"
        f"ValueError: refused with {name}={secret}\n",
        f'LANG=C\nexport {name}={secret}\ndeclare -x {name.upper()}="{secret}"\n',
        f'{{"env": {{"{name}": "{secret}"}}, "inner": "{{\\"{name}\\": \\"{secret}\\"}}"}}\n',
        f"GET https://hub.example.com/v1?a=1&{name}={secret}&y=1 401\n",
        f"env:\r\n  - name: {name}\r\n    value: {secret}\r\nother:\r\n  {name}: {secret}\r\n",
    )


def _private_keys() -> dict[str, tuple[str, tuple[str, ...]]]:
    new = Invent("private key")
    body = (*(new(BASE64, 64) for _ in range(18)), new(BASE64, 30) + "==")
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    escaped = "\\n".join((begin, *body, end))
    prefixed = "\n".join(f"[rank3]: {line}" for line in (begin, *body, end))
    encoded = escaped.replace("\\n", "%0A").replace(" ", "%20").replace("+", "%2B")
    plus_encoded = tuple(line.replace("+", "%2B") for line in body)
    return {
        "traceback": (f"{prefixed}\n[rank3]: ValueError: cannot read the key\n", body),
        "environment": (f'TLS_KEY="{escaped}\\n"\nLANG=C\n', body),
        "json": (f'{{"private_key": "{escaped}\\n", "type": "service_account"}}\n', body),
        "url": (f"POST https://hub.example.com/keys?key={encoded}&x=1\n", plus_encoded),
        "several lines": ("\r\n".join((begin, *body, end, "")), body),
    }


def _basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


_BASIC = _basic("trainer", "inventedOnly77")
_BEARER = Invent("bearer")(URL_SAFE, 40) + "7"
_COOKIE = Invent("cookie")(LETTERS_AND_DIGITS, 32)
_SIGNATURE = Invent("signature")(HEX, 64)

# Kinds that only their place betrays: the secret, and the five logs.
_PLACED: dict[str, tuple[str, tuple[str, ...]]] = {
    "bearer": (
        _BEARER,
        (
            f"requests.HTTPError: 401, headers={{'Authorization': 'Bearer {_BEARER}'}}\n",
            f"HTTP_AUTHORIZATION=Bearer {_BEARER}\n",
            f'{{"headers": {{"Authorization": "Bearer {_BEARER}"}}}}\n',
            f"GET https://hub.example.com/?authorization=Bearer%20{_BEARER}\n",
            f"curl https://hub.example.com \\\n  -H 'Authorization: Bearer {_BEARER}' \\\n  -s\n",
        ),
    ),
    "basic": (
        _BASIC,
        (
            f"requests.HTTPError: 401, headers={{'Authorization': 'Basic {_BASIC}'}}\n",
            f"HTTP_AUTHORIZATION=Basic {_BASIC}\n",
            f'{{"headers": {{"authorization": ["Basic {_BASIC}"]}}}}\n',
            f"GET https://hub.example.com/?authorization=Basic%20{_BASIC}\n",
            f"curl https://hub.example.com \\\n  -H 'Authorization: Basic {_BASIC}' \\\n  -s\n",
        ),
    ),
    "docker login": (
        _BASIC,
        (
            f"docker.errors.APIError: denied for {{'auth': '{_BASIC}'}}\n",
            f"DOCKER_AUTH={_BASIC}\n",
            f'{{"auths": {{"registry.example.com": {{"auth": "{_BASIC}"}}}}}}\n',
            f"GET https://registry.example.com/v2/?auth={_BASIC}&x=1\n",
            f'{{\n  "auths": {{\n    "registry.example.com": {{\n      "auth": "{_BASIC}"\n',
        ),
    ),
    "database password": (
        "inventedOnly77",
        (
            "OperationalError: postgresql+psycopg://trainer:inventedOnly77@db.internal:5432/runs\n",
            "DATABASE_URL=postgres://trainer:inventedOnly77@db.internal:5432/runs\n",
            '{"dsn": "mysql://trainer:inventedOnly77@db.internal/runs"}\n',
            "connecting to redis://:inventedOnly77@cache.internal:6379/0\n",
            "broker:\n  url: amqp://trainer:inventedOnly77@queue.internal:5672/\n",
        ),
    ),
    "session cookie": (
        _COOKIE,
        (
            f"requests.HTTPError: 403, headers={{'Cookie': 'session={_COOKIE}'}}\n",
            f"SESSION_TOKEN={_COOKIE}\n",
            f'{{"set-cookie": "session={_COOKIE}; Path=/"}}\n',
            f"GET https://hub.example.com/lab?token={_COOKIE}\n",
            f"curl https://hub.example.com \\\n  -H 'Cookie: session={_COOKIE}' \\\n  -s\n",
        ),
    ),
    "signed address": (
        _SIGNATURE,
        (
            f"HTTPError: 403 for https://b.s3.amazonaws.com/k?X-Amz-Signature={_SIGNATURE}\n",
            f"CHECKPOINT=https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature={_SIGNATURE}\n",
            f'{{"url": "https://cdn.example.com/k?Expires=1&Signature={_SIGNATURE}&Key-Pair-Id=K"}}\n',
            f"GET https://b.storage.googleapis.com/k?X-Goog-Signature={_SIGNATURE}&x=1 403\n",
            f"url:\n  https://a.blob.core.windows.net/k?sv=1&sig={_SIGNATURE}&se=1\n",
        ),
    ),
    "mail address": (
        "ada.invented@example.com",
        (
            "GatedRepoError: access for ada.invented@example.com is pending\n",
            "GIT_AUTHOR_EMAIL=ada.invented@example.com\n",
            '{"author": "Ada <ada.invented@example.com>", "n": "\\nada.invented@example.com"}\n',
            "POST https://hub.example.com/invite?to=ada.invented@example.com&x=1\n",
            "#SBATCH --nodes=2\r\n#SBATCH --mail-user=ada.invented@example.com\r\n",
        ),
    ),
    "private address": (
        "10.11.12.13",
        (
            "RuntimeError: [pair.cc:553] Connection closed by peer [10.11.12.13]:36721\n",
            "MASTER_ADDR=10.11.12.13\nNCCL_COMM_ID=10.11.12.13:29500\n",
            '{"peer": "10.11.12.13", "inner": "{\\"ip\\": \\"10.11.12.13\\"}"}\n',
            "GET http://10.11.12.13:8000/health 200\n",
            "10.11.12.13: [rank3]: Traceback (most recent call last):\r\n10.11.12.13: x\r\n",
        ),
    ),
    "public address": (
        "203.0.113.77",
        (
            "ConnectionError: no route to 203.0.113.77.\n",
            "SSH_CLIENT=203.0.113.77 50000 22\n",
            '{"remote": "203.0.113.77:443"}\n',
            "GET https://203.0.113.77/v1 200\n",
            "hosts:\n  - 203.0.113.77\n  - (203.0.113.77)\n",
        ),
    ),
    "ip v6 address": (
        "2001:db8:1f::2a",
        (
            "RuntimeError: connect to [2001:db8:1f::2a]:36721 failed\n",
            "MASTER_ADDR=2001:db8:1f::2a\n",
            '{"peer": "2001:db8:1f::2a"}\n',
            "GET http://[2001:db8:1f::2a]:8000/health 200\n",
            "NCCL INFO Using eth0:2001:db8:1f::2a<0>\ninet6 2001:db8:1f::2a/64 scope global\n",
        ),
    ),
    "hardware address": (
        "02:42:ac:11:00:2a",
        (
            "OSError: no device with 02:42:ac:11:00:2a\n",
            "HWADDR=02:42:ac:11:00:2a\n",
            '{"mac": "02:42:ac:11:00:2a"}\n',
            "GET http://boot.internal/?mac=02:42:ac:11:00:2a&x=1\n",
            "2: eth0: <UP>\n    link/ether 02:42:ac:11:00:2a brd ff:ff:ff:ff:ff:ff\n",
        ),
    ),
    "user of a home": (
        "adainvented",
        (
            '  File "/home/adainvented/run/train.py", line 3, in <module>\n',
            "HOME=/home/adainvented\nUSER=adainvented\n",
            '{"cwd": "/Users/adainvented/run", "win": "C:\\\\Users\\\\adainvented\\\\run"}\n',
            "file:///home/adainvented/run/log.txt\n",
            "total 4\r\n/home/adainvented/a\r\nC:\\Users\\adainvented\\b\r\n~adainvented/c\r\n",
        ),
    ),
}
