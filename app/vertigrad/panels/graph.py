"""`GraphPanel`: models, layers, and the tensors that lead from one to the other, with the proof that none is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import NamedTuple

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..scene.schema import OutputRef
from ..session import Session
from ..tensor import Tensor
from . import plots
from .base import Panel
from .inside import InsideView
from .rows import color, fitted_end, scale
from .tables import Throttled, next_column, size, width
from .theme import ACCENT, BAD, DIM, FIELD, GOOD, LIFTED, TEXT, bold
from .watch import Show

GAP, BETWEEN = 96.0, 16.0  # between columns, and between the boxes of one, in logical pixels
EDGE = 10.0  # between a box and the panel's border
NEAR = 5.0  # how near the mouse must come to a line
WIDE, GRAPH = 620.0, 0.4  # logical pixels from which on there is room; the graph's fraction of it, at most
LABEL = 180.0  # longest name of a port, in logical pixels
SEGMENTS = 24  # of a line, when the distance of the mouse is measured


class Port(NamedTuple):
    """A line of a box: an input at its left or an output at its right; `tensor` is its name, `note` its layout."""

    key: str
    label: str
    tensor: str
    note: str
    used: bool


class Box(NamedTuple):
    """A model or a layer, in one of the columns."""

    key: str
    title: str
    kind: str
    column: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


class Wire(NamedTuple):
    """From the output with the key `start` to the input with the key `end`. `proof` says whether it is one block."""

    start: str
    end: str
    tensor: str
    tint: ImVec4
    same: bool
    proof: str


class Placed(NamedTuple):
    """A box with its corner and its size, in pixels from the middle of the drawing's left border."""

    box: Box
    corner: ImVec2
    extent: ImVec2


class GraphPanel(Panel):
    """Boxes in columns by what they depend on, lines colored by output. A click on either inspects the tensor.

    Beside them, where there is room, are the tensors inside a model; a click on one shows it in the scene.
    """

    title = "Graph"
    icon = icons.ICON_FA_DIAGRAM_PROJECT

    def __init__(self, show: Show) -> None:
        self._show = show
        self._graph = Throttled(graph)
        self._latest: tuple[list[Box], list[Wire]] = ([], [])
        self._inside = InsideView()

    def draw(self, session: Session) -> None:
        if session.commands.current is None:  # while a long command runs, layers may have tensors that are replaced
            self._latest = self._graph(session)
        room = imgui.get_content_region_avail()
        wide = room.x >= WIDE * scale() and bool(session.scene.order)
        placed, extent = arranged(self._latest[0])
        needed = extent.x + imgui.get_style().scrollbar_size
        self._draw_graph(session, placed, extent, min(GRAPH * room.x, needed) if wide else 0.0)
        if wide:
            next_column()
            self._inside.draw(session)

    def _draw_graph(self, session: Session, placed: list[Placed], extent: ImVec2, width: float) -> None:
        flags = imgui.WindowFlags_.horizontal_scrollbar | imgui.WindowFlags_.no_saved_settings
        if imgui.begin_child("graph", ImVec2(width, 0.0), 0, flags.value):
            chosen = self._draw_all(placed, extent)
            if chosen and imgui.is_mouse_clicked(0):
                self._show(session, chosen, None)
        imgui.end_child()

    def _draw_all(self, placed: list[Placed], extent: ImVec2) -> str:
        """Draw the graph; returns the tensor under the mouse, if any."""
        room, corner = imgui.get_content_region_avail().y, imgui.get_cursor_screen_pos()
        origin = ImVec2(corner.x, corner.y + 0.5 * max(room, extent.y))
        imgui.dummy(ImVec2(extent.x, extent.y if extent.y > room else 1.0))
        mouse = imgui.get_mouse_pos() if imgui.is_window_hovered() else None
        ports: dict[str, ImVec2] = {}
        over = ""
        for one in placed:
            over = _draw_box(one, origin, mouse, ports) or over
        for wire in self._latest[1]:
            over = _draw_wire(wire, ports, mouse) or over
        return over


def graph(session: Session) -> tuple[list[Box], list[Wire]]:
    """The running scene: models in the order of their inputs, then layers; and the wires between them."""
    scene, stage = session.scene, session.stage
    depth: dict[str, int] = {}
    boxes, wires = list[Box](), list[Wire]()
    bound = (ref for spec in scene.layers.values() for ref in spec.attributes.values() if isinstance(ref, OutputRef))
    used = {str(ref) for ref in bound} | {str(ref) for spec in scene.models.values() for ref in spec.inputs.values()}
    tints = dict(zip(sorted(used), cycle(plots.SERIES), strict=False))
    for name in scene.order:
        spec, instance = scene.models[name], stage.instances[name]
        depth[name] = max((depth[ref.model] + 1 for ref in spec.inputs.values()), default=0)
        inputs = tuple(Port(f"> {name}.{key}", key, str(ref), "", True) for key, ref in spec.inputs.items())
        outputs = tuple(
            Port(full, key, full, _layout(tensor), full in used)
            for key, tensor in instance.outputs.items()
            for full in [f"{name}.{key}"]
        )
        boxes.append(Box(name, name, spec.type, depth[name], inputs, outputs))
        for key, ref in spec.inputs.items():
            block = stage.instances[ref.model].outputs[ref.output].block.id
            proof = f"{ref} is block {block}; {name} got the tensor itself"
            wires.append(Wire(str(ref), f"> {name}.{key}", str(ref), tints[str(ref)], True, proof))
    last = max(depth.values(), default=-1) + 1
    for name, spec in scene.layers.items():
        refs = {key: ref for key, ref in spec.attributes.items() if isinstance(ref, OutputRef)}
        inputs = tuple(Port(f"> layer {name}.{key}", key, str(ref), "", True) for key, ref in refs.items())
        boxes.append(Box(f"layer {name}", name, f"{spec.type} layer", last, inputs, ()))
        wires += _drawn(session, name, refs, tints)
    return boxes, wires


def arranged(boxes: Iterable[Box]) -> tuple[list[Placed], ImVec2]:
    """The boxes in their columns, each centered, and the size of all."""
    columns: dict[int, list[tuple[Box, ImVec2]]] = {}
    for box in boxes:
        columns.setdefault(box.column, []).append((box, _extent(box)))
    gap, edge = BETWEEN * scale(), EDGE * scale()
    tall = {at: sum(extent.y for _, extent in each) + gap * (len(each) - 1) for at, each in columns.items()}
    left, placed = edge, list[Placed]()
    for at in sorted(columns):
        wide = max(extent.x for _, extent in columns[at])
        top = -tall[at] / 2
        for box, extent in columns[at]:
            placed.append(Placed(box, ImVec2(left, top), ImVec2(wide, extent.y)))
            top += extent.y + gap
        left += wide + GAP * scale()
    return placed, ImVec2(left - GAP * scale() + edge, max(tall.values(), default=0.0) + 2 * edge)


def _layout(tensor: Tensor) -> str:
    shape = " × ".join(f"{n:,}" for n in tensor.shape) or "one element"
    where = f"block {tensor.block.id}, offset {tensor.offset}, strides {tensor.strides}"
    return f"{tensor.dtype}  {shape}, {size(tensor.nbytes)}\n{where}"


def _drawn(session: Session, layer: str, refs: dict[str, OutputRef], tints: dict[str, ImVec4]) -> Iterator[Wire]:
    """The wires to a layer. The block that it binds must be the block of the output."""
    bound = session.stage.layers[layer].report()
    for key, ref in refs.items():
        block = session.stage.instances[ref.model].outputs[ref.output].block.id
        drawn = bound.get(key, {}).get("block")
        same = drawn is None or drawn == block
        verdict = "the same block: nothing is copied" if same else "NOT the same block"
        proof = f"{ref} is block {block}; {layer} binds block {block if drawn is None else drawn} as {key}\n{verdict}"
        yield Wire(str(ref), f"> layer {layer}.{key}", str(ref), tints[str(ref)], same, proof)


# drawing ------------------------------------------------------------------------------------------------------------


def _line() -> float:
    return imgui.get_text_line_height() + 6.0 * scale()


def _label(port: Port) -> str:
    return fitted_end(port.label, LABEL * scale())


def _extent(box: Box) -> ImVec2:
    inset = 12.0 * scale()
    widest = max([width(_label(port)) for port in (*box.inputs, *box.outputs)], default=0.0)
    title = 1.06 * width(box.title) + width(box.kind) + 18.0 * scale()
    rows = max(1, len(box.inputs) + len(box.outputs))
    return ImVec2(max(title, widest) + 2 * inset, (1 + rows) * _line() + 6.0 * scale())


def _draw_box(one: Placed, origin: ImVec2, mouse: ImVec2 | None, ports: dict[str, ImVec2]) -> str:
    """Draw a box and note where its ports are; returns the tensor of the port under the mouse."""
    draw, box = imgui.get_window_draw_list(), one.box
    corner = ImVec2(origin.x + one.corner.x, origin.y + one.corner.y)
    far = ImVec2(corner.x + one.extent.x, corner.y + one.extent.y)
    inset, line = 12.0 * scale(), _line()
    draw.add_rect_filled(corner, far, color(LIFTED), 6.0 * scale())
    top = imgui.ImDrawFlags_.round_top.value
    draw.add_rect_filled(corner, ImVec2(far.x, corner.y + line), color(FIELD), 6.0 * scale(), top)
    imgui.push_font(bold(), 0.0)
    draw.add_text(ImVec2(corner.x + inset, corner.y + 3.0 * scale()), color(TEXT), box.title)
    imgui.pop_font()
    draw.add_text(ImVec2(far.x - inset - width(box.kind), corner.y + 3.0 * scale()), color(DIM), box.kind)
    over = ""
    for row, port in enumerate((*box.inputs, *box.outputs)):
        at_left, y = row < len(box.inputs), corner.y + (1 + row) * line + 3.0 * scale()
        ports[port.key] = ImVec2(corner.x if at_left else far.x, y + line / 2)
        hovered = mouse is not None and corner.x <= mouse.x <= far.x and y <= mouse.y < y + line
        label = _label(port)
        x = corner.x + inset if at_left else far.x - inset - width(label)
        tint = ACCENT if hovered else TEXT if port.used else DIM
        draw.add_text(ImVec2(x, y + 3.0 * scale()), color(tint), label)
        if hovered:
            over = port.tensor
            if port.note:
                imgui.set_tooltip(f"{port.tensor}\n{port.note}\nclick to inspect it")
    return over


def _draw_wire(wire: Wire, ports: dict[str, ImVec2], mouse: ImVec2 | None) -> str:
    """Draw a line; returns its tensor if the mouse is near it."""
    if wire.start not in ports or wire.end not in ports:
        return ""
    start, end = ports[wire.start], ports[wire.end]
    reach = max(0.5 * (end.x - start.x), 30.0 * scale())
    first, second = ImVec2(start.x + reach, start.y), ImVec2(end.x - reach, end.y)
    near = mouse is not None and _near(mouse, (start, first, second, end))
    tint = wire.tint if wire.same else BAD
    draw = imgui.get_window_draw_list()
    draw.add_bezier_cubic(start, first, second, end, color(tint), (3.0 if near else 1.75) * scale())
    for point in (start, end):
        draw.add_circle_filled(point, 3.5 * scale(), color(tint))
    if near:
        with imgui_ctx.push_style_color(imgui.Col_.text.value, GOOD if wire.same else BAD):
            imgui.set_tooltip(wire.proof)
    return wire.tensor if near else ""


def _near(mouse: ImVec2, points: tuple[ImVec2, ImVec2, ImVec2, ImVec2]) -> bool:
    """Whether the mouse is near a cubic Bézier curve, which is sampled at a few points."""
    a, b, c, d = points
    reach = NEAR * scale()
    if not (min(a.x, d.x) - reach <= mouse.x <= max(a.x, d.x) + reach):
        return False
    for step in range(SEGMENTS + 1):
        t = step / SEGMENTS
        u = 1.0 - t
        wa, wb, wc, wd = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
        x, y = wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y
        if abs(x - mouse.x) <= abs(d.x - a.x) / SEGMENTS + reach and abs(y - mouse.y) <= reach:
            return True
    return False
