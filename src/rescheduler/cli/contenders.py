"""Who is compared in a simulation, by the names of `--compare`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rescheduler import config
from rescheduler.cli.wrong_flags import Problems
from rescheduler.config.scheduling import FILTER, SCORE
from rescheduler.model import strategies

if TYPE_CHECKING:
    from rescheduler.simulation.contending import Contender

_NOBODY: Final = "none"
_OWN: Final = "config"
_EXTENDER: Final = "extender"
_GUARD: Final = "guard"
_PATIENCE: Final = "patience"
_USUAL: Final = (_NOBODY, *strategies.BY_DEFAULT)
_KNOWN: Final = (_NOBODY, *config.STRATEGIES, _OWN)
_INTERVAL_SECONDS: Final = 900.0
_MEASURED_SECONDS: Final = 240.0
_WINDOW_SECONDS: Final = 1200.0
_MAX_AGE_SECONDS: Final = 600.0
"""Of those that are named after strategies: a day is long, and loads change slowly."""


def named(
    names: str, own: config.Configuration | None, problems: Problems, *, has_own: bool
) -> "list[Contender]":
    """The own configuration may be there and wrong."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler.simulation.contending import Contender

    given = [each.strip() for each in names.split(",") if each.strip()]
    usual = [*_USUAL, *([_OWN] if has_own else [])]
    found = []
    for name in dict.fromkeys(given or usual):
        if name == _OWN and not has_own:
            problems.refuse("--compare", "config is that of --config, which is not given")
        configuration = own if name == _OWN else _of_strategies(name, problems)
        found.append(Contender(name=name, configuration=configuration))
    return found


def with_and_without_extender(contenders: "list[Contender]") -> "list[Contender]":
    """Each twice: as if the scheduler did not ask us, and as if it did."""
    return [
        each
        for contender in contenders
        for each in (_without_extender(contender), _with_extender(contender))
    ]


def _without_extender(contender: "Contender") -> "Contender":
    own = contender.configuration
    if own is None or not own.answered:
        return contender
    silent = replace(own, verbs=(), extender=replace(own.extender, verbs=()))
    return replace(contender, configuration=silent)


def _with_extender(contender: "Contender") -> "Contender":
    """By the verbs of its configuration, if it has any; one that moves nothing answers, too."""
    own = _default(()) if contender.configuration is None else contender.configuration
    answering = own if own.answered else replace(own, verbs=(FILTER, SCORE))
    return replace(contender, name=f"{contender.name}+{_EXTENDER}", configuration=answering)


def with_and_without_guard(contenders: "list[Contender]") -> "list[Contender]":
    """Each twice: as if evictions by others were not asked about, and as if they were."""
    return [
        each
        for contender in contenders
        for each in (_without_guard(contender), _with_guard(contender))
    ]


def _without_guard(contender: "Contender") -> "Contender":
    own = contender.configuration
    if own is None:
        return contender
    silent = replace(own, guard=replace(own.guard, enabled=False))
    return replace(contender, configuration=silent)


def _with_guard(contender: "Contender") -> "Contender":
    """One that moves nothing else moves what others evict."""
    own = _default(()) if contender.configuration is None else contender.configuration
    guarding = replace(own, guard=replace(own.guard, enabled=True))
    return replace(contender, name=f"{contender.name}+{_GUARD}", configuration=guarding)


def with_and_without_patience(contenders: "list[Contender]") -> "list[Contender]":
    """Who moves something, twice: by what is used now, and by what the days before have taught."""
    return [
        each
        for contender in contenders
        for each in (
            (_patient(contender, learns=False), _patient(contender, learns=True))
            if contender.configuration is not None
            else (contender,)
        )
    ]


def _patient(contender: "Contender", *, learns: bool) -> "Contender":
    own = contender.configuration
    if own is None:
        return contender
    patience = replace(own.usage.learned_patience, enabled=learns)
    name = f"{contender.name}+{_PATIENCE}" if learns else contender.name
    usage = replace(own.usage, learned_patience=patience)
    return replace(contender, name=name, configuration=replace(own, usage=usage))


def _of_strategies(name: str, problems: Problems) -> config.Configuration | None:
    if name == _NOBODY:
        return None
    strategies = name.split("+")
    for each in strategies:
        if each in (_NOBODY, _OWN):
            problems.refuse("--compare", f"{each} is for itself, and not together with others by +")
        else:
            problems.refuse_unknown("--compare", each, _KNOWN)
    return _default(tuple(each for each in config.STRATEGIES if each in strategies))


def _default(strategies: tuple[str, ...]) -> config.Configuration:
    default = config.Configuration()
    return replace(
        default,
        rescheduling_interval_seconds=_INTERVAL_SECONDS,
        enabled_strategies=strategies,
        usage=replace(
            default.usage,
            interval_seconds=_MEASURED_SECONDS,
            window_seconds=_WINDOW_SECONDS,
            max_age_seconds=_MAX_AGE_SECONDS,
        ),
    )
