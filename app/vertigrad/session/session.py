"""`Session`: the whole state of the running program. Panels and input read it; the commands they post change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wgpu

from ..errors import CodeError, DeviceLost, VertigradError
from ..gpu import Gpu
from ..renderer.handles import Handles
from ..renderer.lens import Sample, still_samples
from ..renderer.renderer import Renderer
from ..scene import Scene
from . import loading, saving
from .allocations import Allocations
from .autosave import Autosave
from .cameras import viewpoint
from .capture import CaptureService
from .command_queue import CommandQueue
from .comparison import Comparison
from .failures import Failures
from .hot_reload import HotReload
from .pacing import Pacing
from .quality import Quality, level_in_force
from .questions import Questions
from .readbacks import collect_readbacks, wait_for_readbacks
from .rescue import Rescue
from .running import Running, SceneSource
from .scene_parts import SceneParts
from .script import Script
from .sizing import Sizes
from .timeline import Timeline

if TYPE_CHECKING:
    from .command import Command


class Session(SceneParts):
    """A scene being run: its stage, camera and view, and whether time passes.

    `running` is all that belongs to the scene that is open: another one is built completely and replaces it in one
    assignment. The scene is a file, or one that a script holds in memory. `sets` and `seed` are those of the command
    line; they hold after a reload as well, `sets` only of the same file. `scene` is its content, if it was read before.
    Close it, or use it with `with`. Raises `SceneError`, `InputError`, and what a model raises.
    """

    def __init__(
        self,
        gpu: Gpu,
        path: Path | SceneSource,
        sets: Sequence[str] = (),
        seed: int | None = None,
        scene: Scene | None = None,
    ):
        self.gpu = gpu
        self.allocations = Allocations(gpu)
        self.sizes = Sizes(gpu)
        with self.allocations.loading():
            source = path if isinstance(path, SceneSource) else SceneSource(path.absolute(), tuple(sets), seed)
            self.running = Running(gpu, source, self.sizes, scene=scene and self.sizes.settled(scene))
        self.allocations.loaded_at_start.update(self.allocations.loaded)
        self.viewport_size = (1, 1)  # pixels of the viewport that was drawn last
        self.pacing = Pacing(frames_in_flight=gpu.frames.in_flight)
        self.quality = Quality()  # of "auto"; another one in a window only
        self.messages: dict[str, str] = {}
        self.failures: Failures | None = None  # shows unexpected errors; without it they are raised
        self.timeline = Timeline(gpu)
        self.rescue = Rescue(gpu)
        self.comparison: Comparison | None = None  # what runs next to the open scene, if anything does
        self.capture: CaptureService | None = None  # of the window, if there is one
        self.written: dict[str, Path] = {}  # the file that was written last, by topic
        self.hot_reload = HotReload()
        self.questions = Questions()
        self.script = Script()
        self.autosave: Autosave | None = None  # stores unsaved edits, if there is one
        self.refusal: Callable[[Command], str] | None = None  # why a posted command is not possible here
        self.reads_ahead = False  # whether large files are read in the background: in a window
        self.loading: loading.Loading | None = None  # the scene that is being read to replace this one
        self.leaving = False  # whether the user decided to close the window
        self._unsaved = -1, False  # the revision of the edits for which it was found out, and whether there are some
        self.commands = CommandQueue(self)
        gpu.pool.spill = self._spill

    @property
    def unsaved(self) -> bool:
        """Whether the user changed something that the scene's file does not have."""
        revision = self.scene_edits.revision
        if self._unsaved[0] != revision:
            self._unsaved = revision, saving.unsaved(self)
        return self._unsaved[1]

    # commands ---------------------------------------------------------------------------------------------------

    def post(self, command: Command) -> None:
        """Queue a command for the next frame; one that `refusal` has a reason against is not carried out."""
        if self.refusal is not None and (reason := self.refusal(command)):
            self.messages[command.topic] = reason
        else:
            self.commands.append(command)

    def carry_out(self, command: Command) -> None:
        """Change the session at once, between two frames. Raises what the command raises."""
        with self.changing():
            command.apply(self)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A block in which a command changes the session. What it records is submitted at once."""
        now = self.frame, self.time
        with self.allocations.loading():
            try:
                yield
            finally:
                self.gpu.submit()
        if (self.frame, self.time) != now:  # it went back in time
            self.running.changes += 1

    def apply(self) -> None:
        """Carry out the posted commands. An error leaves the state unchanged, and is shown in `messages`.

        A message stays until a command of the same topic succeeds. An error later in the frame drops the frame, and
        must not drop the start of a model that was just built: what commands record is submitted before.
        """
        with self.guarded("reading back results"):
            collect_readbacks(self)
        with self.guarded("watching files"):
            self.commands.extend(self.hot_reload.commands(self))
        self.commands.apply()
        loading.proceed(self)

    @contextmanager
    def guarded(self, stage: str) -> Iterator[None]:
        """A block of a frame whose errors are passed to `fail`: they end neither the frame nor the program."""
        try:
            yield
        except Exception as error:
            self.fail(stage, error)

    def fail(self, stage: str, error: Exception) -> None:
        """Note an unexpected error: time is paused, and `failures` shows it. Without `failures`, raise it.

        Raises `DeviceLost` if that is the cause.
        """
        self.require_device(error)
        if self.failures is None:
            raise error
        if self.failures.add(stage, error, self.gpu.tracker.frame):
            self.clock.halt()

    def require_device(self, error: Exception | None = None) -> None:
        """Raise `DeviceLost` if the GPU's device is gone, whatever `error` resulted; see `rescue.recover`."""
        if self.gpu.lost:
            raise DeviceLost("the GPU's device was lost") from error

    @property
    def idle(self) -> bool:
        """Whether the next frame would be the same as the last one."""
        if not self.clock.idle or self.commands or self.cameras.moving:
            return False
        if self.loading is not None or self.stage.fetching:
            return False
        comparison = self.comparison
        if comparison is not None and (comparison.behind(self.clock) or comparison.running.stage.fetching):
            return False
        readers = self.diagnostics, self.watches, self.inspector, self.selection, self.tool
        return not any(one.pending for one in (*readers, self.tensor_statistics, self.hovered_node, self.hover))

    # a frame ----------------------------------------------------------------------------------------------------

    def advance(self, part: float = 1.0, last: bool = True) -> None:
        """Record this frame's step of the models, if time passes; one of no length if a paused model was changed.

        None while a command is at work that takes several frames. With a `part` below 1 it is that fraction of the
        step; the `last` part ends the frame. Raises what a model raises; then the models are as before the step.
        """
        if self.commands.current is not None:
            return
        running, clock = self.running, self.running.clock
        running.scene_edits.apply_animations(clock.time)
        if clock.moves:
            clock.set_interaction(running.tool.interaction)
        else:
            running.tool.pause()
        if clock.advance(part, last):
            running.stepped()
            running.scene_edits.apply_animations(clock.time)
        if self.comparison is not None:
            self.comparison.follow(clock)
        running.cameras.follow(running.scene_edits.extras.keyframes, clock.frame + clock.passed)
        self.report("snapshots", clock.rewind.shortage)
        self.rescue.update(running.stage, clock, running.changes)

    def frame_dropped(self) -> None:
        """The commands recorded in this frame are lost: restore models and time to before its steps, and pause."""
        self.clock.take_back()
        if self.comparison is not None:
            self.comparison.running.clock.take_back()
        self.clock.halt()
        self.running.changes += 1

    def draw(
        self,
        renderer: Renderer,
        target: wgpu.GPUTextureView,
        size: tuple[int, int],
        corner: tuple[int, int] = (0, 0),
        handles: Handles | None = None,
        supersample: int = 1,
        sample: Sample | None = None,
    ) -> None:
        """Record the viewport of this frame, of `size` pixels, its upper left at the pixel `corner` of the target.

        The selected rows are highlighted, and `handles` are drawn over it. With `supersample` each pixel is the mean of
        so many along each side. With `sample` it is one of several: see `Renderer.draw`.
        """
        running = self.running
        stage, view, camera = running.stage, running.view, running.cameras.now
        pane = self.pane(size)
        self.look(pane)
        level = level_in_force(view.quality, self.quality).supersampled(supersample)
        layers = list(stage.layers.values())
        marks = [mark for mark in (running.rows.marks(), running.selection.mark()) if mark is not None]
        renderer.draw(
            layers, camera, view, target, pane, running.clock.time, corner, marks, level, handles, sample=sample
        )
        if self.comparison is not None:
            self.comparison.draw(renderer, camera, target, size, corner, level)
        if min(size) > 0:  # while panels leave no room for the viewport, its last size stays
            self.viewport_size = size

    def draw_to_file(self, renderer: Renderer, target: wgpu.GPUTextureView, size: tuple[int, int]) -> None:
        """Record the same view for a file: of any size, without highlights, at the highest quality.

        An image with depth is of the open scene alone, also while it is compared.
        """
        layers, alone = list(self.stage.layers.values()), renderer.has_depth
        pane = size if alone else self.pane(size)
        self.look(pane)
        for sample in still_samples(self.view):
            renderer.draw(layers, self.camera, self.view, target, pane, self.time, sample=sample)
        if self.comparison is not None and not alone:
            self.comparison.draw(renderer, self.camera, target, size)

    def look(self, size: tuple[int, int]) -> None:
        """Let models have what this image needs; a window does not wait for it."""
        if min(size) > 0:
            self.stage.look(partial(viewpoint, self.running.cameras.now, size), wait=not self.reads_ahead)

    def pane(self, size: tuple[int, int]) -> tuple[int, int]:
        """The size of the image of the open scene in a viewport of `size`: the left part while it is compared."""
        return size if self.comparison is None else self.comparison.panes(size)[0]

    def measure(self) -> None:
        """Record an update of `diagnostics` ("model.name": value), without a stall: values arrive some frames later.

        Costs nothing if no model changed since, or if readbacks are pending.
        """
        self.clock.ask(lambda: self.diagnostics.ask(self.time, self.changes))

    def request_readbacks(self, now: bool = False) -> None:
        """Record the readbacks of the watches and of the inspected tensors that are due in this frame.

        All are due `now`, and while time stands still, so that what is shown then is exact. Not in the middle of a step
        that takes several frames: the tensors are then of different times.
        """
        running = self.running
        if running.stage.in_progress is None:
            now = now or running.clock.idle
            running.watches.observe(running.changes, running.clock.frame, running.clock.time)
            running.inspector.observe(running.changes, now)
            running.tensor_statistics.observe(running.changes, now)
            running.hovered_node.observe(running.changes)

    def inspect_now(self) -> None:
        """Collect pending readbacks, then check watches and the inspected tensor now; waits for the GPU."""
        for _ in range(2):
            self.request_readbacks(now=True)
            wait_for_readbacks(self.gpu)
            collect_readbacks(self)

    def close(self) -> None:
        """Free everything the scene uses. Idempotent."""
        loading.cancel(self)
        self.commands.cancel()
        self.stop_comparing()
        self.running.close()
        if self.gpu.pool.spill == self._spill:
            self.gpu.pool.spill = lambda: None
        self.gpu.sync()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # what commands do -------------------------------------------------------------------------------------------

    def report(self, topic: str, text: str) -> None:
        """Show a message under `topic`, instead of the last one; remove that if the text is empty."""
        if text:
            self.messages[topic] = text
        else:
            self.messages.pop(topic, None)

    def set_pacing(self, values: Mapping[str, Any]) -> None:
        """Change the frame pacing from the next frame on. Raises `ParameterError`."""
        self.pacing.take(self.pacing.with_values(values))
        self.clock.pacer.budget, self.clock.steps = self.pacing.budget, self.pacing.steps
        self.gpu.frames.in_flight = self.pacing.frames_in_flight
        self.timeline.requested_ms = 1e3 / self.pacing.fps_limit if self.pacing.fps_limit else 0.0

    def reload(self, path: Path | None = None, restart: bool = False) -> None:
        """Reload the scene, or open another one. If that fails, the old one stays, and the error is raised.

        Changes in the same file are applied, and the models go on, unless there is a `path` or `restart` is true.
        Camera and unsaved edits stay unless another file is opened; but a restart sets values, seeds and substeps to
        those of the file, and Undo restores the others.
        """
        if path is None and not restart:
            self.running.read_again()
        else:
            self.open(self.running.source.with_path(path))
        notes = self.scene_edits.notes
        heading = f"{self.scene.path.name} was reloaded, with changes that are not saved:"
        self.report("edits", "\n".join([heading, *notes]) if notes else "")

    def open(self, source: SceneSource, scene: Scene | None = None) -> None:
        """Replace what runs by another scene, or the same one from its start. Raises as `Session`; then all stays.

        With `scene` its file is not read again.
        """
        before = self.running
        self.running = Running(self.gpu, source, self.sizes, before, scene)
        before.close()
        self.stop_comparing()
        self.messages.clear()
        for command in self.questions.nothing_unsaved():
            self.post(command)

    def compare(self, left: SceneSource, right: SceneSource, labels: tuple[str, str] = ("", "")) -> None:
        """Open the scene `left`, and run `right` next to it. Raises as `Session`; then all stays."""
        comparison = Comparison(self, right, labels)
        try:
            self.open(left)
        except BaseException:
            comparison.close()
            raise
        self.comparison = comparison

    def stop_comparing(self) -> None:
        """End what runs next to the open scene, if anything does."""
        comparison, self.comparison = self.comparison, None
        if comparison is not None:
            comparison.close()

    def try_to_advance(self) -> None:
        """As `advance`; if a model fails, time is paused, and the reason is shown.

        The message stays until a model moves or, of a scene's own Python, until the file is fixed.
        """
        try:
            changes = self.changes
            self.advance()
            if self.changes != changes:
                self.messages.pop("step", None)
        except VertigradError as error:
            self.require_device(error)
            self.clock.halt()
            self.messages[f"file {error.file}" if isinstance(error, CodeError) else "step"] = str(error)
        except Exception as error:
            self.require_device(error)
            self.clock.halt()
            self.fail("step", error)

    def _spill(self) -> None:
        self.clock.rewind.shrink()
