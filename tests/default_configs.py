"""Every registered architecture of a release under its default config, walked to the built model.

``python -m tests.default_configs VERSION[:start:stop:step] [--only ARCHITECTURE] [--write FOLDER]`` prints what does not
construct. The ``model_type`` of an architecture is the one that the automatic classes of the release's transformers
give it, or that of the handed cases; all else is what its config class has by itself. There is no list of what a real
vLLM says of them: each error is to be judged by reading the code that it names, or by asking the real one for the configs
that ``--write`` leaves.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from preflight.program import Program
from preflight.tree import Tree
from tests.construct_cases import build, told
from tests.renamed_reads import configs_of
from tests.slices import named_slice
from tests.walk_cases import tree_of

#: where transformers has the tables of its automatic classes: model type -> class or classes
TABLES = "transformers/models/auto/modeling_auto.py"


def model_types(tree: Tree) -> dict[str, str]:
    """The model type of each class that an automatic class of transformers makes."""
    found: dict[str, str] = {}
    for package in tree.packages:
        file = package / TABLES
        if not file.is_file():
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not (isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant)):
                continue
            key, value = node.elts
            for name in value.elts if isinstance(value, ast.Tuple) else (value,):
                if isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(key.value, str):
                    found.setdefault(name.value, key.value)
    return found


def default_configs(version: str, tree: Tree, program: Program) -> dict[str, dict[str, Any]]:
    """The default config of each architecture of the tree's registry, where one is known."""
    known, handed = model_types(tree), configs_of(version)
    found = {}
    for architecture in sorted(program.registry_reader.registry().entries):
        model_type = known.get(architecture) or handed.get(architecture, {}).get("model_type")
        if model_type is not None:
            found[architecture] = {"architectures": [architecture], "model_type": model_type}
    return found


def main() -> None:
    """Run the architectures of a release."""
    parser = argparse.ArgumentParser()
    parser.add_argument("release", help="VERSION[:start:stop:step] of the architectures")
    parser.add_argument("--only", help="this architecture")
    parser.add_argument("--write", type=Path, help="leave the configs below this folder, and walk nothing")
    options = parser.parse_args()
    version, chosen = named_slice(options.release)
    tree, program = tree_of(version)
    counts: Counter[str] = Counter()
    for architecture, config in list(default_configs(version, tree, program).items())[chosen]:
        if options.only not in (None, architecture):
            continue
        if options.write is not None:
            folder = options.write / architecture
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.json").write_text(json.dumps(config))
            continue
        gc.collect()
        built = build(tree, program, config)
        counts[built.verdict] += 1
        if built.verdict != "constructs":
            print(f"{built.verdict}: {architecture} {built.seconds:.1f}s, {built.steps} steps")
            told(built)
        sys.stdout.flush()
    print(version, dict(counts))


if __name__ == "__main__":
    main()
