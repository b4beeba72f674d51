"""Write docs/models/TYPE.md for each type of model, and the list of them in docs/models.md.

The tables are those of `vertigrad models TYPE`. With --check nothing is written; the exit code is 1 if the pages
are outdated.
"""

from __future__ import annotations

import sys
from inspect import cleandoc
from pathlib import Path

from vertigrad.cli.reference import Table, model_tables, scenes_with, summary
from vertigrad.models import Model, registry

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- types: made by tools/model_pages.py -->", "<!-- end of types -->"
CHART = """
[models.bars]
type = "bars"
inputs = { values = "SOURCE" }

[layers.bars]
type = "surface"
position = "bars.position"
normal = "bars.normal"
index = "bars.triangles"
color = "bars.level"
"""
BARS = """
[models.data]
type = "array"
file = "values.npy"
""" + CHART.replace("SOURCE", "data.values")
IMAGE = """
[models.data]
type = "image"
file = "picture.png"

[layers.picture]
type = "image"
pixels = "data.pixels"
"""
POINTS = """
[models.data]
type = "point_cloud"
file = "points.npy"

[layers.points]
type = "points"
position = "data.position"
"""
SPLATS = """
[models.data]
type = "splats"
file = "splats.ply"

[layers.splats]
type = "splats"
position = "data.position"
scale = "data.scale"
rotation = "data.rotation"
opacity = "data.opacity"
color = "data.color"
"""
LANGUAGE = """
[models.writer]
type = "language_model"
file = "config.json"
prompt = "The mill turns"
""" + CHART.replace("SOURCE", "writer.top")
VOLUME = """
[models.data]
type = "volume"
file = "scan.npy"

[layers.volume]
type = "volume"
density = "data.values"
"""
RECORDING = """
[models.galaxy]
type = "nbody"
count = 1024

[models.before]
type = "recording"
file = "run.vgz"
compared = "star_position"
inputs = { live = "galaxy.star_position" }

[layers.stars]
type = "points"
position = "galaxy.star_position"
color = "before.difference"
size = 0.02
"""
FOAM = """
[models.water]
type = "fluid"

[models.foam]
type = "foam"
inputs = { position = "water.position", velocity = "water.velocity", radius = "water.radius", floor = "water.floor" }

[layers.water]
type = "liquid"
position = "water.position"
size = "water.radius"

[layers.foam]
type = "points"
position = "foam.position"
size = "foam.radius"
color = "#f4f8ff"
"""
EXAMPLES = {  # no scene has them
    "foam": FOAM,
    **{"array": BARS, "bars": BARS, "image": IMAGE, "language_model": LANGUAGE, "point_cloud": POINTS},
    **{"splats": SPLATS, "volume": VOLUME, "recording": RECORDING},
}


def table(data: Table) -> str:
    """The table in Markdown, names as code."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in data.rows]
    rows = [data.headings, ["---"] * len(data.headings), *([f"`{name}`", *rest] for name, *rest in cells)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def scenes(name: str) -> str:
    """The scenes that use a type of model, or an example of one."""
    if name == "wgsl":
        return "Its outputs and inputs are the scene's: see [models without Python](../models.md#without-python)."
    if name == "torch":
        return "Its outputs and inputs are the network's: see [models in PyTorch](../torch.md)."
    if name in EXAMPLES:
        return f"A scene that uses it:\n\n```toml\nversion = 1\n{EXAMPLES[name]}```"
    return f"Scenes: {', '.join(f'[{path.stem}](../../scenes/{path.name})' for path in scenes_with(name))}."


def page(name: str, model: type[Model]) -> str:
    """The page of one type of model."""
    parts = [f"# `{name}`", cleandoc(model.__doc__ or ""), scenes(name), *map(table, model_tables(name, model))]
    return "\n\n".join(parts) + "\n"


def index(text: str) -> str:
    """The page about models with a new list between its two marks."""
    rows = [f"| [`{name}`](models/{name}.md) | {summary(model)} |" for name, model in types()]
    lines = "\n".join(["| type | what it is |", "|---|---|", *rows])
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{lines}\n\n{END}{rest.split(END)[1]}"


def types() -> list[tuple[str, type[Model]]]:
    """All types of models by name."""
    return sorted(registry.types().items())


def main() -> int:
    """Write the pages, or with --check compare them."""
    path, folder = DOCS / "models.md", DOCS / "models"
    new = {folder / f"{name}.md": page(name, model) for name, model in types()}
    new[path] = index(path.read_text(encoding="utf-8"))
    old = {file: file.read_text(encoding="utf-8") for file in [path, *folder.glob("*.md")]}
    if "--check" in sys.argv[1:]:
        return 0 if new == old else 1
    folder.mkdir(exist_ok=True)
    for file in old.keys() - new.keys():
        file.unlink()
    for file, text in new.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
