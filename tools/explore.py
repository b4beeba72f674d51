"""Search for bugs for a given time: new examples and seeds for the tests with random inputs.

These run in turns, each with another seed, until the time is up: the property tests (Hypothesis), the random input test
of the window, and damaged scene, mesh and network files. Failures are saved and repeated by `make test` from then on:
examples of Hypothesis in tests/fuzz/examples/, files in tests/fuzz/saved/, seeds of the monkey in
tests/fuzz/monkey_seeds.txt. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MONKEY = "tests/window/test_monkey.py"
MONKEY_SEEDS = ROOT / "tests" / "fuzz" / "monkey_seeds.txt"
LEFT_OUT = ("tests/bench", "tests/packaging", MONKEY)


def drawing_tests() -> list[str]:
    """Test files with Hypothesis, damaged files, and longer runs at the ends of all ranges, alone and in pairs."""
    found = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "hypothesis" in path.read_text("utf-8")]
    names = [path.relative_to(ROOT).as_posix() for path in found]
    return [name for name in names if not name.startswith(LEFT_OUT)] + [
        "tests/fuzz/test_files.py",
        "tests/models/test_extremes.py",
    ]


def pytest(tests: list[str], seed: int, until: float, *options: str, **variables: str) -> int | None:
    """Run tests with a seed; the exit code, or None if the time ran out before."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not bench", *options]
    command += ["--exhaustive", f"--hypothesis-seed={seed}"]
    environment = os.environ | {"VERTIGRAD_EXPLORE": "1", "VERTIGRAD_SEED": str(seed), **variables}
    try:
        left = max(1.0, until - time.monotonic())
        return subprocess.run([*command, *tests], cwd=ROOT, env=environment, timeout=left, check=False).returncode
    except subprocess.TimeoutExpired:
        return None


def keep_monkey(seed: int) -> None:
    """Add the failures to `make test`."""
    known = MONKEY_SEEDS.read_text(encoding="utf-8").split() if MONKEY_SEEDS.exists() else []
    MONKEY_SEEDS.write_text("\n".join([*known, str(seed)]) + "\n", encoding="utf-8")


def main() -> int:
    """Run the rounds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; drawn if not given")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    seed = random.randrange(1 << 30) if options.seed is None else options.seed
    until, files, failed, rounds = time.monotonic() + 60 * options.minutes, drawing_tests(), [], 0
    chance = random.Random(seed)
    while time.monotonic() < until:
        part = chance.sample(files, min(4, len(files)))
        print(f"round {rounds}, seed {seed}: {' '.join(part)}", flush=True)
        if pytest(part, seed, until, "-n", str(options.jobs), "--dist", "worksteal"):
            failed.append(f"seed {seed}: {' '.join(part)}")
        if rounds % 4 == 3 and pytest([MONKEY], seed, until, VERTIGRAD_MONKEY_SEEDS=str(seed)):
            keep_monkey(seed)
            failed.append(f"seed {seed}: {MONKEY}")
        seed, rounds = seed + 1, rounds + 1
    print(f"{rounds} rounds; " + ("nothing failed" if not failed else "failed:\n" + "\n".join(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
