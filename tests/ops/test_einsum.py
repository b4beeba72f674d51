"""Einstein sums against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import ShapeError

from .layouts import values

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "i": 6, "j": 7, "k": 8}
CASES = [
    *("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->", "ij->i", "i,i->", "i,j->ij", "ij,ij->ij", "ij,kj->ik"),
    *("abc,cd,dk->abk", "abij,abkj->abik", "ab,ac,ad->bcd", "ij,jk", "ba", "aij,bji->ba", "abcd,bd->ca", "i,ij,j->"),
    *("abc,cba->b", "ijk,k->ji", "ij,ab->", "ab, bc -> a c", "aij,k->kja"),
]


@pytest.mark.parametrize("equation", CASES)
def test_sums_of_products(equation: str) -> None:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    arrays = [values(tuple(SIZES[c] for c in term), "f32", i) for i, term in enumerate(terms)]
    want = np.einsum(equation, *(a.astype(np.float64) for a in arrays))
    got = ops.einsum(equation, *arrays)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        *(("ii->i", [(4, 4)]), ("ii", [(4, 4)]), ("iji->ji", [(3, 2, 3)]), ("...ii->...i", [(2, 3, 4, 4)])),
        *(("...ij,...jk->...ik", [(2, 3, 4), (5, 2, 4, 6)]), ("...ij,jk", [(2, 3, 4), (4, 5)]), ("...->...", [(2, 3)])),
        *(
            ("i...->...", [(2, 3, 4)]),
            ("...i,...i->...", [(2, 1, 4), (3, 4)]),
            ("bij,bjk->bik", [(1, 3, 4), (5, 4, 2)]),
        ),
        *(("ij,j->i", [(3, 0), (0,)]), ("a...b,b...->...a", [(2, 5, 3), (3, 5)])),
    ],
)
def test_diagonals_and_other_axes(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [values(shape, "f32", i) for i, shape in enumerate(shapes)]
    want = np.einsum(equation, *(a.astype(np.float64) for a in arrays))
    got = ops.einsum(equation, *(Tensor.from_numpy(a) for a in arrays))
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)


def test_integers_and_out() -> None:
    a, b = values((3, 4), "i32", 1), values((4, 5), "i32", 2)
    out = Tensor.zeros((5, 3), "i32")
    assert ops.einsum("ij,jk->ki", a, b, out=out) is out
    assert np.array_equal(out.numpy(), np.einsum("ij,jk->ki", a, b))
    x = Tensor.from_numpy(a)
    copy = ops.einsum("ij->ji", x)
    copy.fill_(0)
    assert np.array_equal(x.numpy(), a)


def test_invalid_arguments() -> None:
    x = Tensor.zeros((2, 3))
    for equation, match in (
        *(("ij,jk->ik", "2 operands"), ("ijk->i", "does not name 2 axes"), ("ij->k", "must name labels")),
        *(("ij->ii", "each once"), ("ii->i", "one label|no diagonal"), ("i1->i", "does not name")),
    ):
        with pytest.raises(ShapeError, match=match):
            ops.einsum(equation, x)
    with pytest.raises(ShapeError, match="meets sizes"):
        ops.einsum("ij,ij->ij", x, Tensor.zeros((2, 4)))
