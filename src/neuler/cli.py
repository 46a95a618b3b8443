"""The command line: look at a robot, report on it, measure it, compute with it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from neuler import __version__, formats, robots
from neuler.cli_words import in_flags
from neuler.errors import InputError, NeulerError
from neuler.recipes.closed_loops import CLOSED_LOOPS
from neuler.recipes.parallel_robots import PARALLEL
from neuler.recipes.quantities import QUANTITIES, Subject
from neuler.robot import ParallelRobot, Robot

EVAL_HELP = """\
CSV: one state a row under a header. The vector q of a robot with the joints shoulder and elbow is
spelled q_shoulder,q_elbow or q1,q2 or q[0],q[1]; likewise qd, qdd, tau. Results are named alike:
tau_shoulder; matrices are flattened to mass_matrix[0,0],mass_matrix[0,1]. A free joint has seven
positions q_base_x,_y,_z,_qx,_qy,_qz,_qw and six velocities qd_base_vx,_vy,_vz,_wx,_wy,_wz.
NPZ: one array for each input under its name (q, qd, qdd), batch axes first; results alike.

Machines with loops: q are closed positions of all joints of the tree, qd and qdd those of the
independent joints, tau those of the motors; v and vd (v_vx to vd_wz) those of a parallel robot's
platform. With --assemble the file needs only the positions of the independent joints, or of the
platform; the others are found, from a guess where the file has one.

  neuler eval inverse_dynamics puma560 --in states.csv --out torques.csv
  neuler eval forward_dynamics arm.urdf --in states.npz --out qdd.npz --option method=nasser
  neuler eval inverse_dynamics four_bar --in crank.csv --out torques.csv --assemble
"""


CACHE_HELP = "Compiled code is kept on disk (NEULER_CACHE_DIR), so that a robot seen before is ready at once. \
It may be removed at any time."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 for success, 2 for what the user can mend, 1 for a broken pipe, 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    chosen = _parser().parse_args(arguments)
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more as it ends: give it somewhere to go.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (NeulerError, OSError) as error:
        print(f"neuler: error: {_message(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("neuler: interrupted", file=sys.stderr)
        return 130
    return 0


def _message(error: Exception) -> str:
    from neuler.view.text import shown

    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename!r}: " if error.filename is not None else ""
        return shown(f"{where}{error.strerror}")
    return "\n  ".join(shown(line) for line in in_flags(str(error)).split("\n"))


# ---- arguments -------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="neuler", description="Robot dynamics: a robot in, compiled dynamics out.")
    parser.add_argument("--version", action="version", version=f"neuler {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    info = _command(commands, "info", _info, "show a robot's tree, parameters and the doctor's findings")
    info.add_argument("--json", action="store_true", help="print JSON")

    report = _command(commands, "report", _report, "write a page (HTML) about a robot, with pictures and measurements")
    report.add_argument("-o", "--output", default="report.html", metavar="FILE", help="default: report.html")
    _add_measured(report)

    bench = _command(commands, "bench", _bench, "measure a robot's kernels, beside another library in the same run")
    bench.add_argument("--peer", choices=("pinocchio", "mujoco"), help="compare with this library")
    bench.add_argument("--json", action="store_true", help="print JSON")
    _add_measured(bench)

    evaluate = _command(
        commands, "eval", _eval, "compute a quantity for all states of a file", EVAL_HELP, quantity=True
    )
    evaluate.add_argument("--in", dest="source", required=True, metavar="FILE", help="states: .csv or .npz")
    evaluate.add_argument("--out", dest="target", required=True, metavar="FILE", help="results: .csv or .npz")
    evaluate.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="K=V",
        help="of the quantity: method=nasser, external=tool, ...",
    )
    evaluate.add_argument("--assemble", action="store_true", help="close the loops of every state")
    evaluate.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="leave this column out")

    stored = commands.add_parser("cache", help="show or clear the compiled code on disk", description=CACHE_HELP)
    stored.add_argument("--clear", action="store_true", help="remove all of it")
    stored.add_argument("--json", action="store_true", help="print JSON")
    stored.set_defaults(run=_cache)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[Any], None], help: str, epilog: str | None = None, quantity: bool = False
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if quantity:
        command.add_argument("quantity", metavar="QUANTITY", help=_quantities())
    command.add_argument("robot", metavar="FILE|NAME", help="a robot file (URDF, SYMORO+), or a name of the catalogue")
    command.add_argument("--mimic", choices=("refuse", "couple", "independent"), help="joints that mimic others (URDF)")
    command.add_argument(
        "--floating", nargs="?", const="base", choices=("free", "fixed", "refuse", "base"),
        help="alone (or base): let the robot's base move freely; else what to make of floating joints (URDF)",
    )  # fmt: skip
    command.add_argument(
        "--value", action="append", default=[], metavar="SYMBOL=NUMBER", help="the value of a symbol (SYMORO+)"
    )
    command.add_argument(
        "--values",
        action="append",
        default=[],
        metavar="FILE",
        help="values of symbols (SYMORO+): lines D3 = 0.45",
    )
    command.add_argument("--missing", choices=("refuse", "zero"), help="dynamic parameters without a value (SYMORO+)")
    command.set_defaults(run=run)
    return command


def _quantities() -> str:
    lists = {"": QUANTITIES, "; of mechanisms ": CLOSED_LOOPS, "; of parallel robots ": PARALLEL}
    return "one of " + "".join(f"{of}{', '.join(names)}" for of, names in lists.items())


def _add_measured(command: argparse.ArgumentParser) -> None:
    command.add_argument("--batch", type=_positive, default=4096, metavar="N", help="states in a batch; default 4096")
    command.add_argument("--verbs", nargs="+", metavar="VERB", help="what to measure; default: the common quantities")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive whole number, got {text!r}")
    return number


def _load(chosen: Any) -> Subject:
    options = {key: getattr(chosen, key) for key in ("mimic", "missing") if getattr(chosen, key) is not None}
    if chosen.floating not in (None, "base"):
        options["floating"] = chosen.floating
    values = dict(pair for path in chosen.values for pair in _values(path))
    values.update(_value(text) for text in chosen.value)
    if values:
        options["values"] = values
    found = _named(chosen.robot, options)
    return _freed(found) if chosen.floating == "base" else found


def _named(name: str, options: dict[str, Any]) -> Subject:
    if os.path.exists(name):
        return formats.load(name, **options)
    looks_like_file = os.sep in name or bool(os.path.splitext(name)[1])
    if looks_like_file:
        raise InputError(f"there is no file {name!r}; the catalogue has: {', '.join(robots.names())}")
    if name not in robots.names():
        raise InputError(
            f"there is neither a file nor a robot of the catalogue named {name!r}; "
            f"the catalogue has: {', '.join(robots.names())}"
        )
    if options:
        option = {"values": "value or --values"}.get(next(iter(options)), next(iter(options)))
        raise InputError(f"--{option} is for robot files; {name!r} is a robot of the catalogue")
    return robots.get(name)


def _freed(found: Subject) -> Subject:
    """With its base free to move, under a name for the ground that is not taken."""
    if isinstance(found, ParallelRobot):
        raise InputError(
            f"--floating: the legs of the parallel robot {found.name!r} stand on the ground; it stays there"
        )
    tree = found if isinstance(found, Robot) else found.tree
    world = "world"
    while world in tree.link_names:
        world += "_"
    free = tree.with_free_base(world=world)
    if isinstance(found, Robot):
        return free
    reference = None if found.reference is None else (*free.neutral()[:7], *found.reference)
    return found.replace(tree=free, reference=reference)


def _value(text: str) -> tuple[str, float]:
    key, equals, value = text.partition("=")
    try:
        if not equals or not key.strip():
            raise ValueError
        return key.strip(), float(value)
    except ValueError:
        raise InputError(f"--value expects SYMBOL=NUMBER, for example D3=0.45, got {text!r}") from None


def _values(path: str) -> list[tuple[str, float]]:
    """Symbols from a file of lines D3 = 0.45 (TOML), or from a JSON object."""
    import tomllib

    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also not UTF-8, not JSON, not TOML
        raise InputError(f"--values {path}: expected lines such as D3 = 0.45, or a JSON object: {error}") from None
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
            raise InputError(f"--values {path}: {name!r} must be a finite number, got {str(value)[:60]}")
    return [(name, float(value)) for name, value in found.items()]


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--option expects K=V, for example method=nasser, got {text!r}")
    key, value = key.strip(), value.strip()
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    if value.isdecimal():
        return key, int(value)
    if key in ("external", "loads", "motion", "independent"):
        return key, tuple(part for part in value.split(",") if part)
    return key, value


@contextlib.contextmanager
def _bar(total: int, title: str, unit: str = "step") -> Iterator[Callable[[int], Any]]:
    """A progress bar on stderr where that is a terminal and tqdm is there; else nothing."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda _: None
        return
    scale = unit == "B"
    off = not sys.stderr.isatty()
    with tqdm(total=total, desc=title, unit=unit, unit_scale=scale, file=sys.stderr, disable=off, leave=False) as bar:
        yield bar.update


def _steps(title: str) -> Callable[[Sequence[Any]], Iterable[Any]]:
    def walk(items: Sequence[Any]) -> Iterator[Any]:
        with _bar(len(items), title) as step:
            for item in items:
                yield item
                step(1)

    return walk


def _print_json(data: object) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


# ---- commands --------------------------------------------------------------------------------------


def _info(chosen: Any) -> None:
    from neuler.view import machine_text, text

    robot = _load(chosen)
    if isinstance(robot, Robot):
        found = robot.check()
        told = text.as_dict(robot, found) if chosen.json else text.summary(robot, found, _marks())
    else:
        found = machine_text.findings(robot)
        told = machine_text.as_dict(robot, found) if chosen.json else machine_text.summary(robot, found, _marks())
    if chosen.json:
        _print_json(told)
    else:
        print(told)


def _marks() -> tuple[str, str, str]:
    from neuler.view import text

    try:
        "".join(text.FANCY).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.PLAIN
    return text.FANCY


def _report(chosen: Any) -> None:
    from neuler.view.report import write_report

    robot = _load(chosen)
    write_report(
        robot, chosen.output, verbs=chosen.verbs, batch=chosen.batch, progress=_steps(f"report on {robot.name}")
    )
    print(f"wrote {chosen.output}")


def _bench(chosen: Any) -> None:
    from neuler import bench
    from neuler.view.measure import run_machine

    robot = _load(chosen)
    progress = _steps(f"bench {robot.name}")
    if isinstance(robot, Robot):
        urdf = chosen.robot if os.path.exists(chosen.robot) else None
        verbs = chosen.verbs or bench.VERBS
        result = bench.run(
            robot, verbs=verbs, batch=chosen.batch, against=chosen.peer, urdf=urdf, progress=progress
        )  # fmt: skip
    elif chosen.peer:
        raise InputError(f"--peer: {robot.name!r} has loops or couplings, and only trees are compared with a peer")
    else:
        result = run_machine(robot, verbs=chosen.verbs, batch=chosen.batch, progress=progress)
    if chosen.json:
        _print_json(result.as_dict())
    else:
        print(bench.table(result))


def _eval(chosen: Any) -> None:
    from neuler import tables

    robot = _load(chosen)
    options: dict[str, Any] = {}
    for text in chosen.option:
        key, value = _option(text)
        if key in options:
            raise InputError(f"--option {key} is given twice")
        if key in ("robot", "quantity"):
            raise InputError(f"--option {key}: the {key} is named on the command line itself")
        options[key] = value
    kernel = robot.compile(chosen.quantity, **options)
    with _bar(os.path.getsize(chosen.source), f"{chosen.quantity} of {robot.name}", "B") as step:
        states = tables.evaluate(
            kernel, chosen.source, chosen.target, ignore=chosen.ignore, report=step, assemble=chosen.assemble,
            note=lambda text: print(f"neuler: note: {text}", file=sys.stderr),
        )  # fmt: skip
    print(f"wrote {states} states to {chosen.target}")


def _cache(chosen: Any) -> None:
    from neuler.compiler import cache

    where = cache.folder()
    if where is None:
        facts: dict[str, Any] = {"folder": None, "entries": 0, "bytes": 0}
        told = "there is no cache: NEULER_CACHE_DIR is 'off', or names no private folder that can be written to"
    else:
        before = cache.entries(where)
        gone = cache.clear(where) if chosen.clear else []
        facts = {"folder": str(where), "entries": len(before), "bytes": sum(entry.size for entry in before)}
        size = f"{facts['entries']} kernels, {facts['bytes'] / 2**20:.1f} MiB"
        told = f"{where}: {size}; at most {cache.MOST_BYTES / 2**20:.0f} MiB, the least recently used go first"
        if chosen.clear:
            facts["removed"] = len(gone)
            told = f"{where}: removed {len(gone)} of {size}"
    if chosen.json:
        _print_json(facts)
    else:
        print(told)


if __name__ == "__main__":
    sys.exit(main())
