"""OpenSim Moco on Barman 4.1: direct collocation (Hermite-Simpson, implicit off), CasADi's IPOPT. Prints JSON."""

from __future__ import annotations

import argparse

import numpy as np
import opensim as osim
import problems


def arm() -> osim.Model:
    """Two rods in a plane without gravity, a coordinate actuator on each joint."""
    p = problems.TWO_LINK
    model = osim.Model()
    model.setName("two_link")
    model.setGravity(osim.Vec3(0))
    parent, at = model.getGround(), osim.Vec3(0)
    for k in range(2):
        # about the centre of mass; the axes across the plane's normal do not move
        body = osim.Body(f"link{k}", p["mass"], osim.Vec3(-p["length"] / 2, 0, 0), osim.Inertia(1, 1, p["inertia"]))
        model.addBody(body)
        joint = osim.PinJoint(f"joint{k}", parent, at, osim.Vec3(0), body, osim.Vec3(-p["length"], 0, 0), osim.Vec3(0))
        coordinate = joint.updCoordinate()
        coordinate.setName(f"q{k}")
        model.addJoint(joint)
        motor = osim.CoordinateActuator()
        motor.setCoordinate(coordinate)
        motor.setName(f"motor{k}")
        motor.setOptimalForce(1)
        motor.setMinControl(-p["torque"])
        motor.setMaxControl(p["torque"])
        model.addForce(motor)
        parent, at = body, osim.Vec3(0)
    model.finalizeConnections()
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--intervals", type=int, default=100)
    parser.add_argument(
        "--scheme", default="hermite-simpson", choices=("hermite-simpson", "trapezoidal", "legendre-gauss-3")
    )
    a = parser.parse_args()
    osim.Logger.setLevelString("error")
    case = problems.TWO_LINK
    clock = problems.Clock()
    study = osim.MocoStudy()
    problem = study.updProblem()
    problem.setModel(arm())
    problem.setTimeBounds(osim.MocoInitialBounds(0), osim.MocoFinalBounds(0.01, 2.0))
    for k in range(2):
        name = f"/jointset/joint{k}/q{k}"
        problem.setStateInfo(f"{name}/value", osim.MocoBounds(-4, 4), case["start"][k], case["goal"][k])
        problem.setStateInfo(f"{name}/speed", osim.MocoBounds(-50, 50), 0, 0)
        problem.setControlInfo(f"/forceset/motor{k}", osim.MocoBounds(-case["torque"], case["torque"]))
    problem.addGoal(osim.MocoFinalTimeGoal())
    solver = study.initCasADiSolver()
    solver.set_num_mesh_intervals(a.intervals)
    solver.set_transcription_scheme(a.scheme)
    solver.set_optim_convergence_tolerance(problems.TOLERANCE)
    solver.set_optim_constraint_tolerance(problems.TOLERANCE)
    solver.set_parallel(0)
    solver.set_verbosity(0)
    build = clock.lap()
    found = study.solve()
    seconds, cpu = clock.lap(), clock.cpu
    if found.isSealed():
        found.unseal()
    problems.answer(
        peer="OpenSim Moco",
        version=osim.GetVersion(),
        problem="two_link",
        scheme=a.scheme,
        intervals=a.intervals,
        build=build,
        solve=seconds,
        total=build + seconds,
        cpu=cpu,
        iterations=found.getNumIterations(),
        duration=float(found.getFinalTime()),
        status=found.getStatus(),
        torque=float(np.abs(found.getControlsTrajectoryMat()).max()),
    )


if __name__ == "__main__":
    main()
