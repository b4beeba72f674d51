"""`SavingDialogs`: the questions before a file is overwritten, or changes are lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from imgui_bundle import ImVec2, imgui

from .. import resources
from ..scene.kinds import scene_name
from ..session import Session
from ..session.autosave import DiscardAutosave, PostponeAutosave
from ..session.commands import Ask, Reload, Save, SaveAs
from ..session.files import here
from ..session.questions import Allow, Question
from .files import FileDialog
from .rows import button_width, paragraph, scale, strong
from .theme import ACCENT, BAR
from .windows import MODAL, centered, modal

WIDTH = 400.0  # logical pixels
HEADINGS = {
    "leave": "Save changes?",
    "changed": "The file has changed",
    "name": "Save as",
    "replace": "Replace file?",
    "overwrite": "Replace file?",
    "code": "Run this scene's code?",
    "restore": "Restore unsaved changes?",
}
NAME = "##question"


class SavingDialogs:
    """Draws the session's question, if it has one, over everything else; the answer is posted as a command."""

    def __init__(self) -> None:
        self._files = FileDialog("Save scene as", "Save", {".toml"}, saving=True)
        self._question: Question | None = None  # the one that is drawn
        self._choosing = False

    def draw(self, session: Session) -> None:
        """Draw what is asked, if anything is."""
        question = session.questions.first
        if question is None:
            self._choosing = False
        elif self._choosing or (question.about == "name" and not question.reason):
            self._choose(session, question)
            return
        if question is not None and question is not self._question:
            imgui.open_popup(NAME)
        self._question = question
        if question is not None or imgui.is_popup_open(NAME):
            self._draw_modal(session, question)

    def close(self) -> None:
        """Close them without an answer."""
        self._files.close()
        self._question, self._choosing = None, False

    def _draw_modal(self, session: Session, question: Question | None) -> None:
        imgui.set_next_window_size(centered(WIDTH, 0.0, (0.94, 0.0), at=0.4))
        with modal(NAME, MODAL | imgui.WindowFlags_.no_decoration) as is_open:
            if not is_open:
                self._question = None
            elif question is None:
                imgui.close_current_popup()
            else:
                self._draw_question(session, question)

    def _draw_question(self, session: Session, question: Question) -> None:
        strong(HEADINGS[question.about])
        paragraph(question.reason)
        imgui.dummy(ImVec2(0.0, 4 * scale()))
        then = question.then
        match question.about:
            case "leave":
                answers = {"Save": Save(then=then), "Don't save": then}
            case "changed":
                answers = {"Reload": Reload(), "Overwrite": Save(overwrite=True, then=then)}
            case "replace" | "overwrite":
                answers = {"Replace": then}
            case "code":
                answers = {"Run once": then}
                if isinstance(then, Allow):
                    answers["Always"] = replace(then, always=True)
            case "restore":
                answers = {"Restore": then, "Discard": DiscardAutosave()}
            case _:
                answers = {}
        named = question.about in ("changed", "name", "replace")
        cancel = "Later" if question.about == "restore" else "Cancel"
        labels = [*answers, *(["Save as…"] if named else []), cancel]
        pressed = _buttons(labels, cancel if question.about == "code" else labels[0])
        if pressed == cancel or imgui.is_key_pressed(imgui.Key.escape, False):
            session.post(Ask(None))
            if question.about == "restore":
                session.post(PostponeAutosave())
        elif pressed == "Save as…":
            self._choosing = True
            imgui.close_current_popup()
        elif pressed:
            if pressed != "Save":
                session.post(Ask(None))
            command = answers[pressed]
            if command is not None:
                session.post(command)

    def _choose(self, session: Session, question: Question) -> None:
        """The name of the new file, in the file dialog."""
        if not self._files.is_open:
            if self._choosing and self._question is None:
                session.post(Ask(None))  # it was closed without an answer
                self._choosing = False
                return
            self._choosing, self._question = True, None
            folder, name = suggestion(session.scene.path)
            self._files.ask(folder, name)
        path = self._files.draw()
        if path is None:
            return
        self._choosing, path = False, scene_name(path)
        then = question.then.then if isinstance(question.then, SaveAs) else question.then
        command = SaveAs(path, then=then)
        if path == session.scene.path:
            session.post(Save(then=then))
        elif path.exists():
            reason = f"{path.name} already exists in {path.parent.name or path.parent}."
            session.post(Ask(Question("replace", reason, replace(command, overwrite=True))))
        else:
            session.post(Ask(None))
            session.post(command)


def suggestion(path: Path) -> tuple[Path, str]:
    """The folder and the name to begin with: of a packaged scene, a copy where the program was started.

    What is no scene file, but was opened as a scene, gets the name of one.
    """
    if path.is_relative_to(resources.root()):
        return here(), scene_name(path).name
    return path.parent, scene_name(path).name


def _buttons(labels: list[str], usual: str) -> str:
    """At the right, the usual one emphasized and chosen by Enter; returns the one that was pressed."""
    gap, widths = imgui.get_style().item_spacing.x, [button_width(label, 4) for label in labels]
    left = imgui.get_cursor_pos_x() + imgui.get_content_region_avail().x - sum(widths) - gap * (len(labels) - 1)
    imgui.set_cursor_pos_x(max(left, imgui.get_cursor_pos_x()))
    pressed = ""
    for index, (label, width) in enumerate(zip(labels, widths, strict=True)):
        if index:
            imgui.same_line(0.0, gap)
        if label == usual:
            for item in (imgui.Col_.button, imgui.Col_.button_hovered, imgui.Col_.button_active):
                imgui.push_style_color(item.value, ACCENT)
            imgui.push_style_color(imgui.Col_.text.value, BAR)
        if imgui.button(label, ImVec2(width, 0.0)):
            pressed = label
        if label == usual:
            imgui.pop_style_color(4)
            if imgui.is_window_appearing():
                imgui.set_keyboard_focus_here(-1)
    if imgui.is_key_pressed(imgui.Key.enter, False) and not pressed and not imgui.get_io().nav_visible:
        pressed = usual
    return pressed
