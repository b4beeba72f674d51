"""The command line: one subcommand for each verb. What goes wrong is told in a line, never in a traceback."""

from __future__ import annotations

import os

import click
import typer

from ..errors import VertigradError
from . import bench, check, info, render, run
from .options import console, errors_console

app = typer.Typer(
    name="vertigrad",
    help="See neural networks and physics run: their tensors are drawn where they lie in GPU memory.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=False,
)
app.command("run")(run.command)
app.command("render")(render.command)
app.command("check")(check.command)
app.command("bench")(bench.command)
app.command("info")(info.command)


@app.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        run.command(run.DEFAULT_SCENE)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 our fault, 2 the user's input, 3 a requirement, 4 no GPU."""
    try:
        return app(arguments, standalone_mode=False) or 0
    except VertigradError as error:
        errors_console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.print("stopped")
        return 130
    except Exception as error:
        if os.environ.get("VERTIGRAD_TRACEBACK") == "1":
            raise
        errors_console.print(
            f"this is a fault of Vertigrad: {type(error).__name__}: {error}\n"
            "run again with VERTIGRAD_TRACEBACK=1 and report what it prints",
            style="red",
            markup=False,
            soft_wrap=True,
        )
        return 1
