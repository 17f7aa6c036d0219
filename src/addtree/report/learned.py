"""The sections of the page about what the models learned.

With several objectives or constraints, each section shows all of them side by side, so that a reader can compare what a
parameter does to each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from addtree.report import plots
from addtree.report.effects import Curve
from addtree.report.format import number, plural, probability
from addtree.report.importance import MIN_INTERACTION
from addtree.report.optima import ChoiceOptima
from addtree.report.sections import Embed, Section, caption, card, grid, row, row_group, table
from addtree.report.summary import Explanation, Learned, Report
from addtree.report.trust import CrossValidation
from addtree.space.space import Choice

# The classes of the cells in the table of optima; a narrow page leaves details to the plots.
_OPTIMA_CELLS = ("text", "num", "num detail", "num detail", "num detail", "num", "")

_VARIANCE = (
    "Shares of the variance of the observed values; they add up to 100 %. A choice is credited with the differences"
    " between the averages of its branches, a parameter with the differences inside a branch. A negative share"
    " cancels part of another one."
)
_PARAMETERS = (
    "The estimated effect of each parameter on the value, averaged over configurations that were tried, with"
    " its 95 % band; the strongest come first. Each dot is one trial: its value, minus the prediction for it"
    " averaged over this parameter."
)
_OPTIONS = (
    "The estimated effect of each option compared with the average of all options of the choice, averaged over"
    " everything below it."
)
_INTERACTIONS = "Pairs in which the effect of one parameter depends on the other. The colour shows their joint effect."


def learned_sections(report: Report, embed: Embed) -> Iterator[Section]:
    """The sections that have something to show, in order."""
    models = report.models
    if not models:
        return
    is_choice = {name: isinstance(domain, Choice) for name, domain in report.space.variables.items()}
    curves = next(iter(models.values())).curves  # All models have the same parameters.
    parameters = [name for name in curves if not is_choice[name]]
    choices = [name for name, curve in curves.items() if is_choice[name] and len(curve.mean) > 1]
    model = "model" if len(models) == 1 else "models"
    yield Section("trust", f"Can the {model} be trusted?", _trusts(models, embed))
    if report.learned is not None and report.learned.optima:
        yield Section("optima", "How good can each branch get?", _optima(report.learned.optima, embed))
    if report.learned is not None and report.learned.best is not None:
        plot = embed(plots.contributions(report.learned.best, maximize=report.maximize))
        why = _why(report.learned.best, plot)
        yield Section("why", "Why the best configuration is expected to be good", why)
    yield Section("variance", "What explains the differences between trials", _variance(models, embed))
    if parameters:
        yield Section("effects", "Effect of every parameter", _effects(_PARAMETERS, models, parameters, embed))
    if choices:
        yield Section("options", "Effect of every choice", _effects(_OPTIONS, models, choices, embed))
    yield Section("interactions", "Interactions", _interactions(models, embed))


# ---------------------------------------------------------------------- trust


def _trusts(models: Mapping[str, Learned], embed: Embed) -> str:
    if len(models) == 1:
        trust = next(iter(models.values())).trust
        return f"<p>{escape(trust.verdict)}</p>{caption(_trust(trust))}{embed(plots.cross_validation(trust))}"
    parts = (
        f"<figure><h3>{escape(name)}</h3><p>{escape(learned.trust.verdict)}</p>"
        f"<figcaption>{escape(_trust(learned.trust))}</figcaption>{embed(plots.cross_validation(learned.trust))}</figure>"
        for name, learned in models.items()
    )
    return grid(parts, len(models))


def _trust(trust: CrossValidation) -> str:
    return (
        f"Each of {trust.n} trials was predicted by a model fitted to other trials. The predictions explain"
        f" {max(trust.explained, 0):.0%} of the variance, with a rank correlation of"
        f" {number(trust.rank_correlation, 2)}; {trust.coverage_90:.0%} of the values lie inside their 90 % intervals,"
        f" and {trust.coverage_95:.0%} inside their 95 % intervals."
    )


# ---------------------------------------------------------------------- one objective


def _optima(choices: Sequence[ChoiceOptima], embed: Embed) -> str:
    words = (
        "The best value that each option is believed to reach if everything else is chosen well, without noise: the"
        f" median and the 80 % interval. {choices[0].draws} functions were drawn from two models; the probability is"
        " the share of them whose optimum takes the option, among configurations in which the choice is active."
    )
    cards = [card(choice.choice, choice.condition, embed(plots.optima(choice))) for choice in choices]
    heads = ("option", "trials", "best seen", "believed best", "80 % interval", "optimum here", "may I drop it?")
    body = "".join(map(_optima_rows, choices))
    return f"{caption(words)}{grid(cards, min(len(cards), 2))}{table('optima', row(_OPTIMA_CELLS, heads, 'th'), body)}"


def _optima_rows(choice: ChoiceOptima) -> str:
    rows = []
    for option in choice.options:
        cells = (
            str(option.option),
            str(option.evaluations),
            "–" if option.best is None else number(option.best),
            number(option.median),
            f"{number(option.low)} to {number(option.high)}",
            probability(option.probability, choice.draws),
            option.verdict,
        )
        rows.append(row(_OPTIMA_CELLS, cells))
    return row_group(f"{choice.choice} {choice.condition}", len(_OPTIMA_CELLS), rows)


def _why(explanation: Explanation, plot: str) -> str:
    words = (
        f"A random configuration is expected to give {number(explanation.expectation)}. Fixing the values of the best"
        " configuration one by one, from the root down, changes this expectation step by step, until it is the"
        f" prediction, {number(explanation.predicted)}."
    )
    return f"{caption(words)}{plot}"


# ---------------------------------------------------------------------- every objective and constraint


def _variance(models: Mapping[str, Learned], embed: Embed) -> str:
    if len(models) == 1:
        return caption(_VARIANCE) + embed(plots.shares(next(iter(models.values())).shares))
    cards = [card(name, "", embed(plots.shares(learned.shares))) for name, learned in models.items()]
    return caption(_VARIANCE) + grid(cards, min(len(cards), 2))


def _effects(words: str, models: Mapping[str, Learned], names: Sequence[str], embed: Embed) -> str:
    """A row of cards for each parameter or choice, one for each value; the strongest come first."""
    largest = {key: max((c.range for c in learned.curves.values()), default=0.0) for key, learned in models.items()}

    def strength(name: str) -> float:
        return max(learned.curves[name].range / (largest[key] or 1.0) for key, learned in models.items())

    cards = []
    for name in sorted(names, key=lambda name: -strength(name)):
        for key, learned in models.items():
            curve = learned.curves[name]
            words_of = _curve_caption(curve, "the value" if len(models) == 1 else key)
            cards.append(card(name, words_of, embed(plots.effect(curve))))
    return caption(words) + grid(cards, len(models) if len(models) > 1 else 0)


def _curve_caption(curve: Curve, what: str) -> str:
    if not curve.n_active:
        return "never tried: this is a guess" if what == "the value" else f"{what}: never tried, so this is a guess"
    return f"changes {what} by {number(curve.range, 3)} · {plural(curve.n_active, 'trial')}"


def _interactions(models: Mapping[str, Learned], embed: Embed) -> str:
    cards = []
    for key, learned in models.items():
        prefix = "" if len(models) == 1 else f"{key}: "
        for pair in learned.interactions:
            words = f"{prefix}their interaction explains {pair.share:.1%} of the variance"
            cards.append(card(f"{pair.a.name} × {pair.b.name}", words, embed(plots.interaction(pair))))
    if not cards:
        found = "The model found none that explains" if len(models) == 1 else "The models found none that explain"
        return f"<p>{found} more than {100 * MIN_INTERACTION:g} % of the variance.</p>"
    return caption(_INTERACTIONS) + grid(cards)
