"""Where the links are and how they move: poses, velocities, Jacobians, accelerations, jerks."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import dot
from neuler.algebra.screw import flat
from neuler.errors import InputError
from neuler.quantities.declare import quantity
from neuler.quantities.setup import RobotRecipe, Values, coordinates, trees
from neuler.quantities.torque_rates import MOTION, jerks, refuse_rough
from neuler.recursions import frames
from neuler.recursions.kinematics import placements, velocities
from neuler.recursions.rates import LinkMotion, link_motion
from neuler.robot import Robot, Transform
from neuler.structure.chart import Chart
from neuler.structure.lift import Lift
from neuler.structure.stepping import step
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand


def by_own(chart: Chart, rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Rows by the velocities of the tree, as rows by the robot's own; flat."""
    if chart.trivial:
        return [x for row in rows for x in row]
    columns = chart.columns()
    return chart.nan_where_invalid([dot(row, column) for row in rows for column in columns])


@quantity("q -> poses")
def link_poses(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Poses in the base frame, homogeneous matrices: of all links, (links, 4, 4), or of one ``frame``, (4, 4).

    A point x of a link is at R x + p in the base frame.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> arm.link_poses([0.0, 0.0]).shape, arm.link_poses([0.0, 0.0], frame="link2").shape
    ((3, 4, 4), (4, 4))
    """
    names = robot.shown_names if frame is None else (frame,)
    robot.locate(names[0])
    shape = (len(names), 4, 4) if frame is None else (4, 4)

    def trace(values: Values) -> list[list[Scalar]]:
        found: list[Scalar] = []
        for rotation, origin in frames.poses(trees(robot, values).fused, Lift(robot, values["q"]).q, names):
            for row, x in zip(rotation, origin, strict=True):
                found.extend((*row, x))
            found.extend((0.0, 0.0, 0.0, 1.0))
        return [found]

    return RobotRecipe(coordinates(robot, "q"), (Operand("poses", shape),), trace, unmarked=True)


@quantity("q, qd -> velocities")
def link_velocities(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Velocities (linear; angular), m/s and rad/s, of all links, (links, 6), or of one ``frame``, (6).

    In the frame's own axes, at its own origin.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> np.allclose(arm.link_velocities(q, qd, frame="link2"), arm.jacobian(q, frame="link2") @ qd)
    True
    """
    names = robot.shown_names if frame is None else (frame,)
    robot.locate(names[0])

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        screws = velocities(tree, placements(tree, chart.q), chart.velocities(values["qd"]))
        rows: list[Scalar] = []
        for name in names:
            number, placement = tree.frames[name]
            rows.extend(flat(frames.motion_at(placement, screws[number])))
        return [chart.nan_where_invalid(rows)]

    shape = (len(names), 6) if frame is None else (6,)
    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("velocities", shape),), trace)


@quantity("q -> jacobian")
def jacobian(robot: Robot, *, frame: str | None = None, reference: str = "link") -> RobotRecipe:
    """Jacobian of ``frame``, (6, nv): J qd is its velocity (linear; angular) at its origin.

    In the frame's own axes (``reference="link"``) or in the base's (``reference="world"``). Without ``frame`` that of
    ``robot.tip``, the link behind the most moving joints.

    >>> import neuler
    >>> neuler.robots.puma560().jacobian([0.1] * 6, frame="dh6", reference="world").shape
    (6, 6)
    """
    name = robot.tip if frame is None else frame
    robot.locate(name)
    if reference not in ("link", "world"):
        raise InputError(f"jacobian: reference must be 'link' or 'world', got {reference!r}")

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        return [by_own(chart, frames.jacobian(trees(robot, values).fused, chart.q, name, world=reference == "world"))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("jacobian", (6, robot.nv)),), trace)


@quantity("q, qd, qdd, qddd -> velocities, accelerations, jerks")
def link_motions(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Velocities, accelerations, jerks (linear; angular) of all links, (links, 6) each, or of one ``frame``.

    Inertial derivatives at the frame's origin, in its own axes; gravity is not included. Guarino (3)-(9).

    >>> import neuler
    >>> still = [0.0, 0.0]
    >>> found = neuler.robots.two_link().link_motions([0.1, 0.2], [1.0, 0.0], still, still)
    >>> found.accelerations.shape
    (3, 6)
    """
    names = robot.shown_names if frame is None else (frame,)
    robot.locate(names[0])
    refuse_rough(robot, "link_motions", 3)
    shape = (len(names), 6) if frame is None else (6,)

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        qd, qdd = chart.velocities(values["qd"]), chart.accelerations(values["qd"], values["qdd"])
        moving = link_motion(tree, chart.q, qd, qdd, jerks(chart, values))
        rows: list[list[Scalar]] = [[], [], []]
        for name in names:
            number, placement = tree.frames[name]
            for row, part in zip(rows, _at(moving[number], placement), strict=True):
                row.extend(part)
        return [chart.nan_where_invalid(row) for row in rows]

    outputs = tuple(Operand(name, shape) for name in ("velocities", "accelerations", "jerks"))
    return RobotRecipe(coordinates(robot, *MOTION[:4]), outputs, trace)


def _at(motion: LinkMotion, placement: Transform) -> list[tuple[Scalar, ...]]:
    return [(*linear, *angular) for linear, angular in motion.at(placement)]


@quantity("q, qd, dt -> q")
def integrate(robot: Robot) -> RobotRecipe:
    """Position after dt seconds at velocity qd, (nq); qd is constant in each link's own frame.

    q + dt qd for plain coordinates. Free links follow the screw motion exactly, and quaternions keep their unit length.
    With loops, the independent joints move this way; the dependent ones follow, and the loops are closed again; NaN
    where the step is too long for that. ``robot.difference`` is the inverse.

    >>> import neuler
    >>> drone = neuler.robots.two_link().with_free_base()
    >>> q = drone.integrate(drone.neutral(), [1, 0, 0, 0, 0, 3.141592653589793, 0, 0], 1.0)
    >>> q[:7].round(3).tolist()  # half a turn to the left on a circle of circumference 2
    [0.0, 0.637, 0.0, 0.0, 0.0, 1.0, 0.0]
    """

    def trace(values: Values) -> list[list[Scalar]]:
        (dt,) = values["dt"]
        q, valid = step(Chart(robot, values["q"]), values["qd"], dt)
        return [[x * valid for x in q]]

    inputs = (*coordinates(robot, "q", "qd"), Operand("dt", ()))
    return RobotRecipe(inputs, (Operand("q", (robot.nq,)),), trace)
