"""Closed loops: what cannot be done is said, by name, and spoils nothing else."""

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from loop_machines import (
    at,
    body,
    closed_positions,
    machine_of,
    random_loop,
    states,
    stretched_five_bar,
    triangle,
)
from neuler import Coupling, Frame, InputError, Joint, Link, Loop, Polynomial, Robot, RobotError, robots
from random_robots import close, few

OUT_OF_REACH = [math.pi, 0.0]
"""Of the five-bar: elbows 0.8 m apart, forearms of 0.35 m."""
FINE = [2.2, 0.9]


def flap():
    """A slide with a flap on it whose face must be level: upward, and not downward."""
    joints = [
        Joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0)),
        Joint("flap", "revolute", "cart", "flap", axis=(1, 0, 0), role="passive"),
    ]
    loops = [Loop("level", "planar", "base", "flap")]
    return Robot("flap", [Link("base"), body("cart"), body("flap")], joints, loops=loops)


# ---- positions that do not exist ------------------------------------------------------------------------------


def test_one_impossible_position_is_an_error():
    with pytest.raises(
        RobotError, match=r"'five_bar': its loops cannot be closed at this position; they stay open by 0"
    ):
        robots.five_bar().assemble(OUT_OF_REACH)


def test_of_a_batch_impossible_positions_are_named_and_the_others_intact():
    machine = robots.five_bar()
    active = np.array([FINE, OUT_OF_REACH, [2.3, 1.0], OUT_OF_REACH])
    with pytest.warns(RuntimeWarning, match=r"'five_bar': its loops cannot be closed in 2 of 4 rows: 1, 3; there q"):
        found = machine.assemble(active)
    assert found.closed.tolist() == [True, False, True, False]
    assert np.isnan(found.q[[1, 3]]).all()
    assert (found.gap[[1, 3]] > 0.01).all()
    for k in (0, 2):
        close(found.q[k], machine.assemble(active[k]).q, 0)
    with pytest.warns(RuntimeWarning, match=r"in 2 of 4 rows: \(0, 1\), \(1, 1\)"):
        machine.assemble(active.reshape(2, 2, 2))
    with pytest.warns(RuntimeWarning, match="in 1 of 1 rows: 0"):  # a batch is a batch, even if all of it is bad
        assert np.isnan(machine.assemble([OUT_OF_REACH]).q).all()


def test_warnings_point_at_the_caller():
    with pytest.warns(RuntimeWarning) as caught:
        robots.five_bar().assemble([FINE, OUT_OF_REACH])
    assert caught[0].filename == __file__


def test_a_path_ends_where_the_reach_ends_and_may_come_back():
    """Out and in again on the same way: what lies between is NaN, the branch after it the one before it."""
    machine = robots.five_bar()
    right = np.concatenate([np.linspace(0.9, -0.9, 20), np.linspace(-0.9, 0.9, 20)])
    path = np.stack([np.full(40, 2.3), right], axis=-1)
    with pytest.warns(RuntimeWarning, match="cannot be closed"):
        found = machine.assemble(path, machine.assemble(path[0]).q, continuous=True)
    elbows = np.hypot(0.2 + 0.3 * np.cos(right) - 0.3 * math.cos(2.3), 0.3 * np.sin(right) - 0.3 * math.sin(2.3))
    assert (found.closed == (elbows < 0.7)).all()
    assert 5 < found.closed.sum() < 35
    close(found.q[found.closed], found.q[::-1][found.closed[::-1]], 1e-9)


def test_a_path_may_begin_out_of_reach():
    """It starts from the guess where the reach begins."""
    machine = robots.five_bar()
    path = np.stack([np.full(20, 2.3), np.linspace(0.1, 0.9, 20)], axis=-1)
    with pytest.warns(RuntimeWarning, match=r"cannot be closed in \d+ of 20 rows: 0, 1"):
        found = machine.assemble(path, continuous=True)
    assert not found.closed[0]
    assert found.closed[10:].all()
    close(found.q[-1], machine.assemble(path[-1]).q, 1e-10)


def test_a_path_does_not_jump_over_what_is_out_of_reach():
    """The far side can be closed, but not be reached from here."""
    machine = robots.five_bar()
    path = np.array([[2.3, 0.9], [2.3, -2.0]])
    with pytest.warns(RuntimeWarning, match="in 1 of 2 rows: 1"):
        found = machine.assemble(path, continuous=True)
    assert found.closed.tolist() == [True, False]
    assert machine.assemble(path).closed.all()


def test_not_finite_positions():
    machine = robots.five_bar()
    for bad in ([math.nan, 1.0], [2.2, math.inf]):
        with pytest.raises(InputError, match="q_active and guess must be finite numbers"):
            machine.assemble(bad)
        with pytest.warns(RuntimeWarning, match="in 1 of 2 rows: 1"):
            found = machine.assemble([FINE, bad])
        assert np.isnan(found.q[1]).all()
        close(found.q[0], machine.assemble(FINE).q, 0)
    with pytest.raises(InputError, match="must be finite"):
        machine.assemble(FINE, [0, math.nan, 0, 0])


def test_not_finite_states_stay_in_their_rows():
    machine = robots.five_bar()
    q, qd, qdd = states(machine, 3)
    q[1, 0] = math.nan
    tau = machine.inverse_dynamics(q, qd, qdd)
    assert np.isnan(tau[1]).all()
    assert np.isfinite(tau[[0, 2]]).all()


def test_the_wrong_way_round():
    """Closed, but with axes opposite: as a guess, as a reference, and by the frames themselves."""
    machine = flap()
    assert machine.mobility.freedoms == 1
    assert machine.upright([0.3, 0.1]) > 0 > machine.upright([0.3, 3.0])
    assert machine.assemble([0.5], [0.5, 0.4]).closed
    with pytest.raises(RobotError, match=r"'flap': .* axes that should be equal are opposite, the wrong way"):
        machine.assemble([0.5], [0.5, 3.0])
    with pytest.warns(RuntimeWarning, match="in 1 of 2 rows: 1"):
        found = machine.assemble([0.5], [[0.5, 0.4], [0.5, 3.0]])
    assert found.closed.tolist() == [True, False]
    with pytest.raises(RobotError, match="from its reference; axes that should be equal are opposite"):
        machine.replace(reference=(0.5, 3.0))
    machine = robots.four_bar()
    turned = [dataclasses.replace(f, placement=f.placement @ at(0, 0, (math.pi, 0, 0))) if f.name == "rocker_tip" else f
              for f in machine.frames]  # fmt: skip
    with pytest.raises(RobotError, match=r"robot 'four_bar': .* equal are opposite"):
        machine.replace(frames=turned)


def test_without_a_reference_the_right_way_round_is_found():
    """The first guess, all joints at zero, closes the flap the wrong way round: others are tried."""
    joints = [Joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0))]
    joints += [Joint("flap", "revolute", "cart", "flap", at(0, 0, (math.pi, 0, 0)), axis=(1, 0, 0), role="passive")]
    loops = [Loop("level", "planar", "base", "flap")]
    machine = Robot("flap", [Link("base"), body("cart"), body("flap")], joints, loops=loops)
    close(abs(math.remainder(machine.mobility.reference[1], 2 * math.pi)), math.pi, 1e-12)


def test_loops_that_do_not_close_from_their_reference():
    with pytest.raises(RobotError, match="from its reference; 'cut' stays open"):
        triangle(frames=[Frame("tip", "b", at(1)), Frame("foot", "base", at(5.0))], reference=(0.1, 0.2))


@pytest.mark.slow
def test_loops_that_never_close():
    """Said when the robot is made, and whenever a changed one is."""
    short = [Frame("tip", "b", at(1)), Frame("foot", "base", at(5.0))]
    with pytest.raises(
        RobotError, match=r"robot 'triangle': its loops cannot be closed from 40 guesses; 'cut' stays open by 3"
    ):
        triangle(frames=short)
    with pytest.raises(RobotError, match="from 40 guesses; 'cut' stays open"):
        triangle().replace(frames=short)
    # the second link turned with the first: the tip reaches no point of the base but two
    with pytest.raises(RobotError, match="'cut' stays open"):
        triangle(couplings=[Coupling("q", "p", 0.0, 0.3)])
    standing = triangle(couplings=[Coupling("q", "p", 0.0, -2 * math.asin(0.8))])
    assert (standing.nq, standing.mobility.freedoms) == (1, 0)


def test_quaternions_that_are_no_rotation():
    machine = random_loop("revolute", 1, "floating")
    names, where = ("root", "a0", "a1", "b0"), [*range(7), 7, 8, 11]
    q = closed_positions(machine, 2, reach=0.2)
    active = q[:, where]
    active[1, 3:7] *= 1.1
    with pytest.raises(InputError, match=r"the quaternion of joint 'root' has the length 1\.1 instead of 1"):
        machine.assemble(active[1], q[0], independent=names)
    with pytest.warns(RuntimeWarning) as caught:
        found = machine.assemble(active, q, independent=names)
    assert [str(one.message).partition("in 1 of 2 rows: 1")[1] for one in caught] == ["in 1 of 2 rows: 1"] * 2
    assert found.closed.tolist() == [True, False]
    close(found.q[0], q[0], 1e-10)
    machine = random_loop("fixed", 1, "free")  # of a guess the direction is enough
    q = closed_positions(machine, 1, reach=0.1)[0]
    first = machine.tree.nq - 10
    guess = q.copy()
    guess[first + 3 : first + 7] *= 3.0
    close(machine.assemble(np.delete(q, range(first, first + 7)), guess).q, q, 1e-9)


def test_quaternions_that_are_no_rotation_are_named_by_every_verb():
    """By those that say nothing about loops too."""
    machine = machine_of("floating_four_bar")
    q = np.tile(machine.neutral(), (3, 1))
    q[1, 3:7] *= 2.0
    still = np.zeros(machine.nv)
    for verb, more in (("link_poses", ()), ("inverse_dynamics", (still, still)), ("energy", (still,))):
        with pytest.warns(RuntimeWarning, match=rf"{verb} of 'floating_four_bar': .*quaternion.* in 1 of 3 rows: 1"):
            getattr(machine, verb)(q, *more)
    with pytest.raises(InputError, match=r"link_poses: the quaternion of joint 'root_joint', .*has the length 2"):
        machine.link_poses(q[1])


def test_frames_on_one_body_close_no_loop():
    joints = [Joint("p", "revolute", "base", "a"), Joint("weld", "fixed", "a", "b", at(1))]
    tree = Robot("welded", [Link("base"), body("a"), body("b")], joints)
    with pytest.raises(RobotError, match="robot 'welded', loop 'cut': fixed joints make one body of the links"):
        tree.replace(loops=[Loop("cut", "spherical", "a", "b")])


# ---- wrong arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0],), {}, r"expected q_active with last axis 2 \(left_arm, right_arm\), got shape \(1,\)"),
        ((2.2,), {}, r"expected q_active with last axis 2 .*got shape \(\)"),
        ((FINE, [0.0, 1.0]), {}, r"expected guess with last axis 4, got shape \(2,\)"),
        (("here",), {}, "q_active must be real numbers, got values of type <U4"),
        (([1 + 1j, 0],), {}, "q_active must be real numbers, got complex numbers"),
        ((FINE,), {"continuous": True}, r"a path needs a first axis of points, got q_active of shape \(2,\)"),
        ((np.zeros((3, 2)), np.zeros((5, 4))), {}, r"q_active \(3, 2\) and guess \(5, 4\) do not broadcast"),
        ((np.zeros((3, 2, 2)), np.zeros((5, 4))), {"continuous": True}, "the first axis of q_active being the path"),
        ((FINE,), {"tolerance": 0.0}, r"tolerance must be above zero \(m, rad\), got 0.0"),
        ((FINE,), {"tolerance": "small"}, "tolerance must be a number, got 'small'"),
        ((FINE,), {"iterations": 0}, "iterations must be a whole number, 1 or more, got 0"),
        ((FINE,), {"iterations": 2.5}, r"iterations must be a whole number, 1 or more, got 2\.5"),
        ((FINE,), {"independent": 3}, "independent must be names of joints, got 3"),
        ((FINE,), {"independent": ["elbow", "left_arm"]}, "no moving joint 'elbow'; it has 'left_arm', 'left_forearm'"),
        ((FINE,), {"independent": ["left_arm", "left_arm"]}, "a joint is named twice in left_arm, left_arm"),
        (([2.2],), {"independent": "left_arm"}, r"2 degrees of freedom, but the joints \(left_arm\) decide 1"),
    ],
)  # fmt: skip
def test_assembly_refuses(arguments, options, message):
    with pytest.raises((InputError, RobotError), match=message):
        robots.five_bar().assemble(*arguments, **options)


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        ("jacobean", {}, "there is no quantity 'jacobean'; did you mean 'jacobian'"),
        ("inverse_dynamics", {"frame": "tool"}, "unknown option 'frame'; its options are external, loads, reactions"),
        ("inverse_dynamics", {"independent": "left_arm"}, r"Independent joints are the robot's"),
        ("forward_dynamics", {"method": "nasser"}, "method 'nasser' is for trees; robot 'five_bar' has loops"),
        ("hybrid_dynamics", {"reactions": True}, "with loops or couplings it has no reactions"),
        ("closure", {"independent": "left_arm"}, "closure: unknown option 'independent'"),
        ("inverse_dynamics", {"dtype": "float16"}, "dtype must be float64 or float32, got 'float16'"),
        ("assembly_step", {"independent": "nobody"}, "no moving joint 'nobody'"),
        ("assembly_step", {"independent": 4.0}, "must be a name, a list of names"),
    ],
)
def test_kernels_refuse(quantity, options, message):
    with pytest.raises((InputError, RobotError), match=message):
        robots.five_bar().compile(quantity, **options)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("left_arm", "right_arm", "left_forearm"), "3 velocities, which cannot all be"),
        (("left_arm",), r"robot 'five_bar' has 2 degrees of freedom, but the joints \(left_arm\) decide 1 of them"),
        ((), r"robot 'five_bar' has 2 degrees of freedom, but the joints \(none\) decide 0"),
        (("nobody", "left_arm"), "robot 'five_bar': has no moving joint 'nobody'; it has 'left_arm', 'left_forearm'"),
        (("left_arm", "left_arm"), "a joint is named twice in left_arm, left_arm"),
        ((4.0, "left_arm"), "no moving joint 4.0"),
    ],
)
def test_independent_joints_that_are_none(names, message):
    """Refused when the robot is made."""
    with pytest.raises(RobotError, match=message):
        robots.five_bar().with_independent(*names)
    tree = robots.two_link()
    with pytest.raises(RobotError, match="robot 'two_link': has no loops, so that all its joints are independent"):
        tree.with_independent(tree.joint_names[0])


def test_kernels_refuse_wrong_shapes():
    machine = robots.five_bar()
    q = np.array(machine.reference)
    with pytest.raises(
        InputError,
        match=r"expected qd with last axis 2 \(of the independent joints: left_arm, right_arm\), got shape \(4,\)",
    ):
        machine.inverse_dynamics(q, np.zeros(4), np.zeros(2))
    with pytest.raises(InputError, match=r"expected tau with last axis 2 \(of the joints in tau: left_arm"):
        machine.forward_dynamics(q, np.zeros(2), np.zeros(4))
    with pytest.raises(InputError, match=r"takes 3 arrays \(q, qd, qdd\), got 2"):
        machine.inverse_dynamics(q, np.zeros(2))
    assert machine.inverse_dynamics(np.zeros((0, 4)), np.zeros((0, 2)), np.zeros((0, 2))).shape == (0, 2)


def test_couplings_alone_have_no_cut():
    machine = triangle(loops=(), couplings=[Coupling("q", "p", 2.0)])
    with pytest.raises(InputError, match="upright: robot 'triangle' has no loops"):
        machine.upright([0.1])
    with pytest.raises(InputError, match="assemble: robot 'triangle' has no loops to close"):
        machine.assemble([0.1])
    assert machine.reaction_wrenches([0.1], [0.0], [0.0]).shape == (3, 6)
    held = triangle(loops=(), couplings=[Coupling("q", "p", 0.0, 0.4)])  # a joint that is held
    close(held.link_poses([1.0]), held.tree.link_poses([1.0, 0.4]), 1e-14)
    stiff = held.tree.replace(joints=[
        dataclasses.replace(j, kind="fixed", placement=j.placement @ at(0, 0, (0, 0, 0.4))) if j.name == "q" else j
        for j in held.joints
    ])  # fmt: skip
    for verb in ("inverse_dynamics", "forward_dynamics"):
        close(getattr(held, verb)([1.0], [2.0], [3.0]), getattr(stiff, verb)([1.0], [2.0], [3.0]), 1e-12)


@pytest.mark.parametrize(
    ("couplings", "message"),
    [
        ([Coupling("q", "p", 1.0), Coupling("q", "p", 1.0, 1.0)], "joint 'q' is coupled twice"),
        ([Coupling("q", "p"), Coupling("p", "q")], "couplings lead in a circle: 'q' of 'p' of 'q'"),
        ([Coupling("p", "z", function=Polynomial((0, 1)))], "a coupling names 'z', which is no moving joint"),
    ],
)
def test_couplings_that_cannot_be(couplings, message):
    with pytest.raises(RobotError, match=f"robot 'triangle': {message}"):
        triangle(loops=(), couplings=couplings)


def test_huge_angles_and_whole_turns():
    machine = robots.four_bar()
    near = machine.assemble([1.0]).q
    for turns in (1, -3, 1000):
        q = machine.assemble([1.0 + 2 * math.pi * turns]).q
        close(np.exp(1j * q), np.exp(1j * near), 1e-11)
        found = machine.assemble([1.1 + 2 * math.pi * turns], near)
        assert found.iterations <= 10  # a whole turn is no way to go
    assert machine.assemble([1e6]).closed


# ---- other numbers, other processes --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", few(["four_bar", "sr400"], 1))
def test_single_precision(name):
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    for quantity in ("inverse_dynamics", "forward_dynamics", "coupling_matrix", "mass_matrix", "singularity"):
        arrays = (q, qd, qdd)[: len(machine.compile(quantity).inputs)]
        found = machine.compile(quantity, dtype="float32")(*(x.astype(np.float32) for x in arrays))
        expected = machine.compile(quantity)(*arrays)
        for one, two in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True):
            assert one.dtype == np.float32
            close(one, two, 3e-4, what=quantity)


def test_pickled_and_copied():
    """After use too: kernels are no part of it."""
    machine = robots.five_bar()
    q = machine.assemble(FINE).q
    arrays = (q, np.ones(2), np.ones(2))
    tau = machine.inverse_dynamics(*arrays)
    for other in (pickle.loads(pickle.dumps(machine)), copy.copy(machine), copy.deepcopy(machine)):
        assert other == machine
        assert hash(other) == hash(machine)
        assert other.content_hash == machine.content_hash
        close(other.assemble(FINE).q, q, 0)
        close(other.inverse_dynamics(*arrays), tau, 0)
    swapped = machine.with_independent("right_arm", "left_arm")
    kernel = swapped.compile("inverse_dynamics", external=("tool",))
    again = pickle.loads(pickle.dumps(kernel))
    assert again.options == {"external": ("tool",)}
    assert again.robot == swapped != machine
    assert swapped.content_hash != machine.content_hash
    close(again(*arrays, np.ones(6)), kernel(*arrays, np.ones(6)), 0)
    assert machine.content_hash != machine.replace(reference=None).content_hash
    assert machine.content_hash != robots.five_bar().with_gravity((0, 0, 0)).content_hash


@pytest.mark.slow
def test_another_process_finds_the_same(tmp_path):
    machine = robots.sr400()
    active = np.array(machine.reference)[[0, 1, 3, 4, 5, 6]] + 0.1
    arrays = (machine.assemble(active).q, np.ones(6), np.ones(6))
    expected = machine.inverse_dynamics(*arrays)
    (tmp_path / "kernel").write_bytes(pickle.dumps((machine, machine.inverse_dynamics, active, arrays)))
    script = (
        "import pickle, sys; machine, kernel, active, arrays = pickle.load(open(sys.argv[1], 'rb')); "
        "pickle.dump((machine.content_hash, machine.mobility.rows, machine.assemble(active).q, kernel(*arrays)), "
        "open(sys.argv[2], 'wb'))"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "kernel", tmp_path / "result"], check=True)
    identity, rows, q, tau = pickle.loads((tmp_path / "result").read_bytes())
    assert identity == machine.content_hash
    assert rows == machine.mobility.rows
    close(q, arrays[0], 1e-14)
    close(tau, expected, 1e-14)


def test_open_loops_are_named_and_give_nan():
    """A position at which the loops are not closed is not one of the robot: no number may come of it."""
    machine = robots.four_bar()
    closed = np.array(machine.mobility.reference)
    q = np.stack([closed, closed + [0.0, 0.1, 0.0], closed + 1e-7])
    for quantity in ("inverse_dynamics", "tree_motion", "reaction_wrenches"):
        with pytest.warns(
            RuntimeWarning, match=r"loops are open at this q; assemble gives a closed one in 1 of 3 rows: 1"
        ):
            found = getattr(machine, quantity)(q, [[1.0]] * 3, [[0.5]] * 3)
        first = found[0] if isinstance(found, tuple) else found
        bad = np.isnan(first.reshape(3, -1))
        assert bad[1].any()
        assert not bad[[0, 2]].any()
    gough = robots.gough_stewart()
    pose = gough.neutral()
    away = pose + np.eye(len(pose))[0] * 0.1
    with pytest.warns(RuntimeWarning, match="loops are open"):
        assert np.isnan(gough.inverse_dynamics(away, np.zeros(6), np.zeros(6))).all()


# ---- one warning, in our own words ---------------------------------------------------------------------------------


def test_open_loops_warn_once_and_numpy_not_at_all():
    machine = robots.four_bar()
    closed = machine.assemble([1.0]).q
    opened = closed + [0.0, 0.3, 0.0]
    one = np.ones(1)
    for q, where in ((opened, ""), (np.array([closed, opened]), " in 1 of 2 rows: 1")):
        for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "reaction_wrenches"):
            arguments = (q,) if quantity == "mass_matrix" else (q, one, one)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                getattr(machine, quantity)(*arguments)
            (only,) = told
            assert str(only.message) == (
                f"{quantity} of 'four_bar': the loops are open at this q; assemble gives a closed one{where}; "
                "the result is NaN there"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="the loops are open at this q"):
                machine.inverse_dynamics(q, one, one)


def test_several_reasons_are_one_warning():
    robot = robots.five_bar().with_free_base()
    q = np.tile(robot.neutral(), (4, 1))
    q[1, 3:7] *= 2.0
    q[2, -1] += 0.5
    q[3, 7:] = stretched_five_bar(2.5)
    v = np.zeros((4, 8))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = robot.inverse_dynamics(q, v, v)
    assert np.isnan(found).all(axis=-1).tolist() == [False, True, True, True]
    (only,) = told
    text = str(only.message)
    for part in (
        "length 1 in 1 of 4 rows: 1; ",
        "closed one in 1 of 4 rows: 2; ",
        "the pose is singular in 1 of 4 rows: 3; the result",
    ):
        assert part in text
