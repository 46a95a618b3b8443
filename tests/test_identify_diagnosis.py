"""What could not be identified and why, and errors on rows that were not fitted."""

import numpy as np
import pytest

from identify_data import base, standard
from neuler import InputError
from neuler.identify.diagnosis import excitation, prediction_error


def test_a_good_motion():
    W, names, _ = base("rx90")
    found = excitation(W, names)
    assert not found.badly
    assert found.rank == len(names)
    assert found.directions == ()
    A = W.reshape(-1, len(names))
    assert found.condition == pytest.approx(np.linalg.cond(A), rel=1e-6)
    assert found.scaled_condition == pytest.approx(np.linalg.cond(A / np.linalg.norm(A, axis=0)), rel=1e-6)
    assert "excites well enough" in str(found)


def test_weak_directions_are_named_by_their_columns():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(300, 2, 4))
    W[..., 3] = 2 * W[..., 1] + 1e-3 * W[..., 3]
    found = excitation(W, ["a", "b", "c", "d"])
    assert found.badly
    assert len(found.directions) == 1
    assert set(found.directions[0].columns) == {"b", "d"}
    b, d = found.directions[0].coefficients
    assert b == pytest.approx(-d, rel=1e-2)  # columns are scaled
    assert found.directions[0].singular_value == pytest.approx(1 / found.scaled_condition)
    assert "excites badly" in str(found)
    assert "hardly determined" in str(found)


def test_columns_without_effect_and_combinations_are_told_apart():
    W, names, _ = standard("two_link")
    found = excitation(W, names)
    assert found.rank == base("two_link")[0].shape[2]
    assert np.isinf(found.scaled_condition)
    assert found.badly
    idle = [name for k, name in enumerate(names) if not W[:, :, k].any()]
    assert found.without_effect == tuple(idle)
    for direction in found.directions:
        assert not set(direction.columns) <= set(idle)
    assert len(excitation(W, names, most=2).directions) == 2


def test_forces_are_weighed():
    W = np.zeros((10, 2, 2))
    W[:, 0, 0], W[:, 1, 1] = 1.0, 1.0
    assert excitation(W, force_sd=[1.0, 10.0]).condition == pytest.approx(10.0)
    assert excitation(W, force_sd=[1.0, 10.0]).scaled_condition == pytest.approx(1.0)


def test_errors_of_moving_rows_stand_apart():
    rng = np.random.default_rng(1)
    W, x = rng.normal(size=(100, 2, 3)), np.array([1.0, 2.0, 3.0])
    e = rng.normal(size=(100, 2)) * [1.0, 2.0]
    moving = rng.uniform(size=100) < 0.6
    y = W @ x + e * np.where(moving, 1.0, 5.0)[:, None]
    found = prediction_error(W, y, x, moving=moving, reference=[10.0, 10.0])
    errors = y - W @ x
    np.testing.assert_allclose(found.rms, np.sqrt((errors**2).mean(axis=0)))
    np.testing.assert_allclose(found.nrmse, 10 * found.rms)
    np.testing.assert_allclose(found.moving.rms, np.sqrt((errors[moving] ** 2).mean(axis=0)))
    np.testing.assert_allclose(found.resting.rms, np.sqrt((errors[~moving] ** 2).mean(axis=0)))
    assert found.overall == pytest.approx(np.sqrt((errors**2).mean()))
    each = prediction_error(W, y, x, moving=np.stack([moving, ~moving], axis=1))
    np.testing.assert_allclose(each.moving.rms[0], found.moving.rms[0])
    np.testing.assert_allclose(each.moving.rms[1], found.resting.rms[1])


def test_bad_input_is_named():
    W, y = np.ones((5, 1, 2)), np.ones((5, 1))
    with pytest.raises(InputError, match="moving must be True or False for each of 5 samples"):
        prediction_error(W, y, [1.0, 1.0], moving=[1, 0, 1, 0, 1])
    with pytest.raises(InputError, match=r"y must have shape \(5, 1\)"):
        prediction_error(W, y[:3], [1.0, 1.0])
    with pytest.raises(InputError, match="must be finite"):
        prediction_error(W, y, [1.0, np.nan])
    with pytest.raises(InputError, match="names must differ"):
        excitation(W, ["a", "a"])
