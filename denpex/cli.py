"""`denpex …`: the same engine on this machine, with nothing uploaded.

Each subcommand imports what it needs when it runs, so that `denpex diagnose` starts fast and works
where no server is installed.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from encyclopedia.catalogue import CatalogueError

__all__ = ["main"]

EXIT_NAMED = 0
EXIT_USAGE = 2
EXIT_NO_FAILURE = 3
EXIT_NOT_NAMED = 4
_EXIT_STATUS = {
    "established": EXIT_NAMED,
    "probable": EXIT_NAMED,
    "symptom_only": EXIT_NOT_NAMED,
    "unrecognised": EXIT_NOT_NAMED,
    "no_failure": EXIT_NO_FAILURE,
    "unreadable": EXIT_USAGE,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status."""
    _print_what_the_terminal_can()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["up"], ["manage"]):
        return _site(arguments[0], arguments[1:])
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except CatalogueError as error:
        print(f"denpex: the catalogue cannot be read: {error}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # The reader has left (`denpex … | head`); there is nobody to tell.
        sys.stderr.close()
        return 0


def _print_what_the_terminal_can() -> None:
    """Put a question mark where a locale has no such character, instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="denpex",
        description="Why did this ML run die, which rank went first, and what to do now.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    diagnose = commands.add_parser(
        "diagnose",
        help="read logs and name the root cause",
        description="Read the log of one run and name the root cause. Several files are read as"
        " parts of one run: per rank, or per node. Nothing is uploaded.",
        epilog="exit status: 0 a failure was named · 2 bad usage or unreadable input ·"
        " 3 nothing failed in what was read · 4 only a symptom, or unrecognised",
    )
    diagnose.add_argument("files", nargs="*", metavar="FILE", help="log file, or - for stdin")
    diagnose.add_argument("--json", action="store_true", help="print the verdict as JSON")
    diagnose.add_argument(
        "--mask",
        action="store_true",
        help="mask secrets and personal details first, as the site does",
    )
    diagnose.set_defaults(run=_diagnose)

    evaluate = commands.add_parser(
        "eval",
        help="score a folder of cases with known truth",
        description="Score a folder of cases: each a folder with log.txt and truth.json.",
    )
    evaluate.add_argument("folder", type=Path, metavar="DIR")
    evaluate.add_argument("--json", action="store_true", help="print the figures as JSON")
    evaluate.add_argument(
        "--into",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="put the figures into a Markdown or JSON file instead; may be given twice",
    )
    evaluate.set_defaults(run=_evaluate)

    check = commands.add_parser(
        "check",
        help="check the failure files",
        description="Check failure files: schema, names, patterns, code blocks and test texts.",
    )
    check.add_argument("slugs", nargs="*", metavar="SLUG", help="only these failures")
    check.set_defaults(run=_check)

    mail = commands.add_parser(
        "mail",
        help="show the mail that a site on this machine has written",
        description="List the mail that the site on this machine has written instead of sending"
        " it, the newest first, or show one of them.",
    )
    mail.add_argument("number", nargs="?", type=int, metavar="N", help="which one; 1 is the newest")
    mail.set_defaults(run=_mail)

    commands.add_parser("up", help="run the whole site on this machine", add_help=False)
    commands.add_parser(
        "manage", help="run a command of manage.py on the site of this machine", add_help=False
    )
    return parser


def _diagnose(options: argparse.Namespace) -> int:
    from denpex.cli_diagnose import InputError, diagnose_files, print_json, print_verdict

    try:
        verdict, masked = diagnose_files(options.files, mask=options.mask)
    except InputError as error:
        print(f"denpex: {error}", file=sys.stderr)
        return EXIT_USAGE
    if options.json:
        print_json(verdict)
    else:
        print_verdict(verdict, masked)
    return _EXIT_STATUS[verdict.outcome]


def _evaluate(options: argparse.Namespace) -> int:
    from denpex.evaluation import CasesError, evaluate, print_scores, read_cases, write_figures

    try:
        scores = evaluate(read_cases(options.folder))
        for path in options.into:
            write_figures(scores, path)
        if not options.into:
            print_scores(scores, as_json=options.json)
    except CasesError as error:
        print(f"denpex: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


def _check(options: argparse.Namespace) -> int:
    from denpex.failure_check import check_failures

    return check_failures(options.slugs)


def _mail(options: argparse.Namespace) -> int:
    from denpex.cli_mail import show

    return show(options.number)


def _site(command: str, arguments: Sequence[str]) -> int:
    try:
        from denpex import up
    except ImportError as error:
        print(
            f"denpex: the server is not installed ({error.name}); `make install` installs it",
            file=sys.stderr,
        )
        return EXIT_USAGE
    return up.main(arguments) if command == "up" else up.manage(arguments)


if __name__ == "__main__":
    sys.exit(main())
