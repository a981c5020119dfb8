"""Reports as plots, where people would rather look: win by hour, win and what was expected, outcomes and a fair game.

Each currency has an axis of its own: amounts of two are never on one scale. Needs the extra `analysis`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ledger.errors import Refusal
from projections.reports.fairness import Fairness
from projections.reports.model import EXACT, NOTHING, Report, plain
from projections.reports.theory import Theory
from projections.reports.writers import Out, extra

FORMS = ("svg", "png")
_BAND = 2
"""Standard deviations of the band: 19 of 20 times chance stays within it."""
_BLUE, _GREY, _RED = "#1f5a93", "#c9d3dc", "#b3372d"
_NAMED = 40
"""Tables and days that have room for their names."""
_PANELS = 12
"""Of one page of outcomes, the furthest off first."""


_FONTS = (
    *("Noto Sans CJK TC", "Noto Sans CJK HK", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans TC", "Noto Sans HK"),
    *("Source Han Sans TC", "Microsoft JhengHei", "PingFang TC", "PingFang HK", "Heiti TC", "WenQuanYi Zen Hei"),
    *("WenQuanYi Micro Hei", "AR PL UMing TW", "AR PL UMing HK", "Droid Sans Fallback", "Arial Unicode MS"),
)
"""Of the first of these that is installed are the characters that matplotlib's own font lacks."""
_MISSING = re.compile(r"Glyph (\d+) .* missing")
_FLAT, _TALL = 6, 3
"""A bar of so many times the median hold flattens all others: the axis then ends at so many times the median."""


def plot(report: Report, theory: Theory, path: Path, out: Out) -> str:
    """Draws a report into `out`, in the form with which the name of its file, `path`, ends: .svg or .png. Its rows are a list.

    Returns the characters that no installed font has, in order.

    Raises Refusal LGR-0121 for a report that has no plot or a file of another kind, LGR-0730 where matplotlib is not installed.
    """
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMS:
        raise Refusal("LGR-0121", "a plot is a file of another kind", field="plot", value=str(path), help="name it .svg or .png")
    drawing = PLOTS.get(report.name)
    if drawing is None:
        raise Refusal(
            "LGR-0121",
            f"report {report.name} has no plot",
            field="plot",
            value=str(path),
            help=f"with a plot: {', '.join(PLOTS)}",
        )
    figures, matplotlib = extra("matplotlib.figure", "a plot"), extra("matplotlib", "a plot")
    matplotlib.rcParams["svg.hashsalt"] = "roundledger"  # the same report, the same bytes
    matplotlib.rcParams["font.family"] = ["DejaVu Sans", *_installed()[:1]]
    figure = figures.Figure(figsize=(11, 6.5), layout="constrained")
    drawing(report, theory, figure)
    facts = {name: plain(value) for name, value in report.facts.items()} | {"filters": f"filters: {report.facts['filters']}"}
    said = " · ".join(facts[name] for name in ("property", "period", "filters", "generated_at", "software"))
    figure.suptitle(report.title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    figure.supxlabel(said, x=0.01, ha="left", fontsize=7, color="#555555")
    made = report.facts["generated_at"]
    stamp = (
        {"Date": made if isinstance(made, datetime) else None} if form == "svg" else {"Software": plain(report.facts["software"])}
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        figure.savefig(out, format=form, dpi=150, metadata=stamp)
    found = [_MISSING.match(str(each.message)) for each in warned]
    return "".join(sorted({chr(int(each[1])) for each in found if each is not None}))


def _installed() -> list[str]:
    """Those of `_FONTS` that this machine has."""
    known = {font.name for font in extra("matplotlib.font_manager", "a plot").fontManager.ttflist}
    return [name for name in _FONTS if name in known]


def _columns(report: Report, *keys: str) -> list[tuple[Any, ...]]:
    """Those columns of each row."""
    at = [[column.key for column in report.shown].index(key) for key in keys]
    return [tuple(row[n] for n in at) for row in report.rows()]


def _axes(figure: Any, names: Sequence[str]) -> list[Any]:
    """An axis a currency, one below the other; one with a word where there is none."""
    axes = list(figure.subplots(max(len(names), 1), 1, squeeze=False)[:, 0])
    if not names:
        axes[0].text(0.5, 0.5, NOTHING, ha="center", va="center")
        axes[0].set_axis_off()
    return axes


def _hours(report: Report, _: Theory, figure: Any) -> None:
    """Bars of the win of each hour of the day, over all tables."""
    rows = _columns(report, "currency", "hour", "win")
    currencies = sorted({currency for currency, *_ in rows})
    for axis, currency in zip(_axes(figure, currencies), currencies, strict=False):
        sums = [float(sum(win for code, at, win in rows if code == currency and at == hour)) for hour in range(24)]
        axis.bar(range(24), sums, color=[_BLUE if each >= 0 else _RED for each in sums])
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_ylabel(f"win, {currency}")
        axis.set_xticks(range(24), [f"{hour:02}" for hour in range(24)])
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_xlabel("hour of the day in which the rounds were settled, by the property's clock")


def _master(report: Report, _: Theory, figure: Any) -> None:
    """The day's own win in percent of handle, line by line, on the band of what chance makes of it; and hold, where known."""
    keys = ("currency", "table", "gaming_day", "handle", "win", "theoretical_win", "deviation", "hold_percent")
    rows = [
        (*row[:4], EXACT.subtract(row[4], row[8]), *row[5:8])
        for row in _columns(report, *keys, "earlier")
        if row[3] and row[6] is not None
    ]
    currencies = sorted({row[0] for row in rows})
    if not currencies:
        _axes(figure, [])
        return
    axes = figure.subplots(len(currencies), 2, squeeze=False, width_ratios=(3, 2))
    for (left, right), currency in zip(axes, currencies, strict=True):
        lines = sorted((row for row in rows if row[0] == currency), key=lambda row: (row[1], row[2]))
        for n, (_, _, _, handle, win, theory, deviation, hold) in enumerate(lines):
            middle, half = 100 * float(theory / handle), 100 * _BAND * float(deviation / handle)
            within = abs(float(win - theory)) <= _BAND * float(deviation)
            left.bar(n, 2 * half, 0.7, bottom=middle - half, color=_GREY, zorder=1, label="expected, ±2 standard deviations")
            left.plot([n - 0.35, n + 0.35], [middle, middle], color="black", linewidth=1, zorder=2, label="theoretical win")
            name, color = ("win", _BLUE) if within else ("win, outside the band", _RED)
            left.plot(n, 100 * float(win / handle), "o", color=color, zorder=3, label=name)
            if hold is not None:
                right.bar(n, float(hold), 0.7, color=_BLUE if hold >= 0 else _RED)
        shown = lines if len(lines) <= _NAMED else []
        for axis, of in ((left, "win in percent of handle"), (right, "hold: win in percent of drop")):
            axis.set_xticks(range(len(shown)), [f"{row[1]} {row[2]:%d %b}" for row in shown], rotation=60, ha="right", fontsize=6)
            axis.axhline(0, color="black", linewidth=0.6)
            axis.set_title(f"{of}, {currency}", fontsize=9)
            axis.set_xlim(-1, len(lines))
        _clip(right, [(n, float(line[7])) for n, line in enumerate(lines) if line[7] is not None])
    _legend(figure, axes[0][0])


def _clip(axis: Any, bars: Sequence[tuple[int, float]]) -> None:
    """Ends an axis before a bar beside which no other could be told, and writes its value upon it."""
    sizes = sorted(abs(value) for _, value in bars)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    if not middle or sizes[-1] <= _FLAT * middle:
        return
    end = _TALL * middle
    shown = [value for _, value in bars if abs(value) <= end]
    low, high = min([0.0, *shown]), max([0.0, *shown])
    for n, value in bars:
        if abs(value) > end:
            low, high = min(low, -end) if value < 0 else low, high if value < 0 else max(high, end)
            axis.text(
                n,
                end if value > 0 else -end,
                f"{value:,.0f} %",
                rotation=90,
                fontsize=6,
                color="white",
                ha="center",
                va="top" if value > 0 else "bottom",
            )
    axis.set_ylim(low, high)


def _legend(figure: Any, axis: Any) -> None:
    """Each name once, beside the title."""
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), fontsize=7, loc="outside upper right", ncols=4, frameon=False)


def _fairness(report: Report, theory: Theory, figure: Any) -> None:
    """What was seen of each value, beside what a fair game shows and how far chance takes it."""
    reading = report.reading
    assert isinstance(reading, Fairness)
    told = _columns(report, "property", "pit", "table", "game", "counted", "p", "p_holm")
    told.sort(key=lambda row: (row[5] is None, row[5] or 0))
    panels = told[:_PANELS]
    if not panels:
        _axes(figure, [])
        return
    across = 1 if len(panels) == 1 else 2 if len(panels) <= 6 else 3
    axes = list(figure.subplots(-(-len(panels) // across), across, squeeze=False).flat)
    for axis, (*key, p, corrected) in zip(axes, panels, strict=False):
        counts, chances = reading.counts[tuple(key)], theory.chances_of(key[3])[key[4]]
        n, values = sum(counts.values()), list(chances)
        wanted = [float(n * chances[value]) for value in values]
        spread = [_BAND * float(n * chances[value] * (1 - chances[value])) ** 0.5 for value in values]
        seen = [counts.get(value, 0) for value in values]
        inside = [abs(at - middle) <= half for at, middle, half in zip(seen, wanted, spread, strict=True)]
        axis.bar(values, seen, color=[_BLUE if each else _RED for each in inside], width=0.7)
        axis.errorbar(values, wanted, spread, fmt="_", color="black", linewidth=0.8, markersize=4)
        said = "too few to say" if p is None else f"p {p:.3f}, by Holm {corrected:.3f}"
        axis.set_title(f"table {key[2]}, {key[3]}: {key[4]} ({n} seen; {said})", fontsize=7)
        step = 1 if len(values) <= 20 else 4
        axis.set_xticks(range(0, len(values), step), values[::step])
        axis.tick_params(labelsize=6)
        axis.set_ylim(bottom=0)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    left = f"; {len(told) - len(panels)} more tests are not drawn" if len(told) > len(panels) else ""
    figure.text(
        0.99,
        0.985,
        f"black: a fair game, ±2 standard deviations; red: beyond. Of {len(told)} tests some look odd by chance{left}",
        ha="right",
        va="top",
        fontsize=8,
    )


PLOTS: dict[str, Callable[[Report, Theory, Any], None]] = {"master-game": _master, "hours": _hours, "fairness": _fairness}
"""Report → how it is drawn."""
