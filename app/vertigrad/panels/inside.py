"""`InsideView`: the tensors inside a model: a click shows one in the scene; statistics, and units to set to zero."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import (
    Ablate,
    CompareTensor,
    HideDifference,
    HideInputGradient,
    HideTensor,
    ShowGraph,
    ShowInputGradient,
    ShowTensor,
    ToggleUnit,
)
from ..session.shown_gradients import shown_gradient, shown_gradients
from ..session.shown_tensors import picked_element, picked_node, shown_as
from ..session.tensor_statistics import RANGES, TensorState
from . import plots
from .controls import search_field
from .inside_forms import draw_forms
from .inside_gradients import ICON, GradientTarget
from .rows import color, explain, fact, fitted, fitted_end, icon_button, scale, show_tooltip
from .tables import Throttled, draw_parts, heading, next_column, number, right, row_height, visible_rows
from .theme import ACCENT, BAD, DIM, FIELD, TEXT

FACTS = 300.0  # width of the statistics, in logical pixels
UNIT = 12.0  # side of a unit's square, in logical pixels
MOST_UNITS = 4096  # squares that are drawn


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
        self._others = Throttled(with_tensor)
        self._target = GradientTarget()

    def draw(self, session: Session) -> None:
        """Draw both in the room that is left."""
        room = imgui.get_content_region_avail()
        facts = min(FACTS * scale(), 0.5 * room.x)
        draw_parts(("tensors inside", room.x - facts - 14.0 * scale(), 0.0, lambda: self._list(session)))
        next_column()
        draw_parts(("statistics inside", 0.0, 0.0, lambda: self._facts(session)))

    def choose(self, model: str) -> None:
        """List the tensors of this model."""
        if model != self._model:
            self._model = model
            self._lines.forget()

    # the list -------------------------------------------------------------------------------------------------------

    def _list(self, session: Session) -> None:
        models = list(session.scene.order)
        if self._model not in models:
            self.choose(_first_network(session))
        imgui.set_next_item_width(0.4 * imgui.get_content_region_avail().x)
        changed, at = imgui.combo("##model", models.index(self._model), models)
        explain("the model whose tensors are listed")
        if changed:
            self.choose(models[at])
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
        icon = icons.ICON_FA_EYE if shown else "   "
        imgui.push_style_color(imgui.Col_.text.value, ACCENT if shown else TEXT)
        flags = imgui.SelectableFlags_.allow_overlap.value
        clicked, _ = imgui.selectable(f"{icon}##{line.name}", chosen, flags, ImVec2(0.0, imgui.get_text_line_height()))
        verb = "hide it" if shown else "show it in the scene"
        explain(f"{line.name}\n{line.operator}  {line.shape}\nclick to {verb}")
        imgui.same_line(24.0 * scale())
        if self._target.of(session, self._model) is not None:
            self._target.draw_button(session, self._model, line.name)
            imgui.same_line(48.0 * scale())
        gap = imgui.get_style().item_spacing.x
        name, left = line.name.removeprefix("gradient of "), imgui.get_content_region_avail().x - 2.0 * gap
        note = fitted(f"{line.operator}  {line.shape}", max(0.3 * left, left - imgui.calc_text_size(name).x))
        imgui.text(fitted_end(name, left - imgui.calc_text_size(note).x))
        imgui.pop_style_color()
        imgui.same_line()
        right(note, DIM)
        if clicked:
            session.post((HideTensor if shown else ShowTensor)(self._model, line.name))

    # statistics -----------------------------------------------------------------------------------------------------

    def _facts(self, session: Session) -> None:
        node = picked_node(session)
        if node is not None and node != session.tensor_statistics.chosen:
            imgui.text_colored(DIM, "node")
            imgui.same_line()
            imgui.text(fitted_end(node[1], imgui.get_content_region_avail().x))
            if shown_as(session, *node) is None and imgui.button("show the tensor of this node"):
                session.post(ShowTensor(*node))
        chosen, state = session.tensor_statistics.chosen, session.tensor_statistics.state
        if chosen is None:
            imgui.text_colored(DIM, "click on a tensor to show it in the scene")
            return
        shape = "" if state is None else _shape(state.shape) or "one element"
        room = (
            imgui.get_content_region_avail().x - imgui.calc_text_size(shape).x - 2.0 * imgui.get_style().item_spacing.x
        )
        imgui.text(fitted_end(chosen[1], room))
        explain(f"{chosen[1]}\nclick on an element of it in the scene for its receptive field")
        if state is None:
            imgui.text_colored(DIM, "…")
            return
        imgui.same_line()
        right(shape, DIM)
        layer = shown_as(session, *chosen) or shown_as(session, *chosen, session.tensor_statistics.compared)
        if layer is not None:
            draw_forms(session, layer, state.shape)
        self._picked(session, chosen, state)
        _summary(session, state)
        if state.peaks is not None:
            _units(session, chosen, state.peaks, state.dead or 0)
        self._comparison(session, chosen, state)

    def _picked(self, session: Session, chosen: tuple[str, str], state: TensorState) -> None:
        """The element of the chosen tensor that was picked in the viewport, and what can be done with it."""
        if shown_gradient(session, *chosen) is not None and imgui.button("hide the receptive field"):
            session.post(HideInputGradient(*chosen))
        picked = picked_element(session)
        if picked is None or picked[:2] != chosen or picked[2] >= math.prod(state.shape):
            return
        index = ", ".join(map(str, np.unravel_index(picked[2], state.shape))) if state.shape else "0"
        heading("picked element", f"[{index}]")
        if not self._target.has(session, *chosen):
            return
        if imgui.button(f"{icons.ICON_FA_CROSSHAIRS}  receptive field"):
            session.post(ShowInputGradient(*picked))
        explain("show the gradient of this element by the network's input, by the backward pass")
        imgui.same_line()
        if imgui.button(f"{ICON}  take as target"):
            self._target.choose(session, *picked)
        explain("take gradients of this element: the buttons in the list show them by other tensors")

    def _comparison(self, session: Session, chosen: tuple[str, str], state: TensorState) -> None:
        """The difference to the tensor of the same name in other models."""
        compared = session.tensor_statistics.compared
        for other in self._others(session, chosen):
            shown = shown_as(session, *chosen, other) is not None
            if imgui.button(f"{icons.ICON_FA_CODE_COMPARE}  {'stop comparing' if shown else 'compare'} with {other}"):
                model, tensor = chosen
                command = HideDifference if shown else CompareTensor
                session.post(command(model, tensor, other))
            explain("show the tensor of the same name next to it, and the difference, in the scene and here")
        if state.difference is None or state.difference.norm is None:
            return
        away, own = state.difference, state.summary.norm or 0.0
        heading(f"minus {compared}")
        fact("min · max", f"{number(away.min)} · {number(away.max)}")
        fact("mean · std", f"{number(away.mean)} · {number(away.std)}")
        relative = away.norm / own if own and away.norm is not None else math.nan
        fact("relative", number(relative), tooltip="norm of the difference, of the norm of the tensor")


def with_tensor(session: Session, chosen: tuple[str, str]) -> list[str]:
    """The other models that have a tensor of this name inside."""
    model, tensor = chosen
    others = ((name, instance.inside.known()) for name, instance in session.stage.instances.items() if name != model)
    return [name for name, known in others if tensor in known]


def listed(session: Session, model: str) -> list[Line]:
    """The tensors inside a model."""
    instance = session.stage.instances.get(model)
    known = {} if instance is None else instance.inside.known()
    return [Line(name, one.operator, _shape(one.shape)) for name, one in known.items()]


def _first_network(session: Session) -> str:
    """The first model that computes tensors by operators, or the first of all."""
    networks = [name for name in session.scene.order if session.scene.models[name].type == "onnx"]
    return (networks or list(session.scene.order))[0]


def _text(line: Line) -> str:
    return f"{line.name} {line.operator} {line.shape}"


def _shape(shape: tuple[int | str | None, ...] | None) -> str:
    if shape is None:
        return ""
    return "×".join("?" if size is None or str(size).startswith("unk__") else str(size) for size in shape)


def _summary(session: Session, state: TensorState) -> None:
    summary = state.summary
    if summary.finite:
        limits = (0.0, float(len(state.counts))), (0.0, 1.05 * float(max(state.counts.max(), 1)))
        with plots.plot("histogram inside", 32.0 * scale(), *limits) as visible:
            if visible:
                plots.bars("counts", state.counts.astype(np.float64), plots.SERIES[1])
        heading(number(summary.min), number(summary.max))
    fact("mean · std", f"{number(summary.mean)} · {number(summary.std)}")
    bad = summary.nan or summary.infinite
    fact("NaN · infinite", f"{summary.nan:,} · {summary.infinite:,}", BAD if bad else TEXT)
    if bad:
        source = session.tensor_statistics.source
        text = "…" if source is None else f"{source[0]} ({source[1]})"
        room = imgui.get_content_region_avail().x
        fact("first not finite", fitted(text, 0.6 * room), BAD, f"where they arise: {text}")
    if state.saturated is not None:
        label = "zero" if RANGES[state.operator][1] is None else "saturated"
        fact(label, f"{100.0 * state.saturated:.1f} %", tooltip=f"elements at an end of the range of {state.operator}")


def _units(session: Session, chosen: tuple[str, str], peaks: np.ndarray, dead: int) -> None:
    """A square for each unit, as bright as its largest magnitude; a click sets it to zero, another one no longer."""
    ablated = session.scene_edits.extras.ablated.get(chosen, ())
    count = min(len(peaks), MOST_UNITS)
    side, room = UNIT * scale(), imgui.get_content_region_avail().x
    across = max(1, int(room // side))
    imgui.text_colored(DIM, "units: click to ablate")
    imgui.same_line()
    notes = [f"{len(ablated):,} ablated"] if ablated else []
    right(" · ".join([*notes, f"{dead:,} of {len(peaks):,} dead"]), BAD if dead else DIM)
    explain("dead: 0 in all frames seen")
    corner = imgui.get_cursor_screen_pos()
    pressed = imgui.invisible_button("units", ImVec2(across * side, -(-count // across) * side))
    mouse = imgui.get_mouse_pos()
    column, row = int((mouse.x - corner.x) // side), int((mouse.y - corner.y) // side)
    over = row * across + column if imgui.is_item_hovered() and 0 <= column < across else -1
    brightest = float(np.nanmax(peaks, initial=0.0)) or 1.0
    draw = imgui.get_window_draw_list()
    for unit in range(count):
        left, top = corner.x + unit % across * side, corner.y + unit // across * side
        low, high = ImVec2(left + 1.0, top + 1.0), ImVec2(left + side - 1.0, top + side - 1.0)
        draw.add_rect_filled(low, high, color(_tint(float(peaks[unit]), brightest)))
        if unit in ablated:
            draw.add_line(low, high, color(BAD), 2.0 * scale())
            draw.add_line(ImVec2(high.x, low.y), ImVec2(low.x, high.y), color(BAD), 2.0 * scale())
        elif unit == over:
            draw.add_rect(low, high, color(ACCENT))
    if 0 <= over < count:
        verb = "restore it" if over in ablated else "set it to zero"
        show_tooltip(f"unit {over}, largest magnitude {number(float(peaks[over]))}\nclick to {verb}")
        if pressed:
            session.post(ToggleUnit(*chosen, over))
    if ablated and imgui.button("restore all units"):
        session.post(Ablate(*chosen, ()))


def _tint(peak: float, brightest: float) -> ImVec4:
    """Dark for small magnitudes; red for a unit that was zero all the time."""
    if peak == 0.0:
        return ImVec4(0.45, 0.15, 0.15, 1.0)
    share = math.sqrt(min(peak / brightest, 1.0)) if math.isfinite(peak) else 1.0
    ends = (FIELD.x, 0.95), (FIELD.y, 0.85), (FIELD.z, 0.45)
    red, green, blue = (dark + (bright - dark) * share for dark, bright in ends)
    return ImVec4(red, green, blue, 1.0)
