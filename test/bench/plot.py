# SPDX-License-Identifier: BSL-1.0
"""Plots as SVG, in colours that can be read on white and on black."""
import math
from html import escape

COLOURS = ["#d9730d", "#2f80d0", "#2e9e5b", "#a05fc4", "#c2504f", "#8a8d3a"]
TEXT = "#80868d"
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 52


def text(x, y, words, anchor="start", colour=TEXT, size=13, more=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}"{more}>{escape(words)}</text>'
    )


def line(x1, y1, x2, y2, opacity):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{TEXT}" '
        f'stroke-opacity="{opacity}"/>'
    )


def document(title, x_label, y_label, parts):
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" role="img">',
            f"<title>{escape(title)}</title>",
            text(LEFT, 22, title, size=15, more=' font-weight="bold"'),
            *parts,
            text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 12, x_label, "middle"),
            text(18, middle, y_label, "middle", more=f' transform="rotate(-90 18 {middle:.1f})"'),
            "</svg>\n",
        ]
    )


def spread_labels(wanted, gap=16):
    """Positions as near to the wanted ones as labels can stand below each other."""
    placed = {}
    last = -math.inf
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        last = max(y, last + gap)
        placed[name] = last
    below = max(placed.values(), default=0) - (HEIGHT - BOTTOM)
    return {name: y - max(below, 0) for name, y in placed.items()}


def ticks(low, high):
    """1, 2 and 5 times the powers of ten in the range."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            if low <= digit * 10.0**power <= high * 1.0001:
                yield digit, digit * 10.0**power


def number(value):
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def log_lines(title, x_label, y_label, series):
    """`series`: for each name the points (x, y), all above 0."""
    points = [point for line_points in series.values() for point in line_points]
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    y_low, y_high = min(y for _, y in points) / 1.3, max(y for _, y in points) * 1.3

    def place(x, y):
        across = math.log(x / x_low) / math.log(x_high / x_low)
        up = math.log(y / y_low) / math.log(y_high / y_low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = []
    for _, y in ticks(y_low, y_high):
        _, at = place(x_low, y)
        parts += [line(LEFT, at, WIDTH - RIGHT, at, 0.25), text(LEFT - 8, at + 4, number(y), "end")]
    for digit, x in ticks(x_low, x_high):
        at, _ = place(x, y_low)
        if digit == 1:
            parts += [line(at, TOP, at, HEIGHT - BOTTOM, 0.25),
                      text(at, HEIGHT - BOTTOM + 18, number(x), "middle")]
    ends = {}
    for (name, line_points), colour in zip(series.items(), COLOURS):
        placed = [place(x, y) for x, y in line_points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed]
        ends[name] = (placed[-1][1] + 4, colour)
    for name, y in spread_labels({name: y for name, (y, _) in ends.items()}).items():
        parts.append(text(WIDTH - RIGHT + 10, y, name, colour=ends[name][1]))
    return document(title, x_label, y_label, parts)


def bars(title, x_label, y_label, groups, series):
    """`series`: for each name one value for each of the groups."""
    high = max(max(values) for values in series.values()) * 1.05
    height = HEIGHT - TOP - BOTTOM
    group_width = (WIDTH - LEFT - RIGHT) / len(groups)
    bar_width = group_width * 0.8 / len(series)
    step = next(value for _, value in ticks(high / 8, high) if high / value <= 6)
    parts = []
    for i in range(int(high / step) + 1):
        at = HEIGHT - BOTTOM - i * step / high * height
        parts += [line(LEFT, at, WIDTH - RIGHT, at, 0.25),
                  text(LEFT - 8, at + 4, number(i * step), "end")]
    for i, group in enumerate(groups):
        parts.append(text(LEFT + (i + 0.5) * group_width, HEIGHT - BOTTOM + 18, group, "middle", size=12))
    for j, ((name, values), colour) in enumerate(zip(series.items(), COLOURS)):
        for i, value in enumerate(values):
            x = LEFT + (i + 0.1) * group_width + j * bar_width
            parts.append(
                f'<rect x="{x:.1f}" y="{HEIGHT - BOTTOM - value / high * height:.1f}" '
                f'width="{bar_width:.1f}" height="{value / high * height:.1f}" fill="{colour}"/>'
            )
        parts.append(text(WIDTH - RIGHT + 10, TOP + 14 + j * 18, name, colour=colour))
    return document(title, x_label, y_label, parts)
