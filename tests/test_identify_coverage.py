"""The benchmark of identification methods on a UR5: its simulated logs, its figures, and the coverage of intervals."""

import functools
import importlib.metadata
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

pytest.importorskip("clarabel")
import identification  # noqa: E402
from identification import METHODS, Trial  # noqa: E402
from identification_runs import EVERY, LEVELS, STEP, Noise, arm_of, references  # noqa: E402

LEVEL = {level.name: level for level in LEVELS}


@functools.cache
def trial():
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return Trial(arm_of("UR5", neuler.load(folder / "ur_description/urdf/ur5_robot.urdf")))


def test_simulated_torques_are_those_of_inverse_dynamics():
    """Away from where joints turn round, without noise: along the simulated motion, differentiated."""
    arm = trial().arm
    (context,) = trial().contexts(Noise("none", cutoff=float("inf")), 1)
    ready = context.ready
    moving = np.abs(ready.qd) > 0.05
    error = np.where(moving, arm.true.inverse_dynamics(ready.q, ready.qd, ready.qdd) - ready.tau, 0.0)
    assert (np.sqrt((error**2).mean(axis=0)) < 1e-4 * ready.tau.std(axis=0)).all()
    given = arm.given.inverse_dynamics(ready.q, ready.qd, ready.qdd) - ready.tau
    assert (np.sqrt((given**2).mean(axis=0)) > 0.02 * ready.tau.std(axis=0)).all()


def test_motions_stay_within_limits():
    robot = trial().arm.true
    motion = references(robot, range(5)).reshape(5, -1, 3, robot.nv)
    assert (np.abs(np.gradient(motion[:, :, 0], STEP, axis=1) - motion[:, :, 1])[:, 1:-1] < 1e-5).all()
    assert (np.abs(np.gradient(motion[:, :, 1], STEP, axis=1) - motion[:, :, 2])[:, 1:-1] < 1e-4).all()
    for k, joint in enumerate(robot.moving_joints):
        assert np.abs(motion[:, :, 1, k]).max() <= 0.7 * joint.limits.velocity + 1e-9
        assert joint.limits.lower < motion[:, :, 0, k].min()
        assert motion[:, :, 0, k].max() < joint.limits.upper
    assert not np.allclose(motion[0], motion[1])


@pytest.mark.slow
def test_base_parameters_simulate_the_robot():
    """Closed loops with base parameters alone, and with all parameters, are the same."""
    (context,) = trial().contexts(LEVEL["quantised"], 1)
    q, tau = context.simulated(trial().exact)
    whole = trial().arm.simulated(context.reference[None], trial().arm.phi)
    np.testing.assert_allclose(q, whole[0][0], atol=1e-9)
    np.testing.assert_allclose(tau, 0.5 * (whole[1][0] + whole[2][0]), atol=1e-6 * np.abs(tau).max())
    assert len(q) == (context.reference.shape[0] - 2) // EVERY


def test_a_row_of_the_table():
    found = trial().results(LEVEL["quantised"], {"weighted": METHODS["weighted"]}, 2)["weighted"]
    assert len(found.errors) == len(found.torque) == 2
    assert found.failures == 0
    assert max(found.torque) < 0.002
    assert trial().row(found).count("|") == 9

    def broken(ready, base, context):
        raise neuler.InputError("nothing came")

    lost = trial().results(LEVEL["quantised"], {"broken": broken}, 1)["broken"]
    assert (lost.failures, lost.errors) == (1, [])
    assert "1 of 1" in trial().row(lost)


@pytest.mark.slow
def test_instruments_where_least_squares_is_biased():
    """Positions with a noise of 0.01 degrees, filtered at 50 Hz, where accelerations are noise for the most part."""
    methods = {name: METHODS[name] for name in ("weighted", "instrumental")}
    found = trial().results(LEVEL["high, cut-off 50 Hz"], methods, 2)
    assert min(found["weighted"].torque) > 0.1
    assert max(found["instrumental"].torque) < 0.02


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """40 runs of 52 base parameters: 92 to 98 %, and two standard errors of so few runs; no method is biased.

    benchmarks/identification.py --coverage has 200 runs, of the Panda, too.
    """
    methods = {name: METHODS[name] for name in ("ordinary", "weighted", "reweighted", "bootstrap", "instrumental")}
    for name, found in trial().results(LEVEL["quantised"], methods, 40).items():
        inside, errors = np.array(found.inside), np.array(found.errors)
        doubt = 2.0 * inside.mean(axis=1).std(ddof=1) / np.sqrt(len(inside))
        assert found.failures == 0, name
        assert 0.92 - doubt < inside.mean() < 0.98 + doubt, name
        assert Trial.biased(errors.mean(axis=0), errors.std(axis=0, ddof=1), 40) < 0.1, name
    assert identification.HEAD[0].count("|") == 12
