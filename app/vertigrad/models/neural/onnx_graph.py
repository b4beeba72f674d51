"""`NetworkGraph`: the graph of a network laid out in space, its nodes with what their tensors hold now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...closing import Closing
from ...errors import InputError
from ...gpu import Plan, Traffic
from ...indexed import indexed
from ...tensor import Readback, Tensor, f32
from ..inside import Graph, InnerTensor, Node

if TYPE_CHECKING:
    from ...onnx_import import Network
    from ...onnx_import.inspected import Element
    from ...onnx_import.probe import Probe

NODES, WIRES = "graph", "graph.wires"  # names among the tensors inside a network
KNOWN = {
    NODES: InnerTensor("layout of the graph", "float", (None, 4)),
    WIRES: InnerTensor("wires of the graph", "float", (None, 2, 3)),
}
TURN, RISE = 24, 1.2  # steps of depth in a turn of the helix, and how far it gets in that, in radii
ASIDE = 0.22  # between nodes of one depth, in radii
LEAST = 1e-3  # root mean square below which the logarithm is constant: else zeros would use up the colormap


class NetworkGraph(Graph, Closing):
    """`rows` (n, 4): a position for each of the probed tensors, and the base-10 logarithm of its root mean square.

    `wires` (m, 2, 3) lead from what a node reads to what it computes. Depth, the longest path from the inputs, goes
    along a helix; nodes of one depth are next to each other. `update` takes the statistics of now. Raises `InputError`
    for a network that is a constant.
    """

    def __init__(self, probe: Probe, sources: Mapping[str, Sequence[str]]):
        self.nodes = [Node(*one) for one in probe.tensors]
        self._probe = probe
        if not self.nodes:
            raise InputError("the graph cannot be shown: all inputs are constants, so nothing is computed on the GPU")
        names = [node.name for node in self.nodes]
        edges = edges_between(names, sources)
        positions = self.positions = layout(len(names), edges)
        with ExitStack() as parts:
            self.rows = parts.enter_context(
                Tensor.from_numpy(np.concatenate([positions, np.zeros((len(names), 1), np.float32)], 1), NODES)
            )
            ends = positions[np.array(edges or [(0, 0)])]
            self.wires = parts.enter_context(Tensor.from_numpy(ends.astype(np.float32), WIRES))
            self._plan = parts.enter_context(Plan(NODES))
            records = probe.records[: len(names)]
            parts.enter_context(records)
            with self._plan.recording():
                finite, mean, squares, base = (records[:, word] for word in (0, 6, 7, 12))
                floats = (one.bitcast(f32) for one in (mean, squares, base))
                ops.fused(_logarithm, finite, *floats, out=self.rows[:, 3])
            self._parts = parts.pop_all()

    def update(self) -> None:
        """Take the statistics of now."""
        self._plan.update()

    def read(self, node: int) -> Readback:
        with self._probe.records[node] as record:
            return record.read_async(Traffic.DIAGNOSTICS)

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self._parts.close()


def _logarithm(finite: Any, mean: Any, squares: Any, base: Any) -> Any:
    """The base-10 logarithm of the root mean square, of the words of a record."""
    whole = mean + base
    rms = ops.sqrt(whole * whole + squares / ops.maximum(finite.to(f32), 1.0))
    return ops.log(ops.maximum(rms, LEAST)) * (1.0 / math.log(10.0))


def inner_tensors(network: Network) -> dict[str, InnerTensor]:
    """The layout of a network's graph, what its nodes compute, those of branches and loops, too, and its weights."""
    found = network.tensors | network.nested_tensors | network.weights
    return KNOWN | {name: InnerTensor(*one) for name, one in found.items()}


def with_elements(
    known: Mapping[str, InnerTensor], sequences: Mapping[str, Sequence[Element]]
) -> dict[str, InnerTensor]:
    """What is known of tensors, with the elements of sequences instead of these."""
    found: dict[str, InnerTensor] = {}
    for name, one in known.items():
        if name not in sequences:
            found[name] = one
        for index, element in enumerate(sequences.get(name, ())):
            found[indexed(name, index)] = InnerTensor(one.operator, element.dtype, element.shape)
    return found


def edges_between(names: Sequence[str], sources: Mapping[str, Sequence[str]]) -> list[tuple[int, int]]:
    """Pairs of indices of `names`: a tensor that is read, perhaps by nodes between, and one that is computed of it."""
    index = {name: number for number, name in enumerate(names)}
    reached: dict[str, frozenset[int]] = {}  # the named tensors that a tensor, not named itself, is computed of
    edges = []
    for name, read in sources.items():
        found = frozenset[int]().union(
            *({index[one]} if one in index else reached.get(one, frozenset()) for one in read)
        )
        reached[name] = found
        if name in index:
            edges += [(before, index[name]) for before in sorted(found)]
    return edges


def layout(count: int, edges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Positions (count, 3), f32, from -1 to 1: depth along a helix around x, nodes of one depth at several radii."""
    depth = np.zeros(count, int)
    for before, after in edges:  # in the order of what they lead to
        depth[after] = max(depth[after], depth[before] + 1)
    ranks = np.zeros(count, int)
    counts: dict[int, int] = {}
    for node in range(count):
        ranks[node] = counts.get(int(depth[node]), 0)
        counts[int(depth[node])] = ranks[node] + 1
    angle = 2.0 * np.pi * depth / TURN
    radius = 1.0 + ASIDE * ranks
    positions = np.stack([RISE * depth / TURN, radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    positions[:, 0] -= positions[:, 0].mean() if count else 0.0
    return (positions / max(float(np.abs(positions).max(initial=0.0)), 1e-6)).astype(np.float32)
