"""Small files of every format that can be opened, and what their scenes have."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from tests.fuzz import scans
from tests.fuzz.splats import splat_files
from tests.models.colmap_files import Reconstruction, binary_files, write
from tests.models.footage import film, frames
from tests.models.vdb_files import vdb_file

from vertigrad import resources


def data(name: str) -> Callable[[Path], None]:
    """A file that comes with Vertigrad."""
    return lambda path: shutil.copy(resources.path("assets", "data", name), path) and None


def content(files: Callable[[], dict[str, bytes]], name: str) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(files()[name]) and None


@cache
def _ball(kind: str) -> bytes:
    exported = trimesh.creation.icosphere(subdivisions=1).export(file_type=kind)
    return exported.encode() if isinstance(exported, str) else exported


def mesh(path: Path) -> None:
    path.write_bytes(_ball(path.suffix[1:]))


def obj_with_mtl(path: Path) -> None:
    path.with_suffix(".mtl").write_text("newmtl a\nKd 1 0 0\n")
    path.write_bytes(f"mtllib {path.stem}.mtl\nusemtl a\n".encode() + _ball("obj"))


def array(path: Path) -> None:
    np.save(path, np.random.default_rng(1).random((6, 5, 4)).astype(np.float32))


def image(path: Path) -> None:
    Image.new("RGB", (8, 6), (200, 40, 30)).save(path)


def video(path: Path) -> None:
    film(path, frames(4))


def recording(path: Path) -> None:
    pytest.importorskip("zarr")
    from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter

    text = 'version = 1\n[models.a]\ntype = "nbody"\n[layers.a]\ntype = "points"\nposition = "a.star_position"\n'
    tensors = {"a.star_position": RecordedTensor((9, 3), "f32")}
    writer = RecordingWriter(path, tensors, Recorded("a", 0.0, 1 / 60, text), 2)
    for _ in range(2):
        writer.add({"a.star_position": np.random.default_rng(1).random((9, 3)).astype(np.float32)})
    writer.close()


def zarr_volume(path: Path) -> None:
    """A volume of OME-Zarr, with a coarser level, in chunks."""
    zarr = pytest.importorskip("zarr")
    values = np.random.default_rng(3).integers(0, 900, (2, 6, 5, 4), np.uint16)
    levels = [
        {"path": name, "coordinateTransformations": [{"type": "scale", "scale": [1, *scale]}]}
        for name, scale in (("0", (2.0, 0.5, 0.5)), ("1", (4.0, 1.0, 1.0)))
    ]
    axes = [{"name": "t"}, *({"name": name, "unit": "micrometer"} for name in "zyx")]
    attributes = {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}}
    group = zarr.create_group(path, zarr_format=3, attributes=attributes)
    for name, step in (("0", 1), ("1", 2)):
        part = values[:, ::step, ::step, ::step]
        group.create_array(name, shape=part.shape, dtype=part.dtype, chunks=(1, 2, 3, 4))[:] = part


def photos(path: Path) -> None:
    path.mkdir()
    camera = {1: ("PINHOLE", 16, 12, (14.0, 14.0, 8.0, 6.0))}
    poses = [((1.0, 0.0, 0.1 * at, 0.0), (0.0, 0.0, 3.0), 1, f"{at}.png") for at in range(3)]
    xyz = np.random.default_rng(2).normal(size=(30, 3))
    write(path, binary_files(Reconstruction(camera, poses, xyz, np.full((30, 3), 99, np.uint8))))
    (path / "images").mkdir()
    for at in range(3):
        Image.new("RGB", (16, 12), (40 * at, 90, 60)).save(path / "images" / f"{at}.png")


def dicom(path: Path) -> None:
    pytest.importorskip("pydicom")
    path.mkdir()
    for at in range(3):
        (path / f"{at}.dcm").write_bytes(scans.dicom_slice(at))


FILES: dict[str, tuple[Callable[[Path], None], str]] = {  # with the model that reads them
    **{f"mesh.{kind}": (mesh, "mesh") for kind in ("obj", "off", "stl", "ply")},
    "asset.glb": (data("jellyfish.glb"), "asset"),
    "asset.obj": (obj_with_mtl, "asset"),
    **{f"splats_{name}": (content(splat_files, name), "splats") for name in ("a.ply", "a.splat", "a.spz")},
    **{f"points_{name}": (content(scans.point_files, name), "point_cloud") for name in scans.POINT_NAMES},
    **{
        f"volume_{name}": (content(scans.volume_files, name), "volume")
        for name in scans.VOLUME_NAMES
        if not name.endswith("dcm")
    },
    "volume_fog.vdb": (lambda path: path.write_bytes(vdb_file("fog")) and None, "volume"),
    "stack.zarr": (zarr_volume, "volume"),
    "series": (dicom, "volume"),
    "photos": (photos, "splat_photos"),
    "array.npy": (array, "array"),
    "image.png": (image, "image"),
    "video.mp4": (video, "video"),
    "run.vgz": (recording, "recording"),
    "run.zarr": (recording, "recording"),
}
