"""`Session`: the whole state of the running program. Panels and input read it; the commands they post change it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import wgpu

from ..errors import CodeError, UntrustedCode, VertigradError
from ..gpu import Gpu, Traffic
from ..gpu.meter import difference
from ..memory import Block
from ..params import Auto, Params
from ..renderer.camera import OrbitCamera
from ..renderer.handles import Handles
from ..renderer.renderer import Renderer
from ..scene import UiHint
from ..scene.locate import KeyPath
from ..scene.stage import Stage
from ..scene.viewpoints import home
from . import parameters, saving
from .cameras import Cameras
from .clock import Clock
from .diagnostics import Diagnostics
from .edits import Edits
from .findings import awaits, observe, read_everything, take_in
from .hand import Hand
from .inspector import Inspector
from .limits import Limits
from .output import Studio
from .pacing import Pacing
from .parameters import Key, Values
from .quality import AutoQuality, level_in_force
from .reading import Origin, as_it_runs, ask_to_run, open_anew, reread, take_over
from .saving import Question
from .selection import Selection
from .sizing import Sizes
from .timeline import Timeline
from .touches import read_touches, require_known, write_touches
from .tweaks import Tweaks
from .watches import Watches

if TYPE_CHECKING:
    from .commands import Command

FITTED_ASPECT = 1.5  # of a picture into which everything is to fit: most windows are wider


class Session:
    """A scene being run: its stage, camera and view, and whether time passes.

    `sets` and `seed` are those of the command line; they hold after a reload as well, `sets` only of the same file.
    Close it, or use it with `with`. Raises `SceneError`, `InputError`, and what a model raises.
    """

    def __init__(self, gpu: Gpu, path: Path, sets: Sequence[str] = (), seed: int | None = None):
        self.gpu = gpu
        self.loaded: Counter[str] = Counter()
        self.origin = Origin(path, tuple(sets), seed)
        self._live_before = _live(gpu)
        self.sizes = Sizes(gpu)
        with self._loading():
            self.scene = self.origin.read(self)
            self.stage = Stage(self.scene, gpu)
        self.loaded_at_start = Counter(self.loaded)
        self.cameras = Cameras(self.scene)
        self.selection, self.hand = Selection(gpu), Hand(gpu)
        self.picture_size = (1, 1)  # pixels of the picture that was drawn last
        self.view = self.scene.view.model_copy()
        self.clock = Clock(gpu, self.stage)
        self.pacing = Pacing(frames_in_flight=gpu.frames.in_flight)
        self.quality = AutoQuality()  # moves in a window only
        self.messages: dict[str, str] = {}
        self.diagnostics, self.limits = Diagnostics(), Limits()
        self.timeline, self.watches, self.inspector = Timeline(gpu), Watches(), Inspector()
        self.studio: Studio | None = None  # who takes pictures of what is seen
        self.written: dict[str, Path] = {}  # files that commands wrote last, by topic
        self.changes = 0  # how often tensors were made other ones: by a step, a reset, another scene
        self.edits = Edits()
        self.tweaks = Tweaks(self)
        self.question: Question | None = None  # what the user is to decide before anything is written or lost
        self.leaving = False  # the user decided to close the window
        self.beside: list[Callable[[], Mapping[KeyPath, Any]]] = []  # entries that are to be saved with the parameters
        self.beside += [self.cameras.changes, lambda: saving.settings_to_save(self)]
        self.beside.append(lambda: self.stage.changed_settings(self.scene))
        self._unsaved: tuple[Any, ...] = ()
        self._commands: deque[Command] = deque()
        self.fit_camera()

    def parameters(self) -> dict[str, Params]:
        """Everything that can be set, by owner: "models.NAME", "layers.NAME" (its style) and "view"."""
        return parameters.live(self.stage, self.view)

    def originals(self) -> dict[str, Params]:
        """What `parameters()` were when the scene was opened: as its file and the command line have them."""
        return parameters.as_read(self.scene)

    def hints(self, owner: str) -> Mapping[str, UiHint]:
        """How the scene wants the parameters of `owner` shown."""
        kind, _, key = owner.partition(".")
        return self.scene.models[key].ui if kind == "models" else {}

    @property
    def sets(self) -> tuple[str, ...]:
        """The settings of the command line that hold for this scene."""
        return self.origin.sets

    @property
    def seed(self) -> int | None:
        """The seed that the command line gave, if it did."""
        return self.origin.seed

    @property
    def unsaved(self) -> bool:
        """Whether the user changed something that the scene's file does not have."""
        known = (self.tweaks.revision, self.scene, *(dict(entries()) for entries in self.beside))
        if self._unsaved[:-1] != known:
            self._unsaved = (*known, saving.unsaved(self))
        return self._unsaved[-1]

    # commands ---------------------------------------------------------------------------------------------------

    def post(self, command: Command) -> None:
        """Queue a command for the next frame."""
        self._commands.append(command)

    def apply(self) -> None:
        """Carry out what was posted. An error leaves things as they were, with `messages` saying why.

        A message stays until a command of the same topic succeeds. What a command records is submitted at once: an
        error later in the frame drops the frame, and must not drop the start of a model that was just built.
        """
        take_in(self)
        self._commands.extend(self.edits.commands(self))
        while self._commands:
            command = self._commands.popleft()
            try:
                self._carry_out(command)
                self.messages.pop(command.topic, None)
            except UntrustedCode as error:
                ask_to_run(self, error, command)
            except VertigradError as error:
                self.messages[command.topic] = str(error)

    @property
    def idle(self) -> bool:
        """Whether the next picture would be the same as the last one."""
        return self.clock.resting and not (self._commands or awaits(self) or self.cameras.moving)

    @property
    def camera(self) -> OrbitCamera:
        """The camera that draws."""
        return self.cameras.now

    @property
    def playing(self) -> bool:
        """Whether time passes for the models."""
        return self.clock.playing

    @playing.setter
    def playing(self, on: bool) -> None:
        self.clock.play(on)

    @property
    def speed(self) -> float:
        """Model seconds that pass in a second of 60 frames."""
        return self.clock.speed

    @property
    def frame(self) -> int:
        """Steps that the models took since their start."""
        return self.clock.frame

    @property
    def time(self) -> float:
        """Seconds that passed for the models since their start."""
        return self.clock.time

    # a frame ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Record this frame's step of the models, if time passes; one of no length if a paused model was changed.

        Raises what a model raises; the models are as they were before the step then.
        """
        self.tweaks.move(self.time)
        self._reach()
        if self.clock.advance():
            self.changes += 1
            self.tweaks.move(self.time)

    def draw(
        self,
        renderer: Renderer,
        target: wgpu.GPUTextureView,
        size: tuple[int, int],
        corner: tuple[int, int] = (0, 0),
        handles: Handles | None = None,
        supersample: int = 1,
    ) -> None:
        """Record the picture of this frame, of `size` pixels, its upper left at the pixel `corner` of the target.

        What is selected is marked in it, and `handles` are drawn over it. With `supersample` each pixel is the mean of
        so many along each side.
        """
        layers, mark = list(self.stage.layers.values()), self.selection.mark(self.stage)
        level = level_in_force(self.view.quality, self.quality).supersampled(supersample)
        renderer.draw(layers, self.camera, self.view, target, size, self.time, corner, mark, level, handles)
        if min(size) > 0:  # while panels leave no room for a picture, the last one stands for it
            self.picture_size = size

    def draw_elsewhere(self, renderer: Renderer, target: wgpu.GPUTextureView, size: tuple[int, int]) -> None:
        """Record the same picture for a file: of any size, nothing marked in it, as fine as it may be."""
        layers = list(self.stage.layers.values())
        renderer.draw(layers, self.camera, self.view, target, size, self.time)

    def measure(self) -> None:
        """Record what brings `diagnostics` ("model.name": value) up to date: without a stall, they arrive frames later.

        Costs nothing if no model moved since, or if values are still on their way.
        """
        self.clock.ask(lambda: self.diagnostics.ask(self.stage, self.time, self.changes))

    def observe(self) -> None:
        """Record what of the watches, and of the tensor that is looked into, is due in this frame."""
        observe(self)

    def look_again(self) -> None:
        """Take in what is on its way, then look at the tensors as they are now; waits for the GPU."""
        for _ in range(2):
            observe(self)
            read_everything(self)
            take_in(self)

    def close(self) -> None:
        """Give back everything the scene holds. Idempotent."""
        self.diagnostics.forget()
        self.watches.clear()
        self.inspector.clear()
        self.selection.clear()
        self.hand.release()
        self.clock.close()
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

    def set_parameter(self, owner: str, name: str, value: Any, stroke: int | None = None) -> None:
        """Set a parameter of one of `parameters()`; a paused model shows it at once. Raises `ParameterError`.

        A file is named as in the scene file: packaged, or in the scene's folder.
        """
        self.tweaks.change({Key(owner, name): value}, name.replace("_", " "), stroke=stroke)

    def assign(self, values: Values) -> None:
        """Set parameters, all or none of them, past the history. Raises as `parameters.assign`."""
        actors = dict(self.stage.actors)
        if parameters.assign(self.stage, self.parameters(), self.scene.path.parent, values):
            self.clock.stale = True
        if actors != self.stage.actors:
            self.clock.rebuilt()

    def sized(self, values: Values) -> Values:
        """The values with the number that fits this adapter in the place of each "auto". Raises `ParameterError`."""
        found = dict(values)
        for key, value in values.items():
            if (value == "auto" or isinstance(value, Auto)) and key.owner in self.parameters():
                model = key.owner.removeprefix(parameters.MODELS)
                if model in self.stage.actors and parameters.spec_of(self.parameters(), key).auto:
                    found[key] = self.sizes.of(as_it_runs(self), model, key.name)
        return found

    def pace(self, values: Mapping[str, Any]) -> None:
        """Change how pictures and steps follow each other, from the next on. Raises `ParameterError`."""
        self.pacing.take(self.pacing.with_values(values))
        self.clock.pacer.budget, self.clock.steps = self.pacing.budget, self.pacing.steps
        self.gpu.frames.in_flight = self.pacing.frames_in_flight
        self.timeline.wanted_ms = 1e3 / self.pacing.rate if self.pacing.rate else 0.0

    def reset(self) -> None:
        """Every model back to its start, time to zero."""
        self.stage.reset()
        self.watches.forget()
        self.clock.restart(self.stage)
        self.changes += 1

    def reload(self, path: Path | None = None, restart: bool = False) -> None:
        """Read the scene again, or another one. The old one stays, with an error, if the new one cannot be used.

        Of the same file what has changed in it is taken over, and the models go on, unless `path` is given or `restart`
        is true. The camera stays where it is unless another file is opened.
        """
        if path is None and not restart:
            take_over(self)
        else:
            open_anew(self, path)

    def reread(self, file: Path) -> None:
        """Take in a file that models were made of and that was written anew. Raises as `reading.reread`."""
        reread(self, file)

    def halt(self, error: CodeError) -> None:
        """The Python of a model failed in the midst of the run: it stands still, as it was before, and says why.

        The message stays until the file is mended.
        """
        self.clock.halt()
        self.messages[f"file {error.file}"] = str(error)

    def save_touches(self, path: Path) -> None:
        """Write what was done by hand up to this frame. Raises `InputError`."""
        write_touches(self.clock.touches.until(self.frame), self.scene.title, path)

    def play_touches(self, path: Path) -> None:
        """Do what a file says, each in its frame, from the next step on. Raises `InputError`, and `ParameterError` for
        what no model of the scene knows.
        """
        touches = read_touches(path)
        require_known(touches, self.stage, path)
        self.hand.release()
        self.clock.played = touches

    def fit_camera(self) -> None:
        """Where the scene leaves it to us: as far away that everything is seen."""
        if self.scene.camera.fit:
            self.cameras.frame_at_once(self.stage.layers.values(), FITTED_ASPECT, lambda: read_everything(self))

    def rebuilt(self) -> None:
        """Models, or layers of them, are others than before: what was found of the old ones holds no longer."""
        self.diagnostics.clear()
        self.inspector.forget()
        self.selection.clear()
        self.clock.rebuilt()
        self.changes += 1

    def go_home(self) -> None:
        """The camera back to where the scene has it."""
        if self.scene.camera.fit:
            self.cameras.frame(self.stage.layers.values(), FITTED_ASPECT)
        else:
            self.cameras.go(home(self.scene))

    def select(self, layer: str, row: int) -> None:
        """Select a row of a layer. Raises `ParameterError` if there is no such row."""
        self.selection.select(self.stage, layer, row)

    # inside -----------------------------------------------------------------------------------------------------

    def _reach(self) -> None:
        """Where the hand is in the steps that begin in this frame; one that is under way stays as it was begun."""
        if not self.clock.moves:
            self.hand.rest()
        else:
            self.clock.reach(lambda seconds: self.hand.touch(self.camera, seconds))

    def _carry_out(self, command: Command) -> None:
        now = self.frame, self.time
        with self._loading():
            try:
                command.apply(self)
            finally:
                self.gpu.submit()
        if (self.frame, self.time) != now:  # it went back in time
            self.changes += 1

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Count the geometry moved inside as `loaded`: once, not in every frame."""
        before = self.gpu.meter.read()
        try:
            yield
        finally:
            self.loaded.update(difference(self.gpu.meter.read(), before)[Traffic.GEOMETRY.value])


def _live(gpu: Gpu) -> dict[tuple[int, int], Block]:
    """Live blocks; a block that was freed and taken again is another."""
    gpu.tracker.collect()
    return {(block.id, block.generation): block for block in gpu.tracker.live}
