"""Buttons, keys and picking without a window: functions are called between frames, and their errors are raised."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import InputError, ParameterError
from vertigrad.scripting.keys import NAMED, key_name
from vertigrad.session.commands import Undo

POINTS = np.float32([[-1, 0, 0], [0, 0, 0], [1, 0.5, 0]])


def test_a_button_calls_its_function_once_for_each_click(viewer: vg.Viewer) -> None:
    calls = []
    button = viewer.button("Reset", lambda: calls.append(len(calls)), doc="begin again")
    assert viewer.session.script.buttons == {"Reset": "begin again"}
    viewer.update()
    assert calls == [] and not button.clicked
    button.press()
    button.press()
    assert calls == []
    viewer.update()
    assert calls == [0, 1] and button.clicks == 2
    assert button.clicked and not button.clicked
    button.remove()
    button.press()
    viewer.update()
    assert len(calls) == 2


def test_a_button_can_write_tensors_in_place(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS, size=0.2)
    block = cloud.position.block
    viewer.button("Back", lambda: cloud.set(position=POINTS)).press()
    viewer.button("Double", lambda: cloud.position.mul_(2.0)).press()
    viewer.update()
    assert np.array_equal(cloud.position.numpy(), 2 * POINTS)
    assert cloud.position.block is block


def test_a_callback_can_add_layers_take_images_and_close(viewer: vg.Viewer) -> None:
    images = []

    def act() -> None:
        viewer.points("cloud", position=POINTS, size=0.3)
        viewer.button("Other", lambda: None)
        images.append(viewer.image())
        viewer.close()

    viewer.button("Act", act).press()
    viewer.button("Act too", lambda: images.clear()).press()
    for _ in viewer.frames(5):
        pass
    assert len(images) == 1 and images[0].std() > 1
    assert viewer.closed


def test_an_error_in_a_callback_is_raised_without_a_window(viewer: vg.Viewer) -> None:
    def fail() -> None:
        raise ZeroDivisionError("no")

    viewer.button("Fail", fail).press()
    with pytest.raises(ZeroDivisionError, match="no"):
        viewer.update()
    viewer.update()  # it was called, and continues


def test_a_callback_cannot_show_frames(viewer: vg.Viewer) -> None:
    for act in (viewer.update, lambda: list(viewer.frames(1))):
        viewer.button("Recurse", act).press()
        with pytest.raises(InputError, match="a callback cannot show frames"):
            viewer.update()


def test_keys_are_reported_to_the_script(viewer: vg.Viewer) -> None:
    pressed = []

    @viewer.on_key("ctrl+space")
    def both() -> None:
        pressed.append("both")

    viewer.on_key("R", lambda: pressed.append("r"))
    viewer.press_key("r")
    viewer.press_key("Ctrl+Space")
    viewer.update()
    assert pressed == ["r", "both"]
    assert viewer.session.script.keys == {"Ctrl+Space", "R"}
    with pytest.raises(InputError, match="no callback was given for the key X"):
        viewer.press_key("x")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("space", "Space"),
        ("r", "R"),
        ("R", "R"),
        ("shift+ctrl+left", "Ctrl+Shift+Left"),
        ("F12", "F12"),
        ("escape", "Esc"),
        ("+", "Plus"),
        ("ctrl++", "Ctrl+Plus"),
        ("[", "["),
        ("7", "7"),
    ],
)
def test_keys_are_named_as_in_the_table_of_actions(written: str, name: str) -> None:
    assert key_name(written) == name


@pytest.mark.parametrize("written", ["spaec", "", " ", "ctrl", "strg+a", "ctrl+", "ab"])
def test_invalid_keys(written: str) -> None:
    with pytest.raises(InputError, match=r"unknown (key|modifier)|the text is empty"):
        key_name(written)


def test_every_named_key_has_that_name_in_the_window() -> None:
    from vertigrad.viewer import keys

    assert set(NAMED) <= {name for name in keys.NAMES.values() if name}


def test_a_row_is_picked_by_its_pixel(viewer: vg.Viewer) -> None:
    viewer.camera(position=(0, 0, 4), orthographic=True)
    viewer.points("cloud", position=POINTS, size=0.2)
    picked = []
    viewer.on_pick(picked.append)
    viewer.update()
    width, height = 96, 64
    half = 4 * np.tan(np.radians(22.5))  # half the height of the view at its target
    for row, (x, y, z) in enumerate(POINTS):
        found = viewer.pick(width / 2 + x / half * height / 2, height / 2 - y / half * height / 2)
        assert found is not None
        assert (found.layer, found.row, found.cell) == ("cloud", row, None)
        assert found.position == pytest.approx((x, y, z))
        viewer.update()
    assert [pick.row for pick in picked] == [0, 1, 2]
    assert viewer.pick(2, 2) is None
    viewer.update()
    assert len(picked) == 3
    with pytest.raises(InputError, match=r"outside of the image of 96 × 64"):
        viewer.pick(96, 0)


def test_picking_a_surface_returns_the_triangle(viewer: vg.Viewer) -> None:
    sheet = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [0.0]), axis=-1)[:, :, 0]
    viewer.camera(position=(0, 0, 4))
    viewer.surface("sheet", position=sheet)
    found = viewer.pick(52, 30)
    assert found is not None and found.cell in (0, 1)
    assert found.position is not None and found.position[2] == 0.0


def test_invalid_callbacks(viewer: vg.Viewer) -> None:
    with pytest.raises(InputError, match="callback: expected a function, got int"):
        viewer.button("a", 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="callback: expected a function, got str"):
        viewer.on_pick("a")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="label: the text is empty"):
        viewer.button(" ")


def test_another_thread_is_refused(viewer: vg.Viewer) -> None:
    cloud, rate = viewer.points("cloud", position=POINTS), viewer.slider("rate", 0.5)
    plot, button = viewer.plot("loss"), viewer.button("a")
    errors = []

    def act() -> None:
        acts = (
            viewer.update,
            viewer.image,
            lambda: cloud.set(position=POINTS),
            lambda: setattr(rate, "value", 0.2),
            lambda: plot.append(1.0),
            button.press,
            lambda: viewer.on_key("a", print),
        )
        for one in acts:
            try:
                one()
            except InputError as error:
                errors.append(str(error))

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    assert len(errors) == 7
    assert all("the thread that opened it" in error for error in errors)
    viewer.update()


def test_a_closed_viewer_refuses_events(viewer: vg.Viewer) -> None:
    button, plot, rate = viewer.button("a"), viewer.plot("b"), viewer.slider("c")
    viewer.close()
    acts = (
        button.press,
        lambda: plot.append(1.0),
        lambda: setattr(rate, "value", 0.5),
        lambda: viewer.on_key("a", print),
        lambda: viewer.on_pick(print),
        lambda: viewer.pick(1, 1),
        lambda: viewer.camera(fov=30),
        lambda: viewer.view(exposure=2.0),
        lambda: viewer.plot("c"),
    )
    for act in acts:
        with pytest.raises(InputError, match="the viewer is closed"):
            act()
    assert rate.value == 0.0


# camera, view, gizmos -------------------------------------------------------------------------------------------------


def test_camera_values_that_are_not_set_stay(viewer: vg.Viewer) -> None:
    viewer.camera(position=(0, 1, 5), target=(0, 0.5, 0), fov=30)
    found = viewer.camera(orthographic=True)
    assert found["position"] == pytest.approx((0, 1, 5))
    assert (found["fov"], found["up"], found["orthographic"]) == (30.0, "y", True)
    viewer.points("cloud", position=POINTS + 40)
    viewer.camera(fit=True)
    assert viewer.camera()["target"] == pytest.approx((40, 40.25, 40), abs=0.2)
    with pytest.raises(InputError, match="fov"):
        viewer.camera(fov=1000)
    with pytest.raises(InputError, match="fob"):
        viewer.camera(fob=30)
    viewer.camera(bookmarks={"above": {"position": (0, 9, 0.1), "target": (0, 0, 0)}})
    assert list(viewer.session.scene.bookmarks) == ["above"]


def test_the_view_is_set_and_read(viewer: vg.Viewer) -> None:
    found = viewer.view(exposure=2.0, background="#102030", axes=True)
    assert (found["exposure"], found["axes"]) == (2.0, True)
    assert viewer.view()["background"] == pytest.approx((16 / 255, 32 / 255, 48 / 255))
    with pytest.raises(ParameterError, match="expozure"):
        viewer.view(expozure=2.0)


def test_labels_are_texts_in_the_image(viewer: vg.Viewer) -> None:
    viewer.points("cloud", position=POINTS, size=0.1)
    before = viewer.image((320, 200))
    viewer.labels({"first point": POINTS[0], "last": (1, 0.5, 0)})
    assert np.abs(viewer.image((320, 200)).astype(int) - before).max() > 50
    for wrong, match in (({"a;b": (0, 0, 0)}, "semicolon"), ({"a": (0, 0)}, r"shape \(2,\)")):
        with pytest.raises(InputError, match=match):
            viewer.labels(wrong)


def test_a_legend_is_added_and_removed(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS, color=POINTS[:, 0], range=(-1, 1), colormap="viridis")
    plain = viewer.image((320, 240))
    cloud.colorbar = {"title": "height", "unit": "m"}
    shown = viewer.image((320, 240))
    assert np.abs(shown.astype(int) - plain).max() > 50
    assert cloud.colorbar == {"title": "height", "unit": "m"}
    cloud.color = POINTS[:, 1] * 2  # the legend stays
    cloud.size = 0.1
    assert cloud.colorbar == {"title": "height", "unit": "m"}
    cloud.colorbar = "speed"
    assert cloud.colorbar == {"title": "speed"}
    cloud.set(colorbar=None, size=0.01)
    assert cloud.colorbar is None
    with pytest.raises(InputError, match="color is one for all rows"):
        viewer.points("other", position=POINTS, colorbar="speed")


def test_positions_have_gizmos(viewer: vg.Viewer) -> None:
    source = viewer.vector("source", (1, 2, 3), gizmo=True, doc="of the waves")
    assert source.value == (1.0, 2.0, 3.0)
    source.value = (0, 0, 1)
    assert source.value == (0.0, 0.0, 1.0)
    viewer.gizmo(source)
    viewer.gizmo("view.clip_origin")
    viewer.gizmo(None)
    for wrong in ("view.exposure", "view.nothing", "nothing.clip_origin"):
        with pytest.raises(InputError, match=wrong):
            viewer.gizmo(wrong)
    with pytest.raises(InputError, match="3 numbers, not 2"):
        viewer.vector("flat", (1, 2), gizmo=True)
    name = viewer.text("name", "abc")
    name.value = "def"
    assert name.value == "def"
    with pytest.raises(InputError, match="nothing to choose from"):
        viewer.choice("kind", [])


def test_rows_are_selected_and_hidden(viewer: vg.Viewer):
    """As by the user, who can undo it; the tensors stay as they are."""
    cloud = viewer.points("cloud", position=np.arange(30, dtype=np.float32).reshape(10, 3))
    assert viewer.selected_rows() == {}
    viewer.select_rows("cloud", [1, 2])
    viewer.select_rows("cloud", np.arange(10) == 7, "add")
    assert viewer.selected_rows()["cloud"].tolist() == [1, 2, 7]
    viewer.hide_rows("cloud", [2, 3])
    assert viewer.selected_rows()["cloud"].tolist() == [1, 7]
    assert np.flatnonzero(viewer.session.rows.hidden["cloud"].mask).tolist() == [2, 3]
    assert np.isfinite(cloud.position.numpy()).all()
    viewer.session.carry_out(Undo())
    assert viewer.selected_rows()["cloud"].tolist() == [1, 2, 7] and not viewer.session.rows.hidden
    viewer.hide_rows("cloud", [4])
    viewer.hide_rows("cloud", [])
    assert not viewer.session.rows.hidden
    with pytest.raises(ParameterError, match="rows 0 to 9"):
        viewer.select_rows("cloud", [10])
