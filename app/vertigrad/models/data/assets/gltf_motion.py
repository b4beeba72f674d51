"""The animations of a glTF file."""

from __future__ import annotations

import numpy as np

from .content import CHANNEL, CUBIC, LINEAR, POSE, STEP, Channel, Clip, Motion, rows
from .gltf_file import GltfFile
from .gltf_nodes import Nodes
from .gltf_schema import Animation, AnimationChannel

PATHS = {"translation": (0, 3), "rotation": (3, 4), "scale": (7, 3)}  # where they are in a pose, and their components
INTERPOLATIONS = {"STEP": STEP, "LINEAR": LINEAR, "CUBICSPLINE": CUBIC}


def motion(file: GltfFile, nodes: Nodes, weights: dict[int, tuple[int, int]]) -> Motion:
    """The clips; `weights` are where the weights of nodes begin in the pose, and how many there are.

    Raises `InputError`.
    """
    reading = _Reading(file, nodes, weights)
    clips = [reading.clip(one, at) for at, one in enumerate(file.json.animations)]
    keys = np.concatenate(reading.keys) if reading.keys else np.zeros(1, np.float32)
    values = np.concatenate(reading.values) if reading.values else np.zeros(1, np.float32)
    return Motion(_with_names(clips), rows(reading.channels, CHANNEL, np.uint32), keys, values)


class _Reading:
    """Collects channels, keys and values."""

    def __init__(self, file: GltfFile, nodes: Nodes, weights: dict[int, tuple[int, int]]):
        self._file, self._nodes, self._weights = file, nodes, weights
        self.channels: list[Channel] = []
        self.keys: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self._counts = [0, 0]

    def clip(self, animation: Animation, at: int) -> Clip:
        first, duration, found = len(self.channels), 0.0, {}
        for channel in animation.channels:
            animated = self._channel(animation, channel, f"animation {at}")
            if animated is not None:
                found[animated[0].target] = animated
        for one, end in found.values():
            self.channels.append(one)
            duration = max(duration, end)
        return Clip(animation.name, first, len(found), duration)

    def _channel(self, animation: Animation, channel: AnimationChannel, where: str) -> tuple[Channel, float] | None:
        """A channel, and the time of its last key; None for one that animates nothing that is there."""
        file, path = self._file, channel.target.path
        if channel.target.node is not None:
            file.item(file.json.nodes, channel.target.node, f"{where}: node")
        slot = None if channel.target.node is None else self._nodes.slots.get(channel.target.node)
        if slot is None or path not in (*PATHS, "weights"):
            return None
        if path == "weights":
            target, width = self._weights.get(slot, (0, 0))
        else:
            target, width = POSE * slot + PATHS[path][0], PATHS[path][1]
        if not width:
            return None
        sampler = file.item(animation.samplers, channel.sampler, "sampler")
        interpolation = INTERPOLATIONS[sampler.interpolation]
        keys = file.array(sampler.input, ("SCALAR",), f"{where}: times")[:, 0]
        if keys[0] < 0.0 or (np.diff(keys) <= 0.0).any():
            raise file.error(f"damaged: {where}: times do not rise")
        kinds = {"rotation": ("VEC4",), "weights": ("SCALAR",)}.get(path, ("VEC3",))
        values = file.array(sampler.output, kinds, f"{where}: {path}").reshape(-1)
        if len(values) != len(keys) * width * (3 if interpolation == CUBIC else 1):
            raise file.error(f"damaged: {where}: {len(values)} values of {path} for {len(keys)} times")
        first_key, first_value = self._counts
        self.keys.append(keys)
        self.values.append(values)
        self._counts = [first_key + len(keys), first_value + len(values)]
        rotates = int(path == "rotation")
        animated = Channel(target, width, interpolation, rotates, first_key, len(keys), first_value)
        return animated, float(keys[-1])


def _with_names(clips: list[Clip]) -> list[Clip]:
    """Each with a name of its own."""
    names: list[str] = []
    for at, clip in enumerate(clips):
        name = clip.name.strip() or f"animation {at}"
        names.append(name if name not in names else f"{name} ({at})")
    return [clip._replace(name=name) for clip, name in zip(clips, names, strict=True)]
