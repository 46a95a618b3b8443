"""From a person to a robot: the skeleton of Barman 5.1 with 55 degrees of freedom."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from neuler.errors import RobotError
from neuler.inputs import choice, told
from neuler.robot import Frame, Joint, Limits, Link, Robot, Transform
from neuler.robot.transform import Vec3
from neuler.robots.humans.joints import (
    FORWARD,
    JOINTS,
    LEFT,
    LEFTWARD,
    PELVIS,
    REFERENCE_MASS,
    REFERENCE_STATURE,
    RIGHT,
    ROOT,
    UPWARD,
    limits,
)
from neuler.robots.humans.person import Person
from neuler.robots.humans.segments import (
    ANKLE_ALONG_FOOT,
    BALL_ALONG_FOOT,
    FOOT_AXIS_HEIGHT,
    LOWER_SPINE,
    MIDDLE_SPINE,
    Segment,
)

BASES = ("joints", "free")

_TRUNK_BONES = ("pelvis", "spine1", "spine2", "spine3", "spine4", "neck", "head", "head_top")
_LIMB_BONES = (
    ("spine4", "clavicle", "upper_arm", "forearm", "hand", "knuckles", "fingertip"),
    ("pelvis", "thigh", "shank", "foot", "toes", "tip"),
    ("foot", "heel", "ball", "toes"),
)


def _bones() -> tuple[tuple[str, str], ...]:
    found = list(itertools.pairwise(_TRUNK_BONES))
    for side, way in itertools.product((RIGHT, LEFT), _LIMB_BONES):
        names = [name if name in _TRUNK_BONES else side + name for name in way]
        found += itertools.pairwise(names)
    return tuple(dict.fromkeys(found))


BONES: tuple[tuple[str, str], ...] = _bones()
"""Pairs of links or frames between whose origins a stick figure has lines."""


def human(
    stature: float = 1.75,
    mass: float = 75.0,
    sex: str = "male",
    *,
    lengths: str = "de-leva",
    measured_lengths: Mapping[str, float] | None = None,
    measured_masses: Mapping[str, float] | None = None,
    base: str = "joints",
) -> Robot:
    """A human skeleton of 55 degrees of freedom (Barman 5.1) with the segments of de Leva's table.

    ``stature`` (m), ``mass`` (kg), ``sex`` ("male" or "female"); ``lengths`` ("de-leva" or "drillis-contini"),
    ``measured_lengths`` (m) and ``measured_masses`` (kg) as of :class:`neuler.robots.humans.Person`. The six degrees of
    freedom of the pelvis are three passive slides and three passive revolute joints, or with ``base="free"`` one
    free joint.

    x points forwards, y to the left, z up. At zero the person stands upright on the plane z = 0, the arms hanging, the
    palms facing the thighs. Positive angles flex, abduct and turn inwards on both sides, so that both legs of a
    symmetric posture have equal angles. Spine and pelvis turn about x (lean to the right), y (forwards) and z (to the
    left). ``docs/human.md`` has every joint, its range and its strength, and says what is published and what is chosen.

    >>> robot = human(stature=1.68, mass=62.0, sex="female")
    >>> robot.nq, round(robot.mass, 9)
    (55, 62.0)
    >>> from neuler.robots.humans import WALKING_FIXED
    >>> robot.with_fixed(dict.fromkeys(WALKING_FIXED, 0.0)).nq
    38
    """
    person = Person(stature, mass, sex, lengths, measured_lengths or {}, measured_masses or {})
    return skeleton(person, base=base)


def skeleton(person: Person, *, base: str = "joints") -> Robot:
    """The skeleton of a person; ``base`` as of :func:`human`.

    >>> skeleton(Person(1.6, 55.0, "female")).joint_names[:3]
    ('pelvis_x', 'pelvis_y', 'pelvis_z')
    """
    if not isinstance(person, Person):
        raise RobotError(f"skeleton: a Person is needed, got {told(person)}; neuler.robots.humans.Person makes one")
    choice("human: base", base, BASES, error=RobotError)
    built = _Skeleton(person)
    built.pelvis(base)
    built.trunk()
    for side in (RIGHT, LEFT):
        built.arm(side)
    for side in (RIGHT, LEFT):
        built.leg(side)
    return Robot("human", built.links, built.joints, frames=built.frames)


class _Skeleton:
    """Links, joints and frames of a person, from the pelvis outwards."""

    def __init__(self, person: Person) -> None:
        self.person, self.lengths = person, person.lengths
        self.scale = person.mass * person.stature / (REFERENCE_MASS * REFERENCE_STATURE)
        self.links = [Link("world")]
        self.joints: list[Joint] = []
        self.frames: list[Frame] = []
        lower, middle, upper = (self.lengths[f"{part}_trunk"] for part in ("lower", "middle", "upper"))
        self.spine = (
            (1 - LOWER_SPINE) * lower, lower, lower + (1 - MIDDLE_SPINE) * middle, lower + middle,
        )  # fmt: skip
        """Heights of the spine's joints above the hip joints (m)."""
        self.suprasternale = lower + middle + upper

    # ---- parts of the body -------------------------------------------------------------------------

    def pelvis(self, base: str) -> None:
        """The joints of the whole body, and the part of the lower trunk below the spine's lowest joint."""
        place = Transform(translation=(0.0, 0.0, self.person.hip_height))
        _, below = self._lower_trunk()
        body = _upright("pelvis", below, self.spine[1])
        if base == "free":
            self.joints.append(Joint(ROOT, "free", "world", "pelvis", place))
            self.links.append(body)
            return
        axes = (FORWARD, LEFTWARD, UPWARD, UPWARD, LEFTWARD, FORWARD)
        parts = ["world", *(f"pelvis_after_{name.removeprefix('pelvis_')}" for name in PELVIS[:-1]), "pelvis"]
        for k, (name, axis) in enumerate(zip(PELVIS, axes, strict=True)):
            kind, at = "prismatic" if k < 3 else "revolute", place if k == 0 else Transform()
            self.joints.append(Joint(name, kind, parts[k], parts[k + 1], at, axis, role="passive"))
        self.links += [*map(Link, parts[1:-1]), body]

    def trunk(self) -> None:
        """Four links of the spine, neck and head."""
        lower, _ = self._lower_trunk()
        middle = self.person.segment("middle_trunk").cut(MIDDLE_SPINE * self.lengths["middle_trunk"])
        xiphion = self.spine[3]
        bodies = (
            (lower, self.spine[1]), (middle[1], xiphion), (middle[0], xiphion),
            (self.person.segment("upper_trunk"), self.suprasternale),
        )  # fmt: skip
        parent, below = "pelvis", 0.0
        for k, (height, (part, top)) in enumerate(zip(self.spine, bodies, strict=True), start=1):
            turns = [f"spine{k}_{turn}" for turn in ("flexion", "lateral", "rotation")]
            self._chain(turns, parent, (0.0, 0.0, height - below), _upright(f"spine{k}", part, top - height))
            parent, below = f"spine{k}", height
        # The neck reaches from the suprasternale to the mid-gonion; de Leva's head contains its mass.
        neck, length = self.person.neck_length, self.lengths["head"]
        skull, throat = self.person.segment("head").cut(length)
        lower_neck = ["neck_flexion", "neck_lateral", "neck_rotation"]
        up = (0.0, 0.0, self.suprasternale - below)
        self._chain(lower_neck, "spine4", up, _upright("neck", throat, neck + length))
        self._chain(["head_flexion", "head_rotation"], "neck", (0.0, 0.0, neck), _upright("head", skull, length))
        self._frame("head_top", "head", (0.0, 0.0, length))

    def arm(self, side: str) -> None:
        """Clavicle, upper arm, forearm and hand."""
        across = 1.0 if side == LEFT else -1.0
        get, sternum = self.lengths, self.lengths["clavicle_half_width"]
        from_spine4 = (0.0, across * sternum, self.suprasternale - self.spine[3])
        shoulder = (0.0, across * (get["shoulder_half_width"] - sternum), get["hip_to_shoulder"] - self.suprasternale)
        names = [f"{side}{name}" for name in ("clavicle", "upper_arm", "forearm", "hand")]
        turns = [f"{side}clavicle_{turn}" for turn in ("protraction", "elevation")]
        self._chain(turns, "spine4", from_spine4, Link(names[0]))
        turns = [f"{side}shoulder_{turn}" for turn in ("flexion", "abduction", "rotation")]
        self._chain(turns, names[0], shoulder, _upright(names[1], self.person.segment("upper_arm")))
        turns = [f"{side}elbow_{turn}" for turn in ("flexion", "pronation")]
        elbow, wrist = (0.0, 0.0, -get["upper_arm"]), (0.0, 0.0, -get["forearm"])
        self._chain(turns, names[1], elbow, _palm_inwards(names[2], self.person.segment("forearm")))
        turns = [f"{side}wrist_{turn}" for turn in ("flexion", "deviation")]
        self._chain(turns, names[2], wrist, _palm_inwards(names[3], self.person.segment("hand")))
        self._frame(f"{side}knuckles", names[3], (0.0, 0.0, -get["hand"]))
        self._frame(f"{side}fingertip", names[3], (0.0, 0.0, -get["hand_to_fingertips"]))

    def leg(self, side: str) -> None:
        """Thigh, shank, foot and toes; heel, ball and tip are points of the sole."""
        across = 1.0 if side == LEFT else -1.0
        get = self.lengths
        names = [f"{side}{name}" for name in ("thigh", "shank", "foot", "toes")]
        turns = [f"{side}hip_{turn}" for turn in ("flexion", "abduction", "rotation")]
        hip = (0.0, across * get["hip_half_width"], 0.0)
        self._chain(turns, "pelvis", hip, _upright(names[0], self.person.segment("thigh")))
        knee, ankle = (0.0, 0.0, -get["thigh"]), (0.0, 0.0, -get["shank"])
        self._chain([f"{side}knee_flexion"], names[0], knee, _upright(names[1], self.person.segment("shank")))
        heel, ball = (-ANKLE_ALONG_FOOT * get["foot"], (BALL_ALONG_FOOT - ANKLE_ALONG_FOOT) * get["foot"])
        tip, sole = (1 - ANKLE_ALONG_FOOT) * get["foot"], -get["ankle_height"]
        rear, front = self.person.segment("foot").cut(BALL_ALONG_FOOT * get["foot"])
        axis = (FOOT_AXIS_HEIGHT - 1) * get["ankle_height"]
        turns = [f"{side}ankle_{turn}" for turn in ("flexion", "inversion")]
        self._chain(turns, names[1], ankle, _forwards(names[2], rear, heel, axis))
        toe = (ball, 0.0, sole + get["toe_joint_height"])
        toes = _forwards(names[3], front, heel - ball, axis - toe[2])
        self._chain([f"{side}toe_extension"], names[2], toe, toes)
        self._frame(f"{side}heel", names[2], (heel, 0.0, sole))
        self._frame(f"{side}ball", names[2], (ball, 0.0, sole))
        self._frame(f"{side}tip", names[3], (tip - ball, 0.0, -get["toe_joint_height"]))

    # ---- pieces ------------------------------------------------------------------------------------

    def _lower_trunk(self) -> tuple[Segment, ...]:
        return self.person.segment("lower_trunk").cut(LOWER_SPINE * self.lengths["lower_trunk"])

    def _chain(self, names: list[str], parent: str, place: Vec3, body: Link) -> None:
        """Joints at one point, the body behind the last of them, links without mass between them."""
        between = [f"{body.name}_after_{name.rpartition('_')[2]}" for name in names[:-1]]
        parts = [parent, *between, body.name]
        for k, name in enumerate(names):
            at = Transform(translation=place) if k == 0 else Transform()
            bounds: Limits = limits(name, self.scale)
            self.joints.append(Joint(name, "revolute", parts[k], parts[k + 1], at, JOINTS[name].axis, bounds))
        self.links += [*map(Link, between), body]

    def _frame(self, name: str, link: str, place: Vec3) -> None:
        self.frames.append(Frame(name, link, Transform(translation=place)))


def _upright(name: str, part: Segment, top: float = 0.0) -> Link:
    """A segment that hangs down from the height ``top`` in the link's frame (m)."""
    return Link.from_com(name, mass=part.mass, com=(0.0, 0.0, top - part.centre), inertia=part.inertia)


def _palm_inwards(name: str, part: Segment) -> Link:
    """Forearm or hand: the table's sagittal axis is normal to the palm, which faces the thigh at zero, not forwards."""
    sagittal, transverse, along = part.inertia
    return Link.from_com(name, mass=part.mass, com=(0.0, 0.0, -part.centre), inertia=(transverse, sagittal, along))


def _forwards(name: str, part: Segment, heel: float, height: float) -> Link:
    """The foot, along x from its heel: its sagittal axis, across sole and instep, is vertical."""
    sagittal, transverse, along = part.inertia
    com = (heel + part.centre, 0.0, height)
    return Link.from_com(name, mass=part.mass, com=com, inertia=(along, transverse, sagittal))
