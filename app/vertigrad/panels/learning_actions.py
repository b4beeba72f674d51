"""`LEARNING_ACTIONS`: the rows of the table of actions that are about networks that learn."""

from __future__ import annotations

from ..session import Session
from ..session.commands import ExportNetwork
from .actions import Action, posts
from .workspace import Workspace


def _learns(session: Session, workspace: Workspace) -> bool:
    return sum(bool(actor.model.exports) for actor in session.stage.actors.values()) == 1


LEARNING_ACTIONS: tuple[Action, ...] = tuple(
    Action("File", f"Export what was learned as {name}", posts(ExportNetwork(suffix)), possible=_learns, group=4)
    for name, suffix in (("safetensors", ".safetensors"), ("ONNX", ".onnx"))
)
