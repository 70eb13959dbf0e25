"""Layers that differ only by their number: each program is run by CPython, with a plain class for torch's ``Module``, and
walked, with the same result; and where layers are alike, few of them are walked.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_programs import Real, possible_values, run_real, walk

PLAIN = "class Module:\n    pass\n"
TORCH = "from torch.nn import Module\n\n"
PROGRAMS = {
    "kinds by number, by name and by list": """
class Inner(Module):
    def __init__(self, size, prefix=""):
        super().__init__()
        self.size, self.name = size, prefix + ".inner"
class Layer(Module):
    def __init__(self, config, prefix):
        super().__init__()
        index = int(prefix.split(".")[-1])
        self.kind = config["kinds"][index]
        self.dense = index < 2 or (index + 1) % 4 == 0
        self.inner = Inner(3 if self.dense else 5, prefix=f"{prefix}.mlp")
        self.last = prefix.endswith(".11")
def main(a, b):
    config = {"kinds": ["full" if i % 3 == 2 else "sliding" for i in range(12)]}
    layers = [Layer(config, prefix=f"model.layers.{i}") for i in range(12)]
    return [(l.kind, l.dense, l.inner.size, l.inner.name, l.last) for l in layers]
""",
    "what is changed outside is changed for each": """
registry = {}
counts = {"layers": 0}
order = []
class Layer(Module):
    def __init__(self, prefix):
        super().__init__()
        if prefix in registry:
            raise ValueError(prefix)
        registry[prefix] = self
        counts["layers"] += 1
        order.append(prefix)
        self.prefix = prefix
def main(a, b):
    layers = [Layer(f"l.{i}") for i in range(9)]
    same = [registry[l.prefix] is l for l in layers]
    return list(registry), counts["layers"], order, same, len(layers)
""",
    "a name that comes twice": """
registry = {}
class Layer(Module):
    def __init__(self, prefix):
        super().__init__()
        if prefix in registry:
            raise ValueError(prefix)
        registry[prefix] = self
def main(a, b):
    layers = [Layer(f"l.{i % 7}") for i in range(9)]
    return len(layers)
""",
    "one layer raises": """
class Layer(Module):
    def __init__(self, sizes, index):
        super().__init__()
        assert sizes[index] % 2 == 0, index
        self.size = sizes[index]
def main(a, b):
    sizes = [2, 4, 2, 4, 2, 4, 3, 2]
    return [Layer(sizes, index).size for index, size in enumerate(sizes)]
""",
    "what becomes of a layer is not what the next one is": """
class Gate(Module):
    def __init__(self, prefix):
        super().__init__()
        self.out = None
        self.items = []
    def set_out(self, value):
        if self.out is not None:
            raise ValueError("set already")
        self.out = value
        self.items.append(value)
class Layer(Module):
    def __init__(self, prefix):
        super().__init__()
        self.gate = Gate(f"{prefix}.gate")
        self.gate.set_out(prefix)
def main(a, b):
    layers = [Layer(f"l.{i}") for i in range(6)]
    for layer in layers:
        del layer.gate.out
    return [layer.gate.items for layer in layers]
""",
    "a config that is changed between the layers": """
class Config:
    def __init__(self):
        self.window = 4
class Layer(Module):
    def __init__(self, config, prefix):
        super().__init__()
        self.window = config.window
def main(a, b):
    config = Config()
    found = []
    for i in range(8):
        if i == 5:
            config.window = None
        found.append(Layer(config, f"l.{i}").window)
    return found
""",
    "a number that comes another way": """
class Layer(Module):
    def __init__(self, make, prefix):
        super().__init__()
        self.number = make()
        self.prefix = prefix
def main(a, b):
    return [(l.number, l.prefix) for l in [Layer(lambda: i * 2, f"l.{i}") for i in range(6)]]
""",
    "lists in lists": """
class Expert(Module):
    def __init__(self, prefix):
        super().__init__()
        self.prefix = prefix
class Layer(Module):
    def __init__(self, count, prefix):
        super().__init__()
        self.experts = [Expert(f"{prefix}.experts.{j}") for j in range(count)]
        self.names = {e.prefix: j for j, e in enumerate(self.experts)}
def main(a, b):
    layers = [Layer(3, f"l.{i}") for i in range(5)]
    return [(list(l.names), [e.prefix for e in l.experts]) for l in layers]
""",
    "a method kept as a callable": """
class Layer(Module):
    def __init__(self, prefix):
        super().__init__()
        self.prefix = prefix
        self.call = self.shown
        def inner():
            return prefix + "!"
        self.inner = inner
    def shown(self):
        return self.prefix
def main(a, b):
    return [(l.call(), l.inner()) for l in [Layer(f"l.{i}") for i in range(5)]]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_layers_are_what_python_makes_of_them(name: str) -> None:
    _compare(PROGRAMS[name])


def _compare(body: str) -> None:
    # the same number of lines before both, so that places are the same
    real = run_real(PLAIN + body, (1, 2))
    walked = walk(TORCH + body, (1, 2), (False, False))
    assert real is not None and walked is not None
    if walked.exits:
        assert (real.error, real.line) in walked.exits
        return
    assert real.error is None, real
    assert possible_values(walked) == [real.value]


def test_of_many_layers_alike_few_are_walked() -> None:
    body = """
class Layer(Module):
    def __init__(self, prefix, wide):
        super().__init__()
        self.parts = [prefix + "." + part for part in "abcdefgh"]
        self.wide = wide
def main(a, b):
    return len([Layer(f"l.{i}", i < 3) for i in range(60)])
"""
    walked = walk(TORCH + body, (1, 2), (False, False))
    assert walked is not None
    assert possible_values(walked) == [60]
    assert walked.machine.repeats.reused >= 54


_LOOKS = (
    "index < {0}",
    "index % {0} == 1",
    "kinds[index]",
    "prefix.endswith('{0}')",
    "'{0}' in prefix",
    "int(prefix.split('.')[1]) + {0}",
    "len(prefix)",
    "str(index)[:1]",
    "index in ({0}, 7)",
    "prefix == 'l.{0}'",
    "table.get(index, {0})",
    "-index",
    "index or None",
    "max(index, {0})",
    "prefix.replace('l.', 'x')",
    "'.'.join(prefix.split('.')[1:])",
    "(index, prefix)",
    "f'{{prefix}}/{{index:02d}}'",
    "index is None",
    "divmod(index, {0})[1]",
)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_what_a_layer_makes_of_its_number_is_right_for_each(seed: int) -> None:
    chance = Random(seed)
    looks = [chance.choice(_LOOKS).format(chance.randint(1, 9)) for _ in range(4)]
    body = f"""
seen = {{}}
class Inner(Module):
    def __init__(self, prefix, index, kinds, table):
        super().__init__()
        self.first = {looks[0]}
        if {looks[1]}:
            seen[prefix] = self.first
class Layer(Module):
    def __init__(self, prefix, index, kinds, table):
        super().__init__()
        self.inner = Inner(prefix, index, kinds, table)
        self.second = {looks[2]} if {looks[1]} else {looks[3]}
def main(a, b):
    kinds = ["a", "a", None, "b", "a", "a", "c", "a", "a", "b", "a", 5]
    table = {{3: 1, 5: None}}
    layers = [Layer(f"l.{{i}}", i, kinds, table) for i in range(12)]
    return [(l.inner.first, l.second) for l in layers], seen
"""
    _compare(body)


def test_the_plain_run_is_of_one_kind() -> None:
    """The programs above end in a value, or in one raise, under CPython."""
    ends = {name: run_real(PLAIN + body, (1, 2)) for name, body in PROGRAMS.items()}
    raising = {name for name, end in ends.items() if isinstance(end, Real) and end.error is not None}
    assert raising == {"a name that comes twice", "one layer raises"}
