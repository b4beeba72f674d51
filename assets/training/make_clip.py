"""Make the clip that the scene `depth` looks at: balls that roll between blocks, seen from straight above.

    python assets/training/make_clip.py [--out FILE]

Needs NumPy and PyAV. Writes `assets/data/rolling.mp4`: 100 images of 256×144, 20 a second, whose last is followed by
the first; about a minute on one core. No other image is used.

The images are ray-cast here. Lengths are in units of which the floor shows 8 by 4.5; x is to the right in the
image, y is up in it, z is towards the camera. An image comes with the height of what each pixel shows, which is
what `train_depth.py` learns: seen from above, depth is the camera's height less that.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ASSETS = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 144, 256
FRAMES, RATE = 100, 20
VIEW, CAMERA = 8.0, 9.0  # width of the floor that is seen, height of the camera
SAMPLES = ((-0.25, -0.125), (0.125, -0.25), (0.25, 0.125), (-0.125, 0.25))  # of a pixel
FAR = np.float32(1e9)


@dataclass
class Ball:
    place: tuple[float, float]
    radius: float
    colors: tuple[np.ndarray, np.ndarray]  # in turns, in eight slices
    turned: np.ndarray = field(default_factory=lambda: np.eye(3))


@dataclass
class Block:
    place: tuple[float, float]
    half: tuple[float, float]
    height: float
    yaw: float
    color: np.ndarray


@dataclass
class World:
    balls: list[Ball]
    blocks: list[Block]
    floor: tuple[np.ndarray, np.ndarray]  # colors of its tiles
    tile: float
    floor_yaw: float
    sun: np.ndarray  # towards it, of length 1
    warmth: float = 0.0


def color(text: str) -> np.ndarray:
    """Linear light of "rrggbb"."""
    return np.array([int(text[i : i + 2], 16) / 255 for i in (0, 2, 4)]) ** 2.2


def spin(axis: int, angle: float) -> np.ndarray:
    """A rotation about a coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    turned = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turned[i, i], turned[i, j], turned[j, i], turned[j, j] = c, -s, s, c
    return turned


def image(world: World, rows: int = ROWS, columns: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns, 3) u8 as a screen shows it, and the heights (rows, columns) f32 of what is seen."""
    light, height = 0.0, 0.0
    for number, (right, down) in enumerate(SAMPLES):
        x = ((np.arange(columns) + 0.5 + right) / columns - 0.5) * VIEW
        y = -((np.arange(rows) + 0.5 + down) / rows - 0.5) * VIEW * rows / columns
        way = np.stack([*np.meshgrid(x, y), np.full((rows, columns), -CAMERA)], axis=-1).reshape(-1, 3)
        seen, high = _trace(world, way.astype(np.float32), number)
        light, height = light + seen / len(SAMPLES), height + high / len(SAMPLES)
    shown = np.clip(light, 0.0, 1.0) ** (1 / 2.2)
    return np.uint8(np.round(shown * 255)).reshape(rows, columns, 3), np.float32(height).reshape(rows, columns)


def _trace(world: World, way: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Light and height along rays from the camera. The sun is a disc: each sample looks at another point of it."""
    eye = np.array([0.0, 0.0, CAMERA], np.float32)
    distance = np.ones(len(way), np.float32)  # to the floor, by which the rays are scaled
    normal = np.tile(np.array([0.0, 0.0, 1.0], np.float32), (len(way), 1))
    ground = eye + way
    c, s = np.cos(world.floor_yaw), np.sin(world.floor_yaw)
    u, v = c * ground[:, 0] + s * ground[:, 1], c * ground[:, 1] - s * ground[:, 0]
    odd = (np.floor(u / world.tile) + np.floor(v / world.tile)) % 2 == 1
    albedo = np.where(odd[:, None], *world.floor).astype(np.float32)
    for ball in world.balls:
        center = np.array([*ball.place, ball.radius], np.float32)
        hit = _ball(eye, way, center, ball.radius)
        near = hit < distance
        out = (eye + hit[near, None] * way[near] - center) / ball.radius
        distance[near], normal[near], albedo[near] = hit[near], out, _slices(ball, out)
    for block in world.blocks:
        hit, sides = _block(eye, way, block)
        near = hit < distance
        distance[near], normal[near], albedo[near] = hit[near], sides[near], block.color
    point = eye + distance[:, None] * way
    angle = 2 * np.pi * (number + 0.5) / len(SAMPLES)
    sun = world.sun + 0.05 * np.array([np.cos(angle), np.sin(angle), 0.0])
    sun = np.float32(sun / np.linalg.norm(sun))
    direct = np.clip(normal @ sun, 0.0, None) * ~_shaded(world, point + 1e-3 * normal, sun)
    sky = (0.35 + 0.65 * (0.5 + 0.5 * normal[:, 2])) * _openness(world, point, normal)
    warm, cool = np.array([1.0, 0.93, 0.82]) + world.warmth * np.array([0.1, 0.0, -0.1]), np.array([0.75, 0.87, 1.0])
    return albedo * (0.95 * direct[:, None] * warm + 0.38 * sky[:, None] * cool), point[:, 2]


def _ball(start: np.ndarray, way: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
    """How far along each ray it meets the ball, `FAR` if it does not."""
    to = center - start
    a, b = (way * way).sum(-1), (way * to).sum(-1)
    under = b * b - a * ((to * to).sum(-1) - radius**2)
    with np.errstate(invalid="ignore"):
        hit = (b - np.sqrt(under)) / a
    return np.where((under > 0) & (hit > 0), hit, FAR)


def _block(start: np.ndarray, way: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """The same for a block, and its normals there."""
    turned = spin(2, block.yaw).astype(np.float32)
    middle = np.array([*block.place, block.height / 2], np.float32)
    half = np.array([*block.half, block.height / 2], np.float32)
    start, way = (start - middle) @ turned, way @ turned
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (-half - start) / way, (half - start) / way
    first = np.minimum(one, other)
    enter, leave = first.max(-1), np.maximum(one, other).min(-1)
    side = np.eye(3, dtype=np.float32)[first.argmax(-1)] * -np.sign(way)
    return np.where((enter < leave) & (enter > 0), enter, FAR), side @ turned.T


def _slices(ball: Ball, out: np.ndarray) -> np.ndarray:
    own = out @ ball.turned
    odd = (np.floor(np.arctan2(own[:, 1], own[:, 0]) * 4 / np.pi) % 2 == 1) & (np.abs(own[:, 2]) < 0.9)
    return np.where(odd[:, None], ball.colors[1], ball.colors[0])


def _shaded(world: World, point: np.ndarray, sun: np.ndarray) -> np.ndarray:
    way = np.broadcast_to(sun, point.shape)
    dark = np.zeros(len(point), bool)
    for ball in world.balls:
        dark |= _ball(point, way, np.array([*ball.place, ball.radius], np.float32), ball.radius) < FAR
    for block in world.blocks:
        dark |= _block(point, way, block)[0] < FAR
    return dark


def _openness(world: World, point: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """How much of the sky is seen, roughly: what balls and blocks (as balls) take of a hemisphere."""
    open_ = np.ones(len(point), np.float32)
    near = [(ball.place, ball.radius, ball.radius) for ball in world.balls]
    near += [(block.place, block.height / 2, 0.8 * min(*block.half, block.height)) for block in world.blocks]
    for place, high, radius in near:
        to = np.array([*place, high], np.float32) - point
        square = np.maximum((to * to).sum(-1), radius**2)
        facing = np.clip((normal * to).sum(-1) / np.sqrt(square), 0.0, 1.0)
        open_ *= 1 - np.where(square > 1.02 * radius**2, 0.9 * facing * radius**2 / square, 0.0)
    return open_


def ring(radius: float, count: int, turns: int, phase: float, slices: int, palette: list, t: float) -> list[Ball]:
    """Balls that roll along a circle, `turns` times around in the clip; so large that they end as they began."""
    balls = []
    for number in range(count):
        angle = phase + 2 * np.pi * (number / count + turns * t)
        rolled = slices * 2 * np.pi * turns * t
        turned = spin(2, angle) @ spin(0, -rolled) @ spin(1, 1.1 * number)
        place = radius * np.cos(angle), radius * np.sin(angle)
        balls.append(Ball(place, radius / slices, palette[number % len(palette)], turned))
    return balls


def moment(t: float) -> World:
    """The clip's world at `t`, from 0 to 1."""
    cream, ink = color("f6ecd8"), color("27405e")
    coral, teal, gold = color("f2694b"), color("1fa59a"), color("f4b63f")
    inner = ring(1.32, 4, 1, 0.4, 4, [(coral, cream), (gold, cream), (teal, cream), (ink, cream)], t)
    outer = ring(3.15, 6, -1, 0.2, 7, [(teal, cream), (coral, cream), (ink, gold)], t)
    blocks = [
        Block((0.0, 0.0), (0.42, 0.42), 1.15, 0.3 + np.pi / 2 * t, color("e9e2d4")),
        Block((2.25, 0.0), (0.3, 0.3), 0.8, -np.pi / 2 * t, gold),
        Block((-2.25, 0.0), (0.3, 0.3), 0.8, 0.6 - np.pi / 2 * t, coral),
        Block((1.3, 1.75), (0.42, 0.2), 0.35, 0.55 + np.pi * t, teal),
        Block((-1.3, -1.75), (0.42, 0.2), 0.35, 0.55 + np.pi * t, gold),
    ]
    sun = np.array([-0.62, 0.42, 0.66])
    return World(inner + outer, blocks, (color("cfd3d6"), color("9fb0bf")), 0.5, 0.0, sun / np.linalg.norm(sun))


def main() -> None:
    import av  # the renderer is useful without it

    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=ASSETS / "data" / "rolling.mp4")
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(out), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream(
            "libx264", rate=RATE, options={"crf": "20", "preset": "veryslow", "tune": "animation"}
        )
        stream.width, stream.height, stream.pix_fmt = COLUMNS, ROWS, "yuv420p"
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(image(moment(number / FRAMES))[0], format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
