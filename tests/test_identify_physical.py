"""Links that bodies can have: pseudo-inertia, log-Cholesky, distances and their derivatives."""

import numpy as np
import pytest

from neuler import InputError
from neuler.identify import physical
from neuler.robot import Link, Transform


def ten_of(link):
    return np.array([link.mass, *link.first_moment, *link.inertia])


def bodies(seed, count=5):
    """Ten parameters of point masses at random places, (count, 10)."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        r, m = rng.normal(size=(7, 3)) * 0.3, rng.uniform(0.1, 2.0, size=7)
        inertia = sum(mass * (p @ p * np.eye(3) - np.outer(p, p)) for mass, p in zip(m, r, strict=True))
        found.append(ten_of(Link("body", m.sum(), tuple(m @ r), inertia)))
    return np.array(found)


def test_pseudo_inertia_is_the_second_moment_of_mass():
    rng = np.random.default_rng(0)
    r, m = rng.normal(size=(7, 3)), rng.uniform(0.1, 2.0, size=7)
    inertia = sum(mass * (p @ p * np.eye(3) - np.outer(p, p)) for mass, p in zip(m, r, strict=True))
    homogeneous = np.column_stack([r, np.ones(7)])
    J = physical.pseudo_inertia(ten_of(Link("body", m.sum(), tuple(m @ r), inertia)))
    np.testing.assert_allclose(J, (homogeneous.T * m) @ homogeneous, rtol=1e-12, atol=1e-12)


def test_pseudo_inertia_moves_with_its_frame():
    link = Link("body", 2.0, (0.1, -0.2, 0.3), (0.5, 0.6, 0.7, 0.01, -0.02, 0.03))
    place = Transform.from_rpy((0.4, -0.1, 0.2), (0.3, -0.5, 1.1))
    T = place.matrix
    moved = physical.pseudo_inertia(ten_of(link.seen_from(place)))
    np.testing.assert_allclose(moved, T @ physical.pseudo_inertia(ten_of(link)) @ T.T, atol=1e-12)


def test_both_ways():
    ten = bodies(1)
    assert physical.is_consistent(ten).all()
    np.testing.assert_allclose(physical.from_pseudo_inertia(physical.pseudo_inertia(ten)), ten, atol=1e-14)
    np.testing.assert_allclose(physical.from_log_cholesky(physical.to_log_cholesky(ten)), ten, atol=1e-13)
    theta = np.random.default_rng(2).normal(size=(4, 3, 10))
    assert physical.is_consistent(physical.from_log_cholesky(theta)).all()
    np.testing.assert_allclose(physical.to_log_cholesky(physical.from_log_cholesky(theta)), theta, atol=1e-9)


def test_log_cholesky_as_published():
    """The ten of Rucker and Wensing (2022), equation (13), with their signs of products of inertia."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta = np.random.default_rng(3).normal(size=10)
    expected = np.exp(2 * a) * np.array([
        1, t1, t2, t3,
        s23**2 + t2**2 + t3**2 + np.exp(2 * d2) + np.exp(2 * d3),
        s12**2 + s13**2 + t1**2 + t3**2 + np.exp(2 * d1) + np.exp(2 * d3),
        s12**2 + s13**2 + s23**2 + t1**2 + t2**2 + np.exp(2 * d1) + np.exp(2 * d2),
        -s12 * np.exp(d2) - s13 * s23 - t1 * t2,
        -s13 * np.exp(d3) - t1 * t3,
        -s23 * np.exp(d3) - t2 * t3,
    ])  # fmt: skip
    np.testing.assert_allclose(physical.from_log_cholesky(theta), expected, rtol=1e-12)


def test_log_cholesky_jacobian():
    theta = np.random.default_rng(4).normal(size=(3, 10))
    step = 1e-30
    numeric = np.stack(
        [physical.from_log_cholesky(theta + 1j * step * np.eye(10)[k]).imag / step for k in range(10)], axis=-1
    )
    np.testing.assert_allclose(physical.log_cholesky_jacobian(theta), numeric, rtol=1e-12, atol=1e-12)


def central(function, ten, step=1e-6):
    h = step * np.eye(10)
    return np.stack([(function(ten + h[k]) - function(ten - h[k])) / (2 * step) for k in range(10)], axis=-1)


def test_divergence_and_its_derivatives():
    ten, prior = bodies(5, 1)[0], bodies(6, 1)[0]
    value, gradient, hessian = physical.bregman(ten, prior)
    J, P = physical.pseudo_inertia(ten), physical.pseudo_inertia(prior)
    X = np.linalg.solve(P, J)
    assert value == pytest.approx(np.trace(X) - np.log(np.linalg.det(X)) - 4, rel=1e-10)
    np.testing.assert_allclose(gradient, central(lambda x: physical.bregman(x, prior)[0], ten), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, central(lambda x: physical.bregman(x, prior)[1], ten), rtol=1e-5, atol=1e-4)
    own, slope, _ = physical.bregman(prior, prior)
    assert own == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


def test_affine_distance():
    ten, prior = bodies(7, 1)[0], bodies(8, 1)[0]
    value, gradient = physical.affine_distance(ten, prior)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(physical.pseudo_inertia(prior), physical.pseudo_inertia(ten)))
    assert value == pytest.approx(0.5 * (np.log(eigenvalues.real) ** 2).sum(), rel=1e-9)
    assert value == pytest.approx(physical.affine_distance(prior, ten)[0], rel=1e-9)
    np.testing.assert_allclose(
        gradient, central(lambda x: physical.affine_distance(x, prior)[0], ten), rtol=1e-5, atol=1e-6
    )
    near = prior * (1 + 1e-4)
    M = physical.prior_metric(prior)
    half = 0.5 * (near - prior) @ M @ (near - prior)
    assert physical.affine_distance(near, prior)[0] == pytest.approx(half, rel=1e-3)
    assert physical.bregman(near, prior)[0] == pytest.approx(half, rel=1e-3)


def test_distances_do_not_depend_on_the_frame():
    place = Transform.from_rpy((0.4, -0.1, 0.2), (0.3, -0.5, 1.1))
    ten, prior = bodies(9, 2)

    def moved(x):
        return ten_of(Link("b", x[0], tuple(x[1:4]), tuple(x[4:])).seen_from(place))

    for distance in (physical.bregman, physical.affine_distance):
        assert distance(moved(ten), moved(prior))[0] == pytest.approx(distance(ten, prior)[0], rel=1e-9)


def test_nearest_consistent_is_nearest():
    rng = np.random.default_rng(10)
    prior = bodies(11, 1)[0]
    bad = prior - np.array([0, 0, 0, 0, 0.9, 0, 0, 0, 0, 0]) * prior
    assert not physical.is_consistent(bad)
    M = physical.prior_metric(prior)

    def distance(x):
        return (x - bad) @ M @ (x - bad)

    found = physical.nearest_consistent(bad, prior)
    assert np.linalg.eigvalsh(physical.pseudo_inertia(found))[0] > 0
    for _ in range(300):
        other = found + rng.normal(size=10) * 10 ** rng.uniform(-4, -1)
        if np.linalg.eigvalsh(physical.pseudo_inertia(other) - 1e-6 * physical.pseudo_inertia(prior))[0] >= 0:
            assert distance(other) >= distance(found) * (1 - 1e-9)
    good = bodies(12)
    np.testing.assert_array_equal(physical.nearest_consistent(good, prior), good)
    several = physical.nearest_consistent(np.stack([bad, prior]))
    assert physical.is_consistent(several).all()
    np.testing.assert_array_equal(several[1], prior)


def test_why_a_link_is_not_consistent():
    body = bodies(13, 1)[0]
    assert physical.inconsistency(body) == ""
    assert "mass, -1 kg, is not positive" in physical.inconsistency([-1, *body[1:]])
    assert "not all positive" in physical.inconsistency([1, 0, 0, 0, -1, 1, 1, 0, 0, 0])
    assert "triangle inequality" in physical.inconsistency([1, 0, 0, 0, 1, 1, 3, 0, 0, 0])


def test_bad_input_is_named():
    body = bodies(14, 1)[0]
    with pytest.raises(InputError, match="last axis 10: mass, mx, my, mz, xx"):
        physical.pseudo_inertia(body[:9])
    with pytest.raises(InputError, match="must be finite"):
        physical.is_consistent([np.nan, *body[1:]])
    with pytest.raises(InputError, match=r"nearest_consistent\(\) gives the nearest"):
        physical.to_log_cholesky(-body)
    with pytest.raises(InputError, match=r"prior is not consistent: the mass.*nearest_consistent"):
        physical.bregman(body, -body)
    with pytest.raises(InputError, match="one link"):
        physical.inconsistency([body, body])
