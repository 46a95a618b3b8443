"""Names of the numbers of a state: what a column of a file, or an entry of a vector, is called.

Positions are ``q_<joint>``, velocities ``qd_<joint>``, forces ``tau_<joint>``. A free joint has several: its position
is ``q_<joint>_x, _y, _z, _qx, _qy, _qz, _qw``, its velocity ``qd_<joint>_vx, _vy, _vz, _wx, _wy, _wz``, its force
``tau_<joint>_fx, _fy, _fz, _mx, _my, _mz``. Velocities of a mechanism are those of its independent joints, forces
those of its active ones; ``v`` and ``vd`` of a parallel robot's platform are ``v_vx`` to ``vd_wz``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from neuler.recipes.mobility import chart
from neuler.recipes.quantities import Subject
from neuler.robot import Joint, Mechanism, ParallelRobot, Robot
from neuler.trace.recipe import Operand

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
SCREW = ("vx", "vy", "vz", "wx", "wy", "wz")
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")

_POSITIONS = frozenset({"q", "next"})
_VELOCITIES = frozenset({"qd", "qdd", "qddd", "qdddd", "given", "found", "qd_tree", "qdd_tree", "leg_qd", "leg_qdd"})
_FORCES = frozenset({"tau", "tau_rate", "bias", "gravity"})


def mechanism_of(subject: Subject) -> Mechanism | None:
    """The mechanism that a machine is; None for a tree."""
    if isinstance(subject, ParallelRobot):
        return subject.mechanism
    return subject if isinstance(subject, Mechanism) else None


def tree_of(subject: Subject) -> Robot:
    """The tree of a machine; a robot is its own.

    >>> import neuler
    >>> tree_of(neuler.robots.four_bar()).joint_names
    ('crank', 'coupler', 'rocker')
    """
    if isinstance(subject, Robot):
        return subject
    mechanism = mechanism_of(subject)
    assert mechanism is not None
    return mechanism.tree


def slots(robot: Robot) -> list[tuple[Joint, int, int]]:
    """Of every moving joint, in order: the joint, the numbers of its first position and of its first velocity.

    >>> import neuler
    >>> [(joint.name, q, qd) for joint, q, qd in slots(neuler.robots.two_link().with_free_base())]
    [('root_joint', 0, 0), ('joint1', 7, 6), ('joint2', 8, 7)]
    """
    found, q, v = [], 0, 0
    for joint in robot.moving_joints:
        found.append((joint, q, v))
        q, v = q + joint.nq, v + joint.nv
    return found


def entries(robot: Robot, parts: Sequence[str], between: str = "_") -> list[str]:
    """A name for every number of a vector over the joints; ``parts`` are those of a free joint's."""
    found: list[str] = []
    for joint in robot.moving_joints:
        found += [f"{joint.name}{between}{part}" for part in parts] if joint.kind == "free" else [joint.name]
    return found


def column_names(subject: Subject, operand: Operand, options: Mapping[str, Any] | None = None) -> list[str]:
    """The names of an operand's numbers, in order; ``options`` are those of its kernel.

    >>> import neuler
    >>> column_names(neuler.robots.two_link(), Operand("tau", (2,)))
    ['tau_joint1', 'tau_joint2']
    >>> column_names(neuler.robots.two_link(), Operand("mass_matrix", (2, 2)))[:2]
    ['mass_matrix[0,0]', 'mass_matrix[0,1]']
    >>> column_names(neuler.robots.five_bar(), Operand("qd", (2,)))
    ['qd_left_arm', 'qd_right_arm']
    """
    if operand.shape == ():
        return [operand.name]
    found = _entries(subject, operand, options or {}) if len(operand.shape) == 1 else None
    if found is not None and len(found) == operand.size and len(set(found)) == len(found):
        return [f"{operand.name}_{name}" for name in found]
    spots = itertools.product(*map(range, operand.shape))
    return [f"{operand.name}[{','.join(map(str, spot))}]" for spot in spots]


def _entries(subject: Subject, operand: Operand, options: Mapping[str, Any]) -> list[str] | None:
    tree, mechanism = tree_of(subject), mechanism_of(subject)
    if operand.name in _POSITIONS:
        return entries(tree, POSE)
    if isinstance(subject, ParallelRobot) and operand.name in ("v", "vd"):
        return list(SCREW)
    if operand.name not in _VELOCITIES | _FORCES:
        return None
    every = entries(tree, WRENCH if operand.name in _FORCES else SCREW)
    if mechanism is None or operand.size == len(every):
        return every
    if isinstance(subject, ParallelRobot) and operand.name.startswith("leg_"):
        return every[6:]
    if operand.name == "tau":
        return [name for name in every if name in mechanism.active_names]
    named = options.get("independent")
    names = (named,) if isinstance(named, str) else named
    return [every[k] for k in chart(mechanism, names).independent]


def spellings(subject: Subject, inputs: Sequence[Operand], options: Mapping[str, Any]) -> dict[str, int]:
    """Every accepted name of every number, to its place among all inputs; ambiguous names are left out."""
    places: dict[str, set[int]] = {}
    start = 0
    for operand in inputs:
        for k, name in enumerate(column_names(subject, operand, options)):
            for spelling in {name, f"{operand.name}[{k}]", f"{operand.name}{k + 1}"}:
                places.setdefault(spelling, set()).add(start + k)
        start += operand.size
    return {name: next(iter(found)) for name, found in places.items() if len(found) == 1}
