"""What decides the code of a robot's quantity, and nothing else: names, notes and limits of a robot do not.

Links and joints are told apart by their numbers; where an option names a frame or a joint, what it stands for counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from neuler.passes.trees import usual_inertias
from neuler.quantities.setup import COLUMNS, PARAMETERS
from neuler.robot import Robot
from neuler.robot.value import kept


@kept
def structure(robot: Robot) -> str:
    """SHA-256 of everything about a robot that its dynamics depend on."""
    if robot.motors:
        return structure(robot.mechanism)
    links = {link.name: k for k, link in enumerate(robot.links)}
    numbers = {joint.name: k for k, joint in enumerate(robot.joints)}
    joints = [
        (
            joint.kind, links[joint.parent], joint.placement, joint.axis, joint.viscous, joint.coulomb,
            joint.coulomb_reverse, joint.rotor_inertia, joint.stiffness, joint.rest, joint.role, joint.pitch,
            joint.friction, joint.turns_per_unit, joint.inner,
            joint.series and (numbers[joint.series[0]], *joint.series[1:]),
        )
        for joint in robot.joints
    ]  # fmt: skip
    bodies = [(link.mass, link.first_moment, link.inertia) for link in robot.links]
    couplings = [
        (numbers[each.joint], [numbers[name] for name in each.of], each.ratio, each.offset, each.function)
        for each in robot.couplings
    ]
    whole: list[object] = [bodies, joints, robot.gravity, couplings]
    if robot.loops:
        facts = robot.mobility
        whole += [(loop.kind, robot.locate(loop.first), robot.locate(loop.second)) for loop in robot.loops]
        whole += [facts.choice, facts.active_numbers, facts.rows]
    if robot.loops or usual_inertias(robot.tree):  # found at positions within the limits
        whole += [[joint.limits for joint in robot.joints], robot.reference]
    return hashlib.sha256(repr(whole).encode()).hexdigest()


def identity(robot: Robot, quantity: str, options: Mapping[str, Any]) -> tuple[object, ...]:
    """Of a kernel: equal ones have equal code."""
    named = [(name, _meaning(robot, value)) for name, value in sorted(options.items())]
    by_name = PARAMETERS in options or COLUMNS in options  # "link3.mass": which number that is hangs on names
    whole = robot.content_hash if by_name else structure(robot)
    return (whole, quantity, tuple(named))


def _meaning(robot: Robot, value: Any) -> object:
    """An option's value, and what the frames and joints are that it names."""
    names = value if isinstance(value, tuple) else (value,)
    joints = {joint.name: k for k, joint in enumerate(robot.joints)}
    known = set(robot.frame_names)
    meant = [
        (robot.locate(name) if name in known else None, joints.get(name)) for name in names if isinstance(name, str)
    ]
    return (value, repr(meant))
