"""What recurrent layers and their gradients have in common: kinds of cells, activations, and shapes of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import DtypeError, ShapeError
from ..tensor import Tensor, i32
from .activation import Activation, expression, slope

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
_DEFAULTS: dict[str, tuple[Activation, ...]] = {
    "rnn": ("tanh",),
    "lstm": ("sigmoid", "tanh", "tanh"),
    "gru": ("sigmoid", "tanh"),
}


class How(NamedTuple):
    """What is worked out, tensors aside."""

    kind: str
    direction: str
    activations: Sequence[Activation] | None
    clip: float | None
    coupled: bool = False
    linear_before_reset: bool = False

    def functions(self, number: int) -> list[str]:
        """WGSL over x of the activations of one direction, three in all."""
        return self._three(number, _text)

    def slopes(self, number: int) -> list[str]:
        """WGSL over x of their derivatives."""
        return self._three(number, _slope)

    def _three(self, number: int, text: Callable[[Activation], str]) -> list[str]:
        each = len(_DEFAULTS[self.kind])
        given = list(self.activations or _DEFAULTS[self.kind])
        if len(given) not in (each, each * len(DIRECTIONS[self.direction])):
            raise ShapeError(f"{self.kind}: {len(given)} activations; {each} for each direction")
        mine = given[number * each : number * each + each] if len(given) > each else given
        return [*(text(activation) for activation in mine), *["x"] * (3 - each)]


def check(how: How, given: dict[str, Tensor]) -> tuple[int, int, int]:
    """(steps, members, size). Raises `ShapeError`, `DtypeError`."""
    x, recurrence = given["x"], given["recurrence"]
    if x.ndim != 3 or recurrence.ndim != 3:
        raise ShapeError(
            f"{how.kind}: x {x.shape} must be (steps, n, inputs), recurrence {recurrence.shape} too of 3 axes"
        )
    directions, gates, size = len(DIRECTIONS[how.direction]), GATES[how.kind], recurrence.shape[2]
    steps, members, inputs = x.shape
    wanted = {
        "weights": (directions, gates * size, inputs),
        "recurrence": (directions, gates * size, size),
        "bias": (directions, 2 * gates * size),
        "initial": (directions, members, size),
        "initial_cell": (directions, members, size),
        "peepholes": (directions, 3 * size),
        "lengths": (members,),
    }
    for name, shape in wanted.items():
        tensor = given.get(name)
        if tensor is not None and tensor.shape != shape:
            raise ShapeError(f"{how.kind}: {name} of shape {tensor.shape}; {how.direction} it must be {shape}")
    for name, tensor in given.items():
        kind = i32 if name == "lengths" else x.dtype
        if tensor.dtype is not kind or x.dtype.kind != "float":
            raise DtypeError(f"{how.kind}: {name} is {tensor.dtype}; x is {x.dtype}, and all must be f32 or f16 alike")
    return steps, members, size


def _text(activation: Activation) -> str:
    if isinstance(activation, tuple) and activation[0] == "affine":
        return f"{float(activation[1])!r} * x + {float(activation[2])!r}"
    if isinstance(activation, tuple) and activation[0] == "scaled_tanh":
        return f"{float(activation[1])!r} * tanh_({float(activation[2])!r} * x)"
    return expression(activation)


def _slope(activation: Activation) -> str:
    if isinstance(activation, tuple) and activation[0] == "affine":
        return repr(float(activation[1]))
    if isinstance(activation, tuple) and activation[0] == "scaled_tanh":
        wide, steep = (float(value) for value in activation[1:])
        return f"{wide * steep!r} * tanh_slope({steep!r} * x)"
    return slope(activation)
