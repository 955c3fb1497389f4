r"""False forms that were designed with the data of each world in view: `(label, as printed, false)`.

A reviewer looked for what the data of all draws have in common: sizes that are squares, divisible
or no power of two, keys of one length, strengths that are halves, a letter that is a number there.
Each form is false, and none is a single edit that the mutator makes. The first group came true
until the data were mended.
"""
# ruff: noqa: E501 (a row is an equation)

PASSED = [  # until the data of their worlds were mended
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\|\mathbf{K}\mathbf{K}^\top\|^2 = \mathrm{rank}\,\mathbf{K}"),
    ("eq-delta-least-squares", r"\hat{\mathbf{V}}^\top\mathbf{K}", r"\frac{\mathrm{tr}(\mathbf{K}\mathbf{K}^\top)}{\mathrm{rank}\,\mathbf{K}}\,\hat{\mathbf{V}}^\top\mathbf{K}"),
    ("eq-transition-cases", r"\beta = 2:", r"\beta^2 = 4:"),
    ("eq-transition-cases", r"\beta = 1:", r"\tfrac12 < \beta < \tfrac32:"),
    ("eq-transition-cases", r"\beta = 0:", r"-\tfrac12 < \beta < \tfrac12:"),
    ("eq-inverse-bound", r"\beta_r", r"\min(\beta_r, \tfrac{19}{10})"),
    ("eq-delta-memory", r"2\,T\sqrt{d_kd_v}", r"2\,T\lceil\sqrt{d_kd_v}\rceil"),
    ("eq-grad-memory", r"2\sqrt N-1", r"2\lceil\sqrt N\rceil-1"),
    ("eq-best-segment", r"2\sqrt{6N}-2", r"2\lceil\sqrt{6N}\rceil-2"),
    ("eq-backward-segments", r"2\sqrt{2N}-1", r"2\lceil\sqrt{2N}\rceil-1"),
]  # fmt: skip

DESIGNED = [
    *PASSED,
    # 1
    ("eq-softmax-attention", r"\exp(\boldsymbol{k}_j^\top \boldsymbol{q}_t)", r"\exp(\boldsymbol{k}_j^\top \boldsymbol{q}_j)"),
    ("eq-normalised-linear-attention", r"\boldsymbol{z}_{t-1} + \boldsymbol{k}_t", r"\boldsymbol{z}_{t-1} + \frac{\boldsymbol{k}_t\boldsymbol{k}_t^\top\boldsymbol{q}_t}{\boldsymbol{k}_t^\top\boldsymbol{k}_t}"),
    ("eq-linear-attention-state", r"\boldsymbol{v}_i \boldsymbol{k}_i^\top", r"\boldsymbol{v}_{t-i+1} \boldsymbol{k}_{t-i+1}^\top \frac{i}{t-i+1}"),
    # 2
    ("eq-crosstalk", r"\|\boldsymbol{k}_j\|^2\, \boldsymbol{v}_j", r"\|\boldsymbol{k}_j\|^4\, \boldsymbol{v}_j"),
    ("eq-welch-bound", r"n \Bigl( \frac{n}{d_k} - 1 \Bigr)", r"\max\Bigl(0, n \Bigl( \frac{n}{d_k} - 1 \Bigr)\Bigr)"),
    ("eq-least-squares-error", r"1 - \frac{d_k}{n}", r"\frac{n - d_k}{n + d_v - 1}"),
    ("eq-retrieval-margin", r"\frac{2(n-1)}{d_k}", r"\frac{2(n-1)}{\max(d_k, 1)\,\min(d_v, 1)} - \frac{(n-2)(n-3)(n-4)}{d_k}"),
    ("eq-recall-rank", r"\le\; d_k", r"\le\; \max(d_k, d_v)"),
    ("eq-best-scale", r"(1+x)\Bigl(\lambda", r"(1+|x|)\Bigl(\lambda"),
    # 3
    ("eq-mask-blocks", r"\mathbf{1} & \mathbf{1} & \mathbf{M}_C", r"\mathbf{1} & \mathbf{1}\mathbf{M}_C^\top - \mathbf{1} & \mathbf{M}_C"),
    ("eq-linear-attention-chunk", r"\mathbf{Q}_n\mathbf{S}_{[n]}^\top", r"\mathbf{Q}_n(2\,\mathbf{S}_{[n]} - \mathbf{S}_{[1]})^\top"),
    ("eq-bytes-chunk", r"2\, b\, (d_k + d_v)", r"2\, b\, (d_k + d_v + (b-2)(b-4)(b-8))"),
    # 4
    ("eq-best-decay", r"\frac{m}{m+1}", r"\frac{m}{m+1} + (m-1)(m-2)(m-3)(m-4)(m-5)"),
    ("eq-mask-recurrence", r"\alpha_r\, y_{r-1} + x_r", r"\alpha_r\, (y_{r-1} + x_r)"),
    # 5
    ("eq-proximal-step", r"\frac{\|\mathbf{X} - \mathbf{S}_{t-1}\|^2}{2\eta}", r"\frac{\|\mathbf{X}\|^2 - \|\mathbf{S}_{t-1}\|^2}{2\eta}"),
    # 6
    ("eq-parity", r"(-1)^{\,b_1 + \dots + b_T}", r"(1 - 2\,(b_1 + \dots + b_T))"),
    ("eq-reflection-rotation", r"\sin 2\theta\,", r"2\sin\theta\,"),
    # 7
    ("eq-wy-state", r"\mathbf{S}\boldsymbol{w}_i)", r"\mathbf{S}\boldsymbol{w}_i\,\frac{\beta_i + 1}{\beta_r + 1})"),
    ("eq-wy-merge", r"(\mathbf{W}_2\mathbf{K}_1^\top)\,\mathbf{U}_1", r"(\mathbf{W}_2'\mathbf{K}_1^\top)\,\mathbf{U}_1"),
    ("eq-wy-rank", r"\le r", r"\le \min(r, d_k - 1)"),
    ("eq-scan-cost", r"(n - 1)\,", r"2^{\lceil\log_2 n\rceil - 1}\,"),
    # 8
    ("eq-identical-keys", r"-a\,(1 - a)^n", r"-a\,|1 - a|^n"),
    ("eq-inverse-doubling", r"\mathbf{X}^{(b)} (\mathbf{A} \odot \mathbf{L}_b)", r"\mathbf{X}^{(b)} (\mathbf{A} \odot \mathbf{L}_1)"),
    # 9
    ("eq-delta-attention-weight", r"\boldsymbol{k}_i^\top\,\mathbf{P}_{ri}\,\boldsymbol{q}_r", r"\boldsymbol{k}_i^\top\,\mathbf{P}_{ri}^\top\,\boldsymbol{q}_r"),
    # 10
    ("eq-gdn-reset", r"\alpha_t = 0", r"\alpha_t\,\alpha_{t-1} = 0"),
    ("eq-gdn-clear", r"\le m", r"\le \max(1, m - 1)"),
    ("eq-gdn-half-life", r"\beta(2-\beta)/d_k", r"\beta/d_k"),
    # 11
    ("eq-gdn-chunk-output", r"\mathbf{D}_\gamma\mathbf{Q}", r"\gamma_1\mathbf{Q}"),
    ("eq-gdn-inverse", r"\beta_r\,\Gamma_{ri}\quad", r"\beta_r\,\Gamma_{ri}\,\max(1, \beta_i)\quad"),
    ("eq-decay-condition", r"&\le\|\mathbf{I}+\mathbf{A}\|_2", r"&\le\|\mathbf{I}+\tilde{\mathbf{A}}\|_2 + \|\mathbf{I}+\mathbf{A}\|_2 - 1"),
    # 12
    ("eq-grad-state", r"(\mathbf{D}_\gamma\,\mathrm{d}\mathbf{O})^\top\mathbf{Q}", r"(\gamma_1\,\mathrm{d}\mathbf{O})^\top\mathbf{Q}"),
    ("eq-grad-decay", r"+\langle\mathbf{S}',\mathrm{d}\mathbf{S}'\rangle", r"+\langle\mathbf{S}_C,\mathrm{d}\mathbf{S}\rangle"),
    ("eq-grad-matrix", r"-\mathrm{tril}(\mathbf{Z}\mathbf{E}^\top,-1)", r"\mathrm{tril}(\mathbf{Z}\mathbf{E}^\top,-1) - 2\,\mathrm{tril}(\mathrm{d}\mathbf{E}\,\mathbf{E}^\top,-1)"),
    # 13
    ("eq-equal-cosine-gain", r"\sum_{n=0}^{C-2}", r"\sum_{n=0}^{C}"),
    ("eq-two-token-condition", r"\frac{|a|}{2}", r"\frac{|a|\,\lceil |a|\rceil}{2\,\lceil a^2\rceil}"),
    # 17
    ("eq-padding-share", r"N\,\max_n L_n", r"N\,\max(L_1, L_N)"),
    # 18
    ("eq-tree-bytes", r"\lceil\log_2(R-p)\rceil\,B_S", r"(\lfloor\log_2(R-p)\rfloor + 1)\,B_S"),
    ("eq-zigzag-steps", r"\lceil\log_2R\rceil+1", r"\lfloor\log_2R\rfloor+2"),
    ("eq-exchange-times", r"\lceil\log_2 R\rceil\,\ell", r"(\lfloor\log_2 R\rfloor + 1)\,\ell"),
    # 19
    ("eq-causal-conv", r"x_{t-W+1+i}", r"x_{t-3+i}"),
    ("eq-gated-norm", r"\tfrac1{d_v}\|\boldsymbol o\|^2", r"\tfrac1{d_v - 1}\|\boldsymbol o\|^2"),
    # 20
    ("eq-hybrid-experts", r"\tfrac kE", r"\tfrac 2E"),
    # 23
    ("eq-family-state", r"\mathbf{R}^\top\mathbf{B}_\rightarrow", r"\mathbf{R}_0^\top\mathbf{B}_\rightarrow - (\mathbf{R}-\mathbf{R}_0)^\top\mathbf{K}_\rightarrow"),
    ("eq-family-share", r"\frac{c+1}{C+1}", r"\frac{c+1}{C+1} + (n_c - \tfrac{c(C+1)}{2})"),
]  # fmt: skip
