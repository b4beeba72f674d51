"""Optimisers against their formulas in float64, eagerly and from a plan; losses; schedules; ways back of one's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import Tensor, learn, ops
from vertigrad.errors import DtypeError, GradientError, ParameterError, ShapeError
from vertigrad.gpu import Gpu, Plan
from vertigrad.learn import Adam, Optimiser, Sgd, adam_w

RANDOM = np.random.default_rng(5)
START = RANDOM.normal(size=(3, 4)).astype(np.float32)
GRADIENTS = RANDOM.normal(size=(6, 3, 4)).astype(np.float32)


def sgd(momentum: float, nesterov: bool, decay: float) -> np.ndarray:
    weights, velocity = START.astype(float), np.zeros_like(START, float)
    for gradient in GRADIENTS.astype(float):
        whole = gradient + decay * weights
        velocity = momentum * velocity + whole
        weights = weights - 0.1 * (whole + momentum * velocity if nesterov else velocity)
    return weights


def adam(decay: float, decoupled: bool) -> np.ndarray:
    weights, mean, square = START.astype(float), np.zeros_like(START, float), np.zeros_like(START, float)
    for step, gradient in enumerate(GRADIENTS.astype(float), 1):
        if decoupled:
            weights = weights * (1.0 - 0.1 * decay)
        else:
            gradient = gradient + decay * weights
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights = weights - 0.1 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


KINDS: dict[str, tuple[Callable[[list[Tensor]], Optimiser], np.ndarray]] = {
    "sgd": (lambda w: Sgd(w, 0.1), sgd(0.0, False, 0.0)),
    "momentum": (lambda w: Sgd(w, 0.1, 0.9, decay=0.05), sgd(0.9, False, 0.05)),
    "nesterov": (lambda w: Sgd(w, 0.1, 0.9, nesterov=True), sgd(0.9, True, 0.0)),
    "adam": (lambda w: Adam(w, 0.1, decay=0.05), adam(0.05, False)),
    "adam_w": (lambda w: adam_w(w, 0.1, decay=0.05), adam(0.05, True)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_formula(steady: Gpu, kind: str) -> None:
    make, wanted = KINDS[kind]
    with Tensor.from_numpy(START, "w") as weights, make([weights]) as optimiser:
        for gradient in GRADIENTS:
            with Tensor.from_numpy(gradient) as given:
                (weights * given).sum().backward()
            optimiser.step()
        np.testing.assert_allclose(weights.numpy(), wanted, rtol=2e-6, atol=2e-6)
        assert optimiser.taken == len(GRADIENTS) and weights.grad is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_step_gives_the_same_bits(steady: Gpu, kind: str) -> None:
    make, _ = KINDS[kind]
    found = []
    for recorded in (False, True):
        with (
            Tensor.from_numpy(START, "w") as weights,
            Tensor.zeros(START.shape, name="g") as given,
            make([weights]) as optimiser,
            Plan("step") as plan,
        ):
            if recorded:
                with plan.recording():
                    (weights * given).sum().backward()
                    optimiser.step()
            for gradient in GRADIENTS:
                given[...] = gradient
                if recorded:
                    plan.replay(**optimiser.fields())
                else:
                    (weights * given).sum().backward()
                    optimiser.step()
            found.append(weights.numpy())
    assert np.array_equal(*found)


def test_gradients_are_clipped_to_a_norm(steady: Gpu) -> None:
    with Tensor.zeros(2, name="a") as a, Tensor.zeros(2, name="b") as b, Sgd([a, b], 1.0, clip=1.0) as optimiser:
        (a * 3.0).sum().backward()
        (b * 4.0).sum().backward()
        assert optimiser.norm().item() == pytest.approx(50.0**0.5)
        optimiser.step()
        np.testing.assert_allclose(np.stack([a.numpy(), b.numpy()]), -np.array([[3, 3], [4, 4]]) / 50.0**0.5, rtol=1e-5)
        (a * 0.1).sum().backward()
        (b * 0.0).sum().backward()
        before = a.numpy()
        optimiser.step()
        np.testing.assert_allclose(a.numpy(), before - 0.1, rtol=1e-6)


def test_what_cannot_be_stepped_is_told(gpu: Gpu) -> None:
    with Tensor.zeros((2, 3), name="w") as weights, Tensor.zeros(2, np.int32, name="i") as integers:
        with Sgd([weights]) as optimiser, pytest.raises(GradientError, match="no gradient for w"):
            optimiser.step()
        with pytest.raises(DtypeError, match="i32"):
            Sgd([integers])
        with pytest.raises(DtypeError, match="in order"):
            Sgd([weights.T])
        with pytest.raises(ParameterError, match="betas"):
            Adam([weights], betas=(1.0, 0.9))


def test_losses(gpu: Gpu) -> None:
    result, wanted = RANDOM.normal(size=(2, 5, 4)).astype(np.float32) * 2.0
    error = result.astype(float) - wanted
    ours, theirs = Tensor.from_numpy(result), Tensor.from_numpy(wanted)
    assert learn.l1_loss(ours, theirs).item() == pytest.approx(np.abs(error).mean(), rel=1e-5)
    assert learn.l2_loss(ours, theirs).item() == pytest.approx((error**2).mean(), rel=1e-5)
    huber = np.where(np.abs(error) <= 0.7, error**2 / 2, 0.7 * (np.abs(error) - 0.35))
    assert learn.huber_loss(ours, theirs, 0.7).item() == pytest.approx(huber.mean(), rel=1e-5)
    classes = np.array([1, 0, 3, 2, 3], np.int32)
    logs = result - np.log(np.exp(result.astype(float)).sum(1, keepdims=True))
    found = learn.cross_entropy(ours, Tensor.from_numpy(classes)).item()
    assert found == pytest.approx(-logs[np.arange(5), classes].mean(), rel=1e-5)
    with pytest.raises(ShapeError, match="is wanted"):
        learn.l2_loss(ours, theirs[0])
    with pytest.raises(ShapeError, match="classes of shape"):
        learn.cross_entropy(ours, Tensor.from_numpy(classes[:3]))


def test_schedules() -> None:
    wave = learn.cosine(10, last=0.1)
    assert [wave(0), wave(10), wave(99)] == pytest.approx([1.0, 0.1, 0.1]) and wave(5) == pytest.approx(0.55)
    assert learn.exponential(4)(8) == 0.25
    warm = learn.warm_up(4, wave)
    assert [warm(0), warm(3), warm(4), warm(14)] == pytest.approx([0.25, 1.0, 1.0, 0.1])
    with pytest.raises(ParameterError):
        learn.cosine(0)


def test_an_operation_with_a_way_back_of_its_own(gpu: Gpu) -> None:
    cube = learn.custom("cube", lambda x: x * x * x, lambda g, r, x: [g * x * x * 3.0])
    x = Tensor.from_numpy(np.array([1.0, -2.0], np.float32)).detach()
    x.requires_grad = True
    cube(x).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [3.0, 12.0]
    wrong = learn.custom("wrong", lambda x: x * 1.0, lambda g, r, x: [])
    with pytest.raises(GradientError, match="0 gradients for 1 operands"):
        wrong(x).sum().backward()


def test_a_checkpoint_gives_the_same_gradients_and_keeps_less(gpu: Gpu) -> None:
    def block(x: Tensor, w: Tensor) -> Tensor:
        for _ in range(6):
            x = ops.tanh(x @ w)
        return x

    arrays = RANDOM.normal(size=(64, 64)).astype(np.float32), RANDOM.normal(size=(64, 64)).astype(np.float32) / 8.0
    found, held = [], []
    for kept in (True, False):
        x, w = (Tensor.from_numpy(array).detach() for array in arrays)
        x.requires_grad = w.requires_grad = True
        result = block(x, w) if kept else learn.checkpoint(block, x, w)
        gpu.wait_idle()
        held.append(gpu.tracker.live_bytes)
        result.sum().backward()
        assert x.grad is not None and w.grad is not None
        found.append((x.grad.numpy(), w.grad.numpy()))
        del x, w, result
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert held[1] < 0.6 * held[0]


def test_a_network_learns_a_function(steady: Gpu) -> None:
    """A sine, by 1 → 32 → 1 with tanh, from a recorded step: the loss falls a hundredfold."""
    x = np.linspace(-3.0, 3.0, 128, dtype=np.float32)[:, None]
    with (
        Tensor.from_numpy(x) as given,
        Tensor.from_numpy(np.sin(x)) as wanted,
        Tensor.from_numpy(RANDOM.normal(size=(32, 1)).astype(np.float32), "w1") as w1,
        Tensor.zeros(32, name="b1") as b1,
        Tensor.from_numpy(RANDOM.normal(size=(1, 32)).astype(np.float32) / 6.0, "w2") as w2,
        Tensor.zeros(1, name="b2") as b2,
        Adam([w1, b1, w2, b2], 0.02, clip=1.0) as optimiser,
        Plan("step") as plan,
    ):
        with plan.recording():
            loss = learn.l2_loss(ops.linear(ops.linear(given, w1, b1, activation="tanh"), w2, b2), wanted)
            loss.backward()
            optimiser.step()
        plan.replay(**optimiser.fields())
        first = loss.item()
        for _ in range(300):
            plan.replay(**optimiser.fields())
        assert loss.item() < first / 80.0
        loss.close()
