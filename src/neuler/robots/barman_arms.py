"""The two planar arms of Barman, chapter 4."""

from __future__ import annotations

from math import inf, pi

from neuler.formats.dh import from_dh
from neuler.robot import Limits, Robot
from neuler.robot.transform import Transform

_LENGTH = 0.4
_MASS = 0.5
_INERTIA = 0.1
_DRIVE = Limits(-inf, inf, inf, 10.0)
_TIP = Transform()


def two_link() -> Robot:
    """Two revolute joints in the horizontal plane, without gravity: Barman 4.1, Tables 4.1 and 4.2.

    L = 0.4 m, m = 0.5 kg, I = 0.1 kg m^2 about the centre of mass in the middle, torque within 10 N m.
    The table gives the inertia about z alone; here each link is a thin rod, whose inertia about its
    own length is zero. The tip is the frame "tool".

    >>> two_link().moving_joints[0].limits.effort
    10.0
    """
    row = {
        "a": _LENGTH,
        "mass": _MASS,
        "com": (-_LENGTH / 2, 0, 0),
        "inertia": (0, _INERTIA, _INERTIA),
        "limits": _DRIVE,
    }
    return from_dh([row, row], name="two_link", gravity=(0, 0, 0), tool=_TIP)


def prismatic_revolute(theta2: float = pi / 2) -> Robot:
    """A slide and a revolute joint, without gravity: Barman 4.2, Tables 4.3 and 4.4.

    L = 0.4 m, m = 0.5 kg, I = 0.1 kg m^2 about the centre of mass in the middle, force within 10 N and
    torque within 10 N m. The coordinates are added to the table's d1 = L and theta2 = pi/2; pass
    ``theta2=0`` (rad) to read the table as giving no offset. The first joint slides along z of the
    base, the second turns about x. The table gives one inertia a link; here each is a thin rod.

    >>> [joint.kind for joint in prismatic_revolute().joints]
    ['prismatic', 'revolute']
    """
    slide = {
        "kind": "prismatic",
        "theta": pi / 2,
        "d": _LENGTH,
        "alpha": pi / 2,
        "mass": _MASS,
        "com": (0, -_LENGTH / 2, 0),
        "inertia": (_INERTIA, 0, _INERTIA),
        "limits": _DRIVE,
    }
    arm = {
        "theta": theta2,
        "a": _LENGTH,
        "mass": _MASS,
        "com": (-_LENGTH / 2, 0, 0),
        "inertia": (0, _INERTIA, _INERTIA),
        "limits": _DRIVE,
    }
    return from_dh([slide, arm], name="prismatic_revolute", gravity=(0, 0, 0), tool=_TIP)
