"""`TRAINING_ACTIONS`: the actions that export trained networks."""

from __future__ import annotations

from collections.abc import Callable

from ..session import Session
from ..session.commands import ExportNetwork
from .actions import Action, posts
from .workspace import Workspace


def _writes(suffix: str) -> Callable[[Session, Workspace], bool]:
    """Whether the one model that is trained can be exported as such a file."""

    def writes(session: Session, workspace: Workspace) -> bool:
        kinds = [instance.model.exports for instance in session.stage.instances.values() if instance.model.exports]
        return len(kinds) == 1 and suffix in kinds[0]

    return writes


TRAINING_ACTIONS: tuple[Action, ...] = tuple(
    Action("File", f"Export trained weights as {name}", posts(ExportNetwork(suffix)), possible=_writes(suffix), group=4)
    for name, suffix in (
        ("safetensors", ".safetensors"),
        ("ONNX", ".onnx"),
        ("PLY", ".ply"),
        ("checkpoint", ".checkpoint"),
    )
)
