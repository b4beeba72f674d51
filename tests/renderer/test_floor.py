"""The ruled floor against a NumPy reference implementation, pixel by pixel."""

import math

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.view import sun_in_world

from .conftest import PLAIN
from .light_reference import encoded, smoothstep, tone_mapped

SIZE = (161, 121)
LEVELS = 2.5  # of 255: rounding, dither and half floats
LIGHT, CLOSEST, FINE, COARSE, AXIS = 0.8, 9.0, 0.11, 0.24, 0.40
SHADE = 0.42  # of the background, in a shadow
LOW, HIGH = np.array([-2.0, -0.5, -1.5]), np.array([1.0, 0.7, 2.0])
CAMERAS = {
    "near": OrbitCamera((0.2, 0.1, -0.3), distance=3.0, yaw=0.4, pitch=0.5, fov=40.0),
    "far and flat": OrbitCamera((1.0, 2.0, 3.0), distance=70.0, yaw=-2.0, pitch=0.15, fov=60.0),
    "close": OrbitCamera((0.0, -0.45, 0.0), distance=0.02, yaw=1.0, pitch=1.1, fov=30.0),
    "from below": OrbitCamera(distance=4.0, yaw=0.9, pitch=-0.7, fov=40.0),
    "z up": OrbitCamera.from_position((2.0, -3.0, 1.4), (0.0, 0.1, 0.2), 45.0, "z"),
    "orthographic": OrbitCamera(distance=5.0, yaw=0.4, pitch=0.35, fov=40.0, orthographic=True),
}


def light_of(shown):
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def sights(camera, right=0.0, down=0.0):
    """Origin and direction of each pixel's ray, in world space, per unit of depth."""
    width, height = SIZE
    x, y = np.meshgrid(np.arange(width) + 0.5 + right, np.arange(height) + 0.5 + down)
    clip = np.stack([(2 * x / width - 1) * width / height, 1 - 2 * y / height], axis=-1)
    across, rotation = np.zeros((height, width, 3)), camera.rotation()
    if camera.orthographic:
        across[..., :2] = clip * camera.half_height
        return camera.position + across @ rotation.T, np.broadcast_to(-rotation[:, 2], across.shape)
    across[..., :2], across[..., 2] = clip * math.tan(math.radians(camera.fov) / 2), -1.0
    return np.broadcast_to(camera.position, across.shape), across @ rotation.T


def met(camera, up, height, right=0.0, down=0.0):
    """The intersection with the floor, its distance along the ray, and the sine of the angle."""
    start, along = sights(camera, right, down)
    rise = along @ up
    far = (height - start @ up) / rise
    return start + along * far[..., None], far, np.abs(rise) / np.linalg.norm(along, axis=-1)


def covered(position, per_pixel):
    """The coverage of a pixel by lines at integers, one pixel wide; they fade where they are too close."""
    away = np.abs((position - 0.5) % 1.0 - 0.5) / per_pixel
    lines = np.clip(1.0 - away, 0, 1) * (1 - smoothstep(0.15, 0.45, per_pixel))
    return lines.max(axis=-1)


def floor(camera, height, low=LOW, high=HIGH):
    """The strength of lines in each pixel, 0 where there is none."""
    up = np.round(np.array(camera.up_direction))
    axes = [0, 1] if up[2] > 0.5 else [0, 2]
    world, far, slope = met(camera, up, height)
    position = world[..., axes]
    per_pixel = sum(np.abs(met(camera, up, height, *to)[0][..., axes] - position) for to in ((1, 0), (0, 1)))
    expected = np.log10(CLOSEST * np.linalg.norm(per_pixel, axis=-1))
    exponent = np.ceil(expected)
    fresh = exponent - expected
    length = 10.0 ** exponent[..., None]
    first = covered(position / length, per_pixel / length) * FINE * fresh
    second = covered(position / length / 10, per_pixel / length / 10) * (FINE + (COARSE - FINE) * fresh)
    third = covered(position / length / 100, per_pixel / length / 100) * COARSE
    through = np.clip(1.0 - np.abs(position) / per_pixel, 0, 1).max(axis=-1) * AXIS
    cover = np.max([first, second, third, through], axis=0)
    middle, size = 0.5 * (low + high), max(np.linalg.norm(high - low), camera.distance)
    level = world - middle - ((world - middle) @ up)[..., None] * up
    alpha = cover * (1 - smoothstep(0.4, 2.2, np.linalg.norm(level, axis=-1) / size)) * smoothstep(0.0, 0.12, slope)
    before = far > 0 if not camera.orthographic else np.ones_like(alpha, bool)
    return np.where(before & (alpha > 0.002), alpha, 0.0)


@pytest.mark.parametrize("name", CAMERAS)
@pytest.mark.parametrize("kind", ["under", "height"])
def test_lines_are_those_of_the_reference(render, name, kind):
    camera = CAMERAS[name]
    up = np.round(np.array(camera.up_direction))
    height = LOW @ up - 2e-3 * (HIGH - LOW).max() if kind == "under" else -0.6
    values = {"axes_low": tuple(LOW), "axes_high": tuple(HIGH), "floor": kind, "floor_height": -0.6, "exposure": 1.7}
    shown = render([], camera, View(**{**PLAIN, **values}), SIZE).astype(float)
    alpha = floor(camera, height)
    expected = tone_mapped(LIGHT * alpha[..., None].repeat(3, axis=-1))
    away = np.abs(shown - expected).max(axis=-1)
    assert (alpha > 0.05).sum() > 300, "there is something to see"
    assert away.max() < LEVELS, (away > LEVELS).sum()


def test_a_shadow_on_the_floor_darkens_the_background(layer, render):
    ball = layer("points", position=np.float32([[0, 1.0, 0]]), size=0.5)
    camera = OrbitCamera(distance=6.0, yaw=0.1, pitch=1.2, fov=40.0)
    sun = {"sun_azimuth": 90.0, "sun_elevation": 45.0, "sun_angle": 0.2}
    box = {"axes_low": tuple(LOW), "axes_high": tuple(HIGH)}
    values = {**PLAIN, **sun, **box, "floor": "height", "floor_height": 0.0, "background": "#a0c0e0"}
    shown, lit = (render([ball], camera, View(**values, shadows=s), SIZE).astype(float) for s in (1.0, 0.0))
    toward = sun_in_world(View(**sun), camera)

    def around(position):
        clip = camera.projection(SIZE[0] / SIZE[1]) @ camera.view() @ [*position, 1.0]
        x, y = int((clip[0] / clip[3] + 1) / 2 * SIZE[0]), int((1 - clip[1] / clip[3]) / 2 * SIZE[1])
        return np.s_[y - 7 : y + 8, x - 7 : x + 8]

    foot = np.array([0, 1.0, 0]) - toward / toward[1]
    expected = 255 * encoded((1 - SHADE) * light_of(lit[around(foot)] / 255))
    assert np.abs(shown[around(foot)] - expected).max() < LEVELS
    away = around(foot * (-1, 1, -1))
    assert np.abs(shown[away] - lit[away]).max() < LEVELS
