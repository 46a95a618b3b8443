"""Denavit-Hartenberg tables: the standard convention and Khalil's modified one for trees."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import FormatError, RobotError
from neuler.formats.strict import refuse_errors
from neuler.inputs import number, told, vector
from neuler.naming import closest
from neuler.robot import Frame, Joint, Limits, Link, Robot
from neuler.robot.link import inertia6
from neuler.robot.transform import Transform
from neuler.tables import records

KINDS = ("revolute", "prismatic", "fixed")
"""Kinds of joints, at the places of Khalil's sigma."""
COLUMNS = {"standard": ("theta", "d", "a", "alpha"), "khalil": ("alpha", "d", "theta", "r")}
"""Of a table of numbers: the order in which the transform of a row takes them."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """What both conventions say about a joint and the link that it carries."""

    offset: float = 0.0
    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = (0.0, 0.0, 0.0)
    limits: Any = field(default_factory=Limits)
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_reverse: float | None = None
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    name: str = ""
    link: str = ""

    _numbers: ClassVar[tuple[str, ...]] = ("offset", "mass", "viscous", "coulomb", "rotor_inertia", "gear_ratio")

    def __post_init__(self) -> None:
        for key in self._numbers:
            object.__setattr__(self, key, _number(key, getattr(self, key)))
        if self.coulomb_reverse is not None:
            object.__setattr__(self, "coulomb_reverse", _number("coulomb_reverse", self.coulomb_reverse))
        object.__setattr__(self, "com", _numbers("com", self.com, 3))
        object.__setattr__(self, "inertia", _inertia(self.inertia))
        object.__setattr__(self, "limits", _limits(self.limits))
        for key in ("name", "link"):
            if not isinstance(getattr(self, key), str):
                raise FormatError(f"{key} must be text, got {told(getattr(self, key))}")

    def body(self, name: str) -> Link:
        """The link, in the frame that the row defines."""
        return Link.from_com(name, mass=self.mass, com=self.com, inertia=self.inertia)

    def joint(self, name: str, kind: str, parent: str, child: str, placement: Transform) -> Joint:
        return Joint(
            name,
            kind,
            parent,
            child,
            placement,
            limits=self.limits,
            viscous=self.viscous,
            coulomb=self.coulomb,
            coulomb_reverse=self.coulomb_reverse,
            rotor_inertia=self.rotor_inertia,
            gear_ratio=self.gear_ratio,
        )


@dataclass(frozen=True, kw_only=True)
class DHRow(_Row):
    """A row of a standard table: Rot(z, theta) Tran(z, d) Tran(x, a) Rot(x, alpha), in rad and m.

    The coordinate is added to ``theta`` (revolute) or ``d`` (prismatic), and so is ``offset``.
    ``mass`` (kg); ``com`` (m) and ``inertia`` about it (kg m^2: a diagonal, six numbers xx, yy, zz,
    xy, xz, yz, or a matrix) in the row's DH frame at the link's far end. ``viscous`` (N m s/rad or
    N s/m), ``coulomb`` and ``coulomb_reverse`` (N m or N), ``rotor_inertia`` (kg m^2 or kg), all on
    the joint's side of the gear. ``limits``: a :class:`Limits` or (lower, upper). ``name`` names
    the joint, ``link`` the link.

    >>> DHRow(a=0.4, mass=0.5, com=(-0.2, 0, 0)).kind
    'revolute'
    """

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    kind: str = "revolute"

    _numbers: ClassVar[tuple[str, ...]] = (*_Row._numbers, "theta", "d", "a", "alpha")

    def __post_init__(self) -> None:
        super().__post_init__()
        _kind(self.kind)


@dataclass(frozen=True, kw_only=True)
class KhalilRow(_Row):
    """A row of Khalil's table (Khalil 2.1), in rad and m; the link's frame is the row's frame.

    ``Rot(z, gamma) Tran(z, b) Rot(x, alpha) Tran(x, d) Rot(z, theta) Tran(z, r)``, Khalil (1), from
    the frame of the ``antecedent``: a link's number (0 is the base, row j carries link j) or name;
    the row before if not given. ``sigma``: 0 revolute, 1 prismatic, 2 fixed; the coordinate is added
    to ``theta`` or ``r``, and so is ``offset``.

    The body: ``mass``, ``com``, ``inertia`` about it as in :class:`DHRow`, or Khalil's parameters
    ``M`` (kg), ``MS`` = (MX, MY, MZ) (kg m), ``J`` = (XX, XY, XZ, YY, YZ, ZZ) about the frame's
    origin (kg m^2). The other fields are those of :class:`DHRow`; a mapping may also call
    rotor_inertia, coulomb, viscous by Khalil's names Ia, Fs, Fv.

    >>> KhalilRow(sigma=1, theta=-1.5707963267948966, M=4.25, MS=(0, 0, -2.74)).sigma
    1
    """

    antecedent: int | str | None = None
    sigma: int = 0
    gamma: float = 0.0
    b: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    r: float = 0.0
    M: float | None = None
    MS: Any = None
    J: Any = None

    _numbers: ClassVar[tuple[str, ...]] = (*_Row._numbers, "gamma", "b", "alpha", "d", "theta", "r")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", _sigma(self.sigma))
        khalil = [key for key in ("M", "MS", "J") if getattr(self, key) is not None]
        plain = [key for key in ("mass", "com", "inertia") if any(np.atleast_1d(getattr(self, key)))]
        if khalil and plain:
            raise FormatError(f"{plain[0]!r} and {khalil[0]!r} describe the body in two ways; keep one")
        if khalil:
            object.__setattr__(self, "M", _number("M", self.M or 0.0))
            object.__setattr__(self, "MS", _numbers("MS", (0.0, 0.0, 0.0) if self.MS is None else self.MS, 3))
            object.__setattr__(self, "J", _numbers("J", (0.0,) * 6 if self.J is None else self.J, 6))

    def body(self, name: str) -> Link:
        """The link, in the frame that the row defines."""
        if self.M is None:
            return super().body(name)
        xx, xy, xz, yy, yz, zz = self.J
        return Link(name, self.M, self.MS, (xx, yy, zz, xy, xz, yz))


Row = Mapping[str, Any] | DHRow | KhalilRow
ROWS: dict[str, type[DHRow | KhalilRow]] = {"standard": DHRow, "khalil": KhalilRow}
"""The type of a table's rows, by the name of the convention."""

_ALIASES = {"Ia": "rotor_inertia", "Fs": "coulomb", "Fv": "viscous"}
_ALIASES |= {alias.upper(): key for alias, key in _ALIASES.items()}


def from_dh(
    rows: Iterable[Row] | ArrayLike,
    *,
    convention: str = "standard",
    name: str = "robot",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    base: Transform | ArrayLike | None = None,
    tool: Transform | ArrayLike | None = None,
    strict: bool = False,
) -> Robot:
    """A robot from a Denavit-Hartenberg table: mappings with the fields of a row, rows themselves, or numbers.

    ``convention="standard"`` takes :class:`DHRow`, a chain; ``convention="khalil"`` takes
    :class:`KhalilRow`, a chain or tree (Craig's modified table is Khalil's with d = a(i-1),
    alpha = alpha(i-1), r = d(i)). ``gravity`` (m/s^2) is expressed in the base link's frame, in
    which frame 0 of the table has the placement ``base``; ``tool`` is the placement of the frame
    "tool" in the last row's frame. Both are transforms or 4x4 matrices; lengths in m, angles in rad.

    ``strict=True`` refuses a robot that cannot be, in which ``robot.check()`` finds errors; else a negative mass gives
    a warning.

    Numbers are an array (N, 4), or N lists of four: theta, d, a, alpha in the standard convention; alpha, d, theta, r
    in Khalil's, without gamma and b. Their joints are revolute and their links have no mass; rows can tell more.

    Links are "base", "link1", "link2" ..., joints "joint1" ..., unless a row gives names. The
    coordinates follow ``robot.joint_names``: the order of the rows for a chain, depth first for a tree.

    In the standard convention frame i sits at the far end of link i, off its joint's axis. A joint of
    neuler turns about an axis through its link's origin, so link "linki" has its frame *on the axis*,
    at Rot(z, theta) Tran(z, d) of the row, and what the row says of the body is moved there. The
    table's own frame i is kept as the named frame "dhi", Tran(x, a) Rot(x, alpha) further on.

    >>> arm = from_dh([{"a": 0.4, "mass": 0.5, "com": (-0.2, 0, 0)}, {"a": 0.4}], tool=Transform())
    >>> arm.frame_names
    ('base', 'link1', 'link2', 'dh1', 'dh2', 'tool')
    >>> arm.links[1].com
    (0.2, 0.0, 0.0)
    >>> from_dh(np.array([[0, 0, 0.4, 0], [0, 0, 0.3, 0]])).joint_names
    ('joint1', 'joint2')
    """
    if not isinstance(convention, str) or convention not in ROWS:
        hint = '; Craig\'s modified table is convention="khalil" with other letters' if convention else ""
        raise FormatError(f"convention must be one of {', '.join(ROWS)}, got {convention!r}{hint}")
    row_type = ROWS[convention]
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise FormatError(f"rows must be a sequence of rows, or an array (N, 4), got {type(rows).__name__}")
    numbers = COLUMNS[convention]
    by_name = records(rows)
    given: Iterable[Any] = by_name or (_array(rows, numbers) if hasattr(rows, "__array__") else rows)
    table: list[Any] = [_row(k, row, row_type, numbers) for k, row in enumerate(given, start=1)]
    if not table:
        raise FormatError("the table has no rows; a robot needs at least one joint")
    build = _standard if convention == "standard" else _khalil
    links, joints, frames = build(table, _transform("base", base))
    if tool is not None:
        last = frames[-1] if frames else Frame("", links[-1].name)
        frames.append(Frame("tool", last.link, last.placement @ _transform("tool", tool)))
    found = Robot(name, links, joints, gravity=gravity, frames=frames)
    if strict:
        refuse_errors(found)
    return found


Parts = tuple[list[Link], list[Joint], list[Frame]]


def _standard(rows: list[DHRow], base: Transform) -> Parts:
    links, joints, frames = [Link("base")], [], []
    before = base
    for k, row in enumerate(rows, start=1):
        theta = row.theta + (row.offset if row.kind == "revolute" else 0.0)
        d = row.d + (row.offset if row.kind == "prismatic" else 0.0)
        far_end = Transform.rot_x(row.alpha, row.a)
        link = row.link or f"link{k}"
        placement = before @ Transform.rot_z(theta, d)
        joints.append(row.joint(row.name or f"joint{k}", row.kind, links[-1].name, link, placement))
        links.append(row.body(link).seen_from(far_end))
        frames.append(Frame(f"dh{k}", link, far_end))
        before = far_end
    return links, joints, frames


def _khalil(rows: list[KhalilRow], base: Transform) -> Parts:
    names = ["base", *(row.link or f"link{k}" for k, row in enumerate(rows, start=1))]
    antecedents = _antecedents(rows, names)
    links, joints = [Link("base")], []
    for k, row in enumerate(rows, start=1):
        theta = row.theta + (row.offset if row.sigma == 0 else 0.0)
        r = row.r + (row.offset if row.sigma == 1 else 0.0)
        placement = Transform.khalil(gamma=row.gamma, b=row.b, alpha=row.alpha, d=row.d, theta=theta, r=r)
        if antecedents[k] == 0:
            placement = base @ placement
        joint = row.name or f"joint{k}"
        joints.append(row.joint(joint, KINDS[row.sigma], names[antecedents[k]], names[k], placement))
        links.append(row.body(names[k]))
    return links, joints, []


def _antecedents(rows: list[KhalilRow], names: list[str]) -> list[int]:
    """For each link the number of its antecedent; the base has itself."""
    numbered = {name: k for k, name in reversed(list(enumerate(["base", *(row.name for row in rows)]))) if name}
    numbered |= {name: k for k, name in enumerate(names)}
    found = [0]
    for k, row in enumerate(rows, start=1):
        given = row.antecedent
        if given is None:
            given = k - 1
        if isinstance(given, str):
            if given not in numbered:
                raise FormatError(f"row {k}: antecedent {given!r} is no link of the table{_closest(given, numbered)}")
            given = numbered[given]
        elif isinstance(given, bool) or not isinstance(given, numbers.Integral):
            raise FormatError(f"row {k}: antecedent must be a link's number or name, got {told(given)}")
        if not 0 <= given <= len(rows):
            raise FormatError(f"row {k}: antecedent must be 0 (the base) to {len(rows)}, got {told(given)}")
        found.append(int(given))
    reached = {0}
    for k in range(1, len(found)):
        path: list[int] = []
        while k not in reached:
            if k in path:
                cycle = " -> ".join(map(str, [*path[path.index(k) :], k]))
                raise FormatError(f"row {k}: the antecedents form a cycle, {cycle}; one of them must lead to the base")
            path.append(k)
            k = found[k]
        reached.update(path)
    return found


def _array(rows: Any, columns: Sequence[str]) -> list[Any]:
    """An array as lists of numbers."""
    found = np.asarray(rows)
    if found.ndim == 1 and found.dtype == object:
        return list(found)  # of mappings or rows
    if found.ndim != 2 or found.shape[1] != len(columns):
        raise FormatError(f"an array must have the shape (N, 4), its columns {', '.join(columns)}; got {found.shape}")
    return list(found.tolist())


def _row(k: int, row: Any, row_type: type[DHRow | KhalilRow], columns: Sequence[str]) -> DHRow | KhalilRow:
    if isinstance(row, row_type):
        return row
    if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim):
        if len(row) != len(columns):
            raise FormatError(f"row {k}: expected four numbers, {', '.join(columns)}; got {len(row)}")
        row = dict(zip(columns, row, strict=True))
    other = next((name for name, kind in ROWS.items() if isinstance(row, kind)), None)
    if other is not None:
        raise FormatError(f'row {k}: is a {type(row).__name__}; for a table of these write convention="{other}"')
    if not isinstance(row, Mapping):
        raise FormatError(
            f"row {k}: expected a mapping, a {row_type.__name__} or four numbers, got {type(row).__name__}"
        )
    known = [f.name for f in dataclasses.fields(row_type)]
    aliases = {"kind": "sigma", **_ALIASES} if row_type is KhalilRow else {"sigma": "kind"}
    values: dict[str, Any] = {}
    try:
        for key, value in row.items():
            if key not in known and key not in aliases:
                other = next((name for name, kind in ROWS.items() if key in kind.__dataclass_fields__), None)
                if other is not None:
                    raise FormatError(f'{key!r} is a field of the other convention; write convention="{other}"')
                raise FormatError(f"unknown key {key!r}{_closest(str(key), [*known, *aliases])}")
            target = str(aliases.get(key, key))
            if target in values:
                raise FormatError(f"{key!r} and {target!r} say the same thing; keep one")
            if key == "sigma" and target == "kind":
                value = KINDS[_sigma(value)]
            elif key == "kind" and target == "sigma":
                value = KINDS.index(_kind(value))
            values[target] = value
        return row_type(**values)
    except (FormatError, RobotError) as error:
        name = row.get("name")
        named = f"row {k} ({name!r})" if isinstance(name, str) and name else f"row {k}"
        raise FormatError(f"{named}: {error}") from None


def _closest(given: str, names: Iterable[str]) -> str:
    names = list(names)
    likely = closest(given, names, cutoff=0.5)
    return f"; did you mean {likely!r}?" if likely else f"; it may be one of {', '.join(names)}"


def _number(key: str, value: Any) -> float:
    return number(key, value, error=FormatError)


def _numbers(key: str, value: Any, length: int) -> tuple[float, ...]:
    return tuple(vector(key, value, length, error=FormatError).tolist())


def _inertia(value: Any) -> tuple[float, ...]:
    try:
        return inertia6(value, "inertia")
    except RobotError as error:
        raise FormatError(str(error)) from None


def _limits(value: Any) -> Limits:
    if isinstance(value, Limits):
        return value
    try:
        bounds = [float(bound) for bound in value]
    except (TypeError, ValueError, OverflowError):
        bounds = []
    if len(bounds) != 2 or any(map(math.isnan, bounds)):
        raise FormatError(f"limits must be a Limits or (lower, upper), got {told(value)}")
    return Limits(*bounds)


def _kind(value: Any) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise FormatError(f"kind must be one of {', '.join(KINDS)}, got {told(value)}")
    return value


def _sigma(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value not in (0, 1, 2):
        raise FormatError(f"sigma must be 0 (revolute), 1 (prismatic) or 2 (fixed), got {told(value)}")
    return int(value)


def _transform(what: str, value: Transform | ArrayLike | None) -> Transform:
    if value is None:
        return Transform()
    if isinstance(value, Transform):
        return value
    try:
        return Transform.from_matrix(value)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{what} must be a Transform or a homogeneous 4x4 matrix: {error}") from None
