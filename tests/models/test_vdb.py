"""OpenVDB files, as OpenVDB wrote them, against the arrays that they were written from."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data import volume_file
from vertigrad.models.data.volume_formats import vdb

from .vdb_files import vdb_file

Z, Y, X = np.meshgrid(np.arange(12), np.arange(10), np.arange(9), indexing="ij")
DENSITY = ((X + 10 * Y + 100 * Z) / 1200 + 0.05).astype(np.float32)
LOW = np.array([-5, 3, 7])  # cell of its first value


@pytest.fixture
def stored(tmp_path: Path):
    def stored(name: str) -> Path:
        (tmp_path / f"{name}.vdb").write_bytes(vdb_file(name))
        return tmp_path / f"{name}.vdb"

    return stored


@pytest.mark.parametrize("name", ["fog", "fog_zip"])  # Blosc and ZIP
def test_the_density_is_first_and_the_others_follow(stored, name: str) -> None:
    density, temperature = (volume_file.read(stored(name), frame) for frame in (0, 1))
    np.testing.assert_array_equal(density.values, DENSITY)
    np.testing.assert_array_equal(temperature.values, np.float32(300) * DENSITY)
    expected = np.eye(4)
    expected[:3, :3] *= 0.25
    expected[:3, 3] = 0.25 * LOW + [1, 2, -3]
    np.testing.assert_allclose(density.affine, expected, atol=1e-7)
    np.testing.assert_allclose(temperature.affine[:3, 3], LOW)
    assert volume_file.read(stored(name), 7).values.max() > 100  # the last one


def test_a_level_set_is_negative_inside_and_the_background_outside(stored) -> None:
    """A ball of radius 0.6 in cells of 0.1, known to two cells from its surface."""
    ball = vdb.read(stored("ball"))
    z, y, x = (axis * 0.1 for axis in np.meshgrid(*(np.arange(-7, 8),) * 3, indexing="ij"))
    distance = np.clip(np.sqrt(x**2 + y**2 + z**2) - 0.6, -0.2, 0.2)
    np.testing.assert_allclose(ball.values, distance, atol=1e-6)
    assert ball.values[7, 7, 7] == np.float32(-0.2)


def test_regions_of_one_value_and_halves_are_filled_in(stored) -> None:
    expected = np.zeros((24, 16, 32), np.float32)
    expected[:16, :, :24], expected[20, 5, 30] = 0.75, 0.5
    tiles = vdb.read(stored("tiles"))
    np.testing.assert_array_equal(tiles.values, expected[:21, :, :31])


def test_a_turned_grid_has_its_axes(stored) -> None:
    cos, sin = math.cos(0.3), math.sin(0.3)
    columns = np.array([[2 * cos, 2 * sin, 0], [-sin, cos, 0], [0, 0, 1.5], [4, 5, 6]])
    np.testing.assert_allclose(vdb.read(stored("tiles")).affine[:3], columns.T, atol=1e-6)


def test_vectors_are_refused_by_name(stored) -> None:
    with pytest.raises(InputError, match=r"velocity\.vdb: has no grid of real numbers; its grids are velocity \(vec3s"):
        vdb.read(stored("velocity"))


def test_without_blosc_the_package_is_named(stored, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "numcodecs.blosc", None)
    with pytest.raises(InputError, match=r"needs the package numcodecs.* pip install \"vertigrad\[volumes\]\""):
        vdb.read(stored("fog"))
    assert vdb.read(stored("fog_zip")).values.shape == DENSITY.shape
