"""The table of q, qd and tau: slices, names, units, owners and selections of every structure, against plain counts."""

import pickle

import numpy as np
import pytest

import neuler
from every_robot import geared, geared_loop
from kind_robots import SEEDS, kind_robot
from loop_machines import KINDS as CUTS
from loop_machines import random_loop
from motor_robots import motor_robot
from neuler import Coupling, InputError, Joint, Limits, Link, Motor, RobotError, robots
from neuler.robot.columns import column_names
from neuler.robot.configuration import turns_in_part
from neuler.robot.coordinates import names, slices, springs, undriven
from neuler.robot.kinds import KINDS
from neuler.trace.recipe import Operand
from random_robots import close

TRUNKS = ("none", "hinge", "floating", "free")
MACHINES = {
    **{f"kinds{seed}": lambda seed=seed: kind_robot(seed) for seed in SEEDS},
    **{f"motors{seed}": lambda seed=seed: motor_robot(seed) for seed in range(3)},
    **{f"{cut}{k}": lambda cut=cut, k=k: random_loop(cut, k, TRUNKS[k % 4]) for k, cut in enumerate(CUTS)},
    "geared": geared,
    "geared_loop": geared_loop,
    "floating": lambda: robots.puma560().with_free_base(),
    "mobile": lambda: robots.stanford().with_planar_base(),
    "hexapod": lambda: robots.get("gough_stewart"),
    "sr400": robots.sr400,
    "still": lambda: neuler.Robot("still", [Link("base")]),
}  # fmt: skip


@pytest.fixture(params=MACHINES)
def robot(request):
    return MACHINES[request.param]()


def test_slices_follow_each_other(robot):
    table, at, first = robot.coordinates, 0, 0
    assert [entry.joint for entry in table] == list(robot.moving_joints)
    for number, entry in enumerate(table):
        assert (entry.q.start, entry.v.start, entry.number) == (at, first, number)
        assert (entry.nq, entry.nv) == (KINDS[entry.joint.kind].nq, KINDS[entry.joint.kind].nv)
        assert entry.one == (entry.nq == 1 and entry.nv == 1)
        at, first = at + entry.nq, first + entry.nv
        assert (entry.q.stop, entry.v.stop) == (at, first)
        assert list(entry.positions) == list(range(robot.nq))[entry.q]
        assert list(entry.velocities) == list(range(table.velocities))[entry.v]
    assert (table.nq, table.velocities, len(table)) == (at, first, len(robot.joint_names))
    assert robot.nq == at
    assert robot.nv == len(table.independent)
    assert robot.nu == len(table.active)
    assert [(joint, q, v) for joint, q, v in slices(robot.moving_joints)] == [(e.joint, e.q, e.v) for e in table]


def test_entries_know_their_joints(robot):
    table = robot.coordinates
    assert tuple(entry.limits for entry in table) == robot.coordinate_limits
    q = robot.random_configuration(1)
    for entry in table:
        assert entry.elastic == (entry.drives is not None) == entry.name.endswith(".motor")
        turns = table[entry.drives].turns if entry.elastic else entry.kind.turns
        assert entry.turns == turns
        assert len(entry.turns) == entry.nv
        if entry.quaternion is None:
            assert entry.kind.quaternion is None
        else:
            assert entry.q.start <= entry.quaternion.start < entry.quaternion.stop == entry.q.stop
            close(np.linalg.norm(q[entry.quaternion]), 1.0, 1e-14)
    assert sum(entry.quaternion is not None for entry in table) == sum(x == "" for x in table.units("q")) / 4


def test_names_are_those_of_columns(robot):
    table = robot.coordinates
    for what, size in (("q", robot.nq), ("qd", robot.nv), ("tau", robot.nu)):
        assert [f"{what}_{name}" for name in table.names(what)] == column_names(robot, Operand(what, (size,)))
        assert len(table.names(what)) == len(table.units(what)) == len(table.owners(what)) == size
        assert all(
            name.startswith(entry.name) for name, entry in zip(table.names(what), table.owners(what), strict=True)
        )
    assert table.names("qd", ".", every=True) == list(table.velocity_names)
    assert len(table.units("tau", every=True)) == len(table.owners("tau", every=True)) == table.velocities
    assert tuple(dict.fromkeys(entry.name for entry in table.owners("tau"))) == robot.active_names


def test_names_lead_back(robot):
    table = robot.coordinates
    for entry in table:
        assert entry.name in table
        assert table[entry.name] is entry
        assert table.numbers(entry.name) == tuple(entry.velocities)
        assert table.position(entry.name) == (entry.joint, tuple(entry.positions), ())
        assert table.names_of(entry.velocities) == (entry.name,)
    for number, (name, owner) in enumerate(zip(table.velocity_names, table.owners("qd", every=True), strict=True)):
        assert number in table.numbers(name)
        if owner.one:
            continue
        assert table.numbers(name) == (number,)
        assert table.names_of([number]) == (name,)
        joint, places, turned = table.position(name)
        assert joint is None
        if owner.quaternion is None:
            assert places == (owner.q.start + number - owner.v.start,)
        else:
            assert (places, turned) == ((), (number,))
    every = range(table.velocities)
    assert [k for name in table.names_of(every) for k in table.numbers(name)] == list(every)
    if robot.loops:
        assert table.names_of(table.independent) == robot.mobility.independent


def test_own_coordinates_are_those_of_qd(robot):
    """Differences of own positions are the robot's; without theta they are a part of them."""
    if robot.loops and turns_in_part(robot):
        with pytest.raises(RobotError, match="which turns by a quaternion, some velocities are independent"):
            _ = robot.coordinates.own
        return
    own, links = robot.coordinates.own, robot.coordinates.links
    assert own.numbers == tuple(range(robot.nv))
    assert own.speeds == robot.nv == sum(part.speeds for part in own.parts)
    assert own.size == len(own.places) == len(set(own.places))
    assert own.plain == (own.size == own.speeds)
    if not robot.loops:
        assert own.places == list(range(robot.nq))
    a, b = robot.random_configuration(3, 2)
    whole = robot.difference(a, b)
    close(own.difference(a[own.places], b[own.places]).astype(float), whole, 1e-9, scale=1.0)
    close(links.difference(a[links.places], b[links.places]).astype(float), whole[list(links.numbers)], 1e-9, scale=1.0)
    elastic = [entry for entry in robot.coordinates if entry.elastic]
    assert own.speeds - links.speeds == len(elastic)
    assert not {entry.q.start for entry in elastic} & set(links.places)


def test_it_is_made_once_and_travels_with_its_robot(robot):
    assert robot.coordinates is robot.coordinates
    assert pickle.loads(pickle.dumps(robot)).coordinates.names("q") == robot.coordinates.names("q")
    copy = pickle.loads(pickle.dumps(robot.coordinates))
    assert copy.robot == robot
    assert copy.entries == robot.coordinates.entries
    assert len(set(copy.entries) | set(robot.coordinates.entries)) == len(copy)


def test_limits_are_those_of_what_follows():
    tight = robots.two_link().replace(couplings=[Coupling("joint2", "joint1", 2.0)])
    tight = tight.replace(joints=[tight.joints[0], _limited(tight.joints[1], Limits(-1.0, 3.0, velocity=4.0))])
    limits = tight.coordinates["joint1"].limits
    assert (limits.lower, limits.upper, limits.velocity) == (-0.5, 1.5, 2.0)
    assert "joint2" not in tight.coordinates


def _limited(joint, limits):
    return Joint(joint.name, joint.kind, joint.parent, joint.child, joint.placement, joint.axis, limits=limits)


def test_theta_has_the_units_of_the_joint_that_it_drives():
    motor = Motor("m", "joint3", 200.0, inertia=1e-4, stiffness=1e4)
    table = robots.stanford().replace(motors=[motor]).coordinates
    theta = table["joint3.motor"]
    assert (theta.drives, theta.turns, theta.elastic) == ("joint3", (False,), True)
    assert [table.units(what)[-1] for what in ("q", "qd", "tau")] == ["m", "m/s", "N"]
    assert springs(table.robot) == {"joint3": theta.joint}


def test_who_has_no_motor():
    assert undriven(robots.two_link()) == ()
    assert undriven(robots.two_link().with_free_base().with_passive("joint2")) == ("root_joint", "joint2")
    assert undriven(robots.five_bar()) == ()


def test_names_of_a_free_joint():
    free = Joint("root", "free", "a", "b")
    assert names(free, "q", ".") == [f"root.{x}" for x in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    assert names(free, "qd") == [f"root_{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")]
    assert names(free, "tau") == [f"root_{x}" for x in ("fx", "fy", "fz", "mx", "my", "mz")]


def test_parts_named_in_another_order_stay_in_that_order():
    """Of a plate whose x and y are named the other way round, qd has them so, and so have its own positions."""
    links = [Link("base"), *(Link.from_com(name, mass=1.0, inertia=(1, 1, 1)) for name in ("plate", "rod"))]
    joints = [Joint("plate", "planar", "base", "plate"), Joint("rod", "planar", "base", "rod", role="passive")]
    loops = [neuler.Loop("weld", "fixed", "plate", "rod")]
    tied = neuler.Robot("tied", links, joints, loops=loops, independent=("plate.y", "plate.x", "plate.angle"))
    own = tied.coordinates.own
    assert tied.coordinates.independent == (1, 0, 2)
    assert own.places == [1, 0, 2]
    a, b = tied.random_configuration(0, 2)
    close(own.difference(a[own.places], b[own.places]), tied.difference(a, b), 1e-12)


def test_what_is_unknown_is_refused():
    table = robots.stanford().coordinates
    with pytest.raises(RobotError, match="robot 'stanford' has no moving joint 'joint9'; it has 'joint1', 'joint2'"):
        table["joint9"]
    with pytest.raises(RobotError, match="no moving joint 'joint9'"):
        table.position("joint9")
    assert table.numbers("joint9") == ()
    for asked in (table.names, table.units, table.owners):
        with pytest.raises(InputError, match="expected 'q', 'qd' or 'tau', got 'speed'"):
            asked("speed")
