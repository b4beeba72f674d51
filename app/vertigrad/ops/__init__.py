"""Operations on tensors, as functions of NumPy's names. Importing this gives `Tensor` its operators."""

from ..tensor import operators
from . import elementwise as _elementwise
from .elementwise import assign, cast, copy, elementwise

_functions = _elementwise.functions()
globals().update(_functions)
operators.provide({**_functions, "assign": assign, "cast": cast, "copy": copy})

__all__ = ["assign", "cast", "copy", "elementwise", *_functions]
