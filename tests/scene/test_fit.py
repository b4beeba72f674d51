"""What can be drawn as what, judged from shapes alone, against the renderer's own judgment of the tensor."""

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
    """What `vertex_layout` looks at in a contiguous tensor."""
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
def test_the_renderer_judges_the_same(shape, components, rows):
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
def test_sizes_not_known_yet_are_given_the_benefit_of_the_doubt(shape, components, rows):
    assert rows_drawn("color", REFERENCE, OutputSpec(shape, "f32"), components, 100) == rows


@pytest.mark.parametrize(("shape", "components"), [((None, 4), (3,)), ((7, None), (3,)), ((None,), (3,))])
def test_what_cannot_fit_whatever_its_size_is_refused(shape, components):
    with pytest.raises(LayoutError, match=r"galaxy\.speed has shape \(.*n.*\); color takes 100 rows of 3 numbers"):
        rows_drawn("color", REFERENCE, OutputSpec(shape, "f32"), components, 100)


def test_an_output_says_what_it_takes():
    assert OutputSpec((100, 3), "f16").nbytes == 600
    assert OutputSpec((None, 3), "u32").nbytes == 12
    with pytest.raises(ValueError, match="float32"):
        OutputSpec((1,), "float32")
