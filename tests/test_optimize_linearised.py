"""Quadratic programmes about a point of another programme: tangents, curvature, damping; what solvers ask of them."""

import numpy as np
import pytest
from scipy import sparse

import neuler
from neuler.optimize import solvers
from neuler.optimize.block_programme import BlockProgramme
from neuler.optimize.blocks import Block
from neuler.optimize.linearised import Curvature, Linearised

N = 4
FREE = np.full(N, np.inf)
X0 = np.array([0.3, -0.2, 0.5, 0.9])
UNIT = sparse.eye(N, format="csr")


def programme(*, bent_rows=True):
    """min sum of w_i x_i^2 subject to x_i^2 + x_i x_(i+1) within bounds, pair by pair."""
    squares = neuler.function(lambda x: [x[0] * x[0]], {"x": 1}, "rows", "squares")
    pairs = neuler.function(lambda x: [x[0] * x[0] + x[0] * x[1]], {"x": 2}, "rows", "pairs")
    objective = Block.of(squares, {"x": UNIT}, N, weights=np.array([[1.0], [2.0], [3.0], [4.0]]))
    rows = Block.of(pairs, {"x": UNIT}, N // 2, lower=0.05, upper=2.0)
    return BlockProgramme(np.zeros(N), [objective, rows], (-FREE, FREE), start=X0, bent_rows=bent_rows)


def full(places, entries):
    lower = sparse.coo_array((entries, places), shape=(N, N)).toarray()
    return lower + np.tril(lower, -1).T


def test_tangents_and_the_objective_at_the_point():
    given, x = programme(), X0 + np.array([0.1, 0.2, -0.3, 0.05])
    model = Linearised(given, X0)
    J = sparse.coo_array((given.jacobian(X0), given.jacobian_at), shape=(given.m, N)).toarray()
    np.testing.assert_allclose(model.rows(x), given.rows(X0) + J @ (x - X0), rtol=1e-14)
    assert model.objective(x) == pytest.approx(given.objective(x), rel=1e-14)  # it is a quadratic
    np.testing.assert_allclose(model.gradient(x), given.gradient(x), rtol=1e-13)
    np.testing.assert_allclose(full(model.hessian_at, model.hessian(x, 1.0, np.ones(given.m))), np.diag([2, 4, 6, 8.0]))


def test_without_bent_rows_the_hessian_is_that_of_the_objective():
    rows = np.array([0.7, -1.3])
    plain, bent = programme(bent_rows=False), programme()
    found = full(plain.hessian_at, plain.hessian(X0, 2.0, rows))
    np.testing.assert_allclose(found, full(bent.hessian_at, bent.hessian(X0, 2.0, np.zeros(2))))
    assert np.abs(found - full(bent.hessian_at, bent.hessian(X0, 2.0, rows))).max() > 1.0


def test_curvature_weight_and_damping():
    given = programme()
    lagrangian = Curvature(given.hessian_at, given.hessian(X0, 1.0, np.array([0.5, -0.25])))
    model = Linearised(given, X0, curvature=lagrangian)
    np.testing.assert_allclose(full(model.hessian_at, model.hessian(X0, 1.0, np.zeros(2))), full(*lagrangian))
    model = Linearised(given, X0, damping=0.1, weight=3.0)
    np.testing.assert_allclose(
        full(model.hessian_at, model.hessian(X0, 1.0, np.zeros(2))), np.diag([6, 12, 18, 24.0]) + 2.4 * np.eye(N)
    )
    assert model.objective(X0) == pytest.approx(3.0 * given.objective(X0))


@pytest.mark.parametrize("solver", solvers.available())
def test_steps_lead_to_the_minimum(solver):
    given = programme(bent_rows=False)
    wanted = solvers.solve(programme(), solver, tolerance=1e-9)
    assert wanted.status == "optimal"
    x = X0
    for _ in range(30):
        x = solvers.solve(Linearised(given, x), solver, tolerance=1e-9).x
    assert given.objective(x) == pytest.approx(wanted.objective, rel=1e-5)
    assert (given.rows(x) >= 0.05 - 1e-6).all()


def test_damped_steps_are_shorter():
    given = programme(bent_rows=False)
    lengths = [np.linalg.norm(solvers.solve(Linearised(given, X0, damping)).x - X0) for damping in (0.0, 1.0, 10.0)]
    assert lengths[0] > 1.2 * lengths[1] > 1.44 * lengths[2]


@pytest.mark.skipif("ipopt" not in solvers.available(), reason="needs IPOPT")
def test_ipopt_asks_for_the_derivatives_of_a_quadratic_programme_once():
    model, asked = Linearised(programme(), X0), []
    for name in ("jacobian", "hessian"):
        own = getattr(model, name)
        setattr(model, name, lambda *given, own=own, name=name: (asked.append(name), own(*given))[1])
    found = solvers.solve(model, "ipopt")
    assert found.iterations > 3
    assert asked.count("hessian") == 1
    assert asked.count("jacobian") <= 2  # of equalities, of inequalities
