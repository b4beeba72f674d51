"""Every shader that ships compiles, with each set of values that changes what is compiled.

A file that is not in the table fails the test, so a new shader is entered here with the values it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import jinja2.meta
import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu, Kernel, shader

Defines = Mapping[str, Any]
FOLDERS = ("ops", "models", "draw")
COMPUTE = re.compile(r"@compute\b[^{};]*?\bfn\s+(\w+)", re.S)


def choices(**values: list[Any]) -> list[Defines]:
    """Every combination of the values."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def reductions() -> list[Defines]:
    """FROM, TO and VALUE as ops/reduce.py puts them together."""
    types = [
        *(("f32", "f32", "f32"), ("f32", "partial", "f32"), ("partial", "f32", "f32"), ("f16", "f16", "f32")),
        *(("i32", "i32", "i32"), ("u8", "u32", "u32"), ("bool", "bool", "u32"), ("partial", "partial", "u32")),
    ]
    finish = {"f16": "f16(total / params.divisor)", "bool": "total != 0u"}
    sums = [
        {
            **{"FROM": source, "TO": to, "VALUE": value, "LIFT": f"{value}(x)", "COMBINE": "a + b", "ARG": False},
            **{"FINISH": finish.get(to, "total"), "BEFORE": "", "COLUMNS": columns, "ROWS": rows, "EVEN": even},
        }
        for source, to, value in types
        for columns, rows in ((256, 1), (1, 256), (16, 16))
        for even in (False, True)
    ]
    least = {"ARG": True, "BEFORE": "(a < b || is_nan(a)) && !is_nan(b)", "FINISH": "i32(total.at)", "TO": "i32"}
    return [*sums, *({**chosen, **least} for chosen in sums if chosen["VALUE"] == "f32")]


COLORS = [
    {"COLOR": "", "COLOR_COMPONENTS": 0, "COLORMAPPED": False},
    {"COLOR": "f32", "COLOR_COMPONENTS": 1, "COLORMAPPED": True},
    {"COLOR": "vec3f", "COLOR_COMPONENTS": 3, "COLORMAPPED": False},
    {"COLOR": "vec4f", "COLOR_COMPONENTS": 4, "COLORMAPPED": False},
]
DTYPES = ["f32", "f16", "i32", "u32", "bool", "u8"]

# What each file is compiled with. Values that the file does not ask for are left out.
SHADERS: dict[str, list[Defines]] = {
    "ops/elementwise.wgsl": [
        {
            "INPUTS": (("a", dtype, "tensor"), ("b", "f32", "scalar"), ("c", out, "out")),
            "CASTS": (True, True, True),
            "COMPUTE": "f32",
            "EXPRESSION": "a_ + b_ * c_",
            "RESULT": "f32",
            "OUT": out,
            "RANK": rank,
            "USES_F16": "f16" in (dtype, out),
        }
        for dtype, out, rank in (
            ("f32", "f32", 1),
            ("u8", "f32", 3),
            ("bool", "f16", 8),
            ("f16", "i32", 0),
            ("i32", "u8", 2),
        )
    ],
    "ops/gather.wgsl": choices(DTYPE=DTYPES, INDEX=["i32", "u32"], RANK=[1, 8]),
    "ops/grid_normals.wgsl": [{}],
    "ops/matmul.wgsl": [
        *choices(A=["f32", "f16"], B=["f32"], OUT=["f32"], VALUE=["f32"], A_DOWN=[False, True], B_DOWN=[False, True]),
        *choices(A=["i32"], B=["i32"], OUT=["i32"], VALUE=["i32"], A_DOWN=[False], B_DOWN=[True]),
    ],
    "ops/reduce.wgsl": reductions(),
    "models/nbody.wgsl": choices(TILE=[64, 128], UNROLL=[1, 8], EACH=[1, 2]),
    "models/neural_field.wgsl": choices(WIDTH=[16, 64], LAYERS=[3, 5], BANDS=[1, 3], ACTIVATION=["sine", "relu"]),
    "draw/bloom.wgsl": [{}],
    "draw/develop.wgsl": choices(GLOW=[False, True], ENCODED_BY_TARGET=[False, True], BY_SAMPLE=[False, True]),
    "draw/extent.wgsl": choices(TYPE=["f32", "i32", "u32"], WORKGROUP=[64, 128]),
    "draw/points.wgsl": [
        {"POSITION": "vec3f", "SIZE": size, "SAMPLE_MASK": mask, **color}
        for size, mask, color in product(["", "f32"], [False, True], COLORS)
    ],
    "draw/surface.wgsl": [
        {"POSITION": "vec3f", "NORMAL": normal, "SAMPLE_MASK": mask, **color}
        for normal, mask, color in product(["", "vec3f"], [False, True], COLORS)
    ],
}


def files() -> list[str]:
    root = resources.path("shaders")
    return sorted(path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).glob("**/*.wgsl"))


def asked_for(name: str) -> set[str]:
    """The values that a shader file and what it includes must be given."""
    environment = shader._environment()
    tree = environment.parse(resources.shader(name))
    names = jinja2.meta.find_undeclared_variables(tree)
    included = {other for other in jinja2.meta.find_referenced_templates(tree) if other}
    return names.union(*(asked_for(other) for other in included))


def test_every_shader_file_is_in_the_table() -> None:
    assert files() == sorted(SHADERS)


@pytest.mark.parametrize("name", SHADERS)
def test_the_table_gives_what_is_asked_for_and_nothing_else(name: str) -> None:
    asked = asked_for(name)
    assert [set(defines) ^ asked for defines in SHADERS[name]] == [set()] * len(SHADERS[name])


@pytest.mark.parametrize("name", SHADERS)
def test_it_compiles(gpu: Gpu, name: str) -> None:
    for defines in SHADERS[name]:
        if "shader-f16" not in gpu.features and "f16" in str(defines):
            continue
        source = shader.render(name, defines)
        entries = COMPUTE.findall(source)
        for entry in entries:
            kernel = Kernel.load(name, entry, defines)
            assert kernel.bindings, entry
        if not entries:
            gpu.device.create_shader_module(label=name, code=source)


@pytest.mark.parametrize(
    "name", [*SHADERS, *(f"common/{p.name}" for p in resources.path("shaders", "common").iterdir())]
)
def test_it_begins_with_what_it_is_for(name: str) -> None:
    assert re.match(r"// \w", resources.shader(name))
