"""`InsideStatistics`: what the chosen tensor inside a model holds, and what can be done with it."""

from __future__ import annotations

import math

import numpy as np
from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..session import Session
from ..session.commands import (
    CompareTensor,
    HideDifference,
    HideInputGradient,
    ShareRange,
    ShowInputGradient,
    ShowTensor,
)
from ..session.shown_gradients import shown_gradient
from ..session.shown_tensors import have_one_range, picked_element, picked_node, sharing_range, shown_as
from ..session.tensor_statistics import RANGES, TensorState
from . import plots
from .controls import checkbox
from .inside_forms import draw_forms
from .inside_gradients import ICON, GradientTarget
from .inside_units import draw_units
from .rows import explain, fact, fitted, fitted_end, scale
from .tables import Throttled, heading, number, right
from .theme import BAD, DIM, TEXT


class InsideStatistics:
    """The statistics of the tensor that was chosen last; `target` is the element whose gradients are shown."""

    def __init__(self, target: GradientTarget) -> None:
        self._target = target
        self._others = Throttled(with_tensor)

    def draw(self, session: Session) -> None:
        """Draw them in the room that is left."""
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
        shape = "" if state is None else shape_text(state.shape) or "one element"
        room = (
            imgui.get_content_region_avail().x - imgui.calc_text_size(shape).x - 2.0 * imgui.get_style().item_spacing.x
        )
        imgui.text(fitted_end(f"{chosen[0]}:{chosen[1]}", room))
        explain(f"{chosen[1]}\nclick on an element of it in the scene for its receptive field")
        if state is None:
            imgui.text_colored(DIM, "…")
            return
        imgui.same_line()
        right(shape, DIM)
        draw_forms(session, _layers(session, chosen, session.tensor_statistics.compared), state.shape)
        self._comparison(session, chosen)
        self._picked(session, chosen, state)
        _summary(session, state)
        if state.peaks is not None:
            draw_units(session, chosen, state.peaks, state.dead or 0)
        _difference(session.tensor_statistics.compared, state)

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

    def _comparison(self, session: Session, chosen: tuple[str, str]) -> None:
        """Buttons that show the tensor of the same name in other models, and the difference."""
        compared = session.tensor_statistics.compared
        for other in self._others(session, chosen):
            shown = shown_as(session, *chosen, other) is not None
            if imgui.button(f"{icons.ICON_FA_CODE_COMPARE}  {'stop comparing' if shown else 'compare'} with {other}"):
                command = HideDifference if shown else CompareTensor
                session.post(command(*chosen, other))
            added = "the tensor of the same name and the difference"
            explain(f"remove {added} again" if shown else f"show {added} next to it, in the scene and here")
        if compared and shown_as(session, *chosen) and shown_as(session, compared, chosen[1]):
            tooltip = "draw both by the same range of colors and heights, so that they can be compared"
            one = checkbox("one range", tooltip, have_one_range(session, *chosen, compared))
            if one is not None:
                session.post(ShareRange(*chosen, compared, one))


def _difference(compared: str, state: TensorState) -> None:
    """The statistics of the difference, if there is one."""
    if state.difference is None or state.difference.norm is None:
        return
    away, own = state.difference, state.summary.norm or 0.0
    heading(f"minus {compared}")
    fact("min · max", f"{number(away.min)} · {number(away.max)}")
    fact("mean · std", f"{number(away.mean)} · {number(away.std)}")
    relative = away.norm / own if own and away.norm is not None else math.nan
    fact("relative", number(relative), tooltip="norm of the difference, of the norm of the tensor")


def _layers(session: Session, chosen: tuple[str, str], compared: str) -> list[str]:
    """The layers whose form is chosen together: of the tensor, and of what it is compared with by one range."""
    own = shown_as(session, *chosen) or shown_as(session, *chosen, compared)
    return [] if own is None else sharing_range(session, own)


def with_tensor(session: Session, chosen: tuple[str, str]) -> list[str]:
    """The other models that have a tensor of this name inside."""
    model, tensor = chosen
    others = ((name, instance.inside.known()) for name, instance in session.stage.instances.items() if name != model)
    return [name for name, known in others if tensor in known]


def shape_text(shape: tuple[int | str | None, ...] | None) -> str:
    """A shape as the panel writes it; empty for an unknown one."""
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
