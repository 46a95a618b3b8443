"""Joints that follow others: gears, several leaders, polynomials, tables; chains, limits, and what is refused."""

import dataclasses

import numpy as np
import pytest

import neuler
from every_robot import geared
from neuler import Coupling, InputError, Joint, Limits, Link, Polynomial, Robot, RobotError, Spline
from neuler.structure.lift import Lift
from random_robots import along, close

KNOTS, VALUES = (-1.2, -0.5, 0.0, 0.4, 1.1, 1.9), (0.3, -0.2, 0.1, 0.6, 0.2, -0.4)


def arm(*couplings, count=4, **joint):
    bodies = [Link.from_com(f"l{k}", mass=1.0 + k, com=(0.2, 0.1, 0), inertia=(0.1, 0.2, 0.3)) for k in range(count)]
    links, seat = [Link("base"), *bodies], neuler.Transform(translation=(0.3, 0, 0.1))
    ends = [(f"j{k}", links[k].name, links[k + 1].name) for k in range(count)]
    joints = [Joint(name, "revolute", parent, child, seat, (0.1, 1, 0.3), **joint) for name, parent, child in ends]
    return Robot("arm", links, joints, couplings=couplings)


# ---- curves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [3, 5])
def test_a_spline_goes_through_its_points_smoothly_and_naturally(degree):
    spline = Spline(KNOTS, VALUES, degree)
    close([spline.at(x)[0] for x in KNOTS], VALUES, 1e-12)
    for order, (f, slope) in enumerate(((0, 1), (1, 2))):
        for x in (-3.0, -1.0, 0.2, 0.9, 1.5, 4.0):
            found = along(lambda t, x=x, f=f: np.array(spline.at(x + t)[f]), step=1e-3)
            close(found, spline.at(x)[slope], 1e-9, scale=1.0, what=f"derivative {order + 1}")
    higher = np.linspace(-1e-7, 1e-7, 2)
    for knot in KNOTS:  # two derivatives have no step at a knot
        before, after = (np.array(spline.at(knot + h)) for h in higher)
        close(after, before, 1e-5, scale=1.0)
    beyond = [spline.at(KNOTS[-1] + h) for h in (0.5, 1.0, 1.5)]
    bend = {3: 0.0, 5: beyond[0][2]}[degree]  # a line, a parabola
    close([each[2] for each in beyond], [bend] * 3, 1e-9, scale=1.0)


def test_the_natural_cubic_spline_is_the_one_of_the_books():
    """Second derivatives from the tridiagonal system (Press et al., Numerical Recipes 3.3)."""
    x, y = np.array(KNOTS), np.array(VALUES)
    h = np.diff(x)
    matrix, right = np.eye(len(x)), np.zeros(len(x))
    for k in range(1, len(x) - 1):
        matrix[k, k - 1 : k + 2] = h[k - 1] / 6, (x[k + 1] - x[k - 1]) / 3, h[k] / 6
        right[k] = (y[k + 1] - y[k]) / h[k] - (y[k] - y[k - 1]) / h[k - 1]
    close([Spline(KNOTS, VALUES).at(knot)[2] for knot in KNOTS], np.linalg.solve(matrix, right), 1e-11)


def test_compiled_curves_are_those_of_plain_numbers():
    for function in (Polynomial((0.1, -0.4, 0.2, 0.3)), Spline(KNOTS, VALUES), Spline(KNOTS, VALUES, 5)):
        kernel = neuler.function(lambda x, f=function: list(f.at(x)), {"x": ()}, "y")
        points = np.concatenate([np.linspace(-3, 4, 57), KNOTS])
        close(kernel(points), [function.at(float(x)) for x in points], 1e-12)
        slope = kernel.jacobian("x")(points)
        close(slope[:, :2], [function.at(float(x))[1:] for x in points], 1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spline((0, 1), (0, 1, 2)), "one length, got 2 and 3"),
        (lambda: Spline((0, 0, 1), (0, 1, 2)), "x must increase"),
        (lambda: Spline((0, 1), (0, 1), 4), "degree must be 3 or 5, got 4"),
        (lambda: Spline((0, 1), (0, 1), 5), "degree 5 needs 3 to 500 points, got 2"),
        (lambda: Spline((0, np.nan), (0, 1)), "x must be a list of finite numbers"),
        (lambda: Polynomial(()), "coefficients must be a list of finite numbers"),
        (lambda: Polynomial("abc"), "coefficients must be a list of finite numbers"),
        (lambda: Coupling("a", "a"), "cannot be coupled to itself"),
        (lambda: Coupling("a", ()), "names no joint that leads it"),
        (lambda: Coupling("a", ("b", "c"), (1.0,)), "2 joints lead it, and 1 ratios are given"),
        (lambda: Coupling("a", ("b", "b")), "leads it twice; add the ratios"),
        (lambda: Coupling("a", ("b", "c"), function=Polynomial((1,))), "a function has one leading joint"),
        (lambda: Coupling("a", "b", function=np.sin), "must be a Polynomial or a Spline"),
        (lambda: Coupling("a", "b", np.inf), "ratio must be a list of finite numbers"),
        (lambda: arm(Coupling("j1", "j9")), "names 'j9', which is no moving joint; it has"),
        (lambda: arm(Coupling("j1", "j0"), Coupling("j1", "j2")), "'j1' is coupled twice"),
        (lambda: arm(*(Coupling(f"j{k}", f"j{k % 3 + 1}") for k in (1, 2, 3))), "circle: 'j1' of 'j2' of 'j3' of 'j1'"),
        (lambda: arm().replace(couplings=["j1"]), "expected a Coupling, got 'j1'"),
        (lambda: arm().with_free_base().replace(couplings=[Coupling("j1", "root_joint")]), "is free and cannot"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises(RobotError, match=message):
        make()


# ---- motion and forces ---------------------------------------------------------------------------------------


def test_a_coupled_joint_has_no_coordinate():
    robot = geared()
    assert robot.joint_names == ("joint1", "joint2", "joint4", "joint5")
    assert robot.nq == robot.nv == robot.nu == 4
    assert robot.tree.nv == 8
    assert robot.active_names == robot.joint_names
    assert robot.mobility.freedoms == 4


def test_the_lift_is_the_positions_of_the_tree_and_its_derivatives():
    robot = geared()
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 4))
    lift = Lift(robot, q.tolist())
    place = dict(zip(robot.tree.joint_names, lift.q, strict=True))
    assert place["joint3"] == pytest.approx(0.1 + 0.5 * q[0] - 2.0 * q[1])
    assert place["joint8"] == pytest.approx(-1.5 * place["joint6"])
    at = lambda t: np.array(Lift(robot, (q + t * qd + t * t / 2 * qdd).tolist()).q)  # noqa: E731
    rate = lambda t: np.array(Lift(robot, (q + t * qd + t * t / 2 * qdd).tolist()).velocities((qd + t * qdd).tolist()))  # noqa: E731
    close(lift.velocities(qd.tolist()), along(at), 1e-9)
    close(lift.accelerations(qd.tolist(), qdd.tolist()), along(rate), 1e-9)
    forces = np.random.default_rng(1).uniform(-1, 1, 8)
    assert np.dot(lift.project(forces.tolist()), qd) == pytest.approx(np.dot(forces, lift.velocities(qd.tolist())))


def test_forces_are_those_of_the_tree_projected():
    """F^T tau_tree(f(q), F qd, F qdd + F' qd): with the derivatives of f taken numerically."""
    robot = geared()
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 4))
    place = lambda x: np.array(Lift(robot, x.tolist()).q)  # noqa: E731
    slope = np.array([along(lambda t, k=k: place(q + t * np.eye(4)[k])) for k in range(4)]).T
    bend = along(lambda t: along(lambda s: place(q + (t + s) * qd)), step=1e-2)
    tree = robot.tree.inverse_dynamics(place(q), slope @ qd, slope @ qdd + bend)
    close(robot.inverse_dynamics(q, qd, qdd), slope.T @ tree, 1e-7)
    close(robot.mass_matrix(q), slope.T @ robot.tree.mass_matrix(place(q)) @ slope, 1e-8)


def test_a_gear_of_one_is_one_joint():
    """Two joints that follow each other one to one on one axis, one turned back: the hand keeps its orientation."""
    robot = arm(Coupling("j1", "j0", -1.0), count=2)
    poses = robot.link_poses(np.linspace(-1, 1, 5)[:, None])
    close(poses[:, 2, :3, :3], np.broadcast_to(poses[2, 2, :3, :3], (5, 3, 3)), 1e-12)


def test_friction_rotor_and_spring_of_the_follower_count():
    plain = arm(Coupling("j1", "j0", 3.0), count=2)
    drive = {"viscous": 0.5, "rotor_inertia": 0.2, "stiffness": 2.0, "rest": 0.1}
    robot = plain.replace(joints=[plain.joints[0], dataclasses.replace(plain.joints[1], **drive)])
    q, qd, qdd = np.array([0.3]), np.array([0.7]), np.array([1.1])
    more = 3.0 * (0.5 * 3.0 * qd + 0.2 * 3.0 * qdd + 2.0 * (3.0 * q - 0.1))
    close(robot.inverse_dynamics(q, qd, qdd) - plain.inverse_dynamics(q, qd, qdd), more, 1e-12)


def test_limits_of_the_follower_count():
    robot = arm(Coupling("j2", "j1", 0.5), Coupling("j1", "j0", -2.0, 0.4), limits=Limits(-1.0, 1.0, velocity=3.0))
    own = robot.coordinate_limits[0]
    assert (own.lower, own.upper, own.velocity) == pytest.approx((-0.3, 0.7, 1.5))
    drawn = robot.random_configuration(0, 500)
    assert drawn[:, 0].min() >= -0.3
    assert drawn[:, 0].max() <= 0.7


def test_rates_need_smooth_tables():
    table = lambda degree: arm(Coupling("j1", "j0", function=Spline(KNOTS, VALUES, degree)))  # noqa: E731
    for verb, options in (("inverse_dynamics_rate", {}), ("link_motions", {})):
        with pytest.raises(InputError, match="joint 'j1', which has 2; give its Spline degree=5"):
            table(3).compile(verb, **options)
        assert table(5).compile(verb, **options)
    assert table(5).compile("inverse_dynamics_rate", order=2)
    assert table(3).inverse_dynamics(np.zeros(3), np.ones(3), np.ones(3)).shape == (3,)


def test_what_loops_have_is_refused_by_name():
    with pytest.raises(InputError, match="assemble: robot 'geared' has no loops to close"):
        geared().assemble([0.0])
    with pytest.raises(InputError, match="closure: robot 'geared' has no loops"):
        geared().closure(np.zeros(4))
