"""A PostgreSQL server of one's own, for benchmarks and tests, on a free port of this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from addtree.errors import StorageError

_MAX_CONNECTIONS = 400  # Each of 200 workers may hold two connections.


class Server:
    """A server whose data are in a new folder. It can be stopped and started again, as in an outage."""

    def __init__(self, folder: Path) -> None:
        self._programs = _programs()
        self._folder, self._data = folder, folder / "data"
        self._data.mkdir()
        self._as_user = _unprivileged(self._data)
        self._user = "postgres" if self._as_user else getpass.getuser()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        created = self._run("initdb", "-D", self._data, "-A", "trust", "-U", self._user, "--no-sync")
        if created.returncode:
            raise StorageError(f"initdb failed: {created.stderr.decode().strip().splitlines()[-1:]}")

    @property
    def url(self) -> str:
        """The URL of the server's database."""
        return f"postgresql://{self._user}@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = [
            "-p",
            str(self._port),
            "-h",
            "127.0.0.1",
            "-k",
            "",
            "-F",
            "-c",
            f"max_connections={_MAX_CONNECTIONS}",
        ]
        with (self._folder / "log").open("a") as log:
            command = [*self._as_user, str(self._programs / "postgres"), "-D", str(self._data), *options]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        while self._run("pg_isready", "-h", "127.0.0.1", "-p", str(self._port)).returncode:
            if self._process.poll() is not None:
                raise StorageError(f"PostgreSQL does not start: {(self._folder / 'log').read_text()}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop the server at once; open transactions are rolled back."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def _run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        command = [*self._as_user, self._programs / program, *arguments]
        return subprocess.run(command, capture_output=True, check=False, cwd="/")


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """A server that runs inside the block. Raises a StorageError if this machine cannot run one."""
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _programs() -> Path:
    """The folder of the server's programs: on the PATH, or where Debian installs them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    raise StorageError("PostgreSQL is not installed (Debian: apt-get install postgresql)")


def _unprivileged(data: Path) -> list[str]:
    """The beginning of a command that runs as a user who is not root, because PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return []
    if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
        raise StorageError("PostgreSQL does not run as root, and there is no user postgres to run it as")
    for folder in (data, *list(data.parents)[:4]):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    shutil.chown(data, "postgres")
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
