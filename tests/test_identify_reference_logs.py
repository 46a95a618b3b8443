"""Measured and simulated logs that are not part of the project: estimates against what is known of them.

They stand beside the project, in ``shared/reference/identify``; where they are absent these tests are skipped.
"""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import qr
from scipy.signal import butter, filtfilt

import neuler
from neuler import identify
from neuler.formats.dh import DHRow, from_dh
from neuler.identify.bodies import PARTS
from neuler.identify.consistent import constrained
from neuler.identify.diagnosis import excitation, prediction_error
from neuler.identify.least_squares import ordinary, weighted
from neuler.identify.physical import inconsistency
from neuler.identify.weight import choose_weight

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


# ---- a real robot --------------------------------------------------------------------------------------------------

KR300 = LOGS / "kr300" / "kr300.npz"
needs_kr300 = pytest.mark.skipif(not KR300.exists(), reason="the log kr300.npz is not there")
DT, TRIM, CUT = 0.004, 25, 20.0
"""Sampling time (s), samples left out at both ends, cut-off of positions, forces and columns (Hz)."""


def smooth(x):
    return filtfilt(*butter(4, 2 * CUT * DT), x, axis=0)


def counterbalance(spring, q2):
    """Torque of the hydraulic spring (N m) at the second joint."""
    delta = q2 - np.pi / 2 + np.deg2rad(95)
    s = np.sqrt(spring["D"] ** 2 + spring["k"] ** 2 - 2 * spring["D"] * spring["k"] * np.cos(delta))
    area = np.pi * (spring["piston_diameter"] ** 2 - spring["rod_diameter"] ** 2) / 4
    gas = spring["Z"] * spring["R"] * spring["T"] * spring["nitrogen_mass"]
    pressure = gas / (spring["volume_max"] - (s - spring["D"] + spring["k"]) * area)
    return spring["D"] * spring["k"] * np.sin(delta) / s * pressure * area


def rows_of(model):
    """The DH table, with nominal links."""
    return [
        DHRow(
            theta=0.0, d=row["d"], a=row["a"], alpha=row["alpha"], offset=row["offset"], mass=link["mass"],
            com=link["com"], inertia=link["inertia_com_xx_yy_zz_xy_xz_yz"],
        )
        for row, link in zip(model["dh"], model["nominal"], strict=True)
    ]  # fmt: skip


def kr300():
    """Of both motions: regressor on the motors' side, torque, moving rows; names and the nominal values."""
    log = np.load(KR300, allow_pickle=False)
    model = json.loads(KR300.with_name("kr300_model.json").read_text())
    gear = np.array(model["gear_ratio"])
    regressor, names, values = columns(from_dh(rows_of(model), gravity=(0, 0, 9.81)))
    names, values = names[10:], values[10:]  # the base does not move
    drives = ("rotor", "viscous", "coulomb", "offset")
    names += [*(f"joint{j + 1}.{part}" for j in range(6) for part in drives), "spring"]
    found = {}
    for motion in "AB":
        q = log[f"{motion}_position"].astype(float)
        moved = smooth(q)
        qd = np.gradient(moved, DT, axis=0)
        qdd = np.gradient(qd, DT, axis=0)
        W = np.zeros((len(q), 6, len(names)))
        W[:, :, :60] = regressor(moved, qd, qdd)[:, :, 10:] / gear[:, None]
        for j in range(6):
            own = (qdd[:, j] * gear[j], qd[:, j] * gear[j], np.sign(qd[:, j]), np.ones(len(q)))
            W[:, j, 60 + 4 * j : 64 + 4 * j] = np.stack(own, axis=1)
        W[:, 1, -1] = counterbalance(model["counterbalance"], q[:, 1]) / gear[1]
        inner = slice(TRIM, -TRIM)
        found[motion] = W[inner], log[f"{motion}_motor_torque"].astype(float)[inner], np.abs(qd)[inner] > 0.01
    rotors = [[x, np.nan, np.nan, np.nan] for x in model["motor_inertia_kg_m2_motor_side"]]
    return found, names, np.concatenate([values, np.ravel(rotors), [np.nan]])


@pytest.mark.slow
@needs_kr300
def test_kr300_fitted_on_one_motion_predicts_the_other():
    """Everything is chosen on motion A, the weight of the prior by cross-validation."""
    pytest.importorskip("clarabel", reason="the conic solver Clarabel is not installed: pip install clarabel")
    logs, names, prior = kr300()
    (W, y, _), (V, z, moving) = logs["A"], logs["B"]
    W, y = smooth(W), smooth(y)
    lower = {name: 0.0 for name in names if name.endswith(("rotor", "viscous", "coulomb"))}
    chosen = choose_weight(W, y, names, prior, lower=lower, gap=TRIM, folds=4)
    found = constrained(W, y, names, prior=prior, weight=chosen.weight, lower=lower)
    assert found.converged
    assert min(found.margins.values()) > 0
    error = prediction_error(V, z, found.values, moving=moving)
    assert error.overall < 1.01
    assert error.moving.overall < error.overall < error.resting.overall


@needs_kr300
def test_kr300_excites_badly_and_that_is_said():
    logs, names, _ = kr300()
    (W, y, _), (V, z, _) = logs["A"], logs["B"]
    W, y = smooth(W), smooth(y)
    at = independent(W)
    found = weighted(W[:, :, at], y, [names[k] for k in at])
    assert prediction_error(V[:, :, at], z, found.values).overall > 2
    assert any("excites badly" in note for note in found.notes)
    weak = excitation(W[:, :, at], [names[k] for k in at], force_sd=found.force_sd)
    assert weak.badly
    assert "spring" in weak.directions[0].columns


# ---- the same robot through fit, from raw logs ---------------------------------------------------------------------


@functools.cache
def kr300_logs():
    """The robot with nominal links and rotors, logs of both motions on the joints' side, and the counterbalance."""
    data, model = np.load(KR300, allow_pickle=False), json.loads(KR300.with_name("kr300_model.json").read_text())
    gear = np.array(model["gear_ratio"])
    robot = from_dh(rows_of(model), gravity=(0, 0, 9.81))
    rotors = np.array(model["motor_inertia_kg_m2_motor_side"]) * gear**2
    robot = robot.with_parameters({f"joint{k + 1}.rotor_inertia": x for k, x in enumerate(rotors.tolist())})
    logs = {}
    for motion in "AB":
        q, tau = (data[f"{motion}_{what}"].astype(float) for what in ("position", "motor_torque"))
        logs[motion] = identify.Log(robot, np.arange(len(q)) * DT, q, tau * gear, name=motion)

    def spring(q, qd, qdd):
        return np.array([0.0, counterbalance(model["counterbalance"], q[1]), 0.0, 0.0, 0.0, 0.0])

    return logs, gear, spring


def motor_side(found, log, gear, spring):
    """Root mean square error of raw motor torques (N m), of all rows but 0.1 s at both ends."""
    q = smooth(log.q)
    qd = np.gradient(q, DT, axis=0)
    state = q, qd, np.gradient(qd, DT, axis=0)
    column = neuler.function(spring, {"q": 6, "qd": 6, "qdd": 6})
    torque = found.robot.inverse_dynamics(*state) + found.own["spring"] * column(*state)
    return np.sqrt((((log.tau - torque) / gear)[TRIM:-TRIM] ** 2).mean())


@needs_kr300
@pytest.mark.parametrize(("method", "most"), [("consistent", 1.01), ("bayesian", 1.01), ("weighted", 1.2)])
def test_kr300_through_fit(method, most):
    """Defaults alone, all of them chosen on motion A. Base parameters alone have 2.4 N m on B; their robot does not."""
    pytest.importorskip("clarabel", reason="the conic solver Clarabel is not installed: pip install clarabel")
    logs, gear, spring = kr300_logs()
    found = identify.fit(logs["A"], method=method, own={"spring": spring})
    assert found.estimate.converged
    assert any("excites badly" in note for note in found.notes)
    for link in found.robot.links[1:]:
        assert not inconsistency([link.mass, *link.first_moment, *link.inertia]), link.name
    assert motor_side(found, logs["B"], gear, spring) < most


@pytest.mark.slow
@needs_kr300
def test_kr300_friction_laws():
    """Judged on B: no law is much better than Coulomb's with its jump, and a smooth one is worse."""
    pytest.importorskip("clarabel", reason="the conic solver Clarabel is not installed: pip install clarabel")
    logs, _, spring = kr300_logs()
    found = identify.compare_friction(
        logs["A"],
        held_out=logs["B"],
        own={"spring": spring},
        laws=["viscous", "coulomb", "smooth"],
        method="consistent",
    )
    error = {law.name: law.held_out("moving") for law in found.laws}
    assert found.best.name != "viscous"
    assert error["viscous"] > 1.5 * error["coulomb"]
    assert all(law.held_out("resting") > law.held_out("moving") for law in found.laws)
