"""`InsideView`: the tensors inside a model: a click shows one in the scene, and its statistics beside the list."""

from __future__ import annotations

from typing import NamedTuple

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import ChooseTensor, HideTensor, ShowGraph, ShowTensor
from ..session.shown_gradients import shown_gradients
from ..session.shown_tensors import GRAPH, picked_element, shown_as
from .controls import search_field
from .inside_gradients import GradientTarget
from .inside_statistics import InsideStatistics, shape_text
from .rows import explain, fitted, fitted_end, icon_button, scale
from .tables import Throttled, draw_parts, next_column, right, row_height, visible_rows
from .theme import ACCENT, CLEAR, DIM, TEXT

FACTS = 300.0  # width of the statistics, in logical pixels


class Line(NamedTuple):
    """A tensor in the list."""

    name: str
    operator: str
    shape: str


class InsideView:
    """A list of the tensors inside a model, and what is known of the one that was shown last."""

    def __init__(self) -> None:
        self._model = ""
        self._find = ""
        self._lines = Throttled(listed)
        self._target = GradientTarget()
        self._statistics = InsideStatistics(self._target)
        self._picked: tuple[str, str, int] | None = None  # the element that was picked last

    def draw(self, session: Session) -> None:
        """Draw both in the room that is left."""
        self._follow_pick(session)
        room = imgui.get_content_region_avail()
        facts = min(FACTS * scale(), 0.5 * room.x)
        draw_parts(("tensors inside", room.x - facts - 14.0 * scale(), 0.0, lambda: self._list(session)))
        next_column()
        draw_parts(("statistics inside", 0.0, 0.0, lambda: self._statistics.draw(session)))

    # the list -------------------------------------------------------------------------------------------------------

    def _list(self, session: Session) -> None:
        models = list(session.scene.order)
        if self._model not in models:
            self._model = _first_network(session)
        imgui.set_next_item_width(0.4 * imgui.get_content_region_avail().x)
        changed, at = imgui.combo("##model", models.index(self._model), models)
        explain("the model whose tensors are listed")
        if changed:
            self._model = models[at]
        if session.scene.models[self._model].type == "onnx":
            imgui.same_line()
            if icon_button(icons.ICON_FA_CUBES, "show the graph of the network in space, or hide it"):
                session.post(ShowGraph(self._model))
        imgui.same_line()
        self._find, _ = search_field(self._find, 400.0 * scale())
        self._target.draw(session, self._model)
        shown = [Line(str(name), "gradient", "") for name in shown_gradients(session, self._model)]
        lines = [*shown, *self._lines(session, self._model)]
        lines = [line for line in lines if self._find.lower() in _text(line).lower()]
        if imgui.begin_child("tensor lines", ImVec2(0.0, 0.0), 0, imgui.WindowFlags_.no_saved_settings.value):
            for index in visible_rows(len(lines), row_height()):
                self._line(session, lines[index])
        imgui.end_child()

    def _line(self, session: Session, line: Line) -> None:
        shown = shown_as(session, self._model, line.name) is not None
        chosen = session.tensor_statistics.chosen == (self._model, line.name)
        verb = "show it in the scene" if not shown else "hide it" if chosen else "see its statistics"
        left = imgui.get_cursor_pos_x()
        imgui.push_style_color(imgui.Col_.text.value, ACCENT if shown else TEXT)
        flags = imgui.SelectableFlags_.allow_overlap.value
        clicked, _ = imgui.selectable(f"##{line.name}", chosen, flags, ImVec2(0.0, imgui.get_text_line_height()))
        explain(f"{line.name}\n{line.operator}  {line.shape}\nclick to {verb}")
        imgui.same_line(left)
        hidden = shown and self._eye(line.name)
        imgui.same_line(left + 24.0 * scale())
        if self._target.of(session, self._model) is not None:
            self._target.draw_button(session, self._model, line.name)
            imgui.same_line(left + 48.0 * scale())
        gap = imgui.get_style().item_spacing.x
        name, room = line.name.removeprefix("gradient of "), imgui.get_content_region_avail().x - 2.0 * gap
        note = fitted(f"{line.operator}  {line.shape}", max(0.3 * room, room - imgui.calc_text_size(name).x))
        imgui.text(fitted_end(name, room - imgui.calc_text_size(note).x))
        imgui.pop_style_color()
        imgui.same_line()
        right(note, DIM)
        if hidden or clicked:
            command = HideTensor if hidden or chosen else ChooseTensor if shown else ShowTensor
            session.post(command(self._model, line.name))

    @staticmethod
    def _eye(name: str) -> bool:
        """An eye in the line of a tensor that is shown; returns whether it was pressed."""
        imgui.push_style_color(imgui.Col_.button.value, CLEAR)
        pressed = imgui.small_button(f"{icons.ICON_FA_EYE}###hide {name}")
        imgui.pop_style_color()
        explain(f"hide {name}")
        return pressed

    def _follow_pick(self, session: Session) -> None:
        """Choose the tensor of an element that is picked in the scene."""
        picked = picked_element(session)
        if picked is not None and picked != self._picked and picked[1] != GRAPH[0]:
            self._model = picked[0]
            if picked[:2] != session.tensor_statistics.chosen:
                session.post(ChooseTensor(*picked[:2]))
        self._picked = picked


def listed(session: Session, model: str) -> list[Line]:
    """The tensors inside a model."""
    instance = session.stage.instances.get(model)
    known = {} if instance is None else instance.inside.known()
    return [Line(name, one.operator, shape_text(one.shape)) for name, one in known.items()]


def _first_network(session: Session) -> str:
    """The first model that computes tensors by operators, or the first of all."""
    networks = [name for name in session.scene.order if session.scene.models[name].type == "onnx"]
    return (networks or list(session.scene.order))[0]


def _text(line: Line) -> str:
    return f"{line.name} {line.operator} {line.shape}"
