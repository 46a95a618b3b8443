"""Links as MuJoCo takes them: what a body must have, and what counts with another link."""

from __future__ import annotations

import numpy as np

from neuler.errors import FormatError
from neuler.formats.mjcf_write_bodies import Attributes, inertial_of, principal_inertias
from neuler.robot import Link, Robot

LEAST = 1e-15
"""MuJoCo's mjMINVAL: its compiler wants more mass and more inertia of what moves."""
TINY = 2e-15
"""kg m^2: stands for the inertia of a body with mass that has none about an axis, as a rod or a point."""
SHARE = 1e-12
"""By which the largest principal inertia may be above the sum of the others, which is rounding."""


def with_stators(robot: Robot) -> Robot:
    """The robot with what motors weigh as a part of the links that carry them."""
    links = {link.name: link for link in robot.links}
    for joint in robot.joints:
        if joint.inner:
            links[joint.parent] = links[joint.parent].merged(links.pop(joint.child).seen_from(joint.placement))
    if len(links) == len(robot.links):
        return robot
    return robot.replace(links=links.values(), joints=[joint for joint in robot.joints if not joint.inner])


def _impossible(link: Link) -> str:
    """Why MuJoCo takes no such body, or nothing."""
    if link.mass == 0 and any(link.first_moment):
        return "has a first moment but no mass; an MJCF file gives the centre of mass"
    inertias, _ = principal_inertias(link)
    low, _, high = np.sort(inertias).tolist()
    slack = SHARE * max(high, float(np.abs(link.inertia_matrix).max()))
    if link.mass < 0 or low < -slack or 2 * high - float(inertias.sum()) > slack:
        return (
            f"no body can have its mass, {link.mass:g} kg, and principal inertias, "
            f"{', '.join(f'{x:g}' for x in inertias)} kg m^2, and MuJoCo takes none; robot.check() says more"
        )
    return ""


def carried(robot: Robot) -> Robot:
    """The robot in which links that no body can be count with what is fixed to them; the motion is the same."""
    links = {link.name: link for link in robot.links}
    fixed = [joint for joint in robot.joints if not joint.moves]
    inward = [(joint.child, joint.parent, joint.placement) for joint in reversed(fixed)]
    outward = [(joint.parent, joint.child, joint.placement.inverse()) for joint in fixed]
    changed = False
    for name, holder, placement in (*inward, *outward):
        if _impossible(links[name]):
            links[holder] = links[holder].merged(links[name].seen_from(placement))
            links[name] = Link(name)
            changed = True
    if not changed or any(map(_impossible, links.values())):  # then the links that cannot be are named
        return robot
    return robot.replace(links=links.values())


def is_solid(link: Link) -> bool:
    """Whether MuJoCo takes it for a body that moves."""
    return link.mass > LEAST


def inertial(link: Link) -> Attributes | None:
    """The attributes of a link's ``<inertial>``; None of a link that has none."""
    if link == Link(link.name):
        return None
    reason = _impossible(link)
    if reason:
        raise FormatError(f"link {link.name!r}: {reason}")
    inertias, axes = principal_inertias(link)
    inertias = np.maximum(inertias, TINY if link.mass > LEAST else 0.0)
    largest = int(np.argmax(inertias))
    inertias[largest] = min(inertias[largest], np.delete(inertias, largest).sum())
    return inertial_of(link, link.mass, inertias, axes)
