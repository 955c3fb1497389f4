r"""What a display says: statements, conditions, premises, words; and what cannot be read."""

import pytest

from gdn_ref.proofs.printed import source
from gdn_ref.proofs.printed.lexer import NotRead, tokens
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.tree import parse, render


def claims(tex):
    return [render(statement.claim) for statement in statements(tex)]


def conditions(tex):
    return [[render(c) for c in statement.conditions] for statement in statements(tex)]


@pytest.mark.parametrize(
    "tex, name",
    [
        (r"\mathbf S", r"\mathbf{S}"),
        (r"\tilde{\mathbf{A}}", r"\tilde{\mathbf{A}}"),
        (r"\bar d", r"\bar{d}"),
        (r"\mathrm{d}\mathbf{S}", r"d\mathbf{S}"),
        (r"\mathrm dx", "dx"),
        (r"\nabla\mathcal{L}", r"\nabla\mathcal{L}"),
        (r"\partial\, \texttt{A\_log}", r"\partial A\_log"),
        (r"\operatorname{conv}", "conv"),
        (r"\beta", r"\beta"),
    ],
)
def test_one_letter(tex, name):
    (token,) = tokens(tex)
    assert (token.kind, token.text) == ("NAME", name)


@pytest.mark.parametrize(
    "one, other",
    [
        (r"\mathbf{S}_{t - 1}\boldsymbol{k}_t", r"\mathbf S_{t-1}\,\boldsymbol k_{t}"),
        (r"\frac12 x", r"\tfrac{1}{2}\;x"),
        (r"\mathbf{W}_{\!\leftarrow}", r"\mathbf{W}_\leftarrow"),
        (r"\left( a + b \right)", r"\bigl(a+b\bigr)"),
        (r"a \cdot b", r"a\ b"),
        (r"x_1 + \dots + x_n", r"x_1+\cdots+x_n"),
        (r"A := B", r"A = B"),
        (r"\underbrace{a}_{\text{base}}\,b", r"{a}b"),
    ],
)
def test_two_ways_to_write_one_thing(one, other):
    assert claims(one) == claims(other)


def test_scripts_take_one_sign_or_what_is_in_braces():
    assert claims("x^10") == ["x^{1}0"] and claims("x^{10}") == ["x^{10}"]


@pytest.mark.parametrize(
    "tex, kinds",
    [
        ("ab/c", ("quotient", "product", "letter")),
        (r"a \cdot (b)", ("product", "letter", "group")),
        (r"a \odot bc", ("hadamard", "letter", "product")),
        (r"a + bc", ("sum", "letter", "product")),
        (r"\sum_{i \le t} a_i b", ("big", "down", "product")),
        (r"\cos 2\theta\,(b)", ("product", "apply", "group")),
        (r"\mathbf{S}'_{J:}", ("scripted", "letter", "prime", "down")),
        (r"-\mathbf{A}^2", ("sum", "scripted")),
        (r"(l \bmod 8)", ("group", "remainder")),
        (r"C\times d_v", ("times", "letter", "scripted")),
        (r"(a,\ b)", ("group", "tuple")),
        (r"[a_{ij}]_{i,j=0}^{m-1}", ("scripted", "group", "down", "up")),
        (r"\lfloor a \rfloor \lceil b \rceil", ("product", "floor", "ceil")),
        (r"\|\|a\|^2 b\|", ("norm", "product")),
        (r"|1 - |a|\,b|", ("bar", "sum")),
    ],
)
def test_what_binds(tex, kinds):
    node = parse(tokens(tex))
    assert (node.kind, *(part.kind for part in node.parts)) == kinds


def test_rows_and_what_goes_on():
    tex = r"""
    \begin{aligned}
    a &= b \\
      &\quad + c, \\[2pt]
    d &= e + \\ &f, && g = h \\
    u &= v .
    \end{aligned}
    """
    assert claims(tex) == ["a = b + c", "d = e + f", "g = h", "u = v"]
    assert claims(r"a &= (b \\ &\quad + c) \\ &= d - e") == ["a = (b + c) = d - e"]


@pytest.mark.parametrize(
    "tex, found",
    [
        (r"a = b \quad (i < r)", [["i < r"]]),
        (r"a = b \quad \text{if } c \ne 0", [[r"c \ne 0"]]),
        (r"a = b \quad \text{if } c = 0, \quad d < e", [["c = 0"], []]),
        (r"a = b \quad (i < r) \quad \text{for } c = 2", [["c = 2", "i < r"]]),
        (r"a = b, \quad c = d \quad (i < r)", [[], ["i < r"]]),
    ],
)
def test_conditions(tex, found):
    assert conditions(tex) == found


def test_premises():
    one, other = statements(r"a = 0,\quad b = 0 \ \Longrightarrow\ c = d, \quad e = f")
    assert [render(p) for p in one.premises] == [
        "a = 0",
        "b = 0",
    ] and one.premises == other.premises
    (ruled,) = statements(r"\beta = 1:\quad \mathbf{P}^2 = \mathbf{P}")
    assert [render(p) for p in ruled.premises] == [r"\beta = 1"]


def test_words():
    named = statements(r"\text{solve:} & \tfrac12 C \\ \text{inverse:} & C")
    assert [s.words for s in named] == ["solve", "inverse"]
    assert claims(r"\text{cache bytes} = T") == ["cache bytes = T"]  # a quantity
    below = r"\underbrace{b\,c}_{\text{base}}"
    (remarked,) = statements(rf"a = {below} + 1 && \text{{once}} \text{{($d-1$ times)}}")
    assert remarked.remarks == ("bc is the base", "once", "($d-1$ times)")


def test_a_table_is_one_thing():
    (claim,) = claims(r"f = \begin{cases} a & i \le r \\ 0 & i > r \end{cases}")
    assert claim == r"f = \begin{cases}a & i \le r \\ 0 & i > r\end{cases}"


ALL = "no meaning is known for all of"


@pytest.mark.parametrize(
    "tex, message",
    [
        (r"a \longrightarrow b", r"no meaning is known for \\longrightarrow"),
        (r"a % b", "no meaning is known for %"),
        (r"a = (b", "did not expect the end"),
        (r"ab = c)d", r"did not expect '\)' at character 6"),
        (r"0.5\,a", r"did not expect '\.' at character 1"),
        (r"a \text{ or } b", "words in the middle of a claim: 'or'"),
        (r"a = b \quad \text{if and only if } c = 0", "words in the middle of a claim"),
        (r"\text{always:}\quad a = b", "words before an equation: 'always'"),
        (r"\mathrm{silu}'(a)", "did not expect"),
        (r"\sum_i' a_i", "did not expect"),
        (r"\mathbb{E}_a\,b", "did not expect"),
        (r"\begin{vmatrix}a\end{vmatrix}", "no meaning is known for a table vmatrix"),
        (r"\frac{a", "a brace that is not closed"),
        (r"\frac{a}", "a command without its argument"),
        (r"\mathrm{d}(x)", r"d before \(, which is no letter"),
        (r"\text{if } i < r", "a condition of nothing"),
        (r"\begin{aligned}\end{aligned}", "nothing is stated"),
        (r"a = b \quad c", "two things side by side"),
        (r"a = 4\,4\,b", "two numbers side by side: 4 and 4"),
        (r"a/bc", ALL),
        (r"a/b\cdot c", ALL),
        (r"\mathbb{E}[b]^2", ALL),
        (r"\mathbb{E}[b]\,c", ALL),
        (r"[b] + c", ALL),
        (r"\ln b\,c", ALL),
        (r"\ln\frac{b}{c}\,d", ALL),
        (r"\mathrm{tr}[b]^2", ALL),
        (r"\mathrm{Var}_a\, b", ALL),
        (r"\mathrm{tril}^\top(b)", "did not expect"),
        (r"\log b", ALL),
        (r"\log_2^\ast b", "did not expect"),
        (r"\ln' b", "did not expect"),
        (r"\sum_{i>0}^{n} b", ALL),
        (r"\|b\|_2'", ALL),
        (r"\|b\|^{(2)}", ALL),
        (r"b \in \mathbb{R}_n", ALL),
        (r"\ln b\,(c)", ALL),
        (r"\ln2\,b", ALL),
        (r"\exp2(b)", ALL),
        (r"\cos2(b)", ALL),
        (r"a\bmod b\cdot c", ALL),
        (r"a/b\bmod c", ALL),
        (r"a\bmod b\bmod c", ALL),
        (r"a\times b/c", ALL),
        (r"a_b_c", ALL),
        (r"a^b_c^d", ALL),
        (r"\ln b/c", ALL),
        (r"\prod_i b_i/c", ALL),
        (r"a\sum_i b_i \odot c", ALL),
        (r"a = b \qquad (c)", "two things side by side"),
        (r"a = b \qquad \ln c", "two things side by side"),
        (r"a &= b & c", "a mark between b and c"),
        (r"a &= b && (c)", "a mark between b and"),
        (r"a &= b &+ c", "a mark between b and"),
        (r"a &= b & c &= d", "a mark between b and c"),
        (r"a &= b \\ + c &= d", "begins left of its mark"),
        (r"a &= b \\ \cdot c &= d", "begins left of its mark"),
        (r"a &= b + \\ c &= d", "begins left of its mark"),
        (r"a &= (b \\ c &+ d)", "begins left of its mark"),
        (r"a = b \\ - c = d", "begins left of its mark"),
    ],
)
def test_what_cannot_be_read(tex, message):
    with pytest.raises(NotRead, match=message):
        statements(tex)


def test_the_chapters_can_be_read_back():
    """A canonical form says the same as the display that it was made of."""
    read = 0
    for display in source.displays().values():
        try:
            stated = statements(display.tex)
        except NotRead:
            continue  # `printed.read` says why
        for statement in stated:
            for node in statement.nodes:
                text = render(node)
                kinds = {n.kind for n in node.walk()}
                words = any(n.kind == "letter" and set(" _-") & set(n.info) for n in node.walk())
                if "table" not in kinds and not words:
                    assert render(parse(tokens(text))) == text, display.label
                    read += 1
    assert read > 300
