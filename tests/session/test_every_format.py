"""Every format opens alike: dropped on the window, by `vertigrad run`, by `viewer.load`, and as a model in a scene."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import vertigrad as vg
from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.scene import Scene, load
from vertigrad.scene.kinds import DATA
from vertigrad.scene.packaged import data_file, scene_path
from vertigrad.session import Session
from vertigrad.session.commands import Open
from vertigrad.session.naming import moved
from vertigrad.tensor import Tensor

from .data_files import FILES

SIZE = (48, 32)


@pytest.fixture(scope="module")
def session(gpu: Gpu) -> Iterator[Session]:
    with Session(gpu, scene_path("mesh")) as one:
        yield one


@pytest.fixture(scope="module")
def viewer(gpu: Gpu) -> Iterator[vg.Viewer]:
    with vg.Viewer("formats", SIZE, offscreen=True) as one:
        yield one


def outputs(scene: Scene) -> dict[str, dict[str, tuple[int | None, ...]]]:
    return {name: {key: spec.shape for key, spec in model.outputs.items()} for name, model in scene.models.items()}


def values(session: Session, model: str) -> dict[str, np.ndarray]:
    found: dict[str, Tensor] = session.stage.instances[model].outputs  # type: ignore[assignment]
    return {name: tensor.numpy() for name, tensor in found.items()}


def as_a_model(path: Path, run: Scene) -> str:
    """A scene next to the file that names it in a model, with the same parameters and a layer."""
    lines = [line for line in run.source_map.text.splitlines() if not line.startswith(("title", "description"))]
    inside = path / data_file(path).name if path.is_dir() and data_file(path) != path else path
    return "\n".join(lines).replace(f'"{run.path.name}"', f'"{inside.relative_to(path.parent).as_posix()}"')


@pytest.mark.parametrize("name", FILES)
def test_a_format_opens_alike_in_every_way(name: str, session: Session, viewer: vg.Viewer, tmp_path: Path) -> None:
    make, kind = FILES[name]
    path = tmp_path / name
    make(path)
    session.post(Open(path))  # as a drop on the window
    session.apply()
    assert not session.messages and session.scene.path == data_file(path), session.messages
    assert next(spec.type for spec in session.scene.models.values()) == kind
    run = load(scene_path(str(path)))  # as `vertigrad run`
    assert run.source_map.text == session.scene.source_map.text
    scene = tmp_path / "scene.toml"
    scene.write_text(as_a_model(path, run))
    assert outputs(load(scene)) == outputs(run)
    names = moved(load(scene), (), tmp_path.parent).values()  # of a copy of the scene in another folder
    assert [(tmp_path.parent / one).resolve() for one in names] == [spec.params.file for spec in run.models.values()]

    before = set(viewer.session.scene.layers)
    layers = viewer.load(path)
    assert layers.keys() == run.layers.keys() and before.isdisjoint(one.name for one in layers.values())
    loaded = {name: spec.type for name, spec in viewer.session.scene.models.items() if name != "controls"}
    assert sorted(loaded.values()) == sorted(spec.type for spec in run.models.values())
    for (first, shown), dropped in zip(loaded.items(), session.scene.models, strict=True):
        if shown == "splat_photos":  # which has learned a bit
            continue
        for key, expected in values(session, dropped).items():
            np.testing.assert_array_equal(values(viewer.session, first)[key], expected)
    for layer in layers.values():
        layer.remove()
    for model in loaded:
        viewer.remove(model)


def test_every_kind_of_data_file_is_among_them() -> None:
    kinds = {Path(name).suffix for name in FILES} | {".json", ".dcm"}  # of folders
    alike = {  # read by the same library as one of these
        *(".jpeg", ".jpg", ".bmp", ".tif", ".tiff", ".webp", ".m4v", ".mkv", ".mov", ".webm", ".gif"),
        *(".dicom", ".ima", ".gltf"),
    }
    assert DATA - {".onnx"} - alike <= kinds, "a network is tested in tests/onnx_import"


def test_the_first_file_brings_its_camera_and_view(viewer: vg.Viewer, tmp_path: Path) -> None:
    make, _ = FILES["volume_b.nrrd"]
    path = tmp_path / "a.nrrd"
    make(path)
    viewer.load(path, name="scan")
    assert viewer.camera()["up"] == "z" and viewer.session.view.background == load(path).view.background
    assert viewer.image().std() > 0.5
    viewer.load(path, name="scan")  # in place of it
    assert list(viewer.session.scene.layers) == ["scan"]
    viewer.remove("scan")
    viewer.remove("scan_data")


def test_a_scene_that_is_saved_elsewhere_names_its_light(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    shutil.copy(resources.path("assets", "data", "studio.hdr"), tmp_path / "inner" / "own.hdr")
    scene = tmp_path / "inner" / "a.toml"
    text = '[models.a]\ntype = "mesh"\n[view]\nenvironment = "image"\nenvironment_file = "own.hdr"\n'
    scene.write_text(f"version = 1\n{text}")
    assert moved(load(scene), (), tmp_path) == {("view", "environment_file"): "inner/own.hdr"}


def test_a_scene_and_its_files_are_loaded_from_another_folder(viewer: vg.Viewer, tmp_path: Path) -> None:
    layers = viewer.load("village")
    assert list(layers) == ["points"] and layers["points"].size == pytest.approx(0.0115)
    layers["points"].size = 0.02
    assert viewer.image().std() > 5.0
    with pytest.raises(vg.errors.InputError, match=r"no such file|neither a file"):
        viewer.load(tmp_path / "missing.ply")
    assert list(viewer.session.scene.layers) == ["village"]
