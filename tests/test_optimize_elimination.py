"""Linear equalities taken away: x = Z y + c keeps them for all y, on any linear system."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuler.errors import InputError
from neuler.optimize.elimination import Equality, eliminated


@st.composite
def systems(draw):
    """E (rows, n) of small whole numbers, many of them zero and many rows dependent; and a solution."""
    n, rows = draw(st.integers(1, 8)), draw(st.integers(0, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    E = rng.integers(-3, 4, size=(rows, n)) * (rng.random((rows, n)) < draw(st.sampled_from([0.3, 0.6, 1.0])))
    E = E.astype(float)
    for k in range(1, rows):  # rows that follow from those above
        if rng.random() < 0.4:
            E[k] = rng.integers(-2, 3, size=k) @ E[:k]
    return E, rng.integers(-5, 6, size=n).astype(float), rng


def equalities(E, e):
    return [
        Equality({int(j): float(row[j]) for j in np.flatnonzero(row)}, float(value), f"row {i}")
        for i, (row, value) in enumerate(zip(E, e, strict=True))
    ]


def rank(E):
    return int(np.linalg.matrix_rank(E)) if E.size else 0


@settings(max_examples=100, deadline=None)
@given(systems())
def test_every_y_keeps_them(system):
    E, x, rng = system
    n = len(x)
    found = eliminated(n, equalities(E, E @ x))
    assert found.Z.shape == (n, n - rank(E))
    for size in (0.0, 1.0, 100.0):
        y = size * rng.normal(size=found.Z.shape[1])
        all_of_them = found.Z @ y + found.c
        assert np.abs(E @ all_of_them - E @ x).max(initial=0.0) <= 1e-11 * (1.0 + size) * (
            1.0 + np.abs(found.Z.data).max(initial=0.0)
        )
        assert (all_of_them[found.free] == y).all()  # y is a part of x
    np.testing.assert_allclose(found.Z @ x[found.free] + found.c, x, atol=1e-9)  # and every solution is reached


@settings(max_examples=100, deadline=None)
@given(systems())
def test_free_variables_are_y(system):
    E, x, _ = system
    found = eliminated(len(x), equalities(E, E @ x))
    np.testing.assert_array_equal(found.Z[found.free].toarray(), np.eye(len(found.free)))
    assert not found.c[found.free].any()
    assert (np.diff(found.free) > 0).all()
    assert sparse.issparse(found.Z)


@settings(max_examples=100, deadline=None)
@given(systems())
def test_kept_variables_go_where_there_is_no_other(system):
    """As many as the rank that the others lack: no choice can do with less."""
    E, x, rng = system
    n = len(x)
    keep = np.flatnonzero(rng.random(n) < 0.4)
    found = eliminated(n, equalities(E, E @ x), keep.tolist())
    taken = set(range(n)) - set(found.free.tolist())
    others = np.setdiff1d(np.arange(n), keep)
    assert len(taken) == rank(E)
    assert len(taken & set(keep.tolist())) == rank(E) - rank(E[:, others])
    np.testing.assert_allclose(E @ (found.Z @ np.ones(len(found.free)) + found.c), E @ x, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(systems())
def test_a_contradiction_has_its_name(system):
    """A sum of other rows with another right side; told with rows that have variables in common."""
    E, x, rng = system
    used = np.flatnonzero(np.abs(E).max(axis=1, initial=0.0) > 0)
    if not len(used):
        return
    again = rng.integers(1, 4, size=len(used)) @ E[used]
    given_ones = [*equalities(E, E @ x), *equalities(again[None], [again @ x])]
    eliminated(len(x), given_ones)  # the same right side: nothing new
    off = float(rng.choice([-1.0, 1e-3, 1e3]))
    wrong = Equality(given_ones[-1].coefficients, given_ones[-1].value + off, "the odd one")
    with pytest.raises(InputError, match=r"^the odd one: contradicts what is asked for besides") as told:
        eliminated(len(x), [*given_ones[:-1], wrong])
    assert f"by {abs(off):.3g};" in str(told.value)
    names = {each.name for each in given_ones[:-1] if each.coefficients.keys() & wrong.coefficients.keys()}
    if names:
        said = str(told.value).split("(")[1].split(")")[0].split(", ")
        assert said
        assert set(said) <= names
        assert "the odd one" not in said


def test_the_largest_coefficient_is_solved_for():
    found = eliminated(4, [Equality({0: 1.0, 2: -4.0, 3: 2.0}, 8.0, "one")])
    np.testing.assert_array_equal(found.free, [0, 1, 3])
    np.testing.assert_allclose((found.Z @ [4.0, 7.0, 1.0] + found.c), [4.0, 7.0, -0.5, 1.0], atol=0.0)


def test_a_kept_variable_stays_though_it_is_larger():
    one = [Equality({0: 1.0, 1: 100.0}, 1.0, "one")]
    np.testing.assert_array_equal(eliminated(2, one).free, [0])
    np.testing.assert_array_equal(eliminated(2, one, keep=[1]).free, [1])
    np.testing.assert_array_equal(eliminated(2, one, keep=[0, 1]).free, [0])  # there is no other


def test_nothing_to_take_away():
    found = eliminated(3, [])
    np.testing.assert_array_equal(found.Z.toarray(), np.eye(3))
    assert not found.c.any()
    empty = eliminated(2, [Equality({}, 0.0, "0 = 0"), Equality({1: 0.0}, 0.0, "0 x = 0")])
    np.testing.assert_array_equal(empty.free, [0, 1])


@pytest.mark.parametrize("coefficients", [{}, {1: 0.0}])
def test_nothing_equals_one(coefficients):
    with pytest.raises(InputError, match=r"^nothing: contradicts"):
        eliminated(2, [Equality({0: 1.0}, 1.0, "other"), Equality(coefficients, 1.0, "nothing")])


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    """Rows in other units: what follows from others is found as well, and so is what does not."""
    rng = np.random.default_rng(3)
    E = rng.normal(size=(4, 7))
    E = np.vstack([E, scale * rng.normal(size=4) @ E])
    x = rng.normal(size=7)
    found = eliminated(7, equalities(E, E @ x))
    assert len(found.free) == 3
    np.testing.assert_allclose(E @ (found.Z @ rng.normal(size=3) + found.c), E @ x, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError, match="row 4"):
        eliminated(7, equalities(E, E @ x + [0, 0, 0, 0, max(scale, 1.0) * 1e-3]))


def test_clamped_ends_of_splines():
    """Rows as those of plans: many variables, few of them used, in chains."""
    n = 400
    ends = [Equality({k: 1.0, k + 1: -1.0}, 0.0, f"chain {k}") for k in range(0, 300, 2)]
    found = eliminated(n, [*ends, Equality({0: 1.0}, 2.0, "start")])
    x = found.Z @ np.arange(n - 151.0) + found.c
    assert (x[0:300:2] == x[1:301:2]).all()
    assert x[0] == x[1] == 2.0
