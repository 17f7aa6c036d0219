"""Secrets in storage URLs: none is shown, whatever form the URL or the message has."""

from __future__ import annotations

import traceback

import pytest

from addtree.errors import StorageError
from addtree.study.redaction import hide_password, hide_secrets
from addtree.study.storage import open_storage

SHOWN = {
    "postgres://me:s3cret@host/db": "postgres://me:***@host/db",
    "postgresql://host/db?user=me&password=s3cret": "postgresql://host/db?user=me&password=***",
    "postgresql://host/db?PASSWD=s3cret;timeout=3": "postgresql://host/db?PASSWD=***;timeout=3",
    "postgresql://host/db?pass%77ord=s3cret": "postgresql://host/db?pass%77ord=***",
    "postgresql://host/db#password=s3cret": "postgresql://host/db#password=***",
    "postgresql+foo://me:s3cret@host": "postgresql+foo://me:***@host",
    "mssql+pyodbc:///?odbc_connect=PWD%3Ds3cret": "mssql+pyodbc:///?odbc_connect=***",
    "redis://:s3cret@host:6379/0": "redis://:***@host:6379/0",
    "postgres:/me:s3cret@host": "postgres:/me:***@host",
    "postgresql;//me:s3cret@host": "postgresql;//me:***@host",
    "postgresql:me:s3cret@host": "postgresql:***@host",
    "me:s3cret@host/db": "me:***@host/db",
    "postgresql://me%3As3cret@host": "postgresql://me:***@host",
    "postgresql://me:p%40s3cret@[::1]:5432/db": "postgresql://me:***@[::1]:5432/db",
    "postgresql://me:p@s3cret@host/db": "postgresql://me:***@host/db",
    "postgresql://me:p/s3cret?x#y@host/db": "postgresql://me:***@host/db",
    "postgresql://me:s3cret": "postgresql://me:***",
    "postgresql://me:s3cret@host:s3cret/db": "postgresql://me:***@host:***/db",
    "host=localhost password=s3cret user=me": "host=localhost password=*** user=me",
    "host=localhost password='s3cret' user=me": "host=localhost password=*** user=me",
}
HARMLESS = [
    "sqlite:///study.db",
    "sqlite:////data/a:b.db",
    "journal:///study.journal",
    "study.journal",
    "C:\\data\\study.db",
    "postgresql://me@host:5432/db?sslmode=require",
    "postgresql://[::1]:5432/db",
    "nosuch://x/y",
]


@pytest.mark.parametrize(("url", "shown"), SHOWN.items())
def test_a_url_is_shown_without_its_secret(url: str, shown: str) -> None:
    assert hide_password(url) == shown
    assert hide_password(shown) == shown


@pytest.mark.parametrize("url", HARMLESS)
def test_a_url_without_a_secret_is_shown_as_it_is(url: str) -> None:
    assert hide_password(url) == url
    assert hide_secrets(f"storage {url!r}: token: 3", url) == f"storage {url!r}: token: 3"


@pytest.mark.parametrize("url", SHOWN)
def test_a_message_is_shown_without_the_secret(url: str) -> None:
    for message in (f"could not parse {url!r}, sorry", f"no host s3cret: {url}", f"at <{url}>."):
        assert "s3cret" not in hide_secrets(message, url)
    if "/" in url or "@" in url:
        shown = hide_secrets(f"there is no study '{url}'; the storage has none")  # as an argument in the wrong place
        assert "s3cret" not in shown
        assert shown.endswith("the storage has none")


def test_a_message_may_repeat_the_secret_in_another_form() -> None:
    url = "postgresql://me:p%40ss%2Fword@host"
    for form in ("p%40ss%2Fword", "p@ss/word", "p%40ss/word"):
        assert hide_secrets(f"user {form!r} unknown", url) == "user '***' unknown"
    assert hide_secrets("host 'word@host'", "postgresql://me:pass@word@host") == "host '***@host'"


@pytest.mark.parametrize("url", SHOWN)
def test_no_error_of_a_storage_shows_the_secret(url: str) -> None:
    local = url.replace("@host", "@127.0.0.1:1").replace("//host", "//127.0.0.1:1").replace(":1:", ":")
    with pytest.raises(StorageError) as caught:
        open_storage(local)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))  # with the errors that caused it
