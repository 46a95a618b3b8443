"""Motions for identification: periodic, within limits, with the best conditioned regressor of base parameters.

min over motions of log kappa(R),    R = D^-1/2 M D^-1/2,    M = sum of Y_b^T S Y_b over samples,    D = diag M
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.extras import require
from neuler.identify.criterion import condition_of
from neuler.identify.diagnosis import excitation
from neuler.identify.estimate import listed
from neuler.identify.exciting import SHOWN, ExcitingMotion, Start
from neuler.identify.exciting_limits import kept_limits
from neuler.identify.exciting_search import STAGES, Search
from neuler.identify.identified import Identified
from neuler.identify.information import Experiment, RegressorRows
from neuler.identify.known import known_information
from neuler.identify.rows import COLUMNS
from neuler.identify.wanted import alike_said, no_effect, taken_as_one
from neuler.inputs import choice, names, number, real, told, whole
from neuler.kernels import Kernel
from neuler.moments.moving_robot import MovingRobot
from neuler.optimize.progress import reporting
from neuler.plan.conditions import Boundary
from neuler.plan.fourier import FourierTranscription
from neuler.plan.objectives import duration as least_time
from neuler.plan.options import SolveOptions
from neuler.plan.plan import Plan
from neuler.plan.planned import Planned
from neuler.plan.relations import repeats
from neuler.plan.transcribe import Transcription
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters, base_parameters

Array = NDArray[np.float64]
GRID, DEGREE, CONTROL_POINTS = 4, 5, 20
"""Of splines: points in every span, degree and control points."""
TARGET = 4.2
"""The scaled condition number that is good enough."""
RATE = 100.0
"""Samples a second (Hz), where nothing is said."""
FINE = 2000
"""Samples of which figures are given, at least; and so many for each point of the solve's grid."""
FINER = 10


def excite(
    robot: Robot,
    duration: float = 10.0,
    *,
    columns: Any = COLUMNS,
    harmonics: int | None = None,
    control_points: int = CONTROL_POINTS,
    reach: Any = None,
    center: Any = None,
    velocity: float = 0.7,
    effort: float = 0.8,
    acceleration: Any = None,
    limits: Any = (),
    rest: bool = False,
    criterion: str = "balanced",
    target: float = TARGET,
    force_sd: Any = None,
    known: Any = None,
    rate: float | None = None,
    seed: int = 0,
    starts: int = 2,
    seconds: float | None = None,
    solver: str = "auto",
    progress: Any = None,
) -> ExcitingMotion:
    """Design a motion from which parameters can be identified well.

    ``columns`` names the parameters, as in ``fit`` and ``robot.regressor``, with the default of ``fit``: links,
    friction, rotors, or the columns of ``known``, if ``fit`` returned it. The motion is designed for their base
    parameters and need not excite others. It is periodic, of ``duration`` (s): splines with ``control_points``, or a
    Fourier series with so many ``harmonics``. With ``rest`` it begins and ends at rest, with zero acceleration;
    otherwise it ends in the moving state in which it began.

    Joints stay in their ranges, within ``reach`` (rad, m) of ``center``, by default the middle of the range, or the
    neutral position; below the fraction ``velocity`` of their velocity limits, ``effort`` of their effort limits, and
    below ``acceleration`` (rad/s^2, m/s^2). ``limits`` are those of a plan, including ``plan.clear_of`` obstacles and
    the robot itself; a bound given there for a joint replaces the robot's own. ``valid`` says whether all limits hold
    on a grid ten times finer than the solver's.

    ``criterion``: "information", log det of the information matrix, which minimises the volume of the uncertainty
    ellipsoid; "condition", the column-scaled condition number; or "balanced", the most information with a scaled
    condition number of at most ``target``, if that can be reached. ``force_sd`` (nu,): standard deviations of the
    forces' noise, equal by default.
    ``known``: logs, the result of ``fit``, or an information matrix; the motion is then the best in addition to these
    data, measured at ``rate`` (Hz).

    Each of ``starts`` searches, with seeds from ``seed`` on, improves the best of some random motions; the best result
    is returned, and the same seed gives the same motion. ``seconds`` limits all of them, compiling not included.
    ``progress``: True shows a bar.

    >>> import neuler
    >>> from neuler import identify, plan
    >>> arm, slow = neuler.robots.two_link(), plan.within(plan.velocity, 3.0)
    >>> found = identify.excite(arm, 4.0, columns="links", harmonics=3, reach=1.5, limits=[slow])
    >>> found.valid, found.scaled_condition < 4.2
    (True, True)
    """
    require("scipy", "excite: programmes are made with SciPy's sparse matrices", "plan")
    began = time.perf_counter()
    _check_robot(robot)
    T = number("excite: duration", duration, above=0.0, unit="s")
    choice("excite: criterion", criterion, STAGES)
    wanted = number("excite: target", target, above=1.0) if criterion == "balanced" else 0.0
    if not isinstance(rest, bool):
        raise InputError(f"excite: rest must be True or False, got {told(rest)}")
    count = None if harmonics is None else whole("excite: harmonics", harmonics, 1, 100)
    whole("excite: control_points", control_points, DEGREE + 6, 500)
    whole("excite: starts", starts, 1, 1000)
    whole("excite: seed", seed, 0)
    base = _base(robot, columns, known)
    sd = _deviations(robot, force_sd, known)
    M0, measured = (np.zeros((len(base),) * 2), None) if known is None else known_information(known, base, sd)
    if wanted and M0.any():
        wanted = min(wanted, condition_of(M0)[0])  # what is known is not made worse
    samples = T * (number("excite: rate", rate, above=0.0, unit="Hz") if rate is not None else measured or RATE)
    kept = kept_limits(robot, reach, center, (velocity, effort), acceleration, limits, as_rows=count is not None)
    still = Boundary(qd=0.0, qdd=0.0)
    plan = Plan(
        robot,
        least_time(),
        duration=T,
        start=still if rest else None,
        goal=still if rest and count is None else None,
        limits=kept.limits,
        robot_limits=False,
        control_points=control_points,
        degree=DEGREE,
        grid=GRID,
        relations=repeats(*MovingRobot(robot, robot, robot.neutral()).names) if count is None else (),
    )
    plan.notes[:] = [*kept.notes, *plan.notes, *alike_said(base)]
    transcription: Transcription = plan.transcription
    if count is not None:
        transcription = FourierTranscription.of(transcription, count)
    rows = RegressorRows(transcription.phases[0].model, base.names)
    rows.compile()
    transcription.compile()
    transcription.compile_seconds = time.perf_counter() - began
    experiment = Experiment(rows, 1.0 / sd**2, samples, M0)
    settings = SolveOptions(solver, seconds=seconds)
    search = Search(plan, transcription, experiment, base.regressor(), kept, STAGES[criterion], wanted, settings)
    with reporting(progress, f"exciting motion of {robot.name}") as report:
        best, tried = _best(search, range(seed, seed + starts), criterion, report)
    return _figures(search, best, tried, base, sd, kind="spline" if count is None else "fourier", rest=rest)


def _best(search: Search, seeds: range, criterion: str, report: Any) -> tuple[Planned, list[Start]]:
    """The best motion of all starts, and what each of them came to."""
    began, whole_time = time.perf_counter(), search.settings.seconds
    found: list[tuple[Planned, Start]] = []
    for seed in seeds:
        left = None if whole_time is None else whole_time - (time.perf_counter() - began)
        if found and ((left is not None and left <= 0.0) or found[-1][0].status == "interrupted"):
            break
        search.settings = replace(search.settings, seconds=left)
        found.append(search.from_seed(seed, report))
    tried = [start for _, start in found]

    def rank(each: tuple[Planned, Start]) -> tuple[bool, bool, float]:
        start = each[1]
        enough = criterion == "information" or start.scaled_condition <= search.target
        return not start.valid, not enough, -start.log_det if enough else start.scaled_condition

    best, start = min(found, key=rank)
    if not np.isfinite(start.scaled_condition):
        robot = search.plan.robot
        why = "the robot hardly moves within these limits; allow more (velocity=, acceleration=, reach=, limits=)"
        if len(robot.coordinates.own.places) < robot.nq:
            why = "loops do not close everywhere; give a smaller reach=, a center= away from singular positions, or "
            why += "other seeds"
        raise InputError(
            f"excite: along the best motion that was found the regressor is not finite, or singular: {why}"
        )
    return replace(
        best,
        iterations=sum(each.iterations for each in tried),
        seconds=sum(each.seconds for each in tried),
        function_seconds=sum(each.function_seconds for each, _ in found),
    ), tried


def _figures(
    search: Search, best: Planned, tried: list[Start], base: BaseParameters, sd: Array, *, kind: str, rest: bool
) -> ExcitingMotion:
    """The motion with its figures, on a fine grid."""
    count = max(FINE, FINER * len(best.motion.profiles[0].grid))
    t = best.duration * np.arange(count) / count
    W = np.asarray(search.regressor(*best.motion.evaluate(t, 2)))
    experiment = search.experiment
    scaled, plain, log_det = condition_of(experiment.matrix(W))
    known = condition_of(experiment.known)[0] if experiment.known.any() else None
    return ExcitingMotion.of(
        best,
        base=base,
        excitation=excitation(W, base.names, force_sd=sd, most=SHOWN, below=1.0),
        scaled_condition=scaled,
        condition=plain,
        log_det=log_det,
        known_condition=known,
        kind=kind,
        at_rest=rest,
        samples=round(experiment.samples),
        tried=tuple(tried),
    )


# ---- arguments ------------------------------------------------------------------------------------------------------


def _check_robot(robot: Any) -> None:
    """Refuse what cannot be moved along any path by its motors."""
    if not isinstance(robot, Robot):
        raise InputError(f"excite: a robot is needed, got {told(robot)}; neuler.load reads one from a file")
    if not robot.nv:
        raise InputError(f"excite: robot {robot.name!r} has no joint that moves")
    model = MovingRobot(robot, robot, np.asarray(robot.neutral(), dtype=float))
    if model.elastic:
        raise InputError(
            f"excite: robot {robot.name!r} has motors behind springs, whose positions no profile gives; design the "
            "motion for the robot with rigid drives"
        )
    idle = [model.tau_names[k] for k in model.undriven] if not model.dependent else []
    if idle:
        raise InputError(
            f"excite: no motor drives {listed(idle)} of robot {robot.name!r}: a free base or a passive joint does not "
            "follow a path that is chosen; fix the base (a stand), or hold the joint: robot.with_fixed"
        )
    if not model.coordinates.plain:
        raise InputError(
            f"excite: robot {robot.name!r} has spherical joints, whose ranges are not intervals; exciting motions are "
            "for joints with one coordinate"
        )


def _base(robot: Robot, columns: Any, known: Any) -> BaseParameters:
    """Base parameters among the columns; refused are names that no force depends on, but for those by default."""
    if isinstance(known, Identified):
        base = known.base
        if base.robot.coordinates.names("q") != robot.coordinates.names("q"):
            raise InputError(f"excite: known is of another robot, {base.robot.name!r}, than {robot.name!r}")
        if columns == COLUMNS:
            return base if base.robot == robot else taken_as_one(base_parameters(robot, base.columns))
    wanted = names("excite: columns", columns)
    base = base_parameters(robot, wanted)
    lost = set(base.without_effect)
    if not len(base):
        raise no_effect("excite", robot, wanted)
    for name in () if columns == COLUMNS else wanted:
        if lost.issuperset(Kernel(robot, "regressor", columns=(name,)).column_names):
            raise no_effect("excite", robot, (name,))
    return taken_as_one(base)


def _deviations(robot: Robot, force_sd: Any, known: Any) -> Array:
    """Standard deviations of the forces, (nu,)."""
    if force_sd is None:
        return known.estimate.force_sd.copy() if isinstance(known, Identified) else np.ones(robot.nu)
    found = real(force_sd)
    if found is None or found.shape not in ((), (robot.nu,)) or not (np.isfinite(found) & (found > 0.0)).all():
        raise InputError(
            f"excite: force_sd must be one number above zero, or one for each of {robot.nu} forces, got "
            f"{told(force_sd)}"
        )
    return np.broadcast_to(found, (robot.nu,)).astype(float)
