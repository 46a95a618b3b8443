"""Motors on any link: against Pinocchio with rotors as bodies, against couplings, and against physics."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

import neuler
import pinocchio_model
from motor_robots import SEEDS, explicit, motor_robot, motor_states, springs, transmission
from neuler import Coupling, Joint, Link, Motor, Robot
from random_robots import along, close, few

each_seed = pytest.mark.parametrize("seed", few(SEEDS, 2))
each_kind = pytest.mark.parametrize("elastic", [False, True])


def pinocchio(robot, q, qd, qdd):
    """Forces and the inertia matrix of the tree with explicit rotors, projected by the constant gear matrix."""
    tree = explicit(robot)
    model = pinocchio_model.from_robot(tree)
    order = pinocchio_model.columns(tree, model)
    joints = [name for name in robot.joint_names if "." not in name]
    whole = np.zeros((len(tree.joint_names), robot.nv))
    for row, name in enumerate(tree.joint_names):
        if name in joints:
            whole[row, list(robot.joint_names).index(name)] = 1.0
        else:
            whole[row] = transmission(robot)[[motor.name for motor in robot.motors].index(name)]
    forces, matrices = [], []
    for row in range(len(q)):
        theirs = [np.empty(len(order)) for _ in range(3)]
        for mine, values in zip(theirs, (q, qd, qdd), strict=True):
            mine[order] = whole @ values[row]
        positions = pinocchio_model.positions(tree, model, (whole @ q[row])[None])[0]
        data = model.createData()
        forces.append(whole.T @ pin.rnea(model, data, positions, *theirs[1:])[order])
        matrix = pin.crba(model, data, positions)
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        matrices.append(whole.T @ matrix[np.ix_(order, order)] @ whole)
    return np.array(forces), np.array(matrices)


@each_kind
@each_seed
def test_rotors_are_bodies_to_pinocchio(seed, elastic):
    robot = motor_robot(seed, elastic)
    q, qd, qdd = motor_states(robot)
    forces, matrices = pinocchio(robot, q, qd, qdd)
    close(robot.mass_matrix(q), matrices, 1e-12)
    close(robot.inverse_dynamics(q, qd, qdd) - springs(robot, q, qd), forces, 1e-12)


@each_seed
def test_data_that_contain_the_motor_at_rest(seed):
    robot = motor_robot(seed)
    links = {link.name: link for link in robot.links}
    for motor in robot.motors:
        seat = neuler.robot.motor.seat(motor, next(j for j in robot.joints if j.name == motor.joint))
        rotor = Link.from_com(motor.carrier, mass=motor.mass, inertia=motor.inertia).seen_from(seat)
        links[motor.carrier] = links[motor.carrier].merged(rotor)
    motors = [dataclasses.replace(motor, included=True) for motor in robot.motors]
    other = robot.replace(links=links.values(), motors=motors)
    state = motor_states(robot)
    close(other.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)
    close(other.mass_matrix(state[0]), robot.mass_matrix(state[0]), 1e-12)
    close(other.reaction_wrenches(*state), robot.reaction_wrenches(*state), 1e-12)


@each_seed
def test_couplings_give_the_same(seed):
    """Rotors as bodies on hinges that follow their joints; the gears as couplings of the user."""
    robot = motor_robot(seed, elastic=False)
    tree = explicit(robot)
    couplings = [Coupling(motor.name, list(motor.ratios), list(motor.ratios.values())) for motor in robot.motors]
    coupled = tree.replace(couplings=couplings)
    q, qd, qdd = motor_states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(coupled.inverse_dynamics(q, qd, qdd), tau, 1e-12)
    close(coupled.forward_dynamics(q, qd, tau), robot.forward_dynamics(q, qd, tau), 1e-9)
    close(coupled.energy(q, qd), robot.energy(q, qd), 1e-12)
    close(coupled.momentum(q, qd), robot.momentum(q, qd), 1e-12)
    close(coupled.centroidal_momentum(q, qd), robot.centroidal_momentum(q, qd), 1e-12)
    rows = [coupled.link_names.index(name) for name in robot.link_names]
    close(coupled.reaction_wrenches(q, qd, qdd)[:, rows], robot.reaction_wrenches(q, qd, qdd), 1e-12)


@pytest.mark.parametrize("carriers", ["any", "antecedent"])
@each_kind
@each_seed
def test_direct_dynamics_undo_inverse_dynamics(seed, elastic, carriers):
    robot = motor_robot(seed, elastic, carriers, transmission=carriers == "any")
    q, qd, qdd = motor_states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-10)
    close(np.einsum("...ij,...j->...i", robot.mass_matrix(q), qdd) + robot.bias_force(q, qd), tau, 1e-12)


@each_seed
def test_linear_cost_on_the_antecedent_agrees_with_the_matrix(seed):
    """The articulated bodies that know their rotors, and the reduced inertia matrix."""
    from neuler.structure.geared import geared_tree

    robot = motor_robot(seed, elastic=False, carriers="antecedent", transmission=False)
    assert geared_tree(robot.mechanism) is not None
    q, qd, qdd = motor_states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    reduced = robot.compile("forward_dynamics", reactions=True)(q, qd, tau).qdd
    close(robot.forward_dynamics(q, qd, tau), reduced, 1e-10)


@each_kind
@each_seed
def test_power_is_the_rate_of_energy(seed, elastic):
    robot = motor_robot(seed, elastic)
    motors = [dataclasses.replace(m, viscous=1e-4, coulomb=1e-3, damping=0.0) for m in robot.motors]
    lossy, robot = (
        robot.replace(motors=motors),
        robot.replace(motors=[dataclasses.replace(m, damping=0.0) for m in robot.motors]),
    )
    (q,), (qd,), (qdd,) = motor_states(robot, 1)
    tau = robot.inverse_dynamics(q, qd, qdd)
    energy = lambda t: sum(robot.energy(q + t * qd + t * t / 2 * qdd, qd + t * qdd))  # noqa: E731
    close(qd @ tau, along(energy), 1e-9, scale=np.abs(qd * tau).sum())
    speeds = transmission(robot) @ qd
    loss = float(1e-4 * speeds @ speeds + 1e-3 * np.abs(speeds).sum())
    close(qd @ lossy.inverse_dynamics(q, qd, qdd) - qd @ tau, loss, 1e-10, scale=np.abs(qd * tau).sum())


@each_kind
@each_seed
def test_matrices_and_derivatives_hang_together(seed, elastic):
    robot = motor_robot(seed, elastic)
    (q,), (qd,), (qdd,) = motor_states(robot, 1)
    turned = along(lambda t: robot.mass_matrix(q + t * qd)) - 2 * robot.coriolis_matrix(q, qd)
    close(turned + turned.T, np.zeros_like(turned), 1e-8, scale=np.abs(turned).max())
    slopes = robot.inverse_dynamics_sensitivities(q, qd, qdd)
    close(slopes.dtau_dqdd, robot.mass_matrix(q), 1e-12)
    move = np.random.default_rng(1).normal(size=(3, robot.nv))
    rate = along(lambda t: robot.inverse_dynamics(q + t * move[0], qd + t * move[1], qdd + t * move[2]))
    close(sum(a @ b for a, b in zip(slopes, move, strict=True)), rate, 1e-9)
    sparse = robot.compile("inverse_dynamics_sensitivities", sparse=True)
    for name, entries in sparse(q, qd, qdd)._asdict().items():
        whole = np.zeros((robot.nv, robot.nv))
        whole[tuple(map(list, sparse.structure[name]))] = entries
        close(whole, getattr(slopes, name), 1e-12)
    qddd = move[0]
    found = robot.inverse_dynamics_rate(q, qd, qdd, qddd)
    motion = lambda t: (q + t * qd + t**2 / 2 * qdd + t**3 / 6 * qddd, qd + t * qdd + t**2 / 2 * qddd, qdd + t * qddd)  # noqa: E731
    close(found.tau_rate, along(lambda t: robot.inverse_dynamics(*motion(t))), 1e-8)


@each_seed
def test_stiff_springs_tend_to_the_rigid_robot(seed):
    """Statics of the spring taken out: with theta = q the motion is that of the rigid robot, forces added up."""
    robot = motor_robot(seed, elastic=True)
    rigid = robot.replace(motors=[dataclasses.replace(m, stiffness=np.inf, damping=0.0) for m in robot.motors])
    q, qd, qdd = motor_states(rigid)
    places = [list(rigid.joint_names).index(name.removesuffix(".motor")) for name in robot.joint_names]
    tau = robot.inverse_dynamics(q[:, places], qd[:, places], qdd[:, places])
    together = np.zeros_like(q)
    np.add.at(together, (slice(None), places), tau)
    close(together, rigid.inverse_dynamics(q, qd, qdd), 1e-12)


def test_stiffness_in_the_limit():
    """The link's acceleration approaches that of the rigid robot by 1/K as the spring stiffens, at rest on its sag."""
    base = neuler.robots.two_link()
    motor = Motor("m2", "joint2", ratio=20, inertia=1e-4, carrier="base", axis=(0, 1, 0))
    rigid = base.replace(motors=[motor])
    q, qd, qdd = np.array([0.3, -0.5]), np.array([0.8, -1.1]), np.array([0.4, 2.0])
    tau = rigid.inverse_dynamics(q, qd, qdd)
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        robot = base.replace(motors=[dataclasses.replace(motor, stiffness=stiffness)])
        twist = robot.inverse_dynamics([*q, q[1]], [*qd, qd[1]], [*qdd, qdd[1]])[1] / stiffness
        found = robot.forward_dynamics([*q, q[1] + twist], [*qd, qd[1]], [tau[0], 0.0, tau[1]])
        errors.append(np.abs(found[:2] - qdd).max())
    assert max(errors) < 1e-9


def test_textbook_reflected_inertia():
    """Carriers the antecedents, spin counted from the ground: M + diag(n^2 I), as ``rotor_inertia`` has it."""
    arm = neuler.robots.puma560()
    bare = arm.without_motors()
    motors = [
        Motor(
            f"m{k}",
            joint.name,
            joint.gear_ratio or 1.0,
            inertia=joint.rotor_inertia / joint.gear_ratio**2,
            included=True,
            coupled=False,
        )
        for k, joint in enumerate(arm.joints)
    ]
    robot = bare.replace(motors=motors)
    state = motor_states(robot)
    close(robot.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-13)


def test_rotors_by_hand():
    """One hinge, its motor on the link below: Hua (27) with the moment of (24) written out."""
    n, inertia = 30.0, 2e-4
    robot = neuler.robots.two_link().replace(motors=[Motor("m", "joint2", n, inertia=inertia, included=True)])
    bare = neuler.robots.two_link()
    q, qd, qdd = (np.array(x) for x in ([0.2, 0.4], [1.0, -2.0], [3.0, 5.0]))
    more = robot.inverse_dynamics(q, qd, qdd) - bare.inverse_dynamics(q, qd, qdd)
    close(more, [n * inertia * qdd[1], n * inertia * (qdd[0] + n * qdd[1])], 1e-12)


# ---- what a robot with motors is -----------------------------------------------------------------------------


def test_coordinates_are_named():
    robot = neuler.robots.puma560().replace(
        motors=[
            Motor("b", "joint3", 50, inertia=1e-4, stiffness=100),
            Motor("a", "joint2", 50, inertia=1e-4, stiffness=100),
        ]
    )
    assert robot.joint_names[6:] == ("joint2.motor", "joint3.motor")
    assert (robot.nq, robot.nv, robot.nu) == (8, 8, 8)
    assert robot.link_poses(robot.neutral()).shape == (len(robot.links), 4, 4)
    assert robot == robot.replace()
    assert robot.content_hash == robot.replace().content_hash
    assert "2 motors" in repr(robot)


def test_the_reference_gains_theta():
    arm = neuler.robots.two_link().replace(reference=[0.3, 0.4])
    robot = arm.replace(motors=[Motor("m", "joint2", 50, inertia=1e-4, stiffness=100)])
    assert robot.neutral().tolist() == [0.3, 0.4, 0.4]
    assert robot.replace(motors=()).neutral().tolist() == [0.3, 0.4]


def test_mass_counts_motors_that_are_not_included():
    arm = neuler.robots.two_link()
    heavy = arm.replace(motors=[Motor("m", "joint2", 50, inertia=1e-4, mass=2.0)])
    assert heavy.mass == pytest.approx(arm.mass + 2.0, abs=1e-15)
    assert heavy.replace(motors=[dataclasses.replace(heavy.motors[0], included=True)]).mass == arm.mass


def test_on_a_loop():
    """A motor on the crank of a four-bar, its carrier the coupler: energy and power hang together."""
    four = neuler.robots.four_bar()
    crank = four.mobility.active[0]
    motor = Motor(
        "m", crank, 40, carrier=four.links[2].name, axis=(0.3, 0.5, 0.8), inertia=(1e-4, 1e-4, 3e-4), included=True
    )
    robot = four.replace(motors=[motor])
    q, qd, qdd = robot.neutral(), np.array([1.3]), np.array([0.7])
    tau = robot.inverse_dynamics(q, qd, qdd)

    def energy(t):
        return sum(robot.energy(robot.integrate(q, qd + t / 2 * qdd, t), qd + t * qdd))

    close(qd @ tau, along(energy, step=1e-3), 1e-7)
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-10)


def test_elastic_drive_in_a_loop():
    four = neuler.robots.four_bar()
    crank = four.mobility.active[0]
    robot = four.replace(motors=[Motor("m", crank, 40, inertia=1e-4, stiffness=200.0)])
    assert robot.joint_names[-1] == f"{crank}.motor"
    assert (robot.nv, robot.nu) == (2, 2)
    q = robot.neutral()
    tau = np.full(robot.nu, 0.3)
    qdd = robot.forward_dynamics(q, np.array([0.4, -0.2]), tau)
    close(robot.mass_matrix(q) @ qdd + robot.bias_force(q, [0.4, -0.2]), robot.actuation_matrix(q).T @ tau, 1e-10)


# ---- what is refused -----------------------------------------------------------------------------------------

BAD = [
    ({"carrier": "nowhere"}, "no link 'nowhere'"),
    ({"joint": "joint9"}, "no joint 'joint9'"),
    ({"ratio": 0.0}, "ratio of joint 'joint2' is zero"),
    ({"ratio": {"joint1": 2.0}}, "its joint 'joint2' has no ratio"),
    ({"ratio": {"joint1": 2.0, "joint2": 3.0}}, "singular"),
    ({"ratio": float("nan")}, "ratio"),
    ({"stiffness": 0.0}, "greater than zero"),
    ({"stiffness": -5.0}, "greater than zero"),
    ({"stiffness": float("nan")}, "greater than zero"),
    ({"stiffness": 10.0, "inertia": 0.0}, "needs a rotor inertia"),
    ({"damping": 1.0}, "belongs to a spring"),
    ({"inertia": -1.0}, "must not be negative"),
    ({"inertia": (1, 2)}, "(xx, yy, zz) or zz"),
    ({"mass": -1.0}, "mass must not be negative"),
    ({"viscous": -1.0}, "viscous must not be negative"),
    ({"axis": (0, 0, 0)}, "no direction"),
    ({"carrier": "base"}, "give the axis"),
    ({"carrier": "base", "axis": (0, 0, 1), "mass": 1.0}, "give the position"),
    ({"included": "yes"}, "True or False"),
    ({"name": ""}, "must be a name"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_motors_are_refused_by_name(changes, message):
    fields = {"name": "m", "joint": "joint2", "ratio": 50.0, "inertia": 1e-4, **changes}
    with pytest.raises(neuler.RobotError) as caught:
        neuler.robots.two_link().replace(motors=[Motor(**fields)])
    assert message in str(caught.value)


def test_joints_that_no_motor_drives():
    arm = neuler.robots.two_link()
    for robot, message in (
        (arm.with_passive("joint2"), "role 'passive'"),
        (arm.replace(couplings=[Coupling("joint2", "joint1", 2.0)]), "coupled to others"),
        (arm.with_free_base("root"), None),
    ):
        motor = Motor("m", "joint2" if message else "root", 50, inertia=1e-4)
        with pytest.raises(neuler.RobotError, match=message or "one axis"):
            robot.replace(motors=[motor])
    with pytest.raises(neuler.RobotError, match="two motors are named"):
        arm.replace(motors=[Motor("m", "joint1", 50), Motor("m", "joint2", 50)])
    with pytest.raises(neuler.RobotError, match="expected a Motor"):
        arm.replace(motors=["m"])
    springs_twice = [Motor(f"m{k}", "joint2", 50, inertia=1e-4, stiffness=9.0) for k in range(2)]
    with pytest.raises(neuler.RobotError, match="a motor with a spring already"):
        arm.replace(motors=springs_twice)


def test_spinning_bodies_carry_nothing():
    wheel = Link.from_com("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2))
    joints = [Joint("axle", "spin", "base", "wheel"), Joint("hinge", "revolute", "wheel", "tip", axis=(0, 1, 0))]
    with pytest.raises(neuler.RobotError, match="'hinge': its parent 'wheel' spins about joint 'axle'"):
        Robot("c", [Link("base"), wheel, Link("tip", 1.0)], joints)
    arm = neuler.robots.two_link()
    robot = Robot("w", [*arm.links, wheel], [*arm.joints, Joint("axle", "spin", arm.tip, "wheel")], arm.gravity)
    with pytest.raises(neuler.RobotError, match="spins"):
        robot.replace(motors=[Motor("m", "joint2", 50, "wheel", (0, 0, 1), 1e-4)]).mass_matrix(np.zeros(3))


def test_reactions_of_a_flywheel_do_not_turn_with_it():
    wheel = Link.from_com("wheel", mass=2.0, com=(0, 0, 0.1), inertia=(0.02, 0.02, 0.05))
    arm = neuler.robots.two_link()
    robot = Robot("w", [*arm.links, wheel], [*arm.joints, Joint("axle", "spin", arm.tip, "wheel", axis=(0, 0.6, 0.8))])
    q, qd, qdd = (x[0] for x in motor_states(robot, 1))
    found = robot.reaction_sensitivities(q, qd, qdd)
    for name, place in (("dreaction_dq", 0), ("dreaction_dqd", 1)):
        for k in range(robot.nv):
            move = [np.eye(3)[k] * (place == i) for i in range(3)]
            rate = along(lambda t, m=move: robot.reaction_wrenches(q + t * m[0], qd + t * m[1], qdd))
            close(getattr(found, name)[..., k], rate, 1e-8, scale=100.0)


def test_flywheels_are_spin_joints():
    """A joint of the kind spin equals a hinge whose body is round about its axis."""
    wheel = Link.from_com("wheel", mass=2.0, com=(0, 0, 0.1), inertia=(0.02, 0.02, 0.05))
    arm = neuler.robots.two_link()
    found = []
    for kind in ("spin", "revolute"):
        joint = Joint(
            "wheel", kind, arm.links[-1].name, "wheel", neuler.Transform.from_rpy((0.1, 0.2, 0), (0.4, 0.3, 0))
        )
        robot = Robot("arm", [*arm.links, wheel], [*arm.joints, joint], arm.gravity)
        q, qd, qdd = motor_states(robot)
        tau = robot.inverse_dynamics(q, qd, qdd)
        found.append((tau, robot.forward_dynamics(q, qd, tau), *robot.energy(q, qd), robot.mass_matrix(q)))
    for mine, theirs in zip(*found, strict=True):
        close(mine, theirs, 1e-12)
