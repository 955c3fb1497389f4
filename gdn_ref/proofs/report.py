"""What one check or one published slip says of itself, in words; and the mutants, counted."""

METHODS = {
    "algebra": "computer algebra, symbolic sizes",
    "polynomial": "exact identity of polynomials, every entry a symbol",
    "enumeration": "exact numbers, case by case: counts, and all cases of a small size",
    "modular": "exact arithmetic modulo 2^61 - 1 on random elements",
    "float64": "float64, relative Frobenius error at most 1e-12",
}


ARITHMETIC = {  # in which the printed form is evaluated
    "modular": "float64 and integers modulo 2^61 - 1",
    "rational": "exact fractions",
    "counted": "whole numbers, counted",
    "float64": "float64",
}


def distinct(results):
    """`{(label, mutant): was it rejected wherever it was tried?}` over the results of checks.

    A mutant is a mistake in an equation, so it counts once for each equation, whichever checks
    try it. Two are the same if they have one name: the registry's names say what is wrong.
    """
    found = {}
    for result in results:
        for mutant in result["mutants"]:
            key = result["label"], mutant["name"]
            found[key] = found.get(key, True) and mutant["rejected"]
    return found


def complaints(result):
    """One line for each thing that is wrong with the result of a check: a crash, a residual, a
    mutant that survives, wrong inputs that it takes."""
    label, name = result["label"], result["name"]
    if result["crashed"]:
        return [f"CRASHED {label}: {result['crashed']} ({name})"]
    lines = []
    lines += [f"FAILED {label}: {what} ({name})" for what in result["page"]]
    if not result["passed"] and not lines:
        lines.append(f"FAILED {label}: residual {result['residual']} ({name})")
    for kind, verb in (("mutants", "survived"), ("inputs", "were accepted")):
        what = "the mutant" if kind == "mutants" else "the wrong inputs"
        lines += [
            f"FAILED {label}: {what} {x['name']!r} {verb} ({name})"
            for x in result[kind]
            if not x["rejected"]
        ]
    return lines


def absent(label, why):
    """The result for a printed equation that cannot be evaluated here, say without torch."""
    return {
        "label": label,
        "kind": "absent",
        "place": "",
        "problems": [],
        "crashed": "",
        "why": why,
    }


def printed_complaints(result):
    """One line for each thing that is wrong with an equation as it is printed."""
    where = f"{result['label']} as printed in {result['place'] or 'no chapter'}"
    if result["crashed"]:
        return [f"CRASHED {where}: {result['crashed']}"]
    return [f"FAILED {where}: {problem}" for problem in result["problems"]]


def beyond_one_edit(pages):
    """What became of two edits at a time, and of terms of the same value, over these equations."""
    rows = []
    for kind, words in (("doubles", "double edits"), ("alike", "terms of equal value exchanged")):
        found = [page[kind] for page in pages]
        number, refused = (sum(m[key] for m in found) for key in ("by_number", "refused"))
        equal, left = (sum(len(m[key]) for m in found) for key in ("equal", "survived"))
        rows.append(
            f"of {number + refused + equal + left:,} {words} {number:,} rejected by number, "
            f"{refused:,} without a value, {equal:,} equal, {left:,} left"
        )
    return "; ".join(rows)


def sentence_complaints(chapter):
    """One line for each formula in a chapter's sentences that neither holds nor is listed."""
    return [f"FAILED sentence in {problem}" for problem in chapter["problems"]]


class Report:
    """What `prove` returns: printed in a notebook, it shows what was done to the equation as it
    is printed, then each check and what it rejected."""

    def __init__(self, results, printed=None):
        self.results, self.printed = results, printed

    def complaints(self):
        printed = printed_complaints(self.printed) if self.printed else []
        return [*printed, *(line for r in self.results for line in complaints(r))]

    def __bool__(self):
        return not self.complaints()

    @property
    def crashed(self):
        return any(line.startswith("CRASHED") for line in self.complaints())

    def __repr__(self):
        first = ["\n".join(_printed_lines(self.printed))] if self.printed else []
        return "\n\n".join([*first, *("\n".join(_lines(r)) for r in self.results)])


def _printed_lines(r):
    if complaints := printed_complaints(r):
        yield from complaints
        return
    yield f"{r['label']} {printed_summary(r)}"
    if r["place"]:
        yield f"  {r['place']}"
    if r["kind"] == "evaluated":
        yield f"  its values from {r['against']}; off by {r['residual']:.1e} at most"
        found = r["mutants"]
        by = ", ".join(f"{count} {kind}" for kind, count in sorted(found["kinds"].items()))
        yield f"  altered forms: {by}"
        yield f"  {found['by_number']} rejected by number, {found['refused']} without a value"
        yield f"  {beyond_one_edit([r])}"
        for same in (s for kind in ("mutants", "doubles", "alike") for s in r[kind]["equal"]):
            yield f"  equal: {same['form']} ({same['why']})"
        if r["data"]:
            yield f"  its data contain {', '.join(r['data'])}"
        for what in r["needs"]:
            yield f"  false without {what}"


def printed_summary(r):
    """What was done to the printed form, in one line that is true."""
    if r["kind"] == "absent":
        return f"was not evaluated as printed: {r['why']}"
    if r["kind"] == "read":
        return f"was read beside {r['against']}, not evaluated: {r['why']}"
    rejected = r["mutants"]["by_number"] + r["mutants"]["refused"]
    word = "defines as printed" if r["defines"] else "holds as printed"
    return f"{word}: {ARITHMETIC[r['arithmetic']]}, {rejected} altered forms rejected"


def _lines(r):
    if r["crashed"]:
        yield f"{r['label']} CRASHED in {r['name']}: {r['crashed']}"
    else:
        size = f"{r['residual']:.1e}" if isinstance(r["residual"], float) else r["residual"]
        yield f"{r['label']} {'holds' if r['passed'] else 'FAILS'}: residual {size}"
    yield from (f"  {what}" for what in r["page"])
    if r["part"]:
        yield f"  its part: {r['part']}"
    yield f"  by {METHODS[r['method']]}"
    yield f"  for {r['covers']}"
    for m in r["mutants"]:
        yield f"  {'rejects ' if m['rejected'] else 'SURVIVED'} {m['name']}"
    for x in r["inputs"]:
        yield f"  {'refuses ' if x['rejected'] else 'ACCEPTED'} inputs: {x['name']}"


def summary(r):
    """Two lines for the result of one check: verdict and coverage."""
    verdict = "CRASHED" if r["crashed"] else "holds" if r["passed"] else "FAILS"
    rejected = sum(mutant["rejected"] for mutant in r["mutants"])
    part = f"    its part: {r['part']}\n" if r["part"] else ""
    return (
        f"{r['label']} {verdict} ({r['method']}), rejects {rejected} of {len(r['mutants'])} "
        f"mutants\n{part}    for {r['covers']}"
    )
