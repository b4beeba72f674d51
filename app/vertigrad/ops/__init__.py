"""Operations on tensors, as functions of NumPy's names. Importing this gives `Tensor` its operators."""

from ..tensor import operators
from . import functions
from .concat import concatenate, stack
from .elementwise import OPERATIONS, assign, cast, copy, elementwise
from .functions import *  # noqa: F403
from .gather import take, take_along_axis
from .grid import grid_normals, record_grid_normals
from .matmul import matmul
from .reduce import all, any, argmax, argmin, max, mean, min, prod, sum

# fmt: off
__all__ = [
    "all", "any", "argmax", "argmin", "assign", "cast", "concatenate", "copy", "elementwise", "grid_normals", "matmul",
    "max", "mean", "min", "prod", "record_grid_normals", "stack", "sum", "take", "take_along_axis",
]
# fmt: on
__all__ += functions.__all__

operators.provide({name: getattr(functions, name) for name in OPERATIONS if name != "assign"})
operators.provide({"assign": assign, "cast": cast, "copy": copy, "matmul": matmul})
operators.provide({"sum": sum, "prod": prod, "mean": mean, "min": min, "max": max, "any": any, "all": all})
operators.provide({"argmin": argmin, "argmax": argmax, "take": take})
