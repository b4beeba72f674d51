"""A click on the viewport selects what is drawn there; the card and the panel show it."""

import numpy as np
import pytest

from vertigrad.panels import selection as card
from vertigrad.session.commands import Select

POINTS = """
version = 1
[camera]
position = [0, 0, 30]
[models.galaxy]
type = "nbody"
count = 64
time_scale = 0.0
[layers.stars]
type = "points"
position = "galaxy.position"
color = "galaxy.speed"
size = 0.25
"""


@pytest.fixture
def stars(opened, tmp_path):
    (tmp_path / "stars.toml").write_text(POINTS)
    return lambda **options: opened(tmp_path / "stars.toml", **options)


def on_screen(driver, position):
    view = driver.viewer.gui.viewport
    camera = driver.session.camera
    clip = camera.projection(view.width / view.height) @ camera.view() @ [*position, 1]
    x, y = (clip[0] / clip[3] + 1) / 2, (1 - clip[1] / clip[3]) / 2
    return view.left + x * view.width, view.top + y * view.height


def current(driver):
    """A visible star that is not near the edge: its row, and its position on the screen."""
    positions = driver.session.stage.layers["stars"].attributes.tensors["position"].tensor.numpy()
    spots = np.array([on_screen(driver, position) for position in positions])
    distance = np.linalg.norm(spots[:, None] - spots[None], axis=-1) + 1e3 * np.eye(len(spots))
    view = driver.viewer.gui.viewport
    inside = (np.abs(spots - (view.left + view.width / 2, view.top + view.height / 2)) < (120, 60)).all(axis=1)
    return max((row for row in range(len(spots)) if inside[row]), key=lambda row: distance[row].min()), spots, positions


def selected(driver, row):
    driver.frames_until(lambda: driver.session.selection.row is not None and not driver.session.selection.pending)
    assert driver.session.selection.row.row == row


@pytest.mark.turns(2)
@pytest.mark.parametrize("panels", [False, True])
def test_click_drag_and_escape(stars, panels):
    driver = stars(panels=panels)
    row, spots, positions = current(driver)
    spot = spots[row]
    plain = driver.image()
    aside = spot[0] + 40, spot[1]
    driver.hold(spot)
    driver.carry(spot, aside)
    driver.carry(aside, spot)  # to the start: the star is under the mouse again
    driver.desktop.release()
    driver.frames(12)
    assert driver.session.selection.row is None, "a drag is no click"
    driver.key("h")
    driver.frames_until(lambda: not driver.session.cameras.moving, most=400)
    driver.click((spot[0] + 1, spot[1] + 1))
    selected(driver, row)
    driver.frames_until(lambda: driver.session.selection.position() is not None)
    assert driver.session.selection.position() == pytest.approx(positions[row].tolist())
    marked = driver.image()
    around = slice(int(spot[1]) - 12, int(spot[1]) + 12), slice(int(spot[0]) - 12, int(spot[0]) + 12)
    assert np.abs(marked - plain)[around].mean() > 8, "a ring"
    assert (driver.image() == marked).all(), "that does not flicker"
    driver.key("Escape")
    assert driver.session.selection.row is None
    driver.desktop.move(0, 0)
    driver.frames()
    assert np.abs(driver.image() - plain)[around].mean() < 1


def test_click_on_a_panel_selects_nothing(stars):
    driver = stars()
    view = driver.viewer.gui.viewport
    driver.click((view.left + view.width + 60, view.top + view.height - 40))
    driver.frames(8)
    assert driver.session.selection.row is None


def test_while_the_models_run(stars):
    driver = stars(playing=True, panels=False)
    row, spots, _ = current(driver)  # time scale 0: constant positions
    driver.click(spots[row])
    selected(driver, row)


def test_the_card_receives_clicks(stars):
    driver = stars()
    driver.session.post(Select("stars", 3))
    driver.frames_until(lambda: driver.session.selection.position() is not None)
    driver.frames()
    view = driver.viewer.gui.viewport
    driver.click((view.left + card.MARGIN + 40, view.top + view.height - card.MARGIN - 12))
    driver.frames(8)
    assert driver.session.selection.row.row == 3


def test_the_panel_replaces_the_card(stars):
    driver = stars()
    driver.viewer.gui.workspace.show("Selection")
    driver.session.post(Select("stars", 5))
    driver.frames(8)
    names = {window.name for window in driver.viewer.gui._context.windows if window.active}
    assert "Selection" in names and "##selection" not in names


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "…"),
        (np.float32(0.5), "0.5"),
        (np.array([1.0, 2.0, 3.0], np.float32), "1, 2, 3"),
        (np.arange(6, dtype=np.int32), "0, 1, 2, 3, …"),
        (np.array(12345, np.uint32), "12,345"),
        (np.array([np.nan, np.inf], np.float32), "nan, inf"),
        (np.array([True, False]), "true, false"),
        ("#3366cc", '"#3366cc"'),
        ((0.25, 0.5, 1.0), "0.25, 0.5, 1"),
        (0.01, "0.01"),
    ],
)
def test_values_in_short_form(value, message):
    assert card.written(value) == message


def test_the_brush_selects_and_the_probe_shows(stars, items):
    """With real keys and a real drag; then the row is hidden by its key, and comes back by Undo."""
    driver = stars()
    row, spots, positions = current(driver)
    driver.key("w")
    driver.drag((spots[row][0] - 6, spots[row][1]), (spots[row][0] + 6, spots[row][1]))
    rows = driver.session.rows
    assert rows.selected is not None and rows.selected.mask[row]
    assert items.find("##Hide selected rows") is not None, "the bar"
    driver.key("Delete")
    assert rows.selected is None and rows.hidden["stars"].mask[row]
    driver.key("ctrl+z")
    assert rows.selected is not None and not rows.hidden
    driver.key("w", "i")
    driver.desktop.move(*spots[row])
    hover = driver.session.hover
    driver.frames_until(lambda: hover.row is not None and not hover.pending and hover.facts[0].value is not None)
    assert hover.row.row == row and hover.facts[0].value.tolist() == positions[row].tolist()
