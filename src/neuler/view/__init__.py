"""Seeing a robot: pictures (``draw``), text, the report, and motions (``play``).

Pictures need matplotlib (the extra ``view``); a page that plays a motion needs nothing.
"""

from __future__ import annotations

from neuler.robots.limbs import Limb
from neuler.view.draw import draw
from neuler.view.player import play
from neuler.view.report import write_report

__all__ = ["Limb", "draw", "play", "write_report"]
