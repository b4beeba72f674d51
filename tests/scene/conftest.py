"""Small types of model and layer, so that these tests change only when the format does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from vertigrad import scene
from vertigrad.errors import InputError
from vertigrad.models import Model, OutputSpec
from vertigrad.params import Params, choice, color, file, integer, interval, number, switch, vector


class Still(Model):
    """Base class of the types below: nothing runs when a scene is only read."""

    def __init__(self, name, params, inputs, seed):
        raise NotImplementedError

    step = outputs = diagnostics = reset = close = __init__


class Galaxy(Still):
    class Params(Params):
        count: int = integer(8192, min=2, max=1 << 20, rebuild=True)
        softening: float = number(0.05, min=1e-4, max=1.0, unit="kpc", scale="log")
        start: Literal["disc", "ball"] = choice("disc", ("disc", "ball"))
        frozen: bool = switch(False)
        drift: tuple[float, float, float] = vector((0.0, 0.0, 0.0))

    @classmethod
    def output_specs(cls, params):
        return {
            "position": OutputSpec((params.count, 3), "f32"),
            "velocity": OutputSpec((params.count, 3), "f32"),
            "speed": OutputSpec((params.count,), "f32"),
            "id": OutputSpec((params.count,), "u32"),
        }


class Terrain(Still):
    class Params(Params):
        resolution: int = integer(64, min=2, max=1 << 16, rebuild=True)
        weights: Path | None = file(None, suffixes=(".safetensors",))

    @classmethod
    def output_specs(cls, params):
        if params.weights and not params.weights.read_bytes():
            raise InputError(f"{params.weights.name} is empty")
        grid = (params.resolution, params.resolution)
        return {"position": OutputSpec((*grid, 3), "f32"), "height": OutputSpec(grid, "f32")}


class Cloth(Still):
    class Params(Params):
        stiffness: float = number(10.0, min=0.0)

    inputs: Mapping[str, str] = {"wind": "velocity of the air", "pin": "where it hangs"}
    required_inputs = frozenset({"wind"})

    @classmethod
    def output_specs(cls, params):
        return {"position": OutputSpec((None, 3), "f32"), "velocity": OutputSpec((None, 3), "f32")}


@dataclass(frozen=True)
class Attribute:
    required: bool
    components: tuple[int, ...]
    default: object
    doc: str = ""
    own_rows: bool = False
    any_layout: bool = False


class Points:
    most: int | None = None

    class Style(Params):
        colormap: str = choice("inferno", ("inferno", "viridis"))
        range: tuple[float, float] | Literal["auto"] = interval((0.0, 1.0), words=("auto",))
        tint: tuple[float, float, float] = color("#ffffff")

    ATTRIBUTES: Mapping[str, Attribute] = {
        "position": Attribute(True, (3,), None, "x, y, z"),
        "color": Attribute(False, (1, 3, 4), (1.0, 1.0, 1.0)),
        "size": Attribute(False, (1,), 0.01),
    }


class Surface:
    most: int | None = None

    class Style(Params):
        roughness: float = number(0.7, min=0.0, max=1.0)

    ATTRIBUTES: Mapping[str, Attribute] = {
        "position": Attribute(True, (3,), None, "x, y, z"),
        "color": Attribute(False, (1, 3, 4), (1.0, 1.0, 1.0)),
        "normal": Attribute(False, (3,), None),
        "index": Attribute(False, (1, 3), None),
    }


MODELS = {"nbody": Galaxy, "neural_field": Terrain, "sail": Cloth}
LAYERS = {"points": Points, "surface": Surface}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., scene.Scene]:
    """Load a scene from text or bytes, written to scene.toml in `tmp_path`, or from a path.

    Its types are in `load.models` and `load.layers`.
    """

    def load(source: str | bytes | Path, **options) -> scene.Scene:
        path = source if isinstance(source, Path) else tmp_path / "scene.toml"
        if isinstance(source, str):
            path.write_text(source, encoding="utf-8")
        elif isinstance(source, bytes):
            path.write_bytes(source)
        return scene.load(path, model_types=MODELS, layer_types=LAYERS, **options)

    load.models, load.layers = MODELS, LAYERS
    return load
