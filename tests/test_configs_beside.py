"""What code beside the tree reads of the engine's configs, and a release has taken out of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.tree import TreeRequest, open_tree
from tests.checking import report_of
from tests.minitree import make_tree, write

CONFIG = """
from dataclasses import dataclass

from vllm.config.utils import config


@config
@dataclass
class LoRAConfig:
    max_loras: int = 1
    ONCE

    def compute_hash(self) -> str:
        return str(self.max_loras)
"""
RELEASE = {
    "vllm/config/utils.py": "def config(cls):\n    return cls\n",
    "vllm/config/__init__.py": (
        "from vllm.config.lora import LoRAConfig\nfrom vllm.config.vllm import VllmConfig\n"
        "from vllm.config.cache import CacheConfig\n"
    ),
    "vllm/config/lora.py": CONFIG.replace("ONCE", ""),
    "vllm/config/cache.py": CONFIG.replace("ONCE", "").replace("LoRAConfig", "CacheConfig"),
    "vllm/config/vllm.py": (
        "from __future__ import annotations\n\nfrom dataclasses import dataclass\n\n"
        "from vllm.config.lora import LoRAConfig\n\n\n"
        "@dataclass\nclass VllmConfig:\n    lora_config: LoRAConfig | None = None\n"
    ),
    "vllm/lora/worker_manager.py": """
from vllm.config import VllmConfig


class WorkerLoRAManager:
    def __init__(self, vllm_config: VllmConfig, device):
        self.lora_config = vllm_config.lora_config

    def _load_adapter(self, lora_request):
        return self.lora_config.max_loras


class LRUCacheWorkerLoRAManager(WorkerLoRAManager):
    pass
""",
}
#: a plug-in of the public shape: a class that puts a function of its own in the place of a method
HIJACK = """
from vllm.lora.worker_manager import LRUCacheWorkerLoRAManager


class Hijack:
    @staticmethod
    def hijack():
        def hijack__load_adapter(self, lora_request):
            try:
                size = self.lora_config.lora_extra_vocab_size
            except Exception as error:
                raise error
            return size

        PUT
"""
DIRECT = "LRUCacheWorkerLoRAManager._load_adapter = hijack__load_adapter"
HELPED = (
    "def put(cls, name, method):\n            setattr(cls, name, method)\n\n"
    "        put(LRUCacheWorkerLoRAManager, '_load_adapter', hijack__load_adapter)"
)
USES = "from vllm.config import CacheConfig, LoRAConfig, VllmConfig\n\n\n"
FUNCTION = USES + "def padding(lora_config: LoRAConfig | None) -> int:\n    return "


def found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, release: dict[str, str] | None = None, other: str = ""
) -> list[tuple[str, str, int | None]]:
    site = make_tree(tmp_path / "site", {**RELEASE, **(release or {})})
    repo = tmp_path / "repo"
    write(repo / "plug.py", text.encode())
    write(repo / "other.py", other.encode())
    monkeypatch.chdir(repo)
    report = report_of(open_tree(TreeRequest(site_packages=str(site), paths=("plug.py", "other.py")), {}))
    return [(one.rule, one.severity.value, one.span.line) for one in report.findings]


@pytest.mark.parametrize("put", [DIRECT, HELPED])
def test_a_function_in_the_place_of_a_method_reads_of_its_object(
    put: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HIJACK.replace("PUT", put)
    assert found(tmp_path, monkeypatch, text) == [("PF403", "warning", 10)]
    before = {"vllm/config/lora.py": CONFIG.replace("ONCE", "lora_extra_vocab_size: int = 256")}
    assert found(tmp_path / "before", monkeypatch, text, before) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (FUNCTION + "lora_config.lora_extra_vocab_size\n", 5),
        (USES + "def padding(vllm_config: VllmConfig):\n    return vllm_config.lora_config.lora_extra_vocab_size\n", 5),
        (USES + "def padding(vllm_config: VllmConfig):\n    vllm_config.lora_config.verify_with(1)\n", 5),
        (USES + "class Own:\n    def go(self, c: VllmConfig):\n        lora_config = c.lora_config\n"
         "        return lora_config.lora_extra_vocab_size\n", 7),
    ],
)  # fmt: skip
def test_an_annotation_says_which_config_it_is(
    text: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(tmp_path, monkeypatch, text) == [("PF403", "warning", line)]


@pytest.mark.parametrize(
    "text",
    [
        FUNCTION + "lora_config.max_loras\n",
        FUNCTION + "lora_config.compute_hash()\n",
        FUNCTION + "getattr(lora_config, 'lora_extra_vocab_size', 0)\n",
        FUNCTION + "lora_config.lora_extra_vocab_size if hasattr(lora_config, 'lora_extra_vocab_size') else 0\n",
        FUNCTION.replace("return ", "try:\n        return ")
        + "lora_config.lora_extra_vocab_size\n    except AttributeError:\n        return 0\n",
        USES + "def padding(lora_config):\n    return lora_config.lora_extra_vocab_size\n",
        USES + "def padding(config: LoRAConfig):\n    return config.lora_extra_vocab_size\n",
        USES + "def padding(lora_config: CacheConfig):\n    return lora_config.lora_extra_vocab_size\n",
        FUNCTION.replace("return ", "lora_config.lora_extra_vocab_size = 3\n    return ")
        + "lora_config.lora_extra_vocab_size\n",
        FUNCTION + "lora_config.own_size\n\n\nclass OwnConfig(LoRAConfig):\n    own_size: int = 1\n",
        USES + "import vllm\n\nif vllm.__version__ < '0.12':\n    def padding(lora_config: LoRAConfig):\n"
        "        return lora_config.lora_extra_vocab_size\n",
        "from other import LoRAConfig\nimport vllm\n\n\ndef padding(lora_config: LoRAConfig):\n"
        "    return lora_config.lora_extra_vocab_size\n",
    ],
)  # fmt: skip
def test_what_may_be_there_or_is_asked_for(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(tmp_path, monkeypatch, text, other="class LoRAConfig:\n    pass\n") == []


def test_another_file_may_give_the_config_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FUNCTION + "lora_config.lora_extra_vocab_size\n"
    other = "from vllm.config import LoRAConfig\n\nLoRAConfig.lora_extra_vocab_size = 256\n"
    assert [one for one in found(tmp_path, monkeypatch, text, other=other) if one[0] == "PF403"] == []
