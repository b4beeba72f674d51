"""Rough glass: the light of a bright spot through its facets, by NumPy, and how little it varies between pixels."""

import numpy as np
import pytest

from vertigrad.models.data.assets.content import TRANSMISSIVE, Material, Transmission
from vertigrad.path_trace.reflectance import _visible_facets
from vertigrad.renderer import OrbitCamera, View, environment_image

EYE = OrbitCamera(distance=1.0, fov=1.0, orthographic=True)  # which looks along -z, at a spot of a square
SQUARE = np.float32([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]])
FRONT = np.uint32([[0, 1, 2], [0, 2, 3]])
TURNED = FRONT[:, ::-1]  # its back: the eye is in the glass
ROWS = 64


@pytest.fixture
def lamp(monkeypatch):
    """A spot of 100 around a direction 20 degrees to the right of -z and 10 below it, in light of 0.2."""
    table = np.full((ROWS, 2 * ROWS, 3), 0.2, np.float32)
    table[34:37, 70:73] = 100.0
    monkeypatch.setattr(environment_image, "read", lambda file: table)
    return table


def toward(table: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """What the table has in directions (n, 3), linear between texels: its middle is -z, to the right of it +x."""
    x, y, z = directions.T
    y = np.clip(y, -1.0, 1.0)
    at = (0.5 + np.arctan2(x, -z) / (2 * np.pi)) * 2 * ROWS - 0.5, np.arccos(y) / np.pi * ROWS - 0.5
    (column, row), found = (np.floor(one).astype(int) for one in at), 0.0
    for i in range(2):
        for j in range(2):
            weight = np.abs(1 - i - (at[0] - column)) * np.abs(1 - j - (at[1] - row))
            found = found + weight * table[np.clip(row + j, 0, ROWS - 1), (column + i) % (2 * ROWS), 0]
    return found


def expected(table: np.ndarray, roughness: float, ior: float, thin: bool) -> float:
    """Over visible facets: what each refracts of what is beyond, and mirrors of what is before."""
    steps, axis = (np.arange(1200) + 0.5) / 1200, np.array([0.0, 0.0, 1.0])
    u, v = (one.reshape(-1) for one in np.meshgrid(steps, steps))
    facet = _visible_facets(roughness**2, axis[None], u, v)[0]
    cosine, ratio = facet[:, 2], ior if thin else 1.0 / ior
    inside = np.sqrt(np.maximum(1.0 - (1.0 - cosine**2) / ratio**2, 0.0))
    across, along = ((a - b) / (a + b) for a, b in ((cosine, ratio * inside), (ratio * cosine, inside)))
    fresnel = 0.5 * (across**2 + along**2)
    mirrored = 2.0 * cosine[:, None] * facet - axis
    beyond = -axis / ratio + (cosine / ratio - inside)[:, None] * facet
    is_before = mirrored[:, 2:] > 0.0
    if thin:  # what facets mirror, on the other side
        beyond, mirrored = np.where(is_before, mirrored * [1.0, 1.0, -1.0], mirrored), mirrored * is_before
    else:  # by the normal of the surface where facets would not
        mirrored, beyond = np.where(is_before, mirrored, axis), np.where(beyond[:, 2:] < 0.0, beyond, -axis)
    before = toward(table, mirrored) * (mirrored[:, 2] > 0.0)
    return float((fresnel * before + (1.0 - fresnel) * toward(table, beyond)).mean())


@pytest.mark.turns(3)
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("roughness", [0.4, 0.7])
def test_a_bright_spot_behind_rough_glass(layer, trace, lamp, thin, roughness):
    """Within 2.5 % of the sum over facets; the deviation of 128 samples is below 0.32 (facets alone: 0.64)."""
    glass = Material(metallic=0.0, roughness=roughness, transmission=Transmission(1.0, 0.0 if thin else 1.0))
    asset = layer(
        "asset",
        position=SQUARE,
        normal=np.float32([[0, 0, 1]] * 4),
        index=FRONT if thin else TURNED,
        materials=np.float32([glass.floats(TRANSMISSIVE)]),
    )
    view = View(environment="image", environment_backdrop=True, sun=0.0, sky=1.0)
    found = trace([asset], EYE, view, (24, 24), 128)[..., 0]
    assert found.mean() == pytest.approx(expected(lamp, roughness, 1.5, thin), rel=0.025)
    assert found.std() < 0.32 * found.mean()
