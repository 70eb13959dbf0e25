"""The variables of a shell script while it is read: what they hold, and the words that expansions make of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from preflight.launch.sources.found import Assignment
from preflight.launch.sources.shell_tokens import Piece, Scanner, ShellSyntaxError
from preflight.launch.unresolved import mark
from preflight.launch.words import Origin

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[@*#?$!-]|[0-9]+)(\[[@*]\])?(:?[-=?+])?(.*)", re.DOTALL)
#: how much text expansions may make, so that a script that doubles a variable ends in a sentence
_MAX_TEXT = 1_000_000
#: of so many variables at most is kept what they were before a shell of their own
_MOST_KEPT = 2000


@dataclass(frozen=True, slots=True)
class Variable:
    """``value`` is text, a tuple for an array, or None where what it holds is not known.
    ``sure``: it has this value wherever the script asks for it behind this place; ``doubts`` is how often all were
    doubted before it was set."""

    value: str | tuple[str, ...] | None
    exported: bool = False
    origin: Origin | None = None  #: where its value was given
    sure: bool = True
    doubts: int = 0


class Variables:
    """The variables and arguments of one script. ``environment`` is set before it starts, ``arguments`` are ``$1`` and
    so on if they are known. ``exports``: whatever is set is exported. ``asked_unsure``: a word was made of a value that
    may be another one where it is asked for."""

    def __init__(self, environment: tuple[Assignment, ...], arguments: tuple[str, ...] | None) -> None:
        self._known = {item.name: Variable(item.value, True, origin=item.origin) for item in environment}
        self.arguments = arguments
        self.exports = False
        self.asked_unsure = False
        #: where the script is, and the line of the condition that it is under
        self.here = Origin()
        self.condition: int | None = None
        self._made = 0
        self._doubts = 0

    def set(
        self,
        name: str,
        value: str | tuple[str, ...],
        origin: Origin,
        condition: int | None,
        *,
        appends: bool = False,
        export: bool = False,
        sure: bool = True,
    ) -> None:
        """Set a variable; under a ``condition``, which is the line of one, it is not known any more, unless it had the
        value before."""
        known = self._known.get(name)
        exported = export or self.exports or (known is not None and known.exported)
        if condition is not None:
            if known is None or known.value != value or appends:
                self.open(name, origin, exported)
            return
        if appends and known is not None:
            if known.value is None:
                return
            if isinstance(value, tuple):
                before = known.value if isinstance(known.value, tuple) else (known.value,)
                value = (*before, *value)
            else:
                value = (*known.value, value) if isinstance(known.value, tuple) else known.value + value
            sure = sure and self._is_sure(known)
        self._known[name] = Variable(value, exported, origin=origin, sure=sure, doubts=self._doubts)

    def open(self, name: str, origin: Origin | None = None, exported: bool = False) -> None:
        """Take what a variable holds for not known."""
        self._known[name] = Variable(None, exported, origin)

    def unset(self, name: str) -> None:
        """Forget a variable."""
        self._known.pop(name, None)

    def export(self, name: str) -> None:
        """Hand a variable on to the commands."""
        if name in self._known:
            self._known[name] = replace(self._known[name], exported=True)

    def has(self, name: str) -> bool:
        """Whether anything is known of a variable."""
        return name in self._known

    def doubt(self) -> None:
        """Take what variables hold for what they may not hold where they are asked for."""
        self._doubts += 1

    def _is_sure(self, known: Variable) -> bool:
        return known.sure and known.doubts == self._doubts

    def environment(self, own: list[Assignment], path: str | None) -> tuple[Assignment, ...]:
        """What a command finds, behind the assignments that stand before it."""
        names = {item.name for item in own}
        exported = [
            Assignment(name, self._text(name), variable.origin or Origin(path))
            for name, variable in self._known.items()
            if variable.exported and name not in names
        ]
        return (*exported, *own)

    def snapshot(self) -> dict[str, Variable] | None:
        """All of them, for a shell that begins here and whose end leaves them as they were; None for too many."""
        return dict(self._known) if len(self._known) <= _MOST_KEPT else None

    def restore(self, known: dict[str, Variable] | None) -> None:
        """As they were; what was not kept is doubted."""
        if known is None:
            self.doubt()
        else:
            self._known = known

    # -- expansions ---------------------------------------------------------------------------------------------------

    def _text(self, name: str) -> str:
        variable = self._known.get(name)
        if variable is None or variable.value is None:
            return mark(f"${name}")
        return " ".join(variable.value) if isinstance(variable.value, tuple) else variable.value

    def fields(self, pieces: tuple[Piece, ...], split: bool = True) -> list[str]:
        """The words that a word becomes: none, one, or several."""
        fields: list[list[str]] = [[]]
        kept = [False]

        def add(text: str, quoted: bool) -> None:
            fields[-1].append(text)
            kept[-1] = kept[-1] or quoted or bool(text)

        for piece in pieces:
            if piece.kind == "text":
                add(piece.text, piece.quoted)
            elif piece.kind == "output":
                add(mark(piece.text), True)
            else:
                values = self._parameter(piece.text, piece.quoted)
                one = isinstance(values, str)
                elements = [values] if isinstance(values, str) else list(values)
                for position, element in enumerate(elements):
                    parts = [element] if piece.quoted or not split else _split(element)
                    for number, part in enumerate(parts):
                        if number or position:
                            fields.append([])
                            kept.append(False)
                        add(part, piece.quoted)
                if one and piece.quoted:
                    kept[-1] = True
        made = ["".join(parts) for parts, keep in zip(fields, kept, strict=True) if keep]
        self._made += sum(map(len, made))
        if self._made > _MAX_TEXT:
            raise ShellSyntaxError("its variables grow beyond a million characters", 1)
        return made

    def _parameter(self, inside: str, quoted: bool) -> str | tuple[str, ...]:
        """The value of ``${inside}``; a tuple for the elements of an array or the arguments."""
        found = _PARAMETER.fullmatch(inside)
        if found is None:
            return mark(f"${{{inside}}}")
        name, subscript, operator, rest = found.group(1), found.group(2), found.group(3), found.group(4)
        value = self._value(name)
        if value is None and operator is None:
            return mark(f"${{{inside}}}" if rest or subscript else f"${name}")
        if operator is None:
            if rest:
                return mark(f"${{{inside}}}")
            if isinstance(value, tuple):
                if subscript == "[*]" or name == "*":
                    return _joined(value, quoted)
                return value if subscript or name == "@" else (value[0] if value else "")
            return value or ""
        known = self._known.get(name)
        undecided = known is not None and known.value is None
        if undecided:
            return mark(f"${{{inside}}}")
        empty = value is None or (operator.startswith(":") and not value)
        if operator.endswith(("-", "=")):
            given = self._nested(rest) if empty else (value if value is not None else "")
            if operator.endswith("=") and empty and isinstance(given, str) and name.isidentifier():
                self.set(name, given, self.here, self.condition)
            return given
        if operator.endswith("+"):
            return "" if empty else self._nested(rest)
        return mark(f"${{{inside}}}") if empty else (value if value is not None else "")

    def _value(self, name: str) -> str | tuple[str, ...] | None:
        if name in ("@", "*"):
            return self.arguments
        if name.isdigit():
            index = int(name) - 1
            if self.arguments is None or index < 0:
                return None
            return self.arguments[index] if index < len(self.arguments) else ""
        variable = self._known.get(name)
        if variable is None:
            return None
        self.asked_unsure = self.asked_unsure or not self._is_sure(variable)
        return variable.value

    def _nested(self, text: str) -> str:
        """The word behind ``:-``, which may hold expansions and quotes of its own."""
        try:
            tokens = [token for token in Scanner(text).tokens() if not token.operator]
        except ShellSyntaxError:
            return mark(text)
        return " ".join(" ".join(self.fields(token.pieces, split=False)) for token in tokens)


def _joined(elements: tuple[str, ...], quoted: bool) -> str | tuple[str, ...]:
    """``${A[*]}``: one word if it is quoted, as many as there are elements if not."""
    return " ".join(elements) if quoted else elements


def _split(text: str) -> list[str]:
    """Field splitting: at blanks, marks stay whole; a leading blank begins a new word."""
    parts = text.split()
    if not parts:
        return [""] if not text else ["", ""]
    return [*([""] if text[:1].isspace() else []), *parts, *([""] if text[-1:].isspace() else [])]
