"""Published tables of the segments of the human body, and how a segment is divided where a joint lies within it.

De Leva gives a segment's mass, centre of mass and three radii of gyration, and neither a density nor a shape. Where
the skeleton has a joint inside a segment (spine, neck, toes) the mass is taken to be *normally distributed along the
segment's axis*, with the published centre and second moment, and is cut at the joint. Across the axis every part has
the second moments per mass of the whole. The parts recombine to the published mass, centre and inertia whatever the
place of the cut, and each of them is a body that can exist.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuler.robot.transform import Vec3

SEXES = ("female", "male")
SINGLE = ("head", "upper_trunk", "middle_trunk", "lower_trunk")
"""Segments that a body has once."""
PAIRED = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
"""Segments that it has on both sides."""
SEGMENTS = SINGLE + PAIRED

MEAN_STATURE = {"female": 1.735, "male": 1.741}
"""Of the subjects of de Leva's table (m): lengths scale with stature over it."""
DE_LEVA: dict[str, dict[str, tuple[float, float, float, float, float, float]]] = {
    "male": {
        "head": (0.0694, 0.5976, 0.362, 0.376, 0.312, 0.2033),
        "upper_trunk": (0.1596, 0.2999, 0.716, 0.454, 0.659, 0.1707),
        "middle_trunk": (0.1633, 0.4502, 0.482, 0.383, 0.468, 0.2155),
        "lower_trunk": (0.1117, 0.6115, 0.615, 0.551, 0.587, 0.1457),
        "upper_arm": (0.0271, 0.5772, 0.285, 0.269, 0.158, 0.2817),
        "forearm": (0.0162, 0.4574, 0.276, 0.265, 0.121, 0.2689),
        "hand": (0.0061, 0.7900, 0.628, 0.513, 0.401, 0.0862),
        "thigh": (0.1416, 0.4095, 0.329, 0.329, 0.149, 0.4222),
        "shank": (0.0433, 0.4395, 0.251, 0.246, 0.102, 0.4403),
        "foot": (0.0137, 0.4415, 0.257, 0.245, 0.124, 0.2581),
    },
    "female": {
        "head": (0.0668, 0.5894, 0.330, 0.359, 0.318, 0.2002),
        "upper_trunk": (0.1545, 0.2077, 0.746, 0.502, 0.718, 0.1425),
        "middle_trunk": (0.1465, 0.4512, 0.433, 0.354, 0.415, 0.2053),
        "lower_trunk": (0.1247, 0.4920, 0.433, 0.402, 0.444, 0.1815),
        "upper_arm": (0.0255, 0.5754, 0.278, 0.260, 0.148, 0.2751),
        "forearm": (0.0138, 0.4559, 0.261, 0.257, 0.094, 0.2643),
        "hand": (0.0056, 0.7474, 0.531, 0.454, 0.335, 0.0780),
        "thigh": (0.1478, 0.3612, 0.369, 0.364, 0.162, 0.3685),
        "shank": (0.0481, 0.4352, 0.267, 0.263, 0.092, 0.4386),
        "foot": (0.0129, 0.4014, 0.299, 0.279, 0.139, 0.2283),
    },
}
"""De Leva 1996, J. Biomech. 29, 1223-1230: mass as a share of the body's; centre of mass from the cranial or proximal
end (the heel) and radii of gyration about the sagittal, transverse and longitudinal axis as shares of the length;
length (m) at the mean stature. Ends: head vertex to mid-gonion; upper trunk suprasternale to xiphion, middle trunk to
omphalion, lower trunk to mid-hip; hand wrist to third metacarpal; shank to the centre of the ankle joint; foot heel to
toe tip. Shares of mass sum to 0.9999 for women and to 1.0000 for men; they are divided by their sum."""

DRILLIS_CONTINI = {"thigh": 0.245, "shank": 0.246, "foot": 0.152, "upper_arm": 0.186, "forearm": 0.146}
"""Lengths as shares of stature: Drillis and Contini, as tabulated by Winter. Their trunk is one piece, and their hand
reaches to the finger tips: head, trunk segments and hand stay de Leva's, whose centres of mass belong to them."""

DIMENSIONS = {
    "ankle_height": (0.039, "published"),
    "hip_to_shoulder": (0.288, "published"),
    "shoulder_half_width": (0.129, "published"),
    "hand_to_fingertips": (0.108, "published"),
    "hip_half_width": (0.05, "chosen"),
    "clavicle_half_width": (0.015, "chosen"),
    "foot_width": (0.055, "chosen"),
    "toe_joint_height": (0.012, "chosen"),
}
"""Other lengths as shares of stature. Published: Drillis and Contini, as tabulated by Winter. Chosen: the half distance
between hip joint centres (the published 0.0955 is half the *width* of the hips), that between the inner ends of the
clavicles, the width of the sole, and the height of the toe joint above it."""

LOWER_SPINE = 0.4
"""Chosen: share of the lower trunk, from the navel down, at which the lowest joint of the spine lies."""
MIDDLE_SPINE = 0.5
"""Chosen: share of the middle trunk, from the xiphion down, at which the third joint of the spine lies."""
ANKLE_ALONG_FOOT, BALL_ALONG_FOOT = 0.25, 0.72
"""Chosen: shares of the foot's length from the heel at which the ankle and the toe joint lie."""
FOOT_AXIS_HEIGHT = 0.5
"""Chosen: height of the foot's axis, on which its centre of mass lies, above the sole as a share of the ankle's."""


@dataclass(frozen=True)
class Segment:
    """A segment of a person, or a part of one, along its axis.

    >>> thigh = Segment.de_leva("thigh", "male", mass=10.0, length=0.4)
    >>> round(thigh.centre, 4), round(thigh.inertia[2], 6) == round(10 * (0.149 * 0.4) ** 2, 6)
    (0.1638, True)
    """

    mass: float
    """kg"""
    centre: float
    """Of mass: its distance from the segment's cranial or proximal end (m)."""
    variances: Vec3
    """Second moments about the centre per mass (m^2): along the sagittal, the transverse and the longitudinal axis."""

    @classmethod
    def de_leva(cls, name: str, sex: str, mass: float, length: float) -> Segment:
        """With the table's centre and radii of gyration, as shares of ``length`` (m)."""
        _, centre, *radii, _ = DE_LEVA[sex][name]
        a, b, c = ((radius * length) ** 2 for radius in radii)
        return cls(mass, centre * length, ((b + c - a) / 2, (a + c - b) / 2, (a + b - c) / 2))

    @property
    def inertia(self) -> Vec3:
        """About its centre of mass (kg m^2): about the sagittal, the transverse and the longitudinal axis."""
        a, b, c = self.variances
        return (self.mass * (b + c), self.mass * (a + c), self.mass * (a + b))

    def cut(self, *places: float) -> tuple[Segment, ...]:
        """Its parts between ``places``, increasing distances from the proximal end (m); they recombine to the whole.

        >>> low, high = Segment(2.0, 0.5, (0.1, 0.1, 0.2)).cut(0.5)
        >>> low.mass == high.mass == 1.0
        True
        """
        sigma = math.sqrt(self.variances[2])
        edges = [-math.inf, *((place - self.centre) / sigma for place in places), math.inf]
        return tuple(self._between(a, b, sigma) for a, b in itertools.pairwise(edges))

    def _between(self, a: float, b: float, sigma: float) -> Segment:
        """The part of a normal distribution from ``a`` to ``b`` standard deviations: its moments in closed form."""
        share = (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2
        ends = [0.0 if math.isinf(x) else math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (a, b)]
        mean = (ends[0] - ends[1]) / share
        weighted = [0.0 if math.isinf(x) else x * end for x, end in zip((a, b), ends, strict=True)]
        along = sigma**2 * (1 + (weighted[0] - weighted[1]) / share - mean**2)
        return Segment(self.mass * share, self.centre + sigma * mean, (*self.variances[:2], along))


def joined(parts: Sequence[Segment]) -> Segment:
    """Parts of one axis as one segment: what ``cut`` undoes.

    >>> whole = Segment(2.0, 0.5, (0.1, 0.1, 0.2))
    >>> again = joined(whole.cut(0.2, 0.7))
    >>> round(again.centre, 12), round(again.variances[2], 12)
    (0.5, 0.2)
    """
    mass = math.fsum(part.mass for part in parts)
    centre = math.fsum(part.mass * part.centre for part in parts) / mass
    fore, side = (math.fsum(part.mass * part.variances[k] for part in parts) / mass for k in (0, 1))
    along = math.fsum(part.mass * (part.variances[2] + (part.centre - centre) ** 2) for part in parts) / mass
    return Segment(mass, centre, (fore, side, along))
