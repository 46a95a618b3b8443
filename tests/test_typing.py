"""What a type checker sees: arrays, not Any; and what looking at a robot costs: nothing."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import neuler
from every_robot import MADE, made
from neuler.kernels import stored_code
from neuler.quantities import reference, stubs
from neuler.quantities.catalogue import QUANTITIES

SCRIPT = """
import neuler
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

robot = neuler.robots.puma560()
q = np.zeros(robot.nq)
qd = np.zeros((1000, robot.nv))
tau: Array = robot.inverse_dynamics(q, qd, qd)
qdd = robot.forward_dynamics(q=q, qd=qd, tau=tau)
reveal_type(qdd)
kinetic, potential = robot.energy(q, qd)
total = robot.energy(q, qd).kinetic + potential
reveal_type(total)
mass = robot.mass_matrix(q)
print(mass.shape, mass @ qdd[0])
dq, dqd, dqdd = robot.inverse_dynamics_sensitivities(q, qd, qdd)
reveal_type(dq)
points = robot.link_poses(q)[..., :3, 3]
loaded = robot.with_payload(robot.tip, 2.0).with_gravity((0, 0, -1.62))
reveal_type(loaded.gravity_force(q))
arm = neuler.load("arm.urdf", mimic="independent")
names: tuple[str, ...] = arm.joint_names
machine = neuler.robots.four_bar()
found = machine.assemble([1.0])
reveal_type(found.q)
where: Array = machine.random_configuration(0, 100)
print(machine.mobility.freedoms, machine.nq, machine.nv, machine.nu, where.shape)
kernel = robot.compile("jacobian", frame="hand", reference="world")
reveal_type(kernel(q))
print(kernel.operations.mul, kernel.inputs[0].shape)
reveal_type(robot.jacobian(q, frame="hand", reference="world"))
reveal_type(robot.inverse_dynamics(q, qd, qd, external={"hand": np.zeros(6)}, loads="hand"))
pushed, reactions = robot.inverse_dynamics(q, qd, qd, reactions=True)
reveal_type(reactions)
reveal_type(robot.forward_dynamics(q, qd, tau, reactions=True).reactions)
single: NDArray[np.float32] = robot.inverse_dynamics(q, qd, qd, dtype="float32")
torque = robot.inverse_dynamics.bind()
torque.q[:] = 0.5
reveal_type(torque.tau)
run = neuler.simulate(robot, lambda t, q, qd: -qd, (q, None), 1.0)
reveal_type(run.q)
run.plot().savefig("run.png")
rolled = robot.rollout(q, q, None, 1e-3, steps=10)
reveal_type(rolled.q)
goal = robot.inverse_kinematics(np.eye(4), frame="hand")
reveal_type(goal.q)
print(goal.converged.all())
reveal_type(neuler.function(lambda x: x, {"x": 3}).jacobian("x"))
neuler.view.draw(robot).axes[0].set_title("arm")
for finding in robot.check():
    print(finding.severity, finding.message)
spring = robot.with_spring("joint2", 100.0)
reveal_type(spring.integrate(robot.neutral(), np.zeros(6), 0.1))
"""


MISTAKES = """
import neuler

robot = neuler.robots.puma560()
robot.inverse_dynamics([0.0], [0.0])
robot.jacobian([0.0], reference=3)
robot.rnea
neuler.simulate(robot)
"""


ROOT = Path(neuler.__file__).resolve().parents[2]
COMMANDS = {
    "mypy": ["mypy", "--strict", "--cache-dir", "cache"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


def scripts(folder):
    """What is checked, by name; one call of a checker takes long, so that all of them go at once."""
    notebook = nbformat.read(ROOT / "examples" / "from_robotics_toolbox.ipynb", as_version=4)
    found = {
        "script.py": SCRIPT,
        "mistakes.py": MISTAKES,
        "notebook.py": "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code"),
        "pinocchio.py": (ROOT / "examples" / "from_pinocchio.py").read_text(),
    }
    for name, text in found.items():
        (folder / name).write_text(text)
    return list(found)


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_what_type_checkers_see(checker, tmp_path):
    """In a user's script types of results, in a wrong one every mistake, in the examples nothing."""
    names = scripts(tmp_path)
    source = str(ROOT / "src")
    environment = {**os.environ, "MYPYPATH": source, "PYTHONPATH": source}
    command = [sys.executable, "-m", *COMMANDS[checker], *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    lines = {name: [line for line in done.stdout.splitlines() if f"{name}:" in line] for name in names}
    for name in ("script.py", "notebook.py", "pinocchio.py"):
        assert not [line for line in lines[name] if "error" in line], lines[name]
    wrong = {int(line.partition(".py:")[2].partition(":")[0]) for line in lines["mistakes.py"] if "error" in line}
    assert wrong == {5, 6, 7, 8}, done.stdout
    revealed = [line for line in lines["script.py"] if "Revealed type" in line or "Type of" in line]
    assert len(revealed) == SCRIPT.count("reveal_type")
    arrays = [line for line in revealed if "ndarray[" in line and "Function" not in line]
    assert len(arrays) == len(revealed) - 1
    assert sum("float64" in line for line in arrays) >= len(arrays) - 1  # a bound array may be of either precision


def test_the_types_are_those_of_the_declarations():
    """python -m neuler.quantities.stubs writes them."""
    assert stubs.FILE.read_text(encoding="utf-8") == stubs.signatures()


@pytest.mark.parametrize("name", [*sorted(MADE), "free"])
def test_looking_at_a_robot_compiles_nothing_and_raises_nothing(name):
    robot = neuler.robots.gough_stewart().with_free_base() if name == "free" else made(name).replace(name="looked_at")
    inspect.getmembers(robot)
    for attribute in dir(robot):
        assert hasattr(robot, attribute)
    assert not stored_code(robot)


def test_help_says_what_a_verb_is():
    robot = neuler.robots.two_link()
    assert "Khalil (12)" in (inspect.getdoc(robot.inverse_dynamics) or "")
    assert "Khalil (12)" in (neuler.Robot.inverse_dynamics.__doc__ or "")
    assert list(inspect.signature(robot.inverse_dynamics).parameters)[:3] == ["q", "qd", "qdd"]


def test_the_page_of_quantities_is_that_of_the_declarations():
    """python -m neuler.quantities.reference > docs/quantities.md writes it."""
    text = (Path(__file__).resolve().parent.parent / "docs" / "quantities.md").read_text(encoding="utf-8")
    assert text == reference.page()
    arguments = {name for quantity in QUANTITIES.values() for name in quantity.arguments}
    assert arguments <= set(reference.ARGUMENTS)
