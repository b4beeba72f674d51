"""Structural similarity against its definition in float64, window by window, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, learn
from vertigrad.errors import DtypeError, ParameterError, ShapeError
from vertigrad.gpu import Gpu

RANDOM = np.random.default_rng(31)


def reference(x: np.ndarray, y: np.ndarray, span: float) -> float:
    """Sums over the window of eqs. 14 to 16 of Wang et al. 2004, of deviations from the mean."""
    away = np.arange(11) - 5.0
    window = np.exp(-(away[:, None] ** 2 + away**2) / (2.0 * 1.5**2))
    window /= window.sum()
    axes = (2, 3)
    xs, ys = (np.lib.stride_tricks.sliding_window_view(a.astype(float), (11, 11), axis=axes) for a in (x, y))
    mean_x, mean_y = ((window * a).sum((-2, -1), keepdims=True) for a in (xs, ys))
    var_x, var_y = (window * (xs - mean_x) ** 2).sum((-2, -1)), (window * (ys - mean_y) ** 2).sum((-2, -1))
    both = (window * (xs - mean_x) * (ys - mean_y)).sum((-2, -1))
    mean_x, mean_y = mean_x[..., 0, 0], mean_y[..., 0, 0]
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    light = (2.0 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return float((light * (2.0 * both + c2) / (var_x + var_y + c2)).mean())


def images(span: float) -> tuple[np.ndarray, np.ndarray]:
    x = RANDOM.uniform(0.0, span, (2, 3, 13, 16))
    y = np.clip(0.7 * x + 0.3 * RANDOM.uniform(0.0, span, x.shape), 0.0, span)
    return x.astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("span", [1.0, 255.0])
def test_it_equals_the_definition(steady: Gpu, span: float) -> None:
    x, y = images(span)
    with Tensor.from_numpy(x) as result, Tensor.from_numpy(y) as expected, Tensor.from_numpy(1 - y / span) as other:
        assert learn.ssim(result, expected, span).item() == pytest.approx(reference(x, y, span), abs=2e-5)
        assert learn.ssim(result, result, span).item() == pytest.approx(1.0, abs=1e-6)
        turned = learn.ssim(result.permute(0, 1, 3, 2), expected.permute(0, 1, 3, 2), span).item()
        assert turned == pytest.approx(reference(x, y, span), abs=2e-5)
        assert learn.ssim_loss(expected * (1 / span), other).item() > 1.2  # inverted: below 0


def test_images_can_begin_anywhere_in_their_block(steady: Gpu) -> None:
    x, y = images(1.0)
    rows = np.concatenate([np.zeros(1, np.float32), x.ravel(), y.ravel()])
    with Tensor.from_numpy(rows) as block, block[1 : 1 + x.size] as first, block[1 + x.size :] as second:
        first.requires_grad = True
        value = learn.ssim(first.reshape(*x.shape), second.reshape(*x.shape))
        value.backward()
        assert first.grad is not None and value.item() == pytest.approx(reference(x, y, 1.0), abs=2e-5)
        with Tensor.from_numpy(x) as result, Tensor.from_numpy(y) as expected:
            result.requires_grad = True
            learn.ssim(result, expected).backward()
            assert result.grad is not None
            assert np.array_equal(first.grad.numpy(), result.grad.numpy().ravel())
            result.grad = None
        first.grad = None


def test_its_gradient_equals_that_of_the_definition(steady: Gpu) -> None:
    x, y = images(1.0)
    x, y = x[:1, :2], y[:1, :2]
    with Tensor.from_numpy(x) as result, Tensor.from_numpy(y) as expected:
        result.requires_grad = expected.requires_grad = True
        learn.ssim_loss(result, expected).backward()
        assert result.grad is not None and expected.grad is not None
        found = result.grad.numpy(), expected.grad.numpy()
        result.grad = expected.grad = None
    arrays = [x.astype(float), y.astype(float)]
    for which in (0, 1):
        for at in ((0, 0, 0, 0), (0, 1, 6, 7), (0, 0, 12, 3), (0, 1, 5, 15)):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [array.copy() for array in arrays]
                moved[which][at] += step
                sides.append(1.0 - reference(moved[0], moved[1], 1.0))
            assert found[which][at] == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-3, abs=2e-7)


def test_an_image_is_reconstructed_by_its_similarity(steady: Gpu) -> None:
    _, y = images(1.0)
    with (
        Tensor.full((1, 1, 13, 16), 0.5, name="x") as x,
        Tensor.from_numpy(y[:1, :1]) as expected,
        learn.Adam([x], 0.05) as optimizer,
    ):
        for _ in range(40):
            loss = learn.ssim_loss(x, expected)
            loss.backward()
            optimizer.step()
        assert loss.item() < 0.1, loss.item()


def test_invalid_images_are_refused(gpu: Gpu) -> None:
    small, large = Tensor.zeros((1, 1, 10, 20)), Tensor.zeros((1, 1, 20, 20))
    for pair in ((small, small), (small, large), (large[0], large[0])):
        with pytest.raises(ShapeError, match="11 x 11 pixels at least"):
            learn.ssim(*pair)
    with pytest.raises(DtypeError, match="must be f32"):
        learn.ssim(large.to("f16"), large)
    with pytest.raises(ParameterError, match="data_range is 0"):
        learn.ssim(large, large, 0)
    small.close()
    large.close()
