"""200 damaged GLB files, and 200 of glTF with files next to them: an error that names the file, without much memory."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data.assets.reading import read

from ..fuzz.damage import bounded
from .gltf_builder import Builder, quad

EACH = 40
MOST_BYTES = 4 << 20  # for files of 5 KB
HUGE = (1 << 20, (1 << 25) + 1, (1 << 31) - 1, 1 << 32, 10**12, 10**18, 10**30)
CLIMBING = ("../secret.bin", "link.bin", "/etc/passwd", "x/../../secret.bin", "%2e%2e/secret.bin", "file:///etc/passwd")
TYPES = ("text", [], {}, -1, 1.5, True)
Damage = Callable[[random.Random], bytes]


@cache
def asset() -> Builder:
    """A skinned, morphed, animated and textured square."""
    builder = Builder()
    attributes, index = quad()
    attributes |= {"JOINTS_0": np.uint8([[0, 1, 0, 0]] * 4), "WEIGHTS_0": np.float32([[0.5, 0.5, 0, 0]] * 4)}
    target = {"POSITION": builder.accessor(np.float32([[0, 0, 1]] * 4))}
    texture = builder.image(np.random.default_rng(1).integers(0, 255, (8, 8, 3), np.uint8))
    material = {"pbrMetallicRoughness": {"baseColorTexture": {"index": texture}}, "normalTexture": {"index": texture}}
    info = {"index": texture}
    material["extensions"] = {
        "KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatTexture": info},
        "KHR_materials_transmission": {"transmissionFactor": 1, "transmissionTexture": info},
        "KHR_materials_volume": {"thicknessFactor": 1.5, "thicknessTexture": info, "attenuationDistance": 2.5},
    }
    mesh = builder.mesh(attributes, index, material=builder.add("materials", material), targets=[target])
    joints = [builder.node(), builder.node()]
    binds = builder.accessor(np.tile(np.eye(4, dtype=np.float32).reshape(1, 16), (2, 1)))
    builder.add("skins", {"joints": joints, "inverseBindMatrices": binds})
    node = builder.node(mesh=mesh, skin=0)
    times, turns = np.array([0, 1]), np.array([[0, 0, 0, 1], [0, 0, 1, 0]])
    builder.animate("a", (joints[1], "rotation", times, turns, "LINEAR"))
    builder.animate("b", (node, "weights", times, np.array([0, 1]), "STEP"))
    builder.glb()
    return builder


def packed(described: Any, data: bytes) -> bytes:
    text = json.dumps(described).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4s2I", b"glTF", 2, 12 + len(chunks)) + chunks


def numbers(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all counts, offsets, lengths and indices in the JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path for _ in (0,) if isinstance(value, int) and not isinstance(value, bool)]
    return found + [one for key, inner in items for one in numbers(inner, (*path, key))]


def changed(path: tuple[Any, ...], value: Any) -> bytes:
    described = json.loads(json.dumps(asset().json))
    table = described
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    return packed(described, bytes(asset().data))


def truncated(chance: random.Random) -> bytes:
    data = packed(asset().json, bytes(asset().data))
    return data[: chance.randrange(len(data) - 4)]


def counted(chance: random.Random) -> bytes:
    """With a count, an offset, a length or an index that is too large."""
    return changed(chance.choice(numbers(asset().json)), chance.choice(HUGE))


def typed(chance: random.Random) -> bytes:
    """With a value of another type where a number should be."""
    return changed(chance.choice(numbers(asset().json)), chance.choice(TYPES))


def not_a_number(chance: random.Random) -> bytes:
    """With NaN or infinity among the floats of an accessor."""
    described, data = asset().json, bytearray(asset().data)
    floats = [one for one in described["accessors"] if one["componentType"] == 5126]
    view = described["bufferViews"][chance.choice(floats)["bufferView"]]
    at = view["byteOffset"] + 4 * chance.randrange(view["byteLength"] // 4)
    data[at : at + 4] = struct.pack("<f", chance.choice((np.nan, np.inf, -np.inf)))
    return packed(described, bytes(data))


def climbing(chance: random.Random) -> bytes:
    """With a buffer or an image in a file outside of the folder."""
    described = json.loads(json.dumps(asset().json))
    key = chance.choice(("buffers", "images"))
    described[key][0] = {"byteLength": 10, "uri": chance.choice(CLIMBING)}
    return packed(described, bytes(asset().data))


@pytest.mark.turns(3)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_200_damaged_files(suffix: str, tmp_path: Path) -> None:
    chance, folder = random.Random(f"asset{suffix}"), tmp_path / "folder"
    folder.mkdir()
    for name in ("secret.bin", "folder/a.bin"):
        (tmp_path / name).write_bytes(asset().data)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    write(folder / f"good{suffix}", packed(asset().json, bytes(asset().data)))
    read(folder / f"good{suffix}", 2.0, "y", 64)
    kinds = (truncated, counted, typed, not_a_number, climbing)
    for number in range(len(kinds) * EACH):
        path = folder / f"damaged_{number}{suffix}"
        write(path, kinds[number % len(kinds)](chance))
        with bounded(folder, MOST_BYTES), pytest.raises(InputError, match=path.name):
            read.__wrapped__(path, 2.0, "y", 64)
        path.unlink()


def write(path: Path, data: bytes) -> None:
    """A GLB; as .gltf its JSON, and its buffer next to it, as far as there is one."""
    if path.suffix == ".gltf" and len(data) > 20:
        length = struct.unpack_from("<I", data, 12)[0]
        text, data = data[20 : 20 + length], data[28 + length :]
        path.with_name("a.bin").write_bytes(data)
        has_uri = b'"buffers": [{"byteLength": 10, "uri"' in text
        data = text if has_uri else text.replace(b'"buffers": [{', b'"buffers": [{"uri": "a.bin", ')
    path.write_bytes(data)


def test_zeros_without_a_buffer_have_a_limit(tmp_path: Path) -> None:
    """An accessor without a buffer view is an array of zeros of any length."""
    described = json.loads(json.dumps(asset().json))
    described["accessors"][described["meshes"][0]["primitives"][0]["attributes"]["POSITION"]] |= {"count": 1 << 24}
    for accessor in described["accessors"]:
        accessor.pop("bufferView", None)
    path = tmp_path / "zeros.glb"
    path.write_bytes(packed(described, bytes(asset().data)))
    with pytest.raises(InputError, match=r"zeros\.glb"):
        read(path, 2.0, "y", 64)
