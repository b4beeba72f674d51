"""64-bit integers that may not fit 32 bits: pairs of words, for nodes whose own lowering raised `Wide`.

Where the bound of a result proves that it fits, such as a remainder by a constant, it is stored in 32 bits again.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

from onnx import TensorProto, numpy_helper

from ... import ops
from ...ops import Expression, words
from ...ops.words import Words
from ...tensor import Tensor, bool_, f32, f64, i32, u32
from ..guards import Guard
from ..node import Node, Refused, Wide, lowered, storage_of
from ..registry import LOWERINGS, Result, lowers_wide
from ..values import CODES, INTEGERS, LIMIT, STORAGE, WIDE, WORD, Value
from .arithmetic import wrapped


def operand(node: Node, index: int) -> Words:
    """An input of integers as words, to calculate with."""
    value = node.value(index)
    if value.words is not None:
        return value.words.expressions()
    if value.elem in WIDE and value.host is not None:
        low, high = words.split(value.host)
        return Words(node.upload(low), node.upload(high)).expressions()
    narrow = node.operand(index)
    return words.widened(narrow if isinstance(narrow, Expression) else Expression.of(narrow))


def result(node: Node, found: Words, bound: int, elem: int) -> Value:
    """A value of integers, in 32 bits if they fit or if it has no more."""
    if elem in WIDE and bound > WORD:
        return Value(elem, words=found.evaluated(), sources=node.sources, bound=min(bound, LIMIT[elem]))
    low = ops.cast(found.expressions().low, STORAGE[elem])
    return node.result(wrapped(low, elem), elem, min(bound, WORD))


def is_signed(node: Node, index: int = 0) -> bool:
    return node.elem(index) != TensorProto.UINT64


def interval(value: Value) -> tuple[int, int]:
    """The least and the greatest that integers can be, as far as that is known."""
    if value.host is not None and value.host.size:
        return int(value.host.min()), int(value.host.max())
    bound = value.bound
    if value.words is None and bound >= WORD:  # not known: all that 32 bits hold
        bound = 1 << 31 if STORAGE[value.elem] is i32 else (1 << 32) - 1
    return (-bound if STORAGE[value.elem] is i32 else 0), bound


def bounds(node: Node, *indices: int) -> list[int]:
    """What the magnitudes of inputs cannot pass, as `Node.bounds`."""
    node.bounds(*indices)
    return [reach(*interval(node.value(index))) for index in indices]


def reach(low: int, high: int) -> int:
    return max(abs(low), abs(high))


# arithmetic ---------------------------------------------------------------------------------------------------------


@lowers_wide("Add", "Sub", "Mul")
def sum_or_product(node: Node) -> Value:
    function = {"Add": words.add, "Sub": words.subtract, "Mul": words.multiply}[node.op]
    bound = (operator.mul if node.op == "Mul" else operator.add)(*bounds(node, 0, 1))
    wraps = node.op == "Sub" and not is_signed(node)  # below 0
    found = function(operand(node, 0), operand(node, 1))
    return result(node, found, LIMIT[node.elem()] if wraps else bound, node.elem())


@lowers_wide("Div", "Mod")
def quotient_or_remainder(node: Node) -> Value:
    a, b = bounds(node, 0, 1)
    if node.op == "Div":
        function, bound = words.truncate_divide, a
    elif node.attribute("fmod", 0):
        function, bound = words.fmod, min(a, max(b - 1, 0))
    else:
        function, bound = words.remainder, max(b - 1, 0)
    return result(node, function(operand(node, 0), operand(node, 1), is_signed(node)), bound, node.elem())


@lowers_wide("Pow")
def power(node: Node) -> Value:
    base, exponent = bounds(node, 0, 1)
    if node.elem(1) not in INTEGERS:
        raise Refused("64-bit integers to the power of floats")
    bits = math.log2(max(base, 2)) * min(exponent, 64)
    bound = 1 << min(math.ceil(bits), 64)
    return result(node, words.power(operand(node, 0), operand(node, 1), is_signed(node)), bound, node.elem())


@lowers_wide("Neg", "Abs")
def negative_or_absolute(node: Node) -> Value:
    (bound,), x = bounds(node, 0), operand(node, 0)
    if node.op == "Neg":
        return result(node, words.negative(x), bound, node.elem())
    return result(node, words.absolute(x) if is_signed(node) else x, bound, node.elem())


@lowers_wide("Relu")
def relu(node: Node) -> Value:
    (bound,), x = bounds(node, 0), operand(node, 0)
    found = Words(*(ops.where(words.is_negative(x), 0, word) for word in x))
    return result(node, found, bound, node.elem())


@lowers_wide("Sign")
def sign(node: Node) -> Value:
    found = words.sign(operand(node, 0), is_signed(node))
    return node.result(ops.cast(found, STORAGE[node.elem()]), bound=1)


@lowers_wide("Min", "Max")
def smallest_or_largest(node: Node) -> Value:
    function, end = (words.minimum, min) if node.op == "Min" else (words.maximum, max)
    operands = [operand(node, index) for index in range(len(node))]
    bounds(node, *range(len(node)))
    lows, highs = zip(*(interval(node.value(index)) for index in range(len(node))), strict=True)
    found = functools.reduce(lambda a, b: function(a, b, is_signed(node)), operands)
    return result(node, found, reach(end(lows), end(highs)), node.elem())


@lowers_wide("Clip")
def clip(node: Node) -> Value:
    found, (low, high) = operand(node, 0), interval(node.value(0))
    bounds(node, *(index for index in range(3) if node.has(index)))
    for index, function, end in ((1, words.maximum, max), (2, words.minimum, min)):
        if node.has(index):
            found = function(found, operand(node, index), is_signed(node))
            least, greatest = interval(node.value(index))
            low, high = end(low, least), end(high, greatest)
    return result(node, found, reach(low, high), node.elem())


# bits ---------------------------------------------------------------------------------------------------------------


@lowers_wide("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(node: Node) -> Value:
    function = {"BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or, "BitwiseXor": ops.bitwise_xor}[node.op]
    bound = 1 << max(bounds(node, 0, 1)).bit_length()
    if node.op == "BitwiseAnd":  # not more than an operand that is not negative
        intervals = [interval(node.value(index)) for index in range(2)]
        bound = min([bound, *(high for low, high in intervals if low >= 0)])
    return result(node, words.bitwise(function, operand(node, 0), operand(node, 1)), bound, node.elem())


@lowers_wide("BitwiseNot")
def bitwise_not(node: Node) -> Value:
    (bound,) = bounds(node, 0)
    found = words.bitwise(ops.invert, operand(node, 0))
    return result(node, found, bound + 1 if is_signed(node) else LIMIT[node.elem()], node.elem())


@lowers_wide("BitShift")
def bit_shift(node: Node) -> Value:
    is_left = node.attribute("direction") == "LEFT"
    value, count = bounds(node, 0, 1)
    found = (words.left_shift if is_left else words.right_shift)(operand(node, 0), operand(node, 1))
    return result(node, found, value << min(count, 64) if is_left else value, node.elem())


# comparison ---------------------------------------------------------------------------------------------------------


@lowers_wide("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def compare(node: Node) -> Value:
    a, b, signed = operand(node, 0), operand(node, 1), is_signed(node)
    if node.op == "Equal":
        found = words.equal(a, b, signed)
    elif node.op in ("Less", "GreaterOrEqual"):
        found = words.less(a, b, signed)
    else:
        found = words.less(b, a, signed)
    found = ops.logical_not(found) if node.op.endswith("OrEqual") else found
    return node.result(found, TensorProto.BOOL)


# casts --------------------------------------------------------------------------------------------------------------


@lowers_wide("Cast", "CastLike")
def cast(node: Node) -> Value:
    """From and to 64 bits. A float that does not fit 64 bits is an error when outputs are read."""
    target = node.attribute("to") if node.op == "Cast" else node.elem(1)
    if target in CODES or node.elem() in CODES:
        raise Wide("64-bit integers that may not fit 32 bits, and floats of 8 bits or fewer")
    node.ignore("saturate", "round_mode")  # which are of such floats
    if STORAGE[node.elem()] is f64:
        return _of_double(node, target)
    if STORAGE[node.elem()].kind == "float":
        return _of_float(node, target)
    x = operand(node, 0)
    if target == TensorProto.BOOL:
        return node.result(ops.cast(ops.logical_not(words.is_zero(x)), bool_), target)
    storage = storage_of(target)
    if storage is f64:
        high = ops.cast(x.high, i32) if is_signed(node) else x.high
        return node.result(ops.add(ops.multiply(ops.cast(high, f64), 2.0**32), ops.cast(x.low, f64)), target)
    if storage.kind == "float":
        real = ops.evaluate(words.float_bits(x, is_signed(node))).bitcast(f32)
        return node.result(real if storage is f32 else ops.cast(real, storage), target)
    low, high = interval(node.value(0))
    wraps = target in WIDE and not (low >= 0 and high <= WORD)  # the other sign
    return result(node, x, LIMIT[target] if wraps else reach(low, high), target)


def _guard(node: Node, real: Tensor, target: int) -> None:
    """Have the least and the greatest number checked when outputs are read."""
    low = -LIMIT[target] if target == TensorProto.INT64 else 0
    if real.size:
        node.trace.guards.append(Guard(str(node), low, LIMIT[target], (ops.min(real), ops.max(real))))


def _of_double(node: Node, target: int) -> Value:
    whole = ops.trunc(node.tensor(0))
    _guard(node, whole, target)
    high = ops.floor(ops.multiply(whole, 2.0**-32))
    low = ops.cast(ops.subtract(whole, ops.multiply(high, 2.0**32)), u32)
    upper = ops.cast(ops.cast(high, i32), u32) if target == TensorProto.INT64 else ops.cast(high, u32)
    return result(node, Words(low, upper), LIMIT[target], target)


def _of_float(node: Node, target: int) -> Value:
    real = ops.cast(node.tensor(0), f32).contiguous()
    _guard(node, real, target)
    return result(node, words.of_float_bits(Expression.of(real.bitcast(u32))), LIMIT[target], target)


# moves --------------------------------------------------------------------------------------------------------------

_FIRST = (  # operators that move elements of their first input
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Slice", "Split", "Tile", "Compress"),
    *("Gather", "GatherND", "GatherElements", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "Trilu"),
    "CenterCropPad",
)
_MOVED: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_FIRST, (0,)),
    **dict.fromkeys(("ScatterElements", "Scatter", "ScatterND"), (0, 2)),
    "TensorScatter": (0, 1),
    "Where": (1, 2),
    "OneHot": (2,),
    "Pad": (0, 2),
}
_INDEXED = ("Gather", "GatherND", "GatherElements", "ScatterElements", "Scatter", "ScatterND")  # by their input 1


@lowers_wide(*_MOVED, "Concat")
def each_word(node: Node) -> Result | Sequence[Result]:
    """What moves elements moves their lower words, and then the upper ones. Indices are held to 32 bits."""
    if node.op in _INDEXED and node.value(1).words is not None:
        narrow = node.result(ops.evaluate(words.saturated(operand(node, 1))), node.elem(1))
        return lowered(node.with_inputs({1: narrow}), LOWERINGS[node.domain, node.op])
    if node.attribute("reduction", "none") != "none":
        raise Wide("64-bit integers that may not fit 32 bits, which are scattered into one another")
    indices = _MOVED.get(node.op) or range(len(node))
    indices = [index for index in indices if node.has(index)]
    elem, bound = node.elem(indices[0]), max(bounds(node, *indices))
    parts = zip(*(_word_values(node, index) for index in indices), strict=True)
    lower, upper = (_moved(node, dict(zip(indices, values, strict=True))) for values in parts)
    return [result(node, Words(*both), bound, elem) for both in zip(lower, upper, strict=True)]


@lowers_wide("ConstantOfShape")
def constant_of_shape(node: Node) -> Value:
    fill, sizes = node.attribute("value"), node.ints(0)
    number = numpy_helper.to_array(fill).reshape(-1)
    found = Words(*(ops.full(sizes, word.item(), u32) for word in words.split(number)))
    return result(node, found, abs(int(number[0])), fill.data_type)


def _word_values(node: Node, index: int) -> list[Value]:
    """The lower and the upper words of an input as values of uint32."""
    value = node.value(index)
    if value.host is not None:
        return [Value(TensorProto.UINT32, host=word, sources=value.sources) for word in words.split(value.host)]
    found = operand(node, index).evaluated()
    return [Value(TensorProto.UINT32, tensor=word, sources=value.sources) for word in found]


def _moved(node: Node, inputs: dict[int, Value]) -> list[Tensor | Expression]:
    results = LOWERINGS[node.domain, node.op](node.with_inputs(inputs))
    results = results if isinstance(results, Sequence) else [results]
    found = [r.tensor if isinstance(r, Value) and r.tensor is not None else r for r in results]
    return [r.expression if isinstance(r, Value) else r for r in found]  # type: ignore[misc]
