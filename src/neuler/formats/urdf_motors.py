"""Transmissions of URDF files: gear ratios, and motors where a rotor's inertia is given.

A file says how fast a rotor turns, and at most its inertia about its axis: ``<motorInertia>`` in an ``<actuator>``, or
Drake's ``<drake:rotor_inertia value="...">`` (kg m^2, on the motor's side). It says neither where a rotor sits nor how
its axis points: the motors made of it are felt along their joints alone (``coupled=False``), as the extensions mean it,
and are contained in the links' data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from neuler.formats.xml import Element
from neuler.robot import Joint, Motor

Note = Callable[[str, list[str]], None]
"""What was found, and the names it was found of."""
Matrix = tuple[tuple[float, float], tuple[float, float]]

_RATIO, _INERTIA = "mechanicalReduction", "motorInertia"
_DRAKE = {_RATIO: "drake:gear_ratio", _INERTIA: "drake:rotor_inertia"}
_FELT = "motors of transmissions, felt along their joints alone: the file does not say where they sit"


def differential(a: Sequence[float], j: Sequence[float]) -> Matrix:
    """Turns of two rotors by two joints, of reductions a of actuators and j of joints, as ros_control has them.

    >>> differential((2.0, 3.0), (5.0, 7.0))
    ((10.0, 14.0), (15.0, -21.0))
    """
    return (a[0] * j[0], a[0] * j[1]), (a[1] * j[0], -a[1] * j[1])


def four_bar_linkage(a: Sequence[float], j: Sequence[float]) -> Matrix:
    """The same of a second joint whose motor sits before the first one, by ros_control's velocities.

    >>> four_bar_linkage((2.0, 3.0), (5.0, 7.0))
    ((10.0, 0.0), (3.0, 21.0))
    """
    return (a[0] * j[0], 0.0), (a[1], a[1] * j[1])


SIMPLE, DIFFERENTIAL, FOUR_BAR = "SimpleTransmission", "DifferentialTransmission", "FourBarLinkageTransmission"
_COUPLED = {DIFFERENTIAL: differential, FOUR_BAR: four_bar_linkage}


class Transmissions:
    """What the transmissions of a file say about its joints."""

    def __init__(self, joints: Sequence[Joint], followers: Sequence[str]) -> None:
        self.joints = {joint.name: joint for joint in joints}
        self.followers = followers
        self.ratios: dict[str, float] = {}
        self.motors: list[Motor] = []
        self.found: dict[str, list[str]] = {}

    def read(self, elements: Sequence[Element], note: Note) -> tuple[list[Joint], list[Motor]]:
        """The joints with gear ratios, and the motors; all that has no effect is noted by name."""
        for element in elements:
            self._one(element)
        if self.motors:
            self.found.setdefault(_FELT, []).extend(motor.name for motor in self.motors)
        driven = {name for motor in self.motors for name in motor.ratios}
        for joint, ratio in self.ratios.items():
            if abs(ratio) != 1.0 and joint not in driven and not self.joints[joint].rotor_inertia:
                self._note("gear ratios without a rotor's inertia, which have no effect", joint)
        for what, names in self.found.items():
            note(what, names)
        geared = [
            dataclasses.replace(joint, gear_ratio=self.ratios.get(joint.name, 1.0)) for joint in self.joints.values()
        ]
        return geared, self.motors

    def _note(self, what: str, name: str) -> None:
        self.found.setdefault(what, []).append(name)

    def _one(self, element: Element) -> None:
        name = element.attributes.get("name", "").strip()
        owner = f"transmission {name!r}"
        declared = element.one("type", owner)
        kind = (declared.text if declared else element.attributes.get("type", "")).strip() or "without a type"
        short = kind.rpartition("/")[2]
        joints = [joint.attributes.get("name", "").strip() for joint in element.all("joint")]
        if short == SIMPLE and len(joints) != 1:
            self._note("simple transmissions that do not have one joint, ignored", name)
        elif short != SIMPLE and (short not in _COUPLED or not _has_inertia(element)):
            missing = " without a rotor's inertia" if short in _COUPLED else ""
            self._note(f"transmissions of type {kind!r}{missing} ignored", name)
        elif any(joint not in self.joints for joint in joints):
            self._note("transmissions of joints that do not exist, ignored", name)
        elif short == SIMPLE:
            self._simple(element, owner, name, joints[0])
        elif any(not self.joints[joint].type.has_axis or joint in self.followers for joint in joints):
            self._note("transmissions of joints that turn or slide about no axis of their own, ignored", name)
        else:
            self._coupled(element, owner, name, _COUPLED[short])

    # ---- one joint ------------------------------------------------------------------------------

    def _simple(self, element: Element, owner: str, name: str, joint: str) -> None:
        actuators = element.all("actuator")
        places = [element, *actuators]
        ratio, inertia = _ratio(element, places, owner), _inertia(element, places, owner)
        if not self.joints[joint].moves:
            if inertia:
                self._note("motors of joints that do not move, ignored", name)
            return
        if ratio is not None and self.ratios.setdefault(joint, ratio) != ratio and not inertia:
            self._note("second transmissions of a joint, ignored", name)
        if not inertia:
            return
        if not self.joints[joint].type.has_axis:
            self._note("motors of joints without an axis, ignored", name)
        elif len(actuators) > 1:
            raise element.error(f"{owner}: a simple transmission with a rotor's inertia has one actuator, this one has "
                                f"{len(actuators)}; write a transmission for each")  # fmt: skip
        elif joint in self.followers:
            self.joints[joint] = dataclasses.replace(
                self.joints[joint],
                rotor_inertia=self.joints[joint].rotor_inertia + (ratio or 1.0) ** 2 * inertia,
            )
            self._note("motors of joints that mimic others, taken as the joint's rotor inertia", name)
        else:
            self._add(actuators[0] if actuators else element, joint, {joint: ratio or 1.0}, inertia)

    def _add(self, actuator: Element, joint: str, ratios: dict[str, float], inertia: float) -> None:
        name = actuator.attributes.get("name", "").strip() or f"{joint}_motor"
        if name in {motor.name for motor in self.motors}:
            raise actuator.error(f"actuator {name!r} drives twice; a motor has one transmission: rename one of them")
        self.motors.append(Motor(name, joint, ratios, inertia=inertia, included=True, coupled=False))

    # ---- two joints -----------------------------------------------------------------------------

    def _coupled(
        self, element: Element, owner: str, name: str, law: Callable[[Sequence[float], Sequence[float]], Matrix]
    ) -> None:
        actuators, joints = (_by_role(element, tag, owner) for tag in ("actuator", "joint"))
        reductions = []
        for actuator in actuators:
            found = _ratio(actuator, [actuator], owner)
            if found is None:
                told = actuator.attributes.get("name", "")
                raise actuator.error(f"{owner}: actuator {told!r} has no <{_RATIO}>; add it, in motor turns a turn")
            reductions.append(found)
        behind = [found if (found := _ratio(joint, [joint], owner)) is not None else 1.0 for joint in joints]
        names = [joint.attribute("name", owner) for joint in joints]
        if names[0] == names[1]:
            raise element.error(f"{owner}: both of its joints are {names[0]!r}; it joins two")
        for k, row in enumerate(law(reductions, behind)):
            inertia = _inertia(actuators[k], [actuators[k]], owner)
            if not inertia:
                self._note("motors without a rotor's inertia in transmissions with others, taken as zero", name)
            ratios = {joint: ratio for joint, ratio in zip(names, row, strict=True) if ratio}
            self._add(actuators[k], names[k], ratios, inertia or 0.0)
        if any(float(offset.content_number(owner)) for joint in joints for offset in joint.all("offset")):
            self._note("offsets of transmissions, which change no rotor's speed, ignored", name)


def _by_role(element: Element, tag: str, owner: str) -> list[Element]:
    """Two children in the order of their roles: actuator1, actuator2; joint1, joint2."""
    children, roles = element.all(tag), (f"{tag}1", f"{tag}2")
    if len(children) != 2:
        raise element.error(f"{owner}: needs two <{tag}> with a rotor's inertia, got {len(children)}")
    found = {}
    for child in children:
        role = child.need("role", owner).text.strip()
        if role not in roles or role in found:
            told = "is there twice" if role in found else f"is none of {', '.join(roles)}"
            raise child.error(f"{owner}: the role {role!r} of a <{tag}> {told}")
        found[role] = child
    return [found[role] for role in roles]


def _has_inertia(element: Element) -> bool:
    tags = (_INERTIA, _DRAKE[_INERTIA])
    return any(place.all(tag) for place in (element, *element.all("actuator")) for tag in tags)


def _ratio(element: Element, places: Sequence[Element], owner: str) -> float | None:
    """Motor turns per joint turn. Drake's goes before a plain 1, which ros_control asks for where effort is told."""
    plain = _numbers(places, _RATIO, owner)
    found = {value for value in plain if value != 1.0} | _drake(places, _RATIO, owner) or plain
    if len(found) > 1:
        raise element.error(f"{owner}: has {len(found)} different values of <{_RATIO}>; keep one")
    if 0.0 in found:
        raise element.error(f"{owner}: <{_RATIO}> must not be zero; it is motor turns per joint turn")
    return found.pop() if found else None


def _inertia(element: Element, places: Sequence[Element], owner: str) -> float | None:
    """Of the rotor about its axis, on its side of the gear."""
    found = _numbers(places, _INERTIA, owner) | _drake(places, _INERTIA, owner)
    if len(found) > 1:
        raise element.error(f"{owner}: has {len(found)} different values of a rotor's inertia; keep one")
    value = found.pop() if found else None
    if value is not None and value < 0.0:
        raise element.error(f"{owner}: a rotor's inertia must not be negative, got {value}")
    return value


def _numbers(places: Sequence[Element], tag: str, owner: str) -> set[float]:
    return {each.content_number(owner) for place in places for each in place.all(tag)}


def _drake(places: Sequence[Element], tag: str, owner: str) -> set[float]:
    return {each.number("value", owner) for place in places for each in place.all(_DRAKE[tag])}
