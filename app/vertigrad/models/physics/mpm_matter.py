"""What water, jelly, snow and sand are like, as shaders/common/matter.wgsl takes it, and how fast their waves are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

DENSITIES = (1000.0, 1000.0, 400.0, 1600.0)  # kg/m³: water, jelly, snow (Stomakhin et al. 2013), dry sand
HARDEST = 4.0  # times as stiff as fresh snow is what is packed, at most
DENSEST, LOOSEST = 0.75, 1.02  # volume of water over that at rest
CONSTANTS = {"HARDEST": HARDEST, "DENSEST": DENSEST, "LOOSEST": LOOSEST}
SPREAD = 0.1  # of a cell squared in a step, that velocity may spread by viscosity

Four = tuple[float, float, float, float]


class Constants(NamedTuple):
    """Fields of the shader's struct; numbers of each kind of matter in the order of `MATERIALS`."""

    unit: float  # kg
    mass: Four  # in units
    mu: Four
    lambda_: Four
    hardening: float
    compression: float
    stretch: float
    slope: float
    tip: float

    def named(self) -> dict[str, Any]:
        """By the names that the shader has for them."""
        return {name.rstrip("_"): value for name, value in zip(self._fields, self, strict=True)}


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Lamé's constants (mu, lambda) [Pa] of Young's modulus [Pa] and Poisson's ratio."""
    return young / (2.0 * (1.0 + poisson)), young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))


def bulk_modulus(young: float, poisson: float) -> float:
    """Of an isotropic solid [Pa]."""
    return young / (3.0 * (1.0 - 2.0 * poisson))


def material_constants(params: Any, volume: float) -> Constants:
    """The constants for parameters as they are; a unit of mass is that of the heaviest kind of particle."""
    heaviest = max(DENSITIES)
    solids = [
        lame(young, params.poissons_ratio)
        for young in (params.jelly_youngs_modulus, params.snow_youngs_modulus, params.sand_youngs_modulus)
    ]
    sine = math.sin(math.radians(params.friction_angle))
    return Constants(
        unit=heaviest * volume,
        mass=tuple(density / heaviest for density in DENSITIES),  # type: ignore[arg-type]
        mu=(params.viscosity, *(mu for mu, _ in solids)),  # type: ignore[arg-type]
        lambda_=(params.bulk_modulus, *(lambda_ for _, lambda_ in solids)),  # type: ignore[arg-type]
        hardening=params.hardening,
        compression=params.compression,
        stretch=params.stretch,
        slope=math.sqrt(2.0 / 3.0) * 2.0 * sine / (3.0 - sine),  # Klar et al. 2016, equation 28
        tip=params.cohesion / bulk_modulus(params.sand_youngs_modulus, params.poissons_ratio),
    )


def slowest_wave_step(params: Any, cell: float) -> float:
    """Seconds in which the fastest wave crosses a cell; shorter if viscosity spreads velocity faster than that."""
    stiff = params.jelly_youngs_modulus, params.snow_youngs_modulus * HARDEST, params.sand_youngs_modulus
    waves = [_wave(young, params.poissons_ratio, density) for young, density in zip(stiff, DENSITIES[1:], strict=True)]
    # Tait's law: what is compressed to a volume J is stiffer by J^-7, at J = 0.9 twice
    waves.append(math.sqrt(2.0 * params.bulk_modulus / DENSITIES[0]))
    shapes = params.jelly, params.snow, params.sand, params.water
    fastest = max(wave for wave, shape in zip(waves, shapes, strict=True) if shape != "none")
    thick = params.viscosity / DENSITIES[0] if params.water != "none" else 0.0
    return min(cell / fastest, SPREAD * cell**2 / (params.courant * thick) if thick else math.inf)


def _wave(young: float, poisson: float, density: float) -> float:
    """Speed of pressure waves [m/s]: sqrt((lambda + 2 mu) / density)."""
    mu, lambda_ = lame(young, poisson)
    return math.sqrt((lambda_ + 2.0 * mu) / density)
