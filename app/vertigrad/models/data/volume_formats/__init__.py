"""Files of volumes: what each format has, as values on a grid and where they are in space."""

from . import dicom, nifti, nrrd, numpy_volume, vdb, zarr_volume
from .grid import MOST_VALUES, Grid

__all__ = ["MOST_VALUES", "Grid", "dicom", "nifti", "nrrd", "numpy_volume", "vdb", "zarr_volume"]
