"""Patch scripts, followed in memory: what they write must be what they write when they run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.tree import Tree, TreeRequest, open_tree
from preflight.tree.scripts.outcome import ScriptWhy
from preflight.tree.scripts.sed import NotFollowed, apply_sed, parse_sed
from tests.checking import report_of
from tests.minitree import make_tree, write

TOY = b'"""A toy."""\n\nimport os\n\nlimit = 3\nnames = [\n    "one",\n    "two",\n]\n\n\ndef run(a, b):\n    return a + b\n'
OTHER = b"def other():\n    first = 1\n    second = 2\n\n\ndef another():\n    first = 1\n    second = 2\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An installed toy vLLM."""
    return make_tree(tmp_path / "site", {"vllm/__init__.py": b"", "vllm/toy.py": TOY, "vllm/sub/other.py": OTHER})


def opened(site: Path, *paths: str) -> Tree:
    return open_tree(TreeRequest(site_packages=str(site), paths=paths), {})


HEAD = "from pathlib import Path\nimport os, re, sys\n"
#: scripts that find the tree at ``vllm/`` in the working folder, so that they can also be run
SCRIPTS = {
    "replace": 'p = Path("vllm/toy.py")\np.write_text(p.read_text().replace("limit = 3", "limit = 4"))\n',
    "open": (
        'with open("vllm/toy.py") as f:\n    text = f.read()\nassert "limit = 3" in text\n'
        'text = text.replace("limit = 3", "limit = 4", 1)\nwith open("vllm/toy.py", "w") as f:\n    f.write(text)\n'
    ),
    "bytes": 'p = Path("vllm") / "toy.py"\nd = p.read_bytes()\np.write_bytes(d.replace(b"3", b"5"))\n',
    "regular": (
        'p = os.path.join("vllm", "toy.py")\ntext = open(p).read()\n'
        'new, n = re.subn(r"^limit = (\\d)$", r"limit = \\g<1>0", text, flags=re.M)\nassert n == 1, n\n'
        'open(p, "w").write(new)\n'
    ),
    "function": (
        'def patch(path, pairs, root="vllm"):\n    file = Path(root) / path\n    text = file.read_text()\n'
        "    for old, new in pairs:\n        if old not in text:\n            raise SystemExit(f'{path}: {old!r}')\n"
        "        text = text.replace(old, new, 1)\n    file.write_text(text)\n\n\ndef main():\n"
        '    patch("toy.py", [("limit = 3", "limit = 9"), (\'    "two",\\n\', \'    "two",\\n    "three",\\n\')])\n'
        '    patch("sub/other.py", pairs=[("first = 1", "first = 0")])\n    return 0\n\n\n'
        'if __name__ == "__main__":\n    sys.exit(main())\n'
    ),
    "lines": (
        'p = Path("vllm/toy.py")\nlines = p.read_text().splitlines(keepends=True)\nout = []\nfor i, line in '
        'enumerate(lines):\n    out.append(line)\n    if line.startswith("import os"):\n        '
        'out.append("import sys\\n")\n        continue\np.write_text("".join(out))\n'
    ),
    "index": (
        'p = Path("vllm/toy.py")\ns = p.read_text()\ni = s.index("def run")\n'
        's = s[:i] + "def more():\\n    pass\\n\\n\\n" + s[i:]\np.write_text(s)\n'
    ),
    "table": (
        'EDITS = {"vllm/toy.py": {"limit = 3": "limit = 7"}, "vllm/sub/other.py": {"second = 2": "second = 3"}}\n'
        "for name, edits in EDITS.items():\n    p = Path(name)\n    s = p.read_text()\n"
        "    for a, b in edits.items():\n        assert s.count(a) >= 1\n        s = s.replace(a, b)\n    p.write_text(s)\n"
    ),
    "guarded": (
        'p = Path("vllm/toy.py")\ns = p.read_text()\nif "limit = 4" in s:\n    print("already")\nelif "limit = 3" in s:\n'
        '    p.write_text(s.replace("limit = 3", "limit = 4"))\nelse:\n    sys.exit(1)\n'
    ),
    "tried": (
        'try:\n    s = Path("vllm/gone.py").read_text()\nexcept FileNotFoundError:\n    s = Path("vllm/toy.py").read_text()\n'
        'Path("vllm/toy.py").write_text(s + "\\n# patched\\n")\n'
    ),
    "subfunction": (
        'p = Path("vllm/toy.py")\ns = p.read_text()\n'
        "s = re.sub(r\"(\\w+) = (\\d)\", lambda m: m.group(1) + ' = ' + str(int(m.group(2)) + 1), s)\np.write_text(s)\n"
    ),
    "append": 'with open("vllm/toy.py", "a") as f:\n    f.write("last = 1\\n")\n',
    "formatted": (
        'p = Path("vllm/toy.py")\ns = p.read_text()\nhead, sep, tail = s.partition("limit = 3\\n")\nassert sep\n'
        'new = "added = 1\\n"\np.write_text(f"{head}{sep}{new}{tail}")\n'
    ),
    "options": (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--root", default="vllm", help="site-packages/vllm")\n'
        'parser.add_argument("--dry-run", action="store_true")\nargs = parser.parse_args()\n'
        'p = Path(args.root) / "toy.py"\ntext = p.read_text().replace("limit = 3", "limit = 4")\n'
        'if args.dry_run or "--check" in sys.argv:\n    print(text)\nelse:\n    p.write_text(text)\n'
    ),
    "records": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Edit:\n    file: str\n    old: str\n    new: str\n"
        '    count: int = 1\n\n\nEDITS = [Edit("vllm/toy.py", "limit = 3", "limit = 4"), '
        'Edit(file="vllm/sub/other.py", old="first = 1", new="first = 2", count=2)]\nfor edit in EDITS:\n'
        "    p = Path(edit.file)\n    p.write_text(p.read_text().replace(edit.old, edit.new, edit.count))\n"
    ),
    "logged": (
        'import logging\nlog = logging.getLogger("patch")\nfor name in ("vllm/toy.py",):\n    log.info("patching %s", name)\n'
        '    p = Path(name)\n    p.write_text(p.read_text().replace("limit", "maximum"))\n    log.info(f"patched {p}")\n'
    ),
    "removed": 'os.remove("vllm/sub/other.py")\n',
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_followed_is_what_runs(site, repo, name):
    script = HEAD + "# patches vllm/toy.py: write_text\n" + SCRIPTS[name]
    write(repo / "patch.py", script.encode())
    tree = opened(site, ".")
    assert not tree.script_failures and not tree.undecided

    subprocess.run([sys.executable, "-I", str(repo / "patch.py")], cwd=site, check=True)
    for path in ("vllm/toy.py", "vllm/sub/other.py"):
        ours = tree.read(path) if tree.exists(path) else None
        assert ours == ((site / path).read_bytes() if (site / path).exists() else None)
    assert any(file.path in ("vllm/toy.py", "vllm/sub/other.py") for file in tree.facts.patched)


@pytest.mark.parametrize(
    "root",
    [
        "Path(vllm.__file__).parent",
        "Path(os.path.dirname(vllm.__file__))",
        "Path(vllm.__path__[0])",
        'Path(importlib.util.find_spec("vllm").origin).parent',
        'Path(importlib.util.find_spec("vllm").submodule_search_locations[0])',
        'Path(site.getsitepackages()[0]) / "vllm"',
        'Path(sysconfig.get_paths()["purelib"], "vllm")',
        'Path("/usr/local/lib/python3.12/dist-packages/vllm")',
        'Path(os.environ.get("VLLM_ROOT", "/opt")) / "vllm"',
        "Path(sys.argv[1])",
        'Path(sys.argv[1] if len(sys.argv) > 1 else "/x/site-packages/vllm")',
        "Path(subprocess.check_output(['python', '-c', 'import vllm']).decode().strip())",
    ],
)
def test_the_folder_of_vllm_however_it_is_found(site, repo, root):
    script = (
        f"import importlib.util, os, site, subprocess, sys, sysconfig\nfrom pathlib import Path\nimport vllm\n\n"
        f'ROOT = {root}  # site-packages/vllm\nplace = "site-packages"\nfile = ROOT / "toy.py"\n'
        'file.write_text(file.read_text().replace("limit = 3", "limit = 4"))\n'
    )
    write(repo / "patch.py", script.encode())
    tree = opened(site, "patch.py")
    assert not tree.script_failures
    assert b"limit = 4" in tree.read("vllm/toy.py")


@pytest.mark.parametrize(
    ("step", "why", "line"),
    [
        ('assert "limit = 5" in text', ScriptWhy.STOPS, 4),
        ('if "limit = 5" not in text:\n    sys.exit("no anchor")', ScriptWhy.STOPS, 5),
        ('if text.count("limit = 5") != 1:\n    raise RuntimeError("no anchor")', ScriptWhy.STOPS, 5),
        ('at = text.index("limit = 5")', ScriptWhy.STOPS, 4),
        ('text = text.replace("limit = 5", "limit = 6")', ScriptWhy.NO_ANCHOR, 4),
        ('text = re.sub(r"limit = [4-9]", "limit = 6", text)', ScriptWhy.NO_ANCHOR, 4),
        ('if "limit = 5" in text:\n    text = text.replace("limit = 5", "limit = 6")', ScriptWhy.NO_ANCHOR, 4),
        ('text = text.replace("limit = 2", "limit = 3")', ScriptWhy.APPLIED, 4),
        ('match = re.search(r"limit = [4-9]", text)\nmatch.group(0)', ScriptWhy.STOPS, 5),
        ('new = text.replace("limit = 5", "limit = 6")\nassert new != text', ScriptWhy.STOPS, 4),
    ],
)
def test_steps_that_do_not_do_what_they_say(site, repo, step, why, line):
    script = f'import re, sys\nfrom pathlib import Path\ntext = Path("vllm/toy.py").read_text()\n{step}\n'
    write(repo / "patch.py", (script + 'Path("vllm/toy.py").write_text(text)\n').encode())
    tree = opened(site, "patch.py")
    assert [(one.why, one.line, one.path) for one in tree.script_failures] == [(why, line, "vllm/toy.py")]
    assert tree.read("vllm/toy.py") == TOY


def test_a_step_that_the_script_itself_gives_up_is_worth_knowing(site, repo):
    script = (
        "from pathlib import Path\n\n\ndef apply(name, old, new):\n    file = Path('vllm') / name\n"
        "    text = file.read_text()\n    if new in text:\n        return 'already'\n    if old not in text:\n"
        "        print('skipped')\n        return 'skipped'\n    file.write_text(text.replace(old, new))\n"
        "    return 'done'\n\n\nfor edit in [('toy.py', 'limit = 3', 'limit = 4'), ('toy.py', 'limit = 5', 'limit = 6'),"
        " ('toy.py', 'none', 'limit = 4')]:\n    print(apply(*edit))\n"
    )
    write(repo / "patch.py", script.encode())
    tree = opened(site, ".")
    assert [(one.why, one.line, one.anchor, one.handled) for one in tree.script_failures] == [
        (ScriptWhy.NO_ANCHOR, 9, "limit = 5", True)
    ]
    assert b"limit = 4" in tree.read("vllm/toy.py")
    write(repo / "patch.py", (script + "raise SystemExit(1)\n").encode())
    tree = opened(site, ".")
    assert [(one.why, one.line, one.anchor) for one in tree.script_failures] == [(ScriptWhy.STOPS, 9, "limit = 5")]


def test_text_that_stands_at_several_places(site, repo):
    script = (
        'from pathlib import Path\np = Path("vllm/sub/other.py")\n'
        'p.write_text(p.read_text().replace("    first = 1\\n    second = 2\\n", "    pass\\n", 1))\n'
    )
    write(repo / "patch.py", script.encode())
    (failure,) = opened(site, ".").script_failures
    assert (failure.why, failure.lines) == (ScriptWhy.SEVERAL, (2, 7))


def test_a_file_that_the_tree_does_not_have(site, repo):
    script = (
        'from pathlib import Path\np = Path("/x/site-packages/vllm/gone.py")\n{}p.write_text(p.read_text() + "#")\n'
    )
    write(repo / "patch.py", script.format("").encode())
    (failure,) = opened(site, ".").script_failures
    assert (failure.why, failure.line, failure.path) == (ScriptWhy.STOPS, 3, "vllm/gone.py")
    write(repo / "patch.py", script.format("if p.exists():\n    ").encode())
    (failure,) = opened(site, ".").script_failures
    assert (failure.why, failure.line, failure.path) == (ScriptWhy.NO_FILE, 3, "vllm/gone.py")


@pytest.mark.parametrize(
    "step",
    [
        "text = transform(text)",
        "text = text.translate({1: 2})",
        "text = requests.get('https://example.org').text",
        "for name in os.listdir('.'):\n    text = text.replace(name, '')",
        "if os.environ.get('X'):\n    text = ''",
        "text = re.sub(r'(a+)+$', '', text)",
        "while True:\n    pass",
        "text = 'x' * 10 ** 12",
        "subprocess.run(['sed', '-i', 's/a/b/', 'vllm/toy.py'])",
    ],
)
def test_what_cannot_be_followed_is_undecided(site, repo, step):
    script = f'import os, re, subprocess\nfrom pathlib import Path\ntext = Path("vllm/toy.py").read_text()\n{step}\n'
    write(repo / "patch.py", (script + 'Path("vllm/toy.py").write_text(text)\n').encode())
    tree = opened(site, "patch.py")
    assert [(one.id, one.path, one.decisive) for one in tree.undecided] == [
        ("patch-script-not-followed", "patch.py", True)
    ]
    assert tree.read("vllm/toy.py") == TOY


def test_a_script_that_is_too_large_is_undecided(site, repo):
    step = "text = text.replace('nothing of this', 'x')\n"
    head = "from pathlib import Path\np = Path('vllm/toy.py')\ntext = p.read_text()\n"
    write(repo / "patch.py", (head + step * 60_000 + "p.write_text(text)\n").encode())
    assert [one.id for one in opened(site, "patch.py").undecided] == ["patch-script-not-followed"]


def test_of_very_many_steps_without_effect_the_first_are_named(site, repo):
    steps = "".join(f"text = text.replace('nothing of this kind {number}', 'x')\n" for number in range(300))
    head = "from pathlib import Path\np = Path('vllm/toy.py')\ntext = p.read_text()\n"
    write(repo / "patch.py", (head + steps + "p.write_text(text)\n").encode())
    found = [one for one in report_of(opened(site, "patch.py")).findings if one.rule == "PF704"]
    assert [one.span.line for one in found] == list(range(4, 104))
    assert "200 more" in found[-1].message


def test_the_lines_that_a_script_makes_are_marked(site, repo):
    write(repo / "patch.py", (HEAD + SCRIPTS["table"]).encode())
    tree = opened(site, ".")
    marks = tree.marks["vllm/toy.py"]
    lines = tree.read("vllm/toy.py").splitlines()
    made = {lines[number]: mark for number, mark in enumerate(marks) if mark is not None}
    assert list(made) == [b"limit = 7"]
    assert made[b"limit = 7"].diff == "patch.py"


def test_code_that_only_uses_vllm_is_no_script(site, repo):
    write(repo / "use.py", b"import vllm\nprint(vllm.__file__)\nwith open('out', 'w') as f:\n    f.write('x')\n")
    write(repo / "plain.py", b"from pathlib import Path\nPath('x').write_text('y')\n")
    tree = opened(site, ".")
    assert not tree.script_failures and not tree.undecided
    assert [file.path for file in tree.outside] == ["plain.py", "use.py"]


# -- Dockerfiles and shell scripts -----------------------------------------------------------------------------------

PACKAGES = "/usr/local/lib/python3.12/dist-packages"


def test_a_dockerfile_copies_runs_and_replaces(site, repo):
    write(repo / "docker" / "Dockerfile", (
        "FROM vllm/vllm-openai:v0.16.0\n"
        f"ARG ROOT={PACKAGES}/vllm\n"
        "COPY changed.py ${ROOT}/sub/other.py\n"
        "COPY patch.py /tmp/patch.py\n"
        "RUN pip install something \\\n    && sed -i 's/\"two\"/\"zwei\"/' $ROOT/toy.py \\\n"
        "    && python3 /tmp/patch.py\n"
        "RUN python3 - <<'EOF'\n"
        "from pathlib import Path\n"
        f"p = Path('{PACKAGES}/vllm/toy.py')\n"
        "p.write_text(p.read_text() + 'last = 1\\n')\n"
        "EOF\n"
    ).encode())  # fmt: skip
    write(repo / "docker" / "changed.py", b"changed = 1\n")
    script = f'from pathlib import Path\np = Path("{PACKAGES}/vllm/toy.py")\np.write_text(p.read_text().replace("= 3", "= 4"))\n'
    write(repo / "docker" / "patch.py", script.encode())
    tree = opened(site, "docker")
    assert not tree.script_failures and not tree.undecided
    assert tree.read("vllm/sub/other.py") == b"changed = 1\n"
    text = tree.read("vllm/toy.py")
    assert b'"zwei"' in text and b"limit = 4" in text and text.endswith(b"last = 1\n")
    assert [file.path for file in tree.outside] == ["docker/patch.py"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (f"sed -i 's/limit = 5/limit = 6/' {PACKAGES}/vllm/toy.py", ScriptWhy.NO_ANCHOR),
        (f"sed -i 's/limit = 5/limit = 6/' {PACKAGES}/vllm/gone.py", ScriptWhy.STOPS),
        (f"grep -q 'limit = 5' {PACKAGES}/vllm/toy.py", ScriptWhy.STOPS),
        (f"grep -q 'limit = 5' {PACKAGES}/vllm/toy.py || exit 1", ScriptWhy.STOPS),
    ],
)
def test_steps_of_a_dockerfile_that_do_not_do_what_they_say(site, repo, step, why):
    write(repo / "Dockerfile", f"FROM x\nRUN true \\\n    && {step}\n".encode())
    assert [(one.why, one.line) for one in opened(site, ".").script_failures][:1] == [(why, 3)]


def test_shell_that_is_not_followed_is_undecided(site, repo):
    write(repo / "patch.sh", f"for f in $(ls); do\n  sed -i s/a/b/ {PACKAGES}/vllm/$f\ndone\n".encode())
    write(repo / "launch.sh", b"if true; then\n  vllm serve /models/vllm/model\nfi\n")
    tree = opened(site, ".")
    assert [(one.id, one.path) for one in tree.undecided][:1] == [("patch-script-not-followed", "patch.sh")]
    assert all(one.path != "launch.sh" for one in tree.undecided)


@pytest.mark.parametrize(
    "end", [f"for f in $(ls); do rm {PACKAGES}/vllm/$f; done", "exit 1", f"grep -q nothing {PACKAGES}/vllm/toy.py"]
)
def test_a_script_that_does_not_come_to_its_end_is_not_laid_over(site, repo, end):
    step = f"sed -i s/limit/maximum/ {PACKAGES}/vllm/toy.py"
    write(repo / "patch.sh", f"set -e\n{step}\n{end}\n".encode())
    tree = opened(site, ".")
    assert tree.read("vllm/toy.py") == TOY
    assert tree.script_failures or tree.undecided


TEXT = st.text(alphabet="ab1. \n", max_size=40)
ATOM = st.sampled_from(
    ["a", "b", "1", ".", "[ab]", "[^a]", "^", "$", r"\.", r"\(a\)", "a*", r"b\+", "[[:digit:]]", "+"]
)
FLAGS = st.sampled_from(["", "g", "2", "I", "gI"])
ADDRESS = st.sampled_from(["", "1", "$", "/a/", "1,2", "/a/,/b/", "2!", "/b/,2"])


@settings(max_examples=150, deadline=None)
@given(ADDRESS, st.lists(ATOM, min_size=1, max_size=4), st.sampled_from(["x", "&&", r"<\n>", "", r"\&"]), FLAGS, TEXT)
def test_sed_is_followed_as_it_runs(address, atoms, replacement, flags, text):
    script = f"{address}s/{''.join(atoms)}/{replacement}/{flags}"
    run = subprocess.run(["sed", script], input=text, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"})
    try:
        made, _ = apply_sed(parse_sed(script, False), text)
    except NotFollowed:
        return
    assert (run.returncode, made) == (0, run.stdout)


@pytest.mark.parametrize(
    ("script", "extended"),
    [
        ("/b/d", False), ("2d", False), ("$d", False), ("1,2d", False), ("/a/a after", False), ("/a/i before", False),
        ("/a/a\\    after", False), ("2c changed", False), ("s|a/b|c|", False), ("s/(a)(b)?/\\2\\1/", True),
        ("s/a/x/;s/b/y/", False), ("s#^\\s*a#\\t&#", False), ("s/[/]/x/", False), ("/^a/!d", False),
    ],
)  # fmt: skip
def test_commands_of_sed(script, extended):
    text = "a/b\nab\nb\n  a\n"
    options = ["-E"] if extended else []
    run = subprocess.run(["sed", *options, script], input=text, capture_output=True, text=True)
    try:
        made, _ = apply_sed(parse_sed(script, extended), text)
    except NotFollowed:
        assert script == "s/[/]/x/"
        return
    assert made == run.stdout


def test_a_folder_that_a_script_deletes_is_gone(site, repo):
    write(
        repo / "p.py", b'import os, shutil, vllm\nshutil.rmtree(os.path.join(os.path.dirname(vllm.__file__), "sub"))\n'
    )
    tree = opened(site, "p.py")
    assert not tree.exists("vllm/sub/other.py")
    assert tree.exists("vllm/toy.py")


@pytest.mark.parametrize(("word", "finds"), [("PY", True), ("'PY'", False)])
def test_the_variables_of_a_heredoc_are_those_of_the_shell_unless_its_word_is_quoted(site, repo, word, finds):
    text = (
        "SP=/usr/lib/python3.12/site-packages/vllm\n"
        f"python3 - <<{word}\nimport pathlib\np = pathlib.Path('$SP/toy.py')\n"
        "p.write_text(p.read_text().replace('limit = 3', 'limit = 4'))\nPY\n"
    )
    write(repo / "p.sh", text.encode())
    tree = opened(site, "p.sh")
    assert (b"limit = 4" in tree.read("vllm/toy.py")) is finds


REPOSITORY = {
    "changed.py": "changed = 1\n",
    "stuff/toy.py": "stuff = 1\n",
    "stuff/sub/other.py": "stuff = 2\n",
    "edits.sed": "s/limit/maximum/\n",
    "fix.patch": "--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -3,1 +3,1 @@\n-limit = 3\n+limit = 4\n",
    "later.patch": "--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -5,1 +5,1 @@\n-limit = 4\n+limit = 6\n",
    "list": "toy.py\nsub/other.py\n",
    "series": "fix.patch\nlater.patch\n",
    "edit.py": "from pathlib import Path\np = Path('$SP/toy.py')\np.write_text(p.read_text().replace('limit', 'x'))\n",
    "inner.sh": "sed -i 's/limit/maximum/' $SP/toy.py\n",
}


def run_both(site: Path, repo: Path, text: str) -> tuple[Tree, dict[str, bytes]]:
    """The tree as preflight sees it behind a script of bash, and the files as bash leaves them."""
    for name, content in REPOSITORY.items():
        if name.partition("/")[0] in text:
            write(repo / name, content.replace("$SP", f"{site}/vllm").encode())
    write(repo / "use.sh", f"SP={site}/vllm\n{text}\n".encode())
    tree = opened(site, ".")
    subprocess.run(["bash", "use.sh"], cwd=repo, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    left = {path.relative_to(site).as_posix(): path.read_bytes() for path in (site / "vllm").rglob("*.py")}
    return tree, left


@pytest.mark.parametrize(
    "text",
    [
        "sed -iE 's/limit/x/' $SP/toy.py",
        "sed -ie 's/limit/x/' $SP/toy.py",
        "sed -Ei 's/(limit)/x/' $SP/toy.py",
        "sed --in-place=.bak --expression='s/limit/x/' $SP/toy.py",
        "sed -si -f edits.sed $SP/toy.py $SP/sub/other.py",
        "sed -i '/limit/d' $SP/*.py",
        "sed -i 's/limit/x/' $SP/{toy,sub/other}.py",
        "cat > $SP/new.py <<EOF\nx = 1\nEOF",
        "cat << EOF | tee $SP/new.py\nx = 1\nEOF",
        "tee -a $SP/toy.py <<'EOF' > /dev/null\nx = 1\nEOF",
        "echo 'x = 1' | tee -a $SP/toy.py",
        "echo 'x = 1' >> $SP/toy.py; printf 'y = 1\\n' >> $SP/toy.py",
        ": > $SP/toy.py",
        "install -m 644 -D changed.py $SP/deep/new.py",
        "cp -t $SP changed.py",
        "cp -r stuff/. $SP/",
        "cp -r stuff $SP/",
        "cp -r stuff/* $SP/",
        "cp stuff/*.py $SP",
        "ln -sf $PWD/changed.py $SP/toy.py",
        "mv $SP/toy.py $SP/new.py",
        "mkdir -p $SP/deep && cp changed.py $SP/deep/new.py",
        "rm -rf $SP/sub",
        "for p in *.patch; do patch -p1 -d $SP/.. < $p; done  # fix.patch",
        "(patch -p1 -d $SP/.. -i $PWD/fix.patch) > log || exit 1",
        "for f in toy.py sub/other.py; do sed -i 's/limit/x/' $SP/$f; done",
        "for f in $SP/*.py; do sed -i 's/limit/x/' $f; done",
        "if [ -d $SP/sub ] && [ -f $SP/toy.py ]; then sed -i s/limit/x/ $SP/toy.py; else rm $SP/toy.py; fi",
        "if [ -d $SP/no ]; then rm $SP/toy.py; elif [ -d $SP/sub ]; then sed -i s/limit/x/ $SP/toy.py; fi",
        "if ! grep -q nothing $SP/toy.py\nthen\n  sed -i s/limit/x/ $SP/toy.py\nfi",
        "test -f $SP/gone.py || sed -i s/limit/x/ $SP/toy.py",
        "[ -f $SP/gone.py ] && sed -i s/limit/x/ $SP/toy.py",
        "false || sed -i s/limit/x/ $SP/toy.py",
        "[[ $SP == *vllm* ]] && true; { sed -i s/limit/x/ $SP/toy.py; }",
        'change() {\n  local file=$1\n  sed -i "s/$2/x/" "$file"\n}\nchange $SP/toy.py limit',
        'D=$(cd "$(dirname "$0")" && pwd)\ncp $D/changed.py $SP/toy.py',
        'F="$SP/toy.py"; NEW=y; sed -i "s/limit/$NEW/" ${F}',
        "env A=1 nice sed -i s/limit/x/ $SP/toy.py",
        "eval \"sed -i s/limit/x/ $SP/toy.py\"; bash -c 'echo 1' ",
        "bash inner.sh",
        "cd $SP/sub; sed -i s/limit/x/ ../toy.py",
        "python3 -c \"\nimport pathlib\np = pathlib.Path('$SP/toy.py')\np.write_text('')\n\"",
        "python3 edit.py || exit 1",
        "sed -i s/limit/x/ $SP/toy.py &&\n  cp changed.py $SP/new.py",
        "exit 0\nsed -i s/limit/x/ $SP/toy.py",
        "patch -p1 -d $SP/.. < fix.patch; patch -p1 -R -d $SP/.. < fix.patch",
        "patch -p1 -d $SP/.. < fix.patch; sed -i 's/limit = 4/limit = 5/' $SP/toy.py",
        "sed -i 's/^limit = 3/limit = 9/' $SP/toy.py; sed -i s/9/3/ $SP/toy.py; patch $SP/toy.py < fix.patch",
        "cat fix.patch | patch -p1 -d $SP/..",
        "cat fix.patch later.patch | patch -p1 -d $SP/..",
        "cd $SP/.. && git apply < $OLDPWD/fix.patch || (cd - && patch -p1 -d $SP/.. < fix.patch)",
        "patch -p1 -d $SP/.. <<'EOF'\n--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -5,1 +5,1 @@\n-limit = 3\n+limit = 4\nEOF",
        "while read -r f; do sed -i 's/limit/x/' $SP/$f; done < list",
        "while IFS= read -r p; do patch -p1 -d $SP/.. < $p; done < series  # fix.patch later.patch",
        "F=; cat list | while read f; do F=$f; sed -i 's/limit/x/' $SP/$f; done; [ -z \"$F\" ] && rm $SP/sub/other.py",
        "while read -r f new; do cp $new $SP/$f; done <<EOF\ntoy.py  changed.py\nsub/other.py changed.py\nEOF",
        "printf 'toy.py' | while read -r f || [ -n \"$f\" ]; do rm $SP/$f; done",
        "printf 'toy.py' | while read -r f; do rm $SP/$f; done",
        "case $SP in *vllm) sed -i s/limit/x/ $SP/toy.py;; *) rm $SP/toy.py;; esac",
        'V=0.16\ncase "$V" in\n  0.1[0-5]|0.9)\n    rm $SP/toy.py\n    ;;\n  0.16) case x in y) ;; (x) sed -i s/limit/x/ $SP/toy.py ;; esac\n    ;;\n  *) exit 1 ;;\nesac',
        "case a in a) sed -i s/limit/x/ $SP/toy.py ;& b) rm $SP/sub/other.py ;; c) rm $SP/toy.py;; esac",
        "case a in a) sed -i s/limit/x/ $SP/toy.py ;;& b) rm $SP/sub/other.py ;; ?) cp changed.py $SP ;; esac",
        "case '*' in '*') rm $SP/toy.py;; esac; case x in '*') rm $SP/sub/other.py;; esac",
        "for f in toy sub/other; do sed -i s/limit/x/ $SP/$f.py; break; done",
        "for f in toy sub/other; do for g in a b; do continue 2; done; rm $SP/$f.py; done",
        "for f in gone toy; do [ -f $SP/$f.py ] || continue; sed -i s/limit/x/ $SP/$f.py; done",
        "until grep -q xx $SP/toy.py; do sed -i s/limit/limitx/ $SP/toy.py; done",
        "while true; do sed -i s/limit/x/ $SP/toy.py; break; done",
        "{ echo a; printf 'b\\n'; cat changed.py; } > $SP/new.py",
        "( echo a && echo b ) >> $SP/toy.py",
        "{ sed -i s/limit/x/ $SP/toy.py; } > log 2>&1 < /dev/null",
    ],
)
def test_shell_is_followed_as_bash_runs_it(site, repo, text):
    tree, left = run_both(site, repo, text)
    assert not tree.undecided
    assert {path: tree.read(path) for path in tree.files() if path.endswith(".py")} == left


@pytest.mark.parametrize(
    "text",
    [
        "perl -pi -e 's/limit/x/' $SP/toy.py",
        "sed 's/limit/x/' $SP/toy.py > $SP/new.py",
        "curl -o $SP/toy.py http://localhost:1/x",
        "find $SP -name toy.py -exec sed -i s/limit/x/ {} +",
        "grep -rl limit $SP | xargs sed -i s/limit/x/",
        'if [ "$WANTED" = 1 ]; then sed -i s/limit/x/ $SP/toy.py; fi',
        "ls | while read f; do sed -i s/limit/x/ $SP/$f; done",
        "while read f; do sed -i s/limit/x/ $SP/$f; done < $1",
        "while read f; do sed -i s/limit/x/ $SP/$f; done <<< toy.py",
        "while IFS=: read -r f g; do sed -i s/limit/x/ $SP/$f; done <<EOF\ntoy.py:x\nEOF",
        'for f in toy sub/other; do if [ -n "$1" ]; then break; fi; rm $SP/$f.py; done',
        'if [ -n "$1" ]; then F=toy.py; else F=sub/other.py; fi; sed -i s/limit/x/ $SP/$F',
        '[ -n "$1" ] && cd $SP; sed -i s/limit/x/ toy.py',
        "case $1 in a) F=toy.py;; *) F=sub/other.py;; esac; rm $SP/$F",
        'for p in fix.patch gone.patch; do [ -f "$p" ] && patch -p1 -d $SP/.. < $p; done',
        "patch -p1 -d $SP/.. < gone.patch",
        "rm $SP/$1",
        "echo x > $SP/$1/y.py",
        "curl http://localhost:1/x | patch -p1 -d $SP/..",
        "{ date; echo b; } > $SP/new.py",
        "cd $SP/..; git am -3 fix.patch",
        "case $1 in a) rm $SP/toy.py;; esac",
        "for f in {1..3}; do rm $SP/$f.py; done",
        "which git && sed -i s/limit/x/ $SP/toy.py",
        "python3 /opt/gone.py $SP",
        "cd $SP; python3 /opt/gone.py",
        "sed -i s/limit/x/ $SP/toy.py; python3 /opt/gone.py",
        "sed -i s/limit/x/ $SP/toy.py; bash /opt/gone.sh",
        "sed -i s/limit/x/ $SP/toy.py; sed -i s/name/x/ $1",
        "python3 - $SP/toy.py <<EOF\nimport sys\nopen(sys.argv[1], 'w')\nEOF",
        "again() { again; cp changed.py $SP; }; again",
        "sed -i s/limit/x/ $SP/toy.py; if [ -f x ]; then",
    ],
)
def test_shell_of_which_nobody_can_say_what_it_does_is_undecided(site, repo, text):
    before = {path.relative_to(site).as_posix(): path.read_bytes() for path in (site / "vllm").rglob("*.py")}
    for name in ("changed.py", "fix.patch"):
        if name in text:
            write(repo / name, REPOSITORY[name].encode())
    write(repo / "use.sh", f"SP={site}/vllm\n{text}\n".encode())
    tree = opened(site, "use.sh")
    assert [(one.id, one.path) for one in tree.undecided] == [("patch-script-not-followed", "use.sh")]
    assert {path: tree.read(path) for path in before} == before


def test_shell_that_changes_nothing_of_the_tree_is_nobodys_question(site, repo):
    text = (
        "SP=/usr/lib/python3/site-packages/vllm\nset -e\nwhile getopts x opt; do case $opt in x) X=1;; esac; done\n"
        'if [ -n "$LOG" ]; then cp -r "$LOG" /tmp/kept; rm -rf "$LOG"; fi\nls $SP | head\npython3 /opt/warm_up.py\n'
        "for i in $(seq 3); do curl -s localhost:8000/health > /tmp/health && break; done\n"
        'sed -i s/a/b/ "$CONFIG"\nexec vllm serve /models/vllm/model "$@"\n'
    )
    write(repo / "launch.sh", text.encode())
    write(repo / "use.py", b"import vllm\n")
    tree = opened(site, ".")
    assert not tree.undecided and not tree.script_failures


def test_files_that_wildcards_bring_need_not_all_have_the_text(site, repo):
    for step in (
        "for f in {P}/vllm/*.py; do sed -i 's/limit/x/' $f; done",
        "sed -i 's/limit/x/' {P}/vllm/*.py",
    ):
        write(repo / "use.sh", (step.replace("{P}", PACKAGES) + "\n").encode())
        assert not opened(site, ".").script_failures
    write(repo / "use.sh", f"cp use.sh {PACKAGES}/vllm/gone/x.py\n".encode())
    assert [(one.why, one.path) for one in opened(site, ".").script_failures] == [(ScriptWhy.NO_FILE, "vllm/gone")]
