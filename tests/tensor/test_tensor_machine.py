"""Random programs of tensor operations on the GPU, compared with the same programs in NumPy.

The reference of an owner is a separate array; that of a tensor is a view of it, created by the same indexing.
Aliasing, independence, and values after a dropped recording must be the same.
"""

from __future__ import annotations

import contextlib
import gc
from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import vertigrad
from vertigrad.gpu import Plan, Traffic
from vertigrad.memory import Owner
from vertigrad.tensor import Publication, Tensor

from ..gpu.kernels import STEP, kernel

which = st.integers(0, 1 << 16)
shapes = st.sampled_from([(), (1,), (7,), (40,), (3, 4), (5, 1, 6), (2, 3, 4), (0, 3)])
keys = st.sampled_from(
    [
        ...,
        None,
        0,
        -1,
        slice(None),
        slice(1, None),
        slice(None, -1),
        slice(None, None, -1),
        slice(None, None, 2),
        slice(2, 2),
        (slice(None), 0),
        (..., slice(None, None, -1)),
        (slice(1, 3), None, ...),
        (0, ...),
    ]
)
numbers = st.integers(-4, 4)


@dataclass(eq=False)
class Pair:
    """A tensor and its reference, whose `base` is shared by exactly the views of one owner."""

    tensor: Tensor
    reference: np.ndarray
    base: np.ndarray
    fresh: bool  # created by commands that are not submitted yet: lost if these are dropped


@dataclass(eq=False)
class Shown:
    """A publication, and its values at that time."""

    publication: Publication
    blocks: list
    values: list[np.ndarray]
    fresh: bool = True


@dataclass(eq=False)
class Running:
    """A plan over one whole owner."""

    plan: Plan
    owner: Owner
    base: np.ndarray


def as_view(key):
    """The index with which NumPy gives a view, even of one element."""
    parts = key if isinstance(key, tuple) else (key,)
    return parts if ... in parts else (*parts, ...)


class Tensors(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gpu = vertigrad.gpu()
        self.gpu.wait_idle()
        self.before = {(block.id, block.generation) for block in self.gpu.tracker.live}
        self.pairs: list[Pair] = []
        self.shown: list[Shown] = []
        self.plans: list[Running] = []
        self.sources: list[tuple[np.ndarray, np.ndarray]] = []
        self.committed: list[tuple[np.ndarray, np.ndarray]] = []
        self.gpu.submit = self.submit_and_commit  # pyright: ignore[reportAttributeAccessIssue]

    # creation ---------------------------------------------------------------------------------------------------

    @initialize(shape=shapes, seed=which)
    def first(self, shape: tuple[int, ...], seed: int) -> None:
        self.from_numpy(shape, seed)

    @rule(shape=shapes, seed=which)
    def from_numpy(self, shape: tuple[int, ...], seed: int) -> None:
        values = np.random.default_rng(seed).integers(-8, 8, shape).astype(np.float32)
        self.add(Tensor.from_numpy(values, f"from_numpy{seed}"), values.copy(), fresh=False)

    @rule(shape=shapes, seed=which)
    def from_blob(self, shape: tuple[int, ...], seed: int) -> None:
        source = np.random.default_rng(seed).integers(-8, 8, shape).astype(np.float32)
        source.flags.writeable = False
        self.sources.append((source, source.copy()))
        self.add(Tensor.from_blob(source, name=f"from_blob{seed}"), source.copy(), fresh=False)

    @rule(shape=shapes)
    def zeros(self, shape: tuple[int, ...]) -> None:
        self.add(Tensor.zeros(shape), np.zeros(shape, np.float32), fresh=True)

    @precondition(lambda self: self.pairs)
    @rule(i=which, number=numbers)
    def arithmetic(self, i: int, number: int) -> None:
        pair = self.pick(i)
        self.add(pair.tensor * 0.5 + float(number), pair.reference * np.float32(0.5) + number, fresh=True)

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def clone(self, i: int) -> None:
        pair = self.pick(i)
        block = pair.tensor.block
        clone = pair.tensor.clone()
        assert clone.block is block
        base = pair.base.copy()
        offset = pair.reference.__array_interface__["data"][0] - pair.base.__array_interface__["data"][0]
        reference = np.ndarray(
            pair.reference.shape, np.float32, base, offset if pair.reference.size else 0, pair.reference.strides
        )
        self.pairs.append(Pair(clone, reference, base, fresh=True))

    @precondition(lambda self: self.pairs)
    @rule(i=which, key=keys)
    def view(self, i: int, key) -> None:
        pair = self.pick(i)
        with contextlib.suppress(IndexError):
            reference = pair.reference[as_view(key)]
            self.alias(pair, pair.tensor[key], reference)

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def transpose(self, i: int) -> None:
        pair = self.pick(i)
        self.alias(pair, pair.tensor.T, pair.reference.T)

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def detach(self, i: int) -> None:
        pair = self.pick(i)
        self.alias(pair, pair.tensor.detach(), pair.reference)

    # writing ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.pairs)
    @rule(i=which, key=keys, number=numbers)
    def set_number(self, i: int, key, number: int) -> None:
        pair = self.pick(i)
        with contextlib.suppress(IndexError):
            reference = pair.reference[as_view(key)]
            pair.tensor[key] = float(number)
            reference[...] = number

    @precondition(lambda self: self.pairs)
    @rule(i=which, number=numbers)
    def in_place(self, i: int, number: int) -> None:
        pair = self.pick(i)
        pair.tensor.add_(float(number))
        pair.reference[...] += number

    @precondition(lambda self: self.pairs)
    @rule(i=which, j=which)
    def assign(self, i: int, j: int) -> None:
        """From any other tensor that broadcasts, overlapping ones included."""
        target, source = self.pick(i), self.pick(j)
        try:
            value = np.broadcast_to(source.reference, target.reference.shape).copy()
        except ValueError:
            return
        target.tensor[...] = source.tensor
        target.reference[...] = value

    @precondition(lambda self: self.pairs)
    @rule(i=which, seed=which)
    def set_array(self, i: int, seed: int) -> None:
        """The upload submits what was recorded before."""
        pair = self.pick(i)
        values = np.random.default_rng(seed).integers(-8, 8, pair.reference.shape).astype(np.float32)
        pair.tensor[...] = values
        pair.reference[...] = values

    # plans and publications -------------------------------------------------------------------------------------

    @precondition(lambda self: self.pairs and len(self.plans) < 3)
    @rule(i=which)
    def make_plan(self, i: int) -> None:
        pair = self.pick(i)
        if pair.tensor.size and pair.tensor.is_contiguous and pair.tensor.nbytes == pair.tensor.block.nbytes:
            plan = Plan("step")
            n = pair.tensor.size
            for factor in (2.0, 0.5):
                plan.dispatch(kernel(STEP), n, x=pair.tensor, count=n, factor=factor)
            self.plans.append(Running(plan, pair.tensor.owner, pair.base))

    @precondition(lambda self: self.plans)
    @rule(i=which, number=numbers)
    def replay(self, i: int, number: int) -> None:
        running = self.plans[i % len(self.plans)]
        running.plan.replay(value=float(number))
        running.base[...] = (running.base * 2 + number) * np.float32(0.5) + number

    @precondition(lambda self: self.plans)
    @rule(i=which)
    def close_plan(self, i: int) -> None:
        self.plans.pop(i % len(self.plans)).plan.close()

    @precondition(lambda self: self.pairs and len(self.shown) < 3)
    @rule(i=which, j=which)
    def publish(self, i: int, j: int) -> None:
        pairs = [self.pick(i), self.pick(j)]
        publication = Publication()
        for pair in pairs:
            self.gpu.make_resident(pair.tensor.owner)
        publication.publish(pair.tensor for pair in pairs)
        self.shown.append(Shown(publication, [p.tensor.block for p in pairs], [p.base.copy() for p in pairs]))

    @precondition(lambda self: self.shown)
    @rule(i=which)
    def withdraw(self, i: int) -> None:
        self.shown.pop(i % len(self.shown)).publication.withdraw()

    # closing ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def close(self, i: int) -> None:
        self.pairs.pop(i % len(self.pairs)).tensor.close()

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def lose(self, i: int) -> None:
        self.pairs.pop(i % len(self.pairs))

    @rule()
    def submit(self) -> None:
        self.gpu.submit()

    @rule()
    def frame(self) -> None:
        with self.gpu.frames.frame():
            pass
        self.gpu.pool.trim(1 << 12)

    @rule()
    def drop_the_recording(self) -> None:
        """After an error the state is that of the last submit."""
        self.gpu.abandon()
        for base, values in self.committed:
            base[...] = values
        for pair in [pair for pair in self.pairs if pair.fresh]:
            pair.tensor.close()
            self.pairs.remove(pair)
        known = {id(base) for base, _ in self.committed}
        for running in [running for running in self.plans if id(running.base) not in known]:
            running.plan.close()
            self.plans.remove(running)
        for shown in [shown for shown in self.shown if shown.fresh]:
            shown.publication.withdraw()
            self.shown.remove(shown)

    # checking ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.pairs)
    @rule(i=which)
    def read(self, i: int) -> None:
        self.check(self.pick(i))

    @precondition(lambda self: self.shown)
    @rule(i=which)
    def look(self, i: int) -> None:
        self.check_shown(self.shown[i % len(self.shown)])

    def check(self, pair: Pair) -> None:
        assert pair.tensor.shape == pair.reference.shape
        assert np.allclose(pair.tensor.numpy(), pair.reference, rtol=1e-5, atol=1e-5)

    def check_shown(self, shown: Shown) -> None:
        for block, values in zip(shown.blocks, shown.values, strict=True):
            if values.size:
                reading = self.gpu.recorder.read(block, 0, values.nbytes, Traffic.DIAGNOSTICS)
                self.gpu.submit()
                drawn = np.frombuffer(self.gpu.readback.wait(reading), np.float32)
                assert np.allclose(drawn, values, rtol=1e-5, atol=1e-5)

    def teardown(self) -> None:
        for shown in self.shown:
            self.check_shown(shown)
            shown.publication.withdraw()
        for running in self.plans:
            running.plan.close()
        for pair in self.pairs:
            self.check(pair)
            pair.tensor.close()
        for source, values in self.sources:
            assert np.array_equal(source, values), "borrowed memory was written"
        del self.gpu.submit
        self.pairs.clear()
        self.gpu.wait_idle()
        if {(b.id, b.generation) for b in self.gpu.tracker.live} - self.before:
            gc.collect()
            self.gpu.wait_idle()
        assert {(b.id, b.generation) for b in self.gpu.tracker.live} <= self.before, self.gpu.tracker.leak_report()
        assert all(block.pins == block.published == 0 for block in self.gpu.tracker.live)

    # inside -----------------------------------------------------------------------------------------------------

    def pick(self, i: int) -> Pair:
        return self.pairs[i % len(self.pairs)]

    def add(self, tensor: Tensor, values: np.ndarray, fresh: bool) -> None:
        base = np.ascontiguousarray(values).reshape(-1)
        self.pairs.append(Pair(tensor, base.reshape(values.shape), base, fresh))
        if not fresh:
            self.committed.append((base, base.copy()))

    def alias(self, pair: Pair, tensor: Tensor, reference: np.ndarray) -> None:
        assert tensor.owner is pair.tensor.owner
        self.pairs.append(Pair(tensor, reference, pair.base, pair.fresh))

    def submit_and_commit(self) -> int:
        """Replaces `gpu.submit`. Steps change the references last: a submit in between has the values from before."""
        submitted = self.gpu.tracker.submitted
        serial = type(self.gpu).submit(self.gpu)
        if self.gpu.tracker.submitted > submitted:
            bases = {id(held.base): held.base for held in (*self.pairs, *self.plans)}
            self.committed = [(base, base.copy()) for base in bases.values()]
            for held in (*self.pairs, *self.shown):
                held.fresh = False
        return serial


class TestTensors(Tensors.TestCase):
    settings = settings(
        max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
