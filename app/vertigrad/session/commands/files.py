"""Commands that read and write files: the scene's own, and those of a run, such as images and tensors."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ... import export, resources
from ...atomic_file import write_file
from ...errors import InputError, ParameterError, VertigradError
from ...gpu import Traffic
from ...params import unknown
from ...renderer import environment_image
from ...scene.kinds import INTERACTIONS, LIGHTS, require_scene
from ...scene.packaged import data_file
from .. import catalog, loading, measurements, saving, trace
from ..capture import CaptureRequest, CaptureService, RecordingOptions
from ..command import Command, command
from ..files import new_file, open_external
from ..interaction_recording import read_interactions, require_known
from ..parameters import Key
from ..questions import Question
from ..session import Session

# the scene ----------------------------------------------------------------------------------------------------------


@command("scene")
def Open(session: Session, path: Path, discard: bool = False) -> None:
    """Show a file: from the gallery, the browser, the recent ones, or dropped on the window.

    If unsaved changes would be lost, ask first, unless they are to be discarded. An interaction recording is played
    by the running scene, and an image of light lights it.
    """
    if path.suffix.lower() in INTERACTIONS:
        return PlayInteractions(path).apply(session)
    if path.suffix.lower() in LIGHTS:
        return _light(session, path)
    path = data_file(path)
    require_scene(path)  # before it asks about unsaved changes
    if discard or not saving.ask_before(session, Open(path, discard=True)):
        loading.load(session, path)


def _light(session: Session, path: Path) -> None:
    """Light the scene by an image, and show that behind it. Raises `InputError` for one that cannot be read."""
    environment_image.read(path)
    light = {"environment": "image", "environment_file": path.absolute(), "environment_backdrop": True}
    session.scene_edits.change({Key("view", name): value for name, value in light.items()}, f"light of {path.name}")


@command("cancel")
def CancelLoading(session: Session) -> None:
    """Do not open the scene that is being read or built, and end the command that takes several frames."""
    loading.cancel(session)
    session.commands.cancel()


Reload = command("scene")(Session.reload)


@command("hot reload")
def SetHotReload(session: Session, on: bool) -> None:
    """Turn hot reload of the scene's file, its shaders and its Python on or off."""
    session.hot_reload.on = on


@command("save")
def Save(session: Session, overwrite: bool = False, then: Command | None = None) -> None:
    """Write all changes into the scene's file, then carry `then` out. Asks if another program wrote it."""
    saving.try_to_save(session, None, overwrite, then)


@dataclass(frozen=True)
class SaveAs:
    """Write the scene with all changes into another file, and continue with that; `overwrite` an existing one."""

    path: Path
    overwrite: bool = False
    then: Command | None = None

    topic = "save"

    def apply(self, session: Session) -> None:
        """Carry it out."""
        saving.try_to_save(session, self.path, self.overwrite, self.then)


@command("question")
def Ask(session: Session, question: Question | None) -> None:
    """Ask the user something, after the questions that wait; None: the first question is answered."""
    if question is None:
        session.questions.close_first()
    else:
        session.questions.ask(question)


@command("question")
def Leave(session: Session, discard: bool = False) -> None:
    """Close the window; if there are unsaved changes, ask first, unless they are to be discarded."""
    if discard or not saving.ask_before(session, Leave(discard=True)):
        session.leaving = True


# results of a run ---------------------------------------------------------------------------------------------------


@command("export")
def ExportNetwork(session: Session, suffix: str = ".safetensors", model: str = "", path: Path | None = None) -> None:
    """Write what a model has learned to a file of the kind of `suffix` or of `path`, one of its `exports`.

    To a new file if no path is named, of the one model that learns if `model` is empty.
    """
    name = learner(session, model)
    learned = session.stage.instances[name].model
    suffix = path.suffix.lower() if path is not None else suffix
    if suffix not in learned.exports:
        raise InputError(f"{name} is exported as {' or '.join(learned.exports)}, not as {suffix or 'a bare name'}")
    if session.stage.in_progress is not None:
        session.stage.cancel()
        session.clock.stale = True  # the shown tensors may be from the middle of a step
    content = learned.export(suffix)
    _write(session, "export", path or new_file(f"{session.scene.path.stem}-{name}", suffix), content)


@command("export")
def ExportGeometry(session: Session, path: Path, layers: tuple[str, ...] = (), overwrite: bool = False) -> None:
    """Write what layers draw now to a file of geometry, by default all that can be; asks before it replaces one."""
    export.require_layers(path, session.stage.layers, layers)
    if not _ask_to_overwrite(session, path, overwrite, ExportGeometry(path, layers, overwrite=True)):
        if session.capture is not None:
            return session.capture.export_geometry(path, layers)
        export.write_layers(path, session.stage.layers, layers, session.scene.camera.up)
        session.written["export"] = path


@command("export")
def ExportSelection(session: Session, path: Path, overwrite: bool = False) -> None:
    """Write the selected rows to a file of geometry; asks before it replaces one."""
    rows = session.rows.selected
    if rows is None:
        raise InputError("no rows are selected; draw a box, a lasso or a brush stroke over points or splats first")
    export.require_layers(path, session.stage.layers, (rows.layer,))
    if not _ask_to_overwrite(session, path, overwrite, ExportSelection(path, overwrite=True)):
        held = session.rows.rows_of(rows.layer)
        values = held.part.gathered(rows.mask) if held.part is not None else None
        found = export.geometry(held.layer, held.in_tensors(rows.mask), values)
        export.write_geometries(path, [found], session.scene.camera.up)
        session.written["export"] = path


@command("export")
def ExportMeasurements(session: Session, path: Path, overwrite: bool = False) -> None:
    """Write the stored values of diagnostics and watches as CSV or NPZ; asks before it replaces a file."""
    content = measurements.packed(path, measurements.table(session))
    if not _ask_to_overwrite(session, path, overwrite, ExportMeasurements(path, overwrite=True)):
        _write(session, "export", path, content)


@command("save tensor")
def SaveTensor(session: Session, name: str, path: Path | None = None) -> None:
    """Write a tensor to a .npy file, for NumPy's `load`; to a new one if none is named. `name` as in the catalog."""
    tensor = catalog.require(session.stage, name)
    file = io.BytesIO()
    np.save(file, tensor.read_async(Traffic.DIAGNOSTICS).result())
    _write(session, "save tensor", path or new_file(name, ".npy"), file.getvalue())


@command("save trace")
def SaveTrace(session: Session, path: Path | None = None, seconds: float = trace.SECONDS) -> None:
    """Write the last seconds as a trace for Perfetto and chrome://tracing; to a new file if none is named."""
    content = trace.trace(session.timeline, session.gpu, session.scene.title, seconds)
    _write(session, "save trace", path or new_file(f"{session.scene.path.stem}-trace", ".json"), trace.packed(content))


@command("save inputs")
def SaveInteractions(session: Session, path: Path | None = None) -> None:
    """Write the interactions since the start of the simulation to a file, to be replayed; by default to a new one."""
    text = session.clock.interactions.until(session.frame).text(session.scene.title)
    _write(session, "save inputs", path or new_file(f"{session.scene.path.stem}-interactions", ".jsonl"), text.encode())


@command("play inputs")
def PlayInteractions(session: Session, path: Path, restart: bool = True) -> None:
    """Reset the simulation, and replay the interactions of a file.

    Without `restart` it continues from the current state, which is right before the first step.
    """
    interactions = read_interactions(path)
    require_known(interactions, session.stage, path)
    session.tool.release()
    session.clock.played = interactions
    if restart:
        session.running.reset()
        session.clock.play(True)


@command("screenshot")
def TakeScreenshot(session: Session, request: CaptureRequest | None = None) -> None:
    """Write the next frame to a file named by scene and time."""
    _capture_service(session).take_screenshot(request or CaptureRequest())


@command("clipboard")
def CopyImage(session: Session, request: CaptureRequest | None = None) -> None:
    """Copy the next frame to the clipboard, as an image."""
    _capture_service(session).take_screenshot((request or CaptureRequest())._replace(clipboard=True, suffix=".png"))


@command("recording")
def StartRecording(session: Session, options: RecordingOptions | None = None) -> None:
    """Record a video or the geometry of a run from now on, by default as MP4 to the current folder."""
    _capture_service(session).start_recording(options or RecordingOptions())


@command("recording")
def StopRecording(session: Session) -> None:
    """End the recording."""
    _capture_service(session).stop_recording()


@command("recording")
def CancelRecording(session: Session) -> None:
    """End the recording, and remove its file."""
    _capture_service(session).cancel_recording()


@command("export")
def CancelExport(session: Session, path: Path) -> None:
    """Do not write a file of geometry that is being written; one that it would replace stays."""
    _capture_service(session).cancel_export(path)


@dataclass(frozen=True)
class CaptureFinished:
    """A screenshot, a recording or an export ended as the file `path`, or with an error, which is shown."""

    topic: str
    path: Path | None = None
    error: VertigradError | None = None

    def apply(self, session: Session) -> None:
        """Carry it out."""
        if self.error is not None:
            raise self.error
        if self.path is not None:  # neither in the clipboard nor canceled
            session.written[self.topic] = self.path


@command("documentation")
def OpenDocumentation(session: Session) -> None:
    """Show the documentation, in another program."""
    open_external(resources.documentation(), lambda error: session.post(DocumentationFailed(error)))


@command("documentation")
def DocumentationFailed(session: Session, error: InputError) -> None:
    """There is no program to show the documentation, as another thread found out."""
    raise error


def learner(session: Session, name: str = "") -> str:
    """The model of that name, or the one that learns. Raises `ParameterError` if there is none, or several."""
    found = [key for key, instance in session.stage.instances.items() if instance.model.exports]
    if name and name not in found:
        raise ParameterError(unknown("model that learns", name, found))
    if not found:
        raise ParameterError("no model of this scene learns anything that could be exported")
    if not name and len(found) > 1:
        raise ParameterError(f"several models learn: {', '.join(found)}; name the one to export")
    return name or found[0]


def _ask_to_overwrite(session: Session, path: Path, overwrite: bool, then: Command) -> bool:
    """Whether a file is there that must not be replaced; then the user is asked, and `then` waits for the answer."""
    if overwrite or not os.path.exists(path):  # unlike Path.exists, it raises nothing
        return False
    reason = f"{path.name} already exists in {path.parent.name or path.parent}."
    session.questions.ask(Question("overwrite", reason, then))
    return True


def _write(session: Session, topic: str, path: Path, content: bytes) -> None:
    write_file(path, content)
    session.written[topic] = path


def _capture_service(session: Session) -> CaptureService:
    if session.capture is None:
        raise InputError("there is no window to capture; `vertigrad render` renders without one")
    return session.capture
