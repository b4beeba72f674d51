"""The README's program for the library runs, and its comments are correct."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.errors import StillInUse
from vertigrad.gpu import Gpu
from vertigrad.memory import State

from .test_questions import code

README = Path(__file__).resolve().parents[2] / "README.md"
COMMENTS = ("shares the block: no bytes move", "the first write copies", "it cannot be freed or moved in here")


def copied(gpu: Gpu) -> int:
    return gpu.meter.read()["geometry"]["device_to_device"]


@pytest.mark.usefixtures("steady")
def test_the_comments_of_the_program_are_correct(gpu: Gpu) -> None:
    """Statement by statement; the body of its `with` block is left to the reader, and so to `borrowed`."""
    program = code(README)
    assert all(comment in program for comment in COMMENTS)
    statements = ast.parse(program, str(README)).body
    first = next(at for at, one in enumerate(statements) if ast.unparse(one) == "import vertigrad")  # after the script
    *statements, clone, write, lending = statements[first - 1 :]
    names: dict[str, Any] = {}
    run(statements, names)

    before = copied(gpu)
    run([clone], names)
    x, y = names["x"], names["y"]
    assert y.block is x.block and copied(gpu) == before

    run([write], names)
    assert y.block is not x.block and copied(gpu) == before + x.nbytes
    assert np.array_equal(y.numpy(), x.numpy() + np.float32(1.0))

    assert isinstance(lending, ast.With) and [ast.unparse(part) for part in lending.body] == ["..."]
    lending.body = ast.parse("borrowed()").body
    names["borrowed"] = lambda: borrowed(gpu, names)
    run([lending], names)
    y.close()


def borrowed(gpu: Gpu, names: dict[str, Any]) -> None:
    """Check the buffer inside of `resource`, which is neither freed nor moved."""
    x, buffer, offset, size = (names[name] for name in ("x", "buffer", "offset", "size"))
    block = x.block
    assert isinstance(buffer, wgpu.GPUBuffer) and block.buffer is buffer
    assert (offset, size) == (0, x.nbytes - 4)  # to the end of the second column
    with x.clone() as copy:
        x.mul_(2.0)
        assert x.block is block and copy.block is not block
    with pytest.raises(StillInUse, match="destroyed when nothing needs it"):
        buffer.destroy()
    x.close()
    gpu.wait_idle()
    gpu.pool.trim()
    assert block.buffer is buffer and block.state is State.LIVE


def run(statements: list[ast.stmt], names: dict[str, Any]) -> None:
    exec(compile(ast.Module(statements, []), str(README), "exec"), names)
