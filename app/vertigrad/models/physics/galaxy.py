"""Where the n-body model starts: one disc galaxy in equilibrium, or two of them before an encounter.

Units: G = 1. One unit of length is the scale length of the larger disc, one unit of mass is that disc's mass.
Read as a galaxy like ours (3.5 kpc, 5.6e10 solar masses), one unit of time is 13 Myr, one of speed 262 km/s.

Every mass is a body: disc, bulge and dark halo are all particles that attract each other, and there is no
outside field, so energy, momentum and angular momentum of the whole are constants of the velocity. Bodies come
in the order disc of galaxy 0, disc of galaxy 1, bulge 0, bulge 1, halo 0, halo 1: the first `luminous_count`
of them are the stars, and a image of those alone is a plain slice. All bodies of a kind have the same mass,
in both galaxies as nearly as integers allow.

Sources: velocities of disc and spheroids as in `galaxy_field`; the encounter is the parabolic two-body orbit
(Binney & Tremaine 2008, section 3.1c with e = 1), its angles those of Toomre & Toomre 1972, ApJ 178, 623; the
make-up of the galaxies follows Barnes 1988, ApJ 331, 699, and Dubinski, Mihos & Hernquist 1996, ApJ 462, 576
(light halos give long tails).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from .galaxy_field import Doubles, Galaxy, MeanField, Spheroid, mean_field

SOFTENING = 0.12  # about the spacing of disc stars at 8192 bodies, and below the disc's height

SPIRAL = Galaxy()  # the shape of galaxy 0 by default
SHARES = (0.6, 0.08, 0.32)  # of a galaxy's bodies: disc, bulge, halo


class Bodies(NamedTuple):
    """What a run starts from. `galaxy` is the galaxy of each body: 0 or 1."""

    positions: NDArray[np.float32]  # (n, 3)
    velocities: NDArray[np.float32]  # (n, 3)
    masses: NDArray[np.float32]  # (n,)
    galaxy: NDArray[np.uint32]  # (n,)


class _Part(NamedTuple):
    """Bodies of one kind in one galaxy, in float64."""

    positions: Doubles
    velocities: Doubles
    masses: Doubles

    def moved(self, turn: Doubles, position: Doubles, velocity: Doubles) -> _Part:
        """Turned about the origin, then set down at `position` with the common velocity `velocity`."""
        return _Part(self.positions @ turn.T + position, self.velocities @ turn.T + velocity, self.masses)


def disc(count: int, *, seed: int, shape: Galaxy = SPIRAL, softening: float = SOFTENING) -> Bodies:
    """One galaxy at rest at the origin, its disc in the plane z = 0 and turning about +z.

    Raises ParameterError for a count below 1 or a softening that is not above zero.
    """
    _require(count >= 1, f"count is {count}; a galaxy needs at least 1 body")
    _require(softening > 0.0, f"softening is {softening}; it must be above zero")
    return _bodies([_galaxy(count, np.random.SeedSequence(seed), shape, softening)])


def colliding_discs(
    count: int,
    *,
    seed: int,
    mass_ratio: float = 0.7,
    separation: float = 12.0,
    pericenter: float = 1.8,
    inclinations: tuple[float, float] = (25.0, 50.0),
    nodes: tuple[float, float] = (60.0, -60.0),
    shape: Galaxy = SPIRAL,
    softening: float = SOFTENING,
) -> Bodies:
    """Two galaxies falling towards each other; their common center of mass rests at the origin.

    They are placed `separation` apart on the parabola on which two point masses would pass at the distance
    `pericenter`, in the plane z = 0, turning counter-clockwise viewed from +z. At pericenter galaxy 1 is on the
    +y side of galaxy 0, so that tails grow along x. `inclinations` [degrees] are the angles between each
    disc's spin and the orbit's: 0 is prograde, 180 retrograde. `nodes` [degrees] are the angles from +y to
    the line in which each disc cuts the orbit's plane. `mass_ratio` is galaxy 1 over galaxy 0; bodies are
    shared out in the same ratio.

    Halos overlap long before discs do, so the real passage is wider than that of two points, and the galaxies
    stay bound to each other: with the defaults they pass at 2.2, at time 8, and have merged by time 33.

    Raises ParameterError for a count below 2, a mass ratio or softening that is not above zero, or a
    separation below the pericenter.
    """
    _require(count >= 2, f"count is {count}; two galaxies need at least 2 bodies")
    _require(mass_ratio > 0.0, f"mass_ratio is {mass_ratio}; it must be above zero")
    _require(softening > 0.0, f"softening is {softening}; it must be above zero")
    _require(
        0.0 < pericenter <= separation,
        f"pericenter is {pericenter}; it must be above zero and at most the separation, {separation}",
    )
    shapes = (shape, shape.scaled(mass_ratio))
    positions, velocities = _parabola(shapes[0].mass, shapes[1].mass, separation, pericenter)
    galaxies = []
    for index, root in enumerate(np.random.SeedSequence(seed).spawn(2)):
        turn = _orientation(inclinations[index], nodes[index])
        parts = _galaxy(_bodies_of_each(count, mass_ratio)[index], root, shapes[index], softening)
        galaxies.append([part.moved(turn, positions[index], velocities[index]) for part in parts])
    return _bodies(galaxies)


def luminous_count(count: int, mass_ratio: float = 0.7) -> int:
    """How many of the bodies of `colliding_discs`, from the first, are stars of a disc or a bulge."""
    return sum(sum(_allot(each, SHARES)[:2]) for each in _bodies_of_each(count, mass_ratio))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ParameterError(message)


def _allot(count: int, fractions: tuple[float, ...]) -> list[int]:
    """Integers that add up to `count`, as near the fractions as can be (largest remainders first)."""
    exact = count * np.asarray(fractions) / sum(fractions)
    whole = np.floor(exact).astype(int)
    for index in np.argsort(whole - exact, kind="stable")[: count - whole.sum()]:
        whole[index] += 1
    return whole.tolist()


def _bodies_of_each(count: int, mass_ratio: float) -> tuple[int, int]:
    second = min(max(round(count * mass_ratio / (1.0 + mass_ratio)), 1), count - 1)
    return count - second, second


def _galaxy(count: int, root: np.random.SeedSequence, shape: Galaxy, softening: float) -> list[_Part]:
    """Disc, bulge and halo of a galaxy at rest at the origin; a part without bodies gives its mass away."""
    field = mean_field(shape, softening)
    counts = _allot(count, SHARES)
    streams = [np.random.default_rng(child) for child in root.spawn(3)]
    parts = [
        _disc_stars(counts[0], field, streams[0]),
        _spheroid(counts[1], field, shape.bulge, streams[1]),
        _spheroid(counts[2], field, shape.halo, streams[2]),
    ]
    present = sum(float(part.masses.sum()) for part in parts)
    position = np.sum([part.masses @ part.positions for part in parts], axis=0) / present
    velocity = np.sum([part.masses @ part.velocities for part in parts], axis=0) / present
    settled = [part.moved(np.eye(3), -position, -velocity) for part in parts]
    return [part._replace(masses=part.masses * (shape.mass / present)) for part in settled]


def _quantiles(count: int, random: np.random.Generator) -> Doubles:
    """A random number in each of `count` equal slices of [0, 1), shuffled: a smooth profile at any count."""
    return random.permutation((np.arange(count) + random.random(count)) / max(count, 1))


def _disc_stars(count: int, field: MeanField, random: np.random.Generator) -> _Part:
    shape, velocity = field.galaxy, field.disc_motion
    radii = shape.disc_radii(_quantiles(count, random))
    angles = 2.0 * np.pi * random.random(count)
    heights = shape.disc_heights(1e-4 + (1.0 - 2e-4) * _quantiles(count, random))

    def at(profile: Doubles) -> Doubles:
        return np.interp(radii, velocity.radii, profile)

    outward = at(velocity.sigma_r) * random.standard_normal(count)
    along = at(velocity.rotation) + at(velocity.sigma_phi) * random.standard_normal(count)
    upward = at(velocity.sigma_z) * random.standard_normal(count)
    cos, sin = np.cos(angles), np.sin(angles)
    positions = np.stack([radii * cos, radii * sin, heights], axis=1)
    velocities = np.stack([outward * cos - along * sin, outward * sin + along * cos, upward], axis=1)
    return _Part(positions, velocities, np.full(count, shape.disc_mass / max(count, 1)))


def _spheroid(count: int, field: MeanField, part: Spheroid, random: np.random.Generator) -> _Part:
    radii = part.radii(_quantiles(count, random))
    speeds = field.speeds(part, radii, random.random(count))
    positions = radii[:, None] * _directions(count, random)
    velocities = speeds[:, None] * _directions(count, random)
    return _Part(positions, velocities, np.full(count, part.mass / max(count, 1)))


def _directions(count: int, random: np.random.Generator) -> Doubles:
    """Unit vectors spread evenly over the sphere, shape (count, 3)."""
    up = 2.0 * _quantiles(count, random) - 1.0
    turn = 2.0 * np.pi * random.random(count)
    flat = np.sqrt(1.0 - up**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), up], axis=1)


def _orientation(inclination: float, node: float) -> Doubles:
    """Rotation that tips +z by `inclination` about +x, then turns +x to `node` from +y; both in degrees."""
    tip, turn = np.radians([inclination, 90.0 + node])
    about_x = np.array([[1, 0, 0], [0, np.cos(tip), -np.sin(tip)], [0, np.sin(tip), np.cos(tip)]])
    about_z = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    return about_z @ about_x


def _parabola(first: float, second: float, distance: float, pericenter: float) -> tuple[Doubles, Doubles]:
    """Positions and velocities (2, 3) of two point masses inbound on a parabola, center of mass at rest."""
    total = first + second
    cosine = 2.0 * pericenter / distance - 1.0
    sine = -np.sqrt(1.0 - cosine**2)
    separation = distance * np.array([-sine, cosine, 0.0])
    closing = np.sqrt(total / (2.0 * pericenter)) * np.array([-(1.0 + cosine), -sine, 0.0])
    fractions = np.array([[-second / total], [first / total]])
    return fractions * separation, fractions * closing


def _bodies(galaxies: list[list[_Part]]) -> Bodies:
    """Everything in float32, kind by kind, with what is left of the mean position and momentum taken out."""
    parts = [galaxy[kind] for kind in range(len(SHARES)) for galaxy in galaxies]
    origins = [index for _ in SHARES for index in range(len(galaxies))]
    masses = np.concatenate([part.masses for part in parts])
    weights = masses / masses.sum()
    positions = np.concatenate([part.positions for part in parts])
    velocities = np.concatenate([part.velocities for part in parts])
    counts = [len(part.masses) for part in parts]
    return Bodies(
        (positions - weights @ positions).astype(np.float32),
        (velocities - weights @ velocities).astype(np.float32),
        masses.astype(np.float32),
        np.repeat(np.asarray(origins, dtype=np.uint32), counts),
    )
