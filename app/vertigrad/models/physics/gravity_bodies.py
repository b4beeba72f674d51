"""What the n-body models have in common: what they give, what they tell, and how a hand pulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import ops
from ...tensor import Tensor
from ..base import OutputSpec
from ..touch import Touch
from .galaxy import Bodies, colliding_discs


def output_specs(count: int, stars: int) -> Mapping[str, OutputSpec]:
    """Of so many bodies, the first `stars` of which shine."""
    return {
        "position": OutputSpec((count, 3), "f32", "where each body is"),
        "velocity": OutputSpec((count, 3), "f32", "how it moves"),
        "speed": OutputSpec((count,), "f32", "length of its velocity"),
        "mass": OutputSpec((count,), "f32", "its mass"),
        "galaxy": OutputSpec((count,), "f32", "which galaxy it came from, 0 or 1"),
        "star_position": OutputSpec((stars, 3), "f32", "positions without the dark halo"),
        "star_speed": OutputSpec((stars,), "f32", "speeds without the dark halo"),
        "star_galaxy": OutputSpec((stars,), "f32", "galaxies without the dark halo"),
    }


def outputs(bodies: Tensor, velocities: Tensor, galaxy: Tensor, stars: int) -> dict[str, Tensor]:
    """Views of the state (n, 4), places with masses and velocities with speeds: its columns, and those of the stars."""
    views = {
        "position": bodies[:, 0:3],
        "velocity": velocities[:, 0:3],
        "speed": velocities[:, 3],
        "mass": bodies[:, 3],
        "galaxy": galaxy[:],
    }
    return views | {f"star_{column}": views[column][:stars] for column in ("position", "speed", "galaxy")}


def diagnostics(energies: Tensor, bodies: Tensor, velocities: Tensor) -> dict[str, Tensor]:
    """`kinetic`, `potential` and total `energy` (f32 sums); lengths of `momentum` and `drift_of_centre`."""
    with ops.sum(energies, axis=0) as sums:
        kinetic, potential = sums[0].contiguous(), sums[1].contiguous()
    return {
        "kinetic": kinetic,
        "potential": potential,
        "energy": kinetic + potential,
        "momentum": _mass_weighted_length(velocities, bodies),
        "drift_of_centre": _mass_weighted_length(bodies, bodies),
    }


def galaxies(params: Any, seed: int) -> Bodies:
    """The two galaxies that the parameters of a model describe."""
    return colliding_discs(
        params.count,
        seed=seed,
        mass_ratio=params.mass_ratio,
        pericentre=params.pericentre,
        inclinations=(params.inclination, params.inclination_2),
        softening=params.softening,
    )


def hand(touch: Touch | None) -> dict[str, Any]:
    """The hand as the forces know it; one that is nowhere has no mass."""
    if touch is None:
        return {"hand": (0.0, 0.0, 0.0), "hand_mass": 0.0, "hand_softening": 1.0}
    return {"hand": touch.point, "hand_mass": touch.strength, "hand_softening": touch.radius}


def _mass_weighted_length(vectors: Tensor, bodies: Tensor) -> Tensor:
    with ops.sum(vectors[:, 0:3] * bodies[:, 3:4], axis=0) as total, ops.sum(total * total) as square:
        return ops.sqrt(square)
