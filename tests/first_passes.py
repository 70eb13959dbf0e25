"""``python -m tests.first_passes VERSION[:start:stop:step]...``: the first run of every architecture of a release under
its default config, every file of the release taken for a patched one. A release runs, so each exception that is told
is a false alarm, or a fault that a launch of that architecture really has; all are printed.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter

from preflight.checks.first_pass import asked_about
from preflight.walk.first_pass import STAGE
from preflight.walk.result import Scope
from tests.construct_cases import build, told
from tests.default_configs import default_configs
from tests.slices import named_slice
from tests.walk_cases import tree_of


def main() -> None:
    """Run the architectures of the releases."""
    for word in sys.argv[1:]:
        version, chosen = named_slice(word)
        tree, program = tree_of(version)
        files = frozenset(path for path in tree.files() if path.endswith(".py"))
        asked = asked_about(files, lambda program=program: program)
        counts: Counter[str] = Counter()
        for architecture, config in list(default_configs(version, tree, program).items())[chosen]:
            gc.collect()
            built = build(tree, program, config, scope=Scope(first_pass=asked))
            found = built.followed.walk.found if built.followed is not None else []
            last = any(one.stage == STAGE for one in found)
            counts["told" if last else built.verdict] += 1
            if last:
                print(f"told: {architecture} {built.seconds:.1f}s, {built.steps} steps")
                told(built)
            sys.stdout.flush()
        print(version, dict(counts))


if __name__ == "__main__":
    main()
