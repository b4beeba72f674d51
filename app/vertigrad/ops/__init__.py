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
    "Expression", "HashEncoding", "Mlp", "NeighborGrid", "PositionalEncoding", "affine_grid", "all", "allclose", "any",
    "arange", "argmax", "argmin", "argsort", "assign", "attention", "average_pool", "batch_norm", "bincount", "cast",
    "compact", "concatenate", "conv", "conv_transpose", "copy", "cummax", "cummin", "cumprod", "cumsum",
    "depth_to_space", "dispatch_size", "draw_size", "dropout", "einsum", "elementwise", "embedding", "encode",
    "evaluate", "flip", "full", "full_like", "fused", "gather_nd", "gemm", "global_average_pool", "global_lp_pool",
    "global_max_pool", "grid_normals", "grid_sample", "group_norm", "gru", "hardmax", "hash_encoding", "histogram",
    "instance_norm", "l1", "l2", "last_argmax", "last_argmin", "layer_norm", "layer_norm_with_statistics", "linear",
    "linspace", "local_response_norm", "log_softmax", "log_sum", "log_sum_exp", "lp_norm", "lp_normalize", "lp_pool",
    "lstm", "masked_select", "matmul", "max", "max_pool", "mean", "meshgrid", "min", "mlp", "neighbor_grid", "nonzero",
    "norm", "one_hot", "ones", "ones_like", "outer", "pack_conv_weights", "pad", "positional_encoding", "prod",
    "random", "reduce_by_key", "reorder", "resize", "rms_norm", "rnn", "roll", "scan", "scatter_elements",
    "scatter_nd", "segment_starts", "segmented_reduce", "softmax", "sort", "sort_pairs", "space_to_depth", "split",
    "stack", "std", "sum", "sum_square", "take", "take_along_axis", "tile", "topk", "tril", "triu", "var", "zeros",
    "zeros_like",
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
        """Raise `AttributeError` that names the operation here."""
        if name in old_names.FUNCTIONS:
            return old_names.FUNCTIONS[name]
        close = [_OTHER_NAMES[name]] if name in _OTHER_NAMES else difflib.get_close_matches(name, __all__, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise AttributeError(f"vertigrad.ops has no {name!r}{hint}")
