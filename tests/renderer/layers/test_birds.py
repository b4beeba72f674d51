"""Birds: their heading, bank, wing beats, and the wrong values of a bank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.export.birds import corners
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers.birds import INDEX
from vertigrad.renderer.moment import Moment

from ..light_reference import row_number
from .kinds import PLAIN

ABOVE = OrbitCamera(distance=4.0, pitch=math.radians(89.99), fov=30.0, orthographic=True)
FRONT = OrbitCamera.from_position((0.0, 1.6, 3.6), (0.0, 0.0, 0.0), fov=30.0, orthographic=True)
BRIGHT = View(**PLAIN, sky=1.0)
AT_REST = {"wing_beat": 0.0, "wing_amplitude": 0.0}
ONE = np.zeros((1, 3), np.float32)


def extent(image: np.ndarray, camera: OrbitCamera) -> tuple[float, float]:
    """Width and height of what was drawn, in world units."""
    rows, columns = np.nonzero(image[..., 3])
    pixel = camera.pixel(image.shape[0])
    return pixel * (np.ptp(columns) + 1), pixel * (np.ptp(rows) + 1)


def bird(layer: Any, direction: tuple[float, ...], style: dict[str, Any] = AT_REST, **attributes: Any) -> Any:
    return layer("birds", style, position=ONE, direction=np.float32([direction]), size=0.8, **attributes)


def test_a_bird_flies_along_its_direction(layer: Any, shot: Any) -> None:
    """Seen from above, wings of 2 x 0.8 are across, body and tail of 1.34 x 0.8 along it."""
    pixel = ABOVE.pixel(36)
    for direction, across in (((5.0, 0.0, 0.0), 1), ((0.0, 0.0, -0.1), 0)):
        span = extent(shot(bird(layer, direction), camera=ABOVE, view=BRIGHT), ABOVE)
        assert abs(span[across] - 1.6) < 0.1 * 1.6 + 2 * pixel
        assert abs(span[1 - across] - 1.34 * 0.8) < 2 * pixel


def test_the_nose_is_in_front_and_the_tail_behind(layer: Any, shot: Any) -> None:
    image = shot(bird(layer, (1.0, 0.0, 0.0)), camera=ABOVE, view=BRIGHT)
    columns = np.nonzero(image[..., 3].any(axis=0))[0]
    middle = image.shape[1] / 2
    assert middle - columns[0] > columns[-1] - middle + 1  # the tail reaches farther than the nose


@pytest.mark.parametrize("bank", [0.6, -0.6])
def test_a_bird_that_banks_to_the_right_lowers_its_right_wing(layer: Any, shot: Any, bank: float) -> None:
    """It flies away from the eye, so that its right is on the right of the image."""
    image = shot(bird(layer, (0.0, 0.0, -1.0), bank=bank), camera=FRONT, view=BRIGHT)
    rows, columns = np.nonzero(image[..., 3])
    assert np.polyfit(columns, rows, 1)[0] == pytest.approx(math.tan(bank), rel=0.35)


def test_wings_beat_at_a_rate_of_their_own(layer: Any, shot: Any) -> None:
    style = {"wing_beat": 2.0, "wing_amplitude": 60.0, "glide": 0.0}
    own = row_number(0)
    period = 1.0 / (2.0 * (0.9 + 0.2 * own))
    flying = bird(layer, (0.0, 0.0, -1.0), style)
    images = [shot(flying, camera=FRONT, view=BRIGHT, time=t * period).astype(int) for t in (0.0, 0.25, 0.5, 1.0)]
    heights = [extent(image, FRONT)[1] for image in images]
    assert np.abs(images[0] - images[3]).max() < 3 and max(heights) > 1.4 * min(heights)
    assert own != row_number(1)
    gliding = bird(layer, (0.0, 0.0, -1.0), {**style, "glide": 1.0})
    still = [shot(gliding, camera=FRONT, view=BRIGHT, time=t) for t in (0.0, 0.3)]
    assert np.array_equal(*still)


def test_a_bank_that_is_no_angle_is_refused(layer: Any) -> None:
    with pytest.raises(ParameterError, match="bank must be an angle in radians"):
        bird(layer, (1.0, 0.0, 0.0), bank="left")


def test_vertices_are_shared_by_corners_of_one_position(layer: Any) -> None:
    rows = {"position": ONE, "direction": np.float32([[1, 2, 3]])}
    (found,) = corners(layer("birds", {}, **rows).drawing, rows, Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), 0.1))
    assert np.array_equal(found, found[INDEX]) and len(np.unique(found, axis=0)) == len(np.unique(INDEX)) == 19
