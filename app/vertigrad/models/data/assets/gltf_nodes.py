"""The node hierarchy of a glTF file: the skeleton, skins and lights."""

from __future__ import annotations

import math

import numpy as np

from .content import NONE, POSE, CameraNode, Light, Skeleton
from .gltf_file import GltfFile
from .gltf_schema import Node

NAME_LENGTH = 40  # characters of a camera's name
IDENTITY = np.eye(3, 4, dtype=np.float64)


class Nodes:
    """The nodes of the default scene, each after its parent, and the palette of matrices that is collected of them.

    `order` are the file's indices of nodes, `slots` the inverse of it. Raises `InputError` for a cycle or a node with
    two parents.
    """

    def __init__(self, file: GltfFile):
        self.file = file
        self.order: list[int] = []
        self._parents: list[int] = []
        self._collect(_roots(file))
        self.slots = {node: at for at, node in enumerate(self.order)}
        self._palette: list[tuple[int, np.ndarray]] = []
        self._skins: dict[int, int] = {}

    def node(self, at: int) -> Node:
        """Of an index in `order`."""
        return self.file.json.nodes[self.order[at]]

    def palette_of_node(self, at: int) -> int:
        """The entry of the palette for what is not skinned."""
        self._palette.append((at, IDENTITY))
        return len(self._palette) - 1

    def palette_of_skin(self, skin: int) -> tuple[int, int]:
        """The first entry of the palette for a skin, and the number of its joints."""
        described = self.file.item(self.file.json.skins, skin, "skin")
        joints = described.joints
        if skin not in self._skins:
            binds = self._binds(described.inverse_bind_matrices, len(joints), skin)
            slots = [self.slots.get(joint) for joint in joints]
            if None in slots:
                raise self.file.error(f"damaged: a joint of skin {skin} is not in the scene")
            self._skins[skin] = len(self._palette)
            self._palette += [(slot or 0, bind) for slot, bind in zip(slots, binds, strict=True)]
        return self._skins[skin], len(joints)

    def skeleton(self, weights: list[float]) -> Skeleton:
        """The skeleton with the palette so far, and the weights of all morph targets at rest."""
        count = len(self.order)
        fixed, poses = np.tile(IDENTITY, (count, 1, 1)), np.zeros((count, POSE), np.float32)
        for at in range(count):
            node = self.node(at)
            if node.matrix is not None:
                fixed[at] = np.array(node.matrix).reshape(4, 4).T[:3]
                poses[at] = (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
            else:
                poses[at] = (*node.translation, *node.rotation, *node.scale)
        nodes = np.array([at for at, _ in self._palette] or [0], np.uint32)
        binds = np.stack([bind for _, bind in self._palette] or [IDENTITY])
        parents = np.array(self._parents, np.int64) % (NONE + 1)
        rest = np.concatenate([poses.reshape(-1), np.array(weights or [0.0], np.float32)])
        return Skeleton(parents.astype(np.uint32), fixed, rest, nodes, binds)

    def lights(self) -> list[Light]:
        """The lights of KHR_lights_punctual at the nodes."""
        found = []
        for at in range(len(self.order)):
            reference = self.node(at).extensions.lights
            if reference is None:
                continue
            light = self.file.item(self.file.json.extensions.lights.lights, reference.light, "light")
            red, green, blue = (light.intensity * c for c in light.color)
            cone = math.cos(light.spot.inner_cone_angle), math.cos(light.spot.outer_cone_angle)
            found.append(Light(light.type, self.palette_of_node(at), (red, green, blue), light.range or 0.0, *cone))
        return found

    def cameras(self) -> list[CameraNode]:
        """The cameras at the nodes, each with a name of its own."""
        found: dict[str, CameraNode] = {}
        for at in range(len(self.order)):
            node = self.node(at)
            if node.camera is None:
                continue
            camera = self.file.item(self.file.json.cameras, node.camera, "camera")
            fov = math.degrees(camera.perspective.yfov) if camera.perspective is not None else 0.0
            words = "".join(one for one in node.name or camera.name if one.isprintable())[:NAME_LENGTH].strip()
            name = words or f"camera {node.camera}"
            name = name if name not in found else f"{name} ({at})"
            found[name] = CameraNode(name, self.palette_of_node(at), fov)
        return list(found.values())

    def _collect(self, roots: list[int]) -> None:
        visited: set[int] = set()
        todo = [(root, -1) for root in reversed(roots)]
        while todo:
            node, parent = todo.pop()
            described = self.file.item(self.file.json.nodes, node, "node")
            if node in visited:
                raise self.file.error(f"damaged: node {node} has two parents, or is its own ancestor")
            visited.add(node)
            self.order.append(node)
            self._parents.append(parent)
            todo += [(child, len(self.order) - 1) for child in reversed(described.children)]

    def _binds(self, accessor: int | None, joints: int, skin: int) -> np.ndarray:
        """Inverse bind matrices (joints, 3, 4)."""
        if accessor is None:
            return np.tile(IDENTITY, (joints, 1, 1))
        columns = self.file.array(accessor, ("MAT4",), f"inverseBindMatrices of skin {skin}")
        if len(columns) < joints:
            raise self.file.error(f"damaged: skin {skin} has {joints} joints, but {len(columns)} inverse bind matrices")
        return columns[:joints].reshape(-1, 4, 4).transpose(0, 2, 1)[:, :3].astype(np.float64)


def _roots(file: GltfFile) -> list[int]:
    """The roots of the scene that is shown first; without scenes, all nodes that are no children."""
    described = file.json
    if described.scenes:
        scene = file.item(described.scenes, described.scene or 0, "scene")
        return list(scene.nodes)
    children = {child for node in described.nodes for child in node.children}
    return [at for at in range(len(described.nodes)) if at not in children]
