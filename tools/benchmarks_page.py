"""Write the tables of docs/benchmarks.md from the results in docs/benchmarks/*.json, which `make bench` writes.

With --check nothing is written; the exit code is 1 if the page is outdated.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- results: made by tools/benchmarks_page.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    """Three significant digits, thousands grouped, never in exponent form."""
    if value >= 1000:
        return f"{value:,.0f}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"


def row(result: dict[str, Any]) -> str:
    """One result as a line of the table."""
    peers = "; ".join(f"{name} {number(value)}" for name, value in result["peers"].items())
    ratio = "" if result["ratio"] is None else f"**{result['ratio']:.2f}×** {result['peer']}"
    least = "" if result["least"] is None else f"{result['least']:g}×"
    work = result["work"] + (f" (commit {result['commit']})" if "commit" in result else "")
    return f"| {work} | {number(result['ours'])} {result['unit']} | {peers} | {ratio} | {least} |"


def section(run: dict[str, Any]) -> list[str]:
    """One machine: its description, and a table of its results."""
    packages = ", ".join(f"{name} {version}" for name, version in run["packages"].items())
    lines = [
        f"### {run['adapter']}, {run['backend']}",
        "",
        f"Driver {run['driver']}; {run['cpu']}; {run['system']}; {packages}. Commit {run['commit']}, {run['date']}.",
        "",
        "| work | ours | peers | speed relative to the peer | at least |",
        "|---|---|---|---|---|",
    ]
    for benchmark, results in groupby(run["results"], key=lambda result: result["benchmark"]):
        lines += [f"| **{benchmark}** | | | | |", *(row(result) for result in results)]
    return [*lines, ""]


def page(text: str) -> str:
    """The page with new tables between its two marks."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "benchmarks").glob("*.json"))]
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    tables = "\n".join(line for run in runs for line in section(run))
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def main() -> int:
    """Write the page, or with --check compare it."""
    path = DOCS / "benchmarks.md"
    old = path.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        return 0 if new == old else 1
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
