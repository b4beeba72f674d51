"""Reads a .gltf or .glb file of glTF 2.0 as an `Asset`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .content import POSE, VERTEX, Asset, Part
from .gltf_file import GltfFile
from .gltf_materials import materials
from .gltf_motion import motion
from .gltf_nodes import Nodes
from .gltf_schema import Mesh, Primitive
from .images import TextureMaps
from .parts import MOST_VERTICES, PartArrays, PartsBuilder
from .tangents import with_tangents

TRIANGLES, STRIP, FAN = 4, 5, 6
MOST_SETS = 16  # of four influences
MOST_TARGETS = 1 << 12


def read(path: Path, texture_size: int) -> Asset:
    """The default scene of the file. Raises `InputError`."""
    file = GltfFile(path)
    return _Reading(file, TextureMaps(path, texture_size)).asset()


class _Reading:
    """Collects the parts of a file: every primitive of every node."""

    def __init__(self, file: GltfFile, textures: TextureMaps):
        self._file = file
        self._nodes = Nodes(file)
        self._textures = textures
        self._materials = materials(file, textures)
        self._known: dict[tuple[int, int], PartArrays | None] = {}
        self._weights: list[float] = []
        self._weights_of: dict[int, tuple[int, int]] = {}
        self._builder = PartsBuilder(file.path)
        self._left_out = 0

    def asset(self) -> Asset:
        for at in range(len(self._nodes.order)):
            self._add_node(at)
        lights, cameras = self._nodes.lights(), self._nodes.cameras()
        skeleton = self._nodes.skeleton(self._weights)
        arrays = self._builder.arrays()
        return Asset(
            **arrays,
            skeleton=skeleton,
            motion=motion(self._file, self._nodes, self._weights_of),
            materials=self._materials,
            color_maps=self._textures.array(True),
            data_maps=self._textures.array(False),
            lights=lights,
            cameras=cameras,
            notes=self._notes(),
        )

    def _notes(self) -> list[str]:
        found = []
        if self._file.extensions_left_out:
            found.append(f"extensions that are not read: {', '.join(self._file.extensions_left_out)}")
        if self._left_out:
            found.append(f"primitives of points or lines that are left out: {self._left_out}")
        return found

    def _add_node(self, at: int) -> None:
        node = self._nodes.node(at)
        if node.mesh is None:
            return
        mesh = self._file.item(self._file.json.meshes, node.mesh, "mesh")
        targets = len(mesh.primitives[0].targets)
        if targets > MOST_TARGETS:
            raise self._file.error(f"mesh {node.mesh} has {targets:,} morph targets; {MOST_TARGETS:,} are read")
        first_weight = self._add_weights(at, node.weights or mesh.weights or [], targets)
        for number, primitive in enumerate(mesh.primitives):
            if len(primitive.targets) != targets:
                raise self._file.error(f"damaged: the primitives of mesh {node.mesh} differ in their morph targets")
            arrays = self._arrays(node.mesh, number, mesh, primitive)
            if arrays is None:
                continue
            skin = node.skin if arrays.sets else None
            palette, joints = (self._nodes.palette_of_node(at), 0)
            if skin is not None:
                palette, joints = self._nodes.palette_of_skin(skin)
                if arrays.highest_joint >= joints:
                    highest = arrays.highest_joint
                    raise self._file.error(
                        f"damaged: a vertex of mesh {node.mesh} has joint {highest}; skin {skin} has {joints} joints"
                    )
            sets = 0 if skin is None else arrays.sets
            self._builder.add((node.mesh, number), arrays, Part(palette, sets, 0, 0, 0, 0, targets, first_weight))

    def _add_weights(self, at: int, weights: list[float], targets: int) -> int:
        """Where the weights of a node's morph targets begin in the pose."""
        first = len(self._nodes.order) * POSE + len(self._weights)
        if targets:
            self._weights_of[at] = first, targets
            self._weights += [*weights, *[0.0] * targets][:targets]
        return first

    def _arrays(self, mesh_at: int, number: int, mesh: Mesh, primitive: Primitive) -> PartArrays | None:
        key = mesh_at, number
        if key not in self._known:
            where = f"mesh {mesh_at}, primitive {number}"
            if primitive.mode < TRIANGLES:
                self._left_out += 1
                self._known[key] = None
            else:
                self._known[key] = self._read(primitive, where)
        return self._known[key]

    def _read(self, primitive: Primitive, where: str) -> PartArrays | None:
        file, attributes = self._file, primitive.attributes
        if "POSITION" not in attributes:
            return None
        count = file.count(attributes["POSITION"])
        if count > MOST_VERTICES:
            raise file.error(f"{where} has {count:,} vertices; at most {MOST_VERTICES:,} are read")
        positions = file.array(attributes["POSITION"], ("VEC3",), f"POSITION of {where}")
        index = self._index(primitive, count, where)
        if index is None:
            return None
        vertices = np.zeros((count, VERTEX), np.float32)
        vertices[:, 0:3] = positions
        normals = self._attribute(primitive, "NORMAL", ("VEC3",), count, where)
        tangents = self._attribute(primitive, "TANGENT", ("VEC4",), count, where)
        if normals is not None:
            vertices[:, 3:6] = normals
            if tangents is not None:
                vertices[:, 6:10] = tangents
        texcoords = np.zeros((count, 4), np.float32)
        for at in (0, 1):
            found = self._attribute(primitive, f"TEXCOORD_{at}", ("VEC2",), count, where)
            if found is not None:
                texcoords[:, 2 * at : 2 * at + 2] = found
        colors = self._attribute(primitive, "COLOR_0", ("VEC3", "VEC4"), count, where)
        if colors is not None and colors.shape[1] == 3:
            colors = np.concatenate([colors, np.ones((count, 1), np.float32)], axis=1)
        material = len(self._materials) - 1 if primitive.material is None else primitive.material
        file.item(self._materials[:-1] if primitive.material is not None else self._materials, material, "material")
        joints, weights = self._influences(primitive, count, where)
        deltas = self._deltas(primitive, count, where)
        arrays = PartArrays(vertices, texcoords, colors, index, material, joints, weights, deltas)
        if normals is None:
            arrays = arrays.with_flat_normals()
        return arrays if vertices[:, 6:9].any() else self._with_tangents(arrays)

    def _with_tangents(self, arrays: PartArrays) -> PartArrays:
        """The same with tangents if its material has a normal map."""
        material = self._materials[arrays.material]
        normal_map = material.maps.get("normal", material.coat.maps.get("normal"))
        return arrays if normal_map is None else with_tangents(arrays, normal_map)

    def _attribute(
        self, primitive: Primitive, name: str, kinds: tuple[str, ...], count: int, where: str
    ) -> np.ndarray | None:
        if name not in primitive.attributes:
            return None
        at = primitive.attributes[name]
        if self._file.count(at) != count:
            raise self._file.error(
                f"damaged: {name} of {where} has {self._file.count(at):,} values, POSITION {count:,}"
            )
        return self._file.array(at, kinds, f"{name} of {where}")

    def _index(self, primitive: Primitive, count: int, where: str) -> np.ndarray | None:
        """Triangles u32 (m, 3); None without any."""
        file = self._file
        if primitive.indices is None:
            flat = np.arange(count, dtype=np.uint32)
        else:
            flat = file.array(primitive.indices, ("SCALAR",), f"indices of {where}", integers=True)[:, 0]
            if len(flat) > 3 * MOST_VERTICES:
                raise file.error(f"{where} has {len(flat):,} indices; at most {3 * MOST_VERTICES:,} are read")
            if flat.max() >= count:
                raise file.error(f"damaged: a triangle of {where} has a vertex beyond its {count:,} vertices")
        flat = flat.astype(np.uint32)
        if primitive.mode == TRIANGLES:
            return flat[: len(flat) // 3 * 3].reshape(-1, 3) if len(flat) >= 3 else None
        if len(flat) < 3:
            return None
        if primitive.mode == FAN:
            return np.stack([flat[1:-1], flat[2:], np.full(len(flat) - 2, flat[0])], axis=1)
        strip = np.stack([flat[:-2], flat[1:-1], flat[2:]], axis=1)
        strip[1::2] = strip[1::2, [0, 2, 1]]
        return strip

    def _influences(self, primitive: Primitive, count: int, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Joints u32 and weights f32, both (count, 4 * sets)."""
        joints, weights = [], []
        for number in range(MOST_SETS):
            if f"JOINTS_{number}" not in primitive.attributes:
                break
            at = primitive.attributes[f"JOINTS_{number}"]
            found = self._file.array(at, ("VEC4",), f"JOINTS_{number} of {where}", integers=True)
            weight = self._attribute(primitive, f"WEIGHTS_{number}", ("VEC4",), count, where)
            if weight is None or len(found) != count:
                raise self._file.error(f"damaged: JOINTS_{number} of {where} have no WEIGHTS_{number}")
            joints.append(np.where(weight > 0.0, found, 0).astype(np.uint32))
            weights.append(np.maximum(weight, 0.0))
        if not joints:
            return np.zeros((count, 0), np.uint32), np.zeros((count, 0), np.float32)
        all_weights = np.concatenate(weights, axis=1)
        total = all_weights.sum(axis=1, keepdims=True)
        return np.concatenate(joints, axis=1), all_weights / np.where(total > 0.0, total, 1.0)

    def _deltas(self, primitive: Primitive, count: int, where: str) -> np.ndarray:
        """Of morph targets, f32 (targets, count, 9)."""
        targets = primitive.targets
        if len(targets) * count > MOST_VERTICES:
            raise self._file.error(f"the morph targets of {where} have more than {MOST_VERTICES:,} vertices")
        deltas = np.zeros((len(targets), count, 9), np.float32)
        for number, target in enumerate(targets):
            for column, name in enumerate(("POSITION", "NORMAL", "TANGENT")):
                if name not in target:
                    continue
                found = self._file.array(target[name], ("VEC3",), f"{name} of morph target {number} of {where}")
                if len(found) != count:
                    raise self._file.error(f"damaged: morph target {number} of {where} has {len(found):,} vertices")
                deltas[number, :, 3 * column : 3 * column + 3] = found
        return deltas
