"""The table of actions, and the menu, palette, help and keys created from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import glfw
import pytest
from imgui_bundle import imgui

from vertigrad.panels import help as help_panel
from vertigrad.panels import menu, palette
from vertigrad.panels.actions import MENUS
from vertigrad.panels.palette import ranked, score
from vertigrad.viewer.keys import NAMES, printed, written

from .shell import Shell

Open = Callable[..., Shell]
CHORD = re.compile(r"(Ctrl\+)?(Alt\+)?(Shift\+)?([A-Z0-9]|F\d{1,2}|[!-/:-@\[-`{-~]|[A-Z][A-Za-z]+)")


def test_no_two_actions_have_the_same_name_or_keys(shell: Open):
    actions = shell().gui.actions
    assert max(Counter((action.menu, action.name) for action in actions).values()) == 1
    assert max(Counter(keys for action in actions for keys in action.keys if keys != "Esc").values()) == 1
    assert {action.menu for action in actions} == set(MENUS)


def test_keys_are_written_as_the_keyboard_reports_them(shell: Open):
    known = set(NAMES.values()) | {"Plus", "Minus"}
    for action in shell().gui.actions:
        for keys in action.keys:
            found = CHORD.fullmatch(keys)
            assert found, f"{action.name}: {keys}"
            assert len(found[4]) == 1 or found[4] in known, f"{action.name}: there is no key {found[4]}"


def test_groups_of_a_menu_are_contiguous(shell: Open):
    actions = shell().gui.actions
    for menu_ in MENUS:
        groups = [action.group for action in actions if action.menu == menu_]
        assert len(groups) > 0
        runs = [group for index, group in enumerate(groups) if not index or groups[index - 1] != group]
        assert len(runs) <= len(set(groups)) + 1, f"{menu_}: {groups}"


@pytest.mark.turns(2)
def test_every_action_can_be_performed_at_any_time(shell: Open):
    """No action raises, in any state; each posts a command or changes the workspace."""
    one = shell()
    calls: list[object] = []
    post = one.session.post
    one.session.post = lambda command: (calls.append(command), post(command))
    for action in one.gui.actions:
        one.session.messages.clear()
        calls.clear()
        before = repr(one.workspace)
        _ = one.gui.io
        possible = action.possible(one.session, one.workspace)
        done = action.perform(one.session, one.workspace)
        assert done == possible
        if done and action.name not in ("Copy as command line",):
            assert calls or repr(one.workspace) != before, f"{action.name} does nothing"
        one.frames(2)
        for _ in range(3):
            one.key("Esc")
        one.workspace.gallery = one.workspace.palette = one.workspace.closing = False
        if one.session.questions.first is not None:
            from vertigrad.session.commands import Ask

            one.session.post(Ask(None))
            one.frames(2)


@pytest.mark.parametrize("menu_", MENUS)
def test_a_menu_shows_its_actions_with_their_keys(shell: Open, monkeypatch, menu_: str):
    one = shell()
    items: dict[str, tuple[str, bool, bool]] = {}
    drawn = imgui.menu_item

    def menu_item(label: str, keys: str, on: bool, possible: bool):
        items[label] = keys, on, possible
        return drawn(label, keys, on, possible)

    monkeypatch.setattr(menu.imgui, "menu_item", menu_item)
    bar = one.windows()["##MainMenuBar"]
    one.move(*middle_of(menu_))
    one.frames(3)
    assert not items and bar[3] < 40
    one.button(True)
    one.button(False)
    expected = [action for action in one.gui.actions if action.menu == menu_]
    assert set(items) == {action.name for action in expected}
    for action in expected:
        keys, on, possible = items[action.name]
        assert keys == action.shown_keys
        assert possible == action.possible(one.session, one.workspace)
        assert on == (action.on is not None and action.on(one.session, one.workspace))


def middle_of(menu_: str) -> tuple[float, float]:
    """The position of a heading of the menu bar, computed with the style's spacing."""
    style = imgui.get_style()
    x = style.window_padding.x
    for name in MENUS:
        width = imgui.calc_text_size(name).x
        if name == menu_:
            return x + width / 2, 10.0
        x += width + 2 * style.item_spacing.x
    raise AssertionError(menu_)


def test_a_menu_item_does_what_its_keys_do(shell: Open):
    one = shell()
    playing = one.session.playing
    one.click(*middle_of("Time"))
    one.frames(3)
    (left, top, _, _) = next(rect for name, rect in one.windows().items() if "###Menu" in name)
    one.click(left + 40, top + 20)  # the first one
    one.frames(2)
    assert one.session.playing != playing


def test_help_lists_and_searches_every_shortcut(shell: Open, monkeypatch):
    one = shell(size=(1200, 1000))
    messages: list[str] = []
    monkeypatch.setattr(help_panel, "section", lambda heading: True)
    drawn = imgui.text_colored
    monkeypatch.setattr(help_panel.imgui, "text_colored", lambda tint, text: (messages.append(text), drawn(tint, text)))
    one.key("F1")
    assert "Help" in one.workspace.visible_panels
    expected = {action.name for action in one.gui.actions if action.keys}
    assert expected <= set(messages)
    panel = next(panel for panel in one.gui._panels if panel.title == "Help")
    panel._search = "STEP"
    messages.clear()
    one.frames(1)
    assert messages and all("step" in text.lower() for text in messages if text in expected)


def test_the_palette_executes_the_action_found_by_a_few_letters(shell: Open):
    one = shell()
    assert not one.session.playing
    one.key("Ctrl+P")
    one.type("play")
    one.key("Enter")
    assert one.session.playing and not one.workspace.palette
    one.key("Ctrl+Shift+P")
    one.type("zzqx")
    one.key("Enter")
    assert one.workspace.palette, "nothing fits, so nothing is chosen"
    one.key("Esc")
    assert not one.workspace.palette


def test_arrow_keys_move_the_selection_of_the_palette_and_wrap_around(shell: Open):
    one = shell()
    one.key("Ctrl+P")
    first = one.gui._dialogs.palette
    one.key("Up")
    assert first._chosen == len(one.gui.actions) - 1
    one.key("Down")
    one.key("Down")
    assert first._chosen == 1
    one.type("help")
    assert first._chosen == 0 and first._search == "help"
    fitting = ranked("help", one.gui.actions)
    one.key("Enter")
    assert fitting[0].name == "Help" and "Help" in one.workspace.visible_panels


def test_the_palette_does_not_execute_disabled_actions(shell: Open, monkeypatch):
    one = shell()
    undo = next(action for action in one.gui.actions if action.name == "Undo")
    assert not undo.possible(one.session, one.workspace)
    one.key("Ctrl+P")
    one.type("undo")
    one.key("Enter")
    assert one.workspace.palette and not one.session.commands


def test_a_click_outside_the_palette_closes_it(shell: Open):
    one = shell()
    one.key("Ctrl+P")
    assert one.gui.covers(10, 600)
    one.click(10, 600)
    one.frames(2)
    assert not one.workspace.palette and not one.gui.covers(10, 600)


def test_every_action_is_found_by_its_name(shell: Open):
    actions = shell().gui.actions
    for action in actions:
        best = ranked(action.name, actions)
        assert action in best[:3], f"{action.name}: {[one.name for one in best[:3]]}"
    assert ranked("", actions) == list(actions)


def test_search_letters_need_not_be_adjacent_but_must_be_in_order():
    assert score("sb", "Step back") > 0 and score("bs", "Step back") == -1
    assert score("step", "a step") > score("step", "as tre pa")
    assert score("rts", "reset speed time") > 0, "it must not be lost by taking the wrong one of two letters"
    assert score("", "anything") == 0
    assert score("STEP back", "step BACK") == score("stepback", "Step back")
    assert palette.score("x", "") == -1


def test_keys_go_to_a_text_field_while_typing(shell: Open):
    one = shell()
    one.key("Ctrl+P")
    assert one.gui.io.want_text_input
    before = one.session.playing, one.session.time, one.gui.workspace.visible
    for keys in ("Space", "N", "G", "H", "R", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+Y"):
        assert not one.gui.press(one.session, keys), keys
    assert (one.session.playing, one.session.time, one.gui.workspace.visible) == before
    assert one.gui.press(one.session, "F1") and one.gui.press(one.session, "Ctrl+2")
    one.key("Esc")
    assert one.gui.press(one.session, "N")


def test_keys_go_to_a_text_field_of_a_panel_too(shell: Open):
    one = shell()
    one.key("F1")
    left, top, _, _ = one.windows()["Help"]
    one.click(left + 60, top + 45)  # the search box
    assert one.gui.io.want_text_input and not imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value)
    for keys in ("Space", "N", "G", "R", "Ctrl+Z", "Ctrl+Y", "Backspace"):
        assert not one.gui.press(one.session, keys), keys
    assert one.gui.press(one.session, "Ctrl+3")


def test_navigation_keys_go_to_the_gui_during_keyboard_navigation(shell: Open):
    one = shell()
    one.key("F6")
    one.key("Tab")
    assert one.gui.io.nav_active and one.gui.io.nav_visible
    assert not one.gui.press(one.session, "Space")
    assert one.gui.press(one.session, "N")
    image = one.gui.viewport
    one.click(image.left + 50, image.top + 50)
    assert one.gui.press(one.session, "Space")


def test_f6_goes_from_panel_to_panel_and_back(shell: Open):
    one = shell()
    one.workspace.show("Log")
    one.frames()
    opened = [title for title, is_open in one.workspace.opened.items() if is_open]
    start = opened.index(one.workspace.focused)
    for step in range(1, len(opened) + 1):
        one.gui.press(one.session, "F6")
        one.frames()
        assert one.workspace.focused == opened[(start + step) % len(opened)]
    one.gui.press(one.session, "Shift+F6")
    one.frames()
    assert one.workspace.focused == opened[start - 1]


def test_a_held_key_repeats_only_repeatable_actions(shell: Open):
    one = shell()
    assert not one.gui.press(one.session, "Space", repeated=True)
    assert one.gui.press(one.session, "N", repeated=True)
    assert not one.gui.press(one.session, "no such key")


@pytest.mark.parametrize(
    ("key", "modifiers", "text"),
    [
        (glfw.KEY_SPACE, 0, "Space"),
        (glfw.KEY_F5, 0, "F5"),
        (glfw.KEY_F11, glfw.MOD_SHIFT, "Shift+F11"),
        (glfw.KEY_1, glfw.MOD_CONTROL, "Ctrl+1"),
        (glfw.KEY_KP_3, glfw.MOD_CONTROL, "Ctrl+3"),
        (glfw.KEY_KP_ADD, glfw.MOD_CONTROL, "Ctrl+Plus"),
        (glfw.KEY_LEFT, glfw.MOD_ALT | glfw.MOD_CONTROL | glfw.MOD_SHIFT, "Ctrl+Alt+Shift+Left"),
        (glfw.KEY_SPACE, glfw.MOD_CAPS_LOCK | glfw.MOD_NUM_LOCK, "Space"),
        (glfw.KEY_SPACE, glfw.MOD_SUPER, ""),
        (glfw.KEY_LEFT_CONTROL, glfw.MOD_CONTROL, ""),
    ],
)
def test_keys_have_names(opened, key: int, modifiers: int, text: str):
    opened(size=(120, 90))
    assert written(key, printed(key, glfw.get_key_scancode(key)), modifiers) == text
