"""The notebook's twin of the figure `equation-lines`: two menus and the source."""

import html

import ipywidgets as widgets

from .ch15_lines import FORWARD
from .style import COLOUR

ALL = "all"


def equation_lines_widget(source_of=FORWARD):
    """Pick an equation to light its lines, or a line to light its equation."""
    lines, equations = source_of.lit_lines(), source_of.equations
    equation = widgets.Dropdown(
        description="equation",
        options=[
            ("all of them", ALL),
            *((formula, key) for key, (formula, *_) in equations.items()),
        ],
    )
    line = widgets.Dropdown(
        description="line",
        options=[("none", None)]
        + [(f"{entry['file']} {entry['line']}", n) for n, entry in enumerate(lines)],
    )
    source, words = widgets.HTML(), widgets.HTML()

    def draw():
        here = None if line.value is None else lines[line.value]
        source.value = _source(equations, lines, equation.value, here)
        words.value = html.escape(_words(equations, lines, equation.value, here))

    def pick_equation(change):
        if line.value is not None and lines[line.value]["eq"] != equation.value:
            line.value = None
        draw()

    def pick_line(change):
        if line.value is not None:
            equation.value = lines[line.value]["eq"]
        draw()

    equation.observe(pick_equation, names="value")
    line.observe(pick_line, names="value")
    draw()
    return widgets.VBox([widgets.HBox([equation, line]), words, source])


def _words(equations, lines, key, here):
    if here is not None:
        return here["says"]
    if key == ALL:
        return f"{len(lines)} lines carry {len(equations)} statements."
    own = sum(entry["eq"] == key for entry in lines)
    return f"{equations[key][2]}: {own} {'line' if own == 1 else 'lines'}."


def _source(equations, lines, key, here):
    rows = []
    for entry in lines:
        lit = key in (ALL, entry["eq"])
        colour = COLOUR[equations[entry["eq"]][1]] if lit else "transparent"
        style = f"border-left:4px solid {colour};padding-left:4px;opacity:{1 if lit else 0.45};"
        style += "font-weight:bold;" if entry is here else ""
        name = f"{entry['file'].removesuffix('.py')} {entry['line']:3}"
        rows.append(f'<div style="{style}">{name}  {html.escape(entry["text"])}</div>')
    return f'<pre style="line-height:1.4;font-size:11px">{"".join(rows)}</pre>'
