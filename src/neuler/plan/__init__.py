"""Motion planning: joint profiles as B-splines, objectives and limits over them, solved with exact derivatives.

>>> import neuler
>>> from neuler import plan
>>> arm = neuler.robots.two_link()
>>> limits = [plan.within(plan.torque, 20.0), plan.within(plan.velocity, 3.0)]
>>> found = plan.Plan(arm, plan.duration(), start=[0, 0], goal=[1, 0.5], limits=limits, control_points=10).solve()
>>> found.valid
True
"""

from neuler import optimize as _optimize  # noqa: F401  (says what to install where SciPy is missing)
from neuler.moments.clearance import Ball, Box, Capsule, HalfSpace, Sphere
from neuler.moments.contact import Contact
from neuler.moments.measures import (
    Measure,
    acceleration,
    contact_force,
    frame_position,
    frame_velocity,
    ground_force,
    jerk,
    joint_force,
    joint_moment,
    loop_position,
    loop_velocity,
    measure,
    position,
    power,
    torque,
    torque_rate,
    velocity,
    zero_moment_point,
)
from neuler.moments.moving_robot import Payload
from neuler.plan.conditions import Boundary, Via
from neuler.plan.conflicts import Conflicts
from neuler.plan.limits import Limit, clear_of, limit, within
from neuler.plan.objectives import (
    Objective,
    acceleration_effort,
    at_end,
    duration,
    effort,
    energy,
    force_effort,
    integral,
    jerk_effort,
    magnitude,
    overall,
    peak,
    peak_joint_force,
    torque_rate_effort,
    total,
)
from neuler.plan.phases import Phase
from neuler.plan.plan import Plan
from neuler.plan.planned import FamilyReport, Planned, Violation
from neuler.plan.relations import Relation, exchanges, mirrors, relate, repeats
from neuler.timing import Path, TimedPath, scale_time, time_path

__all__ = [
    "Ball", "Boundary", "Box", "Capsule", "Conflicts", "Contact", "FamilyReport", "HalfSpace", "Limit", "Measure",
    "Objective", "Path", "Payload", "Phase", "Plan", "Planned", "Relation", "Sphere", "TimedPath", "Via", "Violation",
    "acceleration", "acceleration_effort", "at_end", "clear_of", "contact_force", "duration", "effort", "energy",
    "exchanges", "force_effort", "frame_position", "frame_velocity", "ground_force", "integral", "jerk", "jerk_effort",
    "joint_force", "joint_moment", "limit", "loop_position", "loop_velocity", "magnitude", "measure", "mirrors",
    "overall", "peak", "peak_joint_force", "position", "power", "relate", "repeats", "scale_time", "time_path",
    "torque", "torque_rate", "torque_rate_effort", "total", "velocity", "within", "zero_moment_point",
]  # fmt: skip
