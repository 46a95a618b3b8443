"""Seeing a robot: pictures (``draw``), text, and the report. Needs ``pip install neuler[view]`` for pictures."""

from __future__ import annotations

from neuler.view.draw import draw
from neuler.view.report import write_report

__all__ = ["draw", "write_report"]
