"""`PhotoTrainer`: splats, their optimizers and the plans of a step, in memory for a number of rows and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ... import learn, ops
from ...gpu import Plan, Traffic
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..kernels import Kernels
from ..parts import Parts
from .splat_photos_densify import Densified, Rule, densified, rearrange
from .splat_photos_raster import Image, PhotoRaster

SHADER = "models/splat_photos_views.wgsl"
SSIM = 0.2  # weight of structural similarity in the loss, as in the paper
EPSILON = 1e-15  # of Adam, as in the reference implementation


class PhotoTrainer:
    """Trains `count` splats, for which there are `rows`, on photos.

    `photos` are tensors: `photos` (views, pixels) u32, and `cameras` as in shaders/models/splat_photos_project.wgsl;
    `target` (rows, columns, 3), `loss`, `scores`, `psnr` and `ssim` are written. It does not own them.
    """

    def __init__(self, name: str, photos: Mapping[str, Tensor], image: Image, rows: int, pairs: int, harmonics: int):
        self.rows, self.pairs, self.count = rows, pairs, 0
        self._name, self._photos, self._image, self._harmonics = name, photos, image, harmonics
        shapes = {"position": (3,), "scale": (3,), "rotation": (4,), "opacity": (), "color": (3,)}
        shapes |= {"harmonics": (harmonics,)} if harmonics else {}
        with Parts(name) as parts:
            self.learned = {key: parts.zeros(f"learned {key}", rows, *shape) for key, shape in shapes.items()}
            self._by = {key: parts.zeros(f"by {key}", rows, *shape) for key, shape in shapes.items()}
            self._moves = parts.zeros("moves", rows, 2)
            self.raster = PhotoRaster(parts, image, photos["cameras"], rows, pairs, harmonics)
            self.optimizers = {
                key: parts.enter_context(learn.Adam([tensor], epsilon=EPSILON)) for key, tensor in self.learned.items()
            }
            self._kernels = Kernels(SHADER, {**photos, "target_image": photos["target"]}, self._sizes())
            self._record(parts)
            self._parts = parts.pop_all()

    @property
    def state(self) -> dict[str, Tensor]:
        """What training changes."""
        return {f"learned.{name}": self.learned[name] for name in self.learned} | self._memory | {"moves": self._moves}

    @property
    def step_count(self) -> int:
        """How many steps were taken."""
        return self.optimizers["position"].step_count

    @step_count.setter
    def step_count(self, steps: int) -> None:
        for optimizer in self.optimizers.values():
            optimizer.step_count = steps

    def begin(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Begin again with these splats."""
        self.count = len(arrays["position"])
        with no_grad():
            for optimizer in self.optimizers.values():
                optimizer.reset()
            self._moves.fill_(0.0)
            for name, array in arrays.items():
                with self.learned[name][: self.count] as rows:
                    rows[...] = array

    def train(self, view: int, rates: Mapping[str, float], degree: int, background: tuple[float, ...]) -> None:
        """Take a step, unless there was no memory for the pairs of this view or of one since `forget_status`."""
        self._backpropagate.replay(view=view, count=self.count, degree=degree, background=background)
        for name, optimizer in self.optimizers.items():
            optimizer.lr = rates[name]
            self._updates[name].replay(**optimizer.fields())

    def forget_status(self) -> None:
        """Begin to count pairs and steps anew."""
        with no_grad():
            self.raster.status.fill_(0)

    def status(self) -> tuple[int, int]:
        """The most pairs of a view, and how many steps were complete. Waits for the GPU."""
        pairs, complete = self.raster.status.read_async(Traffic.DIAGNOSTICS).result()
        return int(pairs), int(complete)

    def draw(self, view: int, degree: int, background: tuple[float, ...]) -> Tensor:
        """The image of a view, and its photo as the `target`."""
        self._show.replay(view=view, count=self.count, degree=degree, background=background)
        return self.raster.image

    def score(self, view: int, degree: int, background: tuple[float, ...]) -> None:
        """Draw a view, and take it into the mean `psnr` and `ssim`."""
        self._score.replay(view=view, count=self.count, degree=degree, background=background)

    def gradients(
        self, learned: Mapping[str, np.ndarray], weights: np.ndarray, **fields: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The image of `learned`, rows of other splats, and the gradients of the sum of its pixels times `weights`.

        `fields` are view, degree and background. Waits for the GPU; training is not disturbed.
        """
        rows = {name: np.zeros(tensor.shape, np.float32) for name, tensor in self.learned.items()}
        with no_grad(), Parts(self._name) as parts:
            for name, array in learned.items():
                rows[name][: len(array)] = array
            tensors = {name: parts.copied(name, array) for name, array in rows.items()}
            gradient, moves = parts.copied("weights", weights), parts.zeros("moves", *self._moves.shape)
            fields["count"], background = len(learned["position"]), fields.pop("background")
            self.raster.draw(tensors, **fields, background=background)
            self.raster.backward(tensors, gradient, self._by, moves, **fields)
            found = {name: tensor.numpy()[: fields["count"]] for name, tensor in self._by.items()}
            return self.raster.image.numpy(), found

    def larger(self, rows: int, pairs: int) -> PhotoTrainer:
        """The same in more memory; close this one then."""
        other = PhotoTrainer(self._name, self._photos, self._image, rows, pairs, self._harmonics)
        with no_grad():
            for name, tensor in self.state.items():
                with other.state[name][: self.rows] as begin:
                    ops.assign(begin, tensor)
        other.count, other.step_count = self.count, self.step_count
        return other

    def decide(self, rule: Rule, most: int, held: ExitStack) -> Densified:
        """Which splats are copied, divided and removed. Waits for the GPU."""
        return densified(self.learned, self._moves, self.count, most, rule, held)

    def densify(self, found: Densified, rule: Rule) -> None:
        """Do it; there must be as many rows."""
        rearrange(found, self.learned, self.learned, self._memory, self._memory, rule)
        self.count = found.count
        self._moves.fill_(0.0)

    def reset_opacities(self, most: float) -> None:
        """Lower all opacities to `most` at least, and forget what the optimizer remembers of them."""
        with no_grad():
            logit = float(np.log(most / (1.0 - most)))
            ops.minimum(self.learned["opacity"], logit, out=self.learned["opacity"])
            for tensor in self.optimizers["opacity"].state.values():
                tensor.fill_(0.0)

    def close(self) -> None:
        """Free all memory. Idempotent."""
        self._parts.close()

    # inside -----------------------------------------------------------------------------------------------------

    @property
    def _memory(self) -> dict[str, Tensor]:
        states = [(name, optimizer.state.items()) for name, optimizer in self.optimizers.items()]
        return {f"{name}.{key}": tensor for name, state in states for key, tensor in state}

    def _sizes(self) -> dict[str, int]:
        return {"pixels": self._image.rows * self._image.columns, "views": len(self._photos["scores"])}

    def _record(self, parts: Parts) -> None:
        self._backpropagate, self._show, self._score = parts.plans("gradients", "show", "score")
        self._updates: dict[str, Plan] = {name: parts.plan(f"update {name}") for name in self.learned}
        image, photos = self.raster.image, self._photos
        self._record_target(self._backpropagate)
        with self._backpropagate.recording():
            self.raster.draw(self.learned)
            self.raster.judge()
            image.requires_grad = True
            loss = photo_loss(image, photos["target"])
            loss.backward()
            gradient, image.grad = image.grad, None
            image.requires_grad = False
            assert gradient is not None
            with no_grad():
                ops.assign(photos["loss"], loss.detach())
                self.raster.backward(self.learned, gradient, self._by, self._moves)
        for (name, plan), optimizer in zip(self._updates.items(), self.optimizers.values(), strict=True):
            with plan.recording():
                self.learned[name].grad = self._by[name]
                optimizer.step(factor=self.raster.factor)
            self.learned[name].requires_grad = False  # the gradients are computed without a graph
        for plan in (self._show, self._score):
            self._record_target(plan)
            with plan.recording(), no_grad():
                self.raster.draw(self.learned)
        with self._score.recording(), no_grad():
            found: dict[str, Any] = {"error": ops.square(image - photos["target"]).mean()}
            found["similarity"] = learn.ssim(planes(image), planes(photos["target"]))
        self._kernels.add(self._score, "score", 1, replayed=("view",), **found)

    def _record_target(self, plan: Plan) -> None:
        self._kernels.add(plan, "choose", self._sizes()["pixels"], "target_image", replayed=("view",))


def photo_loss(image: Tensor, target: Tensor) -> Tensor:
    """0.8 L1 + 0.2 (1 − SSIM) of images (rows, columns, 3) (Kerbl et al. 2023, eq. 7)."""
    return learn.l1_loss(image, target) * (1.0 - SSIM) + learn.ssim_loss(planes(image), planes(target)) * SSIM


def planes(image: Tensor) -> Tensor:
    """An image (rows, columns, 3) as (1, 3, rows, columns)."""
    return image.permute(2, 0, 1)[None]
