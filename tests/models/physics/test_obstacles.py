"""Signed distances of `mesh`, with samples on the faces of their box, have the correct position in every model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SAMPLES, EDGE = 17, 2.0
SPACING = EDGE / (SAMPLES - 1)
CLOSE = 0.2 * SPACING  # a surface that is shrunk with its grid by a cell in seventeen is twice as far off

Make = Callable[..., Any]


def sphere(middle: tuple[float, float, float], radius: float, low: tuple[float, float, float]) -> np.ndarray:
    """Distances (z, y, x) to a sphere, from the corner `low` of a cube to the opposite one."""
    z, y, x = np.indices((SAMPLES,) * 3) * SPACING
    away = np.linalg.norm(np.stack([x, y, z], axis=-1) + low - np.array(middle), axis=-1)
    return (away - radius).astype(np.float32)


def test_smoke(make: Make) -> None:
    middle, radius = (0.45, 1.45, 0.45), 0.4
    box = {"cells": 32, "height": EDGE, "width": EDGE, "depth": EDGE, "ball_radius": 0.0}
    model = make("smoke", {"obstacle": sphere(middle, radius, (-1.0, 0.0, -1.0))}, **box)
    model.step(model.time_step)
    solid = model._pressure.solid.numpy() != 0
    z, y, x = (np.indices(solid.shape) + 0.5) * (EDGE / solid.shape[1])
    away = np.linalg.norm(np.stack([x - 1.0, y, z - 1.0], axis=-1) - middle, axis=-1) - radius
    assert 200 < solid.sum() < 2000
    assert away[solid].max() < CLOSE
    assert away[~solid].min() > -CLOSE


@pytest.mark.turns(4)
def test_cloth(make: Make) -> None:
    middle, radius = (0.45, 0.45, 0.45), 0.4
    values = {"resolution": 12, "width": 0.4, "length": 0.4, "pins": "none", "center": (0.45, 0.95, 0.45)}
    grid = sphere(middle, radius, (-1.0, -1.0, -1.0))
    model = make("cloth", {"obstacle": grid}, obstacle_size=(EDGE,) * 3, self_collision=False, **values)
    for _ in range(30):
        model.step(1.0 / 60.0)
        assert all(comparison.holds for comparison in model.compare_with_reference())
    lowest = np.linalg.norm(model.outputs()["position"].numpy().reshape(-1, 3) - middle, axis=1).min()
    assert lowest - model._values()["gap"] == pytest.approx(radius, abs=CLOSE)


def test_fluid(make: Make) -> None:
    middle, radius = (0.75, 0.45, 0.75), 0.4
    tank = {"tank": (1.5, 2.0, 1.5), "column": (0.4, 0.4, 0.4), "column_offset": (0.55, 0.9, 0.55), "spacing": 0.06}
    placed = {"obstacle_center": (1.0, 1.0, 1.0), "obstacle_spacing": SPACING}
    model = make("fluid", {"obstacle": sphere(middle, radius, (0.0, 0.0, 0.0))}, **tank, **placed)
    nearest = []
    for _ in range(16):
        model.step(1.0 / 60.0)
        nearest.append(np.linalg.norm(model.outputs()["position"].numpy() - middle, axis=1).min())
    assert min(nearest) == pytest.approx(radius, abs=CLOSE)


def test_mpm(make: Make) -> None:
    """Nodes inside stop falling matter, those outside do not."""
    middle, radius = (0.3, 0.7, 0.3), 0.3
    matter = {name: "none" for name in ("jelly", "snow", "sand")}
    whole = {"box": (EDGE,) * 3, "resolution": 32, "water_center": (0.0, 1.0, 0.0), "water_size": (1.8, 1.8, 1.8)}
    placed = {"obstacle_corner": (-1.0, 0.0, -1.0), "obstacle_spacing": SPACING, "friction": 10.0, "count": 60_000}
    model = make("mpm", {"obstacle": sphere(middle, radius, (-1.0, 0.0, -1.0))}, **matter, **whole, **placed)
    model.step(model.time_step)
    size, known = model._known["size"], model._known
    nodes = model._nodes.numpy()[: int(np.prod(size)), :3].reshape(*size[::-1], 3)
    z, y, x = np.indices(nodes.shape[:3])
    positions = np.stack([x, y, z], axis=-1) * known["cell"] + known["low"]
    away = np.linalg.norm(positions - middle, axis=-1) - radius
    near = (np.abs(away) < 0.2) & (positions[..., 1] > middle[1] + 0.1)  # the upper side: falling is inward
    falls = nodes[..., 1] < -1e-6
    assert falls[near].any() and not falls[near].all()
    assert away[near & falls].min() > -CLOSE
    assert away[near & ~falls].max() < CLOSE
