"""`GradientTarget`: the element of a tensor inside a network whose gradients by other tensors a click shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..models.inside import Differentiable, GradientName
from ..session import Session
from ..session.commands import HideTensor, MoveGradients, ShowGradient
from ..session.shown_gradients import shown_gradient, target
from .rows import button_width, explain, fitted, fitted_end, scale
from .tables import Throttled, visible_rows
from .theme import ACCENT, DIM, TEXT

ICON = icons.ICON_FA_ARROWS_TO_DOT
MOST_BUTTONS = 3  # of inputs; more are in a list
TARGET = 0.35  # width of the target's name, of the line


class GradientTarget:
    """A tensor and the row-major index of an element: at first the first one of what the network computes last.

    While gradients by tensors are shown, it is theirs; another choice moves them.
    """

    def __init__(self) -> None:
        self._chosen: dict[str, tuple[str, int]] = {}  # by model
        self._known_by_model: dict[str, Throttled[Differentiable]] = {}
        self._shapes_by_model: dict[str, Throttled[dict[str, tuple[int, ...]]]] = {}

    def has(self, session: Session, model: str, tensor: str) -> bool:
        """Whether there are gradients of elements of this tensor."""
        return tensor in self._known(session, model).targets

    def of(self, session: Session, model: str) -> tuple[str, int] | None:
        """The tensor and the element; None for a model without gradients."""
        targets = self._known(session, model).targets
        if not targets:
            return None
        chosen = target(session, model) or self._chosen.get(model)
        return chosen if chosen is not None and chosen[0] in targets else (targets[-1], 0)

    def choose(self, session: Session, model: str, tensor: str, element: int) -> None:
        """Take another element; gradients that are shown become those of it."""
        self._chosen[model] = tensor, element
        if target(session, model) is not None:
            session.post(MoveGradients(model, tensor, element))

    def draw(self, session: Session, model: str) -> None:
        """A line with the tensor, the element, and buttons for the gradients by the inputs."""
        found = self.of(session, model)
        if found is None:
            return
        tensor, element = found
        room = imgui.get_content_region_avail().x
        imgui.align_text_to_frame_padding()
        imgui.text_colored(DIM, f"{ICON}  of")
        imgui.same_line()
        imgui.set_next_item_width(TARGET * room)
        inner = TARGET * room - imgui.get_frame_height() - 2.0 * imgui.get_style().frame_padding.x
        if imgui.begin_combo("##target", fitted_end(tensor, inner)):
            self._draw_targets(session, model, tensor)
            imgui.end_combo()
        explain(f"{tensor}\nthe tensor of which gradients are taken by the tensors of the list")
        imgui.same_line()
        imgui.set_next_item_width(min(0.2 * room, 80.0 * scale()))
        entered, typed = imgui.input_int("##element", element, 0)
        explain(f"the element of it, by its row-major index: {self._index(session, model, tensor, element)}")
        if entered:
            self.choose(session, model, tensor, self._within(session, model, tensor, typed))
        self._draw_inputs(session, model, tensor, room)

    def draw_button(self, session: Session, model: str, source: str) -> None:
        """In the line of a tensor: a click shows the gradient of the target by it, or hides that."""
        found = self.of(session, model)
        if found is None or source not in self._known(session, model).sources or source == found[0]:
            return
        shown = shown_gradient(session, model, found[0], source) is not None
        imgui.push_style_color(imgui.Col_.text.value, ACCENT if shown else DIM)
        imgui.push_style_color(imgui.Col_.button.value, 0)
        if imgui.small_button(f"{ICON}##gradient by {source}"):
            self.toggle(session, model, source)
        imgui.pop_style_color(2)
        explain(f"{'hide' if shown else 'show'} the gradient of {found[0]}[{found[1]}] by {source}")

    def toggle(self, session: Session, model: str, source: str) -> None:
        """Show the gradient of the target by this tensor, or no longer."""
        found = self.of(session, model)
        assert found is not None
        if shown_gradient(session, model, found[0], source) is None:
            session.post(ShowGradient(model, *found, source))
        else:
            session.post(HideTensor(model, str(GradientName(*found, source))))

    # inside -----------------------------------------------------------------------------------------------------

    def _known(self, session: Session, model: str) -> Differentiable:
        return self._known_by_model.setdefault(model, Throttled(differentiable))(session, model)

    def _shapes(self, session: Session, model: str) -> dict[str, tuple[int, ...]]:
        return self._shapes_by_model.setdefault(model, Throttled(shapes))(session, model)

    def _draw_by_input(self, session: Session, model: str, tensor: str, source: str) -> None:
        shown = shown_gradient(session, model, tensor, source) is not None
        imgui.push_style_color(imgui.Col_.text.value, ACCENT if shown else TEXT)
        room = imgui.get_content_region_avail().x - 2.0 * imgui.get_style().frame_padding.x
        if imgui.button(f"{fitted(f'by {source}', room)}###by {source}"):
            self.toggle(session, model, source)
        imgui.pop_style_color()
        explain(f"{'hide' if shown else 'show'} the gradient of this element by {source}, which the network takes")

    def _draw_inputs(self, session: Session, model: str, tensor: str, room: float) -> None:
        """Buttons for the gradients by the inputs, or a list of many, such as a cache of keys and values."""
        inputs, gap = self._known(session, model).inputs, imgui.get_style().item_spacing.x
        if len(inputs) > MOST_BUTTONS:
            imgui.same_line()
            self._draw_input_list(session, model, tensor, inputs)
            return
        end = imgui.get_cursor_screen_pos().x + room
        for number, source in enumerate(inputs):
            if not number or imgui.get_item_rect_max().x + gap + button_width(f"by {source}") <= end:
                imgui.same_line()
            self._draw_by_input(session, model, tensor, source)

    def _draw_input_list(self, session: Session, model: str, tensor: str, sources: Sequence[str]) -> None:
        imgui.set_next_item_width(imgui.get_content_region_avail().x)
        if imgui.begin_combo("##inputs", "by input"):
            for index in visible_rows(len(sources), imgui.get_text_line_height_with_spacing()):
                shown = shown_gradient(session, model, tensor, sources[index]) is not None
                if imgui.selectable(f"{sources[index]}##by", shown, 0, ImVec2(0.0, 0.0))[0]:
                    self.toggle(session, model, sources[index])
            imgui.end_combo()
        explain("show the gradient of this element by an input of the network")

    def _draw_targets(self, session: Session, model: str, tensor: str) -> None:
        names = self._known(session, model).targets[::-1]  # those near the outputs first
        for index in visible_rows(len(names), imgui.get_text_line_height_with_spacing()):
            clicked, _ = imgui.selectable(names[index], names[index] == tensor, 0, ImVec2(0.0, 0.0))
            if clicked:
                self.choose(session, model, names[index], 0)

    def _within(self, session: Session, model: str, tensor: str, element: int) -> int:
        """An element that there is, as far as the shape is known."""
        shape = self._shapes(session, model).get(tensor)
        size = math.prod(shape) if shape is not None else element + 1
        return max(min(element, size - 1), 0)

    def _index(self, session: Session, model: str, tensor: str, element: int) -> str:
        shape = self._shapes(session, model).get(tensor)
        if not shape or element >= math.prod(shape):
            return f"{element:,}"
        return f"[{', '.join(map(str, np.unravel_index(element, shape)))}] of {'×'.join(map(str, shape))}"


def differentiable(session: Session, model: str) -> Differentiable:
    """What there are gradients of inside a model, and by what."""
    instance = session.stage.instances.get(model)
    return Differentiable() if instance is None else instance.inside.differentiable()


def shapes(session: Session, model: str) -> dict[str, tuple[int, ...]]:
    """The shapes of tensors inside a model that are known in full."""
    instance = session.stage.instances.get(model)
    known = {} if instance is None else instance.inside.known()
    found: dict[str, tuple[int, ...]] = {}
    for name, one in known.items():
        sizes = [size for size in one.shape or () if isinstance(size, int)]
        if one.shape is not None and len(sizes) == len(one.shape):
            found[name] = tuple(sizes)
    return found
