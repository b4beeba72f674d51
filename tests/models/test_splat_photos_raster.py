"""Trained splats as cameras see them: image and gradients against the reference, and the same bits twice."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models.learning.splat_photos_raster import NAMES, Image, PhotoRaster
from vertigrad.models.parts import Parts
from vertigrad.models.reference import splat_photos as reference

Arrays = dict[str, np.ndarray]
IMAGE = Image(rows=37, columns=45, near=0.5)  # so that the last tiles are cut by the border
BACKGROUND = (0.2, 0.5, 0.7)
DEAD = 7  # rows after the last splat


def camera() -> np.ndarray:
    """At a distance of 4, not straight, with pixels that are not square and the principal point aside."""
    angle = 0.6
    turn = np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.1, -1.0, 0.2], [-np.sin(angle), 0.0, np.cos(angle)]])
    turn = np.linalg.svd(turn)[0] @ np.linalg.svd(turn)[2]
    rows = np.concatenate([turn, [[0.1], [-0.1], [4.0]]], axis=1)
    return np.concatenate([rows, [[50.0, 60.0, 24.0, 17.0]]])


def cloud(count: int, harmonics: int, seed: int = 1) -> Arrays:
    """Splats of all kinds: large, small, transparent, nearly opaque, beyond the border, behind the camera."""
    random = np.random.default_rng(seed)
    turn, away = camera()[:3, :3], camera()[:3, 3]
    position = random.uniform(-1.4, 1.4, (count, 3))
    position[0] = turn.T @ ([0.0, 0.0, -1.0] - away)  # behind
    position[1] = turn.T @ ([2.8, 0.0, 4.0] - away)  # so far to the side that the projection is taken elsewhere
    scale = random.normal(-2.0, 0.6, (count, 3))
    scale[1] = 0.5
    arrays = {"position": position, "scale": scale, "rotation": random.normal(size=(count, 4))}
    arrays |= {"opacity": random.normal(0.0, 3.0, count), "color": random.normal(0.0, 1.5, (count, 3))}
    arrays["opacity"][2:4] = 9.0  # at the limit of alpha
    if harmonics:
        arrays["harmonics"] = random.normal(0.0, 0.3, (count, harmonics))
    return {name: array.astype(np.float32).astype(float) for name, array in arrays.items()}


def eye() -> reference.Eye:
    return reference.Eye(camera().astype(np.float32).astype(float), *IMAGE, np.array(BACKGROUND))


def ours(
    arrays: Arrays, weights: np.ndarray, degree: int, pairs: int = 4096
) -> tuple[np.ndarray, Arrays, np.ndarray, list[float]]:
    """The image on the GPU, the gradients, `moves`, and factor and status."""
    count = len(arrays["position"])
    harmonics = arrays["harmonics"].shape[1] if "harmonics" in arrays else 0
    with Parts("test") as parts:
        padded = {n: np.concatenate([a, np.ones((DEAD, *a.shape[1:]))]).astype(np.float32) for n, a in arrays.items()}
        learned = {name: parts.copied(name, array) for name, array in padded.items()}
        by = {name: parts.copied(f"by {name}", np.full(array.shape, 9.0, "f")) for name, array in padded.items()}
        moves = parts.zeros("moves", count + DEAD, 2)
        cameras = parts.copied("cameras", np.concatenate([np.zeros((4, 4)), camera()]))
        raster = PhotoRaster(parts, IMAGE, cameras, count + DEAD, pairs, harmonics)
        fields = {"view": 1, "count": count, "degree": degree}
        raster.draw(learned, **fields, background=BACKGROUND)
        image = raster.image.numpy()
        raster.judge()
        raster.backward(learned, parts.copied("gradient", weights), by, moves, **fields)
        found = {name: tensor.numpy() for name, tensor in by.items()}
        return image, found, moves.numpy(), [*raster.factor.numpy().tolist(), *raster.status.numpy().tolist()]


@pytest.mark.parametrize(("count", "harmonics", "degree"), [(12, 45, 3), (60, 24, 1), (300, 0, 0)])
def test_the_image_and_gradients_agree_with_the_reference(steady: Gpu, count: int, harmonics: int, degree: int) -> None:
    """Along random directions, of each kind of parameter alone, in the mean over all splats."""
    arrays, random = cloud(count, harmonics), np.random.default_rng(2)
    weights = random.normal(size=(IMAGE.rows, IMAGE.columns, 3)).astype(np.float32)
    image, found, moves, (factor, pairs, complete) = ours(arrays, weights, degree)
    np.testing.assert_allclose(image, reference.image(arrays, eye(), degree), atol=5e-5)
    assert (factor, complete) == (1.0, 1) and count < pairs < 4096
    for name in NAMES[: 6 if harmonics else 5]:
        assert found[name].shape == (count + DEAD, *arrays[name].shape[1:])
        assert not found[name][count:].any() and not found[name][0].any()
        directions = [{name: random.normal(size=arrays[name].shape)} for _ in range(2)]
        expected = reference.slopes(arrays, directions, eye(), degree, weights.astype(float))
        for direction, each in zip(directions, expected, strict=True):
            difference = float(np.sum(direction[name] * found[name][:count])) - each
            assert abs(difference) < 3e-4 * np.linalg.norm(found[name]), name
    assert moves[0].tolist() == [0.0, 0.0] and moves[2, 1] == 1.0 and not moves[count:].any()


def test_each_gradient_agrees_with_the_reference(steady: Gpu) -> None:
    """Every parameter of every splat, one by one."""
    arrays = cloud(6, 45)
    weights = np.random.default_rng(2).normal(size=(IMAGE.rows, IMAGE.columns, 3)).astype(np.float32)
    _, found, moves, _ = ours(arrays, weights, 3)
    for name, array in arrays.items():
        each = array[:2] if name == "harmonics" else array  # the others are as those
        directions = []
        for at in np.ndindex(each.shape):
            directions.append({name: np.zeros(array.shape)})
            directions[-1][name][at] = 1.0
        expected = np.reshape(reference.slopes(arrays, directions, eye(), 3, weights.astype(float)), each.shape)
        error = np.abs(found[name][: len(each)] - expected).max()
        assert error < 2e-4 * np.abs(expected).max(), name
    visible = np.array([0, 1, 1, 1, 1, 1])
    assert np.array_equal(moves[:6, 1], visible) and np.array_equal(moves[:6, 0] > 0.0, visible > 0)


def test_the_same_splats_give_the_same_bits_in_every_room(steady: Gpu) -> None:
    """The memory for pairs does not matter, as long as it is enough; if it is not, there are no gradients."""
    weights = np.random.default_rng(2).normal(size=(IMAGE.rows, IMAGE.columns, 3)).astype(np.float32)
    arrays = cloud(300, 9)
    first, second = ours(arrays, weights, 1), ours(arrays, weights, 1, pairs=5000)
    assert np.array_equal(first[0], second[0])
    assert all(np.array_equal(first[1][name], second[1][name]) for name in arrays)
    _, found, moves, (factor, pairs, complete) = ours(arrays, weights, 1, pairs=400)
    assert (factor, complete) == (-1.0, 0) and pairs == first[3][1] > 400
    assert not moves.any() and not any(array.any() for array in found.values())


def test_a_splat_over_many_tiles(steady: Gpu) -> None:
    """Its pairs fill whole chunks: a camera with many tiles."""
    with ExitStack() as stack:
        parts = stack.enter_context(Parts("wide"))
        size = Image(rows=200, columns=300, near=0.5)
        arrays = {name: array[4:9] for name, array in cloud(9, 0).items()}
        arrays["scale"] = arrays["scale"] + 2.0
        arrays["opacity"][:] = 0.0
        lens = np.concatenate([camera()[:3], [[200.0, 200.0, 150.0, 100.0]]])
        learned = {name: parts.copied(name, array) for name, array in arrays.items()}
        by = {name: parts.zeros(f"by {name}", *array.shape) for name, array in arrays.items()}
        raster = PhotoRaster(parts, size, parts.copied("cameras", lens), 5, 2000, 0)
        raster.draw(learned, view=0, count=5, degree=0, background=BACKGROUND)
        random = np.random.default_rng(3)
        weights = random.normal(size=(200, 300, 3)).astype(np.float32)
        gradient = Tensor.from_numpy(weights)
        stack.enter_context(gradient)
        raster.backward(learned, gradient, by, parts.zeros("moves", 5, 2), view=0, count=5, degree=0)
        assert raster._words["touched"].numpy().max() > 100
        view = reference.Eye(lens.astype(np.float32).astype(float), *size, np.array(BACKGROUND))
        for name in arrays:
            direction, found = random.normal(size=arrays[name].shape), by[name].numpy()
            (expected,) = reference.slopes(arrays, [{name: direction}], view, 0, weights.astype(float))
            assert abs(float(np.sum(direction * found)) - expected) < 1e-3 * np.linalg.norm(found), name
