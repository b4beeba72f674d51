"""Temporal anti-aliasing: reprojected images while the camera moves, and their mean at rest."""

from dataclasses import replace

import numpy as np
import pytest
import wgpu

from vertigrad.renderer import OrbitCamera, Renderer, View, accumulation
from vertigrad.renderer.lens import Sample

from .conftest import PLAIN, read

SIZE = (96, 72)
CAMERA = OrbitCamera(distance=4.0, fov=35.0, yaw=0.3, pitch=0.4)
VIEW = View(**PLAIN, tone_map="none", sky=0.6, sun=1.0, anti_aliasing="taa")


@pytest.fixture
def balls(layer):
    positions = np.random.default_rng(5).uniform(-1, 1, (60, 3)).astype(np.float32)
    return layer("points", {"roughness": 0.2}, position=positions, size=0.12, color="#d0c0a0")


@pytest.fixture
def play(gpu):
    """Draw (layers, camera, sample) after each other with one renderer: the last image, float [height, width]."""

    def draw(frames, size=SIZE):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*size, 1), format="rgba8unorm", usage=usage)
        renderer = Renderer(gpu, "rgba8unorm")
        for layers, camera, sample in frames:
            renderer.draw(layers, camera, VIEW, texture.create_view(), size, sample=sample)
            gpu.submit()
        return read(gpu, texture)[..., 1].astype(float)

    return draw


def moving(index):
    return Sample(index, True, moving=True)


def along(step, count, last=CAMERA):
    """A camera that orbits by so many radians in each of its frames, and ends at `last`."""
    return [replace(last, yaw=last.yaw - step * (count - 1 - n)) for n in range(count)]


def smooth(play, layers, camera):
    return play([(layers, camera, Sample(n, True)) for n in range(32)])


def test_at_rest_it_is_the_mean_of_all_samples_whatever_was_before(play, balls):
    before = [([balls], camera, moving(n)) for n, camera in enumerate(along(0.1, 6))]
    rest = [([balls], CAMERA, Sample(n, True)) for n in range(32)]
    assert np.array_equal(play(before + rest), smooth(play, [balls], CAMERA))


@pytest.mark.turns(2)
@pytest.mark.parametrize(("step", "part"), [(0.0, 0.45), (0.001, 0.65), (0.004, 0.95), (0.05, 2.0)])
def test_a_slow_image_is_nearer_to_a_smooth_one_and_a_fast_one_has_no_trail(play, balls, step, part):
    """Mean differences from the smooth image, to those of an image of its own: small balls that the camera orbits."""
    exact, own = smooth(play, [balls], CAMERA), play([([balls], CAMERA, None)])
    found = play([([balls], camera, moving(n)) for n, camera in enumerate(along(step, 12))])
    assert np.abs(found - exact).mean() < part * np.abs(own - exact).mean()
    dark = exact < 2
    empty = np.logical_and.reduce([np.roll(dark, by, axis) for by in (-2, 2) for axis in (0, 1)]) & dark
    assert empty.sum() > 500 and found[empty].max() < 8


@pytest.mark.parametrize("is_split", [False, True])
def test_images_that_compute_writes_are_those_of_fragments(play, balls, layer, monkeypatch, is_split):
    colors = np.random.default_rng(6).uniform(0, 1, (8, 8, 3)).astype(np.float32)
    layers = [balls, *([layer("image", {"tone_map": "none"}, pixels=colors)] if is_split else [])]
    frames = [(layers, camera, moving(n)) for n, camera in enumerate(along(0.02, 5))]
    fragments = play(frames)
    monkeypatch.setattr(accumulation, "BY_FRAGMENTS", ())
    assert np.abs(play(frames) - fragments).max() <= 1.0 and fragments.std() > 10.0


def test_what_moves_by_itself_leaves_no_trail(play, layer):
    """A ball jumps, and where it was is dark in the first image after that."""
    one, other = (
        layer("points", {"emissive": 1.0}, position=np.float32([[x, 0, 0]]), size=0.4, color="#ffffff")
        for x in (-0.6, 0.6)
    )
    frames = [([one], CAMERA, moving(n)) for n in range(6)]
    assert play(frames).max() > 200
    after = play([*frames, ([other], CAMERA, moving(6))])
    alone = play([([other], CAMERA, None)])
    assert np.abs(after - alone).mean() < 3.0
    was = play(frames) > 100
    inside = was & (alone < 2)
    assert inside.sum() > 100 and after[inside].mean() < 5.0


def test_the_first_image_and_one_of_another_size_are_their_own(play, balls, gpu):
    first = play([([balls], CAMERA, moving(0))])
    again = play(
        [*[([balls], camera, moving(n)) for n, camera in enumerate(along(0.3, 4))], ([balls], CAMERA, moving(0))]
    )
    assert np.array_equal(first, again)


RNG = np.random.default_rng(5)
STARTS, SPEEDS = RNG.uniform(-1, 1, (300, 3)).astype(np.float32), RNG.normal(0, 1, (300, 3)).astype(np.float32)
COLORS = RNG.uniform(0, 1, (300, 3)).astype(np.float32)


def grid_of(x, y, z):
    return np.stack(np.broadcast_arrays(x, y, z), -1).astype(np.float32)


def checkers(rows, columns):
    """Light and dark squares of two vertices, [rows, columns, 3]."""
    dark = (np.arange(rows)[:, None] // 2 + np.arange(columns) // 2) % 2
    return grid_of(*[0.1 + 0.7 * dark] * 3)


def board(layer):
    x, z = np.meshgrid(np.linspace(-2, 2, 49), np.linspace(-2, 2, 49))
    return layer("surface", position=grid_of(x, -0.8, z), color=checkers(49, 49))


def a_ball_that_passes(layer, n):
    return layer("points", position=np.array([[0.06 * n - 0.5, 0, 0]], np.float32), size=0.35, color="#e08040")


def a_globe_that_turns(layer, n):
    down, around = np.meshgrid(np.linspace(0, np.pi, 24), np.linspace(0, 2 * np.pi, 48) + 0.1 * n, indexing="ij")
    globe = grid_of(np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around))
    return layer("surface", position=globe, normal=globe.copy(), color=checkers(24, 48))


def cubes_that_fly(layer, n):
    return layer("instances", {"shape": "cube"}, position=STARTS[:60] + 0.04 * n * SPEEDS[:60], size=0.2)


def particles(layer, n):
    return layer("points", position=STARTS + 0.04 * n * SPEEDS, size=0.05)


def sprites(layer, n):
    return layer("marks", {"shape": "sprite"}, position=STARTS[:150] + 0.04 * n * SPEEDS[:150], size=0.1)


def lines(layer, n):
    t, k = np.linspace(0, 6, 60), np.arange(12)[:, None]
    return layer("lines", position=grid_of(np.cos(t + k), (t / 3 - 1) * np.cos(0.1 * n + k), np.sin(t + k)), width=2.0)


def splats(layer, n):
    return layer(
        "splats", position=(0.15 * SPEEDS + [0.06 * n - 0.5, 0, 0]).astype(np.float32), scale=0.04, color=COLORS
    )


def a_cloud(layer, n):
    z, y, x = np.mgrid[-1:1:24j, -1:1:24j, -1:1:24j]
    density = np.exp(-20 * ((x + 0.5 - 0.06 * n) ** 2 + y**2 + z**2)).astype(np.float32)
    return layer("volume", {"low": (-1, -1, -1), "high": (1, 1, 1)}, density=density)


@pytest.mark.turns(2)
@pytest.mark.parametrize("over_a_board", [False, True])
@pytest.mark.parametrize(
    "drawn", [a_ball_that_passes, a_globe_that_turns, cubes_that_fly, particles, sprites, lines, splats, a_cloud]
)
def test_layers_that_move_are_about_as_smooth_as_without_it(play, layer, drawn, over_a_board):
    """Where an image changes, the last of ten differs from a smooth one about as much as an image of its own does."""
    behind = [board(layer)] if over_a_board else []
    *before, last = [[*behind, drawn(layer, n)] for n in range(10)]
    exact = smooth(play, last, CAMERA)
    own = play([(last, CAMERA, None)])
    found = play([(layers, CAMERA, moving(n)) for n, layers in enumerate([*before, last])])
    changed = np.abs(smooth(play, before[-3], CAMERA) - exact) > 10
    assert changed.sum() > 100
    assert np.abs(found - exact)[changed].mean() < 1.6 * np.abs(own - exact)[changed].mean() + 2.5


@pytest.mark.parametrize("drawn", [lines, splats])
def test_display_referred_colors_at_rest_are_smooth_while_others_move(play, layer, drawn):
    still = drawn(layer, 0)
    exact, own = smooth(play, [still], CAMERA), play([([still], CAMERA, None)])
    found = play([([still], CAMERA, moving(n)) for n in range(12)])
    assert np.abs(found - exact).mean() < 0.9 * np.abs(own - exact).mean()
