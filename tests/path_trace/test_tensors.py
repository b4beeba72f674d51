"""Path-traced layers of tensors: each form is traced as what it draws, and what is not finite is magenta in images."""

import numpy as np
import pytest

from vertigrad.path_trace import gather
from vertigrad.renderer import View

from .test_light import FRONT
from .test_lines import LOOK

DARK = View(sun=0.0, sky=0.0, **LOOK)
RNG = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("draw", "shape"),
    [
        *[("image", (2, 4, 3)), ("image", (4, 3)), ("bars", (4, 3)), ("points", (4, 3))],
        *[("lines", (2, 4, 3)), ("surface", (4, 3)), ("volume", (2, 4, 3))],
    ],
)
def test_every_form_is_traced(layer, draw: str, shape: tuple[int, ...]) -> None:
    shown = layer("tensor", {"draw": draw}, tensor=RNG.normal(size=shape).astype(np.float32))
    found = gather([shown])
    assert not found.left_out and len([*found.shapes, *found.volumes, *found.lines]) == 1
    for shapes in found.shapes:
        assert np.isfinite(shapes.primitives).all()


def test_what_is_not_finite_is_magenta_and_gaps_are_clear(layer, trace) -> None:
    """Two channels of two by two pixels, one above the other, with gaps: six rows of three, 1 by 2 units."""
    values = np.array([[[0.0, np.nan], [1.0, 1.0]], [[np.inf, 0.0], [0.0, 1.0]]], np.float32)
    shown = layer("tensor", {"columns": 1, "size": 2.0}, tensor=values)
    found = trace([shown], FRONT, DARK, (60, 60), 4)
    rows, columns = 10 * np.arange(6) + 5, 15 + 10 * np.arange(3) + 5
    pixels = found[np.ix_(rows, columns)]
    magenta = (pixels[..., 0] > 0.9) & (pixels[..., 1] < 0.1) & (pixels[..., 2] > 0.9)
    expected = np.zeros((6, 3), bool)
    expected[0, 1] = expected[3, 0] = True
    np.testing.assert_array_equal(magenta, expected)
    clear = pixels[..., 3] == 0.0
    assert clear[2].all() and clear[5].all() and clear[:, 2].all() and not clear[[0, 1, 3, 4], :2].any()
