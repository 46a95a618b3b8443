"""Humans: the person, the skeleton, its joints, and what of it is published and what is chosen.

``neuler.robots.human(...)`` makes the usual skeleton; :func:`skeleton` that of any :class:`Person`.

>>> from neuler.robots.humans import Person, skeleton
>>> skeleton(Person.from_table({"shank": (0.42, 3.1)}, stature=1.72, mass=70.0)).nv
55
"""

from neuler.robots.humans.body import limbs
from neuler.robots.humans.joints import JOINTS, PARTNERS, WALKING_FIXED, JointRange, mirror, partner, strengths
from neuler.robots.humans.person import Person
from neuler.robots.humans.segments import Segment
from neuler.robots.humans.skeleton import BONES, human, skeleton

__all__ = [
    "BONES",
    "JOINTS",
    "PARTNERS",
    "WALKING_FIXED",
    "JointRange",
    "Person",
    "Segment",
    "human",
    "limbs",
    "mirror",
    "partner",
    "skeleton",
    "strengths",
]
