"""Locations for faults in files of Python or WGSL: used by tools/mutants.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is"}
COMPARISONS |= {"in": "not in", "not in": "in"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "<<": ">>", ">>": "<<"}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
SYMBOLS = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"},
    **{ast.LShift: "<<", ast.RShift: ">>"},
}
WGSL_TOKENS = re.compile(
    r"(?P<compare>(?<![<>=!-])(?:<=|>=|==|!=|<|>)(?=\s))|(?P<update>[+\-*]=)|(?P<arithmetic>(?<=\s)[+\-*/](?=\s))"
    r"|(?P<call>\b(?:min|max|floor|ceil|sin|cos)\b(?=\())|(?P<number>(?<![\w.@(])\d+\.?\d*(?:u|i|f)?\b(?!\s*\)))"
)
WGSL_CALLS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "sin": "cos", "cos": "sin"}
NOT_RUN = (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom, ast.AnnAssign)

_CACHE = "how many things are kept for reuse: with one more, nothing else comes out"
_FASTER = "from which size on another kernel is faster: both give the same"
UNOBSERVABLE = {  # constants in which no fault is drawn, with the reason
    "gpu/plan_encodings.py": {"CACHED_LISTS": _CACHE},
    "renderer/pipelines.py": {"CACHED": _CACHE},
    "renderer/bindings.py": {"CACHED": _CACHE},
    "layers/point_splatting.py": {"CACHED": _CACHE, "MANY": _FASTER},
    "annotations/axes_bounds.py": {"CACHED": _CACHE},
    "ops/conv_tiles.py": {"BUSY": _FASTER, "FEW": _FASTER, "MOST_SLICES": _FASTER},
    "ops/product.py": {"BUSY": _FASTER, "LEAST_PART": _FASTER, "LEAST_LINE": _FASTER},
    "ops/product_variants.py": {"FEW": _FASTER},
    "ops/reduce.py": {"SHORT": _FASTER, "FEW_GROUPS": _FASTER},
    "ops/scans.py": {"SHORT": _FASTER, "MANY_LINES": _FASTER, "SPIN_LIMIT": "how long to wait before taking work over"},
    "ops/elementwise.py": {"MANY": _FASTER},
    "learn/fused.py": {"FEW_INPUTS, NARROW": _FASTER},
    "physics/nbody.py": {"MANY": _FASTER},
}


@dataclass(frozen=True)
class Fault:
    """Characters `start` to `end` of a file replaced by `new`."""

    path: Path
    group: str
    line: int
    end_line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The text with the fault in it."""
        assert text[self.start : self.end] == self.old
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"`{self.path}:{self.line}`: `{old[:70]}` → `{new[:70]}`"


def python_faults(path: Path, text: str, group: str) -> list[Fault]:
    """Every fault that can be put into a Python file; none in messages, logs, annotations, declarations and reprs."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def offset(line: int, column: int) -> int:  # columns of ast count bytes of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def fault(node: ast.expr | ast.stmt, start: int, end: int, new: str) -> Fault:
        line, last = node.lineno, node.end_lineno or node.lineno
        return Fault(path, group, line, last, start, end, text[start:end], new)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)

    def between(node: ast.expr, left: ast.expr, right: ast.expr, symbol: str, new: str) -> Iterator[Fault]:
        begin, end = span(left)[1], span(right)[0]
        at = text.find(symbol, begin, end)
        if at >= 0:
            yield fault(node, at, at + len(symbol), new)

    found: list[Fault] = []
    unobservable = UNOBSERVABLE.get("/".join(path.parts[-2:]), {})
    for node in _code(ast.parse(text), unobservable):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            symbol = SYMBOLS[type(node.ops[0])]
            found += between(node, node.left, node.comparators[0], symbol, COMPARISONS[symbol])
        elif isinstance(node, ast.BinOp) and type(node.op) in SYMBOLS and not _text(node):
            symbol = SYMBOLS[type(node.op)]
            found += between(node, node.left, node.right, symbol, ARITHMETIC[symbol])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            found += between(node, node.values[0], node.values[1], old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            start, symbol = span(node)[0], "not " if isinstance(node.op, ast.Not) else "-"
            found.append(fault(node, start, start + len(symbol), ""))
        elif isinstance(node, ast.If | ast.While):
            start, end = span(node.test)
            found.append(fault(node.test, start, end, f"not ({text[start:end]})"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            value = node.value
            new = str(not value) if isinstance(value, bool) else str(value + 1)
            found.append(fault(node, *span(node), new))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            found.append(fault(node, *span(node.func), CALLS[node.func.id]))
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            found.append(fault(node, *span(node), "pass"))
    return found


def _code(node: ast.AST, unobservable: Container[str] = ()) -> Iterator[ast.AST]:
    """Nodes with an effect: not messages, logs, declarations and what other tools check."""
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.FunctionDef):  # neither its decorators nor its annotations
        children = [*node.body, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    elif isinstance(node, ast.ClassDef):
        children = node.body
    for child in children:
        if isinstance(child, NOT_RUN) or (isinstance(child, ast.FunctionDef) and child.name in ("__repr__", "__str__")):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Expr) and ast.unparse(child).split(".")[0] in ("log", "_log"):
            continue
        if isinstance(child, ast.keyword) and child.arg == "strict":  # of zip: as good as an assertion
            continue
        if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]).strip("()") in unobservable:
            continue
        yield child
        yield from _code(child)


def _text(node: ast.BinOp) -> bool:
    """Whether strings or types are concatenated."""
    sides = (node.left, node.right)
    return any(
        isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides
    )


def wgsl_faults(path: Path, text: str, group: str) -> list[Fault]:
    """Every fault that can be put into a shader; none in comments, templates, declarations and attributes."""
    found, start = [], 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        code = line.split("//")[0]
        if "@" in code or code.lstrip().startswith(("const", "override", "struct", "fn ", "enable")) or "${" in code:
            code = ""
        for match in WGSL_TOKENS.finditer(code):
            old, kind = match.group(), match.lastgroup
            if kind == "compare":
                new = COMPARISONS[old]
            elif kind == "arithmetic":
                new = ARITHMETIC[old]
            elif kind == "update":
                new = {"+=": "-=", "-=": "+=", "*=": "/="}[old]
            elif kind == "call":
                new = WGSL_CALLS[old]
            else:
                digits = old.rstrip("uif")
                new = (str(float(digits) + 1.0) if "." in digits else str(int(digits) + 1)) + old[len(digits) :]
            begin = start + match.start()
            found.append(Fault(path, group, number, number, begin, begin + len(old), old, new))
        start += len(line)
    return found
