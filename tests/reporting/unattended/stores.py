"""Places of a ledger that can be lost, copied, restored and cut off: a file of SQLite, a database of PostgreSQL."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.postgres import Cluster


FROM_ANY = "sqlite:///../a/budget.db"


class Store(ABC):
    """One ledger. `copy` and `restore` know copies by their names.

    Attributes:
        address: its URL from everywhere.
    """

    address: str

    def execute(self, statement: str) -> None:
        """By hand, behind dpmine's back."""
        engine = create_engine(self.address.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)

    @abstractmethod
    def url(self, machine: str) -> str: ...

    @abstractmethod
    def copy(self, name: str) -> None: ...

    @abstractmethod
    def restore(self, name: str) -> None: ...

    @abstractmethod
    def lose(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def start(self) -> None: ...


class FileStore(Store):
    """On machine a; b sees its folder, too. `shown`: what the job file of a calls it."""

    def __init__(self, root: Path, shown: str = "sqlite:///budget.db") -> None:
        self.shown = shown
        self.folder = root / "a"
        self.path = self.folder / "budget.db"
        self.address = f"sqlite:///{self.path}"

    def url(self, machine: str) -> str:
        return self.shown if machine == "a" else FROM_ANY

    def copy(self, name: str) -> None:
        (self.folder / "backup").mkdir(exist_ok=True)
        shutil.copy(self.path, self.folder / "backup" / name)

    def restore(self, name: str) -> None:
        shutil.copy(self.folder / "backup" / name, self.path)

    def lose(self) -> None:
        self.path.unlink()

    def stop(self) -> None:
        """Another program's file is in its place."""
        self.path.rename(self.folder / "away")
        self.path.write_bytes(bytes(range(256)) * 16)

    def start(self) -> None:
        (self.folder / "away").replace(self.path)


class ServerStore(Store):
    """A database of its own, with the copies that PostgreSQL's programs make."""

    def __init__(self, cluster: Cluster, database: str) -> None:
        self.cluster, self.database = cluster, database
        self.address = cluster.create(database)

    def url(self, machine: str) -> str:
        return self.address

    def _file(self, name: str) -> str:
        return str(self.cluster.folder / f"{self.database}-{name}")

    def _program(self, name: str, *arguments: str) -> None:
        self.cluster.run(name, "--dbname", self.address, *arguments)

    def copy(self, name: str) -> None:
        self._program("pg_dump", "--format=custom", f"--file={self._file(name)}")

    def restore(self, name: str) -> None:
        self.lose()
        self._program("pg_restore", self._file(name))

    def lose(self) -> None:
        import psycopg

        with psycopg.connect(self.cluster.libpq("postgres"), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{self.database}" WITH (FORCE)'.encode())
        self.cluster.create(self.database)

    def stop(self) -> None:
        self.cluster.stop("fast")

    def start(self) -> None:
        self.cluster.start()
