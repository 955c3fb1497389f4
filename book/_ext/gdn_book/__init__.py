"""What this book adds to Sphinx: badges under equations, their pages, and a build that fails.

The parts:

    results   reads the results of `python -m gdn_ref.proofs --json ...`
    rules     what makes the build fail: equations, checks and citations that do not match
    printed   what was done to each equation as it is printed; pages print what was evaluated
    slips     each slip of an equation in its badge, and the data that hide it
    signs     a formula that a script shows: HTML without typesetting
    badges    the note under each labelled equation
    formal    the fold under an equation that has a formal proof
    pages     the directives of the verification page
    equations the table of all equations on it, with a filter
    rests     which equation rests on which: the map, and a line in each badge
    sources   a page for each chapter's checks with their source
    errata    the errata page
    record    the execution page: how each notebook ran, and with which versions
    report    links to report a slip, once the repository has an address
    links     equation labels in code and docstrings become links; figure scripts
    numbers   chapter numbers come from file names
    launch    the buttons that run a notebook
    front     the first page's map of chapters and its reading paths
    opening   the first page's counted facts and its picture
    head      each page's description and card, and only the scripts that it needs
    maths     formulas are set, as drawings and for those who listen
    quiet     drawings without their call, imports and checks on one line, moving figures' numbers
    slim      the theme's style sheets and icons, without what no page uses
    together  one style sheet and one script for all pages
    previews  what a link leads to, shown beside it
    access    repairs for screen readers
    symbols   symbols lead to the notation page
    colours   letters that wear the colour of their role, for who asks
    addresses, tables, plain   what the others share
    pdf, onepage        the built site on paper: a program of its own, `make pdf`
"""

from pathlib import Path

from . import (
    access,
    badges,
    colours,
    equations,
    errata,
    formal,
    front,
    head,
    launch,
    links,
    maths,
    numbers,
    opening,
    pages,
    pictures,
    previews,
    printed,
    quiet,
    record,
    report,
    rests,
    results,
    rules,
    slim,
    slips,
    sources,
    symbols,
    together,
)


def setup(app):
    app.add_config_value("gdn_proofs_json", "_build/proofs.json", "env", types=[str])
    app.add_config_value("gdn_package", "gdn_ref", "env", types=[str])
    app.add_config_value("gdn_code", ["gdn_ref", "kernels"], "env", types=[list])
    app.add_config_value("gdn_proofs_digest", "", "env", types=[str])
    app.connect("config-inited", _fingerprint_the_results)
    parts = (
        rules,
        printed,
        badges,
        pages,
        equations,
        sources,
        errata,
        record,
        report,
        links,
        numbers,
    )
    parts += (rests, formal, launch, front, head, previews, symbols, colours, access)
    parts += (slips, quiet, opening, maths, pictures, slim, together)
    for part in parts:
        part.connect(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}


def _fingerprint_the_results(app, config):
    """New results rebuild every page: the digest is a configuration value."""
    config.gdn_proofs_digest = results.digest(Path(app.srcdir) / config.gdn_proofs_json)
