"""Gradients of recurrent layers: back through time (Werbos 1990, Backpropagation through time), a direction at a time.

Only the states are stored. In the backward pass the gates of all steps are recomputed at once, as the states before
each step are known; then every step is one kernel (two for a GRU) and a product with the recurrence, and the
weights' gradients are products over all steps. f16 is computed in f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import GradientError
from ...gpu import Kernel
from ...tensor import Tensor, f32, graph
from .. import functions as f
from .. import launch
from ..cell import DIRECTIONS, How, check
from ..concat import concatenate, stack
from ..differentiable import through
from ..elementwise import assign, copy, fused
from ..linear import linear
from ..matmul import matmul
from ..recurrent import of_direction, one_direction
from ..reduce import sum as sum_
from .precision import narrow, wide


@through("rnn")
def _(direction: str, activations: Any, clip: float | None, **arguments: Any) -> tuple[Tensor, Tensor]:
    return _layer(How("rnn", direction, activations, clip), arguments)[:2]


@through("gru")
def _(
    direction: str, activations: Any, clip: float | None, linear_before_reset: bool, **arguments: Any
) -> tuple[Tensor, Tensor]:
    return _layer(How("gru", direction, activations, clip, linear_before_reset=linear_before_reset), arguments)[:2]


@through("lstm")
def _(
    direction: str, activations: Any, clip: float | None, coupled: bool, round_state: Any, **arguments: Any
) -> tuple[Tensor, Tensor, Tensor]:
    if round_state is not None:
        raise GradientError("lstm: no gradients flow through a state that is rounded")
    return _layer(How("lstm", direction, activations, clip, coupled=coupled), arguments)


def _layer(how: How, arguments: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """States at all steps, the last of each direction, and the last cells (of an LSTM)."""
    with launch.operands(*arguments.values()) as ready:
        operands = {name: tensor for name, tensor in zip(arguments, ready, strict=True) if tensor is not None}
        steps, *_ = check(how, operands)
        directions = range(len(DIRECTIONS[how.direction]))
        parts = [_direction(how, number, of_direction(operands, number)) for number in directions]
    last = stack([part[steps] for part in parts], 0)
    cells = stack([part[steps + 1] for part in parts], 0) if how.kind == "lstm" else last
    return stack([part[:steps] for part in parts], 1), last, cells


def _direction(how: How, number: int, operands: dict[str, Tensor]) -> Tensor:
    """One direction as one tensor and one node: states of all steps, then the last state, and an LSTM's last cell."""
    (steps, members, _), size = operands["x"].shape, operands["recurrence"].shape[1]
    last_states = 2 if how.kind == "lstm" else 1
    with graph.no_grad():
        result = Tensor.empty((steps + last_states, members, size), operands["x"].dtype, temporary=True)
        last_cell = result[steps + 1] if last_states == 2 else None
        one_direction(how, number, operands, result[:steps], result[steps], last_cell)
    names = [name for name, tensor in operands.items() if tensor.node is not None]
    nodes = [operands[name].node for name in names]
    saved = {name: graph.Saved(tensor) for name, tensor in operands.items()} | {"result": graph.Saved(result)}

    def vjp(gradient: Tensor) -> Sequence[Tensor | None]:
        values = {name: each.value() for name, each in saved.items()}
        return [narrow(part, values["result"]) for part in _backward(how, number, gradient, values, names)]

    graph.attach(result, how.kind, nodes, vjp, list(saved.values()))
    return result


class _Direction(NamedTuple):
    """One direction in its backward pass: operands in f32, and what is recomputed for all steps at once."""

    how: How
    number: int
    operands: dict[str, Tensor]
    previous: Tensor  # states before each step, (steps, members, size)
    gates: Tensor  # what goes into the activations, (steps, members, gates * size)
    inner: Tensor | None = None  # the state's part of a candidate that is reset after the product
    reset: Tensor | None = None  # r · state
    cells: Tensor | None = None  # before the first step that is computed and after each, (steps + 1, members, size)

    @property
    def backwards(self) -> bool:
        return DIRECTIONS[self.how.direction][self.number]

    @staticmethod
    def of(how: How, number: int, operands: dict[str, Tensor], states: Tensor) -> _Direction:
        """From the operands and the states of all steps."""
        size, bias, recurrence = states.shape[2], operands.get("bias"), operands["recurrence"]
        previous = _previous(how, number, operands, states)
        of_x, of_state = (None, None) if bias is None else (bias[: len(bias) // 2], bias[len(bias) // 2 :])
        gates = linear(operands["x"], operands["weights"], of_x)
        if how.kind != "gru":
            pass_ = _Direction(how, number, operands, previous, linear(previous, recurrence, of_state, residual=gates))
            return pass_._replace(cells=_cells(pass_)) if how.kind == "lstm" else pass_
        first, rest = slice(2 * size), slice(2 * size, None)
        biases = [None if of_state is None else of_state[part] for part in (first, rest)]
        assign(gates[..., first], linear(previous, recurrence[first], biases[0], residual=gates[..., first]))
        pass_ = _Direction(how, number, operands, previous, gates)
        if how.linear_before_reset:
            return pass_._replace(inner=linear(previous, recurrence[rest], biases[1]))
        reset = Tensor.empty(previous.shape, f32, temporary=True)
        pass_.launch("reset", reset.size, gates=gates, previous=previous, found=reset)
        assign(gates[..., rest], linear(reset, recurrence[rest], biases[1], residual=gates[..., rest]))
        return pass_._replace(reset=reset)

    def launch(self, entry: str, threads: int, step: int = 0, **tensors: Tensor) -> None:
        """Record one kernel of ops/cell_backward.wgsl."""
        how = self.how
        kind = "gru_linear" if how.linear_before_reset else how.kind
        optional = {name: self.operands[name] for name in ("peepholes", "lengths") if name in self.operands}
        kernel = Kernel.load(
            "ops/cell_backward.wgsl",
            entry,
            {
                **{"KIND": kind, "COUPLED": how.coupled, "CLIPPED": how.clip is not None},
                **{name.upper(): name in optional for name in ("peepholes", "lengths")},
                **how.functions(self.number),
                **how.derivatives(self.number),
            },
        )
        steps, members, size = self.previous.shape
        if threads:
            kernel(
                threads,
                members=members,
                size=size,
                steps=steps,
                step=step,
                backwards=int(self.backwards),
                bound=how.clip or 0.0,
                **how.parameters(self.number),
                **kernel.bound(**optional, **tensors),
            )


def _previous(how: How, number: int, operands: dict[str, Tensor], states: Tensor) -> Tensor:
    steps, members, size = states.shape
    first = (
        operands["initial"] if "initial" in operands else assign(Tensor.empty((members, size), f32, temporary=True), 0)
    )
    if not DIRECTIONS[how.direction][number]:
        return concatenate([first[None], states[:-1]], 0) if steps else states
    previous = concatenate([states[1:], first[None]], 0) if steps else states
    if "lengths" not in operands:
        return previous
    with launch.operands(np.arange(1, steps + 1, dtype=np.int32)[:, None, None]) as (after,):
        return f.where(f.less(after, operands["lengths"][:, None]), previous, first)


def _cells(pass_: _Direction) -> Tensor:
    steps, members, size = pass_.previous.shape
    cells = Tensor.empty((steps + 1, members, size), f32, temporary=True)
    assign(cells[0], pass_.operands.get("initial_cell", 0))
    pass_.launch("recompute_cells", members * size, gates=pass_.gates, cells=cells)
    return cells


def _backward(how: How, number: int, gradient: Tensor, saved: dict[str, Tensor], names: Sequence[str]) -> list[Tensor]:
    operands = {name: tensor.contiguous() if name == "lengths" else wide(tensor) for name, tensor in saved.items()}
    result, gradient = operands.pop("result"), wide(gradient).contiguous()
    if "peepholes" in operands:
        operands["peepholes"] = operands["peepholes"].contiguous()
    steps = operands["x"].shape[0]
    pass_ = _Direction.of(how, number, operands, result[:steps])
    found = Tensor.empty(pass_.gates.shape, f32, temporary=True)
    of_state = Tensor.empty(pass_.gates.shape, f32, temporary=True) if how.linear_before_reset else found
    carried, cell = copy(gradient[steps]), copy(gradient[steps + 1]) if how.kind == "lstm" else None
    for turn in reversed(range(steps)):
        step = steps - 1 - turn if pass_.backwards else turn
        carried = _step(pass_, step, turn, gradient[step], carried, cell, found[step], of_state[step])
    initial_gradients = {"initial": carried, "initial_cell": cell}
    parts = (
        initial_gradients[name] if name in initial_gradients else _over_steps(name, pass_, found, of_state)
        for name in names
    )
    return [part for part in parts if part is not None]


def _step(
    pass_: _Direction,
    step: int,
    turn: int,
    gradient: Tensor,
    carried: Tensor,
    cell: Tensor | None,
    found: Tensor,
    of_state: Tensor,
) -> Tensor:
    """One step back; returns the gradient of the state before it, and `cell` becomes that of the cell."""
    tensors = {"gates": pass_.gates[step], "output_gradient": gradient, "previous": pass_.previous[step]}
    tensors |= {"carried": carried, "found": found, "of_state": of_state}
    if pass_.inner is not None:
        tensors["inner"] = pass_.inner[step]
    if pass_.cells is not None and cell is not None:
        tensors |= {"known": pass_.cells[turn : turn + 2], "carried_cell": cell}
    pass_.launch("backward", carried.size, step, **tensors)
    back = pass_.operands["recurrence"].T
    if pass_.reset is None:
        return linear(of_state, back, residual=carried)
    first, rest = slice(2 * carried.shape[1]), slice(2 * carried.shape[1], None)
    pass_.launch("backward_reset", carried.size, step, back=linear(found[:, rest], back[:, rest]), **tensors)
    return linear(found[:, first], back[:, first], residual=carried)


def _over_steps(name: str, pass_: _Direction, found: Tensor, of_state: Tensor) -> Tensor:
    """The gradient of what all steps share, as sums over them: products of matrices."""
    rows, rows_of_state = (part.reshape(-1, part.shape[2]) for part in (found, of_state))
    if name == "x":
        return matmul(found, pass_.operands["weights"])
    if name == "weights":
        x = pass_.operands["x"].contiguous()
        return matmul(rows.T, x.reshape(-1, x.shape[2]))
    if name == "bias":
        return concatenate([sum_(rows, 0), sum_(rows_of_state, 0)], 0)
    if name == "peepholes":
        return _of_peepholes(found, pass_)
    size = pass_.previous.shape[2]
    recurrence = matmul(rows_of_state.T, pass_.previous.reshape(-1, size))
    if pass_.reset is None:
        return recurrence
    rest = matmul(rows.T[2 * size :], pass_.reset.reshape(-1, size))
    return concatenate([recurrence[: 2 * size], rest], 0)


def _of_peepholes(found: Tensor, pass_: _Direction) -> Tensor:
    """Gates i and f see the cell before a step, o the one after it."""
    assert pass_.cells is not None
    turned = slice(None, None, -1 if pass_.backwards else 1)
    before, after = pass_.cells[:-1][turned], pass_.cells[1:][turned]
    size = before.shape[2]
    by_gate = [
        fused(lambda g, c: g * c, found[..., gate * size : (gate + 1) * size], cells)
        for gate, cells in ((0, before), (1, after), (2, before))
    ]
    return concatenate([sum_(part, (0, 1)) for part in by_gate], 0)
