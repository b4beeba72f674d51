"""Recurrent layers with ONNX's equations and order of gates (RNN; LSTM i o f c; GRU z r h).

x has the shape (steps, N, inputs); views of it in another order do as well. Weights are (directions, gates · size,
inputs), recurrences (directions, gates · size, size), biases (directions, 2 · gates · size): those of x, then those of
the state. All are f32, or all f16, or all f64. The products with x are one matrix product for all steps; each step then
takes a product with the state and one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor
from . import launch
from .activation import Activation
from .cell import DIRECTIONS, GATES, How, check
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign
from .matmul import matmul


@differentiable
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
    operands = {"x": x, "weights": weights, "recurrence": recurrence, "bias": bias, "initial": initial}
    return _run(How("rnn", direction, activations, clip), operands | {"lengths": lengths}, out)[:2]


@differentiable
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
    operands = {"x": x, "weights": weights, "recurrence": recurrence, "bias": bias, "initial": initial}
    how = How("gru", direction, activations, clip, linear_before_reset=linear_before_reset)
    return _run(how, operands | {"lengths": lengths}, out)[:2]


@differentiable
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
    round_state: Callable[[Tensor], Tensor] | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory: c = f · c + i · g(..), h = o · h(c). Returns all states, the last, and the last cells.

    `peepholes` (directions, 3 · size) let the cell into the gates i, o, f; `coupled` makes f = 1 − i (`input_forget` of
    ONNX). `round_state` gives what is multiplied by the recurrence instead of the state: a quantized network rounds it.
    Otherwise as `rnn`.
    """
    operands = {"x": x, "weights": weights, "recurrence": recurrence, "bias": bias, "initial": initial}
    operands |= {"initial_cell": initial_cell, "peepholes": peepholes, "lengths": lengths}
    return _run(How("lstm", direction, activations, clip, coupled=coupled, round_state=round_state), operands, out)


# inside -------------------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """What goes from step to step in one direction: the state, an LSTM's cell, and room for products with the state."""

    hidden: Tensor
    cell: Tensor | None
    product: Tensor
    reset: Tensor | None


def _run(how: How, arguments: dict[str, Any], out: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    if how.direction not in DIRECTIONS:
        raise ShapeError(f"{how.kind}: direction {how.direction!r}; it is one of {', '.join(DIRECTIONS)}")
    with launch.tensors(*arguments.values()) as ready:
        operands = {name: tensor for name, tensor in zip(arguments, ready, strict=True) if tensor is not None}
        steps, members, size = check(how, operands)
        directions, dtype = DIRECTIONS[how.direction], operands["x"].dtype
        out = launch.prepare_output(how.kind, (steps, len(directions), members, size), dtype, out)
        operands = {name: launch.copy_if_aliased(tensor, out) for name, tensor in operands.items()}
        last = Tensor.empty((len(directions), members, size), dtype, temporary=True)
        last_cell = Tensor.empty((len(directions), members, size), dtype, temporary=True)
        for number in range(len(directions)):
            one_direction(how, number, of_direction(operands, number), out[:, number], last[number], last_cell[number])
    return out, last, last_cell


def of_direction(operands: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    """What belongs to one direction."""
    return {name: tensor if name in ("x", "lengths") else tensor[number] for name, tensor in operands.items()}


def one_direction(
    how: How, number: int, operands: dict[str, Tensor], out: Tensor, last: Tensor, last_cell: Tensor | None
) -> None:
    """All steps of one direction: `out` (steps, members, size), and the last state and cell."""
    if not last.size:
        return
    steps, members, size = out.shape
    state = _start(how.kind, operands, members, size, last.dtype)
    recurrence = operands["recurrence"].T
    from_x = matmul(operands["x"], operands["weights"].T)
    resets = how.kind == "gru" and not how.linear_before_reset
    kind = "gru_linear" if how.linear_before_reset else how.kind
    backwards = DIRECTIONS[how.direction][number]
    for step in reversed(range(steps)) if backwards else range(steps):
        if resets:
            assert state.reset is not None
            matmul(state.hidden, recurrence[:, : 2 * size], out=state.product[:, : 2 * size])
            _step("gru_reset", how, number, step, from_x[step], operands, state, out[step])
            matmul(state.reset, recurrence[:, 2 * size :], out=state.product[:, 2 * size :])
        else:
            hidden = state.hidden if how.round_state is None else how.round_state(state.hidden)
            matmul(hidden, recurrence, out=state.product)
        _step(kind, how, number, step, from_x[step], operands, state, out[step])
    assign(last, state.hidden)
    if state.cell is not None and last_cell is not None:
        assign(last_cell, state.cell)


def _start(kind: str, operands: dict[str, Tensor], members: int, size: int, dtype: DType) -> _State:
    def empty(columns: int = size) -> Tensor:
        return Tensor.empty((members, columns), dtype, temporary=True)

    cell = assign(empty(), operands.get("initial_cell", 0)) if kind == "lstm" else None
    state = assign(empty(), operands.get("initial", 0))
    return _State(state, cell, empty(GATES[kind] * size), empty() if kind == "gru" else None)


def _step(
    kind: str,
    how: How,
    number: int,
    step: int,
    from_x: Tensor,
    operands: dict[str, Tensor],
    state: _State,
    out: Tensor,
) -> None:
    names = ("bias", "peepholes", "lengths")
    tensors: dict[str, Any] = {
        name: operands[name] if name == "lengths" else operands[name].contiguous()
        for name in names
        if name in operands and (name == "bias" or kind != "gru_reset")
    }
    tensors |= {"from_x": from_x, "product": state.product, "state": state.hidden}
    if kind == "lstm":
        tensors["cell"] = state.cell
    tensors |= {"reset": state.reset} if kind == "gru_reset" else {"out": out}
    kernel = Kernel.load(
        "ops/cell.wgsl",
        defines={
            **{"KIND": kind, "DTYPE": out.dtype.name, "COUPLED": how.coupled, **how.functions(number, out.dtype)},
            **{name.upper(): name in tensors for name in names},
            "CLIPPED": how.clip is not None,
        },
    )
    members, size = out.shape
    strided = {"from_x": from_x, "out": out if "out" in tensors else None, "lengths": tensors.get("lengths")}
    arguments: dict[str, Any] = dict.fromkeys((*names, "cell", "reset")) | tensors | launch.strided(**strided)
    kernel(
        members * size,
        members=members,
        size=size,
        step=step,
        bound=how.clip or 0.0,
        **how.parameters(number),
        **arguments,
    )
