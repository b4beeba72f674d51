"""The parameters of a fluid, and the values that its kernels take from them."""

from __future__ import annotations

from typing import Any

from ... import params
from ...params import choice, integer, number, vector
from ..touch import PULL, Gesture, Touch

BODIES = ("none", "box", "ball", "pillar")
WARM = 0.9  # share of the last step's pressure that a step begins with


class Params(params.Params):
    """The tank, what is in it, and how the fluid is to behave; lengths in meters."""

    spacing: float = number(
        0.06, min=0.002, max=1.0, slider_min=0.01, slider_max=0.2, unit="m", scale="log", rebuild=True,
        doc="distance of particles at rest",
    )  # fmt: skip
    count: int = integer(
        0, min=0, max=1 << 22, rebuild=True, auto=True, doc="particles, about: the spacing follows; 0: as spacing says"
    )
    tank: tuple[float, ...] = vector(
        (3.2, 2.0, 1.2), min=0.05, max=100.0, unit="m", rebuild=True, doc="inner size of the tank"
    )
    corner: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), min=-100.0, max=100.0, unit="m", rebuild=True, doc="where the tank has its lowest coordinates"
    )
    column: tuple[float, ...] = vector(
        (1.0, 1.0, 1.2), min=0.01, max=100.0, unit="m", rebuild=True,
        doc="size of the column that the fluid starts as, at most the tank's",
    )  # fmt: skip
    column_at: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), min=0.0, max=100.0, unit="m", rebuild=True, doc="where the column stands, from the corner"
    )
    gravity: float = number(9.81, min=0.0, max=100.0, slider_max=20.0, unit="m/s²", doc="downwards, along -y")
    viscosity: float = number(
        1e-6, min=0.0, max=0.1, slider_min=1e-6, scale="log", unit="m²/s", doc="kinematic; water has 1e-6, honey 0.01"
    )
    smoothing: float = number(
        0.01, min=0.0, max=0.2, doc="viscosity of the method itself, over spacing and speed of the fall"
    )
    density: float = number(1000.0, min=1.0, max=2e4, unit="kg/m³", doc="at rest")
    iterations: int = integer(8, min=1, max=64, rebuild=True, doc="turns of the pressure solve in a step")
    courant: float = number(
        0.4, min=0.05, max=1.0, doc="spacings that what has fallen from the column's top moves in a step"
    )
    rate: float = number(1.0, min=0.0, max=10.0, slider_max=2.0, doc="seconds of the fluid in a simulated second")
    body: str = choice("none", BODIES, doc="what stands in the tank")
    body_at: tuple[float, ...] = vector(
        (2.2, 0.3, 0.6), min=-100.0, max=100.0, unit="m", gizmo="position", doc="the middle of the body"
    )
    body_size: tuple[float, ...] = vector(
        (0.3, 0.6, 0.3), min=0.01, max=100.0, unit="m", doc="of a box; balls and pillars take the first as diameter"
    )
    obstacle_at: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), min=-100.0, max=100.0, unit="m", doc="the middle of the grid of the obstacle's distances"
    )
    obstacle_spacing: float = number(
        0.05, min=1e-3, max=10.0, unit="m", scale="log", doc="from one of the obstacle's distances to the next"
    )


def uniforms(params: Params, touch: Touch | None) -> dict[str, Any]:
    """Fields of `Params` in shaders/models/fluid.wgsl that follow from these alone, and from what a hand does."""
    drag = touch if touch is not None and touch.gesture is Gesture.DRAG else None
    return {
        "gravity": params.gravity,
        "density": params.density,
        "warm": WARM,
        "mend": params.courant,  # so that it takes as long as what has fallen takes for a spacing
        "shape": BODIES.index(params.body),
        "body_at": params.body_at,
        "body_half": tuple(0.5 * edge for edge in params.body_size),
        "hand": drag.point if drag else (0.0, 0.0, 0.0),
        "hand_velocity": drag.velocity if drag else (0.0, 0.0, 0.0),
        "hand_reach": drag.radius if drag else 1.0,
        "hand_pull": PULL * drag.strength if drag else 0.0,
    }
