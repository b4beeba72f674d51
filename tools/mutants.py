"""Mutation testing: insert faults into the program, one at a time, and check whether tests detect them.

    tools/mutants.py map                       which tests run which lines, and how long each takes
    tools/mutants.py run --count 160 --seed 7  faults of this seed, spread evenly over the packages and shaders
    tools/mutants.py run --only ops --tests tests/ops/test_pool.py   without a map: these tests for every fault

Faults in Python are drawn from the syntax tree (comparisons, arithmetic, conditions, constants, dropped statements),
those in WGSL from its tokens. Of a fault in Python, tests that run its line are tried; of one in a shader, those that
run the module which names it. `TestMap.of` says in which order. Results go to .mutants/results.jsonl one by one;
`--report FILE` writes the table and the survivors.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from fault_sites import Fault, python_faults, wgsl_faults

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".mutants"
RESULTS = WORK / "results.jsonl"
PACKAGE = ROOT / "app" / "vertigrad"
COPIED = ("app", "assets", "docs", "scenes", "shaders", "tests", "tools", "pyproject.toml", "README.md", "Makefile")
LEFT_OUT = ("tests/bench", "tests/packaging", "tests/window/test_time.py", "tests/window/test_start.py")
# Phases of tests for one fault: their number and total seconds; if they pass, the next phase.
PHASES = (120, 60.0), (1200, 240.0)
FOLDERS = {"draw": "renderer", "__main__.py": "cli", "panels": "window", "viewer": "window"}  # tests by package
OWN = 60  # tests of the file's own name that come before all others
LONGEST_NAME = 2000  # letters of a test's name: more do not fit on a command line
SLOWDOWN = 2  # ratio to the time without a fault above which a fault counts as detected


@dataclass(frozen=True)
class Outcome:
    """A fault, whether tests detected it, and the number of tests."""

    fault: Fault
    noticed: bool
    tests: int

    def row(self) -> dict[str, object]:
        """As it is written to `RESULTS`."""
        return {"fault": str(self.fault), "group": self.fault.group, "noticed": self.noticed, "tests": self.tests}


class TestMap:
    """The tests that run each line, as measured by `map`."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(WORK / "coverage"))
        self._data.read()
        found = json.loads((WORK / "durations.json").read_text(encoding="utf-8"))
        self._seconds: dict[str, float] = {
            test: seconds for test, seconds in found.items() if seconds >= 0 and len(test) < LONGEST_NAME
        }
        self._root = next(
            str(Path(f).parents[1]) for f in self._data.measured_files() if f.endswith("vertigrad/errors.py")
        )

    def of(self, fault: Fault) -> list[list[str]]:
        """The tests to try for a fault, in phases.

        Tests of the file's own name come first, then a test of each file in turn, those of the package's own folder
        before others. At the end come tests of the package's folder that are not known to run the line: lines
        run by their subprocesses were not measured.
        """
        if fault.path.suffix == ".py":
            # a line that runs at import, such as a constant, is detected by those that run the file's functions
            found = self._of_lines(fault.path, range(fault.line, fault.end_line + 1)) or self._of_file(fault.path)
        else:
            found = self._of_shader(fault.path)
        package = fault.path.parts[2 if fault.path.suffix == ".py" else 1]
        folder = f"tests/{FOLDERS.get(package, package)}/"
        near = {test for test in self._seconds if test.startswith(folder)}
        ordered = self._ordered(found, fault, folder) + self._ordered(near - found, fault, folder)
        return _phases(ordered, self._seconds)

    def _ordered(self, tests: set[str], fault: Fault, folder: str) -> list[str]:
        """One of each file in turn, the fastest first; those of the fault's own name, and of its folder, before."""
        turns: dict[str, int] = defaultdict(int)
        ranked = []
        for test in sorted(tests, key=lambda test: (self._seconds[test], test)):
            file = test.partition("::")[0]
            own = fault.path.stem in file and turns[file] < OWN
            ranked.append((not own, turns[file], not test.startswith(folder), self._seconds[test], test))
            turns[file] += 1
        return [rank[-1] for rank in sorted(ranked)]

    def _of_lines(self, path: Path, lines: Iterable[int]) -> set[str]:
        by_line = self._data.contexts_by_lineno(f"{self._root}/{path.relative_to('app')}")
        contexts = {context for line in lines for context in by_line.get(line, ())}
        return {test for context in contexts if (test := context.rpartition("|")[0]) in self._seconds}

    def _of_shader(self, path: Path) -> set[str]:
        """Of tests that run a module which names the shader, or one that includes it."""
        names, grown = {str(path.relative_to("shaders"))}, True
        shaders = {str(f.relative_to(ROOT / "shaders")): f.read_text() for f in (ROOT / "shaders").rglob("*.wgsl")}
        while grown:
            more = {name for name, text in shaders.items() if any(f'"{known}"' in text for known in names)}
            grown, names = not more <= names, names | more
        modules = [f for f in PACKAGE.rglob("*.py") if any(name in f.read_text(encoding="utf-8") for name in names)]
        return {test for module in modules for test in self._of_file(module.relative_to(ROOT))}

    def _of_file(self, path: Path) -> set[str]:
        lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
        return self._of_lines(path, range(1, lines + 1))


def _phases(tests: list[str], seconds: dict[str, float]) -> list[list[str]]:
    """The tests in order, distributed to the phases by time and number."""
    phases: list[list[str]] = []
    rest = iter(tests)
    for most, limit in PHASES:
        chosen, spent = [], 0.0
        for test in rest:
            chosen.append(test)
            spent += seconds[test]
            if spent > limit or len(chosen) == most:
                break
        phases.append(chosen)
    return [phase for phase in phases if phase]


def make_map(arguments: list[str]) -> None:
    """Run the suite with coverage of each test; further arguments go to pytest."""
    WORK.mkdir(exist_ok=True)
    config = WORK / "coveragerc"
    config.write_text(f"[run]\ndata_file = {WORK / 'coverage'}\nsource = vertigrad\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutant_durations", "--cov", f"--cov-config={config}"]
    command += [
        "--exhaustive",
        "--cov-context=test",
        "--cov-report=",
        *(f"--ignore={path}" for path in LEFT_OUT),
        *arguments,
    ]
    environment = with_path(ROOT / "app", ROOT / "tools") | {"MUTANT_DURATIONS": str(WORK / "durations.json")}
    subprocess.run(command, cwd=ROOT, env=environment | {"COVERAGE_CORE": "ctrace"}, check=False)


def with_path(*folders: Path) -> dict[str, str]:
    """The environment, with these folders first in Python's search path."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}


def drawn(count: int, seed: int, only: list[str]) -> list[Fault]:
    """`count` faults of a seed, spread evenly over packages and shaders."""
    chance = random.Random(seed)
    groups: dict[str, list[Path]] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "shaders").rglob("*.wgsl")]):
        relative = path.relative_to(ROOT)
        group = f"shaders/{relative.parts[1]}" if relative.parts[0] == "shaders" else relative.parts[2]
        group = str(relative) if str(relative) in only else group.removesuffix(".py")
        groups.setdefault(group, []).append(relative)
    names = [name for name in groups if not only or name in only]
    found: list[Fault] = []
    for turn in range(count * 20):
        group = names[turn % len(names)]
        paths = groups[group]
        path = chance.choices(paths, [max(1, (ROOT / p).stat().st_size) for p in paths])[0]
        text = (ROOT / path).read_text(encoding="utf-8")
        sites = python_faults(path, text, group) if path.suffix == ".py" else wgsl_faults(path, text, group)
        if sites and (fault := chance.choice(sites)) not in found:
            found.append(fault)
        if len(found) == count:
            break
    return found


def copied(folder: Path) -> Path:
    """A copy of the source tree for inserting faults."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    compileall.compile_dir(folder / "app", quiet=1)  # tests write no bytecode, so that no bytecode of a fault remains
    return folder


def passes(tests: list[str], tree: Path, seconds: float = 3600.0) -> bool:
    """Whether tests pass in a tree, within a time limit in seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--exhaustive", "-p", "no:cacheprovider", *tests]
    environment = with_path(tree / "app") | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def tried(fault: Fault, phases: list[list[str]], tree: Path, seconds: float) -> Outcome:
    """Insert the fault, run the tests until one detects it, and revert it."""
    path, count = tree / fault.path, 0
    whole = path.read_text(encoding="utf-8")
    path.write_text(fault.applied(whole), encoding="utf-8")
    try:
        for tests in phases:
            count += len(tests)
            if not passes(tests, tree, seconds):
                return Outcome(fault, True, count)
    finally:
        path.write_text(whole, encoding="utf-8")
    return Outcome(fault, False, count)


def run(options: argparse.Namespace) -> list[Outcome]:
    """Try the faults of a seed, several at once, each in a separate tree."""
    faults, seconds = drawn(options.count, options.seed, options.only), SLOWDOWN * PHASES[-1][1]
    WORK.mkdir(exist_ok=True)
    known = earlier_outcomes(faults) if options.resume else []
    faults = [fault for fault in faults if all(outcome.fault != fault for outcome in known)]
    RESULTS.write_text("".join(json.dumps(outcome.row()) + "\n" for outcome in known), encoding="utf-8")
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            trees.put(tree := copied(Path(folder) / str(number)))
        if options.tests:
            begun, chosen = time.perf_counter(), [[options.tests]] * len(faults)
            if not passes(options.tests, tree):
                sys.exit("without any fault these tests fail, or none is there: " + " ".join(options.tests))
            seconds = 60 + SLOWDOWN * (time.perf_counter() - begun)
        else:
            tests = TestMap()
            chosen = [tests.of(fault) for fault in faults]

        def one(fault: Fault, found: list[list[str]]) -> Outcome:
            tree = trees.get()
            try:
                outcome = tried(fault, found, tree, seconds)
            finally:
                trees.put(tree)
            print("noticed " if outcome.noticed else "SURVIVED", outcome.tests, outcome.fault, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome.row()) + "\n")
            return outcome

        return known + list(pool.map(one, faults, chosen))


def earlier_outcomes(faults: list[Fault]) -> list[Outcome]:
    """The results of an interrupted run of the same faults."""
    if not RESULTS.exists():
        return []
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    found = {row["fault"]: row for row in rows}
    return [Outcome(f, found[str(f)]["noticed"], found[str(f)].get("tests", 0)) for f in faults if str(f) in found]


def report(outcomes: list[Outcome], seed: int) -> str:
    """The score of each package, and the undetected faults, as Markdown."""
    noticed, total = Counter(o.fault.group for o in outcomes if o.noticed), Counter(o.fault.group for o in outcomes)
    lines = [f"{sum(noticed.values())} of {len(outcomes)} faults of seed {seed} were noticed "]
    lines[0] += f"({100 * sum(noticed.values()) / max(1, len(outcomes)):.1f} %).\n"
    lines += ["| package | faults | noticed |", "|---|---|---|"]
    lines += [f"| {group} | {total[group]} | {noticed[group]} |" for group in sorted(total)]
    lines += ["", "Not noticed:", "", *(f"- {o.fault} ({o.tests} tests)" for o in outcomes if not o.noticed)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Parse and execute the command line; the exit code is 1 if the score is below `--least`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("map", help="measure which tests run which lines; further arguments go to pytest")
    runs = verbs.add_parser("run", help="try faults")
    runs.add_argument("--count", type=int, default=160)
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    runs.add_argument("--only", nargs="+", default=[], help="packages, shaders/ops and the like, or files")
    runs.add_argument("--tests", nargs="+", default=[], help="try these for every fault; no map is needed")
    runs.add_argument("--resume", action="store_true", help="keep what an interrupted run of this seed has found")
    runs.add_argument("--least", type=float, default=0.0, help="percent to be noticed")
    runs.add_argument("--report", type=Path)
    options, rest = parser.parse_known_args()
    if options.verb == "map":
        make_map(rest)
        return 0
    outcomes = run(options)
    text = report(outcomes, options.seed)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    share = 100 * sum(o.noticed for o in outcomes) / max(1, len(outcomes))
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
