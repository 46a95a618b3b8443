"""OpenSim's inverse dynamics of the same skeleton, built through its API, and of the same measured forces.

It needs the ``opensim`` package, which is no dependency of neuler: ``pip install opensim``.
"""

import numpy as np
import pytest

from neuler import Link, gait, robots
from random_robots import close

opensim = pytest.importorskip("opensim", reason="OpenSim is not installed: pip install opensim")
pytestmark = pytest.mark.slow


def vector(values):
    return opensim.Vec3(*(float(x) for x in values))


def euler(rotation):
    """Angles of R = R_x(a) R_y(b) R_z(c), as OpenSim orients frames."""
    if abs(rotation[0, 2]) > 1.0 - 1e-12:  # a and c turn about one axis
        return np.array([np.arctan2(rotation[2, 1], rotation[1, 1]), np.arcsin(np.sign(rotation[0, 2])), 0.0])
    return np.array([
        np.arctan2(-rotation[1, 2], rotation[2, 2]),
        np.arcsin(np.clip(rotation[0, 2], -1.0, 1.0)),
        np.arctan2(-rotation[0, 1], rotation[0, 0]),
    ])  # fmt: skip


def aligned(axis, column):
    """A rotation whose column is the axis: OpenSim's pins turn about z, its sliders move along x."""
    first = np.array(axis) / np.linalg.norm(axis)
    other = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    other /= np.linalg.norm(other)
    axes = [first, other, np.cross(first, other)]
    return np.stack([axes[(k - column) % 3] for k in range(3)], axis=1)


def with_masses(robot):
    """Small bodies in the place of links without mass: OpenSim takes no two of them in a row.

    Those between the joints of the pelvis are next to nothing, so that all that weighs hangs behind all six.
    """
    links = []
    for link in robot.links[1:]:
        size = 1e-12 if link.name.startswith("pelvis_after") else 0.05
        small = Link.from_com(
            link.name, mass=size, com=(0.01, -0.02, 0.03), inertia=(4e-3 * size, 6e-3 * size, 8e-3 * size)
        )
        links.append(small if link.mass == 0.0 else link)
    return robot.replace(links=[robot.links[0], *links])


def model_of(robot):
    """Every joint of a robot as a pin or a slider, every link as a body."""
    model = opensim.Model()
    model.setName(robot.name)
    model.setGravity(vector(robot.gravity))
    bodies = {robot.links[0].name: model.getGround()}
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        i = np.array(link.inertia_about_com)
        inertia = opensim.Inertia(*(float(i[k]) for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))
        body = opensim.Body(link.name, float(link.mass), vector(link.com), inertia)
        model.addBody(body)
        turns = joint.kind == "revolute"
        own = aligned(joint.axis, 2 if turns else 0)
        make = opensim.PinJoint if turns else opensim.SliderJoint
        made = make(
            joint.name, bodies[joint.parent], vector(joint.placement.translation),
            vector(euler(np.array(joint.placement.rotation) @ own)), body, vector(np.zeros(3)), vector(euler(own)),
        )  # fmt: skip
        made.updCoordinate().setName(joint.name)
        model.addJoint(made)
        bodies[link.name] = body
    return model


class Theirs:
    """A model in a state, and its torques in our order."""

    def __init__(self, robot):
        self.model = model_of(robot)
        self.state = self.model.initSystem()
        self.coordinates = self.model.getCoordinateSet()
        variables = opensim.createStateVariableNamesInSystemOrder(self.model)
        order = [name.split("/")[-2] for name in variables if name.endswith("/speed")]
        self.ours = [robot.joint_names.index(name) for name in order]
        self.names = robot.joint_names

    def put(self, q, qd):
        for name, x, v in zip(self.names, q, qd, strict=True):
            coordinate = self.coordinates.get(name)
            coordinate.setValue(self.state, float(x), False)
            coordinate.setSpeedValue(self.state, float(v))

    def torques(self, q, qd, qdd):
        self.put(q, qd)
        self.model.realizeVelocity(self.state)
        given = opensim.Vector(len(qdd), 0.0)
        for k, number in enumerate(self.ours):
            given.set(k, float(qdd[number]))
        found = opensim.InverseDynamicsSolver(self.model).solve(self.state, given)
        tau = np.empty(len(qdd))
        tau[self.ours] = [found.get(k) for k in range(len(qdd))]
        return tau


@pytest.mark.parametrize(("sex", "stature", "mass"), [("male", 1.75, 75.0), ("female", 1.62, 58.0)])
def test_opensim_computes_the_same_torques(sex, stature, mass):
    robot = with_masses(robots.human(stature, mass, sex))
    theirs = Theirs(robot)
    assert theirs.model.getTotalMass(theirs.state) == pytest.approx(robot.mass, rel=1e-12)
    random = np.random.default_rng(1)
    for q, qd, qdd in random.normal(size=(6, 3, 55)) * np.array([0.4, 2.0, 10.0])[:, None]:
        close(theirs.torques(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-8)


def test_opensim_finds_the_ground_reaction():
    """What its pelvis coordinates need is our resultant: force, and moment about the pelvis."""
    robot = with_masses(robots.human())
    theirs = Theirs(robot)
    reaction = gait.ground_reaction(robot)
    random = np.random.default_rng(2)
    for q, qd, qdd in random.normal(size=(4, 3, 55)) * np.array([0.3, 1.0, 5.0])[:, None]:
        tau, found = theirs.torques(q, qd, qdd), reaction(q, qd, qdd)
        close(found.force, tau[:3], 1e-8)  # the pelvis's slides are parallel to the axes of the world
        columns = np.asarray(robot.jacobian(q, frame="pelvis", reference="world"))[:, :6]
        place = np.asarray(robot.compile("link_poses", frame="pelvis")(q))[:3, 3]
        moment = np.linalg.solve(columns.T, tau[:6])[3:] + np.cross(place, tau[:3])
        close(found.moment, moment, 1e-8)
