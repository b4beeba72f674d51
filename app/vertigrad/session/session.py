"""`Session`: the whole state of the running program. Panels and input read it and post commands; nothing else changes it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wgpu

from ..errors import VertigradError
from ..gpu import Gpu, Traffic
from ..params import Params
from ..renderer.camera import OrbitCamera
from ..renderer.renderer import Renderer
from ..scene import Scene, UiHint, load
from ..scene.stage import Stage
from ..tensor import Readback

if TYPE_CHECKING:
    from .commands import Command

STEP = 1.0 / 60.0  # seconds of a frame's step: fixed, so that a run can be repeated whatever the frame rate


class Session:
    """A scene being run: its stage, camera and view, and whether time passes.

    `sets` and `seed` are those of the command line; they hold after a reload as well. Raises `SceneError`, `InputError`.
    """

    def __init__(self, gpu: Gpu, path: Path, sets: Sequence[str] = (), seed: int | None = None):
        self.gpu = gpu
        self._path, self._sets, self._seed = path, tuple(sets), seed
        self.scene = self._load()
        self.stage = Stage(self.scene, gpu)
        self.camera = _camera(self.scene)
        self.view = self.scene.view.model_copy()
        self.playing = True
        self.speed = 1.0
        self.frame = 0
        self.time = 0.0
        self.message = ""
        self.diagnostics: dict[str, float] = {}
        self._steps_wanted = 0
        self._stale = False
        self._commands: deque[Command] = deque()
        self._readings: dict[str, Readback] = {}

    def parameters(self) -> dict[str, Params]:
        """Everything that can be set, by owner: "models.NAME", "layers.NAME" (its style) and "view"."""
        models = {f"models.{name}": actor.params for name, actor in self.stage.actors.items()}
        layers = {f"layers.{name}": layer.style for name, layer in self.stage.layers.items()}
        return {**models, **layers, "view": self.view}

    def hints(self, owner: str) -> Mapping[str, UiHint]:
        """How the scene wants the parameters of `owner` shown."""
        kind, _, key = owner.partition(".")
        return self.scene.models[key].ui if kind == "models" else {}

    # commands ---------------------------------------------------------------------------------------------------

    def post(self, command: Command) -> None:
        """Queue a command for the next frame."""
        self._commands.append(command)

    def apply(self) -> None:
        """Carry out what was posted. An error leaves things as they were, with `message` saying why."""
        while self._commands:
            command = self._commands.popleft()
            try:
                command.apply(self)
                self.message = ""
            except VertigradError as error:
                self.message = str(error)

    # a frame ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Record the models' steps of this frame: one if time passes, one of no length if a paused model was changed."""
        if self.playing or self._steps_wanted:
            self._steps_wanted = max(0, self._steps_wanted - 1)
            self.stage.step(STEP * self.speed)
            self.time += STEP * self.speed
        elif self._stale:
            self.stage.step(0.0)
        self._stale = False

    def draw(self, renderer: Renderer, target: wgpu.GPUTextureView, size: tuple[int, int]) -> None:
        """Record the picture of this frame."""
        renderer.draw(list(self.stage.layers.values()), self.camera, self.view, target, size, self.time)
        self.frame += 1

    def measure(self) -> None:
        """Keep `diagnostics` ("model.name": value) up to date, without a stall: values arrive some frames later."""
        if not self._readings:
            self._ask()
        elif all(reading.done for reading in self._readings.values()):
            self.diagnostics = {name: float(reading.result().item()) for name, reading in self._readings.items()}
            self._readings.clear()

    def close(self) -> None:
        """Give back everything the scene holds."""
        self._readings.clear()
        self.stage.close()
        self.gpu.sync()

    # what commands do -------------------------------------------------------------------------------------------

    def set_parameter(self, owner: str, name: str, value: Any) -> None:
        """Set a parameter of one of `parameters()`; a paused model shows it at once. Raises `ParameterError`."""
        kind, _, key = owner.partition(".")
        if kind == "models":
            self._readings.clear()
            self.stage.change(key, name, value)
            self._stale = True
        else:
            self.parameters()[owner].change(name, value)

    def reset(self) -> None:
        """Every model back to its start, time to zero."""
        self.stage.reset()
        self.frame, self.time = 0, 0.0

    def reload(self, path: Path | None = None) -> None:
        """Read the scene again, or another one. The old one stays, with an error, if the new one cannot be used.

        The camera stays where it is unless another file is opened.
        """
        other = path is not None and path != self._path
        old_path = self._path
        if path is not None:
            self._path = path
        try:
            scene = self._load()
            stage = Stage(scene, self.gpu)
        except Exception:
            self._path = old_path
            raise
        self._readings.clear()
        self.stage.close()
        self.scene, self.stage = scene, stage
        self.view = scene.view.model_copy()
        if other:
            self.camera = _camera(scene)
        self.frame, self.time = 0, 0.0

    def step_frames(self, count: int) -> None:
        """Let `count` frames' steps pass, then stand still."""
        self.playing = False
        self._steps_wanted = count

    def go_home(self) -> None:
        """The camera back to where the scene has it."""
        self.camera = _camera(self.scene)

    # inside -----------------------------------------------------------------------------------------------------

    def _load(self) -> Scene:
        return load(self._path, sets=self._sets, seed=self._seed)

    def _ask(self) -> None:
        for model, actor in self.stage.actors.items():
            assert actor.model is not None
            for name, tensor in actor.model.diagnostics().items():
                with tensor:
                    self._readings[f"{model}.{name}"] = tensor.read_async(Traffic.DIAGNOSTICS)


def _camera(scene: Scene) -> OrbitCamera:
    given = scene.camera
    return OrbitCamera.from_position(given.position, given.target, given.fov, given.up)
