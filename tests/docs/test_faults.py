"""The mutation testing tools: locations of faults, and the order of tests."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import mutants

    return mutants


@pytest.fixture
def fault_sites(mutants: ModuleType) -> ModuleType:
    return sys.modules["fault_sites"]


def test_faults_are_drawn_only_in_code_that_runs(fault_sites: ModuleType) -> None:
    text = '''"""A file with 1 < 2."""
if TYPE_CHECKING:
    A = 1
__all__ = ["a"]
B = 2 * n
@decorated(3)
class C(base(4)):
    size: int = 5
    def __repr__(self): return str(6)
    def double(self, x: Literal[7] = 8) -> Literal[9]:
        """The 10."""
        log.info("%d", 11 + x)
        if x in seen:
            raise ValueError(12)
        drop(x, zip(x, x, strict=True))
        return f"{x + 13}"
'''
    faults = sorted(fault_sites.python_faults(Path("app/vertigrad/ops/any.py"), text, "ops"), key=lambda f: f.start)
    assert [(fault.line, fault.old, fault.new) for fault in faults] == [
        (5, "2", "3"),
        (5, "*", "/"),
        (10, "8", "9"),
        (13, "x in seen", "not (x in seen)"),
        (13, "in", "not in"),
        (15, "drop(x, zip(x, x, strict=True))", "pass"),
    ]
    assert all(fault.applied(text).count(fault.new) for fault in faults)


def test_excluded_constants_exist(fault_sites: ModuleType) -> None:
    for name, constants in fault_sites.UNOBSERVABLE.items():
        (path,) = (ROOT / "app" / "vertigrad").rglob(name)
        lines = path.read_text(encoding="utf-8")
        assigned = {ast.unparse(n.targets[0]).strip("()") for n in ast.parse(lines).body if isinstance(n, ast.Assign)}
        assert set(constants) <= assigned, name
        old = {fault.line for fault in fault_sites.python_faults(path, lines, "any")}
        assert not [line for n, line in enumerate(lines.splitlines(), 1) if n in old and line.startswith((*constants,))]


def test_tests_of_the_same_name_come_first_then_one_of_each_file_in_turn(mutants: ModuleType) -> None:
    chosen = mutants.TestMap.__new__(mutants.TestMap)
    seconds = {f"tests/ops/test_many.py::test[{n}]": 0.01 + n * 1e-6 for n in range(300)}
    seconds |= {
        "tests/ops/test_other.py::a": 1.0,
        "tests/scene/test_pools.py::a": 0.5,
        "tests/scene/test_pools.py::b": 0.1,
    }
    seconds |= {
        "tests/ops/test_slow.py::a": 100.0,
        "tests/ops/test_unmeasured.py::a": 2.0,
        "tests/cli/test_far.py::a": 0.1,
    }
    chosen._seconds = seconds
    ran = set(seconds) - {"tests/ops/test_unmeasured.py::a", "tests/cli/test_far.py::a"}
    chosen._of_lines = lambda path, lines: ran
    fault = mutants.Fault(Path("app/vertigrad/ops/pool.py"), "ops", 1, 1, 0, 1, "1", "2")

    first, second = chosen.of(fault)

    assert first[:2] == ["tests/scene/test_pools.py::b", "tests/scene/test_pools.py::a"]
    assert first[2:] == ["tests/ops/test_many.py::test[0]", "tests/ops/test_other.py::a", "tests/ops/test_slow.py::a"]
    assert second[0] == "tests/ops/test_many.py::test[1]"
    assert second[-1] == "tests/ops/test_unmeasured.py::a"
    assert {*first, *second} == ran | {"tests/ops/test_unmeasured.py::a"}
