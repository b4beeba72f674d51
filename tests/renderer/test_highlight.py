"""The highlight around a row and along the edges of its cell, against a NumPy reference implementation."""

from itertools import combinations

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.highlight import Mark

from .conftest import PLAIN
from .light_reference import encoded

SIZE = (161, 121)
CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
PARALLEL = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0, orthographic=True)
GRAY = View(**{**PLAIN, "background": "#8090a0"})
SMALLEST, GAP, HALO = 7.0, 4.0, 1.5  # pixels
LIGHT, DARK, EDGE = np.ones(3), np.array([0.02, 0.03, 0.05]), np.array([1.0, 0.72, 0.38])
POSITIONS = np.float32([[0.3, 0.2, -0.4], [-0.5, 0.4, 0.3], [0.1, -0.6, 0.5], [0.2, 0.1, 9.0]])


def pixels(frame):
    x, y = np.meshgrid(np.arange(frame[0]) + 0.5, np.arange(frame[1]) + 0.5)
    return np.stack([x, y], axis=-1)


def on_screen(camera, position, frame):
    clip = camera.projection(frame[0] / frame[1]) @ camera.view() @ [*position.astype(float), 1.0]
    return np.array([(clip[0] / clip[3] + 1) / 2 * frame[0], (1 - clip[1] / clip[3]) / 2 * frame[1]])


def unit_of(frame):
    return max(frame[1] / 800, 1.0)


def over(before, away, half_width, color, srgb, unit):
    """A line over an image, both from 0 to 1: bright, with dark sides, blended in the target's encoding."""
    inside = np.clip(half_width * unit + 0.5 - away, 0, 1)[..., None]
    dark = 0.6 * np.clip((half_width + HALO) * unit + 0.5 - away, 0, 1)[..., None] * (1 - inside)
    if not srgb:
        return color * inside + DARK * dark + before * (1 - inside - dark)
    light = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in (color, DARK, before)]
    return encoded(light[0] * inside + light[1] * dark + light[2] * (1 - inside - dark))


def ring(before, camera, position, size, srgb=False):
    eye = camera.view() @ [*position.astype(float), 1.0]
    frame = before.shape[1::-1]
    unit = unit_of(frame)
    pixel = camera.pixel(frame[1]) * (1.0 if camera.orthographic else -eye[2])
    radius = max(size / pixel + GAP * unit, SMALLEST * unit)
    away = np.abs(np.linalg.norm(pixels(frame) - on_screen(camera, position, frame), axis=-1) - radius)
    return over(before, away, 0.8, LIGHT, srgb, unit)


def edges(before, camera, corners, srgb=False):
    frame = before.shape[1::-1]
    for first, second in combinations([on_screen(camera, position, frame) for position in corners], 2):
        direction = second - first
        share = np.clip((pixels(frame) - first) @ direction / (direction @ direction), 0, 1)
        away = np.linalg.norm(pixels(frame) - first - share[..., None] * direction, axis=-1)
        before = over(before, away, 0.5, EDGE, srgb, unit_of(frame))
    return before


def compared(render, thing, camera, mark, target, format="rgba8unorm", frame=SIZE):
    before = render([thing], camera, GRAY, frame, format).astype(float) / 255
    shown = render([thing], camera, GRAY, frame, format, mark=mark).astype(float)
    expected = 255 * target(before)
    assert np.abs(expected - 255 * before).max() > 60, "it is visible"
    assert np.abs(shown - expected).max() < 2.5


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
@pytest.mark.parametrize("camera", [CAMERA, PARALLEL], ids=["perspective", "orthographic"])
@pytest.mark.parametrize("row", [0, 2])
def test_a_ring_has_the_radius_of_its_sphere_plus_a_gap(layer, render, camera, row, format):
    sizes = np.float32([0.3, 0.2, 0.02, 0.1])
    for dot_size in (sizes, 0.25):
        balls = layer("points", position=POSITIONS, size=dot_size)
        size = float(sizes[row]) if dot_size is sizes else 0.25
        compared(
            render, balls, camera, Mark(balls, row),
            lambda before, size=size: ring(before, camera, POSITIONS[row], size, format.endswith("srgb")), format,
        )  # fmt: skip


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
@pytest.mark.parametrize("camera", [CAMERA, PARALLEL], ids=["perspective", "orthographic"])
def test_edges_of_a_cell_are_drawn_from_corner_to_corner_below_the_ring(layer, render, camera, format):
    index = np.uint32([[0, 1, 2]])
    sheet = layer("surface", position=POSITIONS[:3], index=index)
    srgb = format.endswith("srgb")
    compared(
        render, sheet, camera, Mark(sheet, 1, (1, 2, 0)),
        lambda before: ring(edges(before, camera, POSITIONS[[1, 2, 0]], srgb), camera, POSITIONS[1], 0.0, srgb), format,
    )  # fmt: skip


@pytest.mark.turns(2)
def test_lines_and_gaps_grow_with_images_higher_than_800_pixels(layer, render):
    frame = (900, 1000)
    balls = layer("points", position=POSITIONS, size=0.25)
    compared(
        render, balls, CAMERA, Mark(balls, 1), lambda before: ring(before, CAMERA, POSITIONS[1], 0.25), frame=frame
    )
    sheet = layer("surface", position=POSITIONS[:3], index=np.uint32([[0, 1, 2]]))
    compared(
        render, sheet, CAMERA, Mark(sheet, 0, (0, 1, 2)),
        lambda before: ring(edges(before, CAMERA, POSITIONS[:3]), CAMERA, POSITIONS[0], 0.0), frame=frame,
    )  # fmt: skip


def test_rows_behind_the_eye_or_without_a_finite_position_have_no_highlight(layer, render):
    moved = POSITIONS.copy()
    moved[1] = np.nan
    balls = layer("points", position=moved, size=0.1)
    for row in (1, 3):
        shown, plain = (render([balls], CAMERA, GRAY, SIZE, mark=mark) for mark in (Mark(balls, row), None))
        np.testing.assert_array_equal(shown, plain)
    sheet = layer("surface", position=moved, index=np.uint32([[0, 2, 3], [0, 1, 2]]))
    plain = render([sheet], CAMERA, GRAY, SIZE).astype(float) / 255
    for row, corners in ((0, (0, 2, 3)), (2, (2, 0, 1))):
        shown = render([sheet], CAMERA, GRAY, SIZE, mark=Mark(sheet, row, corners))
        first, second = (POSITIONS[corner] for corner in corners[:2])
        direction = np.stack([first, second])
        expected = ring(edges(plain, CAMERA, direction), CAMERA, POSITIONS[row], 0.0)
        assert np.abs(shown - 255 * expected).max() < 2.5, "the one edge in front of the eye, and the ring"
