"""A robot with other numbers in the place of some of its own, by the names of parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import real, told
from neuler.passes.parameter_values import stacked
from neuler.passes.parameters import INERTIA, MOMENT, PLACE, SIX, TEN, XYZ, Parameter, parse
from neuler.robot import Joint, Link, Motor, Robot, Transform

Numbers = dict[str, float]
"""By what they are: mass, mx, viscous, ..."""


def with_parameters(robot: Robot, values: Mapping[str, Any]) -> Robot:
    """The same robot with ``values`` of parameters, by the names and groups that ``parameters=`` takes."""
    if not isinstance(values, Mapping) or not values:
        raise InputError(f"with_parameters: a mapping from names to values is expected, got {told(values)}")
    mechanism = robot.mechanism
    parameters = parse(mechanism, list(values))
    for name, value in values.items():
        if real(value) is None:
            raise InputError(f"with_parameters: {name!r} must be numbers, got {told(value)}")
    given = np.asarray(stacked("with_parameters", mechanism, values), dtype=float)
    if given.ndim != 1:
        raise InputError(
            f"with_parameters: one robot has one value of each parameter, got batch axes {given.shape[:-1]}; batches "
            "of values go into the call: robot.inverse_dynamics(q, qd, qdd, parameters=...)"
        )
    if not np.isfinite(given).all():
        wrong = parameters[int(np.argmin(np.isfinite(given)))].name
        raise InputError(f"with_parameters: {wrong!r} must be a finite number")
    owned: dict[tuple[str, str], Numbers] = {}
    for each, x in zip(parameters, given.tolist(), strict=True):
        owned.setdefault((each.of, each.owner), {})[each.part] = x
    links = [_link(link, owned.get(("link", link.name), {})) for link in robot.links]
    joints = [_joint(joint, owned.get(("joint", joint.name), {})) for joint in robot.joints]
    motors = [_motor(motor, owned.get(("motor", motor.name), {})) for motor in robot.motors]
    for (of, frame), load in owned.items():
        if of == "payload":
            index, placement = robot.locate(frame)
            links[index] = links[index].merged(_link(Link("payload"), load).seen_from(placement))
    gravity = owned.get(("gravity", ""))
    more = {} if gravity is None else {"gravity": tuple(gravity[axis] for axis in XYZ)}
    _refuse_unknown(robot, parameters)
    return robot.replace(links=links, joints=joints, motors=motors, **more)


def _refuse_unknown(robot: Robot, parameters: tuple[Parameter, ...]) -> None:
    """Numbers of links and joints that a motor has become are its own."""
    links, joints = set(robot.link_names), {joint.name for joint in robot.joints}
    for each in parameters:
        if (each.of == "link" and each.owner not in links) or (each.of == "joint" and each.owner not in joints):
            raise InputError(f"with_parameters: {each.name!r} is of a part of a motor; name the motor's own numbers")


def _link(link: Link, numbers: Numbers) -> Link:
    if not numbers:
        return link
    own = dict(zip(TEN, (link.mass, *link.first_moment, *link.inertia), strict=True)) | numbers
    return Link(link.name, own["mass"], tuple(own[k] for k in MOMENT), tuple(own[k] for k in INERTIA))  # type: ignore[arg-type]


def _joint(joint: Joint, numbers: Numbers) -> Joint:
    if not numbers:
        return joint
    fields: dict[str, Any] = {part: x for part, x in numbers.items() if "." not in part}
    law = {part.removeprefix("friction."): x for part, x in numbers.items() if part.startswith("friction.")}
    if law:
        assert joint.friction is not None
        fields["friction"] = dataclasses.replace(joint.friction, **law)
    if any(part.startswith("placement.") for part in numbers):
        own = dict(zip(SIX, (*joint.placement.translation, *joint.placement.rpy), strict=True))
        changed = {part.removeprefix("placement."): x for part, x in numbers.items() if part.startswith("placement.")}
        six = list((own | changed).values())
        turned = not set(changed) <= set(PLACE)
        place = (
            Transform.from_rpy(six[:3], six[3:])
            if turned
            else Transform(joint.placement.rotation, (six[0], six[1], six[2]))
        )
        fields["placement"] = place
    return dataclasses.replace(joint, **fields)


def _motor(motor: Motor, numbers: Numbers) -> Motor:
    fields: dict[str, Any] = dict(numbers)
    moments = dict(zip(("xx", "yy", "inertia"), np.broadcast_to(motor.inertia, 3).tolist(), strict=True))
    changed = {part: fields.pop(part) for part in moments if part in fields}
    if changed:
        fields["inertia"] = tuple((moments | changed).values())
    return dataclasses.replace(motor, **fields) if fields else motor
