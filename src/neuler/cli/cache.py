"""``neuler cache``: the compiled code on disk, shown or cleared."""

from __future__ import annotations

from typing import Any

from neuler.cli.common import print_json

HELP = "Compiled code is kept on disk (NEULER_CACHE_DIR), so that a robot seen before is ready at once. \
It may be removed at any time."


def add(commands: Any) -> None:
    """The command and its flags."""
    stored = commands.add_parser("cache", help="show or clear the compiled code on disk", description=HELP)
    stored.add_argument("--clear", action="store_true", help="remove all of it")
    stored.add_argument("--json", action="store_true", help="print JSON")
    stored.set_defaults(run=run)


def run(chosen: Any) -> None:
    """Show, or clear."""
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
        print_json(facts)
    else:
        print(told)
