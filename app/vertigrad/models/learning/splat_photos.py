"""`SplatPhotos`: Gaussian splats trained on photos with known cameras while they are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import numpy as np

from ... import ops
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..base import Comparison, DiagnosticSpec, ModelCamera, OutputSpec, compare
from ..data import colmap, splat_file
from ..data.colmap import photos as photo_files
from ..data.splat_formats.values import FIRST_HARMONIC, HARMONICS
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..reference import splat_photos as reference
from ..stepping import FixedStep
from . import splat_photos_start as start
from .splat_photos_densify import UNBOUNDED, Rule
from .splat_photos_params import Params
from .splat_photos_raster import Image
from .splat_photos_trainer import PhotoTrainer

NEAR = 0.02  # relative to the extent of the cameras: what is nearer is not visible
ROOM = 1.5  # of memory that grows, over what is needed
LEAST_ROWS, LEAST_PAIRS = 1 << 10, 1 << 14
PAIRS_A_ROW = 6  # of a splat and a tile, that there is memory for at first
RESET_OPACITY = 0.01  # to which opacities are lowered
COMPARED = 32  # splats that are compared with the reference
SHAKEN = {"position": 0.0, "scale": 0.3, "rotation": 0.3, "opacity": 0.3, "color": 0.1, "harmonics": 0.1}
OUTPUTS = ("position", "scale", "rotation", "opacity", "color")


class SplatPhotos(NamedTensorsModel):
    """Gaussian splats trained on the photos of a sparse model of COLMAP (Kerbl, Kopanas, Leimkühler and Drettakis 2023,
    "3D Gaussian Splatting for Real-Time Radiance Field Rendering").

    A step renders the splats from one camera, and backpropagates the loss 0.8 L1 + 0.2 (1 − SSIM) to all of their
    parameters. Splats with large gradients are copied or divided, transparent ones removed; there are at most
    `max_count`. Every `test_interval`-th photo is held out: `psnr` and `ssim` are means over these, each as of when
    it was last drawn. Photos are undistorted. The scene is turned so that y points up, its points around the origin.
    """

    Params = Params
    divisible = False  # memory grows with the number of splats, which is read back
    saved = (*OUTPUTS, "image", "target", "loss", "psnr", "ssim", "scores")
    exports = splat_file.SUFFIXES
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "loss": DiagnosticSpec("loss before the last training step"),
        "psnr": DiagnosticSpec("mean PSNR of the held-out photos", "dB"),
        "ssim": DiagnosticSpec("mean SSIM of the held-out photos"),
        "count": DiagnosticSpec("number of splats"),
        "steps": DiagnosticSpec("number of training steps"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        model = colmap.read(params.file)
        rows, columns = photo_files.size(model, params.resolution)
        harmonics = HARMONICS[int(params.degree)]
        specs = splat_file.output_specs(params.max_count)
        if harmonics:
            specs["harmonics"] = OutputSpec(
                (params.max_count, harmonics), "f32", "spherical harmonics of degree 1 and above"
            )
        return specs | {
            "image": OutputSpec((rows, columns, 3), "f32", "splats rendered from the camera of a held-out photo"),
            "target": OutputSpec((rows, columns, 3), "f32", "the held-out photo"),
            "camera": OutputSpec((len(model.photos), 3), "f32", "camera positions"),
            "camera_rotation": OutputSpec((len(model.photos), 4), "f32", "rotations of a frustum along −z, x, y, z, w"),
            "camera_color": OutputSpec((len(model.photos), 3), "f32", "blue for training, orange for held-out photos"),
            "frustum": OutputSpec((5, 3), "f32", "corners of a camera's frustum along −z"),
            "frustum_index": OutputSpec((4, 3), "u32", "its triangles"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self._learning = FixedStep(max_steps=4, name="learning")
        self.clocks = (self._learning,)
        super().__init__(name, params, inputs, seed)

    def step(self, dt: float) -> None:
        params = self._params
        due = self._learning.due(dt, 1.0 / params.steps_per_second) if params.train else 0
        if due:
            self._train(self._trainer.step_count + due)
            self._score()
        self._draw()

    def diagnostics(self) -> dict[str, Tensor]:
        counts = {"count": self._trainer.count, "steps": self._trainer.step_count}
        measured = {name: ops.copy(self._tensors[name]) for name in ("loss", "psnr", "ssim")}
        return measured | {name: Tensor.full((), float(value)) for name, value in counts.items()}

    def reset(self) -> None:
        self._learning.remainder = 0.0
        with no_grad():
            for name in ("loss", "psnr", "ssim"):
                self._tensors[name].fill_(0.0)
            self._tensors["scores"].fill_(-1.0)
        self._trainer.begin(self._first)
        self._drawn_with = ()
        self._draw()

    def state(self) -> dict[str, Tensor]:
        return (
            super().state()
            | self._trainer.state
            | ({"harmonics": self._tensors["harmonics"]} if self._harmonics else {})
        )

    def scalar_state(self) -> dict[str, float]:
        return super().scalar_state() | {"taken": self._trainer.step_count, "count": self._trainer.count}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._trainer.step_count, self._trainer.count = int(scalars["taken"]), int(scalars["count"])
        self._drawn_with = ()

    def model_camera(self, output: str, row: int) -> ModelCamera | None:
        return start.camera(self._poses, row, self._image.rows) if output == "camera" else None

    def export(self, suffix: str) -> bytes:
        """A file of the splats, as the model `splats` and other programs read it; y points up."""
        names = (*OUTPUTS, *(["harmonics"] if self._harmonics else []))
        position, scale, rotation, opacity, color, *rest = (
            self._tensors[name].numpy()[: self._trainer.count] for name in names
        )
        harmonics = rest[0] if rest else splat_file.no_harmonics(len(position))
        splats = splat_file.Splats(position, scale, rotation, opacity, color, harmonics)
        return splat_file.packed(Path(f"splats{suffix}"), splats)

    def compare_with_reference(self) -> list[Comparison]:
        """The image of a held-out photo, and the gradient of a weighted sum of its pixels along random directions.

        Of some of the splats, a little other than they are, so that none is round and all gradients matter.
        """
        view, random, degree = self._shown_view(), np.random.default_rng(0), int(self._params.degree)
        rows = random.permutation(self._trainer.count)[:COMPARED]
        learned = {name: tensor.numpy()[rows] for name, tensor in self._trainer.learned.items()}
        learned = {name: array + random.normal(0.0, SHAKEN[name], array.shape) for name, array in learned.items()}
        learned = {name: array.astype(np.float32).astype(float) for name, array in learned.items()}
        weights = random.normal(size=self._tensors["image"].shape).astype(np.float32)
        fields = {"view": view, "degree": degree, "background": self._background}
        image, gradients = self._trainer.gradients(learned, weights, **fields)
        camera = self._poses.rows[view].astype(np.float32).astype(float)
        eye = reference.Eye(camera, *self._image, np.array(self._background))
        found = [compare("image", image, reference.image(learned, eye, degree), 1e-3)]
        directions = {name: random.normal(size=ours.shape) + np.sign(ours) for name, ours in gradients.items()}
        each = [{name: direction} for name, direction in directions.items()]
        slopes = reference.slopes(learned, each, eye, degree, weights.astype(float))
        for (name, direction), theirs in zip(directions.items(), slopes, strict=True):
            ours = np.array([float(np.sum(direction * gradients[name]))])
            found.append(compare(f"gradient by {name}", ours, np.array([theirs]), 1e-2))
        return found

    # building ---------------------------------------------------------------------------------------------------

    def _create(self, parts: Parts) -> None:
        params, model = self._params, colmap.read(self._params.file)
        loaded = photo_files.read(params.file, model, params.resolution)
        self._poses, points = start.placed(model, loaded.cameras)
        self._harmonics = HARMONICS[int(params.degree)]
        random = np.random.default_rng(self._seed)
        self._first = start.beginning(points, model.colors, params.max_count, self._harmonics, random)
        _, rows, columns, _ = loaded.pixels.shape
        self._image = Image(rows, columns, NEAR * self._poses.extent)
        self._create_tensors(parts, loaded.pixels)
        names = ("photos", "cameras", "target", "loss", "scores", "psnr", "ssim")
        self._photos = {name: self._tensors[name] for name in names}
        count = len(self._first["position"])
        self._trainer = self._new_trainer(self._rows_for(count), max(LEAST_PAIRS, PAIRS_A_ROW * count))
        parts.callback(lambda: self._trainer.close())
        self._drawn_with: tuple[object, ...] = ()

    def _create_tensors(self, parts: Parts, pixels: np.ndarray) -> None:
        views, rows, columns, _ = pixels.shape
        words = pixels.astype(np.uint32).reshape(views, -1, 3) @ np.array([1, 1 << 8, 1 << 16], np.uint32)
        parts.copied("photos", words)
        parts.copied("cameras", self._poses.rows.reshape(-1, 4))
        for name, spec in self.output_specs(self._params).items():
            if None not in spec.shape and not name.startswith(("camera", "frustum")):
                parts.zeros(name, *(size or 0 for size in spec.shape))
        for name in ("loss", "psnr", "ssim"):
            parts.zeros(name, 1)
        parts.zeros("scores", views, 2)
        parts.copied("camera", self._poses.positions)
        parts.copied("camera_rotation", start.frustum_rotations(self._poses.rows))
        self._colored = self._held_out()
        parts.copied("camera_color", start.camera_colors(views, self._colored))
        corners, index = start.frustum(self._poses.rows, columns, rows)
        parts.copied("frustum", corners)
        parts.copied("frustum_index", index)

    def _new_trainer(self, rows: int, pairs: int) -> PhotoTrainer:
        return PhotoTrainer(self.name, self._photos, self._image, rows, pairs, self._harmonics)

    def _rows_for(self, count: int) -> int:
        return min(max(LEAST_ROWS, int(ROOM * count)), max(self._params.max_count, count))

    # training ---------------------------------------------------------------------------------------------------

    def _train(self, last: int) -> None:
        """Take steps up to number `last`; those for whose pairs there was no memory are taken again."""
        while self._trainer.step_count < last:
            first = self._trainer.step_count
            until = min(last, self._next_change(first))
            self._trainer.forget_status()
            for step in range(first, until):
                self._trainer.train(self._view_of(step), self._rates(step), self._degree(step), self._background)
            pairs, complete = self._trainer.status()
            self._trainer.step_count = first + complete
            if complete < until - first:
                self._replace(self._trainer.rows, int(ROOM * pairs))
            else:
                self._change(until)

    def _next_change(self, step: int) -> int:
        """The next step after which splats are densified or opacities reset."""
        intervals = (self._params.densify_interval, self._params.opacity_reset_interval)
        return min(((step // interval + 1) * interval for interval in intervals if interval), default=step + 1000)

    def _change(self, step: int) -> None:
        """Densify and reset opacities, where that is due after so many steps."""
        params = self._params
        if step > params.densify_end:
            return
        if params.densify_interval and step > params.densify_start and step % params.densify_interval == 0:
            self._densify(step)
        reset = params.opacity_reset_interval
        if reset and step % reset == 0:
            self._trainer.reset_opacities(RESET_OPACITY)

    def _densify(self, step: int) -> None:
        params, extent = self._params, self._poses.extent
        reset = params.opacity_reset_interval
        largest = params.max_size * extent if reset and step > reset else UNBOUNDED
        size = params.densify_size * extent
        rule = Rule(params.densify_gradient, size, largest, params.min_opacity, self._seed, step)
        with ExitStack() as held:
            found = self._trainer.decide(rule, self._most(), held)
            if found.count > self._trainer.rows:
                self._replace(self._rows_for(found.count), self._trainer.pairs)
            if found.count:
                self._trainer.densify(found, rule)

    def _replace(self, rows: int, pairs: int) -> None:
        """Go on in more memory."""
        old, self._trainer = self._trainer, self._trainer.larger(rows, pairs)
        old.close()

    def _most(self) -> int:
        return max(self._params.max_count, len(self._first["position"]))

    def _rates(self, step: int) -> dict[str, float]:
        """The learning rates; that of positions falls exponentially."""
        params, names = self._params, ("scale", "rotation", "opacity", "color", "harmonics")
        rates = {name: getattr(params, f"{name}_learning_rate") for name in names}
        part = min(step / params.position_steps, 1.0)
        begin, end = (max(rate, 1e-30) for rate in (params.position_learning_rate, params.position_learning_rate_end))
        return rates | {"position": self._poses.extent * begin ** (1.0 - part) * end**part}

    def _degree(self, step: int | None = None) -> int:
        """The degree of the harmonics that are used in a step."""
        step = self._trainer.step_count if step is None else step
        interval, most = self._params.degree_interval, int(self._params.degree)
        return min(step // interval, most) if interval else most

    def _held_out(self) -> list[int]:
        interval, views = self._params.test_interval, len(self._poses.rows)
        return list(range(0, views, interval)) if interval and min(interval, views) > 1 else []

    def _view_of(self, step: int) -> int:
        """The photo of a step: all that are not held out in turn, in another random order each time."""
        views = sorted(set(range(len(self._poses.rows))) - set(self._held_out()))
        order = np.random.default_rng((self._seed, step // len(views))).permutation(len(views))
        return views[order[step % len(views)]]

    def _shown_view(self) -> int:
        views = self._held_out() or list(range(len(self._poses.rows)))
        return views[min(self._params.test_view, len(views) - 1)]

    @property
    def _background(self) -> tuple[float, ...]:
        return tuple(self._params.background)

    # outputs ----------------------------------------------------------------------------------------------------

    def _score(self) -> None:
        """Measure one of the held-out photos, the next each time."""
        views = self._held_out()
        if views:
            view = views[self._trainer.step_count % len(views)]
            self._trainer.score(view, self._degree(), self._background)

    def _draw(self) -> None:
        """The outputs, if something of them is another now."""
        view = self._shown_view()
        drawn = self._trainer.step_count, view, self._background, self._params.test_interval
        if drawn == self._drawn_with:
            return
        self._drawn_with = drawn
        with no_grad():
            ops.assign(self._tensors["image"], self._trainer.draw(view, self._degree(), self._background))
            self._show_splats()
            if self._held_out() != self._colored:
                self._colored = self._held_out()
                self._tensors["camera_color"][...] = start.camera_colors(len(self._poses.rows), self._colored)

    def _show_splats(self) -> None:
        """What is trained as outputs; rows that are no splats have an opacity of 0."""
        tensors, learned, count = self._tensors, self._trainer.learned, self._trainer.count
        with ExitStack() as held:

            def rows(of: Mapping[str, Tensor], name: str) -> Tensor:
                return held.enter_context(of[name][:count])

            for name in ("position", "rotation", *(["harmonics"] if self._harmonics else [])):
                ops.assign(rows(tensors, name), rows(learned, name))
            ops.exp(rows(learned, "scale"), out=rows(tensors, "scale"))
            ops.assign(rows(tensors, "color"), rows(learned, "color") * FIRST_HARMONIC + 0.5)
            tensors["opacity"].fill_(0.0)
            ops.sigmoid(rows(learned, "opacity"), out=rows(tensors, "opacity"))
