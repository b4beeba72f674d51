"""The rules by which gradients flow back through operations; importing this gives them to `ops.differentiable`."""

from . import elementwise, moves, networks, normalizing, pools, products, reductions

__all__ = ["elementwise", "moves", "networks", "normalizing", "pools", "products", "reductions"]
