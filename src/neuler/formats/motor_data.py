"""Motors as plain data, for files: what differs from the default, by the names of the fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.robot import Motor
from neuler.robot.friction import friction_law

FIELDS = tuple(field.name for field in dataclasses.fields(Motor))


def motor_data(motor: Motor) -> dict[str, Any]:
    """Texts, numbers, lists and mappings of these.

    >>> motor_data(Motor("m2", "joint2", 100, inertia=1e-4))
    {'name': 'm2', 'joint': 'joint2', 'ratio': 100.0, 'inertia': [0.0, 0.0, 0.0001]}
    """
    usual = Motor(motor.name, motor.joint)
    data: dict[str, Any] = {"name": motor.name, "joint": motor.joint}
    for field in FIELDS:
        value = getattr(motor, field)
        if value != getattr(usual, field):
            data[field] = list(value) if isinstance(value, tuple) else value
    if "ratio" in data:
        data["ratio"] = motor.ratios if len(motor.ratios) > 1 else motor.ratios[motor.joint]
    if motor.friction is not None:
        data["friction"] = motor.friction.data
    return data


def motor_of(data: object) -> Motor:
    """The motor that the data describe, as ``motor_data`` gives them; what is wrong is said by name.

    >>> motor_of({"name": "m2", "joint": "joint2", "ratio": 100.0}).ratios
    {'joint2': 100.0}
    """
    if not isinstance(data, Mapping):
        raise RobotError(f"a motor must be given by its fields, got {data!r}")
    for key in data:
        if key not in FIELDS:
            raise RobotError(f"a motor has no {key!r}; it has {listed(str(key), FIELDS)}")
    for key in ("name", "joint"):
        if key not in data:
            raise RobotError(f"a motor needs {key!r}")
    law = {"friction": friction_law(data["friction"])} if data.get("friction") is not None else {}
    return Motor(**{**data, **law})
