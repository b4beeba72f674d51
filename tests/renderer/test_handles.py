"""Handles are depth tested: opaque where nothing is in front of them, faint where occluded."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.handles import Handles
from vertigrad.renderer.quality import level_of

from .conftest import PLAIN, read

SIZE = (160, 120)
TINTS = (1.0, 0.2, 0.2), (0.2, 1.0, 0.2), (0.2, 0.2, 1.0)
RED = np.array([255, 51, 51])
FAINT = 0.3


def laid_out(camera, position, length=1.0, lit=None):
    """Handles at a position, with arrows of a length in world units."""
    points = np.column_stack([np.array(position) + np.vstack([np.zeros(3), length * np.eye(3)]), np.ones(4)])
    clip = points @ (camera.projection(SIZE[0] / SIZE[1]) @ camera.view()).T
    x, y, z = (clip[:, :3] / clip[:, 3:]).T
    ends = np.column_stack([(x + 1) / 2 * SIZE[0], (1 - y) / 2 * SIZE[1], z])
    return Handles(ends, TINTS, lit, 1.0, float(np.hypot(*(ends[1:, :2] - ends[0, :2]).T).max()))


@pytest.fixture
def drawn(gpu, layer):
    """An image of a ball of radius 0.5, with or without handles."""
    ball = layer("points", {"roughness": 1.0}, position=np.zeros((1, 3), np.float32), size=0.5, color=(0.5, 0.5, 0.5))

    def draw(camera, handles=None, format="rgba8unorm", quality="high", layers=(ball,)):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*SIZE, 1), format=format, usage=usage)
        Renderer(gpu, format).draw(
            list(layers), camera, View(**PLAIN), texture.create_view(), SIZE, level=level_of(quality), handles=handles
        )
        return read(gpu, texture)[..., :3].astype(float)

    return draw


def on_arrow(handles, axis, share):
    """The pixel at a fraction of the distance to a tip."""
    x, y = handles.ends[0, :2] + share * (handles.ends[axis + 1, :2] - handles.ends[0, :2])
    return round(float(y) - 0.5), round(float(x) - 0.5)


@pytest.mark.parametrize("orthographic", [False, True])
def test_handles_inside_the_ball_are_faint(drawn, orthographic):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.0, 0.0, 40.0, "y", orthographic)
    handles = laid_out(camera, (0.0, 0.0, 0.0))
    bare, shown = drawn(camera), drawn(camera, handles)
    inside, outside = on_arrow(handles, 0, 0.35), on_arrow(handles, 0, 0.75)
    assert shown[outside] == pytest.approx(RED, abs=3), "plain outside"
    assert shown[inside] == pytest.approx(bare[inside] + FAINT * (RED - bare[inside]), abs=4), "faint inside"
    middle = on_arrow(handles, 0, 0.0)
    before = laid_out(camera, (0.0, 0.0, 0.6))
    assert drawn(camera, before)[middle] == pytest.approx(0.82 * 255, abs=3), "in front of the ball"
    assert drawn(camera, before)[on_arrow(before, 0, 0.35)] == pytest.approx(RED, abs=3)
    behind = drawn(camera, laid_out(camera, (0.0, 0.0, -0.8)))
    assert behind[middle] == pytest.approx(bare[middle] + FAINT * (0.82 * 255 - bare[middle]), abs=4)


def test_an_arrow_emerges_from_the_ball_toward_the_eye(drawn):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.35, 0.0, 40.0)
    handles = laid_out(camera, (0.0, 0.0, 0.0), 1.2)
    bare, shown = drawn(camera), drawn(camera, handles)
    blue = np.array([51, 51, 255])
    assert shown[on_arrow(handles, 2, 0.6)] == pytest.approx(blue, abs=3), "its tip is nearer than the ball"
    assert bare[on_arrow(handles, 2, 0.6)].max() > 20, "which is behind it there"


@pytest.mark.parametrize(("z", "share"), [(0.0, 0.5 * FAINT), (0.6, 0.5)])
def test_planes_are_depth_tested_too(drawn, z, share):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.0, 0.0, 40.0)
    handles = laid_out(camera, (0.0, 0.0, z), 0.8)
    bare, shown = drawn(camera), drawn(camera, handles)
    x, y = handles.ends[0, :2] + 0.38 * (handles.ends[1, :2] + handles.ends[2, :2] - 2.0 * handles.ends[0, :2])
    at = round(float(y) - 0.5), round(float(x) - 0.5)
    assert shown[at] == pytest.approx(bare[at] + share * (255 * np.array(TINTS[2]) - bare[at]), abs=4)


def test_handles_that_are_not_occluded_are_opaque(drawn):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.5, 0.4, 40.0)
    handles = laid_out(camera, (0.0, 0.0, 0.0))
    shown = drawn(camera, handles, layers=())
    for axis in range(3):
        assert shown[on_arrow(handles, axis, 0.5)] == pytest.approx(255 * np.array(TINTS[axis]), abs=3)


def test_images_of_other_quality_levels_and_formats_are_the_same(drawn):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.0, 0.0, 40.0)
    handles = laid_out(camera, (0.0, 0.0, 0.0))
    fine, coarse = drawn(camera, handles), drawn(camera, handles, quality="low")
    for share in (0.3, 0.75):
        assert coarse[on_arrow(handles, 0, share)] == pytest.approx(fine[on_arrow(handles, 0, share)], abs=12)
    encoded = drawn(camera, handles, "rgba8unorm-srgb")
    assert encoded[on_arrow(handles, 0, 0.75)] == pytest.approx(RED, abs=4)


def test_the_handle_under_the_mouse_is_highlighted_and_nothing_else_changes(drawn):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.5, 0.4, 40.0)
    plain = drawn(camera, laid_out(camera, (0.0, 0.0, 0.0)), layers=())
    for part, position in ((0, (0, 0.6)), (1, (1, 0.6)), (6, (0, 0.0))):
        handles = laid_out(camera, (0.0, 0.0, 0.0), lit=part)
        shown = drawn(camera, handles, layers=())
        assert shown[on_arrow(handles, *position)].sum() > plain[on_arrow(handles, *position)].sum() + 60
        others = [axis for axis in range(3) if axis != part]
        for axis in others:
            assert (shown[on_arrow(handles, axis, 0.8)] == plain[on_arrow(handles, axis, 0.8)]).all()


def test_a_highlighted_handle_is_more_opaque_where_occluded(drawn):
    camera = OrbitCamera((0.0, 0.0, 0.0), 4.0, 0.0, 0.0, 40.0)
    bare = drawn(camera)
    for axis, lit in ((0, 0), (1, 0)):
        handles = laid_out(camera, (0.0, 0.0, 0.0), lit=lit)
        inside = on_arrow(handles, axis, 0.35)
        changed = np.abs(drawn(camera, handles)[inside] - bare[inside]).max()
        faint = np.abs(drawn(camera, handles._replace(lit=None))[inside] - bare[inside]).max()
        assert changed > 1.3 * faint if axis == lit else changed == faint
