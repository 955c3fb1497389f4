"""A table: on a page and in a notebook as one, in a terminal as columns of text."""

from html import escape


class Table:
    """Rows under a head, and a note below them, such as the machine that the numbers are from.

    Whole numbers are shown with commas, None as an empty cell, all else as `str` has it; so give
    fractions as text with the digits that are meant.
    """

    def __init__(self, head, rows, note=""):
        self.head, self.note = [str(name) for name in head], note
        self.rows = [[_cell(x) for x in row] for row in rows]
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"rows: expected {len(self.head)} cells, got {len(row)}: {row}")

    def _repr_html_(self):
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.head)
        rows = "".join(
            f'<tr><th scope="row">{escape(first)}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
            + "</tr>"
            for first, *rest in self.rows
        )
        note = f"<caption>{escape(self.note)}</caption>" if self.note else ""
        return (
            f'<div class="gdn-scroll"><table class="gdn-numbers">{note}'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def __repr__(self):
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]).rstrip()
            for first, *rest in lines
        ]
        return "\n".join([*text, *([self.note] if self.note else [])])


def _cell(x):
    if x is None:
        return ""
    return f"{x:,}" if isinstance(x, int) else str(x)
