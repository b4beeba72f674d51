"""The checked contents of a scene file: models, layers, camera and view, before anything is on the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import model_validator

from ..errors import SceneError, SceneProblem
from ..models.base import Model, OutputSpec
from ..models.inside import Observed
from ..params import Params, angle, choice, ends, integer, number, switch, text, vector
from ..renderer.annotations.overlay import ColorBar
from ..renderer.view import View
from .locate import KeyPath, SourceMap, dotted

VERSION = 1
SECTIONS = ("version", "title", "description", "camera", "models", "layers", "view", "presets", "animations")
MODEL_KEYS = ("type", "seed", "substeps", "inputs", "ablate", "ui")  # every other key is one of the model's parameters

Vector = tuple[float, float, float]
Constant = float | tuple[float, ...]  # of an attribute


class OutputRef(NamedTuple):
    """`"galaxy.position"`: one output of one model."""

    model: str
    output: str

    @property
    def text(self) -> str:
        """The reference as a scene file has it."""
        return str(self)

    def __str__(self) -> str:
        return f"{self.model}.{self.output}"


class InnerRef(OutputRef):
    """`"net:/encoder/3/attn"`: a tensor inside a model, which is an output of it while it is referred to."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The reference as a scene file has it."""
        return f"{self.model}:{self.output}"


class Viewpoint(Params):
    """The position and target of a camera."""

    position: Vector
    target: Vector

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.position == self.target:
            raise ValueError("position and target are the same point")
        return self


class Camera(Viewpoint):
    """The camera when the scene opens. The world is right-handed."""

    position: Vector = vector((0.0, 2.0, 8.0), doc="position of the eye")
    target: Vector = vector((0.0, 0.0, 0.0), doc="the point it looks at and orbits")
    fov: float = angle(45.0, min=1.0, max=170.0, doc="vertical field of view")
    up: Literal["y", "z"] = choice("y", ("y", "z"), doc="the axis that is up in the image")
    orthographic: bool = switch(False, doc="orthographic projection")
    fit: bool = switch(False, doc="move the eye at the start until everything is visible")


class Bookmark(Viewpoint):
    """A saved view; values that are not set are those of the scene's camera."""

    position: Vector = vector(..., doc="position of the eye")
    target: Vector = vector(..., doc="the point it looks at and orbits")
    fov: float | None = angle(None, min=1.0, max=170.0, doc="vertical field of view")
    orthographic: bool | None = switch(None, doc="orthographic projection")


class ModelSettings(Params):
    """The settings of models of every type."""

    seed: int = integer(0, min=0, max=2**32 - 1, doc="seed of its random numbers")
    substeps: int = integer(1, min=1, max=10_000, doc="steps in each frame")


SETTINGS = tuple(ModelSettings.model_fields)


class UiHint(Params):
    """How the GUI shows a parameter; by default, as the model declares it."""

    label: str | None = text(None, doc="name to show")
    min: float | None = number(None, doc="low end of the slider")
    max: float | None = number(None, doc="high end of the slider")
    scale: Literal["linear", "log"] | None = choice(None, ("linear", "log"), doc="steps of the slider")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.min is not None and self.max is not None and not self.min < self.max:
            raise ValueError(f"min ({self.min}) is not below max ({self.max})")
        return self


class Animation(Params):
    """Animation of a parameter by simulated time; components of a vector or a color are animated separately."""

    shape: Literal["sine", "ramp", "noise"] = choice(
        "sine", ("sine", "ramp", "noise"), doc="a sine, a sawtooth, or smooth noise"
    )
    range: tuple[Any, Any] = ends(..., doc="lowest and highest value")
    frequency: float = number(
        0.2,
        min=1e-3,
        max=30.0,
        slider_min=0.02,
        slider_max=2.0,
        unit="/s",
        scale="log",
        doc="cycles per simulated second",
    )
    seed: int = integer(0, min=0, max=2**32 - 1, doc="seed of the noise")


@dataclass(frozen=True)
class ModelSpec:
    """One model: `kind` is its class, `outputs` are the specs of its outputs."""

    name: str
    type: str
    kind: type[Model]
    params: Params
    seed: int = 0
    substeps: int = 1
    inputs: Mapping[str, OutputRef] = field(default_factory=dict)
    ui: Mapping[str, UiHint] = field(default_factory=dict)
    outputs: Mapping[str, OutputSpec] = field(default_factory=dict)
    ablated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # units that are 0, by tensor

    def without_effect(self, params: Params) -> Mapping[str, str]:
        """Return the parameters without effect for the values in `params`, by name, with the reason."""
        return self.kind.without_effect(params, self.inputs)


@dataclass(frozen=True)
class LayerSpec:
    """One layer: the source of each attribute, its style, its legend. Missing attributes have their default."""

    name: str
    type: str
    attributes: Mapping[str, OutputRef | Constant]
    style: Params
    colorbar: ColorBar | None = None


@dataclass(frozen=True)
class Scene:
    """A scene file without problems. `order` has every model after those whose outputs it reads.

    `presets` are sets of parameters by name, `animations` are by parameter: the path of its entry, such as
    ("models", "galaxy", "softening"). `source_map` has the position of each entry in the file, for errors
    that are found only when the scene is built.
    """

    path: Path
    title: str
    camera: Camera
    view: View
    models: Mapping[str, ModelSpec]
    layers: Mapping[str, LayerSpec]
    order: tuple[str, ...]
    source_map: SourceMap
    version: int = VERSION
    bookmarks: Mapping[str, Bookmark] = field(default_factory=dict)
    keyframes: Mapping[int, Bookmark] = field(default_factory=dict)  # of the camera, by frame
    presets: Mapping[str, Mapping[KeyPath, Any]] = field(default_factory=dict)
    animations: Mapping[KeyPath, Animation] = field(default_factory=dict)

    def observed(self, model: str) -> Observed:
        """The tensors inside a model that other models and layers read, and its units that are set to zero."""
        spec = self.models[model]
        read = [ref for other in self.models.values() for ref in other.inputs.values()]
        read += [
            ref for layer in self.layers.values() for ref in layer.attributes.values() if isinstance(ref, OutputRef)
        ]
        inner = (ref.output for ref in read if ref.model == model and isinstance(ref, InnerRef))
        return Observed(tuple(dict.fromkeys(inner)), spec.ablated)

    def error(self, key: KeyPath, message: str) -> SceneError:
        """The error for a wrong value of an entry, such as ("layers", "stars", "color")."""
        return SceneError(str(self.path), [SceneProblem(*self.source_map.of_value(key), dotted(key), message)])
