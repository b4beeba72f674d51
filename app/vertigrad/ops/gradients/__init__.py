"""The rules by which gradients flow back through operations; importing this gives them to `ops.differentiable`."""

from . import (
    arrangements,
    elementwise,
    encodings,
    moves,
    networks,
    normalizing,
    pools,
    products,
    recurrence,
    reductions,
    resampling,
    runs,
    sampling,
)

# fmt: off
__all__ = [
    "arrangements", "elementwise", "encodings", "moves", "networks", "normalizing", "pools", "products", "recurrence",
    "reductions", "resampling", "runs", "sampling",
]
# fmt: on
