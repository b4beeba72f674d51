"""Execute the notebooks in examples/ and write their first images, as docs/notebooks.md shows them, to docs/images/."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 640


def first_image(path: Path) -> Image.Image:
    """The first image in the outputs of a notebook, after it was executed."""
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=300, kernel_name="python3", store_widget_state=False)
    client.execute(cwd=str(path.parent), env={**os.environ, "PYTHONPATH": str(ROOT / "app")})
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    data = next(output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def main() -> None:
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        image = first_image(path)
        image.thumbnail((WIDTH, WIDTH))
        image.save(ROOT / "docs" / "images" / f"notebook-{path.stem}.jpg", quality=88)


if __name__ == "__main__":
    main()
