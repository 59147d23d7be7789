import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.diagnosis.engine.logs import PEER_CLOSED, announced, of_rank, steps, traceback

FAILED = "\n".join((announced(2), of_rank(1, "KeyError: 'mask'"), of_rank(0, PEER_CLOSED), ""))

PROJECT = Path(__file__).parent.parent.parent
ASCII_ALONE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

LOADED_PACKAGES = """
import sys, denpex.cli_diagnose
print(sorted({name.partition('.')[0] for name in sys.modules}))
"""


def denpex(*arguments: str, text: str | bytes = b"", **environment: str):
    data = text.encode() if isinstance(text, str) else text
    return subprocess.run(
        [sys.executable, "-m", "denpex.cli", *arguments],
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_it_works(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(FAILED)
    done = denpex("diagnose", str(log))
    assert done.returncode == 0
    text = done.stdout.decode()
    assert text.startswith("Root cause: ")
    assert "first on rank 1" in text
    assert "KeyError: 'mask'" in text


def test_standard_input_is_read(tmp_path: Path) -> None:
    for arguments in (["diagnose"], ["diagnose", "-"]):
        assert denpex(*arguments, text=FAILED).returncode == 0


def test_json_is_the_verdict(tmp_path: Path) -> None:
    verdict = json.loads(denpex("diagnose", "--json", text=FAILED).stdout)
    assert verdict["schema"] == "denpex.verdict/1"
    assert verdict["primary"]["rank"] == 1


def test_the_same_log_gives_the_same_bytes_in_two_processes() -> None:
    one, other = (
        denpex("diagnose", "--json", text=FAILED, PYTHONHASHSEED=seed).stdout for seed in "12"
    )
    assert one == other


def test_several_files_are_parts_of_one_run(tmp_path: Path) -> None:
    for rank, error in enumerate((PEER_CLOSED, "KeyError: 'mask'")):
        (tmp_path / f"rank_{rank}.log").write_text(traceback(error))
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    verdict = json.loads(denpex("diagnose", "--json", *names).stdout)
    assert verdict["primary"]["rank"] == 1


def test_a_packed_log_is_unpacked(tmp_path: Path) -> None:
    log = tmp_path / "run.log.gz"
    log.write_bytes(gzip.compress(FAILED.encode()))
    assert denpex("diagnose", str(log)).returncode == 0


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (FAILED, 0),
        (steps(1, 9), 3),
        (traceback("OddError: unheard of"), 4),
        (of_rank(0, PEER_CLOSED), 4),
        ("", 2),
        (" \n\t\n", 2),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 99, 2),
    ],
)
def test_the_exit_status_tells_the_outcome(text: str | bytes, status: int) -> None:
    assert denpex("diagnose", text=text).returncode == status


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = denpex("diagnose", str(tmp_path / "gone.log"))
    assert done.returncode == 2
    assert "gone.log: No such file or directory" in done.stderr.decode()


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    done = denpex("diagnose", str(tmp_path))
    assert (done.returncode, b"name the log files in it" in done.stderr) == (2, True)


def test_damaged_gzip_data_is_said(tmp_path: Path) -> None:
    log = tmp_path / "run.log.gz"
    log.write_bytes(gzip.compress(FAILED.encode())[:40])
    done = denpex("diagnose", str(log))
    assert (done.returncode, b"damaged gzip data" in done.stderr) == (2, True)


def test_garbled_gzip_data_is_said(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(FAILED.encode() * 50))
    packed[20:40] = b"\xff" * 20
    log = tmp_path / "run.log.gz"
    log.write_bytes(packed)
    done = denpex("diagnose", str(log))
    assert (done.returncode, b"damaged gzip data" in done.stderr) == (2, True)


def test_a_log_commands_no_terminal() -> None:
    bell, clear, backwards = "\a", "\x9b2J", "\u202e"
    log = FAILED.replace("mask", f"m{bell}{clear}{backwards}ask")
    done = denpex("diagnose", text=log, PYTHONUTF8="1")
    text = done.stdout.decode()
    assert "KeyError: 'm\ufffd\ufffd2J\ufffdask'" in text
    assert not {bell, "\x9b", backwards} & set(text)


def test_unreadable_says_so_once() -> None:
    text = denpex("diagnose", text="").stdout.decode()
    assert text.count("no text to read") == 1


def test_bad_usage_has_status_two() -> None:
    assert denpex().returncode == 2
    assert denpex("diagnose", "--colour").returncode == 2
    assert denpex("unheard-of").returncode == 2


def test_masking_hides_addresses_and_says_where_they_stood() -> None:
    log = FAILED.replace("127.0.0.1", "10.7.0.11")
    done = denpex("diagnose", "--mask", text=log)
    assert b"10.7.0.11" not in done.stdout
    assert b"<ip-1>: first on line" in done.stdout


def test_any_locale_will_do() -> None:
    for locale in ({"LC_ALL": "xx_YY.UTF-8"}, ASCII_ALONE):
        done = denpex("diagnose", text="Größe: 5 µm\n" + FAILED, **locale)
        assert (done.returncode, done.stderr) == (0, b"")
        done = denpex("diagnose", "--help", **locale)
        assert (done.returncode, done.stderr) == (0, b"")


def test_every_command_has_help() -> None:
    for command in ("diagnose", "eval", "check", "up"):
        done = denpex(command, "--help")
        assert (done.returncode, b"usage:" in done.stdout) == (0, True), command


def test_the_engine_loads_nothing_of_the_server() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            LOADED_PACKAGES,
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for package in ("django", "celery", "kombu", "redis", "psycopg", "yaml"):
        assert f"'{package}'" not in loaded


def test_a_catalogue_that_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    """A contributor's slip in a failure file is no traceback."""
    shutil.copytree(
        PROJECT, tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "tests", "build")
    )
    damaged = next((tmp_path / "copy" / "encyclopedia" / "failures").glob("*/*.md"))
    damaged.write_text("no front matter")
    done = subprocess.run(
        [sys.executable, "-m", "denpex.cli", "diagnose"],
        cwd=tmp_path / "copy",
        input=b"x\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("denpex: the catalogue cannot be read: ")
    assert damaged.name in line
