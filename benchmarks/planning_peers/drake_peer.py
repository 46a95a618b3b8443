"""Drake's KinematicTrajectoryOptimization on the UR5's problem: effort bounds at the grid points, IPOPT. Prints JSON.

It bounds velocities by the control points of the velocity, a little tighter than values on a grid.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import xml.etree.ElementTree as xml

import numpy as np
import problems
from pydrake.math import BsplineBasis, KnotVectorType
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.planning import KinematicTrajectoryOptimization
from pydrake.solvers import IpoptSolver, SnoptSolver, SolverOptions
from pydrake.trajectories import BsplineTrajectory


def arm(path: str) -> MultibodyPlant:
    """The URDF without its pictures, every joint driven with the effort of its limit."""
    root = xml.parse(path).getroot()
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for transmission in root.findall("transmission"):
        root.remove(transmission)
    effort = {
        j.get("name"): float(j.find("limit").get("effort")) for j in root.iter("joint") if j.get("type") != "fixed"
    }
    plant = MultibodyPlant(0.0)
    (model,) = Parser(plant).AddModelsFromString(xml.tostring(root, encoding="unicode"), "urdf")
    if "world" not in {link.get("name") for link in root.iter("link")}:
        plant.WeldFrames(plant.world_frame(), plant.get_body(plant.GetBodyIndices(model)[0]).body_frame())
    for name, most in effort.items():
        plant.AddJointActuator(f"motor of {name}", plant.GetJointByName(name), most)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.81])
    plant.Finalize()
    return plant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solver", choices=("ipopt", "snopt"), default="ipopt")
    solver_name = parser.parse_args().solver
    case = problems.UR5
    clock = problems.Clock()
    plant = arm(str(problems.urdf(case["urdf"])))
    n, controls = plant.num_positions(), case["controls"]
    still = np.zeros(n)
    guess = BsplineTrajectory(
        BsplineBasis(problems.DEGREE + 1, controls, KnotVectorType.kClampedUniform, 0.0, 1.0),
        problems.straight(case["start"], case["goal"], controls)[:, :, None],
    )
    trial = KinematicTrajectoryOptimization(n, controls, problems.DEGREE + 1, case["guess"])
    trial.SetInitialGuess(_stretched(guess, case["guess"]))
    trial.AddDurationCost()
    trial.AddDurationConstraint(1e-3, np.inf)
    trial.AddPositionBounds(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits())
    trial.AddVelocityBounds(plant.GetVelocityLowerLimits(), plant.GetVelocityUpperLimits())
    for end, q in ((0, case["start"]), (1, case["goal"])):
        trial.AddPathPositionConstraint(np.array(q), np.array(q), end)
        trial.AddPathVelocityConstraint(still, still, end)
    trial.AddEffortBoundsAtNormalizedTimes(plant, np.linspace(0.0, 1.0, case["points"]))
    build = clock.lap()
    options = SolverOptions()
    options.SetOption(IpoptSolver.id(), "tol", problems.TOLERANCE)
    solver = IpoptSolver() if solver_name == "ipopt" else SnoptSolver()
    found = solver.Solve(trial.prog(), None, options)
    seconds, cpu = clock.lap(), clock.cpu
    path = trial.ReconstructTrajectory(found)
    problems.answer(
        peer="Drake",
        version=importlib.metadata.version("drake"),
        problem="ur5",
        solver=solver_name,
        controls=controls,
        points=case["points"],
        variables=trial.prog().num_vars(),
        build=build,
        solve=seconds,
        total=build + seconds,
        cpu=cpu,
        iterations=None,
        duration=float(path.end_time()),
        status=str(found.get_solution_result()).rpartition(".")[2],
        control_points=np.array(path.control_points())[:, :, 0],
    )


def _stretched(path: BsplineTrajectory, duration: float) -> BsplineTrajectory:
    basis = path.basis()
    return BsplineTrajectory(BsplineBasis(basis.order(), [duration * s for s in basis.knots()]), path.control_points())


if __name__ == "__main__":
    main()
