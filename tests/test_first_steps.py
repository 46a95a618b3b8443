"""What a new user types, with the names and habits of other libraries; and what comes back."""

import copy
import dataclasses
import inspect
import pickle
import pydoc

import numpy as np
import pandas as pd
import pytest

import neuler
from neuler import FormatError, InputError, plan
from neuler.elsewhere import _FUNCTIONS, _VERBS, method, quantity
from neuler.formats import DHRow, KhalilRow
from neuler.quantities.catalogue import QUANTITIES
from neuler.view.player import player
from neuler.view.poses import Placed

ROBOT = neuler.robots.puma560()
Q = np.random.default_rng(2).normal(size=(5, 6))
NAMES = list(ROBOT.joint_names)


# ---- names --------------------------------------------------------------------------------------------------


def test_dir_holds_public_names_only():
    robot = neuler.robots.puma560()
    robot.inverse_dynamics(Q, Q, Q)
    assert not robot.mobility.redundant  # what is cached on the robot is not among its names
    assert not hasattr(robot, "compiled")
    assert all(name.isidentifier() and not name.startswith("_") for name in dir(robot))
    assert {"inverse_dynamics", "nq", "links", "with_payload", "rollout", "compile"} <= set(dir(robot))
    for name in dir(robot):
        assert hasattr(robot, name)


def test_verbs_of_loops_stand_on_robots_with_loops_alone():
    arm, linkage, platform = (set(dir(x)) for x in (ROBOT, neuler.robots.four_bar(), neuler.robots.delta()))
    of_loops = {name for name, each in QUANTITIES.items() if each.only == "loops"}
    assert not arm & {*of_loops, "assemble", "forward_kinematics", "elastic_inverse_dynamics"}
    assert of_loops | {"assemble"} <= linkage
    assert "forward_kinematics" not in linkage
    assert of_loops | {"assemble", "forward_kinematics"} <= platform


@pytest.mark.parametrize("name", ["rnea", "aba", "crba", "fkine", "jacob0"])
def test_names_of_other_libraries_are_answered_with_ours(name):
    ours = quantity(name)
    assert ours in QUANTITIES
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; use robot\.{ours}\("):
        getattr(ROBOT, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; use robot\.{ours}\("):
        getattr(neuler, name)
    with pytest.raises(InputError, match=f"did you mean '{ours}'"):
        ROBOT.compile(name)


@pytest.mark.parametrize("name", ["dof", "payload", "ikine", "getFrameId"])
def test_what_is_no_quantity_is_not_offered_as_one(name):
    with pytest.raises(InputError) as caught:
        ROBOT.compile(name)
    offered = str(caught.value).partition("did you mean ")[2].partition("?")[0].strip("'")
    assert offered in ("", *QUANTITIES)


def test_an_error_inside_a_property_is_not_hidden(monkeypatch):
    monkeypatch.setattr(neuler.Robot, "tip", property(lambda robot: robot.nonsense_inside))
    with pytest.raises(AttributeError, match="nonsense_inside"):
        _ = ROBOT.tip


def test_what_is_answered_exists():
    """Every name that an answer begins with is there, and none of the names answered is one of ours."""
    for name in _VERBS:
        assert not hasattr(ROBOT, name)
        head = method(name).removeprefix("robot.").partition("(")[0].partition(",")[0]
        assert hasattr(ROBOT, head), name
    for name, answer in _FUNCTIONS.items():
        assert not hasattr(ROBOT, name)
        place = ROBOT if answer.startswith("robot.") else neuler
        for part in answer.partition("(")[0].partition(",")[0].split(".")[1:]:
            place = getattr(place, part)


def test_help_shows_how_a_quantity_is_called():
    text = pydoc.render_doc(ROBOT.jacobian)
    assert "jacobian(q, *, frame=None, reference='link', parameters=(), dtype='float64', out=None)" in text
    assert "its velocity (linear; angular)" in text
    assert "which does not have it" in repr(ROBOT.closure)


def test_a_likely_name_is_offered():
    with pytest.raises(AttributeError, match="did you mean 'inverse_dynamics'"):
        _ = ROBOT.inverse_dynamic
    with pytest.raises(AttributeError, match=r"dir\(robot\) lists"):
        _ = ROBOT.zyx
    with pytest.raises(AttributeError, match="did you mean 'Robot'"):
        _ = neuler.Robott
    with pytest.raises(AttributeError, match=r"no attribute '_private'$"):
        _ = neuler._private


def test_protocols_that_ask_for_attributes_still_work():
    assert pickle.loads(pickle.dumps(ROBOT)) == ROBOT == copy.deepcopy(ROBOT) == copy.copy(ROBOT)
    assert not hasattr(ROBOT, "__array__")
    assert not hasattr(ROBOT, "_repr_png_")
    assert inspect.getdoc(ROBOT)


# ---- robots -------------------------------------------------------------------------------------------------


def test_a_free_base_under_a_root_called_world():
    text = "<robot name='arm'><link name='world'/><link name='a'/><joint name='root_joint' type='fixed'>"
    text += "<parent link='world'/><child link='a'/></joint></robot>"
    freed = neuler.load(text, floating_base=True)
    assert freed.link_names == ("world_", "world", "a")
    assert freed.joint_names == ("root_joint_",)
    assert freed == neuler.load(text).with_free_base()
    assert freed.with_free_base().joint_names == ("root_joint__", "root_joint_")
    assert neuler.load(text).with_planar_base().link_names[0] == "world_"
    twice = ROBOT.with_planar_base().with_planar_base()
    assert len(set(twice.link_names)) == len(twice.links)
    with pytest.raises(neuler.RobotError):  # a name that was chosen is not changed
        neuler.load(text).with_free_base(world="world")


def test_a_robot_of_the_catalogue_is_no_file():
    with pytest.raises(FormatError, match=r"'puma560': .*; neuler.robots.get\(name\) makes a robot of the catalogue"):
        neuler.load("puma560")


def test_keys_of_the_other_convention():
    with pytest.raises(FormatError, match="row 1: 'r' is a field of the other convention; write convention=\"khalil\""):
        neuler.from_dh([{"r": 0.4}])
    with pytest.raises(FormatError, match="'a' is a field of the other convention; write convention=\"standard\""):
        neuler.from_dh([{"a": 0.4}], convention="khalil")


def test_names_of_a_planar_base():
    for bad in ("cart", ("x", "y"), "xyz"):
        with pytest.raises(neuler.RobotError, match="names must be three"):
            ROBOT.with_planar_base(bad)


def test_random_positions_are_within_limits():
    """Also where both are equal, or far from zero; limits that exclude each other are none."""
    for low, high in ((0.2, 0.2), (4.0, 5.0), (-9.0, -8.0), (5.0, 50.0)):
        limits = neuler.Limits(low, high)
        robot = ROBOT.replace(joints=[dataclasses.replace(joint, limits=limits) for joint in ROBOT.joints])
        q = robot.random_configuration(0, 100)
        assert ((low <= q) & (q <= high)).all()
    assert any(
        "cannot move" in finding.message
        for finding in ROBOT.replace(
            joints=[dataclasses.replace(joint, limits=neuler.Limits(0.0, 0.0)) for joint in ROBOT.joints]
        ).check()
    )


def test_rows_of_the_other_convention():
    with pytest.raises(FormatError, match=r'row 1: is a KhalilRow; .* convention="khalil"'):
        neuler.from_dh([KhalilRow(d=0.4)])
    with pytest.raises(FormatError, match=r'row 2: is a DHRow; .* convention="standard"'):
        neuler.from_dh([{"d": 1.0}, DHRow(d=0.4)], convention="khalil")
    assert neuler.from_dh([KhalilRow(d=0.4)], convention="khalil").nv == 1


# ---- tables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "q_"])
def test_a_table_is_taken_by_the_names_of_its_columns(prefix):
    frame = pd.DataFrame(Q, columns=[prefix + name for name in NAMES]).iloc[:, ::-1].assign(t=0.0)
    np.testing.assert_array_equal(ROBOT.gravity_force(frame), ROBOT.gravity_force(Q))
    np.testing.assert_array_equal(ROBOT.gravity_force(frame.iloc[1]), ROBOT.gravity_force(Q[1]))  # one row
    np.testing.assert_array_equal(ROBOT.difference(0 * Q, frame), Q)


def test_columns_without_names_are_taken_as_they_stand():
    np.testing.assert_array_equal(ROBOT.gravity_force(pd.DataFrame(Q)), ROBOT.gravity_force(Q))
    np.testing.assert_array_equal(ROBOT.gravity_force(pd.Series(Q[0])), ROBOT.gravity_force(Q[0]))


def test_one_table_with_everything():
    every = {"q": Q, "qd": 2 * Q, "qdd": 3 * Q}
    frame = pd.concat(
        [pd.DataFrame(x, columns=[f"{what}_{name}" for name in NAMES]) for what, x in every.items()], axis=1
    )
    np.testing.assert_array_equal(ROBOT.inverse_dynamics(frame, frame, frame), ROBOT.inverse_dynamics(*every.values()))


def test_tables_in_simulations():
    turned = pd.DataFrame(Q, columns=NAMES).iloc[:, ::-1]
    found, wanted = (ROBOT.rollout(x, 0 * Q, None, 1e-3, 3) for x in (turned, Q))
    np.testing.assert_array_equal(found.q, wanted.q)
    speeds = pd.DataFrame(Q, columns=[f"qd_{name}" for name in NAMES]).iloc[:, ::-1]
    found, wanted = (neuler.simulate(ROBOT, None, (None, x), 0.01) for x in (speeds, Q))
    np.testing.assert_array_equal(found.q, wanted.q)
    forces = pd.DataFrame(Q, columns=NAMES).iloc[:, ::-1]
    found, wanted = (ROBOT.rollout(Q[0], Q[0], x, 1e-3) for x in (forces, Q))
    np.testing.assert_array_equal(found.q, wanted.q)


def test_tables_wherever_positions_and_forces_are_given(tmp_path):
    """Columns in another order mean the same to all of them."""
    turned = pd.DataFrame(Q, columns=NAMES).iloc[:, ::-1]
    pushed, wanted = (neuler.simulate(ROBOT, x, None, 0.005) for x in (turned, Q))
    np.testing.assert_array_equal(pushed.q, wanted.q)
    held, wanted = (neuler.simulate(ROBOT, x, None, 0.005) for x in (turned.iloc[0], Q[0]))
    np.testing.assert_array_equal(held.q, wanted.q)
    np.testing.assert_array_equal(Placed.of(ROBOT, turned.iloc[0]).poses, Placed.of(ROBOT, Q[0]).poses)
    assert player(ROBOT, np.arange(5.0), turned) == player(ROBOT, np.arange(5.0), Q)
    goal = ROBOT.link_poses(Q[0], frame="dh6")
    found = ROBOT.inverse_kinematics(goal, turned.iloc[0], frame="dh6")
    np.testing.assert_allclose(found.q, Q[0], rtol=0, atol=1e-9)
    arm = neuler.robots.two_link()
    ends = pd.DataFrame([[0.0, -2.0], [1.0, -1.0]], columns=["joint1", "joint2"]).iloc[:, ::-1]
    named = plan.Plan(arm, plan.duration(), start=ends.iloc[0], goal=ends.iloc[1], control_points=8).solve()
    plain = plan.Plan(arm, plan.duration(), start=[0.0, -2.0], goal=[1.0, -1.0], control_points=8).solve()
    assert named.duration == plain.duration
    machine = neuler.robots.five_bar()
    both = pd.Series({"right_arm": 1.0, "left_arm": 2.0})
    np.testing.assert_array_equal(machine.assemble(both).q, machine.assemble([2.0, 1.0]).q)


@pytest.mark.parametrize(
    "call",
    [
        lambda table: neuler.control.quintic(table.iloc[0], table.iloc[1], 1.0),
        lambda table: neuler.control.table(np.arange(5.0), table),
        lambda table: plan.within(plan.torque, table.iloc[0]),
    ],
)
def test_tables_are_refused_where_nobody_knows_the_names(call):
    with pytest.raises(InputError, match=r"columns with names, and its numbers have none here; pass .*\.to_numpy\(\)"):
        call(pd.DataFrame(Q, columns=NAMES))


def test_a_series_without_names_is_an_array():
    steps = pd.Series([0.1, 0.2], index=[5, 6])  # rows of a larger table
    found = ROBOT.integrate(Q[:2], Q[:2], steps)
    np.testing.assert_array_equal(found, ROBOT.integrate(Q[:2], Q[:2], [0.1, 0.2]))
    times = pd.Series(np.arange(3.0), index=[0.5, 1.5, 2.5])
    assert neuler.control.table(times, Q[:3])(1.0).shape == (18,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.drop(columns="joint2"), "gravity_force: the table q has no column 'joint2'; it has 'joint1'"),
        (lambda x: x.rename(columns={"joint2": "elbow"}), r"no column 'joint2'; .*'elbow'.*q\.to_numpy\(\)"),
        (lambda x: x.rename(columns=lambda name: "qd_" + name), "no column 'q_joint1'"),
        (lambda x: pd.concat([x, x], axis=1), "two columns 'joint1'"),
        (lambda x: x.astype(object).assign(joint1="x"), "q must be real numbers"),
        (lambda x: x.iloc[0, :3], "no column 'joint4', 'joint5', 'joint6'"),
    ],
)
def test_names_that_do_not_fit_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        ROBOT.gravity_force(change(pd.DataFrame(Q, columns=NAMES)))


def test_functions_have_no_names_for_numbers():
    function = neuler.function(lambda x: 2 * x, {"x": 6})
    with pytest.raises(InputError, match=r"the table x has columns with names, .* x\.to_numpy\(\)"):
        function(pd.DataFrame(Q, columns=NAMES))
    np.testing.assert_array_equal(function(pd.DataFrame(Q)), 2 * Q)


def test_tables_of_parameters_wrenches_places_and_rows():
    axes = pd.DataFrame({"z": [-1.62], "y": [0.1], "x": [0.2]})
    np.testing.assert_array_equal(
        ROBOT.gravity_force(Q[:1], parameters={"gravity": axes}),
        ROBOT.gravity_force(Q[:1], parameters={"gravity": [[0.2, 0.1, -1.62]]}),
    )
    push = pd.Series({"mz": 6.0, "my": 5.0, "mx": 4.0, "fz": 3.0, "fy": 2.0, "fx": 1.0})
    plain = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    np.testing.assert_array_equal(
        ROBOT.bias_force(Q, Q, external={"dh6": push}), ROBOT.bias_force(Q, Q, external={"dh6": plain})
    )
    np.testing.assert_array_equal(
        *(ROBOT.rollout(Q, Q, None, 1e-3, 3, external={"dh6": each}).q for each in (push, plain))
    )
    place = pd.Series({"z": 0.4, "y": 0.2, "x": 0.3})
    options = {"frame": "dh6", "orientation": False}
    np.testing.assert_array_equal(
        ROBOT.inverse_kinematics(place, **options).q, ROBOT.inverse_kinematics([0.3, 0.2, 0.4], **options).q
    )
    rows = pd.DataFrame(
        {"alpha": [0.1, 0.2], "a": [0.4, 0.3], "d": [0.0, 0.1], "theta": [0.0, 0.5], "mass": [1.0, 2.0]}
    )
    assert neuler.from_dh(rows) == neuler.from_dh(rows.to_dict("records"))
    law = neuler.control.GravityPD(ROBOT, kp=100.0, kd=10.0, reference=pd.Series(Q[0], NAMES).iloc[::-1])
    np.testing.assert_array_equal(law.reference(0.0)[:6], Q[0])


def test_tables_of_pyarrow():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({name: Q[:, k] for k, name in reversed(list(enumerate(NAMES)))})
    np.testing.assert_array_equal(ROBOT.gravity_force(table), ROBOT.gravity_force(Q))
    with pytest.raises(InputError, match="has no column 'joint2'"):
        ROBOT.gravity_force(table.drop(["joint2"]))


# ---- results ------------------------------------------------------------------------------------------------


def test_out_takes_back_what_a_verb_gave():
    energy = ROBOT.energy(Q, Q)
    again = ROBOT.energy(2 * Q, Q, out=energy)
    assert again.kinetic is energy.kinetic
    np.testing.assert_array_equal(again.kinetic, ROBOT.energy(2 * Q, Q).kinetic)
    slopes = ROBOT.inverse_dynamics_sensitivities(Q, Q, Q)
    assert ROBOT.inverse_dynamics_sensitivities(2 * Q, Q, Q, out=slopes).dtau_dqd is slopes.dtau_dqd
    big = np.tile(Q, (4000, 1))  # shared among threads
    large = ROBOT.energy(big, big)
    assert ROBOT.energy(2 * big, big, out=large).potential is large.potential


# ---- plans --------------------------------------------------------------------------------------------------


def test_within_without_a_bound_are_the_robots_own_limits():
    robot = neuler.robots.two_link()
    ends = {"start": [0.0, -2.0], "goal": [1.0, -1.0]}
    own = plan.Plan(robot, plan.duration(), **ends, limits=[plan.within(plan.torque)], robot_limits=False).solve()
    usual = plan.Plan(robot, plan.duration(), **ends).solve()
    told = plan.Plan(robot, plan.duration(), **ends, limits=[plan.within(plan.torque, 10.0)]).solve()
    assert own.valid
    assert own.duration == pytest.approx(usual.duration, rel=1e-9)
    assert own.duration == pytest.approx(told.duration, rel=1e-9)


def test_within_without_a_bound_for_some_joints_and_times():
    robot = neuler.robots.two_link()
    ends = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "robot_limits": False, "duration": (0.2, 2.0)}
    part = plan.within(plan.torque, joints="joint2", when=(0.0, 0.5))
    rest = plan.within(plan.torque, 30.0)
    found = plan.Plan(robot, plan.duration(), limits=[part, rest], **ends).solve()
    assert found.valid
    early, late = (found.torques(np.linspace(a, b, 200) * found.duration) for a, b in ((0.0, 0.5), (0.5, 1.0)))
    assert np.abs(early[:, 1]).max() <= 10.0 + 1e-4 < np.abs(late).max()


def test_within_without_a_bound_where_there_are_none():
    with pytest.raises(InputError, match=r"no limits of torque_rate \(they have of position, velocity, torque\)"):
        plan.within(plan.torque_rate)
    limited = neuler.robots.two_link()
    free = limited.replace(joints=[dataclasses.replace(joint, limits=neuler.Limits()) for joint in limited.joints])
    half = limited.replace(joints=[dataclasses.replace(limited.joints[0], limits=neuler.Limits()), limited.joints[1]])
    only = plan.within(plan.torque, joints="joint1")
    with pytest.raises(InputError, match="robot 'two_link' has no limits of torque of joint1; give a bound"):
        plan.Plan(half, plan.duration(), start=[0.0, 0.0], goal=[1.0, 0.0], limits=[only])
    with pytest.raises(InputError, match="robot 'two_link' has no limits of torque; give a bound"):
        plan.Plan(free, plan.duration(), start=[0.0, 0.0], goal=[1.0, 0.0], limits=[plan.within(plan.torque)])
