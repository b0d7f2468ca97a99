"""The cache of machine code: `python -m tirc.cache list`, `show KEY`, `clear [KEY …]`."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import sys
from pathlib import Path

from . import _native


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is kept of one compilation."""

    key: str
    function: str
    target: str
    bytes: int
    made: datetime.datetime
    #: It fits its hash; one that does not is made again when it is wanted.
    is_whole: bool


def folder() -> Path | None:
    """Where it is; `None` where nothing is kept (`TC_CACHE_DIR` is empty)."""
    found = _native.cache_folder()
    return Path(found) if found is not None else None


def entries() -> list[Entry]:
    """What it holds, by key."""
    now = _native.cache_entries()
    when = datetime.datetime.fromtimestamp
    return [Entry(key, function, target, size, when(made), whole) for key, function, target, size, made, whole in now]


def clear(*keys: str) -> int:
    """Removes all entries, or those whose keys begin with one of `keys`; returns how many."""
    return _native.clear_cache(list(keys) if keys else None)


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tirc.cache", description="The cache of machine code.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="what it holds")
    verbs.add_parser("show", help="one entry").add_argument("key")
    verbs.add_parser("clear", help="remove entries, all or some").add_argument("key", nargs="*")
    args = parser.parse_args(argv)
    if args.verb == "clear":
        removed = clear(*args.key)
        print(f"{removed} removed")
        return 0
    found = entries()
    if args.verb == "show":
        found = [entry for entry in found if entry.key.startswith(args.key)]
        if not found:
            print(f"there is no entry `{args.key}`; `list` names them", file=sys.stderr)
            return 1
    for entry in found:
        state = "" if entry.is_whole else "  broken"
        print(f"{entry.key}  {entry.target:<7} {entry.bytes:>9}  {entry.made:%Y-%m-%d %H:%M}  {entry.function}{state}")
    print(f"{len(found)} in {folder() or 'no folder'}, {sum(entry.bytes for entry in found)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
