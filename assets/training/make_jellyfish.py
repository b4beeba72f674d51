"""Makes assets/data/jellyfish.glb from formulas alone: a bell that contracts by a morph target, and skinned tentacles.

python assets/training/make_jellyfish.py
"""

import io
import json
import struct
from pathlib import Path

import numpy as np
from PIL import Image

AROUND, DOWN = 96, 24  # cells of the bell
TENTACLES, JOINTS, RINGS, SIDES = 14, 7, 26, 7
ARMS, ARM_ROWS, ARM_COLUMNS = 4, 36, 5
SECONDS, KEYS = 4.0, 25
TEXTURE = 256

document = {"asset": {"version": "2.0", "generator": "make_jellyfish.py"}, "scene": 0, "scenes": [{"nodes": []}]}
data = bytearray()
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
COMPONENTS = {"u1": 5121, "u2": 5123, "f4": 5126}


def add(where, value):
    document.setdefault(where, []).append(value)
    return len(document[where]) - 1


def view(content):
    data.extend(bytes(-len(data) % 4))
    data.extend(content)
    return add("bufferViews", {"buffer": 0, "byteOffset": len(data) - len(content), "byteLength": len(content)})


def accessor(array, bounds=False):
    rows = np.ascontiguousarray(array).reshape(len(array), -1)
    described = {"bufferView": view(rows.tobytes()), "componentType": COMPONENTS[rows.dtype.str[1:]]}
    described |= {"count": len(rows), "type": TYPES[rows.shape[1]]}
    if bounds:
        described |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
    return add("accessors", described)


def texture(pixels):
    stored = io.BytesIO()
    Image.fromarray(np.uint8(np.clip(pixels * 255 + 0.5, 0, 255))).save(stored, "PNG", optimize=True)
    image = add("images", {"bufferView": view(stored.getvalue()), "mimeType": "image/png"})
    return add("textures", {"source": image})


def normals_of(positions, triangles):
    corners = positions[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(positions)
    for corner in range(3):
        np.add.at(total, triangles[:, corner], across)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)


def grid(rows, columns):
    """Triangles of (rows + 1) x (columns + 1) points."""
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    below = corner + columns + 1
    return np.concatenate([np.stack([corner, below, corner + 1], 1), np.stack([corner + 1, below, below + 1], 1)])


def bell(contraction):
    """Positions of the bell, from its top to its rim and a little inwards."""
    v, u = np.meshgrid(np.linspace(0, 1, DOWN + 1), np.linspace(0, 1, AROUND + 1), indexing="ij")
    around, polar = 2 * np.pi * u, v * 2.05
    rim = np.clip((v - 0.55) / 0.45, 0, 1) ** 2
    radius = 0.78 * np.sin(polar) * (1 - 0.30 * contraction * v**1.5) + 0.022 * rim * np.cos(16 * around)
    height = 0.62 * np.cos(polar) * (1 + 0.22 * contraction) - 0.10 * contraction * v + 0.03 * rim * np.cos(16 * around)
    points = np.stack([radius * np.cos(around), height, radius * np.sin(around)], axis=-1)
    return points.reshape(-1, 3), np.stack([u, v], axis=-1).reshape(-1, 2)


def seam(normals):
    """The same normals where the bell closes, and at its top."""
    table = normals.reshape(DOWN + 1, AROUND + 1, 3)
    table[:, 0] = table[:, -1] = table[:, 0] + table[:, -1]
    table[0] = (0, 1, 0)
    return (table / np.linalg.norm(table, axis=-1, keepdims=True)).reshape(-1, 3)


def noise(shape, cells, seed):
    """Smooth noise from 0 to 1 that repeats at the edges."""
    coarse = np.random.default_rng(seed).uniform(0, 1, (cells, cells))
    at = [np.arange(n) * cells / n for n in shape]
    low = [np.floor(a).astype(int) for a in at]
    part = [(lambda t: t * t * (3 - 2 * t))(a - b) for a, b in zip(at, low, strict=True)]
    pick = lambda i, j: coarse[np.ix_((low[0] + i) % cells, (low[1] + j) % cells)]  # noqa: E731
    top = pick(0, 0) * (1 - part[1]) + pick(0, 1) * part[1]
    bottom = pick(1, 0) * (1 - part[1]) + pick(1, 1) * part[1]
    return top * (1 - part[0][:, None]) + bottom * part[0][:, None]


def bell_textures():
    v, u = np.meshgrid((np.arange(TEXTURE) + 0.5) / TEXTURE, (np.arange(TEXTURE) + 0.5) / TEXTURE, indexing="ij")
    stripes = np.clip(np.cos(16 * 2 * np.pi * u) * 4 - 2.6, 0, 1) * np.clip((v - 0.12) * 6, 0, 1)
    spots = (
        np.clip(noise(u.shape, 24, 1) * 5 - 3.4, 0, 1) * np.clip((v - 0.2) * 4, 0, 1) * np.clip((0.85 - v) * 6, 0, 1)
    )
    rim = np.clip((v - 0.86) * 12, 0, 1)
    cloud = noise(u.shape, 9, 2)[..., None]
    top, edge = np.array([0.93, 0.42, 0.62]), np.array([0.52, 0.28, 0.78])
    color = top * (1 - v[..., None]) + edge * v[..., None]
    color = color * (0.82 + 0.3 * cloud) + np.array([0.25, 0.2, 0.05]) * spots[..., None]
    color = color * (1 - 0.55 * stripes[..., None]) + np.array([0.55, 0.05, 0.25]) * 0.4 * stripes[..., None]
    glow = np.array([0.25, 0.75, 1.0]) * (0.9 * rim * (0.4 + 0.6 * np.cos(16 * 2 * np.pi * u) ** 2))[..., None]
    glow = glow + np.array([1.0, 0.55, 0.3]) * (0.55 * spots)[..., None]
    bumps = 0.5 * np.cos(32 * 2 * np.pi * u) * np.clip(v * 2, 0, 1) + 0.7 * noise(u.shape, 32, 3) + 0.8 * spots
    slope_v, slope_u = np.gradient(bumps)
    normal = np.stack([-1.7 * slope_u, 1.7 * slope_v, np.ones_like(u)], axis=-1)
    normal = 0.5 + 0.5 * normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return texture(np.clip(color, 0, 1)), texture(np.clip(glow, 0, 1)), texture(normal)


def chain(angle, radius, length, top):
    """Joints down from the bell; returns the first of them and the index of their skin."""
    step = length / JOINTS
    nodes = []
    for joint in reversed(range(JOINTS)):
        described = {"translation": [0, -step, 0] if joint else [radius * np.cos(angle), top, radius * np.sin(angle)]}
        if nodes:
            described["children"] = [nodes[-1]]
        nodes.append(add("nodes", described))
    nodes.reverse()
    binds = np.tile(np.eye(4, dtype=np.float32), (JOINTS, 1, 1))
    for joint in range(JOINTS):
        binds[joint, :3, 3] = [-radius * np.cos(angle), joint * step - top, -radius * np.sin(angle)]
    columns = accessor(binds.transpose(0, 2, 1).reshape(JOINTS, 16))
    return nodes, add("skins", {"joints": nodes, "inverseBindMatrices": columns})


def influences(down):
    """Joints and weights for a distance along the chain, from 0 to 1."""
    at = np.clip(down * JOINTS, 0, JOINTS - 1 - 1e-6)
    low, part = np.floor(at).astype(int), at - np.floor(at)
    joints, weights = np.zeros((len(down), 4), np.uint8), np.zeros((len(down), 4), np.float32)
    joints[:, 0], joints[:, 1] = low, low + 1
    weights[:, 0], weights[:, 1] = 1 - part, part
    return joints, weights


def skinned(positions, uv, triangles, down, material, skin):
    joints, weights = influences(down)
    attributes = {"POSITION": accessor(np.float32(positions), True), "TEXCOORD_0": accessor(np.float32(uv))}
    attributes["NORMAL"] = accessor(np.float32(normals_of(positions, triangles)))
    attributes |= {"JOINTS_0": accessor(joints), "WEIGHTS_0": accessor(weights)}
    primitive = {"attributes": attributes, "indices": accessor(np.uint16(triangles.reshape(-1))), "material": material}
    return add("nodes", {"mesh": add("meshes", {"primitives": [primitive]}), "skin": skin})


def tentacle(angle, radius, length, top, material, skin):
    v, u = np.meshgrid(np.linspace(0, 1, RINGS + 1), np.linspace(0, 1, SIDES + 1), indexing="ij")
    thick = 0.022 * (1 - 0.8 * v) * (1 + 0.18 * np.cos(60 * v))
    points = np.stack([thick * np.cos(2 * np.pi * u), -v * length, thick * np.sin(2 * np.pi * u)], axis=-1)
    points = points.reshape(-1, 3) + np.array((radius * np.cos(angle), top, radius * np.sin(angle)))
    uv = np.stack([u, v], axis=-1).reshape(-1, 2)
    return skinned(points, uv, grid(RINGS, SIDES)[:, [0, 2, 1]], v.reshape(-1), material, skin)


def arm(angle, radius, length, top, material, skin):
    """A frilled ribbon."""
    v, u = np.meshgrid(np.linspace(0, 1, ARM_ROWS + 1), np.linspace(-1, 1, ARM_COLUMNS + 1), indexing="ij")
    wide = 0.13 * (1 - 0.75 * v)
    frill = 0.05 * np.sin(34 * v + 3 * angle) * np.abs(u) * (1 - 0.5 * v)
    across, out = wide * u, frill + 0.03 * np.cos(9 * v) * v
    x = radius * np.cos(angle) + out * np.cos(angle) - across * np.sin(angle)
    z = radius * np.sin(angle) + out * np.sin(angle) + across * np.cos(angle)
    points = np.stack([x, top - v * length, z], axis=-1).reshape(-1, 3)
    uv = np.stack([0.5 + 0.5 * u, v], axis=-1).reshape(-1, 2)
    return skinned(points, uv, grid(ARM_ROWS, ARM_COLUMNS), v.reshape(-1), material, skin)


def sway(nodes, angle, strength, phase, time):
    """Rotations of the joints: a wave that runs down."""
    axis = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    for joint, node in enumerate(nodes):
        turn = strength * (0.35 + 0.65 * joint / JOINTS) * np.sin(2 * np.pi * time / SECONDS - 0.85 * joint + phase)
        turn = turn - (0.16 if joint == 0 else 0.02)
        side = 0.5 * strength * np.sin(2 * np.pi * time / SECONDS - 0.6 * joint + 2.1 * phase)
        half = 0.5 * (turn[:, None] * axis + side[:, None] * np.array([np.cos(angle), 0.0, np.sin(angle)]))
        size = np.linalg.norm(half, axis=1, keepdims=True)
        rotation = np.concatenate([half * np.sinc(size / np.pi), np.cos(size)], axis=1)
        yield node, "rotation", np.float32(rotation)


def main():
    color, glow, bumps = bell_textures()
    bell_material = {
        "pbrMetallicRoughness": {"baseColorTexture": {"index": color}, "metallicFactor": 0, "roughnessFactor": 0.34},
        "normalTexture": {"index": bumps, "scale": 0.8},
        "emissiveTexture": {"index": glow},
        "emissiveFactor": [1, 1, 1],
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 2.4}},
        "doubleSided": True,
    }
    row = np.linspace(0, 1, 64)[:, None, None] * np.ones((64, 8, 1))
    bands = 0.5 + 0.5 * np.cos(2 * np.pi * 18 * row)
    skin_color = texture(np.array([0.86, 0.52, 0.72]) * (1 - row) + np.array([0.4, 0.5, 0.9]) * row)
    skin_glow = texture(np.array([0.2, 0.6, 1.0]) * (bands**6 * row**0.7))
    thread = {
        "pbrMetallicRoughness": {
            "baseColorTexture": {"index": skin_color},
            "metallicFactor": 0,
            "roughnessFactor": 0.4,
        },
        "emissiveTexture": {"index": skin_glow},
        "emissiveFactor": [1, 1, 1],
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 3.0}},
    }
    frill = {
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.95, 0.62, 0.66, 1],
            "metallicFactor": 0,
            "roughnessFactor": 0.35,
        },
        "doubleSided": True,
        "emissiveFactor": [0.10, 0.03, 0.05],
    }
    document["extensionsUsed"] = ["KHR_materials_emissive_strength"]
    materials = [add("materials", one) for one in (bell_material, thread, frill)]

    open_, uv = bell(0.0)
    closed, _ = bell(1.0)
    triangles = grid(DOWN, AROUND)[:, [0, 2, 1]]
    shapes = [seam(normals_of(points, triangles)) for points in (open_, closed)]
    target = {
        "POSITION": accessor(np.float32(closed - open_), True),
        "NORMAL": accessor(np.float32(shapes[1] - shapes[0])),
    }
    primitive = {
        "attributes": {
            "POSITION": accessor(np.float32(open_), True),
            "NORMAL": accessor(np.float32(shapes[0])),
            "TEXCOORD_0": accessor(np.float32(uv)),
        },
        "indices": accessor(np.uint16(triangles.reshape(-1))),
        "material": materials[0],
        "targets": [target],
    }
    bell_node = add("nodes", {"mesh": add("meshes", {"primitives": [primitive]})})
    time = np.linspace(0, SECONDS, KEYS)
    channels, children, roots = [], [bell_node], document["scenes"][0]["nodes"]
    rng = np.random.default_rng(4)
    for number in range(TENTACLES):
        angle, length = 2 * np.pi * (number + 0.5) / TENTACLES, rng.uniform(1.5, 2.1)
        nodes, skin = chain(angle, 0.62, length, -0.22)
        children.append(nodes[0])
        roots.append(tentacle(angle, 0.62, length, -0.22, materials[1], skin))
        channels += sway(nodes, angle, 0.20, rng.uniform(0, 0.9), time)
    for number in range(ARMS):
        angle = 2 * np.pi * (number + 0.2) / ARMS
        nodes, skin = chain(angle, 0.12, 1.35, 0.05)
        children.append(nodes[0])
        roots.append(arm(angle, 0.12, 1.35, 0.05, materials[2], skin))
        channels += sway(nodes, angle, 0.13, 0.7 * number, time)
    body = add("nodes", {"name": "jellyfish", "children": children, "rotation": [0.105, 0, 0.08, 0.991]})
    roots.append(body)

    beat = (0.5 - 0.5 * np.cos(2 * np.pi * time / SECONDS * 2)) ** 1.6
    channels.append((bell_node, "weights", np.float32(beat[:, None])))
    rise = 0.09 * np.sin(2 * np.pi * time / SECONDS * 2 - 0.9)
    channels.append((body, "translation", np.float32(np.stack([0 * rise, rise, 0 * rise], axis=1))))
    keys, samplers, targets = accessor(np.float32(time), True), [], []
    for node, path, values in channels:
        targets.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
        samplers.append({"input": keys, "output": accessor(values.reshape(-1) if path == "weights" else values)})
    add("animations", {"name": "swim", "channels": targets, "samplers": samplers})

    data.extend(bytes(-len(data) % 4))
    document["buffers"] = [{"byteLength": len(data)}]
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + bytes(data)
    path = Path(__file__).parent.parent / "data" / "jellyfish.glb"
    path.write_bytes(struct.pack("<4s2I", b"glTF", 2, 12 + len(chunks)) + chunks)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
