"""Random shell scripts with conditions, loops and `case`: followed as bash runs them, or undecided."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.tree import TreeRequest, open_tree
from tests.minitree import make_tree, write

TEXT = "a1\nb2\nc3\nd4\n"
WORDS = ["x", "y", "a1", "toy", "$V", "$W", '"$V$W"', "z*"]
PATTERNS = ["x", "y", "*", "?1", "a*", "'x'", '"$V"', "[ab]*", "x|y", "toy|z*"]
TESTS = [
    "grep -q b2 $SP/toy.py", "! grep -q c3 $SP/toy.py", '[ "$V" = x ]', '[ -z "$W" ]', "[ -f $SP/toy.py ]",
    "[ -f $SP/gone.py ]", "true", "false", "[[ $V == y ]]", '[ "$V" != y ] && [ -n "$W" ]',
]  # fmt: skip


class Writer:
    """Writes a script that changes one file, and whose every test can be decided but for what a pipe keeps."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def block(self, depth: int, looped: bool) -> str:
        return "\n".join(self.statement(depth, looped) for _ in range(self._random.randint(1, 3)))

    def statement(self, depth: int, looped: bool) -> str:
        pick = self._random.choice
        kind = self._random.randrange(9) if depth else 0
        if kind < 3:
            return self.simple(looped)
        if kind == 3:
            one, other = self.block(depth - 1, looped), self.block(depth - 1, looped)
            return f"if {pick(TESTS)}; then\n{one}\nelse\n{other}\nfi"
        if kind == 4:
            arms = [
                f"  {pick(PATTERNS)})\n{self.block(depth - 1, looped)}\n{pick([';;', ';;', ';&', ';;&'])}\n"
                for _ in range(self._random.randint(1, 3))
            ]
            return f"case {pick(WORDS)} in\n{''.join(arms)}esac"
        body = self.block(depth - 1, True)
        if kind == 5:
            return f"for F in {pick(['x y z', 'a1', '$V $W q'])}; do\necho $F >> $SP/toy.py\n{body}\ndone"
        if kind == 6:
            return f"while read -r L; do\necho got $L >> $SP/toy.py\n{body}\ndone < list"
        if kind == 7:
            return f"cat list | while IFS= read -r L; do\nV=$L\n{body}\ndone"
        return f"{pick(TESTS)} {pick(['&&', '||'])} {{ {self.simple(looped)}; }}"

    def simple(self, looped: bool) -> str:
        pick, number = self._random.choice, self._random.randrange(100)
        return pick(
            [
                f"echo n{number} >> $SP/toy.py", f"printf 'p{number}\\n' >> $SP/toy.py", 'echo "$V-$W" >> $SP/toy.py',
                f"sed -i 's/{pick('abcd')}{pick('1234')}/m{number}/' $SP/toy.py || true", f"V={pick(['x', 'y', 'toy'])}",
                f"W={pick(['x', '', 'b2'])}", *(["break", "continue"] if looped else []),
            ]
        )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 20))
def test_scripts_are_followed_as_bash_runs_them(seed):
    with tempfile.TemporaryDirectory() as folder:
        site = make_tree(Path(folder) / "site", {"vllm/toy.py": TEXT})
        script = Path(folder) / "repo" / "use.sh"
        write(script, f"SP={site}/vllm\nV=x\nW=\n{Writer(seed).block(2, False)}\n".encode())
        write(script.parent / "list", b"l1 q\n  l2\nl3\n")
        tree = open_tree(TreeRequest(site_packages=str(site), paths=(str(script.parent),)), {})
        subprocess.run(
            ["bash", "use.sh"], cwd=script.parent, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        assert tree.undecided or tree.read("vllm/toy.py") == (site / "vllm/toy.py").read_bytes()
