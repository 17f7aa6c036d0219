"""Mutations of JSON documents, and of their bytes."""

import copy
import json
import math

DEEP = "<nested {} {} times>"  # Stands for a value that is nested too deeply for json.dumps.
DEPTHS = (150, 700, 50_000)
EXTREMES = (
    [None, True, False, 0, 1, -1, 2, 2**31, 2**53 + 1, 2**64, 10**9, 10**18, 10**400, -(10**400)]
    + [0.5, -0.0, 1e-320, 1e-9, 1e9, 1e300, 1e308, -1.7e308, math.inf, -math.inf, math.nan]
    + ["", "x", "0", "true", "\ud800", "\0", "done", "pending", "failed", "a" * 10_000]
    + [[], {}, [[]], [0] * 500, {"": {}}, {"type": "real"}, {"type": "integer", "low": 0, "high": 10**400}]
    + [DEEP.format(kind, depth) for kind in ("list", "object", "choice") for depth in DEPTHS]
)
TOKENS = [
    b"Infinity",
    b"NaN",
    b"1e999",
    b"-1",
    b"null",
    b"true",
    b"[]",
    b"{",
    b'"',
    b",",
    b"9" * 400,
    b"9" * 5000,
    b"\xff",
    b"\\u0000",
]


def pick(document, rng):
    """A random place of a document, as a container and a key or position; None if the document is empty.

    Each level of nesting is as likely as the next, so that the few values at the top are changed as often as the many
    at the bottom.
    """
    container, place = document, None
    while isinstance(container, (dict, list)) and container and (place is None or rng.random() < 0.6):
        keys = list(container) if isinstance(container, dict) else range(len(container))
        key = keys[rng.integers(len(keys))]
        place, container = (container, key), container[key]
    return place


def mutate_document(document, rng):
    """A copy of a document with one to three values replaced, removed, repeated, nested, exchanged or changed a bit."""
    document = copy.deepcopy(document)
    operations = (_replace, _replace, _remove, _repeat, _nest, _tweak, _tweak, None)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place, other = pick(document, rng), pick(document, rng)
        if place is None:
            break
        container, key = place
        operation = operations[rng.integers(len(operations))]
        if operation is None:
            container[key] = copy.deepcopy(other[0][other[1]])
        else:
            operation(container, key, rng)
    return document


def _replace(container, key, rng):
    container[key] = copy.deepcopy(EXTREMES[rng.integers(len(EXTREMES))])


def _remove(container, key, rng):
    del container[key]


def _repeat(container, key, rng):
    value = copy.deepcopy(container[key])
    if isinstance(container, list):
        container[key:key] = [value] * int(rng.choice([1, 2, 50]))
    else:
        container[f"{key}{rng.integers(3)}"] = value


def _nest(container, key, rng):
    container[key] = [container[key]] if rng.random() < 0.5 else {str(key): container[key]}


def _tweak(container, key, rng):
    """Another value of the same kind, or the same value as another kind."""
    value = container[key]
    if isinstance(value, (int, float)):
        others = [-value, value + 1, value - 1, 2 * value, str(value), [value], value == 1]
        if abs(value) < 1e300:
            others += [value * 1e3, value * 1e-3, float(value)]
        container[key] = others[rng.integers(len(others))]
    elif isinstance(value, str):
        container[key] = [value + "x", value[1:], value.upper(), value * 3, 0][rng.integers(5)]
    elif isinstance(value, list):
        container[key] = [value[::-1], value[: len(value) // 2], value * 2, dict(enumerate(map(str, value)))][
            rng.integers(4)
        ]
    elif isinstance(value, dict):
        container[key] = [list(value), list(value.items()), dict(reversed(value.items()))][rng.integers(3)]


def mutate_bytes(content, rng):
    """Content with one to four bytes or spans changed, removed, repeated or inserted; or cut short."""
    for _ in range(rng.integers(1, 5)):
        start = int(rng.integers(len(content) + 1))
        stop = min(len(content), start + int(rng.choice([0, 1, 5, 40, 400])))
        span = content[start:stop]
        token = TOKENS[rng.integers(len(TOKENS))]
        flipped = bytes([content[start] ^ (1 << int(rng.integers(8)))]) + span[1:] if span else b""
        middle = [b"", token, span + span, flipped, rng.bytes(3), token + span][rng.integers(6)]
        content = content[:start] + middle + content[stop:]
        if rng.random() < 0.05:
            content = content[:start]
    return content


def to_bytes(document):
    """The document as JSON, with its deep nesting."""
    text = json.dumps(document)
    for kind, depth in [(kind, depth) for kind in NESTING for depth in DEPTHS]:
        opening, closing = NESTING[kind]
        text = text.replace(f'"{DEEP.format(kind, depth)}"', opening * depth + "0" + closing * depth)
    return text.encode()


NESTING = {"list": ("[", "]"), "object": ('{"a":', "}"), "choice": ('{"c":{"type":"choice","options":{"a":', "}}}")}


def to_object(document):
    """The document as Python objects, with its deep nesting."""
    if isinstance(document, dict):
        return {key: to_object(value) for key, value in document.items()}
    if isinstance(document, list):
        return [to_object(value) for value in document]
    for kind, depth in [(kind, depth) for kind in NESTING for depth in DEPTHS]:
        if document == DEEP.format(kind, depth):
            value = {}
            for i in range(depth):
                wrapped = {f"c{i}": {"type": "choice", "options": {"a": value}}}
                value = {"list": [value], "object": {"a": value}, "choice": wrapped}[kind]
            return value
    return document
