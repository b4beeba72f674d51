"""Loss scaling for f16 gradients: the effect of the scale, and what it does not change."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, learn
from vertigrad.errors import ParameterError
from vertigrad.gpu import Gpu, Plan
from vertigrad.learn import Adam, LossScale, Sgd

RANDOM = np.random.default_rng(41)


def test_a_power_of_two_changes_no_bit(steady: Gpu) -> None:
    """Also with clipped gradients: the norm is that without the scale."""
    x, expected = RANDOM.normal(size=(2, 32, 3)).astype(np.float32)
    for clip in (None, 0.5):
        found = []
        for scaled in (False, True):
            with (
                Tensor.from_numpy(x) as x_tensor,
                Tensor.from_numpy(expected) as target,
                Tensor.full((3, 3), 0.5, name="w") as weights,
                LossScale(1024.0, growth_interval=3) as scaling,
                Adam([weights], 0.1, clip=clip) as optimizer,
            ):
                for _ in range(8):
                    loss = learn.l2_loss(x_tensor @ weights, target)
                    (scaling.scaled(loss) if scaled else loss).backward()
                    optimizer.step(scaling if scaled else None)
                found.append(weights.numpy())
                if scaled:
                    assert scaling.state["loss_scale"].numpy().tolist() == [4096.0, 2.0]
        if clip is None:
            assert np.array_equal(*found)
        np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_step_with_nan_gradients_changes_nothing(steady: Gpu, recorded: bool, bad: float) -> None:
    with (
        Tensor.full(3, 1.0, name="w") as weights,
        Tensor.full(2, 1.0, name="v") as others,
        Tensor.zeros(3, name="g") as x_tensor,
        LossScale(16.0, growth_interval=2) as scaling,
        Adam([weights, others], 0.1) as optimizer,
        Plan("step") as plan,
    ):

        def pull() -> None:
            (scaling.scaled((weights * x_tensor).sum()) + others.sum()).backward()
            optimizer.step(scaling)

        if recorded:
            with plan.recording():
                pull()
        held = []
        for value in (1.0, bad, 1.0, 1.0):
            x_tensor[...] = np.array([1.0, value, 1.0], np.float32)
            if recorded:
                plan.replay(**optimizer.fields())
            else:
                pull()
            held.append([t.numpy() for t in (weights, others, *optimizer.state.values())])
            held[-1].append(scaling.value.item())
        assert all(np.array_equal(a, b) for a, b in zip(held[0][:-1], held[1][:-1], strict=True))
        assert not np.array_equal(held[1][0], held[2][0]) and not np.array_equal(held[1][1], held[2][1])
        assert [each[-1] for each in held] == [16.0, 8.0, 8.0, 16.0]
        assert np.isfinite(weights.numpy()).all()


def test_a_network_in_f16_trains_only_with_a_scale(steady: Gpu) -> None:
    """Gradients are near 1e-9, below the range of f16; the scale starts too large and is reduced automatically."""
    x = RANDOM.normal(size=(64, 4)).astype(np.float16)
    target = x.astype(np.float32) @ np.array([[1.0], [-2.0], [0.5], [1.5]], np.float32)
    moved = []
    for scaled in (False, True):
        with (
            Tensor.from_numpy(x) as x_tensor,
            Tensor.from_numpy(target) as expected,
            Tensor.zeros((4, 1), name="w") as weights,
            LossScale(2.0**24) as scaling,
            Sgd([weights], 3e7) as optimizer,
        ):
            losses = []
            for _ in range(40):
                result = (x_tensor @ weights.to("f16")).to("f32")
                loss = learn.l2_loss(result, expected) * 1e-8
                (scaling.scaled(loss) if scaled else loss).backward()
                optimizer.step(scaling if scaled else None)
                losses.append(loss.item())
            moved.append(losses[-1] / losses[0])
    assert moved[0] == 1.0 and moved[1] < 1e-3


def test_the_scale_is_reduced_until_gradients_are_finite(steady: Gpu) -> None:
    with Tensor.full(2, 1.0, name="w") as weights, LossScale(2.0**20) as scaling, Sgd([weights], 0.01) as optimizer:
        for _ in range(12):
            scaling.scaled((weights.to("f16") * 3.0).to("f32").sum()).backward()
            optimizer.step(scaling)
        scale = scaling.value.item()
        assert 3.0 * scale <= 65504.0 < 6.0 * scale
        np.testing.assert_allclose(weights.numpy(), 1.0 - 0.03 * (12 - np.log2(2.0**20 / scale)), rtol=1e-3)


def test_it_stays_within_its_bounds(steady: Gpu) -> None:
    for start, value, expected in ((1.0, np.nan, 1.0), (2.0**24, 1.0, 2.0**24)):
        with Tensor.full(1, 1.0, name="w") as weights, LossScale(start, growth_interval=1) as scaling:
            with Sgd([weights], 0.0) as optimizer:
                scaling.scaled((weights * value).sum()).backward()
                optimizer.step(scaling)
            assert scaling.value.item() == expected


def test_invalid_loss_scales_are_refused(gpu: Gpu) -> None:
    for start in (0.5, 2.0**25):
        with pytest.raises(ParameterError, match="init_scale is"):
            LossScale(start)
    for options in (
        {"growth_factor": 0.5},
        {"backoff_factor": 1.0},
        {"growth_interval": 0},
        {"growth_interval": 1 << 25},
    ):
        with pytest.raises(ParameterError, match="backoff_factor between"):
            LossScale(**options)  # type: ignore[arg-type]
