"""`show`: one call for whatever is at hand."""

from __future__ import annotations

import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..errors import InputError
from ..tensor import Tensor
from .checks import described
from .scene import Scene
from .viewer import Viewer

FACING = (0.0, 0.0, 4.0)  # position of the eye
FITS = (
    "points (n, 3), an image (rows, columns) or (rows, columns, 3 or 4), a surface (rows, columns, 3), a volume "
    "(depth, height, width), a field of vectors (depth, height, width, 3), what has vertices and faces, a network of "
    "ONNX, or the path of a scene or of a file of data"
)


def show(
    thing: Any, title: str = "Vertigrad", offscreen: bool = False, block: bool = True, **values: Any
) -> Viewer | Scene:
    """Show an array, a tensor, a mesh, a network or a scene; returns the viewer when its window is closed.

    With `block=False` it returns at once, and the window is live while IPython waits at its prompt.

    (n, 2) and (n, 3) are points, other (rows, columns) and (rows, columns, 3 or 4) an image, (rows, columns, 3)
    floating-point positions a surface, (depth, height, width) a volume, (depth, height, width, 3) a field of vectors;
    what has `vertices` and `faces`, such as a mesh of trimesh, a surface. A path is a scene file, or one of data: a
    mesh, an image, an array, an ONNX network. A `vertigrad.onnx_import.Network` or an `onnx.ModelProto` is shown as its
    file is: what it computes, with sliders for its inputs. `values` are attributes and style of the layer. With
    `offscreen` nothing is opened: ask the result for its image. Raises `InputError` for anything else.
    """
    scene = _scene(thing)
    if scene is not None:
        if values:
            raise InputError(f"{next(iter(values))}: is of a layer; a scene has its own")
        if not block:
            raise InputError("a scene is shown until its window is closed; `block=False` is for arrays and meshes")
        if not offscreen:
            from ..viewer import view

            view(scene.session)
        return scene
    if isinstance(thing, Viewer):
        if not offscreen:
            thing.show(block)
        return thing
    layer_type, attributes = _layer(thing)
    viewer = Viewer(title, offscreen=offscreen)
    try:
        viewer.add(layer_type, layer_type, **attributes, **values)
        if layer_type == "image":  # flat, and in its own colors
            viewer.camera(position=FACING, target=(0, 0, 0), fit=True)
            viewer.view(bloom=0.0, vignette=0.0)
        if not offscreen:
            viewer.show(block)
    except BaseException:
        viewer.close()
        raise
    return viewer


def _scene(thing: Any) -> Scene | None:
    """The scene of what is one, of a path, or of a network."""
    if isinstance(thing, Scene):
        return thing
    if isinstance(thing, str | Path):
        return Scene.load(thing)
    if hasattr(thing, "SerializeToString") and hasattr(thing, "graph"):
        return _scene_of_model(thing)
    from ..onnx_import import Network

    if not isinstance(thing, Network):
        return None
    if not Path(thing.source).is_file():
        raise InputError(f"the network {thing.source!r} has no file; show its onnx.ModelProto instead")
    return Scene.load(thing.source)


def _scene_of_model(model: Any) -> Scene:
    """The scene of an `onnx.ModelProto`, whose file lasts as long as the scene."""
    folder = TemporaryDirectory(prefix="vertigrad-")
    try:
        path = Path(folder.name) / "network.onnx"
        path.write_bytes(model.SerializeToString())
        scene = Scene.load(path)
    except BaseException:
        folder.cleanup()
        raise
    weakref.finalize(scene, folder.cleanup)
    return scene


def _layer(thing: Any) -> tuple[str, dict[str, Any]]:
    if hasattr(thing, "vertices") and hasattr(thing, "faces"):
        return "surface", {"position": np.asarray(thing.vertices), "index": np.asarray(thing.faces)}
    array = thing if isinstance(thing, Tensor) else np.asarray(thing)
    if array.shape == () or str(array.dtype) == "object":
        raise InputError(f"cannot show {described(thing)}; what can be shown: {FITS}")
    shape = array.shape
    if len(shape) == 2 and shape[1] == 3:
        return "points", {"position": array}
    if len(shape) == 2 and shape[1] == 2 and not isinstance(array, Tensor):
        return "points", {"position": np.column_stack([array, np.zeros(len(array), array.dtype)])}
    is_float = str(array.dtype).startswith("f")
    if len(shape) == 3 and shape[2] == 3 and is_float and not _in_unit_range(array):
        return "surface", {"position": array}
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4)):
        return "image", {"pixels": array}
    if len(shape) == 3:
        return "volume", {"density": array}
    if len(shape) == 4 and shape[3] == 3:
        return "streamlines", {"vectors": array}
    raise InputError(f"cannot show an array of shape {shape}; what can be shown: {FITS}")


def _in_unit_range(array: Any) -> bool:
    return not isinstance(array, Tensor) and bool((array >= 0).all() and (array <= 1).all())
