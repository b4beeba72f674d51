"""How many steps a second splats are trained on photos, and whether gradients are those of the formulas.

    python tests/bench/splat_training.py --splats 1000000 --size 1600x1060 [--json FILE]

The scene is that of `splats_frame.py`; its photos are rendered from it, then colors and opacities are disturbed. A step
is a forward and a backward pass of one view, the loss with SSIM, and Adam on all 59 parameters of each splat.
"""

from __future__ import annotations

import argparse
import json
import runpy
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import vertigrad
from vertigrad.gpu import Gpu
from vertigrad.models.learning.splat_photos_raster import Image
from vertigrad.models.learning.splat_photos_trainer import PhotoTrainer
from vertigrad.models.parts import Parts
from vertigrad.models.reference import splat_photos as reference
from vertigrad.tensor import u32

room = runpy.run_path(str(Path(__file__).with_name("splats_frame.py")))["room"]  # in no package
VIEWS, DEGREE, BLACK = 8, 3, (0.0, 0.0, 0.0)
RATES = {"position": 1.6e-4, "scale": 5e-3, "rotation": 1e-3, "opacity": 5e-2, "color": 2.5e-3, "harmonics": 1.25e-4}
Arrays = dict[str, np.ndarray]


def learned(count: int, seed: int = 1) -> Arrays:
    """The splats of the room as they are trained."""
    arrays = room(count, seed=seed)
    opacity = np.clip(arrays["opacity"], 0.01, 0.99)
    return {
        "position": arrays["position"],
        "scale": np.log(arrays["scale"]),
        "rotation": arrays["rotation"],
        "opacity": np.log(opacity / (1.0 - opacity)),
        "color": (arrays["color"] - 0.5) / np.float32(reference.FIRST_HARMONIC),
        "harmonics": arrays["harmonics"],
    }


def cameras(size: tuple[int, int]) -> np.ndarray:
    """Within the room, looking across it from eight sides, (views, 4, 4)."""
    width, height = size
    rows = np.zeros((VIEWS, 4, 4))
    for number, angle in enumerate(2.0 * np.pi * np.arange(VIEWS) / VIEWS):
        forward = np.array([np.cos(angle), 0.1, np.sin(angle)]) / np.hypot(1.0, 0.1)
        right = np.cross([0.0, 1.0, 0.0], forward)
        right /= np.linalg.norm(right)
        rows[number, :3, :3] = right, np.cross(forward, right), forward
        rows[number, 2, 3] = 2.5
        rows[number, 3] = 0.87 * height, 0.87 * height, 0.5 * width, 0.5 * height
    return rows


class Training:
    """A trainer of the splats `start` whose photos are those of `truth`."""

    def __init__(self, truth: Arrays, start: Arrays, size: tuple[int, int]):
        width, height = size
        self._held = ExitStack()
        parts = self._held.enter_context(Parts("bench"))
        self.image = Image(height, width, 0.05)
        photos = {"photos": parts.zeros("photos", VIEWS, width * height, dtype=u32)}
        photos |= {
            "cameras": parts.copied("cameras", cameras(size).reshape(-1, 4)),
            "scores": parts.zeros("s", VIEWS, 2),
        }
        photos |= {"target": parts.zeros("target", height, width, 3)}
        photos |= {name: parts.zeros(name, 1) for name in ("loss", "psnr", "ssim")}
        count = len(truth["position"])
        self.loss = photos["loss"]
        self.trainer = PhotoTrainer("bench", photos, self.image, count, max(8 * count, 1 << 16), 45)
        self.trainer.begin(truth)
        self._enlarge()
        self.trainer.begin(truth)
        words = []
        for view in range(VIEWS):
            pixels = np.clip(self.trainer.draw(view, DEGREE, BLACK).numpy(), 0.0, 1.0)
            bytes_ = np.round(255.0 * pixels).astype(np.uint32).reshape(-1, 3)
            words.append(bytes_ @ np.array([1, 1 << 8, 1 << 16], np.uint32))
        photos["photos"][...] = np.stack(words)
        self.trainer.begin(start)

    def step(self, number: int) -> None:
        self.trainer.train(number % VIEWS, RATES, DEGREE, BLACK)

    def pairs(self) -> int:
        """The most pairs of a view."""
        self.trainer.forget_status()
        for view in range(VIEWS):
            self.step(view)
        return self.trainer.status()[0]

    def close(self) -> None:
        self.trainer.close()
        self._held.close()

    def _enlarge(self) -> None:
        """More memory until all pairs have room."""
        while (pairs := self.pairs()) > self.trainer.pairs:
            old, self.trainer = self.trainer, self.trainer.larger(self.trainer.rows, pairs + pairs // 4)
            old.close()


def seconds(gpu: Gpu, work: Any, times: int) -> float:
    """Of one call, the GPU idle before and after; the fastest of three rounds."""
    found = []
    for _ in range(3):
        gpu.sync()
        begin = time.perf_counter()
        for number in range(times):
            work(number)
            gpu.submit()
        gpu.sync()
        found.append((time.perf_counter() - begin) / times)
    return min(found)


def measured(gpu: Gpu, count: int, size: tuple[int, int], steps: int) -> dict[str, Any]:
    truth, random = learned(count), np.random.default_rng(5)
    start = dict(truth)
    for name in ("color", "opacity"):
        start[name] = truth[name] + random.normal(0.0, 0.3, truth[name].shape).astype(np.float32)
    training = Training(truth, start, size)
    pairs, trainer = training.pairs(), training.trainer
    first = float(training.loss.item())
    step = seconds(gpu, training.step, steps)
    draw = seconds(gpu, lambda number: trainer.draw(number % VIEWS, DEGREE, BLACK), steps)
    update = seconds(
        gpu, lambda _: [plan.replay(**trainer.optimizers[n].fields()) for n, plan in trainer._updates.items()], steps
    )
    last = float(training.loss.item())
    training.close()
    times = {"step_ms": 1e3 * step, "draw_ms": 1e3 * draw, "adam_ms": 1e3 * update, "steps_per_second": 1.0 / step}
    return {"splats": count, "pairs": pairs, **{k: round(v, 3) for k, v in times.items()}, "loss": [first, last]}


def compared(count: int = 60, size: tuple[int, int] = (48, 36)) -> dict[str, float]:
    """Relative differences from the formulas in float64: of an image, and of derivatives along random directions."""
    arrays = {name: array.astype(float) for name, array in learned(count).items()}
    arrays["scale"] += np.log(0.3)
    random = np.random.default_rng(2)
    weights = random.normal(size=(size[1], size[0], 3)).astype(np.float32)
    training = Training(*2 * [{name: array.astype(np.float32) for name, array in arrays.items()}], size)
    image, gradients = training.trainer.gradients(arrays, weights, view=1, degree=DEGREE, background=BLACK)
    eye = reference.Eye(cameras(size)[1].astype(np.float32).astype(float), *training.image, np.array(BLACK))
    expected = reference.image(arrays, eye, DEGREE)
    found = {"image": float(np.linalg.norm(image - expected) / np.linalg.norm(expected))}
    for name, ours in gradients.items():
        direction = random.normal(size=ours.shape) + np.sign(ours)
        (theirs,) = reference.slopes(arrays, [{name: direction}], eye, DEGREE, weights.astype(float))
        found[name] = abs(float(np.sum(direction * ours)) - theirs) / abs(theirs)
    training.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splats", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--size", default="1600x1060")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    gpu = vertigrad.gpu()
    differences = compared()
    print(f"{gpu.adapter.name}, {width} x {height}")
    print("relative difference from the formulas in float64:")
    print("  " + ", ".join(f"{name} {value:.1e}" for name, value in differences.items()))
    print(f"{'splats':>10} {'pairs':>11} {'step':>9} {'drawing':>9} {'Adam':>9} {'steps/s':>8}  loss")
    results: dict[str, Any] = {"gpu": gpu.adapter.name, "size": options.size, "differences": differences}
    for count in options.splats:
        found = results[str(count)] = measured(gpu, count, (width, height), options.steps)
        times = " ".join(f"{found[name]:6.2f} ms" for name in ("step_ms", "draw_ms", "adam_ms"))
        losses = " to ".join(f"{loss:.4f}" for loss in found["loss"])
        print(f"{count:>10,} {found['pairs']:>11,} {times} {found['steps_per_second']:>8.1f}  {losses}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
