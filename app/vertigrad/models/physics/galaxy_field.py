"""The smooth gravity of one galaxy, and the velocities that keep each of its parts in balance.

Everything here is a function of the galaxy's shape and of the softening, never of the sampled bodies: the
cost does not grow with their number, and the rotation curve carries no particle noise. Units: G = 1.

Sources (BT08 is Binney & Tremaine 2008, Galactic Dynamics, 2nd ed.):
    Spheroids       density (3 - g) M a / (4 pi r^g (r + a)^(4 - g)), Dehnen 1993, MNRAS 265, 250, eq. 1;
                    g = 1 is Hernquist 1990, ApJ 356, 359. The taper at the edge is ours.
    Shells          mean over a sphere of -m / sqrt(d^2 + softening^2): an elementary integral, see `_shells`.
    Isotropic DF    Eddington's inversion, BT08 eq. 4.46b, in the potential of all parts with the disc's mass
                    spread over spheres (McMillan & Dehnen 2007, astro-ph/0703534).
    Epicycles       kappa^2 = R dOmega^2/dR + 4 Omega^2, BT08 eq. 3.80; sigma_phi / sigma_R = kappa / 2 Omega,
                    BT08 section 3.2.3.
    Toomre          Q = sigma_R kappa / (3.36 Sigma), BT08 eq. 6.71 (Toomre 1964, ApJ 139, 1217).
    Mean rotation   asymmetric drift, BT08 eq. 4.228 with a velocity ellipsoid that is not tilted, and
                    sigma_R^2 falling off like the surface density (Hernquist 1993, ApJS 86, 389).
    Height          sech^2(z / z0) (Spitzer 1942, ApJ 95, 329); sigma_z^2 is the column's mean of z dPhi/dz,
                    the vertical Jeans equation (BT08 eq. 4.222b without tilt) integrated over the column.
                    Softening weakens the attraction of a thin sheet, so pi Sigma z0 would puff the disc up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_SHELLS = 192  # equal-mass shells that stand for each part in the spherical potential
_RINGS, _SPOKES, _SHEETS = 144, 48, 7  # quadrature of the disc: radii, angles in half a turn, heights above 0
_PROBES = 48  # radii at which the rotation curve is computed
_TOGETHER = 8  # probes whose pulls are added up at a time: so few that the arrays stay in the cache
_ENERGIES = 320  # nodes of the distribution function
_RADII, _SPEEDS = 96, 129  # tables of speeds: radii, and quantiles or speeds


@dataclass(frozen=True)
class Spheroid:
    """A round part: `mass` inside `edge`, scale `length`, inner slope `cusp` (0 is a core, 1 Hernquist's).

    The profile is brought to zero at the edge by (1 - (r / edge)^2)^2, gently enough for a distribution
    function that ends there too: a profile that is merely cut off would boil away at the cut.
    """

    mass: float
    length: float
    cusp: float
    edge: float

    def radii(self, quantiles: Doubles) -> Doubles:
        """Radii that hold the given fractions of the mass."""
        grid = np.geomspace(1e-4 * self.length, self.edge, 2048)
        shells = self.density(grid) * grid**3
        inside = np.concatenate([[0.0], np.cumsum(shells[1:] + shells[:-1])])
        return np.interp(quantiles * inside[-1], inside, grid)

    def density(self, radii: Doubles) -> Doubles:
        """The profile, unnormalized."""
        return self._whole(radii) * np.square(1.0 - np.square(radii / self.edge))

    def density_derivative(self, radii: Doubles) -> Doubles:
        """d density / d radius."""
        room = 1.0 - np.square(radii / self.edge)
        steepness = self.cusp / radii + (4.0 - self.cusp) / (radii + self.length)
        return -self._whole(radii) * room * (steepness * room + 4.0 * radii / self.edge**2)

    def _whole(self, radii: Doubles) -> Doubles:
        return radii**-self.cusp * (radii + self.length) ** (self.cusp - 4.0)


@dataclass(frozen=True)
class Galaxy:
    """The shape of one galaxy, in units of its disc's mass and scale length.

    Masses are those inside the edges. With these defaults the rotation curve peaks above
    1.1 sqrt(disc_mass / disc_length), the bound below which a disc turns into a bar by itself
    (Efstathiou, Lake & Negroponte 1982, MNRAS 199, 1069).
    """

    disc_mass: float = 1.0
    disc_length: float = 1.0
    disc_height: float = 0.2
    disc_edge: float = 5.0
    bulge_mass: float = 0.3
    bulge_length: float = 0.2
    bulge_edge: float = 4.0
    halo_mass: float = 4.0
    halo_length: float = 1.1
    halo_edge: float = 16.0
    toomre_q: float = 1.3

    @property
    def mass(self) -> float:
        """Mass of disc, bulge and halo."""
        return self.disc_mass + self.bulge_mass + self.halo_mass

    @property
    def bulge(self) -> Spheroid:
        """Cusped and compact."""
        return Spheroid(self.bulge_mass, self.bulge_length, 1.0, self.bulge_edge)

    @property
    def halo(self) -> Spheroid:
        """Cored, so that few heavy bodies do not stir the middle of the disc."""
        return Spheroid(self.halo_mass, self.halo_length, 0.0, self.halo_edge)

    def scaled(self, mass_ratio: float) -> Galaxy:
        """The same galaxy with all masses times `mass_ratio` and all lengths times its square root.

        Surface density stays; mass goes like the fourth power of the rotation speed (Tully & Fisher 1977).
        """
        lengths = {f"_{what}": mass_ratio**0.5 for what in ("length", "height", "edge")}
        factors = {"_mass": mass_ratio, "_q": 1.0, **lengths}
        scaled = {name: value * factors[name[name.rindex("_") :]] for name, value in vars(self).items()}
        return replace(self, **scaled)

    def disc_radii(self, quantiles: Doubles) -> Doubles:
        """Radii in the plane that hold the given fractions of the exponential disc inside its edge."""
        x = np.linspace(0.0, self.disc_edge / self.disc_length, 4096)
        inside = 1.0 - (1.0 + x) * np.exp(-x)
        return self.disc_length * np.interp(quantiles * inside[-1], inside, x)

    def disc_heights(self, quantiles: Doubles) -> Doubles:
        """Heights z below which the given fractions of a sech^2 sheet are."""
        return self.disc_height * np.arctanh(2.0 * quantiles - 1.0)

    def surface_density(self, radii: Doubles) -> Doubles:
        """Sigma(R) of the disc."""
        x = self.disc_edge / self.disc_length
        central = self.disc_mass / (2.0 * np.pi * self.disc_length**2 * (1.0 - (1.0 + x) * np.exp(-x)))
        return central * np.exp(-radii / self.disc_length)


def _middles(count: int) -> Doubles:
    return (np.arange(count) + 0.5) / count


def _sheets(galaxy: Galaxy) -> Doubles:
    """Heights of `_SHEETS` sheets of equal mass above the plane, each at the root mean square of its slice.

    That preserves the mean of z^2, on which the vertical balance hangs; middles of slices would lose the tail.
    """
    fine = galaxy.disc_heights(0.5 + 0.5 * _middles(64 * _SHEETS))
    return np.sqrt(np.square(fine).reshape(_SHEETS, 64).mean(axis=1))


def _shells(radii: Doubles, shells: Doubles, masses: Doubles, softening: float) -> tuple[Doubles, Doubles]:
    """Potential and its derivative at `radii` of spherical shells of bodies softened one by one.

    Averaging -1/sqrt(r^2 + s^2 - 2 r s u + e^2) over u in [-1, 1] gives -(far - near) / (2 r s) with
    far = sqrt((r + s)^2 + e^2) and near = sqrt((r - s)^2 + e^2).
    """
    r, s = radii[:, None], shells[None, :]
    far, near = np.hypot(r + s, softening), np.hypot(r - s, softening)
    potential = -(far - near) / (2.0 * r * s)
    derivative = -((r + s) / far - (r - s) / near) / (2.0 * r * s) - potential / r
    return potential @ masses, derivative @ masses


@dataclass(frozen=True)
class DiscMotion:
    """Speeds of the disc's stars on a grid of radii: mean rotation and the three dispersions."""

    radii: Doubles
    circular: Doubles
    rotation: Doubles
    sigma_r: Doubles
    sigma_phi: Doubles
    sigma_z: Doubles


class MeanField:
    """Smooth softened gravity of one galaxy centered at the origin, its disc in the plane z = 0."""

    def __init__(self, galaxy: Galaxy, softening: float) -> None:
        self.galaxy = galaxy
        self.softening = softening
        self._speed_tables: dict[Spheroid, Doubles] = {}
        self._ring_radii = galaxy.disc_radii(_middles(_RINGS))
        self._sheet_heights = _sheets(galaxy)
        parts = [(part.radii(_middles(_SHELLS)), part.mass) for part in (galaxy.bulge, galaxy.halo)]
        ring_spheres = np.hypot(*np.meshgrid(self._ring_radii, self._sheet_heights)).ravel()
        self._round = _sorted_masses(parts)
        self._all = _sorted_masses([*parts, (ring_spheres, galaxy.disc_mass)])

    def spherical_potential(self, radii: Doubles) -> tuple[Doubles, Doubles]:
        """Potential and its derivative, the disc's mass spread over spheres."""
        return _shells(radii, *self._all, self.softening)

    def forces(self, radii: Doubles, heights: Doubles) -> tuple[Doubles, Doubles]:
        """Inward radial and downward vertical acceleration at the points (R, z), arrays of one length."""
        distances = np.hypot(radii, heights)
        _, derivative = _shells(distances, *self._round, self.softening)
        inward, downward = derivative * radii / distances, derivative * heights / distances
        turn = np.pi * _middles(_SPOKES)
        x = np.outer(self._ring_radii, np.cos(turn)).ravel()
        y_squared = np.square(np.outer(self._ring_radii, np.sin(turn))).ravel()
        mass = self.galaxy.disc_mass / (x.size * 2 * len(self._sheet_heights))
        for start in range(0, len(radii), _TOGETHER):
            rows = slice(start, start + _TOGETHER)
            along = radii[rows, None] - x
            flat = along**2 + y_squared + self.softening**2
            for sheet in np.concatenate([-self._sheet_heights, self._sheet_heights]):
                rise = heights[rows] - sheet
                squared = flat + (rise**2)[:, None]
                attraction = mass / (squared * np.sqrt(squared))  # several times as fast as a power of −1.5
                inward[rows] += np.einsum("pq,pq->p", attraction, along)
                downward[rows] += rise * attraction.sum(axis=1)
        return inward, downward

    @cached_property
    def disc_motion(self) -> DiscMotion:
        """Rotation and dispersions of the disc, in balance with all the mass of the galaxy."""
        galaxy = self.galaxy
        radii = galaxy.disc_length * np.geomspace(0.02, 1.02 * galaxy.disc_edge / galaxy.disc_length, _PROBES)
        heights = self._sheet_heights
        inward, downward = self.forces(np.repeat(radii, len(heights)), np.tile(heights, _PROBES))
        omega2 = inward.reshape(_PROBES, -1).mean(axis=1) / radii
        kappa2 = np.clip(np.gradient(omega2, np.log(radii)) + 4.0 * omega2, omega2, 4.0 * omega2)
        ratio2 = kappa2 / (4.0 * omega2)
        fall = np.exp(-radii / (2.0 * galaxy.disc_length))
        coldest = np.min(fall * np.sqrt(kappa2) / (3.36 * galaxy.surface_density(radii)))
        sigma_r = galaxy.toomre_q / coldest * fall
        drift = sigma_r**2 * (ratio2 - 1.0 + 2.0 * radii / galaxy.disc_length)
        return DiscMotion(
            radii=radii,
            circular=radii * np.sqrt(omega2),
            rotation=np.sqrt(np.maximum(radii**2 * omega2 - drift, 0.0)),
            sigma_r=sigma_r,
            sigma_phi=sigma_r * np.sqrt(ratio2),
            sigma_z=np.sqrt((np.tile(heights, _PROBES) * downward).reshape(_PROBES, -1).mean(axis=1)),
        )

    def speeds(self, part: Spheroid, radii: Doubles, quantiles: Doubles) -> Doubles:
        """Speeds of bodies of an isotropic part at `radii`, each at its quantile of the local speeds."""
        rows = np.interp(np.log(radii), np.log(_grid(part)), np.arange(_RADII))
        # Quantiles are denser near 0 and 1, where the speed changes fastest with them.
        return _bilinear(self._speed_table(part), rows, np.arcsin(np.sqrt(quantiles)) * 2.0 / np.pi)

    def _speed_table(self, part: Spheroid) -> Doubles:
        """Speeds at `_RADII` radii and `_SPEEDS` quantiles; computed once for each part."""
        if part not in self._speed_tables:
            self._speed_tables[part] = self._tabulated(part)
        return self._speed_tables[part]

    def _tabulated(self, part: Spheroid) -> Doubles:
        depth = -self.spherical_potential(_grid(part))[0]
        energies, weights = self._distribution(part)
        fraction = np.linspace(0.0, 1.0, _SPEEDS)
        table = np.empty((_RADII, _SPEEDS))
        for row, well in enumerate(depth):
            speed = fraction**2 * np.sqrt(2.0 * well)  # denser where a cusp contains slow bodies
            density = np.interp(well - 0.5 * speed**2, energies, weights) * speed**2
            below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) * np.diff(speed))])
            table[row] = np.interp(np.sin(0.5 * np.pi * fraction) ** 2 * below[-1], below, speed)
        return table

    def _distribution(self, part: Spheroid) -> tuple[Doubles, Doubles]:
        """Energies (rising) and Eddington's f at them, up to a constant factor.

        d density / d psi is taken as linear between nodes, which makes each interval of the integral in BT08
        eq. 4.46b elementary; the boundary term vanishes with the density's slope at the edge.
        """
        radii = np.geomspace(part.edge, 1e-3 * part.length, _ENERGIES)
        potential, derivative = self.spherical_potential(radii)
        psi = -potential
        change = part.density_derivative(radii) / -derivative
        bend = np.diff(change) / np.diff(psi)
        reach = np.sqrt(np.maximum(psi[:, None] - psi[None, :], 0.0))
        return psi, np.maximum((reach[:, :-1] - reach[:, 1:]) @ bend, 0.0)


@lru_cache(maxsize=8)
def mean_field(galaxy: Galaxy, softening: float) -> MeanField:
    """The field of a shape, cached: a restart with another seed or count computes none of it again."""
    return MeanField(galaxy, softening)


def _grid(part: Spheroid) -> Doubles:
    return np.geomspace(1e-3 * part.length, part.edge, _RADII)


def _sorted_masses(parts: list[tuple[Doubles, float]]) -> tuple[Doubles, Doubles]:
    radii = np.concatenate([radii for radii, _ in parts])
    return radii, np.concatenate([np.full(len(radii), mass / len(radii)) for radii, mass in parts])


def _bilinear(table: Doubles, rows: Doubles, across: Doubles) -> Doubles:
    """Values of `table` at fractional row numbers and at fractions of its width."""
    columns = across * (table.shape[1] - 1)
    i = np.minimum(rows.astype(np.intp), table.shape[0] - 2)
    j = np.minimum(columns.astype(np.intp), table.shape[1] - 2)
    u, w = rows - i, columns - j
    upper = table[i, j] * (1.0 - w) + table[i, j + 1] * w
    lower = table[i + 1, j] * (1.0 - w) + table[i + 1, j + 1] * w
    return upper * (1.0 - u) + lower * u
