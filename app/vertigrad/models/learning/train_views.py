"""Outputs that show a network in training: a landscape of classes, a plane, or the distances from a solid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from ... import ops
from ...learn.network import Network
from ...tensor import Tensor
from ..base import OutputSpec
from ..parts import Parts
from .train_data import Examples, Kind, grid_positions
from .train_tables import Classes, Draw, Plane, Tables

PART = 1 << 15  # positions that go through a network together, so that its layers' results stay small
MARGIN = 1.06  # of the landscape around the outermost point
GROUND = 0.62  # how much of a class's color its land has; the rest is `DUSK`
SPREAD = 0.6  # power of a point's distance from the middle: outliers come nearer, what is crowded has more room
DUSK = (0.16, 0.18, 0.24)
# Ten colors that the color-blind can distinguish (Petroff 2021, Accessible color sequences for data visualization).
PALETTE = ("3f90da", "ffa90e", "bd1f01", "94a4a2", "832db6", "a96b59", "e76300", "b9ac70", "717581", "92dadd")

Weights = Mapping[str, Tensor]


class View(ABC):
    """Tensors that are drawn, and how a network and its weights give them; closed with `parts`."""

    def __init__(self, parts: Parts, specs: Mapping[str, OutputSpec]):
        self._parts = parts
        self.outputs = {key: parts.zeros(key, *(size or 0 for size in spec.shape)) for key, spec in specs.items()}

    @abstractmethod
    def record(self, network: Network, weights: Weights) -> None:
        """Record into the open plan how the tensors follow from the weights."""


def specs_of(tables: Tables, kind: Kind) -> dict[str, OutputSpec]:
    """The outputs of a model with these tables."""
    side = tables.draw.resolution
    match tables.data:
        case Classes():
            count = kind.shown[0]
            return {
                "point": OutputSpec((count, 3), "f32", "embedding of each example, on the landscape, y up"),
                "point_color": OutputSpec((count, 3), "f32", "color of the label, sRGB"),
                "label": OutputSpec((count,), "f32", "label of each example"),
                "ground": OutputSpec(
                    (side, side, 3), "f32", "landscape of the embedding: certainty of the predicted class"
                ),
                "ground_normal": OutputSpec((side, side, 3), "f32", "unit normals of the landscape"),
                "ground_color": OutputSpec((side, side, 3), "f32", "colors of the predicted classes, sRGB"),
            }
        case Plane():
            shape = kind.shown if kind.outputs == 1 else (*kind.shown, kind.outputs)
            return {
                "value": OutputSpec(shape, "f32", "prediction"),
                "target": OutputSpec(shape, "f32", "target"),
                "error": OutputSpec(kind.shown, "f32", "absolute error"),
            }
    return {"distance": OutputSpec((side,) * 3, "f32", "signed distances on the cube from -1 to 1, z first")}


def view_of(parts: Parts, tables: Tables, kind: Kind, shown: Examples, cut: int) -> View:
    """The view for these tables; `cut` layers lead to the plane of a classifier."""
    specs = specs_of(tables, kind)
    match tables.data:
        case Classes():
            return _Land(parts, specs, shown, cut, tables.draw)
        case Plane():
            return _Flat(parts, specs, shown)
    return _Box(parts, specs)


class _Land(View):
    """Examples as points of a plane; the plane is as high as the network is sure of the class that it sees there."""

    def __init__(self, parts: Parts, specs: Mapping[str, OutputSpec], shown: Examples, cut: int, draw: Draw):
        super().__init__(parts, specs)
        self._cut, self._draw = cut, draw
        side, labels = draw.resolution, shown.shown_targets
        self._classes = int(labels.max()) + 1
        colors = palette(self._classes)
        copied = self._parts.copied
        self._examples = copied("examples", shown.shown)
        coordinates = grid_positions((side, side))[:, ::-1]
        self._coordinates = copied("coordinates", np.ascontiguousarray(coordinates))
        self._network_points = copied("network_points", _unspread(coordinates))
        self._colors = copied("colors", _land_colors(colors))
        self.outputs["point_color"][...] = colors[labels]
        self.outputs["label"][...] = labels.astype(np.float32)

    def record(self, network: Network, weights: Weights) -> None:
        points = network.apply(self._examples, weights, 0, self._cut)
        length = ops.sqrt(ops.sum(ops.square(points), axis=-1, keepdims=True))
        reach = ops.max(length) * MARGIN + 1e-6
        coordinates = ops.fused(
            lambda p, r, most: p / most * (r / most + 1e-6) ** (SPREAD - 1.0), points, length, reach
        )
        self._assign_points("point", coordinates, self._probabilities(network, points, weights), self._draw.lift)
        probabilities = self._probabilities(network, self._network_points * reach, weights)
        self._assign_points("ground", self._coordinates, probabilities, 0.0)
        colors = ops.sum(probabilities[:, :, None] * self._colors, axis=1)  # too few for a product of matrices
        ops.assign(self.outputs["ground_color"].reshape(-1, 3), colors)
        ops.grid_normals(self.outputs["ground"], self.outputs["ground_normal"])

    def _probabilities(self, network: Network, points: Tensor, weights: Weights) -> Tensor:
        return ops.softmax(network.apply(points, weights, self._cut))

    def _assign_points(self, name: str, coordinates: Tensor, probabilities: Tensor, lift: float) -> None:
        """Vertices (n, 3) over coordinates (n, 2): height 0 where classes are equally probable."""
        out = self.outputs[name].reshape(-1, 3)
        least, height = 1.0 / self._classes, self._draw.height
        ops.assign(out[:, 0], coordinates[:, 0])
        ops.assign(out[:, 1], (ops.max(probabilities, axis=-1) - least) * (height / (1.0 - least)) + lift)
        ops.assign(out[:, 2], coordinates[:, 1])


class _Flat(View):
    def __init__(self, parts: Parts, specs: Mapping[str, OutputSpec], shown: Examples):
        super().__init__(parts, specs)
        self._coordinates = self._parts.copied("coordinates", shown.shown)
        self.outputs["target"][...] = shown.shown_targets.reshape(self.outputs["target"].shape)

    def record(self, network: Network, weights: Weights) -> None:
        value, target, error = (self.outputs[name] for name in ("value", "target", "error"))
        _apply_in_parts(network, self._coordinates, weights, value)
        away = ops.absolute(value - target)
        ops.assign(error, away if away.ndim == 2 else ops.mean(away, axis=-1))


class _Box(View):
    def __init__(self, parts: Parts, specs: Mapping[str, OutputSpec]):
        super().__init__(parts, specs)
        coordinates = grid_positions(self.outputs["distance"].shape)[:, ::-1]
        self._coordinates = self._parts.copied("coordinates", np.ascontiguousarray(coordinates))

    def record(self, network: Network, weights: Weights) -> None:
        _apply_in_parts(network, self._coordinates, weights, self.outputs["distance"])


def palette(count: int) -> np.ndarray:
    """Colors (count, 3) f32 of classes, sRGB from 0 to 1: ten that differ clearly, then darker ones of them."""
    ten = np.array([[int(text[at : at + 2], 16) for at in (0, 2, 4)] for text in PALETTE]) / 255.0
    return np.stack([ten[number % 10] * 0.6 ** (number // 10) for number in range(count)]).astype(np.float32)


def _unspread(coordinates: np.ndarray) -> np.ndarray:
    """Where in the network's plane the coordinates of the land are, relative to its extent."""
    length = np.linalg.norm(coordinates.astype(float), axis=1, keepdims=True)
    return (coordinates * length ** (1.0 / SPREAD - 1.0)).astype(np.float32)


def _land_colors(colors: np.ndarray) -> np.ndarray:
    return (GROUND * colors + (1.0 - GROUND) * np.array(DUSK)).astype(np.float32)


def _apply_in_parts(network: Network, coordinates: Tensor, weights: Weights, out: Tensor) -> None:
    rows = out.reshape(coordinates.shape[0], -1)
    for first in range(0, coordinates.shape[0], PART):
        part = slice(first, first + PART)
        ops.assign(rows[part], network.apply(coordinates[part], weights))
