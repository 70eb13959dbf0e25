"""Monkey patches of scripts: those that the processes which vLLM starts do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.checks.monkey.processes import children_of
from preflight.program import Class, Program
from preflight.tree import TreeRequest, open_tree
from tests.checking import report_of
from tests.minitree import make_tree, write
from tests.trees import released

METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
RELEASE = {
    "vllm/plugins.py": "def load_general_plugins():\n    pass\n",
    "vllm/platforms.py": "def check(config):\n    config.worker_cls = 'vllm.worker.Worker'\n",
    "vllm/worker.py": (
        "from vllm.runner import Runner, Shared, Unmade, prepare\n\n\nclass Worker:\n"
        "    def start(self):\n        prepare()\n        self.runner = Runner()\n        self.shared = Shared()\n\n"
        "    @classmethod\n    def about(cls):\n        return Unmade()\n"
    ),
    "vllm/runner.py": (
        "class Runner:\n    def run(self):\n        return Part()\n\n    @staticmethod\n    def name():\n        return 'r'\n\n\n"
        "class Part:\n    def go(self):\n        return 1\n\n\n"
        "class Shared:\n    def go(self):\n        return 1\n\n\n"
        "class Unmade:\n    def go(self):\n        return 1\n\n\n"
        "def prepare():\n    return 2\n"
    ),
    "vllm/engine.py": (
        "from vllm.plugins import load_general_plugins\nfrom vllm.kept import Kept\n\n\nclass Core:\n"
        "    def __init__(self, make):\n        load_general_plugins()\n        self.kept: Kept = make()\n\n"
        "    def step(self):\n        return 1\n\n\n"
        "class Proc(Core):\n    @staticmethod\n    def run_core():\n        Proc(None)\n"
    ),
    "vllm/kept.py": "class Kept:\n    pass\n\n\nclass Mine(Kept):\n    def plan(self):\n        return 1\n",
    "vllm/settings.py": "from vllm.kept import Mine\n\n\ndef kind():\n    return Mine\n",
    "vllm/server.py": (
        "from multiprocessing import Process\nfrom vllm.engine import Proc\nfrom vllm.runner import Shared\n\n\n"
        "def run_server(args):\n    Process(target=Proc.run_core).start()\n    return Shared()\n"
    ),
    "vllm/api.py": "class LLM:\n    def __init__(self, model, **options):\n        self.model = model\n",
    "vllm/command.py": (
        f"import os\n\n\ndef set_up():\n    if '{METHOD}' not in os.environ:\n        os.environ['{METHOD}'] = 'spawn'\n\n\n"
        "def main():\n    set_up()\n"
    ),
}
HEAD = "import os\nimport subprocess\nfrom vllm.command import main\nfrom vllm.runner import Runner\n"
GUARD = "if __name__ == '__main__':\n"
PATCH = "Runner.run = print\n"
SPAWN = f"os.environ['{METHOD}'] = 'spawn'\n"


def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> list[tuple[str, int | None]]:
    site = make_tree(tmp_path / "site", RELEASE)
    repo = tmp_path / "repo"
    for path, text in files.items():
        write(repo / path, text.encode())
    monkeypatch.chdir(repo)
    report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=(".",)), {}))
    return [(one.span.path, one.span.line) for one in report.findings if one.rule == "PF714"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{HEAD}{GUARD}    {PATCH}    main()\n", 6),
        (f"{HEAD}def go():\n    {PATCH}    main()\n{GUARD}    go()\n", 6),
        (f"{HEAD}def put():\n    {PATCH}def go():\n    put()\n    main()\n{GUARD}    go()\n", 6),
        (f"{HEAD}{GUARD}    import vllm.runner\n    vllm.runner.prepare = print\n    main()\n", 7),
        (f"{HEAD}{GUARD}    from vllm.runner import Part\n    Part.go = print\n    main()\n", 7),
        (f"{HEAD}{GUARD}    from vllm.engine import Core\n    Core.step = print\n    main()\n", 7),
        (f"{HEAD}{GUARD}    from vllm.kept import Mine\n    Mine.plan = print\n    main()\n", 7),
        (f"{HEAD}{SPAWN}from vllm.api import LLM\n{GUARD}    {PATCH}    LLM('m', seed=1)\n", 8),
        (f"{HEAD}{SPAWN}from vllm.server import run_server\n{GUARD}    {PATCH}    print(run_server(1))\n", 8),
        (f"{HEAD}{PATCH}subprocess.run(['vllm', 'serve', 'm'])\n", 5),
        (f"{HEAD}{PATCH}os.system(f'A=1 vllm serve {{main}}')\n", 5),
        (f"{HEAD}{PATCH}os.execvp('python3', ['python3', '-m', 'vllm.entrypoints.openai.api_server'])\n", 5),
    ],
)
def test_patches_that_other_processes_do_not_have(tmp_path, monkeypatch, text, line):
    assert found(tmp_path, monkeypatch, {"serve.py": text}) == [("serve.py", line)]


@pytest.mark.parametrize(
    "text",
    [
        # a process that is spawned runs the module level of the script
        f"{HEAD}{PATCH}{GUARD}    main()\n",
        f"{HEAD}def put():\n    {PATCH}put()\n{GUARD}    put()\n    main()\n",
        # the start method is fork, or may be
        f"{HEAD}os.environ['{METHOD}'] = 'fork'\n{GUARD}    {PATCH}    main()\n",
        f"{HEAD}if input():\n    {SPAWN}from vllm.api import LLM\n{GUARD}    {PATCH}    LLM('m')\n",
        f"{HEAD}from vllm.api import LLM\n{GUARD}    {PATCH}    LLM('m')\n",
        # the engine may be in the script's own process
        f"{HEAD}os.environ['VLLM_ENABLE_V1_MULTIPROCESSING'] = '0'\n{GUARD}    {PATCH}    main()\n",
        f"{HEAD}{SPAWN}from vllm.api import LLM\n{GUARD}    {PATCH}    LLM('m', **dict(os.environ))\n",
        f"{HEAD}{SPAWN}from vllm.api import LLM\n{GUARD}    {PATCH}    LLM('m', distributed_executor_backend='external_launcher')\n",
        # the server's own process uses it, or may
        f"{HEAD}{GUARD}    from vllm.runner import Shared\n    Shared.go = print\n    main()\n",
        f"{HEAD}{GUARD}    from vllm.runner import Unmade\n    Unmade.go = print\n    main()\n",
        f"{HEAD}{GUARD}    Runner.name = print\n    main()\n",
        # nothing is started, or something else
        f"{HEAD}{GUARD}    {PATCH}",
        f"{HEAD}{PATCH}subprocess.run(['vllm', 'bench', 'm'])\n",
        f"{HEAD}{PATCH}from vllm.api import LLM\nLLM('m')\nsubprocess.run(['vllm', 'serve', 'm'])\n",
    ],
)
def test_patches_that_they_have_or_may_have(tmp_path, monkeypatch, text):
    assert found(tmp_path, monkeypatch, {"serve.py": text}) == []


def test_what_other_files_do_with_the_patch(tmp_path, monkeypatch):
    script = f"{HEAD}def put():\n    {PATCH}{GUARD}    put()\n    main()\n"
    assert found(tmp_path / "a", monkeypatch, {"serve.py": script, "more.py": "import vllm\n"}) == [("serve.py", 6)]
    for number, other in enumerate(
        ("import vllm\nfrom serve import put\nput()\n", "from vllm.runner import Runner\nRunner.run = print\n")
    ):
        files = {"serve.py": script, "more.py": other}
        assert found(tmp_path / str(number), monkeypatch, files) == []


@pytest.mark.real
def test_classes_of_a_release():
    program = Program(open_tree(TreeRequest(site_packages=str(released("0.16.0"))), {}))
    answers = {
        "vllm.v1.worker.gpu_model_runner.GPUModelRunner": True,
        "vllm.v1.core.sched.scheduler.Scheduler": True,
        "vllm.v1.core.kv_cache_manager.KVCacheManager": True,
        "vllm.model_executor.models.deepseek_v2.DeepseekV2DecoderLayer": True,
        "vllm.config.model.ModelConfig": False,
        "vllm.v1.engine.output_processor.OutputProcessor": False,
        "vllm.v1.engine.async_llm.AsyncLLM": False,
        "vllm.multimodal.registry.MultiModalRegistry": False,
    }
    for target, expected in answers.items():
        cls = program.find_class(*target.rsplit(".", 1))
        assert isinstance(cls, Class)
        assert children_of(program).has_class(cls) is expected, target


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("LLM('m', size=1)\n", None),
        ("Worker('m')\n", "error"),
        ("if __name__ == '__main__':\n    Worker('m')\n", "warning"),
        ("def go():\n    Worker('m')\n", "warning"),
    ],
)
def test_calls_of_a_script_that_cannot_bind(tmp_path, monkeypatch, call, severity):
    site = make_tree(tmp_path / "site", RELEASE)
    write(tmp_path / "repo/serve.py", f"from vllm.api import LLM\nfrom vllm.worker import Worker\n{call}".encode())
    monkeypatch.chdir(tmp_path / "repo")
    report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=("serve.py",)), {}))
    found = [one.severity.value for one in report.findings if one.rule == "PF305"]
    assert found == ([severity] if severity else [])
