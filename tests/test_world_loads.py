"""Loads in the axes of the base: rotated wrenches, virtual work, Pinocchio, the complex step, Barman, the pass."""

import numpy as np
import pytest

from load_cases import (
    EXACT,
    LOADED,
    SEEDS,
    agree,
    case,
    each,
    floats,
    loaded,
    many,
    path,
    rotated,
)
from neuler import Frame, InputError, Joint, Link, Robot, RobotError, Transform, cli, robots
from neuler.passes.trees import whole_tree
from random_robots import along, close, friction_of, random_robot


def test_the_seeds_cover_every_joint_kind_and_place():
    kinds, places, branches = set(), set(), set()
    for seed in SEEDS:
        robot = random_robot(seed)
        parents = robot.antecedents
        branches.add(len(set(parents)) < len(parents))
        for name in loaded(seed):
            number = robot.locate(name)[0]
            places.add("base" if not number else "middle" if number in parents else "end")
            kinds.add(robot.joints[number - 1].kind if number else None)
    assert kinds == {None, "revolute", "prismatic", "fixed"}
    assert places == {"base", "middle", "end"}
    assert branches == {True, False}
    turned = [np.abs(np.array(whole_tree(random_robot(seed)).base.rotation) - np.eye(3)).max() for seed in SEEDS]
    assert max(turned) > 0.5, "no robot whose base is turned from its canonical frame"


# ---- physics ---------------------------------------------------------------------------------------------

PLAIN = [
    ("inverse_dynamics", {}),
    ("inverse_dynamics", {"reactions": True}),
    ("forward_dynamics", {"reactions": True}),
    ("forward_dynamics", {"method": "nasser", "reactions": True}),
    ("forward_dynamics", {"method": "walker_orin"}),
    ("hybrid_dynamics", {"motion": "half", "reactions": True}),
    ("reaction_wrenches", {}),
    ("bias_force", {}),
    ("generalized_force", {}),
]


@many
@each
@pytest.mark.parametrize(("quantity", "options"), PLAIN, ids=["-".join([q, *o]) for q, o in PLAIN])
def test_a_load_is_a_rotated_wrench(seed, many, quantity, options):
    """Alone, and beside wrenches on the same frames."""
    robot, names, values = case(seed, many)
    options = {k: robot.joint_names[::2] if v == "half" else v for k, v in options.items()}
    wrenches = rotated(robot, values, names)
    expected = floats(robot, quantity, values | wrenches, external=names, **options)
    agree(floats(robot, quantity, values, loads=names, **options), expected)
    wrenches = {name: wrench + values[name] for name, wrench in wrenches.items()}
    expected = floats(robot, quantity, values | wrenches, external=names, **options)
    agree(floats(robot, quantity, values, external=names, loads=names, **options), expected)


@each
def test_virtual_work(seed):
    """Loads act by the transposed Jacobian of their frames in the axes of the base."""
    robot, names, values = case(seed)
    expected = floats(robot, "inverse_dynamics", values)
    for name in names:
        jacobian = floats(robot, "jacobian", values, frame=name, reference="world")
        expected = expected - jacobian.T @ values[f"load_{name}"]
    agree(floats(robot, "inverse_dynamics", values, loads=names), expected)


@each
def test_the_ground_bears_all_loads(seed):
    """Row 0: less all forces, less their moments about the origin of the base."""
    robot, names, values = case(seed)
    expected = floats(robot, "reaction_wrenches", values)[0]
    for name in names:
        force, moment = values[f"load_{name}"].reshape(2, 3)
        point = floats(robot, "link_poses", values, frame=name)[:3, 3]
        expected = expected - np.concatenate([force, moment + np.cross(point, force)])
    agree(floats(robot, "reaction_wrenches", values, loads=names)[0], expected)


@each
def test_power_balance(seed):
    """What the drives and the loads give is what the robot gains: energy, and friction's heat."""
    robot, names, values = case(seed)
    at = path(robot, values, names, seed)
    now = at(0.0)
    given = (floats(robot, "inverse_dynamics", now, loads=names) - friction_of(robot, now["qd"])) @ now["qd"]
    for name in names:
        jacobian = floats(robot, "jacobian", now, frame=name, reference="world")
        given = given + now[f"load_{name}"] @ jacobian @ now["qd"]
    gained = along(lambda t: np.sum(floats(robot, "energy", at(t))))
    close(given, gained, 1e-9, scale=max(abs(gained), 10.0))


@each
def test_forces_have_a_potential_and_moments_have_none(seed):
    """A force's part of d(tau)/dq is a Hessian. A moment's is felt by joints that others turn, not by those others."""
    robot, names, values = case(seed)
    bare = floats(robot, "inverse_dynamics_sensitivities", values)[0]
    parts = []
    for kept in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]):
        pushed = values | {f"load_{name}": values[f"load_{name}"] * kept for name in names}
        parts.append(floats(robot, "inverse_dynamics_sensitivities", pushed, loads=names)[0] - bare)
    forces, moments = parts
    close(forces, forces.T, EXACT, scale=np.abs([forces, bare]).max())
    assert np.abs(forces).max() > 0.1
    carried = np.tril(moments, -1)
    carried[:, [joint.kind == "prismatic" for joint in robot.moving_joints]] = 0.0
    close(moments, carried, EXACT, scale=np.abs([moments, bare]).max())
    assert (np.abs(carried).max() > 1.0) == (seed != 6), "of random6 no hinge carries another"


def test_a_pendulum_by_hand():
    """A weight hung at the tip, in a base that lies on its side: tau = f l sin q, and its derivatives."""
    reach, pull = 0.5, 30.0
    robot = Robot(
        "pendulum",
        [Link("base"), Link.from_com("arm", mass=2.0, com=(0.2, 0, 0), inertia=(0, 0.1, 0.1))],
        [Joint("hinge", "revolute", "base", "arm", Transform(), (0, 1, 0))],
        gravity=(0, 0, 0),
        frames=[Frame("tip", "arm", Transform.from_rpy((reach, 0, 0), (0.3, 0.2, 0.1)))],
    )
    load, q, qd = [pull, 0, 0, 0, 0, 0], 0.7, 1.3  # along the base's x; the tip is at (cos q, 0, -sin q) reach
    tau = robot.compile("inverse_dynamics", loads="tip")([q], [0.0], [0.0], load)
    np.testing.assert_allclose(tau, [pull * reach * np.sin(q)], rtol=1e-14)
    slope = robot.compile("inverse_dynamics_sensitivities", loads="tip")([q], [0.0], [0.0], load)[0]
    np.testing.assert_allclose(slope, [[pull * reach * np.cos(q)]], rtol=1e-14)
    rate = robot.compile("inverse_dynamics_rate", loads="tip")([q], [qd], [0.0], [0.0], load, [7.0, 0, 0, 0, 0, 0])[1]
    np.testing.assert_allclose(rate, [reach * (pull * np.cos(q) * qd + 7.0 * np.sin(q))], rtol=1e-14)


# ---- Pinocchio -------------------------------------------------------------------------------------------


@each
def test_pinocchio(seed):
    """Torques, and by differences of sixth order their sensitivities: forces of the world turned at every position."""
    pin = pytest.importorskip("pinocchio")
    from pinocchio_model import from_robot, positions, velocities

    robot, names, values = case(seed)
    robot = robot.without_friction()
    model = from_robot(robot)
    data = model.createData()

    def theirs(q, qd, qdd):
        state = positions(robot, model, q[None])[0], *(velocities(robot, model, x[None])[0] for x in (qd, qdd))
        pin.framesForwardKinematics(model, data, state[0])
        forces = [pin.Force.Zero() for _ in model.joints]
        for name in names:
            frame = model.getFrameId(name)
            there = pin.SE3(np.eye(3), data.oMf[frame].translation)  # at the frame's origin, in the axes of the world
            joint = model.frames[frame].parentJoint
            forces[joint] += data.oMi[joint].actInv(there.act(pin.Force(values[f"load_{name}"])))
        tau = pin.rnea(model, data, *state, forces)
        return np.array([tau[model.joints[model.getJointId(name)].idx_v] for name in robot.joint_names])

    state = [values[name] for name in ("q", "qd", "qdd")]
    agree(floats(robot, "inverse_dynamics", values, loads=names), theirs(*state), 1e-11)
    found = floats(robot, "inverse_dynamics_sensitivities", values, loads=names)
    for which, matrix in enumerate(found):
        columns = []
        for unit in np.eye(robot.nv):
            moved = lambda t, unit=unit: [x + t * unit if k == which else x for k, x in enumerate(state)]  # noqa: B023, E731
            columns.append(along(lambda t, moved=moved: theirs(*moved(t))))
        agree(matrix, np.stack(columns, -1), 1e-8)


# ---- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", LOADED)
@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ("nowhere", "loads: .*no link or frame 'nowhere'"),
        (("link1", "nowhere"), "loads: .*no link or frame 'nowhere'"),
        (("link1", "link1"), "loads: a frame is named twice"),
        (3, "'loads' must be a name or a list of names, or in a call a mapping from names to values, got 3"),
        (None, "'loads' must be a name or a list of names, .* got None"),
        (True, "'loads' must be a name or a list of names, .* got True"),
        (("link1", 3), "'loads' must be"),
        ({"link1": 1.0}, "'loads' must be"),
    ],
)
def test_wrong_options_are_refused(quantity, loads, message):
    with pytest.raises((InputError, RobotError), match=message):
        robots.two_link().compile(quantity, loads=loads)


@pytest.mark.parametrize("quantity", ["mass_matrix", "gravity_force", "link_poses", "energy", "link_motions"])
def test_quantities_without_loads_refuse_them(quantity):
    with pytest.raises(InputError, match="unknown option 'loads'"):
        robots.two_link().compile(quantity, loads="link1")


def test_wrong_arrays_are_refused():
    kernel = robots.two_link().compile("inverse_dynamics", loads=("link1", "link2"))
    good = [np.zeros(2)] * 3 + [np.zeros(6)] * 2
    kernel(*good)
    with pytest.raises(InputError, match="expected load_link2 with last axis 6"):
        kernel(*good[:4], np.zeros(5))
    with pytest.raises(InputError, match="takes 5 arrays"):
        kernel(*good[:4])
    with pytest.raises(InputError, match="real numbers"):
        kernel(*good[:4], np.zeros(6, dtype=complex))
    assert np.isnan(kernel(*good[:4], np.full(6, np.nan))).any()


def test_frames_whose_names_collide_are_refused():
    robot = robots.two_link().with_frame("tool_rate", "link1")
    with pytest.raises(InputError, match="two inputs would be named 'load_tool_rate'"):
        robot.compile("inverse_dynamics_rate", loads=("tool", "tool_rate"))


def test_the_command_line_takes_loads(tmp_path):
    """Names with commas between them, a column a component."""
    robot = robots.two_link()
    columns = ["q1", "q2", "qd1", "qd2", *(f"load_{link}[{k}]" for link in ("link1", "link2") for k in range(6))]
    values = np.linspace(0.1, 1.0, len(columns))
    (tmp_path / "in.csv").write_text(",".join(columns) + "\n" + ",".join(map(str, values)) + "\n")
    files = ["--in", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.npz")]
    assert cli.main(["eval", "bias_force", "two_link", *files, "--option", "loads=link1,link2"]) == 0
    with np.load(tmp_path / "out.npz") as found:
        expected = robot.compile("bias_force", loads=("link1", "link2"))(*np.split(values, [2, 4, 10]))
        np.testing.assert_array_equal(found["bias"][0], expected)
