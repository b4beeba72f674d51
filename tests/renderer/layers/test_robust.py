"""Layers with edge cases: no rows, one row, NaN, no area, and scenes of any extent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import LayoutError, LimitError, VertigradError
from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer, types
from vertigrad.renderer.moment import Moment
from vertigrad.renderer.target import create_view

from .kinds import CAMERA, KINDS, PLAIN, ROWS, drawn

UP = (0.0, 1.0, 0.0)
OF_ROWS = ("points", "liquid", "marks", "instances", "birds", "arrows", "lines", "trails", "splats")
OF_SAMPLES = {"slices": "values", "isosurface": "values", "volume": "density"}
OF_GRIDS = {**OF_SAMPLES, "image": "pixels", "streamlines": "vectors", "vectors": "vectors"}
STORED = ("liquid", "asset", "splats", *OF_GRIDS)  # whose shaders read everything from storage buffers
LENGTHS = {"size", "direction", "position", "mesh", "scale", "seeds"}  # attributes in world units
STYLED = {"streamlines": ("length", "width"), "vectors": ("scale",), "image": ("width",)}  # and values of styles
STYLED["liquid"] = ("absorption_distance",)


def settled(created: Layer) -> Layer:
    """Prepare an image at time 3: trails begin after some time."""
    for time in (1.0, 2.0):
        created.prepare(Moment(UP, UP, time))
    return created


def shown(shot: Any, created: Layer, **options: Any) -> np.ndarray:
    return shot(settled(created), time=3.0, **options).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_are_refused_by_name(layer: Any, kind: str) -> None:
    style, attributes = drawn(kind)
    main = OF_GRIDS.get(kind, "position")
    nothing = attributes[main][:0]
    with pytest.raises(LayoutError, match=rf"{main}.*\(0, [0-9, ]+\)"):
        layer(kind, style, **{**attributes, main: nothing})


@pytest.mark.parametrize("kind", [kind for kind in OF_ROWS if kind != "lines"])
def test_one_row_is_drawn(layer: Any, shot: Any, kind: str) -> None:
    style, attributes = drawn(kind)
    one = {name: values if name.startswith(("mesh", "index")) else values[1:2] for name, values in attributes.items()}
    one["position"] = np.zeros((1, 3), np.float32)
    assert (shown(shot, layer(kind, style, **one))[..., 3] > 0).sum() > 3  # a trail of a point at rest is a dot


def test_a_line_of_two_rows_and_a_grid_of_two_samples_are_drawn(layer: Any, shot: Any) -> None:
    line = layer("lines", position=np.float32([[-1, 0, 0], [1, 0.3, 0]]), width=4.0)
    assert (shown(shot, line)[..., 3] > 0).sum() > 20
    with pytest.raises(LayoutError, match="a line needs two rows"):
        layer("lines", position=np.zeros((1, 3), np.float32))
    cell = np.float32([[[0, 0], [0, 0]], [[0, 0], [0, 1]]])
    assert (shown(shot, layer("isosurface", {"level": 0.2}, values=cell))[..., 3] > 0).sum() > 20
    assert (shown(shot, layer("volume", {"extinction": 50.0}, density=cell))[..., 3] > 0).sum() > 20
    with pytest.raises(LayoutError, match="2 samples along each axis"):
        layer("volume", density=np.ones((1, 3, 3), np.float32))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", OF_ROWS)
def test_rows_without_a_finite_position_are_not_drawn(layer: Any, shot: Any, kind: str, value: float) -> None:
    style, attributes = drawn(kind)
    lost = np.arange(ROWS) % 5 == 2
    per_row = {n: v for n, v in attributes.items() if not n.startswith(("mesh", "index"))}
    others = {n: v for n, v in attributes.items() if n not in per_row}
    broken = per_row["position"].copy()
    broken[lost, np.arange(ROWS)[lost] % 3] = value
    got = shown(shot, layer(kind, style, **{**attributes, "position": broken}))
    if kind == "lines":  # the remaining rows are runs: each is a line
        row_groups = [np.flatnonzero(~lost)[i : i + 4] for i in range(2, ROWS - 8, 4)]
        runs = [
            layer(kind, {**style, "range": extent(per_row)}, **{n: v[k] for n, v in per_row.items()})
            for k in np.split(np.arange(ROWS), np.flatnonzero(lost))
            for k in [k[~lost[k]]]
            if len(k) > 1
        ]
        assert row_groups and runs
        expected = shot(*(settled(run) for run in runs), time=3.0).astype(int)
    else:
        sound = {n: v[~lost] for n, v in per_row.items()} | others
        style = {**style, "range": extent(per_row)} if "color" in per_row else style
        expected = shown(shot, layer(kind, style, **sound))
    assert expected[..., 3].max() > 0 or kind == "trails"
    assert np.array_equal(got, expected)


def extent(attributes: dict[str, np.ndarray]) -> tuple[float, float]:
    return float(attributes["color"].min()), float(attributes["color"].max())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_surface_omits_the_triangles_of_a_vertex_without_a_finite_position(
    layer: Any, shot: Any, value: float
) -> None:
    style, attributes = drawn("surface")
    broken = attributes["position"].copy()
    broken[3, 1] = value
    sound = [triangle for triangle in attributes["index"] if 3 not in triangle]
    got = shown(shot, layer("surface", style, **{**attributes, "position": broken}))
    expected = shown(shot, layer("surface", style, **{**attributes, "index": np.array(sound)}))
    assert expected[..., 3].max() > 0
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("kind", OF_SAMPLES)
def test_samples_that_are_nan_have_local_effects(layer: Any, shot: Any, kind: str) -> None:
    """A surface lacks the cells around them, in a volume these may be transparent or opaque: nothing else changes."""
    style, attributes = drawn(kind)
    style, main = {**style, "range": (0.0, 1.0)}, OF_SAMPLES[kind]
    if kind == "volume":
        style |= {"density_range": (0.0, 1.0), "shadow": 0.0}
    broken = attributes[main].copy()
    broken[3, 3, 4] = np.nan
    sound, got = (shown(shot, layer(kind, style, **{**attributes, main: v})) for v in (attributes[main], broken))
    changed = np.abs(sound - got).max(axis=-1) > 2
    assert changed.sum() < 0.5 * (sound[..., 3] > 0).sum()
    everything = np.full_like(broken, np.nan)
    assert shown(shot, layer(kind, style, **{**attributes, main: everything}))[..., 3].max() == 0


@pytest.mark.parametrize("kind", ["surface", "instances"])
def test_triangles_without_area_are_invisible(layer: Any, shot: Any, kind: str) -> None:
    style, attributes = drawn(kind)
    index = attributes["index"]
    flat = np.uint32([[0, 0, 0], [1, 1, 2], [2, 3, 2], [3, 0, 0]])
    expected = shown(shot, layer(kind, style, **attributes))
    more = {**attributes, "index": np.concatenate([flat, index, flat])}
    assert np.array_equal(shown(shot, layer(kind, style, **more)), expected)
    name = "position" if kind == "surface" else "mesh"
    at_one_position = {**attributes, name: np.tile(np.float32([[0.2, 0.1, 0.3]]), (4, 1))}
    assert shown(shot, layer(kind, style, **at_one_position))[..., 3].max() == 0


def scaled(kind: str, style: dict[str, Any], attributes: dict[str, Any], by: float) -> tuple[dict[str, Any], Any]:
    """The same scene, `by` times as large."""
    lengths = LENGTHS - ({"direction", "mesh"} if kind in ("instances", "birds") else set())
    larger = {n: (v * np.float32(by) if n in lengths else v) for n, v in attributes.items()}
    if kind == "asset":  # candela light the square of the distance
        larger["lights"] = attributes["lights"] * np.float32(
            [by, by, by, 1, 1, 1, 1, by, by**2, by**2, by**2, *[1] * 5]
        )
    defaults = types()[kind].Style()
    style = style | {name: by * style.get(name, getattr(defaults, name)) for name in STYLED.get(kind, ())}
    if "low" in vars(defaults):
        style = {**style, "low": (-by, -by, -by), "high": (by, by, by)}
    for name in ("extinction", "scattering"):
        if name in style:
            style[name] = style[name] / by
    return style, larger


@pytest.mark.parametrize("by", [1e-6, 1e-3, 1e4, 1e9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_of_any_extent_looks_the_same(layer: Any, shot: Any, kind: str, by: float) -> None:
    style, attributes = drawn(kind)
    images = []
    for extent_ in (1.0, by):
        created = layer(
            kind, *scaled(kind, style, attributes, extent_)[:1], **scaled(kind, style, attributes, extent_)[1]
        )
        camera = replace(CAMERA, distance=CAMERA.distance * extent_)
        images.append(shown(shot, created, camera=camera))
    unit, other = images
    assert (unit[..., 3] > 0).sum() > 30
    off = np.abs(unit - other).max(axis=-1)
    assert (off > 12).sum() <= 6, f"{(off > 12).sum()} pixels differ, by {off.max()} at most"


@pytest.mark.parametrize("distance", [1e-3, 1.0, 1e3, 1e6])
def test_near_objects_hide_far_ones_at_every_distance(layer: Any, shot: Any, distance: float) -> None:
    """Reversed depth: two sheets a thousandth of their distance apart, out to 10⁹ times the near plane's."""
    sheet = np.float32([[[-1, -1, 0], [1, -1, 0]], [[-1, 1, 0], [1, 1, 0]]])
    camera = OrbitCamera(target=(0.0, 0.0, -distance), distance=1e-3, fov=45.0)
    size = 0.2 * distance
    front = layer("surface", position=sheet * size + np.float32([0, 0, -distance]), color=(1.0, 0.0, 0.0))
    behind = layer("surface", position=3 * sheet * size + np.float32([0, 0, -1.001 * distance]), color=(0.0, 1.0, 0.0))
    got = shot(behind, front, camera=replace(camera, target=(0.0, 0.0, -1e-3))).astype(int)
    middle = got[12:24, 18:30, :3]
    assert (middle[..., 0] > middle[..., 1]).all()
    assert (got[16:20, 2:6, 1] > got[16:20, 2:6, 0]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(0, 0), (0, 9), (9, 0)])
def test_a_window_without_pixels_is_allowed(gpu: Gpu, layer: Any, kind: str, size: tuple[int, int]) -> None:
    style, attributes = drawn(kind)
    created = layer(kind, style, **attributes)
    gpu.submit()
    Renderer(gpu, "rgba8unorm").draw([created], CAMERA, View(**PLAIN), None, size)  # type: ignore[arg-type]
    assert not gpu.recorder.pending


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_the_adapter_binds_is_refused_by_name(
    gpu: Gpu, layer: Any, shot: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Vertex and index buffers have no such limit; storage buffers have."""
    style, attributes = drawn(kind)
    if kind == "trails":
        style = {"length": 40}
    limits = {**gpu.limits, "max-storage-buffer-binding-size": 12}
    monkeypatch.setattr(gpu, "limits", limits)
    with pytest.raises(LimitError, match=r"[0-9,]+ bytes.*12"):
        shown(shot, layer(kind, style, **attributes))
    gpu.abandon()
    constant = {n: v for n, v in attributes.items() if n != "color"}
    if kind not in ("trails", *STORED):
        assert shown(shot, layer(kind, style, **constant))[..., 3].max() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_drawn_after_an_image_that_was_dropped(
    gpu: Gpu, layer: Any, shot: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Also where it reads back what it has recorded."""
    monkeypatch.setattr("vertigrad.renderer.layers.splat_tiles.SOFTWARE_MANY", 1)
    style, attributes = drawn(kind)
    created = layer(kind, style, **attributes)
    expected = shown(shot, created)
    gpu.wait_idle()
    dropped, size = Renderer(gpu, "rgba8unorm"), (48, 36)
    target = create_view(gpu, size, "rgba8unorm")
    for _ in range(2):
        created.prepare(None)
        dropped.draw([created], CAMERA, View(**PLAIN), target, size)
        gpu.abandon()
    for _ in range(2):
        found = shown(shot, created)
        assert kind == "trails" or np.array_equal(found, expected)  # which grow with each image


def test_every_type_of_layer_is_tested_here() -> None:
    elsewhere = {
        "tensor",
        "light",
    }  # drawn by layers of other types (test_tensor_layer.py); of no tensors (test_area_lights.py)
    assert {*KINDS, *elsewhere} == set(types())
    assert issubclass(LimitError, VertigradError)
