"""Random programs of clones, views, writes in place and gradients: run eagerly, and recorded and replayed.

The reference computes in float64 with forward-mode derivatives (dual numbers): a value is an array, its derivatives
by all inputs another array with one more axis. Views are views of both; `detach` shares the values and has separate
derivatives, all 0, since the graph of gradients does not record writes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from vertigrad import Tensor, no_grad
from vertigrad.gpu import Plan

INPUTS = 2
SIZE = 4
VIEWS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("tail", lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x[...]),
    ("reversed", lambda x: x[::-1] if x.ndim else x[...]),
    ("every second", lambda x: x[::2] if x.ndim else x[...]),
    ("row", lambda x: x[0, ...] if x.ndim else x[...]),
    ("square", lambda x: x.reshape(2, 2) if x.shape == (SIZE,) else x[...]),
    ("turned", lambda x: x.T),
)
MAKING = ("add", "multiply", "view", "clone", "detach", "zeros", "constant")
WRITING = ("add_", "mul_", "assign", "fill", "halve unseen", "count")


class Step(NamedTuple):
    """An operation on two of the existing tensors, by index, and its variant."""

    kind: str
    a: int
    b: int
    variant: int


@dataclass
class Dual:
    """Values, and their derivatives with respect to each input along the first axis."""

    value: np.ndarray
    slope: np.ndarray
    is_leaf: bool = False

    @staticmethod
    def constant(value: np.ndarray) -> Dual:
        return Dual(value, np.zeros((INPUTS * SIZE, *value.shape)))

    def view(self, take: Callable[[Any], Any]) -> Dual:
        parts = [take(self.slope[i, ...]) for i in range(len(self.slope))]  # views, of numbers too
        slope = np.lib.stride_tricks.as_strided(
            parts[0], (len(parts), *parts[0].shape), (self.slope.strides[0], *parts[0].strides)
        )
        return Dual(take(self.value), slope, self.is_leaf)

    def sum(self) -> Dual:
        return Dual(np.asarray(self.value.sum()), self.slope.reshape(len(self.slope), -1).sum(1))

    def __add__(self, other: Dual | float) -> Dual:
        other = other if isinstance(other, Dual) else Dual.constant(np.full((), other))
        value = self.value + other.value
        slope = _spread(self.slope, value.ndim) + _spread(other.slope, value.ndim)
        return Dual(value, slope)

    def __mul__(self, other: Dual | float) -> Dual:
        other = other if isinstance(other, Dual) else Dual.constant(np.full((), other))
        value = self.value * other.value
        slope = _spread(self.slope, value.ndim) * other.value + self.value * _spread(other.slope, value.ndim)
        return Dual(value, slope)

    def write(self, other: Dual) -> None:
        value, slope = other.value.copy(), other.slope.copy()
        self.value[...] = value
        self.slope[...] = _spread(slope, self.value.ndim)


def _spread(slope: np.ndarray, ndim: int) -> np.ndarray:
    return slope.reshape(len(slope), *[1] * (ndim + 1 - slope.ndim), *slope.shape[1:])


class Reference:
    """Executes a program with dual numbers."""

    def __init__(self, inputs: Sequence[np.ndarray], state: np.ndarray):
        slopes = np.eye(INPUTS * SIZE).reshape(INPUTS * SIZE, INPUTS, SIZE)
        self.all = [Dual(x.copy(), slopes[:, i].copy(), is_leaf=True) for i, x in enumerate(inputs)]
        self.all.append(Dual.constant(state))
        self.state = self.all[-1]

    def scalar(self, value: Dual) -> Dual:
        return value.sum() * 0.5

    def clone(self, a: Dual) -> Dual:
        return Dual(a.value.copy(), a.slope.copy())

    def detach(self, a: Dual) -> Dual:
        return Dual.constant(a.value)

    def zeros(self) -> Dual:
        return Dual.constant(np.zeros(SIZE))

    def constant(self) -> Dual:
        return Dual.constant(np.arange(SIZE) * 0.25)

    def view(self, a: Dual, take: Callable[[Any], Any]) -> Dual:
        return a.view(take)

    def write(self, kind: str, a: Dual, b: Dual) -> None:
        a.write({"add_": lambda: a + b, "mul_": lambda: a * b, "assign": lambda: a * 0.0 + b}[kind]())

    def fill(self, a: Dual) -> None:
        a.write(Dual.constant(np.full((), 0.5)))

    def halve_unseen(self, a: Dual) -> None:
        a.value[...] *= 0.5

    def shape(self, a: Dual) -> tuple[int, ...]:
        return a.value.shape


class Gpu:
    """Executes a program with tensors."""

    def __init__(self, inputs: Sequence[Tensor], state: Tensor):
        self.all = [*inputs, state]
        self.state = state
        self.named: list[Tensor] = []

    def track(self, tensor: Tensor) -> Tensor:
        self.named.append(tensor)
        return tensor

    def scalar(self, value: Tensor) -> Tensor:
        return value.sum() * 0.5

    def clone(self, a: Tensor) -> Tensor:
        return self.track(a.clone())

    def detach(self, a: Tensor) -> Tensor:
        return a.detach()

    def zeros(self) -> Tensor:
        return self.track(Tensor.zeros(SIZE))

    def constant(self) -> Tensor:
        return self.track(self.track(Tensor.from_numpy(np.arange(SIZE, dtype=np.float32) * 0.25)).clone())

    def view(self, a: Tensor, take: Callable[[Any], Any]) -> Tensor:
        return take(a)

    def write(self, kind: str, a: Tensor, b: Tensor) -> None:
        if kind == "assign":
            a[...] = b
        else:
            getattr(a, kind)(b)

    def fill(self, a: Tensor) -> None:
        a.fill_(0.5)

    def halve_unseen(self, a: Tensor) -> None:
        with no_grad():
            a.mul_(0.5)

    def shape(self, a: Tensor) -> tuple[int, ...]:
        return a.shape


def run(steps: Sequence[Step], where: Any, retained: set[int]) -> Any:
    """Execute `steps` and return the loss. `retained` are the tensors that steps must not write with gradients.

    These are the inputs, which are leaves, the state, which outlives the program, and their views.
    """
    for step in steps:
        a, b = (where.all[number % len(where.all)] for number in (step.a, step.b))
        number = step.a % len(where.all)
        value = b if where.shape(b) == where.shape(a) else where.scalar(b)
        if step.kind in ("add", "multiply"):
            where.all.append(a + value if step.kind == "add" else a * value)
        elif step.kind in ("clone", "zeros", "constant"):
            where.all.append(where.clone(a) if step.kind == "clone" else getattr(where, step.kind)())
        elif step.kind in ("view", "detach"):
            aliases = number in retained
            take = VIEWS[step.variant % len(VIEWS)][1]
            where.all.append(where.detach(a) if step.kind == "detach" else where.view(a, take))
            if aliases:
                retained.add(len(where.all) - 1)
        elif step.kind == "count":
            where.write("add_", where.state, where.scalar(where.zeros()) + 1.0)
        elif number not in retained:
            if step.kind == "fill":
                where.fill(a)
            elif step.kind == "halve unseen":
                where.halve_unseen(a)
            else:
                where.write(step.kind, a, value)
    loss = where.all[0].sum()
    for number, one in enumerate(where.all):
        loss = loss + one.sum() * (0.25 + 0.125 * number)
    return loss


def check(gpu: Gpu, leaves: Sequence[Tensor], expected: Reference, loss: Dual) -> None:
    for tensor, dual in zip(gpu.all, expected.all, strict=True):
        np.testing.assert_allclose(tensor.numpy(), dual.value, rtol=1e-4, atol=1e-4)
    slopes = loss.slope.reshape(INPUTS, SIZE)
    largest = max(1.0, float(np.abs(slopes).max()))
    for leaf, slope in zip(leaves, slopes, strict=True):
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.numpy(), slope, rtol=1e-4, atol=1e-4 * largest)


def values(seed: int) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(-8, 9, (INPUTS, SIZE)) / 8.0)


numbers = st.one_of(st.integers(0, 11), st.integers(-3, -1))  # negative: from the latest result
steps = st.lists(st.builds(Step, st.sampled_from(MAKING + WRITING), numbers, numbers, numbers), min_size=2, max_size=9)


@pytest.mark.turns(3)
@settings(max_examples=60, deadline=None)
@given(steps=steps, seed=st.integers(0, 1000))
@example(
    steps=[Step("multiply", 0, 1, 0), Step("view", 3, 0, 0), Step("mul_", 3, 1, 0)], seed=1
)  # a view, then a write
@example(steps=[Step("zeros", 0, 0, 0), Step("view", 3, 0, 0), Step("add_", 4, 1, 0)], seed=2)  # through a view
@example(steps=[Step("add", 0, 1, 0), Step("view", 3, 0, 1), Step("mul_", 4, 1, 0)], seed=4)  # over gradients
@example(steps=[Step("clone", 2, 0, 0), Step("count", 0, 0, 0), Step("multiply", 3, 2, 0)], seed=3)  # a clone of state
@example(steps=[Step("view", 1, 0, 3), Step("view", 3, 0, 0)], seed=0)  # a view of a view of one element
def test_a_program_gives_the_same_results_eagerly_and_recorded(steps: list[Step], seed: int) -> None:
    retained = set(range(INPUTS + 1))
    state = np.zeros(SIZE)
    first = Reference(values(seed), state)
    loss = run(steps, first, set(retained))
    assume(max(float(np.abs(dual.value).max()) for dual in first.all) < 1e3 and np.abs(loss.slope).max() < 1e3)
    as_tensors = [Tensor.from_numpy(x.astype(np.float32), "input") for x in values(seed)]
    for leaf in as_tensors:
        leaf.requires_grad = True
    try:
        with Tensor.zeros(SIZE, name="state") as counter:
            eager = Gpu(as_tensors, counter)
            run(steps, eager, set(retained)).backward()
            check(eager, as_tensors, first, loss)
            close(eager)
        with Tensor.zeros(SIZE, name="state") as counter, Plan("program") as plan:
            replayed(steps, as_tensors, counter, plan, seed)
    finally:
        for leaf in as_tensors:
            leaf.close()


def replayed(steps: Sequence[Step], leaves: Sequence[Tensor], counter: Tensor, plan: Plan, seed: int) -> None:
    """Record the program once, and replay it for two sets of inputs."""
    state = np.zeros(SIZE)
    for leaf in leaves:
        leaf.grad = None
    gpu = Gpu(leaves, counter)
    with plan.recording():
        loss = run(steps, gpu, set(range(INPUTS + 1)))
        loss.backward()
    for inputs in (values(seed + 1), values(seed)):
        with no_grad():
            for leaf, x in zip(leaves, inputs, strict=True):
                leaf[...] = x.astype(np.float32)
        plan.replay()
        expected = Reference(inputs, state)
        check(gpu, leaves, expected, run(steps, expected, set(range(INPUTS + 1))))
    close(gpu)


def close(gpu: Gpu) -> None:
    for tensor in gpu.named:
        tensor.close()
