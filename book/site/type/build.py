"""The book's two faces: Source Serif 4 and Source Code Pro, with the signs that the book uses.

    npm ci && uv run --no-project --with 'fonttools[woff]==4.68.0' build.py

Pages take them as WOFF2 (book/_static/vendor/type), drawings of matplotlib as TrueType
(gdn_ref/figures/type). A sign that Source Serif lacks comes from Source Code Pro or STIX Two Math,
or is one of its own letters, raised or lowered. The licence keeps the name "Source" for the
unchanged faces, so these are called `GDN Text` and `GDN Mono`. The same versions, the same bytes.

A page has 70 KB of them: what the book writes, and room for a few more names. `tests/test_type.py`
says which letter is missing.
"""

import shutil
from pathlib import Path

from fontTools import subset
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph, GlyphComponent

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "_static" / "vendor" / "type"
DRAWINGS = HERE.parents[2] / "gdn_ref" / "figures" / "type"
PACKAGES = HERE / "node_modules"
SERIF, CODE = PACKAGES / "source-serif", PACKAGES / "source-code-pro"
STIX = PACKAGES / "@fontsource/stix-two-math"
FACES = {  # our file: theirs, family, style
    "text-regular": (SERIF / "TTF/SourceSerif4-Regular.ttf", "GDN Text", "Regular"),
    "text-italic": (SERIF / "TTF/SourceSerif4-It.ttf", "GDN Text", "Italic"),
    "text-semibold": (SERIF / "TTF/SourceSerif4-Semibold.ttf", "GDN Text", "Bold"),
    "mono-regular": (CODE / "TTF/SourceCodePro-Regular.ttf", "GDN Mono", "Regular"),
}
LICENCES = {
    "serif": SERIF / "LICENSE.md",
    "mono": CODE / "LICENSE.md",
    "signs": STIX / "LICENSE",
}
SIGNS = [  # where a sign that a face lacks is looked for
    CODE / "TTF/SourceCodePro-Regular.ttf",
    STIX / "files/stix-two-math-latin-400-normal.woff2",
]
LETTERS = "ÀÁÂÄÅÃÇÈÉÊËÍÎÏÑÓÔÖØÚÜÝßàáâäåãæçèéêëìíîïñóôöõøùúûüýćĉČčěğŁłńřśŞşŠšŽž"
GREEK = "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθικλμνξπρστφχψω"
MARKS = "\xa0£§©«®°±²³µ·¹»½×÷‐‑–—‘’“”•…′‖"
INDICES = "⁰⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉₋ᵀᵧₜ"
MATHS = "←↑→↓⇒∂∈∑−√∞≈≝≠≡≤≥⊙⌊⌋⟨⟩"
SHAPES = "□▸▾○●✓✗"
TEXT = {*range(0x20, 0x7F), *map(ord, LETTERS + GREEK + MARKS + INDICES + MATHS + SHAPES)}
MADE = {  # a sign: its letter, size, and how far it is raised, in thousandths of an em
    "ᵀ": ("T", 0.6, 300), "⁻": ("−", 0.6, 330), "₋": ("−", 0.6, -160), "ₜ": ("t", 0.62, -150),
    "ᵧ": ("γ", 0.62, -150), "✗": ("×", 1.15, -20), "‑": ("-", 1, 0), "‐": ("-", 1, 0),
}  # fmt: skip
LARGER = 920  # units to the em in drawings, whose sizes are those of a face with larger letters
FEATURES = ["kern", "liga", "tnum"]


def main():
    signs = [TTFont(path) for path in SIGNS]
    for folder in (PAGES, DRAWINGS):
        folder.mkdir(exist_ok=True)
        for name, path in LICENCES.items():
            shutil.copy(path, folder / f"LICENSE-{name}")
    for name, (path, family, style) in FACES.items():
        font = TTFont(path, recalcTimestamp=False)
        complete(font, signs)
        keep(font, TEXT)
        rename(font, family, style)
        font.flavor = "woff2"
        font.save(PAGES / f"{name}.woff2")
        font.flavor, font["head"].unitsPerEm = None, LARGER
        font.save(DRAWINGS / f"{name}.ttf")


def complete(font, signs):
    """Give the font what it lacks of `TEXT`; all these fonts have 1000 units to the em."""
    for code in sorted(TEXT - font.getBestCmap().keys()):
        if chr(code) in MADE:
            letter, size, rise = MADE[chr(code)]
            add(font, code, *scaled(font, font.getBestCmap()[ord(letter)], size, rise))
            continue
        other = next((one for one in signs if code in one.getBestCmap()), None)
        if other is None:
            raise ValueError(f"TEXT: expected signs of these fonts, got {chr(code)} U+{code:04X}")
        name = other.getBestCmap()[code]
        glyph = other.getGlyphSet()[name]
        add(font, code, outline(glyph), round(glyph.width))


def outline(glyph):
    pen = TTGlyphPen(None)
    whole = DecomposingRecordingPen(glyph.glyphSet)
    glyph.draw(whole)
    whole.replay(pen)
    return pen.glyph()


def scaled(font, name, size, rise):
    part = GlyphComponent()
    part.glyphName, part.x, part.y, part.flags = name, 0, rise, 0x200
    part.transform = [[size, 0], [0, size]]
    glyph = Glyph()
    glyph.numberOfContours, glyph.components = -1, [part]
    return glyph, round(size * font["hmtx"][name][0])


def add(font, code, glyph, width):
    name = f"uni{code:04X}"
    font["glyf"][name] = glyph
    font["hmtx"][name] = (width, 0)
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = (width, getattr(glyph, "xMin", 0))
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[code] = name


def keep(font, codes):
    options = subset.Options(layout_features=FEATURES, hinting=False, name_IDs=[0, 5, 13, 14])
    options.notdef_outline = True
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)


def rename(font, family, style):
    font["OS/2"].usWeightClass = 700 if style == "Bold" else 400
    names = font["name"]
    whole = f"{family} {style}"
    said = {1: family, 2: style, 3: whole, 4: whole, 6: whole.replace(" ", "")}
    for number, text in said.items():
        names.setName(text, number, 3, 1, 0x409)


if __name__ == "__main__":
    main()
