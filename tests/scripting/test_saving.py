"""`Viewer.save`: the scene file gives the image of the viewer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import InputError, VertigradError
from vertigrad.gpu import Gpu
from vertigrad.models.custom_model import CustomModel
from vertigrad.params import Params, number
from vertigrad.scene import Animation, load
from vertigrad.session.commands import AddBookmark, SetKeyframe
from vertigrad.session.parameters import Key

from .conftest import SIZE
from .test_viewer import ATTRIBUTES, POINTS

RAIN = """
import numpy as np
from vertigrad.models import CustomModel
from vertigrad.params import Params, number

class Rain(CustomModel):
    class Params(Params):
        speed: float = number(1.0, min=0.0, max=5.0)
    tensors = {"position": (40, 3)}

    def start(self, random):
        return {"position": random.uniform(-1, 1, (40, 3))}

    def advance(self, dt):
        self.position[:, 1] -= self.params.speed * dt
"""


def same(viewer: vg.Viewer, path: Path) -> bool:
    """Whether the image of the file equals that of the viewer."""
    with vg.Scene.load(path) as scene:
        return np.array_equal(viewer.image(), scene.render(SIZE))


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", sorted(ATTRIBUTES))
def test_every_type_of_layer_is_saved(viewer: vg.Viewer, tmp_path: Path, kind: str) -> None:
    handle = viewer.add(kind, "it", **ATTRIBUTES[kind])
    if kind == "light":  # a scene needs an array
        viewer.points("lit", position=[[0.0, 0.0, 0.0]], size=0.5)
    viewer.camera(position=(0.5, 1, 4))
    assert viewer.save(tmp_path / "a.toml") == tmp_path / "a.toml"
    if kind != "trails":  # which are empty in the first frame
        assert viewer.image().std() > 1
    assert same(viewer, tmp_path / "a.toml")
    assert (tmp_path / "a.npz").exists() and handle.type == kind


def test_a_mesh_with_colors_a_legend_and_a_style(viewer: vg.Viewer, tmp_path: Path) -> None:
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    corners = np.float32([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    viewer.surface(
        "sheet",
        position=corners,
        index=triangles,
        color=corners[:, 0].astype(np.float16),
        colormap="viridis",
        range=(-1, 1),
        colorbar={"title": "x", "unit": "m"},
    )
    viewer.add("image", "photo", pixels=np.uint8([[0, 255], [128, 7]]), placement="behind")
    viewer.view(theme="paper", exposure=1.5, axes=True)
    viewer.labels({"corner": corners[2]})
    viewer.camera(position=(0, 1, 5), fov=40, up="z", bookmarks={"above": {"position": (0, 9, 1), "target": (0, 0, 0)}})
    viewer.slider("rate", 0.5)
    viewer.button("Reset")
    viewer.plot("loss", [1, 2, 3])
    viewer.save(tmp_path / "a.toml")
    assert same(viewer, tmp_path / "a.toml")
    scene = load(tmp_path / "a.toml")
    assert set(scene.models) == {"sheet_position", "sheet_index", "sheet_color", "photo_pixels"}
    assert list(scene.bookmarks) == ["above"] and scene.camera.up == "z"
    assert "rate" not in (tmp_path / "a.toml").read_text()


def test_tensors_are_saved_with_their_current_values(viewer: vg.Viewer, tmp_path: Path) -> None:
    with vg.Tensor.from_numpy(POINTS) as mine:
        cloud = viewer.points("cloud", position=mine, size=0.1)
        viewer.camera(position=(0, 0, 6))
        cloud.size = 0.2
        mine.mul_(1.5)
        viewer.save(tmp_path / "a.toml")
        assert same(viewer, tmp_path / "a.toml")
        mine.mul_(0.5)
        with pytest.raises(InputError, match=r"a\.toml exists already"):
            viewer.save(tmp_path / "a.toml")
        assert not same(viewer, tmp_path / "a.toml")
        viewer.save(tmp_path / "a.toml", overwrite=True)
        assert same(viewer, tmp_path / "a.toml")


def test_models_keep_their_parameters(viewer: vg.Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rain.py").write_text(RAIN)
    from vertigrad.scene import trust

    trust.allow([tmp_path / "rain.py"])
    with vg.Viewer("models", SIZE, offscreen=True) as viewer:
        viewer.add_model("rain.py:Rain", "rain", speed=2.0, seed=3)
        viewer.add_model("flock", "birds", count=64, seed=5)
        viewer.points("drops", position="rain.position", size=0.05)
        viewer.points("birds_drawn", position="birds.position", color="birds.speed", size=0.05)
        viewer.session.running.assign({next(k for k in keys(viewer) if k.name == "speed"): 0.25})
        viewer.camera(position=(0, 0, 6))
        viewer.save(tmp_path / "a.toml")
        assert same(viewer, tmp_path / "a.toml")
        assert not (tmp_path / "a.npz").exists()
        (tmp_path / "elsewhere").mkdir()
        with pytest.raises(InputError, match=r"drops \(drawn from the model rain\): .*rain\.py is outside of"):
            viewer.save(tmp_path / "elsewhere" / "a.toml")
        assert not list((tmp_path / "elsewhere").iterdir())
    with vg.Scene.load(tmp_path / "a.toml") as scene:
        assert scene.parameters["models.rain.speed"] == 0.25
        assert scene.parameters["models.birds.count"] == 64
        assert scene.session.stage.specs["rain"].seed == 3


def keys(viewer: vg.Viewer):
    from vertigrad.session.parameters import Key

    return [Key("models.rain", spec.name) for spec in viewer.session.parameters()["models.rain"].specs()]


class Rising(CustomModel):
    class Params(Params):
        speed: float = number(1.0, min=0.0, max=5.0)

    tensors = {"position": (4, 3)}  # noqa: RUF012

    def start(self, random):
        return {}

    def advance(self, dt):
        self.position += dt


def test_viewers_that_cannot_be_saved(viewer: vg.Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is nothing to save"):
        viewer.save(tmp_path / "a.toml")
    with pytest.raises(InputError, match=r"ends in \.toml"):
        viewer.save(tmp_path / "a.npz")
    monkeypatch.setattr(Rising, "__module__", "__main__")
    viewer.add_model(Rising)
    viewer.points("dots", position="rising.position")
    viewer.points("cloud", position=POINTS)
    with pytest.raises(InputError, match=r"dots \(drawn from the model rising\): Rising is defined in the script"):
        viewer.save(tmp_path / "a.toml")
    assert not list(tmp_path.iterdir())


def test_a_class_of_vertigrad_is_named_by_its_type(steady: Gpu, viewer: vg.Viewer, tmp_path: Path) -> None:
    from vertigrad.models.physics.flock import Flock

    viewer.add_model(Flock, "birds", count=32)
    viewer.points("drawn", position="birds.position", size=0.1)
    viewer.save(tmp_path / "a.toml")
    assert load(tmp_path / "a.toml").models["birds"].type == "flock"


def test_keyframes_bookmarks_and_presets_of_the_window_are_saved(viewer: vg.Viewer, tmp_path: Path) -> None:
    viewer.points("cloud", position=POINTS, size=0.1)
    viewer.slider("rate", 0.5)
    viewer.camera(position=(0, 1, 5), target=(0, 0, 0))
    session = viewer.session
    for command in (SetKeyframe(10), AddBookmark("front")):
        session.carry_out(command)
    viewer.keyframe(70, position=(5, 1, 0), fov=30)
    viewer_values = viewer.view(exposure=2.0)
    extras = session.scene_edits.extras.with_preset(
        "large",
        {Key("layers.cloud", "roughness"): 0.25, Key("view", "exposure"): 2.0, Key("models.controls", "rate"): 0.75},
    )
    animations = {Key("view", "exposure"): Animation(range=(0.5, 1.0), shape="ramp")}
    session.scene_edits.change_extras(replace(extras, animations=animations), "preset")
    viewer.save(tmp_path / "a.toml")
    scene = load(tmp_path / "a.toml")
    assert viewer_values["exposure"] == 2.0 and list(scene.bookmarks) == ["front"]
    assert {frame: (view.position, view.fov) for frame, view in scene.keyframes.items()} == {
        10: ((0.0, 1.0, 5.0), 45.0),
        70: ((5.0, 1.0, 0.0), 30.0),
    }
    assert {path: (moves.shape, moves.range) for path, moves in scene.animations.items()} == {
        ("view", "exposure"): ("ramp", (0.5, 1.0))
    }
    assert scene.presets == {"large": {("layers", "cloud", "roughness"): 0.25, ("view", "exposure"): 2.0}}


def test_keyframes_move_the_camera(viewer: vg.Viewer) -> None:
    viewer.points("cloud", position=POINTS)
    viewer.keyframe(0, position=(0, 0, 5), target=(0, 0, 0), fov=40)
    viewer.keyframe(4, position=(0, 0, 9), target=(0, 0, 0))
    found = viewer.keyframes()
    assert list(found) == [0, 4] and found[0]["position"] == [0.0, 0.0, 5.0] and found[0]["fov"] == 40.0
    viewer.remove_keyframe(0)
    assert list(viewer.keyframes()) == [4]
    for call, message in (
        (lambda: viewer.remove_keyframe(7), "no camera keyframe at frame 7"),
        (lambda: viewer.keyframe(-1), "from 0 on"),
        (lambda: viewer.keyframe(1, positon=(0, 0, 1)), "positon"),
        (lambda: viewer.keyframe(1, position=(0, 0)), "position"),
    ):
        with pytest.raises(VertigradError, match=message):
            call()
    assert list(viewer.keyframes()) == [4]
