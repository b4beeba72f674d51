"""Depth of field: samples of a lens and of pixels, and their mean."""

import numpy as np
import pytest
import wgpu

from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.lens import Sample, focus_distance, sampled, still_samples

from .conftest import PLAIN, read

SIZE = (96, 96)
CAMERA = OrbitCamera(distance=5.0, fov=40.0)
LINEAR = {**PLAIN, "tone_map": "none", "samples": 48}


@pytest.fixture
def exposed(gpu):
    """Draw an image of several samples and read it back: linear light, float [height, width]."""

    def draw(layers, view, camera=CAMERA, samples=None, size=SIZE):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*size, 1), format="rgba8unorm", usage=usage)
        renderer = Renderer(gpu, "rgba8unorm")
        for sample in samples or still_samples(view):
            renderer.draw(layers, camera, view, texture.create_view(), size, sample=sample)
            gpu.submit()
        shown = read(gpu, texture)[..., 1] / 255.0
        return np.where(shown > 0.04045, ((shown + 0.055) / 1.055) ** 2.4, shown / 12.92)

    return draw


def moments(image):
    """Center in pixels from the middle, and the mean of the variances across and down."""
    y, x = np.indices(image.shape)
    weight = image / image.sum()
    center = (weight * x).sum() - (image.shape[1] - 1) / 2, (weight * y).sum() - (image.shape[0] - 1) / 2
    spread = (weight * (x - x.mean() - center[0]) ** 2).sum() + (weight * (y - y.mean() - center[1]) ** 2).sum()
    return np.array(center), spread / 2


@pytest.mark.parametrize("focus", ["target", (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("z", [2.5, -4.0])
def test_the_circle_of_confusion_is_that_of_a_thin_lens(layer, exposed, z, focus):
    """The variance of the image of a point is that of a disc of uniform light and of the sharp point together."""
    style = {"emissive": 1.0, "brightness": 1.0}
    point = layer("points", style, position=np.float32([[0.3, -0.2, z]]), size=0.12, color=(1.0, 1.0, 1.0))
    aperture, distance, in_focus = 0.1, 5.0 - z, 5.0 if focus == "target" else 4.0
    blurred = moments(exposed([point], View(**LINEAR, aperture=aperture, focus=focus)))
    sharp = moments(exposed([point], View(**LINEAR)))
    pixel = CAMERA.pixel(SIZE[1]) * in_focus  # at the distance in focus
    radius = 0.5 * aperture * in_focus * abs(distance - in_focus) / distance / pixel
    assert radius > 1.5
    assert 2 * np.sqrt(blurred[1] - sharp[1]) == pytest.approx(radius, rel=0.05)
    np.testing.assert_allclose(blurred[0], sharp[0], atol=0.04 * radius)


def test_what_is_in_focus_stays_where_it_is():
    view = View(aperture=0.4, focus=(0.5, 0.3, 1.2))
    camera = OrbitCamera((0.1, 0.2, 0.3), distance=4.0, yaw=0.7, pitch=0.4)
    away = focus_distance(view, camera)
    assert away == pytest.approx(-(camera.view() @ [0.5, 0.3, 1.2, 1.0])[2])
    in_focus, nearer = (np.linalg.inv(camera.view()) @ [0.2, -0.4, -z, 1.0] for z in (away, 0.5 * away))
    middle = on_image(camera, in_focus)
    for index in range(6):
        one = sampled(camera, view, Sample(index, True), 100)
        shift = 0.5 * np.array([one.lens.shift_x, one.lens.shift_y]) * 100
        assert np.abs(shift).max() <= 0.5  # pixels
        np.testing.assert_allclose(100 * on_image(one, in_focus), 100 * middle + shift, atol=1e-9)
        assert np.abs(on_image(one, nearer) - on_image(camera, nearer)).max() > 0.02
        assert 0.0 < np.hypot(*one.lens[:2]) < 0.2 * away


def on_image(camera, position):
    """In heights of the image from its middle, of an image twice as wide as high."""
    clip = camera.projection(2.0) @ camera.view() @ position
    return clip[:2] / clip[3] * [1.0, 0.5]


def test_an_orthographic_camera_has_no_depth_of_field():
    one = sampled(OrbitCamera(orthographic=True), View(aperture=1.0), Sample(3, True), 100)
    assert one.lens[:2] == (0.0, 0.0) != one.lens[3:]


def test_samples_of_pixels_converge_to_a_supersampled_image(layer, exposed, render):
    """Without an aperture the mean of samples is an image with smooth edges: nearer to one of 16 times the pixels."""
    rng = np.random.default_rng(5)
    balls = layer("points", position=rng.uniform(-1, 1, (40, 3)).astype(np.float32), size=0.1)
    view = View(**LINEAR)
    fine = exposed([balls], view, size=(384, 384)).reshape(96, 4, 96, 4).mean(axis=(1, 3))
    once, often = (exposed([balls], view, samples=[Sample(n, n == last) for n in range(last + 1)]) for last in (0, 31))
    assert once.mean() == pytest.approx(fine.mean(), rel=0.02)
    assert np.abs(often - fine).mean() < 0.4 * np.abs(once - fine).mean()


def test_colors_of_data_are_averaged_as_they_are_shown(layer, exposed):
    """They are in a texture of their own: the interior of an image of one value stays as it is."""
    values = np.full((8, 8), 0.5, np.float32)
    image = layer("image", {"range": (0.0, 1.0)}, pixels=values)
    once, often = (exposed([image], View(**PLAIN, aperture=a, samples=5)) for a in (0.0, 0.05))
    middle = np.s_[40:56, 40:56]
    np.testing.assert_allclose(often[middle], once[middle], atol=0.01)
    assert once[middle].min() > 0.02
