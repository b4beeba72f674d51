"""ImGui's last draw lists as text: each window with its texts, decoded from the glyphs, and its shapes."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import string_at
from typing import NamedTuple

import numpy as np
from imgui_bundle import imgui

from vertigrad.panels.gallery import HEADING_SIZE

_VERTEX = np.dtype([("position", "<f4", 2), ("uv", "<f4", 2), ("color", "<u4")])
_INDEX = np.dtype("<u2" if imgui.INDEX_SIZE == 2 else "<u4")
PIECE, SHORT = 4, 8.0  # vertices of a line segment, and its largest width in pixels
_Uv = tuple[int, int]


class Letter(NamedTuple):
    """A glyph: its character, its upper left corner relative to the pen, and the advance of the pen."""

    character: str
    left: float
    top: float
    advance: float
    space: float  # advance of a space of the same font


class Text(NamedTuple):
    """A line of text: the start of the pen, the color as RRGGBBAA, and the characters."""

    left: float
    top: float
    color: str
    text: str

    def __str__(self) -> str:
        return f"{self.left:.0f},{self.top:.0f} {self.color} {self.text}"


class Shape(NamedTuple):
    """Connected triangles: their bounding box, the mean of their vertices, and the most opaque color."""

    box: tuple[float, float, float, float]
    mean: tuple[float, float]
    color: str
    vertices: int

    def __str__(self) -> str:
        left, top, right, bottom = self.box
        middle = f"{self.mean[0]:.1f},{self.mean[1]:.1f}"
        return f"{left:.1f},{top:.1f} to {right:.1f},{bottom:.1f} {self.color} {self.vertices} about {middle}"


def windows() -> dict[str, list[Text | Shape | str]]:
    """The contents of each window, from back to front; a string is the clip rectangle."""
    data = imgui.get_draw_data()
    assert data is not None
    letters = _letters()
    found: dict[str, list[Text | Shape | str]] = {}
    for one in data.cmd_lists:
        found.setdefault(one._owner_name, []).extend(_read(one, letters))
    return found


def texts(name: str = "") -> list[str]:
    """The texts in windows whose names contain this."""
    return [one.text for window, all_ in windows().items() if name in window for one in all_ if isinstance(one, Text)]


def _read(one: imgui.ImDrawList, letters: dict[_Uv, Letter]) -> list[Text | Shape | str]:
    vertices = np.frombuffer(
        string_at(one.vtx_buffer.data_address(), one.vtx_buffer.size() * imgui.VERTEX_SIZE), _VERTEX
    )
    indices = np.frombuffer(string_at(one.idx_buffer.data_address(), one.idx_buffer.size() * imgui.INDEX_SIZE), _INDEX)
    found: list[Text | Shape | str] = []
    for command in one.cmd_buffer:
        if not command.elem_count:
            continue
        clip = command.clip_rect
        found.append(f"clip {clip.x:.0f},{clip.y:.0f} to {clip.z:.0f},{clip.w:.0f}")
        triangles = indices[command.idx_offset : command.idx_offset + command.elem_count].reshape(-1, 3).astype(int)
        triangles += command.vtx_offset
        pen = ("", 0.0, 0.0)
        for part in _parts(triangles):
            used = vertices[np.unique(part)]
            letter = letters.get(_key(used["uv"][0])) if len(used) == 4 else None
            if letter is None:
                _add(found, _shape(used))
                pen = ("", 0.0, 0.0)
                continue
            left, top = used["position"][0] - (letter.left, letter.top)
            color = _color(used["color"][0])
            gap = left - pen[1]
            blanks = round(gap / letter.space)
            last = found[-1]
            if isinstance(last, Text) and pen[::2] == (color, round(top)) and abs(gap - blanks * letter.space) < 1.6:
                found[-1] = last._replace(text=last.text + " " * max(blanks, 0) + letter.character)
            else:
                found.append(Text(float(left), float(top), color, letter.character))
            pen = color, left + letter.advance, round(top)
    return found


def _parts(triangles: np.ndarray) -> Iterator[np.ndarray]:
    """Triangles that share no vertices with others; each column of a table starts again at a lower vertex."""
    low, high = triangles.min(1), triangles.max(1)
    for column in np.split(np.arange(len(triangles)), np.flatnonzero(high[1:] < low[:-1]) + 1):
        reached = np.maximum.accumulate(high[column])
        yield from np.split(triangles[column], np.flatnonzero(low[column][1:] > reached[:-1]) + 1)


def _add(found: list[Text | Shape | str], one: Shape) -> None:
    """Add a shape; the segments of a line, such as a plot's, are merged."""
    last = found[-1]
    if not (isinstance(last, Shape) and _is_piece(one) and last.color == one.color and _touch(last.box, one.box)):
        found.append(one)
        return
    if last.vertices % PIECE:
        found.append(one)
        return
    low, high = zip(last.box[:2], one.box[:2], strict=True), zip(last.box[2:], one.box[2:], strict=True)
    count = last.vertices + one.vertices
    x, y = ((a * last.vertices + b * one.vertices) / count for a, b in zip(last.mean, one.mean, strict=True))
    left, top = map(min, low)
    right, bottom = map(max, high)
    found[-1] = Shape((left, top, right, bottom), (x, y), one.color, count)


def _is_piece(one: Shape) -> bool:
    left, _, right, _ = one.box
    return one.vertices == PIECE and right - left < SHORT


def _touch(before: tuple[float, ...], after: tuple[float, ...]) -> bool:
    return abs(before[2] - after[0]) < SHORT and after[1] <= before[3] + 1.0 and before[1] <= after[3] + 1.0


def _shape(used: np.ndarray) -> Shape:
    (left, top), (right, bottom) = used["position"].min(0).tolist(), used["position"].max(0).tolist()
    x, y = used["position"].mean(0).tolist()
    strongest = used["color"][np.argmax(used["color"] >> 24)]
    return Shape((left, top, right, bottom), (x, y), _color(strongest), len(used))


def _color(packed: int) -> str:
    return int(packed).to_bytes(4, "little").hex()


def _key(uv: np.ndarray) -> _Uv:
    return round(float(uv[0]) * 65536), round(float(uv[1]) * 65536)


def _letters() -> dict[_Uv, Letter]:
    """All glyphs of the atlas, by their upper left corner in it."""
    found: dict[_Uv, Letter] = {}
    for font in imgui.get_io().fonts.fonts:
        for baked in _baked(font):
            blank = baked.find_glyph(ord(" ")).advance_x
            for glyph in baked.glyphs:
                if glyph.is_visible():
                    key = _key(np.array([glyph.u0, glyph.v0]))
                    found[key] = Letter(chr(glyph.get_codepoint()), glyph.x0, glyph.y0, glyph.advance_x, blank)
    return found


def _baked(font: imgui.ImFont) -> list[imgui.ImFontBaked]:
    """Add the glyphs in the sizes of texts, headings and axis labels."""
    style = imgui.get_style()
    sizes = {style.font_size_base, HEADING_SIZE, 0.86 * style.font_size_base}
    return [font.get_font_baked(round(size * style.font_scale_dpi)) for size in sizes]
