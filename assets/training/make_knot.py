"""Makes assets/data/knot.ply: a ribbed tube along a trefoil knot, from formulas alone.

python assets/training/make_knot.py
"""

from pathlib import Path

import numpy as np

ALONG, AROUND = 256, 32  # vertices
RADIUS, RIBS, TWIST = 0.46, 6, 9  # of the tube; ribs around it, and how often they go round on the way


def knot(t):
    """The trefoil on a torus: places for the parameter t, 0 to 2 pi."""
    r = 2.0 + np.cos(3.0 * t)
    return np.stack([r * np.cos(2.0 * t), np.sin(3.0 * t) * 1.15, r * np.sin(2.0 * t)], axis=-1)


def frames(t):
    """Two directions across the curve, which do not turn about it more than they must."""
    ahead = knot(t + 1e-4) - knot(t - 1e-4)
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    across = np.cross(ahead[0], [0.0, 1.0, 0.0])
    first = []
    for way in ahead:
        across = across - way * (across @ way)
        across /= np.linalg.norm(across)
        first.append(across)
    first = np.array(first)
    second = np.cross(ahead, first)
    # What is left over when the curve closes is taken back evenly.
    gap = first[0] - ahead[0] * (first[0] @ ahead[0])
    angle = np.arctan2(first[-1] @ np.cross(ahead[0], gap), first[-1] @ gap)
    turn = -angle * t[:, None] / (2.0 * np.pi)
    return first * np.cos(turn) + second * np.sin(turn), second * np.cos(turn) - first * np.sin(turn)


def main():
    t = np.linspace(0.0, 2.0 * np.pi, ALONG, endpoint=False)
    u = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    one, two = frames(t)
    wave = RADIUS * (1.0 + 0.085 * np.cos(RIBS * u[None] + TWIST * t[:, None]))
    circle = np.cos(u)[None, :, None] * one[:, None] + np.sin(u)[None, :, None] * two[:, None]
    places = (knot(t)[:, None] + wave[..., None] * circle).reshape(-1, 3).astype("<f4")
    i, j = (grid.ravel() for grid in np.mgrid[:ALONG, :AROUND])
    at = lambda a, b: (a % ALONG) * AROUND + b % AROUND  # noqa: E731
    a, b, c, d = at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)
    triangles = np.concatenate([np.stack([a, c, b], -1), np.stack([b, c, d], -1)]).astype("<i4")
    rows = np.empty(len(triangles), [("count", "u1"), ("rows", "<i4", 3)])
    rows["count"], rows["rows"] = 3, triangles
    header = [
        *("ply", "format binary_little_endian 1.0", "comment made by make_knot.py"),
        *(f"element vertex {len(places)}", "property float x", "property float y", "property float z"),
        *(f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header"),
    ]
    path = Path(__file__).parents[1] / "data" / "knot.ply"
    path.write_bytes("\n".join(header).encode() + b"\n" + places.tobytes() + rows.tobytes())


if __name__ == "__main__":
    main()
