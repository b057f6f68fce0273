"""A record of a run → an SVG: how many times as fast as the best correct peer, bars on a log axis.

The ground is transparent. Colours are readable on white and on near-black; where the viewer tells that its
ground is dark, the text takes a lighter one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from xml.sax.saxutils import escape

from .record import Record
from .report import Figures, figures, mean

_LEFT, _RIGHT, _ROW, _BAR, _TOP = 150, 170, 24, 14, 66
_WIDTH = 760
_TIMES = "\N{MULTIPLICATION SIGN}"
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
_STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #5f6b76 }
  .title { font-size: 15px; font-weight: 600 }
  .value { font-weight: 600 }
  .end { text-anchor: end } .mid { text-anchor: middle }
  .grid { stroke: #8b98a5; stroke-opacity: .3 }
  .one { stroke: #77838f; stroke-width: 1.5 }
  .ahead { fill: #2f8f6b } .behind { fill: #c8643c } .call { fill: #7a88c9 }
  .limit { stroke: #d29a1d; stroke-width: 3 }
  @media (prefers-color-scheme: dark) { text { fill: #a9b4c0 } }
"""


def draw(record: Record) -> str:
    """Return the chart as the text of an SVG file."""
    shown = [row for row in figures(record) if row.ahead]
    shown.sort(key=lambda row: (row.call_bound, -(row.ahead or 0)))
    low, high = _range(shown)
    height = _TOP + _ROW * len(shown) + 44
    bottom = _TOP + _ROW * len(shown)

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(value / low) / math.log(high / low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title">',
        '<title id="title">scattergen against the fastest correct peer</title>',
        f"<style>{_STYLE}</style>",
        '<text class="title" x="12" y="22">Times as fast as the fastest correct peer</text>',
        f'<text x="12" y="40">{escape(_subtitle(record, shown))}</text>',
    ]
    for tick in _TICKS:
        if low <= tick <= high:
            kind = "one" if tick == 1 else "grid"
            parts.append(f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP - 6}" y2="{bottom}"/>')
            parts.append(f'<text class="mid" x="{x(tick):.1f}" y="{_TOP - 10}">{tick:g}{_TIMES}</text>')
    for number, row in enumerate(shown):
        parts += _bar(row, _TOP + _ROW * number, x, high)
    parts += _legend(bottom + 26, any(row.room for row in shown), any(row.call_bound for row in shown))
    return "\n".join([*parts, "</svg>", ""])


def _range(shown: list[Figures]) -> tuple[float, float]:
    ratios = [row.ahead or 1.0 for row in shown] + [row.room or 1.0 for row in shown if not row.call_bound]
    low = max(min([0.5, *(0.9 * ratio for ratio in ratios)]), _TICKS[0])
    return low, min(max([2.0, *(1.05 * ratio for ratio in ratios)]), _TICKS[-1])


def _bar(row: Figures, y: float, x: Callable[[float], float], high: float) -> list[str]:
    ahead = min(row.ahead or 1.0, high)
    kind = "call" if row.call_bound else "ahead" if ahead >= 1 else "behind"
    begin, end = sorted((x(1), x(ahead)))
    middle = y + _ROW / 2 + 4
    found = [
        f'<text class="end" x="{_LEFT - 10}" y="{middle:.1f}">{escape(row.name)}</text>',
        f'<rect class="{kind}" x="{begin:.1f}" y="{y + (_ROW - _BAR) / 2:.1f}" '
        f'width="{max(end - begin, 1):.1f}" height="{_BAR}" rx="2"/>',
    ]
    if row.room and not row.call_bound and row.room <= high:
        at = x(row.room)
        found.append(f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="{y + 3}" y2="{y + _ROW - 3}"/>')
    label = f'<tspan class="value">{row.ahead:.2f}{_TIMES}</tspan> {escape(row.best or "")}'
    found.append(f'<text x="{_WIDTH - _RIGHT + 20}" y="{middle:.1f}">{label}</text>')
    return found


def _legend(y: float, limit: bool, calls: bool) -> list[str]:
    entries = [("ahead", "ahead"), ("behind", "behind")]
    entries += [("call", "tiny: the call itself")] if calls else []
    found, x = [], float(_LEFT)
    for kind, text in entries:
        found.append(f'<rect class="{kind}" x="{x}" y="{y - 10}" width="12" height="12" rx="2"/>')
        found.append(f'<text x="{x + 18}" y="{y}">{text}</text>')
        x += 44 + 7 * len(text)
    if limit:
        found.append(f'<line class="limit" x1="{x + 4}" x2="{x + 4}" y1="{y - 12}" y2="{y + 4}"/>')
        found.append(f'<text x="{x + 14}" y="{y}">a plain copy</text>')
    return found


def _subtitle(record: Record, shown: list[Figures]) -> str:
    over = mean(row.ahead for row in shown if not row.call_bound)
    names = ", ".join(name for name in record["versions"] if name not in ("python", "scattergen"))
    what = f"{record['machine']['cpu']}, {record['threads']} threads; against {names}"
    return f"Geometric mean {over:.2f}{_TIMES}. {what}" if over else what
