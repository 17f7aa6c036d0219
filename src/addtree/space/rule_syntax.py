"""The text of a rule: its tokens, and Python's syntax tree of it.

The text is split into tokens first. Names and strings are then replaced by placeholders, so that `ast` sees nothing but
numbers, operators, brackets and words that a rule may contain. Whatever else a text contains is refused before.
"""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass
from typing import NoReturn

from addtree.errors import SpaceError

MAX_LENGTH = 2_000  # Characters of a rule.
_MAX_BRACKETS = 50  # Brackets inside each other.
_SHOWN = 80  # Characters of a rule or name that an error message quotes.

ALLOWED = (
    "a rule may contain names, numbers, strings, comparisons, and/or/not, in with a list of values, and the arithmetic "
    "of + - * / // % **"
)
_WORDS = {"and", "or", "not", "in", "True", "False", "None"}
_HINTS = {
    "=": "write == to compare",
    "&": "write and",
    "|": "write or",
    "!": "write not, or !=",
    "~": "write not",
    ".": "attributes are refused; write a name that contains a dot in backticks",
    "`": "a name in backticks has no end",
    "'": "a string has no end",
    '"': "a string has no end",
    "is": "write ==",
}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |`(?P<quoted>(?:[^`]|``)+)`
    |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:[0-9](?:_?[0-9])*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?!\w))
    |(?P<word>[^\W\d]\w*)
    |(?P<operator><=|>=|==|!=|\*\*|//|[-+*/%<>()\[\]{},])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Token:
    """A piece of a rule: a "name", "string", "number", "word" (`and`, `True`, ...) or "operator", and its text."""

    kind: str
    text: str


@dataclass(frozen=True)
class Syntax:
    """Python's syntax tree of a rule, with placeholders for the names and strings in `meaning`."""

    tree: ast.expr
    meaning: dict[str, Token]


def shorten(text: str) -> str:
    """A text as an error message quotes it."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def refuse(rule: str, why: str) -> NoReturn:
    """Raise the error of a rule that is not allowed."""
    raise SpaceError(f"rule {shorten(rule)}: {why}; {ALLOWED}")


def tokenize(rule: str) -> tuple[Token, ...]:
    """The tokens of a rule, or a SpaceError that says what is not allowed."""
    if len(rule) > MAX_LENGTH:
        refuse(
            rule, f"it has {len(rule)} characters, and at most {MAX_LENGTH} are allowed; split it into several rules"
        )
    tokens: list[Token] = []
    position, depth = 0, 0
    while position < len(rule):
        match = _TOKEN.match(rule, position)
        if match is None:
            _refuse_character(rule, position)
        kind, text = str(match.lastgroup), match.group(str(match.lastgroup))
        position = match.end()
        if kind == "space":
            continue
        token = _token(rule, kind, text)
        depth += (text in "([{") - (text in ")]}") if kind == "operator" else 0
        if depth > _MAX_BRACKETS:
            refuse(rule, f"it has more than {_MAX_BRACKETS} brackets inside each other")
        if tokens:
            _check_neighbours(rule, tokens[-1], token)
        tokens.append(token)
    return tuple(tokens)


def _token(rule: str, kind: str, text: str) -> Token:
    if kind == "quoted":
        return Token("name", text.replace("``", "`"))
    if kind == "string":
        return Token("string", _unescaped(rule, text[1:-1]))
    if kind == "word" and text not in _WORDS:
        if keyword.iskeyword(text):
            remedy = _HINTS.get(text, f"a parameter of that name is written in backticks, `{text}`")
            refuse(rule, f"the word {text!r} is not allowed; {remedy}")
        return Token("name", text)
    return Token(kind, text)


def _unescaped(rule: str, text: str) -> str:
    """The content of a string literal."""

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if match[4] not in _SIMPLE_ESCAPES:
            refuse(rule, f"the escape {match[0]!r} is not known; write a backslash as \\\\")
        return _SIMPLE_ESCAPES[match[4]]

    return _ESCAPE.sub(character, text)


def _refuse_character(rule: str, position: int) -> NoReturn:
    character = rule[position]
    if character.isdigit():
        refuse(rule, f"the number at position {position} is malformed")
    hint = _HINTS.get(character)
    refuse(rule, f"the character {character!r} at position {position} is not allowed" + (f"; {hint}" if hint else ""))


def _check_neighbours(rule: str, before: Token, token: Token) -> None:
    """Refuse calls, subscripts and string prefixes, which Python would understand."""
    ends_value = before.kind in ("name", "string", "number") or before.text in (")", "]", "}", "True", "False", "None")
    if ends_value and token.kind == "operator" and token.text in ("(", "[", "{"):
        what = "calls are refused" if token.text == "(" else "subscripts are refused"
        refuse(rule, f"{shorten(before.text)} is followed by {token.text!r}; {what}")
    if before.kind == "name" and token.kind == "string":
        refuse(rule, f"{shorten(before.text)} is followed by a string; an operator is missing, or a prefix is refused")


def parse(rule: str, tokens: tuple[Token, ...]) -> Syntax:
    """Python's syntax tree of tokens, or a SpaceError."""
    if not tokens:
        refuse(rule, "it is empty")
    meaning: dict[str, Token] = {}
    words: list[str] = []
    for token in tokens:
        if token.kind in ("name", "string"):
            words.append(f"p{len(meaning)}")
            meaning[words[-1]] = token
        else:
            words.append(token.text)
    try:
        tree = ast.parse(" ".join(words), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "it is too deeply nested"
        refuse(rule, f"it is not an expression ({why})")
    return Syntax(tree, meaning)
