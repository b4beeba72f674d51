"""A small example of each type of layer: NumPy arrays for its attributes, and a camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from vertigrad.models.data.assets.content import COATED, Coat, Map, Material
from vertigrad.renderer import OrbitCamera

PLAIN: dict[str, Any] = {"bloom": 0.0, "vignette": 0.0, "background": "#000000"}
SIZE = (48, 36)
CAMERA = OrbitCamera.from_position((1.2, 1.5, 3.0), (0, 0, 0), fov=45)
ROWS = 24


def random(*shape: int, seed: int = 3, low: float = -1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, 1, shape).astype(np.float32)


def lumps() -> np.ndarray:
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in (7, 6, 8)), indexing="ij")
    return (1.2 - np.sqrt(x**2 + 1.3 * y**2 + z**2) + 0.2 * np.sin(4 * x)).astype(np.float32)


def currents() -> np.ndarray:
    """Vectors on a grid that rotate around its vertical axis."""
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in (5, 4, 6)), indexing="ij")
    return np.stack([-z, 0.3 * np.sin(3 * x), x + 0.2 * y], axis=-1).astype(np.float32)


def corners() -> tuple[np.ndarray, np.ndarray]:
    """A tetrahedron: vertices, and triangles between them."""
    positions = np.float32([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return positions, np.uint32([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])


def materials() -> np.ndarray:
    """Two materials of assets, the first with all maps."""
    maps = {name: Map(int(name == "emissive")) for name in ("base_color", "emissive")}
    maps |= {name: Map(0) for name in ("metallic_roughness", "normal", "occlusion")}
    mapped = Material(emissive=(0.2, 0.1, 0.1), double_sided=True, maps=maps)
    coated = Material(base_color=(1.0, 0.5, 0.2, 1.0), metallic=0.0, coat=Coat(0.8, 0.1))
    return np.float32([one.floats(COATED) for one in (mapped, coated)])


def lights() -> np.ndarray:
    """A light of an asset: a point with a position, direction, color and cone."""
    return np.float32([[0, 2, 1, 1, 0, -1, 0, 0, 9, 8, 7, 1, 0, 0, 0, 0]])


def drawn(kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(style, attributes): every attribute of a layer of this type, each as an array."""
    position, scalar = random(ROWS, 3), random(ROWS, seed=5, low=0.05)
    colored = {"position": position, "color": scalar}
    match kind:
        case "points":
            return {}, {**colored, "size": 0.3 * scalar}
        case "liquid":
            attributes = {"size": 0.3 * scalar, "density": 1000.0 * scalar}
            return {"scattering": 20.0}, {"position": position, **attributes}
        case "instances":
            mesh, index = corners()
            turn = random(ROWS, 4, seed=7)
            attributes = {"size": 0.1 + 0.2 * random(ROWS, 3, seed=6, low=0.0), "direction": turn}
            return {}, {**colored, **attributes, "mesh": mesh, "mesh_normal": mesh, "index": index}
        case "birds":
            attributes = {"direction": random(ROWS, 3, seed=8), "bank": scalar, "size": 0.3 + 0.3 * scalar}
            return {"wing_amplitude": 0.0}, {**colored, **attributes}
        case "arrows":
            return {"scale": 0.8, "thickness": 0.15}, {**colored, "direction": random(ROWS, 3, seed=8)}
        case "lines" | "trails":
            style = {"length": 4} if kind == "trails" else {}
            return style, {**colored, "width": 8 * scalar}
        case "surface":
            mesh, index = corners()
            return {}, {"position": mesh, "color": random(4, seed=5, low=0.0), "normal": mesh, "index": index}
        case "asset":
            mesh, index = corners()
            texels = (255 * random(2, 4, 4, 4, seed=9, low=0.0)).astype(np.uint8)
            attributes = {
                "tangent": random(4, 4),
                "texcoord": random(4, 4, seed=6),
                "color": random(4, seed=5, low=0.0),
            }
            attributes |= {"material": np.float32([0, 1, 1, 0]), "materials": materials(), "lights": lights()}
            mapped = {"color_maps": texels, "data_maps": texels[:1]}
            return {}, {"position": mesh, "normal": mesh, "index": index, **attributes, **mapped}
        case "isosurface":
            return {"level": 0.3}, {"values": lumps(), "color": random(7, 6, 8, low=0.0)}
        case "volume":
            attributes = {"color": random(7, 6, 8, low=0.0), "temperature": 2000.0 * lumps()}
            return {"extinction": 20.0}, {"density": lumps(), **attributes}
        case "slices":
            return {}, {"values": lumps()}
        case "marks":
            return {}, {**colored, "size": 0.3 * scalar}
        case "splats":
            scale, turn = 0.1 + 0.1 * random(ROWS, 3, seed=6, low=0.0), random(ROWS, 4, seed=7)
            harmonics = 0.3 * random(ROWS, 24, seed=8)
            return {}, {**colored, "scale": scale, "rotation": turn, "opacity": scalar, "harmonics": harmonics}
        case "image":
            return {"plane": "xz"}, {"pixels": random(7, 9, low=0.0)}
        case "streamlines":
            style = {"length": 2.0, "width": 0.1, "vertices": 16}
            return style, {"vectors": currents(), "seeds": 0.6 * position, "color": random(7, 6, 8, low=0.0)}
        case "vectors":
            return {"count": 3, "scale": 0.8, "thickness": 0.15}, {"vectors": currents()}
    raise AssertionError(f"nothing to draw is known for {kind!r}: add it here")


OF_ROWS = ("points", "liquid", "marks", "instances", "birds", "arrows", "lines", "trails", "surface", "asset", "splats")
OF_GRIDS = ("isosurface", "volume", "slices", "image", "streamlines", "vectors")
KINDS = (*OF_ROWS, *OF_GRIDS)
