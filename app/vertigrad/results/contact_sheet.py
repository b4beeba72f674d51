"""`contact_sheet`: the images of all runs in one image, arranged by the swept parameters."""

from __future__ import annotations

import io
from typing import Any

from ..atomic_file import write_file
from ..resources import font
from .arrangement import Arrangement, arranged, text
from .run import Run
from .table import Results

NAME = "contact_sheet.png"
WIDEST, LARGEST_TILE, SMALLEST_TILE = 4096, 320, 64  # pixels of the sheet and of one image
GAP, MARGIN, LINE = 6, 24, 22
BACKGROUND, TEXT, DIM, FAILED = (20, 22, 27), (226, 229, 235), (138, 144, 156), (74, 34, 38)


def write_contact_sheet(results: Results) -> bool:
    """Write `NAME` into the folder of the results; returns false if no run has an image. Raises `InputError`."""
    if not any("image" in run.files for run in results):
        return False
    file = io.BytesIO()
    contact_sheet(results).save(file, "PNG")
    write_file(results.folder / NAME, file.getvalue())
    return True


def contact_sheet(results: Results) -> Any:
    """The sheet, a `PIL.Image`: of a grid with the values of the parameters above and left of the images, of other
    designs with them below each image. A run without an image is a box with the reason.
    """
    from PIL import Image, ImageDraw, ImageFont

    found = arranged(results.runs, results.parameters)
    rows, columns = found.shape
    width, height = _tile(results, columns)
    lines = 0 if found.columns else len(results.parameters)
    small, large = (ImageFont.truetype(str(font()), size) for size in (13, 16))
    left = MARGIN + (_widest([*found.rows, found.axes[1]], small, large) + 12 if found.axes[1] else 0)
    top = MARGIN + (2 * LINE if found.columns else 0)
    cell = width + GAP, height + GAP + lines * 17 + (4 if lines else 0)
    sheet = Image.new("RGB", (left + columns * cell[0] + MARGIN, top + rows * cell[1] + MARGIN), BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    for (row, column), number in found.cells.items():
        run, corner = results.runs[number], (left + column * cell[0], top + row * cell[1])
        _draw_tile(sheet, draw, results, run, (*corner, width, height), small)
        for line, name in enumerate(results.parameters[:lines]):
            words = f"{name.rpartition('.')[2]} {text(run.values.get(name))}"
            draw.text((corner[0], corner[1] + height + 2 + line * 17), _fitted(words, width, small), DIM, small)
    _draw_labels(draw, found, (left, top), cell, (width, height), (small, large))
    return sheet


def _tile(results: Results, columns: int) -> tuple[int, int]:
    """Width and height of one image on the sheet: of the shape of the first."""
    from PIL import Image

    first = next(run.files["image"] for run in results if "image" in run.files)
    with Image.open(results.folder / first) as image:
        width, height = image.size
    most = (WIDEST - 2 * MARGIN) // max(columns, 1) - GAP
    scaled = max(SMALLEST_TILE, min(LARGEST_TILE, most, width))
    return scaled, max(1, round(scaled * height / width))


def _draw_tile(sheet: Any, draw: Any, results: Results, run: Run, box: tuple[int, int, int, int], small: Any) -> None:
    from PIL import Image

    left, top, width, height = box
    try:
        with Image.open(results.folder / run.files["image"]) as image:
            sheet.paste(image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS), (left, top))
            return
    except (KeyError, OSError):
        draw.rectangle((left, top, left + width - 1, top + height - 1), FAILED)
    reason = run.error or ("pruned" if run.state == "pruned" else "no image")
    draw.multiline_text((left + 6, top + 5), _wrapped(reason, width - 12, small, (height - 8) // 16), TEXT, small)


def _draw_labels(
    draw: Any,
    found: Arrangement,
    corner: tuple[int, int],
    cell: tuple[int, int],
    tile: tuple[int, int],
    fonts: tuple[Any, Any],
) -> None:
    (left, top), (small, large) = corner, fonts
    if found.columns:
        draw.text((left, top - 2 * LINE), found.axes[0], TEXT, large)
    for column, label in enumerate(found.columns):
        middle = left + column * cell[0] + tile[0] / 2
        draw.text((middle, top - 4), _fitted(label, tile[0], small), DIM, small, anchor="ms")
    if found.axes[1]:
        draw.text((MARGIN, top - 4), found.axes[1], TEXT, large, anchor="ls")
        for row, label in enumerate(found.rows):
            draw.text((left - 10, top + row * cell[1] + tile[1] / 2), label, DIM, small, anchor="rm")


def _widest(labels: list[str], small: Any, large: Any) -> int:
    return int(max(large.getlength(labels[-1]), *(small.getlength(label) for label in labels[:-1])))


def _fitted(words: str, width: int, small: Any) -> str:
    while words and small.getlength(words) > width:
        words = words[:-2] + "…" if len(words) > 2 else ""
    return words


def _wrapped(words: str, width: int, small: Any, lines: int) -> str:
    found = [""]
    for word in words.split():
        longer = f"{found[-1]} {word}".strip()
        if found[-1] and small.getlength(longer) > width:
            found.append(word)
        else:
            found[-1] = longer
    return "\n".join(_fitted(line, width, small) for line in found[: max(lines, 1)])
