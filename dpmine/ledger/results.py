"""Results of recurring jobs, beside the charges that they were released for: all machines of a ledger find them there.

Each refers to its charge, so there is none without one. `dpmine.reporting` stores and reads them, and `Ledger.verify`
checks them.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select

from dpmine.errors import BadLedger, BadParameter, NoLedger
from dpmine.ledger import records
from dpmine.ledger.budget import checked_name, name_and_part
from dpmine.ledger.database import Database
from dpmine.ledger.tables import HISTORY, RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

_FILE = re.compile(r"(-[a-z]+)?\.(json|parquet)")
_NAMED = bindparam("named", type_=HISTORY.c.dataset.type)
_OF_CHARGE = (RESULTS.c.dataset == HISTORY.c.dataset) & (RESULTS.c.number == HISTORY.c.number)
_LISTED = (
    select(HISTORY.c.part, HISTORY.c.job, RESULTS.c.number, RESULTS.c.file, RESULTS.c.seal)
    .join(RESULTS, _OF_CHARGE)
    .where(HISTORY.c.dataset == _NAMED)
    .order_by(RESULTS.c.number, RESULTS.c.file)
)
_CONTENTS = select(RESULTS).where(RESULTS.c.dataset == _NAMED, RESULTS.c.number == bindparam("at"))


class SharedResults:
    """The results in one ledger.

    Example:
        >>> import tempfile
        >>> import dpmine
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     url = f"sqlite:///{folder}/budget.db"
        ...     _ = dpmine.Ledger(url).grant("shop", epsilon=1)
        ...     week = dpmine.Ledger(url).once("colours 2026-W47")
        ...     _ = dpmine.select({"red": 9}, mechanism="exponential", epsilon=1, ledger=week, dataset="shop")
        ...     SharedResults(url).put("shop", "colours 2026-W47", {".json": b"{}"})
        ...     print(SharedResults(url).get("shop", "colours 2026-W47"))
        {'.json': b'{}'}

    See Also:
        dpmine.Ledger.once: a charge that has a key.
    """

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. Raises BadLedger for a URL that is none of a ledger."""
        self._database = Database(url)

    def put(self, dataset: str, key: str, files: Mapping[str, bytes]) -> None:
        """Store the files of the last charge with that key, all or none; those that are there already stay.

        `files`: contents by how the name of each ends, such as ".json" or "-rules.parquet".
        Raises BadLedger, also where nothing was charged by that key.
        """
        (name, part), mark = name_and_part(dataset), key_mark(key)
        with self._database.writing() as connection:
            records.find(connection, name, lock=True)
            number = records.charge_of(connection, name, part, mark)
            if not number:
                raise BadLedger(f"The ledger has no charge for {mark}: restore the ledger that was charged.")
            there = {row["file"] for row in _rows(connection, name, number)}
            for file, content in files.items():
                if file not in there:
                    place = {"dataset": name, "number": number, "file": file}
                    row = {**place, "content": content, "seal": _seal(place, content)}
                    _require_own(row)
                    connection.execute(insert(RESULTS), row)

    def listed(self, dataset: str) -> dict[tuple[str, str], int]:
        """The last charge that has a result, by part and key; none where there is no ledger. Raises BadLedger."""
        try:
            with self._database.reading() as connection:
                rows = connection.execute(_LISTED, {"named": name_and_part(dataset)[0]}).mappings().all()
        except NoLedger:
            return {}
        marked = ((row["part"], marked_key(row["job"]), row["number"]) for row in rows)
        return {(part, key): number for part, key, number in marked if key}

    def get(self, dataset: str, key: str) -> dict[str, bytes]:
        """The files of the last charge with that key that has any; none where there is none. Raises BadLedger."""
        name, part = name_and_part(dataset)
        number = self.listed(dataset).get((part, key))
        if number is None:
            return {}
        with self._database.reading() as connection:
            return {row["file"]: bytes(row["content"]) for row in _rows(connection, name, number)}

    def turn(self, dataset: str, patience: float) -> AbstractContextManager[None]:
        """As `Database.turn`: runs of one data set's schedules, on all machines, one after another."""
        return self._database.turn(name_and_part(dataset)[0], patience)


def key_mark(key: object) -> str:
    """How the job of a charge ends that is made once by that key: see `Ledger.once`. Raises BadParameter.

    A key has no brackets, so no mark is the end of another, and a history says where a key begins.
    """
    name = checked_name("key", key)
    if set(name) & set("[]"):
        raise BadParameter("key must be a name without [ and ]: the history keeps it in brackets.")
    return f"[{name}]"


def marked_key(job: str) -> str:
    """The key that a job was charged by; "" for none."""
    return job[:-1].rpartition("[")[2] if job.endswith("]") and "[" in job else ""


def require_no_mark(job: object) -> None:
    """BadParameter for a job that ends as one that is charged once by a key: that key would count as charged."""
    if isinstance(job, str) and marked_key(job):
        raise BadParameter(
            "job must not end in brackets, in which the history keeps the key of `Ledger.once`: use that, or other "
            "words."
        )


def require_sealed(connection: Connection) -> None:
    """Raises BadLedger where a result is not as it was stored."""
    for row in connection.execute(select(RESULTS)).mappings():
        _require_own(dict(row))


def _rows(connection: Connection, dataset: str, number: int) -> Iterator[Mapping[str, Any]]:
    for row in map(dict, connection.execute(_CONTENTS, {"named": dataset, "at": number}).mappings().all()):
        _require_own(row)
        yield row


def _require_own(row: Mapping[str, Any]) -> None:
    """Raises BadLedger for what no ledger stored; a name of a file goes into a path."""
    content, place = row["content"], {name: row[name] for name in ("dataset", "number", "file")}
    known = isinstance(content, bytes | memoryview) and _FILE.fullmatch(str(row["file"]))
    if not known or row["seal"] != _seal(place, bytes(content)):
        raise BadLedger(f"A result of {row['dataset']!r} in the ledger was changed by hand: restore a copy.")


def _seal(place: Mapping[str, object], content: bytes) -> str:
    """SHA-256 of a file and of what it is the result of."""
    digest = hashlib.sha256("\n".join(map(repr, place.values())).encode())
    digest.update(b"\n" + content)
    return digest.hexdigest()
