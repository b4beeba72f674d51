"""The materials and textures of a glTF file."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .content import BLEND, CLAMP, COLOR_MAPS, MAPS, MASK, MIRROR, OPAQUE, REPEAT, Coat, Map, Material, Transmission
from .gltf_file import GltfFile
from .gltf_schema import Material as Described
from .gltf_schema import MaterialExtensions, Sampler, TextureInfo, Transform
from .images import TextureMaps

WRAPS = {10497: REPEAT, 33071: CLAMP, 33648: MIRROR}
NEAREST = 9728
ALPHA_MODES = {"OPAQUE": OPAQUE, "MASK": MASK, "BLEND": BLEND}


def materials(file: GltfFile, textures: TextureMaps) -> list[Material]:
    """The materials of the file, then that of primitives without one. Raises `InputError`."""
    return [*(_material(file, textures, one, at) for at, one in enumerate(file.json.materials)), Material()]


def _material(file: GltfFile, textures: TextureMaps, described: Described, at: int) -> Material:
    rough = described.pbr_metallic_roughness
    infos: dict[str, TextureInfo | None] = dict(
        zip(
            MAPS,
            (
                rough.base_color_texture,
                rough.metallic_roughness_texture,
                described.normal_texture,
                described.occlusion_texture,
                described.emissive_texture,
            ),
            strict=True,
        )
    )
    where = f"material {at}"
    maps = _maps(file, textures, infos, where)
    strength = described.extensions.strength.emissive_strength
    red, green, blue = described.emissive_factor
    return Material(
        base_color=rough.base_color_factor,
        emissive=(red * strength, green * strength, blue * strength),
        metallic=rough.metallic_factor,
        roughness=rough.roughness_factor,
        normal_scale=described.normal_texture.scale if described.normal_texture else 1.0,
        occlusion_strength=described.occlusion_texture.strength if described.occlusion_texture else 1.0,
        alpha_mode=ALPHA_MODES[described.alpha_mode],
        alpha_cutoff=described.alpha_cutoff,
        double_sided=described.double_sided,
        unlit=described.extensions.unlit is not None,
        maps=maps,
        ior=described.extensions.refraction.ior,
        coat=_coat(file, textures, described.extensions, where),
        transmission=_transmission(file, textures, described.extensions, where),
    )


def _coat(file: GltfFile, textures: TextureMaps, described: MaterialExtensions, where: str) -> Coat:
    coat = described.coat
    infos = {
        "strength": coat.clearcoat_texture,
        "roughness": coat.clearcoat_roughness_texture,
        "normal": coat.clearcoat_normal_texture,
    }
    if not coat.clearcoat_factor:
        return Coat()
    scale = coat.clearcoat_normal_texture.scale if coat.clearcoat_normal_texture else 1.0
    maps = _maps(file, textures, infos, f"{where}, clear coat")
    return Coat(coat.clearcoat_factor, coat.clearcoat_roughness_factor, scale, maps)


def _transmission(file: GltfFile, textures: TextureMaps, described: MaterialExtensions, where: str) -> Transmission:
    fraction, volume = described.transmission, described.volume
    if not fraction.transmission_factor:
        return Transmission()
    infos = {"fraction": fraction.transmission_texture, "thickness": volume.thickness_texture}
    return Transmission(
        fraction.transmission_factor,
        volume.thickness_factor,
        volume.attenuation_distance or 0.0,
        volume.attenuation_color,
        _maps(file, textures, infos, f"{where}, transmission"),
    )


def _maps(file: GltfFile, textures: TextureMaps, infos: Mapping[str, TextureInfo | None], where: str) -> dict[str, Map]:
    found = {name: _map(file, textures, info, name, where) for name, info in infos.items() if info is not None}
    return {name: one for name, one in found.items() if one is not None}


def _map(file: GltfFile, textures: TextureMaps, info: TextureInfo, name: str, where: str) -> Map | None:
    """The map of a texture; None for one without an image, which only extensions that are not read would give it."""
    texture = file.item(file.json.textures, info.index, "texture")
    webp, source = texture.extensions.webp, texture.source
    source = source if webp is None else webp.source
    if source is None:
        return None
    sampler = Sampler() if texture.sampler is None else file.item(file.json.samplers, texture.sampler, "sampler")
    transform = info.extensions.transform or Transform()
    texcoord = info.tex_coord if transform.tex_coord is None else transform.tex_coord
    if texcoord > 1:
        raise file.error(f"{where}: {name} uses TEXCOORD_{texcoord}; 0 and 1 are read")
    image = file.item(file.json.images, source, "image")

    def read() -> bytes:
        if image.uri is not None:
            return file.resource(image.uri, f"image {source}")
        if image.buffer_view is None:
            raise file.error(f"damaged: image {source} has no bytes")
        return bytes(file.view(image.buffer_view, f"image {source}"))

    sharp = sampler.mag_filter == NEAREST
    layer = textures.add(source, f"image {source}", read, name in COLOR_MAPS, sharp)
    return Map(layer, texcoord, (WRAPS[sampler.wrap_s], WRAPS[sampler.wrap_t]), _matrix(transform))


def _matrix(transform: Transform) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Translation, rotation (counterclockwise, where v points down) and scale, as KHR_texture_transform."""
    cosine, sine = math.cos(transform.rotation), math.sin(transform.rotation)
    (sx, sy), (x, y) = transform.scale, transform.offset
    return (cosine * sx, sine * sy, x), (-sine * sx, cosine * sy, y)
