"""Arguments that do not fit are named, values of NumPy fit, and a closed viewer and other threads are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import InputError, VertigradError
from vertigrad.export import geometry
from vertigrad.gpu import Gpu

from .conftest import SIZE

POINTS = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("act", "match"),
    [
        (lambda v: v.slider(3), r"^name: expected a text, got 3 \(int\)$"),
        (lambda v: v.slider("s", "x"), "^s: value: expected a number, got 'x'"),
        (lambda v: v.slider("s", 0.5, min=1, max=0), "^s: min is 1 and max is 0; min must be below max"),
        (lambda v: v.slider("s", 0.5, scale="cubic"), '^s: unknown scale "cubic"; known: linear, log'),
        (lambda v: v.slider("s", 0.5, scale="log"), "^s: min is 0.0; a logarithmic slider needs one above 0"),
        (lambda v: v.slider("specs", 0.5), "'specs' cannot be the name of a control"),
        (lambda v: v.choice("d", [1, 2]), r"^d: choices: expected a text, got 1 \(int\)"),
        (lambda v: v.choice("d", "abc"), "^d: choices: expected a list of texts, got 'abc'"),
        (lambda v: v.vector("g", ()), r"^g: expected numbers such as \(0, 0, 0\), got \(\)"),
        (lambda v: v.vector("g", ("a", "b")), "^g: expected a number, got 'a'"),
        (lambda v: v.plot(3), "^name: expected a text"),
        (lambda v: v.button(3), "^label: expected a text"),
        (lambda v: v.on_key(3, print), "^key: expected a text"),
        (lambda v: v.pick("a", 0), "^x: expected a number, got 'a'"),
        (lambda v: v.labels(["a"]), "^points: expected a dict"),
        (lambda v: v.labels({"a": ("x", 0, 0)}), "^label 'a': expected a number, got 'x'"),
        (lambda v: v.gizmo(3), "^position: expected a text"),
        (lambda v: v.add("points", 3, position=POINTS), "^name: expected a text"),
        (lambda v: v.add(3, "x", position=POINTS), "^type of layer: expected a text"),
        (lambda v: v.add_model("nbody", 5), "^name: expected a text"),
        (lambda v: v.points("x", position=None), "'x': needs position"),
        (lambda v: v.points("x", position=len), "position: expected an array of numbers, got <built-in function len>"),
        (lambda v: v.points("x", position=POINTS, color="red"), 'expected "MODEL.OUTPUT", or a color like "#3366cc"'),
        (lambda v: v.points("x", position=POINTS, size=-1), "^'x': size must be a number above 0, got -1.0$"),
        (
            lambda v: setattr(v.points("x", position=POINTS), "position", POINTS[:, :2]),
            r"^'x': layer 'x', position",
        ),
        (lambda v: v.frames("x"), "^count: expected an integer, got 'x'"),
        (lambda v: v.frames(-1), "^count: expected an integer from 0 on, got -1"),
        (lambda v: v.serve(port=99999), "^port: expected a number from 0 to 65535, got 99999"),
        (lambda v: vg.Viewer("t", (10.5, 5), offscreen=True), r"^size: expected \(width, height\) in pixels"),
        (lambda v: vg.Viewer(3, offscreen=True), "^title: expected a text"),
        (lambda v: vg.Scene.load("nbody", sets="galaxy.count=64"), "^sets: expected a list of texts"),
        (lambda v: vg.model(position=POINTS)(3), "a model is made of a function, not of 3"),
    ],
)
def test_the_argument_is_named(viewer: vg.Viewer, act: Callable[[vg.Viewer], Any], match: str) -> None:
    with pytest.raises(VertigradError, match=match):
        act(viewer)
    viewer.update()


def test_arguments_of_scenes_are_named(steady: Gpu) -> None:
    with vg.Scene.load("nbody", sets=["galaxy.count=64"]) as scene:
        for act, match in (
            (lambda: scene.step(-1), "count: expected an integer from 0 on"),
            (lambda: scene.step(1.5), "count: expected an integer, got 1.5"),
            (
                lambda: scene.set({"softening": 0.1}),
                "softening: expected the path of a parameter, such as",
            ),
            (lambda: scene.camera(position=(1, 2)), "position: expected 3 numbers"),
        ):
            with pytest.raises(VertigradError, match=match):
                act()


def test_values_of_numpy_fit(viewer: vg.Viewer) -> None:
    assert viewer.slider("a", np.float32(0.5)).value == 0.5
    count = viewer.slider("b", np.int64(3), min=np.int64(0), max=np.int64(9))
    count.value = np.uint8(4)
    assert count.value == 4 and isinstance(count.value, int)
    assert viewer.checkbox("c", np.bool_(True)).value is True
    assert viewer.color("d", np.float32([1, 0, 0])).value == (1.0, 0.0, 0.0)
    cloud = viewer.points("cloud", position=POINTS, size=np.float32(0.25), color=None)
    cloud.roughness = np.float32(0.5)
    assert (cloud.size, cloud.roughness) == (0.25, 0.5)
    with vg.Scene.load("nbody", sets=["galaxy.count=64"]) as scene:
        scene.set({"galaxy.softening": np.float64(0.25)})
        assert scene.parameters["models.galaxy.softening"] == 0.25


def test_what_is_not_given_has_the_value_of_the_default(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS)
    before = cloud.size
    cloud.size *= 2
    assert before > 0 and cloud.size == 2 * before
    cloud.size = None
    assert cloud.size == before and len(cloud.color) == 3


def test_masked_rows_are_not_drawn(viewer: vg.Viewer) -> None:
    mask = np.zeros((6, 3), bool)
    mask[2] = True
    viewer.points("cloud", position=np.ma.masked_array(POINTS, mask))
    found = geometry(viewer.session.stage.layers["cloud"])
    assert np.array_equal(found.positions, np.delete(POINTS, 2, axis=0))


def test_a_handle_of_a_layer_that_is_gone(viewer: vg.Viewer, tmp_path) -> None:
    removed, replaced = viewer.points("a", position=POINTS), viewer.points("b", position=POINTS)
    removed.remove()
    lines = viewer.lines("b", position=POINTS)
    for handle in (removed, replaced):
        for act in (
            lambda handle=handle: handle.size,
            lambda handle=handle: handle.position,
            lambda handle=handle: handle.set(position=POINTS),
            lambda handle=handle: handle.set(size=0.3),
            lambda handle=handle: handle.save(tmp_path / "a.ply"),
            handle.remove,
        ):
            with pytest.raises(InputError, match=f"the layer '{handle.name}' of this handle was removed or replaced"):
                act()
    assert list(viewer.session.stage.layers) == ["b"] and lines.type == "lines"
    assert "points 'a'" in repr(removed)


# closed viewers and threads -------------------------------------------------------------------------------------------


def calls(viewer: vg.Viewer, tmp_path) -> dict[str, Callable[[], Any]]:
    """Everything that needs an open viewer, in the thread that opened it."""
    cloud, rate = viewer.points("cloud", position=POINTS), viewer.slider("rate", 0.1)
    button, plot = viewer.button("go"), viewer.plot("q", [1, 2])
    recording = viewer.record(tmp_path / "a.gif")
    viewer.on_key("y", print)
    return {
        "add": lambda: viewer.points("x", position=POINTS),
        "remove": lambda: viewer.remove("cloud"),
        "add_model": lambda: viewer.add_model("flock", count=16),
        "save": lambda: viewer.save(tmp_path / "a.toml"),
        "show": viewer.show,
        "update": viewer.update,
        "slider": lambda: viewer.slider("s"),
        "checkbox": lambda: viewer.checkbox("c"),
        "choice": lambda: viewer.choice("d", ["a"]),
        "color": lambda: viewer.color("e"),
        "text": lambda: viewer.text("f"),
        "vector": lambda: viewer.vector("g"),
        "plot": lambda: viewer.plot("p"),
        "button": lambda: viewer.button("b"),
        "on_key": lambda: viewer.on_key("x", print),
        "on_pick": lambda: viewer.on_pick(print),
        "press_key": lambda: viewer.press_key("y"),
        "pick": lambda: viewer.pick(3, 3),
        "selected_rows": viewer.selected_rows,
        "select_rows": lambda: viewer.select_rows("cloud", [0]),
        "hide_rows": lambda: viewer.hide_rows("cloud", [0]),
        "camera": viewer.camera,
        "keyframe": lambda: viewer.keyframe(1),
        "keyframes": viewer.keyframes,
        "remove_keyframe": lambda: viewer.remove_keyframe(1),
        "view": viewer.view,
        "labels": lambda: viewer.labels({"a": (0, 0, 0)}),
        "gizmo": lambda: viewer.gizmo(None),
        "image": viewer.image,
        "depth": viewer.depth,
        "screenshot": lambda: viewer.screenshot(tmp_path / "a.png"),
        "export": lambda: viewer.export(tmp_path / "a.ply"),
        "record": lambda: viewer.record(tmp_path / "b.gif"),
        "serve": lambda: viewer.serve(port=0),
        "layer, assigned": lambda: cloud.set(position=POINTS),
        "layer, style": lambda: cloud.set(roughness=0.3),
        "layer, saved": lambda: cloud.save(tmp_path / "c.ply"),
        "layer, removed": cloud.remove,
        "layer, written": lambda: cloud.position.mul_(2.0),
        "control": lambda: setattr(rate, "value", 0.2),
        "button, pressed": button.press,
        "button, removed": button.remove,
        "plot, appended": lambda: plot.append(1.0),
        "plot, set": lambda: plot.set([1, 2]),
        "plot, cleared": plot.clear,
        "recording": recording.add,
    }


def test_a_closed_viewer_says_so(steady: Gpu, tmp_path) -> None:
    viewer = vg.Viewer("test", SIZE, offscreen=True)
    acts = calls(viewer, tmp_path)
    viewer.close()
    for name, act in acts.items():
        with pytest.raises(VertigradError, match=r"the viewer is closed|the recording has ended|was freed"):
            pytest.fail(f"{name} returned {act()!r}")
    assert list(viewer.frames(3)) == []


def test_another_thread_cannot_call(viewer: vg.Viewer, tmp_path) -> None:
    acts = calls(viewer, tmp_path) | {"close": viewer.close}
    failed = []

    def work() -> None:
        for name, act in acts.items():
            try:
                failed.append(f"{name} returned {act()!r}")
            except VertigradError as error:
                if "thread" not in str(error):
                    failed.append(f"{name}: {error}")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []
    assert not viewer.closed
    viewer.update()
