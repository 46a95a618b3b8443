"""A robot as plain data for JSON: what ``text`` tells in words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from neuler.diagnose.finding import Finding
from neuler.robot import Coupling, Joint, Motor, Robot
from neuler.solve.base_parameters import BaseParameters
from neuler.view.motors import motor_data
from neuler.view.text import LIMITS, around, has_direction, places


def as_dict(robot: Robot, findings: Iterable[Finding]) -> dict[str, Any]:
    """What ``neuler info --json`` prints; a limit that does not exist is null, and without loops so is the mobility.

    ``q`` and ``qd`` of a joint are its first number and the one after its last; ``coordinate`` is its first position.
    They are null where there is none: of a coupled joint, and in loops of the velocity of one that follows.
    """
    where = places(robot)
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "nu": robot.nu,
        "mass": robot.mass,
        "gravity": list(robot.gravity),
        "active_joints": list(robot.active_names),
        "mobility": _mobility(robot) if robot.loops else None,
        "loops": [
            dataclasses.asdict(loop) | {"constraints": loop.constraints, "joints": around(robot, loop)}
            for loop in robot.loops
        ],
        "couplings": [_coupling(coupling) for coupling in robot.couplings],
        "motors": [_motor(robot, motor, where) for motor in robot.motors],
        "links": [
            {
                "name": link.name,
                "mass": link.mass,
                "com": list(link.com),
                "inertia_about_com": [[_json_number(x) for x in row] for row in link.inertia_about_com.tolist()],
            }
            for link in robot.links
        ],
        "joints": [_joint(joint, where.get(joint.name)) for joint in robot.joints],
        "frames": [
            {
                "name": frame.name,
                "link": frame.link,
                "rotation": [list(row) for row in frame.placement.rotation],
                "translation": list(frame.placement.translation),
            }
            for frame in robot.frames
        ],
        "named_positions": {name: list(q) for name, q in robot.named_positions.numbers()},
        "findings": [dataclasses.asdict(finding) for finding in findings],
    }


def base_parameters(base: BaseParameters) -> dict[str, Any]:
    """Values, groups with their factors, and what has no effect."""
    return {
        "values": dict(zip(base.names, base.values.tolist(), strict=True)),
        "groups": base.groups,
        "without_effect": list(base.without_effect),
    }


def _mobility(robot: Robot) -> dict[str, Any]:
    facts = robot.mobility
    return {
        "freedoms": facts.freedoms,
        "driven": facts.driven,
        "constraints": facts.constraints,
        "rank": facts.rank,
        "redundant": list(facts.redundant),
        "independent": list(facts.independent),
        "reference": list(facts.reference),
    }


def _coupling(coupling: Coupling) -> dict[str, Any]:
    data = dataclasses.asdict(coupling)
    if coupling.function is not None:
        data["function"] = {"kind": type(coupling.function).__name__.lower(), **dataclasses.asdict(coupling.function)}
    return data


def _motor(robot: Robot, motor: Motor, where: dict[str, tuple[range, range]]) -> dict[str, Any]:
    data = motor_data(robot, motor)
    q, qd = where.get(data["theta"], (range(0), range(0)))
    return {**data, "q": [q.start, q.stop] if q else None, "qd": [qd.start, qd.stop] if qd else None}


def _joint(joint: Joint, where: tuple[range, range] | None) -> dict[str, Any]:
    q, qd = where or (range(0), range(0))
    return {
        "name": joint.name,
        "kind": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
        "coordinate": q.start if q else None,
        "q": [q.start, q.stop] if q else None,
        "qd": [qd.start, qd.stop] if qd else None,
        "role": joint.role if joint.moves else None,
        "rotation": [list(row) for row in joint.placement.rotation],
        "translation": list(joint.placement.translation),
        "axis": list(joint.axis) if has_direction(joint) else None,
        "pitch": joint.pitch if joint.type.has_pitch else None,
        "limits": {key: _json_number(getattr(joint.limits, key)) for key in LIMITS},
        "viscous": joint.viscous,
        "coulomb": joint.coulomb,
        "coulomb_reverse": joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse,
        "rotor_inertia": joint.rotor_inertia,
        "gear_ratio": joint.gear_ratio,
        "stiffness": joint.stiffness,
        "rest": joint.rest,
        "friction": joint.friction.data if joint.friction else None,
    }


def _json_number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
