"""Compatibility of outputs with attributes by shape, against the renderer's check of the tensor."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vertigrad.errors import LayoutError
from vertigrad.models import OutputSpec
from vertigrad.renderer.vertex_layout import vertex_layout
from vertigrad.scene import OutputRef
from vertigrad.scene.layer_tables import rows_drawn

REFERENCE = OutputRef("galaxy", "speed")


def tensor_like(spec):
    """The properties of a contiguous tensor that `vertex_layout` uses."""
    strides = tuple(spec.itemsize * math.prod(spec.shape[axis + 1 :]) for axis in range(len(spec.shape)))
    dtype = SimpleNamespace(name=spec.dtype, itemsize=spec.itemsize)
    return SimpleNamespace(name="t", shape=spec.shape, strides=strides, offset=0, dtype=dtype, ndim=len(spec.shape))


@given(
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.sampled_from([(3,), (1,), (1, 3, 4), (2, 4)]),
    st.none() | st.integers(1, 16),
)
@example((3, 3), (1, 3), 9)
@example((4, 1), (1,), 4)
def test_the_renderer_agrees(shape, components, rows):
    spec = OutputSpec(shape, "f32")
    try:
        expected = vertex_layout(tensor_like(spec), components=components, rows=rows).rows
    except LayoutError:
        with pytest.raises(LayoutError):
            rows_drawn("color", REFERENCE, spec, components, rows)
    else:
        assert rows_drawn("color", REFERENCE, spec, components, rows) == expected


@pytest.mark.parametrize(
    ("shape", "components", "rows"),
    [((None, 3), (3,), None), ((None,), (1,), None), ((None, None), (1, 3), None), ((100, None), (3,), 100)],
)
def test_unknown_sizes_are_accepted(shape, components, rows):
    assert rows_drawn("color", REFERENCE, OutputSpec(shape, "f32"), components, 100) == rows


@pytest.mark.parametrize(("shape", "components"), [((None, 4), (3,)), ((7, None), (3,)), ((None,), (3,))])
def test_shapes_that_cannot_fit_with_any_size_are_rejected(shape, components):
    with pytest.raises(LayoutError, match=r"galaxy\.speed has shape \(.*n.*\); color takes 100 rows of 3 numbers"):
        rows_drawn("color", REFERENCE, OutputSpec(shape, "f32"), components, 100)


def test_the_message_names_the_expected_shape():
    assert OutputSpec((100, 3), "f16").nbytes == 600
    assert OutputSpec((None, 3), "u32").nbytes == 12
    with pytest.raises(ValueError, match="float32"):
        OutputSpec((1,), "float32")
