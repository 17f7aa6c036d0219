"""A gRPC proxy of one's own, for benchmarks and tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.support.postgres import free_port


class Proxy:
    """A gRPC proxy that can be stopped and started again at the same address."""

    def __init__(self, database: str) -> None:
        port = free_port()
        self.url = f"grpc://localhost:{port}"
        self._command = [sys.executable, "-m", "addtree", "proxy", "--storage", database, "--port", str(port)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the proxy."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        """Stop the proxy at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def running_proxy(database: str) -> Iterator[Proxy]:
    """A proxy that runs inside the block, in front of the database at this URL."""
    proxy = Proxy(database)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
