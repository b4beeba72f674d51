"""`SplatFit`: Gaussian splats that are fitted to images of a mesh while they are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import learn, ops, params
from ...params import choice, color, file, integer, number
from ...params.color_space import linear
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..data import splat_file
from ..data.mesh_file import FORMATS, read
from ..data.placement import up_axis
from ..parts import Parts
from ..quantities import array_size
from ..reference import splat_fit as reference
from .splat_fit_densify import STARTS, beginning, record_densification
from .splat_fit_raster import Splats, decoded, drawn, encoded
from .splat_fit_views import Views
from .training_model import TrainingModel, learning_rate, steps_per_second, train_switch

ALIKE = 0.2  # weight of structural similarity in the loss, as in the paper
DENSIFIED = 2  # times `learning_rate_half_life`: until then splats are divided
SIZE, CREASE = 2.0, 40.0  # of the mesh: its longest edge, and which edges are not smoothed [degrees]


class Params(params.Params):
    """Mesh, cameras and training."""

    file: Path = file("assets/data/knot.ply", suffixes=FORMATS, rebuild=True, doc="mesh file")
    up: str = up_axis()
    light: tuple[float, float, float] = color("#f6e7cb", doc="color of the bands")
    dark: tuple[float, float, float] = color("#c8424f", doc="color between the bands")
    bands: float = number(9.0, min=0.0, max=64.0, doc="number of bands around the mesh")
    views: int = array_size(24, "number of cameras around the mesh", min=2, max=512)
    resolution: int = array_size(80, "pixels along each side of a training view", min=16, max=1024)
    count: int = integer(
        2000, min=1, max=1 << 20, slider_max=200_000, scale="log", rebuild=True, doc="number of splats"
    )
    start: str = choice(
        "box", STARTS, rebuild=True, doc="initial positions: in a box around the mesh, or on its surface"
    )
    test_view: int = integer(
        0, min=0, max=511, slider_max=31, doc="index of the view that is shown and not used for training"
    )
    position_learning_rate: float = learning_rate(4e-3, "positions")
    scale_learning_rate: float = learning_rate(2e-2, "log scales")
    rotation_learning_rate: float = learning_rate(2e-2, "rotations")
    opacity_learning_rate: float = learning_rate(5e-2, "opacity logits")
    color_learning_rate: float = learning_rate(5e-2, "color logits")
    learning_rate_half_life: int = integer(
        400,
        min=1,
        max=1_000_000,
        slider_max=10_000,
        scale="log",
        doc="steps after which the learning rates have halved",
    )
    densify_interval: int = integer(
        60,
        min=0,
        max=100_000,
        slider_max=1000,
        doc="steps between densifications: large splats are split, invisible ones reused; 0: never",
    )
    steps_per_second: float = steps_per_second(12.0)
    background: tuple[float, float, float] = color("#2b3544", doc="background of the shown image")
    train: bool = train_switch()


class SplatFit(TrainingModel):
    """Gaussian splats trained on views of a mesh (Kerbl, Kopanas, Leimkühler and Drettakis 2023, 3D Gaussian splatting
    for real-time radiance field rendering; without spherical harmonics and with a constant number of splats).

    A training step renders the splats from one camera over a random background, so that only opaque splats can match
    the mesh, and backpropagates the loss 0.8 L1 + 0.2 (1 − SSIM) to positions, scales, rotations, opacities and colors,
    each with its own learning rate. The layer draws the trained parameters with the same blending. The same seed gives
    the same bits on one GPU.
    """

    Params = Params
    saved = ("scale", "opacity", "color", "image", "target")
    _rendered_with: tuple[object, ...] = ()  # values that the images were rendered with
    _drawn_with: tuple[object, ...] = ()  # and the outputs
    exports = splat_file.SUFFIXES
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "loss": DiagnosticSpec("loss before the last training step"),
        "psnr": DiagnosticSpec("PSNR of the test view", "dB"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        count, side = params.count, params.resolution
        return {
            **splat_file.output_specs(count),
            "rotation": OutputSpec((count, 4), "f32", "quaternions x, y, z, w, not of unit length"),
            "image": OutputSpec((side, side, 3), "f32", "splats rendered in the test view"),
            "target": OutputSpec((side, side, 3), "f32", "mesh rendered in the test view"),
            "camera": OutputSpec((params.views, 3), "f32", "camera positions"),
        }

    def step(self, dt: float) -> None:
        params = self._params
        self._render_views()
        for _ in range(self._steps_due(dt)):
            self._backpropagate.replay(**self._view_fields(self._steps_taken))
            for name, optimizer in zip(self._learned, self._optimizers, strict=True):
                optimizer.lr = getattr(params, f"{name}_learning_rate")
                self._updates[name].replay(**optimizer.fields())
            if (
                params.densify_interval
                and self._steps_taken % params.densify_interval == 0
                and self._steps_taken <= DENSIFIED * params.learning_rate_half_life
            ):
                self._densify.replay(step=self._steps_taken)
        self._draw()

    def compare_with_reference(self) -> list[Comparison]:
        """The view that is not learned from, and gradients of a weighted sum of its pixels by all that is learned."""
        view, background = self._shown_view(), (0.25, 0.5, 0.75)
        leaves = Splats(*(tensor.detach() for tensor in self._splats()))
        for leaf in leaves:
            leaf.requires_grad = True
        shape = self._tensors["image"].shape
        weights = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        image = self._drawn(leaves, view=view, background=background)
        with Tensor.from_numpy(weights) as factors:
            image.backward(factors)
        arrays = [leaf.numpy().astype(float) for leaf in leaves]
        eye = reference.Eye(self._mesh_views.rows[view], *self._mesh_views.lens, np.array(background))
        found = [compare("image", image.numpy(), reference.image(arrays, eye), 1e-3)]
        for name, leaf, theirs in zip(Splats._fields, leaves, reference.gradients(weights, arrays, eye), strict=True):
            assert leaf.grad is not None
            found.append(compare(f"gradient by {name}", leaf.grad.numpy(), theirs, 1e-2))
            leaf.grad = None
        return found

    def reset(self) -> None:
        with no_grad():
            for name, array in self._first.items():
                self._learned[name][...] = array
        self._reset_training()
        self._drawn_with = ()
        self._render_views()
        self._draw()

    def state(self) -> dict[str, Tensor]:
        return super().state() | {f"learned.{name}": tensor for name, tensor in self._learned.items()}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._drawn_with = ()

    def export(self, suffix: str) -> bytes:
        """A file of the splats, as the model `splats` and other programs read it."""
        names = ("position", "scale", "rotation", "opacity", "color")
        position, scale, rotation, opacity, color = (self._tensors[name].numpy() for name in names)
        none = splat_file.no_harmonics(len(position))
        splats = splat_file.Splats(position, scale, rotation, opacity, color, none)
        return splat_file.packed(Path(f"splats{suffix}"), splats)

    def _create(self, parts: Parts) -> None:
        params = self._params
        mesh = read(params.file, SIZE, params.up, CREASE)
        random = np.random.default_rng(self._seed)
        self._first = beginning(params.start, params.count, mesh.positions, mesh.index, random)
        self._mesh_views = Views(mesh, params.views, params.resolution, parts)
        self._create_tensors(parts)
        self._record(parts)

    def _create_tensors(self, parts: Parts) -> None:
        side, count, rows = self._params.resolution, self._params.count, self._mesh_views.rows
        self._learned = {name: parts.copied(name, array) for name, array in self._first.items()}
        self._gradients = {name: parts.zeros(f"by {name}", *array.shape) for name, array in self._first.items()}
        self._target = parts.zeros("target", side, side, 3)
        self._create_statistics(parts, "loss", "psnr")
        shapes = {"scale": (count, 3), "opacity": (count,), "color": (count, 3)}
        shapes |= dict.fromkeys(("image", "target"), (side, side, 3))
        for name, shape in shapes.items():
            parts.zeros(name, *shape)
        parts.copied("camera", -np.einsum("nij,ni->nj", rows[..., :3], rows[..., 3]))

    def _record(self, parts: Parts) -> None:
        def schedule(step: int) -> float:
            return 0.5 ** (step / self._params.learning_rate_half_life)

        self._optimizers = [
            parts.enter_context(learn.Adam([tensor], epsilon=1e-15, schedule=schedule))
            for tensor in self._learned.values()
        ]
        self._backpropagate, self._densify, self._show = parts.plans("gradients", "divide", "show")
        self._updates = {name: parts.plan(f"move {name}") for name in self._learned}
        with self._backpropagate.recording():
            self._mesh_views.record_choice(self._backpropagate, self._target)
            loss = _loss(encoded(self._drawn(self._splats())), self._target)
            loss.backward()
            with no_grad():
                ops.assign(self._statistics["loss"], loss.detach())
                for name, tensor in self._learned.items():
                    assert tensor.grad is not None
                    ops.assign(self._gradients[name], tensor.grad)
                    tensor.grad = None
        for (name, plan), optimizer in zip(self._updates.items(), self._optimizers, strict=True):
            with plan.recording():
                self._learned[name].grad = self._gradients[name]
                optimizer.step()
        memory = [tensor for optimizer in self._optimizers for tensor in optimizer.state.values()]
        with self._densify.recording(), no_grad():
            record_densification(self._learned, memory, self._seed)
        with self._show.recording(), no_grad():
            self._record_show()

    def _record_show(self) -> None:
        tensors, learned = self._tensors, self._learned
        ops.exp(learned["scale"], out=tensors["scale"])
        ops.sigmoid(learned["opacity"], out=tensors["opacity"])
        ops.sigmoid(learned["color"], out=tensors["color"])
        self._mesh_views.record_choice(self._show, tensors["target"])
        image = encoded(self._drawn(self._splats()))
        ops.assign(tensors["image"], image)
        ops.multiply(
            ops.log(ops.square(image - tensors["target"]).mean()), -10.0 / math.log(10.0), out=self._statistics["psnr"]
        )

    def _splats(self) -> Splats:
        learned = self._learned
        light = decoded(ops.sigmoid(learned["color"]))
        return Splats(
            learned["position"], ops.exp(learned["scale"]), learned["rotation"], ops.sigmoid(learned["opacity"]), light
        )

    def _view_fields(self, step: int) -> dict[str, object]:
        """Which view a step learns from, and over which background: it follows from the step's number alone."""
        random = np.random.default_rng((self._seed, step))
        view = int(random.integers(self._params.views - 1))
        return {"view": view + (view >= self._shown_view()), "background": tuple(random.uniform(0.0, 1.0, 3))}

    def _shown_view(self) -> int:
        return min(self._params.test_view, self._params.views - 1)

    def _render_views(self) -> None:
        """The images that are learned from, if the mesh has other colors now."""
        params = self._params
        colors = params.bands, params.light, params.dark
        if colors != self._rendered_with:
            self._rendered_with, self._drawn_with = colors, ()
            self._mesh_views.record(params.bands, linear(params.light), linear(params.dark))

    def _draw(self) -> None:
        """The outputs, if something of them is another now."""
        shown = self._steps_taken, self._shown_view(), self._params.background
        if shown != self._drawn_with:
            self._drawn_with = shown
            self._show.replay(view=shown[1], background=linear(shown[2]))

    def _drawn(self, splats: Splats, **open_fields: Any) -> Tensor:
        return drawn(splats, self._mesh_views.cameras, self._mesh_views.lens, **open_fields)


def _loss(image: Tensor, target: Tensor) -> Tensor:
    """Kerbl et al. 2023, eq. 7."""
    planes = [tensor.permute(2, 0, 1)[None] for tensor in (image, target)]
    return learn.l1_loss(image, target) * (1.0 - ALIKE) + learn.ssim_loss(planes[0], planes[1]) * ALIKE
