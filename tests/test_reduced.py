"""Robots with joints held still: the full robot's rows at rest there, Pinocchio's reduced models, energy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from kind_robots import SEEDS, hinged, kind_robot, kind_states, plain_losses
from motor_robots import SEEDS as MOTOR_SEEDS
from motor_robots import motor_robot, motor_states
from neuler import Coupling, Joint, Limits, Link, Motor, Polynomial, Robot, RobotError
from neuler.peers.pinocchio import pinocchio_model
from neuler.robot.displacement import displacement
from neuler.robot.expand import simple_names
from random_robots import close, few, random_link, random_robot, random_states, random_transform

EXACT = 1e-12


def split(robot, names):
    """Numbers of the positions and of the velocities that are left when the joints of these names are held."""
    q, v = [], []
    for joint, p, first in ((e.joint, e.q.start, e.v.start) for e in robot.coordinates):
        if joint.name not in names:
            q += range(p, p + joint.nq)
            v += range(first, first + joint.nv)
    return q, v


def held_at(robot, q, names):
    """By name: the positions of some joints."""
    found = {entry.name: q[entry.q] for entry in robot.coordinates}
    return {name: float(found[name][0]) if len(found[name]) == 1 else found[name] for name in names}


def compare(full, small, states, names, tolerance=EXACT):
    """Of a tree: all that the reduced robot computes is a part of what the full one does, at rest in ``names``.

    q of the held joints is the same in all states; ``names`` has the coordinates that are gone.
    """
    q, qd, qdd = (np.array(x) for x in states)
    left_q, left_v = split(full, names)
    gone_q, gone_v = np.setdiff1d(range(full.nq), left_q), np.setdiff1d(range(full.nv), left_v)
    q[:, gone_q] = q[0, gone_q]
    qd[:, gone_v] = qdd[:, gone_v] = 0.0
    mine = q[:, left_q], qd[:, left_v], qdd[:, left_v]
    assert small.joint_names == tuple(name for name in full.joint_names if name not in names)
    assert small.link_names == full.link_names
    assert small.frames == full.frames
    tau = full.inverse_dynamics(q, qd, qdd)
    close(small.inverse_dynamics(*mine), tau[:, left_v], tolerance, what="inverse dynamics")
    matrix = full.mass_matrix(q)
    close(small.mass_matrix(mine[0]), matrix[:, left_v][:, :, left_v], tolerance, what="mass matrix")
    close(small.link_poses(mine[0]), full.link_poses(q), tolerance, what="poses")
    kinetic, potential = full.energy(q, qd)
    mine_kinetic, mine_potential = small.energy(*mine[:2])
    close(mine_kinetic, kinetic, tolerance, what="kinetic energy")
    change, mine_change = potential - potential[0], mine_potential - mine_potential[0]  # springs held strained are gone
    close(mine_change, change, 10 * tolerance, scale=max(1.0, np.abs(potential).max()), what="potential energy")
    assert math.isclose(small.mass, full.mass, rel_tol=1e-12)


# ---- physics ---------------------------------------------------------------------------------------------


def some(names, seed):
    """One to all but one of them."""
    rng = np.random.default_rng([3, seed])
    return [str(name) for name in rng.permutation(names)[: int(rng.integers(1, max(2, len(names))))]]


@pytest.mark.parametrize("seed", few(range(20), 2))
def test_trees(seed):
    robot = random_robot(seed)
    if robot.nv < 2:
        return
    states = random_states(robot, 6)[:3]
    names = some(robot.joint_names, seed)
    compare(robot, robot.with_fixed(held_at(robot, states[0][0], names)), states, names)


@pytest.mark.parametrize("seed", few(SEEDS, 2))
def test_every_kind_of_joint(seed):
    robot = kind_robot(seed)
    states = kind_states(robot, 6, seed)
    names = some(robot.joint_names, seed)
    compare(robot, robot.with_fixed(held_at(robot, states[0][0], names)), states, names)


def test_one_joint_after_another_is_the_same_as_all_at_once():
    robot = kind_robot(2)
    q = robot.random_configuration(1)
    names = robot.joint_names[:3]
    found = robot
    for name, value in held_at(robot, q, names).items():
        found = found.with_fixed({name: value})
    assert found == robot.with_fixed(held_at(robot, q, names))


def test_a_robot_of_which_nothing_is_held_is_itself():
    robot = neuler.robots.two_link()
    assert robot.with_fixed({}) is robot


def test_a_free_base_that_is_held():
    robot = neuler.robots.puma560()
    free = robot.with_free_base()
    still = free.with_fixed({"root_joint": [0, 0, 0, 0, 0, 0, 1]})
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    close(still.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), EXACT)
    assert still.reference is None


def test_a_reference_keeps_what_it_says_of_the_others():
    arm = neuler.robots.puma560().replace(reference=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert arm.with_fixed({"joint2": 1.0, "joint5": 0.0}).reference == (0.1, 0.3, 0.4, 0.6)
    assert arm.with_fixed({"joint2": 1.0}).replace(notes=["a note"]).notes == ("a note",)
    assert arm.replace(notes=["a note"]).with_fixed({"joint2": 1.0}).notes == ("a note",)


@given(
    st.sampled_from(["revolute", "prismatic", "helical"]),
    st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3),
    st.floats(-4, 4),
    st.floats(-4, 4),
)
@settings(max_examples=60, deadline=None)
def test_displacements_along_one_axis_add_up(kind, axis, a, b):
    joint = Joint("j", kind, "a", "b", axis=axis, **({"pitch": 0.3} if kind == "helical" else {}))
    both = displacement(joint, [a]) @ displacement(joint, [b])
    np.testing.assert_allclose(both, displacement(joint, [a + b]), rtol=0, atol=1e-14 * (1 + abs(a) + abs(b)) * 4)


def test_quarter_turns_are_exact():
    arm = neuler.robots.two_link().with_fixed({"joint2": math.pi / 2})
    assert set(np.abs(arm.joints[1].placement.matrix[:3, :3]).ravel()) == {0.0, 1.0}


# ---- Pinocchio -------------------------------------------------------------------------------------------


def with_joint_frames(pin, model):
    """The same joints and bodies, and the frames of joints that Pinocchio looks for when it locks some."""
    found = pin.Model()
    found.gravity = model.gravity
    for k in range(1, model.njoints):
        found.addJoint(model.parents[k], model.joints[k], model.jointPlacements[k], model.names[k])
        found.addJointFrame(k)
        found.inertias[k] = model.inertias[k]
    found.armature = model.armature
    return found


@pytest.mark.parametrize("seed", few(SEEDS, 3))
def test_against_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    robot, turns = hinged(kind_robot(seed))
    assert np.shape(turns) == (robot.nv,)
    q, qd, qdd = kind_states(robot, 4, seed)
    names = some(robot.joint_names, seed)
    left_q, left_v = split(robot, names)
    small = robot.with_fixed(held_at(robot, q[0], names))
    model = with_joint_frames(pin, pinocchio_model(robot))
    q[:, np.setdiff1d(range(robot.nq), left_q)] = q[0, np.setdiff1d(range(robot.nq), left_q)]
    simple = simple_names(robot)
    ids = [model.getJointId(part) for name in names for part in simple.get(name, (name,))]
    there = pin.buildReducedModel(model, ids, q[0])
    data = there.createData()
    mine = q[:, left_q], qd[:, left_v], qdd[:, left_v]
    tau = small.inverse_dynamics(*mine) - plain_losses(small, *mine[:2])
    matrix = small.mass_matrix(mine[0])
    for k in range(len(q)):
        close(tau[k], pin.rnea(there, data, *(x[k] for x in mine)), EXACT, what="inverse dynamics")
        theirs = pin.crba(there, data, mine[0][k])
        close(matrix[k], np.triu(theirs) + np.triu(theirs, 1).T, EXACT, what="mass matrix")


# ---- couplings -------------------------------------------------------------------------------------------


def row(count=4, **changes):
    rng = np.random.default_rng(5)
    links = [random_link(rng, "base"), *(random_link(rng, f"link{k}") for k in range(1, count + 1))]
    joints = [
        Joint(f"j{k}", "revolute", links[k - 1].name, links[k].name, random_transform(rng), rng.normal(size=3))
        for k in range(1, count + 1)
    ]
    return Robot("row", links, joints, **changes)


def test_followers_stand_still_where_they_are():
    square = Polynomial((0.1, 0.0, 0.5))
    robot = row(couplings=[Coupling("j4", "j3", 2.0, 0.1), Coupling("j3", "j2", function=square)])
    small = robot.with_fixed({"j2": 0.6})
    third = 0.1 + 0.5 * 0.6**2
    assert small == robot.replace(couplings=()).with_fixed({"j2": 0.6, "j3": third, "j4": 2.0 * third + 0.1})
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, robot.nv))
    q[:, 1] = 0.6
    compare(robot, small, (q, qd, qdd), ["j2"])


def test_a_leader_that_stands_still_moves_the_offset():
    robot = row(couplings=[Coupling("j4", ("j1", "j2", "j3"), (0.5, -2.0, 1.0), 0.1)])
    small = robot.with_fixed({"j2": 0.3})
    assert small.couplings == (Coupling("j4", ("j1", "j3"), (0.5, 1.0), 0.1 - 2.0 * 0.3),)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, robot.nv))
    q[:, 1] = 0.3
    compare(robot, small, (q, qd, qdd), ["j2"])


# ---- motors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(MOTOR_SEEDS, 2))
def test_motors_springs_and_shared_gears(seed):
    robot = motor_robot(seed)
    names = some([name for name in robot.joint_names if "." not in name], seed)
    states = motor_states(robot, 5, seed)
    gone = [*names, *(f"{name}.motor" for name in names if f"{name}.motor" in robot.joint_names)]
    compare(robot, robot.with_fixed(held_at(robot, states[0][0], names)), states, gone, 1e-11)


@pytest.mark.parametrize("first", [True, False])
def test_one_joint_of_a_shared_gear(first):
    """Both rotors go on turning with the other joint."""
    robot = motor_robot(1)
    shared = [motor for motor in robot.motors if len(motor.ratios) == 2]
    name = shared[0].joint if first else shared[1].joint
    small = robot.with_fixed({name: 0.4})
    (other,) = set(shared[0].ratios) - {name}
    assert [motor.ratios for motor in small.motors[:2]] == [{other: motor.ratios[other]} for motor in shared]
    assert len(small.motors) == len(robot.motors)
    q, qd, qdd = motor_states(robot, 5, 1)
    q[:, split(robot, set(robot.joint_names) - {name})[0]] = 0.4
    gone = [name, *([f"{name}.motor"] if f"{name}.motor" in robot.joint_names else [])]
    compare(robot, small, (q, qd, qdd), gone, 1e-11)


@pytest.mark.parametrize("more", [{}, {"included": True}, {"coupled": False}, {"stiffness": 300.0, "damping": 1.0}])
def test_a_locked_motor_is_a_part_of_its_carrier(more):
    motor = Motor("m", "j2", 50, carrier="link3", axis=(0, 1, 1), inertia=(2e-3, 2e-3, 1e-3), mass=0.7,
                  position=(0.1, 0.2, 0.3), **more)  # fmt: skip
    robot = row(motors=[motor])
    small = robot.with_fixed({"j2": 0.3})
    assert small.motors == ()
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(5, robot.nq)), rng.normal(size=(5, robot.nv)), rng.normal(size=(5, robot.nv))
    q[:, 1] = 0.3
    compare(robot, small, (q, qd, qdd), ["j2", "j2.motor"])


# ---- loops -----------------------------------------------------------------------------------------------


def test_a_driven_joint_of_a_loop():
    full = neuler.robots.five_bar()
    at = full.neutral()[0] + 0.1
    small = full.with_fixed({"left_arm": at})
    assert (small.nv, small.mobility.independent) == (1, ("right_arm",))
    assert np.abs(small.closure(small.reference).open_by).max() < 1e-12
    q = small.random_configuration(0, 4)
    whole = np.column_stack([np.full(4, at), q])
    assert np.abs(full.closure(whole).open_by).max() < 1e-9
    qd, qdd = np.random.default_rng(1).normal(size=(2, 4, 1))
    zero = np.zeros((4, 1))
    tau = full.inverse_dynamics(whole, np.hstack([zero, qd]), np.hstack([zero, qdd]))
    close(small.inverse_dynamics(q, qd, qdd), tau[:, 1:], 1e-11)
    close(small.mass_matrix(q), full.mass_matrix(whole)[:, 1:, 1:], 1e-11)
    close(small.link_poses(q), full.link_poses(whole), EXACT)


def test_a_passive_joint_of_a_loop():
    """The full robot's velocities are those at which the held joint stands still."""
    full = neuler.robots.five_bar()
    number = full.joint_names.index("right_forearm")
    small = full.with_fixed({"right_forearm": full.neutral()[number]})
    assert small.mobility.independent == ("left_arm",)
    q = small.random_configuration(0, 4)
    whole = np.insert(q, number, full.neutral()[number], axis=1)
    matrix, lift = full.mass_matrix(whole), full.coupling_matrix(whole)
    for k in range(4):
        way = np.linalg.solve(np.vstack([lift[k, number], [1.0, 0.0]]), [0.0, 1.0])
        close(small.mass_matrix(q[k])[0, 0], way @ matrix[k] @ way, 1e-11)


def test_independent_joints_that_are_left():
    full = neuler.robots.five_bar().with_independent("left_arm", "left_forearm")
    assert full.with_fixed({"left_arm": full.neutral()[0]}).independent == ("left_forearm",)
    again = full.with_fixed({"right_arm": full.neutral()[2]})
    assert again.independent is None
    assert again.nv == 1


def test_a_loop_that_nothing_moves_is_a_structure():
    full = neuler.robots.four_bar()
    small = full.with_fixed({full.joint_names[0]: float(full.neutral()[0])})
    assert small.nv == 0
    with pytest.raises(RobotError, match="has no degree of freedom"):
        small.mass_matrix(small.neutral())


# ---- what is refused -------------------------------------------------------------------------------------


def limited():
    bound = Limits(-1.0, 1.0)
    links = [Link("base"), *(Link.from_com(f"link{k}", mass=1.0, com=(0.1, 0, 0)) for k in range(1, 6))]
    joints = [
        Joint("hip", "revolute", "base", "link1", limits=bound),
        Joint("knee", "revolute", "link1", "link2", limits=bound),
        Joint("ball", "spherical", "link2", "link3"),
        Joint("weld", "fixed", "link3", "link4"),
        Joint("wrist", "revolute", "link4", "link5"),
    ]
    motor = Motor("m", "wrist", 50, inertia=1e-4, stiffness=100.0)
    return Robot("leg", links, joints, couplings=[Coupling("knee", "hip", 2.0)], motors=[motor])


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"hipp": 0.0}, "robot 'leg' has no joint 'hipp'; did you mean 'hip'?"),
        ({"ball.wx": 0.0}, "has no joint 'ball.wx'"),
        ({"weld": 0.0}, "joint 'weld' is fixed already; leave it out"),
        ({"knee": 0.0}, "joint 'knee' follows 'hip'; fix 'hip' instead"),
        ({"wrist.motor": 0.0}, "'wrist.motor' is the motor of joint 'wrist'; fix 'wrist'"),
        ({"hip": 1.1}, "joint 'hip': the position 1.1 is beyond its limits, -1 to 1"),
        ({"hip": 0.6}, "joint 'knee', which follows 'hip': the position 1.2 is beyond its limits"),
        ({"hip": np.nan}, "joint 'hip': the position must be finite, got nan"),
        ({"hip": "up"}, "joint 'hip': the position must be a number, got 'up'"),
        ({"hip": [0.1, 0.2]}, "joint 'hip': the position must be a number"),
        ({"ball": 0.1}, r"joint 'ball': the position \(.*\) must be 4 numbers, got shape \(\)"),
        ({"ball": [0, 0, 1]}, r"must be 4 numbers, got shape \(3,\)"),
        ({"ball": [0, 0, np.nan, 1]}, "must be finite"),
        ({"ball": [0, 0, 0, 2]}, "joint 'ball': its quaternion has the length 2 instead of 1"),
        (["hip"], "with_fixed: positions must map names to values"),
        ({3: 0.1}, "with_fixed: positions must map names to values"),
    ],
)
def test_bad_input_is_refused_by_name(positions, message):
    with pytest.raises(RobotError, match=message):
        limited().with_fixed(positions)


def test_limits_allow_for_rounding():
    robot = limited().replace(couplings=())
    assert robot.with_fixed({"hip": 1.0 + 1e-12}).joint_names[0] == "knee"


def test_loops_that_cannot_be_closed_are_refused():
    full = neuler.robots.five_bar()
    with pytest.raises(RobotError, match=r"with_fixed: with 'left_arm', 'left_forearm' fixed: .*cannot be closed"):
        full.with_fixed({"left_arm": 3.0, "left_forearm": 0.0})


def test_loops_whose_frames_are_one_body_are_refused():
    full = neuler.robots.five_bar()
    q = dict(zip(full.joint_names, full.neutral().tolist(), strict=True))
    with pytest.raises(RobotError, match=r"with_fixed: with .* fixed: .*it closes no loop"):
        full.with_fixed(q)


def test_friction_that_depends_on_a_spring_that_is_gone():
    law = neuler.LoadDependent(0.1)
    ratios = [{"j1": 50.0, "j2": 40.0}, {"j1": 50.0, "j2": -40.0}]
    springs = {"stiffness": 100.0, "friction": law}
    motors = [Motor(f"m{k}", f"j{k + 1}", ratios[k], inertia=1e-4, **springs) for k in range(2)]
    with pytest.raises(RobotError, match="motor 'm0' has friction that depends on the force"):
        row(motors=motors).with_fixed({"j1": 0.0})


def test_guides_are_no_joints_of_the_machine():
    robot = neuler.robots.delta()
    assert [joint.role for joint in robot.joints if joint.name == "platform"] == ["guide"]
    with pytest.raises(RobotError, match="joint 'platform' is a guide, which carries nothing"):
        robot.with_fixed({"platform": [0.0, 0.0, -0.5]})
