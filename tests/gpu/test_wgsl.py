"""`wgsl.interface`: the layout that Python parses from WGSL, checked against the device."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad.errors import ShaderError
from vertigrad.gpu import Gpu, Kernel, wgsl
from vertigrad.tensor import Tensor


def interface(source: str, entry: str = "main") -> wgsl.Interface:
    return wgsl.interface(textwrap.dedent(source), entry, "test.wgsl")


def layout(fields: str) -> wgsl.UniformLayout:
    found = interface(
        f"struct Params {{ {fields} }}\n@group(0) @binding(0) var<uniform> params: Params;"
        "@compute @workgroup_size(1) fn main() { _ = params; }"
    ).uniform
    assert found is not None
    return found


def offsets(fields: str) -> tuple[dict[str, int], int]:
    found = layout(fields)
    return {name: field.offset for name, field in found.fields.items()}, found.size


# layout ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected", "size"),
    [
        ("a: f32", {"a": 0}, 16),
        ("a: f32, b: u32, c: i32", {"a": 0, "b": 4, "c": 8}, 16),
        ("a: f32, b: vec2f", {"a": 0, "b": 8}, 16),
        ("a: f32, b: vec3f, c: f32", {"a": 0, "b": 16, "c": 28}, 32),
        ("a: vec3f, b: vec3<f32>, c: vec3u", {"a": 0, "b": 16, "c": 32}, 48),
        ("a: vec4i, b: f32,", {"a": 0, "b": 16}, 32),
        ("a: f32, b: mat4x4f, c: f32", {"a": 0, "b": 16, "c": 80}, 96),
        ("a: mat3x3f, b: f32", {"a": 0, "b": 48}, 64),
        ("a: f32, b: mat2x2<f32>, c: f32", {"a": 0, "b": 8, "c": 24}, 32),
        ("a: mat2x3f, b: mat3x2f, c: u32", {"a": 0, "b": 32, "c": 56}, 64),
        ("a: f32, b: array<vec4u, 3>, c: f32", {"a": 0, "b": 16, "c": 64}, 80),
        ("a: array<vec3f, 2>, b: f32", {"a": 0, "b": 32}, 48),
        ("a: array<vec3f, 1>, b: f32", {"a": 0, "b": 16}, 32),
        ("a: array<mat2x2f, 2>, b: f32", {"a": 0, "b": 32}, 48),
        ("a: array<mat4x4<f32>, 2>, b: f32", {"a": 0, "b": 128}, 144),
        ("a: f16, b: vec3h, c: f16, d: vec2<f16>", {"a": 0, "b": 8, "c": 14, "d": 16}, 32),
        ("a: f32, @align(16) b: f32, @size(32) c: f32, d: f32", {"a": 0, "b": 16, "c": 20, "d": 52}, 64),
        ("@align(32) a: f32, b: f32", {"a": 0, "b": 4}, 32),
        ("@size(16u) @align(16) a: vec3f, b: f32", {"a": 0, "b": 16}, 32),
    ],
)
def test_offsets_follow_the_memory_layout_of_the_specification(fields: str, expected: dict, size: int) -> None:
    assert offsets(fields) == (expected, size)


@pytest.mark.parametrize(
    "fields",
    [
        "a: array<f32, 4>",
        "a: array<vec2f, 4>",
        "a: Other",
        "a: array<Other, 2>",
        "a: vec3<bool>",
        "a: array<vec4f>",
        "a: array<vec4f, COUNT>",
        "a: atomic<u32>",
    ],
)
def test_types_without_a_layout_are_rejected_by_name(fields: str) -> None:
    with pytest.raises(ShaderError, match=r"test.wgsl: Params.a: .*uniform struct"):
        layout(fields)


def test_an_attribute_that_is_not_a_literal_is_rejected() -> None:
    with pytest.raises(ShaderError, match=r"Params.a: @align\(WIDE\) needs a literal number"):
        layout("@align(WIDE) a: f32")


TYPES = [
    *("f32", "i32", "u32", "vec2f", "vec2<i32>", "vec3f", "vec3u", "vec4<f32>", "vec4i"),
    *("mat2x2f", "mat3x3f", "mat4x4f", "mat2x3f", "mat4x2<f32>", "mat3x4f"),
    *("array<vec4f, 3>", "array<vec3f, 2>", "array<vec4u, 1>", "array<vec3i, 1>", "array<mat3x3f, 2>"),
]


def scalars(name: str, type_: str) -> list[str]:
    """WGSL expressions for each scalar of a field, in the order of `UniformLayout.pack`."""
    if type_.startswith("array<"):
        inner, count = type_[6:-1].split(", ")
        return [part for i in range(int(count)) for part in scalars(f"{name}[{i}]", inner)]
    if type_.startswith("mat"):
        return [f"{name}[{i}][{j}]" for i in range(int(type_[3])) for j in range(int(type_[5]))]
    if type_.startswith("vec"):
        return [f"{name}[{i}]" for i in range(int(type_[3]))]
    return [name]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=9))
def test_the_device_reads_every_scalar_where_python_wrote_it(steady: Gpu, types: list[str]) -> None:
    fields = {f"field{i}": type_ for i, type_ in enumerate(types)}
    parts = [part for name, type_ in fields.items() for part in scalars(f"params.{name}", type_)]
    source = "\n".join(
        [
            f"struct Params {{ {', '.join(f'{name}: {type_}' for name, type_ in fields.items())} }}",
            "@group(0) @binding(0) var<uniform> params: Params;",
            "@group(0) @binding(1) var<storage, read_write> out: array<f32>;",
            "@compute @workgroup_size(1) fn main() {",
            *(f"    out[{i}] = f32({part});" for i, part in enumerate(parts)),
            "}",
        ]
    )
    values, count = {}, 0
    for name, type_ in fields.items():
        n = len(scalars(name, type_))
        values[name] = count + 1 if n == 1 else list(range(count + 1, count + n + 1))
        count += n
    with Tensor.empty(count) as out:
        Kernel(source, "main", "layout")(1, out=out, **values)
        assert out.numpy().tolist() == list(range(1, count + 1))


def test_matrices_are_packed_column_by_column(steady: Gpu) -> None:
    source = """
    struct Params { m: mat2x3f }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(1) fn main() {
        let v = params.m * vec2f(1.0, 10.0);
        out[0] = v.x; out[1] = v.y; out[2] = v.z;
    }
    """
    columns = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    with Tensor.empty(3) as out:
        Kernel(source, "main", "matrix")(1, out=out, m=columns)
        assert out.numpy().tolist() == [41, 52, 63]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ("a: f32", "1"),
        ("a: f32", [1, 2]),
        ("a: f32", 1e39),
        ("a: u32", -1),
        ("a: u32", 1.5),
        ("a: u32", 1 << 32),
        ("a: i32", 1 << 31),
        ("a: vec3f", 1.0),
        ("a: vec3f", [1, 2]),
        ("a: vec3f", ()),
        ("a: vec3f", (1.0, 2.0)),
        ("a: vec3f", [1, 2, 3, 4]),
        ("a: vec2i", [1.5, 2]),
        ("a: vec4f", [[1, 2], [3]]),
        ("a: f32", None),
    ],
)
def test_invalid_values_are_rejected_with_field_and_value(fields: str, value: object) -> None:
    found = layout(fields)
    with pytest.raises(ShaderError, match=r"uniform Params.a: .* does not fit") as caught:
        found.pack(bytearray(found.size), 0, "a", value)
    assert repr(value) in str(caught.value)


def test_numpy_values_are_accepted() -> None:
    found = layout("a: f32, b: u32, c: vec3f")
    image = bytearray(found.size)
    found.pack(image, 0, "a", np.float32(1.5))
    found.pack(image, 0, "b", np.uint32(7))
    found.pack(image, 0, "c", np.array([1, 2, 3]))
    assert np.frombuffer(image, np.float32)[[0, 4, 5, 6]].tolist() == [1.5, 1, 2, 3]
    assert np.frombuffer(image, np.uint32)[1] == 7


# bindings -------------------------------------------------------------------------------------------------------

SOURCE = """
// @group(0) @binding(9) var<storage> commented: array<f32>;
/* @group(0) @binding(8) var<storage> too: array<f32>; */
struct Params { count: u32, /* unused: f32, */ dt: f32 } // count: of particles
struct Particle { position: vec3f, mass: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> positions: array<vec4<f32>>;
@group(0) @binding(2) var<storage> masses: array<f32>;
@group(0) @binding(3) var<storage, read> particles: array<Particle>;
@binding(4) @group(0)
var<storage,read_write> counters : array<atomic<u32>, 16>;
@group(0) @binding(5) var<storage, read_write> total: atomic<i32>;
@group(0) @binding(6) var<storage, read> never: array<f32>;
@group(1) @binding(0) var picture: texture_2d<f32>;
var<workgroup> tile: array<vec4f, 64>;
var<private> seed: u32 = 1u;
const LANES = 64u;

fn weight(i: u32) -> f32 { return masses[i]; }

fn deep(i: u32) -> f32 {
    if i > 0u { return weight(i) * 2.0; }
    return 0.0;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    if id.x >= params.count { return; }
    positions[id.x] += deep(id.x) * params.dt;
}

@compute @workgroup_size(8, 4u, 2,)
fn other(@builtin(local_invocation_index) lane: u32) {
    atomicAdd(&counters[lane & 15u], 1u);
    atomicAdd(&total, 1);
    tile[lane] = vec4f(particles[lane].position, 0.0);
}

@workgroup_size(1) @compute fn late() { let x = groups().never; }

struct Groups { never: f32 }
fn groups() -> Groups { return Groups(1.0); }

@vertex
fn corner(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f { return vec4f(f32(i)); }
"""


def names(found: wgsl.Interface) -> dict[str, tuple[int, str, str | None]]:
    return {b.name: (b.number, b.access, b.scalar) for b in found.bindings}


def test_an_entry_point_has_the_bindings_used_by_its_functions() -> None:
    assert names(interface(SOURCE)) == {
        "params": (0, "uniform", None),
        "positions": (1, "read_write", "f32"),
        "masses": (2, "read", "f32"),
    }


def test_arrays_structs_atomics_and_the_other_order_of_attributes() -> None:
    found = interface(SOURCE, "other")
    assert names(found) == {
        "particles": (3, "read", None),
        "counters": (4, "read_write", "u32"),
        "total": (5, "read_write", "i32"),
    }
    assert found.uniform is None


def test_a_member_with_the_name_of_a_binding_does_not_use_it() -> None:
    assert names(interface(SOURCE, "late")) == {}


def test_workgroup_sizes_and_folding() -> None:
    assert interface(SOURCE).workgroup == (64, 1, 1)
    assert interface(SOURCE).folds
    assert interface(SOURCE, "other").workgroup == (8, 4, 2)
    assert not interface(SOURCE, "other").folds


def test_comments_declare_no_fields() -> None:
    found = interface(SOURCE).uniform
    assert found is not None
    assert list(found.fields) == ["count", "dt"]


@pytest.mark.parametrize("entry", ["mian", "weight", "corner"])
def test_an_unknown_entry_point_is_rejected_with_a_list(entry: str) -> None:
    with pytest.raises(ShaderError, match=f"no compute entry point '{entry}'; there is main, other, late"):
        interface(SOURCE, entry)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "no compute entry point 'main'; there is none"),
        ("@compute @workgroup_size(N) fn main() {}", "needs a literal @workgroup_size"),
        ("@group(1) @binding(0) var<storage> x: array<f32>;", r"x is in @group\(1\)"),
        ("@group(0) @binding(N) var<storage> x: array<f32>;", "x needs literal numbers"),
        ("@group(0) @binding(0) var x: texture_2d<f32>;", "x is no buffer"),
        ("@group(0) @binding(0) var<uniform> x: f32;", "a kernel's uniform must be a struct"),
        (
            "struct P { a: f32 } @group(0) @binding(0) var<uniform> x: P; @group(0) @binding(1) var<uniform> y: P;",
            "uses 2 uniform structs",
        ),
    ],
)
def test_sources_without_a_kernel(source: str, message: str) -> None:
    if source and "@compute" not in source:
        source += " @compute @workgroup_size(1) fn main() { _ = x; _ = y; }"
    with pytest.raises(ShaderError, match=f"test.wgsl: .*{message}"):
        interface(source)
