"""``python -m tests.popular_sweep VERSION... [-- NAME...]``: widely used checkpoints on releases, as they are launched
every day, and with one fault put in. What does not come out as it should is printed.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.popular_configs import Config
from tests.popular_others import EVERY
from tests.walk_cases import Said, say
from tests.walk_launches import LLAMA

FAULTS = ("parallel", "key", "flag", "drafter")


def launched(version: str, config: Config, flags: tuple[str, ...], fault: str | None = None) -> Said:
    """What is said of the launch; ``fault`` is one of FAULTS."""
    words = list(flags)
    with TemporaryDirectory() as name:
        folder = Path(name)
        if fault == "parallel":
            for size in ("--tensor-parallel-size", "-tp"):
                if size in words:
                    at = words.index(size)
                    del words[at : at + 2]
            words += ["--tensor-parallel-size", str(next(size for size in (7, 5, 3) if _heads(config) % size))]
        elif fault == "key":
            config = {key: value for key, value in config.items() if key != "model_type"}
        elif fault == "flag":
            words.append("--no-such-flag")
        elif fault == "drafter":
            (folder / "drafter").mkdir()
            (folder / "drafter" / "config.json").write_text(json.dumps({**LLAMA, "vocab_size": 777}))
            settings = {"method": "draft_model", "model": str(folder / "drafter"), "num_speculative_tokens": 2}
            words += ["--speculative-config", json.dumps(settings)]
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(config))
        return say(version, folder, ["vllm", "serve", str(folder / "model"), *words])


def _heads(config: Config) -> int:
    """The number of attention heads, under the name that the config has for it."""
    text = config.get("text_config", config)
    names = ("num_attention_heads", "n_head", "decoder_attention_heads")
    return next((text[name] for name in names if name in text), 32)


def main() -> None:
    """Each checkpoint as it is, and every second with one of the faults in turn."""
    words = sys.argv[1:]
    versions, names = (
        (words, list(EVERY)) if "--" not in words else (words[: words.index("--")], words[words.index("--") + 1 :])
    )
    for version in versions:
        counts: dict[str, int] = {}
        gc.unfreeze()
        for number, name in enumerate(names):
            config, flags = EVERY[name]
            for fault in (None, FAULTS[(number // 2 + len(version)) % len(FAULTS)])[: 2 - number % 2]:
                gc.collect()
                gc.freeze()  # what is kept of the release is not gone through again
                said = launched(version, config, flags, fault)
                wanted = "raises" if fault else "clear"
                key = f"{fault or 'as it is'}: {said.verdict}"
                counts[key] = counts.get(key, 0) + 1
                if said.verdict != wanted:
                    print(f"{version} {name} {fault or ''}: {said.verdict} in {said.seconds:.1f}s")
                    for text in (*said.errors, *said.open):
                        print("   said:", " ".join(text.split())[:300])
                    sys.stdout.flush()
        print(version, counts, flush=True)


if __name__ == "__main__":
    main()
