"""Shared parts of all charts: round ticks, numbers as people read them, texts, a style sheet."""

from __future__ import annotations

import math
from html import escape
from typing import Final

STYLE: Final = """
svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
text.soft,tspan.soft{fill:var(--soft)}
.first{--hue:var(--first)}.second{--hue:var(--second)}.third{--hue:var(--third)}
.fourth{--hue:var(--fourth)}.fifth{--hue:var(--fifth)}
rect,circle{fill:var(--hue)}path{fill:var(--hue);opacity:.8}polygon{fill:var(--hue);opacity:.14}
polyline{fill:none;stroke:var(--hue);stroke-width:2}
polyline.even{stroke:var(--soft);stroke-dasharray:4 4}circle.even{display:none}
line.scale{stroke:var(--line)}
.keys{margin:0 0 8px}.key{margin-right:16px;color:var(--soft)}
svg.swatch{width:11px;height:11px;margin-right:5px}
svg.panels{min-width:900px}
"""
"""The rules for charts in a page, which sets the custom properties that they use."""

TICKS: Final = 5
"""Steps of a linear scale, at most."""

_SLACK: Final = 1e-9
"""The most that rounding may add to a whole quotient."""


def ticks(largest: float) -> list[float]:
    """Round numbers from 0 to `largest` or a little more, at most one more than `TICKS`.

    They are multiples of 1, 2 or 5 times a power of ten: up to 14,632 these are 0, 5,000, 10,000
    and 15,000.
    """
    if largest <= 0:
        return [0.0, 1.0]
    least_step = largest / TICKS * (1 - _SLACK)
    power = 10.0 ** math.floor(math.log10(largest / TICKS))
    step = power * next(times for times in (1, 2, 5, 10) if times * power >= least_step)
    count = max(math.ceil(largest / step * (1 - _SLACK)), 1)
    return [place * step for place in range(count + 1)]


def number(value: float) -> str:
    """A number as people read it: whole ones with commas, others with three digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def text(x: float, y: float, content: str, anchor: str = "start", attributes: str = "") -> str:
    """A text element; `attributes` are written as they are, after a space."""
    extra = f" {attributes}" if attributes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(content)}</text>'


def soft_text(x: float, y: float, content: str, anchor: str = "start") -> str:
    """A text element in the color of what matters less."""
    return text(x, y, content, anchor, 'class="soft"')


def shortened(name: str, chars: int) -> str:
    """A name, cut to at most `chars` characters."""
    return name if len(name) <= chars else f"{name[: chars - 1]}…"
