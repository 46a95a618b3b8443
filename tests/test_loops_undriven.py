"""Robots with loops and too few motors, references that are singular, and links without inertia."""

import dataclasses
import warnings

import numpy as np
import pytest

import neuler
from loop_machines import (
    at,
    bar,
    closed_positions,
    random_loop,
    rhombus,
    shifted,
    states,
    tree_friction,
    triangle,
)
from neuler import Coupling, Frame, InputError, Joint, Link, Loop, Robot, RobotError, Transform, robots
from neuler.quantities.catalogue import QUANTITIES
from random_robots import along, close

FINE = [2.2, 0.9]
"""Arms of the five-bar."""
UNDRIVEN = (
    "inverse_dynamics", "reaction_wrenches", "platform_jacobian", "inverse_dynamics_rate",
    "inverse_dynamics_sensitivities",
)  # fmt: skip
"""What asks for the forces of a motion."""

FORCED = ("forward_dynamics", "hybrid_dynamics", "actuation_matrix", "forward_dynamics_sensitivities")
"""What has a number or a row for every force in tau."""


# ---- too few motors -----------------------------------------------------------------------------------------------


def test_a_structure_has_nothing_to_move():
    machine = triangle()
    facts = machine.mobility
    assert (facts.freedoms, facts.rank, facts.independent) == (0, 2, ())
    for verb in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "tree_motion", "reaction_wrenches"):
        with pytest.raises(RobotError, match="'triangle' has no degree of freedom: its loops hold every joint"):
            machine.compile(verb)
    with pytest.raises(RobotError, match="'triangle' has no degree of freedom"):  # a verb says so when it is called
        machine.inverse_dynamics(facts.reference, [], [])
    q = machine.assemble([]).q
    close(q, facts.reference, 1e-12)
    found, _ = machine.constrained_dynamics(q, np.zeros(2), np.zeros(2), 0.0)
    close(found, np.zeros(2), 1e-12, scale=1.0)  # it stands


def test_too_few_motors_are_named():
    """They refuse what asks for the forces of a motion; all the rest exists, by independent joints that are found."""
    machine = robots.five_bar()
    lame = machine.with_passive("right_arm")
    facts = lame.mobility
    assert (facts.freedoms, facts.driven, lame.nv, lame.nu) == (2, 1, 2, 1)
    assert len(facts.independent) == 2
    assert facts.independent[0] == "left_arm"
    for verb in UNDRIVEN:
        with pytest.raises(
            RobotError,
            match=rf"{verb}: robot 'five_bar' has 2 degrees of freedom, of which its motors \(left_arm\) decide 1",
        ):
            lame.compile(verb)
    with pytest.raises(RobotError, match=r"reactions: .*under-actuated"):
        lame.compile("forward_dynamics", reactions=True)
    with pytest.raises(InputError, match=r"expected q_active with last axis 2 \(left_arm, "):
        lame.assemble([2.2])
    both = ("left_arm", "right_arm")
    found = lame.assemble(FINE, independent=both).q
    close(found, machine.assemble(FINE).q, 0)
    tau = np.array([0.7])
    same = lame.with_independent(*both)
    swung = same.forward_dynamics(found, [0.1, 0.2], tau)
    close(swung, machine.forward_dynamics(found, [0.1, 0.2], [0.7, 0.0]), 1e-13)
    rates, _ = same.tree_motion(found, [0.1, 0.2], swung)
    own = [lame.joint_names.index(name) for name in facts.independent]
    pushes = lame.tree_motion(found, rates[own], lame.forward_dynamics(found, rates[own], tau))[1]
    close(pushes, same.tree_motion(found, [0.1, 0.2], swung)[1], 1e-11)
    close(lame.singularity(found).motors, 0.0, 0)
    close(same.actuation_matrix(found), [[1.0, 0.0]], 0)
    idle = lame.with_passive("left_arm")
    assert (idle.nu, idle.nv, idle.active_names) == (0, 2, ())
    with pytest.raises(RobotError, match=r"its motors \(none\) decide 0"):
        idle.inverse_dynamics(found, np.zeros(2), np.zeros(2))
    for verb in FORCED:
        with pytest.raises(RobotError, match=rf"{verb}: .*'five_bar' has no driven joint.*constrained_dynamics takes"):
            idle.compile(verb)
    close(idle.with_independent(*both).mass_matrix(found), machine.mass_matrix(found), 0)


def test_a_machine_without_motors_has_every_quantity_or_says_why_not():
    machine = robots.four_bar()
    idle = machine.with_passive(*machine.active_names)
    refused = set()
    for name, quantity in QUANTITIES.items():
        if not quantity.of(idle):
            continue
        try:
            kernel = idle.compile(name)
        except RobotError:
            refused.add(name)
            continue
        values = [np.zeros(operand.shape) for operand in kernel.inputs]
        values[0] = np.array(idle.mobility.reference)
        kernel(*values)
    more = {"loop_wrenches", "inverse_dynamics_hessian", "reaction_sensitivities", "regressor", "reaction_regressor"}
    assert refused == {*UNDRIVEN, *FORCED, *more}


def test_an_underactuated_robot_gains_what_its_motor_gives():
    """The power of one motor of the five-bar is the change of its energy."""
    lame = robots.five_bar().with_passive("right_arm")
    q, qd, _ = (x[0] for x in states(lame, 1, seed=1, margin=0.2))
    qd, tau = 0.3 * qd, np.array([1.7])
    qdd = lame.forward_dynamics(q, qd, tau)
    gained = along(lambda t: sum(lame.energy(shifted(lame, q, t * qd), qd + t * qdd)))
    rates, _ = lame.tree_motion(q, qd, qdd)
    given = tau @ lame.actuation_matrix(q) @ qd
    close(gained, given - tree_friction(lame, rates) @ rates, 1e-7, scale=1.0)
    close(lame.mass_matrix(q) @ qdd + lame.bias_force(q, qd), lame.actuation_matrix(q).T @ tau, 1e-10)


def test_motors_that_do_not_decide_are_named():
    """A joint that no loop moves is in tau whatever its role; of those in the loop the driven ones alone."""
    machine = robots.sr400()
    assert machine.with_passive("joint6").active_names == machine.active_names
    lame = machine.with_passive("joint7")
    assert lame.active_names == tuple(name for name in machine.active_names if name != "joint7")
    with pytest.raises(
        RobotError, match=r"'sr400' has 6 degrees of freedom, of which its motors .* decide 5 at its reference"
    ):
        lame.compile("inverse_dynamics")


@pytest.mark.slow
def test_a_floating_robot_falls_by_itself():
    """The wrench on its base is in tau; without it, and without motors, all joints free fall alike."""
    machine = random_loop("revolute", 1, "floating")
    assert machine.active_names[0] == "root"
    assert machine.nu == machine.nv == 9
    q = closed_positions(machine, 2, reach=0.2)
    rates = np.zeros((2, machine.tree.nv))
    found, _ = machine.constrained_dynamics(q, rates, rates, 0.0)
    _, rows = machine.closure(q)
    close(np.einsum("bij,bj->bi", rows, found), np.zeros((2, 5)), 1e-10, scale=1.0)
    other = machine.with_independent("root", "a0", "a1", "b0")
    pushed = other.forward_dynamics(q, np.zeros((2, 9)), np.zeros((2, 9)))
    where = [*range(7), 7, 10]
    close(pushed, found[:, where], 1e-8)
    close(other.inverse_dynamics(q, np.zeros((2, 9)), pushed), np.zeros((2, 9)), 1e-8, scale=1.0)


# ---- what a singular reference does not decide ---------------------------------------------------------------------


@pytest.mark.parametrize("reference", [{}, {"reference": (0, 0, 0, 0)}])
def test_a_folded_reference_does_not_condemn_the_machine(reference):
    machine = rhombus(**reference)
    facts = machine.mobility
    assert (facts.freedoms, facts.independent) == (2, ("left", "right"))
    regular = rhombus(reference=(0.5, -1.0, -0.5, 1.0))
    q = regular.assemble([0.7, -0.3]).q
    rates = np.array([0.4, -0.2])
    expected = regular.inverse_dynamics(q, rates, rates)
    np.testing.assert_allclose(machine.inverse_dynamics(q, rates, rates), expected, rtol=1e-12, atol=1e-12)
    if not reference:
        assert machine.singularity(np.array(facts.reference)).joints > 0.1
        np.testing.assert_allclose(np.linalg.norm(machine.closure(machine.assemble([0.7, -0.3]).q)[0]), 0, atol=1e-11)


def test_a_folded_file_without_a_reference_is_read(tmp_path):
    path = tmp_path / "rhombus.par"
    path.write_text(neuler.formats.par.write(rhombus()))
    machine = neuler.load(path)
    assert machine.reference is None
    assert machine.mobility.independent == ("left", "right")


def test_too_few_motors_name_the_reference_as_a_remedy():
    machine = rhombus().with_passive("right")
    with pytest.raises(RobotError, match=r"decide 1 at its reference: .*under-actuated, .*or give another reference="):
        machine.compile("inverse_dynamics")


def test_a_motor_that_the_loop_holds_decides_nothing():
    """A crank held by a rod of fixed length between balls: all that is left is the rod's spin."""
    links = [Link("base"), bar("crank", 0.3), Link("x"), Link("y"), bar("rod")]
    joints = [
        Joint("crank", "revolute", "base", "crank"),
        Joint("sx", "revolute", "crank", "x", at(0.3), axis=(1, 0, 0), role="passive"),
        Joint("sy", "revolute", "x", "y", axis=(0, 1, 0), role="passive"),
        Joint("sz", "revolute", "y", "rod", axis=(0, 0, 1), role="passive"),
    ]
    socket = Frame("socket", "base", Transform(translation=(0.1, 0.35, 0.3)))
    loops = [Loop("ball", "spherical", "end", "socket")]
    machine = Robot("held", links, joints, frames=[Frame("end", "rod", at(0.5)), socket], loops=loops)
    facts = machine.mobility
    assert (facts.freedoms, facts.driven, machine.active_names) == (1, 0, ("crank",))
    assert facts.independent in (("sx",), ("sy",), ("sz",))
    with pytest.raises(
        RobotError, match=r"1 degree of freedom, of which its motors \(crank\) decide 0 at its reference"
    ):
        machine.compile("inverse_dynamics")
    with pytest.raises(RobotError, match=r"1 degree of freedom, but the joints \(crank\) decide 0 of them"):
        machine.with_independent("crank")
    for one in (machine, machine.with_independent("sx")):
        assert np.isfinite(one.mass_matrix(facts.reference)).all()
    spun = machine.forward_dynamics(facts.reference, [0.0], [[0.0], [3.0]])
    close(spun[1], spun[0], 1e-9, scale=1.0)  # the crank's motor moves nothing


def test_mobility_prints_short():
    text = repr(robots.sr400().mobility)
    assert len(text) < 300
    assert text.startswith("<mobility: 6 degrees of freedom, 2 independent of 5 constraints; independent: ")


# ---- machines without inertia --------------------------------------------------------------------------------------


def test_a_machine_without_mass_is_refused():
    machine = rhombus()
    light = machine.replace(links=[Link(link.name) for link in machine.links])
    with pytest.raises(RobotError, match="forward_dynamics of 'rhombus': the joints 'left', 'right' move no inertia"):
        light.compile("forward_dynamics")
    with pytest.raises(RobotError, match=r"constrained_dynamics of 'rhombus': the joints .* move no inertia"):
        light.compile("constrained_dynamics")
    with pytest.raises(RobotError, match=r"hybrid_dynamics of 'rhombus': .*'right' moves? no inertia"):
        light.compile("hybrid_dynamics", motion="left")


def test_a_follower_needs_no_inertia_of_its_own():
    """A finger without mass that follows another one: its leader's inertia is enough, with all joints free too."""
    machine = robots.four_bar()
    fingers = [
        Joint("lead", "revolute", "coupler", "one", at(0.1)),
        Joint("follow", "revolute", "coupler", "two", at(0.2)),
    ]
    gear = [Coupling("follow", "lead", 2.0)]
    crank, coupler, rocker = machine.reference
    parts = {"links": (*machine.links, bar("one")), "joints": (*machine.joints, fingers[0])}
    alone = machine.replace(**parts, reference=(crank, coupler, 0.3, rocker))
    both = machine.replace(
        links=(*parts["links"], Link("two")), joints=(*machine.joints, *fingers), couplings=gear,
        reference=alone.reference,
    )  # fmt: skip
    q, qd, qdd = states(alone, 5)
    tau = alone.inverse_dynamics(q, qd, qdd)
    close(both.inverse_dynamics(q, qd, qdd), tau, 1e-11)
    close(both.forward_dynamics(q, qd, tau), qdd, 1e-9)
    rates, _ = alone.tree_motion(q, qd, qdd)
    pushed = np.insert(tau, [1, 2], 0.0, axis=-1)[:, [0, 1, 3, 2]]  # crank, coupler, lead, rocker
    for mine, theirs in zip(
        both.constrained_dynamics(q, rates, pushed, 0.0), alone.constrained_dynamics(q, rates, pushed, 0.0), strict=True
    ):
        close(mine, theirs, 1e-9)
    light = both.replace(links=[Link("one") if link.name == "one" else link for link in both.links])
    with pytest.raises(RobotError, match="constrained_dynamics of 'four_bar': joint 'lead' moves no inertia"):
        light.compile("constrained_dynamics")


def test_inertia_that_vanishes_at_a_dead_point_is_told():
    """Only the piston has mass: where it turns back, the crank feels nothing."""
    machine = robots.slider_crank()
    (piston,) = (joint.child for joint in machine.joints if joint.kind == "prismatic")
    light = [Link(link.name, 1.0 if link.name == piston else 0.0) for link in machine.links]
    machine = machine.replace(links=light).without_motors()
    q = machine.assemble(np.array([[1.0], [0.0]])).q
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = machine.forward_dynamics(q, np.zeros((2, 1)), np.ones((2, 1)))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
    (only,) = told
    assert "the inertia matrix is singular in this pose" in str(only.message)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        again = machine.compile("hybrid_dynamics", motion=())(q, np.zeros((2, 1)), np.ones((2, 1)))
    close(again[0], found[0], 1e-12)
    assert np.isnan(again[1]).all()
    (only,) = told
    assert "the inertia matrix is singular in this pose" in str(only.message)


@pytest.mark.parametrize("reference", [(1e-7, -1.6e-7, 0.4), (0.0, 1e-7, 0.4), (0.05, 0, 0.4)])
def test_a_nearly_singular_reference_does_not_measure_inertias(reference):
    """The slider drives, the rod has no mass: at ordinary positions the numbers are those of any other reference."""
    machine = robots.slider_crank()
    roles = {joint.name: "driven" if joint.kind == "prismatic" else "passive" for joint in machine.moving_joints}
    joints = [dataclasses.replace(j, role=roles[j.name]) for j in machine.joints]
    light = [Link(link.name) if link.name == "rod" else link for link in machine.links]
    assert any(link.name == "rod" for link in light)
    usual, odd = (
        machine.replace(joints=joints, links=light, reference=r) for r in (machine.mobility.reference, reference)
    )
    q = np.array(machine.mobility.reference)
    np.testing.assert_allclose(
        odd.forward_dynamics(q, [0.1], [1.0]), usual.forward_dynamics(q, [0.1], [1.0]), rtol=1e-9
    )
