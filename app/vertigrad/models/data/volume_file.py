"""Files of volumes: values on a grid with their spacing, orientation and units. `volume_formats` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...errors import InputError
from .file_cache import cached
from .volume_formats import Grid, dicom, nifti, nrrd, numpy_volume, vdb, zarr_volume

__all__ = ["SUFFIXES", "Grid", "first_slice", "read"]

_READERS: Mapping[str, Callable[[Path, int], Grid]] = {
    ".nrrd": nrrd.read,
    ".vdb": vdb.read,
    ".nii": nifti.read,
    ".nii.gz": nifti.read,
    **dict.fromkeys(dicom.SUFFIXES, dicom.read),
    **dict.fromkeys((".npy", ".npz"), numpy_volume.read),
    zarr_volume.DESCRIPTION: zarr_volume.read,
}
SUFFIXES = (".nrrd", ".vdb", ".nii", ".gz", *dicom.SUFFIXES, ".npy", ".npz", zarr_volume.DESCRIPTION)


@cached(2)  # a scene asks for the shape before it builds the model
def read(path: Path, frame: int = 0) -> Grid:
    """The volume of a file, or of the series of slices that it belongs to; `frame` is which, if it has several.

    Its axes are those of space, as near as they can be: x to the right, y to the front, z upward. Raises `InputError`.
    """
    name = path.name.lower()
    suffix = next((one for one in _READERS if name.endswith(one)), "")
    if not suffix:
        raise InputError(f"{path}: not a file of a volume; known are {', '.join(_READERS)}")
    return _READERS[suffix](path, frame)


def first_slice(folder: Path) -> Path | None:
    """The first DICOM file of a folder with a known suffix; None if there is none."""
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in dicom.SUFFIXES)
    return next((file for file in files if dicom.is_dicom(file)), None)
