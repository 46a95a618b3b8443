"""Actuators of a MuJoCo model: which joints they drive, how strongly, and what they weigh on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.formats.mjcf_refused import Refusals, few

Array = NDArray[np.float64]


@dataclass
class Actuation:
    """What the actuators of a joint amount to, on the joint's side."""

    driven: bool = False
    effort: float = np.inf
    gears: list[float] = field(default_factory=list)
    armature: float = 0.0
    damping: float = 0.0

    @property
    def gear(self) -> float:
        """Of the only actuator that it has."""
        return self.gears[0] if len(self.gears) == 1 and self.gears[0] else 1.0


@dataclass(frozen=True)
class Actuations:
    """By joint, what drives it. A model without actuators is one of motors alone."""

    by_joint: Mapping[int, Actuation]
    plain: bool
    notes: tuple[str, ...]
    """What the model says of actuators and has no effect here."""

    def __getitem__(self, joint: int) -> Actuation:
        return self.by_joint.get(joint) or Actuation(driven=self.plain)


_IDLE = "ignored: actuators that drive no joint directly"
_SHARED = "actuators of tendons taken as a motor at each joint"
_LAWS = "actuators taken as plain motors, their laws ignored"
_LOPSIDED = "effort limits that differ between directions or axes, the larger taken"
_SAME = 1e-9
"""Share of a limit by which limits may differ that are the same."""


def read_drives(mujoco: Any, model: Any, refusals: Refusals) -> Actuations:
    """What all actuators amount to; a force is limited where every actuator of its joint is."""
    transmission = mujoco.mjtTrn
    through_joint = (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT)
    found: dict[int, Actuation] = defaultdict(lambda: Actuation(driven=True))
    forces: dict[int, list[Array]] = defaultdict(list)  # by joint, the least and the largest of each actuator, by axis
    noted: dict[str, list[str]] = {_LAWS: [], _IDLE: [], _SHARED: [], _LOPSIDED: []}
    count = len(model.actuator_trntype)
    for k in range(count):
        name = model.actuator(k).name or f"actuator{k}"
        plain = _is_motor(mujoco, model, k)
        kind, gear = int(model.actuator_trntype[k]), float(model.actuator_gear[k][0])
        armature, damping = (_own(model, what, k) for what in ("armature", "damping"))
        behind = list(_behind(mujoco, model, k))
        if kind in through_joint:
            joint = int(model.actuator_trnid[k][0])
            if int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_FREE:
                noted[_IDLE].append(repr(name))
            drive = found[joint]
            drive.gears.append(gear)
            forces[joint].append(_forces(model, k, plain))
            drive.armature += gear * gear * armature  # MuJoCo takes the first gear, of balls, too
            drive.damping += gear * gear * damping
        else:
            for joint in behind:
                forces[joint].append(_forces(model, k, False))
                _ = found[joint]  # it is driven
            if not behind:
                noted[_IDLE].append(repr(name))
            elif len(behind) > 1:
                noted[_SHARED].append(repr(name))
            for feature, value in (("armature", armature), ("damping", damping)):
                if value:
                    refusals.add(feature, f"actuator {name!r}: {feature} of an actuator that drives no joint directly")
        if not plain and (kind in through_joint or behind):
            noted[_LAWS].append(repr(name))
        if np.any(getattr(model, "actuator_dampingpoly", np.zeros(count))[k]):
            refusals.add("polynomials", f"actuator {name!r}: damping that is not linear")
    for joint, drive in found.items():
        limits = np.abs(_sum(mujoco, model, joint, forces[joint]))
        drive.effort = float(limits.max()) or np.inf
        if limits.min() < (1.0 - _SAME) * limits.max():
            noted[_LOPSIDED].append(repr(model.joint(joint).name or f"joint{joint}"))
    for joint in np.flatnonzero(model.jnt_actfrclimited).tolist():
        if joint not in found:  # without an actuator
            found[joint] = Actuation(not count, float(np.abs(model.jnt_actfrcrange[joint]).max()) or np.inf)
    return Actuations(dict(found), not count, tuple(f"{what}: {few(names)}" for what, names in noted.items() if names))


def _sum(mujoco: Any, model: Any, joint: int, forces: list[Array]) -> Array:
    """The least and the largest force of a joint, in its coordinates; three times of a ball."""
    if int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_FREE:
        return np.full((2, 1), np.inf)
    axes = 3 if int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_BALL else 1
    total = np.sum([each[:, :axes] for each in forces], axis=0)
    if axes == 1 and model.jnt_actfrclimited[joint]:
        low, high = model.jnt_actfrcrange[joint]
        total = np.clip(total, low, high)
    return np.asarray(total)


def _is_motor(mujoco: Any, model: Any, k: int) -> bool:
    return (
        int(model.actuator_gaintype[k]) == mujoco.mjtGain.mjGAIN_FIXED
        and int(model.actuator_biastype[k]) == mujoco.mjtBias.mjBIAS_NONE
        and int(model.actuator_dyntype[k]) == mujoco.mjtDyn.mjDYN_NONE
    )


def _own(model: Any, what: str, k: int) -> float:
    """Armature and damping of actuators are younger than MuJoCo's other fields."""
    values = getattr(model, f"actuator_{what}", None)
    return 0.0 if values is None else float(values[k])


def _forces(model: Any, k: int, plain: bool) -> Array:
    """The least and the largest force behind the gear, by axis, (2, 6); infinite where nothing limits it."""
    low, high = -np.inf, np.inf
    if plain and model.actuator_ctrllimited[k]:
        ends = np.array(model.actuator_ctrlrange[k]) * float(model.actuator_gainprm[k][0])
        low, high = float(ends.min()), float(ends.max())
    if model.actuator_forcelimited[k]:
        first, last = (float(x) for x in model.actuator_forcerange[k])
        low, high = min(max(low, first), last), max(min(high, last), first)
    gear = np.array(model.actuator_gear[k])
    ends = np.array([[low], [high]]) * np.where(gear, gear, 1.0)
    return np.where(gear, np.sort(ends, axis=0), 0.0)


def _behind(mujoco: Any, model: Any, k: int) -> Iterator[int]:
    """Joints that the actuator of a fixed tendon drives."""
    if int(model.actuator_trntype[k]) != mujoco.mjtTrn.mjTRN_TENDON:
        return
    tendon = int(model.actuator_trnid[k][0])
    first = int(model.tendon_adr[tendon])
    for place in range(first, first + int(model.tendon_num[tendon])):
        if int(model.wrap_type[place]) == mujoco.mjtWrap.mjWRAP_JOINT:
            yield int(model.wrap_objid[place])
