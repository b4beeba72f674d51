"""Optimizers against their formulas in float64, eagerly and from a plan; losses; schedules; custom backward passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import Tensor, learn, ops
from vertigrad.errors import DtypeError, GradientError, ParameterError, ShapeError
from vertigrad.gpu import Gpu, Plan
from vertigrad.learn import Adam, Optimizer, Sgd, adam_w

from ..old_names import warned

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


def adam(decay: float, decoupled: bool, epsilon: float = 1e-8, betas: tuple[float, float] = (0.9, 0.999)) -> np.ndarray:
    one, two = betas
    weights, mean, square = START.astype(float), np.zeros_like(START, float), np.zeros_like(START, float)
    for step, gradient in enumerate(GRADIENTS.astype(float), 1):
        if decoupled:
            weights = weights * (1.0 - 0.1 * decay)
        else:
            gradient = gradient + decay * weights
        mean = one * mean + (1 - one) * gradient
        square = two * square + (1 - two) * gradient**2
        weights = weights - 0.1 * (mean / (1 - one**step)) / (np.sqrt(square / (1 - two**step)) + epsilon)
    return weights


KINDS: dict[str, tuple[Callable[[list[Tensor]], Optimizer], np.ndarray]] = {
    "sgd": (lambda w: Sgd(w, 0.1), sgd(0.0, False, 0.0)),
    "momentum": (lambda w: Sgd(w, 0.1, 0.9, weight_decay=0.05), sgd(0.9, False, 0.05)),
    "nesterov": (lambda w: Sgd(w, 0.1, 0.9, nesterov=True), sgd(0.9, True, 0.0)),
    "adam": (lambda w: Adam(w, 0.1, weight_decay=0.05), adam(0.05, False)),
    "adam, large epsilon": (lambda w: Adam(w, 0.1, epsilon=0.3), adam(0.0, False, 0.3)),
    "adam, other betas": (lambda w: Adam(w, 0.1, betas=(0.5, 0.8)), adam(0.0, False, betas=(0.5, 0.8))),
    "adam_w": (lambda w: adam_w(w, 0.1, weight_decay=0.05), adam(0.05, True)),
    "adam_w, large epsilon": (lambda w: adam_w(w, 0.1, weight_decay=0.05, epsilon=0.3), adam(0.05, True, 0.3)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_equals_the_formula(steady: Gpu, kind: str) -> None:
    make, expected = KINDS[kind]
    with Tensor.from_numpy(START, "w") as weights, make([weights]) as optimizer:
        for gradient in GRADIENTS:
            with Tensor.from_numpy(gradient) as gradient_tensor:
                (weights * gradient_tensor).sum().backward()
            optimizer.step()
        np.testing.assert_allclose(weights.numpy(), expected, rtol=2e-6, atol=2e-6)
        assert optimizer.step_count == len(GRADIENTS) and weights.grad is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_step_gives_the_same_bits(steady: Gpu, kind: str) -> None:
    make, _ = KINDS[kind]
    found = []
    for recorded in (False, True):
        with (
            Tensor.from_numpy(START, "w") as weights,
            Tensor.zeros(START.shape, name="g") as gradient_tensor,
            make([weights]) as optimizer,
            Plan("step") as plan,
        ):
            if recorded:
                with plan.recording():
                    (weights * gradient_tensor).sum().backward()
                    optimizer.step()
            for gradient in GRADIENTS:
                gradient_tensor[...] = gradient
                if recorded:
                    plan.replay(**optimizer.fields())
                else:
                    (weights * gradient_tensor).sum().backward()
                    optimizer.step()
            found.append(weights.numpy())
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": -0.1}, "lr is -0.1"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"clip": -1.0}, "clip is -1.0"),
        ({"momentum": -0.1}, "momentum is -0.1"),
        ({"momentum": 1.0}, "momentum is 1.0"),
    ],
)
def test_a_setting_out_of_range_is_reported(gpu: Gpu, settings: dict[str, float], message: str) -> None:
    with Tensor.zeros(2) as weights:
        with pytest.raises(ParameterError, match=message):
            Sgd([weights], **{"lr": 0.1, **settings})
        Sgd([weights], 0.0, 0.0, weight_decay=0.0, clip=1e-6).close()


def test_gradients_are_clipped_to_a_norm(steady: Gpu) -> None:
    with Tensor.zeros(2, name="a") as a, Tensor.zeros(2, name="b") as b, Sgd([a, b], 1.0, clip=1.0) as optimizer:
        (a * 3.0).sum().backward()
        (b * 4.0).sum().backward()
        assert optimizer.norm().item() == pytest.approx(50.0**0.5)
        optimizer.step()
        np.testing.assert_allclose(np.stack([a.numpy(), b.numpy()]), -np.array([[3, 3], [4, 4]]) / 50.0**0.5, rtol=1e-5)
        (a * 0.1).sum().backward()
        (b * 0.0).sum().backward()
        before = a.numpy()
        optimizer.step()
        np.testing.assert_allclose(a.numpy(), before - 0.1, rtol=1e-6)


@pytest.mark.parametrize(("factor", "expected"), [(0.5, [0.95, 2.1]), (-1.0, [1.0, 2.0])])
def test_a_factor_scales_gradients_or_leaves_the_step_out(steady: Gpu, factor: float, expected: list[float]) -> None:
    with Tensor.from_numpy(np.float32([1.0, 2.0])) as weights, Tensor.full(1, factor) as scale:
        with learn.Sgd([weights], 0.1) as optimizer, Tensor.from_numpy(np.float32([1.0, -2.0])) as gradient:
            weights.grad = gradient
            optimizer.step(factor=scale)
        np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-6)


def test_a_step_that_raises_is_not_counted(gpu: Gpu) -> None:
    """It does not change later steps: Adam's corrections and the schedule depend on the number of steps."""
    found = []
    for fails in (False, True):
        with (
            Tensor.from_numpy(START, "w") as weights,
            Adam([weights], 0.1, schedule=learn.exponential(1)) as optimizer,
        ):
            if fails:
                with pytest.raises(GradientError, match="no gradient for w"):
                    optimizer.step()
                weights.grad = Tensor.zeros((4, 3))
                with pytest.raises(GradientError, match=r"expected a gradient of w of f32 \(3, 4\), got f32 \(4, 3\)"):
                    optimizer.step()
                weights.grad = None
                assert optimizer.step_count == 0
            for gradient in GRADIENTS[:2]:
                (weights * Tensor.from_numpy(gradient)).sum().backward()
                optimizer.step()
            assert optimizer.step_count == 2
            found.append(weights.numpy())
    assert np.array_equal(*found)


def test_the_learning_rate_of_each_step_follows_the_schedule(gpu: Gpu) -> None:
    with Tensor.zeros(1, name="w") as weights, Sgd([weights], 2.0, schedule=learn.exponential(1)) as optimizer:
        positions = []
        for _ in range(3):
            weights.sum().backward()
            optimizer.step()
            positions.append(weights.item())
        assert positions == [-2.0, -3.0, -3.5] and optimizer.fields()["lr"] == 0.25


def test_weights_can_come_from_a_generator(gpu: Gpu) -> None:
    with Tensor.zeros(2, name="a") as a, Tensor.zeros(3, name="b") as b:
        with Sgd((tensor for tensor in (a, b)), 1.0) as optimizer:
            assert optimizer.weights == (a, b) and a.requires_grad and b.requires_grad
            ((a * 2.0).sum() + b.sum()).backward()
            optimizer.step()
        assert a.numpy().tolist() == [-2, -2] and b.numpy().tolist() == [-1, -1, -1]
    with pytest.raises(ParameterError, match="no weights"):
        Sgd(iter(()))


def test_invalid_steps_are_refused(gpu: Gpu) -> None:
    with Tensor.zeros((2, 3), name="w") as weights, Tensor.zeros(2, np.int32, name="i") as integers:
        with Sgd([weights]) as optimizer, pytest.raises(GradientError, match="no gradient for w"):
            optimizer.step()
        with pytest.raises(DtypeError, match="i32"):
            Sgd([integers])
        with pytest.raises(DtypeError, match="in order"):
            Sgd([weights.T])
        with pytest.raises(ParameterError, match="betas"):
            Adam([weights], betas=(1.0, 0.9))
        with pytest.raises(ParameterError, match="epsilon is 0"):
            Adam([weights], epsilon=0.0)
        with pytest.raises(ParameterError, match="decay is -1"):
            Sgd([weights], weight_decay=-1.0)


def test_losses(gpu: Gpu) -> None:
    result, expected = RANDOM.normal(size=(2, 5, 4)).astype(np.float32) * 2.0
    error = result.astype(float) - expected
    ours, theirs = Tensor.from_numpy(result), Tensor.from_numpy(expected)
    assert learn.l1_loss(ours, theirs).item() == pytest.approx(np.abs(error).mean(), rel=1e-5)
    assert learn.l2_loss(ours, theirs).item() == pytest.approx((error**2).mean(), rel=1e-5)
    huber = np.where(np.abs(error) <= 0.7, error**2 / 2, 0.7 * (np.abs(error) - 0.35))
    assert learn.huber_loss(ours, theirs, 0.7).item() == pytest.approx(huber.mean(), rel=1e-5)
    classes = np.array([1, 0, 3, 2, 3], np.int32)
    logs = result - np.log(np.exp(result.astype(float)).sum(1, keepdims=True))
    found = learn.cross_entropy(ours, Tensor.from_numpy(classes)).item()
    assert found == pytest.approx(-logs[np.arange(5), classes].mean(), rel=1e-5)
    with pytest.raises(ShapeError, match="target of shape"):
        learn.l2_loss(ours, theirs[0])
    with pytest.raises(ShapeError, match="cross_entropy: target of shape"):
        learn.cross_entropy(ours, Tensor.from_numpy(classes[:3]))


def test_schedules() -> None:
    wave = learn.cosine(10, last=0.1)
    assert [wave(0), wave(10), wave(99)] == pytest.approx([1.0, 0.1, 0.1]) and wave(5) == pytest.approx(0.55)
    assert [learn.exponential(4)(step) for step in (0, 2, 8)] == pytest.approx([1.0, 0.5**0.5, 0.25])
    warm = learn.warm_up(4, wave)
    assert [warm(0), warm(3), warm(4), warm(14)] == pytest.approx([0.25, 1.0, 1.0, 0.1])
    with pytest.raises(ParameterError):
        learn.cosine(0)


def test_an_operation_with_a_custom_backward_pass(gpu: Gpu) -> None:
    cube = learn.custom("cube", lambda x: x * x * x, lambda g, r, x: [g * x * x * 3.0])
    x = Tensor.from_numpy(np.array([1.0, -2.0], np.float32)).detach()
    x.requires_grad = True
    cube(x).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [3.0, 12.0]
    wrong = learn.custom("wrong", lambda x: x * 1.0, lambda g, r, x: [])
    with pytest.raises(GradientError, match="0 gradients for 1 operands"):
        wrong(x).sum().backward()


def test_a_checkpoint_gives_the_same_gradients_with_less_memory(gpu: Gpu) -> None:
    def block(x: Tensor, w: Tensor) -> Tensor:
        for _ in range(6):
            x = ops.tanh(x @ w)
        return x

    arrays = RANDOM.normal(size=(64, 64)).astype(np.float32), RANDOM.normal(size=(64, 64)).astype(np.float32) / 8.0
    found, held = [], []
    for retained in (True, False):
        x, w = (Tensor.from_numpy(array).detach() for array in arrays)
        x.requires_grad = w.requires_grad = True
        result = block(x, w) if retained else learn.checkpoint(block, x, w)
        gpu.wait_idle()
        held.append(gpu.tracker.live_bytes)
        result.sum().backward()
        assert x.grad is not None and w.grad is not None
        found.append((x.grad.numpy(), w.grad.numpy()))
        del x, w, result
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert held[1] < 0.6 * held[0]


@pytest.mark.parametrize(("count", "length"), [(1, 1), (4, 2), (5, 3), (9, 3), (10, 4)])
def test_the_number_of_checkpoints_is_the_square_root_of_the_steps(gpu: Gpu, count: int, length: int) -> None:
    """Each step runs once in the forward pass, and again, from its checkpoint on, in the backward pass."""
    done: list[int] = []

    def step(number: int, x: Tensor, w: Tensor) -> Tensor:
        done.append(number)
        return x * w

    x, w = Tensor.full(3, 2.0).detach(), Tensor.full(3, 1.5).detach()
    x.requires_grad = w.requires_grad = True
    result = learn.checkpointed_steps(step, count, x, w)
    assert done == list(range(count))
    done.clear()
    result.sum().backward()
    stretches = [list(range(first, min(first + length, count))) for first in range(0, count, length)]
    assert done == [number for stretch in reversed(stretches) for number in stretch]
    assert x.grad is not None and w.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 1.5**count, rtol=1e-6)
    np.testing.assert_allclose(w.grad.numpy(), 2.0 * count * 1.5 ** (count - 1), rtol=1e-6)


def test_a_network_is_trained_to_fit_a_function(steady: Gpu) -> None:
    """A sine, by 1 → 32 → 1 with tanh, from a recorded step: the loss falls a hundredfold."""
    x = np.linspace(-3.0, 3.0, 128, dtype=np.float32)[:, None]
    with (
        Tensor.from_numpy(x) as gradient_tensor,
        Tensor.from_numpy(np.sin(x)) as expected,
        Tensor.from_numpy(RANDOM.normal(size=(32, 1)).astype(np.float32), "w1") as w1,
        Tensor.zeros(32, name="b1") as b1,
        Tensor.from_numpy(RANDOM.normal(size=(1, 32)).astype(np.float32) / 6.0, "w2") as w2,
        Tensor.zeros(1, name="b2") as b2,
        Adam([w1, b1, w2, b2], 0.02, clip=1.0) as optimizer,
        Plan("step") as plan,
    ):
        with plan.recording():
            loss = learn.l2_loss(ops.linear(ops.linear(gradient_tensor, w1, b1, activation="tanh"), w2, b2), expected)
            loss.backward()
            optimizer.step()
        plan.replay(**optimizer.fields())
        first = loss.item()
        for _ in range(300):
            plan.replay(**optimizer.fields())
        assert loss.item() < first / 80.0
        loss.close()


def test_old_names_of_arguments_and_attributes_work_with_a_warning(gpu: Gpu) -> None:
    with Tensor.zeros(2, name="w") as weights:
        with warned("Sgd: rate is now called lr"):
            optimizer = Sgd([weights], rate=0.5, weight_decay=0.1)  # type: ignore[call-arg]
        with optimizer:
            with warned("Sgd.decay is now called weight_decay"):
                assert optimizer.decay == 0.1
            with warned("Sgd.rate is now called lr"):
                optimizer.rate = 0.25
            assert optimizer.lr == 0.25
        with warned("l1_loss: wanted is now called target"):
            assert learn.l1_loss(weights, wanted=weights).item() == 0.0  # type: ignore[call-arg]
