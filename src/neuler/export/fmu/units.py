"""Units as FMI declares them: a name, and the powers of the seven base units and the radian in it."""

from __future__ import annotations

import re

_BASE = {
    "kg": {"kg": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {"rad": 1},
    "N": {"kg": 1, "m": 1, "s": -2},
}
_FACTOR = re.compile(r"([A-Za-z]+)(?:\^(\d+))?")


def name(unit: str) -> str:
    """A unit as Modelica and FMI write it.

    >>> name("N m s/rad"), name("kg m^2"), name("m/s^2")
    ('N.m.s/rad', 'kg.m2', 'm/s2')
    """
    return unit.replace(" ", ".").replace("^", "")


def powers(unit: str) -> dict[str, int]:
    """The powers of base units in a unit such as "N m/rad"; what stands behind the stroke divides.

    >>> powers("N m/rad"), powers("m/s^2")
    ({'kg': 1, 'm': 2, 's': -2, 'rad': -1}, {'m': 1, 's': -2})
    """
    found: dict[str, int] = {}
    for text, sign in zip(unit.split("/"), (1, -1), strict=False):
        for symbol, power in _FACTOR.findall(text):
            for base, k in _BASE[symbol].items():
                found[base] = found.get(base, 0) + sign * k * int(power or 1)
    return {base: k for base, k in found.items() if k}
