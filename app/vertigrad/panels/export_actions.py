"""Actions of the File menu that write what is drawn, measured or trained into files of other programs."""

from __future__ import annotations

from imgui_bundle import icons_fontawesome_6 as icons

from ..export.layers import can_be_exported
from ..session import Session, commands
from .actions import Action, tests
from .workspace import Workspace

NETWORK_FILES = {"safetensors": ".safetensors", "ONNX": ".onnx", "PLY": ".ply", "checkpoint": ".checkpoint"}

_has_geometry = tests(lambda session: any(map(can_be_exported, session.stage.layers.values())))
_has_measurements = tests(lambda session: bool(session.diagnostics.history or session.watches.history))


def _export_geometry(session: Session, workspace: Workspace) -> None:
    workspace.exporting, workspace.export_layer = "geometry", ""


_has_selected_rows = tests(lambda session: session.rows.selected is not None)


def _export_selection(session: Session, workspace: Workspace) -> None:
    workspace.exporting = "selection"


def _export_measurements(session: Session, workspace: Workspace) -> None:
    workspace.exporting = "measurements"


def _can_export(session: Session, suffix: str) -> bool:
    """Whether the one model that is trained can be exported as such a file."""
    kinds = [instance.model.exports for instance in session.stage.instances.values() if instance.model.exports]
    return len(kinds) == 1 and suffix in kinds[0]


def _export(name: str, suffix: str) -> Action:
    possible = tests(lambda session: _can_export(session, suffix))
    export = commands.ExportNetwork(suffix)
    return Action("File", f"Export trained weights as {name}", export, possible=possible, group=4)


EXPORTS: tuple[Action, ...] = (
    Action(
        "File", "Export geometry…", _export_geometry, icon=icons.ICON_FA_FILE_EXPORT, possible=_has_geometry, group=5
    ),
    Action(
        "File",
        "Export selected rows…",
        _export_selection,
        icon=icons.ICON_FA_FILE_EXPORT,
        possible=_has_selected_rows,
        group=5,
    ),
    Action(
        "File",
        "Export diagnostics and watches…",
        _export_measurements,
        icon=icons.ICON_FA_TABLE,
        possible=_has_measurements,
        group=5,
    ),
    Action("File", "Export profiler trace", commands.SaveTrace(), icon=icons.ICON_FA_STOPWATCH, group=5),
)
NETWORK_EXPORTS = tuple(_export(name, suffix) for name, suffix in NETWORK_FILES.items())
