"""Measured and simulated logs that are not part of the project: estimates against what is known of them.

They stand beside the project, in ``shared/reference/identify``; where they are absent these tests are skipped.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import qr

import neuler
from neuler.identify.bodies import PARTS
from neuler.identify.consistent import constrained
from neuler.identify.diagnosis import prediction_error
from neuler.identify.least_squares import ordinary, weighted

LOGS = Path(__file__).parents[2] / "shared" / "reference" / "identify"
UR10 = LOGS / "ur10" / "ur10_truth.npz"
needs_ur10 = pytest.mark.skipif(not UR10.exists(), reason="the log ur10_truth.npz is not there")


def columns(robot):
    """The regressor of a robot's links as a function, and the names and values of its columns."""
    jacobian = neuler.function(robot.compile("inverse_dynamics", parameters=("links",))).jacobian("parameters")
    links = [next(link for link in robot.links if link.name == name) for name in robot.shown_names]
    values = np.array([x for link in links for x in (link.mass, *link.first_moment, *link.inertia)])
    names = [f"{link.name}.{part}" for link in links for part in PARTS]
    return (lambda q, qd, qdd: jacobian(q, qd, qdd, np.zeros(len(values)))), names, values


def independent(W):
    A = W.reshape(-1, W.shape[2])
    norms = np.linalg.norm(A, axis=0)
    _, R, order = qr(A / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    return np.sort(order[: np.count_nonzero(np.abs(np.diag(R)) > 1e-8 * abs(R[0, 0]))])


def ur10():
    log = np.load(UR10, allow_pickle=False)
    regressor, names, values = columns(neuler.load(UR10.with_name("ur10_nominal.urdf")))
    W = regressor(log["train_q"], log["train_qd"], log["train_qdd"])
    V = regressor(log["validation_q"], log["validation_qd"], log["validation_qdd"])
    return log, W, V, names, values


@needs_ur10
def test_ur10_with_torque_noise():
    log, W, V, names, _ = ur10()
    at = independent(W)
    assert len(at) == 36
    rms = np.sqrt((log["train_tau"] ** 2).mean(axis=0))
    errors = {ordinary: [], weighted: []}
    for seed in range(101, 106):
        tau = log["train_tau"] + 0.01 * rms * np.random.RandomState(seed).standard_normal((1000, 6))
        for method, found in errors.items():
            estimate = method(W[:, :, at], tau, [names[k] for k in at])
            held = prediction_error(V[:, :, at], log["validation_tau"], estimate.values, reference=rms)
            found.append(held.nrmse)
    assert np.mean(errors[weighted], axis=0).max() < 0.25  # per cent
    assert np.mean(errors[ordinary], axis=0).max() > 5
    assert np.max(errors[weighted]) < 0.5


@needs_ur10
def test_ur10_with_much_noise_is_consistent():
    pytest.importorskip("clarabel", reason="the conic solver Clarabel is not installed: pip install clarabel")
    log, W, V, names, values = ur10()
    rms = np.sqrt((log["train_tau"] ** 2).mean(axis=0))
    moved = [W[:, :, k - k % 10 : k - k % 10 + 10].any() for k in range(len(names))]
    real = [k for k in range(len(names)) if values[k - k % 10] > 0 and moved[k]]
    for seed in (101, 102):
        tau = log["train_tau"] + 0.05 * rms * np.random.RandomState(seed).standard_normal((1000, 6))
        found = constrained(W[:, :, real], tau, [names[k] for k in real], prior=values[real])
        held = prediction_error(V[:, :, real], log["validation_tau"], found.values, reference=rms)
        assert found.converged
        assert min(found.margins.values()) > 0
        assert held.nrmse.max() < 2.0
