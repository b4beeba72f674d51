"""The contract of layouts, for every attribute of every layer and any layout of a tensor: the image is that of NumPy's
values, or `LayoutError` names tensor, number and fix. Nothing that WebGPU can read is rejected.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad.errors import LayoutError
from vertigrad.renderer.layers import types
from vertigrad.renderer.layers.isosurface import FEW, VERTICES
from vertigrad.renderer.layers.marching import triangles
from vertigrad.renderer.moment import Moment
from vertigrad.tensor import Tensor

from .kinds import KINDS, ROWS, drawn

FORMATS = {
    np.float32: (1, 2, 3, 4),
    np.int32: (1, 2, 3, 4),
    np.uint32: (1, 2, 3, 4),
    np.float16: (2, 4),
    np.uint8: (4,),
}
GRIDS = {"isosurface": ("values", "color"), "volume": ("density", "color", "temperature"), "image": ("pixels",)}
GRIDS["slices"] = ("values",)
GRIDS |= {"streamlines": ("vectors", "color"), "vectors": ("vectors", "color")}
F32 = ("splats", "streamlines")  # rows that shaders read from storage, not from vertex buffers
TABLES = ("index", "materials", "lights", "color_maps", "data_maps")  # contiguous, with rows of their own
UP = (0.0, 1.0, 0.0)


class ArrayLayout(NamedTuple):
    """The layout of an array: elements before it, step and padding of each axis, reversed and permuted axes."""

    before: int
    steps: tuple[int, ...]
    padding: tuple[int, ...]
    backward: tuple[bool, ...]
    order: tuple[int, ...]


@st.composite
def lyings(draw: Any, axes: int) -> ArrayLayout:
    few = st.sampled_from([1, 1, 1, 2, 3])
    return ArrayLayout(
        before=draw(st.sampled_from([0, 0, 1, 2, 3, 4, 7])),
        steps=tuple(draw(few) if axis < axes - 1 else draw(st.sampled_from([1, 1, 1, 1, 2])) for axis in range(axes)),
        padding=tuple(draw(st.sampled_from([0, 0, 1, 2, 5])) for _ in range(axes)),
        backward=tuple(draw(st.sampled_from([False] * 5 + [True])) for _ in range(axes)),
        order=tuple(draw(st.permutations(range(axes)))) if draw(st.integers(0, 3)) == 0 else tuple(range(axes)),
    )


def laid_out(values: np.ndarray, how: ArrayLayout) -> tuple[np.ndarray, Any]:
    """(memory, a function that takes the view of the values from it, as an array or as a tensor)."""
    spans = [n * step + pad for n, step, pad in zip(values.shape, how.steps, how.padding, strict=True)]
    memory = np.full(how.before + int(np.prod(spans)), 7, values.dtype)
    inner = [spans[axis] for axis in how.order]
    back = tuple(int(n) for n in np.argsort(how.order))
    keys = []
    for n, step, backward in zip(values.shape, how.steps, how.backward, strict=True):
        last = (n - 1) * step
        keys.append(slice(last, None, -step) if backward else slice(0, last + 1, step))

    def view(x: Any) -> Any:
        spread = x[how.before :].reshape(*inner)
        turned = spread.transpose(back) if isinstance(x, np.ndarray) else spread.permute(*back)
        return turned[tuple(keys)]

    view(memory)[...] = values
    return memory, view


def plainly(axes: int) -> ArrayLayout:
    return ArrayLayout(0, (1,) * axes, (0,) * axes, (False,) * axes, tuple(range(axes)))


def can_be_read(tensor: Tensor, components: int, rows: int) -> bool:
    """Whether WebGPU reads it as a vertex buffer: from the specification, not from `vertex_layout`."""
    size, strides = tensor.itemsize, tensor.strides
    row = components * size
    with_axis = tensor.ndim > 1
    if with_axis and components > 1 and strides[-1] != size:
        return False
    step = strides[0] if rows > 1 else 0
    fits = step % 4 == 0 and 0 <= step <= 2048 and (step == 0 or step >= row)
    return fits and tensor.offset % 4 == 0


def rendered(shot: Any, created: Any) -> np.ndarray:
    for time in (1.0, 2.0):  # trails begin after some time
        created.prepare(Moment(UP, UP, time))
    return shot(created, time=3.0)


def cast(values: np.ndarray, dtype: Any) -> np.ndarray:
    if np.issubdtype(dtype, np.floating):
        return values.astype(dtype)
    scaled = values * (255 if dtype is np.uint8 else 2)
    lowest = 0 if np.issubdtype(dtype, np.unsignedinteger) else None
    return np.round(scaled).clip(lowest, 255 if dtype is np.uint8 else None).astype(dtype)


def meant(values: np.ndarray) -> np.ndarray:
    """The values that a shader reads."""
    return values.astype(np.float32) / (255 if values.dtype == np.uint8 else 1)


def compare(layer: Any, shot: Any, kind: str, name: str, values: np.ndarray, how: ArrayLayout) -> bool:
    """Whether it was drawn; fails if it was drawn wrong, or rejected with another message than documented."""
    style, attributes = drawn(kind)
    memory, view = laid_out(values, how)
    with Tensor.from_numpy(memory, name="state") as whole:
        tensor = view(whole)
        try:
            created = layer(kind, style, **{**attributes, name: tensor})
        except LayoutError as error:
            assert re.search(r"'state'", str(error)) and re.search(r"\d", str(error)), error
            assert re.search(r"cast|contiguous\(\)|\[.*\]|give one row|are needed", str(error)), error
            return False
        got = rendered(shot, created)
    plain = meant(values) if name != "index" else values
    expected = rendered(shot, layer(kind, style, **{**attributes, name: np.ascontiguousarray(plain)}))
    assert expected[..., :3].max() > 40, "the image is empty"
    assert np.array_equal(got, expected), f"{kind}.{name}: {tensor.dtype} {tensor.shape} {tensor.strides} {how}"
    return True


ROWS_OF = [
    (kind, name)
    for kind in KINDS
    for name in types()[kind].ATTRIBUTES
    if name not in TABLES and name not in GRIDS.get(kind, ())
]
SAMPLES_OF = [(kind, name) for kind, names in GRIDS.items() for name in names if (kind, name) != ("vectors", "color")]
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.turns(3)
@settings(max_examples=70, deadline=None, suppress_health_check=CHECKS)
@given(st.data())
def test_rows_are_drawn_with_numpys_values_or_rejected(layer: Any, shot: Any, data: st.DataObject) -> None:
    kind, name = data.draw(st.sampled_from(ROWS_OF))
    dtype = data.draw(st.sampled_from([np.float32] * 3 + [np.float16, np.int32, np.uint32, np.uint8]))
    whole = drawn(kind)[1][name]
    choices = types()[kind].ATTRIBUTES[name].components
    components = data.draw(st.sampled_from(choices))
    values = np.resize(whole.reshape(len(whole), -1), (len(whole), components)) if whole.ndim == 1 else whole
    if name == "harmonics":
        values = np.resize(whole, (len(whole), components))
    elif values.shape[-1] != components:
        values = (
            np.concatenate([whole, np.ones_like(whole)], axis=1)[:, :components] if components > 1 else whole[:, :1]
        )
    if components == 1 and data.draw(st.booleans()):
        values = values[:, 0]
    if name in ("color", "size", "scale", "opacity") and kind in ("instances", "points", "marks", "splats"):
        values = np.abs(values)
    values = cast(values, dtype)
    how = data.draw(lyings(values.ndim))
    memory, view = laid_out(values, how)
    with Tensor.from_numpy(memory) as held:
        viewed = view(held)
        has_format = components in FORMATS[dtype] or name == "harmonics"
        drawable = has_format and can_be_read(viewed, components, len(values))
        drawable = drawable and not (kind in F32 and dtype is not np.float32)
    assert compare(layer, shot, kind, name, values, how) == drawable


@settings(max_examples=25, deadline=None, suppress_health_check=CHECKS)
@given(st.data())
def test_samples_of_any_layout_are_drawn_with_numpys_values(layer: Any, shot: Any, data: st.DataObject) -> None:
    kind, name = data.draw(st.sampled_from(SAMPLES_OF))
    values = drawn(kind)[1][name]
    if name in ("color", "pixels") and kind != "streamlines" and data.draw(st.booleans()):
        values = np.stack([values, 1 - values, values**2], axis=-1)
        dtype = data.draw(st.sampled_from([np.float32, np.float16, np.uint8])) if kind == "image" else np.float32
        values = cast(values, dtype)
    assert compare(layer, shot, kind, name, values, data.draw(lyings(values.ndim)))


@pytest.mark.parametrize(("kind", "name"), SAMPLES_OF)
@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8])
def test_samples_of_another_type_are_refused(layer: Any, shot: Any, kind: str, name: str, dtype: Any) -> None:
    values = cast(drawn(kind)[1][name], dtype)
    assert not compare(layer, shot, kind, name, values, plainly(values.ndim))


@settings(max_examples=30, deadline=None, suppress_health_check=CHECKS)
@given(st.data())
def test_triangles_are_drawn_with_numpys_values_or_rejected(layer: Any, shot: Any, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["surface", "instances"]))
    dtype = data.draw(st.sampled_from([np.uint32] * 4 + [np.int32, np.float32, np.uint8]))
    values = drawn(kind)[1]["index"].astype(dtype)
    values = values.reshape(-1) if data.draw(st.booleans()) else values
    how = data.draw(lyings(values.ndim))
    memory, view = laid_out(values, how)
    with Tensor.from_numpy(memory) as held:
        drawable = dtype is np.uint32 and view(held).is_contiguous
    assert compare(layer, shot, kind, "index", values, how) == drawable


@pytest.mark.turns(3)
@pytest.mark.parametrize(("kind", "name"), ROWS_OF)
@pytest.mark.parametrize(("step", "padding"), [(1, 0), (2, 5)], ids=["packed", "interleaved"])
def test_every_attribute_is_drawn(layer: Any, shot: Any, kind: str, name: str, step: int, padding: int) -> None:
    """The properties above might hold for few attributes only; this tests each."""
    values = drawn(kind)[1][name]
    axes = values.ndim
    how = ArrayLayout(4, (step, 1)[:axes], (0, padding)[-axes:], (False,) * axes, (0, 1)[:axes])
    assert compare(layer, shot, kind, name, values, how)


@pytest.mark.parametrize(
    ("dtype", "how"),
    [
        (np.float16, ArrayLayout(0, (1, 1), (0, 1), (False, False), (0, 1))),  # rows of 10 bytes
        (np.float16, ArrayLayout(1, (1, 1), (0, 0), (False, False), (0, 1))),  # from byte 2 on
        (np.uint8, ArrayLayout(0, (1, 1), (0, 1), (False, False), (0, 1))),
        (np.uint8, ArrayLayout(3, (1, 1), (0, 0), (False, False), (0, 1))),
        (np.float32, ArrayLayout(0, (1, 1), (0, 509), (False, False), (0, 1))),  # 2052 bytes from row to row
        (np.float32, ArrayLayout(0, (1, 1), (0, 0), (True, False), (0, 1))),
        (np.float32, ArrayLayout(0, (1, 1), (0, 0), (False, False), (1, 0))),
    ],
)
def test_colors_that_vertex_buffers_cannot_read_are_rejected(
    layer: Any, shot: Any, dtype: Any, how: ArrayLayout
) -> None:
    values = cast(np.concatenate([drawn("points")[1]["position"], drawn("points")[1]["color"][:, None]], axis=1), dtype)
    assert not compare(layer, shot, "points", "color", values, how)


SETS = [("position", "color", "size"), ("position", "color"), ("position", "size"), ("color", "size")]


@pytest.mark.parametrize("among", SETS)
@pytest.mark.parametrize("row", [5, 8])
def test_interleaved_attributes_share_a_buffer(layer: Any, shot: Any, among: Any, row: int) -> None:
    """Each is still read at its own offset: other sets of attributes with the same offsets have other pipelines."""
    attributes = drawn("points")[1]
    groups = [group for group in (among, [name for name in attributes if name not in among]) if group]
    with ExitStack() as stack:
        views: dict[str, Tensor] = {}
        for group in groups:
            wide = {name: attributes[name].reshape(ROWS, -1) for name in group}
            columns = np.concatenate(list(wide.values()), axis=1)
            padded = np.pad(columns, ((0, 0), (0, row - columns.shape[1])))
            state, end = stack.enter_context(Tensor.from_numpy(padded, name="state")), 0
            for name, values in wide.items():
                views[name], end = state[:, end : end + values.shape[1]], end + values.shape[1]
        created = layer("points", **views)
        shared = [sorted(name for name, _ in one.parts) for one in created.attributes.buffers]
        got = shot(created)
    assert sorted(shared) == sorted([*map(sorted, groups), ["extent"]])
    assert np.array_equal(got, shot(layer("points", **attributes)))


@settings(max_examples=25, deadline=None, suppress_health_check=CHECKS)
@given(lyings(3))
def test_the_indirect_count_is_that_of_the_reference_cells(layer: Any, how: ArrayLayout) -> None:
    """The arguments of `draw_indirect`: the vertices of all cells that the surface intersects."""
    values, level = drawn("isosurface")[1]["values"], 0.3
    memory, view = laid_out(values, how)
    with Tensor.from_numpy(memory, name="state") as whole:
        created = layer("isosurface", {"level": level}, values=view(whole))
        created.prepare()
        inside = values > level
        ends = [inside[z : z + 6, y : y + 5, x : x + 7] for z, y, x in np.ndindex(2, 2, 2)]
        crossed = np.any(ends, axis=0) & ~np.all(ends, axis=0)
        below = sum((1 - end.astype(int)) << corner for corner, end in enumerate(ends))[crossed]
        count = sum(FEW if len(triangles(each)) * 3 <= FEW else VERTICES for each in below.tolist())
        assert count > 0
        assert created.drawing.size.numpy().tolist() == [count, 1, 0, 0]
