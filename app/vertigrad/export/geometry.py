"""`Geometry`: what a layer draws, as arrays on the host."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

Kind = Literal["points", "lines", "triangles", "splats"]


@dataclass(frozen=True)
class Geometry:
    """Points, lines, triangles or splats in world space.

    `positions` f32 (n, 3). `index` u32: rows of it for each triangle (m, 3) or segment (m, 2). `colors` f32 (n, 3) or
    (n, 4), sRGB from 0 to 1, perhaps with alpha; of a scalar color, `scalars` f32 (n,) are its values and `colors`
    those of the colormap. `normals` f32 (n, 3). `extras` are further values of each row: "radius" (n,), and of splats
    "scale" (n, 3), "rotation" (n, 4) as x, y, z, w, "opacity" (n,), and perhaps "harmonics" (n, 9, 24 or 45).
    """

    name: str
    kind: Kind
    positions: np.ndarray
    colors: np.ndarray
    index: np.ndarray | None = None
    normals: np.ndarray | None = None
    scalars: np.ndarray | None = None
    extras: dict[str, np.ndarray] = field(default_factory=dict)

    def finite(self) -> Geometry:
        """Without rows whose position or whose extras are not finite, and without what such a row is a corner of."""
        arrays = (self.positions, *self.extras.values())
        columns = [values.reshape(len(values), math.prod(values.shape[1:])) for values in arrays]
        sound = np.logical_and.reduce(np.isfinite(np.concatenate(columns, axis=1)), axis=1)
        index = self.index
        if index is not None:
            index = index[(index < len(sound)).all(axis=1)]
            index = index[sound[index].all(axis=1)]
        if sound.all():
            return replace(self, index=index)
        moved = np.cumsum(sound, dtype=np.int64) - 1
        return replace(
            self.rows(sound), index=None if index is None else moved[index].astype(np.uint32).reshape(index.shape)
        )

    def rows(self, chosen: np.ndarray) -> Geometry:
        """Some of the rows, by a mask or by their numbers; `index` stays."""
        values: dict[str, Any] = {
            name: None if array is None else array[chosen]
            for name, array in vars(self).items()
            if name in ("positions", "colors", "normals", "scalars")
        }
        return replace(self, **values, extras={name: array[chosen] for name, array in self.extras.items()})

    def bytes_of_colors(self) -> np.ndarray:
        """The colors as u8 (n, 3) or (n, 4), sRGB."""
        return np.round(np.clip(np.nan_to_num(self.colors), 0.0, 1.0) * 255.0).astype(np.uint8)

    def linear_colors(self) -> np.ndarray:
        """The colors as linear light, f32 (n, 3) or (n, 4); alpha is as it is."""
        colors = np.clip(np.nan_to_num(self.colors), 0.0, 1.0)
        return np.concatenate([to_light(colors[:, :3]), colors[:, 3:]], axis=1).astype(np.float32)

    def linear_rgba(self) -> np.ndarray:
        """As `linear_colors`, with an alpha of 1 where they have none, f32 (n, 4)."""
        return with_alpha(self.linear_colors())


def with_alpha(colors: np.ndarray) -> np.ndarray:
    """Colors (..., 3) or (..., 4) as (..., 4); alpha is 1 where they have none."""
    return np.pad(colors, [*[(0, 0)] * (colors.ndim - 1), (0, 4 - colors.shape[-1])], constant_values=1)


def to_light(encoded: np.ndarray) -> np.ndarray:
    """sRGB from 0 to 1 as linear light (IEC 61966-2-1)."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def to_srgb(light: np.ndarray) -> np.ndarray:
    """Linear light from 0 to 1 as sRGB (IEC 61966-2-1)."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def repeated(color: tuple[float, ...], count: int) -> np.ndarray:
    """One color for `count` rows."""
    return np.tile(np.array(color, np.float32), (count, 1))
