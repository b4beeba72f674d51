"""`SceneParts`: the parts of the session that belong to the open scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Generic, Never, TypeVar

from ..params import Params
from ..renderer.camera import OrbitCamera
from ..renderer.view import View
from ..scene import Scene, UiHint
from ..scene.stage import Stage
from .cameras import Cameras
from .clock import Clock
from .diagnostics import Diagnostics, Limits
from .hover import Hover
from .hovered_node import HoveredNode
from .inspector import Inspector
from .row_selection import RowSelection
from .running import Running, SceneSource
from .scene_edits import SceneEdits
from .selection import Selection
from .tensor_statistics import TensorStatistics
from .tool import InteractionTool
from .watches import Watches

T = TypeVar("T")


class OfScene(Generic[T]):
    """An attribute that is one of `SceneParts.running`, or of a part of that, such as "clock.time"."""

    def __init__(self, path: str = ""):
        self._path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self._get = attrgetter(self._path or name)

    def __get__(self, parts: SceneParts, owner: type) -> T:
        return self._get(parts.running)

    def __set__(self, parts: SceneParts, value: Any) -> Never:
        raise AttributeError("set it in the session's parts, or by a command")


class SceneParts:
    """The parts of `running`, which another scene replaces in one assignment."""

    running: Running

    source = OfScene[SceneSource]()  # where it was read from, with the settings and the seed of the command line
    scene = OfScene[Scene]()  # as its file was read
    stage = OfScene[Stage]()  # its models and layers
    view = OfScene[View]()  # how it is drawn
    cameras = OfScene[Cameras]()  # its camera, and how it moves
    clock = OfScene[Clock]()  # its time
    scene_edits = OfScene[SceneEdits]()  # the user's changes
    selection = OfScene[Selection]()  # the row that was clicked
    hover = OfScene[Hover]()  # the row that is probed under the cursor
    rows = OfScene[RowSelection]()  # rows that are selected or hidden
    tool = OfScene[InteractionTool]()  # the tool by which the mouse acts on its models
    diagnostics = OfScene[Diagnostics]()  # scalars that its models measure
    limits = OfScene[Limits]()  # which diagnostics are too large
    watches = OfScene[Watches]()  # statistics of its tensors
    tensor_statistics = OfScene[TensorStatistics]()  # those of a tensor inside a model
    hovered_node = OfScene[HoveredNode]()  # the node of a network's graph under the mouse
    inspector = OfScene[Inspector]()  # the inspected tensor
    camera = OfScene[OrbitCamera]("cameras.now")  # the camera that draws
    speed = OfScene[float]("clock.speed")  # model seconds that pass in a second of 60 frames
    frame = OfScene[int]("clock.frame")  # steps that the models took since their start
    time = OfScene[float]("clock.time")  # seconds that passed for the models since their start
    changes = OfScene[int]()  # increases when tensors change: by a step, a reset, another scene
    parameters = OfScene[Callable[[], dict[str, Params]]]()  # see `Running`, as for the next two
    originals = OfScene[Callable[[], dict[str, Params]]]()
    hints = OfScene[Callable[[str], Mapping[str, UiHint]]]()
    reset = OfScene[Callable[[], None]]()  # resets every model, and time to zero

    @property
    def playing(self) -> bool:
        """Whether time passes for the models."""
        return self.running.clock.playing

    @playing.setter
    def playing(self, on: bool) -> None:
        self.running.clock.play(on)
