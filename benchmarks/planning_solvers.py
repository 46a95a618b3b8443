"""Solvers of nonlinear programmes on the planner's own: the same programme, start and tolerance for each.

    python benchmarks/planning_solvers.py [--only NAME ...] [--tasks 10] [--seconds 60] [--rounds 3]

Every candidate is a process of its own, since some are not to be loaded together; one that is not installed has no row.
The objective tells whether the same minimum was found. Times are of the processor, the least of the rounds: the
programme is posed and its kernels are compiled before. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler import plan
from neuler.optimize import solvers
from neuler.optimize.programme import Programme, infeasibility
from neuler.optimize.solvers import ipopt
from neuler.optimize.solvers.watching import Watched

TOLERANCE, ITERATIONS = 1e-8, 500
UR5_ENDS = (-0.8, -1.9, 1.6, -1.3, -1.5, 0.0), (0.8, -0.9, 0.7, -0.9, -1.0, 1.0)


# ---- programmes -------------------------------------------------------------------------------------------------


class Caught(Exception):
    """The programme of a plan, on its way to a solver."""


def programme(stated: plan.Plan) -> Programme:
    """What a plan hands to its solver first."""

    def catch(problem: Programme, *_arguments: Any, **_options: Any) -> Any:
        raise Caught(problem)

    solve, solvers.solve = solvers.solve, catch
    try:
        stated.solve()
    except Caught as caught:
        return caught.args[0]
    finally:
        solvers.solve = solve
    raise AssertionError("no programme was solved")


def two_link(control_points: int) -> plan.Plan:
    limits = [plan.within(plan.torque, 10.0)]
    arm = neuler.robots.two_link()
    return plan.Plan(arm, start=[0, -2], goal=[1, -1], limits=limits, control_points=control_points)


def prismatic_revolute() -> plan.Plan:
    """A task of its own, not Barman's 4.2."""
    arm = neuler.robots.prismatic_revolute()
    objective = plan.duration() + 0.01 * plan.effort()
    limits = [plan.within(plan.torque, 10.0)]
    return plan.Plan(arm, objective, start=[0.1, 0.6], goal=[0.5, 0.0], limits=limits, control_points=20)


def ur5() -> neuler.Robot:
    package = metadata.distribution("example-robot-data")
    path = "cmeel.prefix/share/example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"
    return neuler.load(Path(str(package.locate_file(path))), floating="fixed")


def ur5_rates() -> plan.Plan:
    limits = [plan.within(plan.torque_rate, 1500.0)]
    return plan.Plan(ur5(), start=UR5_ENDS[0], goal=UR5_ENDS[1], limits=limits, control_points=20)


def ur5_peak() -> plan.Plan:
    return plan.Plan(
        ur5(), plan.peak(plan.torque), start=UR5_ENDS[0], goal=UR5_ENDS[1], duration=1.5, control_points=20
    )


def stewart() -> plan.Plan:
    robot = neuler.robots.gough_stewart()
    start = np.asarray(robot.neutral(), float)
    goal = np.asarray(robot.assemble([0.35, 0.5, 1.1, 0, 0, np.sin(0.1), np.cos(0.1)], guess=start).q)
    return plan.Plan(robot, start=start, goal=goal, limits=[plan.within(plan.torque, 200.0)], control_points=12)


def task(seed: int) -> plan.Plan:
    start, goal = np.random.default_rng(seed).uniform(-1.5, 1.5, (2, 6))
    return plan.Plan(ur5(), start=start, goal=goal, control_points=20)


PROBLEMS: dict[str, Callable[[], plan.Plan]] = {
    "4.1, 20": lambda: two_link(20),
    "4.1, 80": lambda: two_link(80),
    "PR arm": prismatic_revolute,
    "UR5 time": lambda: plan.Plan(ur5(), start=UR5_ENDS[0], goal=UR5_ENDS[1], control_points=20),
    "UR5 rates": ur5_rates,
    "UR5 effort": lambda: plan.Plan(
        ur5(), plan.effort(), start=UR5_ENDS[0], goal=UR5_ENDS[1], duration=1.5, control_points=20
    ),
    "UR5 peak": ur5_peak,
    "Stewart": stewart,
}
"""Control points: of 4.1 as said, of the others 20 (Stewart 12)."""


# ---- candidates -------------------------------------------------------------------------------------------------


def ours(name: str, threads: int = 1, **options: Any) -> Callable[[Programme, float], dict[str, Any]]:
    def solve(problem: Programme, seconds: float) -> dict[str, Any]:
        if threads > 1:
            set_threads = ipopt.THREADS.blas.openblas_set_num_threads
            ipopt.THREADS.users = 1  # as if somebody had set them already
            set_threads(threads)
        found = solvers.solve(
            problem, name, tolerance=TOLERANCE, iterations=ITERATIONS, seconds=seconds, options=options or None
        )
        return {
            "status": found.status, "objective": found.objective, "infeasibility": found.infeasibility,
            "iterations": found.iterations, "functions": found.function_seconds,
        }  # fmt: skip

    return solve


def judged(watched: Watched, x: Any, solved: bool, iterations: int) -> dict[str, Any]:
    x = np.clip(np.asarray(x, float).ravel(), watched.programme.lower, watched.programme.upper)
    spent = watched.function_seconds
    return {
        "status": "optimal" if solved else "failed", "objective": watched.objective(x),
        "infeasibility": infeasibility(watched.programme, x, np.asarray(watched.rows(x))), "iterations": iterations,
        "functions": spent,
    }  # fmt: skip


def nlpsol(problem: Programme, seconds: float) -> dict[str, Any]:
    """CasADi's own way to its IPOPT: every function a callback of CasADi's."""
    import casadi

    n, m = problem.n, problem.m
    watched = Watched(problem, None, TOLERANCE, None)
    column, one = casadi.Sparsity.dense(n, 1), casadi.Sparsity.dense(1, 1)
    multipliers = casadi.Sparsity.dense(m, 1)

    def pattern(i: Any, j: Any, rows: int) -> tuple[Any, Any]:
        """The pattern, and where CasADi's order of its entries is in ours."""
        order = np.lexsort((i, j))
        return casadi.Sparsity.triplet(rows, n, i[order].tolist(), j[order].tolist()), order

    jacobian, jacobian_order = pattern(*problem.jacobian_at, m)
    i, j = problem.hessian_at
    hessian, hessian_order = pattern(j, i, n)  # the upper triangle

    class Called(casadi.Callback):
        def __init__(self, name: str, inputs: Any, outputs: Any, body: Any):
            casadi.Callback.__init__(self)
            self.inputs, self.outputs, self.body = inputs, outputs, body
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.inputs)

        def get_n_out(self) -> int:
            return len(self.outputs)

        def get_sparsity_in(self, k: int) -> Any:
            return self.inputs[k]

        def get_sparsity_out(self, k: int) -> Any:
            return self.outputs[k]

        def eval(self, arguments: Any) -> Any:
            return self.body(*[np.array(argument.nonzeros()) for argument in arguments])

    empty = casadi.Sparsity(0, 1)
    inputs = [column, empty]
    f = Called("f", [column], [one], lambda x: [watched.objective(x)])
    g = Called("g", [column], [multipliers], lambda x: [casadi.DM(np.asarray(watched.rows(x)))])
    gradient = Called(
        "grad_f", inputs, [one, column], lambda x, _: [watched.objective(x), casadi.DM(np.asarray(watched.gradient(x)))]
    )
    slopes = Called(
        "jac_g", inputs, [multipliers, jacobian],
        lambda x, _: [
            casadi.DM(np.asarray(watched.rows(x))), casadi.DM(jacobian, np.asarray(watched.jacobian(x))[jacobian_order])
        ],
    )  # fmt: skip
    second = Called(
        "hess_lag", [column, empty, one, multipliers], [hessian],
        lambda x, _, w, y: [casadi.DM(hessian, np.asarray(watched.hessian(x, float(w[0]), y))[hessian_order])],
    )  # fmt: skip
    x = casadi.MX.sym("x", n)
    settings = {**ipopt.DEFAULTS, "tol": TOLERANCE, "constr_viol_tol": 1e-6, "max_iter": ITERATIONS}
    del settings["option_file_name"]
    solver = casadi.nlpsol(
        "s", "ipopt", {"x": x, "f": f(x), "g": g(x)},
        {
            "grad_f": gradient, "jac_g": slopes, "hess_lag": second,
            "print_time": False, "no_nlp_grad": True, "show_eval_warnings": False,
            "ipopt": {**settings, "max_wall_time": seconds},
        },
    )  # fmt: skip
    found = solver(x0=problem.start, lbx=problem.lower, ubx=problem.upper, lbg=problem.row_lower, ubg=problem.row_upper)
    return judged(watched, found["x"], solver.stats()["success"], int(solver.stats()["iter_count"]))


def ipyopt(problem: Programme, seconds: float) -> dict[str, Any]:
    """The wheel with IPOPT 3.12 and the reference BLAS."""
    import ipyopt as library

    watched = Watched(problem, None, TOLERANCE, None)
    counted = [0]

    def into(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any, out: Any) -> Any:
            out[()] = function(x)
            return out

        return call

    def hessian(x: Any, multipliers: Any, weight: float, out: Any) -> Any:
        out[()] = watched.hessian(x, weight, np.array(multipliers))
        return out

    def every(*arguments: Any) -> bool:
        counted[0] = int(arguments[1])
        return True

    bounds = [np.clip(v, -2e19, 2e19) for v in (problem.lower, problem.upper, problem.row_lower, problem.row_upper)]
    settings = {**ipopt.DEFAULTS, "tol": TOLERANCE, "constr_viol_tol": 1e-6, "max_iter": ITERATIONS}
    del settings["option_file_name"]
    solver = library.Problem(
        n=problem.n, x_l=bounds[0], x_u=bounds[1], m=problem.m, g_l=bounds[2], g_u=bounds[3],
        sparsity_indices_jac_g=problem.jacobian_at, sparsity_indices_h=problem.hessian_at,
        eval_f=watched.objective, eval_grad_f=into(watched.gradient), eval_g=into(watched.rows),
        eval_jac_g=into(watched.jacobian), eval_h=hessian, intermediate_callback=every,
        ipopt_options={**settings, "max_cpu_time": seconds},
    )  # fmt: skip
    x, _, status = solver.solve(np.array(problem.start))
    return judged(watched, x, status == 0, counted[0])


LIBRARY = {"mumps_pivot_order": 7, "mumps_permuting_scaling": 7, "mumps_scaling": 77}
CANDIDATES: dict[str, tuple[str, Callable[[Programme, float], dict[str, Any]]]] = {
    "ipopt": ("casadi", ours("ipopt")),
    "ipopt, MUMPS as IPOPT sets it": ("casadi", ours("ipopt", **LIBRARY)),
    "ipopt, two BLAS threads": ("casadi", ours("ipopt", threads=2)),
    "ipopt, monotone barrier": ("casadi", ours("ipopt", mu_strategy="monotone")),
    "ipopt, bounds relaxed by 1e-8": ("casadi", ours("ipopt", bound_relax_factor=1e-8)),
    "ipopt by nlpsol": ("casadi", nlpsol),
    "ipopt 3.12 (ipyopt)": ("ipyopt", ipyopt),
    "uno": ("unopy", ours("uno")),
    "uno-sqp": ("unopy", ours("uno-sqp")),
    "scipy": ("scipy", ours("scipy")),
}
"""By name: the package it needs, and the solve."""


# ---- measuring --------------------------------------------------------------------------------------------------


def measured(solve: Callable[..., dict[str, Any]], stated: plan.Plan, seconds: float, rounds: int) -> dict[str, Any]:
    problem = programme(stated)
    x = np.asarray(problem.start)
    problem.hessian(x, 1.0, np.ones(problem.m))  # compiled
    problem.jacobian(x)
    found: dict[str, Any] = {}
    for _ in range(rounds):
        began = time.process_time()
        each = solve(problem, seconds)
        each["seconds"] = time.process_time() - began
        if not found or each["seconds"] < found["seconds"]:
            found = each
        if each["seconds"] > 10:
            break
    return {**found, "n": problem.n, "m": problem.m}


def candidate(name: str, seconds: float, rounds: int, tasks: int) -> Iterator[tuple[str, dict[str, Any]]]:
    solve = CANDIDATES[name][1]
    for title, make in PROBLEMS.items():
        yield title, measured(solve, make(), seconds, rounds)
    for seed in range(tasks):
        yield f"task {seed}", measured(solve, task(seed), seconds, 1)


def figures(name: str, a: argparse.Namespace) -> dict[str, dict[str, Any]]:
    command = [sys.executable, __file__, "--candidate", name, "--seconds", str(a.seconds), "--rounds", str(a.rounds)]
    done = subprocess.run([*command, "--tasks", str(a.tasks)], capture_output=True, text=True, check=False)
    lines = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
    if done.returncode > 0:
        raise SystemExit(f"{name}: {done.stderr}")
    if done.returncode:
        print(f"{name}: ended by signal {-done.returncode}", file=sys.stderr)
    return dict(lines)


def cell(found: dict[str, Any] | None, least: float) -> str:
    if found is None:
        return "crashed"
    words = f"{found['iterations']}, {1e3 * found['seconds']:.0f} ms"
    if found["status"] not in ("optimal", "acceptable"):
        return f"{found['status']} ({words})"
    higher = found["objective"] > least + 1e-4 * (1 + abs(least))
    return words + (f" (objective {found['objective']:.5g})" if higher else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidate", choices=CANDIDATES, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", choices=CANDIDATES)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    a = parser.parse_args()
    if a.candidate:
        for title, found in candidate(a.candidate, a.seconds, a.rounds, a.tasks):
            print("@" + json.dumps((title, found)), flush=True)
        return
    names = [name for name in a.only or CANDIDATES if util.find_spec(CANDIDATES[name][0])]
    rows = {name: figures(name, a) for name in names}
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, IPOPT {ipopt.version()}")
    print(", ".join(f"{n} {metadata.version(n)}" for n in ("casadi", "scipy", "unopy", "ipyopt") if util.find_spec(n)))
    least = {
        title: min(
            (row[title]["objective"] for row in rows.values() if title in row and row[title]["infeasibility"] < 1e-6),
            default=np.inf,
        )
        for title in [*PROBLEMS, *(f"task {seed}" for seed in range(a.tasks))]
    }
    one = next(iter(rows.values()))
    sizes = " | ".join(f"{title} ({one[title]['n']}, {one[title]['m']})" for title in PROBLEMS if title in one)
    print(f"\n| solver | {sizes} | tasks solved | median |\n|---|{'---|' * (len(PROBLEMS) + 2)}")
    for name, row in rows.items():
        tasks = [row[f"task {seed}"] for seed in range(a.tasks) if f"task {seed}" in row]
        good = sum(each["status"] in ("optimal", "acceptable") for each in tasks)
        middle = f"{1e3 * statistics.median(each['seconds'] for each in tasks):.0f} ms" if tasks else "-"
        cells = " | ".join(cell(row.get(title), least[title]) for title in PROBLEMS)
        print(f"| {name} | {cells} | {good} of {a.tasks} | {middle} |")


if __name__ == "__main__":
    main()
