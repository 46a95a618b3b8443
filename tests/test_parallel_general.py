"""Parallel robots of all sorts: random legs and joints at the platform, several motors a leg, motors to spare.

Against the dense model of Pinocchio where it has the joints, against the motors as coordinates, against NumPy's pinv.
"""

import numpy as np
import pytest

from neuler import Link, parallel_robot
from neuler.robots.platforms import _BASE, _PLATE
from parallel_machines import (
    NAMES,
    by_motors,
    hexapod_legs,
    hexapod_position,
    machine,
    poses,
    random_machine,
    random_states,
    screw,
    speeds,
    states,
)
from random_robots import close, few

pin = pytest.importorskip("pinocchio")
from parallel_pinocchio import Model, Peer  # noqa: E402

S, U, R, C, P = "spherical", "universal", "revolute", "cylindrical", "planar"

SIX = [
    ((R, S, S), (0, 0, 0), (3, 1, 2)),
    ((U, U, U), (0, 0, 0), (2, 2, 2)),
    ((S, C, P), (0, 0, 0), (2, 2, 2)),
]
FEWER = [
    ((R, S), (2, 1), (2, 1)),
    ((S, S, S), (1, 1, 1), (1, 1, 1)),
    ((R, S, S), (3, 0, 0), (1, 1, 1)),
]
SPARE = [
    ((U, U, S), (2, 1, 0), (1, 1, 2)),
    ((S, S, S, S), (0, 0, 0, 0), (2, 2, 2, 2)),
    ((S, S, S, S), (1, 1, 0, 0), (2, 2, 1, 1)),
]
"""Joints at the platform, how many joints a leg lacks to follow it anywhere, and its motors."""


def label(case):
    kinds, lacking, motors = case
    return "-".join(f"{kind[:2]}{lack}{motor}" for kind, lack, motor in zip(kinds, lacking, motors, strict=True))


@pytest.mark.parametrize("case", [*few(SIX, 0), *few(FEWER, 1), *few(SPARE, 0)], ids=label)
def test_random_machines(case):
    """Freedoms, inverse then direct, and both against the peer and against the motors as coordinates."""
    robot = random_machine(*case)
    kinds, lacking, motors = case
    assert robot.mobility.freedoms == robot.nv == 6 - sum(lacking)
    assert robot.independent == (None if sum(lacking) else ("platform",))
    assert len(robot.active_names) == robot.nu == sum(motors)
    q, qd, qdd, by_qd, by_qdd = random_states(robot, 40)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (40, sum(motors))
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-9)
    close(tau, by_motors(robot).inverse_dynamics(q, by_qd, by_qdd), 1e-10)
    if set(kinds) <= {S, U, R}:
        peer = Peer(robot)
        v, vd = (x[:, :6] for x in robot.tree_motion(q, qd, qdd))
        close(tau[:20], [peer.inverse(*state) for state in zip(q[:20], v, vd, strict=False)], 1e-10)
        pushed = tau + np.random.default_rng(9).normal(size=tau.shape)
        there = [peer.forward(*state) for state in zip(q[:20], v, pushed, strict=False)]
        found = robot.tree_motion(q, qd, robot.forward_dynamics(q, qd, pushed))[1][:20, :6]
        close(found, there, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("case", few(SPARE, 1), ids=label)
def test_spare_motors_share_the_load(case):
    """Of all torques that do it the least: pinv of the motors' velocities by the freedoms."""
    robot = random_machine(*case)
    q, qd, qdd, _, _ = random_states(robot, 10)
    tau, force, rows = (
        robot.inverse_dynamics(q, qd, qdd),
        robot.generalized_force(q, qd, qdd),
        robot.actuation_matrix(q),
    )
    motions, jacobian = robot.coupling_matrix(q)[:, :6], robot.platform_jacobian(q)
    v = robot.tree_motion(q, qd, qdd)[0][:, :6]
    for k in range(len(q)):
        basis, own = np.linalg.qr(motions[k])  # of the platform's motions; its own velocities by them
        moved, felt = rows[k] @ np.linalg.inv(own), np.linalg.solve(own.T, force[k])
        assert len(moved) > moved.shape[1]
        expected = np.linalg.pinv(moved.T) @ felt
        np.testing.assert_allclose(tau[k], expected, rtol=0, atol=1e-10 * np.abs(expected).max())
        plate = motions[k] @ jacobian[k]
        np.testing.assert_allclose(plate, basis @ np.linalg.pinv(moved), rtol=0, atol=1e-10 * np.abs(plate).max())
        np.testing.assert_allclose(plate @ rows[k] @ qd[k], v[k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(jacobian[k] @ rows[k], np.eye(robot.nv), rtol=0, atol=1e-10)


@pytest.mark.slow
def test_seven_legs():
    """A hexapod with a seventh leg: pinv of the classical 7x6 matrix, also where six of the legs are singular."""
    base, plate = [*_BASE, (0.25, 0.433)], [*_PLATE, (0.1, -0.05)]
    legs = hexapod_legs(base, plate, np.random.default_rng(1))
    body = Link.from_com("platform", mass=5.0, com=(0.0, 0.1, 0.02), inertia=(0.3, 0.3, 0.6))
    robot = parallel_robot("seven", body, legs, reference=(0.25, 0.433, 1.0, 0, 0, 0, 1))
    given = poses("gough_stewart", 60)
    q = np.array([hexapod_position(base, plate, pose) for pose in given])
    v, vd = speeds("gough_stewart", 60, 1), speeds("gough_stewart", 60, 2, 4.0)
    tau, rows = robot.inverse_dynamics(q, v, vd), robot.actuation_matrix(q)
    assert rows.shape == (60, 7, 6)
    force = robot.generalized_force(q, v, vd)
    expected = np.einsum("nij,nj->ni", np.linalg.pinv(np.swapaxes(rows, -1, -2)), force)
    close(tau, expected, 1e-11)
    close(robot.platform_jacobian(q), np.linalg.pinv(rows), 1e-11)
    close(robot.forward_dynamics(q, v, tau), vd, 1e-10)


def test_spare_motors_leave_no_singular_pose():
    """Six legs of a symmetric hexapod are singular when it is turned by 90 degrees; a seventh holds it."""
    angles = [2 * np.pi * k / 3 + side for k in range(3) for side in (-0.2, 0.2)]
    wider = [2 * np.pi * k / 3 + side for k in range(3) for side in (-0.85, 0.85)]
    base = [(np.cos(a), np.sin(a)) for a in angles]
    plate = [(0.6 * np.cos(a), 0.6 * np.sin(a)) for a in wider]
    body = Link.from_com("platform", mass=5.0, com=(0.0, 0.1, 0.02), inertia=(0.3, 0.3, 0.6))
    pose = [0.0, 0.0, 0.8, 0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)]
    rest = (0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0)
    six = parallel_robot("six", body, hexapod_legs(base, plate), reference=rest)
    base, plate = [*base, (1.5, 0.3)], [*plate, (0.3, -0.5)]
    seven = parallel_robot("seven", body, hexapod_legs(base, plate), reference=rest)
    q = hexapod_position(base, plate, pose)
    with pytest.warns(RuntimeWarning, match="inverse_dynamics of 'six': the pose is singular"):
        assert np.isnan(six.inverse_dynamics(q[:-3], np.zeros(6), np.zeros(6))).all()
    tau, rows = seven.inverse_dynamics(q, np.zeros(6), np.zeros(6)), seven.actuation_matrix(q)
    assert np.linalg.matrix_rank(rows[:6], tol=1e-9) == 5
    np.testing.assert_allclose(rows.T @ tau, seven.generalized_force(q, np.zeros(6), np.zeros(6)), atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_machines_of_the_catalogue(name):
    """1e-10 of the largest: the peer's dense system is solved with a condition number of up to 1e5."""
    robot = machine(name)
    peer = Peer(robot)
    q, qd, qdd = states(name, 40)
    v, vd = screw(robot, q, qd, qdd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(tau, [peer.inverse(*state) for state in zip(q, v, vd, strict=True)], 1e-10)
    pushed = tau + np.random.default_rng(9).normal(size=tau.shape)
    found = screw(robot, q, qd, robot.forward_dynamics(q, qd, pushed))[1]
    close(found, [peer.forward(*state) for state in zip(q, v, pushed, strict=True)], 1e-10)


def test_the_hexapod_by_pinocchios_own_solver():
    """constraintDynamics: the tree with a free platform, six points held together; its own iterations stop at 1e-10."""
    robot = machine("gough_stewart")
    parts = Model(robot)
    model = parts.model
    contacts, held = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in robot.loops:
        ends = (*parts.end(loop.first), *parts.end(loop.second))
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL))
        held.append(contacts[-1].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, contacts, held)
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    q, v, vd = states("gough_stewart", 30)
    tau = robot.inverse_dynamics(q, v, vd)
    motors = [parts[name].idx_v for name in robot.active_names]
    rates = robot.tree_motion(q, v, vd)[0]
    found = []
    for k in range(len(q)):
        given = np.zeros(model.nv)
        given[motors] = tau[k]
        found.append(pin.constraintDynamics(model, data, q[k], rates[k], given, contacts, held, settings)[:6].copy())
    close(found, vd, 1e-8)
