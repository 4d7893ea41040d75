"""dpmine report."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from dpmine.markup import json_text
from dpmine_cli.messages import as_typed, batch_begins, undoing
from dpmine_cli.options import Format
from dpmine_cli.output import guard, replaced

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from dpmine.reporting.batch import Report
    from dpmine.reporting.call import PreparedReport
    from dpmine_cli.line import CommandLine
    from dpmine_cli.messages import Messages


_NAMED = "--output", "--results", "--evidence"


def report(line: CommandLine) -> None:
    """Run the jobs of a TOML file under one budget, and write one page for all of them.

    Example: dpmine report jobs.toml -o report.html
    """
    if line.schema or line.verify_evidence is not None:
        _answer(line)
        return
    if line.jobs is None:
        from dpmine.errors import BadParameter

        raise BadParameter("JOBS.toml is missing: the job file: a budget, inputs and jobs.")
    if line.format is not None and not line.dry_run:
        from dpmine.errors import BadParameter

        raise BadParameter("--format is for --dry-run: a run writes JSON and Parquet into the folder of results.")
    from dpmine.options.tables import as_keys
    from dpmine.reporting.call import PreparedReport

    options = {name: getattr(line, name) for name in ("retry", "window", "evidence", "ledger_must_exist", "dry_run")}
    prepared = PreparedReport.of(line.jobs, line.output, line.results, named=_NAMED, guard=guard, **options)
    for text in prepared.batch.notices:
        line.messages.notice(as_keys(text))
    line.messages.not_again(prepared.batch.notices)
    if line.dry_run:
        from dpmine.reporting.forecast import raise_foreseen

        _print_forecast(line, prepared)
        raise_foreseen(prepared.batch)
        return
    from dpmine.reporting.page.render import render

    with line.messages as messages:
        batch_begins()
        if prepared.checked:
            messages.notice(prepared.checked)
        done = prepared.run(watch=messages.watch, retry=line.retry)
        page = render(done).encode()
        with replaced(prepared.page) as stream:
            stream.write(page)
        _say_outcomes(done, messages)
        messages.notice(f"the page is '{line.output}', the results are in '{prepared.store.folder}'")
        if prepared.evidence is not None:
            from dpmine.reporting.evidence.folder import write_evidence

            found = write_evidence(done, prepared.store, page, prepared.evidence, guard=_folder_guard)
            window = f" of {done.job_file.window}" if done.job_file.window else ""
            messages.notice(f"the evidence{window} is in '{line.evidence}'; keep its fingerprint elsewhere: {found}")
    done.raise_failures()


def _print_forecast(line: CommandLine, prepared: PreparedReport) -> None:
    if line.format == Format.JSON:
        from dpmine.reporting.forecast import forecast_document

        document = {**forecast_document(prepared.batch), "results": str(prepared.store.folder)}
        if windows := document["windows"]:
            document["windows"] = {
                name: as_typed(said) if isinstance(said, str) else said for name, said in windows.items()
            }
        print(json_text(document))
        return
    print(f"Results are kept in '{prepared.store.folder}'.")
    print(as_typed(str(prepared.batch)))


def _answer(line: CommandLine) -> None:
    """What runs no jobs: the schema of job files, or whether evidence holds. BadParameter for options of a run."""
    if line.given.keys() - {"schema", "verify_evidence", "quiet", "debug"} or (
        line.schema and line.verify_evidence is not None
    ):
        from dpmine.errors import BadParameter

        raise BadParameter("--schema and --verify-evidence run nothing: give one of them alone.")
    if line.schema:
        from dpmine.reporting.jobs.schema import job_file_schema_text

        print(job_file_schema_text())
        return
    from dpmine.reporting.evidence.folder import verify_evidence

    print(verify_evidence(line.verify_evidence))


def _folder_guard(temporary: Path) -> AbstractContextManager[None]:
    """An interrupt leaves no temporary folder."""
    return undoing(lambda: shutil.rmtree(temporary, ignore_errors=True))


def _say_outcomes(done: Report, messages: Messages) -> None:
    if done.granted:
        messages.notice(done.granted)
    for outcome in done.followed:
        say = messages.notice if outcome.error is None else messages.warn
        say(outcome.summary)
    for text in filter(None, [done.rejected, done.waiting, done.lost]):
        messages.warn(text)
    for text in filter(None, [done.hint, done.left, done.ledger_end]):
        messages.notice(text)
    if not done.job_file.owner and all(outcome.error is None for outcome in done.followed):
        messages.notice('the page names no owner of the data: to name one, write owner = "…" atop the job file')
