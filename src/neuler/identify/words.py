"""An identification in words: a few lines and two tables for the terminal; numbers as tables show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuler.identify.series import rms
from neuler.plain import columns, shown

if TYPE_CHECKING:
    from neuler.identify.result import Identification, Parameter

ERRORS = ("run", "force", "unit", "measured rms", "error before", "error", "%", "% moving")
PARAMETERS = ("parameter", "value", "+-", "%", "given")
_PARAMETERS, _NAMES = 80, 12
"""Rows of the table of parameters, and names in a list; all are in parameters.csv and in the summary."""


def told(result: Identification) -> str:
    """What was found, how well it fits, and what is missing."""
    estimate = result.found.estimate
    verdict = "excites badly" if result.badly else "excites well enough"
    lines = [
        f"{estimate.method}: {len(estimate.names)} parameters from {estimate.samples} samples"
        f"{'' if result.converged else ', NOT converged'}; the motion {verdict}: scaled condition "
        f"{finite(estimate.scaled_condition)}, rank {result.rank} of {result.directions}",
        "",
        columns(ERRORS, error_rows(result), left=2),
        "",
        columns(PARAMETERS, parameter_rows(result.parameters()[:_PARAMETERS])),
    ]
    if len(estimate.names) > _PARAMETERS:
        lines.append(f"and {len(estimate.names) - _PARAMETERS} more")
    if lost := [shown(name) for name in result.found.base.without_effect]:
        more = f" and {len(lost) - _NAMES} more" if len(lost) > _NAMES else ""
        lines += ["", f"no force depends on {', '.join(lost[:_NAMES])}{more}"]
    return "\n".join([*lines, *(f"to excite more: {shown(str(each))}" for each in result.advice)])


def error_rows(result: Identification) -> list[list[str]]:
    """Rows of a table under ``ERRORS``."""
    rows = []
    for run, error in result.errors():
        moving = error.moving or error
        before, level = rms(run.measured - run.given), rms(run.measured)
        label = f"{run.name} (held out)" if run.held_out else run.name
        for k, (force, unit) in enumerate(zip(result.forces, result.units, strict=True)):
            numbers = [short(float(x[k])) for x in (level, before, error.rms)]
            shares = [share(float(x[k])) for x in (error.nrmse, moving.nrmse)]
            rows.append([shown(label) if k == 0 else "", shown(force), unit, *numbers, *shares])
    return rows


def parameter_rows(found: Sequence[Parameter]) -> list[list[str]]:
    """Rows of a table under ``PARAMETERS``."""
    return [
        [shown(each.name), f"{each.value:.5g}", short(each.sd), share(each.relative_sd), f"{each.given:.5g}"]
        for each in found
    ]


def short(x: float) -> str:
    """Three digits, and all before the point.

    >>> short(2213.4), short(0.012345), short(54.62)
    ('2213', '0.0123', '54.6')
    """
    return f"{x:.0f}" if 999.5 <= abs(x) < 1e7 else f"{x:.3g}"


def share(x: float | None, unit: str = "") -> str:
    """A number in %, two digits and all before the point; a dash where there is none.

    >>> share(0.1234), share(480.4, " %"), share(math.inf)
    ('0.12', '480 %', '-')
    """
    if x is None or not math.isfinite(x):
        return "-"
    return f"{x:.2g}{unit}" if x < 99.5 else f"{x:.0f}{unit}"


def finite(x: float) -> str:
    """A number of three digits, or that it is infinite."""
    return f"{x:.3g}" if math.isfinite(x) else "infinite"
