"""Syntax that only later Pythons read: found where it is, and nowhere else."""

from __future__ import annotations

import pytest
from syntaxlab import Lab, pythons

from preflight.syntax.target import target_of
from preflight.syntax.versions import features_of, may_need
from tests.trees import released

#: (first Python that reads it, the line it stands on, code)
NEWER = [
    ((3, 10), 1, "match x:\n    case 1:\n        pass\n"),
    ((3, 11), 3, "try:\n    pass\nexcept* ValueError:\n    pass\n"),
    ((3, 11), 1, "y = x[*z]\n"),
    ((3, 11), 1, "y: Tuple[int, *Ts]\n"),
    ((3, 11), 1, "def f(*args: *Ts): pass\n"),
    ((3, 12), 1, "type A = int\n"),
    ((3, 12), 1, "type A[T] = list[T]\n"),
    ((3, 12), 1, "def f[T](x: T) -> T: return x\n"),
    ((3, 12), 2, "\nasync def f[T](x: T) -> T: return x\n"),
    ((3, 12), 1, "class A[T]: pass\n"),
    ((3, 12), 1, "x = f'{a['b']}'\n"),
    ((3, 12), 1, 'x = f"{"a"}"\n'),
    ((3, 12), 1, "x = f'{a:{b['c']}}'\n"),
    ((3, 12), 1, "x = f'{chr(10).join(a)}{\"\\n\".join(a)}'\n"),
    ((3, 12), 2, "y = 1\nx = f'{a  # why\n}'\n"),
    ((3, 13), 1, "class A[T = int]: pass\n"),
    ((3, 13), 1, "type A[T = int] = list[T]\n"),
    ((3, 14), 3, "try:\n    pass\nexcept A, B:\n    pass\n"),
    ((3, 14), 1, "x = t'{a}'\n"),
    ((3, 15), 1, "x = [*y for y in z]\n"),
    ((3, 15), 1, "lazy import json\n"),
]

OLD = [
    "match = 1\nmatch.x = 2\nmatch[0] = 1\n",
    "case = 1\ntype = 2\nlazy = 3\n",
    "try:\n    pass\nexcept (A, B):\n    pass\n",
    "try:\n    pass\nexcept (A, B) as e:\n    pass\n",
    "x = f'{a[\"b\"]}' f\"{a['b']}\"\n",
    "x = f'{a!r:>{width}}{{b}}\\n'\n",
    'x = f"""{a["b"]}\n{c}"""\n',
    "f(*a, **b)\nx = [*a, *b]\ny = {**a}\nz = (*a, *b)\n",
    "def f(a, /, *args, b=[1], **kw): return a[1], a[b * c]\n",
    "if (n := len(a)) > 1: x[(y := 1)]\n",
    "x = {'a': 1, **b}\ny = {k: v for k, v in z}\n",
    "f(*[x for x in y])\ng(*(x for x in y))\n",
    "t = lambda *a: a\nprint(*t(1))\n",
    "class A(Generic[T]): pass\ndef f(a: List[T]) -> T: ...\n",
    "for type in types: type(x)\n",
]


@pytest.mark.parametrize(("since", "line", "code"), NEWER)
def test_newer_syntax_is_found(since: tuple[int, int], line: int, code: str) -> None:
    found = features_of(code)
    assert found
    assert max(feature.since for feature in found) == since
    assert {code.count("\n", 0, feature.start) + 1 for feature in found} == {line}
    assert may_need(code, [since])


def test_what_may_hide_newer_syntax_is_looked_at():
    assert may_need("x: A[  # why\n    tuple[int, str],  # so\n    \\\n    *Ts]\n", [(3, 11)])
    assert may_need("x[(y)]\nx[y := 1]\n", [(3, 10)])
    assert not may_need("def f(a, *b, **c): return a * b, x[1]\nf(*g)\n", [(3, 10), (3, 11)])
    assert not may_need("x = f'{a['b']}'\n", [(3, 10), (3, 11)])


@pytest.mark.parametrize("code", OLD)
def test_old_syntax_is_not_called_newer(code: str) -> None:
    assert features_of(code) == []


@pytest.mark.parametrize("version", sorted(pythons()))
def test_every_python_at_hand_agrees(version: tuple[int, int]) -> None:
    lab = Lab(pythons()[version])
    try:
        assert lab.version == version
        read = {code: lab.compiles(code.encode()) for _, _, code in NEWER}
        assert read == {code: since <= version for since, _, code in NEWER}
        assert all(lab.compiles(code.encode()) for code in OLD)
    finally:
        lab.compiler.close()


@pytest.mark.parametrize("version", sorted(pythons()))
def test_a_python_that_is_too_old_is_named(version: tuple[int, int]) -> None:
    lab = Lab(pythons()[version])
    try:
        for since, line, code in NEWER:
            if since > max(version, (3, 10)):
                assert lab.faults(code) == [("newer-syntax", line)], code
    finally:
        lab.compiler.close()


@pytest.mark.real
@pytest.mark.parametrize(("release", "oldest"), [("0.16.0", (3, 10)), ("0.33.0", (3, 11))])
def test_no_release_uses_syntax_that_its_oldest_python_cannot_read(release: str, oldest: tuple[int, int]) -> None:
    newer = [
        (file.name, feature.name)
        for file in sorted((released(release) / "vllm" / "v1").rglob("*.py"))
        for feature in features_of(file.read_text(encoding="utf-8"))
        if feature.since > oldest
    ]
    assert newer == []


@pytest.mark.parametrize(
    ("python", "python_range", "versions"),
    [
        ("3.12", "<3.14,>=3.10", ((3, 12),)),
        ("3.12.4", None, ((3, 12),)),
        (None, "<3.14,>=3.10", ((3, 10), (3, 11), (3, 12), (3, 13))),
        (None, ">=3.9.2,<3.11", ((3, 9), (3, 10))),
        (None, "==3.12.*", ((3, 12),)),
    ],
)
def test_the_target_is_one_version_or_those_of_the_range(
    python: str | None, python_range: str | None, versions: tuple[tuple[int, int], ...]
) -> None:
    assert target_of(python, python_range).versions == versions


@pytest.mark.parametrize("python_range", [None, "nonsense", ">=4"])
def test_a_range_that_says_nothing_leaves_every_python_in_question(python_range: str | None) -> None:
    target = target_of(None, python_range)
    assert target.versions[0] == (3, 9)
    assert target.may_be_too_old((3, 10))
    assert not target.too_old((3, 14))
