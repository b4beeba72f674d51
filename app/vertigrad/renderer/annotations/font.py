"""`Font`: the letters of one size, drawn once into an atlas, with a soft rim around each for busy images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ... import resources

# The first 24 are the symbols of numbers, mirrored by shaders/common/ticks.wgsl: digits, and what follows there.
DIGITS = "0123456789"
NUMERALS = DIGITS + ".−×"
RAISED = DIGITS + "−"
TEXT = "".join(
    dict.fromkeys(
        "".join(map(chr, range(0x20, 0x7F)))
        + "".join(map(chr, range(0xA1, 0x180)))  # Latin letters with their accents
        + "".join(map(chr, (*range(0x391, 0x3A2), *range(0x3A3, 0x3CA))))  # Greek
        + "–—‘’“”…•‰−∂∆∏∑√∞∫≈≠≤≥"
    )
)
UNKNOWN = "?"  # replaces letters that the font does not have
RAISED_SIZE, RAISED_BY = 0.68, 0.36  # of the em
RIM = 2  # texels of the soft rim, for a size of 13
WIDTH = 512  # of the atlas


@dataclass(frozen=True)
class Font:
    """`atlas` is (height, width, 2) u8: coverage and rim. `table` is (n, 8) f32: `Glyph` of common/overlay_text.wgsl.

    `index` has each letter's row in the table; `size` is the em in pixels.
    """

    size: int
    atlas: np.ndarray
    table: np.ndarray
    index: dict[str, int]

    def row(self, letter: str) -> int:
        """The row of a letter; that of a question mark if the font does not have it."""
        return self.index.get(letter, self.index[UNKNOWN])

    def width(self, text: str) -> float:
        """The width of a text in pixels."""
        return float(sum(self.table[self.row(letter), 6] for letter in text))

    def pens(self, text: str) -> np.ndarray:
        """The x coordinate of the pen before each letter, in pixels, (n,)."""
        advances = [self.table[self.row(letter), 6] for letter in text]
        return np.concatenate([[0.0], np.cumsum(advances)[:-1]]) if advances else np.zeros(0)


@lru_cache(maxsize=6)
def font(size: int) -> Font:
    """The letters with an em of `size` pixels."""
    from PIL import ImageFont  # not needed by images without letters

    face = str(resources.font())
    full = ImageFont.truetype(face, size, layout_engine=ImageFont.Layout.BASIC)
    small = ImageFont.truetype(face, max(round(RAISED_SIZE * size), 5), layout_engine=ImageFont.Layout.BASIC)
    lift = round(RAISED_BY * size)
    entries = [(full, letter, 0) for letter in NUMERALS] + [(small, letter, lift) for letter in RAISED]
    index = {letter: row for row, letter in enumerate(NUMERALS)}
    for letter in TEXT:
        if letter not in index:
            index[letter] = len(entries)
            entries.append((full, letter, 0))
    return _drawn(size, entries, index)


def _drawn(size: int, entries: list, index: dict[str, int]) -> Font:
    rim = max(RIM, round(RIM * size / 13))
    drawn = [_letter(face, letter, lift, rim) for face, letter, lift in entries]
    corners, height = _packed([image.shape for image, *_ in drawn])
    atlas = np.zeros((height, WIDTH, 2), np.uint8)
    table = np.zeros((len(drawn), 8), np.float32)
    for row, ((image, bearing, advance), (x, y)) in enumerate(zip(drawn, corners, strict=True)):
        h, w = image.shape
        atlas[y : y + h, x : x + w, 0] = image
        table[row] = x, y, w, h, *bearing, advance, 0.0
    atlas[..., 1] = _rim(atlas[..., 0], rim)
    return Font(size, atlas, table, index)


def _letter(face, letter: str, lift: int, rim: int) -> tuple[np.ndarray, tuple[float, float], float]:
    """Coverage with a margin for the rim, the offset of its upper left corner from the pen, and the pen's advance."""
    mask, (left, top) = face.getmask2(letter, anchor="ls")
    image = (
        np.asarray(mask, np.uint8).reshape(mask.size[1], mask.size[0]) if min(mask.size) else np.zeros((0, 0), np.uint8)
    )
    return np.pad(image, rim), (left - rim, top - lift - rim), face.getlength(letter)


def _packed(sizes: list[tuple[int, ...]]) -> tuple[list[tuple[int, int]], int]:
    """The position of each in the atlas, (x, y), packed in rows; and the height of the atlas."""
    corners, x, y, line = [], 0, 0, 0
    for height, width in sizes:
        if x + width > WIDTH:
            x, y, line = 0, y + line, 0
        corners.append((x, y))
        x, line = x + width, max(line, height)
    return corners, y + line


def _rim(cover: np.ndarray, reach: int) -> np.ndarray:
    """Blurred coverage. Letters are at least two rim widths apart, so their rims do not overlap."""
    spread = cover.astype(np.float32) / 255.0
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (0.55 * reach)) ** 2)
    for axis in (0, 1):
        moved = [weight * np.roll(spread, step - reach, axis) for step, weight in enumerate(kernel)]
        spread = np.sum(moved, axis=0)
    return np.round(255.0 * np.clip(0.75 * spread, 0.0, 1.0)).astype(np.uint8)
