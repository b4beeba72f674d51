"""Scenes for data files: networks, assets, meshes, points, splats, images, videos, arrays, recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .kinds import ARRAYS, ASSETS, DATA, IMAGES, NETWORKS, POINTS, RECORDINGS, VIDEOS, VOLUMES
from .locate import dotted
from .recorded_scene import recording_text
from .scene_tables import Tables, background, outputs, scene_of, written

if TYPE_CHECKING:
    import numpy as np

SLANTED, FACING = (1.9, 1.4, 3.2), (0.0, 0.0, 4.0)  # positions of the eye
UPWARDS = {
    ".stl": "z",
    ".las": "z",
    ".laz": "z",
}  # the up axis in most programs that write these; for the other formats the convention is y


def scene_text(path: Path) -> str:
    """The scene file for a data file, one of `kinds.DATA`; empty for all others.

    Raises `InputError` for a network without an output that can be drawn, and for an array with an unsupported shape.
    """
    from ..models.data import splat_file
    from ..models.data.volume_formats import zarr_volume

    kind = path.suffix.lower()
    if kind in NETWORKS:
        from .network_scene import network_text

        return network_text(path)
    if kind in IMAGES | VIDEOS:
        return _image_text(path, "image" if kind in IMAGES else "video", "pixels")
    if kind in ARRAYS:
        return _array_text(path)
    if kind in VOLUMES:
        return _volume_text(path)
    if kind in RECORDINGS:
        return _volume_text(path) if zarr_volume.is_volume(path) else recording_text(path)
    if splat_file.is_splats(path):
        return _splats_text(path)
    if kind in POINTS:
        return points_text(path)
    if kind == ".ply" and _is_cloud(path):
        return points_text(path)
    if kind in ASSETS or (kind == ".obj" and _has_materials(path)):
        return _asset_text(path)
    return _mesh_text(path) if kind in DATA else ""


def points_text(path: Path) -> str:
    """The scene file for points: lit balls, or discs in colors if the file has any scalars. Raises `InputError`."""
    from ..models.data import point_file

    up = UPWARDS.get(path.suffix.lower(), "y")
    size = round(min(max(1.0 / max(point_file.count(path), 1) ** 0.5, 0.002), 0.05), 4)
    if not point_file.is_colored(path):
        layer = {"type": "points", **outputs("data", ["position"]), "color": "#c9d0da", "size": size}
    else:
        layer = {"type": "marks", **outputs("data", ["position", "color"]), "size": size}
    model = {"type": "point_cloud", "file": path.name, **({"up": up} if up != "y" else {})}
    return scene_of(path, SLANTED, {"models.data": model, "layers.points": layer, **background("#16181d")})


def photos_text(path: Path) -> str:
    """The scene file for a sparse model of COLMAP, or a folder with one: splats, cameras, and a photo next to them."""
    from ..models.data import colmap
    from ..models.learning import splat_photos_start as start

    file = colmap.find(path)
    name = file.relative_to(path.parent).as_posix()
    tables: Tables = {"models.photos": {"type": "splat_photos", "file": name}}
    position, target, fov, size = (3.0, 2.0, 3.0), (0.0, 0.0, 0.0), 45.0, 0.1
    try:
        model = colmap.read(file)
        views, _ = start.placed(model, tuple(photo.camera.pinhole for photo in model.photos))
        position, target, fov = start.camera(views, 0, model.photos[0].camera.height)
        size = float(f"{0.06 * views.extent:.3g}")
    except InputError:  # the model reports it
        pass
    names = ["position", "scale", "rotation", "opacity", "color", "harmonics"]
    tables["layers.splats"] = {"type": "splats", **outputs("photos", names)}
    frustums = {"position": "photos.camera", "direction": "photos.camera_rotation", "color": "photos.camera_color"}
    frustums |= {"mesh": "photos.frustum", "index": "photos.frustum_index"}
    tables["layers.cameras"] = {"type": "instances", **frustums, "size": size}
    for layer, output, anchor in (("photo", "target", "upper left"), ("render", "image", "lower left")):
        placed = {"placement": "front", "anchor": anchor, "screen_fraction": 0.24, "margin": 0.04}
        tables[f"layers.{layer}"] = {"type": "image", "pixels": f"photos.{output}", **placed}
    camera = {"position": position, "target": target, "fov": round(fov, 2)}
    title = path.parent.name if path.is_file() else path.name
    return written(title, {"camera": camera, **tables, **background("#14161b")})


def _data(path: Path, model: str) -> Tables:
    return {"models.data": {"type": model, "file": path.name}}


# files of data ------------------------------------------------------------------------------------------------------


def _image_text(path: Path, model: str, output: str) -> str:
    """An upright image that faces the eye."""
    tables = {**_data(path, model), "layers.image": {"type": "image", "pixels": f"data.{output}"}}
    return scene_of(path, FACING, {**tables, **background("#16181d", bloom=0.0, vignette=0.0)})


def _splats_text(path: Path) -> str:
    from ..models.data import splat_file

    names = ["position", "scale", "rotation", "opacity", "color"]
    layer: dict[str, Any] = {"type": "splats"}
    try:
        splats = splat_file.read(path, up="auto", size=0.0)
    except InputError:  # the model reports it
        splats = None
    if splats is not None and splats.harmonics.shape[1]:
        names.append("harmonics")
    layer |= outputs("data", names)
    if splats is not None and splats.antialiased:
        layer["antialiased"] = True
    return scene_of(path, SLANTED, {**_data(path, "splats"), "layers.splats": layer, **background("#14161b")})


def _array_text(path: Path) -> str:
    from ..models.data import array_file
    from ..models.data.point_formats.numpy_table import POSITION_NAMES, is_points

    found = array_file.arrays(path, mapped=True)
    named = len(found) == 1 or found.keys() & set(POSITION_NAMES)
    if named and any(is_points(one) for one in found.values()):
        return points_text(path)
    array = array_file.read(path)
    if _is_image_array(array):
        return _image_text(path, "array", "values")
    return scene_of(path, SLANTED, {**_data(path, "array"), **_grid(path, array)})


def _volume_text(path: Path) -> str:
    """A volume in the proportions of its spacing, its z axis upward. Raises `InputError`."""
    from ..models.data import volume_file

    grid = volume_file.read(path)
    lengths = [count * step for count, step in zip(reversed(grid.values.shape), grid.spacing, strict=True)]
    high = [round(length / max(lengths), 6) for length in lengths]  # the longest edge is 2
    box = {"low": [-part for part in high], "high": high}
    values = {"density": "data.values", "color": "data.values", "extinction": 12.0, "emissive": 0.5, "colormap": "gray"}
    model = {"type": "volume", "file": path.name}
    layers = {"layers.volume": {"type": "volume", **values, **box}}
    return scene_of(path, (1.9, -3.2, 1.4), {"models.data": model, **layers, **background("#14161b")}, up="z")


def _is_image_array(array: np.ndarray) -> bool:
    return array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))


def _grid(path: Path, array: np.ndarray) -> Tables:
    shape = array.shape
    if len(shape) == 3 and min(shape) >= 2:
        values = {"density": "data.values", "color": "data.values", "extinction": 12.0, "emissive": 0.5}
        return {"layers.volume": {"type": "volume", **values}, **background("#14161b")}
    if len(shape) == 4 and shape[3] == 3 and min(shape[:3]) >= 2:
        style = {"count": 400, "width": 0.012, "length": 0.8}
        return {"layers.lines": {"type": "streamlines", "vectors": "data.values", **style}, **background("#171c26")}
    raise InputError(
        f"{path}: its array has the shape {shape}; without a scene file, arrays can be points (n, 3) or with colors "
        "(n, 6), images (rows, columns) or with 3 or 4 channels, volumes (nz, ny, nx), and fields of vectors "
        "(nz, ny, nx, 3): write a scene for others"
    )


def _mesh_text(path: Path) -> str:
    up = UPWARDS.get(path.suffix.lower(), "y")
    color = "mesh.color" if _is_colored(path, up) else "#b9bec7"
    layer = {"type": "surface", **outputs("mesh", ["position", "normal", "index"]), "color": color, "roughness": 0.45}
    model = {"type": "mesh", "file": path.name, "up": up}
    return scene_of(path, SLANTED, {"models.mesh": model, "layers.mesh": layer, **background("#20242c")})


def _has_materials(path: Path) -> bool:
    """Whether an OBJ file names files of materials that are there."""
    from ..models.data.assets import obj

    try:
        named = obj.libraries(path)
    except InputError:  # the model reports it
        return False
    return bool(named) and all((path.parent / name).is_file() for name in named)


def _asset_text(path: Path) -> str:
    """With its materials, and transparency only if one needs it."""
    from ..models.data import asset
    from ..models.data.assets.content import BLEND

    params = asset.Params(file=path)
    views: Tables = {}
    try:
        names = list(asset.Asset.output_specs(params))
        blends = any(one.alpha_mode == BLEND for one in asset.content(params).materials)
        for name, (position, target, fov) in asset.views(params).items():
            view = {"position": _rounded(position), "target": _rounded(target)}
            lens: dict[str, Any] = {"fov": min(max(round(fov, 3), 1.0), 170.0)} if fov else {"orthographic": True}
            views[dotted(("camera", "bookmarks", name))] = view | lens
    except InputError:  # the model reports it
        names, blends = ["position", "normal", "index"], True
    layer = {"type": "asset", **outputs("asset", names), **({} if blends else {"blend": False})}
    model = {"type": "asset", "file": path.name}
    view = background("#20242c", shadows=0.7, occlusion=0.5)
    return scene_of(path, SLANTED, {**views, "models.asset": model, "layers.asset": layer, **view})


def _rounded(vector: np.ndarray) -> list[float]:
    return [round(float(part), 6) for part in vector]


def _is_cloud(path: Path) -> bool:
    from ..models.data import ply

    try:
        header = ply.header(path)
    except InputError:
        return False
    return header.vertex.count > 0 and header.faces == 0


def _is_colored(path: Path, up: str) -> bool:
    """Whether the vertices of a mesh have colors; false for a file that cannot be read: the model reports it."""
    from ..models.data import mesh_file

    try:
        return mesh_file.read(path, 2.0, up, 40.0).colors is not None
    except InputError:
        return False
