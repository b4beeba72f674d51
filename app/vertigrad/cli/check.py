"""`vertigrad check`: is a scene sound, and are its models right on this GPU?"""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import RequirementError
from ..session import Session
from .options import AdapterOption, SceneArgument, SeedOption, SetOption, console, open_gpu, scene_path


def command(
    scene: SceneArgument,
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    twins: Annotated[bool, typer.Option(help="compare each model with its NumPy twin")] = True,
) -> None:
    """Validate SCENE, and compare every model with its NumPy twin on this GPU."""
    session = Session(open_gpu(adapter), scene_path(scene), set, seed)
    console.print(f"{session.scene.path}: sound, {len(session.scene.models)} models, {len(session.scene.layers)} layers")
    wrong = []
    for name, actor in session.stage.actors.items() if twins else ():
        assert actor.model is not None
        for comparison in actor.model.compare_with_twin():
            console.print(f"  {name}.{comparison}", markup=False)
            if not comparison.holds:
                wrong.append(f"{name}.{comparison.name}")
    session.close()
    if wrong:
        raise RequirementError(f"differs from its NumPy twin on {session.gpu.adapter}: {', '.join(wrong)}")
