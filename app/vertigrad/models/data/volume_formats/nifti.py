"""NIfTI files (`.nii`, `.nii.gz`), read by nibabel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ..point_formats.table import needed
from .grid import Grid, as_f32, require_affine, require_shape, upright
from .nrrd import RATIO

EXTRA = "volumes"
UNITS = {"mm": "mm", "micron": "µm", "meter": "m"}


def read(path: Path, frame: int = 0) -> Grid:
    """The volume of a file, or one of several. Raises `InputError`."""
    nibabel = needed(path, "nibabel", EXTRA, "a NIfTI file")
    try:
        image: Any = nibabel.Nifti1Image.from_filename(str(path))
        shape, dtype = tuple(int(size) for size in image.shape), image.get_data_dtype()
        compressed = path.suffix.lower() == ".gz"
        room = path.stat().st_size * (RATIO if compressed else 1)
        while len(shape) > 4 and shape[-1] == 1:
            shape = shape[:-1]
        require_shape(path, shape[:3], dtype.itemsize, room)
        if len(shape) > 3 and int(np.prod(shape, dtype=object)) * dtype.itemsize > room:
            raise InputError(f"{path}: claims {shape[3:]} volumes; the file is truncated")
        if dtype.kind not in "biuf":
            raise InputError(f"{path}: contains {dtype}; a volume has one real number for each cell")
        index = (..., *(min(frame, size - 1) if axis == 0 else 0 for axis, size in enumerate(shape[3:])))
        values = np.asarray(image.dataobj[index] if len(image.shape) > 3 else image.dataobj).reshape(shape[:3])
        affine = require_affine(path, np.asarray(image.affine, float))
        unit = UNITS.get(image.header.get_xyzt_units()[0], "")
    except InputError:
        raise
    except Exception as error:  # nibabel raises many kinds
        raise InputError(f"{path}: not a readable NIfTI file ({str(error) or type(error).__name__})") from error
    found, affine = upright(values, affine)
    return Grid(as_f32(path, found), affine, unit)
