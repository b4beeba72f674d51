"""Sums of products by Einstein's convention, as matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ShapeError
from ..tensor import Tensor
from . import launch
from .define import Operand
from .elementwise import copy
from .functions import multiply, where
from .matmul import matmul
from .reduce import sum as total


class _Term(NamedTuple):
    tensor: Tensor
    labels: str


def einsum(equation: str, *operands: Operand, out: Tensor | None = None) -> Tensor:
    """Sum of products over all labels of `equation` that are not in its result, as `numpy.einsum` has it.

    "bij,bjk->bik" multiplies matrices, "ii->i" is a diagonal, "..." stands for any further axes, which are broadcast;
    without "->" the result has the labels that occur once, in alphabetical order. Operands are taken two at a time from
    the left, each pair as one matrix product. Raises `ShapeError`.
    """
    with launch.tensors(*operands, composed=True) as tensors:
        result = _of_tensors(equation, tensors)
        if out is None and any(result.owner is tensor.owner for tensor in tensors):
            return copy(result)
        return launch.deliver("einsum", result, out)


def _of_tensors(equation: str, tensors: Sequence[Tensor]) -> Tensor:
    inputs, result = _parsed(equation, [tensor.ndim for tensor in tensors])
    sizes = _sizes(equation, tensors, inputs)
    shape = tuple(sizes[label] for label in result)
    terms = [_squeezed(_diagonal(_Term(t, labels)), sizes) for t, labels in zip(tensors, inputs, strict=True)]
    term = terms[0]
    for i, other in enumerate(terms[1:], 1):
        later = set(result).union(*(set(t.labels) for t in terms[i + 1 :]))
        term = _contracted(_summed(term, later | set(other.labels)), _summed(other, later | set(term.labels)), later)
    term = _summed(term, set(result))
    present = [label for label in result if label in term.labels]
    tensor = term.tensor.permute(*(term.labels.index(label) for label in present))
    spread = tensor[tuple(slice(None) if label in present else None for label in result)]
    return spread if spread.shape == shape else copy(spread.expand(*shape))


# inside -------------------------------------------------------------------------------------------------------------


def _parsed(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result; axes under "..." get characters from the far end of Unicode."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ShapeError(f"einsum: {equation!r} is for {len(inputs)} operands, not {len(ranks)}")
    most = max((n - len(t.replace("...", "")) for t, n in zip(inputs, ranks, strict=True) if "..." in t), default=0)
    more = "".join(chr(0x10000 + i) for i in range(max(most, 0)))
    named = []
    for term, rank in zip(inputs, ranks, strict=True):
        hidden = rank - len(term.replace("...", "")) if "..." in term else 0
        labels = term.replace("...", more[len(more) - hidden :] if hidden > 0 else "")
        if hidden < 0 or len(labels) != rank or not all(c.isalpha() or c in more for c in labels):
            raise ShapeError(f"einsum: {term!r} of {equation!r} does not name {rank} axes")
        named.append(labels)
    every = "".join(named)
    if arrow:
        result = right.replace("...", more)
    else:
        result = more + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in more))
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise ShapeError(f"einsum: the result {right!r} of {equation!r} must name labels of the operands, each once")
    return named, result


def _sizes(equation: str, tensors: Sequence[Tensor], inputs: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for tensor, labels in zip(tensors, inputs, strict=True):
        for label, n in zip(labels, tensor.shape, strict=True):
            if sizes.setdefault(label, n) != n:
                if 1 not in (sizes[label], n):
                    raise ShapeError(f"einsum: {equation!r} meets sizes {sizes[label]} and {n} for one label")
                sizes[label] = n if sizes[label] == 1 else sizes[label]
    return sizes


def _diagonal(term: _Term) -> _Term:
    """A label that occurs twice walks along both axes at once."""
    tensor, labels = term
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first, second = labels.index(label), labels.rindex(label)
            shape, strides = list(tensor.shape), list(tensor.strides)
            if shape[first] != shape[second]:
                raise ShapeError(f"einsum: no diagonal of axes of {shape[first]} and {shape[second]}")
            if tensor.node is not None:
                line = np.eye(shape[first], dtype=bool).reshape(
                    [n if i in (first, second) else 1 for i, n in enumerate(shape)]
                )
                tensor, labels = total(where(line, tensor, 0.0), second), labels[:second] + labels[second + 1 :]
                continue
            strides[first] += strides[second]
            del shape[second], strides[second]
            layout = tensor.layout._replace(shape=tuple(shape), strides=tuple(strides))
            tensor = tensor.as_strided(layout)
            labels = labels[:second] + labels[second + 1 :]
    return _Term(tensor, labels)


def _squeezed(term: _Term, sizes: dict[str, int]) -> _Term:
    remaining = [i for i, label in enumerate(term.labels) if term.tensor.shape[i] == sizes[label]]
    key = tuple(slice(None) if i in remaining else 0 for i in range(term.tensor.ndim))
    return _Term(term.tensor[key], "".join(term.labels[i] for i in remaining))


def _summed(term: _Term, remaining: set[str]) -> _Term:
    axes = tuple(i for i, label in enumerate(term.labels) if label not in remaining)
    if not axes:
        return term
    return _Term(total(term.tensor, axes), "".join(label for label in term.labels if label in remaining))


def _contracted(a: _Term, b: _Term, remaining: set[str]) -> _Term:
    """The product of two terms, summed over the labels that both have and nothing later needs."""
    both = [label for label in a.labels if label in b.labels]
    batch, inner = [c for c in both if c in remaining], [c for c in both if c not in remaining]
    rows, columns = [c for c in a.labels if c not in both], [c for c in b.labels if c not in both]
    left, right = _ordered(a, batch, rows, inner), _ordered(b, batch, inner, columns)
    product = matmul(left, right) if inner else multiply(left, right)
    labels = "".join([*batch, *rows, *columns])
    sizes = {c: n for term in (a, b) for c, n in zip(term.labels, term.tensor.shape, strict=True)}
    return _Term(product.reshape(*(sizes[c] for c in labels)), labels)


def _ordered(term: _Term, batch: Sequence[str], first: Sequence[str], second: Sequence[str]) -> Tensor:
    """As matrices (*batch, first, second); a copy only where the strides of axes to be merged require it."""
    tensor = term.tensor.permute(*(term.labels.index(c) for c in (*batch, *first, *second)))
    split = len(batch) + len(first)
    merged = tensor.shape[len(batch) : split], tensor.shape[split:]
    shape = (*tensor.shape[: len(batch)], *(math.prod(sizes) for sizes in merged))
    try:
        return tensor.reshape(*shape)
    except ShapeError:
        return tensor.contiguous().reshape(*shape)
