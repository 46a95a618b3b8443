"""Actuators of a MuJoCo model: which joints they drive, how strongly, and what they weigh on them."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.formats.mjcf_refused import Refusals


@dataclass
class Drive:
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
class Drives:
    """By joint, what drives it. A model without actuators is one of motors alone."""

    by_joint: Mapping[int, Drive]
    plain: bool
    others: tuple[str, ...]
    """Actuators whose force is more than a gear times a control."""

    def __getitem__(self, joint: int) -> Drive:
        return self.by_joint.get(joint) or Drive(driven=self.plain)


def read_drives(mujoco: Any, model: Any, refusals: Refusals) -> Drives:
    """What all actuators amount to; a force is limited where every actuator of its joint is."""
    transmission = mujoco.mjtTrn
    through_joint = (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT)
    found: dict[int, Drive] = defaultdict(lambda: Drive(driven=True, effort=0.0))
    others = []
    count = len(model.actuator_trntype)
    for k in range(count):
        name = model.actuator(k).name or f"actuator{k}"
        plain = _is_motor(mujoco, model, k)
        if not plain:
            others.append(repr(name))
        kind, gear = int(model.actuator_trntype[k]), float(model.actuator_gear[k][0])
        armature, damping = (_own(model, what, k) for what in ("armature", "damping"))
        if kind in through_joint:
            drive = found[int(model.actuator_trnid[k][0])]
            drive.gears.append(gear)
            drive.effort += abs(gear) * _most(model, k, plain)
            drive.armature += gear * gear * armature
            drive.damping += gear * gear * damping
        else:
            for joint in _behind(mujoco, model, k):
                found[joint].effort = np.inf
            for feature, value in (("armature", armature), ("damping", damping)):
                if value:
                    refusals.add(feature, f"actuator {name!r}: {feature} of an actuator that drives no joint directly")
        if np.any(getattr(model, "actuator_dampingpoly", np.zeros(count))[k]):
            refusals.add("polynomials", f"actuator {name!r}: damping that is not linear")
    for drive in found.values():
        if drive.effort <= 0.0:
            drive.effort = np.inf
    for joint in np.flatnonzero(model.jnt_actfrclimited).tolist():  # of joints without actuators, too
        most = float(np.abs(model.jnt_actfrcrange[joint]).max())
        drive = found.get(joint) or Drive(driven=not count)
        found[joint] = dataclasses.replace(drive, effort=min(drive.effort, most) if most else drive.effort)
    return Drives(dict(found), not count, tuple(others))


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


def _most(model: Any, k: int, plain: bool) -> float:
    """The largest force before the gear; infinite where nothing limits it."""
    if model.actuator_forcelimited[k]:
        return float(np.abs(model.actuator_forcerange[k]).max())
    if plain and model.actuator_ctrllimited[k]:
        return float(np.abs(model.actuator_ctrlrange[k]).max() * abs(model.actuator_gainprm[k][0]))
    return np.inf


def _behind(mujoco: Any, model: Any, k: int) -> Iterator[int]:
    """Joints that the actuator of a fixed tendon drives."""
    if int(model.actuator_trntype[k]) != mujoco.mjtTrn.mjTRN_TENDON:
        return
    tendon = int(model.actuator_trnid[k][0])
    first = int(model.tendon_adr[tendon])
    for place in range(first, first + int(model.tendon_num[tendon])):
        if int(model.wrap_type[place]) == mujoco.mjtWrap.mjWRAP_JOINT:
            yield int(model.wrap_objid[place])
