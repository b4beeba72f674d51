"""Recurrent layers with ONNX's equations and order of gates (RNN; LSTM i o f c; GRU z r h).

x has the shape (steps, N, inputs); views of it in another order do as well. Weights are (directions, gates · size,
inputs), recurrences (directions, gates · size, size), biases (directions, 2 · gates · size): those of x, then those of
the state. All are f32, or all f16. The products with x are one matrix product for all steps; each step then takes a
product with the state and one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, i32
from . import launch
from .activation import Activation, expression
from .define import Operand
from .elementwise import assign
from .matmul import matmul

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_GATES = {"rnn": 1, "lstm": 4, "gru": 3}
_DEFAULTS: dict[str, tuple[Activation, ...]] = {
    "rnn": ("tanh",),
    "lstm": ("sigmoid", "tanh", "tanh"),
    "gru": ("sigmoid", "tanh"),
}


def rnn(
    x: Operand,
    weights: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    *,
    initial: Operand | None = None,
    lengths: Operand | None = None,
    direction: str = "forward",
    activations: Sequence[Activation] | None = None,
    clip: float | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """h = f(x Wᵀ + h Rᵀ + biases), f = tanh. Returns all states (steps, directions, N, size), and the last of each.

    `direction` is "forward", "reverse" or "bidirectional"; `initial` (directions, N, size) is where it begins, 0 where
    none is given. `lengths` (N,), i32, are the steps of each member: states after them are 0. `activations` are one set
    for all directions or one for each, by the names of `activation.py` or ("affine", a, b), ("scaled_tanh", a, b);
    `clip` holds what goes into them to ± that number. Raises `ShapeError`, `DtypeError`.
    """
    how = _How("rnn", direction, activations, clip)
    y, last, _ = _run(how, x, weights, recurrence, bias, initial, None, None, lengths, out)
    return y, last


def gru(
    x: Operand,
    weights: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    *,
    initial: Operand | None = None,
    lengths: Operand | None = None,
    direction: str = "forward",
    activations: Sequence[Activation] | None = None,
    clip: float | None = None,
    linear_before_reset: bool = False,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Gated recurrent units: h = (1 − z) · g(x Whᵀ + (r · h) Rhᵀ + biases) + z · h, z and r by f (sigmoid), g tanh.

    With `linear_before_reset` r multiplies h Rhᵀ + its bias instead. Otherwise as `rnn`.
    """
    how = _How("gru", direction, activations, clip, linear_before_reset=linear_before_reset)
    y, last, _ = _run(how, x, weights, recurrence, bias, initial, None, None, lengths, out)
    return y, last


def lstm(
    x: Operand,
    weights: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    *,
    initial: Operand | None = None,
    initial_cell: Operand | None = None,
    peepholes: Operand | None = None,
    lengths: Operand | None = None,
    direction: str = "forward",
    activations: Sequence[Activation] | None = None,
    clip: float | None = None,
    coupled: bool = False,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory: c = f · c + i · g(..), h = o · h(c). Returns all states, the last, and the last cells.

    `peepholes` (directions, 3 · size) let the cell into the gates i, o, f; `coupled` makes f = 1 − i (`input_forget` of
    ONNX). Otherwise as `rnn`.
    """
    how = _How("lstm", direction, activations, clip, coupled=coupled)
    return _run(how, x, weights, recurrence, bias, initial, initial_cell, peepholes, lengths, out)


# inside -------------------------------------------------------------------------------------------------------------


class _How(NamedTuple):
    """What is worked out, tensors aside."""

    kind: str
    direction: str
    activations: Sequence[Activation] | None
    clip: float | None
    coupled: bool = False
    linear_before_reset: bool = False

    def functions(self, number: int) -> list[str]:
        """WGSL over x of the activations of one direction."""
        each = len(_DEFAULTS[self.kind])
        given = list(self.activations or _DEFAULTS[self.kind])
        if len(given) not in (each, each * len(DIRECTIONS[self.direction])):
            raise ShapeError(f"{self.kind}: {len(given)} activations; {each} for each direction")
        mine = given[number * each : number * each + each] if len(given) > each else given
        return [_text(activation) for activation in mine]


class _State(NamedTuple):
    """What goes from step to step in one direction: the state, an LSTM's cell, and room for products with the state."""

    state: Tensor
    cell: Tensor | None
    product: Tensor
    reset: Tensor | None


def _text(activation: Activation) -> str:
    if isinstance(activation, tuple) and activation[0] == "affine":
        return f"{float(activation[1])!r} * x + {float(activation[2])!r}"
    if isinstance(activation, tuple) and activation[0] == "scaled_tanh":
        return f"{float(activation[1])!r} * tanh_({float(activation[2])!r} * x)"
    return expression(activation)


def _run(
    how: _How,
    x: Any,
    weights: Any,
    recurrence: Any,
    bias: Any,
    initial: Any,
    initial_cell: Any,
    peepholes: Any,
    lengths: Any,
    out: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    if how.direction not in DIRECTIONS:
        raise ShapeError(f"{how.kind}: direction {how.direction!r}; it is one of {', '.join(DIRECTIONS)}")
    named = {"x": x, "weights": weights, "recurrence": recurrence, "bias": bias, "initial": initial}
    named |= {"initial_cell": initial_cell, "peepholes": peepholes, "lengths": lengths}
    there = {name: value for name, value in named.items() if value is not None}
    with launch.tensors(*there.values()) as ready:
        given = dict(zip(there, ready, strict=True))
        steps, members, size = _check(how, given)
        directions, dtype = DIRECTIONS[how.direction], given["x"].dtype
        out = launch.destination(how.kind, (steps, len(directions), members, size), dtype, out)
        given = {name: launch.apart(tensor, out) for name, tensor in given.items()}
        last = Tensor.empty((len(directions), members, size), dtype, temporary=True)
        last_cell = Tensor.empty((len(directions), members, size), dtype, temporary=True)
        for number, backwards in enumerate(directions):
            if last.size:
                mine = {n: t if n in ("x", "lengths") else t[number] for n, t in given.items()}
                carried = _start(how.kind, mine, members, size, dtype)
                _direction(how, number, backwards, mine, carried, out[:, number])
                assign(last[number], carried.state)
                if carried.cell is not None:
                    assign(last_cell[number], carried.cell)
    return out, last, last_cell


def _check(how: _How, given: dict[str, Tensor]) -> tuple[int, int, int]:
    """(steps, members, size). Raises `ShapeError`, `DtypeError`."""
    x, recurrence = given["x"], given["recurrence"]
    if x.ndim != 3 or recurrence.ndim != 3:
        raise ShapeError(
            f"{how.kind}: x {x.shape} must be (steps, n, inputs), recurrence {recurrence.shape} too of 3 axes"
        )
    directions, gates, size = len(DIRECTIONS[how.direction]), _GATES[how.kind], recurrence.shape[2]
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


def _start(kind: str, given: dict[str, Tensor], members: int, size: int, dtype: DType) -> _State:
    def room(columns: int = size) -> Tensor:
        return Tensor.empty((members, columns), dtype, temporary=True)

    cell = assign(room(), given.get("initial_cell", 0)) if kind == "lstm" else None
    state = assign(room(), given.get("initial", 0))
    return _State(state, cell, room(_GATES[kind] * size), room() if kind == "gru" else None)


def _direction(how: _How, number: int, backwards: bool, given: dict[str, Tensor], carried: _State, out: Tensor) -> None:
    """All steps of one direction; `out` is (steps, members, size)."""
    steps, size = out.shape[0], out.shape[2]
    recurrence = given["recurrence"].T
    from_x = matmul(given["x"], given["weights"].T)
    functions = how.functions(number)
    functions += ["x"] * (3 - len(functions))
    resets = how.kind == "gru" and not how.linear_before_reset
    kind = "gru_linear" if how.linear_before_reset else how.kind
    for step in reversed(range(steps)) if backwards else range(steps):
        if resets:
            assert carried.reset is not None
            matmul(carried.state, recurrence[:, : 2 * size], out=carried.product[:, : 2 * size])
            _step("gru_reset", how, functions, step, from_x[step], given, carried, out[step])
            matmul(carried.reset, recurrence[:, 2 * size :], out=carried.product[:, 2 * size :])
        else:
            matmul(carried.state, recurrence, out=carried.product)
        _step(kind, how, functions, step, from_x[step], given, carried, out[step])


def _step(
    kind: str,
    how: _How,
    functions: Sequence[str],
    step: int,
    from_x: Tensor,
    given: dict[str, Tensor],
    carried: _State,
    out: Tensor,
) -> None:
    names = ("bias", "peepholes", "lengths")
    tensors: dict[str, Any] = {
        name: given[name] if name == "lengths" else given[name].contiguous()
        for name in names
        if name in given and (name == "bias" or kind != "gru_reset")
    }
    tensors |= {"given": from_x, "product": carried.product, "state": carried.state}
    if kind == "lstm":
        tensors["cell"] = carried.cell
    tensors |= {"reset": carried.reset} if kind == "gru_reset" else {"out": out}
    offsets = {f"{name}_offset": 0 for name in (*names, "cell", "reset", "out") if name not in tensors}
    f, g, h = functions
    kernel = Kernel.load(
        "ops/cell.wgsl",
        defines={
            **{"KIND": kind, "DTYPE": out.dtype.name, "F": f, "G": g, "H": h, "COUPLED": how.coupled},
            **{name.upper(): name in tensors for name in names},
            "CLIPPED": how.clip is not None,
        },
    )
    members, size = out.shape
    lengths = given.get("lengths")
    kernel(
        members * size,
        members=members,
        size=size,
        step=step,
        bound=how.clip or 0.0,
        given_strides=launch.element_strides(from_x),
        out_strides=launch.element_strides(out),
        lengths_strides=(0 if lengths is None else launch.element_strides(lengths)[0], 0, 0, 0),
        **offsets,
        **tensors,
    )
