# SPDX-License-Identifier: Apache-2.0
"""How a command ends: the one place that turns a verdict or an exception into words and an exit status.

| status | |
|---|---|
| 0 | done, and every requirement met |
| 1 | done, but a requirement (a deadline, a bound, a comparison) was not met |
| 2 | what was given is wrong: a file, an option |
| 3 | the machine failed: a tool is missing, a permission, room on a disk, or Penstock has a fault |
| 130 | interrupted |

A command says its verdict by `end(ok)` and raises all else: `InputError` ends it with 2, `MachineError`, `OSError` and
whatever nobody expected with 3. With `--json` each of them is printed as `{"ok": false, "errors": [...]}` too.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.exceptions import TyperException

from penstock.command import answer as answers
from penstock.command import console
from penstock.command.help import in_words
from penstock.errors import InputError, MachineError, RunError, located
from penstock.signals import handled

DEBUG = "PENSTOCK_DEBUG"


class Status(IntEnum):
    """Exit statuses."""

    MET = 0
    NOT_MET = 1
    BAD_INPUT = 2
    MACHINE = 3
    INTERRUPTED = 130


def end(ok: bool) -> NoReturn:
    """Ends a command that did its work, with its verdict."""
    raise typer.Exit(Status.MET if ok else Status.NOT_MET)


def interrupted() -> NoReturn:
    """Ends a command that was interrupted, and has said what it had until then."""
    raise typer.Exit(Status.INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[None]:
    """A polite kill ends the program as Ctrl-C does, so that everything is undone."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handled(interrupt, signal.SIGTERM, signal.SIGHUP):
        yield


@dataclass(frozen=True)
class _Failure:
    status: Status
    errors: Sequence[dict[str, Any]]  # for programs
    said: Sequence[str]  # for people


_INTERRUPTED = _Failure(Status.INTERRUPTED, [located("interrupted")], ())


def run(app: typer.Typer, arguments: Sequence[str], name: str = "penstock") -> int:
    """Runs a command line and gives its exit status; lets nothing through but a wish to end the program."""
    answers.forget()
    console.prepare_streams()
    try:
        status = _status(app, arguments, name)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        console.nobody_reads(sys.stdout)
        status = Status.MET
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except OSError as error:  # standard output is on a full disk
        status = _tell(_failure(error), ())
    return status


def _status(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    try:
        command = typer.main.get_command(app)
        in_words(command)
        found = command(list(arguments), prog_name=name, standalone_mode=False)
    except SystemExit as ended:
        # The library ends so where nobody reads its output any more.
        if _is_broken_pipe(ended.__context__):
            raise BrokenPipeError from None
        return ended.code if isinstance(ended.code, int) else Status.MET if ended.code is None else Status.MACHINE
    except (KeyboardInterrupt, typer.Abort):
        failure = _INTERRUPTED
    except TyperException as error:
        failure = _of_command_line(error)
    except Exception as error:
        failure = _failure(error)
    else:
        if found != Status.INTERRUPTED:
            return found if isinstance(found, int) else Status.MET
        failure = _INTERRUPTED
    return _tell(failure, arguments)


def _is_broken_pipe(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _of_command_line(error: Any) -> _Failure:
    """Of options and arguments, as the library sees them."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is printed already
        return _Failure(Status.BAD_INPUT, [located("a command is missing")], ())
    hint: Any = getattr(error, "param_hint", None) or getattr(getattr(error, "param", None), "opts", ())
    place = " / ".join([hint] if isinstance(hint, str) else hint) or getattr(error, "option_name", None)
    context = getattr(error, "ctx", None)
    what = error.format_message().rstrip(".").replace("Value error, ", "")
    said = [what] if context is None else [what, f"see {context.command_path} --help"]
    return _Failure(Status.BAD_INPUT, [located(what, file=place)], ["; ".join(said)])


def _failure(error: Exception) -> _Failure:
    if isinstance(error, InputError):
        return _Failure(Status.BAD_INPUT, [each.as_json() for each in error.errors], [str(e) for e in error.errors])
    if isinstance(error, MachineError):
        front = "the run failed: " if isinstance(error, RunError) else ""
        said = [f"{front}{each}" for each in error.errors]
        return _Failure(Status.MACHINE, [each.as_json() for each in error.errors], said)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
        return _Failure(Status.MACHINE, [located(error.strerror, file=file)], [f"{file}: {error.strerror}"])
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror
    elif isinstance(error, MemoryError):
        what = "memory is short"
    else:
        what = f"{type(error).__name__}: {error}; this is a fault of Penstock"
    return _Failure(Status.MACHINE, [located(what)], [f"{what}; {_where(error)}"])


def _where(error: Exception) -> str:
    """Says how its author finds the fault."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
        return "its stack trace is above"
    try:
        number, path = tempfile.mkstemp(prefix="penstock-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exception(error, file=file)
    except OSError:
        return f"{DEBUG}=1 shows its stack trace"
    return f"its stack trace is in {path}, and shown with {DEBUG}=1"


def _tell(failure: _Failure, arguments: Sequence[str]) -> int:
    for said in failure.said:
        console.complain(said)
    form = answers.asked(arguments)
    if form is answers.Format.TEXT or answers.is_answered():
        return failure.status
    if form is answers.Format.JSON:
        answers.answer(answers.refusal(failure.errors))
    else:
        from penstock.command import ci

        name = next((word for word in arguments if not word.startswith("-")), "")
        ci.print_cases(form, name, [ci.Case("penstock", name, failure.errors)])
    return failure.status
