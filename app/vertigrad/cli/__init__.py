"""The command line: one module for each subcommand. Errors are printed in one line, without a traceback.

Subcommands import what they need when they are called, so that help and usage errors load no GPU library.
"""

from __future__ import annotations

import os
import traceback
from typing import Annotated

import typer

from ..errors import VertigradError
from . import (
    bench,
    check,
    generate,
    infer,
    info,
    mcp,
    record,
    reference,
    render,
    results,
    run,
    serve,
    sweep,
    train,
    tune,
)
from .options import console, errors_console, printable

WITHOUT_DISPLAY = (
    "without one, `vertigrad render SCENE -o out.mp4 --frames 120` makes a video, `vertigrad check SCENE` checks "
    "a scene, `vertigrad models` and `vertigrad scenes` list what there is"
)
INTERRUPTED = 130  # as a shell has it for a program that was stopped with Ctrl-C

app = typer.Typer(
    name="vertigrad",
    help="See neural networks and physics run: their tensors are drawn where they lie in GPU memory.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)
app.command("run")(run.command)
app.command("render")(render.command)
app.command("record")(record.command)
app.command("sweep")(sweep.command)
app.command("results")(results.command)
app.command("serve")(serve.command)
app.command("mcp")(mcp.command)
app.command("check")(check.command)
app.command("bench")(bench.command)
app.command("infer")(infer.command)
app.command("generate")(generate.command)
app.command("info")(info.command)
app.command("train")(train.command)
app.command("tune")(tune.command)
app.command("scenes")(reference.scenes)
app.command("models")(reference.models)
app.command("layers")(reference.layers)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        console.print(f"vertigrad {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _default(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    if not run.has_display():
        reference.scenes()
        raise run.no_display(WITHOUT_DISPLAY)
    run.command(run.DEFAULT_SCENE, gallery=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0 fine, 1 a fault of ours, 2 the user's input, 3 a requirement not met, 4 no usable GPU. With VERTIGRAD_TRACEBACK=1
    in the environment a traceback is printed as well.
    """
    try:
        return app(arguments, prog_name="vertigrad", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except VertigradError as error:
        return _print_error(str(error), error.exit_code)
    except Exception as error:
        if _is_usage(error):
            return _print_error(f"{_sentence(error)} (see {_help_of(error)})", 2)
        return _print_error(
            f"this is a fault of Vertigrad: {type(error).__name__}: {' '.join(str(error).split())}; "
            "VERTIGRAD_TRACEBACK=1 shows where, please report it",
            1,
        )


def _print_error(message: str, code: int) -> int:
    if os.environ.get("VERTIGRAD_TRACEBACK") == "1":
        traceback.print_exc()
    errors_console.print(printable(message), style="red")
    return code


def _is_usage(error: Exception) -> bool:
    """Whether it is the option parser's. Its class is part of typer or of click, as the version has it."""
    return isinstance(error, typer.BadParameter.__bases__)


def _sentence(error: Exception) -> str:
    text = error.format_message()  # type: ignore[attr-defined]
    return " ".join(text.split())


def _help_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'vertigrad'} --help"
