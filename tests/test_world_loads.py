"""Loads in the axes of the base: rotated wrenches, virtual work, Pinocchio, the complex step, Barman, the pass."""

import functools

import numpy as np
import pytest

from neuler import Frame, InputError, Joint, Link, Robot, RobotError, Transform, cli, robots
from neuler.algebra.screw import flat, pair
from neuler.recipes.derivatives import related, touched
from neuler.recipes.quantities import QUANTITIES, recipe
from neuler.recipes.setup import External, fused_tree, whole_tree
from neuler.recursions import barman
from neuler.recursions.frames import wrench_at
from neuler.recursions.hybrid import hybrid
from neuler.trace.graph import count
from neuler.trace.recipe import evaluate, traced
from random_robots import along, close, friction_of, random_robot, random_states

EXACT = 1e-12
STEP = 1e-40
"""Of the complex step: no difference is taken, so it can be this small."""
SEEDS = (0, 2, 5, 6, 12, 20, 29, 32)
each = pytest.mark.parametrize("seed", SEEDS)
some = pytest.mark.parametrize("seed", SEEDS[::2])
"""Where much is compiled."""
many = pytest.mark.parametrize("many", [True, False], ids=["many", "one"])
RATES = ("", "_rate", "_rate2")
LOADED = (
    "inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "bias_force", "reaction_wrenches",
    "inverse_dynamics_rate", "inverse_dynamics_sensitivities", "forward_dynamics_sensitivities",
    "inverse_dynamics_hessian", "reaction_sensitivities",
)  # fmt: skip


@functools.cache
def loaded(seed, many=True):
    """Names to load: of frames on the tip and elsewhere, of links in the middle, behind a fixed joint, of the base."""
    robot = random_robot(seed)
    if not many:
        return ("tool",)
    fixed = [joint.child for joint in robot.joints if not joint.moves]
    links = robot.link_names
    return tuple(dict.fromkeys(("tool", "frame0", links[len(links) // 2], links[0], *fixed[-1:])))


def numbers(size, seed):
    return np.random.default_rng(seed).uniform(-20, 20, size)


@functools.cache
def case(seed, many=True):
    """A robot, its loads, and everything that a kernel may ask for: moving joints, far from their reversal."""
    robot, names = random_robot(seed), loaded(seed, many)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, seed))
    values = {"q": q, "qd": np.where(qd < 0, qd - 0.1, qd + 0.1), "qdd": qdd}
    values |= {name: numbers(robot.nv, seed + k) for k, name in enumerate(("qddd", "qdddd", "tau", "given", "weights"))}
    for k, name in enumerate(names):
        for order, suffix in enumerate(RATES):
            values |= {f"load_{name}{suffix}": numbers(6, 100 + seed + 3 * k + order)}
            values |= {f"wrench_{name}{suffix}": numbers(6, 200 + seed + 3 * k + order)}
    return robot, names, values


def floats(robot, quantity, values, **options):
    """On plain floats."""
    found = evaluate(recipe(robot, quantity, **options), values)
    return found[0] if len(found) == 1 else found


def compiled(robot, quantity, values, **options):
    kernel = robot.compile(quantity, **options)
    return kernel(*(values[operand.name] for operand in kernel.inputs))


def rotation(robot, values, name):
    return floats(robot, "link_poses", values, frame=name)[:3, :3]


def rotated(robot, values, names):
    """Loads as wrenches in the axes of their frames."""
    found = {}
    for name in names:
        force, moment = values[f"load_{name}"].reshape(2, 3) @ rotation(robot, values, name)
        found[f"wrench_{name}"] = np.concatenate([force, moment])
    return found


def agree(found, expected, tolerance=EXACT):
    """One output or several, each on the scale of its largest number."""
    found, expected = (x if isinstance(x, list | tuple) else [x] for x in (found, expected))
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        close(a, b, tolerance, what=f"output {k}")


def test_the_seeds_cover_every_joint_kind_and_place():
    kinds, places, branches = set(), set(), set()
    for seed in SEEDS:
        robot = random_robot(seed)
        parents = robot.antecedents
        branches.add(len(set(parents)) < len(parents))
        for name in loaded(seed):
            number = robot.locate(name)[0]
            places.add("base" if not number else "middle" if number in parents else "end")
            kinds.add(robot.joints[number - 1].kind if number else None)
    assert kinds == {None, "revolute", "prismatic", "fixed"}
    assert places == {"base", "middle", "end"}
    assert branches == {True, False}
    turned = [np.abs(np.array(whole_tree(random_robot(seed)).base.rotation) - np.eye(3)).max() for seed in SEEDS]
    assert max(turned) > 0.5, "no robot whose base is turned from its canonical frame"


# ---- physics ---------------------------------------------------------------------------------------------

PLAIN = [
    ("inverse_dynamics", {}),
    ("inverse_dynamics", {"reactions": True}),
    ("forward_dynamics", {"reactions": True}),
    ("forward_dynamics", {"method": "nasser", "reactions": True}),
    ("forward_dynamics", {"method": "walker_orin"}),
    ("hybrid_dynamics", {"motion": "half", "reactions": True}),
    ("reaction_wrenches", {}),
    ("bias_force", {}),
]


@many
@each
@pytest.mark.parametrize(("quantity", "options"), PLAIN, ids=["-".join([q, *o]) for q, o in PLAIN])
def test_a_load_is_a_rotated_wrench(seed, many, quantity, options):
    """Alone, and beside wrenches on the same frames."""
    robot, names, values = case(seed, many)
    options = {k: robot.joint_names[::2] if v == "half" else v for k, v in options.items()}
    wrenches = rotated(robot, values, names)
    expected = floats(robot, quantity, values | wrenches, external=names, **options)
    agree(floats(robot, quantity, values, loads=names, **options), expected)
    wrenches = {name: wrench + values[name] for name, wrench in wrenches.items()}
    expected = floats(robot, quantity, values | wrenches, external=names, **options)
    agree(floats(robot, quantity, values, external=names, loads=names, **options), expected)


@each
def test_virtual_work(seed):
    """Loads act by the transposed Jacobian of their frames in the axes of the base."""
    robot, names, values = case(seed)
    expected = floats(robot, "inverse_dynamics", values)
    for name in names:
        jacobian = floats(robot, "jacobian", values, frame=name, reference="world")
        expected = expected - jacobian.T @ values[f"load_{name}"]
    agree(floats(robot, "inverse_dynamics", values, loads=names), expected)


@each
def test_the_ground_bears_all_loads(seed):
    """Row 0: less all forces, less their moments about the origin of the base."""
    robot, names, values = case(seed)
    expected = floats(robot, "reaction_wrenches", values)[0]
    for name in names:
        force, moment = values[f"load_{name}"].reshape(2, 3)
        point = floats(robot, "link_poses", values, frame=name)[:3, 3]
        expected = expected - np.concatenate([force, moment + np.cross(point, force)])
    agree(floats(robot, "reaction_wrenches", values, loads=names)[0], expected)


def path(robot, values, names, seed):
    """t -> what a kernel may ask for, along polynomials through the state of ``values``, loads changing too."""

    def curve(*start):
        rest = np.random.default_rng(seed).uniform(-1, 1, (6 - len(start), len(start[0])))
        pieces = [np.polynomial.Polynomial(c) for c in np.vstack([*start, *rest]).T]
        return lambda t, order: np.array([piece.deriv(order)(t) if order else piece(t) for piece in pieces])

    motion = curve(values["q"], values["qd"])
    pulls = {name: curve(values[f"load_{name}"], values[f"load_{name}_rate"]) for name in names}

    def at(t):
        found = {name: motion(t, k) for k, name in enumerate(("q", "qd", "qdd", "qddd", "qdddd"))}
        return found | {f"load_{n}{s}": pull(t, k) for n, pull in pulls.items() for k, s in enumerate(RATES)}

    return at


@each
def test_power_balance(seed):
    """What the drives and the loads give is what the robot gains: energy, and friction's heat."""
    robot, names, values = case(seed)
    at = path(robot, values, names, seed)
    now = at(0.0)
    given = (floats(robot, "inverse_dynamics", now, loads=names) - friction_of(robot, now["qd"])) @ now["qd"]
    for name in names:
        jacobian = floats(robot, "jacobian", now, frame=name, reference="world")
        given = given + now[f"load_{name}"] @ jacobian @ now["qd"]
    gained = along(lambda t: np.sum(floats(robot, "energy", at(t))))
    close(given, gained, 1e-9, scale=max(abs(gained), 10.0))


@each
def test_forces_have_a_potential_and_moments_have_none(seed):
    """A force's part of d(tau)/dq is a Hessian. A moment's is felt by joints that others turn, not by those others."""
    robot, names, values = case(seed)
    bare = floats(robot, "inverse_dynamics_sensitivities", values)[0]
    parts = []
    for kept in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]):
        pushed = values | {f"load_{name}": values[f"load_{name}"] * kept for name in names}
        parts.append(floats(robot, "inverse_dynamics_sensitivities", pushed, loads=names)[0] - bare)
    forces, moments = parts
    close(forces, forces.T, EXACT, scale=np.abs([forces, bare]).max())
    assert np.abs(forces).max() > 0.1
    carried = np.tril(moments, -1)
    carried[:, [joint.kind == "prismatic" for joint in robot.moving_joints]] = 0.0
    close(moments, carried, EXACT, scale=np.abs([moments, bare]).max())
    assert (np.abs(carried).max() > 1.0) == (seed != 6), "of random6 no hinge carries another"


def test_a_pendulum_by_hand():
    """A weight hung at the tip, in a base that lies on its side: tau = f l sin q, and its derivatives."""
    reach, pull = 0.5, 30.0
    robot = Robot(
        "pendulum",
        [Link("base"), Link.from_com("arm", mass=2.0, com=(0.2, 0, 0), inertia=(0, 0.1, 0.1))],
        [Joint("hinge", "revolute", "base", "arm", Transform(), (0, 1, 0))],
        gravity=(0, 0, 0),
        frames=[Frame("tip", "arm", Transform.from_rpy((reach, 0, 0), (0.3, 0.2, 0.1)))],
    )
    load, q, qd = [pull, 0, 0, 0, 0, 0], 0.7, 1.3  # along the base's x; the tip is at (cos q, 0, -sin q) reach
    tau = robot.compile("inverse_dynamics", loads="tip")([q], [0.0], [0.0], load)
    np.testing.assert_allclose(tau, [pull * reach * np.sin(q)], rtol=1e-14)
    slope = robot.compile("inverse_dynamics_sensitivities", loads="tip")([q], [0.0], [0.0], load)[0]
    np.testing.assert_allclose(slope, [[pull * reach * np.cos(q)]], rtol=1e-14)
    rate = robot.compile("inverse_dynamics_rate", loads="tip")([q], [qd], [0.0], [0.0], load, [7.0, 0, 0, 0, 0, 0])[1]
    np.testing.assert_allclose(rate, [reach * (pull * np.cos(q) * qd + 7.0 * np.sin(q))], rtol=1e-14)


# ---- Pinocchio -------------------------------------------------------------------------------------------


@each
def test_pinocchio(seed):
    """Torques, and by differences of sixth order their sensitivities: forces of the world turned at every position."""
    pin = pytest.importorskip("pinocchio")
    from pinocchio_model import from_robot, positions, velocities

    robot, names, values = case(seed)
    robot = robot.without_friction()
    model = from_robot(robot)
    data = model.createData()

    def theirs(q, qd, qdd):
        state = positions(robot, model, q[None])[0], *(velocities(robot, model, x[None])[0] for x in (qd, qdd))
        pin.framesForwardKinematics(model, data, state[0])
        forces = [pin.Force.Zero() for _ in model.joints]
        for name in names:
            frame = model.getFrameId(name)
            there = pin.SE3(np.eye(3), data.oMf[frame].translation)  # at the frame's origin, in the axes of the world
            joint = model.frames[frame].parentJoint
            forces[joint] += data.oMi[joint].actInv(there.act(pin.Force(values[f"load_{name}"])))
        tau = pin.rnea(model, data, *state, forces)
        return np.array([tau[model.joints[model.getJointId(name)].idx_v] for name in robot.joint_names])

    state = [values[name] for name in ("q", "qd", "qdd")]
    agree(floats(robot, "inverse_dynamics", values, loads=names), theirs(*state), 1e-11)
    found = floats(robot, "inverse_dynamics_sensitivities", values, loads=names)
    for which, matrix in enumerate(found):
        columns = []
        for unit in np.eye(robot.nv):
            moved = lambda t, unit=unit: [x + t * unit if k == which else x for k, x in enumerate(state)]  # noqa: B023, E731
            columns.append(along(lambda t, moved=moved: theirs(*moved(t))))
        agree(matrix, np.stack(columns, -1), 1e-8)


# ---- our own ---------------------------------------------------------------------------------------------


def by_complex_step(robot, names, values):
    """d/dq, d/dqd, d/dqdd of torques and of reactions in the links' frames, at constant components in the base."""
    tree, outside = whole_tree(robot), External(names, names)
    placed = [tree.frames[name] for name in tree.link_names]
    torques, reactions = [], []
    for name in ("q", "qd", "qdd"):
        columns = []
        for i in range(tree.dof):
            moved = {key: x.tolist() for key, x in values.items()}
            moved[name][i] += 1j * STEP
            state = (moved[key] for key in ("q", "qd", "qdd"))
            solved = hybrid(tree, *state, [True] * tree.dof, outside.applied(tree, moved))
            felt = [flat(wrench_at(placement, solved.reactions[number])) for number, placement in placed]
            columns.append((np.imag(solved.coordinates) / STEP, np.imag(felt) / STEP))
        torques.append(np.stack([tau for tau, _ in columns], -1))
        reactions.append(np.stack([felt for _, felt in columns], -1))
    return torques, reactions


@many
@each
def test_sensitivities_are_the_complex_step(seed, many):
    robot, names, values = case(seed, many)
    torques, reactions = by_complex_step(robot, names, values)
    agree(floats(robot, "inverse_dynamics_sensitivities", values, external=names, loads=names), torques)
    agree(floats(robot, "reaction_sensitivities", values, external=names, loads=names), reactions)


@each
def test_sensitivities_are_barmans(seed):
    robot, names, values = case(seed)
    tree = whole_tree(robot)
    base, given = np.array(tree.base.rotation), {}
    for name in names:
        number, placement = tree.frames[name]
        force, moment = (tuple(x) for x in (values[f"load_{name}"].reshape(2, 3) @ base.T).tolist())
        given.setdefault(number, []).append(barman.GlobalLoad(force, moment, placement.translation))
    theirs = barman.sensitivities(tree, *(values[name].tolist() for name in ("q", "qd", "qdd")), None, given)
    expected = [np.array(x) for x in (theirs.dtau_dq, theirs.dtau_dqd, theirs.dtau_dqdd)]
    agree(floats(robot, "inverse_dynamics_sensitivities", values, loads=names), expected)
    found = floats(robot, "reaction_sensitivities", values, loads=names)
    tables = [np.array(x) for x in (theirs.dreaction_dq, theirs.dreaction_dqd, theirs.dreaction_dqdd)]
    for mine, table in zip(found, tables, strict=True):
        for link, name in enumerate(tree.link_names):
            number, placement = tree.frames[name]
            columns = [flat(wrench_at(placement, pair(column))) for column in table[number].T.tolist()]
            close(mine[link], np.array(columns).T, EXACT, float(np.abs(table).max()), name)


@some
def test_the_recursion_is_the_pass(seed):
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    expected = compiled(robot, "inverse_dynamics_sensitivities", values, method="pass", **options)
    for method in ("recursion", "cheapest"):
        agree(compiled(robot, "inverse_dynamics_sensitivities", values, method=method, **options), expected)


@each
def test_forward_sensitivities(seed):
    """The chain rule through M^-1, at the acceleration that the loads cause; and differences."""
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    found = floats(robot, "forward_dynamics_sensitivities", values, **options)
    qdd = floats(robot, "forward_dynamics", values, **options)
    dq, dqd, mass = floats(robot, "inverse_dynamics_sensitivities", values | {"qdd": qdd}, **options)
    tolerance = max(EXACT, 1e-15 * float(np.linalg.cond(mass)))
    agree(found, [-np.linalg.solve(mass, dq), -np.linalg.solve(mass, dqd), np.linalg.inv(mass)], tolerance)
    moved = lambda t, unit: values | {"q": values["q"] + t * unit}  # noqa: E731
    columns = [
        along(lambda t, unit=unit: floats(robot, "forward_dynamics", moved(t, unit), **options), step=1e-3)
        for unit in np.eye(robot.nv)
    ]
    agree(found[0], np.stack(columns, -1), 1e-6)


@pytest.mark.parametrize("seed", [0, 6])
def test_hessian(seed):
    """Of weights . tau: the slope of the weighted sensitivities."""
    robot, names, values = case(seed)
    found = compiled(robot, "inverse_dynamics_hessian", values, loads=names)
    state = np.concatenate([values[name] for name in ("q", "qd", "qdd")])

    def slope(x):
        moved = values | dict(zip(("q", "qd", "qdd"), x.reshape(3, -1), strict=True))
        return values["weights"] @ np.hstack(floats(robot, "inverse_dynamics_sensitivities", moved, loads=names))

    columns = [along(lambda t, unit=unit: slope(state + t * unit)) for unit in np.eye(len(state))]
    agree(found, np.stack(columns, -1), 1e-8)


# ---- rates -----------------------------------------------------------------------------------------------


@many
@each
def test_rate_along_a_path(seed, many):
    robot, names, values = case(seed, many)
    at = path(robot, values, names, seed)
    tau, rate = floats(robot, "inverse_dynamics_rate", at(0.0), loads=names)
    agree(tau, floats(robot, "inverse_dynamics", at(0.0), loads=names))
    expected = along(lambda t: floats(robot, "inverse_dynamics", at(t), loads=names))
    close(rate, expected, 1e-9)


@some
def test_rates_are_the_pass_along_the_motion(seed):
    """tau is linear in the loads; the rest is the Jacobian that the pass made. Wrenches on the same frames too."""
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    dq, dqd, dqdd = compiled(robot, "inverse_dynamics_sensitivities", values, method="pass", **options)
    expected = dq @ values["qd"] + dqd @ values["qdd"] + dqdd @ values["qddd"]
    given = ["wrench_tool", *(f"load_{name}" for name in names)]
    push = [
        floats(robot, "inverse_dynamics", values | {name: values[f"{name}_rate"] * scale for name in given}, **options)
        for scale in (1.0, 0.0)
    ]
    _, rate = floats(robot, "inverse_dynamics_rate", values, **options)
    close(rate, expected + push[0] - push[1], EXACT, max(np.abs(x).max() for x in (expected, *push)))


@pytest.mark.parametrize("seed", [0, 6])
def test_second_rate(seed):
    robot, names, values = case(seed)
    at = path(robot, values, names, seed)
    kernel = robot.compile("inverse_dynamics_rate", loads=names, order=2)
    asked = ["q", "qd", "qdd", "qddd", "qdddd", *(f"load_{name}{suffix}" for suffix in RATES for name in names)]
    assert [operand.name for operand in kernel.inputs] == asked
    now = at(0.0)
    tau, rate, rate2 = kernel(*(now[name] for name in asked))
    agree([tau, rate], floats(robot, "inverse_dynamics_rate", now, loads=names))
    close(rate2, along(lambda t: floats(robot, "inverse_dynamics_rate", at(t), loads=names)[1]), 1e-9)


# ---- sparse, compiled, counted ---------------------------------------------------------------------------


@each
@pytest.mark.parametrize("quantity", ["inverse_dynamics_sensitivities", "reaction_sensitivities"])
def test_sparse(seed, quantity):
    """Loads act on no pair of joints, and no link, that nothing else acts on."""
    robot, names, values = case(seed)
    made = recipe(robot, quantity, loads=names, sparse=True)
    torque = quantity.startswith("inverse")
    pattern = related(fused_tree(robot)) if torque else touched(whole_tree(robot))
    dense = floats(robot, quantity, values, loads=names)
    for operand, entries, whole in zip(made.outputs, evaluate(made, values), dense, strict=True):
        assert list(zip(*made.structure[operand.name], strict=True)) == pattern
        places = whole if torque else np.swapaxes(whole, 1, 2)
        spread = np.zeros_like(places)
        for place, entry in zip(pattern, entries, strict=True):
            spread[place] = entry
        np.testing.assert_array_equal(spread, places)


def test_whatever_takes_wrenches_takes_loads():
    for option in ("external", "loads"):
        assert set(LOADED) == {name for name, make in QUANTITIES.items() if option in (make.__kwdefaults__ or {})}


@pytest.mark.parametrize("quantity", [name for name in LOADED if name != "inverse_dynamics_hessian"])
def test_compiled_is_floats(quantity):
    """A batch, on the robot whose wrist slides."""
    robot = robots.stanford().with_frame("tool", "link6", Transform.from_rpy((0.1, 0.2, 0.3), (1.0, 0.5, 0.2)))
    kernel = robot.compile(quantity, external="tool", loads=("link3", "tool"))
    assert [x.name for x in kernel.inputs if "_rate" not in x.name][-3:] == ["wrench_tool", "load_link3", "load_tool"]
    arrays = [numbers((5, *operand.shape), k) / 10 for k, operand in enumerate(kernel.inputs)]
    found = kernel(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for k, row in enumerate(zip(*arrays, strict=True)):
        named = dict(zip((operand.name for operand in kernel.inputs), row, strict=True))
        agree([x[k] for x in found], evaluate(kernel.recipe, named))


def work(robot, quantity, **options):
    counted = count(traced(recipe(robot, quantity, **options))[1])
    return counted["mul"] + counted["add"]


def test_operations():
    """A load costs two vectors carried outward; many share the base's axes. Of eight general joints."""
    robot = robots.general_chain(8)
    plain, wrench = work(robot, "inverse_dynamics"), work(robot, "inverse_dynamics", external="link8")
    one = work(robot, "inverse_dynamics", loads="link8")
    all_links = work(robot, "inverse_dynamics", loads=robot.link_names[1:])
    assert one - wrench <= 24 * 8
    assert all_links - plain <= 588
    sensitivities = {"method": "recursion", "external": "link8"}
    plain = work(robot, "inverse_dynamics_sensitivities", **sensitivities)
    loaded = work(robot, "inverse_dynamics_sensitivities", **sensitivities, loads="link8")
    assert loaded - plain <= 1031


# ---- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", LOADED)
@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ("nowhere", "loads: .*no link or frame 'nowhere'"),
        (("link1", "nowhere"), "loads: .*no link or frame 'nowhere'"),
        (("link1", "link1"), "loads: a frame is named twice"),
        (3, "'loads' must be a name or a list of names, got 3"),
        (None, "'loads' must be a name or a list of names, got None"),
        (True, "'loads' must be a name or a list of names, got True"),
        (("link1", 3), "'loads' must be"),
        ({"link1": 1.0}, "'loads' must be"),
    ],
)
def test_wrong_options_are_refused(quantity, loads, message):
    with pytest.raises((InputError, RobotError), match=message):
        robots.two_link().compile(quantity, loads=loads)


@pytest.mark.parametrize("quantity", ["mass_matrix", "gravity_force", "link_poses", "energy", "link_motions"])
def test_quantities_without_loads_refuse_them(quantity):
    with pytest.raises(InputError, match="unknown option 'loads'"):
        robots.two_link().compile(quantity, loads="link1")


def test_wrong_arrays_are_refused():
    kernel = robots.two_link().compile("inverse_dynamics", loads=("link1", "link2"))
    good = [np.zeros(2)] * 3 + [np.zeros(6)] * 2
    kernel(*good)
    with pytest.raises(InputError, match="expected load_link2 with last axis 6"):
        kernel(*good[:4], np.zeros(5))
    with pytest.raises(InputError, match="takes 5 arrays"):
        kernel(*good[:4])
    with pytest.raises(InputError, match="real numbers"):
        kernel(*good[:4], np.zeros(6, dtype=complex))
    assert np.isnan(kernel(*good[:4], np.full(6, np.nan))).any()


def test_frames_whose_names_collide_are_refused():
    robot = robots.two_link().with_frame("tool_rate", "link1")
    with pytest.raises(InputError, match="two inputs would be named 'load_tool_rate'"):
        robot.compile("inverse_dynamics_rate", loads=("tool", "tool_rate"))


def test_the_command_line_takes_loads(tmp_path):
    """Names with commas between them, a column a component."""
    robot = robots.two_link()
    columns = ["q1", "q2", "qd1", "qd2", *(f"load_{link}[{k}]" for link in ("link1", "link2") for k in range(6))]
    values = np.linspace(0.1, 1.0, len(columns))
    (tmp_path / "in.csv").write_text(",".join(columns) + "\n" + ",".join(map(str, values)) + "\n")
    files = ["--in", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.npz")]
    assert cli.main(["eval", "bias_force", "two_link", *files, "--option", "loads=link1,link2"]) == 0
    with np.load(tmp_path / "out.npz") as found:
        expected = robot.compile("bias_force", loads=("link1", "link2"))(*np.split(values, [2, 4, 10]))
        np.testing.assert_array_equal(found["bias"][0], expected)
