"""`show`: one call for whatever is at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..tensor import Tensor
from .scene import Scene
from .viewer import Viewer


def show(
    thing: Any, title: str = "Vertigrad", offscreen: bool = False, block: bool = True, **values: Any
) -> Viewer | Scene:
    """Show an array, a tensor, a mesh or a scene; returns the viewer when its window is closed.

    With `block=False` it returns at once, and the window is live while IPython waits at its prompt.

    (n, 2) and (n, 3) are points, (height, width, 3 or 4) an image, (rows, columns, 3) floating-point positions a
    surface, (depth, height, width) a volume; what has `vertices` and `faces`, such as a mesh of trimesh, a surface. A
    path is a scene file. `values` are attributes and style of the layer. With `offscreen` nothing is opened: ask the
    result for its image. Raises `InputError` for anything else.
    """
    if isinstance(thing, str | Path):
        if not block:
            raise InputError("a scene file is shown until its window is closed; load it with `Scene.load` instead")
        return _scene(Path(thing), offscreen)
    layer_type, attributes = _layer(thing)
    viewer = Viewer(title, offscreen=offscreen)
    try:
        viewer.add(layer_type, layer_type, **attributes, **values)
        if not offscreen:
            viewer.show(block)
    except BaseException:
        viewer.close()
        raise
    return viewer


def _scene(path: Path, offscreen: bool) -> Scene:
    scene = Scene.load(path)
    if not offscreen:
        from ..viewer import view

        view(scene.session)
    return scene


def _layer(thing: Any) -> tuple[str, dict[str, Any]]:
    if hasattr(thing, "vertices") and hasattr(thing, "faces"):
        return "surface", {"position": np.asarray(thing.vertices), "index": np.asarray(thing.faces)}
    array = thing if isinstance(thing, Tensor) else np.asarray(thing)
    shape = array.shape
    if len(shape) == 2 and shape[1] == 3:
        return "points", {"position": array}
    if len(shape) == 2 and shape[1] == 2 and not isinstance(array, Tensor):
        return "points", {"position": np.column_stack([array, np.zeros(len(array), array.dtype)])}
    is_float = str(array.dtype).startswith("f")
    if len(shape) == 3 and shape[2] == 3 and is_float and not _in_unit_range(array):
        return "surface", {"position": array}
    if len(shape) == 3 and shape[2] in (3, 4):
        return "image", {"pixels": array}
    if len(shape) == 3:
        return "volume", {"density": array}
    raise InputError(
        f"cannot show an array of shape {shape}: pass points (n, 3), an image (height, width, 3), "
        "a surface (rows, columns, 3) or a volume (depth, height, width)"
    )


def _in_unit_range(array: Any) -> bool:
    return not isinstance(array, Tensor) and bool((array >= 0).all() and (array <= 1).all())
