"""One ledger file with two names, at once or one after the other in a charge: both could charge one budget."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ledger.guarantees import guarantee

from dpmine.errors import BadLedger
from dpmine.ledger import database, records
from dpmine.ledger.ledger import Ledger


def test_a_hard_link_is_rejected_under_both_names(file: Path, tmp_path: Path) -> None:
    """Whatever is asked: under the other name, a log that a crash left would not be read."""
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=1)
    other = tmp_path / "other.db"
    os.link(file, other)
    (tmp_path / "to_other.db").symlink_to(other)
    for name in (file, other, tmp_path / "to_other.db"):
        ledger = Ledger(f"sqlite:///{name}")
        for call in (
            ledger.verify,
            lambda ledger=ledger: ledger.charge("shop", guarantee("1"), job=""),
            lambda ledger=ledger: ledger.grant("shop", epsilon=2),
        ):
            with pytest.raises(BadLedger, match=r"a second name \(a hard link\): remove one of them.*Nothing was run"):
                call()
    other.unlink()
    Ledger(f"sqlite:///{file}").charge("shop", guarantee("1"), job="")


def test_a_link_that_is_made_before_the_lock_is_held(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, prepare = Ledger(f"sqlite:///{file}"), database._prepare_sqlite
    ledger.grant("shop", epsilon=1)

    def linking(connection: sqlite3.Connection, record: object) -> None:
        os.link(file, tmp_path / "other.db")
        prepare(connection, record)

    with monkeypatch.context() as patched:
        patched.setattr(database, "_prepare_sqlite", linking)
        database._file_engine.cache_clear()
        with pytest.raises(BadLedger, match="second name"):
            ledger.charge("shop", guarantee("1"), job="")
    database._file_engine.cache_clear()
    (tmp_path / "other.db").unlink()
    assert ledger.verify() == 1
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM dpmine_history").fetchone() == (1,)


@pytest.mark.parametrize(
    ("name", "change"),
    [*product(["budget.db", "link.db"], ["renamed", "removed", "replaced"]), ("link.db", "linked elsewhere")],
)
def test_a_charge_is_undone_where_the_file_leaves_its_path(
    name: str, change: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would commit to the file that it opened, and another process find a ledger without the charge, or none."""
    moved, other, link, append = *(tmp_path / each for each in ("moved.db", "new.db", "link.db")), records.append
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=1)
    shutil.copy(file, other)
    link.symlink_to(file)

    def changing(*given: Any, **options: Any) -> Any:
        place = link if change == "linked elsewhere" else file
        place.unlink() if change in {"removed", "linked elsewhere"} else place.rename(moved)
        if change == "replaced":
            other.rename(file)
        elif change == "linked elsewhere":
            link.symlink_to(other)
        return append(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(records, "append", changing)
        with pytest.raises(BadLedger, match=r"renamed, removed or replaced at the same time\. Nothing was run"):
            Ledger(f"sqlite:///{tmp_path / name}").charge("shop", guarantee("1"), job="")
    for left in filter(type(file).exists, (file, moved)):
        ledger = Ledger(f"sqlite:///{left}")
        assert not ledger.budget("shop").spent.epsilon
        ledger.charge("shop", guarantee("1"), job="")


CHARGE = """
import sys
from dpmine.ledger.ledger import Ledger
from ledger.guarantees import guarantee
Ledger(sys.argv[1]).charge("shop", guarantee("1"), job="")
"""


def charge_in_another_process(file: Path) -> None:
    place = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    subprocess.run([sys.executable, "-c", CHARGE, f"sqlite:///{file}"], env=environment, timeout=60, check=True)


def test_a_charge_is_undone_where_its_log_is_removed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As before a copy is restored. Locks are in a file beside it: another process would make new ones, and charge."""
    ledger, append = Ledger(f"sqlite:///{file}"), records.append
    ledger.grant("shop", epsilon=1)

    def removing(*given: Any, **options: Any) -> Any:
        for beside in ("-wal", "-shm"):
            file.with_name(file.name + beside).unlink()
        monkeypatch.setattr(records, "append", append)
        charge_in_another_process(file)
        return append(*given, **options)

    monkeypatch.setattr(records, "append", removing)
    with pytest.raises(BadLedger, match="renamed, removed or replaced"):
        ledger.charge("shop", guarantee("1"), job="")
    assert ledger.verify() == 2
    assert not ledger.budget("shop").remaining.epsilon


def test_a_charge_before_a_rename_is_in_the_file(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the log alone, which stays behind: another process had the file open when it was committed."""
    ledger, append = Ledger(f"sqlite:///{file}"), records.append
    ledger.grant("shop", epsilon=2)

    def renaming(*given: Any, **options: Any) -> Any:
        waiting.close()
        file.rename(tmp_path / "moved.db")
        return append(*given, **options)

    with closing(sqlite3.connect(file)) as waiting:
        assert waiting.execute("SELECT count(*) FROM dpmine_history").fetchone() == (1,)
        charge_in_another_process(file)
        monkeypatch.setattr(records, "append", renaming)
        with pytest.raises(BadLedger, match="renamed, removed or replaced"):
            ledger.charge("shop", guarantee("1"), job="")
    assert Ledger(f"sqlite:///{tmp_path / 'moved.db'}").budget("shop").spent.epsilon == 1


def test_a_file_may_be_renamed_between_charges(file: Path, tmp_path: Path) -> None:
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=2)
    Ledger(f"sqlite:///{file}").charge("shop", guarantee("1"), job="")
    moved = Ledger(f"sqlite:///{file.rename(tmp_path / 'moved.db')}")
    moved.charge("shop", guarantee("1"), job="")
    assert not moved.budget("shop").remaining.epsilon


MOUNTED = """
import sys
from pathlib import Path
from dpmine.errors import BadLedger
from dpmine.ledger.ledger import Ledger
for path in sys.argv[1:]:
    try:
        print(Ledger(f"sqlite:///{path}").verify())
    except BadLedger as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bind mounts are Linux's")
def test_a_file_that_is_mounted_is_rejected_and_a_folder_is_not(file: Path, tmp_path: Path) -> None:
    """As by `docker run -v /srv/budget.db:/app/budget.db`, and with a name that the list of mounts escapes."""
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=1)
    mounted, folder, work = tmp_path / "m" / r"a b\c.db", tmp_path / "app", tmp_path / "srv"
    for made in (mounted.parent, folder, work):
        made.mkdir()
    mounted.touch()
    Ledger(f"sqlite:///{work}/budget.db").grant("shop", epsilon=1)
    mount = 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && exec "$5" -c "$6" "$1" "$2" "$4/budget.db"'
    places = [str(path) for path in (file, mounted, work, folder)]
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount")
    command = ["unshare", "-m", "sh", "-c", mount, "sh", *places, sys.executable, MOUNTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    own, other, in_folder = done.stdout.splitlines()
    assert (own, in_folder) == ("1", "1"), done.stderr
    assert other.endswith("is mounted: mount the folder, not the file. Nothing was run.")
