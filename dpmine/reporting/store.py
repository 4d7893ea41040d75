"""The results folder: what finished jobs released, found again by what was asked."""

from __future__ import annotations

import errno
import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from dpmine.errors import BadData, BadLedger, BadParameter, UnreadableFile
from dpmine.io.arrow import parquet_bytes
from dpmine.io.atomic import read_file, require_writable, unwritable, write_atomically
from dpmine.ledger.budget import name_and_part
from dpmine.markup import json_text, without_passwords
from dpmine.models.model_file import read_guarantee
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.job import key_of
from dpmine.reporting.jobs.schedule import retrying
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from dpmine.ledger.results import SharedResults
    from dpmine.privacy import Guarantee
    from dpmine.reporting.jobs.job import Job, Released

_FORMAT = "dpmine job result"
_MARK = "dpmine job begun"
_LOCK = ".dpmine.lock"
_ROOM = ".dpmine.room"
_RESERVED = 2**21  # bytes, more than the results of nearly all jobs take
_FULL = {errno.ENOSPC, errno.EDQUOT}
_MODEL = "-model.json"
_JSON = ".json"
BEGUN = ".begun"
"""Marks a job that was begun, and may have been charged, without coming to a result."""
CHARGED = ".charged"
"""Marks a job that was charged, without coming to a result: a ledger that has no such charge is an older copy."""
UNSTORED = ".unstored"
"""Marks a job that came to a result that could not be stored."""
UNREADABLE = ".unreadable"
"""Marks a recurring job that was charged, and then could not read its input."""
_AFTER_CHARGE = frozenset({CHARGED, UNSTORED, UNREADABLE})
_MARKS = _AFTER_CHARGE | {BEGUN}
_BEGUN_BEFORE = (
    "it was begun before and came to no result, and the ledger may have a charge for it (dpmine ledger history): "
    "change the job, or give {again} to run it again, which is charged again."
)
_CHARGED_BEFORE = (
    "the ledger has a charge for it, and no result: it stopped after the charge. To run it again, which is charged "
    "again, give {again}."
)
_CHARGED_SOMEWHERE = (
    "the ledger has a charge for it, and the results folder no result: it stopped after the charge, or another machine "
    "has the result. Copy that result into the folder (`results=…`), or give {again} to run it again, which is "
    "charged again."
)
_UNREAD_BEFORE = (
    "it was charged, and an input could not be read. Repair the input, then give {again} to run it again, which "
    "is charged again."
)
_NOT_STORED = (
    "it was charged and came to a result that could not be stored, so only the page of that run has it. Keep that page "
    "and leave the job out, or give {again} to run it again, which is charged again."
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A result in the folder.

    Attributes:
        document: as the command prints it in JSON.
        guarantee: of the result.
        files: the names of its files, the JSON first.
        day: on which it was made, in UTC, ISO 8601.
    """

    document: dict[str, Any]
    guarantee: Guarantee
    files: tuple[str, ...]
    day: str


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """A folder of results, each under the digest of what was asked and of which budget.

    Attributes:
        folder: it.
        shared: the results of recurring jobs in their ledger, of which the folder is a copy; None for the folder alone.
    """

    folder: Path
    shared: SharedResults | None = None

    def lock(self) -> FileLock:
        """Held by the batch that works in the folder: two would charge for the same jobs. Makes the folder.

        Raises UnreadableFile where the folder cannot be made or another batch holds it.
        """
        lock = FileLock(self.folder / _LOCK, timeout=0)
        try:
            self.folder.mkdir(exist_ok=True)
            lock.acquire()
            require_writable(self.folder / _LOCK, probe=b"")
        except Timeout:
            raise UnreadableFile(f"Another run works in '{self.folder}': wait for it, or give `results=…`.") from None
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        return lock

    def require_usable(self, page: Path) -> None:
        """Raises UnreadableFile where the folder could not be made or written, or a page would lie among results."""
        place = self.folder if self.folder.exists() else self.folder.parent
        try:
            require_writable(place / _LOCK, probe=b"")
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        if page.parent == self.folder.resolve():
            raise UnreadableFile(f"'{page.name}' would lie among the results: write the page elsewhere (-o).")

    def find(self, job: Job) -> Stored | None:
        """What was released for the same content; None where nothing was. The ledger has it where the folder has not.

        Raises BadData for a file that this did not write.
        """
        path = self._path(job)
        try:
            if path is not None:
                return self._read(path, job)
        except BadData:
            if (shared := self._shared(job)) is None:
                raise
            return shared
        return self._shared(job)

    def _shared(self, job: Job) -> Stored | None:
        files = self.shared.get(str(job.charged["dataset"]), job.key) if self.shared else {}
        if _JSON not in files:
            return None
        try:
            names = tuple(f"{job.stem}{file}" for file in (_JSON, *sorted({*files} - {_JSON})))
            return _checked(Document.parse(files[_JSON]), job.content, names)
        except Altered:
            raise BadData(f"The ledger has another result for job {job.name!r}: restore a copy of it.") from None

    def keys(self, dataset: str) -> set[str]:
        """What schedules of the data set were charged, as the folder knows, in whatever window: as `Job.key`.

        By results, and by marks that are made after a charge.
        """
        found = set()
        for path in self.folder.glob("*.*"):
            if path.suffix not in {_JSON, *_AFTER_CHARGE}:
                continue
            with suppress(OSError, Altered, BadParameter):
                entry = Document.parse(read_file(path))
                job = entry.part("job")
                own = job.has("window") and name_and_part(job["dataset"])[0] == name_and_part(dataset)[0]
                if own and (entry["format"] == _MARK or _checked(entry, job.entries, ())):
                    found.add(key_of(job.entries))
        return found

    def write(self, job: Job, released: Released, day: date) -> Stored:
        """Store a result, in the ledger first if that keeps results, then in the folder.

        Raises BadLedger, and UnreadableFile. Without a ledger the job is then marked as `UNSTORED`: at most a page has
        the result.
        """
        entry = {
            "format": _FORMAT,
            "job": job.content,
            "guarantee": released.guarantee.to_dict(),
            "result": released.document,
            "day": day.isoformat(),
            "dpmine": __version__,
        }
        text = json_text({**entry, "seal": _seal(entry)}, indent=2)
        try:
            files = {f"{suffix}.parquet": parquet_bytes(table) for suffix, table in released.tables.items()}
        except OSError as error:
            self.remember(job, UNSTORED)
            raise _unwritable(self.folder, error) from None
        files |= {_MODEL: f"{released.model}\n".encode()} if released.model else {}
        files[_JSON] = f"{text}\n".encode()
        try:
            if self.shared is not None:
                self.shared.put(str(job.charged["dataset"]), job.key, files)
        finally:  # one of the two suffices
            self._write_files(job, job.stem, files)
        return Stored(released.document, released.guarantee, tuple(self._files(job.stem)), day.isoformat())

    def _write_files(self, job: Job, stem: str, files: Mapping[str, bytes]) -> None:
        """The JSON file last, so that a result that is found is complete. Raises UnreadableFile."""
        try:
            self.free_room()
            for file, content in sorted(files.items(), key=lambda each: each[0] == _JSON):
                write_atomically(self.folder / f"{stem}{file}", content)
            self.forget(job)
        except OSError as error:
            self.remember(job, UNSTORED)
            raise _unwritable(self.folder, error) from None

    def require_no_fork(self, jobs: Sequence[Job], dataset: str) -> None:
        """BadLedger where the folder and the ledger have sound results of a job that differ: both are released."""
        if self.shared is None:
            return
        listed = self.shared.listed(dataset)
        for job in jobs:
            own, here = str(job.charged["dataset"]), self._path(job)
            if here is None or (name_and_part(own)[1], job.key) not in listed or not self._is_sound(here, job):
                continue
            if read_file(here) != self.shared.get(own, job.key).get(_JSON):
                raise BadLedger(
                    f"'{self.folder}' has another result of job {job.name!r} than the ledger, so both are released: "
                    "the ledger is a copy that was charged apart. Restore the ledger that this folder belongs to, or "
                    "give another `results=…` folder."
                )

    def exchange(self, jobs: Sequence[Job], dataset: str) -> None:
        """Copy what the ledger has into the folder, and what only the folder has into the ledger.

        A damaged copy is replaced. Results that were not charged stay where they are.
        Raises as `require_no_fork`, and UnreadableFile.
        """
        if self.shared is None:
            return
        self.require_no_fork(jobs, dataset)
        listed = self.shared.listed(dataset)
        for job in jobs:
            own, here = str(job.charged["dataset"]), self._path(job)
            if (name_and_part(own)[1], job.key) in listed:
                files = self.shared.get(own, job.key)
                if here is None or read_file(here) != files.get(_JSON):
                    self._write_files(job, here.stem if here else job.stem, files)
            elif here is not None and self._is_sound(here, job):
                paths = [self.folder / name for name in self._files(here.stem)]
                self.shared.put(own, job.key, {path.name.removeprefix(here.stem): read_file(path) for path in paths})

    def _is_sound(self, path: Path, job: Job) -> bool:
        with suppress(BadData):
            return bool(self._read(path, job))
        return False

    def marks(self, job: Job) -> set[str]:
        """What is remembered of a job of this content: `BEGUN`, `CHARGED`, `UNSTORED`, `UNREADABLE`."""
        return {path.suffix for path in self._marked(job)}

    def begin(self, job: Job, seal: str) -> None:
        """Remember that a job runs, in case it fails or the process dies, and reserve room for its result.

        To be called before the job is charged: a full disk then charges nothing. `seal` is that of the data set's last
        entry in the ledger; the mark of an earlier attempt stays as it is. Raises UnreadableFile.
        """
        mark = {"format": _MARK, "job": job.content, "seal": seal}
        text = json_text(mark, indent=2)
        try:
            write_atomically(self.folder / _ROOM, bytes(_RESERVED), private=True)
            if not self.marks(job):
                write_atomically(self.folder / f"{job.stem}{BEGUN}", f"{text}\n".encode(), private=True)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def seal_before(self, job: Job) -> str | None:
        """The last seal before a job was begun: where the ledger still has it, the job was not charged."""
        for path in self._marked(job):
            with suppress(OSError, Altered):
                return Document.parse(read_file(path)).text("seal")
        return None

    def has_jobs_of(self, ledger: str, dataset: str) -> bool:
        """Whether a job, whatever it came to, was begun or charged on the data set in this ledger: it was granted."""
        url = without_passwords(ledger)
        kinds = {".json": _FORMAT, **dict.fromkeys(_MARKS, _MARK)}
        for path in self.folder.glob("*.*"):
            if path.suffix not in kinds:  # a table, which may be large
                continue
            with suppress(OSError, Altered, BadParameter):
                entry = Document.parse(read_file(path))
                job = entry.part("job")
                same = not job.has("ledger") or job["ledger"] == url  # recurring jobs name no ledger
                same = same and entry["format"] == kinds[path.suffix]
                if same and name_and_part(job["dataset"])[0] == name_and_part(dataset)[0]:
                    return True
        return False

    def free_room(self) -> None:
        """Give back what `begin` reserved."""
        with suppress(OSError):
            (self.folder / _ROOM).unlink(missing_ok=True)

    def forget(self, job: Job) -> None:
        """A job has its result, or was not charged."""
        for path in self._marked(job):
            path.unlink(missing_ok=True)

    def remember(self, job: Job, mark: str) -> None:
        """What became of a job that was begun: by renaming its mark, which needs no room on the disk."""
        with suppress(OSError):
            for path in self._marked(job):
                path.replace(path.with_suffix(mark))

    def remember_charge(self, job: Job) -> None:
        """A job that was begun has been charged; of an earlier attempt it matters only that its result was shown."""
        if UNSTORED not in self.marks(job):
            self.remember(job, CHARGED)

    def _marked(self, job: Job) -> list[Path]:
        return [path for path in self.folder.glob(f"*-{job.digest}.*") if path.suffix in _MARKS]

    def why_lost(self, job: Job) -> str:
        """Why a job that was begun has no result here, and what to do; the ledger may have those of other machines."""
        marks = self.marks(job)
        if UNSTORED in marks:
            said = _NOT_STORED
        elif not job.key:
            said = _BEGUN_BEFORE
        elif UNREADABLE in marks:
            said = _UNREAD_BEFORE
        else:
            said = _CHARGED_BEFORE if self.shared else _CHARGED_SOMEWHERE
        return said.format(again=retrying([job]))

    def _path(self, job: Job) -> Path | None:
        return next(iter(sorted(self.folder.glob(f"*-{job.digest}{_JSON}"))), None)

    def _read(self, path: Path, job: Job) -> Stored:
        try:
            return _checked(Document.parse(read_file(path)), job.content, tuple(self._files(path.stem)))
        except (OSError, Altered):
            raise BadData(
                f"'{path}' is not a result of job {job.name!r} as it was written: restore it, or delete it to run the "
                "job again, which is charged again."
            ) from None

    def _files(self, stem: str) -> Iterator[str]:
        yield f"{stem}.json"
        yield from sorted(path.name for path in self.folder.glob(f"{stem}*.parquet"))
        if (self.folder / f"{stem}{_MODEL}").exists():
            yield f"{stem}{_MODEL}"


def _checked(entry: Document, content: Mapping[str, object], files: tuple[str, ...]) -> Stored:
    """What a stored file for that content holds; else Altered."""
    unsealed = {name: value for name, value in entry.entries.items() if name != "seal"}
    if entry["format"] != _FORMAT or entry["job"] != content or entry["seal"] != _seal(unsealed):
        raise Altered
    try:
        guarantee = read_guarantee(dict(entry.part("guarantee").entries))
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise Altered from None
    if not guarantee.private:
        raise Altered
    return Stored(dict(entry.part("result").entries), guarantee, files, entry.text("day"))


def _seal(entry: Mapping[str, object]) -> str:
    """Finds accidents; who changes a file on purpose can seal it, too."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _unwritable(folder: Path, error: OSError) -> UnreadableFile:
    if error.errno in _FULL:
        return UnreadableFile(f"The disk of '{folder}' is full: free some space, then run the same command again.")
    return unwritable(folder, error, advice="name a folder that can be written with `results=…`")
