"""The doctor: what is unphysical or suspicious about a robot. It reports; it never raises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from neuler.diagnose.finding import Finding
from neuler.diagnose.motors import examine_motors
from neuler.plain import degrees
from neuler.robot.friction import Friction, Stribeck
from neuler.robot.inertia_matrix import Samples, sampled, without_inertia
from neuler.structure.inertias import own_inertias

if TYPE_CHECKING:
    from neuler.robot import Joint, Link, Robot

FAR = 50.0  # m: no arm is longer, a length in millimetres is
GYRATION = 10.0  # m
HEAVY = 1e5  # kg
TOLERANCE = 1e-6  # relative: rounding in a file is not an error


def examine(robot: Robot) -> list[Finding]:
    """All findings, errors first; empty for a healthy robot whose file had nothing to note.

    An *error* cannot be: the dynamics are wrong or do not exist. A *warning* is unphysical or
    looks like a wrong unit (kg, m, rad, s are expected). A *note* repeats ``robot.notes``.

    >>> from neuler.robot import Joint, Link, Robot
    >>> arm = Robot("arm", [Link("base"), Link("hand", mass=-1.0)], [Joint("hinge", "revolute", "base", "hand")])
    >>> print(examine(arm)[0])
    error: link 'hand': mass is negative, -1 kg
    """
    with np.errstate(all="ignore"):
        found = [*_whole(robot)]
        for link in robot.links:
            found.extend(_link(link))
        for joint in robot.joints:
            found.extend(_joint(joint))
        for motor in robot.motors:
            found.extend(_friction(f"motor {motor.name!r}", motor.friction))
        if robot.motors:
            found.extend(examine_motors(robot, _samples(robot.without_motors())))
        found.extend(_loops(robot))
        found.extend(_carried(robot.mechanism))
    found.extend(Finding("note", f"robot {robot.name!r}", note) for note in robot.notes)
    return sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _whole(robot: Robot) -> Iterator[Finding]:
    subject = f"robot {robot.name!r}"
    mass = robot.mass
    if mass == 0:
        yield Finding("warning", subject, "has no mass at all")
    elif abs(mass) > HEAVY:
        yield Finding("warning", subject, f"weighs {mass:.6g} kg; are the masses in gram?")
    gravity = math.hypot(*robot.gravity)
    if gravity and not 9.7 < gravity < 9.9:
        yield Finding("warning", subject, f"gravity is {gravity:.6g} m/s^2, neither zero nor that of the Earth")


def _link(link: Link) -> Iterator[Finding]:
    subject = f"link {link.name!r}"
    if link.mass < 0:
        yield Finding("error", subject, f"mass is negative, {link.mass:.6g} kg")
    if link.mass == 0 and any(link.first_moment):
        yield Finding("error", subject, "has a first moment but no mass")
    com = math.hypot(*link.com)
    if com > FAR:
        yield Finding("warning", subject, f"centre of mass is {com:.6g} m from its frame; is it in millimetres?")
    about_com = link.inertia_about_com
    if not np.isfinite(about_com).all():
        yield Finding("error", subject, "its numbers are too large to compute with")
        return
    size = float(np.abs(about_com).max())
    scale = max(size, float(np.abs(link.inertia_matrix).max()))
    if scale == 0.0:
        return
    # Moving the inertia to the centre of mass and back costs digits of the inertia about the origin.
    lost = 1e-12 * scale
    allowed = TOLERANCE * size + lost
    principal = scale * np.linalg.eigvalsh(about_com / scale)
    low, middle, high = np.where(np.abs(principal) < lost, 0.0, principal).tolist()
    if low < -allowed:
        yield Finding(
            "error", subject, f"inertia about the centre of mass is negative about some axis, {low:.6g} kg m^2"
        )
    elif high > low + middle + allowed:
        yield Finding(
            "warning",
            subject,
            f"no body has the principal inertias {low:.6g}, {middle:.6g}, {high:.6g} kg m^2: "
            "the largest exceeds the sum of the others",
        )
    if link.mass > 0 and high > 0:
        gyration = math.sqrt(high / link.mass)
        if gyration > GYRATION:
            yield Finding(
                "warning", subject, f"radius of gyration is {gyration:.6g} m; are the inertias in kg mm^2 or g m^2?"
            )


def _joint(joint: Joint) -> Iterator[Finding]:
    subject = f"joint {joint.name!r}"
    if joint.limits.lower == joint.limits.upper:
        yield Finding(
            "warning",
            subject,
            f"cannot move: both limits are {joint.limits.lower:.6g}",
        )
    if joint.limits.lower > joint.limits.upper:
        yield Finding(
            "error", subject, f"lower limit {joint.limits.lower:.6g} is above the upper one {joint.limits.upper:.6g}"
        )
    for what in ("velocity", "effort"):
        if getattr(joint.limits, what) < 0:
            yield Finding("warning", subject, f"{what} limit is negative, {getattr(joint.limits, what):.6g}")
    for what, name in (
        ("viscous", "viscous friction"),
        ("coulomb", "Coulomb friction"),
        ("coulomb_reverse", "Coulomb friction in reverse"),
        ("rotor_inertia", "rotor inertia"),
    ):
        if (getattr(joint, what) or 0.0) < 0:
            yield Finding("error", subject, f"{name} is negative, {getattr(joint, what):.6g}")
    yield from _friction(subject, joint.friction)
    distance = math.hypot(*joint.placement.translation)
    if distance > FAR:
        yield Finding("warning", subject, f"sits {distance:.6g} m from its parent's frame; is it in millimetres?")


def _friction(subject: str, law: Friction | None) -> Iterator[Finding]:
    """What would make energy, or is no such law."""
    if law is None:
        return
    for what in law.parameters:
        value = getattr(law, what)
        if value is not None and value < 0:
            yield Finding("error", subject, f"its friction law makes energy: {what} is negative, {value:.6g}")
    if isinstance(law, Stribeck):
        if law.static < law.coulomb:
            yield Finding(
                "warning",
                subject,
                f"its static friction {law.static:.6g} is less than its Coulomb friction {law.coulomb:.6g}; are they "
                "exchanged?",
            )
        if law.width > law.speed:
            yield Finding(
                "warning",
                subject,
                f"its smooth friction has the width {law.width:.6g}, more than the Stribeck speed {law.speed:.6g}: the "
                "static level is never reached",
            )


# ---- what the loops leave free ---------------------------------------------------------------------


def _loops(robot: Robot) -> Iterator[Finding]:
    """Whether they let it move, whether its motors decide how, and whether they hold something twice."""
    if not robot.loops:
        return
    subject, facts = f"robot {robot.name!r}", robot.mobility
    sprung = sum(motor.elastic and motor.joint not in robot.active_names for motor in robot.motors)
    if not facts.freedoms:
        yield Finding("warning", subject, "does not move: its loops leave no degree of freedom")
    elif facts.driven + sprung < facts.freedoms:
        motors = ", ".join(robot.active_names) or "no joint"
        verb = "moves" if len(robot.active_names) < 2 else "move"
        yield Finding(
            "warning",
            subject,
            f"is under-actuated: it has {degrees(facts.freedoms)}, and {motors} {verb} fewer",
        )
    elif robot.nu > facts.freedoms:
        yield Finding(
            "note",
            subject,
            f"has {robot.nu} motors for {degrees(facts.freedoms)}: of all forces that do it the least is given",
        )
    if facts.redundant:
        told = f"redundant constraints: {', '.join(facts.redundant)}; rigid links leave their forces undecided"
        yield Finding("note", subject, told)


# ---- what the moving joints carry ------------------------------------------------------------------


def _carried(robot: Robot) -> Iterator[Finding]:
    if not robot.moving_joints:
        return
    yield from _tips(robot)
    samples = _samples(robot)
    if samples is None:
        return
    if not all(np.isfinite(m).all() for m in samples.matrices):
        yield Finding("error", f"robot {robot.name!r}", "the inertia matrix is not finite: some number is too large")
        return
    found = without_inertia(samples)
    if found is None:
        return
    if found.incomparable:
        yield Finding("error", f"robot {robot.name!r}", "the inertias that its joints feel differ too much to compare")
    elif found.together:
        kind = "not positive" if found.negative else "singular"
        yield Finding(
            "error",
            f"joints {', '.join(map(repr, found.joints))}",
            f"the inertia matrix is {kind} for a motion of these joints together: forward dynamics do not exist",
        )
    else:
        for name in found.joints:
            yield Finding(
                "error",
                f"joint {name!r}",
                "nothing that it moves has inertia about its axis: the inertia matrix is singular and forward "
                "dynamics do not exist; give a body, a motor or rotor_inertia",
            )


def _samples(robot: Robot) -> Samples | None:
    """The inertia matrix at some positions, of the robot's own velocities; None where it has none."""
    if not robot.nv:
        return None
    if not robot.loops and not robot.couplings:
        return sampled(robot)
    return own_inertias(robot, [entry.name for entry in robot.coordinates.owners("qd")])


def _tips(robot: Robot) -> Iterator[Finding]:
    """Moving joints with no moving joint or loop beyond whose bodies have no mass."""
    mass = {link.name: link.mass for link in robot.links}
    rigid = dict(mass)
    held = {robot.links[robot.locate(frame)[0]].name for loop in robot.loops for frame in (loop.first, loop.second)}
    moves_on = {name: name in held for name in mass}
    for joint in reversed(robot.joints):
        if joint.inner and joint.moves:  # a rotor
            continue
        if joint.moves:
            if not moves_on[joint.child] and rigid[joint.child] <= 0:
                yield Finding("warning", f"joint {joint.name!r}", f"moves a mass of {rigid[joint.child]:.6g} kg")
            moves_on[joint.parent] = True
        else:
            rigid[joint.parent] += rigid[joint.child]
            moves_on[joint.parent] |= moves_on[joint.child]
