"""Dispatches and draws as large as a number that only the GPU knows: of particles alive, or of what `compact` selected.

A kernel of such a dispatch takes `indirect=size`; it reads the number itself too, since the last workgroup may reach
beyond it. A draw takes the size by `draw_indirect` of a render pass.
"""

from __future__ import annotations

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, u32


def dispatch_size(number: Tensor, kernel: Kernel, *, each: int = 1, out: Tensor | None = None) -> Tensor:
    """Workgroups (three u32) of `kernel` for `number` times `each` invocations, `number` being a tensor of one u32.

    More workgroups than fit into one dimension are folded into two, as `Kernel` does it: such a kernel finds its index
    with `linear_index`. Raises `ShapeError`, `DtypeError`.
    """
    out = _prepared(number, out, 3)
    x, y, z = kernel.interface.workgroup
    if y * z != 1:
        raise ShapeError(f"dispatch_size: workgroups of {kernel.name} are {x} x {y} x {z}; they must be a row")
    limit = kernel.gpu.limits["max-compute-workgroups-per-dimension"]
    sizes = Kernel.load("ops/sizes.wgsl", defines={"DRAW": False})
    sizes(1, overwrites=("size",), number=number, size=out, each=each, workgroup=x, limit=limit)
    return out


def draw_size(number: Tensor, *, vertices: int = 0, out: Tensor | None = None) -> Tensor:
    """What an indirect draw reads (four u32), for `number` instances of `vertices` each; 0: for `number` vertices.

    Raises `ShapeError`, `DtypeError`.
    """
    out = _prepared(number, out, 4)
    kernel = Kernel.load("ops/sizes.wgsl", defines={"DRAW": True})
    kernel(1, overwrites=("size",), number=number, size=out, vertices=vertices)
    return out


def _prepared(number: Tensor, out: Tensor | None, words: int) -> Tensor:
    size = Tensor.empty(words, u32, temporary=True) if out is None else out
    if number.size != 1 or size.shape != (words,):
        raise ShapeError(f"a size of shape {size.shape} from a number of shape {number.shape}; ({words},) from (1,)")
    if number.dtype is not u32 or size.dtype is not u32:
        raise DtypeError(f"a size of {size.dtype} from a number of {number.dtype}; both must be u32")
    return size
