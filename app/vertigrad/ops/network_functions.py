"""The elementwise functions of neural networks, by the names and with the defaults of ONNX.

`activation.py` folds most of them into the end of a matrix product or a convolution.
"""

from __future__ import annotations

from ..deprecation import renamed_arguments
from ..tensor import Tensor
from .define import Operand, floating, number, unary
from .elementwise import elementwise
from .expression import OPERATIONS

# fmt: off
__all__ = [
    "celu", "elu", "gelu", "gelu_tanh", "hard_sigmoid", "hard_swish", "leaky_relu", "mish", "relu", "selu", "shrink",
    "sigmoid", "silu", "softplus", "softsign", "swish", "thresholded_relu",
]
# fmt: on

relu = unary("relu", number("max(a_, 0)", float="maximum_f(a_, 0.0)", uint="a_"), "a, or 0 if that is more")
sigmoid = unary("sigmoid", floating("sigmoid(a_)"), "1 / (1 + e⁻ᵃ)")
silu = unary("silu", floating("silu(a_)"), "a · sigmoid(a)")
gelu = unary("gelu", floating("gelu(a_)"), "a · Φ(a), Φ the normal distribution")
gelu_tanh = unary("gelu_tanh", floating("gelu_tanh(a_)"), "The approximation of gelu with tanh")
hard_swish = unary("hard_swish", floating("hard_swish(a_)"), "a · hard_sigmoid(a, 1/6, 1/2)")
mish = unary("mish", floating("mish(a_)"), "a · tanh(softplus(a))")
softplus = unary("softplus", floating("softplus(a_)"), "log(1 + eᵃ)")
softsign = unary("softsign", floating("softsign(a_)"), "a / (1 + |a|)")

OPERATIONS |= {
    "leaky_relu": number("select(a_, a_ * b_, a_ < 0)", uint="a_"),
    "elu": floating("elu(a_, b_)"),
    "celu": floating("celu(a_, b_)"),
    "thresholded_relu": floating("thresholded_relu(a_, b_)"),
    "swish": floating("a_ * sigmoid(a_ * b_)"),
    "selu": floating("selu(a_, b_, c_)"),
    "hard_sigmoid": floating("hard_sigmoid(a_, b_, c_)"),
    "shrink": number(
        "select(select(0, a_ - b_, a_ > c_), a_ + b_, a_ < -c_)",
        float="select(select(0.0, a_ - b_, a_ > c_), a_ + b_, a_ < -c_)",
        uint="select(0u, a_ - b_, a_ > c_)",
    ),
}


@renamed_arguments(slope="negative_slope")  # up to version 0.1
def leaky_relu(a: Operand, negative_slope: Operand = 0.01, *, out: Tensor | None = None) -> Tensor:
    """a, or `negative_slope` · a where a is negative; elementwise. With a tensor for `negative_slope` this is PReLU."""
    return elementwise("leaky_relu", a, negative_slope, out=out)


def elu(a: Operand, alpha: Operand = 1.0, *, out: Tensor | None = None) -> Tensor:
    """a, or alpha · (eᵃ − 1) where a is negative; elementwise."""
    return elementwise("elu", a, alpha, out=out)


def celu(a: Operand, alpha: Operand = 1.0, *, out: Tensor | None = None) -> Tensor:
    """a, or alpha · (exp(a / alpha) − 1) where a is negative; elementwise."""
    return elementwise("celu", a, alpha, out=out)


def thresholded_relu(a: Operand, threshold: Operand = 1.0, *, out: Tensor | None = None) -> Tensor:
    """a where it is more than `threshold`, else 0; elementwise."""
    return elementwise("thresholded_relu", a, threshold, out=out)


def swish(a: Operand, beta: Operand = 1.0, *, out: Tensor | None = None) -> Tensor:
    """a · sigmoid(beta · a); elementwise."""
    return elementwise("swish", a, beta, out=out)


def selu(
    a: Operand,
    alpha: Operand = 1.67326319217681884765625,
    gamma: Operand = 1.05070102214813232421875,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """gamma · elu(a, alpha); elementwise."""
    return elementwise("selu", a, alpha, gamma, out=out)


def hard_sigmoid(a: Operand, slope: Operand = 0.2, middle: Operand = 0.5, *, out: Tensor | None = None) -> Tensor:
    """slope · a + middle, held to 0 at least and 1 at most; elementwise."""
    return elementwise("hard_sigmoid", a, slope, middle, out=out)


def shrink(a: Operand, bias: Operand = 0, threshold: Operand = 0.5, *, out: Tensor | None = None) -> Tensor:
    """a brought nearer to 0 by `bias` where |a| is more than `threshold`, else 0; elementwise."""
    return elementwise("shrink", a, bias, threshold, out=out)
