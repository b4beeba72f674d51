"""Gradients of the layers of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...tensor import Tensor
from ..conv import conv, conv_transpose, transposed_window
from ..differentiable import Call, rule
from ..elementwise import fused
from ..functions import exp
from ..reduce import sum as sum_
from ..window import Window


@rule("softmax", "result")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    result = call["result"]
    inner = sum_(gradient * result, call["axis"], keepdims=True)
    return {"x": fused(lambda g, r, i: r * (g - i), gradient, result, inner)}


@rule("log_softmax", "result")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    whole = sum_(gradient, call["axis"], keepdims=True)
    return {"x": fused(lambda g, r, w: g - exp(r) * w, gradient, call["result"], whole)}


@rule("conv", "x", "weights")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """By x: the transposed convolution. By the weights: x convolved with the gradient, with images as channels."""
    x, weights, groups = call["x"], call["weights"], call["groups"]
    spatial = x.shape[2:]
    window = Window.of("conv", spatial, weights.shape[2:], call["stride"], call["padding"], call["dilation"])
    padding = list(zip(window.begin, window.end, strict=True))
    found: dict[str, Tensor] = {}
    if "x" in call.requested:
        found["x"] = stretched(gradient, weights, window, spatial, groups)
    if "weights" in call.requested:
        found["weights"] = _by_weights(x, gradient, window, padding, weights.shape, groups)
    return found | _of_epilogue(gradient, call)


@rule("conv_transpose", "x", "weights")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """By x: the convolution. By the weights: as of a convolution, with x and the gradient exchanged."""
    x, weights, groups = call["x"], call["weights"], call["groups"]
    how = [call[name] for name in ("stride", "padding", "output_padding", "output_shape", "dilation")]
    window, _ = transposed_window(x.shape[2:], weights.shape[2:], *how)
    found: dict[str, Tensor] = {}
    inner = gradient[(..., *(slice(max(-begin, 0), None) for begin in window.begin))]  # nothing comes from before
    padding = [(max(begin, 0), max(end, 0)) for begin, end in zip(window.begin, window.end, strict=True)]
    if "x" in call.requested:
        options = {"stride": window.stride, "padding": padding, "dilation": window.dilation, "groups": groups}
        whole = conv(inner, weights, **options)
        found["x"] = whole[(..., *(slice(0, size) for size in x.shape[2:]))]
    if "weights" in call.requested:
        found["weights"] = _by_weights(inner, x, window, padding, weights.shape, groups)
    return found | _of_epilogue(gradient, call)


def _of_epilogue(gradient: Tensor, call: Call) -> dict[str, Tensor]:
    found = {"residual": gradient} if "residual" in call.requested else {}
    return found | ({"bias": sum_(gradient, (0, *range(2, gradient.ndim)))} if "bias" in call.requested else {})


def stretched(gradient: Tensor, weights: Tensor, window: Window, spatial: Sequence[int], groups: int) -> Tensor:
    """Each window spread over its elements, of axes of the sizes `spatial`; a last one may reach beyond the padding."""
    sizes = zip(gradient.shape[2:], window.stride, window.extent, window.begin, window.end, strict=True)
    reached = [(n - 1) * s + e - b - a for n, s, e, b, a in sizes]
    more = [n - end for n, end in zip(spatial, reached, strict=True)]
    ends = [end + max(-left, 0) for end, left in zip(window.end, more, strict=True)]
    return conv_transpose(
        gradient,
        weights,
        stride=window.stride,
        padding=list(zip(window.begin, ends, strict=True)),
        output_padding=[max(left, 0) for left in more],
        dilation=window.dilation,
        groups=groups,
    )


def _by_weights(
    x: Tensor,
    gradient: Tensor,
    window: Window,
    padding: Sequence[tuple[int, int]],
    shape: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Images as channels; groups stay groups, each of as many channels as there are images."""
    images, channels, *spatial = x.shape
    parts = x.contiguous().reshape(images, groups, channels // groups, *spatial)
    parts = parts.permute(2, 1, 0, *range(3, parts.ndim)).contiguous()
    turned = (1, 0, *range(2, x.ndim))
    whole = conv(
        parts.reshape(channels // groups, groups * images, *spatial),
        gradient.permute(*turned).contiguous(),
        stride=window.dilation,
        padding=list(padding),
        dilation=window.stride,
        groups=groups,
    )
    return whole.permute(*turned)[(..., *(slice(0, size) for size in shape[2:]))]
