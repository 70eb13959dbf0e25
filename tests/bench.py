"""`make bench`: how long the main jobs take, as ratios measured side by side on this machine, never as seconds alone.

    python -m tests.bench [VERSION]

Each pair is run in turn, so that a busy machine slows both; the median of each is compared. "Cold" keeps nothing from an
earlier run, "again" is the same check when nothing has changed since. With VLLM_PYTHON, an interpreter that has the
incident's vLLM 0.16.0 installed, the incident's launch is also given to the real ``create_engine_config``.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 7
_MODELS = "vllm/model_executor/models"
#: the files that the incident's team had patched
INCIDENT = (f"{_MODELS}/deepseek_v2.py", f"{_MODELS}/kimi_k25.py")


def main() -> int:
    version = sys.argv[1] if len(sys.argv) > 1 else "0.33.0"
    from tests.trees import released

    with tempfile.TemporaryDirectory() as folder:
        site = installed_copy(released(version), Path(folder))
        python = sys.executable
        again = [python, "-m", "preflight", "check", "--vllm-site-packages", str(site)]
        ours = [*again, "--no-cache"]
        print(f"vllm {version}, {sum(1 for _ in site.rglob('*.py'))} Python files; median of {ROUNDS} runs")
        for what, paths in (("those of the incident", INCIDENT), ("the two longest of its models", longest(site))):
            before = patch(site, paths)
            files = [str(site / path) for path in paths]
            print(f"\ntwo files patched, {what}")
            table(
                [
                    ('python -c "import libcst"', [python, "-c", "import libcst"]),
                    ("preflight check --select PF1, cold", [*ours, "--select", "PF1"]),
                    ("preflight check, cold", ours),
                    ("python -m compileall, the two files", [python, "-m", "compileall", "-q", "-f", *files]),
                    (
                        "ruff check --select E9, the two files",
                        [python, "-m", "ruff", "check", "-q", "--no-cache", "--select", "E9", *files],
                    ),
                ]
            )
            # by itself: what compileall writes beside the sources is looked at, too
            table([('python -c "import libcst"', [python, "-c", "import libcst"]), ("preflight check, again", again)])
            for path, data in before.items():
                (site / path).write_bytes(data)
        tree = str(site / "vllm")
        print("\nthe whole tree (--all)")
        table(
            [
                ("python -m compileall, the whole tree", [python, "-m", "compileall", "-q", "-f", tree]),
                ("preflight check --all", [*ours, "--all"]),
                (
                    "ruff check --select E9, the whole tree",
                    [python, "-m", "ruff", "check", "-q", "--no-cache", "--select", "E9", tree],
                ),
            ],
            rounds=3,
        )
        the_incident(Path(folder))
    return 0


def the_incident(folder: Path) -> None:
    """The incident's launch on the release that it was made with: cold, again, and by the real vLLM where there is one."""
    from tests.trees import released, transformers
    from tests.walk_launches import DRAFTER, KIMI, TARGET, words_of

    site = installed_copy(released("0.16.0"), folder / "incident", transformers("4.57.6"))
    launch = words_of(
        folder, TARGET, *KIMI, drafter=DRAFTER, settings={"method": "eagle3", "num_speculative_tokens": 5}
    )
    again = [sys.executable, "-m", "preflight", "check", "--vllm-site-packages", str(site)]
    rows = [
        ('python -c "import libcst"', [sys.executable, "-c", "import libcst"]),
        ("preflight check -- vllm serve, cold", [*again, "--no-cache", "--", *launch]),
        ("preflight check -- vllm serve, again", [*again, "--", *launch]),
    ]
    if real := os.environ.get("VLLM_PYTHON"):
        rows.append(("the real create_engine_config", [real, "-c", _REAL, *launch[2:]]))
    print("\nthe incident's launch, vllm 0.16.0")
    table(rows, rounds=3)


#: what `vllm serve` does first; it ends with the first of the three faults of this launch, and shows no other
_REAL = """
import sys
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.openai.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(["--model", *sys.argv[1:]])
AsyncEngineArgs.from_cli_args(arguments).create_engine_config()
"""


def table(rows: Sequence[tuple[str, list[str]]], rounds: int = ROUNDS) -> None:
    """Run every command in turn, ``rounds`` times, and print seconds, peak memory and the ratio to the first row."""
    times: dict[str, list[float]] = {name: [] for name, _ in rows}
    peaks: dict[str, int] = {}
    for _ in range(rounds):
        for name, command in rows:
            seconds, peak = measured(command)
            times[name].append(seconds)
            peaks[name] = max(peaks.get(name, 0), peak)
    base = statistics.median(times[rows[0][0]])
    print(f"  {'':<40} {'seconds':>8} {'MB':>6} {'ratio':>6}")
    for name, _ in rows:
        median = statistics.median(times[name])
        print(f"  {name:<40} {median:8.3f} {peaks[name] / 1024:6.0f} {median / base:6.2f}")


def measured(command: Sequence[str]) -> tuple[float, int]:
    """Seconds and peak memory (KiB) of one run, children included."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1]
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss


def installed_copy(release: Path, folder: Path, *beside: Path) -> Path:
    """The release as an installation of its own, with others ``beside`` it: an environment with this interpreter, files
    linked, not copied."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    for one in (release, *beside):
        shutil.copytree(one, site, copy_function=os.link, dirs_exist_ok=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"version = {sys.version.split()[0]}\n")
    return site


def longest(site: Path) -> tuple[str, ...]:
    """The two longest model files."""
    models = sorted((site / _MODELS).glob("*.py"), key=lambda file: (-file.stat().st_size, file.name))
    return tuple(file.relative_to(site).as_posix() for file in models[:2])


def patch(site: Path, paths: Sequence[str]) -> dict[str, bytes]:
    """Patch the files with a line of code, each as a file of its own; returns what they held."""
    before = {path: (site / path).read_bytes() for path in paths}
    for path, data in before.items():
        (site / path).unlink()
        (site / path).write_bytes(data + b"\nPATCHED = True\n")  # for a comment alone less would be looked at
    return before


if __name__ == "__main__":
    sys.exit(main())
