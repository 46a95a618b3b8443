"""The catalogue: the robots of the papers, ready to use.

>>> names()
('prismatic_revolute', 'puma560', 'rx90', 'shuttle_arm', 'stanford', 'two_link')
>>> get("stanford").nq
6
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from neuler.errors import RobotError
from neuler.robot.model import Robot
from neuler.robots.barman import prismatic_revolute, two_link
from neuler.robots.general import general_chain
from neuler.robots.puma import puma560
from neuler.robots.rx90 import rx90
from neuler.robots.shuttle import shuttle_arm
from neuler.robots.stanford import stanford

__all__ = [
    "general_chain",
    "get",
    "names",
    "prismatic_revolute",
    "puma560",
    "rx90",
    "shuttle_arm",
    "stanford",
    "two_link",
]

_CATALOGUE: dict[str, Callable[[], Robot]] = {
    "prismatic_revolute": prismatic_revolute,
    "puma560": puma560,
    "rx90": rx90,
    "shuttle_arm": shuttle_arm,
    "stanford": stanford,
    "two_link": two_link,
}


def names() -> tuple[str, ...]:
    """Names of the robots that ``get`` knows."""
    return tuple(_CATALOGUE)


def get(name: str) -> Robot:
    """The robot of this name.

    >>> get("two_link").joint_names
    ('joint1', 'joint2')
    """
    if name in _CATALOGUE:
        return _CATALOGUE[name]()
    close = difflib.get_close_matches(str(name).lower(), _CATALOGUE, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has: {', '.join(_CATALOGUE)}"
    raise RobotError(f"the catalogue has no robot {name!r}; {hint}")
