"""Robots with legs, for plans with contact: a planar biped of seven links and a planar hopping leg."""

import numpy as np

from neuler import Joint, Limits, Link, Robot, Transform, plan

HEEL, TOE = (-0.06, 0.0, -0.05), (0.14, 0.0, -0.05)
THIGH, SHANK = 0.45, 0.45
ANKLE = 0.05
"""Height of the ankle above the sole (m)."""
SIDES = ("right", "left")


def _rod(name, mass, length, radius=0.05):
    inertia = mass * (length**2 / 12.0 + radius**2 / 4.0)
    return Link.from_com(name, mass=mass, com=(0.0, 0.0, -0.5 * length), inertia=(inertia, inertia, 1e-2))


def base_joints(trunk, turns=True):
    """A base in the plane y = 0 that no motor drives: x, z and, where it turns, pitch."""
    joints = [
        Joint("x", "prismatic", "ground", "slider_x", axis=(1, 0, 0), role="passive"),
        Joint("z", "prismatic", "slider_x", "slider_z" if turns else trunk, axis=(0, 0, 1), role="passive"),
    ]
    if turns:
        joints.append(Joint("pitch", "revolute", "slider_z", trunk, axis=(0, 1, 0), role="passive"))
    return joints


def massless(*names):
    return [Link.from_com(name, mass=0.0) for name in names]


def biped(effort=np.inf, wide=0.0, rotor=0.6):
    """Trunk, thighs, shanks and feet; hips, knees and ankles have geared motors with an inertia ``rotor`` (kg m^2).

    ``wide``: half the distance of the hips (m). Without rotors a leg under load folds within hundredths of a second
    where nobody steers: no replay without feedback could follow a plan.
    """
    links = massless("ground", "slider_x", "slider_z")
    links.append(Link.from_com("trunk", mass=40.0, com=(0.0, 0.0, 0.3), inertia=(2.0, 2.0, 0.5)))
    joints = base_joints("trunk")
    for side, y in zip(SIDES, (-wide, wide), strict=True):
        links += [_rod(f"{side}_thigh", 8.0, THIGH), _rod(f"{side}_shank", 4.0, SHANK)]
        links.append(Link.from_com(f"{side}_foot", mass=1.2, com=(0.04, 0.0, -0.03), inertia=(2e-3, 5e-3, 5e-3)))
        hip = Transform(translation=(0.0, y, 0.0))
        joints += [
            Joint(f"{side}_hip", "revolute", "trunk", f"{side}_thigh", hip, (0, 1, 0),
                  limits=Limits(-1.5, 1.5, np.inf, effort), rotor_inertia=rotor),
            Joint(f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank",
                  Transform(translation=(0, 0, -THIGH)), (0, 1, 0), limits=Limits(0.0, 2.4, np.inf, effort),
                  rotor_inertia=rotor),
            Joint(f"{side}_ankle", "revolute", f"{side}_shank", f"{side}_foot",
                  Transform(translation=(0, 0, -SHANK)), (0, 1, 0), limits=Limits(-1.0, 1.0, np.inf, effort),
                  rotor_inertia=rotor),
        ]  # fmt: skip
    return Robot("biped", links, joints).with_gravity((0.0, 0.0, -9.81))


def sole(side, **more):
    return plan.Contact(f"{side}_foot", [HEEL, TOE], name=side, **more)


def standing(robot, hip=-0.3, knee=0.6):
    """Both feet flat below the hips."""
    q = dict.fromkeys(robot.joint_names, 0.0)
    for side in SIDES:
        q |= {f"{side}_hip": hip, f"{side}_knee": knee, f"{side}_ankle": -hip - knee}
    q["z"] = ANKLE + THIGH * np.cos(hip) + SHANK * np.cos(hip + knee)
    return np.array([q[name] for name in robot.joint_names])


def hopper(turns=False, rotor=0.1):
    """A body that stays upright, or pitches where it ``turns``, on a leg with hip and knee; its foot is a point."""
    links = massless("ground", "slider_x", *(["slider_z"] if turns else []))
    links.append(Link.from_com("body", mass=12.0, com=(0.0, 0.0, 0.05), inertia=(0.4, 0.4, 0.2)))
    links += [_rod("thigh", 1.5, 0.3), _rod("shank", 0.8, 0.3)]
    joints = [
        *base_joints("body", turns),
        Joint("hip", "revolute", "body", "thigh", axis=(0, 1, 0), limits=Limits(-1.6, 1.6), rotor_inertia=rotor),
        Joint("knee", "revolute", "thigh", "shank", Transform(translation=(0, 0, -0.3)), (0, 1, 0),
              limits=Limits(0.05, 2.6), rotor_inertia=rotor),
    ]  # fmt: skip
    return Robot("hopper", links, joints).with_gravity((0.0, 0.0, -9.81))


def tip(**more):
    return plan.Contact("shank", [(0.0, 0.0, -0.3)], name="foot", **more)


def crouched(robot, x=0.0, hip=-0.6, knee=1.2):
    """The foot below the hip, the knee bent."""
    q = dict.fromkeys(robot.joint_names, 0.0) | {"x": x, "hip": hip, "knee": knee}
    q["z"] = 0.3 * np.cos(hip) + 0.3 * np.cos(hip + knee)
    return np.array([q[name] for name in robot.joint_names])


def step(robot, objective, *, length=0.35, single=0.45, double=0.15, points=(12, 8), order=1, heel_off=False,
         clear=True, **more):  # fmt: skip
    """A plan of one step in two phases: on the right foot, then on both; mirrored in the next step.

    ``heel_off``: in double support the rear foot stands on its toe. ``clear``: the swinging foot keeps off the floor.
    """
    floor = plan.HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    tips = [plan.Ball("left_foot", 1e-6, HEEL), plan.Ball("left_foot", 1e-6, TOE)]
    swing = plan.clear_of(tips, [floor])
    relations = [*plan.repeats("x", shift=length, order=order), *plan.repeats("z", "pitch", order=order)]
    for joint in ("hip", "knee", "ankle"):
        relations += plan.exchanges(f"right_{joint}", f"left_{joint}", order=order)
    toe = plan.Contact("right_foot", [TOE], name="right")
    double_support = [sole("left"), toe] if heel_off else [sole("right"), sole("left")]
    above = plan.limit(swing.measure, -1e-3), plan.limit(swing.measure, 0.02, when=(0.4, 0.6))
    return plan.Plan(
        robot, objective, start=plan.Boundary(q={"x": 0.0}, qd=None), relations=relations,
        phases=[
            plan.Phase(single, points[0], above if clear else (), contacts=[sole("right")], name="single"),
            plan.Phase(double, points[1], contacts=double_support, name="double"),
        ],
        **({"grid": 3} | more),
    )  # fmt: skip


def one_phase(robot, objective, *, length=0.35, duration=0.6, points=17, **more):
    """The same step in one phase: the left foot stands from 0.75 of it on; all derivatives are mirrored in the next."""
    floor = plan.HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    swing = plan.clear_of([plan.Ball("left_foot", 1e-6, HEEL), plan.Ball("left_foot", 1e-6, TOE)], [floor])
    relations = [*plan.repeats("x", shift=length), *plan.repeats("z", "pitch")]
    for joint in ("hip", "knee", "ankle"):
        relations += plan.exchanges(f"right_{joint}", f"left_{joint}")
    return plan.Plan(
        robot, objective, start=plan.Boundary(q={"x": 0.0}, qd=None), relations=relations, duration=duration,
        contacts=[sole("right", slip=1e-3), sole("left", slip=1e-3, when=(0.75, 1.0))],
        limits=[plan.limit(swing.measure, -1e-3), plan.limit(swing.measure, 0.02, when=(0.3, 0.45))],
        control_points=points, **more,
    )  # fmt: skip


def hop(robot, objective, far=0.3, impact=False, **more):
    """A plan of one hop: push, flight, landing, at rest at both ends."""
    return plan.Plan(
        robot, objective, start=crouched(robot),
        phases=[
            plan.Phase(0.3, 12, contacts=tip(), name="push"),
            plan.Phase((0.15, 0.3), 14, contacts=(), name="flight"),
            plan.Phase(0.3, 12, contacts=tip(), end=crouched(robot, far), name="land", impact=impact),
        ],
        **({"grid": 3, "degree": 7} | more),
    )  # fmt: skip


SOLE = [(-0.06, -0.04, -0.05), (0.14, -0.04, -0.05), (0.14, 0.04, -0.05), (-0.06, 0.04, -0.05)]


def spatial_biped():
    """A trunk on a free base and two legs of six joints: a hip that yaws, rolls and pitches, a knee, an ankle."""
    links = [Link.from_com("trunk", mass=30.0, com=(0.02, 0.0, 0.3), inertia=(2.0, 1.8, 0.5))]
    joints = []
    for side, y in zip(SIDES, (-0.1, 0.1), strict=True):
        links.append(Link.from_com(f"{side}_yaw_link", mass=0.5, inertia=(0.01, 0.01, 0.01)))
        links += [
            Link.from_com(f"{side}_hip_link", mass=1.0, inertia=(0.01, 0.01, 0.01)),
            _rod(f"{side}_thigh", 6.0, 0.4),
        ]
        links += [_rod(f"{side}_shank", 3.0, 0.4), Link.from_com(f"{side}_ankle_link", mass=0.3, inertia=(1e-3,) * 3)]
        links.append(Link.from_com(f"{side}_foot", mass=1.0, com=(0.03, 0, -0.03), inertia=(2e-3, 4e-3, 4e-3)))
        down = Transform(translation=(0.0, 0.0, -0.4))
        chain = [
            ("yaw", "trunk", "yaw_link", Transform(translation=(0.0, y, 0.0)), (0, 0, 1)),
            ("roll", f"{side}_yaw_link", "hip_link", Transform(), (1, 0, 0)),
            ("pitch", f"{side}_hip_link", "thigh", Transform(), (0, 1, 0)),
            ("knee", f"{side}_thigh", "shank", down, (0, 1, 0)),
            ("ankle_pitch", f"{side}_shank", "ankle_link", down, (0, 1, 0)),
            ("ankle_roll", f"{side}_ankle_link", "foot", Transform(), (1, 0, 0)),
        ]
        joints += [
            Joint(f"{side}_{name}", "revolute", parent, f"{side}_{child}", seat, axis, rotor_inertia=0.3)
            for name, parent, child, seat, axis in chain
        ]
    return Robot("spatial biped", links, joints).with_gravity((0.0, 0.0, -9.81)).with_free_base("base")
