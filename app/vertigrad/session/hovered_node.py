"""`HoveredNode`: the node of a network's graph in space that is under the mouse, and what its tensor holds now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import GpuError
from ..models.inside import Graph, Node
from ..ops.summary import Summary
from ..renderer.camera import OrbitCamera
from ..renderer.layers.tensor import TensorLayer
from ..renderer.layers.tensor_forms import PointsForm
from ..scene.inside import TENSOR
from ..scene.schema import InnerRef
from ..scene.stage import Stage
from ..tensor import Readback
from .row_set import pixels_of

GRAPH = "graph"  # the tensor of a network whose rows are the nodes
EVERY = 0.1  # seconds between readings: faster ones cannot be read


class NodeOnScreen(NamedTuple):
    """A node, the network and the row of its graph, and where it is drawn: pixel and radius."""

    model: str
    row: int
    node: Node
    pixel: tuple[float, float]
    radius: float


class HoveredNode:
    """`chosen` is a network and a row of its graph, if any; `summary` are the statistics of that node's tensor.

    They are read without a stall, a few times a second while the models move.
    """

    def __init__(self, stage: Stage):
        self._stage = stage
        self.chosen: tuple[str, int] | None = None
        self.summary: Summary | None = None
        self._reading: Readback | None = None
        self._read_at, self._changes = 0.0, -1

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return self._reading is not None

    def choose(self, model: str = "", row: int = -1) -> None:
        """Read what this node holds from now on; of none without a model."""
        self.forget()
        self.chosen = (model, row) if model else None

    def observe(self, changes: int) -> None:
        """Record a reading, if one is due and tensors have changed since: `changes` counts how often."""
        graph = self._graph()
        if graph is None:
            self.summary = None
        if graph is None or self._reading is not None or changes == self._changes:
            return
        if time.perf_counter() - self._read_at >= EVERY:
            assert self.chosen is not None
            self._reading = graph.read(self.chosen[1])
            self._read_at, self._changes = time.perf_counter(), changes

    def collect(self) -> None:
        """Take what has been read back."""
        if self._reading is None or not self._reading.done:
            return
        reading, self._reading = self._reading, None
        graph = self._graph()
        try:
            words = reading.result()
        except GpuError:  # the frame it was recorded in was dropped
            self._changes = -1
            return
        if graph is not None and self.chosen is not None:
            self.summary = Summary.of(words, graph.nodes[self.chosen[1]].dtype)

    def forget(self) -> None:
        """Drop what was read, as after the models were rebuilt."""
        self.summary = self._reading = None
        self._read_at, self._changes = 0.0, -1

    def _graph(self) -> Graph | None:
        """The graph that has the chosen node."""
        instance = None if self.chosen is None else self._stage.instances.get(self.chosen[0])
        graph = None if instance is None else instance.inside.graph
        return graph if graph is not None and self.chosen is not None and self.chosen[1] < len(graph.nodes) else None


def node_under(
    stage: Stage, camera: OrbitCamera, cursor: tuple[float, float], size: tuple[int, int], reach: float
) -> NodeOnScreen | None:
    """The node that is drawn at the pixel `cursor` of a viewport of `size`, or at most `reach` pixels beside it.

    Of those that cover the cursor the nearest to the camera, else the one that is least beside it; None if there is
    none.
    """
    found: list[tuple[float, float, NodeOnScreen]] = []
    for model, graph, layer, form in _graphs(stage):
        style = layer.style
        positions = 0.5 * style.size * graph.positions + np.asarray(style.center)
        pixels, is_before = pixels_of(positions, camera, size)
        distances = np.linalg.norm(positions - np.asarray(camera.position), axis=1)
        depths = np.ones_like(distances) if camera.orthographic else distances
        dots = form.radius / camera.pixel(size[1]) / depths
        gaps = np.maximum(np.hypot(*(pixels - cursor).T) - dots, 0.0)
        gaps[~is_before] = np.inf
        least = gaps.min(initial=np.inf)
        if least <= reach:
            row = int(np.argmin(np.where(gaps == least, distances, np.inf)))
            x, y = pixels[row].tolist()
            on_screen = NodeOnScreen(model, row, graph.nodes[row], (x, y), float(dots[row]))
            found.append((float(least), float(distances[row]), on_screen))
    return min(found)[2] if found else None


def _graphs(stage: Stage) -> Iterator[tuple[str, Graph, TensorLayer, PointsForm]]:
    """The graphs of networks that layers show."""
    for name, layer in stage.layers.items():
        ref = stage.scene.layers[name].attributes.get(TENSOR)
        if not isinstance(layer, TensorLayer) or not isinstance(layer.form, PointsForm):
            continue
        if isinstance(ref, InnerRef) and ref.output == GRAPH:
            graph = stage.instances[ref.model].inside.graph
            if graph is not None and graph.nodes:
                yield ref.model, graph, layer, layer.form
