"""The ticks of shaders/common/ticks.wgsl in exact arithmetic, and their labels."""

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


class Tick(NamedTuple):
    value: Fraction
    written: str


def decade(value):
    """The largest e with 10^e <= value."""
    exponent = Decimal(value.numerator).adjusted() - Decimal(value.denominator).adjusted()
    while Fraction(10) ** exponent > value:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def round_step(least):
    exponent = decade(least)
    for mantissa, power in ((1, exponent), (2, exponent), (5, exponent), (1, exponent + 1)):
        if mantissa * Fraction(10) ** power >= least * Fraction(9999, 10000):
            return mantissa, power
    raise AssertionError(least)


def ticks(low, high, most):
    low, high = Fraction(float(low)), Fraction(float(high))
    largest, span = max(abs(low), abs(high)), high - low
    size = decade(largest)
    power = size if size < -3 or size > 5 else 0
    mantissa, exponent = round_step(span / Fraction(float(most)))
    length = mantissa * Fraction(10) ** exponent
    slack = (span / 10_000 + 3 * largest / 10**7) / length
    numbers = range(ceil(low / length - slack), floor(high / length + slack) + 1)
    return [Tick(n * length, written(n * mantissa, exponent, power)) for n in numbers][:12]


def written(numerator, exponent, power=0):
    """The label of `numerator` · 10^`exponent`, with 10^`power` factored out."""
    if numerator == 0:
        return "0"
    position = exponent - power
    digits = f"{Decimal(numerator).scaleb(position):.{max(-position, 0)}f}".replace("-", "−")
    if power == 0:
        return digits
    raised = "".join(RAISED[int(digit)] for digit in str(abs(power)))
    return f"{digits}×10{'⁻' if power < 0 else ''}{raised}"
