"""Input that cannot be meant: each is refused, or noted, by its name, with what to do."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import neuler
from identify_motions import Fourier
from neuler import FormatError, InputError, identify
from neuler.files.problems import Problem
from neuler.identify import Log, closed_loop
from neuler.identify.excite import _best
from neuler.plan.options import SolveOptions

pytest.importorskip("clarabel")
ROBOT = neuler.robots.two_link().with_parameters(
    {f"{joint}.{part}": x for joint in ("joint1", "joint2") for part, x in (("viscous", 0.1), ("coulomb", 0.2))}
)


@functools.cache
def log(seed=1, name="a", robot=ROBOT):
    """Ten seconds of a two-link arm; 1 % noise."""
    m = Fourier(2, seed, size=3.0)
    tau = np.asarray(robot.inverse_dynamics(m.q, m.qd, m.qdd))
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    return Log(robot, m.t, m.q, tau, name=name)


def changed(weight=1.0, **factors):
    """The same log in other units."""
    a = log()
    return Log(ROBOT, *(getattr(a, key) * factors.get(key, 1.0) for key in ("t", "q", "tau")), weight=weight)


def ready(*args, **options):
    return log(*args).prepare(**options)


# ---- columns of the user's own -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["weighted", "consistent"])
def test_names_of_own_columns_mean_nothing(method):
    a = log()
    tau = a.tau.copy()
    tau[:, 0] -= 3.0 * np.sin(2.0 * a.q[:, 0])
    own = {"cable.stiffness": lambda q, qd, qdd: np.array([np.sin(2.0 * q[0]), 0.0])}
    found = identify.fit(Log(ROBOT, a.t, a.q, tau), own=own, method=method)
    assert abs(found.own["cable.stiffness"] + 3.0) < 0.05
    assert not any("no real robot" in note for note in found.notes)


def test_losses_that_are_no_losses_stay_bounded():
    """The columns for load-dependent friction are the fit's own."""
    a = log()
    found = identify.fit(a, method="consistent", friction="load")
    assert all(x >= 0.0 for name, x in zip(found.estimate.names, found.estimate.values, strict=True) if ".load" in name)


# ---- what is refused ---------------------------------------------------------------------------------------------

TWO = {"b": {"payload:link2.mass": 1.0}}
REFUSED = {
    "no effect": (lambda: identify.fit(log(), columns="link1.mass"), "no force of .* depends on 'link1.mass'"),
    "no gains of it": (
        lambda: identify.drive_gains([log(), log(2, "b")], TWO, columns="link1.mass"),
        "drive_gains: no force",
    ),
    "not simulated": (lambda: closed_loop.didim(log(), None, columns="link1.mass"), "didim: no force"),
    "no regressor": (lambda: ROBOT.base_parameters("link1.mass").regressor(), "no force depends on them"),
    "no columns": (lambda: identify.fit(log(), columns=[]), "fit: columns must be a name or names"),
    "number as columns": (
        lambda: identify.fit(log(), columns=3, friction="coulomb"),
        "fit: columns must be a name or names",
    ),
    "load of ten": (
        lambda: identify.fit(log(), loads={"a": {"payload:link2": 2.0}}),
        "stands for 10 .*'payload:link2.mass'",
    ),
    "load of three": (lambda: identify.fit(log(), loads={"a": {"gravity": 2.0}}), "stands for 3 numbers; give each"),
    "load of six": (
        lambda: identify.drive_gains(log(), {"a": {"joint1.placement": 2.0}}),
        "'joint1.placement' stands for 6",
    ),
    "load of nothing": (lambda: identify.fit(log(), loads={"a": {"tool": 2.0}}), r"loads\['a'\]: robot .* has none"),
    "load by number": (lambda: identify.fit(log(), loads={"a": {1: 2.0}}), "must map names of parameters"),
    "load of two logs": (
        lambda: identify.fit(log(), held_out=log(2, "a"), loads={"a": {"payload:link2.mass": 2.0}}),
        "a fitted and a held-out log are both called 'a'",
    ),
    "already prepared": (lambda: identify.fit(ready(), cutoff=3.0), "fit: cutoff= says how logs are prepared, and all"),
    "misspelt": (lambda: identify.fit(ready(), cutof=3.0), "fit: there is no option 'cutof'; did you mean 'cutoff'"),
    "laws misspelt": (
        lambda: identify.compare_friction(ready(), cutof=3.0),
        "compare_friction: there is no option 'cutof'",
    ),
    "loop misspelt": (
        lambda: closed_loop.input_error(ready(), None, itertions=3),
        "'itertions'; did you mean 'iterations'",
    ),
    "laws of None": (lambda: identify.compare_friction(log(), laws=None), "laws must be a name or names"),
    "instruments of laws": (
        lambda: identify.compare_friction(log(), method="instrumental", instruments=log(2)),
        "method must be one of",
    ),
    "no torques": (lambda: identify.fit(changed(tau=0.0), check=False), "fit: all torques that were measured are zero"),
    "tight prior": (
        lambda: identify.fit(log(), method="bayesian", prior_sd=1e-12),
        "fit: the solver finds nothing with prior_sd=1e-12",
    ),
    "little torques": (
        lambda: identify.fit(changed(tau=1e-200), check=False),
        "fit: no robot of real bodies was found",
    ),
    "great torques": (lambda: changed(tau=1e200), "column 'tau_joint1' has .* which cannot be; what is its unit"),
    "great positions": (lambda: changed(q=1e200), "column 'q_joint1' has"),
    "long steps": (lambda: changed(t=1e300), "samples are 1e.298 s apart, which cannot be"),
    "short steps": (lambda: changed(t=1e-300), "samples are 1e-302 s apart"),
    "no weight": (lambda: changed(weight=1e-320), "weight must be about one"),
    "numbers as logs": (lambda: identify.fit(log(), held_out=np.array([1, 2])), "fit: held_out: logs must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        call()


# ---- friction laws and held-out logs -----------------------------------------------------------------------------


def test_laws_are_judged_on_loaded_runs_of_a_generator():
    a, b = log(), log(2, "b", ROBOT)
    heavy = ROBOT.with_payload("link2", 1.0)
    loaded = Log(ROBOT, b.t, b.q, log(2, "b", heavy).tau, name="b")
    found = identify.compare_friction(
        a, held_out=(each for each in [loaded]), loads={"b": {"payload:link2.mass": 1.0}}, laws=["viscous", "coulomb"]
    )
    assert found.best.name == "coulomb"
    assert all(law.identified.held_out["b"].samples.min() > 0 for law in found.laws)
    assert found.best.held_out() < 3.0


# ---- robots that are given without masses ------------------------------------------------------------------------


def weighing(mass):
    """The arm with a second link of real bodies, and the same as it is given, with links that weigh ``mass``."""
    links = {link: {"mass": 4.0, "mx": 2.0, "xx": 0.05, "yy": 1.3, "zz": 1.3} for link in ("link1", "link2")}
    true = ROBOT.with_parameters({f"{link}.{part}": x for link, parts in links.items() for part, x in parts.items()})
    balls = {link: [mass, 0.0, 0.0, 0.0, *[mass * 1e-4] * 3, 0.0, 0.0, 0.0] for link in links}
    return true, true.with_parameters(balls)


@pytest.mark.parametrize("method", ["consistent", "bayesian"])
def test_robots_without_masses(method):
    """What is usual for an arm of its size is not far off: balls of some grams drew the estimate to themselves."""
    true, given = weighing(0.0)
    a, b = log(1, "a", true), log(2, "b", true)
    found = identify.fit(
        Log(given, a.t, a.q, a.tau, name="a"), method=method, held_out=Log(given, b.t, b.q, b.tau, name="b")
    )
    assert found.held_out["b"].nrmse.max() < 2.0


def test_masses_that_are_far_too_small():
    true, given = weighing(1e-3)
    a = log(1, "a", true)
    found = identify.fit(Log(given, a.t, a.q, a.tau, name="a"), method="bayesian")
    assert any("the given robot draws the estimate away from what was measured" in note for note in found.notes)


# ---- signs of torques --------------------------------------------------------------------------------------------


def test_gains_of_the_wrong_sign():
    robot, a, b = ROBOT, log(), log(2, "b", ROBOT.with_payload("link2", 2.0))
    logs = [Log(robot, each.t, each.q, -each.tau, name=name) for each, name in ((a, "a"), (b, "b"))]
    found = identify.drive_gains(logs, {"b": {"payload:link2.mass": 2.0}}, check=False)
    assert any("the gain of 'joint1' is negative" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "why"), [("two_link", "hardly moves within these limits"), ("four_bar", "loops do not")]
)
def test_motions_without_information(name, why):
    """Why the best motion shows nothing is another thing of trees."""
    nothing = SimpleNamespace(status="solved"), SimpleNamespace(valid=False, scaled_condition=np.inf, log_det=-np.inf)
    plan = SimpleNamespace(robot=getattr(neuler.robots, name)())
    search = SimpleNamespace(settings=SolveOptions(), plan=plan, target=4.2, from_seed=lambda seed, report: nothing)
    with pytest.raises(InputError, match=f"excite: .* singular: .*{why}"):
        _best(search, range(1), "balanced", None)


def test_unknown_keys_of_problem_files_name_every_other_once():
    section = Problem.of_text("[identify]\nzzz = 1\n", ".").root.section("identify")
    section.raw("columns", None)
    section.names("columns", [])
    with pytest.raises(FormatError, match=r"zzz: unknown key; there are 'columns'$"):
        section.done()
