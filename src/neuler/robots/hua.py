"""The robot of Hua V: two rigid joints, one elastic, and motors 2 and 3 on link 1."""

from __future__ import annotations

from neuler.robot import Joint, Link, Motor, Robot, Transform

_LENGTHS = (0.3, 0.4, 0.4)
_RATIO = 10.0
_SPIN = (0.006, 0.006, 0.004)
_LINK2 = (0.35, 0.4, 0.3, 0.15, 0.1, 0.2)
_LINK3 = (0.3, 0.25, 0.25, 0.15, 0.13, 0.2)


def hua_3r() -> Robot:
    """Three hinges, the third behind a spring of 100 N m/rad; motor 1 on the base, motors 2 and 3 on link 1.

    Masses, inertias and the stiffness are those of Hua's Table I and V, inertias taken about the centres of mass. What
    the paper leaves out is chosen: joint 1 turns about the vertical, joints 2 and 3 about horizontal axes; links of
    0.3, 0.4 and 0.4 m with centres of mass in the middle; gear ratio 10; motors 2 and 3 to both sides of joint 2, the
    rotor of motor 2 parallel to its joint, that of motor 3 tilted, so that no term of (30) vanishes. The tip is the
    frame "tool".

    >>> hua_3r().joint_names
    ('joint1', 'joint2', 'joint3', 'joint3.motor')
    """
    l1, l2, l3 = _LENGTHS
    links = [
        Link("base"),
        Link.from_com("link1", mass=2.5, com=(0, 0, l1 / 2), inertia=(0.4, 0.5, 0.4)),
        Link.from_com("link2", mass=1.5, com=(l2 / 2, 0, 0), inertia=_LINK2),
        Link.from_com("link3", mass=1.0, com=(l3 / 2, 0, 0), inertia=_LINK3),
    ]
    across = (0.0, -1.0, 0.0)  # positive angles lift
    joints = [
        Joint("joint1", "revolute", "base", "link1"),
        Joint("joint2", "revolute", "link1", "link2", Transform.from_rpy((0, 0, l1)), across),
        Joint("joint3", "revolute", "link2", "link3", Transform.from_rpy((l2, 0, 0)), across),
    ]
    body = {"ratio": _RATIO, "inertia": _SPIN, "mass": 1.0}
    motors = [
        Motor("motor1", "joint1", **body),  # type: ignore[arg-type]
        Motor("motor2", "joint2", position=(0.0, 0.05, l1), **body),  # type: ignore[arg-type]
        Motor(
            "motor3", "joint3", carrier="link1", axis=(0.0, 0.6, 0.8), position=(0.0, -0.05, l1), stiffness=100.0,
            **body,  # type: ignore[arg-type]
        ),
    ]  # fmt: skip
    return Robot("hua_3r", links, joints, motors=motors).with_frame("tool", "link3", Transform.from_rpy((l3, 0, 0)))
