"""What recurrent layers and their gradients have in common: kinds of cells, activations, and shapes of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import DtypeError, ShapeError
from ..tensor import DType, Tensor, f32, f64, i32
from .activation import Activation, derivative, expression, expression_of_doubles, parameters

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
_DEFAULTS: dict[str, tuple[Activation, ...]] = {
    "rnn": ("tanh",),
    "lstm": ("sigmoid", "tanh", "tanh"),
    "gru": ("sigmoid", "tanh"),
}


class How(NamedTuple):
    """The options of a recurrent layer."""

    kind: str
    direction: str
    activations: Sequence[Activation] | None
    clip: float | None
    coupled: bool = False
    linear_before_reset: bool = False
    round_state: Callable[[Tensor], Tensor] | None = None

    def functions(self, number: int, dtype: DType = f32) -> dict[str, str]:
        """WGSL over x, in f64 if the tensors are, of one direction's activations, by their names in ops/cell.wgsl."""
        text = _text_of_doubles if dtype is f64 else _text
        return {name: text(one, _field(name)) for name, one in self._activations(number).items()}

    def derivatives(self, number: int) -> dict[str, str]:
        """WGSL over x of their derivatives."""
        return {f"{name}_DERIVATIVE": _derivative(one, _field(name)) for name, one in self._activations(number).items()}

    def parameters(self, number: int) -> dict[str, tuple[float, float]]:
        """The uniform fields that both read."""
        activations = self._activations(number).items()
        return {_field(name).removeprefix("params."): _parameters(one) for name, one in activations}

    def _activations(self, number: int) -> dict[str, Activation]:
        """Those of one direction, None where the kind of cell has fewer."""
        each = len(_DEFAULTS[self.kind])
        operands = list(self.activations or _DEFAULTS[self.kind])
        if len(operands) not in (each, each * len(DIRECTIONS[self.direction])):
            raise ShapeError(f"{self.kind}: {len(operands)} activations; {each} for each direction")
        mine = operands[number * each : number * each + each] if len(operands) > each else operands
        return dict(zip("FGH", [*mine, *[None] * (3 - each)], strict=True))


def check(how: How, operands: dict[str, Tensor]) -> tuple[int, int, int]:
    """(steps, members, size). Raises `ShapeError`, `DtypeError`."""
    x, recurrence = operands["x"], operands["recurrence"]
    if x.ndim != 3 or recurrence.ndim != 3:
        raise ShapeError(
            f"{how.kind}: x {x.shape} must be (steps, n, inputs), recurrence {recurrence.shape} too of 3 axes"
        )
    directions, gates, size = len(DIRECTIONS[how.direction]), GATES[how.kind], recurrence.shape[2]
    steps, members, inputs = x.shape
    shapes = {
        "weights": (directions, gates * size, inputs),
        "recurrence": (directions, gates * size, size),
        "bias": (directions, 2 * gates * size),
        "initial": (directions, members, size),
        "initial_cell": (directions, members, size),
        "peepholes": (directions, 3 * size),
        "lengths": (members,),
    }
    for name, shape in shapes.items():
        tensor = operands.get(name)
        if tensor is not None and tensor.shape != shape:
            raise ShapeError(f"{how.kind}: {name} of shape {tensor.shape}; {how.direction} it must be {shape}")
    for name, tensor in operands.items():
        kind = i32 if name == "lengths" else x.dtype
        if tensor.dtype is not kind or not x.dtype.is_real:
            raise DtypeError(
                f"{how.kind}: {name} is {tensor.dtype}; x is {x.dtype}, and all must be f32, f16 or f64 alike"
            )
    return steps, members, size


def _field(name: str) -> str:
    return f"params.{name.lower()}_parameters"


def _cell_only(activation: Activation) -> str:
    """The name of an activation that only cells have; "" for all others."""
    own = isinstance(activation, tuple) and activation[0] in ("affine", "scaled_tanh")
    return str(activation[0]) if own and activation is not None else ""


def _text(activation: Activation, field: str) -> str:
    own = {"affine": f"{field}.x * x + {field}.y", "scaled_tanh": f"{field}.x * tanh_({field}.y * x)"}
    return own.get(_cell_only(activation)) or expression(activation, field)


def _text_of_doubles(activation: Activation, field: str) -> str:
    own = {"affine": f"{field}.x * x + {field}.y", "scaled_tanh": f"{field}.x * double_tanh({field}.y * x)"}
    return own.get(_cell_only(activation)) or expression_of_doubles(activation, field)


def _derivative(activation: Activation, field: str) -> str:
    own = {"affine": f"{field}.x", "scaled_tanh": f"{field}.x * {field}.y * tanh_derivative({field}.y * x)"}
    return own.get(_cell_only(activation)) or derivative(activation, field)


def _parameters(activation: Activation) -> tuple[float, float]:
    if activation is None or not _cell_only(activation):
        return parameters(activation)
    _, first, second = activation
    return float(first), float(second)
