"""Whole small networks in one kernel: activations never leave the workgroup that works them out.

`mlp` takes the weights as they are and packs them each time; `Mlp` has packed them once, so that a model can record it
and replay it every frame. Layers are up to 128 wide, the first one's inputs up to 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, f16, f32, promote
from . import launch
from .activation import Activation, expression
from .elementwise import assign
from .encoding import MOST_LEVELS, NOTHING, Encoding, check_points
from .functions import Operand
from .mlp_variants import NETWORKS, Form, Network

WIDEST = 128
MOST_INPUTS = 256


class Mlp:
    """A small network, its weights packed for the kernel.

    `weights` are (outputs, inputs) for each layer, `biases` (outputs,) or None; all weights are f32 or all f16 (read as
    such and multiplied in f32), biases f32 or f16. `activation` follows every layer but the last, which has `last`
    (names of `ops.activation.PARAMETERS`, a name with parameters in a tuple, or None). An `encoding` goes in front.
    Raises `ShapeError`, `DtypeError`, `InputError`.
    """

    def __init__(
        self,
        weights: Sequence[Operand],
        biases: Sequence[Operand | None] | None = None,
        activation: Activation = "relu",
        last: Activation = None,
        encoding: Encoding | None = None,
        name: str = "mlp",
    ):
        self.encoding = encoding
        self.name = name
        self._expressions = {"ACTIVATION": expression(activation), "LAST": expression(last)}
        with launch.tensors(*weights) as ready, ExitStack() as stack:
            self.sizes, self.dtype = _sizes(name, ready), ready[0].dtype
            self.form = Form.of(self.sizes)
            layers = self.form.layers
            held = stack.enter_context
            self._weights = held(Tensor.empty(sum(i * o for i, o in layers), self.dtype, f"{name}.weights"))
            self._biases = held(Tensor.empty(sum(o for _, o in layers), f32, f"{name}.biases"))
            assign(self._weights, 0)
            assign(self._biases, 0)
            self.load(ready, biases)
            self._held = stack.pop_all()

    def load(self, weights: Sequence[Operand], biases: Sequence[Operand | None] | None = None) -> None:
        """Take other weights of the same sizes and type. Raises `ShapeError` or `DtypeError`."""
        count = len(self.sizes) - 1
        given = [None] * count if biases is None else list(biases)
        with launch.tensors(*weights) as ready, launch.tensors(*(b for b in given if b is not None)) as shifts:
            if _sizes(self.name, ready) != self.sizes or ready[0].dtype is not self.dtype:
                raise ShapeError(
                    f"{self.name}: layers {_sizes(self.name, ready)} of {ready[0].dtype} do not replace "
                    f"{self.sizes} of {self.dtype}"
                )
            if len(given) != count:
                raise ShapeError(f"{self.name}: {count} layers have {len(given)} biases; give None where there is none")
            rest = iter(shifts)
            ordered = [None if b is None else next(rest) for b in given]
            _check_biases(self.name, self.sizes, ordered)
            self._pack(ready, ordered)

    def __call__(self, x: Operand, *, out: Tensor | None = None) -> Tensor:
        """The outputs (points, outputs) for points (points, coordinates), f32 or f16, into `out` or a new tensor.

        A new tensor is f32 unless points and weights are f16. Raises `ShapeError`, `DtypeError`, `LayoutError`.
        """
        with launch.tensors(x) as (points,):
            count = self._check(points)
            dtype = out.dtype if out is not None and out.dtype is f16 else promote(points.dtype, self.dtype)
            if out is not None and out.dtype is f32:
                dtype = f32
            out = launch.destination(self.name, (count, self.sizes[-1]), dtype, out)
            if count:
                self.run(launch.apart(points, out), out)
        return out

    def close(self) -> None:
        """Give up the packed weights. Idempotent."""
        self._held.close()

    def __enter__(self) -> Mlp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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

    def _pack(self, weights: list[Tensor], biases: list[Tensor | None]) -> None:
        row = shift = 0
        count = len(weights)
        for number, (weight, bias, (inputs, outputs)) in enumerate(zip(weights, biases, self.form.layers, strict=True)):
            block = self._weights[row : row + inputs * outputs].reshape(inputs, outputs)
            if number == 0 or (number == count - 1 and not self.form.last_wide):
                assign(block[: weight.shape[1], : weight.shape[0]], weight.T)
            else:
                _pack_in_lines(block, weight)
            assign(self._biases[shift : shift + weight.shape[0]], 0 if bias is None else bias)
            row, shift = row + inputs * outputs, shift + outputs

    def run(self, x: Tensor, out: Tensor, variant: Network | None = None) -> None:
        """As calling it on points and a result that fit; or with another variant than tuning has, to measure."""
        variant = variant or NETWORKS.choose(self.form.key)
        encoding = {} if self.encoding is None else self.encoding.defines()
        arguments = {"tables_offset": 0, "resolutions": [0] * MOST_LEVELS}
        types = {"X": x.dtype.name, "WEIGHTS": self.dtype.name, "OUT": out.dtype.name}
        kernel = Kernel.load(
            "ops/mlp.wgsl",
            defines={
                **{**NOTHING, **encoding, **types, "DIMENSIONS": x.shape[1]},
                **{**self._expressions, **self.form.defines(), **variant.defines()},
            },
        )
        kernel(
            -(-x.shape[0] // variant.points) * variant.threads(self.form.width),
            overwrites=("out",),
            x=x,
            weights=self._weights,
            biases=self._biases,
            out=out,
            count=x.shape[0],
            outputs=self.form.real_outputs,
            x_strides=launch.element_strides(x),
            out_strides=launch.element_strides(out),
            **(arguments if self.encoding is None else self.encoding.arguments()),
        )


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

    For one that is used more than once, make an `Mlp`, which says what the arguments are and what is raised.
    """
    with Mlp(weights, biases, activation, last, encoding) as net:
        return net(x, out=out)


def record_mlp(plan: Plan, net: Mlp, x: Tensor, out: Tensor) -> None:
    """Add to `plan` the dispatch that sets `out` from `x` by a network; raises as calling it does."""
    with plan.recording():
        net(x, out=out)


def _sizes(name: str, weights: list[Tensor]) -> list[int]:
    """Features, neurons of each hidden layer, outputs. Raises `ShapeError`, `DtypeError`."""
    if not weights:
        raise ShapeError(f"{name}: a network has at least one layer")
    for number, weight in enumerate(weights):
        if weight.ndim != 2 or 0 in weight.shape:
            raise ShapeError(f"{name}: weights of layer {number} have shape {weight.shape}, not (outputs, inputs)")
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
            raise ShapeError(f"{name}: bias of layer {number} has shape {bias.shape}, not ({size},)")


def _pack_in_lines(block: Tensor, weight: Tensor) -> None:
    """Put a layer's transposed weights where the lines of its inputs lie, padding with zeros.

    Line j · inputs / 4 + i holds neuron 4 i + j: so an invocation's neurons go to memory banks that its neighbours'
    leave free.
    """
    inputs, outputs = block.shape
    with Tensor.empty((inputs, outputs), block.dtype) as padded:
        assign(padded, 0)
        assign(padded[: weight.shape[1], : weight.shape[0]], weight.T)
        assign(block.reshape(4, inputs // 4, outputs).permute(1, 0, 2), padded.reshape(inputs // 4, 4, outputs))
