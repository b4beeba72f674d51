"""Make the picture that the scene `image_fit` learns: the head of a sunflower, seen from above.

    python assets/training/make_blossom.py [--out FILE]

Needs NumPy and Pillow. Writes `assets/data/blossom.png`, 256×256. No picture of anybody else's is used: florets lie on
Fermat's spiral at multiples of the golden angle (Vogel 1979, A better way to construct the sunflower head), and each
is a dome whose colour goes from dark brown in the middle to gold at the rim.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

ASSETS = Path(__file__).resolve().parent.parent
SIDE, FINER, FLORETS = 256, 3, 420
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))
RIM = 0.94  # radius of the head; half the picture is 1
# From the middle outwards, linear light.
COLORS = np.array([[0.10, 0.16, 0.07], [0.20, 0.09, 0.05], [0.55, 0.16, 0.03], [1.0, 0.52, 0.05], [1.0, 0.83, 0.36]])
GROUND = np.array([0.012, 0.02, 0.04])


def picture() -> np.ndarray:
    """The picture (rows, columns, 3), linear light."""
    side = SIDE * FINER
    axis = (np.arange(side) + 0.5) / side * 2.0 - 1.0
    x, y = np.meshgrid(axis, axis)
    number = np.arange(FLORETS)
    radius, turn = RIM * np.sqrt((number + 0.5) / FLORETS), number * GOLDEN
    places = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    nearest = np.full((side, side), np.inf)
    which = np.zeros((side, side), int)
    for index, (a, b) in enumerate(places):
        away = (x - a) ** 2 + (y - b) ** 2
        closer = away < nearest
        nearest[closer], which[closer] = away[closer], index
    size = 1.02 * RIM / np.sqrt(FLORETS) * (0.8 + 0.25 * radius[which] / RIM)
    dome = np.sqrt(np.clip(1.0 - nearest / size**2, 0.0, 1.0))
    shade = (0.25 + 0.75 * dome) * (dome > 0.0)
    at = radius[which] / RIM * (len(COLORS) - 1)
    colors = np.stack([np.interp(at, np.arange(len(COLORS)), COLORS[:, channel]) for channel in range(3)], axis=-1)
    return np.where(shade[..., None] > 0.0, colors * shade[..., None], GROUND)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ASSETS / "data" / "blossom.png")
    out: Path = parser.parse_args().out
    whole = picture().reshape(SIDE, FINER, SIDE, FINER, 3).mean(axis=(1, 3))
    stored = np.round(255.0 * np.clip(whole, 0.0, 1.0) ** (1.0 / 2.2)).astype(np.uint8)
    Image.fromarray(stored).save(out, optimize=True)


if __name__ == "__main__":
    main()
