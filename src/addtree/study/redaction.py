"""Secrets in storage URLs: the one place that decides what of a URL, and of a message about it, may be shown.

A URL that cannot be parsed may contain a password as well, because it has a typo. So nothing here parses: whatever
could be a secret in some reading of the text is replaced by ***.

    userinfo   everything between the first colon after the scheme and the last @
    port       if it is not a port number, because it may be a password whose host is missing
    query      every value, except those of a few keys that are known to be harmless
    key=value  the value after a word such as password, anywhere
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, unquote_plus

_HIDDEN = "***"
_MAX_PORT = 65535  # A larger number after a colon is not a port, so it may be a secret.
_EXAMPLE_PORT = "PORT"  # stands for a port in messages that show the form of a URL
_MIN_PIECE = 3  # Pieces of a secret that are shorter than this are not searched for in messages.
# The values of these keys in the query of a URL are shown.
_HARMLESS = frozenset(
    ["host", "port", "user", "dbname", "sslmode", "connect_timeout", "application_name", "charset", "timeout", "mode"]
)

_SCHEME = re.compile(r"[A-Za-z][\w+.\-]*[:;]?/+|[A-Za-z][\w+.\-]*:(?=/)|")
_COLON = re.compile(r":|%3[aA]")
_PORT = re.compile(r"(?P<host>(?://)(?:\[[^\]]*\]|[^/?#:\[\]]*)):(?P<port>[^/?#]*)")
_QUERY_VALUE = re.compile(r"(?<=[?&;])(?P<key>[^=&;?]*)=(?P<value>[^&;]*)")
_NAMED_SECRET = re.compile(
    r"""(?i)((?<![a-z])(?:pass(?:word|wd|phrase)?|pwd|secret|token)(?:\s*=|["']\s*:)\s*)(?!\*\*\*)('[^']*'|"[^"]*"|[^\s&;,]+)"""
)
_URL_IN_TEXT = re.compile(
    r"""(?P<url>[^\s"'<>()]*(?::|%3[aA])[^\s]*@[^\s]*?|[^\s"'<>()]+:/[^\s]*?)(?P<end>[:;,.?!"')>]*(?:\s|$))"""
)


def hide_password(url: str) -> str:
    """Replace every secret in a storage URL, so that the URL can be shown.

    >>> hide_password("postgresql://me:secret@host/db"), hide_password("postgresql://host/db?user=me&password=secret")
    ('postgresql://me:***@host/db', 'postgresql://host/db?user=me&password=***')
    """
    return _split(url)[0]


def hide_secrets(text: str, *urls: str) -> str:
    """Replace every secret in a message: those of these URLs in any form, and those of URLs that the message contains.

    >>> hide_secrets("cannot parse 'redis://:secret@host'")
    "cannot parse 'redis://:***@host'"
    >>> hide_secrets("there is no host 'word@host'", "postgresql://me:pass@word@host")
    "there is no host '***@host'"
    """
    for secret in sorted({form for url in urls for form in _forms(_split(url)[1])}, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    text = _URL_IN_TEXT.sub(lambda found: hide_password(found["url"]) + found["end"], text)
    return _NAMED_SECRET.sub(rf"\1{_HIDDEN}", text)


def _split(url: str) -> tuple[str, list[str]]:
    """A URL that can be shown, and the secrets that were taken out of it."""
    secrets: list[str] = []

    def hide(secret: str) -> str:
        if secret and secret != _HIDDEN:
            secrets.append(secret)
        return _HIDDEN if secret else ""

    def hide_port(found: re.Match[str]) -> str:
        port = found["port"]
        is_port = port in ("", _EXAMPLE_PORT) or (port.isdecimal() and int(port) <= _MAX_PORT)
        return f"{found['host']}:{port if is_port else hide(port)}"

    def hide_value(found: re.Match[str]) -> str:
        harmless = unquote(found["key"]).strip().lower() in _HARMLESS
        return f"{found['key']}={found['value'] if harmless else hide(found['value'])}"

    head, at, tail = url.rpartition("@")
    if at:
        scheme = _SCHEME.match(head)
        start = scheme.end() if scheme is not None else 0
        colon = _COLON.search(head, start)
        if colon is not None:
            head = f"{head[: colon.start()]}:{hide(head[colon.end() :])}"
        tail = _PORT.sub(hide_port, f"//{tail}", count=1)[2:]
    else:
        tail = _PORT.sub(hide_port, tail, count=1) if "///" not in tail else tail
    shown = head + at + _QUERY_VALUE.sub(hide_value, tail)
    return _NAMED_SECRET.sub(lambda found: found[1] + hide(found[2].strip("'\"")), shown), secrets


def _forms(secrets: list[str]) -> set[str]:
    """Every form in which a driver may repeat a secret: decoded, encoded, escaped, or split at separators."""
    decoded = {form for secret in secrets for form in (secret, unquote(secret), unquote_plus(secret))}
    pieces = {piece for secret in decoded for piece in re.split(r"[@:/?#&=]", secret) if len(piece) >= _MIN_PIECE}
    whole = {form for s in decoded for form in (s, quote(s, safe=""), quote(s), repr(s)[1:-1])}
    return whole | pieces
