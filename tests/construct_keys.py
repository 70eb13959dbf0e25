"""What the walk of construction says when a key is taken out of a config.

``python -m tests.construct_keys VERSION CONFIG.json|ARCHITECTURE [START:STOP:STEP]`` takes each key out in turn, those of
nested configs too, and prints the errors. There is no list of what a real vLLM says of them: each is to be judged by
reading the code that it names.
"""

from __future__ import annotations

import copy
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.construct_cases import build, told
from tests.walk_cases import CASES, tree_of


def paths(config: dict[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys of a config, dotted for those of nested ones."""
    for key, value in config.items():
        yield (*before, key)
        if isinstance(value, dict) and len(before) < 2:
            yield from paths(value, (*before, key))


def without(config: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The config without one key."""
    made = copy.deepcopy(config)
    owner = made
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return made


def main() -> None:
    """Run the deletions of one config."""
    version, name, *rest = sys.argv[1:]
    configs = (CASES / f"configs-{version}.json").read_text() if not name.endswith(".json") else ""
    config = json.loads(Path(name).read_text()) if name.endswith(".json") else json.loads(configs)[name]
    chosen = slice(*(int(part) if part else None for part in rest[0].split(":"))) if rest else slice(None)
    tree, program = tree_of(version)
    for path in [(), *paths(config)][chosen]:
        gc.collect()
        built = build(tree, program, without(config, path) if path else config)
        print(f"{'.'.join(path) or 'nothing'}: {built.verdict}, {built.seconds:.1f}s")
        if built.verdict != "constructs":
            told(built)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
