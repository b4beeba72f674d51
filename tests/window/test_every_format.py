"""A file of every format, dropped on one window: it opens without a message, and is drawn whole and in the middle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.fuzz.splats import splat_files
from tests.fuzz.test_files import network_files
from tests.session.data_files import FILES, content, data

from vertigrad.scene.packaged import data_file

from .dragging import drop
from .driver import Driver

Opened = Callable[..., Driver]
SIZE = (300, 200)
ALIKE = {  # opened by the same reader as others, in a scene of the same kind
    *("mesh.obj", "mesh.off", "mesh.ply", "points_a.npz", "points_a.laz", "points_a.parquet", "volume_b.nrrd"),
    *("volume_a.nii", "run.zarr"),
}
DROPPED = {name: make for name, (make, _) in FILES.items() if name not in ALIKE} | {
    "splats_a.compressed.ply": content(splat_files, "a.compressed.ply"),
    "network.onnx": content(network_files, "net.onnx"),
}
DROPPED["photos"] = DROPPED.pop("photos")  # last: the drop after it would wait for one of its slow frames


def drop_on(driver: Driver, path: Path) -> np.ndarray:
    drop(driver.desktop, driver.window, [path], driver.viewer.frame)
    driver.frames_until(lambda: driver.session.scene.path == data_file(path))
    assert not driver.session.messages, path.name
    return driver.grab().astype(int)


def test_every_format_dropped_on_a_window_is_drawn(opened: Opened, tmp_path: Path) -> None:
    driver = opened("mesh", size=SIZE, panels=False)
    for name, make in DROPPED.items():
        path = tmp_path / name
        make(path)
        image = drop_on(driver, path)
        drawn = (np.abs(image - image[2, 2]) > 12).any(axis=2)
        if name == "photos":  # the camera is among its splats
            assert drawn.mean() > 0.5
            continue
        assert 30 < np.count_nonzero(drawn) < 0.6 * drawn.size, name
        assert not drawn[[0, -1]].any() and not drawn[:, [0, -1]].any(), name
        rows, columns = np.nonzero(drawn)
        middle = 0.5 * np.array([columns.min() + columns.max(), rows.min() + rows.max()])
        assert (np.abs(middle / SIZE - 0.5) < 0.12).all(), name


def test_an_image_of_light_lights_the_scene_that_is_there(opened: Opened, tmp_path: Path) -> None:
    """Also if it cannot be read: then nothing changes."""
    driver = opened("nbody", "galaxy.count=64", size=SIZE, panels=False)
    before, scene = driver.grab(), driver.session.scene.path
    data("studio.hdr")(tmp_path / "own.hdr")
    drop(driver.desktop, driver.window, [tmp_path / "own.hdr"], driver.viewer.frame)
    driver.frames()
    lit = driver.grab()
    assert driver.session.scene.path == scene and not driver.session.messages
    assert lit.mean() > before.mean() + 40.0
    driver.key("ctrl+z")
    np.testing.assert_array_equal(driver.grab(), before)
    (tmp_path / "bad.exr").write_bytes(b"no light")
    drop(driver.desktop, driver.window, [tmp_path / "bad.exr"], driver.viewer.frame)
    driver.frames()
    assert "bad.exr: cannot be read as an image of light" in driver.session.messages["scene"]
    assert driver.session.view.environment == "gradient"
