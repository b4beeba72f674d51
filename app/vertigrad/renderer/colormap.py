"""Colormaps: by name, as a texture of 256 colors."""

from __future__ import annotations

from functools import cache

import numpy as np
import wgpu

from ..errors import ParameterError
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
    from cmap import Colormap  # takes a fifth of a second to import

    colors = np.round(Colormap(f"{_SOURCES[name]}:{name}").lut(TEXELS) * 255).astype(np.uint8)
    return np.ascontiguousarray(colors[::-1] if flip else colors)


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
