"""Whole small networks in one kernel: activations never leave the workgroup that computes them.

`mlp` packs the weights each time; `Mlp` packs them once, so that a model can record it
and replay it every frame, or train it. Layers are up to 128 wide, the first one's inputs up to 256.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import numpy as np

from ..closing import Closing
from ..deprecation import renamed_arguments
from ..errors import DtypeError, GradientError, ShapeError
from ..tensor import Tensor, f16, f32, graph, operators, promote
from . import launch
from .activation import Activation, expression
from .concat import concatenate
from .differentiable import require_free, requires_gradient
from .elementwise import assign
from .encoding import Encoding, HashEncoding, check_points, encode
from .functions import Operand
from .linear import linear
from .mlp_forward import forward
from .mlp_packing import Packed, count, layers, pack
from .mlp_training import mlp_with_gradient
from .mlp_variants import Form, Network

WIDEST = 128
MOST_INPUTS = 256


class Mlp(Closing):
    """A multilayer perceptron, its weights packed for the kernel.

    `weights` are (outputs, inputs) for each layer, `biases` (outputs,) or None; all weights are f32 or all f16 (read as
    such and multiplied in f32), biases f32 or f16. `activation` follows every layer but the last, which has `last`
    (names of `ops.activation.PARAMETERS`, a name with parameters in a tuple, or None). An `encoding` goes in front.

    Gradients flow to the points, to the tables of a hash grid, and with `requires_grad` to `parameters`: all weights
    and biases in a row, f32, a tensor for an optimizer. They are packed at each call then. Raises `ShapeError`,
    `DtypeError`, `InputError`.
    """

    @renamed_arguments(learns="requires_grad")  # up to version 0.1
    def __init__(
        self,
        weights: Sequence[Operand],
        biases: Sequence[Operand | None] | None = None,
        activation: Activation = "relu",
        last: Activation = None,
        encoding: Encoding | None = None,
        name: str = "mlp",
        requires_grad: bool = False,
    ):
        self.encoding, self.requires_grad = encoding, requires_grad
        self.name = name
        self._activations = activation, last
        for function in self._activations:
            expression(function)  # raises if there is none of the name
        with launch.tensors(*weights) as ready, ExitStack() as stack:
            self.sizes, self.dtype = _sizes(name, ready), ready[0].dtype
            if requires_grad and self.dtype is not f32:
                raise DtypeError(
                    f"{name}: weights that require gradients must be f32, not {self.dtype}; .to('f32') casts"
                )
            self.form = Form.of(self.sizes)
            self._flat = stack.enter_context(Tensor.empty(count(self.sizes), f32, f"{name}.parameters"))
            self._packed: Packed | None = None
            self.load(ready, biases)
            self._held = stack.pop_all()

    @property
    def parameters(self) -> Tensor:
        """All weights and biases in a row, layer after layer. Raises `GradientError` without `requires_grad`."""
        if not self.requires_grad:
            raise GradientError(
                f"{self.name} was created without requires_grad: its weights were packed once; pass requires_grad=True"
            )
        return self._flat

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """The weights (outputs, inputs) and biases (outputs,) of each layer as they are now: views, f32."""
        return layers(self._flat, self.sizes)

    def load(self, weights: Sequence[Operand], biases: Sequence[Operand | None] | None = None) -> None:
        """Take other weights of the same sizes and type. Raises `ShapeError` or `DtypeError`."""
        number = len(self.sizes) - 1
        all_biases = [None] * number if biases is None else list(biases)
        with launch.tensors(*weights) as ready, launch.tensors(*(b for b in all_biases if b is not None)) as shifts:
            if _sizes(self.name, ready) != self.sizes or ready[0].dtype is not self.dtype:
                raise ShapeError(
                    f"{self.name}: layers {_sizes(self.name, ready)} of {ready[0].dtype} do not replace "
                    f"{self.sizes} of {self.dtype}"
                )
            if len(all_biases) != number:
                raise ShapeError(
                    f"{self.name}: {number} layers have {len(all_biases)} biases; give None where there is none"
                )
            rest = iter(shifts)
            ordered = [None if b is None else next(rest) for b in all_biases]
            _check_biases(self.name, self.sizes, ordered)
            with graph.no_grad():
                for (weight, bias), new, shift in zip(self.layers, ready, ordered, strict=True):
                    assign(weight, new)
                    assign(bias, 0 if shift is None else shift)
                if not self.requires_grad:
                    self._packed = pack(self._flat, self.sizes, self.form, self.dtype, self._packed)

    def __call__(self, x: Operand, *, out: Tensor | None = None) -> Tensor:
        """The outputs (points, outputs) for points (points, coordinates), f32 or f16, into `out` or a new tensor.

        A new tensor is f32 unless points and weights are f16. Raises `ShapeError`, `DtypeError`, `LayoutError`.
        """
        tables = self.encoding.tables if isinstance(self.encoding, HashEncoding) else None
        if requires_gradient((x, self._flat, tables)):
            return self.with_parameters(x, self._flat, out)
        with launch.tensors(x) as (points,), self._ready() as packed:
            number = self._check(points)
            common = promote(points.dtype, self.dtype)
            dtype = common if out is None or out.dtype not in (f32, f16) else out.dtype
            out = launch.prepare_output(self.name, (number, self.sizes[-1]), dtype, out)
            if number:
                forward(launch.copy_if_aliased(points, out), out, packed, self.form, self._activations, self.encoding)
        return out

    def with_parameters(self, x: Operand, parameters: Tensor, out: Tensor | None = None) -> Tensor:
        """As calling it with other `parameters`; gradients flow to them, and to the points.

        Features first, then the network, then `last`.
        """
        require_free(self.name, (x, parameters), out)
        with launch.operands(x) as (points,):
            self._check(points)
            features = points if self.encoding is None else encode(points, self.encoding)
            if self.form.hidden:
                result = mlp_with_gradient(
                    features, parameters, self._packed, self.form, self.sizes, self._activations[0]
                )
            else:
                result = linear(features, *layers(parameters, self.sizes)[0])
        if self._activations[1] is not None:
            result = operators.call("activate", result, {"activation": self._activations[1], "out": None})
        return result if out is None else operators.call("assign", out, result)

    def close(self) -> None:
        """Release the weights. Idempotent."""
        if self._packed is not None:
            self._packed.close()
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _check(self, x: Tensor) -> int:
        """How many points there are."""
        if self.encoding is not None:
            count, dimensions = check_points(self.name, x)
            features = self.encoding.features(dimensions)
        elif x.ndim != 2:
            raise ShapeError(f"{self.name}: points have shape {x.shape}; it must be (points, {self.sizes[0]})")
        else:
            count, features = x.shape
        if x.dtype not in (f32, f16):
            raise DtypeError(f"{self.name}: points are {x.dtype}; they must be f32 or f16")
        if features != self.sizes[0]:
            raise ShapeError(f"{self.name}: points have {features} features; the first layer takes {self.sizes[0]}")
        return count

    @contextmanager
    def _ready(self) -> Iterator[Packed]:
        if self._packed is not None:
            yield self._packed
            return
        with graph.no_grad():
            packed = pack(self._flat, self.sizes, self.form, self.dtype)
        with closing(packed):
            yield packed

    def run(self, x: Tensor, out: Tensor, variant: Network | None = None) -> None:
        """As calling it on points and a result that fit; or with another variant than tuning has, to measure."""
        with self._ready() as packed:
            forward(x, out, packed, self.form, self._activations, self.encoding, variant)


def mlp(
    x: Operand,
    weights: Sequence[Operand],
    biases: Sequence[Operand | None] | None = None,
    *,
    activation: Activation = "relu",
    last: Activation = None,
    encoding: Encoding | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A whole network on points (points, coordinates), in one kernel after the weights are packed.

    Gradients flow to all operands; weights and biases that require one must be f32. For a network that is used more
    than once, make an `Mlp`, which documents the arguments and errors.
    """
    shifts: list[Operand | None] = [None] * len(weights) if biases is None else list(biases)
    tracked = requires_gradient((weights, shifts))
    detached_weights = [value.detach() if isinstance(value, Tensor) else value for value in weights]
    detached_biases = [value.detach() if isinstance(value, Tensor) else value for value in shifts]
    with Mlp(detached_weights, detached_biases, activation, last, encoding, requires_grad=tracked) as network:
        return network.with_parameters(x, _in_a_row(weights, shifts), out) if tracked else network(x, out=out)


def _sizes(name: str, weights: list[Tensor]) -> list[int]:
    """Features, neurons of each hidden layer, outputs. Raises `ShapeError`, `DtypeError`."""
    if not weights:
        raise ShapeError(f"{name}: a network has at least one layer")
    for number, weight in enumerate(weights):
        if weight.ndim != 2 or 0 in weight.shape:
            raise ShapeError(
                f"{name}: expected weights of layer {number} of shape (outputs, inputs), got {weight.shape}"
            )
        if weight.dtype not in (f32, f16) or weight.dtype is not weights[0].dtype:
            raise DtypeError(
                f"{name}: weights of layer {number} are {weight.dtype}; all must be f32, or all f16 (.to() casts)"
            )
        if number and weight.shape[1] != weights[number - 1].shape[0]:
            raise ShapeError(
                f"{name}: layer {number} takes {weight.shape[1]} inputs; the one before it gives "
                f"{weights[number - 1].shape[0]}"
            )
    sizes = [weights[0].shape[1], *(weight.shape[0] for weight in weights)]
    if sizes[0] > MOST_INPUTS or max(sizes[1:]) > WIDEST:
        raise ShapeError(
            f"{name}: layers {sizes}; one kernel takes up to {MOST_INPUTS} features and layers of up to {WIDEST}: use "
            "ops.linear for each"
        )
    return sizes


def _check_biases(name: str, sizes: list[int], biases: list[Tensor | None]) -> None:
    for number, (bias, size) in enumerate(zip(biases, sizes[1:], strict=True)):
        if bias is not None and bias.shape != (size,):
            raise ShapeError(f"{name}: expected a bias of layer {number} of shape ({size},), got {bias.shape}")


def _in_a_row(weights: Sequence[Operand], biases: Sequence[Operand | None]) -> Tensor:
    """All weights and biases, layer after layer; gradients flow to each. Raises `DtypeError`."""
    parts: list[Operand] = []
    for weight, bias in zip(weights, biases, strict=True):
        for value in (weight, np.zeros(len(weight), np.float32) if bias is None else bias):  # type: ignore[arg-type]
            if isinstance(value, Tensor) and value.dtype is not f32:
                raise DtypeError(f"mlp: weights and biases that require gradients must be f32, not {value.dtype}")
            parts.append(value.contiguous() if isinstance(value, Tensor) else value)
    return concatenate(parts, None)
