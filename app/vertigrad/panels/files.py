"""`FileDialog`: a file is chosen in the desktop's own dialog, or where there is none in one that the GUI draws."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from .. import resources
from ..session.files import here
from .native_dialog import NativeDialog, available
from .rows import button_width, color, fitted, scale, strong
from .theme import BAD, DIM
from .windows import centered, modal

LARGEST = 760.0, 560.0  # of the window, in logical pixels
SIDEBAR = 170.0  # width of the column of folders
MOST = 2000  # entries of a folder that are listed


class FileDialog:
    """Asks for a file: to be read, or, with `saving`, one to be written, which need not be there.

    `kinds` are the suffixes that are listed (all if empty). In the dialog of the GUI arrows and Enter choose, Backspace
    goes up, Escape closes; a path may also be typed.
    """

    def __init__(self, title: str, verb: str, kinds: Iterable[str] = (), saving: bool = False):
        self._title, self._verb, self._kinds, self._saving = title, verb, frozenset(kinds), saving
        self._asked = self._open = self._to_type = False
        self._native: NativeDialog | None = None
        self._folder = Path.home()
        self._typed = self._error = ""
        self._entries: list[tuple[Path, bool]] = []  # files and folders in the list, and whether it is a folder
        self._sidebar: list[tuple[str, Path]] = []

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self._asked or self._open or self._native is not None

    def ask(self, folder: Path, name: str = "", recent: Iterable[Path] = ()) -> None:
        """Open it on a folder; the folders of `recent` files are in the sidebar."""
        self._typed, self._error = name, ""
        near = [("home", Path.home()), ("scenes", resources.path("scenes")), ("here", here())]
        near += [(file.parent.name or str(file.parent), file.parent) for file in recent]
        self._sidebar = list({path: (label, path) for label, path in reversed(near)}.values())[::-1]
        self._go(folder if folder.is_dir() else Path.home())
        if available():
            self._native = NativeDialog(self._title, self._folder, self._kinds, self._saving, name)
        else:
            self._asked = True

    def close(self) -> None:
        """Close it without an answer."""
        self._asked = self._open = False
        if self._native is not None:
            self._native.close()
            self._native = None

    def draw(self) -> Path | None:
        """Draw it if it was asked; returns the file in the frame in which it is chosen."""
        if self._native is not None:
            return self._native_answer(self._native)
        name = f"{self._title}###{self._title}"
        if self._asked:
            imgui.open_popup(name)
            self._asked, self._open = False, True
        if not self._open:
            return None
        imgui.set_next_window_size(centered(*LARGEST, (0.92, 0.9)))
        with modal(name) as self._open:
            chosen = self._draw_content() if self._open else None
            if chosen is not None or (self._open and imgui.is_key_pressed(imgui.Key.escape, False)):
                self._open = False
                imgui.close_current_popup()
        return chosen

    def _native_answer(self, native: NativeDialog) -> Path | None:
        """What was chosen in the desktop's dialog; if that could not be shown, the GUI's opens."""
        if not native.ready:
            return None
        chosen, self._native = native.result(), None
        self._asked = chosen is None and native.failed
        return chosen

    def _draw_content(self) -> Path | None:
        strong(self._title)
        imgui.same_line(0.0, 12 * scale())
        imgui.text_colored(DIM, fitted(str(self._folder), imgui.get_content_region_avail().x))
        error = imgui.get_text_line_height_with_spacing() if self._error else 0.0
        footer = imgui.get_frame_height_with_spacing() + error
        size = ImVec2(SIDEBAR * scale(), -footer)
        imgui.begin_child("##sidebar", size, imgui.ChildFlags_.nav_flattened.value)
        self._draw_sidebar()
        imgui.end_child()
        imgui.same_line()
        imgui.begin_child("##files", ImVec2(0.0, -footer), imgui.ChildFlags_.nav_flattened.value)
        chosen = self._draw_entries()
        imgui.end_child()
        return self._draw_field() or chosen

    def _draw_sidebar(self) -> None:
        for index, (label, folder) in enumerate(self._sidebar):
            text = f"{icons.ICON_FA_FOLDER}  {fitted(label, (SIDEBAR - 40) * scale())}##{index}"
            clicked, _ = imgui.selectable(text, folder == self._folder)
            imgui.set_item_tooltip(str(folder))
            if clicked:
                self._go(folder)

    def _draw_entries(self) -> Path | None:
        """Returns the file that was chosen. A double click or Enter chooses; a click names it in the field."""
        typing = imgui.get_io().want_text_input
        if not typing and imgui.is_key_pressed(imgui.Key.backspace, False):
            self._go(self._folder.parent)
        flags = imgui.SelectableFlags_.allow_double_click.value
        clicked, _ = imgui.selectable(f"{icons.ICON_FA_ARROW_TURN_UP}  ..", False, flags)
        if clicked:
            self._go(self._folder.parent)
            return None
        for index, (path, is_folder) in enumerate(self._entries):
            corner = imgui.get_cursor_screen_pos()
            clicked, _ = imgui.selectable(f"##{index}", path.name == self._typed, flags)
            icon = icons.ICON_FA_FOLDER if is_folder else icons.ICON_FA_FILE
            draw, top = imgui.get_window_draw_list(), corner.y
            draw.add_text(ImVec2(corner.x, top), color(DIM), icon)
            text = imgui.get_color_u32(imgui.Col_.text.value)
            draw.add_text(ImVec2(corner.x + 22 * scale(), top), text, path.name)
            if clicked and is_folder:
                self._go(path)
                return None
            if clicked:
                self._typed = path.name
                if imgui.is_mouse_double_clicked(0) or imgui.get_io().nav_visible:
                    return self._answer()
        if not self._entries:
            imgui.text_disabled("no files here that can be opened")
        return None

    def _draw_field(self) -> Path | None:
        """The line in which a name or a path is typed, and the button; returns the file if it is chosen."""
        if self._error:
            imgui.text_colored(BAD, fitted(self._error, imgui.get_content_region_avail().x))
        gap, widths = imgui.get_style().item_spacing.x, [button_width(label, 4) for label in (self._verb, "Cancel")]
        imgui.set_next_item_width(imgui.get_content_region_avail().x - sum(widths) - 2 * gap)
        if imgui.is_window_appearing() or self._to_type:
            imgui.set_keyboard_focus_here()
        self._to_type = False
        flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.auto_select_all
        entered, self._typed = imgui.input_text_with_hint("##name", "name or path", self._typed, flags.value)
        imgui.same_line()
        pressed = imgui.button(self._verb, ImVec2(widths[0], 0.0))
        imgui.same_line()
        if imgui.button("Cancel", ImVec2(widths[1], 0.0)):
            self._open = False
            imgui.close_current_popup()
        return self._answer() if entered or pressed else None

    def _answer(self) -> Path | None:
        """The typed file; opens it if it is a folder, and shows an error if it cannot be used."""
        typed = self._typed.strip()
        if not typed:
            return None
        try:
            path = self._folder / Path(typed).expanduser()
            if path.is_dir():
                self._go(path)
                self._typed, self._to_type = "", True
            elif path.is_file() or (self._saving and path.parent.is_dir()):
                return path
            else:
                self._error = f"there is no {'folder ' + str(path.parent) if self._saving else 'file ' + path.name}"
        except (OSError, RuntimeError, ValueError):
            self._error = "not a path"
        return None

    def _go(self, folder: Path) -> None:
        """Show another folder, if it can be read."""
        try:
            folder = folder.resolve()
            self._entries = listed(folder, self._kinds)
        except OSError as error:
            self._error = f"{folder.name}: {error.strerror or error}"
            return
        self._folder, self._error = folder, ""


def listed(folder: Path, kinds: frozenset[str]) -> list[tuple[Path, bool]]:
    """Folders, then files of these kinds, by name, and whether each is a folder; no hidden ones. Raises `OSError`."""
    found = []
    with os.scandir(folder) as entries:
        for one in entries:
            is_folder = _is_folder(one)
            fits = is_folder or not kinds or Path(one.name).suffix.lower() in kinds
            if fits and not one.name.startswith("."):
                found.append((Path(one.path), is_folder))
    return sorted(found, key=lambda entry: (not entry[1], entry[0].name.lower()))[:MOST]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
