"""`Builder`: writes small files of glTF 2.0 from arrays."""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Builder:
    """Collects the JSON of a file, `json`, and its one buffer."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}]}
        self.data = bytearray()

    def add(self, where: str, value: Any) -> int:
        """Add to a list of the JSON; returns the index."""
        items = self.json.setdefault(where, [])
        items.append(value)
        return len(items) - 1

    def view(self, data: bytes, **more: Any) -> int:
        """A buffer view."""
        self.data += bytes(-len(self.data) % 4)
        self.data += data
        described = {"buffer": 0, "byteOffset": len(self.data) - len(data), "byteLength": len(data)}
        return self.add("bufferViews", described | more)

    def accessor(self, array: np.ndarray, **more: Any) -> int:
        """An accessor of an array (n,) or (n, components)."""
        rows = np.ascontiguousarray(array).reshape(len(array), -1)
        described: dict[str, Any] = {
            "bufferView": self.view(rows.tobytes()),
            "componentType": COMPONENTS[rows.dtype.str[1:]],
            "count": len(rows),
            "type": TYPES[rows.shape[1]],
        }
        return self.add("accessors", described | more)

    def image(self, pixels: np.ndarray, sampler: dict[str, Any] | None = None) -> int:
        """A texture of u8 pixels (rows, columns, 3 or 4)."""
        stored = io.BytesIO()
        Image.fromarray(pixels).save(stored, "PNG")
        image = self.add("images", {"bufferView": self.view(stored.getvalue()), "mimeType": "image/png"})
        texture = {"source": image}
        if sampler is not None:
            texture["sampler"] = self.add("samplers", sampler)
        return self.add("textures", texture)

    def mesh(self, attributes: dict[str, np.ndarray], index: np.ndarray | None = None, **more: Any) -> int:
        """A mesh of one primitive."""
        primitive: dict[str, Any] = {
            "attributes": {name: self.accessor(array) for name, array in attributes.items()}
        } | more
        if index is not None:
            primitive["indices"] = self.accessor(index.reshape(-1))
        return self.add("meshes", {"primitives": [primitive]})

    def node(self, root: bool = True, **described: Any) -> int:
        """A node, of the scene or only a child."""
        at = self.add("nodes", described)
        if root:
            self.json["scenes"][0]["nodes"].append(at)
        return at

    def animate(self, name: str, *channels: tuple[int, str, np.ndarray, np.ndarray, str]) -> None:
        """A clip: node, path, times, values and interpolation of each channel."""
        samplers, targets = [], []
        for node, path, times, values, interpolation in channels:
            targets.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            found = {"input": self.accessor(np.float32(times)), "output": self.accessor(np.float32(values))}
            samplers.append(found | {"interpolation": interpolation})
        self.add("animations", {"name": name, "channels": targets, "samplers": samplers})

    def glb(self) -> bytes:
        """A GLB."""
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.json).encode()
        chunks = [(b"JSON", text + b" " * (-len(text) % 4)), (b"BIN\0", bytes(self.data) + bytes(-len(self.data) % 4))]
        body = b"".join(struct.pack("<I", len(chunk)) + kind + chunk for kind, chunk in chunks)
        return struct.pack("<4s2I", b"glTF", 2, 12 + len(body)) + body

    def gltf(self) -> bytes:
        """The JSON with the buffer in it."""
        uri = f"data:application/octet-stream;base64,{base64.b64encode(self.data).decode()}"
        self.json["buffers"] = [{"byteLength": len(self.data), "uri": uri}]
        return json.dumps(self.json).encode()

    def save(self, path: Path) -> Path:
        """Write the file."""
        path.write_bytes(self.glb() if path.suffix == ".glb" else self.gltf())
        return path


def quad(size: float = 2.0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A square that faces z, with normals, tangents and texture coordinates; and its triangles."""
    corners = np.float32([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * np.float32(0.5 * size)
    attributes = {
        "POSITION": corners,
        "NORMAL": np.float32([[0, 0, 1]] * 4),
        "TANGENT": np.float32([[1, 0, 0, 1]] * 4),
        "TEXCOORD_0": np.float32([[0, 1], [1, 1], [1, 0], [0, 0]]),
    }
    return attributes, np.uint16([0, 1, 2, 0, 2, 3])
