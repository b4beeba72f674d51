"""`Session`: the whole state of the running program. Panels and input read it; the commands they post change it."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import wgpu

from ..errors import GpuError, ParameterError, VertigradError
from ..gpu import Gpu, Traffic
from ..gpu.meter import difference
from ..memory import Block
from ..params import Params, unknown
from ..renderer.camera import OrbitCamera
from ..renderer.renderer import Renderer
from ..scene import Scene, UiHint, load
from ..scene.files import find
from ..scene.stage import Stage
from ..tensor import Readback

if TYPE_CHECKING:
    from .commands import Command

STEP = 1.0 / 60.0  # seconds of a frame's step: fixed, so that a run can be repeated whatever the frame rate


class Session:
    """A scene being run: its stage, camera and view, and whether time passes.

    `sets` and `seed` are those of the command line; they hold after a reload as well, `sets` only of the same file.
    Close it, or use it with `with`. Raises `SceneError`, `InputError`, and what a model raises.
    """

    def __init__(self, gpu: Gpu, path: Path, sets: Sequence[str] = (), seed: int | None = None):
        self.gpu = gpu
        self.loaded: Counter[str] = Counter()
        self._path, self._sets, self._seed = path, tuple(sets), seed
        self._live_before = _live(gpu)
        self.scene = load(path, sets=sets, seed=seed)
        with self._loading():
            self.stage = Stage(self.scene, gpu)
        self.loaded_at_start = Counter(self.loaded)
        self.camera = _camera(self.scene)
        self.view = self.scene.view.model_copy()
        self.playing = True
        self.speed = 1.0
        self.frame = 0
        self.time = 0.0
        self.messages: dict[str, str] = {}
        self.diagnostics: dict[str, float] = {}
        self._steps_wanted = 0
        self._stale = False
        self._unmeasured = True
        self._commands: deque[Command] = deque()
        self._readings: dict[str, Readback] = {}

    def parameters(self) -> dict[str, Params]:
        """Everything that can be set, by owner: "models.NAME", "layers.NAME" (its style) and "view"."""
        models = {f"models.{name}": actor.params for name, actor in self.stage.actors.items()}
        layers = {f"layers.{name}": layer.style for name, layer in self.stage.layers.items()}
        return {**models, **layers, "view": self.view}

    def originals(self) -> dict[str, Params]:
        """What `parameters()` were when the scene was opened: as its file and the command line have them."""
        scene = self.scene
        models = {f"models.{name}": spec.params for name, spec in scene.models.items()}
        layers = {f"layers.{name}": spec.style for name, spec in scene.layers.items()}
        return {**models, **layers, "view": scene.view}

    def hints(self, owner: str) -> Mapping[str, UiHint]:
        """How the scene wants the parameters of `owner` shown."""
        kind, _, key = owner.partition(".")
        return self.scene.models[key].ui if kind == "models" else {}

    # commands ---------------------------------------------------------------------------------------------------

    def post(self, command: Command) -> None:
        """Queue a command for the next frame."""
        self._commands.append(command)

    def apply(self) -> None:
        """Carry out what was posted. An error leaves things as they were, with `messages` saying why.

        A message stays until a command of the same topic succeeds. What a command records is submitted at once: an
        error later in the frame drops the frame, and must not drop the start of a model that was just built.
        """
        self._collect()
        while self._commands:
            command = self._commands.popleft()
            try:
                self._carry_out(command)
                self.messages.pop(command.topic, None)
            except VertigradError as error:
                self.messages[command.topic] = str(error)

    @property
    def idle(self) -> bool:
        """Whether the next picture would be the same as the last one."""
        return not (self.playing or self._steps_wanted or self._stale or self._commands or self._readings)

    # a frame ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Record this frame's step of the models, if time passes; one of no length if a paused model was changed."""
        if self.playing or self._steps_wanted:
            self._steps_wanted = max(0, self._steps_wanted - 1)
            self.stage.step(STEP * self.speed)
            self.time += STEP * self.speed
            self._unmeasured = True
        elif self._stale:
            self.stage.step(0.0)
            self._unmeasured = True
        self._stale = False

    def draw(self, renderer: Renderer, target: wgpu.GPUTextureView, size: tuple[int, int]) -> None:
        """Record the picture of this frame."""
        renderer.draw(list(self.stage.layers.values()), self.camera, self.view, target, size, self.time)
        self.frame += 1

    def measure(self) -> None:
        """Record what brings `diagnostics` ("model.name": value) up to date: without a stall, they arrive frames later.

        Costs nothing if no model moved since, or if values are still on their way.
        """
        if self._unmeasured and not self._readings:
            self._ask()
            self._unmeasured = False

    def close(self) -> None:
        """Give back everything the scene holds. Idempotent."""
        self._readings.clear()
        self.stage.close()
        self.gpu.sync()

    def left_behind(self) -> list[Block]:
        """Blocks that are live and were not before the session was made; after `close`, those that leaked."""
        return [block for key, block in _live(self.gpu).items() if key not in self._live_before]

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # what commands do -------------------------------------------------------------------------------------------

    def set_parameter(self, owner: str, name: str, value: Any) -> None:
        """Set a parameter of one of `parameters()`; a paused model shows it at once. Raises `ParameterError`.

        A file is named as in the scene file: packaged, or in the scene's folder.
        """
        owners = self.parameters()
        if owner not in owners:  # a panel may post it in the frame in which another scene is opened
            raise ParameterError(unknown("owner of parameters", owner, owners))
        params = owners[owner]
        if isinstance(value, str) and any(spec.name == name and spec.kind == "file" for spec in params.specs()):
            value = self._found(name, value)
        kind, _, key = owner.partition(".")
        if kind == "models":
            self.stage.change(key, name, value)
            self._stale = True
        else:
            params.change(name, value)

    def reset(self) -> None:
        """Every model back to its start, time to zero."""
        self.stage.reset()
        self.frame, self.time = 0, 0.0
        self._unmeasured = True

    def reload(self, path: Path | None = None) -> None:
        """Read the scene again, or another one. The old one stays, with an error, if the new one cannot be used.

        The camera stays where it is unless another file is opened.
        """
        other = path is not None and path != self._path
        path, sets = (path, ()) if path is not None and other else (self._path, self._sets)
        scene = load(path, sets=sets, seed=self._seed)
        stage = Stage(scene, self.gpu)
        self._readings.clear()
        self.diagnostics.clear()
        self.messages.clear()
        self.stage.close()
        self.scene, self.stage, self._path, self._sets = scene, stage, path, sets
        self.view = scene.view.model_copy()
        if other:
            self.camera = _camera(scene)
        self.frame, self.time = 0, 0.0
        self._unmeasured = True

    def play(self, on: bool) -> None:
        """Let time pass, or stand still at once."""
        self.playing = on
        self._steps_wanted = 0

    def step_frames(self, count: int) -> None:
        """Let `count` frames' steps pass, then stand still."""
        self.playing = False
        self._steps_wanted = max(0, count)

    def set_speed(self, speed: float) -> None:
        """Model seconds that pass in a second of 60 frames. Raises `ParameterError` unless it is a finite number."""
        if not math.isfinite(speed):
            raise ParameterError(f"speed: expected a finite number, got {speed}")
        self.speed = speed

    def go_home(self) -> None:
        """The camera back to where the scene has it."""
        self.camera = _camera(self.scene)

    # inside -----------------------------------------------------------------------------------------------------

    def _carry_out(self, command: Command) -> None:
        with self._loading():
            try:
                command.apply(self)
            finally:
                self.gpu.submit()

    def _found(self, name: str, text: str) -> Path:
        """The file that a parameter of this name is to be."""
        try:
            return find(text, self.scene.path.parent)
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from None

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Count the geometry moved inside as `loaded`: once, not in every frame."""
        before = self.gpu.meter.read()
        try:
            yield
        finally:
            self.loaded.update(difference(self.gpu.meter.read(), before)[Traffic.GEOMETRY.value])

    def _collect(self) -> None:
        """Take in the diagnostics once all of them are there."""
        if self._readings and all(reading.done for reading in self._readings.values()):
            readings, self._readings = self._readings, {}
            try:
                self.diagnostics = {name: float(reading.result().item()) for name, reading in readings.items()}
            except GpuError:  # the frame they were recorded in was dropped
                self._unmeasured = True

    def _ask(self) -> None:
        for model, actor in self.stage.actors.items():
            figures = actor.model.diagnostics()
            with ExitStack() as stack:
                for tensor in figures.values():
                    stack.enter_context(tensor)
                for name, tensor in figures.items():
                    self._readings[f"{model}.{name}"] = tensor.read_async(Traffic.DIAGNOSTICS)


def _live(gpu: Gpu) -> dict[tuple[int, int], Block]:
    """Live blocks; a block that was freed and taken again is another."""
    gpu.tracker.collect()
    return {(block.id, block.generation): block for block in gpu.tracker.live}


def _camera(scene: Scene) -> OrbitCamera:
    given = scene.camera
    return OrbitCamera.from_position(given.position, given.target, given.fov, given.up)
