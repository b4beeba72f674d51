"""An image of which nothing has changed has the light of the one before; any change is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.annotations.overlay import ColorBar
from vertigrad.renderer.handles import Handles
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.lens import Sample
from vertigrad.renderer.quality import HIGH, LOW
from vertigrad.tensor import Tensor

from ..conftest import read
from .kinds import CAMERA, KINDS, SIZE, drawn

VIEW: dict[str, Any] = {"shadows": 0.5, "occlusion": 0.5}
FLOOR = VIEW | {"floor": "under"}  # whose box depends on where things were before
UNKNOWN = {"liquid"}  # depends on what was read back


class Images:
    """Images of one renderer, and for comparison of others that know nothing of the images before."""

    def __init__(self, gpu: Gpu):
        self._gpu, self.renderer = gpu, Renderer(gpu, "rgba8unorm")

    def draw(self, *layers: Layer, fresh: bool = False, **options: Any) -> np.ndarray:
        renderer = Renderer(self._gpu, "rgba8unorm") if fresh else self.renderer
        return read(self._gpu, self.record(renderer, layers, **options))

    def record(self, renderer: Renderer, layers: Sequence[Layer], **options: Any) -> wgpu.GPUTexture:
        values: dict[str, Any] = {"camera": CAMERA, "view": View(**VIEW), "size": SIZE} | options
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = self._gpu.device.create_texture(size=(*values["size"], 1), format="rgba8unorm", usage=usage)  # type: ignore[arg-type]
        renderer.draw(layers, target_view=texture.create_view(), **values)
        return texture

    @property
    def reused(self) -> bool:
        """Whether the last image that was not `fresh` had the light of the one before."""
        return self.renderer.reused

    def check_drawn(self, *layers: Layer, **options: Any) -> np.ndarray:
        """Something has changed: it is drawn, once. Returns the image."""
        changed = self.draw(*layers, **options)
        assert not self.reused
        np.testing.assert_array_equal(changed, self.draw(*layers, fresh=True, **options))
        np.testing.assert_array_equal(changed, self.draw(*layers, **options))
        return changed


@pytest.fixture
def images(gpu: Gpu) -> Images:
    return Images(gpu)


def bound(layer: Any, kind: str, **style: Any) -> tuple[Layer, dict[str, Tensor]]:
    own, arrays = drawn(kind)
    tensors = {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}
    return layer(kind, own | style, **tensors), tensors


def close(one: Layer, tensors: dict[str, Tensor]) -> None:
    one.close()
    for tensor in tensors.values():
        tensor.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_at_rest_is_drawn_once_and_again_when_a_tensor_is_written(
    layer: Any, images: Images, kind: str
) -> None:
    one, tensors = bound(layer, kind)
    images.check_drawn(one)
    assert images.reused is (kind not in UNKNOWN)
    for name, tensor in tensors.items():
        if name in ("index", "color_maps", "data_maps"):
            continue
        values = tensor.numpy()
        tensor[...] = values[::-1].copy() if name == "material" else (0.8 * values).astype(values.dtype)
        images.check_drawn(one)
    close(one, tensors)


AWAY = OrbitCamera.from_position((-1.2, 1.0, 3.0), (0, 0, 0), fov=45)
CHANGES: dict[str, dict[str, Any]] = {
    "the camera": {"camera": AWAY},
    "the sun": {"view": View(**VIEW | {"sun": 0.3})},
    "a floor": {"view": View(**FLOOR)},
    "axes": {"view": View(**VIEW | {"axes": True})},
    "the level": {"level": LOW},
    "the size": {"size": (40, 40)},
}


@pytest.mark.parametrize("options", CHANGES.values(), ids=list(CHANGES))
def test_what_else_an_image_shows_is_drawn_when_it_changes(layer: Any, images: Images, options: dict[str, Any]) -> None:
    one, tensors = bound(layer, "surface")
    for values in (options, {}, options):
        images.check_drawn(one, **values)
        assert images.reused
    close(one, tensors)


def test_styles_and_other_layers_are_drawn_when_they_change(layer: Any, images: Images) -> None:
    surface, tensors = bound(layer, "surface")
    points, of_points = bound(layer, "points")
    images.draw(surface)
    for name, value in (("roughness", 0.05), ("colormap", "magma"), ("range", (0.0, 2.0))):
        surface.style.change(name, value)
        images.check_drawn(surface)
    for layers in ((surface, points), (points,), (points, surface)):
        images.check_drawn(*layers)
    close(surface, tensors)
    close(points, of_points)


def test_time_moves_wings_and_nothing_else(layer: Any, images: Images) -> None:
    birds, of_birds = bound(layer, "birds", wing_amplitude=40.0)
    surface, of_surface = bound(layer, "surface")
    for number in range(3):
        images.draw(surface, time=float(number))
        assert images.reused is (number > 0)
    for number in range(3):
        images.check_drawn(birds, time=0.3 * number)
    close(birds, of_birds)
    close(surface, of_surface)


def test_what_other_code_may_write_is_drawn_in_each_image(layer: Any, images: Images) -> None:
    one, tensors = bound(layer, "surface")
    images.check_drawn(one)
    assert images.reused
    with tensors["position"].resource():
        for _ in range(2):
            images.draw(one)
            assert not images.reused
    images.draw(one)
    images.draw(one)
    assert images.reused
    close(one, tensors)


def test_an_image_of_a_dropped_frame_was_not_drawn(gpu: Gpu, layer: Any, images: Images) -> None:
    one, tensors = bound(layer, "surface")
    sky = View(environment="sky", environment_backdrop=True)
    for layers, view in (([one], View(**VIEW)), ([], sky)):
        images.draw(*layers, view=view)
        images.record(images.renderer, layers, camera=AWAY, view=view)
        gpu.abandon()
        images.check_drawn(*layers, camera=AWAY, view=view)
    close(one, tensors)


@pytest.mark.parametrize("level", [LOW, HIGH])
def test_text_over_it_and_post_processing_are_those_of_the_first_image(layer: Any, images: Images, level: Any) -> None:
    one, tensors = bound(layer, "surface")
    view = View(**FLOOR | {"axes": True, "bloom": 0.3, "edges": 0.5})
    images.check_drawn(one, view=view, level=level)
    assert images.reused
    close(one, tensors)


def test_all_is_drawn_after_shaders_have_changed(layer: Any, images: Images) -> None:
    one, tensors = bound(layer, "surface")
    images.check_drawn(one)
    assert images.reused
    images.renderer.compile()
    images.check_drawn(one)
    close(one, tensors)


def test_the_shadow_of_a_volume_at_rest_is_drawn_when_its_map_changes(layer: Any, images: Images) -> None:
    """Its own light does not depend on the sun: it emits all of it."""
    volume, of_volume = bound(layer, "volume", emissive=1.0, density_range=(0.0, 1.0))
    corners = np.float32([[[-3, -1, -3], [3, -1, -3]], [[-3, -1, 3], [3, -1, 3]]])
    floor = layer("surface", position=corners, color=(0.8, 0.8, 0.8))
    images.draw(volume, floor)
    drawn = [images.check_drawn(volume, floor, view=View(**VIEW | {"sun_azimuth": 40.0}))]
    for name, value in (("high", (1.5, 0.6, 1.0)), ("low", (-0.4, -0.5, -0.6)), ("shadow", 0.4), ("shadow", 0.0)):
        volume.style.change(name, value)
        drawn.append(images.check_drawn(volume, floor))
        assert images.reused
    assert all((one != other).any() for one, other in pairwise(drawn))
    close(volume, of_volume)
    floor.close()


@pytest.mark.parametrize("view", [VIEW, FLOOR | {"axes": True}], ids=["bar", "bar, floor and axes"])
def test_a_color_bar_is_over_the_light_which_does_not_depend_on_it(
    layer: Any, images: Images, view: dict[str, Any]
) -> None:
    one, tensors = bound(layer, "surface", range=(0.0, 1.0))
    options: dict[str, Any] = {"view": View(**view), "size": (320, 240)}
    before = images.draw(one, **options)
    for title in ("speed", "pressure"):
        one.colorbar = ColorBar(title=title)
        after = images.draw(one, **options)
        assert images.reused and (after != before).any()
        np.testing.assert_array_equal(after, images.draw(one, fresh=True, **options))
        before = after
    close(one, tensors)


def test_handles_need_the_depth_of_the_image(layer: Any, images: Images) -> None:
    one, tensors = bound(layer, "surface")
    images.check_drawn(one)
    ends = np.float32([[24, 18, 0.3], [40, 18, 0.3], [24, 4, 0.3], [12, 26, 0.3]])
    images.check_drawn(one, handles=Handles(ends, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), None, 1.0, 16.0))
    assert images.reused
    close(one, tensors)


def test_samples_are_drawn_each_for_itself(gpu: Gpu, layer: Any) -> None:
    """The light in the target is replaced by the mean of the samples, for the bloom."""
    one, tensors = bound(layer, "surface")
    drawn = []
    for written in (False, True):
        images = Images(gpu)
        for index in (0, 1, 1):
            if written:
                tensors["position"].block.note_write()
            sample = Sample(index, shown=True, moving=True)
            drawn.append(images.draw(one, view=View(**VIEW | {"bloom": 0.5}), sample=sample))
            assert not images.reused
    np.testing.assert_array_equal(drawn[:3], drawn[3:])
    close(one, tensors)
