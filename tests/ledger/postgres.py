"""A private PostgreSQL cluster for tests, where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoServer(Exception):
    """Why there can be none."""


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3])
    on_path = shutil.which("initdb")
    if not found and not on_path:
        raise NoServer("PostgreSQL's initdb is not installed")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Cluster:
    """A server on a loopback port, with fsync on, and a user `ledger` with a password."""

    PASSWORD = "kanarienvogel-9"

    def __init__(self) -> None:
        self.programs = _programs()
        self.folder = Path(tempfile.mkdtemp(prefix="dpmine-pg-"))
        if os.geteuid() == 0:
            try:
                owner = pwd.getpwnam("postgres")
            except KeyError:
                raise NoServer("initdb refuses root, and there is no user postgres") from None
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        secret = self.folder / "password"
        secret.write_text(self.PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        self.run(
            "initdb", "-D", self.data, "-U", "ledger", "-A", "scram-sha-256", "--pwfile", str(secret), "-E", "UTF8"
        )
        self._start_somewhere()

    def _start_somewhere(self, attempts: int = 3) -> None:
        """Another process may take a free port before the server does."""
        self.port = _free_port()
        try:
            self.start()
        except NoServer:
            if attempts == 1:
                raise
            self._start_somewhere(attempts - 1)

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def run(self, program: str, *arguments: str) -> None:
        command = shlex.join([str(self.programs / program), *arguments])
        whole = ["su", "postgres", "-s", "/bin/sh", "-c", command] if os.geteuid() == 0 else ["/bin/sh", "-c", command]
        log = self.folder / "programs.log"
        with log.open("ab") as output:  # a file: the server would hold a pipe open
            done = subprocess.run(whole, stdout=output, stderr=output, cwd="/", timeout=180, check=False)
        if done.returncode:
            raise NoServer(f"{program} failed: {log.read_text(encoding='utf-8', errors='replace')[-300:]}")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=on"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", str(self.folder / "server.log"), "-o", options, "start")

    def stop(self, mode: str) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def create(self, database: str) -> str:
        """The URL of a new, empty database."""
        import psycopg

        with psycopg.connect(self.libpq("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"'.encode())
        return self.url(database)

    def schema(self, name: str) -> str:
        """The URL of a new, empty schema: faster than a database."""
        import psycopg

        with psycopg.connect(self.libpq("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE SCHEMA "{name}"'.encode())
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def libpq(self, database: str) -> str:
        return f"host=127.0.0.1 port={self.port} user=ledger password={self.PASSWORD} dbname={database}"

    def url(self, database: str, user: str = "ledger", password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


def running() -> Iterator[Cluster]:
    """A server for the life of a fixture; skips, with the reason, where there can be none."""
    try:
        server = Cluster()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL server: {reason}")
    yield server
    server.close()
