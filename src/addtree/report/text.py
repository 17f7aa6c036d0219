"""The short form of the report, for a terminal."""

from __future__ import annotations

from addtree.report.summary import Report
from addtree.space.space import Choice

_MOST = 8  # lines of one list
_WIDTH = 24  # characters of a bar


def explain(report: Report) -> str:
    """A page of text: the best configuration and why, what matters, which options, whether to trust it.

    >>> from addtree import Real, Space
    >>> from addtree.report.summary import build
    >>> print(explain(build(Space(x=Real(0, 1)), [{"config": {"x": 0.5}, "value": 2.0}], title="one")))
    one: 1 trials, 0 failed
    best 2, trial 0: x=0.5
    1 of 1 trials have a value; effects need at least 4.
    """
    lines = [f"{report.title}: {len(report.trials)} trials, {report.count('failed')} failed"]
    if report.best is not None:
        config = ", ".join(f"{name}={_brief(value)}" for name, value in report.best.config.items())
        lines.append(f"best {report.best.value:.6g}, trial {report.best.id}: {config}")
    lines += report.notes
    if report.learned is not None:
        lines += _learned(report)
    if report.errors:
        lines += ["", "failures"]
        lines += [f"  {n} × {message[:100]}" for message, n in report.errors[:_MOST]]
    return "\n".join(lines)


def _learned(report: Report) -> list[str]:
    learned = report.learned
    assert learned is not None
    why, loo = learned.best, learned.loo
    lines = ["", "why it is expected to be good", f"  {why.expectation:>+11.4g}  a random configuration"]
    parts = sorted(why.contributions, key=lambda part: -abs(part.mean))
    lines += [f"  {p.mean:>+11.4g}  {p.name}={_brief(p.value)}" for p in parts[:_MOST]]
    if len(parts) > _MOST:
        lines.append(f"  {sum(p.mean for p in parts[_MOST:]):>+11.4g}  {len(parts) - _MOST} others")
    lines.append(f"  {why.predicted:>+11.4g}  predicted; observed {why.observed:.4g}")
    lines += ["", "what explains the differences between trials"]
    for share in learned.shares[:_MOST]:
        bar = "█" * round(_WIDTH * min(max(share.share, 0.0), 1.0))
        lines.append(f"  {share.share:>6.1%}  {bar:<{_WIDTH}}  {share.label[:60]}")
    lines += ["", "options, against the average of their alternatives"]
    for name, domain in report.space.variables.items():
        if isinstance(domain, Choice):
            curve = learned.curves[name]
            said = [
                f"{label} {m:+.3g} ± {1.96 * s:.2g}"
                for label, m, s in zip(domain.labels, curve.mean, curve.std, strict=True)
            ]
            lines.append(f"  {name}: {', '.join(said)}")
    if lines[-1].startswith("options"):
        del lines[-2:]
    return [*lines, "", f"{loo.verdict} ({max(loo.explained, 0):.0%} of the variance of left-out trials explained)"]


def _brief(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
