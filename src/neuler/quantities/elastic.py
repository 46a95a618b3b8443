"""Inverse dynamics of elastic drives from the motion of the links alone.

The force across the spring of joint j is what its link needs, e_j = K (theta - q_j), Hua (28): theta = q_j + e_j / K,
and its rates follow from those of e_j: to the second one, the snap of the links. With theta known Hua's Algorithm 1
gives the torques. This holds where no e_j feels a rotor that an elastic drive turns: then e_j follows from the links.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from neuler.errors import InputError, RobotError
from neuler.quantities.declare import Names, quantity
from neuler.quantities.dynamics import inverse_dynamics, moved_tree
from neuler.quantities.setup import External, RobotRecipe, Values, trees
from neuler.quantities.torque_rates import MOTION, RATES, refuse_rough
from neuler.recursions.positions import position_rates
from neuler.robot import Joint, Robot
from neuler.structure.chart import Chart
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand, traced

LINKS = tuple(f"{name}_link" for name in MOTION)
"""Position of the joints without theta, velocity, acceleration, jerk, snap."""


@quantity("q_link, qd_link, qdd_link, qddd_link, qdddd_link -> theta, thetad, thetadd, tau", only="springs")
def elastic_inverse_dynamics(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Motor positions theta, their two rates, and torques, from the motion of the links up to its snap.

    theta = q + e / K, Hua (28), (29): e is the torque that the spring of stiffness K transmits. The inputs ``q_link``
    ... are those of the joints, without theta; for joints on which no elastic drive depends, jerk and snap have no
    effect (``robot.needed_derivatives()``). ``theta``, ``thetad`` and ``thetadd`` have one number for each drive with a
    spring; ``tau`` is as for ``inverse_dynamics``, zero on the link side of springs. Wrenches and loads come with two
    rates each.

    >>> import neuler
    >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
    >>> arm = neuler.robots.two_link().replace(motors=[motor])
    >>> still = [0.0, 0.0]
    >>> found = arm.elastic_inverse_dynamics([0.3, 0.2], still, still, still, still)
    >>> float(round(100 * (found.theta[0] - 0.2) - arm.gravity_force([0.3, 0.2, 0.2])[1], 12))
    0.0
    """
    shafts = [joint for joint in robot.moving_joints if joint.series is not None]
    joints = [joint for joint in robot.moving_joints if joint.series is None]
    _refuse(robot, shafts)
    refuse_rough(robot, "elastic_inverse_dynamics", 4)
    outside = External.of(robot, external, loads)
    table, links = robot.coordinates, robot.coordinates.links
    sizes = (links.size, *[links.speeds] * 4)

    def trace(values: Values) -> list[list[Scalar]]:
        motion = [list(values[name]) for name in LINKS]
        seeds = _along(joints, motion, values, outside)
        pushed = {name: x for name, x in values.items() if name not in LINKS}
        behind = [table[shaft.series[0]] for shaft in shafts if shaft.series]
        leaders = [(entry.q.start, entry.v.start) for entry in behind]
        q = [*motion[0], *(motion[0][p] for p, _ in leaders)]
        qd = [*motion[1], *(motion[1][v] for _, v in leaders)]
        chart = Chart(robot, q)
        state = {**pushed, "q": q, "qd": qd}
        still = [*motion[2], *[0.0] * len(shafts)]
        needed = chart.project(moved_tree(chart, trees(robot, values).grouped, state, outside, still).coordinates)
        e = [needed[v] for _, v in leaders]  # springs at rest: what the links need, Hua (28)
        once = tangents(e, seeds)
        rates = (e, once, tangents(once, seeds))
        stiffness = [shaft.series[1] for shaft in shafts if shaft.series]
        theta = [
            [motion[k][p if k == 0 else v] + x / s for (p, v), x, s in zip(leaders, rates[k], stiffness, strict=True)]
            for k in range(3)
        ]
        whole = {name: [*motion[k], *theta[k]] for k, name in enumerate(MOTION[:3])}
        return [*theta, list(inverse.trace({**pushed, **whole})[0])]

    inverse = inverse_dynamics.make(robot, external=external, loads=loads)
    inputs = tuple(Operand(name, (n,)) for name, n in zip(LINKS, sizes, strict=True))
    for suffix in RATES:
        inputs += outside.inputs(suffix)
    outputs = tuple(Operand(name, (len(shafts),)) for name in ("theta", "thetad", "thetadd"))
    return RobotRecipe(inputs, (*outputs, Operand("tau", (robot.nu,))), trace)


def _along(joints: list[Joint], motion: list[list[Scalar]], values: Values, outside: External) -> dict[Node, Scalar]:
    """The rate of every input."""
    chains: list[list[Sequence[Scalar]]] = [[motion[0], position_rates(joints, motion[0], motion[1])]]
    chains += [list(both) for both in itertools.pairwise(motion[1:])]
    for name in outside.names:
        chains += [[values[name + suffix] for suffix in both] for both in itertools.pairwise(RATES)]
    found: dict[Node, Scalar] = {}
    for now, rate in chains:
        for x, y in zip(now, rate, strict=True):
            if not isinstance(x, Node):
                raise InputError("elastic_inverse_dynamics is made by differentiating a graph: it runs compiled only")
            found[x] = y
    return found


def _refuse(robot: Robot, shafts: list[Joint]) -> None:
    """Where theta does not follow from four derivatives of the links, say so by name."""
    if robot.loops:
        raise RobotError(
            f"elastic_inverse_dynamics: robot {robot.name!r} has loops; it is for trees. inverse_dynamics takes the "
            "motion of joints and motors"
        )
    carrying = {joint.child: joint for joint in robot.joints}
    elastic = {shaft.series[0]: shaft for shaft in shafts if shaft.series}
    for name, shaft in elastic.items():
        assert shaft.series is not None
        if shaft.series[2]:
            raise RobotError(
                f"elastic_inverse_dynamics: the spring of joint {name!r} has damping, so that theta has a motion of "
                "its own and does not follow from that of the links; leave the damping out"
            )
    turned = {shaft.name for shaft in shafts}
    followers = {c.joint for c in robot.couplings if turned & set(c.of)}
    for joint in robot.joints:
        if joint.inner and joint.moves and (joint.name in turned or joint.name in followers):
            if not _inertia(robot, joint):
                continue
            link = joint.parent
            while link in carrying:
                below = carrying[link]
                if below.name in elastic:
                    raise RobotError(
                        f"elastic_inverse_dynamics: the rotor {joint.child!r} on {joint.parent!r} is carried by joint "
                        f"{below.name!r}, whose spring feels it: theta of {below.name!r} would need the snap of "
                        "another theta, that is derivatives of the links beyond the fourth. Put the motor on a link "
                        "before that joint, or take coupled=False (Spong's model)"
                    )
                link = below.parent


def _inertia(robot: Robot, joint: Joint) -> bool:
    """Whether a rotor is a body, which its carrier feels."""
    return any(link.name == joint.child and any(link.inertia) for link in robot.links)


def needed_derivatives(robot: Robot) -> dict[str, int]:
    """By joint, the highest derivative of its motion that ``elastic_inverse_dynamics`` depends on."""
    recipe = elastic_inverse_dynamics.recipe(robot)
    inputs, outputs = traced(recipe)
    reached = set().union(*dependence(inputs, outputs))
    found: dict[str, int] = {}
    links = robot.coordinates.links
    for entry in robot.coordinates:
        if not entry.elastic:  # theta stands behind all joints
            begin = {k: links.size + (k - 1) * links.speeds for k in range(1, 5)}
            orders = [k for k, at in begin.items() if any(at + i in reached for i in entry.velocities)]
            found[entry.name] = max(orders, default=0)
    return found
