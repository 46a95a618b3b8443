"""The rooms of the house: imports point downwards, and what each room alone may ask of a robot."""

import ast
import contextlib
import functools
import gc
from pathlib import Path

import neuler
from neuler.robot.kinds import KINDS

SOURCE = Path(neuler.__file__).parent
ORDER = (
    "version", "errors", "naming", "elsewhere", "extras", "dask_arrays", "foreign_arrays", "tables", "inputs",
    "plain", "progress", "tolerances", "trace", "algebra", "robot", "formats", "robots", "passes", "recursions",
    "structure", "quantities", "compiler", "export", "diagnose", "batches", "bound", "dask_calls", "compiled",
    "functions", "math", "kernels", "wrapping", "jax", "torch", "solve", "rollouts", "workers", "optimize", "files",
    "verbs", "layouts", "peers", "speed", "bench", "view", "control", "moments", "motions", "simulation", "timing",
    "plan", "gait", "identify", "tasks", "studies", "cli",
)  # fmt: skip
"""From the ground up: none imports from a room above it."""
LAZY = {("verbs.py", "view"), ("motions/motion.py", "simulation")}
"""Imports upwards, inside a function, that are allowed: a notebook asks a robot for a picture of itself; a motion of
any kind is replayed by a simulation, whose runs are motions themselves."""
ENTRANCES = ("__init__.py", "__main__.py")
"""Of the package itself: they import everything."""
FILES = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
ROOMS = [file for file in FILES if file not in ENTRANCES]


def room_of(file):
    return file.partition("/")[0].removesuffix(".py")


@contextlib.contextmanager
def no_garbage():
    """Millions of nodes that all stay: looking for garbage among them again and again took longer than the rest."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@functools.cache
@no_garbage()
def nodes(file):
    """All nodes of a file, but what stands under ``if TYPE_CHECKING``."""
    found, pending = [], [ast.parse((SOURCE / file).read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            pending.extend(node.orelse)
            continue
        found.append(node)
        for part in vars(node).values():
            if isinstance(part, ast.AST):
                pending.append(part)
            elif isinstance(part, list):
                pending.extend(each for each in part if isinstance(each, ast.AST))
    return found


def imported(file):
    """Rooms that a file imports from, at its head or inside a function; "." for a relative import, "" for all."""
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                yield "."
                continue
            package, _, rest = (node.module or "").partition(".")
            if package == "neuler":
                yield from [rest.partition(".")[0]] if rest else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, _, rest = alias.name.partition(".")
                if package == "neuler":
                    yield rest.partition(".")[0]


def test_every_room_has_its_place():
    assert len(set(ORDER)) == len(ORDER)
    assert {room_of(file) for file in FILES if file not in ENTRANCES} == set(ORDER)


def test_imports_point_downwards():
    wrong = []
    for file in ROOMS:
        here = ORDER.index(room_of(file))
        for room in imported(file):
            if room not in ORDER:
                wrong.append(f"{file}: imports {room!r}, which is no room")
            elif ORDER.index(room) > here and (file, room) not in LAZY:
                wrong.append(f"{file}: imports from {room}, which is above it")
    for file, room in LAZY:
        if room not in imported(file):
            wrong.append(f"{file}: no longer imports {room}")
        heads = [
            node.module or ""
            for node in ast.parse((SOURCE / file).read_text()).body
            if isinstance(node, ast.ImportFrom)
        ]
        if any(head.startswith(f"neuler.{room}") for head in heads):
            wrong.append(f"{file}: imports {room} at its head")
    assert not wrong, "\n".join(wrong)


# ---- programmes without robots -----------------------------------------------------------------------------------

WITHOUT_ROBOTS = ("trace", "algebra", "compiler", "export", "workers", "optimize")


def test_some_rooms_know_no_robots():
    """What they do is done for any function: programmes, processes, code."""
    above = ("robot", "robots", "quantities", "kernels", "verbs", "plan")
    here = [file for file in ROOMS if room_of(file) in WITHOUT_ROBOTS]
    wrong = [f"{file}: imports {room}" for file in here for room in imported(file) if room in above]
    assert not wrong, "\n".join(wrong)


# ---- one kind of robot ---------------------------------------------------------------------------------

GONE = ("Mechanism", "ParallelRobot", "MachineWatch", "mechanism_of", "tree_of")


def test_no_room_asks_which_class_a_robot_has():
    """There is one class; ``isinstance(x, Robot)`` only tells a robot from what is none."""
    wrong = []
    for file in ROOMS:
        every = nodes(file)
        names = {node.id for node in every if isinstance(node, ast.Name)}
        names |= {node.attr for node in every if isinstance(node, ast.Attribute)}
        wrong += [f"{file}: {name}" for name in sorted(names & set(GONE))]
        refusals = [node.operand for node in every if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)]
        calls = [node for node in every if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        for call in (call for call in calls if call.func.id == "isinstance"):
            asked = {part.id for part in ast.walk(call.args[1]) if isinstance(part, ast.Name)}
            if "Robot" in asked and call not in refusals:
                wrong.append(f"{file}, line {call.lineno}: {ast.unparse(call)}")
    assert not wrong, "\n".join(wrong)


# ---- who knows of loops and couplings --------------------------------------------------------------------

LOOPS = {
    "robot": "what they are",
    "formats": "read and written",
    "structure": "analysed: mobility, the chart, the lift",
    "quantities": "which recipe, and who must refuse",
    "diagnose": "what the doctor and the watch say of them",
    "kernels": "which watch a kernel gets",
    "solve": "closed",
    "rollouts": "positions within a step are closed, events of open loops",
    "files": "states of a file are closed, columns of independent joints",
    "verbs": "assemble refuses robots without",
    "layouts": "no other library's coordinates have them",
    "peers": "no other library computes them",
    "speed": "states to measure with are closed ones",
    "view": "drawn and told",
    "moments": "dependent positions of loops are inputs of a moment",
    "motions": "samples of loops are interpolated along closed positions",
    "simulation": "starts are closed ones, gaps are audited",
    "plan": "profiles are of independent joints, the others are closed",
    "control": "forces of loops are shared among motors; references are of independent joints",
}  # fmt: skip
"""Rooms that may read ``robot.loops`` and ``robot.couplings``, and why. Recursions and passes see trees alone."""


def test_recursions_know_no_loops():
    """Every room that reads them may, and every room that may does."""
    readers, wrong = set(), []
    for file in FILES:
        read = {node.attr for node in nodes(file) if isinstance(node, ast.Attribute)} & {"loops", "couplings"}
        if read:
            readers.add(room_of(file))
            if room_of(file) not in LOOPS:
                wrong.append(f"{file}: reads {', '.join(sorted(read))}")
    wrong += [f"{room}: no longer reads them" for room in LOOPS if room not in readers]
    assert not wrong, "\n".join(wrong)


# ---- who knows kinds of joints by their names ------------------------------------------------------------

NAMED_KINDS = ("robot/kinds/", "formats/", "robots/", "peers/", "layouts.py", "structure/loops.py")
"""``structure/loops.py`` has the kinds of cut joints, some of which are called like joints."""


def test_kinds_of_joints_are_asked_what_they_can_do():
    """No ``joint.kind == "revolute"``: ``joint.type`` says what a kind does, so that a new kind is one new file."""
    wrong = []
    for file in ROOMS:
        if file.startswith(NAMED_KINDS):
            continue
        for node in nodes(file):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                texts = {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
                asked = [side for side in sides if isinstance(side, ast.Attribute) and side.attr == "kind"]
                if asked and texts & set(KINDS):
                    wrong.append(f"{file}, line {node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


# ---- who counts coordinates ------------------------------------------------------------------------------

COUNTERS = {
    "robot/coordinates.py": "the table itself",
    "layouts.py": "Layout.nq counts the positions of another library",
}
"""Files that may add up the sizes of joints, and why; so may the kinds, which have these sizes."""
SIZES = {"nq", "nv"}


def _has_size(node):
    return any(isinstance(part, ast.Attribute) and part.attr in SIZES for part in ast.walk(node))


def _leaves(node):
    """What a sum, a difference or a product is made of."""
    if isinstance(node, ast.BinOp):
        return [*_leaves(node.left), *_leaves(node.right)]
    return [node]


def _is_sum_of_sizes(node):
    """Whether sizes stand in it as numbers, not as the lengths of lists."""
    leaves = _leaves(node)
    sizes = [leaf for leaf in leaves if isinstance(leaf, ast.Attribute) and leaf.attr in SIZES]
    return bool(sizes) and not any(isinstance(leaf, ast.List | ast.ListComp | ast.Tuple) for leaf in leaves)


def _pairs(node):
    """(target, value) of an assignment, those of tuples one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _adds_up(node):
    """``at += joint.nq``, ``at = at + joint.nq``, ``sum(joint.nq ...)``, and the like of NumPy and itertools."""
    if isinstance(node, ast.AugAssign):
        return _is_sum_of_sizes(node.value)
    if isinstance(node, ast.Assign):
        return any(
            _is_sum_of_sizes(value) and ast.unparse(target) in [ast.unparse(leaf) for leaf in _leaves(value)]
            for target, value in _pairs(node)
        )
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("sum", "fsum", "cumsum", "accumulate") and _has_size(node)
    return False


def test_nobody_else_adds_up_nq_or_nv():
    """``robot.coordinates`` has the slices, and ``slices(joints)`` those of joints without a robot."""
    wrong = []
    for file in FILES:
        if file not in COUNTERS and not file.startswith("robot/kinds/"):
            found = [node for node in nodes(file) if _adds_up(node)]
            wrong += [f"{file}, line {node.lineno}: {ast.unparse(node)}" for node in found]
    wrong += [f"{file}: no longer adds up" for file in COUNTERS if not any(map(_adds_up, nodes(file)))]
    assert not wrong, "\n".join(wrong)


def test_sums_of_sizes_are_recognised():
    bad = ["at += joint.nq", "q, v = q + joint.nq, v + joint.nv", "at = joint.nq + at", "self.at += 2 * joint.nv"]
    bad += ["n = sum(joint.nv for joint in joints)", "edges = np.cumsum([joint.nq for joint in joints])"]
    good = [
        "n = robot.nq + robot.nv",
        "found += [0.0] * joint.nq",
        "x = np.zeros(robot.nv)",
        "x = q[at : at + joint.nq]",
    ]
    for text in bad + good:
        assert any(map(_adds_up, ast.walk(ast.parse(text)))) == (text in bad), text
