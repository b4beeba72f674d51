"""`Asset`: meshes with materials, textures, nodes, skins, morph targets and animations, from a glTF or OBJ file."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import params
from ...errors import InputError
from ...params import file, integer, number, switch, text
from ...params import shown as quoted
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..reference import asset as reference
from .assets.content import LIGHT, VERTEX, Clip, rows
from .assets.content import Asset as Content
from .assets.reading import FORMATS, Placed, read
from .placement import longest_edge, up_axis

SHADER = "models/asset.wgsl"
NEAREST_TARGET = 0.05  # of a camera's distance from the middle: for one that looks away from it
NO_CLIP = Clip("", 0, 0, 0.0)


class Params(params.Params):
    """Which file, how large, and which of its animations."""

    file: Path = file(..., suffixes=FORMATS, doc="file of the asset")
    size: float = longest_edge(2.0)
    up: str = up_axis()
    clip: str = text("", rebuild=True, doc="name of the animation that is played; empty: the first")
    time_scale: float = number(1.0, min=-100.0, max=100.0, slider_min=0.0, slider_max=4.0, doc="playback speed")
    offset: float = number(
        0.0, min=-1e4, max=1e4, slider_min=0.0, slider_max=10.0, unit="s", doc="time in the animation at the start"
    )
    loop: bool = switch(True, doc="play the animation again when it has ended")
    texture_size: int = integer(
        2048,
        min=1,
        max=1 << 13,
        scale="log",
        rebuild=True,
        doc="largest side of a texture in pixels; larger ones shrink",
    )


class Asset(NamedTensorsModel):
    """An asset whose vertices are animated, morphed and skinned on the GPU, in the buffers that are drawn.

    Draw it with a layer of type "asset". All parts of the file are one mesh, its middle at the origin when at rest.
    """

    Params = Params
    scalars = ("time",)
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "clip_time": DiagnosticSpec("time in the animation", "s"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        asset = _read(params).asset
        _clip(params, asset)
        count = len(asset.vertices)
        specs = {
            "position": OutputSpec((count, 3), "f32", "vertex positions", "vertices", slice(0, 3)),
            "normal": OutputSpec((count, 3), "f32", "unit normals, outwards", "vertices", slice(3, 6)),
            "tangent": OutputSpec(
                (count, 4), "f32", "unit tangents and their handedness; 0 without", "vertices", slice(6, 10)
            ),
            "texcoord": OutputSpec((count, 4), "f32", "two sets of texture coordinates, v downwards"),
            "material": OutputSpec((count,), "f32", "the row of `materials` of each vertex"),
            "index": OutputSpec(asset.index.shape, "u32", "triangles: three vertex indices each"),
            "materials": OutputSpec(
                (len(asset.materials), asset.material_columns), "f32", "factors and maps of each material"
            ),
            "color_maps": OutputSpec(asset.color_maps.shape, "u8", "base colors and emission, sRGB with alpha"),
            "data_maps": OutputSpec(asset.data_maps.shape, "u8", "normals, occlusion, roughness and metalness"),
        }
        if asset.colors is not None:
            specs["color"] = OutputSpec((count, 4), "f32", "vertex colors, sRGB from 0 to 1, and alpha")
        if asset.lights:
            specs["lights"] = OutputSpec((len(asset.lights), LIGHT), "f32", "lights of the file")
        return specs

    @classmethod
    def choices(cls, params: Params) -> Mapping[str, tuple[str, ...]]:
        return {"clip": tuple(clip.name for clip in _read(params).asset.motion.clips)}

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        try:
            moves = _read(params).asset.moves
        except InputError:
            return {}
        return {} if moves else dict.fromkeys(("clip", "time_scale", "offset", "loop"), "the file has no animation")

    def step(self, dt: float) -> None:
        self._time += dt * self._params.time_scale
        if self._asset.moves:
            self._show()

    def diagnostics(self) -> dict[str, Tensor]:
        return {"clip_time": Tensor.full((), self._clip_time())}

    def compare_with_reference(self) -> list[Comparison]:
        """All vertices at this time, in float64."""
        self._show()
        expected = reference.vertices(self._asset, self._clip, float(np.float32(self._clip_time())))
        vertices = self._tensors["vertices"].numpy()
        columns = {"position": slice(0, 3), "normal": slice(3, 6), "tangent": slice(6, 10)}
        return [compare(name, vertices[:, of], expected[:, of], 1e-4) for name, of in columns.items()]

    def reset(self) -> None:
        self._time = 0.0
        self._show()

    def _clip_time(self) -> float:
        """Where the animation is [s]."""
        time, duration = self._time + self._params.offset, self._clip.duration
        if not duration:
            return 0.0
        return math.fmod(math.fmod(time, duration) + duration, duration) if self._params.loop else max(time, 0.0)

    def _show(self) -> None:
        clip = self._clip
        self._plan.update(time=self._clip_time(), first_channel=clip.first, channel_count=clip.count)

    def _create(self, parts: Parts) -> None:
        asset, factor = _read(self._params)
        self._asset, self._clip, self._time = asset, _clip(self._params, asset), 0.0
        for name, array in _constants(asset, factor).items():
            parts.copied(name, array)
        count, skeleton = len(asset.vertices), asset.skeleton
        parts.empty("vertices", count, VERTEX)
        parts.empty("pose", len(skeleton.rest))
        parts.empty("palette", len(skeleton.nodes), 12)
        constants: dict[str, Any] = {
            **{"pose_size": len(skeleton.rest), "palette_size": len(skeleton.nodes), "vertex_count": count},
            **{"light_count": len(asset.lights), "light_scale": factor * factor, "length_scale": factor},
        }
        kernels = Kernels(SHADER, self._tensors, constants)
        self._plan = parts.plan("animate")
        open_fields = ("time", "first_channel", "channel_count")
        kernels.add(self._plan, "rest", len(skeleton.rest), "pose", replayed=())
        kernels.add(self._plan, "animate", max(self._clip.count, 1), replayed=open_fields)
        kernels.add(self._plan, "compose", len(skeleton.nodes), "palette", replayed=())
        kernels.add(self._plan, "deform", count, "vertices", replayed=())
        if asset.lights:
            parts.empty("lights", len(asset.lights), LIGHT)
            kernels.add(self._plan, "shine", len(asset.lights), "lights", replayed=())


def _constants(asset: Content, factor: float) -> dict[str, np.ndarray]:
    """The tensors that do not change, by the names of the shader's bindings and of the outputs."""
    skeleton, motion, columns = asset.skeleton, asset.motion, asset.material_columns
    constants = {
        **{"at_rest": skeleton.rest, "parents": skeleton.parents, "fixed": skeleton.fixed.reshape(-1)},
        **{"nodes": skeleton.nodes, "binds": skeleton.binds.reshape(-1)},
        **{"channels": motion.channels, "keys": motion.keys, "values": motion.values},
        **{"base": asset.vertices, "part_of": asset.part, "parts": asset.parts},
        **{"influences": asset.influences, "deltas": asset.deltas},
        **{"texcoord": asset.texcoords, "material": asset.material.astype(np.float32), "index": asset.index},
        "materials": rows([material.floats(columns, factor) for material in asset.materials], columns),
        **{"color_maps": asset.color_maps, "data_maps": asset.data_maps},
    }
    if asset.colors is not None:
        constants["color"] = np.concatenate([_encoded(asset.colors[:, :3]), asset.colors[:, 3:]], axis=1)
    if asset.lights:
        constants["sources"] = rows([light.floats() for light in asset.lights], 8)
    return constants


def _encoded(light: np.ndarray) -> np.ndarray:
    """Linear light as sRGB from 0 to 1 (IEC 61966-2-1)."""
    light = np.clip(light, 0.0, 1.0)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055).astype(np.float32)


def content(params: Params) -> Content:
    """What the file holds. Raises `InputError`."""
    return _read(params).asset


def views(params: Params) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Position and target of the file's cameras at rest, and the vertical field of view [degrees], by their names.

    The target is at the distance of the middle of the asset. Raises `InputError`.
    """
    asset = content(params)
    matrices = reference.palette(asset.skeleton, reference.pose(asset, None, 0.0))
    found = {}
    for camera in asset.cameras:
        matrix = matrices[camera.palette]
        position, backward = matrix[:, 3], matrix[:, 2] / max(float(np.linalg.norm(matrix[:, 2])), 1e-12)
        distance = max(float(position @ backward), NEAREST_TARGET * max(float(np.linalg.norm(position)), 1e-3))
        found[camera.name] = position, position - distance * backward, camera.fov
    return found


def _read(params: Params) -> Placed:
    return read(params.file, params.size, params.up, params.texture_size)


def _clip(params: Params, asset: Content) -> Clip:
    """The clip that is played. Raises `InputError` for an unknown name."""
    clips = asset.motion.clips
    if not params.clip:
        return clips[0] if clips else NO_CLIP
    for clip in clips:
        if clip.name == params.clip:
            return clip
    known = ", ".join(quoted(clip.name) for clip in clips) or "none"
    raise InputError(f"{params.file}: has no animation {quoted(params.clip)}; it has {known}")
