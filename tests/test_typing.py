"""What a type checker sees: arrays, not Any; and what looking at a robot costs: nothing."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuler
from every_robot import MADE, made
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
print(kernel.operations.mul, kernel.inputs[0].shape)
for finding in robot.check():
    print(finding.severity, finding.message)
spring = robot.with_spring("joint2", 100.0)
reveal_type(spring.integrate(robot.neutral(), np.zeros(6), 0.1))
"""


def test_a_users_script_under_mypy_strict(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    source = str(Path(neuler.__file__).resolve().parent.parent)
    environment = {**os.environ, "MYPYPATH": source}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    lines = [line for line in done.stdout.splitlines() if "script.py" in line]
    assert not [line for line in lines if "error" in line], done.stdout
    revealed = [line for line in lines if "Revealed type" in line]
    assert len(revealed) == SCRIPT.count("reveal_type")
    assert all('"numpy.ndarray[' in line and "float64" in line for line in revealed), revealed


def test_the_types_are_those_of_the_declarations():
    """python -m neuler.quantities.stubs writes them."""
    assert stubs.FILE.read_text(encoding="utf-8") == stubs.signatures()


@pytest.mark.parametrize("name", [*sorted(MADE), "free"])
def test_looking_at_a_robot_compiles_nothing_and_raises_nothing(name):
    robot = neuler.robots.gough_stewart().with_free_base() if name == "free" else made(name).replace(name="looked_at")
    inspect.getmembers(robot)
    for attribute in dir(robot):
        assert hasattr(robot, attribute)
    assert "compiled" not in robot.__dict__


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
