"""Where a tool acts."""

import pytest

from vertigrad.models.interaction import Gesture, Interaction

LOW, HIGH = (0.0, 0.0, 0.0), (2.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("point", "direction", "found"),
    [
        ((0.5, 0.5, 0.25), (0.0, 0.0, -1.0), (0.5, 0.5, 0.25)),  # in the box
        ((0.5, 0.5, -4.0), (0.0, 0.0, -1.0), (0.5, 0.5, 0.5)),  # behind it
        ((0.5, 0.5, 3.0), (0.0, 0.0, -1.0), (0.5, 0.5, 0.5)),  # before it
        ((0.5, 4.5, 1.0), (0.0, 0.8, -0.6), (0.5, 4.5, 1.0)),  # the ray misses it
        ((0.5, 0.5, 9.0), (0.0, 0.0, 1.0), (0.5, 0.5, 9.0)),  # it is behind the eye
    ],
)
def test_a_point_on_the_ray_in_a_box(point, direction, found):
    interaction = Interaction(Gesture.EMIT, (0.5, 0.5, 5.0), direction, point)
    assert interaction.inside(LOW, HIGH) == pytest.approx(found)
