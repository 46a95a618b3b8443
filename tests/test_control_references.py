"""References: exact derivatives against closed forms and SciPy's splines."""

import numpy as np
import pytest

import neuler
from neuler import InputError, RobotError
from neuler.control import Reference, constant, quintic, sines, table


def test_sines_to_the_fourth_derivative():
    a, f, phase, offset = np.array([0.5, 0.2]), np.array([0.25, 1.5]), np.array([0.0, 0.3]), np.array([0.1, -1.0])
    t = np.linspace(-1, 3, 41)
    w = 2 * np.pi * f
    angle = w * t[:, None] + phase
    expected = [offset + a * np.sin(angle), a * w * np.cos(angle)]
    expected += [-a * w**2 * np.sin(angle), -a * w**3 * np.cos(angle), a * w**4 * np.sin(angle)]
    found = sines(a, f, phase, offset, order=4)(t)
    scale = np.abs(np.hstack(expected)).max()
    np.testing.assert_allclose(found, np.hstack(expected), atol=1e-13 * scale)


def test_a_quintic_is_at_rest_at_its_ends_and_beyond():
    move = quintic([0.1, -1.0], [0.7, 2.0], 2.5, begin=1.0)
    before, start, middle, end, after = move([0.0, 1.0, 2.25, 3.5, 9.0]).reshape(5, 3, 2)
    for state, place in ((before, [0.1, -1.0]), (start, [0.1, -1.0]), (end, [0.7, 2.0]), (after, [0.7, 2.0])):
        np.testing.assert_allclose(state, [place, [0, 0], [0, 0]], atol=1e-14)
    np.testing.assert_allclose(middle[0], [0.4, 0.5], rtol=1e-14)
    np.testing.assert_allclose(middle[1], 1.875 * np.array([0.6, 3.0]) / 2.5, rtol=1e-14)  # 15/8 of the mean speed


@pytest.mark.parametrize("degree", [3, 5])
def test_tables_against_scipy(degree):
    interpolate = pytest.importorskip("scipy.interpolate")
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.1, 0.6, 9))
    points = rng.normal(size=(9, 3))
    free = [(2, np.zeros(3))] if degree == 3 else [(3, np.zeros(3)), (4, np.zeros(3))]
    theirs = interpolate.make_interp_spline(times, points, k=degree, bc_type=(free, free))
    t = rng.uniform(times[0], times[-1], 200)
    found = table(times, points, degree=degree)(t).reshape(200, 3, 3)
    for k in range(3):
        expected = theirs(t, nu=k)
        np.testing.assert_allclose(found[:, k], expected, atol=1e-9 * np.abs(expected).max())


def test_a_table_stays_at_its_ends():
    path = table([0.0, 0.5, 1.0], [[1.0], [0.0], [2.0]])
    np.testing.assert_array_equal(path([-1.0, 3.0]), [[1.0, 0, 0], [2.0, 0, 0]])


def test_any_function_of_time_and_inside_others():
    """Traced inside a function as called with numbers."""
    swing = Reference(lambda t: [np.exp(-t) * np.cos(3 * t), t**3], order=3)
    t = np.linspace(0.1, 2, 7)
    inside = neuler.function(lambda t: 2 * swing(t), {"t": ()})
    np.testing.assert_allclose(inside(t), 2 * swing(t), rtol=1e-13)
    np.testing.assert_allclose(swing(t)[:, 1::2], np.stack([t**3, 3 * t**2, 6 * t, 6 + 0 * t], axis=-1), rtol=1e-14)
    z = np.exp(-t + 3j * t)
    expected = np.stack([((-1 + 3j) ** k * z).real for k in range(4)], axis=-1)
    np.testing.assert_allclose(swing(t)[:, ::2], expected, rtol=1e-12, atol=1e-12)
    assert constant([1.0, 2.0], order=0)(0.0).tolist() == [1.0, 2.0]
    assert swing.with_order(1)(0.5).shape == (4,)


def test_bad_references():
    for make, message in [
        (lambda: constant([np.nan]), "constant: q must be a list of finite numbers"),
        (lambda: constant("here"), "constant: q must be a list of finite numbers"),
        (lambda: sines([1, 2], [1, 2, 3]), r"sines: one number or as many.*amplitude \(2,\), frequency \(3,\)"),
        (lambda: quintic([0, 1], [1], 1.0), "start and end must have one length, got 2 and 1"),
        (lambda: quintic([0], [1], 0.0), "duration must be above zero"),
        (lambda: quintic([0], [1], np.nan), "duration must be finite, got nan"),
        (lambda: table([0, 1], [[0], [1], [2]]), r"\(points, joints\) with 2 points, got shape \(3, 1\)"),
        (lambda: Reference(lambda t: np.eye(2) * t), "positions must be an array with one axis"),
        (lambda: Reference(lambda t: t, order=9), "order must be a whole number from 0 to 8"),
        (lambda: Reference(lambda t: None), "must hold real numbers or traced values"),
    ]:
        with pytest.raises(InputError, match=message):
            make()
    with pytest.raises(RobotError, match="x must increase"):
        table([0, 0, 1], [[0], [1], [2]])
