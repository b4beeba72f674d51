"""`Running`: one opened scene, and all that belongs to it and to no other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..gpu import Gpu
from ..models import Model
from ..params import Auto, Params
from ..scene import Scene, UiHint, load
from ..scene.change import merged
from ..scene.inside import Ablated, with_inside
from ..scene.schema import LayerSpec
from ..scene.stage import Stage
from ..scene.viewpoints import home
from . import parameters
from .cameras import Cameras
from .clock import Clock
from .diagnostics import Diagnostics, Limits
from .hover import Hover
from .hovered_node import HoveredNode
from .inspector import Inspector
from .parameters import Values
from .readbacks import wait_for_readbacks
from .row_selection import RowSelection
from .scene_edits import SceneEdits
from .selection import Selection
from .sizing import Sizes
from .tensor_statistics import TensorStatistics
from .tool import InteractionTool
from .watches import Watches

FITTED_ASPECT = 1.5  # of an image into which everything is to fit: most windows are wider


class SceneText(Protocol):
    """A scene that is not a file: its text as TOML, the types of model that it names, and files of other folders."""

    @property
    def text(self) -> str: ...

    @property
    def model_types(self) -> Mapping[str, type[Model]]: ...

    @property
    def opened(self) -> Collection[str]: ...


@dataclass(frozen=True)
class SceneSource:
    """Where a scene is read from, and what the command line says of it; `sets` hold only for this file.

    `path` is absolute, and not followed if it is a link: what that leads to may change. With `memory` there is no such
    file; the path names the scene, and its folder is where files named in it are looked for.
    """

    path: Path
    sets: tuple[str, ...] = ()
    seed: int | None = None
    memory: SceneText | None = None

    def load(self) -> Scene:
        """The scene as its file is now. Uses no GPU. Raises as `load`."""
        if self.memory is None:
            return load(self.path, sets=self.sets, seed=self.seed)
        types, opened = self.memory.model_types, self.memory.opened
        return load(self.path, sets=self.sets, seed=self.seed, text=self.memory.text, model_types=types, opened=opened)

    def read(self, sizes: Sizes) -> Scene:
        """The scene as its file is now, sized for the adapter. Raises as `load`."""
        return sizes.settled(self.load())

    def with_path(self, path: Path | None) -> SceneSource:
        """The same for another file, which the settings of this one are not for."""
        if path is None:
            return self
        found = replace(self, path=path.absolute(), memory=None)
        return found if found.same_file_as(self) else replace(found, sets=())

    def same_file_as(self, other: SceneSource) -> bool:
        """Whether both are the same file, however its path is spelled."""
        return self.path == other.path or self.path.resolve() == other.path.resolve()


class Running:
    """A scene's stage, camera, view, time and edits, and what is observed of it.

    It is built completely, beside the one `before` it, which goes on untouched if anything here raises; settings that
    belong to the user and not to a scene are taken over. The same file built anew also keeps camera, watches, history
    and unsaved edits. With `scene` the file is not read again. Raises `SceneError`, `InputError`, and what a model
    raises; nothing stays allocated then.
    """

    def __init__(
        self, gpu: Gpu, origin: SceneSource, sizes: Sizes, before: Running | None = None, scene: Scene | None = None
    ):
        same = before is not None and origin.same_file_as(before.source)
        self.gpu, self.source, self.sizes = gpu, origin, sizes
        self.scene_read = scene or origin.read(sizes)  # as its file has it
        self.scene = self.scene_read  # with the tensors that the user shows
        if before is not None and same and scene is None:
            self.scene = before.scene_edits.with_tensors(self.scene_read)
        self.view = self.scene.view.model_copy()
        self.stage = Stage(self.scene, gpu)
        self.changes = before.changes + 1 if before else 0  # how often tensors were made other ones
        try:
            self.cameras = before.cameras if before and same else self._cameras(before)
            self.diagnostics, self.inspector = Diagnostics(self.stage), Inspector(self.stage)
            self.tensor_statistics = TensorStatistics(self.stage, before.tensor_statistics if before and same else None)
            self.hovered_node = HoveredNode(self.stage)
            self.watches = Watches(self.stage, before.watches if before else None, same)
            self.limits = Limits(self.stage, before is not None and before.limits.stopping)
            drawn = gpu, self.stage, self.cameras.now, self.view
            self.selection, self.tool = (
                Selection(*drawn),
                InteractionTool(*drawn, before.tool if before else None),
            )
            self.hover = Hover(*drawn, before.hover if before else None)
            self.rows = RowSelection(*drawn, before.rows if before else None)
            self.scene_edits = SceneEdits(self, before.scene_edits if before and same else None)
            self.clock = Clock(gpu, self.stage, before.clock if before else None, same)
        except BaseException:
            self.stage.close()
            raise

    # parameters -------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Params]:
        """Everything that can be set, by owner: "models.NAME", "layers.NAME" (its style) and "view"."""
        return parameters.live(self.stage, self.view)

    def originals(self) -> dict[str, Params]:
        """What `parameters()` were when the scene was read: as its file and the command line have them."""
        return parameters.as_read(self.scene)

    def hints(self, owner: str) -> Mapping[str, UiHint]:
        """How the scene wants the parameters of `owner` shown."""
        kind, _, key = owner.partition(".")
        return self.scene.models[key].ui if kind == "models" else {}

    def sized(self, values: Values) -> Values:
        """The values with the number that fits this adapter in the place of each "auto". Raises `ParameterError`."""
        found = dict(values)
        for key, value in values.items():
            if (value == "auto" or isinstance(value, Auto)) and key.owner in self.parameters():
                model = key.owner.removeprefix(parameters.MODELS)
                if model in self.stage.instances and parameters.spec_of(self.parameters(), key).auto:
                    found[key] = self.sizes.of(self._as_it_runs(), model, key.name)
        return found

    def assign(self, values: Values) -> None:
        """Set parameters, seeds and substeps, all or none of them, past the history. Raises as `parameters.assign`.

        Models begin again, all of them, if one gets another seed.
        """
        instances, before = dict(self.stage.instances), parameters.settings_of(self.stage.specs)
        if parameters.assign(self.stage, self.parameters(), self.scene.path.parent, values):
            self.clock.stale = True
        if any(key.name == "seed" and before.get(key, value) != value for key, value in values.items()):
            self.reset()
        elif instances != self.stage.instances:
            self.clock.rebuilt()

    def stepped(self) -> None:
        """The models came to another state."""
        self.changes += 1
        self._fit(self.cameras, self.clock.frame)

    # what changes as a whole ------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Every model back to its start, time to zero."""
        self.stage.reset()
        self.watches.forget()
        self.clock.restart()
        self.changes += 1

    def rebuilt(self) -> None:
        """Models, or layers of them, are others than before: what was found of the old ones holds no longer."""
        self.diagnostics.clear()
        self.inspector.forget()
        self.tensor_statistics.forget()
        self.hovered_node.forget()
        self.selection.clear()
        self.hover.clear()
        self.clock.rebuilt()
        self.changes += 1

    def read_again(self) -> None:
        """Become what the scene's file says now; what the user changed stays, and the models go on.

        Raises as `load` and `Stage.apply_scene`; all is as it was then.
        """
        scene = self.source.read(self.sizes)
        before, ours = self.scene, self.scene_edits.values() | self.scene_edits.settings()
        self.scene_edits.suspend_animations()
        scene_read, scene = scene, self.scene_edits.with_tensors(scene)
        try:
            view = merged(self.view, before.view, scene.view)
            others = self.stage.apply_scene(scene)
        except BaseException:
            self.scene_edits.apply_animations(self.clock.time)
            raise
        self.scene_read, self.scene = scene_read, scene
        self.view.take(view)
        if others:
            self.rebuilt()
        self.clock.stale = True
        self.scene_edits.scene_read(before, ours)

    def show_tensors(self, layers: Mapping[str, LayerSpec], ablated: Ablated) -> None:
        """Draw these layers of tensors and no others, and set these units to zero.

        Raises as `Stage.apply_scene`; all is as it was then.
        """
        scene = with_inside(self.scene, layers, ablated)
        if self.stage.apply_scene(scene):
            self.rebuilt()
        self.scene = scene
        self.clock.stale = True
        self.changes += 1

    def go_home(self) -> None:
        """The camera back to where the scene has it."""
        if self.scene.camera.fit:
            self.cameras.frame(self.stage.layers.values(), FITTED_ASPECT)
        else:
            self.cameras.go(home(self.scene))

    def saved(self, scene: Scene, origin: SceneSource) -> None:
        """The scene's file is `scene` now, and says what runs."""
        self.scene = self.scene_read = self.stage.scene = scene
        self.source = origin
        self.scene_edits.scene_saved()

    def fit(self) -> None:
        """The camera at once to where all layers are seen."""
        self.cameras.fit(self.stage.layers.values(), FITTED_ASPECT, lambda: wait_for_readbacks(self.gpu))

    def close(self) -> None:
        """Give back everything. Idempotent."""
        self.diagnostics.forget()
        self.watches.clear()
        self.inspector.clear()
        self.tensor_statistics.forget()
        self.hovered_node.forget()
        self.selection.clear()
        self.hover.clear()
        self.rows.close()
        self.tool.release()
        self.clock.rewind.snapshots.clear()
        self.stage.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _cameras(self, before: Running | None) -> Cameras:
        """Where the scene has the camera; where it leaves that to us, as far away that everything is seen."""
        cameras = Cameras(self.scene, before.cameras.fly_speed if before else 1.0)
        self._fit(cameras)
        return cameras

    def _fit(self, cameras: Cameras, step: int | None = None) -> None:
        if self.scene.camera.fit:
            cameras.fit(self.stage.layers.values(), FITTED_ASPECT, lambda: wait_for_readbacks(self.gpu), step)

    def _as_it_runs(self) -> Scene:
        models: Mapping[str, Any] = {
            name: replace(self.stage.specs[name], params=self.stage.instances[name].params)
            for name in self.scene.models
        }
        return replace(self.scene, models=models)
