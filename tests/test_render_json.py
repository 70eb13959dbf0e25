"""The JSON report: its shape is the contract's, and whatever a value is, the report can be read."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from situations import SITUATIONS, SYNTAX, finding, report

from preflight.model import Span, Value
from preflight.render import render
from preflight.render.plain import plain, shown


def _object(**properties: Any) -> dict[str, Any]:
    """An object that has exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
PLACE = {"type": "integer", "minimum": 1}
MAYBE_PLACE = {"type": ["integer", "null"], "minimum": 1}
POINT = {"type": "array", "prefixItems": [PLACE, PLACE], "minItems": 2, "maxItems": 2}
NULL = {"type": "null"}

#: Written from the contract, not from the code.
SCHEMA = _object(
    format_version={"const": "1.0"},
    tool=_object(name={"const": "preflight"}, version=TEXT),
    verdict={"enum": ["clear", "would-not-launch", "undecided", "not-checked"]},
    tree={
        "anyOf": [
            NULL,
            _object(
                site_packages=TEXT,
                vllm=MAYBE_TEXT,
                transformers=MAYBE_TEXT,
                python=MAYBE_TEXT,
                patched=_list(_object(path=TEXT, state={"enum": ["modified", "added", "missing", "overlay"]})),
            ),
        ]
    },
    launch={
        "anyOf": [
            NULL,
            _object(
                model=MAYBE_TEXT,
                architecture=MAYBE_TEXT,
                model_class=MAYBE_TEXT,
                flags={"type": "object"},
                drafter={"type": ["object", "null"]},
            ),
        ]
    },
    findings=_list(
        _object(
            rule=TEXT,
            name=TEXT,
            severity={"enum": ["error", "warning", "info"]},
            path=TEXT,
            line=MAYBE_PLACE,
            column=MAYBE_PLACE,
            end_line=MAYBE_PLACE,
            end_column=MAYBE_PLACE,
            message=TEXT,
            why=MAYBE_TEXT,
            help=MAYBE_TEXT,
            values=_list(_object(name=TEXT, value={}, origin=TEXT)),
            trail=_list(_object(path=TEXT, line=PLACE, function=TEXT, note=TEXT)),
            fix={
                "anyOf": [
                    NULL,
                    _object(
                        safe={"type": "boolean"}, edits=_list(_object(path=TEXT, start=POINT, end=POINT, text=TEXT))
                    ),
                ]
            },
            fingerprint=TEXT,
        )
    ),
    undecided=_list(_object(id=TEXT, message=TEXT, path=MAYBE_TEXT, line=MAYBE_PLACE, count=PLACE)),
    summary=_object(
        errors=COUNT,
        warnings=COUNT,
        infos=COUNT,
        undecided=COUNT,
        files_checked=COUNT,
        seconds={"type": "number", "minimum": 0},
    ),
    error={"anyOf": [NULL, _object(message=TEXT, help=MAYBE_TEXT)]},
)


def _keys(schema: dict[str, Any], data: Any) -> None:
    """The keys of every object are in the order of the contract."""
    for option in schema.get("anyOf", [schema]):
        if isinstance(data, dict) and "properties" in option:
            assert list(data) == list(option["properties"])
            for key, inner in option["properties"].items():
                _keys(inner, data[key])
        elif isinstance(data, list) and "items" in option:
            for item in data:
                _keys(option["items"], item)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_shape(name: str) -> None:
    data = json.loads(render(SITUATIONS[name], "json"), parse_constant=_refuse)
    Draft202012Validator(SCHEMA).validate(data)
    _keys(SCHEMA, data)


def test_summary_counts_what_is_listed() -> None:
    for name, situation in SITUATIONS.items():
        data = json.loads(render(situation, "json"))
        severities = [found["severity"] for found in data["findings"]]
        counted = [data["summary"][key] for key in ("errors", "warnings", "infos", "undecided")]
        listed = [severities.count(word) for word in ("error", "warning", "info")]
        assert counted == [*listed, len(data["undecided"])], name


class Colour(Enum):
    RED = "red"


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


SELF: list[object] = []
SELF.append(SELF)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0.5, 0.5),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, "a"), [1, "a"]),
        ({1: 2, None: 3, "k": 4}, {"1": 2, "None": 3, "k": 4}),
        (b"\xff", "b'\\xff'"),
        ("\ud800x", "\\ud800x"),
        ({"\udcff": 1}, {"\\udcff": 1}),
        (Colour.RED, "red"),
        (2**63 - 1, 2**63 - 1),
        (2**63, str(2**63)),
        (Rude(), "<Rude>"),
    ],
)
def test_plain(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_plain_of_an_integer_that_python_refuses_to_print() -> None:
    assert plain(10**5000) == "an integer of 16610 bits"


def test_plain_ends_for_a_value_that_holds_itself() -> None:
    text = json.dumps(plain(SELF))
    assert "too deep" in text


def test_plain_says_what_it_leaves_out() -> None:
    cut = plain(list(range(5000)))
    assert isinstance(cut, list)
    assert cut[-1] == "... 4000 more"
    assert shown("x" * 1000).endswith("...")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)) | st.binary()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(SCALARS.filter(lambda k: k == k), inner, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=12,
)


@given(VALUES)
@settings(max_examples=200)
def test_any_value_survives_every_format(value: object) -> None:
    found = finding(SYNTAX, "message", Span("vllm/toy.py", 1, 1), values=(Value("name", value, "origin"),))
    data = json.loads(render(report(found), "json"), parse_constant=_refuse)
    json.dumps(data, ensure_ascii=False).encode("utf-8")
    for format in ("text", "sarif", "junit", "github", "short"):
        render(report(found), format).encode("utf-8")
