"""Kinds of broken Python, each made from a real file: a function that breaks the lines of a source and names the place.

The line that comes back is where the finding must stand: the place to change, not where an interpreter gives up.
``mends`` says what the offered fix must do. Whatever is offered must compile; "" means that none need be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Lines = list[str]
Broken = tuple[Lines, int]

RESTORES = "the file before, byte for byte"
RESTORES_WITH_RELEASE = "the file before, byte for byte, if the release is known"
COMPILES = "a file that compiles"


@dataclass(frozen=True)
class Breakage:
    name: str
    cause: str
    mends: str
    apply: Callable[[Lines], Broken]


BREAKAGES: list[Breakage] = []


def breakage(cause: str, mends: str = "") -> Callable[[Callable[[Lines], Broken]], Callable[[Lines], Broken]]:
    def register(apply: Callable[[Lines], Broken]) -> Callable[[Lines], Broken]:
        BREAKAGES.append(Breakage(apply.__name__, cause, mends, apply))
        return apply

    return register


def find(lines: Lines, pattern: str, start: int = 0) -> int:
    """The position of the first line that the pattern is found in."""
    return next(at for at in range(start, len(lines)) if re.search(pattern, lines[at]))


def changed(lines: Lines, at: int, old: str, new: str, line: int | None = None) -> Broken:
    """The line with its first ``old`` replaced; the finding is expected there."""
    assert old in lines[at], (old, lines[at])
    return [*lines[:at], lines[at].replace(old, new, 1), *lines[at + 1 :]], at + 1 if line is None else line


def inserted(lines: Lines, at: int, *new: str, line: int | None = None) -> Broken:
    return [*lines[:at], *new, *lines[at:]], at + 1 if line is None else line


def without(lines: Lines, at: int, line: int, count: int = 1) -> Broken:
    return [*lines[:at], *lines[at + count :]], line


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# --- imports

ONE_LINE_IMPORT = r"^from \S+ import \w+, \w+"
LONG_IMPORT = r"^from \S+ import \($"


def _one_line_import(lines: Lines) -> tuple[int, str, list[str]]:
    at = find(lines, ONE_LINE_IMPORT)
    head, names = lines[at].split(" import ")
    return at, head, names.split(", ")


@breakage("import-list-split", COMPILES)
def import_split_as_in_the_incident(lines: Lines) -> Broken:
    at, head, names = _one_line_import(lines)
    new = [f"{head} import {names[0]},", "    SupportsEagle3,", "    " + ", ".join(names[1:])]
    return [*lines[:at], *new, *lines[at + 1 :]], at + 1


@breakage("import-list-split", COMPILES)
def import_split_without_an_indent(lines: Lines) -> Broken:
    at, head, names = _one_line_import(lines)
    new = [f"{head} import {names[0]},", "SupportsEagle3,", "    " + ", ".join(names[1:])]
    return [*lines[:at], *new, *lines[at + 1 :]], at + 1


@breakage("import-list-split", COMPILES)
def import_with_an_indented_name_below(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_IMPORT)
    return inserted(lines, at + 1, "    SupportsEagle3,", line=at + 1)


@breakage("import-list-split", COMPILES)
def import_with_a_leading_comma_below(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_IMPORT)
    return inserted(lines, at + 1, "    , SupportsEagle3", line=at + 1)


@breakage("import-trailing-comma", RESTORES)
def import_with_a_trailing_comma(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_IMPORT)
    return changed(lines, at, lines[at], lines[at] + ",")


@breakage("import-name-after-parenthesis", COMPILES)
def import_name_behind_the_parenthesis(lines: Lines) -> Broken:
    at = find(lines, r"^\)$", find(lines, LONG_IMPORT))
    return inserted(lines, at + 1, "    SupportsEagle3,", line=at + 2)


@breakage("comma-missing", RESTORES)
def import_list_without_a_comma(lines: Lines) -> Broken:
    at = find(lines, LONG_IMPORT) + 1
    return changed(lines, at, ",", "")


@breakage("comma-missing")
def import_line_without_a_comma(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_IMPORT), ", ", " ")


@breakage("import-word-missing", RESTORES)
def import_without_import(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_IMPORT), "import ", "")


@breakage("import-order", COMPILES)
def import_in_javascript_order(lines: Lines) -> Broken:
    return inserted(lines, find(lines, "^import "), "import Any from typing")


@breakage("import-star-inside")
def star_import_in_a_function(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)")
    return inserted(lines, at + 1, "        from .utils import *")


@breakage("future-late", COMPILES)
def future_import_too_late(lines: Lines) -> Broken:
    at = find(lines, "^from |^import ")
    return inserted(lines, at, "import os", "from __future__ import annotations", line=at + 2)


@breakage("future-unknown", COMPILES)
def future_feature_unknown(lines: Lines) -> Broken:
    at = find(lines, '^from |^import |^"""')
    return inserted(lines, at, "from __future__ import anotations")


# --- brackets

CALL = r"^        self\.\w+ = \w+\($"
ONE_LINE_CALL = r"^        \w+(, \w+)* = self\.\w+\(\w+\)$"


@breakage("bracket-unclosed", RESTORES)
def bracket_unclosed_on_one_line(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_CALL)
    return changed(lines, at, ")", "")


@breakage("bracket-unclosed")
def bracket_unclosed_over_lines(lines: Lines) -> Broken:
    at = find(lines, CALL)
    end = find(lines, r"^        \)$", at)
    return without(lines, end, line=at + 1)


@breakage("bracket-unclosed")
def bracket_of_an_import_unclosed(lines: Lines) -> Broken:
    at = find(lines, LONG_IMPORT)
    return without(lines, find(lines, r"^\)$", at), line=at + 1)


@breakage("bracket-unclosed")
def bracket_of_a_def_unclosed(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\($")
    end = find(lines, r"^    \)", at)
    return changed(lines, end, ")", "", line=at + 1)


@breakage("bracket-unclosed", RESTORES_WITH_RELEASE)
def bracket_in_a_header_unclosed(lines: Lines) -> Broken:
    at = find(lines, r"^ +if \w+\(.*\)( .*)?:$")
    last = lines[at].rindex(")")
    return [*lines[:at], lines[at][:last] + lines[at][last + 1 :], *lines[at + 1 :]], at + 1


@breakage("bracket-mismatch", RESTORES)
def bracket_of_the_wrong_kind(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), ")", "]")


@breakage("bracket-mismatch", RESTORES)
def bracket_of_the_wrong_kind_on_its_own_line(lines: Lines) -> Broken:
    at = find(lines, r"^        \)$", find(lines, CALL))
    return changed(lines, at, ")", "}")


@breakage("bracket-stray", RESTORES_WITH_RELEASE)
def bracket_too_many(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), ")", "))")


@breakage("bracket-stray")
def bracket_alone_on_a_line(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_CALL)
    return inserted(lines, at + 1, "        ]")


# --- strings

F_STRING = r'^ +prefix=f"\{prefix\}\.\w+",$'
ASSIGNED_STRING = r'^ +\w+: str = ""|^ +raise ValueError\(f?"[^"]*"\)$|^ +if .* == "\w+":$'


@breakage("string-unclosed", RESTORES_WITH_RELEASE)
def string_unclosed_before_a_comma(lines: Lines) -> Broken:
    return changed(lines, find(lines, F_STRING), '",', ",")


@breakage("string-unopened", RESTORES)
def string_unclosed_at_its_begin(lines: Lines) -> Broken:
    return changed(lines, find(lines, F_STRING), 'f"', "f")


@breakage("string-unclosed", RESTORES)
def string_in_a_condition_unclosed(lines: Lines) -> Broken:
    at = find(lines, r'^ +if .* [!=]= "\w+":$')
    return changed(lines, at, '":', ":")


@breakage("string-inner-quote", COMPILES)
def string_with_its_own_quote_inside(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)")
    return inserted(lines, at + 1, "        logger.info('this layer doesn't shard')")


@breakage("string-triple-unclosed")
def docstring_unclosed(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\(self")
    return inserted(lines, at + 1, '        """Forward, as the patch does it.')


@breakage("string-triple-stray")
def triple_quotes_left_behind(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)")
    return inserted(lines, at + 1, '        """')


# --- indents


@breakage("indent-unexpected")
def indent_too_deep(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)") + 1
    at = find(lines, r"^        self\.\w+ = \w+$", at)
    return changed(lines, at, "        ", "            ")


@breakage("indent-mismatch", RESTORES)
def indent_one_column_short(lines: Lines) -> Broken:
    at = find(lines, r"^        self\.\w+ = \w+$")
    return changed(lines, at, "        ", "       ")


@breakage("indent-unexpected", RESTORES)
def indent_one_column_deep(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return changed(lines, at, "        ", "         ")


@breakage("indent-tabs", RESTORES)
def indent_with_a_tab(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return changed(lines, at, "        ", "\t\t")


@breakage("indent-tabs", RESTORES)
def indent_with_tabs_over_lines(lines: Lines) -> Broken:
    at = find(lines, r"^        self\.\w+ = \w+$")
    at = find(lines, r"^        self\.\w+ = \w+", at + 1)
    return [*lines[:at], *(f"\t{line[4:]}" for line in lines[at : at + 2]), *lines[at + 2 :]], at + 1


@breakage("body-missing")
def class_without_a_body(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+")
    return inserted(lines, at, "class PatchedByUs(nn.Module):", "", "")


@breakage("body-missing")
def method_without_a_body(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\(")
    return inserted(lines, at, "    def patched_by_us(self, x):", "        # to be done", "")


@breakage("body-not-indented")
def body_moved_out_of_an_if(lines: Lines) -> Broken:
    at = find(lines, r"^        if .*:$")
    while lines[at + 2].startswith("          ") or not lines[at + 2].startswith("        "):
        at = find(lines, r"^        if .*:$", at + 1)
    return changed(lines, at + 1, "            ", "        ")


# --- leftovers


@breakage("conflict-marker")
def conflict_of_two_sides(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    marked = ["<<<<<<< HEAD", lines[at], "=======", lines[at] + "  # theirs", ">>>>>>> 3f2a1c9 (Support EAGLE-3)"]
    return [*lines[:at], *marked, *lines[at + 1 :]], at + 1


@breakage("conflict-marker")
def conflict_in_diff3_style(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    line = lines[at]
    marked = ["<<<<<<< ours", line, "||||||| base", line, "=======", line, ">>>>>>> theirs"]
    return [*lines[:at], *marked, *lines[at + 1 :]], at + 1


@breakage("diff-marks", RESTORES)
def plus_signs_of_a_diff(lines: Lines) -> Broken:
    at = find(lines, CALL)
    return [*lines[:at], *("+" + line for line in lines[at : at + 3]), *lines[at + 3 :]], at + 1


@breakage("diff-marks", RESTORES)
def plus_sign_on_one_line(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return changed(lines, at, "", "+")


@breakage("diff-marks", RESTORES)
def hunk_of_a_diff_pasted(lines: Lines) -> Broken:
    at = find(lines, CALL)
    hunk = [
        "@@ -140,3 +140,3 @@",
        " " + lines[at],
        "-            old_argument,",
        "+" + lines[at + 1],
        " " + lines[at + 2],
    ]
    return [*lines[:at], *hunk, *lines[at + 3 :]], at + 1


@breakage("markdown-fence", RESTORES)
def markdown_fence(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+")
    return inserted(lines, at, "```python")


@breakage("markdown-fence", RESTORES)
def markdown_fences_around_a_class(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+")
    end = find(lines, r"^class \w+", at + 1)
    broken, _ = inserted(lines, end, "```")
    return inserted(broken, at, "```python")


@breakage("heredoc-end", RESTORES)
def heredoc_end(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return inserted(lines, at, "    EOF")


@breakage("html-entity", RESTORES)
def html_entities(lines: Lines) -> Broken:
    at = find(lines, r"^ +if .* > .*:$|^ +elif .* > .*:$")
    return changed(lines, at, ">", "&gt;")


@breakage("prompt", RESTORES)
def interpreter_prompt(lines: Lines) -> Broken:
    at = find(lines, r"^from \S+ import \w+$")
    return changed(lines, at, "from", ">>> from")


@breakage("line-numbers", RESTORES)
def line_numbers_of_a_listing(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_CALL)
    return [
        *lines[:at],
        *(f"{at + n + 1}: {line}" for n, line in enumerate(lines[at : at + 3])),
        *lines[at + 3 :],
    ], at + 1


@breakage("escape-left-in", COMPILES)
def newline_escape_of_sed(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return changed(lines, at, "init__()", r"init__()\n        self.patched = True")


@breakage("odd-character", RESTORES)
def smart_quotes(lines: Lines) -> Broken:
    at = find(lines, F_STRING)
    broken, _ = changed(lines, at, '"', "\u201c")
    return changed(broken, at, '"', "\u201d")


@breakage("odd-character", RESTORES)
def non_breaking_space(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), " = ", "\u00a0= ")


@breakage("odd-character", RESTORES)
def zero_width_space(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), "= self", "= \u200bself")


@breakage("odd-character", RESTORES)
def fullwidth_parenthesis(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), "(", "\uff08")


@breakage("odd-character", RESTORES)
def dash_for_minus(lines: Lines) -> Broken:
    at = find(lines, r"^        .* = .* - .*$|^ +if .* - .*:$|^ +return .* - ")
    return changed(lines, at, " - ", " \u2013 ")


@breakage("backslash-space", COMPILES)
def backslash_with_a_space_behind(lines: Lines) -> Broken:
    at = find(lines, ONE_LINE_CALL)
    head, tail = lines[at].split(" = ")
    return [*lines[:at], f"{head} = \\ ", f"            {tail}", *lines[at + 1 :]], at + 1


@breakage("backslash-dangling", RESTORES)
def backslash_dangling(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return changed(lines, at, "init__()", "init__() \\")


# --- statements


@breakage("colon-missing", RESTORES)
def colon_of_an_if_missing(lines: Lines) -> Broken:
    at = find(lines, r"^        if .*:$")
    return changed(lines, at, lines[at], lines[at][:-1])


@breakage("colon-missing", RESTORES)
def colon_of_an_else_missing(lines: Lines) -> Broken:
    return changed(lines, find(lines, r"^ +else:$"), ":", "")


@breakage("colon-missing", RESTORES)
def colon_of_a_class_missing(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+\(.*\):$")
    return changed(lines, at, "):", ")")


@breakage("colon-missing", RESTORES)
def colon_of_a_def_missing(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\(.*:$")
    return changed(lines, at, lines[at], lines[at][:-1])


@breakage("colon-missing", RESTORES)
def colon_behind_a_parameter_list_missing(lines: Lines) -> Broken:
    at = find(lines, r"^    \)( -> .*)?:$")
    return changed(lines, at, lines[at], lines[at][:-1])


@breakage("colon-missing", RESTORES)
def semicolon_for_colon(lines: Lines) -> Broken:
    at = find(lines, r"^        if .*:$")
    return changed(lines, at, lines[at], lines[at][:-1] + ";")


@breakage("equals-in-condition", RESTORES)
def one_equals_sign_in_a_condition(lines: Lines) -> Broken:
    at = find(lines, r"^ +(if|elif) [^(]* == .*:$")
    return changed(lines, at, "==", "=")


@breakage("equals-in-condition", RESTORES)
def one_equals_sign_in_an_assert(lines: Lines) -> Broken:
    at = find(lines, r"^ +assert .* == ")
    return changed(lines, at, "==", "=")


@breakage("other-language", COMPILES)
def else_if(lines: Lines) -> Broken:
    return changed(lines, find(lines, r"^ +elif "), "elif", "else if")


@breakage("other-language", COMPILES)
def double_ampersand(lines: Lines) -> Broken:
    at = find(lines, r"^ +(if|elif) .* and .*:$")
    return changed(lines, at, " and ", " && ")


@breakage("branch-without-statement")
def else_without_its_if(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return inserted(lines, at, "        else:", "            pass")


@breakage("branch-without-statement")
def else_moved(lines: Lines) -> Broken:
    at = find(lines, r"^        else:$")
    while lines[at - 1].strip() == "" or not lines[at - 1].startswith("            "):
        at = find(lines, r"^        else:$", at + 1)
    return changed(lines, at, "        ", "          ")


@breakage("try-alone")
def try_without_except(lines: Lines) -> Broken:
    at = find(lines, r"^        self\.\w+ = \w+$")
    return [*lines[:at], "        try:", "    " + lines[at], *lines[at + 1 :]], at + 1


@breakage("decorator-alone")
def decorator_parted_from_its_class(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+")
    return inserted(lines, at, "@support_torch_compile", "PATCHED = True")


@breakage("word-doubled", RESTORES)
def keyword_twice(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\(")
    return changed(lines, at, "def ", "def def ")


@breakage("word-doubled", RESTORES)
def return_twice(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    return changed(lines, at, "return ", "return return ")


@breakage("lines-merged", COMPILES)
def line_end_missing(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    at = find(lines, r"^        self\.\w+ = \w+$", at)
    return [*lines[:at], lines[at] + " " + lines[at + 1].lstrip(), *lines[at + 2 :]], at + 1


@breakage("lines-merged", COMPILES)
def def_behind_a_return(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    while not lines[at + 2].startswith("    def "):
        at = find(lines, r"^        return \w+$", at + 1)
    return [*lines[:at], lines[at] + lines[at + 2], *lines[at + 3 :]], at + 1


# --- calls and parameters


@breakage("comma-missing", RESTORES)
def comma_between_arguments_missing(lines: Lines) -> Broken:
    at = find(lines, CALL) + 1
    return changed(lines, at, ",", "")


@breakage("comma-missing")
def comma_on_one_line_missing(lines: Lines) -> Broken:
    at = find(lines, r"= getattr\(\w+, \"\w+\", \w")
    return changed(lines, at, '", ', '" ')


@breakage("comma-doubled", RESTORES)
def comma_twice(lines: Lines) -> Broken:
    return changed(lines, find(lines, CALL) + 1, ",", ",,")


@breakage("comma-stray", RESTORES)
def comma_first(lines: Lines) -> Broken:
    return changed(lines, find(lines, ONE_LINE_CALL), "(", "(, ")


@breakage("semicolon-for-comma", RESTORES)
def semicolon_for_comma(lines: Lines) -> Broken:
    return changed(lines, find(lines, CALL) + 1, ",", ";")


@breakage("keyword-repeated", RESTORES)
def keyword_argument_twice(lines: Lines) -> Broken:
    at = find(lines, r"^            \w+=\w+,$", find(lines, CALL))
    return inserted(lines, at + 1, lines[at])


@breakage("keyword-repeated")
def keyword_argument_twice_with_other_values(lines: Lines) -> Broken:
    at = find(lines, r"^            \w+=\w+,$", find(lines, CALL))
    return inserted(lines, at + 1, lines[at].replace(",", " and None,"))


@breakage("positional-after-keyword")
def positional_argument_last(lines: Lines) -> Broken:
    at = find(lines, r"^            \w+=\w+,$", find(lines, CALL))
    return inserted(lines, at + 1, "            patched_by_us,")


@breakage("parameter-repeated", RESTORES)
def self_twice(lines: Lines) -> Broken:
    at = find(lines, r"^    def \w+\(self, ")
    return changed(lines, at, "self, ", "self, self, ")


@breakage("parameter-repeated")
def parameter_twice(lines: Lines) -> Broken:
    at = find(lines, r"^        \w+: .* = .*,$")
    name = lines[at].split(":")[0]
    return inserted(lines, at + 1, f"{name}: bool = False,")


@breakage("default-order")
def parameter_without_a_default_last(lines: Lines) -> Broken:
    at = find(lines, r"^        \w+: .* = .*,$")
    return inserted(lines, at + 1, "        patched_by_us: bool,")


@breakage("generator-bare", COMPILES)
def generator_without_parentheses(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        self.total = sum(x for x in (1, 2), 0)")


@breakage("tuple-bare", COMPILES)
def tuple_in_a_comprehension(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        self.pairs = [a, b for a, b in ((1, 2), (3, 4))]")


# --- scopes


@breakage("outside-function")
def return_outside_a_function(lines: Lines) -> Broken:
    at = find(lines, r"^        return \w+$")
    while lines[at + 1].strip():
        at = find(lines, r"^        return \w+$", at + 1)
    return changed(lines, at, "        ", "")


@breakage("outside-function")
def yield_outside_a_function(lines: Lines) -> Broken:
    at = find(lines, r"^class \w+")
    return inserted(lines, at, "yield None", "", "")


@breakage("outside-async")
def await_in_a_plain_function(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        await self.load()")


@breakage("outside-loop")
def continue_outside_a_loop(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        continue")


@breakage("scope-declaration")
def nonlocal_without_an_outer_function(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        nonlocal patched_by_us")


@breakage("scope-declaration")
def global_after_its_use(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        counter = 0", "        global counter", line=at + 3)


# --- expressions


@breakage("assignment-target")
def assignment_to_a_call(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        self.layers() = None")


@breakage("assignment-target")
def assignment_to_a_literal(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        None = self.layers")


@breakage("assignment-target")
def assignment_to_a_name_with_a_dash(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        eagle-layers = 3")


@breakage("walrus", COMPILES)
def walrus_as_a_statement(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        layers := 3")


@breakage("number", COMPILES)
def number_with_leading_zeros(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        self.layers = 08")


@breakage("number")
def name_that_begins_with_a_digit(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, "        2nd_layer = None")


@breakage("other-language", COMPILES)
def arrow_for_at_least(lines: Lines) -> Broken:
    at = find(lines, r"^ +(if|elif) .* >= ")
    return changed(lines, at, ">=", "=>")


@breakage("operand-missing")
def operand_missing(lines: Lines) -> Broken:
    at = find(lines, r"^        self\.\w+ = \w+$")
    return changed(lines, at, lines[at], lines[at][: lines[at].index("=") + 1])


# --- Python 2, newer Pythons


@breakage("python-2", COMPILES)
def print_statement(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, '        print "patched", self')


@breakage("python-2", COMPILES)
def except_with_a_comma(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    new = ["        try:", "            pass", "        except ValueError, error:", "            raise"]
    return inserted(lines, at + 1, *new, line=at + 4)


@breakage("python-2", COMPILES)
def raise_with_a_comma(lines: Lines) -> Broken:
    at = find(lines, r"^        super\(\)\.__init__\(\)$")
    return inserted(lines, at + 1, '        raise ValueError, "not patched"')


# --- the file as a whole


@breakage("cut-off")
def file_cut_off_in_a_call(lines: Lines) -> Broken:
    at = find(lines, CALL, len(lines) // 2)
    return [*lines[: at + 1], lines[at + 1][:-3]], at + 1


@breakage("cut-off")
def file_cut_off_in_a_string(lines: Lines) -> Broken:
    at = find(lines, F_STRING, len(lines) // 3)
    start = at
    while not lines[start].rstrip().endswith("("):
        start -= 1
    return [*lines[:at], lines[at][:-6]], start + 1


@breakage("not-python")
def diff_in_place_of_the_file(lines: Lines) -> Broken:
    head = ["diff --git a/vllm/x.py b/vllm/x.py", "--- a/vllm/x.py", "+++ b/vllm/x.py", "@@ -1,3 +1,3 @@"]
    return [*head, *(" " + line for line in lines[:3]), "-old", "+new", ""], 1
