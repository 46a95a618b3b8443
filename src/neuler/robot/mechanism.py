"""A robot with its motors as bodies: links, joints and couplings for what turns and what does not.

Of every motor a stator, fixed to the carrier, has what the motor at rest adds to it (Hua's unified body) less the
inertia I about the axis; a rotor with that I stands on a ``spin`` joint. It follows the joints it drives by the ratios
of the gear, or has a coordinate theta behind a spring.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuler.robot.coupling import Coupling
from neuler.robot.joint import Joint, Limits
from neuler.robot.link import Link
from neuler.robot.motor import Motor, seat, transmissions
from neuler.robot.transform import Transform

if TYPE_CHECKING:
    from neuler.robot.model import Robot


@dataclass(frozen=True)
class Shaft(Joint):
    """A joint inside a motor: of its rotor (``spin``) or its stator (``fixed``). Made for motors, never given."""

    motor: str = ""
    series: tuple[str, float, float] | None = None
    """The joint at the other end of the spring, its stiffness and damping."""

    @property
    def inner(self) -> bool:
        """Whether the joint is inside a motor: a shaft always is."""
        return True


@dataclass(frozen=True)
class Parts:
    """Links, joints and couplings of a robot with those of its motors; shafts stand last."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    couplings: tuple[Coupling, ...]


def parts(robot: Robot) -> Parts:
    """Motors as bodies: rotors on shafts, which follow their joints or have a coordinate theta; stators on carriers."""
    return _Assembler(robot).parts()


class _Assembler:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joints = {joint.name: joint for joint in robot.joints}
        self.ground = robot.links[0].name
        self.taken = {*robot.frame_names, *self.joints}
        self.links: list[Link] = []
        self.shafts: list[Shaft] = []
        self.couplings: list[Coupling] = []
        shared = [motor for group in transmissions(robot.motors) if len(group) > 1 for motor in group]
        self.shared = {motor.name for motor in shared} | {m.name for m in robot.motors if len(m.ratios) > 1}
        self.theta = {motor.joint: self._unused(f"{motor.joint}.motor") for motor in robot.motors if motor.elastic}
        """Of joints behind a spring, the name of the coordinate before it."""

    def parts(self) -> Parts:
        for motor in self.robot.motors:
            self._stator(motor)
            if motor.elastic:
                self._spring(motor)
            if motor.name in self.shared or not motor.elastic:
                self._follower(motor)
        order = list(self.joints)
        self.shafts.sort(key=lambda shaft: order.index(shaft.series[0]) if shaft.series else len(order))
        links = {link.name: link for link in self.links}
        return Parts(
            (*self.robot.links, *(links[shaft.child] for shaft in self.shafts)),
            (*self.joints.values(), *self.shafts),
            (*self.robot.couplings, *self.couplings),
        )

    def _carrier(self, motor: Motor) -> str:
        return motor.carrier or self.joints[motor.joint].parent

    def _stator(self, motor: Motor) -> None:
        """What the motor at rest adds to its carrier, less what the rotor will bring."""
        xx, yy, zz = (0.0, 0.0, 0.0) if motor.included else motor.moments
        left = (xx, yy, zz - motor.rotor * motor.coupled)
        mass = 0.0 if motor.included else motor.mass
        if mass or any(left):
            place = seat(motor, self.joints[motor.joint])
            link = Link.from_com(self._unused(f"{motor.name}.stator"), mass=mass, inertia=left)
            self._add(Shaft(link.name, "fixed", self._carrier(motor), link.name, place, motor=motor.name), link)

    def _spring(self, motor: Motor) -> None:
        """Theta of an elastic drive: with the rotor behind it, or a bare coordinate where rotors share their gears."""
        joint, name = self.joints[motor.joint], self.theta[motor.joint]
        if not self.robot.loops:  # its spring moves it; in loops its entry in tau hangs on the role
            self.joints[motor.joint] = dataclasses.replace(joint, role="passive")
        series = (motor.joint, motor.stiffness, motor.damping)
        limits = Limits(effort=joint.limits.effort)
        if motor.name in self.shared:
            link = Link(self._unused(f"{motor.name}.output"))
            self._add(Shaft(name, "spin", self.ground, link.name, motor=motor.name, series=series, limits=limits), link)
        else:
            self._rotor(motor, name, gear_ratio=motor.ratios[motor.joint], series=series, limits=limits)

    def _follower(self, motor: Motor) -> None:
        """A rotor that follows joints, or their theta; where its own joint alone feels it, a part of that."""
        ratios = motor.ratios
        if len(ratios) == 1 and motor.joint not in self.theta and not motor.coupled and motor.friction is None:
            joint = self.joints[motor.joint]
            shaft = Joint("shaft", "spin", joint.parent, joint.child, **_loss(motor))
            self.joints[motor.joint] = with_rotor(joint, shaft, motor.rotor, ratios[motor.joint])
            return
        name = self._unused(f"{motor.name}.shaft")
        self._rotor(motor, name)
        leaders = [self.theta.get(joint, joint) for joint in ratios]
        self.couplings.append(Coupling(name, leaders, list(ratios.values())))

    def _rotor(self, motor: Motor, name: str, **more: Any) -> None:
        """On its carrier; where the carrier is not to feel it, an inertia along the shaft alone."""
        more |= {"motor": motor.name, **_loss(motor)}
        link = Link(self._unused(f"{motor.name}.rotor"))
        if motor.coupled:
            link = dataclasses.replace(link, inertia=(0.0, 0.0, motor.rotor, 0.0, 0.0, 0.0))
            place = Transform(seat(motor, self.joints[motor.joint]).rotation)
            self._add(Shaft(name, "spin", self._carrier(motor), link.name, place, **more), link)
        else:
            felt = more.get("gear_ratio", 1.0) ** 2 * motor.rotor
            self._add(Shaft(name, "spin", self.ground, link.name, rotor_inertia=felt, **more), link)

    def _add(self, shaft: Shaft, link: Link) -> None:
        self.links.append(link)
        self.shafts.append(shaft)

    def _unused(self, name: str) -> str:
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name


def with_rotor(joint: Joint, shaft: Joint, inertia: float, n: float) -> Joint:
    """A joint with the inertia and friction of a rotor that turns n times as fast, as the joint feels them."""
    forward, reverse = shaft.coulomb_both if n > 0 else shaft.coulomb_both[::-1]
    own, back = joint.coulomb_both
    return dataclasses.replace(
        joint,
        rotor_inertia=joint.rotor_inertia + n * n * inertia,
        viscous=joint.viscous + n * n * shaft.viscous,
        coulomb=own + abs(n) * forward,
        coulomb_reverse=back + abs(n) * reverse,
    )


def _loss(motor: Motor) -> dict[str, Any]:
    return {name: getattr(motor, name) for name in ("viscous", "coulomb", "coulomb_reverse", "friction")}
