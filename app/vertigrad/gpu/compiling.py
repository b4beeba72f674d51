"""`compile_kernels`: what plans need is compiled before their first replay, and counted."""

from __future__ import annotations

from collections.abc import Sequence

from ..progress import is_followed, report
from .plan import Plan
from .process import gpu


def compile_kernels(plans: Sequence[Plan]) -> None:
    """Compile every kernel of `plans` that is new, and report how many are; only where somebody follows that.

    Most drivers compile when a pipeline is created, which threads do. llvmpipe does at the first dispatch. Raises
    `ShaderError`.
    """
    if not is_followed():
        return
    is_software = gpu().adapter.kind == "software"
    uses = {use.kernel: use for plan in plans for use in plan.first_uses if not use.kernel.is_compiled}
    for kernel in uses:
        kernel.start()
    for number, (kernel, use) in enumerate(uses.items()):
        report(f"compiling kernels: {number} of {len(uses)}", number, len(uses))
        if is_software:
            use.compile()
        kernel.wait()
        kernel.is_compiled = True
    if uses:
        report(f"compiling kernels: {len(uses)} of {len(uses)}", 1, 1)
