"""Where a ledger lives: files, servers, versions, forks and threads, and one clear line for what goes wrong."""

from __future__ import annotations

import copy
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import pytest
from ledger.guarantees import guarantee
from support.cases import every

from dpmine.errors import BadLedger, BudgetExceeded
from dpmine.ledger import database
from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ledger.postgres import Cluster

SECRET = "kanarienvogel-9"
FOREIGN = ("sqlalchemy", "sqlite3", "psycopg", "sqlalche.me", "traceback", "pragma", "operationalerror", "fatal")


def refusal(call: Callable[[], object]) -> str:
    """The one line that a call fails with; it holds no password and no words of the libraries below."""
    with pytest.raises(BadLedger) as caught:
        call()
    message = str(caught.value)
    assert message.isprintable()
    assert SECRET not in message
    assert [word for word in FOREIGN if word in message.lower()] == []
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def outcome(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except BadLedger as error:
        return str(error)


def calls(url: str) -> list[Callable[[], object]]:
    """Every way to look at, or to charge, a ledger."""
    ledger = Ledger(url)
    looks: list[Callable[[], object]] = [ledger.budgets, ledger.verify, ledger.export, lambda: ledger.budget("shop")]
    return [*looks, lambda: ledger.history("shop"), lambda: ledger.charge("shop", guarantee("0.1"), job="")]


@every(
    "url",
    [
        "",
        "budget.db",
        "mysql://root@localhost/x",
        f"mysql://root:{SECRET}@localhost/x",
        f"postgresql://root:{SECRET}@localhost:port/x",
        f"postgresql://root:{SECRET}@[::1/x",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://budget.db",
        "sqlite:///file:b?mode=memory&cache=shared&uri=true",
        "sqlite:///b.db?timeout=0",
        "sqlite:///b\x00.db",
        "sqlite:///b\n.db",
        "sqlite:///\ud800.db",
        None,
        7,
    ],
)
def test_urls_of_another_kind_are_refused(url: str) -> None:
    message = refusal(lambda: Ledger(url))
    assert "sqlite:///budget.db" in message


@every("url", [f"postgresql://u:x@{SECRET}@h/d", f"postgresql://u:x@h/{SECRET}@h/d", f"postgresql://u:x@y@{SECRET}"])
def test_a_password_with_an_unescaped_sign_is_not_taken_for_a_host(url: str) -> None:
    assert "as %40" in refusal(lambda: Ledger(url))


def test_passwords_are_hidden() -> None:
    assert SECRET not in repr(Ledger(f"postgresql://me:{SECRET}@localhost/db?sslkey={SECRET}"))
    assert SECRET not in repr(Ledger(f"postgresql://me@firm:{SECRET}%40x@localhost/db"))


def test_looking_makes_no_file(file: Path) -> None:
    for call in calls(f"sqlite:///{file}"):
        assert "dpmine ledger grant" in refusal(call)
    assert list(file.parent.iterdir()) == []


def test_an_empty_file_is_no_ledger_until_it_is_granted(file: Path) -> None:
    file.touch()
    for call in calls(f"sqlite:///{file}"):
        assert "no ledger" in refusal(call)
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=1)
    assert Ledger(f"sqlite:///{file}").verify() == 1


def test_a_database_of_something_else_is_no_ledger(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE birds (name)")
        connection.commit()
    for call in calls(f"sqlite:///{file}"):
        assert "no ledger" in refusal(call)


@pytest.mark.parametrize("version", ["NULL", "0", "-1", "'1'", "1.5", "x'01'", "2"])
def test_a_version_that_no_ledger_wrote_or_a_later_one(file: Path, version: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE dpmine_version (version)")
        connection.execute(f"INSERT INTO dpmine_version VALUES ({version})")
        connection.commit()
    expected = "later version" if version == "2" else "version of this ledger was changed by hand"
    for call in calls(f"sqlite:///{file}"):
        assert expected in refusal(call)


@pytest.mark.parametrize("content", [b"kanarienvogel" * 1000, b"SQLite format 3\x00" + b"\xff" * 8192])
def test_a_file_that_is_no_database(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    for call in [*calls(f"sqlite:///{file}"), lambda: Ledger(f"sqlite:///{file}").grant("shop", epsilon=1)]:
        message = refusal(call)
        assert "no SQLite database" in message or "damaged" in message
    assert file.read_bytes() == content


def _filled(file: Path, charges: int = 60) -> str:
    url = f"sqlite:///{file}"
    ledger = Ledger(url)
    ledger.grant("shop", epsilon=100)
    for _ in range(charges):
        ledger.charge("shop", guarantee("1/100"), job="x" * 100)
    del ledger
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return url


def test_a_truncated_file(file: Path) -> None:
    url = _filled(file)
    whole = file.read_bytes()
    for size in (len(whole) // 2, len(whole) - 4096, 5000, 4096, 100, 10):
        file.write_bytes(whole[:size])
        refusal(Ledger(url).verify)
    file.write_bytes(whole)
    assert Ledger(url).verify() == 61


def test_overwritten_pages(file: Path) -> None:
    url = _filled(file)
    whole = file.read_bytes()
    for page in range(1, len(whole) // 4096):
        file.write_bytes(whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :])
        if outcome(Ledger(url).verify) != "61":  # a page that only finds settlements may pass
            assert "damaged" in refusal(Ledger(url).verify)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.db"
    folder.mkdir()
    for call in [*calls(f"sqlite:///{folder}"), lambda: Ledger(f"sqlite:///{folder}").grant("shop", epsilon=1)]:
        assert "cannot be opened" in refusal(call)


def test_a_folder_that_is_missing_or_a_name_that_is_too_long(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "b.db", tmp_path / ("x" * 300)):
        ledger = Ledger(f"sqlite:///{path}")
        assert "cannot be opened" in refusal(partial(ledger.grant, "shop", epsilon=1))
        assert "no ledger" in refusal(ledger.budgets)


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "was deleted" in refusal(lambda: Ledger("sqlite:///b.db"))
    Ledger(f"sqlite:///{tmp_path}/b.db").grant("shop", epsilon=1)
    monkeypatch.chdir(tmp_path)


def test_a_file_that_another_process_holds(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_WAIT", 0.05)
    url = _filled(file, 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert "another process held it" in refusal(lambda: Ledger(url).charge("shop", guarantee("0.1"), job=""))
        assert Ledger(url).verify() == 2  # readers do not wait
        holder.execute("ROLLBACK")
    Ledger(url).charge("shop", guarantee("0.1"), job="")


def test_a_ledger_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///b.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.grant("shop", epsilon=1)
    assert (tmp_path / "b.db").exists()
    assert repr(ledger) == "Ledger('sqlite:///b.db')"


def test_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "dpmine[postgres]" in refusal(Ledger(f"postgresql://me:{SECRET}@127.0.0.1:1/db").budgets)


def test_a_server_that_is_down() -> None:
    for call in calls(f"postgresql://me:{SECRET}@127.0.0.1:1/db"):
        assert "server cannot be reached" in refusal(call)


def test_a_server_that_refuses(cluster: Cluster) -> None:
    wrong = Ledger(cluster.url("postgres", password=f"{SECRET}x"))
    assert "rejects the user" in refusal(wrong.budgets)
    assert "rejects the user" in refusal(Ledger(cluster.url("postgres", user="readonly")).budgets)
    assert "no such database" in refusal(Ledger(cluster.url("missing")).budgets)


def test_a_server_without_a_ledger(cluster: Cluster) -> None:
    for call in calls(cluster.create("nothing")):
        assert "no ledger" in refusal(call)


FORK = """
import os, sys
from fractions import Fraction
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors
ledger = Ledger(sys.argv[1])
ledger.grant("shop", epsilon=10)
third = Guarantee(Fraction(1, 3), Fraction(0), Neighbors.REPLACE_ONE)
charge = lambda: ledger.charge("shop", third, job=str(os.getpid()))
charge()
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        for _ in range(3):
            charge()
        ledger._database._engine = None  # what the parent opened is let go of, and must not be closed
        os._exit(0)
    children.append(child)
for _ in range(3):
    charge()
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
charge()
print(ledger.verify(), ledger.budget("shop").spent.epsilon)
"""


def test_parents_and_children_both_charge(url: str) -> None:
    command = [sys.executable, "-W", "error", "-c", FORK, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("15 14/3\n", "")


DAEMON = """
import os, sys, time
from fractions import Fraction
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors

ledger = Ledger(sys.argv[1])
ledger.grant("shop", epsilon=1)
ledger.budget("shop")
parent = os.getpid()
if os.fork():
    os._exit(0) if sys.argv[2] == "hard" else sys.exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
time.sleep(0.1)
guarantee = Guarantee(Fraction(9, 10), Fraction(0), Neighbors.REPLACE_ONE, "row")
(Ledger(sys.argv[1]) if sys.argv[3] == "new" else ledger).charge("shop", guarantee, job="child")
print("charged", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are for POSIX")
@pytest.mark.parametrize("leaves", ["hard", "softly"])
@pytest.mark.parametrize("which", ["new", "inherited"])
def test_what_a_child_charges_outlives_its_parent(tmp_path: Path, leaves: str, which: str) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    command = [sys.executable, "-c", DAEMON, url, leaves, which]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "charged\n", done.stderr
    assert Ledger(url).budget("shop").spent.epsilon == Fraction(9, 10)
    assert Ledger(url).verify() == 2


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=5)

    def charge(number: int) -> bool:
        try:
            ledger.charge("shop", guarantee("1/7"), job=f"job {number}")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(20) as threads:
        allowed = sum(threads.map(charge, range(60)))
    assert allowed == 35
    assert ledger.budget("shop").spent.epsilon == Fraction(5)
    assert ledger.verify() == 36


def test_readers_see_one_state(ledger: Ledger) -> None:
    """A history that grows while it is checked is still sound."""
    ledger.grant("shop", epsilon=100)

    def charge(_: int) -> None:
        ledger.charge("shop", guarantee("1/7"), job="")

    with ThreadPoolExecutor(4) as threads:
        charges = [threads.submit(charge, number) for number in range(40)]
        counts = [ledger.verify() for _ in range(30)]
        assert [future.result() for future in charges] == [None] * 40
    assert counts == sorted(counts)
    assert ledger.verify() == 41


@every("linked", [False, True])
def test_a_new_file_is_its_owners_alone(tmp_path: Path, linked: bool) -> None:
    """A file that is made through a link, too."""
    path = tmp_path / "elsewhere" / "b.db"
    path.parent.mkdir()
    if linked:
        (tmp_path / "link.db").symlink_to(path)
    Ledger(f"sqlite:///{tmp_path / 'link.db' if linked else path}").grant("shop", epsilon=1)
    assert path.stat().st_mode & 0o777 == 0o600


def test_copies_open_connections_of_their_own(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.grant("shop", epsilon=1)
    assert copy.deepcopy(ledger).budget("shop") == ledger.budget("shop")


def test_the_file_is_whole_while_its_process_lives(tmp_path: Path) -> None:
    """It may be copied between charges, and a copy may be put back over it."""
    file, saved = tmp_path / "b.db", tmp_path / "saved.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=1000)
    for _ in range(10):
        ledger.charge("shop", guarantee("1"), job="")
    shutil.copy(file, saved)
    assert Ledger(f"sqlite:///{saved}").verify() == 11
    assert Ledger(f"sqlite:///{saved}").export() == ledger.export()
    for _ in range(100):
        ledger.charge("shop", guarantee("1"), job="")
    shutil.copyfile(saved, file)
    assert ledger.charge("shop", guarantee("1"), job="").number == 12
    assert ledger.verify() == Ledger(f"sqlite:///{file}").verify() == 12


def test_a_copy_logs_in_as_the_first_one_did() -> None:
    first = database.Database(f"postgresql://clerk:{SECRET}@localhost/shop")
    kind, (url,) = first.__reduce__()
    assert kind is database.Database
    assert f"clerk:{SECRET}@localhost" in url
    assert str(copy.copy(first)) == str(first)
    assert SECRET not in str(first)
