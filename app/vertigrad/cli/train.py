"""`vertigrad train`: train the networks of a scene without drawing, and write their weights."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import AdapterOption, SceneArgument, SeedOption, SetOption, TrustOption, console, errors_console

if TYPE_CHECKING:
    from ..session import Session

STEP = 1 / 60  # s; how long a step takes does not matter to what is learned
REPORTS = 10  # lines of diagnostics in a run


def command(
    scene: SceneArgument,
    output: Annotated[
        list[Path],
        typer.Option("--output", "-o", metavar="FILE", help="file.safetensors, .onnx or .ply; may be repeated"),
    ] = [],  # noqa: B006
    steps: Annotated[int, typer.Option(min=1, metavar="N", help="number of training steps")] = 1000,
    model: Annotated[str, typer.Option(metavar="NAME", help="which model to write, if several are trained")] = "",
    best: Annotated[bool, typer.Option(help="write the best weights, not the newest")] = True,
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    trust: TrustOption = False,
) -> None:
    """Train the networks of SCENE without drawing, and write their weights."""
    from ..session.commands import ExportNetwork, SetParameter
    from ..session.commands.files import learner
    from .running import open_session

    for path in output:
        if not path.absolute().parent.is_dir():
            raise InputError(f"--output {path}: there is no folder {path.parent}")
    with open_session(scene, set, seed, adapter, trust=trust) as session:
        name = learner(session, model)
        instance = session.stage.instances[name]
        for path in output:
            if path.suffix.lower() not in instance.model.exports:
                raise InputError(f"--output {path}: expected a name that ends in {' or '.join(instance.model.exports)}")
        _learn(session, name, steps)
        if best and "show" in type(instance.params).model_fields:
            session.carry_out(SetParameter(f"models.{name}", "show", "best"))
        if not output:
            errors_console.print("the trained weights were not written; add --output FILE to save them", style="yellow")
        for path in output:
            session.carry_out(ExportNetwork(model=name, path=path))
            console.print(f"{path}: {path.stat().st_size:,} bytes")


def _learn(session: Session, name: str, steps: int) -> None:
    """Take the steps, and print the diagnostics now and then."""
    stage, begun = session.stage, time.perf_counter()
    for number in range(1, steps + 1):
        stage.step(STEP)
        session.gpu.submit()
        if number % max(steps // REPORTS, 1) == 0 or number == steps:
            found = stage.instances[name].model.diagnostics()
            text = ", ".join(f"{key} {tensor.item():.4g}" for key, tensor in found.items())
            for tensor in found.values():
                tensor.close()
            console.print(f"step {number:,} after {time.perf_counter() - begun:.1f} s: {text}")
