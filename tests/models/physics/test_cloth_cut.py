"""The blade of the cloth in the image: a stroke cuts the threads that it crosses in the image, and no others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.cloth_cut import stroke

from .test_cloth import FRAME, Make, interaction, make, out, put  # noqa: F401

EYE = np.array([0.4, 0.9, 4.0])
AHEAD = np.array([-0.1, -0.2, -1.0]) / np.linalg.norm([-0.1, -0.2, -1.0])
BALL = np.array([0.0, 0.0, 0.55])


def a_stroke(start: np.ndarray, end: np.ndarray, radius: float, parallel: bool) -> Interaction:
    """From `start` to `end` in a frame; the rays intersect in EYE, or are parallel."""
    velocity = tuple(((end - start) / FRAME).tolist())
    along = AHEAD if parallel else (end - EYE) / np.linalg.norm(end - EYE)
    origin = end - 4.0 * AHEAD if parallel else EYE
    return Interaction(Gesture.CUT, tuple(origin), tuple(along), tuple(end), velocity, radius, 1.0, parallel)  # type: ignore


def torn(model) -> np.ndarray:
    return model._fabric.springs.numpy()[:, 0] < 0


def folded(model) -> np.ndarray:
    """A sheet that has three layers, one behind the other, in a part of its height."""
    down, along = np.meshgrid(
        *(np.linspace(0.0, 1.0, n) for n in (model._sheet.rows, model._sheet.columns)), indexing="ij"
    )
    height = 0.5 - down + 0.45 * np.sin(2.0 * np.pi * down)
    return np.stack([1.6 * along - 0.8 + 0.05 * down, height, 1.2 * (0.5 - down) + 0.07 * along], axis=-1)


def expected(model, interaction: Interaction, ball: float) -> tuple[np.ndarray, np.ndarray]:
    """The threads that cross the stroke in an image, and their distances behind the front surface [m]."""
    before, right = interaction.later(-FRAME), np.cross(AHEAD, [0.0, 1.0, 0.0])
    basis = np.stack([right / np.linalg.norm(right), np.cross(right, AHEAD) / np.linalg.norm(right), AHEAD])

    def projected(positions: object) -> np.ndarray:
        """Image position and depth."""
        eye = (np.asarray(positions, float) - EYE) @ basis.T
        return eye if interaction.parallel else np.concatenate([eye[..., :2] / eye[..., 2:], eye[..., 2:]], axis=-1)

    start, end = projected(before.point)[:2], projected(interaction.point)[:2]
    positions = out(model, "position").reshape(-1, 3)
    ends = model._sheet.edges.T
    a, b = (projected(positions[which]) for which in ends)
    sides = [_cross(end - start, one[:, :2] - start) for one in (a, b)]
    others = [_cross(b[:, :2] - a[:, :2], one - a[:, :2]) for one in (start, end)]
    crossed = (sides[0] * sides[1] < 0) & (others[0] * others[1] < 0)
    share = sides[0] / (sides[0] - sides[1])
    if not interaction.parallel:  # a fraction in the image is another one along the thread
        share = share * a[:, 2] / (share * a[:, 2] + (1.0 - share) * b[:, 2])
    at = positions[ends[0]] + share[:, None] * (positions[ends[1]] - positions[ends[0]])
    hidden = [
        _hidden(positions, model._sheet.triangles, position, interaction, ball) if c else 0.0
        for position, c in zip(at, crossed, strict=True)
    ]
    return crossed, np.array(hidden)


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


def _hidden(
    positions: np.ndarray, triangles: np.ndarray, at: np.ndarray, interaction: Interaction, ball: float
) -> float:
    """The distance along the line of sight from the first triangle, or the ball, to `at`."""
    direction = AHEAD if interaction.parallel else (at - EYE) / np.linalg.norm(at - EYE)
    start = at - 9.0 * direction
    a, b, c = (positions[triangles[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    far = np.einsum("ij,ij->i", a - start, normal) / (normal @ direction)
    hit, inside = start + far[:, None] * direction, far > 0.0
    for one, other in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(other - one, hit - one), normal) >= 0.0
    back = start - BALL
    inner = (direction @ back) ** 2 - (back @ back - ball**2)
    front = np.min(far[inside], initial=9.0 if ball == 0.0 or inner < 0.0 else -(direction @ back) - np.sqrt(inner))
    return float(9.0 - front)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("ball", [0.0, 0.3])
def test_a_stroke_cuts_threads_that_cross_it_in_the_image(make: Make, parallel: bool, ball: float) -> None:  # noqa: F811
    model = make(resolution=24, pins="none", solver_substeps=1, sphere_center=tuple(BALL), sphere_radius=ball)
    put(model, folded(model))
    interaction = a_stroke(np.array([-0.6, 0.35, 1.4]), np.array([0.35, -0.3, 1.6]), 0.1, parallel)
    crossed, behind = expected(model, interaction, ball)
    model._knife.cut(interaction, FRAME, {"center": tuple(BALL), "radius": ball})
    cut = torn(model)
    near, far = crossed & (behind < 0.09), crossed & (behind > 0.11)
    assert near.sum() > 15 and far.sum() > 15, "layers in front, and layers behind"
    assert not cut[~crossed].any()
    wrong = (near & ~cut).sum() + (far & cut).sum()
    assert wrong <= 1, "but one where what is in front ends, within a 256th of the stroke"


def test_the_depth_of_the_tool_does_not_matter(make: Make) -> None:  # noqa: F811
    found = []
    for depth in (0.4, 1.0, 3.0):
        model = make(resolution=16, pins="none", solver_substeps=1)
        put(model, folded(model))
        start, end = (EYE + depth * (np.array(position) - EYE) for position in ((-0.6, 0.35, 1.4), (0.35, -0.3, 1.6)))
        model._knife.cut(a_stroke(start, end, 0.1, False), FRAME, {"center": (0.0, 0.0, 0.0), "radius": 0.0})
        found.append(torn(model))
    assert found[0].sum() > 12
    assert (found[0] == found[1]).all() and (found[1] == found[2]).all()


def test_small_strokes_cut_the_same_as_one_stroke(make: Make) -> None:  # noqa: F811
    found = []
    for count in (1, 40):
        model = make(resolution=20, pins="none", solver_substeps=1)
        put(model, folded(model))
        start, end = np.array([-0.6, 0.35, 1.4]), np.array([0.35, -0.3, 1.6])
        for one, other in pairwise(start + (end - start) * share for share in np.linspace(0.0, 1.0, count + 1)):
            model._knife.cut(a_stroke(one, other, 0.1, False), FRAME, {"center": (0.0, 0.0, 0.0), "radius": 0.0})
        found.append(torn(model))
    whole, pieces = found
    assert whole.sum() > 12 and not (whole & ~pieces).any(), "no thread slips between two strokes"


def test_a_blade_at_rest_or_moving_along_its_ray_cuts_nothing() -> None:
    still = interaction(Gesture.CUT, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1)
    assert stroke(still, FRAME) is None
    assert stroke(still._replace(velocity=(0.0, 0.0, -3.0)), FRAME) is None
    assert stroke(still._replace(velocity=(1.0, 0.0, -3.0)), FRAME) is not None
    assert stroke(still._replace(velocity=(1.0, 0.0, 0.0)), 0.0) is None


@pytest.mark.parametrize("parallel", [False, True])
def test_an_interaction_is_extrapolated_along_its_ray(parallel: bool) -> None:
    interaction = a_stroke(np.array([-0.6, 0.35, 1.4]), np.array([0.35, -0.3, 1.6]), 0.1, parallel)
    before = interaction.later(-FRAME)
    assert before.point == pytest.approx((-0.6, 0.35, 1.4))
    assert before.later(FRAME).direction == pytest.approx(interaction.direction)
    assert before.later(FRAME).origin == pytest.approx(interaction.origin)
    direction = np.array(before.point) - before.origin
    assert np.cross(direction, before.direction) == pytest.approx(0.0, abs=1e-12), "the point is on the ray"
    assert (before.direction == interaction.direction) == parallel
    x, y, z = before.at_height(-1.0)
    assert y == pytest.approx(-1.0)
    assert np.cross(np.array((x, y, z)) - before.origin, before.direction) == pytest.approx(0.0, abs=1e-9)
    assert interaction._replace(direction=(1.0, 0.0, 0.0)).at_height(-1.0) == interaction.point
