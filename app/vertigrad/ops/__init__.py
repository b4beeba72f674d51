"""Operations on tensors, as functions of NumPy's names. Importing this gives `Tensor` its operators."""

import difflib
from typing import TYPE_CHECKING, Any

from ..tensor import operators
from . import functions, network_functions, old_names, random
from .attention import attention
from .compaction import compact, masked_select, nonzero
from .concat import concatenate, roll, stack
from .conv import conv, conv_transpose, pack_conv_weights
from .creation import full, full_like, meshgrid, ones, ones_like, zeros, zeros_like
from .einsum import einsum
from .elementwise import assign, cast, copy, elementwise, evaluate, fused
from .encoding import HashEncoding, PositionalEncoding, encode, hash_encoding, positional_encoding
from .expression import OPERATIONS, Expression
from .functions import *  # noqa: F403
from .gather import take, take_along_axis
from .gradients.elementwise import activate, elementwise_with_gradient
from .grid import grid_normals
from .histograms import bincount, histogram
from .linear import gemm, linear
from .matmul import matmul
from .mlp import Mlp, mlp
from .neighbors import NeighborGrid, neighbor_grid, reorder
from .network_functions import *  # noqa: F403
from .normalize import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    layer_norm_with_statistics,
    local_response_norm,
    lp_norm,
    lp_normalize,
    rms_norm,
)
from .pad import depth_to_space, one_hot, pad, space_to_depth, tile, tril, triu
from .pool import (
    average_pool,
    global_average_pool,
    global_lp_pool,
    global_max_pool,
    lp_pool,
    max_pool,
)
from .ranges import arange, linspace
from .recurrent import gru, lstm, rnn
from .reduce import all, any, argmax, argmin, max, mean, min, prod, sum, sum_to
from .reductions import l1, l2, last_argmax, last_argmin, log_sum, log_sum_exp, norm, sum_square
from .resize import resize
from .sample import affine_grid, grid_sample
from .scans import cummax, cummin, cumprod, cumsum, scan
from .scatter import embedding, gather_nd, put, scatter_elements, scatter_nd
from .segments import reduce_by_key, segment_starts, segmented_reduce
from .sizes import dispatch_size, draw_size
from .softmax import hardmax, log_softmax, softmax
from .sorting import argsort, sort, sort_pairs, topk
from .statistics import allclose, dropout, outer, std, var
from .views import flip, split

# fmt: off
__all__ = [
    "Expression", "all", "any", "arange", "argmax", "argmin", "assign", "cast", "concatenate", "copy", "elementwise",
    "evaluate", "fused", "grid_normals", "linspace", "matmul", "max", "mean", "min", "norm", "prod",
    "roll", "stack", "sum", "take", "take_along_axis",
]
__all__ += [
    "HashEncoding", "Mlp", "PositionalEncoding", "encode", "gemm", "hash_encoding", "linear", "mlp",
    "positional_encoding", 
]
__all__ += [
    "NeighborGrid", "argsort", "bincount", "compact", "cummax", "cummin", "cumprod", "cumsum", "dispatch_size",
    "draw_size", "histogram", "neighbor_grid", "nonzero", "random", "reduce_by_key", "reorder",
    "scan", "segment_starts", "segmented_reduce", "sort", "sort_pairs", "topk",
]
__all__ += [
    "affine_grid", "attention", "average_pool", "batch_norm", "conv", "conv_transpose", "depth_to_space", "einsum",
    "embedding", "gather_nd", "global_average_pool", "global_lp_pool", "global_max_pool", "grid_sample",
    "group_norm", "gru", "hardmax", "instance_norm", "l1", "l2", "last_argmax", "last_argmin", "layer_norm",
    "layer_norm_with_statistics", "local_response_norm", "log_softmax", "log_sum", "log_sum_exp", "lp_norm",
    "lp_normalize", "lp_pool", "lstm", "max_pool", "one_hot", "pack_conv_weights", "pad",
    "resize", "rms_norm", "rnn", "scatter_elements", "scatter_nd", "softmax", "space_to_depth", "sum_square",
    "tile", "tril", "triu",
]
__all__ += [
    "allclose", "dropout", "flip", "full", "full_like", "masked_select", "meshgrid", "ones", "ones_like", "outer",
    "split", "std", "var", "zeros", "zeros_like",
]
# fmt: on
__all__ += functions.__all__
__all__ += network_functions.__all__

operators.provide({name: globals()[name] for name in OPERATIONS})
operators.provide({"activate": activate, "elementwise_with_gradient": elementwise_with_gradient, "sum_to": sum_to})
operators.provide({"assign": assign, "cast": cast, "copy": copy, "matmul": matmul})
operators.provide({"sum": sum, "prod": prod, "mean": mean, "min": min, "max": max, "any": any, "all": all})
operators.provide({"argmin": argmin, "argmax": argmax, "take": take, "put": put, "masked_select": masked_select})
operators.provide({"var": var, "std": std, "cumsum": cumsum, "cumprod": cumprod, "argsort": argsort})
operators.provide({"relu": network_functions.relu, "sigmoid": network_functions.sigmoid})

# What PyTorch, Python or C call an operation that has NumPy's name here.
_OTHER_NAMES = {
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    **{"abs": "absolute", "neg": "negative", "pow": "power", "mod": "remainder", "clamp": "clip", "cat": "concatenate"},
    **{"concat": "concatenate", "sub": "subtract", "mul": "multiply", "div": "divide", "gather": "take_along_axis"},
    **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"},
    **{"scatter": "scatter_elements", "mm": "matmul", "dot": "matmul", "fix": "trunc", "conv2d": "conv"},
}

if not TYPE_CHECKING:  # a type checker knows what there is

    def __getattr__(name: str) -> Any:
        """Raise `AttributeError` that says what the operation is called here."""
        if name in old_names.FUNCTIONS:
            return old_names.FUNCTIONS[name]
        close = [_OTHER_NAMES[name]] if name in _OTHER_NAMES else difflib.get_close_matches(name, __all__, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise AttributeError(f"vertigrad.ops has no {name!r}{hint}")
