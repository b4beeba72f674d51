"""Numbers in, numbers out: arithmetic, roundings, functions of one variable."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable

from onnx import TensorProto

from ... import ops
from ...ops.doubles import narrowing
from ...tensor import Tensor, bool_, f32, i32
from ..guards import Guard
from ..narrow import bits_of, decoded, encoded, of_bits
from ..node import Node, Refused, Wide, storage_of
from ..registry import lowers, lowers_to
from ..values import CODES, INTEGERS, SIGNED, STORAGE, UNSIGNED, WIDE, WORD, Value, type_name

_SAME_NAME = (  # as in `ops`
    *("Sqrt", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Floor", "Ceil", "Round"),
    *("Sigmoid", "Softplus", "Softsign", "Mish", "Reciprocal"),
)
_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **{op: getattr(ops, op.lower()) for op in _SAME_NAME},
    **{f"A{name}": getattr(ops, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "HardSwish": ops.hard_swish,
}


def wrapped(tensor: Tensor, elem: int) -> Tensor:
    """Integers of 8 or 16 bits, which are stored in 32, brought back to what they can hold."""
    if elem in UNSIGNED:
        return ops.bitwise_and(tensor, (1 << UNSIGNED[elem]) - 1)
    if elem in SIGNED:
        half = 1 << (SIGNED[elem] - 1)
        return ops.subtract(ops.remainder(ops.add(tensor, half), 2 * half), half)
    return tensor


def require_real(node: Node) -> None:
    """Raise `Refused` for integers, where an operation is on real numbers only."""
    if node.elem() in INTEGERS:
        raise Refused("integers")


def require_narrow(node: Node) -> None:
    """Raise `Wide` for integers of 64 bits, where nothing bounds the result."""
    if node.elem() in WIDE:
        raise Wide("64-bit integers, of which the GPU has 32 bits")


@lowers(*_FUNCTIONS, elementwise=True)
def function(node: Node) -> Tensor:
    """One of the table, of one variable."""
    require_real(node)
    return _FUNCTIONS[node.op](node.operand(0))


_WITH_BOUNDS: dict[str, tuple[Callable[..., Tensor], Callable[[int, int], int]]] = {
    "Add": (ops.add, operator.add),
    "Sub": (ops.subtract, operator.add),
    "Mul": (ops.multiply, operator.mul),
}


@lowers(*_WITH_BOUNDS, elementwise=True)
def with_bounds(node: Node) -> Value:
    """One of the table: the function, and what its result cannot pass."""
    function, bound_of = _WITH_BOUNDS[node.op]
    if node.op == "Sub" and node.elem() == TensorProto.UINT64:
        raise Wide("64-bit integers whose difference is less than 0, and wraps")
    bound = node.require_word(bound_of(*node.bounds(0, 1)))
    return node.result(wrapped(function(*node.operands()), node.elem()), bound=bound)


@lowers("Div", elementwise=True)
def divide(node: Node) -> Value:
    a, b = node.operand(0), node.operand(1)
    quotient = ops.truncate_divide(a, b) if node.elem() in INTEGERS else ops.divide(a, b)
    return node.result(wrapped(quotient, node.elem()), bound=node.bounds(0)[0])


@lowers("Mod", elementwise=True)
def modulo(node: Node) -> Value:
    a, b = node.operand(0), node.operand(1)
    remainder = ops.fmod(a, b) if node.attribute("fmod", 0) else ops.remainder(a, b)
    return node.result(remainder, bound=node.bounds(1)[0])


@lowers("Pow", elementwise=True)
def power(node: Node) -> Value:
    base, exponent = node.operand(0), node.operand(1)
    if node.elem() in INTEGERS:
        bound = _power_bound(node)
        if exponent.dtype.is_real:
            return node.result(ops.cast(ops.power(base, exponent), base.dtype), bound=bound)
        return node.result(wrapped(ops.power(base, exponent), node.elem()), bound=bound)
    return node.result(_like(ops.power(base, exponent), base))


def _power_bound(node: Node) -> int:
    base, exponent = node.bounds(0, 1)
    bits = math.log2(max(base, 2)) * exponent if exponent < WORD else math.inf
    return node.require_word(2 ** math.ceil(bits) if bits < 64 else 1 << 64)


def _like(tensor: Tensor, like: Tensor) -> Tensor:
    return tensor if tensor.dtype is like.dtype else ops.cast(tensor, like.dtype)


@lowers("Neg", "Abs", elementwise=True)
def negative_or_absolute(node: Node) -> Value:
    function = ops.negative if node.op == "Neg" else ops.absolute
    return node.result(wrapped(function(node.operand(0)), node.elem()), bound=node.bounds(0)[0])


@lowers("Sign", elementwise=True)
def sign(node: Node) -> Value:
    return node.result(ops.sign(node.operand(0)), bound=1)


@lowers("Sum", elementwise=True)
def total(node: Node) -> Tensor:
    return functools.reduce(ops.add, node.operands()) if len(node) > 1 else node.operand(0)


@lowers("Mean", elementwise=True)
def mean(node: Node) -> Tensor:
    return ops.multiply(total(node), 1.0 / len(node))


@lowers("Min", "Max", elementwise=True)
def smallest_or_largest(node: Node) -> Value:
    function = ops.minimum if node.op == "Min" else ops.maximum
    tensors = node.operands()
    return node.result(functools.reduce(function, tensors), bound=max(value.bound for value in node.inputs if value))


@lowers("Clip", elementwise=True)
def clip(node: Node) -> Value:
    """Ends as attributes up to opset 6, as inputs since 11; one that is left out is open."""
    tensor = node.operand(0)
    low = node.operand(1) if node.has(1) else node.attribute("min")
    high = node.operand(2) if node.has(2) else node.attribute("max")
    if low is not None:
        tensor = ops.maximum(tensor, low)
    if high is not None:
        tensor = ops.minimum(tensor, high)
    return node.result(tensor, bound=max(value.bound for value in node.inputs if value))


lowers_to("Relu", ops.relu, elementwise=True)
lowers_to("LeakyRelu", ops.leaky_relu, elementwise=True, negative_slope="alpha")
lowers_to("ThresholdedRelu", ops.thresholded_relu, elementwise=True, threshold="alpha")
lowers_to("Elu", ops.elu, elementwise=True, alpha="alpha")
lowers_to("Celu", ops.celu, elementwise=True, alpha="alpha")
lowers_to("Selu", ops.selu, elementwise=True, alpha="alpha", gamma="gamma")
lowers_to("Swish", ops.swish, elementwise=True, beta="alpha")
lowers_to("HardSigmoid", ops.hard_sigmoid, elementwise=True, slope="alpha", middle="beta")


@lowers("PRelu", elementwise=True)
def prelu(node: Node) -> Value:
    x = node.operand(0)
    return node.result(ops.where(ops.less(x, 0), ops.multiply(x, node.operand(1)), x))


@lowers("Gelu", elementwise=True)
def gelu(node: Node) -> Tensor:
    function = ops.gelu_tanh if node.attribute("approximate", "none") == "tanh" else ops.gelu
    return function(node.operand(0))


@lowers("Shrink", elementwise=True)
def shrink(node: Node) -> Value:
    x = node.operand(0)
    bias, lambd = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    real = x if x.dtype.is_real else ops.cast(x, f32)
    inside = ops.where(ops.greater(real, lambd), ops.subtract(real, bias), 0.0)
    result = ops.where(ops.less(real, -lambd), ops.add(real, bias), inside)
    return node.result(wrapped(_like(result, x), node.elem()))


@lowers("BitwiseAnd", "BitwiseOr", "BitwiseXor", elementwise=True)
def bits(node: Node) -> Value:
    function = {"BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or, "BitwiseXor": ops.bitwise_xor}[node.op]
    return node.result(function(node.operand(0), node.operand(1)))


@lowers("BitwiseNot", elementwise=True)
def bitwise_not(node: Node) -> Value:
    if node.elem() == TensorProto.UINT64:
        raise Wide("64 bits are not inverted in 32")
    return node.result(wrapped(ops.invert(node.operand(0)), node.elem()))


@lowers("BitShift", elementwise=True)
def bit_shift(node: Node) -> Value:
    if node.elem() == TensorProto.UINT64 and node.attribute("direction") == "LEFT":
        raise Wide("64 bits are not shifted in 32")
    shift = ops.left_shift if node.attribute("direction") == "LEFT" else ops.right_shift
    return node.result(wrapped(shift(node.operand(0), node.operand(1)), node.elem()))


@lowers("Cast", elementwise=True)
def cast(node: Node) -> Value:
    """Element types that exist on the GPU. A number that does not fit 32 bits is an error when outputs are read."""
    target = node.attribute("to")
    whole = _is_guarded(node, target) or node.elem() in CODES or target in CODES
    return _cast_to(node, node.tensor(0) if whole else node.operand(0), target)


@lowers("CastLike")
def cast_like(node: Node) -> Value:
    return _cast_to(node, node.tensor(0), node.elem(1))


def _is_guarded(node: Node, target: int) -> bool:
    """Whether a 64-bit result may differ from what is stored in 32 bits."""
    source = node.elem()
    if target not in WIDE or source == target or source == TensorProto.BOOL:
        return False
    safe = (*SIGNED, TensorProto.INT32) if target == TensorProto.INT64 else (TensorProto.UINT32,)
    return source not in (*UNSIGNED, *safe)


def _guard(node: Node, tensor: Tensor, target: int) -> None:
    """Have the least and the greatest number checked when outputs are read; `Wide` if they did not fit before."""
    if not _is_guarded(node, target) or not tensor.size:
        return
    if str(node) in node.trace.wide:
        raise Wide("64-bit integers that do not fit 32 bits")
    low, high = (-(1 << 31), WORD) if target == TensorProto.INT64 else (0, (1 << 32) - 1)
    node.trace.guards.append(Guard(str(node), low, high, (ops.min(tensor), ops.max(tensor))))


def _cast_to(node: Node, tensor: Tensor, target: int) -> Value:
    source = node.elem()
    saturate, round_mode = bool(node.attribute("saturate", 1)), node.attribute("round_mode", "up")
    if target == source:
        return node.result(tensor, bound=node.value(0).bound)
    storage_of(target)
    if source in WIDE and target in (TensorProto.INT32, TensorProto.UINT32):
        node.bounds(0)
    tensor = decoded(node, tensor, source) if source in CODES else tensor
    _guard(node, tensor, target)
    if target in CODES:
        return node.result(encoded(node, tensor, target, saturate, round_mode), target)
    storage = STORAGE[target]
    if UNSIGNED.get(target, 32) < 8 and tensor.dtype.is_real:
        tensor = ops.cast(tensor, i32)  # below 0 they wrap, in ONNX's reference
    with narrowing():
        result = tensor if tensor.dtype is storage else ops.cast(tensor, storage)
    bound = min(node.value(0).bound, WORD) if source in INTEGERS or source == TensorProto.BOOL else WORD
    return node.result(wrapped(result, target), target, 1 if source == TensorProto.BOOL else bound)


@lowers("BitCast")
def bit_cast(node: Node) -> Value:
    """The same bits taken for another type; those of 64 bits are not all on the GPU."""
    source, target = node.elem(), node.attribute("to")
    if not {source, target} <= STORAGE.keys() or {source, target} & {*WIDE, TensorProto.FLOAT16, TensorProto.DOUBLE}:
        raise Refused(f"the bits of {type_name(source)} as those of {type_name(target)}")
    bits = of_bits(bits_of(node.tensor(0), source), target)
    if bits.dtype is not STORAGE[target]:
        bits = ops.cast(bits, bool_) if target == TensorProto.BOOL else bits.bitcast(STORAGE[target])
    return node.result(wrapped(bits, target), target)


@lowers("Dropout")
def dropout(node: Node) -> list[Value]:
    """As in use after training: nothing is dropped."""
    node.ignore("ratio", "seed", 1, 2)
    if node.has(2) and bool(node.host(2).reshape(-1)[0]) and node.scalar(1, 0.5) > 0.0:
        raise Refused("training: numbers would be dropped at random")
    if node.is_used(1) and node.version < 10:
        raise Refused("a mask of floats, as before opset 10")
    if not node.is_used(1):
        return [node.value(0)]
    return [node.value(0), node.result(ops.ones(node.shape(), "bool"), TensorProto.BOOL)]


@lowers("Identity")
def identity(node: Node) -> Value:
    return node.value(0)
