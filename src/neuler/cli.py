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
from neuler.errors import InputError, NeulerError
from neuler.quantities import QUANTITIES
from neuler.robot.model import Robot

EVAL_HELP = """\
CSV: one state a row under a header. The vector q of a robot with the joints shoulder and elbow is
spelled q_shoulder,q_elbow or q1,q2 or q[0],q[1]; likewise qd, qdd, tau. Results are named alike:
tau_shoulder; matrices are flattened to mass_matrix[0,0],mass_matrix[0,1].
NPZ: one array for each input under its name (q, qd, qdd), batch axes first; results alike.

  neuler eval inverse_dynamics puma560 --in states.csv --out torques.csv
  neuler eval forward_dynamics arm.urdf --in states.npz --out qdd.npz --option method=nasser
"""


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
    return "\n  ".join(shown(line) for line in str(error).split("\n"))


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
    evaluate.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="leave this column out")
    return parser


def _command(
    commands: Any, name: str, run: Callable[[Any], None], help: str, epilog: str | None = None, quantity: bool = False
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if quantity:
        command.add_argument("quantity", metavar="QUANTITY", help=f"one of {', '.join(QUANTITIES)}")
    command.add_argument("robot", metavar="FILE|NAME", help="a robot file, or a name of the catalogue")
    command.add_argument("--mimic", choices=("refuse", "independent"), help="joints that mimic others (URDF)")
    command.add_argument("--floating", choices=("refuse", "fixed"), help="floating joints (URDF)")
    command.set_defaults(run=run)
    return command


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


def _load(chosen: Any) -> Robot:
    options = {key: getattr(chosen, key) for key in ("mimic", "floating") if getattr(chosen, key) is not None}
    name: str = chosen.robot
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
        raise InputError(f"--{next(iter(options))} is for robot files; {name!r} is a robot of the catalogue")
    return robots.get(name)


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--option expects K=V, for example method=nasser, got {text!r}")
    key, value = key.strip(), value.strip()
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    if value.isdecimal():
        return key, int(value)
    if key in ("external", "loads", "motion"):
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
    from neuler.view import text

    robot = _load(chosen)
    findings = robot.check()
    if chosen.json:
        _print_json(text.as_dict(robot, findings))
        return
    print(text.summary(robot, findings, _marks()))


def _marks() -> tuple[str, str, str]:
    from neuler.view import text

    try:
        "".join(text.FANCY).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.PLAIN
    return text.FANCY


def _report(chosen: Any) -> None:
    from neuler.bench import VERBS
    from neuler.view.report import write_report

    robot = _load(chosen)
    write_report(
        robot,
        chosen.output,
        verbs=chosen.verbs or VERBS,
        batch=chosen.batch,
        progress=_steps(f"report on {robot.name}"),
    )
    print(f"wrote {chosen.output}")


def _bench(chosen: Any) -> None:
    from neuler import bench

    robot = _load(chosen)
    urdf = chosen.robot if os.path.exists(chosen.robot) else None
    result = bench.run(
        robot,
        verbs=chosen.verbs or bench.VERBS,
        batch=chosen.batch,
        against=chosen.peer,
        urdf=urdf,
        progress=_steps(f"bench {robot.name}"),
    )
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
        states = tables.evaluate(kernel, chosen.source, chosen.target, ignore=chosen.ignore, report=step)
    print(f"wrote {states} states to {chosen.target}")


if __name__ == "__main__":
    sys.exit(main())
