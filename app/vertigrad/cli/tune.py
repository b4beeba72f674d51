"""`vertigrad tune`: measure the variants of the kernels on this GPU, and save which are the fastest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..errors import InputError
from .options import AdapterOption, console, errors_console

if TYPE_CHECKING:
    from ..ops.tuning import Measurement, Tuned


def command(
    kernels: Annotated[
        list[str] | None, typer.Argument(metavar="[KERNEL]...", help="matmul, gemv, mlp; all of them if none is named")
    ] = None,
    adapter: AdapterOption = "",
) -> None:
    """Measure variants of the kernels on this GPU (about a minute) and save the fastest correct ones."""
    from ..ops import tuning
    from ..ops.tunable import tuned
    from .running import open_gpu

    gpu = open_gpu(adapter)
    families = tuned(small=gpu.adapter.kind == "software")
    known = [one.family.name for one in families]
    unknown = [name for name in kernels or [] if name not in known]
    if unknown:
        raise InputError(f"{', '.join(unknown)}: no such kernel to tune; there are {', '.join(known)}")
    chosen = [one for one in families if not kernels or one.family.name in kernels]
    measurements = _measured(chosen)
    path = tuning.keep((one.family for one in chosen), tuning.fastest(measurements))
    console.print(_table(str(gpu.adapter), chosen, measurements))
    for found in measurements:
        if math.isfinite(found.error) and found.error > 1.0:
            errors_console.print(
                f"wrong on this adapter, and not used: {found.family} {found.variant} for {found.key} "
                f"({found.error:.3g} times the error allowed)",
                style="yellow",
            )
    console.print(f"saved in {path}")


def _measured(chosen: list[Tuned]) -> list[Measurement]:
    """Every measurement, with a bar on stderr meanwhile."""
    from ..ops import tuning

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    measurements: list[Measurement] = []
    with Progress(*columns, console=errors_console) as progress:
        task = progress.add_task("measuring", total=sum(tuning.count(one) for one in chosen))
        for one in chosen:
            progress.update(task, description=one.family.name)
            for found in tuning.measure(one):
                measurements.append(found)
                progress.update(task, advance=1, description=f"{found.family} {found.key}")
    return measurements


def _table(adapter: str, chosen: list[Tuned], measurements: list[Measurement]) -> Table:
    """For each class of sizes the fastest variant, and how much faster it is than the one that comes with Vertigrad."""
    from ..gpu import gpu

    table = Table(title=Text(f"fastest variants on {adapter}"), caption="gain: over the default variant")
    for heading in ("kernel", "sizes", "variant", "ms", "gain"):
        table.add_column(heading, justify="right" if heading in ("ms", "gain") else "left")
    for one in chosen:
        names = {variant: name for name, variant in one.family.variants.items()}
        for key in one.problems:
            times = {m.variant: m.ms for m in measurements if (m.family, m.key) == (one.family.name, key)}
            best = min(times, key=lambda name: times[name], default="")
            if not best or not math.isfinite(times[best]):
                table.add_row(one.family.name, key, "none is right; the default stays", "", "")
                continue
            before = times.get(names[one.family.default(key, gpu())], math.inf)
            table.add_row(one.family.name, key, best, f"{times[best]:.4f}", f"{before / max(times[best], 1e-9):.2f}x")
    return table
