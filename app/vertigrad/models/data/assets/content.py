"""`Asset`: what an asset's file holds, as arrays for shaders/models/asset.wgsl and shaders/draw/asset.wgsl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

NONE = 0xFFFFFFFF  # the parent of a root
VERTEX = 10  # floats of a vertex: position, normal, tangent and its handedness, 0 without a tangent
POSE = 10  # floats of a node's pose: translation, rotation (x, y, z, w), scale
PART = 8  # numbers of a part: see `Part`
CHANNEL = 8  # and of a channel: see `Channel`
LIGHT = 16  # floats of a light that is placed: see shaders/common/asset_light.wgsl
MATERIAL = 76  # floats of a material: 4 vec4 of factors, then 3 of each map
COATED, TRANSMISSIVE = 116, 148  # the same with a clear coat, and with transmission, where a material has one
OPAQUE, MASK, BLEND = range(3)  # alpha modes
REPEAT, CLAMP, MIRROR = range(3)  # beyond the edge of a texture
STEP, LINEAR, CUBIC = range(3)  # interpolations
MAPS = ("base_color", "metallic_roughness", "normal", "occlusion", "emissive")
COLOR_MAPS = frozenset({"base_color", "emissive"})  # their texels are sRGB; those of the others are linear

Wrap = tuple[int, int]


class Part(NamedTuple):
    """A primitive of a mesh at a node, in the order in which shaders/models/asset.wgsl reads it.

    `palette` is the first of its matrices: the only one if it has no skin, whose `sets` of four influences are 0.
    `influences` and `deltas` are where those of its first vertex begin; a morph target has `count` vertices.
    """

    palette: int
    sets: int
    influences: int
    first: int
    count: int
    deltas: int = 0
    targets: int = 0
    weights: int = 0


class Channel(NamedTuple):
    """Keys that animate `width` floats of the pose from `target` on, as shaders/models/asset.wgsl reads it."""

    target: int
    width: int
    interpolation: int
    rotates: int
    first_key: int
    keys: int
    first_value: int
    pad: int = 0


class Clip(NamedTuple):
    """An animation: its channels, and its length [s]."""

    name: str
    first: int
    count: int
    duration: float


@dataclass(frozen=True)
class Map:
    """A texture of a material: a row of `Maps`, the set of coordinates, and their transform (2, 3)."""

    layer: int = -1
    texcoord: int = 0
    wrap: Wrap = (REPEAT, REPEAT)
    transform: tuple[tuple[float, float, float], tuple[float, float, float]] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))

    def floats(self) -> list[float]:
        """As `Map` of shaders/common/asset_materials.wgsl."""
        (a, b, x), (c, d, y) = self.transform
        return [self.layer, self.texcoord, *self.wrap, a, b, c, d, x, y, 0.0, 0.0]


@dataclass(frozen=True)
class Coat:
    """KHR_materials_clearcoat, with maps `strength`, `roughness` and `normal`."""

    strength: float = 0.0
    roughness: float = 0.0
    normal_scale: float = 1.0
    maps: dict[str, Map] = field(default_factory=dict)

    def floats(self) -> list[float]:
        """As shaders/common/asset_surface.wgsl reads it at `COAT`."""
        maps = [self.maps.get(name, Map()) for name in ("strength", "roughness", "normal")]
        return [self.strength, self.roughness, self.normal_scale, 0.0, *(n for one in maps for n in one.floats())]


@dataclass(frozen=True)
class Transmission:
    """KHR_materials_transmission and _volume, with maps `fraction` and `thickness`.

    Lengths are those of the file. White light has the `color` after an attenuation `distance`, 0: never.
    """

    fraction: float = 0.0
    thickness: float = 0.0
    distance: float = 0.0
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    maps: dict[str, Map] = field(default_factory=dict)

    def floats(self, ior: float, length_scale: float) -> list[float]:
        """As shaders/draw/asset.wgsl reads it at `TRANSMISSION`."""
        lengths = self.thickness * length_scale, self.distance * length_scale
        maps = [self.maps.get(name, Map()) for name in ("fraction", "thickness")]
        return [self.fraction, *lengths, *self.color, ior, 0.0, *(n for one in maps for n in one.floats())]


@dataclass(frozen=True)
class Material:
    """A metal-rough material of glTF 2.0 (section 3.9). Colors are linear light.

    `ior` is that of KHR_materials_ior, 0: infinite.
    """

    base_color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    metallic: float = 1.0
    roughness: float = 1.0
    normal_scale: float = 1.0
    occlusion_strength: float = 1.0
    alpha_mode: int = OPAQUE
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    unlit: bool = False
    maps: dict[str, Map] = field(default_factory=dict)
    ior: float = 1.5
    coat: Coat = Coat()
    transmission: Transmission = Transmission()

    @property
    def columns(self) -> int:
        """The floats that describe it: `MATERIAL`, `COATED` or `TRANSMISSIVE`."""
        if self.transmission.fraction > 0.0:
            return TRANSMISSIVE
        return COATED if self.coat.strength > 0.0 else MATERIAL

    @property
    def dielectric(self) -> float:
        """The fraction of light that is reflected head-on where it is no metal."""
        return ((self.ior - 1.0) / (self.ior + 1.0)) ** 2 if self.ior else 1.0

    def floats(self, columns: int = MATERIAL, length_scale: float = 1.0) -> list[float]:
        """As shaders/common/asset_surface.wgsl reads it; `length_scale` is the scene's lengths over the file's."""
        factors = [*self.base_color, *self.emissive, self.alpha_cutoff, self.metallic, self.roughness]
        factors += [self.normal_scale, self.occlusion_strength, self.alpha_mode, self.double_sided, self.unlit]
        found = [*factors, self.dielectric, *(n for name in MAPS for n in self.maps.get(name, Map()).floats())]
        return [*found, *self.coat.floats(), *self.transmission.floats(self.ior, length_scale)][:columns]


class Light(NamedTuple):
    """A light of KHR_lights_punctual at an entry of the palette, along its -z."""

    kind: Literal["directional", "point", "spot"]
    palette: int
    color: tuple[float, float, float]  # times intensity: lux, or candela
    range: float  # 0: without an end
    inner: float  # cosines of the cone's angles
    outer: float

    def floats(self) -> list[float]:
        """As `Source` of shaders/models/asset.wgsl."""
        kind = ("directional", "point", "spot").index(self.kind)
        return [*self.color, self.range, self.inner, self.outer, kind, self.palette]


class CameraNode(NamedTuple):
    """A camera at an entry of the palette, along its -z; `fov` is vertical [degrees], 0 of an orthographic one."""

    name: str
    palette: int
    fov: float


class Skeleton(NamedTuple):
    """Nodes, and the matrices that the vertices need of them.

    `parents` u32 (n,). A node's matrix is that of its parent, times its `fixed` one (n, 12), rows of a 3x4 matrix,
    times that of its pose. `rest` has the poses of all nodes, then the weights of all morph targets. An entry of
    the palette is the matrix of `nodes` (p,) times `binds` (p, 12).
    """

    parents: np.ndarray
    fixed: np.ndarray
    rest: np.ndarray
    nodes: np.ndarray
    binds: np.ndarray


class Motion(NamedTuple):
    """Animations: `channels` u32 (c, CHANNEL), `keys` [s] and `values` f32 of all of them."""

    clips: Sequence[Clip]
    channels: np.ndarray
    keys: np.ndarray
    values: np.ndarray


class Asset(NamedTuple):
    """Vertices of all parts, and what places, deforms and draws them.

    `vertices` f32 (n, VERTEX) in the space of their part, `texcoords` f32 (n, 4) two sets, `colors` linear f32 (n, 4)
    or None, `part` and `material` u32 (n,), `index` u32 (m, 3), `parts` u32 (p, PART). `influences` u32: for each
    set of a vertex four joints, then four weights as the bits of f32. `deltas` f32 (k, 9) of morph targets: position,
    normal, tangent. `color_maps` and `data_maps` u8 (k, rows, columns, 4). `notes` are sentences on what is left out.
    """

    vertices: np.ndarray
    texcoords: np.ndarray
    colors: np.ndarray | None
    part: np.ndarray
    material: np.ndarray
    index: np.ndarray
    parts: np.ndarray
    influences: np.ndarray
    deltas: np.ndarray
    skeleton: Skeleton
    motion: Motion
    materials: Sequence[Material]
    color_maps: np.ndarray
    data_maps: np.ndarray
    lights: Sequence[Light] = ()
    cameras: Sequence[CameraNode] = ()
    notes: Sequence[str] = ()

    @property
    def material_columns(self) -> int:
        """The floats of the material that needs most."""
        return max(one.columns for one in self.materials)

    @property
    def moves(self) -> bool:
        """Whether there is an animation."""
        return bool(self.motion.clips)


def rows(numbers: Sequence[Sequence[float]], columns: int, dtype: type = np.float32) -> np.ndarray:
    """A table of at least one row: of zeros, where there is none."""
    return np.array(numbers, dtype).reshape(-1, columns) if len(numbers) else np.zeros((1, columns), dtype)
