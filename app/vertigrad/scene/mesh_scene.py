"""A scene for a mesh file by itself."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InputError
from ..models.data import mesh_file, ply, splat_file
from . import data_scene

UPWARDS = {".stl": "z"}  # most programs that write these have z upwards; of the other formats the convention is y


def scene_text(path: Path) -> str:
    """The scene file for a mesh: drawn as a surface, seen whole; a PLY may also be one of splats, or of points."""
    if path.suffix.lower() == splat_file.SUFFIX:
        if splat_file.is_splats(path):
            return data_scene.splats_text(path)
        if _is_cloud(path):
            return data_scene.points_text(path)
    color = '"mesh.color"' if _is_colored(path) else '"#b9bec7"'
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
color = {color}
roughness = 0.45

[view]
background = "#20242c"
"""


def _is_cloud(path: Path) -> bool:
    """Whether a PLY has vertices and no faces."""
    try:
        header = ply.header(path)
    except InputError:
        return False
    return header.count > 0 and header.faces == 0


def _is_colored(path: Path) -> bool:
    """Whether the vertices of a mesh have colors; false for what cannot be read, which its model says."""
    try:
        return mesh_file.read(path, 2.0, UPWARDS.get(path.suffix.lower(), "y"), 40.0).colors is not None
    except InputError:
        return False
