"""Splats drawn by a camera: their image and its gradients against the reference, and the same bits twice."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models.learning.splat_fit_raster import Lens, Splats, decoded, drawn, encoded
from vertigrad.models.learning.splat_fit_views import cameras_around
from vertigrad.models.reference import splat_fit as reference

Arrays = list[np.ndarray]
LENS = Lens(side=37, focal=60.0, near=0.5)  # so that the last tiles are cut by the border
BACKGROUND = (0.2, 0.5, 0.7)


def cloud(count: int, seed: int = 1) -> Arrays:
    """Splats of all kinds: large, small, transparent, so opaque that alpha is clamped, outside the image, behind."""
    random = np.random.default_rng(seed)
    position = random.uniform(-1.2, 1.2, (count, 3))
    right, _, forward = camera()[:, :3]
    position[0], position[1] = -6.0 * forward, 4.0 * right  # the camera is 4 away
    opacity = np.minimum(random.uniform(0.002, 1.3, count), 1.0)
    scale = np.exp(random.normal(-2.2, 0.5, (count, 3)))
    return [position, scale, random.normal(size=(count, 4)), opacity, random.uniform(0.0, 1.0, (count, 3))]


def camera() -> np.ndarray:
    return cameras_around(7, 4.0)[2]


def ours(arrays: Arrays, gradient: np.ndarray) -> tuple[np.ndarray, Arrays]:
    """The image on the GPU, and the gradients of all five arrays."""
    leaves = Splats(*(Tensor.from_numpy(array.astype(np.float32)) for array in arrays))
    for leaf in leaves:
        leaf.requires_grad = True
    with Tensor.from_numpy(camera().astype(np.float32)) as cameras, Tensor.from_numpy(gradient) as factors:
        image = drawn(leaves, cameras, LENS, view=0, background=BACKGROUND)
        image.backward(factors)
        found = [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
    for leaf in leaves:
        leaf.grad = None
        leaf.close()
    return image.numpy(), found


def test_the_gradients_of_the_reference_are_correct() -> None:
    """Against central differences, along a random direction for each array."""
    random = np.random.default_rng(5)
    arrays, eye = cloud(40), reference.Eye(camera(), *LENS, np.array(BACKGROUND))
    weights = random.normal(size=(LENS.side, LENS.side, 3))
    found = reference.gradients(weights, arrays, eye)
    for number, array in enumerate(arrays):
        direction, sides = random.normal(size=array.shape), []
        for step in (1e-7, -1e-7):
            moved = [*arrays]
            moved[number] = array + step * direction
            sides.append(float(np.sum(weights * reference.image(moved, eye))))
        expected = float(np.sum(direction * found[number]))
        assert (sides[0] - sides[1]) / 2e-7 == pytest.approx(expected, rel=1e-5, abs=1e-5), Splats._fields[number]


@pytest.mark.parametrize("count", [3, 60, 700])
def test_the_image_and_gradients_agree_with_the_reference(steady: Gpu, count: int) -> None:
    """With more splats than one round processes, and so many in front of each other that some are skipped."""
    arrays, eye = cloud(count), reference.Eye(camera(), *LENS, np.array(BACKGROUND))
    gradient = np.random.default_rng(2).normal(size=(LENS.side, LENS.side, 3)).astype(np.float32)
    image, found = ours(arrays, gradient)
    arrays = [array.astype(np.float32).astype(float) for array in arrays]
    np.testing.assert_allclose(image, reference.image(arrays, eye), atol=2e-5)
    for name, mine, theirs in zip(Splats._fields, found, reference.gradients(gradient, arrays, eye), strict=True):
        assert mine.shape == theirs.shape
        assert np.linalg.norm(mine - theirs) < 2e-4 * np.linalg.norm(theirs), name
        assert not mine[:2].any()  # behind the camera, and far outside the image


def test_a_splat_of_known_shape(steady: Gpu) -> None:
    """One at the origin, twice as long along x: its alpha falls as a Gaussian of that width on the image."""
    arrays = [np.array(a, float) for a in ([[0, 0, 0]], [[0.4, 0.2, 0.2]], [[0, 0, 0, 3]], [0.5], [[1, 0.5, 0]])]
    eye = np.array([[1.0, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 4]])  # at z = 4, looking along −z
    side = 33
    with Tensor.from_numpy(eye.astype(np.float32)) as cameras:
        leaves = Splats(*(Tensor.from_numpy(array.astype(np.float32)) for array in arrays))
        image = drawn(leaves, cameras, Lens(side, 40.0, 0.1), view=0, background=(0.0, 0.0, 0.0)).numpy()
        for leaf in leaves:
            leaf.close()
    away = np.arange(side) - side // 2
    for line, width in ((image[side // 2], 0.4), (image[:, side // 2], 0.2)):
        alpha = 0.5 * np.exp(-0.5 * away**2 / ((10.0 * width) ** 2 + 1 / 12))  # 10 pixels are as long as 1
        alpha[alpha < 1 / 255] = 0.0
        np.testing.assert_allclose(line, alpha[:, None] * [1.0, 0.5, 0.0], atol=1e-5)


def test_the_same_splats_give_the_same_bits(steady: Gpu) -> None:
    gradient = np.random.default_rng(2).normal(size=(LENS.side, LENS.side, 3)).astype(np.float32)
    first, second = (ours(cloud(300), gradient) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert all(np.array_equal(one, other) for one, other in zip(first[1], second[1], strict=True))


def test_colors_are_encoded_and_decoded(steady: Gpu) -> None:
    with Tensor.from_numpy(np.linspace(0.0, 1.0, 101, dtype=np.float32)) as color:
        light = decoded(color).numpy()
        back = encoded(decoded(color)).numpy()
    assert light[50] == pytest.approx(0.2140411, abs=1e-5) and light[2] == pytest.approx(0.02 / 12.92, rel=1e-5)
    np.testing.assert_allclose(back, np.linspace(0.0, 1.0, 101), atol=2e-4)  # of `pow`, which is inaccurate in WGSL
