"""Against Pinocchio: random trees, and every URDF of example-robot-data that describes a robot.

Each quantity is compared at 100 random states. An error counts against the largest value over the
batch of *that* coordinate (or of the whole array where a coordinate has no meaning), so that a
finger on a mobile robot is held to its own torques. Tolerance 1e-11; for forward dynamics
max(1e-9, 1e-14 cond(M)) at each state: no method does better than rounding times the condition
number.
"""

import math
import re

import numpy as np
import pytest

from neuler import RobotError, load, robots
from random_robots import (
    TENTH,
    close,
    error,
    few,
    friction_of,
    random_robot,
    random_states,
    real_files,
    rotors_of,
    tenth,
)

pytestmark = pytest.mark.usefixtures("shipped")
pin = pytest.importorskip("pinocchio")
from pinocchio_model import columns, from_robot, positions, velocities  # noqa: E402

TOLERANCE = 1e-11
STATES = 100
WITHOUT_MOTION = {"quadrotor_base.urdf", "iris_simple.urdf"}


FILES = real_files()


def by_column(found, expected, tolerance, what):
    """``close`` for every coordinate on its own scale, never finer than 1e-6 of the largest one's."""
    floor = 1e-6 * max(1.0, float(np.abs(expected).max(initial=0.0)))
    for k in range(expected.shape[-1]):
        scale = max(float(np.abs(expected[..., k]).max()), floor)
        close(found[..., k], expected[..., k], tolerance, scale, f"{what}, coordinate {k}")


class Peer:
    """Pinocchio's answers in neuler's order of coordinates."""

    def __init__(self, robot, model):
        self.robot, self.model, self.data = robot, model, model.createData()
        self.columns = columns(robot, model)

    def states(self, *arrays):
        """Pinocchio's vectors for each state: the first array holds positions."""
        q, *others = arrays
        moved = (velocities(self.robot, self.model, x) for x in others)
        return zip(positions(self.robot, self.model, q), *moved, strict=True)

    def inverse(self, *arrays):
        return np.array([pin.rnea(self.model, self.data, *s)[self.columns] for s in self.states(*arrays)])

    def forward(self, *arrays):
        return np.array([pin.aba(self.model, self.data, *s)[self.columns] for s in self.states(*arrays)])

    def bias(self, *arrays):
        return np.array([pin.nonLinearEffects(self.model, self.data, *s)[self.columns] for s in self.states(*arrays)])

    def mass_matrix(self, q):
        found = []
        for (theirs,) in self.states(q):
            upper = np.triu(pin.crba(self.model, self.data, theirs))
            found.append((upper + np.triu(upper, 1).T)[np.ix_(self.columns, self.columns)])
        return np.array(found)

    def frame(self, name):
        kind = pin.FrameType.BODY if name in self.robot.link_names else pin.FrameType.OP_FRAME
        return self.model.getFrameId(name, kind)

    def poses(self, q):
        numbers, found = [self.frame(name) for name in self.robot.link_names], []
        for (theirs,) in self.states(q):
            pin.framesForwardKinematics(self.model, self.data, theirs)
            found.append([self.data.oMf[number].homogeneous for number in numbers])
        return np.array(found)

    def jacobian(self, q, name, reference):
        number, found = self.frame(name), []
        for (theirs,) in self.states(q):
            whole = pin.computeFrameJacobian(self.model, self.data, theirs, number, reference)
            found.append(whole.reshape(6, -1)[:, self.columns])
        return np.array(found)


def agrees_in_forward_dynamics(robot, peer, q, qd, tau, matrices):
    found, expected = robot.forward_dynamics(q, qd, tau), peer.forward(q, qd, tau)
    for mine, theirs, matrix in zip(found, expected, matrices, strict=True):
        tolerance = max(1e-9, 1e-14 * float(np.linalg.cond(matrix)))
        off = error(mine, theirs)
        assert off <= tolerance, f"forward: scaled error {off:.3g} is above {tolerance:.3g}"


def agrees_in_jacobians(robot, peer, q, names):
    for name in names:
        for mine, theirs in (("link", pin.LOCAL), ("world", pin.LOCAL_WORLD_ALIGNED)):
            found = robot.compile("jacobian", frame=name, reference=mine)(q)
            close(found, peer.jacobian(q, name, theirs), TOLERANCE, scale=1.0, what=f"jacobian of {name}, {mine}")


# ---- random trees --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(60, 72), 2))
def test_random_tree(seed):
    robot = random_robot(seed)
    q, qd, qdd = random_states(robot, STATES, seed)
    peer = Peer(robot, from_robot(robot))
    friction = friction_of(robot, qd)
    tau = peer.inverse(q, qd, qdd)
    close(robot.inverse_dynamics(q, qd, qdd) - friction, tau, TOLERANCE)
    close(robot.bias_force(q, qd) - friction, peer.bias(q, qd), TOLERANCE)
    close(robot.forward_dynamics(q, qd, tau + friction), peer.forward(q, qd, tau), TOLERANCE)
    close(robot.mass_matrix(q), peer.mass_matrix(q), TOLERANCE)
    close(robot.link_poses(q), peer.poses(q), TOLERANCE)
    agrees_in_jacobians(robot, peer, q, ("tool", robot.link_names[-1]))


@pytest.mark.parametrize("seed", few(range(60, 72), 3))
def test_random_tree_in_reactions_energy_and_coriolis_forces(seed):
    robot = random_robot(seed)
    q, qd, qdd = random_states(robot, 20, seed)
    model = from_robot(robot)
    model.armature = np.zeros(model.nv)  # of all below it changes the kinetic energy alone, theirs not for every joint
    data = model.createData()
    carried = [robot.link_names.index(joint.child) for joint in robot.moving_joints]
    start = model.inertias[0].mass * np.dot(robot.gravity, model.inertias[0].lever)  # their base has no weight
    expected = {name: [] for name in ("reactions", "coriolis", "kinetic", "potential", "momentum")}
    for state in zip(q, qd, qdd, strict=True):
        at, rate, _ = state
        pin.rnea(model, data, *state)
        expected["reactions"].append([data.f[number].vector.copy() for number in range(1, model.njoints)])
        expected["coriolis"].append(pin.computeCoriolisMatrix(model, data, at, rate).copy())
        rotors = 0.5 * rotors_of(robot) @ rate**2
        expected["kinetic"].append(pin.computeKineticEnergy(model, data, at, rate) + rotors)
        expected["potential"].append(pin.computePotentialEnergy(model, data, at) - start)
        centroid = pin.computeCentroidalMomentum(model, data, at, rate)
        arm = np.cross(pin.centerOfMass(model, data, at), centroid.linear)
        expected["momentum"].append(np.concatenate([centroid.linear, centroid.angular + arm]))
    kinetic, potential = robot.energy(q, qd)
    found = {
        "reactions": robot.reaction_wrenches(q, qd, qdd)[:, carried],
        "coriolis": robot.coriolis_matrix(q, qd),
        "kinetic": kinetic,
        "potential": potential,
        "momentum": robot.momentum(q, qd),
    }
    for name, values in found.items():
        theirs = np.array(expected[name])
        close(values, theirs, TOLERANCE, scale=max(1.0, float(np.abs(theirs).max())), what=name)


# ---- real robots ---------------------------------------------------------------------------------------


def real(path):
    """The robot without friction, which Pinocchio's recursions leave out, and its peer."""
    robot = load(path, mimic="independent", floating="fixed").without_friction()
    model = pin.buildModelFromUrdf(str(path))
    model.armature = np.zeros(model.nv)
    assert set(robot.joint_names) == set(model.names[1:])
    return robot, Peer(robot, model)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_there_are_enough_real_robots_and_a_tenth_has_every_kind_of_joint():
    assert len(FILES) >= 65
    chosen = [path for path in FILES if path.stem in TENTH]
    assert len(chosen) == len(TENTH) == round(len(FILES) / 10)
    remark, kind = re.compile("<!--.*?-->", re.DOTALL), re.compile(r'<joint[^>]*\btype="(\w+)"|<(mimic)')
    kinds = {path: set(kind.findall(remark.sub("", path.read_text()))) for path in FILES}
    assert set.union(*(kinds[path] for path in chosen)) == set.union(*kinds.values())


@pytest.mark.parametrize("path", tenth(FILES), ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_real_robot(path):
    """All quantities, up to the 101 coordinates of tiago_dual."""
    robot, peer = real(path)
    if path.name in WITHOUT_MOTION:
        assert robot.nv == peer.model.nv == 0
        with pytest.raises(RobotError, match="no joint that moves"):
            robot.compile("inverse_dynamics")
        return
    q, qd, qdd = random_states(robot, STATES, 1)
    tau = peer.inverse(q, qd, qdd)
    by_column(robot.inverse_dynamics(q, qd, qdd), tau, TOLERANCE, "inverse")
    by_column(robot.bias_force(q, qd), peer.bias(q, qd), TOLERANCE, "bias")
    matrices, found = peer.mass_matrix(q), robot.mass_matrix(q)
    for k in range(robot.nv):
        diagonal = max(float(matrices[:, k, k].max()), 1e-6)
        scale = np.sqrt(diagonal * max(float(np.abs(matrices).max()), 1e-6))
        close(found[:, k], matrices[:, k], TOLERANCE, scale, f"row {k} of the mass matrix")
    close(robot.link_poses(q), peer.poses(q), TOLERANCE, what="poses")
    links = robot.link_names
    agrees_in_jacobians(robot, peer, q, {links[-1], links[len(links) // 2]})
    empty = [name for k, name in enumerate(robot.joint_names) if not matrices[:, k, k].any()]
    if empty:
        with pytest.raises(RobotError, match="|".join(empty)):
            robot.compile("forward_dynamics")
    else:
        agrees_in_forward_dynamics(robot, peer, q, qd, tau, matrices)


def test_puma_gravity_torque():
    """Armstrong, Khatib, Burdick 1986, as collected by Corke, to the digits printed."""
    found = robots.puma560().gravity_force([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])
    np.testing.assert_allclose(found, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5)
