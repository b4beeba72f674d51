"""Volumes from files: values, spacing, orientation and units; and what is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nibabel
import nrrd
import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import volume_file
from vertigrad.models.data.volume import Params, Volume
from vertigrad.models.data.volume_formats.grid import upright
from vertigrad.progress import Cancelled, Progress
from vertigrad.scene import load

from ..fuzz import scans
from ..session.data_files import zarr_volume

CHANCE = np.random.default_rng(6)


def written(folder: Path, name: str) -> Path:
    """A file of this name; of DICOM, with the other slices next to it, in another order."""
    path = folder / name
    if name.endswith(".dcm"):
        for number in range(scans.SLICES):
            (folder / f"{(number * 3) % scans.SLICES:03}{'.dcm' if number % 2 else ''}").write_bytes(
                scans.dicom_slice(number)
            )
        (folder / "notes.txt").write_text("no slice")
        return next(folder.glob("*.dcm"))
    path.write_bytes(scans.volume_files()[name])
    return path


@pytest.mark.parametrize("name", scans.VOLUME_NAMES)
def test_each_format_has_the_same_values_at_the_same_positions(tmp_path: Path, steady: Gpu, name: str) -> None:
    path = written(tmp_path, name)
    grid = volume_file.read(path)
    assert np.array_equal(grid.values, scans.HOUNSFIELD) and grid.values.dtype == np.float32
    assert np.allclose(grid.affine, scans.AFFINE, atol=1e-5) and np.allclose(grid.spacing, scans.SPACING)
    assert grid.unit == "mm" and grid.quantity == ("HU" if name.endswith("dcm") else "")
    scene = load(path)
    (layer,) = scene.layers.values()
    extent = np.array(scans.SHAPE[::-1]) * scans.SPACING
    assert np.allclose(np.array(layer.style.high), extent / extent.max(), atol=1e-5) and scene.camera.up == "z"
    model = Volume("scan", Params(file=path), {}, 0)
    assert all(one.holds for one in model.compare_with_reference())
    placement = model.placement()
    assert placement is not None and np.allclose(placement.affine, scans.AFFINE, atol=1e-5)
    model.close()


@pytest.mark.parametrize("seed", range(12))
def test_axes_are_those_of_space_however_they_are_stored(seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = chance.normal(size=(3, 4, 5))
    axes, signs = np.eye(3)[chance.permutation(3)], chance.choice([-1.0, 1.0], 3)
    affine = np.eye(4)
    affine[:3, :3] = (axes * signs).T * (1.0, 2.0, 3.0) + 0.05 * chance.normal(size=(3, 3))  # a little oblique
    affine[:3, 3] = chance.normal(size=3)
    found, turned = upright(values, affine)
    assert (np.argmax(np.abs(turned[:3, :3]), axis=0) == (0, 1, 2)).all() and (np.diag(turned)[:3] > 0).all()
    at = {}
    for index in np.ndindex(values.shape):
        at[values[index]] = affine @ (*index, 1.0)
    for z, y, x in np.ndindex(found.shape):
        assert np.allclose(turned @ (x, y, z, 1.0), at[found[z, y, x]])


def test_one_of_several_volumes(tmp_path: Path) -> None:
    films = CHANCE.normal(size=(4, 5, 6, 3)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(films, np.eye(4)), tmp_path / "a.nii")
    nrrd.write(str(tmp_path / "a.nrrd"), films, {"kinds": ["domain", "domain", "domain", "list"]})
    np.save(tmp_path / "a.npy", films.transpose(3, 2, 1, 0))
    for name in ("a.nii", "a.nrrd", "a.npy"):
        for frame in (0, 2, 99):
            found = volume_file.read(tmp_path / name, frame).values
            assert np.array_equal(found, films[..., min(frame, 2)].transpose(2, 1, 0)), name


def test_data_outside_of_the_file_and_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.raw").write_bytes(bytes(27))
    for key in ("data file", "datafile"):
        header = f"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 3 3 3\nencoding: raw\n{key}: ../secret.raw\n\n"
        (tmp_path / "a.nrrd").write_text(header)
        with pytest.raises(InputError, match="its data is in another file, which is not read"):
            volume_file.read(tmp_path / "a.nrrd")
        os.utime(tmp_path / "a.nrrd", ns=(1, 1))
    (tmp_path / "scan").mkdir()
    (tmp_path / "other").mkdir()
    for number in range(scans.SLICES):
        folder = tmp_path / ("scan" if number < 3 else "other")
        (folder / f"{number}.dcm").write_bytes(scans.dicom_slice(number))
    (tmp_path / "scan" / "3.dcm").symlink_to(tmp_path / "other" / "3.dcm")
    assert len(volume_file.read(tmp_path / "scan" / "0.dcm").values) == 3


def test_a_series_with_gaps_and_other_series(tmp_path: Path) -> None:
    for number in (0, 1, 2, 4):
        (tmp_path / f"{number}.dcm").write_bytes(scans.dicom_slice(number))
    (tmp_path / "9.dcm").write_bytes(scans.dicom_slice(3).replace(b"1.2.3\0", b"1.2.4\0"))  # of another series
    with pytest.raises(InputError, match=r"not at even distances \(2 to 4\)"):
        volume_file.read(tmp_path / "0.dcm")
    with pytest.raises(InputError, match="is a single slice"):
        volume_file.read(tmp_path / "9.dcm")
    assert volume_file.first_slice(tmp_path) == tmp_path / "0.dcm"


def test_a_package_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, package in (("a.nrrd", "nrrd"), ("a.nii", "nibabel"), ("a.dcm", "pydicom")):
        path = tmp_path / name
        path.write_bytes(scans.volume_files()[name])
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(InputError, match=rf'{package}.*pip install "vertigrad\[volumes\]"'):
            volume_file.read(path)
        monkeypatch.undo()


def test_an_array_of_zarr_has_the_scale_of_ome_zarr_and_is_read_layer_by_layer(tmp_path: Path) -> None:
    path = tmp_path / "stack.zarr" / "zarr.json"
    zarr_volume(path.parent)
    expected = np.random.default_rng(3).integers(0, 900, (2, 6, 5, 4), np.uint16)
    for frame in (0, 1, 9):
        progress = Progress()
        with progress.followed():
            grid = volume_file.read(path, frame)
        np.testing.assert_array_equal(grid.values, expected[min(frame, 1)])
        assert grid.spacing == (0.5, 0.5, 2.0) and grid.unit == "µm"
        assert progress.what == "reading stack.zarr" and progress.fraction == pytest.approx(4 / 6)
    with progress.followed(), pytest.raises(Cancelled):
        progress.cancelled = True
        volume_file.read(path, 5)
