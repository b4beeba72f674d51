"""Operations with a backward pass of their own, and gradient checkpointing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..errors import GradientError
from ..tensor import Tensor, graph


def custom(
    name: str,
    forward: Callable[..., Tensor],
    backward: Callable[..., Sequence[Tensor | None]],
) -> Callable[..., Tensor]:
    """An operation on tensors from two functions that may run kernels of their own.

    `forward(*operands)` gives the result; `backward(gradient, result, *operands)` the gradients of the operands in
    their order, each of its operand's shape, or None. Others may read `gradient`, too: write to a `clone()` of it.
    Raises `GradientError` if `backward` gives another number of gradients.
    """

    def operation(*operands: Tensor) -> Tensor:
        nodes = [operand.node for operand in operands]
        tracked = graph.enabled() and any(node is not None for node in nodes)
        saved = [graph.Saved(operand) for operand in operands] if tracked else []
        with graph.no_grad():
            result = forward(*operands)
        if not tracked:
            return result
        saved.append(graph.Saved(result))

        def vjp(gradient: Tensor) -> Sequence[Tensor | None]:
            *values, output = (each.value() for each in saved)
            parts = backward(gradient, output, *values)
            if len(parts) != len(operands):
                raise GradientError(f"{name}: {len(parts)} gradients for {len(operands)} operands")
            return parts

        graph.attach(result, name, nodes, vjp, saved)
        return result

    return operation


def checkpoint(function: Callable[..., Tensor], *operands: Tensor) -> Tensor:
    """function(*operands), without keeping intermediate values: the function is run again in the backward pass.

    Memory for time (Chen et al. 2016, Training deep nets with sublinear memory cost). The function must give the same
    result each time, and leaves that it uses must be among the operands.
    """

    def backward(gradient: Tensor, _: Tensor, *values: Tensor) -> Sequence[Tensor | None]:
        leaves = [value.detach() for value in values]
        for leaf in leaves:
            leaf.requires_grad = leaf.dtype.kind == "float"
        with graph.enable_grad():
            recomputed = function(*leaves)
        recomputed.backward(gradient)
        return [leaf.grad for leaf in leaves]

    return custom("checkpoint", function, backward)(*operands)


def checkpointed_steps(step: Callable[..., Tensor], count: int, state: Tensor, *operands: Tensor) -> Tensor:
    """`state` after `count` steps `step(number, state, *operands)`: √count checkpoints of √count steps each."""
    length = math.isqrt(count - 1) + 1
    for first in range(0, count, length):
        numbers = range(first, min(first + length, count))

        def stretch(state: Tensor, *operands: Tensor, numbers: range = numbers) -> Tensor:
            for number in numbers:
                state = step(number, state, *operands)
            return state

        state = checkpoint(stretch, state, *operands)
    return state
