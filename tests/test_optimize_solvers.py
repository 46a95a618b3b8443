"""Solvers of nonlinear programmes: known optima, the conditions of a minimum, and what goes wrong."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hock_schittkowski import INF, OPTIMA, Symbolic, problem
from neuler import InputError
from neuler.optimize import solvers
from neuler.optimize.solvers import ipopt, optimality

HERE = solvers.available()
FUNCTIONS = ("objective", "gradient", "rows", "jacobian", "hessian")


class Changed:
    """A programme with some of its parts replaced."""

    def __init__(self, programme, **parts):
        self.programme, self.parts = programme, parts

    def __getattr__(self, name):
        parts = self.__dict__["parts"]
        return parts[name] if name in parts else getattr(self.__dict__["programme"], name)


def contradicting():
    return Symbolic("x0**2+x1**2", ("x0+x1", "x0-x1**2"), (0.5, 0.5), [(10, INF), (5, INF)], -1, 1)


def test_the_default_is_installed_with_the_extra():
    assert HERE[0] == "ipopt"
    assert "scipy" in HERE
    assert ipopt.version().startswith("3.14")


def test_ipopt_does_not_import_casadi():
    import subprocess

    code = (
        "import sys; sys.path.insert(0, 'tests');"
        "from hock_schittkowski import problem; from neuler.optimize import solvers;"
        "assert solvers.solve(problem('HS71')[0], 'ipopt').status == 'optimal'; print('casadi' in sys.modules)"
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"  # and no banner


@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("solver", HERE)
def test_optimum_of_the_book_and_the_conditions_of_a_minimum(solver, name):
    programme, least = problem(name)
    found = solvers.solve(programme, solver)
    assert found.status == "optimal"
    assert found.solver == solver
    assert found.objective == pytest.approx(least, abs=2e-7 * (1 + abs(least)))
    y, z = found.multipliers, found.bound_multipliers
    gradient = programme.gradient(found.x).copy()
    np.add.at(gradient, programme.jacobian_at[1], programme.jacobian(found.x) * y[programme.jacobian_at[0]])
    scale = 1 + max(np.abs(part).max(initial=0) for part in (y, *z))
    np.testing.assert_allclose(gradient - z[0] + z[1], 0, atol=1e-6 * scale)
    assert z[0].min() >= 0 <= z[1].min()
    assert optimality.complementarity(programme, found.x, found.rows, y, z) < 1e-6 * scale
    assert (found.x >= programme.lower).all()
    assert (found.x <= programme.upper).all()
    assert found.infeasibility < 1e-7
    assert found.objective == programme.objective(found.x)
    np.testing.assert_array_equal(found.rows, programme.rows(found.x))
    assert 0 < found.function_seconds < found.seconds


@pytest.mark.parametrize("solver", HERE)
def test_the_sign_of_the_multipliers_says_which_side_of_a_row_holds(solver):
    low = Symbolic("x0**2+x1**2", ("x0+x1",), (3, 1), [(1, 5)])
    high = Symbolic("-x0-x1+x0**2/100", ("x0+x1",), (0.5, 0.5), [(-5, 1)], -10, 10)
    assert solvers.solve(low, solver).multipliers[0] == pytest.approx(-1, abs=1e-6)
    assert solvers.solve(high, solver).multipliers[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("solver", HERE)
def test_a_fixed_variable_has_a_multiplier(solver):
    programme = Symbolic("(x0-3)**2+(x1-2)**2", ("x0*x1",), (1, 1), [(-INF, 4)], (1, -INF), (1, INF))
    found = solvers.solve(programme, solver)
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-7)
    np.testing.assert_allclose(found.bound_multipliers[1] - found.bound_multipliers[0], [4, 0], atol=1e-6)


@pytest.mark.parametrize("solver", HERE)
def test_a_linear_objective_has_no_second_derivative(solver):
    programme = Symbolic("x0+2*x1", ("x0+x1",), (0.7, 0.7), [(1, INF)], 0, 1)
    assert len(programme.hessian_at[0]) == 0
    np.testing.assert_allclose(solvers.solve(programme, solver).x, [1, 0], atol=1e-6)


def test_without_variables_the_rows_hold_or_not():
    class Nothing:
        n, m = 0, 1
        lower = upper = start = np.empty(0)
        row_lower, row_upper = np.array([1.0]), np.array([2.0])
        jacobian_at = hessian_at = (np.empty(0, int), np.empty(0, int))

        def objective(self, x):
            return 7.0

        def rows(self, x):
            return np.array([self.value])

    programme = Nothing()
    for programme.value, status in ((1.5, "optimal"), (3.0, "infeasible")):
        assert solvers.solve(programme).status == status


@pytest.mark.parametrize("name", ["HS15", "HS71", "HS100"])
@pytest.mark.parametrize("solver", HERE)
def test_a_warm_start_takes_fewer_iterations(solver, name):
    programme, least = problem(name)
    cold = solvers.solve(programme, solver)
    warm = solvers.solve(programme, solver, warm=cold)
    assert warm.status == "optimal"
    assert warm.iterations < cold.iterations
    assert warm.objective == pytest.approx(least, abs=2e-7 * (1 + abs(least)))


def test_a_warm_start_helps_beside_the_solution_too():
    programme, _ = problem("HS100")
    shifted = Changed(programme, row_lower=programme.row_lower + 0.1)
    warm = solvers.solve(shifted, "ipopt", warm=solvers.solve(programme, "ipopt"))
    cold = solvers.solve(shifted, "ipopt")
    assert warm.iterations < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)


@pytest.mark.parametrize("solver", HERE)
def test_rows_that_contradict_each_other(solver):
    found = solvers.solve(contradicting(), solver)
    assert found.status == "infeasible"
    assert found.infeasibility > 8
    assert np.abs(found.x).max() <= 1


@pytest.mark.parametrize("solver", HERE)
def test_functions_that_are_not_finite_at_the_start(solver):
    programme, _ = problem("HS71")
    found = solvers.solve(Changed(programme, rows=lambda x: np.full(2, np.nan)), solver)
    assert found.status == "failed"
    assert "rows" in found.message
    assert found.infeasibility == INF


@pytest.mark.parametrize("solver", HERE)
def test_steps_are_cut_where_a_function_is_not_finite(solver):
    programme = Symbolic("-log(x0)+x0+(x1-1)**2", ("x0+x1",), (3, 3), [(-INF, 10)])  # NaN left of 0
    with np.errstate(invalid="ignore", divide="ignore"):
        found = solvers.solve(programme, solver)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-6)


@pytest.mark.parametrize(("noise", "ends"), [(1e-5, {"acceptable"}), (1e-3, {"failed", "limit"})])
def test_a_minimum_as_good_as_its_numbers_allow_is_acceptable(noise, ends):
    programme, least = problem("HS71")
    random = np.random.default_rng(0)
    noisy = Changed(
        programme,
        objective=lambda x: programme.objective(x) + random.uniform(-noise, noise),
        gradient=lambda x: programme.gradient(x) + random.uniform(-noise, noise, 4),
    )
    found = solvers.solve(noisy, "ipopt", options={"acceptable_iter": 0})
    assert found.status in ends
    assert found.objective == pytest.approx(least, abs=10 * noise)


@pytest.mark.parametrize("solver", HERE)
def test_progress_is_told_and_stops(solver):
    programme, _ = problem("HS100")
    told = []
    solvers.solve(programme, solver, progress=told.append)
    assert [each.iteration for each in told] == list(range(len(told)))
    assert told[-1].objective == pytest.approx(680.63, abs=0.1)
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(told))

    seen = []

    def stopping(each):
        seen.append(each)
        return each.iteration < 3

    found = solvers.solve(programme, solver, progress=stopping)
    assert len(seen) == 4
    assert found.status == "interrupted"
    feasible = [each.objective for each in seen if each.infeasibility < 1e-6]
    assert found.objective == pytest.approx(min(feasible), rel=1e-9)
    assert found.infeasibility < 1e-6


@pytest.mark.parametrize("how", ["raised", "signal"])
@pytest.mark.parametrize("solver", HERE)
def test_an_interruption_keeps_the_best_point(solver, how):
    programme, _ = problem("HS100")
    calls = []

    def rows(x):
        calls.append(x)
        if len(calls) == 9:
            if how == "raised":
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)
        return programme.rows(x)

    found = solvers.solve(Changed(programme, rows=rows), solver)
    assert found.status == "interrupted"
    assert found.objective <= 714
    assert found.infeasibility < 1e-6
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):  # Ctrl-C is Python's again
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("solver", HERE)
def test_what_a_function_raises_comes_out(solver, function, at):
    programme, _ = problem("HS100")
    calls = []

    def broken(*arguments):
        calls.append(arguments)
        if len(calls) == at:
            raise ZeroDivisionError(function)
        return getattr(programme, function)(*arguments)

    options = {"method": "trust-constr"} if solver == "scipy" and function == "hessian" else None
    with pytest.raises(ZeroDivisionError, match=function):
        solvers.solve(Changed(programme, **{function: broken}), solver, options=options)
    assert len(calls) == at


@pytest.mark.parametrize("solver", HERE)
def test_what_progress_raises_comes_out(solver):
    def broken(each):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        solvers.solve(problem("HS71")[0], solver, progress=broken)


@pytest.mark.parametrize("solver", HERE)
def test_limits(solver):
    programme, _ = problem("HS39")
    few = solvers.solve(programme, solver, iterations=3)
    assert (few.status, few.iterations) == ("limit", 3)
    tired = threading.Event()

    def slow(x):
        tired.wait(0.02)
        return programme.rows(x)

    late = solvers.solve(Changed(programme, rows=slow), solver, seconds=0.05)
    assert late.status == "limit"
    assert "s;" in late.message


@pytest.mark.parametrize(
    ("solver", "options", "words"),
    [
        ("ipopt", {"max_itr": 3}, "did you mean 'max_iter'"),
        ("ipopt", {"tol": "small"}, "'tol': expected a number, got 'small'"),
        ("ipopt", {"max_iter": 1.5}, "'max_iter': expected a whole number"),
        ("ipopt", {"mu_strategy": 3}, "'mu_strategy': expected a word"),
        ("ipopt", {"mu_strategy": "clever"}, "does not take 'clever'"),
        ("ipopt", {"tol": -1.0}, "does not take -1"),
        ("scipy", {"gtoll": 1}, "did you mean 'gtol'"),
        ("scipy", {"method": "sqp"}, "slsqp"),
        ("scipy", {"gtol": "a"}, "expected a number"),
        ("uno", {"max_iteration": 3}, "did you mean 'max_iterations'"),
        ("uno", {"linear_solver": "MA57"}, "expected one of MUMPS"),
        ("uno", {"max_iterations": "many"}, "does not take 'many'"),
    ],
)
def test_wrong_options_are_named(solver, options, words):
    if solver not in HERE:
        pytest.skip(f"{solver} is not installed")
    with pytest.raises(InputError, match=words):
        solvers.solve(problem("HS71")[0], solver, options=options)


def test_options_reach_the_solver():
    programme, _ = problem("HS71")
    assert solvers.solve(programme, "ipopt", options={"max_iter": 2}).iterations == 2
    assert solvers.solve(programme, "ipopt", options={"mu_strategy": "monotone", "tol": 1}).status == "optimal"
    small = solvers.solve(programme, "scipy", options={"method": "trust-constr"})
    assert small.iterations > solvers.solve(programme, "scipy", options={"method": "slsqp"}).iterations


def test_solvers_by_name(monkeypatch):
    with pytest.raises(InputError, match="unknown solver 'ipot': did you mean 'ipopt'"):
        solvers.solve(problem("HS71")[0], "ipot")
    find = importlib.util.find_spec
    missing = {"casadi", "unopy"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name in missing else find(name, *a))
    assert solvers.available() == ("scipy",)
    assert solvers.solve(problem("HS71")[0]).solver == "scipy"
    with pytest.raises(InputError, match=r"'ipopt' is not installed: pip install scipy casadi"):
        solvers.solve(problem("HS71")[0], "ipopt")
    with pytest.raises(InputError, match="pip install unopy"):
        solvers.solve(problem("HS71")[0], "uno")
    missing.add("scipy")
    with pytest.raises(InputError, match=r"no solver .* pip install scipy casadi"):
        solvers.solve(problem("HS71")[0])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"start": np.array([1.0, np.nan, 1, 1])}, "start of the programme: expected numbers, got nan at 1"),
        ({"start": np.ones(3)}, r"start of the programme: expected shape \(4,\), got \(3,\)"),
        ({"lower": np.array([1.0, 6, 1, 1])}, "variable 1 leave nothing: from 6 to 5"),
        ({"row_upper": np.array([20.0, 40])}, "row 0 leave nothing: from 25 to 20"),
        ({"hessian_at": (np.array([0]), np.array([1]))}, "lower triangle"),
        ({"jacobian_at": (np.array([2]), np.array([0]))}, "outside the matrix of 2 rows"),
        ({"jacobian_at": (np.array([0]), np.array([0, 1]))}, "one length"),
    ],
)
def test_programmes_without_sense(parts, words):
    with pytest.raises(InputError, match=words):
        solvers.solve(Changed(problem("HS71")[0], **parts))


def test_settings_without_sense():
    programme, _ = problem("HS71")
    for settings, words in (
        ({"tolerance": 0.0}, "tolerance"),
        ({"iterations": 2.5}, "iterations"),
        ({"iterations": -1}, "iterations"),
        ({"seconds": 0}, "seconds"),
        ({"warm": solvers.solve(problem("HS100")[0])}, "warm start: expected 4 variables and 2 rows, got 7 and 4"),
    ):
        with pytest.raises(InputError, match=words):
            solvers.solve(programme, **settings)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("solver", [name for name in HERE if name in ("ipopt", "uno")])
def test_many_solves_leave_nothing_behind(solver):
    n = 300  # a chain: one solve holds about 1 MB
    x = np.arange(n)

    class Chain:
        pass

    chain = Chain()
    chain.n, chain.m = n, n - 1
    chain.lower, chain.upper = np.full(n, -10.0), np.full(n, 10.0)
    chain.row_lower = chain.row_upper = np.full(n - 1, 0.1)
    chain.start = np.linspace(0, 1, n)
    chain.jacobian_at = np.repeat(x[:-1], 2), np.stack([x[:-1], x[1:]], 1).ravel()
    chain.hessian_at = x, x
    chain.objective = lambda v: float(v @ v)
    chain.gradient = lambda v: 2 * v
    chain.rows = lambda v: v[1:] - np.sin(v[:-1])
    chain.jacobian = lambda v: np.stack([-np.cos(v[:-1]), np.ones(n - 1)], 1).ravel()
    chain.hessian = lambda v, w, y: np.full(n, 2.0 * w) + np.append(y, 0) * np.sin(v)

    def several(count):
        for _ in range(count):
            assert solvers.solve(chain, solver).status == "optimal"
        gc.collect()
        return resident()

    several(5)
    before = several(5)
    assert several(40) - before < 8e6  # 40 solves would leave 40 MB


@pytest.mark.parametrize("solver", HERE)
def test_two_threads_at_once(solver):
    found, names = {}, ["HS15", "HS71", "HS100", "HS39"]
    own = {name: OPTIMA[name][0]() for name in names}

    def several(name):
        found[name] = [solvers.solve(own[name], solver).objective for _ in range(10)]

    threads = [threading.Thread(target=several, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        assert found[name] == pytest.approx([OPTIMA[name][1]] * 10, abs=1e-4), name


def test_blas_threads_are_given_back():
    blas = ipopt.THREADS.blas
    if blas is None:
        pytest.skip("no OpenBLAS in this wheel")
    before, inside = blas.openblas_get_num_threads(), []
    solvers.solve(problem("HS71")[0], "ipopt", progress=lambda each: inside.append(blas.openblas_get_num_threads()))
    assert set(inside) == {1}
    assert blas.openblas_get_num_threads() == before


def test_a_solve_within_a_solve():
    inner, outer = problem("HS71")[0], problem("HS100")[0]
    seen = []

    def objective(x):
        seen.append(solvers.solve(inner, "ipopt").objective)
        return outer.objective(x)

    assert solvers.solve(Changed(outer, objective=objective), "ipopt").objective == pytest.approx(680.6300573)
    np.testing.assert_allclose(seen, 17.0140173, rtol=1e-8)


@pytest.mark.skipif("uno" not in HERE, reason="unopy is not installed")
def test_uno_within_uno_is_refused():
    inner, outer = problem("HS71")[0], problem("HS100")[0]
    changed = Changed(outer, objective=lambda x: solvers.solve(inner, "uno").objective)
    with pytest.raises(InputError, match="within a solve"):
        solvers.solve(changed, "uno-sqp")
    assert solvers.solve(inner, "uno").status == "optimal"


def test_no_option_file_of_the_folder_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ipopt.opt").write_text("max_iter 1\n")
    assert solvers.solve(problem("HS71")[0], "ipopt").status == "optimal"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/self/maps")
def test_the_blas_that_ipopt_uses_is_the_one_whose_threads_are_limited():
    """The wheel has several copies of it: another one would be loaded besides, and its threads limited in vain."""
    pytest.importorskip("casadi")
    assert ipopt.THREADS.blas is not None
    ipopt.library(str(ipopt._file("libipopt")))
    maps = Path("/proc/self/maps").read_text()
    files = {line.split()[-1] for line in maps.splitlines() if "libcasadi-tp-openblas" in line}
    assert len(files) == 1
