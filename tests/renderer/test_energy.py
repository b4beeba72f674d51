"""Conservation of energy: white furnaces, Lambert's sphere, round trips of color encoding."""

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.gpu import Kernel
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.view import sun_direction
from vertigrad.tensor import Tensor

from .light_reference import CAMERA, SIZE, dot, lit, rays, shares, sky_reflectance, sphere, tone_mapped, unit

LEVELS = 2.5  # of 255
EVEN = {"bloom": 0.0, "vignette": 0.0, "background": "#000000", "sun": 0.0, "sky": 0.5}
FURNACE = View(**EVEN, sky_color=(1, 1, 1), horizon_color=(1, 1, 1), ground_color=(1, 1, 1))
BALL = np.zeros((1, 3), np.float32)


@pytest.mark.parametrize("metallic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("roughness", [0.05, 0.4, 1.0])
def test_white_disappears_in_a_white_furnace(layer, render, metallic, roughness):
    """Under a sky of 0.5 from everywhere each point of a white sphere shows 0.5, whatever its material."""
    style = {"metallic": metallic, "roughness": roughness}
    ball = layer("points", style, position=BALL, color=(1, 1, 1), size=1.0)
    inside = sphere((0, 0, 0), 0.98)[0] < np.inf
    shown = render([ball], CAMERA, FURNACE, SIZE)[inside].astype(float)
    assert len(shown) > 2000
    assert np.abs(shown - tone_mapped(np.full(3, 0.5))).max() < LEVELS


@pytest.mark.parametrize("metallic", [0.0, 1.0])
def test_a_gray_surface_reflects_less_than_it_receives(layer, render, metallic):
    ball = layer("points", {"metallic": metallic}, position=BALL, color=(0.5, 0.5, 0.5), size=1.0)
    inside = sphere((0, 0, 0), 0.98)[0] < np.inf
    assert render([ball], CAMERA, FURNACE, SIZE)[inside].max() < tone_mapped(np.full(3, 0.5)).max() - 10


@pytest.mark.parametrize("roughness", [0.25, 0.5, 0.75, 1.0])
def test_the_fit_of_the_reflectance_is_near_the_integral(roughness):
    for facing in (0.1, 0.3, 0.6, 0.95):
        per_f0, offset = sky_reflectance(roughness, facing)
        for f0 in (0.04, 1.0):
            assert f0 * per_f0 + offset == pytest.approx(reflected(roughness, f0, facing), abs=0.06)


@pytest.mark.parametrize("metallic", [0.0, 1.0])
@pytest.mark.parametrize("roughness", [0.3, 0.6, 1.0])
def test_suns_from_all_directions_keep_white_white(metallic, roughness):
    """The furnace of the sun's terms: directions over the hemisphere, weighted by the cosine. Within the fit's 8 %."""
    f0 = 0.04 * (1 - metallic) + metallic
    for facing in (0.3, 0.6, 0.95):
        _, _, below, gain = shares(1.0, metallic, roughness, facing)
        assert below + gain * reflected(roughness, f0, facing) == pytest.approx(1.0, abs=0.08)


def reflected(roughness, f0, facing, n=256):
    """The fraction of ambient light that a single reflection sends to the eye: GGX, sampled by its microfacets."""
    u, v = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n)
    a2 = max(roughness**2, 0.005) ** 2
    cosine = np.sqrt((1 - u) / (1 + (a2 - 1) * u))
    sine = np.sqrt(1 - cosine**2)
    facet = np.stack([sine * np.cos(2 * np.pi * v), sine * np.sin(2 * np.pi * v), cosine], axis=-1)
    to_eye = np.array([np.sqrt(1 - facing**2), 0.0, facing])
    between = np.maximum(facet @ to_eye, 0)
    sunward = np.maximum((2 * between[..., None] * facet - to_eye)[..., 2], 0)
    smith = sunward * np.sqrt(facing**2 * (1 - a2) + a2) + facing * np.sqrt(sunward**2 * (1 - a2) + a2)
    fresnel = f0 + (1 - f0) * (1 - between) ** 5
    return np.mean(np.where(sunward > 0, fresnel * 2 * sunward * between / (np.maximum(smith, 1e-9) * cosine), 0))


def test_a_rough_sphere_is_lambertian(layer, render):
    """The reflection of a black sphere is subtracted; the rest is the cosine."""
    view = View(**{**EVEN, "sky": 0.0, "sun": 0.8}, sun_color=(1, 1, 1), sun_azimuth=40.0, sun_elevation=30.0)
    ball = layer("points", {"roughness": 1.0}, position=BALL, color=(0.7, 0.7, 0.7), size=1.0)
    inside = sphere((0, 0, 0), 0.97)[0] < np.inf
    normal, to_eye = sphere((0, 0, 0), 1.0)[1], -rays()
    both = lit(np.full(3, linear((0.7,) * 3)[0]), 0.0, 1.0, normal, to_eye, view)
    mirror = lit(np.zeros(3), 0.0, 1.0, normal, to_eye, view)
    cosine = np.maximum(dot(normal, sun_direction(view, CAMERA)), 0)
    facing = np.maximum(dot(normal, to_eye), 1e-4)
    once, often, _, _ = shares(1.0, 0.0, 1.0, facing)
    lambert = linear((0.7,) * 3)[0] * 0.8 * cosine * (1 - once - often)
    np.testing.assert_allclose((both - mirror)[inside], np.broadcast_to(lambert, both.shape)[inside], atol=1e-9)
    shown = render([ball], CAMERA, view, SIZE).astype(float)
    assert np.abs(shown - tone_mapped(lambert + mirror))[inside].max() < LEVELS


def test_color_encoding_round_trips(gpu):
    """On the device, all 256 levels: sRGB to light and back, to a hundredth of a level."""
    source = (
        resources.shader("common/color.wgsl")
        + """
struct Params { count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> levels: array<f32>;
@group(0) @binding(2) var<storage, read_write> back: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= params.count { return; }
    let light = srgb_to_linear(vec3f(levels[id.x]));
    back[id.x] = linear_to_srgb(light).x;
    back[params.count + id.x] = light.x;
}
"""
    )
    values = (np.arange(256) / 255).astype(np.float32)
    kernel = Kernel(source, "main", "color there and back")
    with Tensor.from_numpy(values) as levels, Tensor.zeros(512) as back:
        kernel(256, levels=levels, back=back, count=256)
        found = back.numpy()
    np.testing.assert_allclose(found[:256], values, atol=0.01 / 255)
    expected = [linear((float(level),) * 3)[0] for level in values]
    np.testing.assert_allclose(found[256:], expected, atol=1e-6)
    assert [round(255 * float(x)) for x in found[:256]] == list(range(256))


def test_the_image_is_the_same_in_both_color_spaces(layer, render):
    ball = layer("points", position=BALL, color="#c08040", size=1.0)
    plain, encoded = (
        render([ball], OrbitCamera(distance=4.0), View(), (64, 48), format).astype(int)
        for format in ("rgba8unorm", "rgba8unorm-srgb")
    )
    assert np.abs(plain - encoded).max() <= 1
    assert unit(plain.reshape(-1, 3).sum(axis=0).astype(float)).max() < 1
