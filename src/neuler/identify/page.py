"""The page of an identification: what was found, how far it can be relied on, and what is missing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from neuler.errors import NeulerError
from neuler.identify.least_squares import BADLY
from neuler.identify.pictures import BEFORE, MEASURED, PREDICTED, REST, force_picture
from neuler.identify.series import Series, rms
from neuler.identify.words import share as percent
from neuler.identify.words import short
from neuler.plain import count
from neuler.version import __version__
from neuler.view.html import Markup, join, page, picture, table, tag
from neuler.view.sections import key
from neuler.view.space import svg

if TYPE_CHECKING:
    from neuler.identify.result import Identification, Parameter

PANELS = 12
"""Forces of a run that are drawn; of more, those with the largest error in % of what was measured."""
_GOOD, _FAIR = 10.0, 50.0
"""Standard deviations in % of the value up to which a parameter is known well, and roughly."""
_COLOURS = ("#0f766e", "#a16207", "#b91c1c")
STYLE = """
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
.fits figure { margin: 0 0 1.1rem; } .fits figcaption span { font-weight: 400; color: var(--soft); }
svg.bar { width: 13rem; height: 1.05rem; display: block; }
td.group span { white-space: normal; }
.meter { display: inline-block; height: .55rem; vertical-align: .02rem; background: var(--accent); opacity: .75; }
.track { display: inline-block; width: 4.5rem; text-align: left; background: #f0f2f5; line-height: .55rem;
  height: .55rem; margin-left: .5rem; }
ul.plain { padding-left: 1.1rem; margin: .4rem 0; } ul.plain li { margin: .3rem 0; max-width: 52rem; }
"""


def page_of(result: Identification, title: str) -> str:
    """One self-contained page, nothing loaded from anywhere; without matplotlib it has no pictures, and says so."""
    parts = [
        _heading(result, title), _notes(result), _errors(result), _forces(result), _parameters(result),
        _not_identified(result), _excitation(result), _settings(result),
        tag("footer", f"Made by neuler {__version__}."),
    ]  # fmt: skip
    return page(title, join(parts), style=STYLE)


# ---- the top ------------------------------------------------------------------------------------------------------


def _heading(result: Identification, title: str) -> Markup:
    facts = result.summary()
    estimate = result.found.estimate
    fitted = [run for run in result.runs if not run.held_out]
    lead = (
        f"{result.found.robot.name}: {count(len(estimate.names), 'parameter')} identified from "
        f"{count(len(fitted), 'run')} by the method {estimate.method!r}"
    )
    others = len(result.runs) - len(fitted)
    lead += f", judged on {count(others, 'run')} that {'was' if others == 1 else 'were'} not fitted." if others else "."
    entries: list[tuple[str, object]] = [
        ("samples", f"{facts['rows']:,}"),
        ("largest error, fitted", percent(facts["worst_nrmse"], " %")),
        ("largest error, held out", percent(facts["worst_held_out_nrmse"], " %")),
        ("scaled condition", _number(estimate.scaled_condition)),
        ("rank", f"{result.rank} of {result.directions}"),
        ("excitation", "bad" if result.badly else "good enough"),
    ]
    body = [tag("div", tag("dt", what), tag("dd", value)) for what, value in entries]
    return join([tag("h1", title), tag("p", lead, cls="lead"), tag("dl", *body, cls="facts")])


def _notes(result: Identification) -> Markup:
    """What to know first: what is wrong, then what was done to the logs."""
    grave = []
    if not result.converged:
        grave.append("The estimator did not converge: values are those of its last pass.")
    if result.badly:
        grave.append(result.notes[0])
    items = [tag("li", tag("b", "warning"), f" · {told}", cls="warning") for told in grave]
    items += [tag("li", told) for told in result.notes if told not in grave]
    body = tag("ul", *items, cls="findings") if items else tag("p", "Nothing to note.")
    return join([tag("h2", "What to know"), body])


# ---- forces -------------------------------------------------------------------------------------------------------


def _errors(result: Identification) -> Markup:
    """Of every run and force, the error and what it was before."""
    rows: list[list[object]] = []
    most = max([10.0, *(float(np.nanmax(error.nrmse, initial=0.0)) for _, error in result.errors())])
    for run, error in result.errors():
        moving = error.moving or error
        before, level, robot = rms(run.measured - run.given), rms(run.measured), rms(run.residual)
        for k, (force, unit) in enumerate(zip(result.forces, result.units, strict=True)):
            share = float(error.nrmse[k])
            label = [run.name, "held out" if run.held_out else "fitted"] if k == 0 else ["", ""]
            numbers = [short(float(x[k])) for x in (level, before, error.rms, robot)]
            shares = tag("span", percent(share), _meter(share / most)), percent(float(moving.nrmse[k]))
            rows.append([*label, f"{force}, {unit}", *numbers, *shares])
    head = ("run", "", "force", "measured", "given robot", "estimate", "written robot", "estimate, %", "moving, %")
    told = (
        "Root mean squares: of the measured force, and of what is left of it with the given robot, with the estimate, "
        "and with the robot that is written to a file, which is physically consistent. In % of the measured force: "
        "that of the estimate, over all rows and over those at which the joint moves."
    )
    return join([tag("h2", "Errors"), table(head, rows, left=3), tag("p", told, cls="note")])


def _meter(share: float) -> Markup:
    width = 100.0 * min(1.0, share) if math.isfinite(share) else 0.0
    return tag("span", tag("span", cls="meter", style=f"width:{width:.1f}%"), cls="track")


def _forces(result: Identification) -> Markup:
    """Pictures of every run, force by force."""
    parts: list[Markup] = [tag("h2", "Forces")]
    marks = [(MEASURED, "measured"), (PREDICTED, "identified robot"), (BEFORE, "given robot, dashed"),
             (REST, "the joint rests: not fitted; and the band of white noise")]  # fmt: skip
    parts.append(key(marks))
    try:
        for run, error in result.errors():
            parts.append(tag("h3", f"{run.name}, {'held out' if run.held_out else 'fitted'}"))
            order = np.argsort(-np.nan_to_num(error.nrmse), kind="stable")[:PANELS]
            parts.append(tag("div", *(_picture(result, run, int(k)) for k in sorted(order)), cls="fits"))
            if len(result.forces) > PANELS:
                left = len(result.forces) - PANELS
                parts.append(tag("p", f"{left} forces with smaller errors are not drawn.", cls="note"))
    except NeulerError as error:
        return join([parts[0], tag("p", f"No pictures: {error}", cls="note")])
    told = (
        "All forces are behind the filter of their run. Residuals are measured minus identified; to the right their "
        "autocorrelation and their histogram with the normal distribution of the same deviation. Residuals are seldom "
        "white: filters, and what the model lacks, make neighbours alike. Standard deviations allow for that."
    )
    return join([*parts, tag("p", told, cls="note")])


def _picture(result: Identification, run: Series, k: int) -> Markup:
    force, unit = result.forces[k], result.units[k]
    left = float(rms(run.residual)[k])
    of = 100 * left / (float(rms(run.measured)[k]) or np.nan)
    told = f" residual {short(left)} {unit} rms, {percent(of, ' %')}"
    image = svg(force_picture(run, k, unit))
    return tag("figure", tag("figcaption", force, tag("span", told)), picture(image, f"{run.name}: {force}, {unit}"))


# ---- parameters ---------------------------------------------------------------------------------------------------


def _parameters(result: Identification) -> Markup:
    every = result.parameters()
    grouped = any(each.group for each in every)
    head = ["parameter", "value", "± sd", "sd, %", "95 % from", "to", "given", "interval and given value"]
    rows = []
    for each in every:
        numbers = [f"{each.value:.5g}", _number(each.sd), percent(each.relative_sd), _number(each.low, 4),
                   _number(each.high, 4), _number(each.given, 5)]  # fmt: skip
        rows.append([each.name, *numbers, _bar(each)])
    told = (
        "The bar is the interval of 95 % about the value, the diamond the given robot's value; the lines are at 1, 10 "
        "and 100 % of the value, logarithmic between them. Units: kg, kg m, kg m², N m and N, with s."
    )
    marks = [*zip(_COLOURS, (f"sd up to {_GOOD:g} %", f"up to {_FAIR:g} %", "more, or not determined"), strict=True),
             ("#1d2733", "given")]  # fmt: skip
    what = "Base parameters: each stands for a sum of parameters, listed below." if grouped else "Parameters."
    parts = [tag("h2", "Parameters"), tag("p", what), key(marks), table(head, rows), tag("p", told, cls="note")]
    return join(parts)


def _place(share: float) -> float:
    """Where a deviation in % is on a bar from 0 to 200: symmetric about 100, logarithmic, 100 % at the ends."""
    return 100.0 + math.copysign(95.0 * min(1.0, math.log10(1.0 + abs(share)) / math.log10(101.0)), share)


def _bar(each: Parameter) -> Markup:
    """The interval about the value, and the given value, in % of the value."""
    parts = [_line(_place(share), "#e3e7ec" if share else "#aab4c0") for share in (-100, -10, -1, 0, 1, 10, 100)]
    size = abs(each.value)
    if math.isfinite(each.sd) and size > 0.0:
        low, high = (_place(100.0 * (x - each.value) / size) for x in (each.low, each.high))
        colour = _COLOURS[0 if each.relative_sd <= _GOOD else 1 if each.relative_sd <= _FAIR else 2]
        parts.append(
            _shape("rect", x=f"{low:.1f}", y="5", width=f"{max(high - low, 1.2):.1f}", height="6", fill=colour)
        )
    else:
        parts.append(_shape("rect", x="5", y="6.5", width="190", height="3", fill=_COLOURS[2]))
    if math.isfinite(each.given) and size > 0.0:
        x = _place(100.0 * (each.given - each.value) / size)
        parts.append(_shape("path", d=f"M{x:.1f} 3.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="none", stroke="#1d2733"))
    return tag(
        "svg", *parts, cls="bar", viewBox="0 0 200 16", role="img", **{"aria-label": f"± {each.relative_sd:.2g} %"}
    )


def _line(x: float, colour: str) -> Markup:
    return _shape("path", d=f"M{x:.1f} 0v16", stroke=colour)


def _shape(name: str, **attributes: str) -> Markup:
    return tag(name, **attributes)


def _not_identified(result: Identification) -> Markup:
    """What no motion could tell, what this one did not, and sums that are known as sums alone."""
    base, estimate = result.found.base, result.found.estimate
    parts: list[Markup] = [tag("h2", "What could not be identified")]
    if estimate.undetermined:
        told = "Not determined by these runs, though other motions would: " + ", ".join(estimate.undetermined) + "."
        parts.append(tag("p", told))
    if base.without_effect:
        told = f"No force depends on {count(len(base.without_effect), 'parameter')}, whatever the motion: "
        parts.append(tag("p", f"{told}{', '.join(base.without_effect)}. They stay as they were given."))
    sums = [(name, group) for name, _, group in base.rows() if group != name]
    if sums:
        told = "These act together in every motion; only the sum is known. Its parts in the identified robot are a "
        told += "choice: real bodies near the given ones."
        rows = [(name, tag("span", group, style="white-space:normal")) for name, group in sums]
        parts += [tag("p", told), table(("base parameter", "sum"), rows, left=2)]
    if len(parts) == 1:
        parts.append(tag("p", "All parameters that were looked for have values of their own."))
    return join(parts)


# ---- what to do next ----------------------------------------------------------------------------------------------


def _excitation(result: Identification) -> Markup:
    found = result.found.estimate
    parts: list[Markup] = [tag("h2", "What to excite next")]
    if not result.badly:
        vague = [each.name for each in result.parameters() if each.relative_sd > _FAIR]
        told = "Every direction is excited: the scaled condition number is "
        told += f"{found.scaled_condition:.3g}, and up to {BADLY:g} is good."
        if vague:
            shown = ", ".join(vague[:10]) + (f" and {len(vague) - 10} more" if len(vague) > 10 else "")
            told += f" Of {count(len(vague), 'parameter')} the standard deviation is above {_FAIR:g} % of the value: "
            told += (
                f"{shown}. They are small beside what else moves the same joints; a longer log makes them more exact."
            )
        return join([*parts, tag("p", told)])
    told = "Combinations of parameters that these runs hardly show, worst first, and how a further run could show them."
    parts.append(tag("p", told))
    rows = []
    for each in result.advice:
        remedies = tag("ul", *(tag("li", str(one)) for one in each.remedies[:3]), cls="plain")
        if not each.remedies:
            remedies = tag("span", each.otherwise)
        names = tag("span", ", ".join(each.columns), style="white-space:normal")
        rows.append((names, f"{each.singular_value:.2g}", tag("div", remedies, style="white-space:normal")))
    if rows:
        parts.append(table(("combination of", "relative singular value", "what would help"), rows, left=3))
    else:
        parts.append(tag("p", ", ".join(map(str, result.found.excitation.directions)) or "None is named.", cls="note"))
    return join(parts)


def _settings(result: Identification) -> Markup:
    """How the runs were filtered."""
    logs: dict[str, Any] = {**result.found.settings.get("logs", {}), **result.settings.get("held_out_logs", {})}
    rows = []
    for name, each in logs.items():
        cut = each.get("cutoff")
        told = "none" if cut is None else f"{cut:.3g}{' (chosen)' * bool(each.get('cutoff_chosen'))}"
        counts = [f"{each.get(key, '')}" for key in ("rows_of_log", "rows", "decimate")]
        times = [_number(each.get(key, math.nan), 4) for key in ("rate", "trim")]
        rows.append([name, each.get("method", ""), *times, told, *counts, str(sum(each.get("outliers", {}).values()))])
    head = ("run", "filter", "rate, Hz", "ends cut, s", "cut-off, Hz", "rows", "used", "every", "outliers")
    return join([tag("h2", "Settings"), table(head, rows, left=2)]) if rows else join([])


def _number(x: float, digits: int = 3) -> str:
    return "-" if not math.isfinite(x) else short(x) if digits == 3 else f"{x:.{digits}g}"
