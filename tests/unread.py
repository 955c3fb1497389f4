r"""False forms that an evaluator read past: `(label, as printed, false)`.

A word beside `if`, a bracket at an index, a script on a mean, a prime on a sum: they had no meaning
to the notation, and what was left was true. What is false of each stands beside it.
"""

# ruff: noqa: E501 (a row is an equation)

READ_PAST = [  # until what has no meaning was not read, and a change was no number
    ("eq-least-squares-memory", r"\text{if } \mathrm{rank}\,\mathbf{K} = n", r"\text{if not } \mathrm{rank}\,\mathbf{K} = n"),  # no K K^T has an inverse there
    ("eq-condition-bound", r"\text{for } b = 2", r"\text{for all but } b = 2"),  # three tokens, b = 1: 6, not 15
    ("eq-transition-cases", r"\beta = 1:&\quad \mathbf{P}^2 = \mathbf{P}, && \mathbf{P}\boldsymbol{k} = \boldsymbol{0}, \\", r"&\mathbf{P}^2 = \mathbf{P} \quad \text{if and only if } \beta = 1, && \mathbf{P}\boldsymbol{k} = \boldsymbol{0} \quad \text{if and only if } \beta = 1, \\"),  # no strength: I^2 = I
    ("eq-gdn-residual", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if and only if } \boldsymbol{y} \perp \boldsymbol{k}_t"),  # a strength of 0
    ("eq-shard-state", r"\mathbf{S}_{(p+1)}&=\mathbf{S}_{(p)}\mathbf{F}_{(p)}+", r"\mathbf{S}_{p+1}&=\mathbf{S}_{p}\mathbf{F}_{(p)}+"),  # S_p is the state after p tokens
    ("eq-grad-token", r"\mathrm{d}\mathbf{S}_{t-1}&=", r"\mathrm{d}\mathbf{S}_{[t-1]}&="),  # S_[n] is the state before chunk n
    ("eq-inverse-doubling", r"\mathbf{X}^{(2b)} &=", r"\mathbf{X}^{2b} &="),  # a power: two tokens, I - 2A, not I - A
    ("eq-transition-determinant", r"\alpha^d\,(1", r"\alpha^{(d)}\,(1"),  # a rising factorial, or an index
    ("eq-effective-width", r"\mathbb{E}\,(\boldsymbol{k}^\top\boldsymbol{k}')^2", r"\mathbb{E}\,[\boldsymbol{k}^\top\boldsymbol{k}']^2"),  # keys as likely as their negatives: 0
    ("eq-decay-recall", r"\mathbb{E}\,\|\boldsymbol{e}\|^2 &=", r"\mathbb{E}[\|\boldsymbol{e}\|]^2 &="),  # less than the mean square
    ("eq-effective-width", r"\mathrm{tr}\,\boldsymbol{\Sigma}^2", r"\mathrm{tr}[\boldsymbol{\Sigma}]^2"),  # the square of 1
    ("eq-crosstalk-mean", r"\mathbb{E}\,\|\boldsymbol{e}_j\|^2", r"\mathbb{E}_{\boldsymbol{v}}\,\|\boldsymbol{e}_j\|^2"),  # the keys are random, not the values
    ("eq-retrieval-margin", r"\mathrm{Var}\,m", r"\mathrm{Var}_{\boldsymbol{k}}\,m"),  # one pair: no key counts
    ("eq-margin-pairs", r"\frac{d_k\, d_v}{2 \ln N}", r"d_k\, d_v / 2 \cdot \ln N"),  # from left to right: times ln N
    ("eq-hybrid-flops-crossover", r"\frac{W}{2\,L_a\,H_q\,d_a}", r"W/2\cdot L_a\,H_q\,d_a"),  # from left to right: times L_a
    ("eq-inverse-blocks", r"\begin{pmatrix} \mathbf{X}_e^{-1} & \mathbf{0} \\ \mathbf{Y} & \mathbf{X}_l^{-1} \end{pmatrix}^{-1}", r"\begin{vmatrix} \mathbf{X}_e^{-1} & \mathbf{0} \\ \mathbf{Y} & \mathbf{X}_l^{-1} \end{vmatrix}^{-1}"),  # a determinant
    ("eq-shard-rows", r"\begin{pmatrix}\bar{\mathbf{O}}_{(p)}&\hat{\mathbf{Q}}_{(p)}\end{pmatrix}", r"\begin{vmatrix}\bar{\mathbf{O}}_{(p)}&\hat{\mathbf{Q}}_{(p)}\end{vmatrix}"),  # a determinant
    ("eq-hybrid-decode-bytes", r"M_\text{cache}(T+1)", r"M_\text{cache}\cdot(T+1)"),  # times T + 1, which is in it already
    ("eq-gdn-loss", r"\nabla\mathcal{L}_t(\bar{\mathbf{S}})", r"\nabla\mathcal{L}_t\cdot\bar{\mathbf{S}}"),  # no product of two such matrices
    ("eq-gdn-step", '&& \\text{decay} \\\\\n\\boldsymbol{r}_t &= \\bar{\\mathbf{S}}\\,\\boldsymbol{k}_t && \\text{read} \\\\\n\\boldsymbol{\\delta}_t &= \\beta_t\\,(\\boldsymbol{v}_t - \\boldsymbol{r}_t) && \\text{correct} \\\\\n\\mathbf{S}_t &= \\bar{\\mathbf{S}} + \\boldsymbol{\\delta}_t\\boldsymbol{k}_t^\\top && \\text{write} \\\\\n\\boldsymbol{o}_t &= \\mathbf{S}_t\\,\\boldsymbol{q}_t && \\text{read out}', '&& \\text{decay} \\\\\n\\boldsymbol{r}_t &= \\bar{\\mathbf{S}}\\,\\boldsymbol{k}_t && \\text{read} \\\\\n\\boldsymbol{\\delta}_t &= \\beta_t\\,(\\boldsymbol{v}_t - \\boldsymbol{r}_t) && \\text{correct write} \\\\\n\\mathbf{S}_t &= \\bar{\\mathbf{S}} + \\boldsymbol{\\delta}_t\\boldsymbol{k}_t^\\top && \\text{read} \\\\\n\\boldsymbol{o}_t &= \\mathbf{S}_t\\,\\boldsymbol{q}_t && \\text{out}'),  # the line that writes
    ("eq-zigzag-steps", r"\lceil\log_2R\rceil", r"\lceil\log_2^\ast R\rceil"),  # the iterated logarithm
    ("eq-grad-decay", r"\sum_{s\ge r}\mathrm{d}c_s", r"\sum_{r\le s}\mathrm{d}c_s"),  # over r, which is given
    ("eq-crossing-sums", r"\sum_{i<r}\Bigl(", r"\sum_{r>i}\Bigl("),  # over r, which is given
    ("eq-decay-mask", r"0 & i > r", r"\mathbf{0} & i > r"),  # an entry is no matrix
    ("eq-grad-matrix", r"-\mathrm{tril}(\mathbf{Z}\mathbf{E}^\top,-1)", r"-\mathrm{tril}^\top(\mathbf{Z}\mathbf{E}^\top,-1)"),  # an upper triangle
    ("eq-interaction", r"\mathrm{tril}(\mathbf{B}\mathbf{K}\mathbf{K}^\top, -1)", r"\mathrm{tril}^\top(\mathbf{B}\mathbf{K}\mathbf{K}^\top, -1)"),  # an upper triangle
    ("eq-transition-norm", r"\|\mathbf{F}\|_2 =", r"\|\mathbf{F}\|_2' ="),  # the dual norm
    ("eq-gate-gradient", r"\partial g_t / \partial\, \texttt{A\_log} &= g_t", r"A\,\sigma(x_t)\,\partial a_t / \partial\, \texttt{A\_log} &= -g_t"),  # two inputs: 0
    ("eq-grad-flops", r"16\,C\,d_kd_v", r"4\,4\,C\,d_kd_v"),  # forty-four
    ("eq-gdn-rows", r"[\boldsymbol{v}_t]_i", r"(\boldsymbol{v}_t)_{(i)}"),  # its i-th smallest entry
]  # fmt: skip

# Slips of the same kinds, of which a form beside them was refused, or the reader lost its way.
BESIDE = [
    ("eq-hybrid-recall", r"\frac1m\,\ln\frac{(n-1)(1-\varepsilon)}{\varepsilon}", r"\ln\frac{(n-1)(1-\varepsilon)}{\varepsilon}\,\frac1m"),  # the logarithm of both
    ("eq-grad-memory", r"\frac{N}{m}+m-1", r"\Bigl[\frac{N}{m}\Bigr]+m-1"),  # rounded down: three chunks, segments of two
    ("eq-gate-gradient", r"\partial g_t / \partial\, \texttt{A\_log} &= g_t", r"\frac{\partial a_t}{\partial\, \texttt{A\_log}}\,A\,\sigma(x_t) &= -g_t"),  # the same
    ("eq-decay-gate", r"\mathrm{softplus}(x_t)", r"\mathrm{softplus}'(x_t)"),  # the derivative of softplus
    ("eq-tracking-life", r"-\ln\rho", r"-\ln'\rho"),  # the derivative of ln
    ("eq-half-life", r"\sum_{m=0}^{n-1}", r"\sum'_{m=0}^{n-1}"),  # its first term is halved
    ("eq-neumann", r"\prod_{j=1}^{\ell-1}", r"\prod'_{j=1}^{\ell-1}"),  # a factor is left out
    ("eq-shard-felt", r"\sum_{s=1}^{t}", r"\sum_{s>1}^{t}"),  # without the first token
    ("eq-retrieval-margin", r"\mathbb{E}\,m &= 1 \\", r"\mathbb{E}\,m &= \mathbf{I} \\"),  # a number is no matrix
]  # fmt: skip

# What stands in another row, in another column or apart was multiplied; a function took a number and
# what is behind it. Of the last three a form beside them was refused.
APART = [
    ("eq-slot-race", "&\\quad-(\\mathbf{S}\\mathbf{F}_2+\\mathbf{G}_2)\\\\\n&=(", r"-(\mathbf{S}\mathbf{F}_2+\mathbf{G}_2)&=("),  # two equations, a row each: the first without its last term
    ("eq-family-minibatch", "\\mathbf{S}+\\sum_{i=1}^{C}\\eta_i(\\boldsymbol{v}_i-\\mathbf{S}\\boldsymbol{k}_i)\\boldsymbol{k}_i^\\top\\\\\n&=", "\\mathbf{S}\\\\\n+\\sum_{i=1}^{C}\\eta_i(\\boldsymbol{v}_i-\\mathbf{S}\\boldsymbol{k}_i)\\boldsymbol{k}_i^\\top&="),  # the first row says S' = S
    ("eq-tile-address", "K+d\\\\\n&\\quad=\\underbrace", "K\\\\\n+\\,d&=\\underbrace"),  # the first row lacks d, the second says that d is the place
    ("eq-slot-room", "\\Bigl\\lfloor\\frac{b_{n+1}}{C}\\Bigr\\rfloor-\\Bigl\\lfloor\\frac{b_n}{C}\\Bigr\\rfloor+1\\\\\n&\\le", "\\Bigl\\lfloor\\frac{b_{n+1}}{C}\\Bigr\\rfloor\\\\\n-\\Bigl\\lfloor\\frac{b_n}{C}\\Bigr\\rfloor+1&\\le"),  # the first sequence, C + 1 tokens: 2 <= 1
    ("eq-packed-slots", "\\Bigl\\lfloor\\frac{T}{C}\\Bigr\\rfloor+N\\\\\n&\\le", "\\Bigl\\lfloor\\frac{T}{C}\\Bigr\\rfloor\\\\\n+N&\\le"),  # one token, chunks of two: 1 <= 0
    ("eq-family-gdn", "\\alpha_t\\beta_t\\,\\boldsymbol{k}_i^\\top\\boldsymbol{k}_t\\\\\n&=", "\\alpha_t\\beta_t\\\\\n\\cdot\\,\\boldsymbol{k}_i^\\top\\boldsymbol{k}_t&="),  # the first row lacks the overlap
    ("eq-grad-memory", r"n_\text{kept}=\frac{N}{m}+m-1\ \ge\ 2\sqrt N-1", "\\begin{aligned}\nn_\\text{kept}&=\\frac{N}{m}\\\\\n+m-1&\\ge2\\sqrt N-1\n\\end{aligned}"),  # N = 4, m = 1: 0 >= 3
    ("eq-backward-segments", r"n_\text{kept}=\frac{N}{m}+2m-1\ \ge\ 2\sqrt{2N}-1,", "\\begin{aligned}\nn_\\text{kept}&=\\frac{N}{m}&+2m-1&\\ge2\\sqrt{2N}-1,\n\\end{aligned}"),  # two equations beside one another: N = 8, m = 1: 1 >= 7
    ("eq-inverse-without-beta", r"\bigl(\mathbf{L}\mathbf{B}\bigr)^\top\mathrm{d}\mathbf{E}=\mathbf{B}\,\mathbf{Z}=\mathrm{d}\mathbf{V} ,", "\\begin{aligned}\n\\bigl(\\mathbf{L}\\mathbf{B}\\bigr)^\\top\\mathrm{d}\\mathbf{E}&=\\mathbf{B}&\\mathbf{Z}&=\\mathrm{d}\\mathbf{V} ,\n\\end{aligned}"),  # the same: Z is not dV, but for strengths of 1
    ("eq-recall-delta", r"\beta\,\alpha^m\Bigl(", r"\beta\,\alpha^m&&\Bigl("),  # lambda = beta alpha^m, and a bracket beside it
    ("eq-grad-query", r"\mathbf{B}\mathbf{Z}", r"\mathbf{B}&&\mathbf{Z}"),  # dV = B, and Z beside it
    ("eq-block", r"\beta_\text{max}\,\sigma(\boldsymbol b)", r"\beta_\text{max}&&\sigma(\boldsymbol b)"),  # beta is the most it can be
    ("eq-norm-gradient", r"\frac1r\Bigl(", r"\frac1r\qquad\Bigl("),  # do = 1/r, and a bracket apart
    ("eq-hybrid-recall", r"\frac1m\,\ln", r"\frac1m\qquad\ln"),  # 1/m, and a logarithm apart
    ("eq-conv-backward", r"s_t\bigl(1+z_t", r"s_t\qquad\bigl(1+z_t"),  # dz = dy s, and a bracket apart
    ("eq-shard-felt", r"\ln\max\bigl(1,|1-\beta_s\|\boldsymbol{k}_s\|^2|\bigr)", r"\ln2\,\max\bigl(\tfrac12,\tfrac12|1-\beta_s\|\boldsymbol{k}_s\|^2|\bigr)"),  # ln 2 times a maximum: a strength of 0 adds ln(2)/2
    ("eq-tracking-life", r"\exp(b)", r"\exp2\bigl(\tfrac b2\bigr)"),  # exp2 is a power of two: b = 5: 51 < 2
    ("eq-gate-start", "\\ln\\frac l{\\Delta_0}\\\\\n&\\quad+\\frac{\\rho\\,(1/l-1/u)-A_0\\ln(u/l)}{A_1-A_0}", r"\frac{\ln\frac l{\Delta_0}\,(A_1-A_0)+\rho\,(1/l-1/u)-A_0\ln(u/l)}{A_1-A_0}"),  # the logarithm of both
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}{1+\exp(-b)}", r"\frac{1-\exp2(-\tfrac b2)}{1+\exp2(-\tfrac b2)}"),  # b = 1: 0.17 for 0.46
    ("eq-grad-beta", r"\Gamma_{ri}", r"\Gamma^\top_{ri}"),  # the entry of the transpose: 0 for i < r
    ("eq-thread-layout", r"2\,(l\bmod8)", r"2\,l\bmod8\cdot2"),  # from left to right: l = 4: 0 for 8
]  # fmt: skip

# Until a multiple of the identity was not a number, too.
IN_BOLD = [
    ("eq-recall-scores", r"\frac{1}{d_v}\sum_{i\ne j}", r"\frac{\mathbf{I}}{d_v}\sum_{i\ne j}"),  # a variance is no matrix
    ("eq-hybrid-intensity", r"\frac{1}{b_S}\Bigl(", r"\frac{\mathbf{I}}{b_S}\Bigl("),  # an intensity is no matrix
]  # fmt: skip
