"""Fuse the links behind fixed joints into the links that carry them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from neuler.robot import Frame, Joint, Link, Robot, Transform


def fuse(robot: Robot, keep: Collection[str] = ()) -> Robot:
    """The same robot with moving joints only, and those named in ``keep``.

    Every link that vanishes lives on as a frame of its carrier.
    """
    carrier: dict[str, tuple[str, Transform]] = {robot.links[0].name: (robot.links[0].name, Transform())}
    bodies: dict[str, Link] = {robot.links[0].name: robot.links[0]}
    joints: list[Joint] = []
    frames: list[Frame] = []
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        host, pose = carrier[joint.parent]
        placement = pose @ joint.placement if joint.parent != host else joint.placement
        if joint.moves or joint.name in keep:
            carrier[link.name] = (link.name, Transform())
            bodies[link.name] = link
            joints.append(dataclasses.replace(joint, parent=host, placement=placement))
        else:
            carrier[link.name] = (host, placement)
            bodies[host] = bodies[host].merged(link.seen_from(placement))
            frames.append(Frame(link.name, host, placement))
    for frame in robot.frames:
        host, pose = carrier[frame.link]
        frames.append(Frame(frame.name, host, pose @ frame.placement))
    return robot.replace(links=tuple(bodies.values()), joints=joints, frames=frames)
