"""The catalogue: the robots of the papers, machines with closed loops and a human, ready to use.

>>> names()[:5]
('delta', 'eel', 'five_bar', 'four_bar', 'gough_stewart')
>>> get("stanford").nq
6
"""

from __future__ import annotations

from collections.abc import Callable

from neuler.errors import RobotError
from neuler.naming import closest
from neuler.robot import Robot
from neuler.robots.barman_arms import prismatic_revolute, two_link
from neuler.robots.eel import eel
from neuler.robots.general import general_chain
from neuler.robots.hua import hua_3r
from neuler.robots.humans import human
from neuler.robots.linkages import five_bar, four_bar, slider_crank
from neuler.robots.platforms import delta, gough_stewart, orthoglide, planar_3rrr
from neuler.robots.puma import puma560
from neuler.robots.rx90 import rx90
from neuler.robots.shuttle import shuttle_arm
from neuler.robots.sr400 import sr400
from neuler.robots.stanford import stanford

__all__ = [
    "delta",
    "eel",
    "five_bar",
    "four_bar",
    "general_chain",
    "get",
    "gough_stewart",
    "hua_3r",
    "human",
    "names",
    "orthoglide",
    "planar_3rrr",
    "prismatic_revolute",
    "puma560",
    "rx90",
    "shuttle_arm",
    "slider_crank",
    "sr400",
    "stanford",
    "two_link",
]

_CATALOGUE: dict[str, Callable[[], Robot]] = {
    "delta": delta,
    "eel": eel,
    "five_bar": five_bar,
    "four_bar": four_bar,
    "gough_stewart": gough_stewart,
    "hua_3r": hua_3r,
    "human": human,
    "orthoglide": orthoglide,
    "planar_3rrr": planar_3rrr,
    "prismatic_revolute": prismatic_revolute,
    "puma560": puma560,
    "rx90": rx90,
    "shuttle_arm": shuttle_arm,
    "slider_crank": slider_crank,
    "sr400": sr400,
    "stanford": stanford,
    "two_link": two_link,
}


def names() -> tuple[str, ...]:
    """Names of the robots and machines that ``get`` knows."""
    return tuple(_CATALOGUE)


def get(name: str) -> Robot:
    """The robot or machine of this name.

    >>> get("two_link").joint_names
    ('joint1', 'joint2')
    """
    if name in _CATALOGUE:
        return _CATALOGUE[name]()
    likely = closest(name, _CATALOGUE)
    meant = f"did you mean {likely!r}?" if likely else f"it has: {', '.join(_CATALOGUE)}"
    raise RobotError(f"the catalogue has no robot {name!r}; {meant}")
