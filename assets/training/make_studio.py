"""Makes assets/data/studio.hdr: the light of a photographer's studio, from formulas alone.

python assets/training/make_studio.py

Two soft boxes, a strip light and a window in a dim room with a floor: radiance in directions, equirectangular, as RGBE.
"""

from pathlib import Path

import numpy as np

ROWS, COLUMNS = 128, 256
BOXES = (  # azimuth and elevation of the middle [degrees], half width and height, color, softness of the edge
    ((-62, 38), (26, 17), (13.0, 12.2, 11.0), 0.12),
    ((70, 22), (12, 26), (5.2, 6.2, 8.0), 0.15),
    ((176, 30), (40, 5), (9.0, 8.6, 8.2), 0.2),
    ((8, 82), (20, 20), (3.6, 3.6, 3.7), 0.4),
)


def directions():
    """Unit vectors of all pixels: the middle is -z, to the right of it +x."""
    v, u = np.meshgrid((np.arange(ROWS) + 0.5) / ROWS, (np.arange(COLUMNS) + 0.5) / COLUMNS, indexing="ij")
    polar, around = np.pi * v, 2.0 * np.pi * (u - 0.5)
    return np.stack([np.sin(polar) * np.sin(around), np.cos(polar), -np.sin(polar) * np.cos(around)], axis=-1)


def box(way, middle, half, softness):
    """How much of a box a direction sees: on the plane that touches the sphere in its middle."""
    azimuth, elevation = np.radians(middle)
    ahead = np.array([np.cos(elevation) * np.sin(azimuth), np.sin(elevation), -np.cos(elevation) * np.cos(azimuth)])
    right = np.array([np.cos(azimuth), 0.0, np.sin(azimuth)])
    up = np.cross(right, ahead)
    depth = np.maximum(way @ ahead, 1e-3)
    inside = np.stack([np.abs(way @ right), np.abs(way @ up)], axis=-1) / depth[..., None] / np.tan(np.radians(half))
    edge = np.clip((1.0 - inside) / softness + 0.5, 0.0, 1.0)
    edge = edge * edge * (3.0 - 2.0 * edge)
    return np.where(way @ ahead > 0.05, edge.prod(axis=-1), 0.0)


def rgbe(light):
    """Mantissas and a shared exponent (Ward 1991), run-length encoded by row and component."""
    largest = light.max(axis=-1)
    exponent = np.ceil(np.log2(np.maximum(largest, 1e-30)))
    stored = np.empty((*largest.shape, 4), np.uint8)
    stored[..., :3] = np.clip(light * (256.0 / 2.0**exponent)[..., None], 0, 255)
    stored[..., 3] = np.clip(exponent + 128, 1, 255)
    body = bytearray()
    for row in stored:
        body += bytes((2, 2, COLUMNS >> 8, COLUMNS & 255))
        for component in row.T:
            at = 0
            while at < COLUMNS:
                run = 1
                while at + run < COLUMNS and run < 127 and component[at + run] == component[at]:
                    run += 1
                body += bytes((128 + run, component[at])) if run > 2 else bytes((1, component[at]))
                at += run if run > 2 else 1
    header = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {ROWS} +X {COLUMNS}\n"
    return header.encode() + bytes(body)


def main():
    way = directions()
    height = way[..., 1:2]
    wall = 0.16 + 0.12 * np.clip(height, 0, 1)
    floor = np.array([0.17, 0.155, 0.14]) * (1.0 + 0.8 * np.clip(-height, 0, 1))
    part = np.clip(0.5 + height / 0.08, 0, 1)
    light = part * wall * np.array([0.92, 0.97, 1.06]) + (1 - part) * floor
    for middle, half, color, softness in BOXES:
        light = light + box(way, middle, half, softness)[..., None] * np.array(color)
    path = Path(__file__).parent.parent / "data" / "studio.hdr"
    path.write_bytes(rgbe(light))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
