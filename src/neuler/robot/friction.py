"""Friction laws: what a drive loses at a speed, and under a load; over any scalar, with their slopes.

Every law is a function f(v) of the speed, odd or nearly so, with s(v) = sign(v), sign(0) = 0; with a ``width`` w > 0 it
is smooth, s(v) = tanh(v / w): 0.76 of a jump at the speed w, 0.995 at 3 w. A load-dependent law adds mu s(v) |t|
for what the drive has to give besides, its load t.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from neuler.errors import RobotError
from neuler.naming import listed
from neuler.robot.numbers import finite
from neuler.trace.graph import Node, Scalar, one_if_positive, sign, sqrt
from neuler.trace.scalars import absolute, exp, power, tanh


@dataclass(frozen=True)
class Friction:
    """A friction law: ``Coulomb``, ``Stribeck`` or ``LoadDependent``, the ``friction`` of a joint."""

    parameters: ClassVar[tuple[str, ...]] = ()
    """Its numbers that may be inputs of a kernel, ``JOINT.friction.coulomb``."""
    nonlinear: ClassVar[tuple[str, ...]] = ()
    """Those of them in which it is not linear."""
    loaded: ClassVar[bool] = False
    """Whether it depends on the load."""
    width = 0.0
    """Of a smooth law (rad/s or m/s)."""

    def __post_init__(self) -> None:
        owner = f"{type(self).__name__} friction"
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                object.__setattr__(self, field.name, finite(owner, field.name, value))
        for name in ("width", "load_width"):
            if getattr(self, name, 0.0) < 0.0:
                raise RobotError(f"{owner}: {name} must not be negative, got {getattr(self, name)}; 0 is a jump")

    def force(self, v: Scalar) -> Scalar:
        """f(v), N m or N: what it takes to move at the speed v without a load."""
        raise NotImplementedError

    def slope(self, v: Scalar) -> Scalar:
        """df/dv; where f jumps, that beside the jump."""
        raise NotImplementedError

    def held(self, tau: Scalar = 0.0, speed: Scalar = 0.0) -> tuple[Scalar, Scalar]:
        """The most that dry friction takes of the drive's force tau, forward and in reverse; nothing of a smooth law.

        At rest, or where it moves at a ``speed``.

        >>> Stribeck(coulomb=1.0, static=1.5, speed=0.1).held()
        (1.5, 1.5)
        >>> LoadDependent(load=0.25).held(tau=10.0)  # a load of 8 needs 10, one of 13.3 is held by 10
        (2.0, 3.333333333333334)
        """
        return (0.0, 0.0) if self.width else self._held(tau, speed)

    def _held(self, tau: Scalar, speed: Scalar) -> tuple[Scalar, Scalar]:
        raise NotImplementedError

    def filled(self, values: Mapping[str, Scalar]) -> Self:
        """The law with scalars in the place of some of its numbers."""
        found = copy.copy(self)
        for name, value in values.items():
            object.__setattr__(found, name, value)
        return found

    @property
    def data(self) -> dict[str, object]:
        """Its name and its numbers, for files.

        >>> Coulomb(0.5).data
        {'law': 'coulomb', 'coulomb': 0.5, 'viscous': 0.0, 'coulomb_reverse': None, 'width': 0.0}
        """
        name = next(name for name, kind in LAWS.items() if kind is type(self))
        return {"law": name, **dataclasses.asdict(self)}

    def smooth(self, width: float, load_width: float = 0.0) -> Self:
        """The same law without its jump at rest, as optimisers need it: ``width`` in rad/s or m/s.

        ``load_width`` (N m or N) is for laws that depend on the load, which have a corner at none.

        >>> round(Coulomb(2.0).smooth(0.01).force(0.005), 3), Coulomb(2.0).force(0.005)
        (0.924, 2.0)
        """
        more = {"load_width": load_width} if self.loaded else {}
        return dataclasses.replace(self, width=width, **more)  # type: ignore[call-arg]


def _direction(v: Scalar, width: float) -> Scalar:
    """The direction s(v) of a speed: sign(v), or smooth, tanh(v / width)."""
    return tanh(v * (1.0 / width)) if width else sign(v)


def _direction_slope(v: Scalar, width: float) -> Scalar:
    """ds/dv; zero of a sign."""
    if not width:
        return 0.0
    s = _direction(v, width)
    return (1.0 - s * s) * (1.0 / width)


def both_ways(loss: Scalar, forward: Scalar, reverse: Scalar, s: Scalar) -> Scalar:
    """A loss, with ``forward`` where s = 1, and -``reverse`` where s = -1."""
    return loss + 0.5 * (forward + reverse) * s + 0.5 * (forward - reverse) * (s * s)


@dataclass(frozen=True)
class Coulomb(Friction):
    """Coulomb and viscous friction, Khalil (31): f = Fc s(v) + Fv v.

    ``coulomb`` Fc (N m or N), ``coulomb_reverse`` for negative speed where it differs, ``viscous`` Fv (N m s/rad or
    N s/m), ``width`` (rad/s or m/s) of a smooth law.

    >>> Coulomb(0.5, viscous=0.1).force(-2.0)
    -0.7
    """

    coulomb: float
    viscous: float = 0.0
    coulomb_reverse: float | None = None
    width: float = 0.0

    parameters = ("coulomb", "coulomb_reverse", "viscous")

    @property
    def _reverse(self) -> Scalar:
        return self.coulomb if self.coulomb_reverse is None else self.coulomb_reverse

    def _held(self, tau: Scalar, speed: Scalar) -> tuple[Scalar, Scalar]:
        return self.coulomb, self._reverse

    def force(self, v: Scalar) -> Scalar:
        """Fc s(v) + Fv v."""
        return both_ways(self.viscous * v, self.coulomb, self._reverse, _direction(v, self.width))

    def slope(self, v: Scalar) -> Scalar:
        """The derivative of the force to the speed, Fc s'(v) + Fv."""
        forward, reverse, s = self.coulomb, self._reverse, _direction(v, self.width)
        return (0.5 * (forward + reverse) + (forward - reverse) * s) * _direction_slope(v, self.width) + self.viscous


@dataclass(frozen=True)
class Stribeck(Friction):
    """Friction that falls from a static to a kinetic level: f = (Fc + (Fs - Fc) exp(-|v / vs|^n)) s(v) + Fv v.

    ``coulomb`` Fc and ``static`` Fs (N m or N), ``speed`` vs (rad/s or m/s) at which about a third of the difference
    is left, ``exponent`` n, 1 or more, ``viscous`` Fv, ``width`` of a smooth law: well below vs, or the static level is
    never reached.

    >>> law = Stribeck(coulomb=1.0, static=1.5, speed=0.1)
    >>> round(law.force(0.001), 3), round(law.force(0.5), 3)
    (1.5, 1.0)
    """

    coulomb: float
    static: float
    speed: float
    exponent: float = 2.0
    viscous: float = 0.0
    width: float = 0.0

    parameters = ("coulomb", "static", "speed", "viscous")
    nonlinear = ("speed",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.speed <= 0.0:
            raise RobotError(f"Stribeck friction: speed must be greater than zero, got {self.speed}")
        if self.exponent < 1.0:
            raise RobotError(
                f"Stribeck friction: exponent must be 1 or more, got {self.exponent}; below it the slope at rest is "
                "infinite"
            )

    def _held(self, tau: Scalar, speed: Scalar) -> tuple[Scalar, Scalar]:
        level = self.static if not isinstance(speed, Node) and speed == 0.0 else self.coulomb + self._excess(speed)
        return level, level

    def _excess(self, v: Scalar) -> Scalar:
        """(Fs - Fc) exp(-|v / vs|^n)."""
        return (self.static - self.coulomb) * exp(-power(self._relative(v), self.exponent))

    def _relative(self, v: Scalar) -> Scalar:
        """|v / vs|; of an even power its sign does not matter."""
        return v / self.speed if self.exponent % 2.0 == 0.0 else absolute(v / self.speed)

    def force(self, v: Scalar) -> Scalar:
        """(Fc + (Fs - Fc) exp(-|v / vs|^n)) s(v) + Fv v."""
        return (self.coulomb + self._excess(v)) * _direction(v, self.width) + self.viscous * v

    def slope(self, v: Scalar) -> Scalar:
        """The derivative of the force to the speed."""
        n, s = self.exponent, _direction(v, self.width)
        side = 1.0 if n % 2.0 == 0.0 else sign(v)
        falling = -n / self.speed * power(self._relative(v), n - 1.0) * side * self._excess(v)
        return falling * s + (self.coulomb + self._excess(v)) * _direction_slope(v, self.width) + self.viscous


@dataclass(frozen=True)
class LoadDependent(Friction):
    """Friction that grows with the load of the drive, as in gears: tau = t + (Fc + mu |t|) s(v) + Fv v.

    t is what the drive has to give besides this law: all of inertia, gravity, springs, other friction and what is
    applied from outside. ``load`` is mu, less than one: 1 / (1 + mu) is the efficiency of a gear that drives, 1 - mu
    that of one that is driven. ``coulomb`` Fc (N m or N), ``viscous`` Fv, ``width`` (rad/s or m/s) of a smooth law;
    ``load_width`` (N m or N) w makes it smooth in the load, too: sqrt(t^2 + w^2) in the place of \\|t\\|.

    >>> law = LoadDependent(load=0.2, coulomb=1.0)
    >>> law.needed(10.0, 0.5), law.delivered(13.0, 0.5)
    (13.0, 10.0)
    """

    load: float
    coulomb: float = 0.0
    viscous: float = 0.0
    width: float = 0.0
    load_width: float = 0.0

    parameters = ("load", "coulomb", "viscous")
    nonlinear = ("load",)
    loaded = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(self.load) >= 1.0:
            raise RobotError(
                f"LoadDependent friction: load must be less than 1, got {self.load}: such a gear locks itself, and its "
                "torque does not decide its motion"
            )

    def force(self, v: Scalar) -> Scalar:
        """Fc s(v) + Fv v."""
        return self.coulomb * _direction(v, self.width) + self.viscous * v

    def slope(self, v: Scalar) -> Scalar:
        """The derivative of the force to the speed."""
        return self.coulomb * _direction_slope(v, self.width) + self.viscous

    def _held(self, tau: Scalar, speed: Scalar) -> tuple[Scalar, Scalar]:
        forward, reverse = (tau - self._left(tau - side * self.coulomb, side * self.load) for side in (1.0, -1.0))
        return forward, -reverse

    def needed(self, load: Scalar, v: Scalar) -> Scalar:
        """The tau that gives the load t at the speed v: t + f(v) + g |t|, g = mu s(v)."""
        return load + self.force(v) + self._grip(v) * self._size(load)

    def delivered(self, tau: Scalar, v: Scalar) -> Scalar:
        """The load t that tau gives: with r = tau - f(v), r / (1 + g sign(r)).

        Smooth in the load, (r - g sqrt(r^2 + (1 - g^2) w^2)) / (1 - g^2). NaN where mu is a parameter and not less
        than one.
        """
        return self._left(tau - self.force(v), self._grip(v))

    def _left(self, rest: Scalar, g: Scalar) -> Scalar:
        """The load t with t + g |t| = rest."""
        valid = one_if_positive(1.0 - g * g) if isinstance(self.load, Node) else 1.0
        if not self.load_width:
            return rest / (1.0 + g * sign(rest)) * valid
        left = 1.0 - g * g
        return (rest - g * sqrt(rest * rest + left * self.load_width**2)) / left * valid

    def needed_slopes(self, load: Scalar, v: Scalar) -> tuple[Scalar, Scalar]:
        """Derivatives of ``needed`` to the load and to the speed; those of ``delivered`` follow from them."""
        size = self._size(load)
        pull = load / size if self.load_width else sign(load)
        return 1.0 + self._grip(v) * pull, self.slope(v) + self.load * _direction_slope(v, self.width) * size

    def _grip(self, v: Scalar) -> Scalar:
        """g: what of a load's size is lost."""
        return self.load * _direction(v, self.width)

    def _size(self, load: Scalar) -> Scalar:
        """The size of a load, |t|, or smooth about zero."""
        return sqrt(load * load + self.load_width**2) if self.load_width else absolute(load)


LAWS: dict[str, type[Friction]] = {"coulomb": Coulomb, "stribeck": Stribeck, "load_dependent": LoadDependent}
"""By name in files."""


def friction_law(data: object) -> Friction:
    """A law from its name and numbers, as ``Friction.data`` gives them.

    >>> friction_law({"law": "coulomb", "coulomb": 0.5})
    Coulomb(coulomb=0.5, viscous=0.0, coulomb_reverse=None, width=0.0)
    """
    if not isinstance(data, Mapping):
        raise RobotError(f"friction must be a law with its numbers, got {data!r}")
    name = data.get("law")
    if name not in LAWS:
        raise RobotError(f"friction: law must be one of {', '.join(LAWS)}, got {name!r}")
    fields = dataclasses.fields(LAWS[name])
    known = [field.name for field in fields]
    for key in data:
        if key != "law" and key not in known:
            raise RobotError(f"friction: law {name!r} has no {key!r}; it has {listed(str(key), known)}")
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in data:
            raise RobotError(f"friction: law {name!r} needs {field.name!r}")
    return LAWS[name](**{key: value for key, value in data.items() if key != "law"})


def check_law(owner: str, law: object) -> None:
    """One of the laws that there are, or None."""
    if law is not None and type(law) not in LAWS.values():
        kinds = ", ".join(kind.__name__ for kind in LAWS.values())
        raise RobotError(f"{owner}: friction must be a law, one of {kinds}, got {law!r}")


Part = TypeVar("Part")


def smoothed(given: Part, width: float, load_width: float) -> Part:
    """A joint or a motor with friction that has no jump: a smooth law in the place of its Coulomb friction."""
    part: Any = given
    jumps = part.coulomb or part.coulomb_reverse
    if part.friction is None and not jumps:
        return part
    if part.friction is not None and jumps:
        raise RobotError(
            f"{type(part).__name__.lower()} {part.name!r}: has Coulomb friction of its own and a law besides; "
            "put all of it in the law, which can be made smooth"
        )
    law = part.friction or Coulomb(part.coulomb, coulomb_reverse=part.coulomb_reverse)
    changes = {"coulomb": 0.0, "coulomb_reverse": None, "friction": law.smooth(width, load_width)}
    return dataclasses.replace(part, **changes)
