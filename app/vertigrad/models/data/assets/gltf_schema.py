"""The JSON of glTF 2.0 as typed objects, checked by pydantic: what is read of it, by the names of the specification."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Index = Annotated[int, Field(ge=0, lt=1 << 32)]
Size = Annotated[int, Field(ge=0, lt=1 << 53)]
Count = Annotated[int, Field(ge=1, lt=1 << 53)]
Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Vec4 = tuple[float, float, float, float]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]


class _Object(BaseModel):
    """Keys that are not read are ignored; numbers are finite, and never texts."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="ignore", frozen=True, allow_inf_nan=False, strict=True, populate_by_name=True
    )


class Header(_Object):
    """`asset`."""

    version: str
    min_version: str = "2.0"


class Buffer(_Object):
    """Bytes: of the GLB itself, of a file, or of a data URI."""

    uri: str | None = None
    byte_length: Count


class BufferView(_Object):
    """A range of a buffer."""

    buffer: Index
    byte_offset: Size = 0
    byte_length: Count
    byte_stride: Annotated[int, Field(ge=4, le=252)] | None = None


class SparseIndices(_Object):
    """Which elements differ."""

    buffer_view: Index
    byte_offset: Size = 0
    component_type: Literal[5121, 5123, 5125]


class SparseValues(_Object):
    """And what they are."""

    buffer_view: Index
    byte_offset: Size = 0


class Sparse(_Object):
    """Elements that differ from those of the buffer view."""

    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(_Object):
    """An array in a buffer view; of zeros without one."""

    buffer_view: Index | None = None
    byte_offset: Size = 0
    component_type: Literal[5120, 5121, 5122, 5123, 5125, 5126]
    normalized: bool = False
    count: Count
    type: Literal["SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"]
    sparse: Sparse | None = None


class Primitive(_Object):
    """A part of a mesh with one material. `targets` are its morph targets."""

    attributes: dict[str, Index]
    indices: Index | None = None
    material: Index | None = None
    mode: Literal[0, 1, 2, 3, 4, 5, 6] = 4
    targets: list[dict[str, Index]] = []
    extensions: dict[str, object] = {}


class Mesh(_Object):
    """Primitives, and the weights of their morph targets."""

    primitives: Annotated[list[Primitive], Field(min_length=1)]
    weights: list[float] | None = None


class LightRef(_Object):
    """KHR_lights_punctual at a node."""

    light: Index


class NodeExtensions(_Object):
    """Those that are read."""

    lights: LightRef | None = Field(default=None, validation_alias="KHR_lights_punctual")


class Node(_Object):
    """A place in the hierarchy: a matrix by columns, or translation, rotation (x, y, z, w) and scale."""

    name: str = ""
    children: list[Index] = []
    mesh: Index | None = None
    skin: Index | None = None
    camera: Index | None = None
    weights: list[float] | None = None
    matrix: Annotated[list[float], Field(min_length=16, max_length=16)] | None = None
    translation: Vec3 = (0.0, 0.0, 0.0)
    rotation: Vec4 = (0.0, 0.0, 0.0, 1.0)
    scale: Vec3 = (1.0, 1.0, 1.0)
    extensions: NodeExtensions = NodeExtensions()


class Scene(_Object):
    """Root nodes."""

    nodes: list[Index] = []


class Skin(_Object):
    """Joints, and matrices from the space of the mesh to theirs."""

    joints: Annotated[list[Index], Field(min_length=1)]
    inverse_bind_matrices: Index | None = None


class Target(_Object):
    """What a channel animates."""

    node: Index | None = None
    path: str


class AnimationChannel(_Object):
    """A sampler for a target."""

    sampler: Index
    target: Target


class AnimationSampler(_Object):
    """Times and values."""

    input: Index
    output: Index
    interpolation: Literal["LINEAR", "STEP", "CUBICSPLINE"] = "LINEAR"


class Animation(_Object):
    """A clip."""

    name: str = ""
    channels: list[AnimationChannel] = []
    samplers: list[AnimationSampler] = []


class Transform(_Object):
    """KHR_texture_transform."""

    offset: Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: Vec2 = (1.0, 1.0)
    tex_coord: Index | None = None


class InfoExtensions(_Object):
    """Those that are read."""

    transform: Transform | None = Field(default=None, validation_alias="KHR_texture_transform")


class TextureInfo(_Object):
    """A texture of a material; `scale` of normals, `strength` of occlusion."""

    index: Index
    tex_coord: Index = 0
    scale: float = 1.0
    strength: Unit = 1.0
    extensions: InfoExtensions = InfoExtensions()


class MetallicRoughness(_Object):
    """`pbrMetallicRoughness`."""

    base_color_factor: tuple[Unit, Unit, Unit, Unit] = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: TextureInfo | None = None
    metallic_factor: Unit = 1.0
    roughness_factor: Unit = 1.0
    metallic_roughness_texture: TextureInfo | None = None


class EmissiveStrength(_Object):
    """KHR_materials_emissive_strength."""

    emissive_strength: Annotated[float, Field(ge=0.0)] = 1.0


class Clearcoat(_Object):
    """KHR_materials_clearcoat."""

    clearcoat_factor: Unit = 0.0
    clearcoat_texture: TextureInfo | None = None
    clearcoat_roughness_factor: Unit = 0.0
    clearcoat_roughness_texture: TextureInfo | None = None
    clearcoat_normal_texture: TextureInfo | None = None


class Ior(_Object):
    """KHR_materials_ior; 0 stands for an infinite one."""

    ior: Annotated[float, Field(ge=0.0)] = 1.5


class Transmission(_Object):
    """KHR_materials_transmission."""

    transmission_factor: Unit = 0.0
    transmission_texture: TextureInfo | None = None


class Volume(_Object):
    """KHR_materials_volume."""

    thickness_factor: Annotated[float, Field(ge=0.0)] = 0.0
    thickness_texture: TextureInfo | None = None
    attenuation_distance: Annotated[float, Field(gt=0.0)] | None = None
    attenuation_color: tuple[Unit, Unit, Unit] = (1.0, 1.0, 1.0)


class MaterialExtensions(_Object):
    """Those that are read."""

    unlit: dict[str, object] | None = Field(default=None, validation_alias="KHR_materials_unlit")
    strength: EmissiveStrength = Field(default=EmissiveStrength(), validation_alias="KHR_materials_emissive_strength")
    coat: Clearcoat = Field(default=Clearcoat(), validation_alias="KHR_materials_clearcoat")
    refraction: Ior = Field(default=Ior(), validation_alias="KHR_materials_ior")
    transmission: Transmission = Field(default=Transmission(), validation_alias="KHR_materials_transmission")
    volume: Volume = Field(default=Volume(), validation_alias="KHR_materials_volume")


class Material(_Object):
    """A metal-rough material."""

    pbr_metallic_roughness: MetallicRoughness = MetallicRoughness()
    normal_texture: TextureInfo | None = None
    occlusion_texture: TextureInfo | None = None
    emissive_texture: TextureInfo | None = None
    emissive_factor: tuple[Unit, Unit, Unit] = (0.0, 0.0, 0.0)
    alpha_mode: Literal["OPAQUE", "MASK", "BLEND"] = "OPAQUE"
    alpha_cutoff: Annotated[float, Field(ge=0.0)] = 0.5
    double_sided: bool = False
    extensions: MaterialExtensions = MaterialExtensions()


class TextureSource(_Object):
    """EXT_texture_webp."""

    source: Index


class TextureExtensions(_Object):
    """Those that are read."""

    webp: TextureSource | None = Field(default=None, validation_alias="EXT_texture_webp")


class Texture(_Object):
    """An image with a sampler."""

    sampler: Index | None = None
    source: Index | None = None
    extensions: TextureExtensions = TextureExtensions()


class Image(_Object):
    """A file, a data URI, or a buffer view."""

    uri: str | None = None
    buffer_view: Index | None = None


class Sampler(_Object):
    """Filters, and what is beyond the edge."""

    mag_filter: Literal[9728, 9729] | None = None
    wrap_s: Literal[33071, 33648, 10497] = 10497
    wrap_t: Literal[33071, 33648, 10497] = 10497


class Perspective(_Object):
    """The vertical field of view [radians]."""

    yfov: Annotated[float, Field(gt=0.0, lt=3.1415)]


class Camera(_Object):
    """A camera at a node, along its -z; `perspective` if that is its type."""

    name: str = ""
    type: Literal["perspective", "orthographic"]
    perspective: Perspective | None = None


class Spot(_Object):
    """The cone of a spot light."""

    inner_cone_angle: Annotated[float, Field(ge=0.0, le=1.5708)] = 0.0
    outer_cone_angle: Annotated[float, Field(ge=0.0, le=1.5708)] = 0.7853981633974483


class Light(_Object):
    """A light of KHR_lights_punctual."""

    type: Literal["directional", "point", "spot"]
    color: tuple[Unit, Unit, Unit] = (1.0, 1.0, 1.0)
    intensity: Annotated[float, Field(ge=0.0)] = 1.0
    range: Annotated[float, Field(gt=0.0)] | None = None
    spot: Spot = Spot()


class Lights(_Object):
    """KHR_lights_punctual."""

    lights: list[Light] = []


class Extensions(_Object):
    """Those that are read."""

    lights: Lights = Field(default=Lights(), validation_alias="KHR_lights_punctual")


class Gltf(_Object):
    """A whole file."""

    asset: Header
    extensions_used: list[str] = []
    extensions_required: list[str] = []
    buffers: list[Buffer] = []
    buffer_views: list[BufferView] = []
    accessors: list[Accessor] = []
    meshes: list[Mesh] = []
    nodes: list[Node] = []
    scenes: list[Scene] = []
    scene: Index | None = None
    skins: list[Skin] = []
    animations: list[Animation] = []
    materials: list[Material] = []
    textures: list[Texture] = []
    images: list[Image] = []
    samplers: list[Sampler] = []
    cameras: list[Camera] = []
    extensions: Extensions = Extensions()
