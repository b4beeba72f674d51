"""Damaged files of every type load, or raise a Vertigrad error that names the file: never anything else.

The same few hundred at every run; with VERTIGRAD_EXPLORE more of the seed VERTIGRAD_SEED. Failing files are saved in
tests/fuzz/saved/ and tested in every later run.
"""

from __future__ import annotations

import hashlib
import io
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import trimesh
from onnx import helper, numpy_helper
from PIL import Image
from tests.models.footage import CODECS, film, frames

from vertigrad import resources
from vertigrad.errors import VertigradError
from vertigrad.gpu import Gpu
from vertigrad.models.data import mesh_file, splat_file
from vertigrad.models.data.clip import Clip
from vertigrad.models.data.footage import Stills
from vertigrad.onnx_import import Network
from vertigrad.scene import load

from .damage import damaged
from .splats import splat_files

SAVED = Path(__file__).parent / "saved"
SEED = int(os.environ.get("VERTIGRAD_SEED", "1"))
TRIES = {"scene": 150, "mesh": 1000, "network": 60, "splats": 150, "image": 1000, "video": 200}
LONGEST = 20.0  # seconds for a file of a few kilobytes, on a busy machine
MORE = 10 if "VERTIGRAD_EXPLORE" in os.environ else 1


def scene_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(resources.path("scenes").glob("*.toml"))}


def mesh_files() -> dict[str, bytes]:
    shape = trimesh.creation.icosphere(subdivisions=1)
    return {f"sphere.{kind}": _bytes(shape.export(file_type=kind)) for kind in ("ply", "obj", "stl", "glb", "off")}


def image_files() -> dict[str, bytes]:
    pixels = np.random.default_rng(2).integers(0, 255, (12, 16, 3), np.uint8)
    stored = {kind: io.BytesIO() for kind in ("png", "jpeg", "webp", "bmp", "tiff")}
    for kind, file in stored.items():
        Image.fromarray(pixels).save(file, kind)
    return {f"square.{kind}": file.getvalue() for kind, file in stored.items()}


def video_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [film(Path(folder) / f"clip{kind}", frames(8)) for kind in CODECS]
        return {path.name: path.read_bytes() for path in paths}


def network_files() -> dict[str, bytes]:
    weights = np.random.default_rng(1).normal(size=(3, 2, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Reshape", ["b", "shape"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"], axis=-1),
    ]
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.array([1, -1]), "shape")]
    inputs = [helper.make_tensor_value_info("x", 1, [1, 2, 4, 4])]
    outputs = [helper.make_tensor_value_info("y", 1, [1, 48])]
    model = helper.make_model(
        helper.make_graph(nodes, "net", inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )
    onnx.checker.check_model(model)
    return {"net.onnx": model.SerializeToString()}


def _bytes(exported: str | bytes) -> bytes:
    return exported.encode() if isinstance(exported, str) else exported


def open_scene(path: Path) -> None:
    load(path)


def open_mesh(path: Path) -> None:
    mesh = mesh_file.read(path, 1.0, "y", 30.0)
    assert mesh.index.max() < len(mesh.positions)


def open_image(path: Path) -> None:
    stills = Stills(path)
    (frame,) = stills.frames(0)
    assert frame.shape == (stills.rows, stills.columns, 3)


def open_video(path: Path) -> None:
    clip = Clip(path)
    shown = list(clip.frames(0))
    assert len(shown) == clip.count and {frame.shape for frame in shown} == {(clip.rows, clip.columns, 3)}


def open_splats(path: Path) -> None:
    splats = splat_file.read(path)
    assert splats.is_finite().all() and len(splats.position)


def open_network(path: Path) -> None:
    with Network(path) as network:
        network.program({"x": np.zeros((1, 2, 4, 4), np.float32)})


KINDS: dict[str, tuple[Callable[[], dict[str, bytes]], Callable[[Path], None], tuple[str, ...]]] = {
    "scene": (scene_files, open_scene, (".toml",)),
    "mesh": (mesh_files, open_mesh, (".obj", ".off")),
    "network": (network_files, open_network, ()),
    "splats": (splat_files, open_splats, ()),
    "image": (image_files, open_image, ()),
    "video": (video_files, open_video, ()),
}


def opened(open_: Callable[[Path], None], path: Path) -> None:
    """Open a file that may be damaged; its errors name it."""
    try:
        open_(path)
    except VertigradError as error:
        assert str(error).strip(), "an error without a message"


@pytest.mark.turns(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_raises_a_vertigrad_error(kind: str, steady: Gpu, tmp_path: Path) -> None:
    make, open_, of_text = KINDS[kind]
    files, chance = make(), random.Random(f"{kind} {SEED}")
    for number in range(TRIES[kind] * MORE):
        name = chance.choice(sorted(files))
        data = damaged(files[name], chance, name.endswith(of_text) if of_text else False)
        path = tmp_path / f"{number}_{name}"
        path.write_bytes(data)
        began = time.monotonic()
        try:
            opened(open_, path)
            assert time.monotonic() - began < LONGEST
        except Exception as error:
            file = SAVED / kind / f"{hashlib.sha256(data).hexdigest()[:12]}_{name}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            error.add_note(f"the file is kept as {file}")
            raise
        path.unlink()


@pytest.mark.parametrize("path", sorted(SAVED.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_files_that_failed_before_are_handled(path: Path, steady: Gpu, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    opened(KINDS[path.parent.name][1], copy)
