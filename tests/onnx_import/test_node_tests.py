"""ONNX's own tests of every operator: at least `PASSING` pass, and the others report that they are unsupported.

The page docs/onnx-operators.md is generated from the results: VERTIGRAD_UPDATE=1 in the environment writes it, in one
process. The operators are divided into parts, each a test, which run in parallel.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from vertigrad.errors import UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import backend

PASSING = 1810
PARTS = 8
HALF_ULPS = 2.0**-9  # of attention: 2 ulp of f16, as the runner itself allows of bfloat16
NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}  # of the expected values, where 0 is exact
PAGE = Path(__file__).parents[2] / "docs" / "onnx-operators.md"
HEAD = """# ONNX operators

What ONNX's own node tests (`onnx.backend.test`, onnx {version}) say of each operator: how many of its tests pass, and
how many are refused with `UnsupportedOp` before anything runs. None may give a wrong answer. An operator that ONNX
defines by others is also tested in that form; a test counts for the operator it is named after. The numbers are those
of the software adapter, and the test that checks them (`tests/onnx_import/test_node_tests.py`) makes this page.

{passed:,} of {total:,} tests pass. What is refused: training, random numbers, trees, image files. 64-bit floats need an
adapter with `shader-f64`, and are refused where not. 64-bit integers are stored in 32 bits where they are proven to
fit, else as pairs of words, which most operators take. bfloat16 is calculated in f32 and
rounded at each node; floats of 8 and 4 bits, and integers of up to 16, take 32 bits each. Text is worked on by the
host. Where a shape depends on numbers of the GPU, these are read back.

| operator | pass | refused |
|---|---:|---:|
"""


class Outcome(NamedTuple):
    passed: bool
    fault: str = ""


class Count(NamedTuple):
    """Tests of an operator."""

    passed: int
    refused: int


def run(case: Any) -> Outcome:
    model = case.model or onnx.load(os.path.join(case.model_dir, "model.onnx"))
    try:
        prepared = backend.prepare(model)
        try:
            for inputs, expected in data_sets(case, model):
                half = any(getattr(value, "dtype", None) == np.float16 for value in expected)
                rtol = max(case.rtol, HALF_ULPS) if half and case.name.startswith("test_attention") else case.rtol
                atol = NOISE.get(case.name, case.atol)
                found, expected = flat(prepared.run(inputs)), flat(expected)
                Runner.assert_similar_outputs(expected, found, rtol=rtol, atol=atol)
        finally:
            prepared.network.close()
    except UnsupportedOp:
        return Outcome(False)
    except Exception as error:
        return Outcome(False, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    return Outcome(True)


def flat(outputs: Iterable[Any]) -> list[Any]:
    """Arrays, and those in sequences after the length of each: the runner compares no arrays of rank 0 in them."""
    found = list[Any]()
    for value in outputs:
        found += [np.array(len(value)), *flat(value)] if isinstance(value, list) else [value]
    return found


@cache
def cases() -> dict[str, list[Any]]:
    """The tests of each operator."""
    found = defaultdict[str, list[Any]](list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            found[operator(case.name, case.model or onnx.load(os.path.join(case.model_dir, "model.onnx")))].append(case)
    return dict(sorted(found.items()))


def operator(name: str, model: onnx.ModelProto) -> str:
    """The operator that a test is named after; the one in its graph, if there is one only."""
    ops = {node.op_type for node in model.graph.node}
    if len(ops) == 1:
        return ops.pop()
    plain = name.removeprefix("test_").replace("_", "")
    named = [op for op in all_operators() if plain.startswith(op.lower())]
    return max(named, key=len) if named else sorted(ops)[0]


@cache
def all_operators() -> set[str]:
    return {schema.name for schema in onnx.defs.get_all_schemas()}


def data_sets(case: Any, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [value_of(v) for v in inputs], [value_of(v) for v in outputs]
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield read(folder, "input", model.graph.input), read(folder, "output", model.graph.output)


def value_of(item: Any) -> Any:
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def read(folder: Path, kind: str, entries: Any) -> list[Any]:
    found = []
    for index, entry in enumerate(entries):
        path = folder / f"{kind}_{index}.pb"
        if not path.exists():
            break
        if entry.type.HasField("sequence_type"):
            proto, convert = onnx.SequenceProto(), numpy_helper.to_list
        elif entry.type.HasField("optional_type"):
            proto, convert = onnx.OptionalProto(), numpy_helper.to_optional
        else:
            proto, convert = onnx.TensorProto(), numpy_helper.to_array
        proto.ParseFromString(path.read_bytes())
        found.append(convert(proto))
    return found


def page_of(counts: dict[str, Count]) -> str:
    passed, total = sum(count.passed for count in counts.values()), sum(map(sum, counts.values()))
    rows = "".join(f"| {op} | {count.passed or ''} | {count.refused or ''} |\n" for op, count in sorted(counts.items()))
    return HEAD.format(version=onnx.__version__, passed=passed, total=total) + rows


def counts_of(page: str) -> dict[str, Count]:
    rows = re.findall(r"^\| (\w+) \| (\d*) \| (\d*) \|$", page, re.MULTILINE)
    return {op: Count(int(passed or 0), int(refused or 0)) for op, passed, refused in rows}


@pytest.mark.turns(4)
@pytest.mark.parametrize("part", range(PARTS))
def test_node_tests_give_no_wrong_result_and_the_page_lists_unsupported_ones(gpu: Gpu, part: int) -> None:
    wrong, counts = list[str](), dict[str, Count]()
    for op in list(cases())[part::PARTS]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes = {case.name: run(case) for case in cases()[op]}
        wrong += [f"{name}: {outcome.fault}" for name, outcome in outcomes.items() if outcome.fault]
        passed = sum(outcome.passed for outcome in outcomes.values())
        counts[op] = Count(passed, len(outcomes) - passed)
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])
    if gpu.adapter.kind != "software" or "shader-f64" not in gpu.features:
        pytest.skip("the page has the numbers of the software adapter with Vulkan")
    page = counts_of(PAGE.read_text(encoding="utf-8"))
    if os.environ.get("VERTIGRAD_UPDATE") == "1":
        page = {op: count for op, count in (page | counts).items() if op in cases()}
        PAGE.write_text(page_of(page), encoding="utf-8")
    found = {op: page.get(op) for op in counts}
    assert found == counts, "run this test with VERTIGRAD_UPDATE=1 and look at the change"


def test_most_node_tests_pass() -> None:
    text = PAGE.read_text(encoding="utf-8")
    page = counts_of(text)
    assert text == page_of(page), "run this test with VERTIGRAD_UPDATE=1 and look at the change"
    assert {op: sum(count) for op, count in page.items()} == {op: len(tests) for op, tests in cases().items()}
    assert sum(count.passed for count in page.values()) >= PASSING


def test_results_are_computed_by_the_gpu(gpu: Gpu) -> None:
    """A node that gets its inputs at run time is not computed on the host."""
    for case in (case for tests in cases().values() for case in tests):
        if case.name in ("test_add", "test_conv_with_strides_padding", "test_softmax_axis_0", "test_matmul_2d"):
            network = backend.prepare(case.model).network
            (inputs, _), *_ = data_sets(case, case.model)
            program = network.program(dict(zip(network.inputs, inputs, strict=True)))
            assert len(program.plan) > 0
            assert not np.any([value.host is not None for value in program._values.values()])
            network.close()
