"""Evenly spread random numbers: against scipy's Sobol points, their evenness, and how little light varies by them."""

import numpy as np
import pytest
from scipy.stats import qmc

from vertigrad.gpu import Kernel, shader
from vertigrad.renderer import View
from vertigrad.tensor import Tensor

from .test_light import FRONT

COUNT = 256
MAIN = """
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> plain: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> even: array<vec4u>;
struct Params { seed: u32 }

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= arrayLength(&plain) { return; }
    plain[id.x] = reverseBits(sobol_point(id.x));
    even[id.x] = scrambled_point(id.x, params.seed * vec4u(0x9e3779b9u, 0x85ebca6bu, 0xc2b2ae35u, 0x27d4eb2fu));
}
"""


@pytest.fixture
def points(gpu):
    """The first points, and those of a scrambled set, f64 (COUNT, 4)."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        kernel = Kernel(shader.render("common/sobol.wgsl", {}) + MAIN, "main", "even")
        tensors = {name: Tensor.from_numpy(np.zeros((COUNT, 4), np.uint32)) for name in ("plain", "even")}
        kernel(COUNT, seed=seed, **tensors)
        found = tuple(tensor.numpy() / 2.0**32 for tensor in tensors.values())
        for tensor in tensors.values():
            tensor.close()
        return found

    return draw


def test_points_are_those_of_sobol(points):
    """In scipy's order, by Gray's code."""
    number = np.arange(COUNT)
    expected = qmc.Sobol(4, scramble=False, bits=32).random(COUNT)
    np.testing.assert_array_equal(points(1)[0][number ^ (number >> 1)], expected)


@pytest.mark.parametrize("seed", [1, 77])
def test_scrambled_points_are_as_even_and_others_for_each_seed(points, seed):
    """Any 16 of 16 in turn have one in each 16th of each axis, and one in each box of all kinds of the first two."""
    even = points(seed)[1].reshape(-1, 16, 4)
    np.testing.assert_array_equal(np.sort((even * 16).astype(int), axis=1), np.arange(16)[None, :, None] + 0 * even)
    for columns in (2, 4, 8):
        box = (even[..., 0] * columns).astype(int) * (16 // columns) + (even[..., 1] * (16 // columns)).astype(int)
        np.testing.assert_array_equal(np.sort(box, axis=1), np.arange(16)[None] + 0 * box)
    assert abs(even.mean() - 0.5) < 0.01
    assert np.abs(even - points(seed + 1)[1].reshape(-1, 16, 4)).mean() > 0.2
    shift = even.reshape(-1, 4) - points(0)[1]
    assert shift.std(axis=0).min() > 0.2, "no shift, which would leave its pattern in each pixel"


def test_a_matt_surface_has_a_fifth_of_the_noise_of_independent_samples(layer, trace):
    """A square under a sky of three colors, lit from a half of it: 64 independent samples deviate by 0.04 and more."""
    square = np.float32([[[-2, -2, 0], [2, -2, 0]], [[-2, 2, 0], [2, 2, 0]]])
    plane = layer("surface", {"roughness": 1.0}, position=square, color="#ffffff")
    view = View(sun=0.5, sun_elevation=40.0, sun_azimuth=0.0, sky=0.5)
    found = trace([plane], FRONT, view, (24, 24), 64, bounces=0)[..., :3].mean(axis=2)
    assert found.mean() > 0.1
    assert found.std() < 0.012 * found.mean()
