"""`Viewer` without a window: layers from arrays and tensors, controls, the loop, images and recordings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import av
import numpy as np
import pytest
from PIL import Image

import vertigrad as vg
from vertigrad.errors import DtypeError, InputError, ParameterError, UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.models import registry
from vertigrad.models.custom_model import CustomModel
from vertigrad.params import Params, number
from vertigrad.renderer.layers import types
from vertigrad.scripting.document import Document
from vertigrad.session import STEP

SIZE = (96, 64)
RANDOM = np.random.default_rng(1)
POINTS = RANDOM.uniform(-1, 1, (50, 3)).astype(np.float32)
GRID = RANDOM.random((4, 5, 6)).astype(np.float32)
FIELD = RANDOM.random((4, 5, 6, 3)).astype(np.float32)
SHEET = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0), [0.0]), axis=-1)[:, :, 0]
ATTRIBUTES = {
    "points": {"position": POINTS},
    "marks": {"position": POINTS, "size": 0.1},
    "liquid": {"position": POINTS, "size": 0.1, "scattering": 20.0},
    "surface": {"position": SHEET},
    "instances": {"position": POINTS, "size": 0.2},
    "birds": {"position": POINTS, "direction": POINTS},
    "arrows": {"position": POINTS, "direction": POINTS},
    "lines": {"position": POINTS},
    "trails": {"position": POINTS},
    "streamlines": {"vectors": FIELD},
    "vectors": {"vectors": FIELD},
    "image": {"pixels": (RANDOM.random((8, 9, 3)) * 255).astype(np.uint8)},
    "isosurface": {"values": GRID, "level": 0.5},
    "volume": {"density": GRID},
    "slices": {"values": GRID},
    "tensor": {"tensor": GRID},
    "light": {"position": (0, 0, 0), "target": (0, 0, 1), "power": 1000.0},
}


def geometry(gpu: Gpu) -> int:
    return sum(gpu.meter.read()["geometry"].values())


# layers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", [kind for kind in types() if kind not in ("splats", "asset")])
def test_every_type_of_layer_is_drawn(viewer: vg.Viewer, kind: str) -> None:
    empty = viewer.image()
    handle = viewer.add(kind, "it", **ATTRIBUTES[kind])
    for _ in viewer.frames(3):
        if kind == "trails":
            handle.position *= 0.8
    assert handle.type == kind and np.abs(viewer.image().astype(int) - empty).max() > 20
    handle.remove()
    assert not viewer.session.stage.layers


def test_the_image_is_that_of_the_same_scene_in_a_file(viewer: vg.Viewer, tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", POINTS)
    np.save(tmp_path / "colors.npy", np.abs(POINTS))
    (tmp_path / "scene.toml").write_text("""
        version = 1
        [camera]
        position = [0.0, 1.0, 5.0]
        [models]
        points = { type = "array", file = "points.npy" }
        colors = { type = "array", file = "colors.npy" }
        [layers.cloud]
        type = "points"
        position = "points.values"
        color = "colors.values"
        size = 0.1
    """)
    viewer.camera(position=(0, 1, 5))
    viewer.points("cloud", position=POINTS.astype(float), color=np.abs(POINTS), size=0.1)
    with vg.Scene.load(tmp_path / "scene.toml") as scene:
        assert np.array_equal(viewer.image(), scene.render(SIZE))


@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 3), (50, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float64, np.int64])
def test_colors_of_every_dtype(viewer: vg.Viewer, shape: tuple[int, ...], dtype: type) -> None:
    color = (RANDOM.random(shape) * (255 if np.issubdtype(dtype, np.integer) else 1)).astype(dtype)
    viewer.camera(position=(0, 0, 4))
    cloud = viewer.points("cloud", position=POINTS.astype(np.float16), color=color, size=0.1)
    of_bytes = dtype == np.uint8 and shape[-1] in (3, 4)
    expected = color.astype(np.float32) / (255 if of_bytes else 1)
    drawn = viewer.image()
    cloud.color = expected
    assert np.array_equal(drawn, viewer.image())


def test_a_tensor_written_between_updates_is_drawn_without_a_copy(viewer: vg.Viewer, steady: Gpu) -> None:
    with vg.Tensor.from_numpy(POINTS.copy(), "own") as own:
        cloud = viewer.points("cloud", position=POINTS, size=0.1)
        viewer.points("other", position=own, size=0.1)
        moved = geometry(steady)
        for _ in range(3):
            cloud.position *= 1.5
            own -= 0.5
            viewer.update()
        assert geometry(steady) == moved
        np.testing.assert_allclose(own.numpy(), POINTS - 1.5, atol=1e-6)


def test_a_tensor_written_in_the_loop_is_drawn_without_a_copy(viewer: vg.Viewer, steady: Gpu) -> None:
    cloud = viewer.points("cloud", position=POINTS, size=0.1)
    before, block = viewer.image(), cloud.position.block
    with vg.Tensor.from_numpy(np.ones_like(POINTS), "velocity") as velocity:
        moved = geometry(steady)
        for step in viewer.frames(5):
            cloud.position += velocity * step.dt
        assert geometry(steady) == moved
        assert cloud.position.block is block
    np.testing.assert_allclose(cloud.position.numpy(), POINTS + 5 * STEP, rtol=1e-5)
    assert not np.array_equal(before, viewer.image())


def test_a_tensor_is_drawn_from_its_own_memory_and_stays_the_scripts(viewer: vg.Viewer, steady: Gpu) -> None:
    with vg.Tensor.from_numpy(POINTS, "mine") as mine:
        before = geometry(steady)
        cloud = viewer.points("cloud", position=mine, size=0.1)
        viewer.update()
        shown = viewer.image()
        assert cloud.position is mine and geometry(steady) == before
        layer = viewer.session.stage.layers["cloud"]
        assert layer.attributes.tensors["position"].tensor.block is mine.block
        cloud.remove()
        assert np.array_equal(mine.numpy(), POINTS)
        assert not np.array_equal(viewer.image(), shown)


def test_an_array_of_the_same_shape_is_uploaded_into_the_tensor(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS)
    tensor = cloud.position
    cloud.position = 2 * POINTS
    assert cloud.position is tensor
    assert np.array_equal(tensor.numpy(), 2 * POINTS)


def test_an_array_does_not_overwrite_the_scripts_own_tensor(viewer: vg.Viewer) -> None:
    with vg.Tensor.from_numpy(POINTS) as mine:
        cloud = viewer.points("cloud", position=mine)
        cloud.position = 2 * POINTS
        assert np.array_equal(mine.numpy(), POINTS)
        assert np.array_equal(cloud.position.numpy(), 2 * POINTS)
        cloud.position = mine
        assert cloud.position is mine
        viewer.update()


def test_an_array_with_another_number_of_rows(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS)
    for count in (1, 7, 200):
        cloud.position = np.zeros((count, 3))
        viewer.update()
        assert viewer.session.stage.layers["cloud"].attributes.rows == count
    with pytest.raises(InputError, match="color"):
        viewer.points("other", position=POINTS, color=np.zeros((3, 3)))


def test_style_and_constants_are_attributes(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS, color="#ff0000", size=0.2, roughness=0.7)
    assert (cloud.roughness, cloud.size) == (0.7, 0.2)
    red = viewer.image().mean(axis=(0, 1))
    cloud.set(roughness=0.3, color="#0000ff")
    assert (cloud.roughness, cloud.size) == (0.3, 0.2)
    blue = viewer.image().mean(axis=(0, 1))
    assert red[0] > 1.5 * red[2] and blue[2] > 1.5 * blue[0]
    cloud.color = np.tile([0.0, 1.0, 0.0], (50, 1))
    green = viewer.image().mean(axis=(0, 1))
    assert green[1] > 1.5 * max(green[0], green[2])
    assert {"position", "color", "roughness"} <= set(dir(cloud))


def test_the_new_name_of_an_attribute_is_in_the_message(viewer: vg.Viewer) -> None:
    path = viewer.lines("path", position=POINTS)
    message = "^lines 'path': tone_mapped is now called tone_map; 'none' for False, 'view' for True$"
    with pytest.raises(InputError, match=message):
        path.tone_mapped = True
    with pytest.raises(AttributeError, match=message):
        _ = path.tone_mapped


WRONG = [
    (lambda v: v.points("a", position=np.zeros(5)), InputError, "position"),
    (lambda v: v.points("a", position=np.zeros((0, 3))), InputError, "position: the array of shape .0, 3. is empty"),
    (lambda v: v.points("a", position=["x", "y"]), DtypeError, "position: expected an array of numbers"),
    (lambda v: v.points("a", position=[[1, 2, 3], [4, 5]]), DtypeError, "position"),
    (lambda v: v.points("a", position=np.zeros((3, 3), complex)), DtypeError, "position.*complex128"),
    (lambda v: v.points("a"), InputError, "position"),
    (lambda v: v.points("a", position=POINTS, sise=1), InputError, "sise.*size"),
    (lambda v: v.points("a", position=POINTS, size=np.zeros(7)), InputError, "size"),
    (lambda v: v.points("a", position=POINTS, roughness=7.0), InputError, "roughness"),
    (lambda v: v.points("controls", position=POINTS), InputError, "controls"),
    (lambda v: v.surface("a", position=POINTS, index=np.zeros((2, 3))), DtypeError, "index: expected integers"),
    (lambda v: v.surface("a", position=POINTS, index=-np.ones((2, 3), int)), InputError, "index: values from -1"),
    (lambda v: v.add("pionts", "a", position=POINTS), InputError, "points"),
    (lambda v: setattr(v.points("a", position=POINTS), "roughness", 7.0), ParameterError, "roughness"),
    (lambda v: setattr(v.points("a", position=POINTS), "postion", POINTS), InputError, "position"),
    (lambda v: setattr(v.points("a", position=POINTS), "position", POINTS[:, :2]), InputError, "position"),
    (lambda v: setattr(v.points("a", position=POINTS), "color", np.zeros(3, "U1")), DtypeError, "color"),
    (lambda v: v.slider("a b"), InputError, "a b"),
    (lambda v: v.slider("a", 2.0, max=1.0), ParameterError, "2.0 is above the maximum"),
    (lambda v: v.view(axis=True), ParameterError, "axis.*axes"),
    (lambda v: v.camera(position=(0, 0, 0), target=(0, 0, 0)), InputError, "same point"),
    (lambda v: v.remove("b"), InputError, "'b'|\"b\""),
    (lambda v: v.screenshot("a.jpg"), InputError, "a.jpg"),
    (lambda v: v.record("a.tga"), InputError, "a.tga"),
]


@pytest.mark.parametrize(("act", "error", "message"), WRONG)
def test_invalid_arguments_are_reported_and_change_nothing(viewer: vg.Viewer, act, error, message) -> None:
    viewer.points("there", position=POINTS)
    viewer.slider("rate", 0.5)
    viewer.update()
    with pytest.raises(error, match=message):
        act(viewer)
    viewer.update()
    assert viewer.image().shape == (SIZE[1], SIZE[0], 3)
    if "a" in viewer.session.stage.layers:
        assert np.array_equal(viewer.session.stage.instances["a"].outputs["position"].numpy(), POINTS)
        viewer.remove("a")
    assert set(viewer.session.stage.layers) == {"there"}


# models and controls --------------------------------------------------------------------------------------------------


class Rising(CustomModel):
    """Points that rise."""

    class Params(Params):
        speed: float = number(1.0)

    tensors: ClassVar = {"position": (4, 3)}

    def start(self, random):
        return {}

    def advance(self, dt):
        self.position[:, 1] += self.params.speed * dt


def test_a_model_of_the_script_steps_and_is_drawn(viewer: vg.Viewer) -> None:
    viewer.add_model(Rising, speed=2.0)
    viewer.points("drawn", position="rising.position", size=0.2)
    for _ in viewer.frames(3):
        pass
    found = viewer.session.stage.instances["rising"].outputs["position"].numpy()
    np.testing.assert_allclose(found[:, 1], 3 * 2.0 * STEP, rtol=1e-5)


def test_controls_have_values_and_retain_them(viewer: vg.Viewer) -> None:
    rate = viewer.slider("rate", 0.1, min=0, max=1)
    rate.value = 0.7
    count = viewer.slider("count", 3, min=1, max=9)
    on, kind = viewer.checkbox("on", True), viewer.choice("kind", ["swirl", "drift"])
    tint = viewer.color("tint", "#ff0000")
    assert rate.value == pytest.approx(0.7) and count.value == 3 and isinstance(count.value, int)
    assert (on.value, kind.value, tint.value) == (True, "swirl", (1.0, 0.0, 0.0))
    kind.value = "drift"
    assert kind.value == "drift"
    with pytest.raises(ParameterError, match="rate"):
        rate.value = 2.0
    assert rate.value == pytest.approx(0.7)


# the loop -------------------------------------------------------------------------------------------------------------


def test_steps_have_the_time_of_the_simulation(viewer: vg.Viewer) -> None:
    steps = []
    for step in viewer.frames(4):
        steps.append(step)
        if step.number == 1:
            viewer.session.playing = False
    assert [step.number for step in steps] == [0, 1, 2, 3]
    assert [step.dt for step in steps] == pytest.approx([STEP, STEP, 0, 0])
    assert [step.time for step in steps] == pytest.approx([0, STEP, STEP, STEP])


def test_a_loop_can_end_early_and_continue(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS)
    for _ in viewer.frames():
        break
    with pytest.raises(ZeroDivisionError):
        for _ in viewer.frames():
            _ = 1 / 0
    for _ in viewer.frames(2):
        cloud.position *= 0.5
    np.testing.assert_allclose(cloud.position.numpy(), POINTS / 4, rtol=1e-6)


def test_a_closed_viewer_raises(steady: Gpu) -> None:
    viewer = vg.Viewer(size=SIZE, offscreen=True)
    cloud = viewer.points("cloud", position=POINTS)
    for _ in viewer.frames():
        viewer.close()
    viewer.close()
    assert viewer.closed
    for act in (viewer.update, viewer.image, lambda: viewer.points("b", position=POINTS), cloud.remove):
        with pytest.raises(InputError, match="the viewer is closed"):
            act()
    with pytest.raises(UseAfterFree):
        cloud.position.numpy()


def test_two_viewers_at_once(viewer: vg.Viewer) -> None:
    with vg.Viewer("other", SIZE, offscreen=True) as other, vg.Tensor.from_numpy(POINTS) as shared:
        for one in (viewer, other):
            one.camera(position=(0, 0, 4))
            one.points("cloud", position=shared, size=0.1)
        for _, _ in zip(viewer.frames(3), other.frames(3), strict=True):
            shared.mul_(1.1)
        assert np.array_equal(viewer.image(), other.image())


# images and recordings ------------------------------------------------------------------------------------------------


def test_a_screenshot_is_the_image(viewer: vg.Viewer, tmp_path: Path) -> None:
    viewer.points("cloud", position=POINTS, size=0.2)
    with Image.open(viewer.screenshot(tmp_path / "a.png")) as image:
        assert np.array_equal(np.asarray(image), viewer.image())
    assert viewer.image((30, 20)).shape == (20, 30, 3)


def test_a_recording_has_every_frame(viewer: vg.Viewer, tmp_path: Path) -> None:
    cloud = viewer.points("cloud", position=POINTS, size=0.2)
    images = []
    with viewer.record(tmp_path / "%02d.png"), viewer.record(tmp_path / "a.mp4", fps=30):
        for _ in viewer.frames(4):
            cloud.position *= 0.8
            if images or len(list(tmp_path.glob("*.png"))):
                images.append(viewer.image())
        viewer.update()
    viewer.update()
    assert sorted(path.name for path in tmp_path.glob("*.png")) == [f"{n:02d}.png" for n in range(5)]
    with av.open(str(tmp_path / "a.mp4")) as video:
        assert (sum(1 for _ in video.decode(video=0)), video.streams.video[0].average_rate) == (5, 30)
    with Image.open(tmp_path / "04.png") as last:
        assert np.array_equal(np.asarray(last), viewer.image())


def test_importing_the_package_imports_no_renderer() -> None:
    code = "import sys, vertigrad; print(sum(name.startswith('vertigrad.renderer') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900)
    assert done.stdout.strip() == "0"
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = vg.nothing_such  # pyright: ignore[reportAttributeAccessIssue]


def test_a_viewer_imports_only_the_models_that_it_uses() -> None:
    document = Document("title")
    code = "from vertigrad.scripting.document import Document; import sys; Document('title').model_types['nbody']; "
    code += "print(*(name for name in ('av', 'vertigrad.models.physics.smoke') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900)
    assert done.stdout.strip() == ""
    document.put_model("own", registry.types()["nbody"])
    assert {"script.own", "nbody"} <= set(document.model_types)


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (
            lambda v: v.surface("a", position=POINTS, index=[[0, 1, 50]]),
            InputError,
            "largest index is 50; position has 50",
        ),
        (lambda v: v.slider("rate", 5, min=0, max=1), ParameterError, "^rate: 5 is above the maximum 1$"),
        (lambda v: v.add_model(3), InputError, "expected a class of model or the name of a type, got 3"),
        (lambda v: v.add_model("nobdy"), InputError, 'did you mean "nbody"'),
        (lambda v: v.add_model("missing.py:A"), InputError, r"^'a': type: there is no file \"missing.py\""),
        (lambda v: v.points("a b", position=POINTS), InputError, r"^'a b': \"a b\": a name is made of[^;]*$"),
        (lambda v: v.points("controls", position=POINTS), InputError, "is the name of the viewer's controls"),
        (lambda v: v.add_model("flock", "cloud"), InputError, "'cloud' is the name of something else"),
        (lambda v: v.remove("controls"), InputError, 'unknown layer "controls"'),
    ],
)
def test_wrong_arguments_are_named(viewer: vg.Viewer, act, error: type[Exception], match: str) -> None:
    viewer.points("cloud", position=POINTS, size=0.1)
    before = viewer.image()
    with pytest.raises(error, match=match):
        act(viewer)
    assert np.array_equal(viewer.image(), before)


def test_indices_that_are_assigned_are_checked(viewer: vg.Viewer) -> None:
    sheet = viewer.surface("sheet", position=POINTS, index=[[0, 1, 2]])
    for bad, message in (([[0, 1, 50]], "largest index is 50; position has 50"), ([[0, 1, -1]], "values from -1")):
        with pytest.raises(InputError, match=message):
            sheet.index = np.array(bad)
    with pytest.raises(InputError, match="largest index is 99"):
        sheet.index = np.array([[0, 1, 2], [3, 4, 99]])
    assert sheet.index.numpy().tolist() == [[0, 1, 2]]
    sheet.index = np.array([[47, 48, 49]])
    assert sheet.index.numpy().tolist() == [[47, 48, 49]]
