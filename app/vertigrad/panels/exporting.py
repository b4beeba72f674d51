"""`ExportDialogs`: asks for the file to export to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import export
from ..session import Session, measurements
from ..session.commands import Command, ExportGeometry, ExportMeasurements, ExportSelection
from ..session.files import here
from .files import FileDialog
from .workspace import Workspace


@dataclass(frozen=True)
class _Kind:
    """One kind of export. `name` proposes a file, `command` writes it."""

    dialog: FileDialog
    name: Callable[[Session, Workspace], str]
    command: Callable[[Path, Workspace], Command]


class ExportDialogs:
    """A file dialog for each kind of export, opened by `workspace.exporting`."""

    def __init__(self) -> None:
        self._kinds = {
            "geometry": _Kind(
                FileDialog("Export geometry", "Export", export.SUFFIXES, saving=True),
                lambda session, workspace: _name(session, workspace.export_layer, _geometry_suffix(session, workspace)),
                lambda path, workspace: ExportGeometry(
                    with_suffix(path, ".glb"), (workspace.export_layer,) if workspace.export_layer else ()
                ),
            ),
            "selection": _Kind(
                FileDialog("Export selected rows", "Export", export.SUFFIXES, saving=True),
                lambda session, workspace: _name(session, "selection", ".ply"),
                lambda path, workspace: ExportSelection(with_suffix(path, ".ply")),
            ),
            "measurements": _Kind(
                FileDialog("Export diagnostics and watches", "Export", measurements.SUFFIXES, saving=True),
                lambda session, workspace: _name(session, "diagnostics", ".csv"),
                lambda path, workspace: ExportMeasurements(with_suffix(path, ".csv")),
            ),
        }

    def draw(self, session: Session, workspace: Workspace) -> None:
        """Open the one that is asked for, and post the command for the file that was chosen."""
        kind, workspace.exporting = self._kinds.get(workspace.exporting), ""
        if kind is not None and not kind.dialog.is_open:
            kind.dialog.ask(here(), kind.name(session, workspace), workspace.recent)
        for each in self._kinds.values():
            chosen = each.dialog.draw()
            if chosen is not None:
                session.post(each.command(chosen, workspace))

    def close(self) -> None:
        """Close them without an answer."""
        for each in self._kinds.values():
            each.dialog.close()


def with_suffix(path: Path, suffix: str) -> Path:
    """The path, with this suffix if it has none."""
    return path if path.suffix else path.with_suffix(suffix)


def _name(session: Session, part: str, suffix: str) -> str:
    """A name for a file about the scene, or about this part of it."""
    return f"{session.scene.path.stem}{'-' if part else ''}{part}{suffix}"


def _geometry_suffix(session: Session, workspace: Workspace) -> str:
    """A PLY for splats, which GLB does not hold; their other formats are chosen by the name of the file."""
    chosen = workspace.export_layer or next(iter(session.scene.layers), "")
    return ".ply" if chosen in session.scene.layers and session.scene.layers[chosen].type == "splats" else ".glb"
