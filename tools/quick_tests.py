"""The tests for the inner loop: folders that take seconds, and the tests of files that differ from the last commit.

A changed file of app/ or shaders/ selects test files of its name, a changed test file itself. Tests that open windows,
run long simulations or measure time are left to `make test`. Further arguments go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("memory", "tensor", "gpu", "learn", "headless", "scene")
SLOW = ("tests/headless/test_soak.py",)
SLOW_CASES = "not killed"


def changed() -> list[Path]:
    """Files that differ from the last commit, new ones included."""
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line[3:].split(" -> ")[-1].strip('"')) for line in done.stdout.splitlines()]


def nearest(path: Path) -> list[Path]:
    """The test files of a changed file."""
    if path.parts[0] == "tests":
        own = path.name.startswith("test_") and path.suffix == ".py" and "bench" not in path.parts
        return [ROOT / path] if own and (ROOT / path).exists() else []
    if path.parts[0] in ("app", "shaders"):
        return sorted((ROOT / "tests").rglob(f"test_{path.stem}.py"))
    return []


def main() -> int:
    """Run them in parallel; the exit code is pytest's."""
    chosen = [ROOT / "tests" / "test_architecture.py", ROOT / "tests" / "test_params.py"]
    chosen += [ROOT / "tests" / folder for folder in FOLDERS]
    chosen += [test for path in changed() for test in nearest(path) if "bench" not in test.parts]
    tests = [str(path.relative_to(ROOT)) for path in dict.fromkeys(chosen)]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
    command += [*tests, *(f"--ignore={path}" for path in SLOW), "-k", SLOW_CASES, *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
