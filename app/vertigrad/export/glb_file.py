"""Geometries as the bytes of a binary glTF 2.0 (.glb): a mesh and a node for each, named as its layer.

Colors are written as floats of linear light, as glTF has them; trimesh, which reads them, would write sRGB bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .geometry import Geometry

MAGIC, VERSION = 0x46546C67, 2
JSON, BIN = 0x4E4F534A, 0x004E4942  # types of chunks
MODES = {"points": 0, "lines": 1, "triangles": 4}
FLOAT, UINT = 5126, 5125  # types of components
VERTICES, INDICES = 34962, 34963  # targets of buffer views
UPRIGHT = {"y": None, "z": [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]}  # rotation of nodes: glTF has y up


def packed(geometries: Sequence[Geometry], up: str = "y", generator: str = "Vertigrad") -> bytes:
    """`up` is the axis of the scene that points up. Positions are those of the scene, a node turns them."""
    tree = _Tree()
    for one in geometries:
        tree.add(one, UPRIGHT[up])
    return tree.packed(generator)


class _Tree:
    def __init__(self) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._views: list[dict[str, Any]] = []
        self._binary: list[bytes] = []
        self._size = 0

    def add(self, geometry: Geometry, rotation: list[float] | None) -> None:
        attributes = {"POSITION": self._accessor(geometry.positions, VERTICES, bounded=True)}
        if geometry.normals is not None:
            attributes["NORMAL"] = self._accessor(geometry.normals, VERTICES)
        attributes["COLOR_0"] = self._accessor(geometry.linear_colors(), VERTICES)
        if geometry.scalars is not None:
            attributes["_SCALAR"] = self._accessor(geometry.scalars, VERTICES)
        for name, values in geometry.extras.items():
            attributes[f"_{name.upper()}"] = self._accessor(values, VERTICES)
        primitive: dict[str, Any] = {"attributes": attributes, "mode": MODES[geometry.kind], "material": 0}
        if geometry.index is not None:
            primitive["indices"] = self._accessor(geometry.index.reshape(-1), INDICES)
        self._nodes.append({"name": geometry.name, "mesh": len(self._meshes)})
        if rotation is not None:
            self._nodes[-1]["rotation"] = rotation
        self._meshes.append({"name": geometry.name, "primitives": [primitive]})

    def packed(self, generator: str) -> bytes:
        tree = {
            "asset": {"version": "2.0", "generator": generator},
            "scene": 0,
            "scenes": [{"nodes": list(range(len(self._nodes)))}],
            "nodes": self._nodes,
            "meshes": self._meshes,
            "materials": [
                {"doubleSided": True, "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.7}}
            ],
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": self._size}],
        }
        text = json.dumps(tree, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        body = b"".join(self._binary)
        chunks = struct.pack("<2I", len(text), JSON) + text + struct.pack("<2I", len(body), BIN) + body
        return struct.pack("<3I", MAGIC, VERSION, 12 + len(chunks)) + chunks

    def _accessor(self, values: np.ndarray, target: int, bounded: bool = False) -> int:
        components = 1 if values.ndim == 1 else values.shape[1]
        kind = np.uint32 if target == INDICES else np.float32
        data = np.ascontiguousarray(values, kind).tobytes()
        self._views.append({"buffer": 0, "byteOffset": self._size, "byteLength": len(data), "target": target})
        accessor: dict[str, Any] = {
            "bufferView": len(self._views) - 1,
            "componentType": UINT if target == INDICES else FLOAT,
            "count": len(values),
            "type": "SCALAR" if components == 1 else f"VEC{components}",
        }
        if bounded:
            accessor |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self._accessors.append(accessor)
        self._binary.append(data)
        self._size += len(data)
        return len(self._accessors) - 1
