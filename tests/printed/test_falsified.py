"""A slip in a display is found, whichever chapter it is in and whoever made it."""

from collections import Counter
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
from bending import (
    DESIGNED_EIGHTH,
    DESIGNED_ELEVENTH,
    DESIGNED_NINTH,
    DESIGNED_SEVENTH,
    DESIGNED_SIXTH,
    DESIGNED_TENTH,
    DESIGNED_TWELFTH,
)
from coinciding import (
    BENT,
    DESIGNED,
    DESIGNED_AGAIN,
    DESIGNED_FIFTH,
    DESIGNED_THIRD,
    ENDLESS,
    FEW_VALUES,
    PASSED,
    PASSED_AGAIN,
    PASSED_CASES,
    PASSED_FIFTH,
    PASSED_POWERS,
    PASSED_THIRD,
    SCARCE,
)
from falsified import FALSIFIED, REVIEW
from hidden import HIDDEN
from never_met import BESIDE_IT, NEVER_MET, READ_OTHERWISE
from one_sided import (
    AS_THE_PAGE,
    CHOSEN,
    IN_BRACKETS,
    IN_WORDS,
    LESS_IS_LEFT,
    LOW_RANKS,
    LOW_RANKS_AGAIN,
    NOT_ASKED,
    NOT_DRAWN,
    NOT_ENOUGH,
    NOTHING_WRITTEN,
    ONE_SIDED,
    OTHER_ROOTS,
    POOR,
    RESTORED,
    SMALLEST,
    TAKEN_AWAY,
    UNREAD,
    UNSOLVED,
    WITHIN_BOUNDS,
)
from unread import APART, BESIDE, IN_BOLD, READ_PAST

from gdn_ref.proofs.printed import check, load, position, source

FALSE = ("is false as it is printed", "cannot be evaluated", "its words are", "its TeX has changed")


@pytest.fixture(scope="module", autouse=True)
def worlds():
    """The chapters' register; each world is made once, for all slips of its display."""
    load()
    kept = dict(check.PRINTED)
    made = cache(lambda world: cache(world))
    for label, entry in kept.items():
        check.PRINTED[label] = replace(entry, world=made(entry.world))
    yield
    check.PRINTED.update(kept)


@pytest.mark.parametrize("label, old, new", [*FALSIFIED, *WITHIN_BOUNDS])
def test_a_slip_is_found(monkeypatch, label, old, new):
    display = source.displays()[label]
    assert display.tex.count(old) == 1, f"write this row anew: {display.tex}"
    slipped = replace(display, tex=display.tex.replace(old, new))
    monkeypatch.setattr(check, "displays", lambda: {label: slipped})
    found = check.run(label)
    assert not found["crashed"]
    assert found["problems"] and found["problems"][0].startswith(FALSE), found["problems"]


def problems_of(monkeypatch, label, old, new):
    """What the build says of this false form."""
    display = source.displays()[label]
    assert display.tex.count(old) == 1, f"write this row anew: {display.tex}"
    slipped = replace(display, tex=display.tex.replace(old, new))
    monkeypatch.setattr(check, "displays", lambda: {label: slipped})
    found = check.run(label)
    assert not found["crashed"]
    return found["problems"]


@pytest.mark.parametrize(
    "label, old, new",
    [
        *DESIGNED,
        *NEVER_MET,
        *READ_OTHERWISE,
        *PASSED_AGAIN,
        *PASSED_THIRD,
        *PASSED_CASES,
        *PASSED_POWERS,
        *FEW_VALUES,
        *SCARCE,
        *ONE_SIDED,
        *NOT_ASKED,
        *POOR,
        *OTHER_ROOTS,
        *LOW_RANKS,
        *LOW_RANKS_AGAIN,
        *AS_THE_PAGE,
        *RESTORED,
        *LESS_IS_LEFT,
        *TAKEN_AWAY,
        *NOTHING_WRITTEN,
        *IN_BRACKETS,
        *SMALLEST,
        *UNREAD,
        *NOT_DRAWN,
        *APART,
    ],
)
def test_no_coincidence_hides_it(monkeypatch, label, old, new):
    """Or the numbers are so few that such a formula has to vanish: then these are too special."""
    problems = problems_of(monkeypatch, label, old, new)
    assert problems and problems[0].startswith((*FALSE, "its sizes are special")), problems


@pytest.mark.parametrize(
    "label, old, new",
    DESIGNED_AGAIN[len(PASSED_AGAIN) :]
    + BESIDE_IT
    + DESIGNED_THIRD[len(PASSED_THIRD) :]
    + BENT
    + DESIGNED_FIFTH
    + DESIGNED_SIXTH
    + DESIGNED_SEVENTH
    + DESIGNED_EIGHTH
    + DESIGNED_NINTH
    + DESIGNED_TENTH
    + DESIGNED_ELEVENTH
    + DESIGNED_TWELFTH
    + UNSOLVED
    + IN_WORDS
    + READ_PAST
    + BESIDE
    + IN_BOLD
    + CHOSEN,
)
def test_the_build_refuses_it(monkeypatch, label, old, new):
    """If not for its own sake, then because a form beside it passes as well."""
    assert problems_of(monkeypatch, label, old, new)


@pytest.mark.parametrize("label, old, new, premise", NOT_ENOUGH)
def test_it_does_not_need_the_premise(monkeypatch, label, old, new, premise):
    assert f"does not need {premise}" in problems_of(monkeypatch, label, old, new)


@pytest.mark.parametrize("label, old, new, why", HIDDEN)
def test_what_the_build_does_not_refuse_yet(monkeypatch, label, old, new, why):
    if not problems_of(monkeypatch, label, old, new):
        pytest.xfail("not refused yet")
    pytest.fail("refused now: it belongs in coinciding.py")


@pytest.mark.parametrize("label, old, new", ENDLESS)
def test_the_search_for_sizes_ends(monkeypatch, label, old, new):
    """By a clock on which a draw takes a second."""
    draws, drawn = [], position._drawn
    monkeypatch.setattr(position, "_drawn", lambda more: draws.append(more) or drawn(more))
    clock = SimpleNamespace(thread_time=lambda: len(draws))
    monkeypatch.setattr(position, "time", clock)
    monkeypatch.setattr(position, "SECONDS", 10)
    problems = problems_of(monkeypatch, label, old, new)
    assert problems and problems[0].startswith("its sizes are special"), problems
    assert len(draws) <= position.SECONDS


def test_slips_in_every_chapter():
    """Those that a review once printed in a copy of the book, and at least three in a chapter."""
    chapters = {display.notebook for display in source.displays().values()}
    slips = Counter(source.displays()[label].notebook for label, _, _ in FALSIFIED)
    assert set(slips) == chapters and min(slips.values()) >= 3
    assert len(set(FALSIFIED)) == len(FALSIFIED) >= len(REVIEW) + 60
    assert len({*DESIGNED, *FALSIFIED}) == 54 + len(FALSIFIED) and len(PASSED) == 10
    again = {*DESIGNED_AGAIN} - {*DESIGNED, *FALSIFIED}
    assert len(again) == len(DESIGNED_AGAIN) >= 84
    third = {*DESIGNED_THIRD} - again - {*DESIGNED, *FALSIFIED}
    assert len(third) == len(DESIGNED_THIRD) >= 60 and len(PASSED_THIRD) == 18
    fifth = {*DESIGNED_FIFTH} - third - again - {*DESIGNED, *FALSIFIED}
    assert len(fifth) == len(DESIGNED_FIFTH) >= 119 and len(PASSED_FIFTH) == 47
    sixth = {*DESIGNED_SIXTH} - fifth - third - again - {*DESIGNED, *FALSIFIED}
    assert len(sixth) == len(DESIGNED_SIXTH) >= 85
    seventh = {*DESIGNED_SEVENTH} - sixth - fifth - third - again - {*DESIGNED, *FALSIFIED}
    assert len(seventh) == len(DESIGNED_SEVENTH) >= 30
    eighth = {*DESIGNED_EIGHTH} - seventh - sixth - fifth - third - again - {*DESIGNED, *FALSIFIED}
    assert len(eighth) == len(DESIGNED_EIGHTH) >= 26
    assert len({*DESIGNED_TENTH} - eighth - seventh - sixth - fifth) == len(DESIGNED_TENTH) >= 14
    for forms in (again, third, fifth, sixth):
        assert len({source.displays()[label].notebook for label, _, _ in forms}) >= 18
