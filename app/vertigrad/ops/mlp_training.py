"""Gradients of whole small networks: one kernel goes back through all layers, a second adds up what workgroups found.

The backward pass recomputes the activations instead of keeping them: for three layers of 64 that is 8.6 thousand
multiplications a point more, against 1.5 kB to be written and read.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ..errors import LimitError
from ..gpu import Gpu, Kernel
from ..tensor import Tensor, f32, graph, promote
from . import launch
from .activation import Activation, derivative, expression, parameters
from .mlp_forward import forward
from .mlp_packing import Packed, count, final, pack, right
from .mlp_variants import Form
from .tuning import WORKGROUP_INVOCATIONS, WORKGROUP_STORAGE, Family

MOST_FLOATS = 1 << 24  # of all that workgroups leave to be added up
MOST_PRIVATE = 8192  # bytes of an invocation's variables, as WGSL has it


class Backward(NamedTuple):
    """How the work is divided, by the names of shaders/ops/mlp_backward.wgsl. `groups` is how many workgroups."""

    points: int
    each_points: int
    each_neurons: int
    rows: int
    groups: int
    unrolled: bool
    lanes: int = 8

    def threads(self, width: int) -> int:
        """Invocations of a workgroup."""
        return self.points // self.each_points * (width // self.each_neurons)

    def fits(self, key: str, gpu: Gpu) -> bool:
        """Whether networks of a class can be divided so, and an adapter has the room."""
        inputs, hidden, width, outputs = (int(part) for part in key.split())
        room, most = gpu.limits[WORKGROUP_STORAGE], gpu.limits[WORKGROUP_INVOCATIONS]
        lines = max(inputs, width) + max(outputs, width)
        small = lines * (self.points // 4 + 1) * 16 <= room and self.threads(width) <= most
        return small and Sums.of(self, inputs, hidden, width, outputs).private <= MOST_PRIVATE


class Layer(NamedTuple):
    """How the sums of a layer's weights and biases are divided among a workgroup's invocations."""

    inputs: int
    outputs: int
    rows: int
    chunks: int
    bias_chunks: int

    @staticmethod
    def of(inputs: int, outputs: int, variant: Backward, threads: int) -> Layer:
        rows = variant.rows if inputs % variant.rows == 0 else 4
        quads = variant.points // 4
        tiles = inputs // rows * (outputs // 4)
        return Layer(inputs, outputs, rows, _parts(tiles, threads, quads), _parts(outputs, threads, quads))

    @property
    def weights(self) -> int:
        """Floats in a row for the weights."""
        return self.inputs * self.outputs * self.chunks

    @property
    def biases(self) -> int:
        """Floats in a row for the biases."""
        return self.outputs * self.bias_chunks


class Sums(NamedTuple):
    """How all sums are divided, and how many bytes of variables an invocation has."""

    layers: list[Layer]
    private: int

    @staticmethod
    def of(variant: Backward, inputs: int, hidden: int, width: int, outputs: int) -> Sums:
        sizes = [inputs, *[width] * hidden, outputs]
        threads = variant.threads(width)
        layers = [Layer.of(before, after, variant, threads) for before, after in pairwise(sizes)]
        own = hidden * variant.each_points * variant.each_neurons
        held = sum(-(-layer.weights // threads) + -(-layer.biases // threads) for layer in layers)
        return Sums(layers, 4 * (own + held))

    @property
    def size(self) -> int:
        """Floats of a row."""
        return sum(layer.weights + layer.biases for layer in self.layers)


def mlp_with_gradient(
    x: Tensor, flat: Tensor, packed: Packed | None, form: Form, sizes: list[int], activation: Activation
) -> Tensor:
    """The sums of the last layer for features `x` (points, features): gradients flow to these and to `flat`.

    `flat` are all weights and biases in a row; `packed` the same, or None to pack them.
    """
    with graph.no_grad():
        ready = packed or pack(flat, sizes, form, f32)
        out = Tensor.empty((x.shape[0], sizes[-1]), promote(x.dtype, ready.weights.dtype), temporary=True)
        if x.shape[0]:
            forward(x, out, ready, form, (activation, None))
    nodes = [x.node, flat.node]
    saved = [graph.Saved(tensor) for tensor in (x, *ready)]
    dtype = x.dtype

    def vjp(gradient: Tensor) -> list[Tensor | None]:
        x, *weights = (one.value() for one in saved)
        by_x, by_weights = mlp_backward(gradient, x, Packed(*weights), form, sizes, activation, nodes[0] is not None)
        return [by_x if by_x is None or by_x.dtype is dtype else by_x.to(dtype), by_weights if nodes[1] else None]

    graph.attach(out, "mlp", nodes, vjp, saved)
    return out


def mlp_backward(
    gradient: Tensor,
    x: Tensor,
    packed: Packed,
    form: Form,
    sizes: list[int],
    activation: Activation,
    with_features: bool = True,
    variant: Backward | None = None,
) -> tuple[Tensor | None, Tensor]:
    """The gradients of features `x`, if they are `with_features`, and of all weights and biases in a row, f32.

    `gradient` is that of the sums of the last layer; `variant` another than tuning has, to measure.
    """
    variant = variant or BACKWARDS.choose(key(form))
    sums = Sums.of(variant, form.inputs, form.hidden, form.width, final(form))
    features = Tensor.empty(x.shape, f32, "features.gradient", temporary=True) if with_features else None
    flat = Tensor.empty(count(sizes), f32, "weights.gradient", temporary=True)
    groups = max(min(-(-x.shape[0] // variant.points), variant.groups, MOST_FLOATS // sums.size), 1)
    found = {} if features is None else {"features": features}
    defines = _defines(form, variant, sums) | {
        **{"X": x.dtype.name, "WEIGHTS": packed.weights.dtype.name, "WITH_FEATURES": with_features},
        **{"ACTIVATION": expression(activation), "DERIVATIVE": derivative(activation)},
    }
    with Tensor.empty((groups, sums.size), f32, "partial", temporary=True) as partial:  # a row for each workgroup
        Kernel.load("ops/mlp_backward.wgsl", defines=defines)(
            groups * variant.threads(form.width),
            overwrites=("partial", "features"),
            weights=packed.weights,
            rest=packed.rest,
            partial=partial,
            count=x.shape[0],
            outputs=form.real_outputs,
            activation=parameters(activation),
            **launch.strided(x=x, gradient=gradient if gradient.dtype is f32 else gradient.to(f32)),
            **found,
        )
        slices = _slices(groups)
        kernel = Kernel.load("ops/mlp_join.wgsl", defines=_sections(sums, sizes) | {"SLICES": slices})
        elements = sum((layer.inputs + 1) * layer.outputs for layer in sums.layers)
        kernel(-(-elements // 8) * 2 * slices, overwrites=("flat",), partial=partial, flat=flat, groups=groups)
    return features, flat


def key(form: Form) -> str:
    """The class of sizes that `BACKWARDS` has one variant for."""
    return f"{form.inputs} {form.hidden} {form.width} {final(form)}"


# inside -------------------------------------------------------------------------------------------------------------


def _defines(form: Form, variant: Backward, sums: Sums) -> dict[str, Any]:
    names = ("POINTS", "EACH_POINTS", "EACH_NEURONS", "ROWS", "UNROLLED", "LANES")
    first, last = sums.layers[0], sums.layers[-1]
    wide = sums.layers[1] if form.hidden > 1 else last
    return {
        **{name: getattr(variant, name.lower()) for name in names},
        **{"INPUTS": form.inputs, "REAL_INPUTS": form.real_inputs, "HIDDEN": form.hidden, "WIDTH": form.width},
        **{"FINAL": final(form), "RIGHT": right(form), "SIZE": sums.size, "FIRST_ROWS": first.rows},
        **{"CHUNKS": [first.chunks, wide.chunks, last.chunks], "BIAS_CHUNKS": [first.bias_chunks, last.bias_chunks]},
    }


def _parts(tiles: int, threads: int, quads: int) -> int:
    """Into how many parts points are divided, so that most invocations have one: a power of two."""
    parts = 1
    while 2 * parts * tiles <= threads and 2 * parts <= quads:
        parts *= 2
    return parts


def _slices(groups: int) -> int:
    """Invocations that share the rows of `groups` workgroups: a power of two."""
    return min(1 << (groups - 1).bit_length(), 128)


def _sections(sums: Sums, sizes: list[int]) -> dict[str, Any]:
    """For shaders/ops/mlp_join.wgsl: the offset of each part of a row, and its target."""
    targets = [0, *accumulate((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))]
    sections, biases, at = [], [], 0
    for number, (layer, target) in enumerate(zip(sums.layers, targets, strict=False)):
        real, ordered = (sizes[number], sizes[number + 1]), (number > 0, number < len(sums.layers) - 1)
        sections.append((at, layer.inputs, layer.outputs, layer.rows, layer.chunks, *real, target, *ordered))
        at += layer.weights
    for number, (layer, target) in enumerate(zip(sums.layers, targets, strict=False)):
        begin = target + sizes[number] * sizes[number + 1]
        ordered = number < len(sums.layers) - 1
        biases.append((at, layer.outputs, layer.bias_chunks, sizes[number + 1], begin, ordered))
        at += layer.biases
    return {"SECTIONS": sections, "BIASES": biases, "SIZE": sums.size}


_UNROLLED = Backward(64, 4, 4, 4, 264, True)
_LOOPED = Backward(64, 8, 4, 8, 264, False)
_SMALLEST = tuple(Backward(points, 4, 4, 4, 264, False) for points in (32, 16, 8, 4))
_SOFTWARE = tuple(variant._replace(groups=16) for variant in _SMALLEST)
_OTHERS = (
    Backward(64, 8, 4, 8, 264, True),
    Backward(32, 4, 4, 4, 528, True),
    Backward(64, 8, 4, 4, 264, True),
    Backward(64, 8, 8, 8, 396, True),
    Backward(64, 4, 8, 8, 264, True),
    Backward(32, 8, 4, 8, 528, True),
    Backward(64, 8, 4, 8, 132, True),
    Backward(64, 8, 4, 8, 396, True),
    Backward(32, 4, 4, 4, 528, False),
)
MOST_REGISTERS = 800  # bytes of an invocation's variables up to which layers are written out


def _default(key: str, gpu: Gpu) -> Backward:
    software = gpu.adapter.kind == "software"
    for variant in _SOFTWARE if software else (_UNROLLED, _LOOPED, *_SMALLEST):
        inputs, hidden, width, outputs = (int(part) for part in key.split())
        many = variant.unrolled and Sums.of(variant, inputs, hidden, width, outputs).private > MOST_REGISTERS
        if variant.fits(key, gpu) and not many:
            return variant
    raise LimitError(
        f"gradients of a network of {key} (features, hidden layers, neurons, outputs) do not fit into this adapter's "
        "workgroup memory; use ops.linear for each layer"
    )


_ALL = (_UNROLLED, _LOOPED, *_SMALLEST, *_SOFTWARE, *_OTHERS)
VARIANTS = {"x".join(map(str, map(int, variant))): variant for variant in _ALL}
BACKWARDS: Family[Backward] = Family("mlp_backward", 2, VARIANTS, _default, Backward.fits)
