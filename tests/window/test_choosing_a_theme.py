"""A theme is chosen with the mouse: the image changes immediately, and undo restores the old one."""

import numpy as np

from vertigrad.renderer.themes import NAMES, THEMES

from .driver import Items, Rows

ENTRY, FIRST = 20, 28  # pixels from one entry of the list to the next; from the middle of the field to the first


def test_a_theme_changes_the_image_and_undo_restores_it(opened, rows: Rows, items: Items):
    theme = "paper"
    driver = opened("neural_field", "view.quality=low", size=(640, 480))
    driver.click(items.at("search"))
    driver.desktop.type("theme")
    driver.frames(8)
    view, view_before = driver.session.view, driver.session.view.model_dump()
    gui = driver.viewer.gui.viewport
    shown = slice(gui.top + 60, gui.top + gui.height - 60), slice(gui.left, gui.left + gui.width)
    before = driver.image()[shown]
    driver.click(rows.at("theme"))
    x, y = rows.at("theme")
    driver.click((x, y + FIRST + ENTRY * NAMES.index(theme)))
    assert view.theme == theme and driver.session.scene_edits.history.done
    assert {name: getattr(view, name) for name in ("edges", "tint", "floor")} == {
        name: THEMES[theme][name] for name in ("edges", "tint", "floor")
    }
    driver.desktop.move(5, 5)
    driver.frames()
    paper = driver.image()[shown]
    assert (np.abs(paper - before).max(axis=2) > 20).mean() > 0.8, "a light background instead of a dark one"
    assert paper[:8].mean() > 200
    driver.key("ctrl+z")
    assert view.model_dump() == view_before, "one step of undo for all that the theme set"
    assert (np.abs(driver.image()[shown] - before) <= 1.0).all()
