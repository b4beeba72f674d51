"""Of an image that was dropped before it was submitted nothing stays behind: the next is as if it had never been."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.renderer import View
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.layers.tensor import FORM, TensorLayer
from vertigrad.tensor import Tensor

from ...session.test_unchanged import SLOW, value_of
from ..test_environment import written
from .kinds import KINDS, drawn
from .kinds import random as numbers
from .test_reused_light import AWAY, VIEW, Images, close

ALL = {"floor": "under", "axes": True, "color_bars": "all", "environment": "sky", "environment_backdrop": True}
BOX = {"low": (-1.3, -0.6, -0.9), "high": (0.8, 0.9, 1.4)}
PARTS = (
    4  # of the values of a style, which change one part after the other; last those for which a layer is bound again
)


def tensors_of(kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The style of a layer, and its tensors."""
    own, arrays = ({"draw": "bars"}, {"tensor": numbers(2, 6)}) if kind == "tensor" else drawn(kind)
    return own, {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}


def changes(one: Layer, part: int) -> dict[str, Any]:
    """Other values of a part of its style."""
    chance, bound_again = random.Random(part), {*one.drawing.rebuilds, *(FORM if isinstance(one, TensorLayer) else ())}
    specs = [spec for spec in one.style.specs() if spec.name not in SLOW | {"draw"}]
    rest = [spec for spec in specs if spec.name not in bound_again]
    chosen = rest[part :: PARTS - 1] if part < PARTS - 1 else [spec for spec in specs if spec.name in bound_again]
    found = {spec.name: BOX.get(spec.name) or value_of(spec, chance) for spec in chosen}
    return {name: not getattr(one.style, name) if isinstance(value, bool) else value for name, value in found.items()}


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", [*KINDS, "tensor"])
def test_what_was_recorded_for_a_dropped_image_is_recorded_again(gpu: Gpu, layer: Any, kind: str) -> None:
    """Next to a layer with the same values of which no image is dropped."""
    style, tensors = tensors_of(kind)
    with_drops, without = Images(gpu), Images(gpu)
    gpu.submit()
    one = layer(kind, style, **tensors)
    with_drops.record(with_drops.renderer, [one], view=View(**VIEW | ALL))
    gpu.abandon()
    other = layer(kind, style, **tensors)
    for part in range(PARTS):
        for _ in range(2):
            options: dict[str, Any] = {"view": View(**VIEW | ALL, sun_elevation=20.0 + 9.0 * part), "time": 1.0 + part}
            drawn_now = with_drops.draw(one, **options), without.draw(other, **options)
            np.testing.assert_array_equal(*drawn_now, err_msg=f"part {part}")
        values = changes(one, part)
        for each in (one, other):
            each.style.take(each.style.with_values(values))
        if "position" in tensors:
            tensors["position"][...] = tensors["position"].numpy() + 0.1
        view = View(**VIEW | ALL, sun_elevation=20.0 + 9.0 * (part + 1))
        with_drops.record(with_drops.renderer, [one], view=view, camera=AWAY, time=2.0 + part)
        gpu.abandon()
    other.close()
    close(one, tensors)


@pytest.mark.parametrize("environment", ["sky", "image"])
def test_maps_of_the_environment(gpu: Gpu, layer: Any, environment: str, tmp_path: Path) -> None:
    """They are computed again after a dropped image, the table that is computed once, too; images are read again."""
    file = tmp_path / "light.hdr"
    _, tensors = tensors_of("surface")
    one, images = layer("surface", {"roughness": 0.2}, **tensors), Images(gpu)
    for number, brightness in enumerate((1.0, 4.0, 0.2)):
        written(file, np.full((4, 8, 3), brightness) * (1.0, 0.5, 0.2))
        values: dict[str, Any] = {"environment_file": file, "environment_backdrop": True, "sun_elevation": 9.0 * number}
        rising = View(environment=environment, **values)
        images.record(images.renderer, [one], view=rising)
        gpu.abandon()
        images.check_drawn(one, view=rising)
    close(one, tensors)


def test_who_is_called_if_a_recording_is_dropped(gpu: Gpu) -> None:
    calls: list[str] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: calls.append(name)

    recorder = gpu.recorder
    with Tensor.zeros(4) as tensor:
        recorder.if_dropped(note("submitted"))
        gpu.submit()
        gpu.abandon()
        tensor.fill_(1.0)
        for name in ("first", "second"):
            recorder.if_dropped(note(name))
        gpu.abandon()
        gpu.abandon()
    assert calls == ["first", "second"]
