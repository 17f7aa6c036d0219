"""The report in short, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from addtree.report.effects import Curve
from addtree.report.format import config_text, plural, probability, value, values_text
from addtree.report.front import ChoiceFronts, nearest
from addtree.report.history import HistoryReport
from addtree.report.importance import Share
from addtree.report.optima import ChoiceOptima
from addtree.report.summary import Explanation, Learned, Report
from addtree.space.space import Choice, Space

_MAX_LINES = 8  # A list has at most this many lines.
_MAX_FRONT = 12  # At most this many trials of the front are listed.
_MAX_BELIEFS = 3  # Of each earlier study, at most this many beliefs are listed.
_BAR_WIDTH = 24  # A share of 100 % is a bar of this many characters.
_OPTION_WIDTH = 24  # The name of an option is cut to this many characters in a table.
_LABEL_WIDTH = 60  # The name of a component is cut to this many characters.
_MESSAGE_WIDTH = 100  # An error message is cut to this many characters.


def explain(report: Report) -> str:
    """A page of text: the best configuration or the front, what matters, and whether the model can be trusted.

    >>> from addtree import Real, Space
    >>> from addtree.report.summary import build
    >>> print(explain(build(Space(x=Real(0, 1)), [{"config": {"x": 0.5}, "value": 2.0}], title="one")))
    one: 1 trial, 0 failed
    best 2, trial 0: x=0.5
    Trials with a value: 1 of 1; effects need at least 4.
    """
    lines = [_headline(report), *_best(report), *report.notes]
    if report.inferred:
        lines += ["", "space, as the trials show it", *(f"  {line}" for line in str(report.space).splitlines())]
    if report.front is not None and report.front.trials:
        lines += _branches(report.front.choices)
    lines += _constraints(report)
    if report.learned is not None and report.learned.best is not None:
        lines += _why(report.learned.best)
    for name, learned in report.models.items():
        suffix = "" if len(report.models) == 1 else f" in {name}"
        lines += _variance(learned.shares, suffix)
        lines += _options(report.space, learned.curves, suffix)
    if report.learned is not None:
        lines += _optima(report.learned.optima)
    lines += _trusts(report.models)
    for name, history in report.history.items():
        lines += _history(history, "" if len(report.history) == 1 else f" about {name}")
    if report.errors:
        lines += ["", "failures", *([] if report.rule is None else [f"  {report.rule}"])]
        lines += [f"  {n} × {_cut(message, _MESSAGE_WIDTH)}" for message, n in report.errors[:_MAX_LINES]]
    return "\n".join(lines)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# ---------------------------------------------------------------------- what was found


def _headline(report: Report) -> str:
    kept = f", {sum(map(report.is_feasible, report.trials))} feasible" if report.goals.constraints else ""
    return f"{report.title}: {plural(len(report.trials), 'trial')}, {report.count('failed')} failed{kept}"


def _best(report: Report) -> Iterator[str]:
    """The best trial, or the front; if nothing is feasible, the trial that comes nearest."""
    names = report.goals.names
    if report.front is not None and report.front.trials:
        yield f"front: {plural(len(report.front.trials), 'trial')}"
        for trial in report.front.trials[:_MAX_FRONT]:
            yield f"  trial {trial.id}: {values_text(names, trial)}: {config_text(trial)}"
        if len(report.front.trials) > _MAX_FRONT:
            yield f"  {len(report.front.trials) - _MAX_FRONT} more: see the report"
    elif report.best is not None:
        bounded = [constraint.name for constraint in report.goals.constraints]
        kept = f" ({values_text(bounded, report.best)})" if bounded else ""
        yield f"best {report.best.value:.6g}{kept}, trial {report.best.id}: {config_text(report.best)}"
    elif (closest := nearest(report.goals, report.trials)) is not None:
        told = f"{values_text(names, closest)}: {config_text(closest)}"
        yield f"no trial keeps the constraints yet; trial {closest.id} comes nearest: {told}"


def _branches(choices: Sequence[ChoiceFronts]) -> Iterator[str]:
    """How much of the front each option reaches alone."""
    if choices:
        yield from ("", "the trade-off within each branch (hypervolume of its own front, as a share of that of all)")
    for choice in choices[:_MAX_LINES]:
        yield f"  {choice.choice} {choice.condition}".rstrip()
        labels = [_cut(str(option.option), _OPTION_WIDTH) for option in choice.options]
        width = max(map(len, labels))
        for label, option in zip(labels, choice.options, strict=True):
            share = "–" if option.share is None else f"{option.share:.0%}"
            tried = plural(option.tried, "trial")
            yield f"    {label:<{width}}  {share:>5}  {tried}, {option.on_front} on the front"
    if len(choices) > _MAX_LINES:
        yield f"  {plural(len(choices) - _MAX_LINES, 'more choice')}: see the report"


def _constraints(report: Report) -> Iterator[str]:
    """How many trials keep each constraint, and where it is violated."""
    if report.required:
        yield from ("", "constraints")
    for required in report.required:
        yield f"  {required.text}: kept by {required.good} of {plural(required.tried, 'trial')}"
        if required.rule is not None:
            yield f"    {required.rule.describe('violated', 'violated it')}"


# ---------------------------------------------------------------------- what was learned


def _optima(choices: Sequence[ChoiceOptima]) -> Iterator[str]:
    """How good each option can get; with many choices, the first ones."""
    if choices:
        yield from ("", "how good can each branch get? (believed best value and its 80 % interval; may it be dropped?)")
    for choice in choices[:_MAX_LINES]:
        yield f"  {choice.choice} {choice.condition}".rstrip()
        labels = [_cut(str(option.option), _OPTION_WIDTH) for option in choice.options]
        width = max(map(len, labels))
        for label, option in zip(labels, choice.options, strict=True):
            seen = "no value" if option.best is None else f"best {option.best:.4g} of {option.evaluations}"
            yield (
                f"    {label:<{width}}  {seen:<22}  {option.median:.4g} ({option.low:.3g} to {option.high:.3g}),"
                f" optimum here: {probability(option.probability, choice.draws)}. {option.verdict}"
            )
    if len(choices) > _MAX_LINES:
        yield f"  {plural(len(choices) - _MAX_LINES, 'more choice')}: see the report"


def _trusts(models: Mapping[str, Learned]) -> Iterator[str]:
    """How well the models predict trials that they have not seen."""
    if models:
        yield from ("", "can the model be trusted?" if len(models) == 1 else "can the models be trusted?")
    for name, learned in models.items():
        prefix = "" if len(models) == 1 else f"{name}: "
        yield f"  {prefix}{learned.trust.verdict}"
        yield (
            f"  Predicted by models fitted to other trials: {max(learned.trust.explained, 0):.0%} of the variance"
            f" explained, a rank correlation of {learned.trust.rank_correlation:.2f},"
            f" {learned.trust.coverage_95:.0%} of the values inside 95 % intervals."
        )


def _history(history: HistoryReport, suffix: str) -> Iterator[str]:
    """What became of what each earlier study said."""
    yield from ("", f"what became of earlier studies{suffix}", f"  {history.verdict}")
    for study in history.studies[:_MAX_LINES]:
        yield f"  {study.name}: {study.summary}"
        yield from (f"    {belief.verdict}: {belief}" for belief in study.beliefs[:_MAX_BELIEFS])


def _why(explanation: Explanation) -> Iterator[str]:
    """The contributions to the best configuration, largest first."""
    parts = sorted(explanation.contributions, key=lambda part: -abs(part.mean))
    shown, others = parts[:_MAX_LINES], parts[_MAX_LINES:]
    yield from ("", "why it is expected to be good")
    yield f"  {explanation.expectation:>+11.4g}  a random configuration"
    yield from (f"  {part.mean:>+11.4g}  {part.name}={value(part.value)}" for part in shown)
    if others:
        yield f"  {sum(part.mean for part in others):>+11.4g}  {plural(len(others), 'other')}"
    yield f"  {explanation.predicted:>+11.4g}  predicted; observed {explanation.observed:.4g}"


def _variance(shares: Sequence[Share], suffix: str) -> Iterator[str]:
    """The components that explain most of the variance."""
    yield from ("", f"what explains the differences between trials{suffix}")
    for share in shares[:_MAX_LINES]:
        bar = "█" * round(_BAR_WIDTH * min(max(share.share, 0.0), 1.0))
        rounded = round(share.share, 3) + 0.0  # not -0.0 %
        yield f"  {rounded:>6.1%}  {bar:<{_BAR_WIDTH}}  {_cut(share.label, _LABEL_WIDTH)}"
    if any(round(share.share, 3) < 0.0 for share in shares[:_MAX_LINES]):
        yield "  A negative share cancels part of another one."


def _options(space: Space, curves: Mapping[str, Curve], suffix: str) -> Iterator[str]:
    """The effect of each option of each choice."""
    choices = [curves[name] for name, domain in space.variables.items() if isinstance(domain, Choice)]
    if choices:
        yield from ("", f"options, compared with the average of all options of the choice{suffix}")
    for curve in choices:
        rows = zip(curve.axis.values, curve.mean, curve.margin, strict=True)
        effects = [f"{label} {mean:+.3g} ± {margin:.2g}" for label, mean, margin in rows]
        yield f"  {curve.axis.name}: {', '.join(effects)}"
