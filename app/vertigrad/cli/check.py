"""`vertigrad check`: is a scene valid, and are its models right on this GPU?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RequirementError
from .options import AdapterOption, SceneArgument, SeedOption, SetOption, TrustOption, console, errors_console

if TYPE_CHECKING:
    from ..session import Session


def command(
    scene: SceneArgument,
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    trust: TrustOption = False,
    reference: Annotated[bool, typer.Option(help="compare each model with its NumPy reference")] = True,
    twins: Annotated[bool | None, typer.Option(hidden=True)] = None,
) -> None:
    """Validate SCENE, and compare every model with its NumPy reference on this GPU."""
    from .running import open_session

    if twins is not None:
        errors_console.print(f"--{'' if twins else 'no-'}twins is now called --{'' if twins else 'no-'}reference")
        reference = twins
    with open_session(scene, set, seed, adapter, trust=trust) as session:
        found = session.scene
        console.print(
            f"{found.path}: OK, {_counted(len(found.models), 'model')}, {_counted(len(found.layers), 'layer')}"
        )
        differing = _compared(session) if reference else []
        if differing:
            raise RequirementError(f"differs from its NumPy reference on {session.gpu.adapter}: {', '.join(differing)}")


def _compared(session: Session) -> list[str]:
    """Print the comparison of each model with its reference; returns the quantities that differ."""
    differing = []
    for name, instance in session.stage.instances.items():
        for comparison in instance.model.compare_with_reference():
            console.print(f"  {name}.{comparison}")
            if not comparison.holds:
                differing.append(f"{name}.{comparison.name}")
    return differing


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
