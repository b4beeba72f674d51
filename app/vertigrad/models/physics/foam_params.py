"""The parameters of spray, foam and bubbles."""

from __future__ import annotations

from typing import Any

from ... import params
from ...params import integer, interval, number
from .. import quantities
from ..quantities import amount, array_size, log_number


def _lifetime(default: float, kind: str) -> Any:
    return log_number(default, f"longest time that {kind} lasts; half of that at least", min=0.05, max=100.0, unit="s")


def _range(default: tuple[float, float], doc: str, unit: str) -> Any:
    return interval(default, min=0.0, max=1e4, unit=unit, doc=doc)


class Params(params.Params):
    """Where particles are generated, how they move, and how long they last. Lengths in meters."""

    capacity: int = array_size(32_768, "largest number of particles", min=64, max=1 << 22, auto=True)
    spacing: float = log_number(
        0.06, "spacing of the fluid's particles at rest", min=0.002, max=1.0, unit="m", rebuild=True
    )
    radius: float = log_number(
        0.004, "largest radius of a particle; they have half of it to all of it", min=1e-4, max=0.1, unit="m"
    )
    gravity: float = quantities.gravity()
    time_step: float = number(1 / 60, min=1e-4, max=1 / 15, slider_min=1 / 240, unit="s", doc="time step")
    time_scale: float = amount(1.0, "simulation speed, that of the fluid", max=10.0, slider_max=2.0)
    trapped_air_rate: float = amount(
        40.0, "particles that each of the fluid emits while it traps air", max=1e4, slider_max=400.0, unit="1/s"
    )
    wave_crest_rate: float = amount(
        200.0, "particles that each of the fluid emits at a crest", max=1e4, slider_max=400.0, unit="1/s"
    )
    trapped_air: tuple[float, float] = _range(
        (5.0, 20.0), "sums of the speeds at which neighbors close in, from which on air is trapped, and most", "m/s"
    )
    wave_crest: tuple[float, float] = _range(
        (0.4, 2.5), "curvatures from which on a surface is a crest, and most (Ihmsen et al. 2012, equation 6)", ""
    )
    speed: tuple[float, float] = _range(
        (1.0, 4.0), "speeds of the fluid from which on its energy generates particles, and most", "m/s"
    )
    spray_neighbors: int = integer(
        6, min=0, max=200, slider_max=40, doc="particles with fewer of the fluid's within two spacings are spray"
    )
    bubble_neighbors: int = integer(
        20, min=0, max=200, slider_max=40, doc="particles with more of the fluid's within two spacings are bubbles"
    )
    buoyancy: float = amount(2.0, "acceleration of bubbles, relative to gravity", max=100.0, slider_max=5.0)
    drag: float = amount(
        40.0, "rate at which bubbles take on the velocity of the fluid", max=1e3, slider_max=100.0, unit="1/s"
    )
    spray_lifetime: float = _lifetime(3.0, "spray")
    foam_lifetime: float = _lifetime(4.0, "foam")
    bubble_lifetime: float = _lifetime(6.0, "a bubble")
