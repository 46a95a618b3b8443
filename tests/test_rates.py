"""Joint forces and their rates against the complex step, difference quotients, quadrature and the paper's table."""

import functools
import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

from neuler import Joint, Link, Robot, robots
from neuler.algebra.screw import pair
from neuler.passes.trees import fused_tree, grouped_tree, whole_tree
from neuler.recursions.hybrid import hybrid, inverse_dynamics
from neuler.recursions.kinematics import placements, world_poses
from neuler.recursions.rates import link_motion, torque_rates
from neuler.trace.graph import Graph, count
from random_robots import along, close, random_robot, random_states

ROOT = Path(__file__).resolve().parent.parent
EXACT = 1e-12
STEP = 1e-30
"""Of the complex step: no difference is taken, so it can be this small."""

SEEDS = (0, 2, 5, 6, 12, 20, 29, 32)
each = pytest.mark.parametrize("seed", SEEDS)
each_tree = pytest.mark.parametrize("made", [whole_tree, fused_tree, grouped_tree])


@functools.cache
def case(seed, row=0):
    """A robot with one state, up to the third derivative of q."""
    robot = random_robot(seed)
    q, qd, qdd = (x[row].tolist() for x in random_states(robot, row + 1, seed))
    qddd = np.random.default_rng(seed + 1000).uniform(-20, 20, robot.nv).tolist()
    return robot, (q, qd, qdd, qddd)


def ahead(*derivatives):
    """q, qd, ... an imaginary instant later."""
    return [[x + 1j * STEP * y for x, y in zip(*two, strict=True)] for two in itertools.pairwise(derivatives)]


def moved(wrench, rate):
    """A wrench an imaginary instant later."""
    return tuple(tuple(ahead(*both)[0]) for both in zip(wrench, rate, strict=True))


def slope(values):
    return np.imag(np.array(values)) / STEP


def test_the_seeds_cover_every_joint_kind():
    joints = [joint for seed in SEEDS for joint in random_robot(seed).joints]
    assert {joint.kind for joint in joints} == {"revolute", "prismatic", "fixed"}
    assert any(joint.rotor_inertia for joint in joints)
    assert any(joint.viscous for joint in joints)
    assert any(joint.coulomb for joint in joints)


# ---- torques and their rates ----------------------------------------------------------------------------


@each
@each_tree
def test_rate_is_the_complex_step(seed, made):
    robot, state = case(seed)
    tree = made(robot)
    found = torque_rates(tree, *state)
    close(found.tau, inverse_dynamics(tree, *state[:3]), 1e-14)
    close(found.tau_rate, slope(inverse_dynamics(tree, *ahead(*state))), EXACT)


@each
def test_reactions_and_their_rates(seed):
    robot, state = case(seed, 1)
    tree = whole_tree(robot)
    found = torque_rates(tree, *state)
    given = [True] * robot.nv
    expected = hybrid(tree, *state[:3], given).reactions
    close(found.reactions, expected, EXACT)
    close(found.reaction_rates, slope(hybrid(tree, *ahead(*state), given).reactions), EXACT)


def path(robot, seed):
    """A motion t -> (q, qd, qdd, qddd) in which no joint reverses, so that friction stays smooth."""
    q, qd, _ = (x[0] for x in random_states(robot, 1, seed))
    turns = np.random.default_rng(seed).uniform(0.5, 1.5, robot.nv)

    def at(t):
        wave = turns * t
        return (
            q + qd * (t + 0.4 * np.sin(wave)),
            qd * (1 + 0.4 * turns * np.cos(wave)),
            -qd * 0.4 * turns**2 * np.sin(wave),
            -qd * 0.4 * turns**3 * np.cos(wave),
        )

    return at


@each
def test_rate_is_the_difference_quotient(seed):
    robot = random_robot(seed)
    tree, at = fused_tree(robot), path(robot, seed)
    found = torque_rates(tree, *(x.tolist() for x in at(0.3))).tau_rate
    quotient = along(lambda t: np.array(inverse_dynamics(tree, *(x.tolist() for x in at(t)[:3]))), 0.3)
    close(found, quotient, 1e-9)


@each
def test_rates_integrate_back_to_the_torque(seed):
    robot = random_robot(seed)
    tree, at, end = grouped_tree(robot), path(robot, seed), 1.0
    x, weights = np.polynomial.legendre.leggauss(40)
    rates = [torque_rates(tree, *(v.tolist() for v in at(end * (1 + t) / 2))).tau_rate for t in x]
    first, last = (torque_rates(tree, *(v.tolist() for v in at(t))).tau for t in (0.0, end))
    change = np.subtract(last, first)
    close(end / 2 * weights @ np.array(rates), change, 1e-10, scale=max(np.abs([first, last]).max(), 1.0))


# ---- what the paper leaves to the reader ----------------------------------------------------------------


def slider(**parts):
    return fused_tree(
        Robot("slider", [Link("base"), Link("car", 2.0)], [Joint("x", "prismatic", "base", "car", **parts)])
    )


def test_rotor_and_viscous_friction_have_rates():
    found = torque_rates(slider(rotor_inertia=0.3, viscous=0.7), [0.1], [2.0], [3.0], [5.0])
    assert found.tau[0] == pytest.approx(2.0 * (3.0 + 9.81) + 0.3 * 3.0 + 0.7 * 2.0)
    assert found.tau_rate[0] == pytest.approx(2.0 * 5.0 + 0.3 * 5.0 + 0.7 * 3.0)


@pytest.mark.parametrize("speed", [-1.0, 0.0, 1.0])
def test_coulomb_friction_has_no_rate(speed):
    """Also at rest, where the friction may jump: the result is the rate of the smooth part."""
    plain, rough = slider(), slider(coulomb=1.5, coulomb_reverse=0.5)
    state = [0.1], [speed], [3.0], [5.0]
    smooth, found = torque_rates(plain, *state), torque_rates(rough, *state)
    assert found.tau_rate == smooth.tau_rate == [10.0]
    assert found.tau[0] - smooth.tau[0] == pytest.approx({-1.0: -0.5, 0.0: 0.0, 1.0: 1.5}[speed])


@each
def test_external_wrenches_and_their_rates(seed):
    """Components in the body's frame, their rates given: the complex step sees the same."""
    robot, state = case(seed)
    tree = whole_tree(robot)
    rng = np.random.default_rng(seed)
    names = range(1, len(tree.bodies))
    load, change = ({k: [pair(rng.uniform(-5, 5, 6).tolist())] * (1 + k % 2) for k in names} for _ in range(2))
    later = {k: [moved(*both) for both in zip(load[k], change[k], strict=True)] for k in names}
    given = [True] * robot.nv
    found = torque_rates(tree, *state, load, change)
    close(found.tau, hybrid(tree, *state[:3], given, load).coordinates, 1e-14)
    close(found.tau_rate, slope(hybrid(tree, *ahead(*state), given, later).coordinates), EXACT)
    constant = torque_rates(tree, *state, load)
    close(constant.tau_rate, slope(hybrid(tree, *ahead(*state), given, load).coordinates), EXACT)


@each
def test_a_force_that_stands_still_in_space_has_component_rates(seed):
    """A lift against gravity at every centre of mass, f' = 0: its components change by -omega x f."""
    robot, state = case(seed)
    tree = whole_tree(robot)
    poses = world_poses(tree, placements(tree, state[0]))
    lift, change = {}, {}
    for k, (body, (rotation, _), motion) in enumerate(zip(tree.bodies, poses, link_motion(tree, *state), strict=True)):
        if k and body.mass:
            force = -body.mass * np.array(rotation).T @ tree.gravity
            centre = np.array(body.first_moment) / body.mass
            rate = -np.cross(motion.velocity, force)
            lift[k] = [(tuple(force), tuple(np.cross(centre, force)))]
            change[k] = [(tuple(rate), tuple(np.cross(centre, rate)))]
    held = torque_rates(tree, *state, lift, change)
    weightless = torque_rates(whole_tree(robot.replace(gravity=(0, 0, 0))), *state)
    close(held.tau, weightless.tau, EXACT, scale=np.abs(torque_rates(tree, *state).tau).max())
    close(held.tau_rate, weightless.tau_rate, EXACT, scale=np.abs(torque_rates(tree, *state).tau_rate).max())


# ---- motions of the links ---------------------------------------------------------------------------------


def in_space(tree, derivatives):
    """Positions and their derivatives in the axes of the base: origins, then centres of mass, then turning."""
    q = derivatives[0]
    rows = []
    for body, (r, p), motion in zip(
        tree.bodies, world_poses(tree, placements(tree, q)), link_motion(tree, *derivatives), strict=True
    ):
        centre = np.array(body.first_moment) / body.mass if body.mass else np.zeros(3)
        r, p = np.array(r), np.array(p)
        vectors = [motion.velocity, motion.acceleration, motion.jerk]
        for point in (motion.origin, motion.mass_centre):
            vectors += [point.velocity, point.acceleration, point.jerk]
        rows.append([r.T.reshape(-1), p, p + r @ centre, *(r @ np.array(v) for v in vectors)])
    return rows


@each
def test_link_motions_are_derivatives_of_poses(seed):
    robot, state = case(seed)
    tree = whole_tree(robot)
    zero = [0.0] * robot.nv
    now, later = in_space(tree, state), in_space(tree, [*ahead(*state), zero])
    for here, there in zip(now, later, strict=True):
        columns, _, _, w, wd, wdd, v, a, j, vc, ac, jc = here
        turn, p, pc, w_rate, wd_rate, _, v_rate, a_rate, _, vc_rate, ac_rate, _ = map(slope, there)
        close(np.cross(w, columns.reshape(3, 3)), turn.reshape(3, 3), EXACT, scale=10.0)  # columns of R: r' = w x r
        for found, expected in (
            (w_rate, wd), (wd_rate, wdd), (p, v), (v_rate, a), (a_rate, j), (pc, vc), (vc_rate, ac), (ac_rate, jc),
        ):  # fmt: skip
            close(found, expected, EXACT, scale=max(np.abs(expected).max(), 10.0))


# ---- the paper's own example ------------------------------------------------------------------------------


@functools.cache
def example():
    spec = importlib.util.spec_from_file_location("guarino_stanford", ROOT / "examples" / "guarino_stanford.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = {
    1e-2: (2.402, 5.072, 1.659, 4.465e-2, 3.766e-2, 8.99e-5),
    1e-3: (0.24022, 0.50732, 0.16596, 4.4656e-3, 3.7662e-3, 9.04e-6),
    1e-4: (2.4022e-2, 5.0731e-2, 1.6596e-2, 4.4654e-4, 3.7662e-4, 9.05e-7),
}
"""Largest |exact rate - backward difference| of the Stanford arm, joints 1 to 6, measured independently."""


@pytest.mark.parametrize("sampling", TABLE)
def test_stanford_deviations(sampling):
    found = example().deviations(robots.stanford().inverse_dynamics_rate, sampling)
    np.testing.assert_allclose(found, TABLE[sampling], rtol=6e-4)


def test_the_paper_prints_nearly_this_deviation():
    found = example().deviations(robots.stanford().inverse_dynamics_rate, 1e-4)
    assert found[0] == pytest.approx(float(example().PRINTED), rel=0.03)


def test_the_example_runs(tmp_path, capsys):
    figure = tmp_path / "figure.png"
    example().main(["-o", str(figure)])
    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert "2.402e-02" in capsys.readouterr().out


# ---- operations -------------------------------------------------------------------------------------------


@functools.cache
def counted(n, made):
    """(mul, add) of the torque alone and of torque and rate: n general revolute joints, a wrench on the tip."""
    tree, graph = made(robots.general_chain(n)), Graph()
    state = [list(graph.inputs(name, n)) for name in ("q", "qd", "qdd", "qddd")]
    load, change = ({len(tree.bodies) - 1: [pair(graph.inputs(name, 6))]} for name in ("wrench", "rate"))
    alone = count(hybrid(tree, *state[:3], [True] * n, load).coordinates)
    found = torque_rates(tree, *state, load, change)
    both = count(found.tau + found.tau_rate)
    return (alone["mul"], alone["add"]), (both["mul"], both["add"])


@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("made", [fused_tree, grouped_tree])
def test_operations_stay_below_the_published_count(n, made):
    alone, both = counted(n, made)
    assert both[0] <= 309 * n - 162
    assert both[1] <= 268 * n - 138
    assert sum(both) <= 2.19 * sum(alone)


@pytest.mark.parametrize("n", range(3, 13))
def test_operations_are_linear(n):
    assert counted(n, fused_tree)[1] == (185 * n - 219, 169 * n - 198)
    assert counted(n, grouped_tree)[1] == (167 * n - 201, 151 * n - 182)
