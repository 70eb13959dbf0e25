"""The repair of the incident on vLLM 0.16.0, made on the release's own files while the tests run, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.trees import released

MODELS = "vllm/model_executor/models"
KIMI = f"{MODELS}/kimi_k25.py"
DEEPSEEK = f"{MODELS}/deepseek_v2.py"

WRAPPER_SETTER = """
    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        self.language_model.set_aux_hidden_state_layers(layers)
"""
WRAPPER_GETTER = """
    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
        return self.language_model.get_eagle3_aux_hidden_state_layers()
"""
INNER_SETTER = """
    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        self.model.aux_hidden_state_layers = layers
"""
INNER_GETTER = """
    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
        depth = len(self.model.layers)
        return (2, depth // 2, depth - 3)
"""
COLLECT = """\
            if number in self.aux_hidden_state_layers:
                collected.append(hidden_states + residual)
"""
RETURN = """\
        if collected:
            return hidden_states, collected
"""
LOOP = "        for layer in islice(self.layers, self.start_layer, self.end_layer):\n"
NUMBERED = (
    "        for number, layer in enumerate(\n"
    "            islice(self.layers, self.start_layer, self.end_layer), start=self.start_layer\n"
    "        ):\n"
)
LIST = "        collected = []\n"
ATTRIBUTE = "        self.aux_hidden_state_layers: tuple[int, ...] = ()\n"


@dataclass(frozen=True)
class Patch:
    """The two files as a patch leaves them."""

    kimi: str
    deepseek: str

    def in_kimi(self, old: str, new: str, after: str = "") -> Patch:
        return replace(self, kimi=edited(self.kimi, old, new, after))

    def in_deepseek(self, old: str, new: str, after: str = "") -> Patch:
        return replace(self, deepseek=edited(self.deepseek, old, new, after))

    def changes(self) -> dict[str, bytes | None]:
        return {KIMI: self.kimi.encode(), DEEPSEEK: self.deepseek.encode()}

    def lines_of(self, path: str, snippet: str) -> set[int]:
        """The lines on which a snippet of one line stands."""
        text = {KIMI: self.kimi, DEEPSEEK: self.deepseek}[path]
        found = {number for number, line in enumerate(text.splitlines(), 1) if snippet in line}
        assert found, snippet
        return found


def edited(text: str, old: str, new: str, after: str = "") -> str:
    """``text`` with the first ``old`` behind ``after`` made ``new``."""
    at = text.index(old, text.index(after))
    return text[:at] + new + text[at + len(old) :]


def right_patch() -> Patch:
    """The repair: both classes have the interface, and the model inside collects and returns the hidden states."""
    folder = released("0.16.0")
    patch = Patch((folder / KIMI).read_text(), (folder / DEEPSEEK).read_text())
    patch = patch.in_kimi(
        "SupportsPP, SupportsQuant\n", "SupportsPP, SupportsQuant, SupportsEagle3\n", "class KimiK25For"
    )
    patch = patch.in_kimi("    SupportsMultiModal,\n", "    SupportsEagle3,\n    SupportsMultiModal,\n")
    patch = replace(patch, kimi=patch.kimi.rstrip("\n") + "\n" + WRAPPER_SETTER + WRAPPER_GETTER)
    patch = patch.in_deepseek("SupportsEagle, SupportsLoRA,", "SupportsEagle, SupportsEagle3, SupportsLoRA,")
    patch = patch.in_deepseek("SupportsEagle\n", "SupportsEagle, SupportsEagle3\n", "class DeepseekV2ForCausalLM(")
    model = "class DeepseekV2Model("
    embed = "    def embed_input_ids("
    patch = patch.in_deepseek(embed, ATTRIBUTE + "\n" + embed, model)
    patch = patch.in_deepseek(LOOP, LIST + NUMBERED + COLLECT, model)
    normed = "        hidden_states, _ = self.norm(hidden_states, residual)\n"
    patch = patch.in_deepseek(normed, normed + RETURN, model)
    return patch.in_deepseek(embed, (INNER_SETTER + INNER_GETTER).lstrip("\n") + "\n" + embed, "DeepseekV2ForCausalLM(")


@dataclass(frozen=True)
class Spoilt:
    """A way to get it wrong: what it does to the right patch, and the line to change, as a file and a snippet."""

    name: str
    spoil: Callable[[Patch], Patch]
    path: str
    snippet: str
    check: str
    grave: bool = False  #: an error for every launch of the file, whether it uses the interface or not


def moved(patch: Patch, methods: str, before: str) -> Patch:
    """The wrapper's methods, taken out of its class and put somewhere else."""
    without = patch.kimi.replace(WRAPPER_SETTER + WRAPPER_GETTER, "")
    return replace(patch, kimi=edited(without, before, methods.lstrip("\n") + "\n" + before))


def deeper(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(True))


CLAIM = "SupportsQuant, SupportsEagle3"
MISSING, CLAIMED, UNSET = "interface-member-missing", "interface-not-claimed", "attribute-never-set"
OVERRIDE, BIND, DELEGATE = "override-incompatible", "call-cannot-bind", "delegate-missing"
RESULT, RETURNED = "interface-result-wrong", "hidden-states-not-returned"
SET, GET = "def set_aux_hidden_state_layers", "def get_eagle3_aux_hidden_state_layers"
TAKEN = "self.language_model(\n"

SPOILT = (
    Spoilt("wrapper: method misspelt", lambda p: p.in_kimi(SET, SET + "s"), KIMI, SET + "s", MISSING),
    Spoilt("inner: method misspelt", lambda p: p.in_deepseek(GET, GET[:-1]), DEEPSEEK, GET[:-1], MISSING),
    Spoilt(
        "delegate misspelt",
        lambda p: p.in_kimi("language_model.set_aux_hidden_state_layers", "language_model.set_aux_hidden_state_layer"),
        KIMI, ".set_aux_hidden_state_layer(", DELEGATE,
    ),
    Spoilt(
        "attribute of the wrapper misspelt",
        lambda p: p.in_kimi("return self.language_model.get_eagle3", "return self.languagemodel.get_eagle3"),
        KIMI, "self.languagemodel.", UNSET,
    ),
    Spoilt(
        "attribute misspelt where it is set",
        lambda p: p.in_deepseek("self.model.aux_hidden_state_layers", "self.model.aux_hidden_states_layers"),
        DEEPSEEK, "self.model.aux_hidden_states_layers", RETURNED,
    ),
    Spoilt(
        "attribute misspelt where it is made",
        lambda p: p.in_deepseek("self.aux_hidden_state_layers:", "self.aux_hidden_states_layers:"),
        DEEPSEEK, "self.aux_hidden_states_layers:", UNSET,
    ),
    Spoilt(
        "attribute misspelt where it is read",
        lambda p: p.in_deepseek("in self.aux_hidden_state_layers", "in self.aux_hidden_state_layer"),
        DEEPSEEK, "in self.aux_hidden_state_layer:", UNSET,
    ),
    Spoilt(
        "attribute never made", lambda p: p.in_deepseek(ATTRIBUTE, ""), DEEPSEEK, "in self.aux_hidden_state_layers", UNSET
    ),
    Spoilt(
        "methods in the model inside",
        lambda p: p.in_deepseek((INNER_SETTER + INNER_GETTER).lstrip("\n"), "").in_deepseek(
            "    def embed_input_ids(", (INNER_SETTER + INNER_GETTER).lstrip("\n") + "\n    def embed_input_ids(",
            "class DeepseekV2Model(",
        ),
        DEEPSEEK, "class DeepseekV2Model(", CLAIMED,
    ),
    Spoilt(
        "methods in another class of the file",
        lambda p: moved(p, WRAPPER_SETTER + WRAPPER_GETTER, "    def split_video_chunks"),
        KIMI, CLAIM, MISSING,
    ),
    Spoilt("claimed and nothing else", lambda p: moved(p, "", "class KimiK25For"), KIMI, CLAIM, MISSING),
    Spoilt(
        "inner: claimed and nothing else",
        lambda p: p.in_deepseek((INNER_SETTER + INNER_GETTER).lstrip("\n"), ""),
        DEEPSEEK, "SupportsEagle, SupportsEagle3\n".strip(), MISSING,
    ),
    Spoilt(
        "another interface is claimed",
        lambda p: p.in_kimi(CLAIM, "SupportsQuant, SupportsEagle").in_kimi("    SupportsEagle3,\n", "    SupportsEagle,\n"),
        KIMI, "class KimiK25ForConditionalGeneration(", CLAIMED,
    ),
    Spoilt(
        "base forgotten", lambda p: p.in_kimi(CLAIM, "SupportsQuant"), KIMI, "class KimiK25ForConditionalGeneration(",
        CLAIMED,
    ),
    Spoilt(
        "inner: base forgotten",
        lambda p: p.in_deepseek("SupportsEagle, SupportsEagle3\n", "SupportsEagle\n"),
        DEEPSEEK, "class DeepseekV2ForCausalLM(", CLAIMED,
    ),
    Spoilt(
        "a base before its subclass",
        lambda p: p.in_deepseek("SupportsEagle, SupportsEagle3\n", "SupportsEagleBase, SupportsEagle, SupportsEagle3\n")
        .in_deepseek("import MixtureOfExperts, ", "import MixtureOfExperts, SupportsEagleBase, "),
        DEEPSEEK, "SupportsEagleBase, SupportsEagle, SupportsEagle3", "mro-conflict", grave=True,
    ),
    Spoilt(
        "parameter lost", lambda p: p.in_deepseek("_layers(self, layers: tuple[int, ...])", "_layers(self)"),
        DEEPSEEK, SET + "(self)", OVERRIDE,
    ),
    Spoilt(
        "one parameter too many", lambda p: p.in_kimi(GET + "(self)", GET + "(self, count)"), KIMI, GET + "(", OVERRIDE
    ),
    Spoilt("no self", lambda p: p.in_kimi(SET + "(self, layers", SET + "(layers"), KIMI, SET + "(", OVERRIDE),
    Spoilt(
        "delegate called without its argument",
        lambda p: p.in_kimi("set_aux_hidden_state_layers(layers)", "set_aux_hidden_state_layers()"),
        KIMI, "set_aux_hidden_state_layers()", BIND,
    ),
    Spoilt("never returned", lambda p: p.in_deepseek(RETURN, ""), DEEPSEEK, "        return hidden_states", RETURNED),
    Spoilt(
        "returned alone", lambda p: p.in_deepseek("return hidden_states, collected", "return collected"),
        DEEPSEEK, "        return hidden_states", RETURNED,
    ),
    Spoilt(
        "returned in the wrong order",
        lambda p: p.in_deepseek("return hidden_states, collected", "return collected, hidden_states"),
        DEEPSEEK, "return collected, hidden_states", RETURNED,
    ),
    Spoilt(
        "returned in every launch",
        lambda p: p.in_deepseek(RETURN + "        return hidden_states\n", "        return hidden_states, collected\n"),
        DEEPSEEK, "return hidden_states, collected", RETURNED,
    ),
    Spoilt(
        "returned inside of the loop",
        lambda p: p.in_deepseek(RETURN, "").in_deepseek(COLLECT, COLLECT + deeper(RETURN)),
        DEEPSEEK, "return hidden_states, collected", RETURNED,
    ),
    Spoilt("never collected", lambda p: p.in_deepseek(COLLECT, ""), DEEPSEEK, "collected = []", RETURNED),
    Spoilt(
        "emptied in each turn",
        lambda p: p.in_deepseek(LIST, "").in_deepseek(COLLECT, "    " + LIST + COLLECT),
        DEEPSEEK, "collected = []", RETURNED,
    ),
    Spoilt(
        "the model inside is not patched",
        lambda p: p.in_deepseek(LIST + NUMBERED + COLLECT, LOOP).in_deepseek(RETURN, ""),
        DEEPSEEK, "        return hidden_states", RETURNED,
    ),
    Spoilt(
        "wrapper takes one part",
        lambda p: p.in_kimi("            inputs_embeds=inputs_embeds,\n        )", "            inputs_embeds=inputs_embeds,\n        )[0]", TAKEN),
        KIMI, "hidden_states = self.language_model(", RETURNED,
    ),
    Spoilt(
        "wrapper takes it apart",
        lambda p: p.in_kimi("hidden_states = " + TAKEN, "hidden_states, _ = " + TAKEN),
        KIMI, "hidden_states, _ = self.language_model(", RETURNED,
    ),
    Spoilt(
        "wrapper returns one part",
        lambda p: p.in_kimi("        return hidden_states\n", "        return hidden_states[0]\n", TAKEN),
        KIMI, "return hidden_states[0]", RETURNED,
    ),
    Spoilt(
        "set on the wrong object",
        lambda p: p.in_deepseek("self.model.aux_hidden_state_layers = layers", "self.aux_hidden_state_layers = layers"),
        DEEPSEEK, "self.aux_hidden_state_layers = layers", RETURNED,
    ),
    Spoilt("a property", lambda p: p.in_kimi("    " + GET, "    @property\n    " + GET), KIMI, GET, OVERRIDE),
    Spoilt(
        "a classmethod",
        lambda p: p.in_kimi("    " + SET + "(self", "    @classmethod\n    " + SET + "(cls").in_kimi(
            "self.language_model.set_aux", "cls.language_model.set_aux"
        ),
        KIMI, SET, OVERRIDE,
    ),
    Spoilt("a staticmethod", lambda p: p.in_deepseek("    " + SET, "    @staticmethod\n    " + SET), DEEPSEEK, SET, OVERRIDE),
    Spoilt(
        "inside of another method",
        lambda p: p.in_kimi(WRAPPER_SETTER + WRAPPER_GETTER, deeper(WRAPPER_SETTER) + deeper(WRAPPER_GETTER)),
        KIMI, GET, MISSING,
    ),
    Spoilt(
        "defined again without a body",
        lambda p: replace(p, kimi=p.kimi + f"\n    {SET}(self, layers: tuple[int, ...]) -> None:  # again\n        ...\n"),
        KIMI, "# again", MISSING,
    ),
    Spoilt(
        "the brackets of the call forgotten",
        lambda p: p.in_kimi("get_eagle3_aux_hidden_state_layers()", "get_eagle3_aux_hidden_state_layers"),
        KIMI, "return self.language_model.get_eagle3", RESULT,
    ),
    Spoilt(
        "the return forgotten", lambda p: p.in_kimi("return self.language_model.get_eagle3", "self.language_model.get_eagle3"),
        KIMI, GET, RESULT,
    ),
    Spoilt(
        "a number is returned", lambda p: p.in_deepseek("return (2, depth // 2, depth - 3)", "return 2"),
        DEEPSEEK, "return 2", RESULT,
    ),
    Spoilt(
        "it calls itself", lambda p: p.in_kimi("return self.language_model.get_eagle3", "return self.get_eagle3"),
        KIMI, "return self.get_eagle3", RESULT,
    ),
    Spoilt(
        "another object is asked", lambda p: p.in_kimi("self.language_model.set_aux", "self.vision_tower.set_aux"),
        KIMI, "self.vision_tower.set_aux", DELEGATE,
    ),
    Spoilt(
        "at the end of the file instead of in the class",
        lambda p: replace(p, kimi=p.kimi.replace(WRAPPER_GETTER, "\n" + WRAPPER_GETTER.replace("\n    ", "\n"))),
        KIMI, GET, MISSING,
    ),
    Spoilt(
        "set to None",
        lambda p: replace(p, kimi=p.kimi + "\n    get_eagle3_aux_hidden_state_layers = None\n"),
        KIMI, "layers = None", MISSING,
    ),
)  # fmt: skip

#: what is wrong with a name, which the checks of imports and names say
MISNAMED = (
    Spoilt(
        "wrapper: import forgotten",
        lambda p: p.in_kimi("    SupportsEagle3,\n    SupportsMultiModal", "    SupportsMultiModal"),
        KIMI,
        CLAIM,
        "PF2",
        grave=True,
    ),
    Spoilt(
        "inner: import forgotten",
        lambda p: p.in_deepseek("SupportsEagle, SupportsEagle3, SupportsLoRA", "SupportsEagle, SupportsLoRA"),
        DEEPSEEK,
        "SupportsEagle, SupportsEagle3",
        "PF2",
        grave=True,
    ),
    Spoilt("list forgotten", lambda p: p.in_deepseek(LIST, ""), DEEPSEEK, "collected", "PF2"),
    Spoilt("number forgotten", lambda p: p.in_deepseek(NUMBERED, LOOP), DEEPSEEK, "if number in", "PF2"),
)
