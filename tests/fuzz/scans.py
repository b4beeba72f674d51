"""Small files of points and of volumes in every format, with the same values."""

from __future__ import annotations

import io
from functools import cache

import laspy
import nibabel
import nrrd
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pydicom

from vertigrad.models.data import ply

COUNT = 300
UTM = np.array([448_262.25, 5_411_932.5, 310.0])  # somewhere in zone 32
RNG = np.random.default_rng(4)
XYZ = UTM + RNG.uniform(0, 50, (COUNT, 3)).round(3)
RGB = RNG.integers(0, 256, (COUNT, 3)).astype(np.uint8)
CLASSES = RNG.integers(0, 9, COUNT).astype(np.uint8)
INTENSITY = RNG.integers(0, 40_000, COUNT).astype(np.uint16)
POINT_NAMES = ("a.ply", "a.las", "a.laz", "a.npy", "a.npz", "a.csv", "a.parquet")


def table(xyz: np.ndarray = XYZ) -> dict[str, np.ndarray]:
    """All columns by name."""
    axes, colors = dict(zip("xyz", xyz.T, strict=True)), dict(zip(("red", "green", "blue"), RGB.T, strict=True))
    return {**axes, **colors, "classification": CLASSES, "intensity": INTENSITY}


def point_file(name: str, xyz: np.ndarray = XYZ) -> bytes:
    """The content of a file of this name."""
    columns = table(xyz)
    dtype = np.dtype([(key, column.dtype) for key, column in columns.items()])
    rows = np.empty(COUNT, dtype)
    for key, column in columns.items():
        rows[key] = column
    file = io.BytesIO()
    match name.rpartition(".")[2]:
        case "ply":
            head = "".join(f"property {_PLY[kind[1:]]} {key}\n" for key, kind in dtype.descr)
            return f"ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\n{head}end_header\n".encode() + (
                rows.tobytes()
            )
        case "las" | "laz":
            header = laspy.LasHeader(point_format=7, version="1.4")
            header.scales, header.offsets = [0.001] * 3, UTM
            las = laspy.LasData(header)
            las.x, las.y, las.z = XYZ.T
            las.red, las.green, las.blue = RGB.T.astype(np.uint16)  # 8 bits in 16, as many programs write it
            las.classification, las.intensity = CLASSES, INTENSITY
            las.write(file, do_compress=name.endswith("z"))
        case "npy":
            np.save(file, rows)
        case "npz":
            np.savez(file, points=xyz, colors=RGB, classification=CLASSES, intensity=INTENSITY)
        case "csv":
            pyarrow.csv.write_csv(pa.table(columns), file)
        case "parquet":
            pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


@cache
def point_files() -> dict[str, bytes]:
    """The content of a valid file of each format, by its name."""
    return {name: point_file(name) for name in POINT_NAMES}


# volumes ------------------------------------------------------------------------------------------------------------

SHAPE = (7, 6, 5)  # nz, ny, nx
SPACING = (0.5, 0.8, 2.0)  # mm, along x, y, z
ORIGIN = (-20.0, 12.0, 100.0)  # mm, of the first value, as right, anterior, superior
HOUNSFIELD = RNG.integers(-1000, 2000, SHAPE).astype(np.int16)
AFFINE = np.block([[np.diag(SPACING), np.array(ORIGIN)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
VOLUME_NAMES = ("a.nrrd", "b.nrrd", "a.nii", "a.nii.gz", "a.dcm")
SLICES = SHAPE[0]


def volume_file(name: str, values: np.ndarray = HOUNSFIELD, affine: np.ndarray = AFFINE) -> bytes:
    """The content of a file of this name; of a DICOM series, its first slice. `values` (nz, ny, nx)."""
    stored = np.ascontiguousarray(values.transpose(2, 1, 0))
    file = io.BytesIO()
    if name.endswith("nrrd"):
        lps = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
        header = {
            **{"space": "left-posterior-superior", "space directions": lps[:3, :3].T, "space origin": lps[:3, 3]},
            **{"space units": ["mm"] * 3, "encoding": "gzip" if name.startswith("b") else "raw"},
        }
        nrrd.write(file, stored, header)
    elif ".nii" in name:
        image = nibabel.Nifti1Image(stored, affine)
        image.header.set_xyzt_units("mm")
        kind = nibabel.Nifti1Image
        content = kind.to_bytes(image)
        if name.endswith("gz"):
            import gzip

            content = gzip.compress(content, 1)
        file.write(content)
    else:
        file.write(dicom_slice(0, values, affine))
    return file.getvalue()


def dicom_slice(number: int, values: np.ndarray = HOUNSFIELD, affine: np.ndarray = AFFINE) -> bytes:
    """A slice of a CT, seen from the feet: its rows run to the front, its columns to the left of the patient."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.TransferSyntaxUID = CTImageStorage, ExplicitVRLittleEndian
    meta.MediaStorageSOPInstanceUID = f"1.2.3.{number}"
    one = FileDataset("", {}, file_meta=meta, preamble=bytes(128))
    one.SOPClassUID, one.SOPInstanceUID, one.SeriesInstanceUID = CTImageStorage, f"1.2.3.{number}", "1.2.3"
    one.Modality, one.SamplesPerPixel, one.PhotometricInterpretation = "CT", 1, "MONOCHROME2"
    _, one.Rows, one.Columns = values.shape
    one.BitsAllocated = one.BitsStored = 16
    one.HighBit, one.PixelRepresentation = 15, 0
    one.RescaleSlope, one.RescaleIntercept = 1, -1024
    step = np.diag(affine)
    one.PixelSpacing = [step[1], step[0]]
    one.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]  # to the left, to the back
    last = affine @ (values.shape[2] - 1, values.shape[1] - 1, number, 1)  # the upper left of what is stored
    one.ImagePositionPatient = [-last[0], -last[1], last[2]]
    one.PixelData = (values[number, ::-1, ::-1].astype(np.int32) + 1024).astype("<u2").tobytes()
    file = io.BytesIO()
    pydicom.dcmwrite(file, one, enforce_file_format=True)
    return file.getvalue()


@cache
def volume_files() -> dict[str, bytes]:
    """The content of a valid file of each format, by its name."""
    return {name: volume_file(name) for name in VOLUME_NAMES}


_PLY = {kind: name for name, kind in ply.TYPES.items()}
