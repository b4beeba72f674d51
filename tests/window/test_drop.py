"""Files dragged onto the window: scenes and data are opened, others are rejected with a list of the types."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from vertigrad import resources, slices
from vertigrad.errors import InputError
from vertigrad.models.data.point_formats import table
from vertigrad.panels import capture
from vertigrad.scene.kinds import MESHES, require_scene
from vertigrad.session import loading
from vertigrad.session.commands import SetParameter

from ..onnx_import.networks import layered
from .dragging import drop
from .driver import Driver, Items

pytestmark = pytest.mark.usefixtures("small_scenes")

Opened = Callable[..., Driver]


def test_a_dropped_scene_is_opened_and_listed_as_recent(opened: Opened, packaged_copy):
    scene = packaged_copy("neural_field")
    scene = scene.rename(scene.with_name("mit Ümläut & blank.toml"))
    driver = opened("nbody", "galaxy.count=64", size=(400, 300))
    drop(driver.desktop, driver.window, [scene], driver.viewer.frame)
    driver.frames()
    assert driver.session.scene.path == scene and not driver.session.messages
    assert driver.viewer.gui.workspace.recent == [scene]


def test_a_dropped_mesh_is_drawn(opened: Opened, tmp_path: Path):
    mesh = Path(shutil.copy(resources.path("assets", "data", "knot.ply"), tmp_path))
    driver = opened("nbody", "galaxy.count=64", size=(300, 200))
    drop(driver.desktop, driver.window, [mesh], driver.viewer.frame)
    driver.frames()
    assert driver.session.scene.path == mesh and not driver.session.messages
    assert driver.session.stage.layers["mesh"].report()["index"]["tensor"] == "mesh.index"


def test_of_several_files_the_first_is_opened_and_that_is_reported(opened: Opened, tmp_path: Path):
    scenes = [Path(shutil.copy(resources.path("scenes", "nbody.toml"), tmp_path / f"{name}.toml")) for name in "ab"]
    driver = opened("nbody", "galaxy.count=64", size=(300, 200))
    drop(driver.desktop, driver.window, scenes, driver.viewer.frame)
    driver.frames()
    assert driver.session.scene.path == scenes[0]
    assert any("2 files were dropped" in line.text for line in driver.viewer.gui.journal.lines)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bunny.obj", "bunny.obj: has no triangles"),
        ("net.ONNX", "net.ONNX: not an ONNX file"),
        ("notes.txt", 'notes.txt: Vertigrad does not know files of the kind ".txt"'),
        ("folder", "folder: this is not a file of a known kind"),
        ("broken.toml", "broken.toml:1:"),
    ],
)
def test_an_unsupported_file_is_rejected_and_the_scene_continues(
    opened: Opened, tmp_path: Path, name: str, message: str
):
    file = tmp_path / name
    file.mkdir() if name == "folder" else file.write_text("][")
    driver = opened("nbody", "galaxy.count=64", size=(300, 200), playing=True)
    drop(driver.desktop, driver.window, [file], driver.viewer.frame)
    driver.frames()
    assert message in driver.session.messages["scene"]
    if not name.endswith((".toml", ".ONNX", ".obj")):
        assert "what can be opened is a scene (.toml)" in driver.session.messages["scene"]
    before = driver.session.time
    driver.frames()
    assert driver.session.scene.path.stem == "nbody" and driver.session.time > before
    assert not driver.viewer.gui.workspace.recent


def test_a_file_that_cannot_be_opened_does_not_ask_about_unsaved_changes(opened: Opened, packaged_copy, tmp_path):
    driver = opened(packaged_copy("nbody"), "galaxy.count=64", size=(300, 200))
    driver.session.post(SetParameter("models.galaxy", "softening", 0.3))
    driver.frames()
    assert driver.session.unsaved
    drop(driver.desktop, driver.window, [tmp_path / "mesh.fbx"], driver.viewer.frame)
    driver.frames()
    assert driver.session.questions.first is None and "mesh.fbx" in driver.session.messages["scene"]
    drop(driver.desktop, driver.window, [resources.path("scenes", "neural_field.toml")], driver.viewer.frame)
    driver.frames()
    assert driver.session.questions.first is not None and driver.session.scene.path.stem == "nbody"


@pytest.mark.parametrize("suffix", [*sorted(MESHES), ".toml", ".onnx"])
def test_every_supported_file_type(suffix: str):
    require_scene(Path(f"/a/b/x{suffix.upper()}"))
    with pytest.raises(InputError, match=f"x.fbx: .*a scene .*{suffix}"):
        require_scene(Path("/a/b/x.fbx"))


def test_a_large_file_is_read_while_the_window_goes_on_and_can_be_canceled(
    opened: Opened, items: Items, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "LARGE", 0)
    hold, wait = threading.Event(), table.PointTable.require_count
    monkeypatch.setattr(table.PointTable, "require_count", lambda self: (hold.wait(30), wait(self)))
    cloud = tmp_path / "scan.npy"
    np.save(cloud, np.random.default_rng(1).uniform(-1, 1, (3000, 3)))
    driver = opened("nbody", "galaxy.count=64", size=(700, 500), playing=True)
    drop(driver.desktop, driver.window, [cloud], driver.viewer.frame)
    driver.frames_until(lambda: driver.session.loading is not None)
    frame = driver.session.frame
    driver.frames(10)
    assert driver.session.frame >= frame + 10 and driver.session.scene.path != cloud, "the simulation goes on"
    driver.click(items.at("##cancel loading"))
    driver.frames_until(lambda: driver.session.loading is None)
    drop(driver.desktop, driver.window, [cloud], driver.viewer.frame)
    hold.set()
    driver.frames_until(lambda: driver.session.scene.path == cloud, most=2000)
    assert not driver.session.messages


@pytest.mark.turns(2)
def test_a_dropped_network_is_recorded_while_frames_are_drawn_and_escape_cancels(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "LARGE_NETWORK", 0)
    monkeypatch.setattr(slices, "MOST", slices.LEAST)
    network = tmp_path / "deep.onnx"
    onnx.save(layered(400), network)
    driver = opened("nbody", "galaxy.count=64", size=(500, 300), playing=True)
    session, texts = driver.session, []
    monkeypatch.setattr(capture, "_draw_progress", lambda name, part, *more: texts.append((name, part)))

    def recorded_frames() -> list[float]:
        """Drop it; how long each frame took in which its bar was drawn."""
        drop(driver.desktop, driver.window, [network], driver.viewer.frame)
        driver.frames_until(lambda: session.loading is not None and "nodes" in session.loading.what, most=2000)
        times: list[float] = []
        while session.loading is not None and len(times) < 8:
            begun, frame = time.perf_counter(), session.frame
            driver.viewer.frame()
            times.append(time.perf_counter() - begun)
            assert session.frame > frame or session.loading is None, "the simulation goes on until the network is open"
        return times

    assert len(recorded_frames()) == 8
    driver.key("Escape")
    assert session.loading is None and session.scene.path.stem == "nbody" and not session.messages
    texts.clear()
    assert max(recorded_frames()) < 1.0  # 0.1 s are for recording; of all it takes seconds
    driver.frames_until(lambda: session.scene.path == network, most=2000)
    parts = [part for name, part in texts if "nodes" in name]
    assert not session.messages and parts == sorted(parts) and len(set(parts)) > 5
