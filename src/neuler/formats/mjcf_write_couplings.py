"""Couplings of robots as equality constraints of an MJCF file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree import ElementTree as ET

from neuler.errors import FormatError
from neuler.formats.mjcf_write_bodies import numbers
from neuler.robot import Coupling
from neuler.robot.coupling import Polynomial

HIGHEST = 4
"""Degree of the polynomials that MuJoCo's couplings have."""


def written(couplings: Iterable[Coupling], name_of: Callable[[str], str]) -> tuple[list[ET.Element], list[ET.Element]]:
    """Fixed tendons, and the equality constraints; ``name_of`` gives each a name that no other has.

    A joint that follows another is MuJoCo's ``<joint>``. One that follows several is the last of a fixed tendon whose
    length, q - sum of ratio times q_of, is held at the offset.
    """
    tendons, found = [], []
    for coupling in couplings:
        name = name_of(coupling.joint)
        if len(coupling.of) == 1:
            names = {"joint1": coupling.joint, "joint2": coupling.of[0]}
            found.append(ET.Element("joint", {"name": name, **names, "polycoef": numbers(_polynomial(coupling))}))
            continue
        tendon = ET.Element("fixed", {"name": name})
        shares = zip((*coupling.of, coupling.joint), (*(-x for x in coupling.ratio), 1.0), strict=True)
        for joint, share in shares:
            ET.SubElement(tendon, "joint", {"joint": joint, "coef": numbers([share])})
        tendons.append(tendon)
        offset = numbers([coupling.offset, 0.0, 0.0, 0.0, 0.0])
        found.append(ET.Element("tendon", {"name": name, "tendon1": name, "polycoef": offset}))
    return tendons, found


def _polynomial(coupling: Coupling) -> list[float]:
    """Coefficients of q = c0 + c1 q_of + ... + c4 q_of^4."""
    owner = f"coupling of joint {coupling.joint!r}"
    (ratio,), law = coupling.ratio, coupling.function
    if law is None:
        law = Polynomial((0.0, 1.0))
    if not isinstance(law, Polynomial) or any(law.coefficients[HIGHEST + 1 :]):
        what = "a spline" if not isinstance(law, Polynomial) else f"of degree {len(law.coefficients) - 1}"
        raise FormatError(
            f"{owner}: an MJCF file has polynomials up to degree {HIGHEST}, and this one is {what}; fit one to it, or "
            "save the robot as .par"
        )
    found = [ratio * c for c in law.coefficients[: HIGHEST + 1]] + [0.0] * (HIGHEST + 1 - len(law.coefficients))
    return [found[0] + coupling.offset, *found[1:]]
