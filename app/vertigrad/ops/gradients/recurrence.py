"""Gradients of recurrent layers: back through time (Werbos 1990, Backpropagation through time), a direction at a time.

Nothing but the states is kept. In the backward pass the gates of all steps are worked out again at once, as the states
before each step are known; then every step is one kernel (two for a GRU) and a product with the recurrence, and the
weights' gradients are products over all steps. f16 is worked out in f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

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

_TENSORS = ("gates", "inner", "previous", "peepholes", "lengths", "cells", "known", "given", "carried", "carried_cell")
_TENSORS += ("found", "of_state", "back")


@through("rnn")
def _(direction: str, activations: Any, clip: float | None, **named: Any) -> tuple[Tensor, Tensor]:
    return _layer(How("rnn", direction, activations, clip), named)[:2]


@through("gru")
def _(
    direction: str, activations: Any, clip: float | None, linear_before_reset: bool, **named: Any
) -> tuple[Tensor, Tensor]:
    return _layer(How("gru", direction, activations, clip, linear_before_reset=linear_before_reset), named)[:2]


@through("lstm")
def _(
    direction: str, activations: Any, clip: float | None, coupled: bool, **named: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return _layer(How("lstm", direction, activations, clip, coupled=coupled), named)


def _layer(how: How, named: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """States at all steps, the last of each direction, and the last cells (of an LSTM)."""
    there = {name: value for name, value in named.items() if value is not None}
    with launch.operands(*there.values()) as ready:
        given = dict(zip(there, ready, strict=True))
        steps, *_ = check(how, given)
        directions = range(len(DIRECTIONS[how.direction]))
        parts = [_direction(how, number, of_direction(given, number)) for number in directions]
    last = stack([part[steps] for part in parts], 0)
    cells = stack([part[steps + 1] for part in parts], 0) if how.kind == "lstm" else last
    return stack([part[:steps] for part in parts], 1), last, cells


def _direction(how: How, number: int, given: dict[str, Tensor]) -> Tensor:
    """One direction as one tensor and one node: states of all steps, then the last state, and an LSTM's last cell."""
    (steps, members, _), size = given["x"].shape, given["recurrence"].shape[1]
    ends = 2 if how.kind == "lstm" else 1
    with graph.no_grad():
        result = Tensor.empty((steps + ends, members, size), given["x"].dtype, temporary=True)
        last_cell = result[steps + 1] if ends == 2 else None
        one_direction(how, number, given, result[:steps], result[steps], last_cell)
    wanted = [name for name, tensor in given.items() if tensor.node is not None]
    nodes = [given[name].node for name in wanted]
    saved = {name: graph.Saved(tensor) for name, tensor in given.items()} | {"result": graph.Saved(result)}

    def vjp(gradient: Tensor) -> Sequence[Tensor | None]:
        values = {name: each.value() for name, each in saved.items()}
        return [narrow(part, values["result"]) for part in _backward(how, number, gradient, values, wanted)]

    graph.attach(result, how.kind, nodes, vjp, list(saved.values()))
    return result


class _Way(NamedTuple):
    """One direction in its backward pass: operands in f32, and what is worked out again for all steps at once."""

    how: How
    number: int
    given: dict[str, Tensor]
    previous: Tensor  # states before each step, (steps, members, size)
    gates: Tensor  # what goes into the activations, (steps, members, gates * size)
    inner: Tensor | None = None  # the state's part of a candidate that is reset after the product
    reset: Tensor | None = None  # r · state
    cells: Tensor | None = None  # before the first step that is worked out and after each, (steps + 1, members, size)

    @property
    def backwards(self) -> bool:
        return DIRECTIONS[self.how.direction][self.number]

    @staticmethod
    def of(how: How, number: int, given: dict[str, Tensor], states: Tensor) -> _Way:
        """From the operands and the states of all steps."""
        size, bias, recurrence = states.shape[2], given.get("bias"), given["recurrence"]
        previous = _previous(how, number, given, states)
        of_x, of_state = (None, None) if bias is None else (bias[: len(bias) // 2], bias[len(bias) // 2 :])
        gates = linear(given["x"], given["weights"], of_x)
        if how.kind != "gru":
            way = _Way(how, number, given, previous, linear(previous, recurrence, of_state, residual=gates))
            return way._replace(cells=_cells(way)) if how.kind == "lstm" else way
        first, rest = slice(2 * size), slice(2 * size, None)
        biases = [None if of_state is None else of_state[part] for part in (first, rest)]
        assign(gates[..., first], linear(previous, recurrence[first], biases[0], residual=gates[..., first]))
        way = _Way(how, number, given, previous, gates)
        if how.linear_before_reset:
            return way._replace(inner=linear(previous, recurrence[rest], biases[1]))
        reset = Tensor.empty(previous.shape, f32, temporary=True)
        way.launch("reset", reset.size, gates=gates, previous=previous, found=reset)
        assign(gates[..., rest], linear(reset, recurrence[rest], biases[1], residual=gates[..., rest]))
        return way._replace(reset=reset)

    def launch(self, entry: str, threads: int, step: int = 0, **tensors: Tensor) -> None:
        """Record one kernel of ops/cell_backward.wgsl."""
        how = self.how
        kind = "gru_linear" if how.linear_before_reset else how.kind
        optional = {name: self.given[name] for name in ("peepholes", "lengths") if name in self.given}
        kernel = Kernel.load(
            "ops/cell_backward.wgsl",
            entry,
            {
                **{"KIND": kind, "COUPLED": how.coupled, "CLIPPED": how.clip is not None},
                **{name.upper(): name in optional for name in ("peepholes", "lengths")},
                **how.functions(self.number),
                **how.slopes(self.number),
            },
        )
        bound = {binding.name for binding in kernel.bindings}
        given: dict[str, Any] = {name: tensor for name, tensor in (optional | tensors).items() if name in bound}
        given |= {f"{name}_offset": 0 for name in _TENSORS if name not in bound}
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
                **given,
            )


def _previous(how: How, number: int, given: dict[str, Tensor], states: Tensor) -> Tensor:
    """The states before each step."""
    steps, members, size = states.shape
    first = given["initial"] if "initial" in given else assign(Tensor.empty((members, size), f32, temporary=True), 0)
    if not DIRECTIONS[how.direction][number]:
        return concatenate([first[None], states[:-1]], 0) if steps else states
    previous = concatenate([states[1:], first[None]], 0) if steps else states
    if "lengths" not in given:
        return previous
    with launch.operands(np.arange(1, steps + 1, dtype=np.int32)[:, None, None]) as (after,):
        return f.where(f.less(after, given["lengths"][:, None]), previous, first)


def _cells(way: _Way) -> Tensor:
    steps, members, size = way.previous.shape
    cells = Tensor.empty((steps + 1, members, size), f32, temporary=True)
    assign(cells[0], way.given.get("initial_cell", 0))
    way.launch("cells_again", members * size, gates=way.gates, cells=cells)
    return cells


def _backward(how: How, number: int, gradient: Tensor, saved: dict[str, Tensor], wanted: Sequence[str]) -> list[Tensor]:
    """Gradients of the operands that are wanted."""
    given = {name: tensor.contiguous() if name == "lengths" else wide(tensor) for name, tensor in saved.items()}
    result, gradient = given.pop("result"), wide(gradient).contiguous()
    if "peepholes" in given:
        given["peepholes"] = given["peepholes"].contiguous()
    steps = given["x"].shape[0]
    way = _Way.of(how, number, given, result[:steps])
    found = Tensor.empty(way.gates.shape, f32, temporary=True)
    of_state = Tensor.empty(way.gates.shape, f32, temporary=True) if how.linear_before_reset else found
    carried, cell = copy(gradient[steps]), copy(gradient[steps + 1]) if how.kind == "lstm" else None
    for turn in reversed(range(steps)):
        step = steps - 1 - turn if way.backwards else turn
        carried = _step(way, step, turn, gradient[step], carried, cell, found[step], of_state[step])
    ends = {"initial": carried, "initial_cell": cell}
    parts = (ends[name] if name in ends else _over_steps(name, way, found, of_state) for name in wanted)
    return [part for part in parts if part is not None]


def _step(
    way: _Way,
    step: int,
    turn: int,
    gradient: Tensor,
    carried: Tensor,
    cell: Tensor | None,
    found: Tensor,
    of_state: Tensor,
) -> Tensor:
    """One step back; returns the gradient of the state before it, and `cell` becomes that of the cell."""
    tensors = {"gates": way.gates[step], "given": gradient, "carried": carried, "found": found, "of_state": of_state}
    tensors["previous"] = way.previous[step]
    if way.inner is not None:
        tensors["inner"] = way.inner[step]
    if way.cells is not None and cell is not None:
        tensors |= {"known": way.cells[turn : turn + 2], "carried_cell": cell}
    way.launch("backward", carried.size, step, **tensors)
    back = way.given["recurrence"].T
    if way.reset is None:
        return linear(of_state, back, residual=carried)
    first, rest = slice(2 * carried.shape[1]), slice(2 * carried.shape[1], None)
    way.launch("backward_reset", carried.size, step, back=linear(found[:, rest], back[:, rest]), **tensors)
    return linear(found[:, first], back[:, first], residual=carried)


def _over_steps(name: str, way: _Way, found: Tensor, of_state: Tensor) -> Tensor:
    """The gradient of what all steps share, as sums over them: products of matrices."""
    rows, rows_of_state = (part.reshape(-1, part.shape[2]) for part in (found, of_state))
    if name == "x":
        return matmul(found, way.given["weights"])
    if name == "weights":
        x = way.given["x"].contiguous()
        return matmul(rows.T, x.reshape(-1, x.shape[2]))
    if name == "bias":
        return concatenate([sum_(rows, 0), sum_(rows_of_state, 0)], 0)
    if name == "peepholes":
        return _of_peepholes(found, way)
    size = way.previous.shape[2]
    recurrence = matmul(rows_of_state.T, way.previous.reshape(-1, size))
    if way.reset is None:
        return recurrence
    rest = matmul(rows.T[2 * size :], way.reset.reshape(-1, size))
    return concatenate([recurrence[: 2 * size], rest], 0)


def _of_peepholes(found: Tensor, way: _Way) -> Tensor:
    """Gates i and f see the cell before a step, o the one after it."""
    assert way.cells is not None
    turned = slice(None, None, -1 if way.backwards else 1)
    before, after = way.cells[:-1][turned], way.cells[1:][turned]
    size = before.shape[2]
    seen = [
        fused(lambda g, c: g * c, found[..., gate * size : (gate + 1) * size], cells)
        for gate, cells in ((0, before), (1, after), (2, before))
    ]
    return concatenate([sum_(part, (0, 1)) for part in seen], 0)
