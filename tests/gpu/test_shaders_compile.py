"""Every shader that ships compiles, with each set of values that changes what is compiled.

A file that is not in the table fails the test, so a new shader is added here with its values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import jinja2.meta
import jinja2.nodes
import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu, Kernel, shader

Defines = Mapping[str, Any]
FOLDERS = ("ops", "models", "learn", "language", "draw", "path_trace")
COMPUTE = re.compile(r"@compute\b[^{};]*?\bfn\s+(\w+)", re.S)


def choices(**values: list[Any]) -> list[Defines]:
    """Every combination of the values."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def pairs(**values: list[Any]) -> list[Defines]:
    """A pairwise covering set of combinations, for a file whose parts depend on one value each."""

    def met(chosen: Defines) -> set[Any]:
        return set(combinations(chosen.items(), 2))

    left, selected = set().union(*map(met, choices(**values))), []
    while left:
        selected.append(max(choices(**values), key=lambda chosen: len(met(chosen) & left)))
        left -= met(selected[-1])
    return selected


def reductions() -> list[Defines]:
    """FROM, TO and VALUE as ops/reduce.py combines them."""
    types = [
        *(("f32", "f32", "f32"), ("f32", "partial", "f32"), ("partial", "f32", "f32"), ("f16", "f16", "f32")),
        *(("i32", "i32", "i32"), ("u8", "u32", "u32"), ("bool", "bool", "u32"), ("partial", "partial", "u32")),
        *(("f64", "f64", "f64"), ("f64", "partial", "f64"), ("partial", "f64", "f64")),
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
    finite = {"LIFT": "select(params.identity, f32(x), !is_nan(f32(x)) && !is_inf(f32(x)))", "COMBINE": "min(a, b)"}
    floats = [chosen for chosen in sums if chosen["VALUE"] == "f32"]
    return [*sums, *({**chosen, **least} for chosen in floats), *({**chosen, **finite} for chosen in floats)]


SUBGROUPS = [0, 8, 32]


def scans() -> list[Defines]:
    """FROM, TO and VALUE as ops/scans.py combines them."""
    types = [("f32", "f32", "f32"), ("f16", "f16", "f32"), ("i32", "i32", "i32"), ("bool", "u32", "u32")]
    return [
        {
            **{"FROM": source, "TO": to, "VALUE": value, "LIFT": f"{value}(x)", "COMBINE": "a + b", "IDENTITY": "0"},
            **{"START": "0", "FINISH": "f16(total)" if to == "f16" else "total", "EXCLUSIVE": exclusive, "ROWS": rows},
            **{"VECTOR": vector, "SUBGROUP": subgroup, "SPIN_LIMIT": 100, "RECORD": 16},
        }
        for source, to, value in types
        for exclusive, rows, vector in ((False, 8, source == to == value), (True, 1, False))
        for subgroup in SUBGROUPS
    ]


def sorts() -> list[Defines]:
    """Each type of keys once, each kind of pass once."""
    passes = [("none", True, True), ("indices", True, False), ("values", False, True), ("values", True, True)]
    return [
        {"KEY": key, "VALUES": kind, "FIRST": first, "WITH_KEYS": keep, "ITEMS": items, "SUBGROUP": subgroup}
        for (kind, first, keep), key in zip(passes, ("f32", "i32", "u32", "f32"), strict=True)
        for subgroup, items in zip(SUBGROUPS, (8, 8, 16), strict=True)
    ]


# Compute shaders that a layer binds itself, like its draw shaders.
OPTIONAL = {"AREA_LIGHTS", "CORNERS", "OWN_DEPTH"}  # values that shaders do without
NO_KERNELS = [
    *(f"draw/{name}.wgsl" for name in ("deferred", "farthest", "floor", "liquid_filter", "liquid_lists")),
    *(
        f"draw/{name}.wgsl"
        for name in (
            "liquid_outline",
            "liquid_shading",
            "liquid_shadow",
            "liquid_tiles",
            "occlusion",
            "point_splatting",
        )
    ),
    *(f"draw/{name}.wgsl" for name in ("post_process", "reprojection", "splat_tiles", "volume")),
]
SOLID: list[Defines] = [
    {"SAMPLE_MASK": mask, "GBUFFER": gbuffer, "PICKING": picking}
    for mask, gbuffer, picking in product([False, True], repeat=3)
    if not gbuffer or (mask and not picking)
]
LIT = [{name: one for name, one in drawn.items() if name != "PICKING"} for drawn in SOLID if not drawn["PICKING"]]
COLORS = [
    {"COLOR": "", "COLOR_COMPONENTS": 0, "COLORMAPPED": False},
    {"COLOR": "f32", "COLOR_COMPONENTS": 1, "COLORMAPPED": True},
    {"COLOR": "vec3f", "COLOR_COMPONENTS": 3, "COLORMAPPED": False},
    {"COLOR": "vec4f", "COLOR_COMPONENTS": 4, "COLORMAPPED": False},
]
DTYPES = ["f32", "f16", "i32", "u32", "bool", "u8"]
STORED = [*DTYPES, "f64"]
SPLATS = [
    *choices(SCALE=[0, 1, 3], ROTATION=[0, 4], OPACITY=[0, 1], COLOR=[0, 1, 3, 4], HARMONICS=[0]),
    *choices(SCALE=[3], ROTATION=[4], OPACITY=[1], COLOR=[0, 1, 3, 4], HARMONICS=[9, 24, 45]),
]
REFERRED = [
    *choices(PICKING=[False], DISPLAY_REFERRED=[False, True], TONE_MAP=["none", "film"]),
    {"PICKING": True, "DISPLAY_REFERRED": False, "TONE_MAP": "none"},
]

HEADS: Defines = {"HEAD": 32, "HEADS": 4, "KV_HEADS": 2, "CONTEXT": 128, "THREADS": 128, "TILE": 128}
PACKED = [
    *(("f16", False, "store", ""), ("bf16", True, "activate", "gelu_tanh")),
    *(("int4", False, "gate", "silu"), ("int4", True, "add", "")),
]

# Operands and epilogues as ops/product.py combines them; one tile for each.
_PLAIN = {
    **{"A": "f32", "B": "f32", "OUT": "f32", "VALUE": "f32", "BIAS": "", "RESIDUAL": "", "ACTIVATION": "x"},
    **dict.fromkeys(("A_COLUMN_MAJOR", "B_COLUMN_MAJOR", "A_WIDE", "B_WIDE", "OUT_WIDE", "RESIDUAL_WIDE"), False),
    **dict.fromkeys(("BIAS_BY_COLUMN", "SCALED", "WHOLE"), False),
}
_WIDE = {**_PLAIN, "A_WIDE": True, "B_WIDE": True, "OUT_WIDE": True, "WHOLE": True}
PRODUCTS: list[Defines] = [
    _PLAIN,
    _WIDE,
    {
        **_WIDE,
        "A_COLUMN_MAJOR": True,
        "B_COLUMN_MAJOR": True,
        "BIAS": "f32",
        "BIAS_BY_COLUMN": True,
        "ACTIVATION": "gelu(x)",
    },
    {**_WIDE, "B_COLUMN_MAJOR": True, "BIAS": "f32", "RESIDUAL": "f32", "RESIDUAL_WIDE": True, "SCALED": True},
    {**_PLAIN, "A": "f16", "OUT": "f16", "A_COLUMN_MAJOR": True, "BIAS": "f16", "RESIDUAL": "f32", "SCALED": True},
    {
        **_WIDE,
        "A": "f16",
        "B": "f16",
        "WHOLE": False,
        "ACTIVATION": "held(x, params.activation.x, params.activation.y)",
    },
    {**_PLAIN, "A": "i32", "B": "i32", "OUT": "i32", "VALUE": "i32", "B_COLUMN_MAJOR": True},
    {**_PLAIN, "A": "u8", "B": "u32", "OUT": "u32", "VALUE": "u32", "B_WIDE": True},
]
DOUBLES = [{**plain, "A": "f64", "B": "f64", "OUT": "f64", "VALUE": "f64"} for plain in (_PLAIN, _WIDE)]
_EACH = [(4, 4, 8), (8, 8, 8), (8, 4, 4), (4, 8, 8), (4, 4, 16), (8, 8, 16), (4, 4, 2), (4, 4, 1)]
TILES = [
    {"ROWS": 64, "COLUMNS": 64, "STEP": 8, "EACH_ROWS": rows, "EACH_COLUMNS": columns, "LANES": lanes, "BAND": 8}
    for rows, columns, lanes in _EACH
]


def encodings() -> list[Defines]:
    """None, frequencies, and hash grids, as ops/encoding.py combines them, with their numbers of features."""
    no_encoding = {"ENCODING": "", "DIMENSIONS": 3, "COUNT": 1, "INCLUDE": False, "TABLES": ""}
    no_encoding |= {"LEVELS": 1, "ENTRIES": 1, "FEATURES": 1, "REAL_INPUTS": 3, "INPUTS": 4}
    waves = {**no_encoding, "ENCODING": "frequency", "COUNT": 4, "INCLUDE": True, "REAL_INPUTS": 27, "INPUTS": 32}
    grids = {**no_encoding, "ENCODING": "hash", "LEVELS": 16, "ENTRIES": 1000, "REAL_INPUTS": 32, "INPUTS": 32}
    return [no_encoding, waves, *({**grids, "FEATURES": n, "TABLES": table} for n, table in ((2, "f32"), (1, "f16")))]


def networks() -> list[Defines]:
    """The combinations of ops/mlp.py."""
    common = {"ACTIVATION": "relu(x)", "LAST": "elu(x, params.last.x)", "X": "f32", "OUT": "f32", "LANES": 8}
    forms = [
        *({"HIDDEN": n, "WIDTH": 32, "OUTPUTS": 4, "LAST_WIDE": False} for n in (1, 3)),
        *({"HIDDEN": n, "WIDTH": 32, "OUTPUTS": 32, "LAST_WIDE": True} for n in (0, 2)),
    ]
    variants = choices(POINTS=[32], EACH_POINTS=[4], EACH_NEURONS=[8], WEIGHTS=["f32", "f16"])
    stages = {"STAGE": 0, "UNROLL": 1}, {"STAGE": 8, "UNROLL": 8}
    rolled = {"POINTS": 64, "EACH_POINTS": 16, "EACH_NEURONS": 16, "WEIGHTS": "f32", **stages[0]}
    return [
        *(
            {**common, **encoding, **form, **variant, **stage}
            for encoding, form, variant, stage in product(encodings(), forms, variants, stages)
        ),
        *({**common, **encodings()[0], **form, **rolled} for form in forms),
    ]


def backward_variants() -> list[Defines]:
    """The combinations of ops/mlp_training.py for the backward pass through a network."""
    common = {
        "ACTIVATION": "silu(x)",
        "DERIVATIVE": "silu_derivative(x)",
        "X": "f32",
        "LANES": 8,
        "POINTS": 16,
        "EACH_POINTS": 4,
    }
    common |= {"EACH_NEURONS": 4, "ROWS": 4, "FIRST_ROWS": 4, "CHUNKS": [2, 1, 4], "BIAS_CHUNKS": [1, 2], "RIGHT": 64}
    forms = [
        *({"INPUTS": 4, "REAL_INPUTS": 3, "HIDDEN": n, "WIDTH": 16, "FINAL": 4, "SIZE": 2000} for n in (1, 3)),
        {"INPUTS": 16, "REAL_INPUTS": 9, "HIDDEN": 2, "WIDTH": 16, "FINAL": 20, "SIZE": 4000},
    ]
    variants = choices(UNROLLED=[False, True], WITH_FEATURES=[False, True], WEIGHTS=["f32", "f16"])
    return [{**common, **form, **variant} for form, variant in product(forms, variants)]


FLUIDS = choices(MOST=[56], FIELD=["", "grid", "placed"], GRID_WRAPS=[False], OBSTACLES=[2])

# The values of each file. Values that a file does not use are left out.
SHADERS: dict[str, list[Defines]] = {
    "language/attention.wgsl": [
        {**HEADS, **chosen, "WINDOW": window, "SCORES": scores, "SUBGROUP": subgroup}
        for (chosen, window, scores) in (
            ({"DECODE": True, "SPLITS": 8, "CACHE": "f16", "NORMED": True, "ROTATED": True}, 0, True),
            ({"DECODE": False, "SPLITS": 1, "CACHE": "f32", "NORMED": False, "ROTATED": False}, 64, False),
        )
        for subgroup in (0, 8)
    ],
    "language/choose.wgsl": [{}],
    "language/embed.wgsl": choices(FORMAT=["f16", "bf16"], INNER=[64], POSITIONS=[False, True]),
    "language/feed.wgsl": choices(CONTEXT=[16], POSITIONED=[False, True], WRITTEN=[False, True]),
    "language/matmul.wgsl": [
        {"FORMAT": format, "GROUP": 64, "INNER": 128, "BIAS": bias, "THEN": then, "ACTIVATION": activation}
        for format, bias, then, activation in PACKED
    ],
    "language/matvec.wgsl": [
        {
            **{"FORMAT": format, "GROUP": 64, "INNER": 128, "BIAS": bias, "THEN": then, "ACTIVATION": activation},
            **{
                "THREADS": 64,
                "LANES": 8,
                "TURNS": 1,
                "SUBGROUP": subgroup,
                "SECTION": section,
                "NORM": norm,
                "SHIFT": norm == "layer",
            },
            **{"SPLITS": splits, "HEADS": 4, "HEAD": 32, "TILE": 128},
        }
        for (format, bias, then, activation), (section, norm, splits) in zip(
            PACKED, ((128, "rms", 0), (128, "layer", 0), (64, "", 0), (128, "", 8)), strict=True
        )
        for subgroup in (0, 8)
    ],
    "language/normalize.wgsl": choices(INNER=[64], NORM=["rms", "layer"], SHIFT=[False, True]),
    "language/observe.wgsl": [{"CONTEXT": 128}],
    "language/project.wgsl": [
        {name: value for name, value in HEADS.items() if name != "TILE"}
        | {"CACHE": cache, "NORMED": normed, "ROTATED": normed}
        for cache, normed in (("f16", True), ("f32", False))
    ],
    "learn/loss_scale.wgsl": [{}],
    "learn/nearest.wgsl": choices(AXES=[1, 2, 3, 8]),
    "learn/similarity.wgsl": [{"WEIGHTS": [0.2, 0.6, 0.2]}],
    "learn/optimize.wgsl": choices(
        RULE=["sgd", "adam"], MOMENTUM=[False, True], NESTEROV=[False, True], DECOUPLED=[False, True]
    ),
    "ops/compact.wgsl": choices(RANK=[0, 1, 8], INDICES=[False, True]),
    "ops/elementwise.wgsl": [
        {
            "INPUTS": (("a", "u32", "tensor"), ("b", "u32", "tensor")),
            "STATEMENTS": ("let v0 = power_words(vec2u(a_, b_), divide_words(vec2u(a_, b_), vec2u(b_)).zw);",),
            "LAST": "real_of_words(words_of_real(v0.x))",
            **{"RESULT": "u32", "OUT": "u32", "FUNCTIONS": ("words",), "RANK": 2, "USES_F16": False, "USES_F64": False},
            **{"WORKGROUP": 128, "WIDE": False, "QUADS": ()},
        },
    ]
    + [
        {
            "INPUTS": (("a", dtype, "tensor"), ("b", "f32", "number"), ("c", out, "out")),
            "STATEMENTS": ("let v0 = b_ * f32(c_);", "let v1 = precise_erf(f32(a_) + v0);"),
            "LAST": "v1",
            "RESULT": "f32",
            "FUNCTIONS": ("activation", "precise"),
            **{"WORKGROUP": 256 if wide else 128, "WIDE": wide, "QUADS": ("out", "a") if wide else ()},
            "OUT": out,
            "RANK": rank,
            "USES_F16": "f16" in (dtype, out),
            "USES_F64": False,
        }
        for dtype, out, rank, wide in (
            ("f32", "f32", 1, False),
            ("u8", "f32", 3, False),
            ("bool", "f16", 8, False),
            ("f16", "i32", 0, False),
            ("i32", "u8", 2, False),
            ("f32", "f16", 1, True),
            ("bool", "bool", 2, True),
        )
    ]
    + [
        {
            "INPUTS": (("a", "f64", "tensor"), ("b", "f64", "number")),
            "STATEMENTS": ("let v0 = double_sin(a_) + double_erf(b_);",),
            **{"LAST": "v0", "RESULT": "f64", "OUT": out, "RANK": 2, "USES_F16": out == "f16", "USES_F64": True},
            "FUNCTIONS": ("double_powers", "double_angles", "double_activation"),
            **{"WORKGROUP": 256 if wide else 128, "WIDE": wide, "QUADS": ("out", "a") if wide else ()},
        }
        for out, wide in (("f64", True), ("f32", False), ("f16", False), ("u8", False), ("i32", True), ("bool", False))
    ],
    "ops/conv.wgsl": [
        {
            **{"X": dtype, "W": dtype, "OUT": dtype, "BIAS": bias, "RESIDUAL": bias, "VALUE": value},
            **{"ROWS": rows, "COLUMNS": 128, "EACH_ROW": each, "EACH_COLUMN": each, "STEP": 16, "UNROLL": 16},
            **{"SPLIT": split, "WHOLE": whole, "W_COLUMN_MAJOR": whole, "ACTIVATION": "relu(x)" if bias else "x"},
        }
        for dtype, bias, value in (("f32", "", "f32"), ("f32", "f32", "f32"), ("f16", "f16", "f32"))
        for rows, each, split in ((128, 8, 1), (64, 8, 1), (16, 4, 2))
        for whole in (False, True)
    ],
    "ops/conv_winograd.wgsl": [
        {
            **{"X": dtype, "W": dtype, "OUT": dtype, "BIAS": bias, "RESIDUAL": bias, "VALUE": "f32"},
            **{"ROWS": rows, "COLUMNS": columns, "EACH_COLUMN": each, "STEP": 4},
            "ACTIVATION": "relu(x)" if bias else "x",
        }
        for dtype, bias in (("f32", ""), ("f16", "f16"))
        for rows, columns, each in ((64, 32, 8), (32, 16, 4))
    ],
    "ops/conv_join.wgsl": [
        {"X": "f32", "W": "", "OUT": out, "BIAS": bias, "RESIDUAL": bias, "VALUE": "f32", "ACTIVATION": activation}
        for out, bias, activation in (("f32", "", "x"), ("f32", "f32", "relu(x)"), ("f16", "f16", "x"))
    ],
    "ops/conv_direct.wgsl": choices(
        X=["u8", "i32"], W=["u8"], OUT=["i32"], BIAS=["", "i32"], RESIDUAL=[""], VALUE=["i32"], ACTIVATION=["x"]
    )
    + choices(X=["f64"], W=["f64"], OUT=["f64"], BIAS=["f64"], RESIDUAL=["", "f64"], VALUE=["f64"], ACTIVATION=["x"]),
    "ops/normalize.wgsl": [
        {
            **{"X": dtype, "SCALE": scale, "SHIFT": "f32", "OUT": dtype, "LANES": lanes, "ROWS": 256 // lanes},
            **{"CENTERED": centered, "STATISTICS": centered, "EACH": 0 if scale else 8},
        }
        for dtype, scale in (("f32", ""), ("f16", "f32"))
        for lanes in (8, 256)
        for centered in (False, True)
    ],
    "ops/pool.wgsl": [
        *choices(X=["f32", "f16"], OUT=["f32"], VALUE=["f32"], KIND=["max", "mean", "lp"], INDICES=[False], UNROLL=[1]),
        *choices(X=["u8"], OUT=["u8"], VALUE=["u32"], KIND=["max"], INDICES=[False, True], UNROLL=[1, 16]),
        *choices(X=["f64"], OUT=["f64"], VALUE=["f64"], KIND=["mean", "lp"], INDICES=[False], UNROLL=[1, 16]),
        *choices(X=["f64"], OUT=["f64"], VALUE=["f64"], KIND=["max"], INDICES=[False, True], UNROLL=[1]),
    ],
    "ops/softmax.wgsl": [
        {"X": "f32", "OUT": out, "COLUMNS": columns, "ROWS": rows, "KIND": kind, "ALONG": rows == 256, "EACH": each}
        | {"SUBGROUP": subgroup, "WIDE": wide}
        for subgroup in (0, 32)
        for out in ("f32", "f16")
        for columns, rows, each, wide in (
            (1, 256, 0, 0),
            (1, 256, 4, 0),
            (1, 256, 4, 1),
            (16, 16, 8, 0),
            (256, 1, 2, 0),
        )
        for kind in ("soft", "log", "hard")
        if kind != "hard" or not wide
    ],
    "ops/attention.wgsl": [
        {
            **{"Q": dtype, "K": dtype, "V": dtype, "OUT": dtype, "MASK": mask, "LENGTHS": bool(mask)},
            **{"WIDTH": width, "WIDTH_OUT": width, "KEYS": keys, "LANES": lanes, "GROUPS": 64 // lanes, "PART": part},
            **{"GAP": gap, "UNROLL": 8, "WIDE": not mask, "CAPPED": mask == "bool"},
        }
        for dtype, mask, width, keys, lanes, part, gap in (
            ("f32", "", 32, 32, 8, 1024, 1),
            ("f32", "bool", 64, 32, 8, 512, 1),
            ("f16", "f32", 128, 64, 16, 512, 1),
            ("f32", "f32", 256, 128, 32, 512, 0),
        )
    ],
    "ops/attention_rows.wgsl": [
        {
            **{
                "Q": dtype,
                "K": dtype,
                "V": dtype,
                "OUT": dtype,
                "LENGTHS": capped,
                "CAPPED": capped,
                "WIDE": not capped,
            },
            **{"WIDTH": width, "ROWS": 128, "KEYS": 16, "ROUND": 132, "SUBGROUP": 32},
        }
        for dtype, width, capped in (("f32", 64, False), ("f16", 32, True))
    ],
    "ops/cell.wgsl": [
        {
            **{"KIND": kind, "DTYPE": dtype, "BIAS": more, "PEEPHOLES": more and kind == "lstm", "LENGTHS": more},
            **{
                "COUPLED": more,
                "CLIPPED": more,
                "F": "sigmoid(x)",
                "G": "tanh_(x)",
                "H": "elu(x, params.h_parameters.x)",
            },
        }
        for kind in ("rnn", "lstm", "gru", "gru_linear", "gru_reset")
        for dtype, more in (("f32", False), ("f16", True))
    ]
    + [
        {
            **{"KIND": kind, "DTYPE": "f64", "BIAS": True, "PEEPHOLES": kind == "lstm", "LENGTHS": True},
            **{"COUPLED": False, "CLIPPED": True, "F": "double_sigmoid(x)", "G": "double_tanh(x)"},
            "H": "double_elu(x, params.h_parameters.x)",
        }
        for kind in ("rnn", "lstm", "gru", "gru_linear", "gru_reset")
    ],
    "ops/cell_backward.wgsl": [
        {
            **{"KIND": kind, "PEEPHOLES": more, "LENGTHS": more, "COUPLED": more, "CLIPPED": more},
            **{"F": "sigmoid(x)", "G": "tanh_(x)", "H": "elu(x, params.h_parameters.x)"},
            **{
                "F_DERIVATIVE": "sigmoid_derivative(x)",
                "G_DERIVATIVE": "tanh_derivative(x)",
                "H_DERIVATIVE": "relu_derivative(x)",
            },
        }
        for kind, more in (("rnn", True), ("lstm", False), ("lstm", True), ("gru", True), ("gru_linear", True))
    ],
    "ops/pad.wgsl": choices(DTYPE=STORED, RANK=[0, 3], MODE=["constant", "edge", "reflect", "wrap"]),
    "ops/resize.wgsl": [
        *choices(
            X=["f32", "f16"], OUT=["f32"], VALUE=["f32"], RANK=[3], TAPS=[(0, 2, 4)], WEIGHTED=[True], OUTSIDE=[True]
        ),
        *choices(X=["u8"], OUT=["u8"], VALUE=["u32"], RANK=[2], TAPS=[(1, 1)], WEIGHTED=[False], OUTSIDE=[False]),
        *choices(X=["f64"], OUT=["f64"], VALUE=["f64"], RANK=[2], TAPS=[(0, 2)], WEIGHTED=[True], OUTSIDE=[True]),
    ],
    "ops/sample_backward.wgsl": [
        {"X": "f32", "GRID": "f32", "GRADIENT": "f32", "RANK": rank, "MODE": mode, "PADDING": padding, "CORNERS": False}
        for rank, paddings in (
            (1, ("zeros", "border", "reflection")),
            (2, ("border", "reflection", "zeros")),
            (3, ("reflection", "zeros", "border")),
        )
        for mode, padding in zip(("nearest", "linear", "cubic"), paddings, strict=True)
    ],
    "ops/sample.wgsl": [
        {**types, **how}
        for types in (*choices(X=["f32", "f16"], GRID=["f32"], OUT=["f32"]), {"X": "f64", "GRID": "f64", "OUT": "f64"})
        for how in choices(
            RANK=[1, 2, 3],
            MODE=["nearest", "linear", "cubic"],
            PADDING=["zeros", "border", "reflection"],
            CORNERS=[False],
        )
    ],
    "ops/scatter.wgsl": [
        *choices(DTYPE=STORED, INDEX=["i32"], KIND=["gather", "none"], LAST=[False], DEPTH=[2], RANK=[0]),
        *choices(DTYPE=STORED, INDEX=["u8"], KIND=["none"], LAST=[True], DEPTH=[1], RANK=[0]),
        *choices(
            DTYPE=["f32", "i32"],
            INDEX=["u32"],
            KIND=["add", "mul", "min", "max"],
            LAST=[False],
            DEPTH=[0],
            RANK=[3],
        ),
        *choices(
            DTYPE=["u32"],
            INDEX=["i32", "u32", "u8"],
            KIND=["linear", "last"],
            LAST=[False],
            DEPTH=[0, 2],
            RANK=[3],
        ),
    ],
    "ops/pool_gradient.wgsl": choices(DTYPE=["f32", "f16"]),
    "ops/gather.wgsl": choices(DTYPE=STORED, INDEX=["i32", "u32"], RANK=[1, 8]),
    "ops/block_quantized.wgsl": [
        *choices(BITS=[2, 4, 8], MULTIPLY=[False], ROWS=[0], X=["f32"], OUT=["f32", "f16"], BIAS=[False]),
        *choices(BITS=[2, 4, 8], MULTIPLY=[True], ROWS=[1, 8], X=["f32"], OUT=["f32"], BIAS=[False, True]),
        {"BITS": 4, "MULTIPLY": True, "ROWS": 1, "X": "f16", "OUT": "f16", "BIAS": True},
    ],
    "ops/suppress.wgsl": [{}],
    "ops/roi_align.wgsl": choices(LARGEST=[False, True]),
    "ops/grid_keys.wgsl": choices(GRID_WRAPS=[False, True], AXES=[2, 3]),
    "ops/grid_normals.wgsl": [{}],
    "ops/histogram.wgsl": [
        {"DTYPE": dtype, "RANK": rank, "VALUES": values, "SHARED": shared}
        for dtype, values in (("f32", True), ("f16", True), ("u8", False), ("i32", False), ("bool", False))
        for rank, shared in ((0, 256), (1, 2048), (8, 0))
    ],
    "ops/matmul.wgsl": [
        defines | tile for defines, tile in zip([*PRODUCTS, DOUBLES[0]], [*TILES, TILES[0]], strict=True)
    ],
    "ops/matmul_small.wgsl": [*PRODUCTS, *DOUBLES],
    "ops/gemv.wgsl": [
        {**defines, **lines, "LOOPED": looped}
        for defines, lines, looped in zip(
            PRODUCTS,
            choices(ROWS=[1, 3], THREADS=[64], QUADS=[1, 4], TURNS=[1, 2]),
            [False, True, True, False] * 2,
            strict=True,
        )
    ],
    "ops/mlp.wgsl": networks(),
    "ops/mlp_pairs.wgsl": [
        {
            **{"X": dtype, "WEIGHTS": dtype, "OUT": dtype, "ACTIVATION": "relu(x)", "LAST": "x"},
            **{"REAL_INPUTS": 3, "INPUTS": 4, "HIDDEN": hidden, "WIDTH": width, "OUTPUTS": 8},
            **{"THREADS": 256, "SUBGROUP": 32},
        }
        for dtype, hidden, width in (("f32", 3, 64), ("f16", 1, 16))
    ],
    "ops/mlp_join.wgsl": [
        {
            "SECTIONS": [(0, 4, 16, 4, 2, 3, 9, 0, False, True), (128, 16, 4, 4, 1, 9, 2, 36, True, False)],
            "BIASES": [(192, 16, 1, 9, 27, True), (208, 4, 2, 2, 54, False)],
            **{"SIZE": 216, "SLICES": slices},
        }
        for slices in (1, 128)
    ],
    "ops/mlp_pack.wgsl": [
        {"SIZES": [3, 9, 7, 2], "LAYERS": [(4, 16), (16, 16), (16, 4)], "LAST_WIDE": False, "RIGHT": 64, "FINAL": 4}
        | {"WEIGHTS": dtype}
        for dtype in ("f32", "f16")
    ],
    "ops/mlp_backward.wgsl": backward_variants(),
    "ops/encoding.wgsl": [
        {name: value for name, value in defines.items() if name not in ("REAL_INPUTS", "INPUTS")} | types
        for defines, types in product(encodings()[1:], choices(X=["f32"], OUT=["f32", "f16"]))
    ],
    "ops/encoding_backward.wgsl": [
        {name: value for name, value in defines.items() if name not in ("REAL_INPUTS", "INPUTS")} | {"X": "f32"}
        for defines in encodings()[1:]
    ],
    "ops/radix_sort.wgsl": sorts(),
    "ops/random.wgsl": choices(KIND=["uniform", "normal", "integers"]),
    "ops/reduce.wgsl": reductions(),
    "ops/reorder.wgsl": [{}],
    "ops/scan.wgsl": scans(),
    "ops/segments.wgsl": [
        {
            **{"FROM": source, "TO": to, "VALUE": value, "LIFT": f"{value}(x)", "COMBINE": "a + b", "IDENTITY": "0"},
            **{"FINISH": finish, "LANES": lanes, "PIECE": 4096, "KEY": key},
        }
        for source, to, value, finish, key in (
            ("f32", "f32", "f32", "total / f32(rows)", "u32"),
            ("f16", "f16", "f32", "f16(total)", "i32"),
            ("u8", "u32", "u32", "total", "u32"),
        )
        for lanes in (1, 16, 256)
    ],
    "ops/sizes.wgsl": choices(DRAW=[False, True]),
    "ops/subgroup_size.wgsl": [{}],
    "ops/unit_peaks.wgsl": choices(FROM=["f32", "f16"], RANK=[0, 2, 8]),
    "ops/image_grid.wgsl": [
        {"PASS": step, "SCALE": scale, "SOURCES": (("source", dtype), *others)}
        for dtype in DTYPES
        for step, scale in (("ranges", ""), ("image", ""), ("image", "pairs"), ("image", "alone"))
        for others in ((), (("alongside_0", dtype), ("alongside_1", "f16")))
    ],
    "ops/summary.wgsl": [
        *choices(PASS=["elements", "bins"], FROM=DTYPES, VALUE=["f32"], RANK=[0, 2, 8], BINS=[64]),
        *choices(PASS=["elements", "bins"], FROM=["i32"], VALUE=["i32"], RANK=[1], BINS=[64]),
        *choices(PASS=["records"], FROM=[""], VALUE=["f32", "i32", "u32"], RANK=[0], BINS=[64]),
        *choices(PASS=["tensors", "rows"], FROM=[("f32",), ("f32", "f16")], VALUE=["f32"], RANK=[0], BINS=[64]),
    ],
    "models/mesh.wgsl": [{}],
    "models/unpack_rgb.wgsl": [{}],
    "models/asset.wgsl": [{}],
    "models/bars.wgsl": choices(DTYPE=["f32", "f16"]),
    "models/wind.wgsl": [{"SIDE": 16}],
    "models/point_levels.wgsl": [{}],
    "models/cloth.wgsl": choices(
        WIND=[False, True], OBSTACLE=["", "grid", "placed"], OBSTACLES=[2], SELF=[False, True]
    ),
    "models/cloth_contact.wgsl": choices(GRID_WRAPS=[True], MOST=[24]),
    "models/cloth_cut.wgsl": choices(BINS=[256]),
    "models/cloth_surface.wgsl": [{}],
    "models/nca_fit.wgsl": [{}],
    "models/wave_source.wgsl": [{}],
    "models/splat_fit_densify.wgsl": [{}],
    "models/splat_fit_project.wgsl": [{}],
    "models/splat_fit_tiles.wgsl": [{}],
    "models/splat_fit_views.wgsl": [{"SAMPLES": 3}],
    "models/splat_photos_project.wgsl": choices(ENTRY=["project", "backward"], HARMONICS=[0, 45]),
    "models/splat_photos_tiles.wgsl": [{}],
    "models/splat_photos_densify.wgsl": [{}],
    "models/splat_photos_views.wgsl": [{}],
    "models/relief.wgsl": choices(DTYPE=["f32", "f16"], CHANNELS=[1, 3], HEIGHT=["", "f32", "f16"]),
    "models/mpm.wgsl": choices(
        **{"WORKGROUP": [32, 128], "OBSTACLE": ["", "grid", "placed"], "OBSTACLES": [2]},
        **{"HARDEST": [4.0], "DENSEST": [0.75], "LOOSEST": [1.02]},
    ),
    "models/nbody.wgsl": choices(TILE=[64, 128], UNROLL=[1, 8], EACH=[1, 2]),
    "models/nbody_barnes_hut.wgsl": choices(LEAF=[8, 16], GROUP=[32, 64]),
    "models/neural_field.wgsl": [
        {**network, "EACH_POINTS": points, "EACH_QUADS": quads}
        for network in choices(WIDTH=[16, 64], LAYERS=[3, 5], BANDS=[1, 3], ACTIVATION=["sine", "relu"])
        for points, quads in ((4, 1), (16, 4))
        if quads == 1 or network["LAYERS"] == 3
    ],
    "models/flow.wgsl": [{}],
    "models/flock.wgsl": choices(GRID_WRAPS=[False], PERIODIC=[False, True]),
    "models/smoke.wgsl": choices(OBSTACLE=["", "grid", "placed"], OBSTACLES=[0], AIR=[1.2])
    + choices(OBSTACLE=["placed"], OBSTACLES=[2], AIR=[1.2]),
    "models/smoke_advect.wgsl": [{}],
    "models/smoke_pressure.wgsl": choices(LAST_SWEEPS=[1, 32]),
    "models/sdf_surface.wgsl": [{}],
    "models/sdf_lattice.wgsl": [{}],
    "models/fluid.wgsl": FLUIDS,
    "models/fluid_pressure.wgsl": FLUIDS,
    "models/energy_input.wgsl": choices(PART=[64], MOVES=[False, True]),
    "models/rigid_body.wgsl": choices(OBSTACLES=[1, 3], FLAT=[False, True]),
    "models/fluid_body.wgsl": [{}],
    "models/foam.wgsl": choices(FLOOR=[False, True], FIELD=["", "placed"], GRID_WRAPS=[True]),
    "models/obstacle.wgsl": [{}],
    "models/fluid_pour.wgsl": [{}],
    "models/gray_scott.wgsl": choices(MESH=[False, True]),
    "models/lattice_boltzmann.wgsl": pairs(
        COLLISION=["regularized", "trt"],
        ENDS=["open", "periodic"],
        SIDES=["slip", "no slip", "periodic"],
        SHAPE=["none", "circle", "square", "airfoil", "mask", "placed"],
        OBSTACLES=[0],
    )
    + choices(
        COLLISION=["regularized", "trt"],
        ENDS=["open", "periodic"],
        SIDES=["slip", "no slip"],
        SHAPE=["placed"],
        OBSTACLES=[2],
    ),
    "models/shallow_water.wgsl": choices(EDGES=["walls", "open"], SECOND=[False, True]),
    "draw/bloom.wgsl": [{}],
    "draw/color_bar.wgsl": choices(ENCODED_BY_TARGET=[False, True], TRANSPARENT=[False, True], PER_BAR=[231]),
    "draw/floor.wgsl": choices(SPREAD=[False, True], COLUMN_PIXELS=[1, 8]),
    "draw/axes_bounds.wgsl": choices(TYPE=["f32", "i32", "u32"]),
    "draw/axes_box.wgsl": [{}],
    "draw/axes.wgsl": choices(ENCODED_BY_TARGET=[False, True], TRANSPARENT=[False, True]),
    "draw/bounds.wgsl": choices(TYPE=["f32", "i32", "u32"], WORKGROUP=[64, 128]),
    "draw/box.wgsl": [{}],
    "draw/occlusion.wgsl": choices(PLANES=[2, 3, 6], STEPS=[4], SPREAD=[False, True], COLUMN_PIXELS=[1, 8]),
    "draw/transparency.wgsl": [{}],
    "draw/cells.wgsl": choices(TYPE=["f32", "i32", "u32"]),
    "draw/accumulation.wgsl": choices(BY_SAMPLE=[False, True], SPLIT=[False, True]),
    "draw/post_process.wgsl": [
        *choices(
            GLOW=[False, True],
            EDGES=[False, True],
            ENCODED_BY_TARGET=[False, True],
            LINEAR=[False, True],
            BY_SAMPLE=[False, True],
            TRANSPARENT=[False, True],
            ENLARGED=[False, True],
            FINE=[1, 2],
            SPLIT=[False, True],
            TONE_MAP=["film"],
        ),
        *choices(
            **{name: [False] for name in ("GLOW", "EDGES", "ENCODED_BY_TARGET", "LINEAR", "BY_SAMPLE", "TRANSPARENT")},
            **{"ENLARGED": [False], "FINE": [1], "SPLIT": [False], "TONE_MAP": ["none", "agx", "neutral"]},
        ),
    ],
    "draw/post_process_cover.wgsl": [{}],
    "draw/depth_image.wgsl": choices(FINE=[1, 2]),
    "draw/handles.wgsl": choices(SAMPLES=[0, 4], ENCODED_BY_TARGET=[False, True]),
    "draw/hidden_rows.wgsl": [{}],
    "draw/highlight.wgsl": choices(
        POSITION=["vec3f", "vec3i"], SIZE=["", "f32", "u32"], ENCODED_BY_TARGET=[False, True]
    ),
    "draw/extent.wgsl": choices(TYPE=["f32", "i32", "u32"], WORKGROUP=[64, 128]),
    "draw/instances.wgsl": [
        {"POSITION": "vec3f", "MESH": "vec3f", "MESH_NORMAL": normal, **solid}
        | {"ARROW": arrow, "SIZE": "" if arrow else size, "DIRECTION": "vec3f" if arrow else direction, **color}
        for (normal, size, direction, arrow), solid, color in product(
            [
                ("", "", "", False),
                ("vec3f", "f32", "vec4f", False),
                ("vec3f", "vec3f", "vec3f", False),
                ("vec3f", "", "", True),
            ],
            SOLID,
            COLORS,
        )
    ],
    "draw/isosurface.wgsl": [
        {"COLOR_COMPONENTS": components, "VERTICES": 15, "FEW": 6, "DEPTH_ONLY": depth_only, **solid}
        for components, solid, depth_only in product([0, 1, 3], SOLID, [False, True])
    ],
    "draw/slices.wgsl": choices(
        **{"PICKING": [False, True], "DISPLAY_REFERRED": [False, True], "TONE_MAP": ["none", "agx"]},
        **{"GBUFFER": [False], "SAMPLE_MASK": [False, True]},
    ),
    "draw/isosurface_cells.wgsl": choices(VERTICES=[15], FEW=[6]),
    "draw/deferred.wgsl": choices(
        FORMAT=["rgba16float", "rgba32float"], AREA_LIGHTS=[False, True], SPREAD=[False, True], COLUMN_PIXELS=[1, 8]
    ),
    "draw/opacity_cover.wgsl": choices(LIQUID=[False, True]),
    "draw/samples_cover.wgsl": choices(BLENDED=[False, True]),
    "draw/farthest.wgsl": [{}],
    "draw/light.wgsl": [{}],
    "draw/reprojection.wgsl": choices(SPLIT=[False, True]),
    "draw/image.wgsl": [
        {**pixels, **drawn}
        for pixels, drawn in product(
            [
                *choices(DTYPE=["f32", "f16", "u8"], CHANNELS=[1, 3, 4], MARKED=[False]),
                {"DTYPE": "f32", "CHANNELS": 1, "MARKED": True},
            ],
            REFERRED,
        )
    ],
    "draw/splats.wgsl": [
        {**rows, "PICKING": picking, "SHADOWED": shadowed, "TONE_MAP": "neutral" if shadowed else "none"}
        for rows, (picking, shadowed) in product(SPLATS, [(False, False), (True, False), (False, True)])
    ],
    "draw/splat_tiles.wgsl": [{**rows, "SHADOWED": rows["COLOR"] == 3, "TONE_MAP": "film"} for rows in SPLATS],
    "draw/splat_tiles_cover.wgsl": [{}],
    "draw/splat_lists.wgsl": choices(ENTRY=["ordered", "pair", "finish", "delimit"]),
    "draw/splat_order.wgsl": choices(SCALE=[0, 3], ROTATION=[0, 4], OPACITY=[0, 1], COLOR=[0, 1, 3]),
    "draw/streamlines.wgsl": choices(SEEDS=[False, True], SCALARS=[False, True]),
    "draw/vectors.wgsl": [{}],
    "draw/marks.wgsl": [
        {"POSITION": "vec3f", "SIZE": size, **shape, "GBUFFER": False, **drawn, **color}
        for size, shape, drawn, color in product(
            ["", "f32"],
            [
                *choices(SHAPE=["disc", "sprite", "pixel"], SAMPLE_MASK=[False, True], SOFT=[False]),
                {"SHAPE": "sprite", "SAMPLE_MASK": True, "SOFT": True},
            ],
            REFERRED,
            COLORS,
        )
    ],
    "models/splat_mesh.wgsl": [{}],
    "draw/lines.wgsl": [
        {"POSITION": "vec3f", "WIDTH": width, "TRAILS": trails, "SAMPLE_MASK": mask, "GBUFFER": False, **drawn, **color}
        for width, trails, mask, drawn, color in product(["", "f32"], [False, True], [False, True], REFERRED, COLORS)
    ],
    "draw/points.wgsl": [
        {"POSITION": "vec3f", "SIZE": size, "PULLED": pulled, "CORNERS": 3, **solid, **color}
        for size, pulled, solid, color in product(["", "f32"], [False, True], SOLID, COLORS)
        if not pulled or (solid["SAMPLE_MASK"] and not solid["PICKING"])
    ],
    "draw/birds.wgsl": [
        {"POSITION": "vec3f", "DIRECTION": "vec3f", "SIZE": each, "BANK": each, **solid, **color}
        for each, solid, color in product(["", "f32"], SOLID, COLORS)
    ],
    "draw/liquid.wgsl": [
        {"POSITION": "vec3f", "SIZE": each, "DENSITY": each, "PICKING": picking}
        for each, picking in product(["", "f32"], [False, True])
    ],
    "draw/liquid_lists.wgsl": [
        {"TILE": 16, "LEVELS": 12, "ENTRY": entry, "POSITION": one, "SIZE": each, "DENSITY": each}
        for entry, (one, each) in product(["project", "count", "scatter"], [("f32", ""), ("i32", "u32")])
    ],
    "draw/liquid_shadow.wgsl": [
        {"ENTRY": entry, "POSITION": one, "SIZE": each, "DENSITY": each}
        for entry, (one, each) in product(["add_rows", "depths_of_texels"], [("f32", ""), ("i32", "u32")])
    ],
    "draw/liquid_tiles.wgsl": choices(
        TILE=[8, 16], PARTS=[1, 4], LEVELS=[12], ENTRY=["find_fronts", "find_behinds"], SPREAD=[False, True]
    ),
    "draw/bird_triangles.wgsl": [{}],
    "draw/liquid_filter.wgsl": choices(AXIS=["1, 0", "0, 1"], TAPS=[32], STRIDE=[1, 6], BEHIND=[False, True]),
    "draw/liquid_distance.wgsl": choices(GRID_WRAPS=[False]),
    "draw/liquid_shading.wgsl": choices(
        BEHIND=[False, True], AREA_LIGHTS=[False, True], FORMAT=["rgba16float", "rgba32float"], SPREAD=[True]
    ),
    "draw/liquid_outline.wgsl": [{}],
    "draw/liquid_cover.wgsl": [{}],
    "draw/point_splatting.wgsl": [
        {"SIZE": size, "PICKING": picking, **color}
        for size, picking, color in product(["", "f32"], [False, True], COLORS)
    ],
    "draw/point_splatting_composite.wgsl": [{}],
    "draw/surface.wgsl": [
        {"POSITION": "vec3f", "NORMAL": normal, **solid, **color}
        for normal, solid, color in product(["", "vec3f"], LIT, COLORS)
    ],
    "draw/asset.wgsl": [
        {"POSITION": "vec3f", "NORMAL": "vec3f", "TANGENT": more and "vec4f", "TEXCOORD": more and "vec4f", **color}
        | {"MATERIAL": more and "f32", "SAMPLE_MASK": mask, "GBUFFER": False, "LIGHTS": bool(more)}
        | {"COLUMNS": 148 if more else 76, "COATS": bool(more), "TRANSMISSION": bool(more) and mask}
        for more, mask, color in product(["", "all"], [False, True], COLORS)
    ],
    "path_trace/trace.wgsl": choices(COUNT=[False], MAPS=[False, True], LOBES=[False, True], TUBES=[False, True])
    + choices(COUNT=[True], MAPS=[False], LOBES=[False], TUBES=[False]),
    "path_trace/composite.wgsl": [{}],
    "draw/environment_maps.wgsl": choices(
        PART=["image", "sky", "panorama", "shrink", "prefilter", "irradiance", "table", "backdrop"], IMAGE=[False, True]
    ),
    "draw/light_behind.wgsl": [{}],
    "draw/texture_maps.wgsl": choices(FILL=[False, True], SRGB=[False, True]),
    "draw/trail.wgsl": choices(TYPE=["f32", "i32", "u32"]),
    "draw/volume.wgsl": choices(
        COLOR_COMPONENTS=[0, 1, 3],
        PICKING=[False, True],
        TEMPERATURE=[False, True],
        FORMAT=["rgba16float"],
        SPREAD=[True],
    ),
    "draw/soft_cover.wgsl": [{}],
    "draw/volume_light.wgsl": [{}],
}


def files() -> list[str]:
    root = resources.path("shaders")
    return sorted(path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).glob("**/*.wgsl"))


def asked_for(name: str) -> set[str]:
    """The values that a shader file and its includes require, without those that the file sets."""
    environment = shader._environment()
    tree = environment.parse(resources.shader(name))
    names = jinja2.meta.find_undeclared_variables(tree)
    included = {other for other in jinja2.meta.find_referenced_templates(tree) if other}
    set_here = {
        each.target.name for each in tree.find_all(jinja2.nodes.Assign) if isinstance(each.target, jinja2.nodes.Name)
    }
    return names.union(*(asked_for(other) - set_here for other in included))


def test_every_shader_file_is_in_the_table() -> None:
    assert files() == sorted(SHADERS)


@pytest.mark.parametrize("name", SHADERS)
def test_the_table_has_exactly_the_required_values(name: str) -> None:
    asked = asked_for(name)
    assert [(set(defines) ^ asked) - OPTIONAL for defines in SHADERS[name]] == [set()] * len(SHADERS[name])


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SHADERS)
def test_every_shader_compiles(gpu: Gpu, name: str) -> None:
    for defines in SHADERS[name]:
        lacking = [kind for kind in ("f16", "f64") if f"shader-{kind}" not in gpu.features]
        if any(kind in str(defines) for kind in lacking):
            continue
        if defines.get("SUBGROUP") and "subgroup" not in gpu.features:
            continue
        source = shader.render(name, defines)
        entries = [] if name in NO_KERNELS else COMPUTE.findall(source)
        for entry in entries:
            kernel = Kernel.load(name, entry, defines)
            assert kernel.bindings, entry
            assert kernel.pipeline, entry  # waits for the compiler
        if not entries:
            gpu.device.create_shader_module(label=name, code=source)


@pytest.mark.parametrize(
    "name", [*SHADERS, *(f"common/{p.name}" for p in resources.path("shaders", "common").iterdir())]
)
def test_every_shader_begins_with_a_description(name: str) -> None:
    assert re.match(r"// \w", resources.shader(name))
