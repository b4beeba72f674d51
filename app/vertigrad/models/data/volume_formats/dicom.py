"""Folders of DICOM files, read by pydicom: the slices of one series, in the order of their positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ....progress import report
from ..point_formats.table import needed
from .grid import Grid, require_affine, require_shape, upright

EXTRA = "volumes"
SUFFIXES = (".dcm", ".dicom", ".ima")
MOST_FILES = 1 << 14
TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])  # DICOM's axes point to the left and to the back
UNEVEN = 0.05  # of the spacing of slices


def is_dicom(path: Path) -> bool:
    """Whether a file begins as a DICOM file does; false for what cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(132)[128:] == b"DICM"
    except OSError:
        return False


def read(path: Path, frame: int = 0) -> Grid:
    """The volume of the series to which a file belongs, of the files in its folder. Raises `InputError`.

    Links that lead out of the folder are not followed.
    """
    pydicom = needed(path, "pydicom", EXTRA, "a DICOM file")
    with _understood(path):
        first = pydicom.dcmread(path, stop_before_pixels=True)
        series = str(first.get("SeriesInstanceUID", ""))
    slices = _slices(pydicom, path, series)
    if len(slices) < 2:
        raise InputError(f"{path}: is a single slice; its folder has no other of the same series")
    slices.sort(key=lambda one: one[0])
    with _understood(path):
        return _grid(pydicom, path, slices)


def _slices(pydicom: Any, path: Path, series: str) -> list[tuple[float, Path]]:
    """The position of each slice of the series along their normal, and its file."""
    folder, found = path.resolve().parent, []
    files = [file for file in sorted(folder.iterdir()) if file.resolve().parent == folder and file.is_file()]
    for number, file in enumerate(files[:MOST_FILES]):
        report(f"reading {folder.name}", 0.3 * number, len(files))
        if not is_dicom(file):
            continue
        with _understood(file):
            head = pydicom.dcmread(file, stop_before_pixels=True)
            if str(head.get("SeriesInstanceUID", "")) == series:
                right, down = np.reshape(np.array(head.ImageOrientationPatient, float), (2, 3))
                found.append((float(np.cross(right, down) @ np.array(head.ImagePositionPatient, float)), file))
    return found


def _grid(pydicom: Any, path: Path, slices: list[tuple[float, Path]]) -> Grid:
    first = pydicom.dcmread(slices[0][1], stop_before_pixels=True)
    rows, columns = int(first.Rows), int(first.Columns)
    if int(first.get("SamplesPerPixel", 1)) != 1 or int(first.get("NumberOfFrames", 1)) != 1:
        raise InputError(f"{path}: has colors or several frames in a file; slices with one number for a pixel are read")
    require_shape(path, (columns, rows, len(slices)), 1, sum(file.stat().st_size for _, file in slices))
    positions = np.array([position for position, _ in slices])
    steps = np.diff(positions)
    if not steps.min() > 0 or np.ptp(steps) > UNEVEN * steps.mean():
        raise InputError(
            f"{path}: its slices are not at even distances ({steps.min():.4g} to {steps.max():.4g}): some are missing, "
            "or twice there"
        )
    values = np.empty((columns, rows, len(slices)), np.float32)
    for number, (_, file) in enumerate(slices):
        report(f"reading {path.parent.name}", 0.3 + 0.7 * number / len(slices), 1.0)
        with _understood(file):
            values[:, :, number] = _pixels(pydicom, file, rows, columns).T
    right, down = np.reshape(np.array(first.ImageOrientationPatient, float), (2, 3))
    along_rows, along_columns = (float(part) for part in first.PixelSpacing)  # between rows, and between columns
    affine = np.eye(4)
    affine[:3, :3] = np.stack([right * along_columns, down * along_rows, np.cross(right, down) * steps.mean()], axis=1)
    affine[:3, 3] = np.array(first.ImagePositionPatient, float)
    found, affine = upright(values, require_affine(path, TO_RAS @ affine))
    return Grid(np.ascontiguousarray(found), affine, "mm", "HU" if str(first.get("Modality", "")) == "CT" else "")


def _pixels(pydicom: Any, file: Path, rows: int, columns: int) -> np.ndarray:
    one = pydicom.dcmread(file)
    if (int(one.Rows), int(one.Columns)) != (rows, columns):
        raise InputError(f"{file}: has {one.Rows} × {one.Columns} pixels, others of its series {rows} × {columns}")
    if not one.file_meta.TransferSyntaxUID.is_compressed and len(one.PixelData) < rows * columns:
        raise InputError(f"{file}: has {len(one.PixelData):,} bytes of pixels; the file is truncated")
    pixels = one.pixel_array
    if pixels.shape != (rows, columns):
        raise InputError(f"{file}: has pixels of the shape {pixels.shape}, expected {(rows, columns)}")
    slope, intercept = float(one.get("RescaleSlope", 1.0)), float(one.get("RescaleIntercept", 0.0))
    if not np.isfinite([slope, intercept]).all():
        raise InputError(f"{file}: the rescaling of its values is not finite")
    return pixels.astype(np.float32) * np.float32(slope) + np.float32(intercept)


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """What pydicom raises, as an `InputError`: its errors for damaged files are of many kinds."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if type(error).__name__ == "Cancelled":
            raise
        raise InputError(f"{path}: not a readable DICOM file ({str(error) or type(error).__name__})") from error
