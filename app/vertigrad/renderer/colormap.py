"""Colormaps: by name, as a texture of 256 colors."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import metadata

import numpy as np
import wgpu

from .. import resources
from ..atomic_file import write_file
from ..errors import InputError, ParameterError
from ..gpu import Gpu
from ..params import unknown
from .pipelines import draw_cache

TEXELS = 256

# Name in a scene -> name in the cmap library. Perceptually even ones first; those for signed values, for angles and for
# heights follow.
_SOURCES = {
    **dict.fromkeys(("inferno", "magma", "plasma", "viridis"), "bids"),
    "cividis": "cividis",
    "turbo": "google",
    **dict.fromkeys(("batlow", "lajolla", "lapaz", "tokyo", "hawaii", "acton", "oslo"), "crameri"),
    **dict.fromkeys(("thermal", "ice", "solar", "deep", "speed"), "cmocean"),
    **dict.fromkeys(("vik", "roma", "berlin"), "crameri"),
    "coolwarm": "matplotlib",
    "balance": "cmocean",
    "twilight": "matplotlib",
    "romaO": "crameri",
    **dict.fromkeys(("oleron", "bukavu"), "crameri"),
    "topo": "cmocean",
    **dict.fromkeys(("gist_earth", "terrain"), "matplotlib"),
    "blackbody": "paraview",
    "gray": "matlab",
}
COLORMAPS = tuple(_SOURCES)


@cache
def colormap_colors(name: str, flip: bool = False) -> np.ndarray:
    """256 colors, uint8 [256, 4], sRGB. Raises `ParameterError` for a name that is not in `COLORMAPS`."""
    if name not in _SOURCES:
        raise ParameterError(unknown("colormap", name, COLORMAPS))
    colors = _stored(name)
    return np.ascontiguousarray(colors[::-1] if flip else colors)


def _stored(name: str) -> np.ndarray:
    """The colors from the cache folder, or put there: cmap takes a tenth of a second to import and to list its maps."""
    file = resources.cache_folder() / "colormaps" / f"{metadata.version('cmap')}-{_SOURCES[name]}-{name}-{TEXELS}"
    with suppress(OSError, ValueError):  # there is none, or it is damaged
        return np.frombuffer(file.read_bytes(), np.uint8).reshape(TEXELS, 4)
    from cmap import Colormap

    colors = np.round(Colormap(f"{_SOURCES[name]}:{name}").lut(TEXELS) * 255).astype(np.uint8)
    with suppress(InputError):  # it is created again next time
        write_file(file, colors.tobytes(), make_folder=True)
    return colors


def colormap_texture(gpu: Gpu, name: str, flip: bool = False) -> wgpu.GPUTextureView:
    """The colormap as a texture of 256 x 1 texels of linear light, created once for each device."""

    def make() -> wgpu.GPUTextureView:
        texture = gpu.create_texture(
            label=f"colormap {name}",
            size=(TEXELS, 1, 1),
            format="rgba16float",  # as light already: cheaper to sample than sRGB bytes
            usage=wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST,
        )
        colors = colormap_colors(name, flip) / 255
        colors[:, :3] = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)[:, :3]
        light = colors.astype(np.float16)
        gpu.queue.write_texture({"texture": texture}, light, {"bytes_per_row": light.strides[0] * TEXELS}, texture.size)
        return texture.create_view()

    return draw_cache(gpu).get(("colormap", name, flip), make)
