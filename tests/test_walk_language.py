"""The walk on the parts of Python that start-up uses: each program is run by CPython and walked, with one result."""

from __future__ import annotations

import pytest
from walk_programs import possible_values, run_real, walk

from preflight.walk.values import Unknown

PROGRAMS = {
    "dicts that are taken from each other": """
def main(a, b):
    c = {"x": 1}
    c |= {"y": 2}
    try:
        c -= {"x": 1}
    except TypeError as error:
        return type(error).__name__, c
    return c
""",
    "what cannot be set on a class of Python's own": """
def main(a, b):
    found = []
    for put in ("attribute", "item"):
        try:
            if put == "item":
                int[0] = 1
            else:
                int.x = 1
        except TypeError as error:
            found.append(str(error))
    return found
""",
    "a base class that a branch binds, and a later branch that registers the class": """
class Late:
    pass
NEW = len("ab") == 2
if NEW:
    Base = Late
else:
    Base = object
seen = []
class C(Base):
    pass
if NEW:
    seen.append(C.__name__)
def main(a, b):
    return [base.__name__ for base in C.__mro__], seen
""",
    "closures and nonlocal": """
def main(a, b):
    total = 0
    def add(n):
        nonlocal total
        total += n
        return lambda: total
    read = add(2)
    add(3)
    return read()
""",
    "decorators with wraps and arguments": """
import functools
def twice(times):
    def outer(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return [f(*args, **kwargs) for _ in range(times)]
        return inner
    return outer
@twice(times=2)
def f(x, *, y=1):
    return x + y
def main(a, b):
    return f(1, y=2), f.__name__, f.__wrapped__(5)
""",
    "a cached function and a cached property": """
import functools
calls = []
@functools.lru_cache(maxsize=4)
def f(x):
    calls.append(x)
    return x * 2
class C:
    @functools.cached_property
    def p(self):
        calls.append("p")
        return 7
def main(a, b):
    c = C()
    return f(1), f(1), c.p, c.p, calls
""",
    "properties with setters": """
class C:
    def __init__(self):
        self._x = 1
    @property
    def x(self):
        return self._x
    @x.setter
    def x(self, value):
        self._x = value * 2
def main(a, b):
    c = C()
    c.x = 4
    return c.x
""",
    "a property without a setter": """
class C:
    @property
    def x(self):
        return 1
def main(a, b):
    c = C()
    c.x = 2
""",
    "descriptors": """
class D:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, instance, owner):
        return getattr(instance, self.name, 0) + 1
    def __set__(self, instance, value):
        setattr(instance, self.name, value)
class C:
    x = D()
def main(a, b):
    c = C()
    before = c.x
    c.x = 5
    return before, c.x
""",
    "C3 and super through a diamond": """
class A:
    def f(self):
        return ["A"]
class B(A):
    def f(self):
        return ["B"] + super().f()
class C(A):
    def f(self):
        return ["C"] + super().f()
class D(B, C):
    pass
def main(a, b):
    return D().f(), [k.__name__ for k in D.__mro__]
""",
    "a class that cannot be ordered": """
class A: pass
class B(A): pass
def main(a, b):
    class C(A, B):
        pass
    return C
""",
    "__init_subclass__ with keywords": """
class Base:
    seen = []
    def __init_subclass__(cls, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.kind = kind
        Base.seen.append(cls.__name__)
class A(Base, kind="x"):
    pass
def main(a, b):
    return A.kind, Base.seen
""",
    "a metaclass with __call__ and __getattr__": """
class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = cls.__name__
        return made
    def __getattr__(cls, name):
        return name.upper()
class C(metaclass=Meta):
    def __init__(self, x):
        self.x = x
def main(a, b):
    return C(3).tag, C(3).x, C.nothing
""",
    "__getattr__ and __getattribute__": """
class C:
    names = {"old": "new"}
    def __init__(self):
        self.new = 5
    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)
    def __getattr__(self, key):
        return "no " + key
def main(a, b):
    c = C()
    return c.old, c.new, c.gone, hasattr(c, "gone"), getattr(c, "gone", 1)
""",
    "a property that calls that of its base by its own functions": """
class A:
    @property
    def x(self):
        return self._x
    @x.setter
    def x(self, value):
        self._x = value
    @x.deleter
    def x(self):
        del self._x
class B(A):
    @property
    def x(self):
        return [A.x.__get__(self), A.x.fget(self)]
    @x.setter
    def x(self, value):
        if value is None:
            A.x.__delete__(self)
        A.x.__set__(self, (value, A.x.__get__(None, A) is A.x))
    def method(self):
        return self
    made = classmethod(lambda cls: cls.__name__)
def main(a, b):
    one = B()
    one.x = a
    one.y = [B.method.__get__(one)() is one, B.method.__get__(None, B)(one) is one, B.__dict__["made"].__get__(None, B)()]
    one.z = A.x.fdel is None
    return [one.x, one.y, one.z]
""",
    "a property without a setter, set by its own function": """
class A:
    @property
    def x(self):
        return 1
def main(a, b):
    A.x.__set__(A(), 2)
""",
    "__setattr__ of a frozen class": """
class C:
    def __init__(self):
        object.__setattr__(self, "x", 1)
    def __setattr__(self, name, value):
        raise AttributeError(name)
def main(a, b):
    c = C()
    c.x = 2
""",
    "assignments to a class after its body": """
class C:
    pass
C.x = 3
def f(self):
    return self.x
C.f = f
def main(a, b):
    return C().f()
""",
    "dataclasses": """
from dataclasses import dataclass, field, fields, replace, asdict, is_dataclass
@dataclass
class A:
    x: int
    y: list = field(default_factory=list)
    def __post_init__(self):
        self.y.append(self.x)
@dataclass(frozen=True)
class B(A):
    z: int = 5
    def __post_init__(self):
        object.__setattr__(self, "z", self.z + 1)
def main(a, b):
    return asdict(A(1)), B(1).z, [f.name for f in fields(B)], is_dataclass(A), replace(A(1), x=4).x, A(1) == A(1)
""".replace("(frozen=True)", ""),
    "a frozen dataclass that is changed": """
from dataclasses import dataclass
@dataclass(frozen=True)
class A:
    x: int
def main(a, b):
    v = A(1)
    v.x = 2
""",
    "a dataclass without its argument": """
from dataclasses import dataclass
@dataclass
class A:
    x: int
    y: int
def main(a, b):
    return A(1)
""",
    "named tuples": """
from typing import NamedTuple
from collections import namedtuple
class P(NamedTuple):
    x: int
    y: int = 2
    def total(self):
        return self.x + self.y
class Q(P):
    note: str = "no field"
N = namedtuple("N", "a b")
def main(a, b):
    p = P(1)
    x, y = p
    return p.total(), p._replace(y=9).y, Q(1).total(), x, y, N(1, b=2).b, p >= (1, 2), P._fields
""",
    "enums": """
import enum
class Color(enum.Enum):
    RED = 1
    BLUE = enum.auto()
    ALIAS = 1
    def describe(self):
        return self.name + str(self.value)
class Kind(str, enum.Enum):
    A = "a"
def main(a, b):
    found = Color.ALIAS is Color.RED, Kind.A == "a", Color.RED in {Color.RED: 1}
    return Color(2).name, Color["RED"].describe(), [c.name for c in Color], found
""",
    "an enum without that value": """
import enum
class Color(enum.Enum):
    RED = 1
def main(a, b):
    return Color(3)
""",
    "runtime-checkable protocols, class and instance": """
from typing import Protocol, runtime_checkable, ClassVar, Literal
@runtime_checkable
class P(Protocol):
    flag: ClassVar[Literal[True]] = True
    def f(self): ...
class Inherits(P):
    pass
class Half:
    flag = True
class Whole:
    flag = True
    def f(self):
        return 1
def main(a, b):
    return isinstance(Inherits(), P), isinstance(Half(), P), isinstance(Whole(), P), isinstance(Whole, P)
""",
    "abstract classes": """
from abc import ABC, abstractmethod
class A(ABC):
    @abstractmethod
    def f(self): ...
class B(A):
    def f(self):
        return 1
def main(a, b):
    B()
    return A()
""",
    "context managers": """
from contextlib import contextmanager, suppress, nullcontext
log = []
@contextmanager
def manage(n):
    log.append(n)
    try:
        yield n * 2
    finally:
        log.append(-n)
def main(a, b):
    with manage(1) as x, nullcontext(5) as y:
        log.append((x, y))
    with suppress(KeyError):
        {}["x"]
    return log
""",
    "generators are lazy": """
def numbers(log):
    for n in range(5):
        log.append(n)
        yield n
def main(a, b):
    log = []
    found = next(n for n in numbers(log) if n > 1)
    some = any(n == 1 for n in numbers(log))
    return found, some, log, list(numbers([]))[-1]
""",
    "yield from and return in a generator": """
def inner():
    yield 1
    yield 2
def outer():
    yield 0
    yield from inner()
    yield from [3]
def main(a, b):
    return list(outer()), sum(outer()), sorted(outer(), reverse=True)
""",
    "match statements": """
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
def kind(v):
    match v:
        case 0:
            return "zero"
        case int() | float():
            return "number"
        case P(x=1, y=y):
            return y
        case [first, second]:
            return second
        case str() as s if s:
            return s
        case _:
            return None
def main(a, b):
    return [kind(v) for v in (0, 5, P(1, 7), [1, 2], "s", "", None)]
""",
    "try, else, finally and a bare raise": """
def f(n, log):
    try:
        if n == 1:
            raise KeyError("k")
        if n == 2:
            return "returned"
    except KeyError as error:
        log.append(str(error))
        raise
    else:
        log.append("else")
    finally:
        log.append("finally")
    return "end"
def main(a, b):
    log = []
    results = [f(0, log), f(2, log)]
    try:
        f(1, log)
    except LookupError as error:
        results.append(error.args[0])
    return results, log
""",
    "an exception leaves with the line it began on": """
def f():
    raise ValueError("here")
def main(a, b):
    try:
        f()
    except ValueError as error:
        raise error
""",
    "a break in the else of an inner loop leaves the outer one": """
def main(a, b):
    seen = []
    for x in range(3):
        for y in range(2):
            seen.append((x, y))
        else:
            break
    else:
        seen.append("never")
    for x in range(3):
        for y in range(5):
            if y == 1:
                break
        else:
            seen.append("no else after a break")
    return seen
""",
    "a list that holds itself has a text": """
def main(a, b):
    e = [1]
    e.append(e)
    return len(e)
""",
    "bases that a decorator adds": """
class Extra:
    def more(self):
        return "more"
class Empty:
    pass
def add(cls):
    cls.__bases__ = cls.__bases__ + (Extra,)
    return cls
@add
class C(Empty):
    pass
def main(a, b):
    return C().more(), [k.__name__ for k in C.__mro__]
""",
    "bases that are unpacked": """
class A:
    pass
class B:
    pass
def main(a, b):
    class C(A, *()):
        pass
    class D(*(A, B)):
        pass
    return [k.__name__ for k in C.__mro__], [k.__name__ for k in D.__mro__]
""",
    "a global that is first read behind an early return": """
X = 0
WORD = "w" * 2
def mark():
    global X
    X = 1
def first(a):
    if a:
        mark()
        return 1
    return len(WORD)
def main(a, b):
    n = first(a)
    try:
        word = WORD
    except NameError:
        word = None
    return word, n, X
""",
    "writing into __dict__": """
class C:
    def __init__(self):
        self.x = 1
        self.y = 2
def main(a, b):
    c = C()
    c.__dict__["z"] = 3
    c.__dict__.update(w=4)
    taken = c.__dict__.pop("x")
    del c.__dict__["y"]
    return taken, hasattr(c, "x"), hasattr(c, "y"), c.z, c.w, sorted(vars(c)), "z" in c.__dict__
""",
    "typing forms": """
from typing import Literal, Optional, Union, get_args, get_origin
Inner = Literal["a", "b"]
Outer = Literal["c", Inner]
def main(a, b):
    first = get_args(dict[str, int])[0] is str
    return get_args(Outer), get_origin(list[int]) is list, first, type(None) in get_args(Optional[int])
""",
    "walrus, star arguments, slices, formats": """
def f(*args, k, **rest):
    return args, k, rest
def main(a, b):
    values = [1, 2, 3, 4]
    if (n := len(values)) > 3:
        first, *middle, last = values
    text = f"{n:>4}|{first!r}|{3.14159:.2f}|{'x':*^5}|{n=}"
    return f(*values[1:3], k=n, **{"z": middle}), last, values[::-1], values[-2:], text
""",
    "dictionaries and sets": """
from collections import defaultdict, OrderedDict, Counter
def main(a, b):
    d = {"a": 1, **{"b": 2}}
    d |= {"c": 3}
    d.setdefault("d", []).append(4)
    groups = defaultdict(list)
    groups["x"].append(1)
    popped = d.pop("a")
    rest = sorted(d.keys() - {"b"})
    return d, popped, dict(groups), {1, 2} & {2, 3}, {1} <= {1, 2}, rest, OrderedDict(x=1)["x"], Counter("aab")["a"]
""",
    "itertools and functools": """
import functools, itertools, operator
def main(a, b):
    return (
        list(itertools.chain([1], (2, 3))),
        functools.reduce(operator.add, [1, 2, 3]),
        functools.partial(max, 4)(2, 9),
        [list(p) for p in itertools.product("ab", [1])],
        list(itertools.islice(itertools.count(3), 2)),
    )
""",
    "a class of the tree derived from a built-in one": """
class Lazy(dict):
    def __getitem__(self, key):
        return [super().__getitem__(key)]
class Text(str):
    def shout(self):
        return self.upper() + "!"
class Wrong(ValueError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
def main(a, b):
    lazy = Lazy(x=1)
    lazy["y"] = 2
    try:
        raise Wrong(7)
    except ValueError as error:
        caught = (str(error), error.code)
    return lazy["x"], "y" in lazy, sorted(lazy), Text("a").shout(), caught
""",
    "a name that is only bound in one arm": """
def main(a, b):
    if a:
        x = 1
    return x
""",
    "an unexpected keyword": """
class C:
    def __init__(self, x):
        self.x = x
def main(a, b):
    return C(1, y=2)
""",
    "None where a number is needed": """
class Config:
    size = None
def main(a, b):
    return 4 // 2 + Config().size
""",
    "an enum whose metaclass says more about a member that is missing": """
from enum import Enum, EnumMeta
class Meta(EnumMeta):
    def __getitem__(cls, name):
        try:
            return super().__getitem__(name)
        except KeyError:
            raise ValueError(f"{name} is none of {', '.join(cls.__members__)}") from None
class Kind(Enum, metaclass=Meta):
    A = "a"
    B = "b"
def main(a, b):
    return Kind["A"].value, len(Kind), [kind.name for kind in Kind], Kind("b").name, Kind["C"]
""",
    "sequences in order, by the first items that differ": """
class Weight:
    def __init__(self, n):
        self.n = n
    def __lt__(self, other):
        return self.n < other.n
def main(a, b):
    d = Weight(1)
    return [d, 1] < [d, 2], (d,) < (d, 0), [Weight(1)] < [Weight(2)], [0, 1] < [d, 0]
""",
    "an enum of numbers": """
from enum import IntEnum
class Level(IntEnum):
    O0 = 0
    O2 = 2
def main(a, b):
    return Level(2).name, Level["O0"] == 0, Level.O2 + 1
""",
    "inspect.signature": """
import inspect
def f(x, *args, y=1, **kwargs):
    pass
class C:
    def __init__(self, *, vllm_config, prefix=""):
        pass
def main(a, b):
    p = inspect.signature(f).parameters
    last = p["kwargs"].kind == inspect.Parameter.VAR_KEYWORD
    return list(p), p["y"].default, last, list(inspect.signature(C.__init__).parameters)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_walk_does_what_python_does(name: str) -> None:
    real = run_real(PROGRAMS[name], (0, 0))
    walked = walk(PROGRAMS[name], (0, 0), (False, False))
    assert real is not None
    assert walked is not None
    if real.error is not None:
        assert walked.exits == ((real.error, real.line),)
    else:
        assert walked.exits == ()
        options = possible_values(walked)
        assert options is not None, walked.value
        assert [repr(option) for option in options] == [repr(real.value)]


_PERHAPS = "d = {'a': 1}\n    if u:\n        d['b'] = 2\n    d['c'] = 3\n    "
UNKNOWNS = {
    # both arms raise: certain, whatever the input is
    "if u:\n        raise KeyError(1)\n    raise ValueError(2)": "raises",
    "if u:\n        raise KeyError(1)\n    return 5": [5],
    "x = 1\n    if u:\n        x = 2\n    return x": [1, 2],
    "if u == 1:\n        return 'one'\n    if u == 2:\n        return 'two'\n    raise ValueError('else')": [
        "one",
        "two",
    ],
    "try:\n        u.check()\n    except Exception:\n        return 'caught'\n    return 'passed'": [
        "caught",
        "passed",
    ],
    "try:\n        u.x = 1\n    except AttributeError:\n        return 'caught'\n    return 'passed'": [
        "caught",
        "passed",
    ],
    "try:\n        u.x = 1\n    except AttributeError:\n        return 5\n    else:\n        raise ValueError(u)": [5],
    "items = []\n    for n in u:\n        items.append(n)\n    return items": None,
    "d = {'a': 1}\n    [d.pop(n) for n in u if n in d]\n    return d": None,
    "total = 0\n    while u > total:\n        total += 1\n    return 'done'": ["done"],
    "for n in u:\n        raise ValueError(n)\n    return 'empty'": ["empty"],
    # one of two lists, walked over each
    "l = [1, 2] if u else [3]\n    t = 0\n    for n in l:\n        t += n\n    return t": [3],
    "l = [1, 2] if u else [5]\n    for n in l:\n        if n > 1:\n            return n\n    return 0": [2, 5],
    "l = [1, 2] if u else [5]\n    for n in l:\n        if n > 1:\n            raise ValueError(n)": "raises",
    # a dict of which it is not known whether one key is there
    _PERHAPS + "o = O()\n    for k, v in d.items():\n        setattr(o, k, v)\n    return o.a, o.c": [(1, 3)],
    _PERHAPS + "o = O()\n    for k in d:\n        setattr(o, k, d[k])\n    return getattr(o, 'b', 0)": [2, 0],
    _PERHAPS + "for k in d:\n        if k == 'b':\n            raise ValueError(k)\n    return 5": [5],
    _PERHAPS + "for k in d:\n        if k == 'b':\n            return k\n    return 5": ["b", 5],
    _PERHAPS + "for k in d:\n        if k == 'b':\n            break\n    else:\n        k = 5\n    return k": ["b", 5],
    _PERHAPS
    + "n = 0\n    for v in d.values():\n        if v < 3:\n            continue\n        n += v\n    return n": [3],
    _PERHAPS + "for k in d:\n        pass\n    assert k != 'c'": "raises",
    "return (u or 5) and False": [False],
    "return isinstance(f'{u}', str)": [True],
    "return [1, 2][u]": None,
    "x = None if u else 3\n    if x is not None:\n        return x + 1\n    return 'none'": [4, "none"],
    "x = None if u else 3\n    return x + 1": [4],
    "d = {'a': 1}\n    if u:\n        d['b'] = 2\n    return 'b' in d": None,
    "o = O()\n    if u:\n        o.x = 1\n    return getattr(o, 'x', 0)": [1, 0],
    "o = O()\n    if u:\n        o.x = 1\n        return o.x\n    return hasattr(o, 'x')": [1, False],
    "f = len if u else str\n    return f('abc')": [3, "abc"],
    "assert u, 'must be'\n    return 1": [1],
    "assert not O(), 'never'\n    return 1": "raises",
    "return any(v for v in [u, True])": None,
    "return all(v for v in [False, u])": [False],
    "o = O()\n    sink(o)\n    return o.fixed": [7],
    "l = [1]\n    u(l)\n    return len(l)": None,
    # functions that go down a structure that is not known
    "o = O()\n    o.n = 0\n    def f(c):\n        for i in c:\n            f(i)\n        o.n += 1\n    f(u)\n    return o.n": None,
    "o = O()\n    def f(c, p):\n        for i in c:\n            f(i, p + 'x')\n        o.n = 5\n    f(u, '')\n    return o.fixed + o.n": [
        12
    ],
    "o = O()\n    def f(c, p):\n        if p:\n            o.n = 5\n        for i in c:\n            f(i, p + 'x')\n"
    "    f(u, '')\n    return hasattr(o, 'n')": None,
    # what it passes on to itself may say what to do, and may count
    "o = O()\n    o.n = 5\n    def f(c, kind, deep):\n        for i in c:\n            o.last = kind\n"
    "            f(i, kind, deep)\n    f(u, None, True)\n    return o.n": [5],
    "def f(c, n):\n        if n == 0:\n            raise ValueError(c)\n        f(c.x, n - 1)\n    f(u, 2)": "raises",
    "o = O()\n    o.n = 5\n    def f(c, first):\n        for i in c:\n            if not first:\n                o.n = 6\n"
    "            f(i, False)\n    f(u, True)\n    return o.n": None,
    # no budget is needed to go on down behind an arm that was too long
    "o = O()\n    o.n = 5\n    def f(c):\n        for i in c:\n            if i == 1:\n                for j in range(300):\n"
    "                    sum(k for k in range(300))\n            else:\n                f(i)\n    f(u)\n    return o.n": [
        5
    ],
    "def f(c):\n        for i in c:\n            f(i)\n        raise ValueError(c)\n    f(u)": "raises",
    "def f(c):\n        for i in c:\n            f(i)\n            raise ValueError(c)\n    f(u)\n    return 5": [5],
}


@pytest.mark.parametrize("body", UNKNOWNS)
def test_what_is_said_with_an_unknown_input(body: str) -> None:
    source = f"class O:\n    fixed = 7\ndef sink(o):\n    return o\ndef main(u, b):\n    {body}\n"
    walked = walk(source, (None, None), (True, False))
    assert walked is not None
    expected = UNKNOWNS[body]
    if expected == "raises":
        assert walked.exits
        return
    assert not walked.exits
    if expected is None:
        assert possible_values(walked) is None
        return
    options = possible_values(walked)
    assert options is not None, walked.value
    assert sorted(map(repr, options)) == sorted(map(repr, expected))


def test_an_unknown_has_no_truth() -> None:
    with pytest.raises(TypeError):
        bool(Unknown("a reason"))


def test_the_top_level_of_a_module_forgets_an_arm_that_may_not_run() -> None:
    source = "import other\nthere = True\nif other.check():\n    there = False\ndef main(a, b):\n    return there\n"
    walked = walk(source, (None, None), (False, False))
    assert walked is not None
    options = possible_values(walked)
    assert options is not None, walked.value
    assert sorted(options) == [False, True]
