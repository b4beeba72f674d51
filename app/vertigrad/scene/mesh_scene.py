"""A scene for a mesh file by itself."""

from __future__ import annotations

import json
from pathlib import Path

from ..models.data import splat_file
from . import data_scene

UPWARDS = {".stl": "z"}  # most programs that write these have z upwards; of the other formats the convention is y


def scene_text(path: Path) -> str:
    """The scene file for a mesh: drawn as a surface, seen whole; a PLY may also be one of splats."""
    if path.suffix.lower() == splat_file.SUFFIX and splat_file.is_splats(path):
        return data_scene.splats_text(path)
    name, title = (json.dumps(words, ensure_ascii=False) for words in (path.name, path.stem))
    return f"""version = 1
title = {title}

[camera]
position = [1.9, 1.4, 3.2]
target = [0.0, 0.0, 0.0]
fov = 36
fit = true

[models.mesh]
type = "mesh"
file = {name}
up = "{UPWARDS.get(path.suffix.lower(), "y")}"

[layers.mesh]
type = "surface"
position = "mesh.position"
normal = "mesh.normal"
index = "mesh.index"
color = "#b9bec7"
roughness = 0.45

[view]
background = "#20242c"
"""
