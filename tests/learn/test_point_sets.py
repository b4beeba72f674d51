"""The nearest neighbor in another set, and the Chamfer distance with its gradient, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, learn
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Gpu, Plan

RANDOM = np.random.default_rng(37)


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype(float) - y[None].astype(float)) ** 2).sum(-1)


def reference(x: np.ndarray, y: np.ndarray, squared: bool = True) -> float:
    pairs = squares(x, y) if squared else np.sqrt(squares(x, y))
    return float(pairs.min(1).mean() + pairs.min(0).mean())


@pytest.mark.parametrize(
    ("count", "number", "axes"), [(1, 1, 3), (700, 300, 3), (257, 513, 2), (40, 999, 5), (9, 4, 1)]
)
def test_the_nearest_is_found(steady: Gpu, count: int, number: int, axes: int) -> None:
    x, y = (RANDOM.normal(size=(n, axes)).astype(np.float32) for n in (count, number))
    with Tensor.from_numpy(x) as points, Tensor.from_numpy(y) as others:
        found = learn.nearest(points, others).numpy()
    distances = squares(x, y)
    assert found.dtype == np.int32
    np.testing.assert_allclose(distances[np.arange(count), found], distances.min(1), rtol=1e-6)


def test_the_nearest_is_found_at_any_scale(steady: Gpu) -> None:
    for scale in (1e-6, 1e6):
        x, y = ((scale * RANDOM.normal(size=(n, 3))).astype(np.float32) for n in (60, 40))
        with Tensor.from_numpy(x) as points, Tensor.from_numpy(y) as others:
            assert np.array_equal(learn.nearest(points, others).numpy(), squares(x, y).argmin(1))


def test_of_equally_near_points_the_first_is_used_and_strides_do_not_matter(steady: Gpu) -> None:
    y = np.repeat(np.arange(600.0, dtype=np.float32), 2)[::-1].copy()  # every position twice
    with Tensor.from_numpy(np.stack([y, y * 0], 1)) as others, Tensor.from_numpy(np.zeros((2, 599), np.float32)) as x:
        x[0] = np.arange(599, dtype=np.float32) + 0.25
        assert np.array_equal(learn.nearest(x.T, others).numpy(), 1198 - 2 * np.arange(599))


@pytest.mark.parametrize("squared", [True, False])
def test_the_distance_and_its_gradient(steady: Gpu, squared: bool) -> None:
    x, y = (RANDOM.normal(size=(n, 3)).astype(np.float32) for n in (150, 90))
    runs = []
    for _ in range(5):
        with Tensor.from_numpy(x) as points, Tensor.from_numpy(y) as others:
            points.requires_grad = others.requires_grad = True
            loss = learn.chamfer(points, others, squared=squared)
            loss.backward()
            assert loss.item() == pytest.approx(reference(x, y, squared), rel=1e-5)
            assert points.grad is not None and others.grad is not None
            runs.append((points.grad.numpy(), others.grad.numpy()))
            points.grad = others.grad = None
    assert all(np.array_equal(a, b) for run in runs[1:] for a, b in zip(runs[0], run, strict=True))
    for which in (0, 1):
        for at in ((0, 0), (17, 2), (89, 1)):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [x.astype(float), y.astype(float)]
                moved[which][at] += step
                sides.append(reference(moved[0], moved[1], squared))
            assert runs[0][which][at] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-4, abs=1e-6)


def test_coinciding_points_have_a_gradient_of_zero(steady: Gpu) -> None:
    with Tensor.from_numpy(RANDOM.normal(size=(30, 3)).astype(np.float32)) as points:
        points.requires_grad = True
        loss = learn.chamfer(points, points.detach(), squared=False)
        loss.backward()
        assert loss.item() < 1e-11 and points.grad is not None and not points.grad.numpy().any()
        points.grad = None


def test_a_point_cloud_is_fitted_to_a_circle(steady: Gpu) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    with (
        Tensor.from_numpy((0.3 * RANDOM.normal(size=(64, 2))).astype(np.float32), "cloud") as cloud,
        Tensor.from_numpy(ring) as expected,
        learn.Adam([cloud], 0.05) as optimizer,
        Plan("step") as plan,
    ):
        with plan.recording():
            loss = learn.chamfer(cloud, expected)
            loss.backward()
            optimizer.step()
        plan.replay(**optimizer.fields())
        first = loss.item()
        for _ in range(80):
            plan.replay(**optimizer.fields())
        assert loss.item() < first / 50.0
        assert loss.item() == pytest.approx(reference(cloud.numpy(), ring), rel=0.2)  # one step later
        loss.close()


def test_invalid_point_sets_are_refused(gpu: Gpu) -> None:
    x, y, whole = Tensor.zeros((4, 3)), Tensor.zeros((4, 2)), Tensor.zeros((4, 3), np.int32)
    for pair in ((x, y), (x, x[0]), (x[:0], x), (x, x[:0])):
        with pytest.raises(ShapeError, match="a point at least"):
            learn.chamfer(*pair)
    with pytest.raises(DtypeError, match="must be f32"):
        learn.nearest(x, whole)
    with Tensor.zeros((2, 8)) as most, Tensor.zeros((2, 9)) as more:
        assert learn.nearest(most, most).numpy().tolist() == [0, 0]
        with pytest.raises(ShapeError, match="8 axes"):
            learn.nearest(more, more)
    for tensor in (x, y, whole):
        tensor.close()
