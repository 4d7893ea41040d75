"""dpmine plan, dpmine audit and dpmine doctor: commands that read no data."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dpmine_cli.line import CommandLine
    from dpmine_cli.output import Document

_OF_ITEMSETS = {"size", "catalogue_size", "units", "delta", "neighbors", "gap", "success", "plot"}
_OF_LEARNING = {"accuracy", "failure", "smoothness", "dimension", "best_error"}
_OF_LISTS = {"size", "catalogue_size", "units", "delta", "neighbors"}
_OF_FREQUENT = {"min_support", "top", "max_size", "catalogue_size", "units", "delta", "neighbors"}
_KINDS = {
    "learn": _OF_LEARNING,
    "runs": {"delta", "plot"},
    "noise": {"delta"},
    "frequent": _OF_FREQUENT,
    "top": _OF_LISTS,
}
"""The plans that an option asks for, and the options beside --epsilon that belong to them."""
_OF_TARGETS = {"target", "claim", "neighbors", "sensitivity", "seconds"}
_OF_OUR_OWN = {"mechanism", "epsilon", "delta", "thorough", "lists"}
"""Options of `audit` with and without --target."""
_REFUTED = 1


def plan(line: CommandLine) -> None:
    """Predict what every mechanism needs and achieves, without reading data; or how many records learning takes.

    Example: dpmine plan --catalogue-size 4000 --units 25900 --epsilon 0.5 --gap 100
    """
    line.destination.require_document()
    _require_fit(line)
    if line.learn is not None:
        line.destination.write_document(_learning(line))
        return
    if line.runs is not None or line.noise is not None:
        line.destination.write_document(_accounting(line))
        return
    if line.frequent:
        line.destination.write_document(_frequent(line))
        return
    if line.top is not None:
        from dpmine.planning.lists import plan_list

        wanted = {name: line.options[name] for name in _OF_LISTS - {"catalogue_size"}}
        size = _catalogue_size(line.catalogue_size)
        line.destination.write_document(plan_list(line.top, catalogue_size=size, epsilon=line.epsilon, **wanted))
        return
    from dpmine.planning.planner import plan as make_plan

    picture = _picture(line)
    with line.messages as messages:
        values = line.values(*_OF_LEARNING, *_KINDS, *_OF_FREQUENT - _OF_ITEMSETS, "catalogue_size", "plot")
        result = make_plan(catalogue_size=_catalogue_size(line.catalogue_size), **values, progress=messages.progress)
    if picture:
        result.plot(picture)
    line.destination.write_document(result)


def audit(line: CommandLine) -> None:
    """Measure the privacy of mechanisms, or of a function of yours, against claims. Exit status 1 when one is false.

    Example: dpmine audit --mechanism large-margin-tight --epsilon 1 --delta 1e-6
    """
    line.destination.require_document()
    _require_one_audit(line)
    picture = _picture(line)
    report: Any = _audit_own(line) if line.target is None else _audit_target(line)
    if picture:
        report.plot(picture)
    line.destination.write_document(report)
    if not report.holds:
        raise typer.Exit(_REFUTED)


def _audit_own(line: CommandLine) -> Document:
    from dpmine.auditing import run

    with line.messages as messages:
        return run.audit(**line.values("plot", *_OF_TARGETS), progress=messages.progress)


def _audit_target(line: CommandLine) -> Document:
    from dpmine.auditing import Claim, ScoreVectors, call

    claim = Claim.parse(line.claim)
    neighbors = ScoreVectors(line.sensitivity or 1, line.neighbors or "replace-one")
    return call.audit(_load_target(line.target), claim, neighbors, seconds=line.seconds or 60)


def _load_target(name: str) -> Any:
    """The function, or the object with `law` or `sample`, of a name such as "package.module:function".

    Modules of the working directory are found, too. Importing a module runs it. Raises BadParameter where there is
    none, or its module raises on import.
    """
    from dpmine.errors import BadParameter

    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise BadParameter("A target is written package.module:function, such as noise:noisy_max.")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        target = import_module(module)
    except ModuleNotFoundError as error:
        raise BadParameter(
            f"There is no module {error.name!r}: install it, or run the command in the folder it is in."
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises
        raise BadParameter(f"Importing {module} raised {type(error).__name__}: import it in Python to see.") from None
    finally:
        sys.path.remove(folder)
    for part in path.split("."):
        if not hasattr(target, part):
            raise BadParameter(f"{module} has no {path!r}: name one of its functions after the colon.")
        target = getattr(target, part)
    return target


def _require_one_audit(line: CommandLine) -> None:
    """BadParameter for options of dpmine's own mechanisms beside --target, and the reverse; and without a claim."""
    from dpmine.errors import BadParameter

    others = _OF_TARGETS if line.target is None else _OF_OUR_OWN
    if unread := [spelled for name, spelled in line.given.items() if name in others]:
        about = "needs --target MODULE:FUNCTION" if line.target is None else "does not belong to --target"
        instead = "add it" if line.target is None else "leave it out; --claim says what is claimed"
        raise BadParameter(f"{', '.join(unread)} {about}: {instead}.")
    if line.target is not None and line.claim is None:
        raise BadParameter('--target needs --claim, such as --claim "epsilon=1".')


def doctor(line: CommandLine) -> None:
    """Say whether dpmine works here: versions, caches, randomness, a ledger. Exit status 2 where something does not.

    Example: dpmine doctor --ledger sqlite:///budget.db
    """
    line.destination.require_document()
    from dpmine.doctor import diagnose
    from dpmine.errors import DpmineError
    from dpmine.exact.bits import SystemBits

    diagnosis = diagnose(line.ledger, bits=SystemBits())
    line.destination.write_document(diagnosis)
    if diagnosis.complaint:
        raise DpmineError(diagnosis.complaint)


def _picture(line: CommandLine) -> Path | None:
    """Where --plot draws; another file than the result."""
    from dpmine.io.atomic import picture_target

    picture = picture_target(line.plot) if line.plot else None
    line.require_apart(plot=picture)
    return picture


def _learning(line: CommandLine) -> Document:
    from dpmine.errors import BadParameter
    from dpmine.planning.learning import plan_learning

    if line.accuracy is None:
        raise BadParameter("--learn needs --accuracy, the error allowed beyond the best rule's, such as 0.05.")
    return plan_learning(line.learn, epsilon=line.epsilon, **{name: line.options[name] for name in _OF_LEARNING})


def _frequent(line: CommandLine) -> Document:
    from dpmine.planning.lists import plan_frequent

    wanted = {name: line.options[name] for name in _OF_FREQUENT - {"catalogue_size", "top"}}
    size = _catalogue_size(line.catalogue_size)
    return plan_frequent(**wanted, k=line.top, catalogue_size=size, epsilon=line.epsilon)


def _accounting(line: CommandLine) -> Document:
    from dpmine.planning.accounting import plan_noise, plan_runs

    terms = {"epsilon": line.epsilon, "delta": line.delta}
    if line.runs is None:
        return plan_noise(line.noise, **terms)
    picture, planned = _picture(line), plan_runs(line.runs, **terms)
    if picture:
        planned.plot(picture)
    return planned


def _require_fit(line: CommandLine) -> None:
    """BadParameter, with their names, for options of another kind of plan."""
    from dpmine.errors import BadParameter

    asked = [name for name in _KINDS if line.options[name] is not None and line.options[name] is not False]
    if "frequent" in asked and "top" in asked:
        asked.remove("top")
    if len(asked) > 1:
        raise BadParameter(f"{' and '.join(map('--{}'.format, asked))} are different plans: ask for one.")
    belonging = {asked[0], *_KINDS[asked[0]]} if asked else _OF_ITEMSETS
    others = set().union(_OF_ITEMSETS, *_KINDS.values()) - belonging
    if unread := {name: spelled for name, spelled in line.given.items() if name in others}:
        owner = "learn" if unread.keys() <= _OF_LEARNING else "frequent"
        about = "does not belong to --" + asked[0] if asked else f"belongs to --{owner}"
        raise BadParameter(f"{', '.join(unread.values())} {about}: leave it out.")


def _catalogue_size(text: str) -> int | None:
    from dpmine.errors import BadParameter

    if text == "unknown":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise BadParameter("--catalogue-size must be a whole number of items, such as 4000, or unknown.")
    return int(text)
