"""`Docks`: where the panels are docked, and the area that remains for the viewport."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from imgui_bundle import ImVec2, imgui

from .base import Panel, Side

ROOT = 0x5EED  # ImGui's name for the space that panels are docked in
WIDTHS = {"left": (190.0, 0.20, 250.0), "right": (210.0, 0.26, 340.0)}  # at least, of the window, at most
HEIGHTS = {"bottom": (150.0, 0.32, 300.0), "upper right": (150.0, 0.40, 340.0)}  # all in logical pixels

_NODE = re.compile(
    r"Dock(Space|Node) +ID=0x(?P<node>[0-9A-F]{8})( Parent=0x(?P<parent>[0-9A-F]{8}))?( Window=0x[0-9A-F]{8})?"
    r"( Pos=-?\d{1,6},-?\d{1,6})?( Size(Ref)?=[1-9]\d{0,5},[1-9]\d{0,5})?( Split=(?P<split>[XY]))?"
    r"( (NoResize|CentralNode|NoTabBar|HiddenTabBar|NoWindowMenuButton|NoCloseButton)=1)*( Selected=0x[0-9A-F]{8})?"
)
_internal = imgui.internal
_FLAGS = imgui.DockNodeFlags_.passthru_central_node | imgui.DockNodeFlags_.no_docking_over_central_node


class Rect(NamedTuple):
    """A part of the window, in pixels."""

    left: int
    top: int
    width: int
    height: int

    def at(self, point: tuple[float, float], margin: float) -> ImVec2:
        """The pixel at this point, in fractions of the width and height without a margin at each side."""
        return ImVec2(
            self.left + margin + point[0] * (self.width - 2 * margin),
            self.top + margin + point[1] * (self.height - 2 * margin),
        )

    def contains(self, x: float, y: float) -> bool:
        """Whether a pixel of the window is in this part."""
        return 0 <= x - self.left < self.width and 0 <= y - self.top < self.height

    def clip(self, x: float, y: float) -> tuple[float, float]:
        """A pixel of the window in clip coordinates of the viewport that fills this part."""
        return 2 * (x - self.left) / max(self.width, 1) - 1, 1 - 2 * (y - self.top) / max(self.height, 1)


def dock_space(panels: Sequence[Panel], arrange: bool, scale: float) -> Rect:
    """Make room for the panels in this frame; returns what they leave for the viewport.

    With `arrange` each goes to its own side, wherever the user docked it.
    """
    if arrange:
        _arrange(panels, imgui.get_main_viewport().work_size, scale)
    imgui.dock_space_over_viewport(ROOT, None, _FLAGS)
    return _central()


def retain_dock_space() -> None:
    """Retain the dock space in a frame in which no panel is shown."""
    imgui.dock_space_over_viewport(ROOT, None, _FLAGS | imgui.DockNodeFlags_.keep_alive_only)


def can_dock(panels: Iterable[Panel], layout: str) -> bool:
    """Whether a layout, as ImGui writes it, docks every panel, or another panel of the same side.

    One that was damaged has none: ImGui takes its nodes as they come, and ends the process where they are no tree.
    """
    docked, leaves = _docked(layout), _leaves(layout)
    sides = {panel.side for panel in panels if panel.title in docked}
    placed = bool(docked) and all(panel.title in docked or panel.side in sides for panel in panels)
    return placed and leaves is not None and leaves.issuperset(docked.values())


def dock_new(panels: Sequence[Panel], layout: str) -> None:
    """Dock panels that a layout does not have with others of the same side."""
    docked = _docked(layout)
    for panel in panels:
        if panel.title not in docked:
            other = next(one.title for one in panels if one.side == panel.side and one.title in docked)
            _internal.dock_builder_dock_window(panel.title, docked[other])


def _docked(layout: str) -> dict[str, int]:
    """The node that each window of a layout is docked in."""
    found = re.findall(r"^\[Window\]\[(.*)\]\n(?:[^\[\n].*\n)*?DockId=0x([0-9A-F]{8})", layout, re.MULTILINE)
    return {title: int(node, 16) for title, node in found}


def _leaves(layout: str) -> set[int] | None:
    """The dock nodes that panels can be in; None if the nodes are not trees of two branches at each split."""
    children: dict[int, int] = {}
    split: set[int] = set()
    for line in layout.partition("[Docking][Data]")[2].splitlines():
        found = _NODE.fullmatch(line.strip())
        if found is None:
            if line.strip():
                return None
            continue
        node, parent = int(found["node"], 16), int(found["parent"] or "0", 16)
        if not node or node in children or (parent and parent not in children):
            return None
        children[node] = 0
        if found["split"]:
            split.add(node)
        if parent:
            children[parent] += 1
    sound = ROOT in children and all(count == 2 * (node in split) for node, count in children.items())
    return children.keys() - split if sound else None


def scaled(layout: str, factor: float) -> str:
    """A layout, as ImGui writes it, with all its lengths multiplied."""

    def scale(match: re.Match[str]) -> str:
        return f"{match[1]}={round(int(match[2]) * factor)},{round(int(match[3]) * factor)}"

    return re.sub(r"\b(Pos|Size|SizeRef)=(-?\d{1,9}),(-?\d{1,9})\b", scale, layout)


def _arrange(panels: Sequence[Panel], size: ImVec2, scale: float) -> None:
    """A column at either side, the right one in two parts, and the rest of the panels below the viewport."""
    if min(size.x, size.y) < 1.0:
        return
    _internal.dock_builder_remove_node(ROOT)
    _internal.dock_builder_add_node(ROOT, _internal.DockNodeFlagsPrivate_.dock_space.value)
    _internal.dock_builder_set_node_size(ROOT, size)
    sides, nodes, rest, width = {panel.side for panel in panels}, dict[Side, int](), ROOT, size.x
    if sides & {"right", "upper right"}:
        taken = _length(WIDTHS["right"], size.x, scale)
        nodes["right"], rest = _split(rest, imgui.Dir.right, taken / width)
        width -= taken
        upper = _length(HEIGHTS["upper right"], size.y, scale) / size.y
        nodes["upper right"], nodes["right"] = _split(nodes["right"], imgui.Dir.up, upper)
    if "left" in sides:
        nodes["left"], rest = _split(rest, imgui.Dir.left, _length(WIDTHS["left"], size.x, scale) / width)
    if "bottom" in sides:
        nodes["bottom"], rest = _split(rest, imgui.Dir.down, _length(HEIGHTS["bottom"], size.y, scale) / size.y)
    for panel in panels:
        _internal.dock_builder_dock_window(panel.title, nodes[panel.side])
    _internal.dock_builder_finish(ROOT)


def _split(node: int, direction: imgui.Dir, fraction: float) -> tuple[int, int]:
    """Split a fraction of a node off; returns this part, and the rest."""
    split = _internal.dock_builder_split_node(node, direction, min(fraction, 0.9))
    return split.id_at_dir, split.id_at_opposite_dir


def _length(bounds: tuple[float, float, float], whole: float, scale: float) -> float:
    least, fraction, most = bounds
    return min(max(fraction * whole, least * scale), most * scale)


def _central() -> Rect:
    node = _internal.dock_builder_get_central_node(ROOT)
    whole = imgui.get_main_viewport().size
    left, right = (min(max(round(x), 0), int(whole.x)) for x in (node.pos.x, node.pos.x + node.size.x))
    top, bottom = (min(max(round(y), 0), int(whole.y)) for y in (node.pos.y, node.pos.y + node.size.y))
    return Rect(left, top, max(right - left, 0), max(bottom - top, 0))
