#!/usr/bin/env python3
"""Draw curves side by side as a page of SVG. Call: chart.py PAGE < panels.json.

Panels: {"title", "note", "panels": [{"title", "x", "y", "top"?, "log"?, "lines"?: [[y, text]],
"curves": [{"name", "colour", "dash"?, "points": [[x, y], …]}]}]}.
"""

import html
import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 590.0, 430.0
LEFT, RIGHT, UP, DOWN = 62.0, 20.0, 44.0, 48.0


def ticks(top: float) -> list[float]:
    """Give about five round values from 0 to `top`."""
    step = 10.0 ** math.floor(math.log10(top / 4))
    step *= next(factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if top / (step * factor) <= 6)
    return [step * row for row in range(int(top / step + 1e-9) + 1)]


def panel(spec: dict) -> str:
    """Draw one panel as SVG."""
    curves = spec["curves"]
    points = [point for curve in curves for point in curve["points"]]
    right = max(x for x, _ in points)
    log = bool(spec.get("log"))
    top = spec.get("top") or max(y for _, y in points) * 1.08
    low = min(y for _, y in points) * 0.8 if log else 0.0

    def across(x: float) -> float:
        return LEFT + x / right * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        share = math.log(y / low) / math.log(top / low) if log else y / top
        return HEIGHT - DOWN - share * (HEIGHT - UP - DOWN)

    out = [f'<svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}">']
    out.append(f'<text x="{LEFT}" y="22" class="head">{html.escape(spec["title"])}</text>')
    marks = [10.0**power for power in range(-3, 6)] if log else ticks(top)
    marks += [2 * mark for mark in marks] + [5 * mark for mark in marks] if log else []
    for mark in (mark for mark in marks if low <= mark <= top):
        y = up(mark)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" class="end">{mark:,.4g}</text>')
    for mark in ticks(right):
        x = across(mark)
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - DOWN + 20}" class="mid">{mark:,.4g}</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" class="mid">{html.escape(spec["x"])}</text>')
    out.append(f'<text x="{LEFT}" y="{UP - 8}" class="unit">{html.escape(spec["y"])}</text>')
    for value, text in spec.get("lines", []):
        y = up(value)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="limit"/>')
        out.append(f'<text x="{LEFT + 6}" y="{y - 5:.1f}" class="unit">{html.escape(text)}</text>')
    for curve in curves:
        way = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve["points"])
        dash = f' stroke-dasharray="{curve["dash"]}"' if curve.get("dash") else ""
        out.append(
            f'<polyline points="{way}" fill="none" stroke="{curve["colour"]}" stroke-width="2.2"{dash}/>'
        )
        for x, y in curve["points"]:
            out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.6" fill="{curve["colour"]}"/>')
    return "".join(out) + "</svg>"


def legend(curves: list[dict]) -> str:
    """Name the curves."""
    items = []
    for curve in curves:
        dash = f' stroke-dasharray="{curve["dash"]}"' if curve.get("dash") else ""
        line = f'<svg width="34" height="10"><line x1="0" x2="34" y1="5" y2="5" stroke="{curve["colour"]}" '
        items.append(f'<span>{line}stroke-width="2.2"{dash}/></svg> {html.escape(curve["name"])}</span>')
    return "<p class='legend'>" + " ".join(items) + "</p>"


STYLE = """
body { font: 14px/1.45 "DejaVu Sans", sans-serif; color: #1d2733; background: #fff }
body { margin: 24px 30px; width: 1220px }
h1 { font-size: 20px; margin: 0 0 4px } p { margin: 0 0 10px; color: #52606d }
.legend span { margin-right: 22px; white-space: nowrap } svg text { font-size: 12px; fill: #52606d }
svg text.head { font-size: 14px; font-weight: bold; fill: #1d2733 } .end { text-anchor: end }
.mid { text-anchor: middle } .grid { stroke: #e4e8ec } .limit { stroke: #9aa5b1; stroke-dasharray: 2 4 }
"""


def main() -> None:
    """Write the page."""
    spec = json.load(sys.stdin)
    body = f"<h1>{html.escape(spec['title'])}</h1><p>{html.escape(spec['note'])}</p>"
    body += legend(spec["panels"][0]["curves"]) + "".join(panel(one) for one in spec["panels"])
    page = f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style>{body}"
    pathlib.Path(sys.argv[1]).write_text(page)


if __name__ == "__main__":
    main()
