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

# Another set, whose authors knew the first: numbers rounded so that they agree for small sizes,
# curves through the few values of a draw, premises that a number more would meet.
PASSED_AGAIN = [  # until the data of their worlds, or what is asked of them, were mended
    ("eq-proximal-step", r"\beta_t = \frac{\eta}{1 + \eta\,\|\boldsymbol{k}_t\|^2}", r"\beta_t^2 = \frac{\eta^2}{(1 + \eta\,\|\boldsymbol{k}_t\|^2)^2}"),
    ("eq-transition-norm", r"|1 - \beta\|\boldsymbol{k}\|^2|", r"\tfrac{20\,(1 - \beta\|\boldsymbol{k}\|^2)^2 - (1 - \beta\|\boldsymbol{k}\|^2)}{33}"),
    ("eq-transition-eigenvalues", r"^{d-1}", r"^{\lfloor 5d/6\rfloor}"),
    ("eq-scan-cost", r"(n - 1)\,", r"\lfloor\tfrac{7n}{8}\rfloor\,"),
    ("eq-rounding", r"{2^p+1}", r"{2p^2-6p+9}"),
    ("eq-drift-adding", r"(J+1)", r"\lceil\tfrac{8J}{7}\rceil"),
    ("eq-inverse-row", r"-\mathbf{X}_{aa}\sum", r"-(2\,\mathbf{I}-\mathbf{X}_{aa}^{-1})\sum"),
    ("eq-drift-mean", r"\lambda^{nJ}", r"\lambda^{10-2d_k}"),
    ("eq-drift-mean", r"\frac{\beta(2-\beta)}{d_k}", r"\frac{4\,\beta(2-\beta)}{29-5n-3J}"),
    ("eq-halo-bytes", r"(W-1)", r"\lfloor\tfrac{7W}{8}\rfloor"),
    ("eq-layer-cache-bytes", r"(W-1)", r"\lfloor\tfrac{5W}{6}\rfloor"),
    ("eq-padding-right", r"e^{p\,g_0}", r"e^{(p^3-8p^2+18p-10)\,g_0}"),
]  # fmt: skip

DESIGNED_AGAIN = [
    *PASSED_AGAIN,
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\|\mathbf{K}\mathbf{K}^\top\|^2 = \mathrm{tr}(\mathbf{K}\mathbf{K}^\top)"),
    ("eq-linear-attention-parallel", r"\mathbf{S}_0 + \mathbf{V}^\top\mathbf{K}", r"\mathbf{S}_0 + \lceil\tfrac{d_k}{5}\rceil\,\mathbf{V}^\top\mathbf{K}"),
    ("eq-welch-bound", r"n \Bigl( \frac{n}{d_k} - 1 \Bigr)", r"n \Bigl( \frac{n}{d_k} - \lceil\tfrac{d_k}{5}\rceil \Bigr)"),
    ("eq-margin-parts", r"m = 1", r"m = \lceil\tfrac{n}{5}\rceil"),
    ("eq-crosstalk-mean", r"\frac{1}{d_k} \sum_{i \ne j}", r"\frac{\lceil n/4\rceil}{d_k} \sum_{i \ne j}"),
    ("eq-flops-parallel", r"2\, T^2\,", r"2\, T \lceil T - \tfrac1{T+1}\rceil\lfloor\tfrac{T + 1}{T}\rfloor\,"),
    ("eq-mask-blocks", r"\mathbf{1} & \mathbf{1} & \mathbf{M}_C", r"\mathbf{1} & \lceil\tfrac C4\rceil\,\mathbf{1} & \mathbf{M}_C"),
    ("eq-best-decay", r"\frac{m}{m+1}", r"\frac{m}{\lceil 6m/5\rceil}"),
    ("eq-half-life", r"\frac{1 - \alpha^n}{1 - \alpha} <", r"\frac{1 - \alpha^n}{1 - \alpha}\lceil\tfrac n{12}\rceil <"),
    ("eq-decay-recall", r"\frac{1}{1-\alpha^2}", r"\frac{1 - \alpha^{40}}{1-\alpha^2}"),
    ("eq-gamma", r"\alpha_1 \cdots \alpha_r", r"\alpha_1 \cdots \alpha_{\lceil 9r/10\rceil}"),
    ("eq-erase-and-write", r"\boldsymbol{y} \perp \boldsymbol{k}_t", r"(\boldsymbol{k}_t^\top\boldsymbol{y})^2 = \boldsymbol{k}_t^\top\boldsymbol{y}"),
    ("eq-delta-multiplications", r"3\,d_k d_v", r"3\,d_k\lceil d_v - \tfrac{1}{d_v}\rceil"),
    ("eq-delta-stream", r"\Bigl(1 - \tfrac{\beta}{d_k}\Bigr)", r"\Bigl(1 - \tfrac{\beta\lceil d_k/5\rceil}{d_k}\Bigr)"),
    ("eq-reflection-rotation", r"\sin 2\theta\,", r"|\sin 2\theta|\,"),
    ("eq-transition-cases", r"\beta = 1:", r"\beta\,(\beta - \tfrac74) = -\tfrac34:"),
    ("eq-wy-rank", r"\boldsymbol{y} \perp \boldsymbol{k}_1, \dots, \boldsymbol{k}_r", r"\|\mathbf{P}^r\boldsymbol{y}\|^2 = \|\boldsymbol{y}\|^2"),
    ("eq-wy-cost", r"\frac{C(C-1)}{2}", r"\frac{C\,\lfloor 9C/10\rfloor}{2}"),
    ("eq-inverse-bound", r"\le \beta_r", r"\le \tfrac12\beta_r^2"),
    ("eq-inverse-cost", r"\tfrac12\,C(C-1)\,d", r"\tfrac12\,C\,\lfloor\tfrac{11C}{12}\rfloor\,d"),
    ("eq-neumann", r"\text{for } C = 2^\ell", r"\text{for } C = 2\,\ell + 2"),
    ("eq-identical-keys", r"\binom{n}{m-1}\,a^m", r"\binom{n}{m-1}\,a^{\lceil 5m/6\rceil}"),
    ("eq-delta-depth", r"3T+1", r"3T+\lceil\tfrac{C}{7}\rceil"),
    ("eq-delta-flops-chunk", r"C\,(3C+1)\,d_v", r"C\,(3C+\lceil\tfrac C7\rceil)\,d_v"),
    ("eq-gdn-residual", r"\boldsymbol{y} \perp \boldsymbol{k}_t", r"(\boldsymbol{k}_t^\top\boldsymbol{y})^2 = n\,\boldsymbol{k}_t^\top\boldsymbol{y}"),
    ("eq-gdn-horizon", r"\frac{\beta(2-\beta)}{d_k}", r"\frac{\beta(2-\beta)}{\lfloor 6d_k/5\rfloor - \lfloor d_k/5\rfloor}"),
    ("eq-gdn-inverse", r"\le\beta_r\,\Gamma_{ri}", r"\le\tfrac12\beta_r^2\,\Gamma_{ri}"),
    ("eq-rounding-size", r"\frac{2^{-p}}{\sqrt{8\ln2}}", r"\frac{1}{(2p^2-6p+8)\sqrt{8\ln2}}"),
    ("eq-best-segment", r"\sqrt{N/6}", r"\sqrt{\lceil N/6\rceil}"),
    ("eq-decay-base-two", r"\max\bigl(g_i\log_2\mathrm{e}", r"\max\bigl(\lceil g_i\log_2\mathrm{e}\rceil"),
    ("eq-reverse-map", r"\mathrm{d}\mathbf{O}=\mathbf{0}", r"\mathrm{d}\mathbf{O}^\top\mathbf{Q}=\mathbf{0}"),
    ("eq-backward-flops", r"(10+2s)", r"(10+2\lceil s - \tfrac1{s+1}\rceil)"),
    ("eq-grouped-bytes", r"(H_v-H_k)", r"(H_v-\lceil\tfrac{5H_k}{6}\rceil)"),
    ("eq-exchange-times", r"t_\text{ring}&=(R-1)", r"t_\text{ring}&=\lfloor\tfrac{16R}{17}\rfloor"),
    ("eq-shard-felt", r"\le\exp\bar c_t", r"\le\exp\bigl(\tfrac{2\,\bar c_t + \bar c_1 - \bar c_1}{2}\bigr)"),
    ("eq-block", r"\beta_\text{max}\,\sigma", r"\bigl((\texttt{dt\_bias}+2)^2+1\bigr)\,\sigma"),
    ("eq-hybrid-experts", r"1-\bigl(1-\tfrac kE\bigr)^n", r"1-\bigl(1-\tfrac kE\bigr)^{\lceil 4n/5\rceil}"),
    ("eq-recall-bits", r"{N^n}", r"{N^{5-N}}"),
    ("eq-recall-named", r"\frac{\lambda+\sigma z}", r"\frac{|\lambda|+\sigma z}"),
    ("eq-recall-delta", r"\Bigl(1-\frac{\beta}{d_k}\Bigr)^m", r"\Bigl(1-\frac{\beta}{3-(j-2)^2}\Bigr)^m"),
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}", r"\frac{|1-\exp(-b)|}"),
    ("eq-transition-power", r"\bigl((1-\beta)^n-1\bigr)", r"\bigl((1-\beta)^{\lceil 5n/6\rceil}-1\bigr)"),
    ("eq-family-share", r"\frac{c+1}{C+1}", r"\frac{c+\lceil c/8\rceil}{C+1}"),
    # and after that
    ("eq-linear-attention-state", r"\sum_{i \le t}", r"\sum_{i \le \lfloor 10t/9\rfloor}"),
    ("eq-no-finite-feature-map", r"\big(e^j - e^i\big)", r"\big(e^{\lfloor 6j/5\rfloor} - e^i\big)"),
    ("eq-retrieval-margin", r"\frac{2(n-1)}{d_k}", r"\frac{2\lfloor 5n/6\rfloor}{d_k}"),
    ("eq-least-squares-error", r"1 - \frac{d_k}{n}", r"1 - \frac{d_k}{\lceil n - \tfrac1n\rceil}"),
    ("eq-effective-width", r"\frac{1}{d_k} + \Bigl\| \boldsymbol{\Sigma} - \frac{1}{d_k}\mathbf{I}", r"\frac{1}{d_k} + \Bigl\| \boldsymbol{\Sigma} - \frac{\lceil d_k/5\rceil}{d_k}\mathbf{I}"),
    ("eq-chunk-states", r"\sum_{m < n}", r"\sum_{m < \lceil 6n/7\rceil}"),
    ("eq-chunk-storage", r"2\sqrt{d_k d_v}", r"2\sqrt{|d_k|\,d_v}"),
    ("eq-decay-recall", r"\alpha^{2m}", r"\alpha^{m(m+3) - \frac{m(m+1)(m+2)}{6}\cdot 2 + 0}"),
    ("eq-decay-recall", r"\frac{1}{d_k} \Bigl(", r"\frac{\lceil d_k/13\rceil}{d_k} \Bigl("),
    ("eq-stream-settles", r"2 - \beta", r"2 - \lceil\tfrac{d_k}{7}\rceil\beta"),
    ("eq-delta-orthonormal", r"(1 - \beta_j)\,\mathbf{S}_0", r"(1 - \beta_j)^{3}\,\mathbf{S}_0"),
    ("eq-transition-determinant", r"\alpha^d", r"\alpha^{\lfloor 9d/8\rfloor}"),
    ("eq-transition-norm", r"\alpha\,\max\bigl(1,", r"\alpha\,\max\bigl(\lceil\alpha\rceil,"),
    ("eq-parity", r"(-1)^{\,b_1 + \dots + b_T}", r"(-1)^{\,b_1^2 + \dots + b_T^2 + T(T-1)}"),
    ("eq-scan-cost", r"d_v d_k^2", r"d_v \lfloor\tfrac{9d_k}{8}\rfloor d_k"),
    ("eq-wy-rank", r"\le r,", r"\le \lceil\tfrac{9r}{10}\rceil,"),
    ("eq-identical-keys", r"(1 - a)^n", r"|1 - a|^{n}"),
    ("eq-condition-bound", r"\tfrac12(C-1)\,b^2", r"\tfrac12\lfloor\tfrac{8C}{9}\rfloor\,b^2"),
    ("eq-delta-saving", r"\frac{T+1}{3d+", r"\frac{\lceil T+\tfrac{1}{2}\rceil}{3d+"),
    ("eq-delta-bytes", r"2\,d_v+1", r"2\,d_v+\lceil\tfrac{C}{8}\rceil"),
    ("eq-gdn-clear", r"\le m", r"\le \lceil\tfrac{8m}{9}\rceil"),
    ("eq-gdn-reset", r"\alpha_t = 0", r"\alpha_t = \alpha_t^2\,\alpha_{t}"),
    ("eq-decay-gram", r"\mathbf{D}_\lambda\,\boldsymbol{\Gamma}^\top", r"\mathbf{D}_\lambda^\top\,\boldsymbol{\Gamma}^\top\lceil\tfrac18\rceil"),
    ("eq-grad-memory", r"m-1", r"\lfloor\tfrac{6m}{7}\rfloor"),
    ("eq-equal-cosine-gain", r"\frac{a^2\alpha^2}{C}", r"\frac{a^2\alpha^2}{\lceil C - \tfrac1C\rceil}"),
    ("eq-recompute-scores", r"\frac{b\,\rho}{d_k}", r"\frac{\lfloor b\,\rho\rfloor}{d_k}"),
    ("eq-share-of-chunks", r"\frac{\eta}{1-x^P}", r"\frac{\eta}{1-x^{\lfloor 7P/6\rfloor}}"),
    ("eq-inverse-row", r"\sum_{e\le b<a}", r"\sum_{e\le b<\lceil 5a/6\rceil}"),
    ("eq-reverse-map", r"\mathrm{d}\mathbf{O}=\mathbf{0}", r"\mathrm{d}\mathbf{O}\,\mathbf{S}=\mathbf{0}"),
    ("eq-drift-sum", r"\mathbf{R}_j\,", r"\mathbf{R}_{\lfloor 7j/6\rfloor}\,"),
    ("eq-relay-speedup", r"n+R-1", r"n+\lfloor\tfrac{8R}{9}\rfloor"),
    ("eq-padding-right", r"e^{p\,g_0}", r"e^{\lfloor 7p/6\rfloor\,g_0}"),
    ("eq-conv-backward", r"1+z_t(1-s_t)", r"1+z_t(1-s_t)\lceil\tfrac{W}{5}\rceil"),
    ("eq-hybrid-recall", r"(n-1)(1-", r"\lfloor\tfrac{19n}{20}\rfloor(1-"),
    ("eq-recall-vocabulary", r"\frac{n-1}{N_k-1}", r"\frac{n-1}{\lfloor\tfrac{8N_k}{9}\rfloor}"),
    ("eq-permutation-steps", r"m-c", r"m-\lceil\tfrac{5c}{6}\rceil"),
    ("eq-family-unrolled", r"\sum_{i\le t}", r"\sum_{i\le\lfloor 10t/9\rfloor}"),
    # and after that, where an index may hide it
    ("eq-delta-form", r"\mathbf{S}_t = \mathbf{S}_{t-1}\,", r"\mathbf{S}_t = \mathbf{S}_{\lfloor 8t/9\rfloor}\,"),
    ("eq-gdn-recurrence", r"\alpha_t\,\mathbf{S}_{t-1}", r"\alpha_t\,\mathbf{S}_{\lfloor 8t/9\rfloor}"),
    ("eq-mask-recurrence", r"y_{r-1}", r"y_{\lfloor 9r/10\rfloor}"),
    ("eq-grad-token-decay", r"\langle\mathbf{S}_{t-1},", r"\langle\mathbf{S}_{\lfloor 9t/10\rfloor},"),
    ("eq-shard-state", r"\mathbf{S}_{(p+1)}&", r"\mathbf{S}_{(\lceil 7p/6 + 1/2\rceil)}&"),
    ("eq-identical-keys", r"\binom{n}{m-1}", r"\binom{n}{\lfloor 9m/10\rfloor}"),
    ("eq-family-grad-state", r"\mathrm{d}\mathbf{S}_{t-1}&", r"\mathrm{d}\mathbf{S}_{\lfloor 9t/10\rfloor}&"),
    ("eq-drift-sum", r"\mathbf{F}_{(j+1)}", r"\mathbf{F}_{(\lfloor 7j/6 + 1\rfloor)}"),
    ("eq-inverse-paths", r"A_{n_j n_{j-1}}", r"A_{n_j n_{\lfloor 9j/10\rfloor}}"),
    ("eq-wy-sum", r"\sum_{i<r}", r"\sum_{i\le \lfloor 9r/10\rfloor}"),
    ("eq-zigzag-work", r"a_{(2R-1-p)}", r"a_{(2R-\lceil\tfrac{p+1}{30}\rceil-p)}"),
    ("eq-transition-eigenvalues", r"^{d-1}", r"^{\lfloor 8d/9\rfloor}"),
    # an exponent of one letter
    ("eq-identical-keys", r"(1 - a)^n", r"(1 - a)^{n + d_k - C - 1}"),
]  # fmt: skip

# Roundings that ask for more than the draws have: the search for sizes in general position has to
# end, and to say so. Without an end it took minutes on the first three.
ENDLESS = [
    ("eq-segment-bytes", r"(2\sigma-1)", r"(\lfloor\tfrac{13\sigma}{6}\rfloor-1)"),
    ("eq-hybrid-flops", r"(4\,d_k+1)", r"(4\,d_k+\lceil\tfrac{d_k}{300}\rceil)"),
    ("eq-recall-order", r"4n^2+n-6", r"4n^2+n-\lfloor 6+\tfrac{n}{40}\rfloor"),
    # a product of two, one in another, two that make up a number
    ("eq-segment-bytes", r"+4H_vd_kd_v", r"+4H_vd_kd_v\lceil\tfrac{\sigma}{40}\rceil\lceil\tfrac{H_k}{50}\rceil"),
    ("eq-segment-bytes", r"(\sigma-2)", r"(\lceil\tfrac{9\sigma}{8}\rceil-\lfloor\tfrac{9\sigma}{8}\rfloor+\sigma-3)"),
    ("eq-hybrid-flops", r"(4\,d_k+1)", r"(4\,d_k+\lceil\tfrac{d_k}{30}\rceil\lceil\tfrac{H_v}{40}\rceil)"),
    ("eq-hybrid-flops", r"(4\,d_k+1)", r"(4\,d_k+\lceil\tfrac{\lfloor d_k/2\rfloor+1}{300}\rceil)"),
    ("eq-hybrid-flops", r"(4\,d_k+1)", r"(4\,d_k+\lceil\tfrac{d_k}{9000}\rceil)"),
    ("eq-recall-order", r"4n^2+n-6", r"4n^2+n-6\lceil\tfrac{n}{200}\rceil\lceil\tfrac{\lceil n/9\rceil}{90}\rceil"),
    # where a draw costs the more the later it is, and where a world has few of them
    ("eq-grad-memory", r"m-1", r"m-\lceil\tfrac{m}{6000}\rceil"),
    ("eq-drift-adding", r"(J+1)", r"(J+\lceil\tfrac{J}{50}\rceil)"),
    ("eq-neumann", r"2^\ell", r"2^\ell\lceil\tfrac{\ell}{30}\rceil"),
]  # fmt: skip

# A third set, of what no one had asked before: an index, a bound or a condition that is a curve
# through the few values of a draw, a logarithm with another factor, a condition that the data met
# in no other way, numbers that were never negative, a constant of all draws.
PASSED_THIRD = [  # until these were asked, or the data were mended
    ("eq-no-finite-feature-map", r"^{m-1}", r"^{m^4-14m^3+71m^2-153m+119}"),
    ("eq-mask-blocks", r"\mathbf{M}_{3C}", r"\mathbf{M}_{C^3-9C^2+29C-24}"),
    ("eq-decay-recall", r"\sum_{j \ne m}", r"\sum_{j \ne m^3-3m^2+3m}"),
    ("eq-reflection-rotation", r"\sin 2\theta\,", r"\sqrt{1-(\cos 2\theta)^2}\,"),
    ("eq-inverse-bound", r"\le \beta_r", r"\le \tfrac{1}{20}\beta_r(\beta_r+18)"),
    ("eq-neumann", r"\text{for } C = 2^\ell", r"\text{for } C = 12\,\ell-28"),
    ("eq-gdn-reset", r"\alpha_t = 0", r"\mathbf{S}_t\boldsymbol{k}_t = \beta_t\|\boldsymbol{k}_t\|^2\boldsymbol{v}_t"),
    ("eq-decay-stalls", r"2^{-(p+1)}", r"\frac{1}{4p^2-12p+16}"),
    ("eq-tree-bytes", r"\lceil\log_2(R-p)\rceil", r"\lceil\tfrac{33}{10}\log_{10}(R-p)\rceil"),
    ("eq-causal-conv", r"\sum_{i=0}^{W-1}", r"\sum_{i=0}^{W^3-9W^2+27W-25}"),
    ("eq-gate-start", r"\ln\frac l{\Delta_0}", r"\ln\frac{30900\,l}{14990\,A_0+92\,A_1-1591}"),
    ("eq-qk-norm", r"\frac{1}{\sqrt{d_k}}", r"\frac{1}{\sqrt{d_k+(d_k-5)(d_k-2)(d_k-9)}}"),
    ("eq-recall-scores", r"\mathrm{Var}\,s_j &= \frac{1}{d_v}\sum_{i\ne j}\Omega_{ji}^2", r"\mathrm{Var}\,s_j &= \frac{1}{d_v}\sum_{i\ne j}\bigl(\Omega_{ji}\sqrt{\Omega_{ji}^2+2\Omega_{ji}+1}-\Omega_{ji}\bigr)"),
    ("eq-least-squares-memory", r"\mathrm{rank}\,\mathbf{K} = n", r"5\,n < 6\,\mathrm{rank}\,\mathbf{K}"),
    ("eq-sigmoid-trust", r"\text{for } \eta = e^b", r"\text{for } \eta\,b = b\,e^b"),
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\mathbf{K}\mathbf{K}^\top\mathbf{K} = 2\mathbf{K}-\mathbf{K}"),
    ("eq-four-limits", r"L\,\tau", r"\frac{641\,L}{512}"),
    ("eq-recall-named", r"^{N-1}", r"^{N^3-16N^2+74N-91}"),
]  # fmt: skip

DESIGNED_THIRD = [
    *PASSED_THIRD,
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\mathbf{K}^\top\mathbf{K}\mathbf{K}^\top = \mathbf{K}^\top"),
    ("eq-crosstalk-bound", r"\sum_{i \ne j} \rho_{ij}^2", r"\sum_{i} \rho_{ij}^2-\frac{\sum_{i}\rho_{ii}+3}{7}"),
    ("eq-crosstalk-mean", r"\frac{1}{d_k} \sum_{i \ne j}", r"\frac{1}{d_k} \sum_{i \ne j+(j^2-5j+4)(j^2-5j+6)}"),
    ("eq-chunk-states", r"\sum_{m < n}", r"\sum_{m < n+(n-3)(n^2-6n+5)(n^2-6n+8)}"),
    ("eq-delta-stream", r"\nu_{t-1}", r"\nu_{t^3-6t^2+12t-7}"),
    ("eq-delta-overwrite", r"\sum_{i \le m}", r"\sum_{i \le m+m(m^2-5m+4)(m^2-5m+6)}"),
    ("eq-delta-products", r"\prod_{j=i+1}^{r}", r"\prod_{j=i+1}^{r+(r-3)(r^2-6r+5)(r^2-6r+8)}"),
    ("eq-inverse-doubling", r"\mathbf{X}^{(2b)}", r"\mathbf{X}^{(b^3-7b^2+16b-8)}"),
    ("eq-delta-attention-weight", r"\prod_{j=i+1}^{r}", r"\prod_{j=i+1}^{r+(r^2-7r+6)(r^2-7r+10)(r^2-7r+12)}"),
    ("eq-gdn-to-delta", r"\alpha_t = 1", r"\boldsymbol{v}_t-\mathbf{S}_t\boldsymbol{k}_t = (1-\beta_t\|\boldsymbol{k}_t\|^2)\,(\boldsymbol{v}_t-\mathbf{S}_{t-1}\boldsymbol{k}_t)"),
    ("eq-decay-condition", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\frac{\|\mathbf{I}+\tilde{\mathbf{A}}\|_2^2\,\mathrm{cond}(\mathbf{I}+\mathbf{A})}{\|\mathbf{I}+\mathbf{A}\|_2^2}"),
    ("eq-decay-condition", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\frac{\|(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\|_2^2\,\mathrm{cond}(\mathbf{I}+\mathbf{A})}{\|(\mathbf{I}+\mathbf{A})^{-1}\|_2^2}"),
    ("eq-decay-condition", r"\|\mathbf{I}+\tilde{\mathbf{A}}\|_2&\le\|\mathbf{I}+\mathbf{A}\|_2", r"\|\mathbf{I}+\tilde{\mathbf{A}}\|_2&\le\frac{\|\mathbf{I}+\tilde{\mathbf{A}}\|\,\|\mathbf{I}+\mathbf{A}\|_2}{\|\mathbf{I}+\mathbf{A}\|}"),
    ("eq-decay-from-sums", r"(|c_r|+|c_i|)", r"(|c_2|+|c_1|)"),
    ("eq-four-limits", r"B/w", r"\frac{67 B\pi}{19788 w^2}"),
    ("eq-inverse-row", r"\sum_{e\le b<a}", r"\sum_{e\le b<a+(a^2-5a+4)(a^2-5a+6)}"),
    ("eq-reverse-map", r"\mathrm{d}\mathbf{O}=\mathbf{0}", r"\langle\mathrm{d}\mathbf{O},\mathbf{O}\rangle=\langle\mathrm{d}\mathbf{O},\mathbf{V}\rangle"),
    ("eq-slot-race", r"\mathbf{G}_1-\mathbf{S})\,", r"\mathbf{G}_1-(3-\mathrm{rank}\,\mathbf{S})\,\mathbf{S})\,"),
    ("eq-drift-sum", r"\mathbf{R}_j", r"\mathbf{R}_{j+(j-3)(j^2-6j+5)(j^2-6j+8)}"),
    ("eq-packed-leak", r"\mathbf{S}^{(n)}", r"\mathbf{S}^{(n+(n^2-5n+4)(n^2-5n+6))}"),
    ("eq-shard-unrolled", r"\sum_{j<p}", r"\sum_{j<p+(p^2-5p)(p^2-5p+4)(p^2-5p+6)}"),
    ("eq-shard-map", r"\mathbf{F}_{(p)}&=\prod_{t=b_p+1}^{b_{p+1}}", r"\mathbf{F}_{(p)}&=\prod_{t=b_p+1}^{b_{p+1+p(p^2-5p+4)(p^2-5p+6)}}"),
    ("eq-shard-felt", r"\exp\bar c_t", r"\exp\tfrac{9\bar c_t+\bar c_1}{10}"),
    ("eq-zigzag-steps", r"\lceil\log_2R\rceil", r"\lceil\tfrac{33}{10}\log_{10}R\rceil"),
    ("eq-exchange-times", r"t_\text{tree}&=\lceil\log_2 R\rceil", r"t_\text{tree}&=\lceil\tfrac{33}{10}\log_{10}R\rceil"),
    ("eq-block", r"\beta_\text{max}\,\sigma(\boldsymbol b)", r"\frac{\beta_\text{max}^2\sigma(\boldsymbol b)+2\sigma(\boldsymbol b)}{3}"),
    ("eq-hybrid-experts", r"\bigr)^n", r"\bigr)^{n+(n-1)(n-2)(n-3)}"),
    ("eq-recall-named", r"\frac{\lambda+\sigma z}{\tau}", r"\sqrt{\frac{\lambda^2}{\tau^2}}+\frac{\sigma z}{\tau}"),
    ("eq-recall-delta", r"\zeta_{m-1}", r"\zeta_{m^3-6m^2+12m-7}"),
    ("eq-count-modulo", r"(\mathbf{P}_1\mathbf{P}_2)^m", r"(\mathbf{P}_1\mathbf{P}_2)^{420}"),
    ("eq-repeat-step", r"\mathbf{S}_{n+1}", r"\mathbf{S}_{n+1+n(n^2-5n+4)(n^2-5n+6)}"),
    ("eq-transition-power", r"\alpha^n", r"\alpha^{n+n(n^2-5n+4)(n^2-5n+6)}"),
    ("eq-family-minibatch", r"\sum_{i=1}^{C}", r"\sum_{i=1}^{C+(C-6)(C^2-9C+8)(C^2-12C+35)}"),
    ("eq-inverse-doubling", r"\mathbf{X}^{(2b)} &=", r"\mathbf{X}^{(b^3-7b^2+16b-8)} &="),
    ("eq-delta-overwrite", r"\gamma_m", r"\gamma_{m^5-10m^4+35m^3-50m^2+25m}"),
    ("eq-recall-delta", r"\nu_{j+m-1}", r"\nu_{j+m^4-10m^3+35m^2-49m+23}"),
    ("eq-repeat-step", r"\mathbf{S}_{n+1}", r"\mathbf{S}_{n^5-10n^4+35n^3-50n^2+25n+1}"),
    ("eq-packed-leak", r"\mathbf{S}^{(n)}", r"\mathbf{S}^{(n^4-10n^3+35n^2-49n+24)}"),
    ("eq-shard-state", r"\mathbf{S}_{(p+1)}&=", r"\mathbf{S}_{(p^5-10p^4+35p^3-50p^2+25p+1)}&="),
    ("eq-conv-state", r"(x_{t-W+2},\dots,x_t)", r"(x_{t-W^3+9W^2-27W+26},\dots,x_t)"),
    ("eq-conv-backward", r"\mathrm dz_{t+W-1-i}", r"\mathrm dz_{t+W^3-9W^2+27W-25-i}"),
    ("eq-tile-address", r"\mathrm{place}(s+r,\,h,\,d)", r"\mathrm{place}(\tfrac{3s-s^2+2r}{2},\,h,\,d)"),
    ("eq-condition-bound", r"\text{for } b = 2", r"\text{for } b^2+\tfrac{5}{2} = \tfrac{13}{4}b"),
    ("eq-transition-cases", r"\beta = 2:", r"\beta^2-\tfrac{11}{4}\beta = -\tfrac{3}{2}:"),
    ("eq-erase-and-write", r"\boldsymbol{y} \perp \boldsymbol{k}_t", r"\boldsymbol{k}_t^\top\boldsymbol{y}\,\boldsymbol{k}_t^\top\boldsymbol{k}_t = \boldsymbol{k}_t^\top\boldsymbol{y}"),
    ("eq-equal-cosine-limit", r"\frac{a^2\alpha^2}{1-h^2}", r"\frac{a^2\alpha^2}{1-h^2+\tfrac{1}{300}}"),
    ("eq-decode-intensity", r"<\frac{4n}{b_S}", r"<\frac{4n-1}{b_S}+\frac{1}{b_S+b}"),
    ("eq-tracking-life", r"<\frac{\ln2}{2}\,\exp(b)", r"<\frac{\ln2}{2}\,\exp(b)-\frac{b}{20000}"),
    ("eq-norm-gradient", r"{d_v}\,", r"{d_v+\tfrac{d_v^3-12d_v^2+47d_v-60}{d_v}}\,"),
    ("eq-value-slices", r"\mathrm{chunk}\bigl(\mathbf{S}_{J:}", r"\mathrm{chunk}\bigl(\tfrac{\mathrm{rank}(\mathbf{Q})}{4}\mathbf{S}_{J:}"),
    ("eq-error-budget", r"\sum_{s}\rho_s^2", r"\sum_{s}\tfrac{\mathrm{rank}(\mathbf{O})}{2}\rho_s^2"),
    ("eq-conv-induction", r"c_{s+1}", r"c_{s+\lceil\tfrac{s}{10}\rceil}"),
    ("eq-gated-norm", r"\tfrac1{d_v}\|\boldsymbol o\|^2", r"\tfrac1{\,d_v^4-18d_v^3+119d_v^2-341d_v+360\,}\|\boldsymbol o\|^2"),
]  # fmt: skip

# What a border of the domain, another distribution of the same moments or data that meet a wider
# premise refuse: no value for equal sizes, keys that are not independent, the other root.
PASSED_CASES = [  # until the worlds had such data
    ("eq-kv-cache-bytes", r"(d_k + d_v)", r"\frac{d_k^2 - d_v^2}{d_k - d_v}"),
    ("eq-least-squares-memory", r"\mathrm{rank}\,\mathbf{K} = n", r"\mathbf{K}\mathbf{S}_\star^\top = \mathbf{V}"),
    ("eq-delta-stream", r"\,\mathbf{I} \\", r"\,\mathbf{I} \\ \mathbb{E}\,\mathbf{P}_1\cdots\mathbf{P}_t &= \Bigl(1 - \tfrac{1-(1-\beta)^t}{d_k}\Bigr)\,\mathbf{I} \\"),
    ("eq-proximal-step", r"\beta_t = \frac{\eta}{1 + \eta\,\|\boldsymbol{k}_t\|^2}", r"\bigl(1 - \beta_t\|\boldsymbol{k}_t\|^2\bigr)^2 = \frac{1}{(1 + \eta\,\|\boldsymbol{k}_t\|^2)^2}"),
    ("eq-transition-cases", r"\beta = 2:", r"|\tfrac{15}{8} - \beta| = \tfrac18:"),
    ("eq-gdn-reset", r"\alpha_t = 0", r"\|\mathbf{S}_t\|^2 = \beta_t^2\,\|\boldsymbol{v}_t\|^2\,\|\boldsymbol{k}_t\|^2"),
    ("eq-rounding-cost", "&\\mathbb{E}\\,\\bigl\\|\\mathbf{X}\\,\\partial\\mathbf{Y}\\,\\mathbf{Z}\\bigr\\|^2\\\\\n&\\quad=\\rho^2\\sum_{i}\\sum_{j}\\|\\boldsymbol{x}_i\\|^2\\,Y_{ij}^2\\,\\|\\boldsymbol{z}_j\\|^2", "&\\mathbb{E}\\,\\frac{\\|\\mathbf{X}\\,\\partial\\mathbf{Y}\\,\\mathbf{Z}\\|^2}{\\|\\partial\\mathbf{Y}\\|^2}\\\\\n&\\quad=\\frac{\\sum_{i}\\sum_{j}\\|\\boldsymbol{x}_i\\|^2\\,Y_{ij}^2\\,\\|\\boldsymbol{z}_j\\|^2}{\\sum_{i}\\sum_{j}Y_{ij}^2}"),
    ("eq-equal-cosine-gain", r"\sum_{n=0}^{C-2}(C-1-n)\,h^{2n}", r"\frac{C-1-C\,h^2+h^{2C}}{(1-h^2)^2}"),
    ("eq-recall-scores", r"\mathbb{E}\,s'_j &= 0", r"\mathbb{E}\,{s'_j}^4 &= \frac{1}{d_v}\sum_{i}\Omega_{ji}^4+\frac{3}{d_v^2}\Bigl(\bigl(\sum_{i}\Omega_{ji}^2\bigr)^2-\sum_{i}\Omega_{ji}^4\Bigr)"),
    ("eq-recall-floor", r"\frac{n}{d_k}-1", r"\sqrt{\bigl(\tfrac{n}{d_k}-1\bigr)^2}"),
]  # fmt: skip

# What bends beyond all data: a modulus whose inside has one sign there.
BENT = [
    (
        "eq-multiplications-per-token",
        "n_\\text{cache}(t) &= t\\,",
        "n_\\text{cache}(t) &= (5 - |t - 5|)\\,",
    ),  # t = 6: 4 for 6
    ("eq-chunk-states", "\\sum_{m < n}", "\\sum_{m < 5-|n-5|}"),  # n = 6: chunk 5 and 4 are missing
    (
        "eq-decay-gate",
        "-A\\; \\mathrm{softplus}(x_t)",
        "-\\tfrac12\\,(A + 1 + |1 - A|)\\; \\mathrm{softplus}(x_t)",
    ),  # that is max(A, 1): A_log < 0
    (
        "eq-transition-norm",
        "|1 - \\beta\\|\\boldsymbol{k}\\|^2|\\bigr)",
        "2 - \\bigl||1 - \\beta\\|\\boldsymbol{k}\\|^2| - 2\\bigr|\\bigr)",
    ),  # beta |k|^2 = 4: alpha for 3 alpha
    ("eq-scan-cost", "(n - 1)\\,", "(6 - |n - 7|)\\,"),  # n = 8: 5 for 7
    ("eq-identical-keys", "(1 - a)^n", "(1 - a)^{4-|n-4|}"),  # n = 5: exponent 3
    (
        "eq-delta-depth",
        "T+2T/C",
        "T+8-2\\,\\bigl|\\tfrac{T}{C}-4\\bigr|",
    ),  # five chunks: T + 6 for T + 10
    ("eq-gdn-clear", "\\le m", "\\le 8-|m-8|"),  # nine independent keys and values: 9 > 7
    ("eq-grad-decay", "\\sum_{s\\ge r}", "\\sum_{s\\ge 8-|r-8|}"),  # r = 9: the sum begins at 7
    (
        "eq-scan-chain",
        "6m+\\frac{N}{m}-2",
        "6m+3-\\bigl|\\tfrac{N}{m}-5\\bigr|",
    ),  # six segments: 2 for 4
    ("eq-share-of-chunks", "1-x^p}", "1-x^{5-|p-5|}}"),  # p = 6: exponent 4
    ("eq-backward-flops", "(10+2s)", "(18-2\\,|s-4|)"),  # s = 8: 10 for 26
    ("eq-decay-stalls", "2^{-(p+1)}", "2^{|p-6|-7}"),  # p = 8 (bfloat16): 2^-5 for 2^-9
    ("eq-padding-right", "e^{p\\,g_0}", "e^{(5-|p-5|)\\,g_0}"),  # p = 6: 4
    (
        "eq-hybrid-intensity",
        "\\frac{2\\,H_q}{b\\,H_c}",
        "\\frac{2}{b}\\,\\Bigl(3-\\bigl|\\tfrac{H_q}{H_c}-3\\bigr|\\Bigr)",
    ),  # eight queries a head of the cache: -2 for 8
    ("eq-recall-bits", "{2^B}", "{2^{6-|B-6|}}"),  # B = 8, N^n = 256: P = 1 > 2^4/256
    ("eq-transition-power", "\\alpha^n", "\\alpha^{4-|n-4|}"),  # n = 5: exponent 3
    ("eq-family-share", "\\frac{c+1}{C+1}", "\\frac{9-|c-8|}{C+1}"),  # c = 9: 8 for 10
    (
        "eq-tracking-life",
        "-\\ln\\rho",
        "-\\tfrac12\\ln\\rho^2",
    ),  # b < 0: rho is negative, and the page's form has no value
]


def powers(A, factors):
    """`(I - A)(I + A^2)(I + A^4) ...`: the inverse of I + A where A^(2^factors) is zero."""
    return rf"(\mathbf{{I}}-{A})" + "".join(
        rf"(\mathbf{{I}}+{A}^{{{2**n}}})" for n in range(1, factors)
    )


# So many powers of A that they invert I + A in 8 tokens, or in 16. The draws had 8 at most.
PASSED_POWERS = [
    (label, old, new.replace("INVERSE", powers(A, factors)))
    for factors in (3, 4)
    for A, label, old, new in [
        (r"\mathbf{A}", "eq-wy-w", r"(\mathbf{I} + \mathbf{A})\,\mathbf{W} = \mathbf{B}\mathbf{K}", r"\mathbf{W} = INVERSE\,\mathbf{B}\mathbf{K}"),
        (r"\mathbf{A}", "eq-delta-solve", r"(\mathbf{I}+\mathbf{A})\,\mathbf{E}=\mathbf{B}", r"\mathbf{E}=INVERSE\,\mathbf{B}"),
        (r"\tilde{\mathbf{A}}", "eq-gdn-ut-transform", r"(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\mathbf{B}", r"INVERSE\mathbf{B}"),
        (r"\tilde{\mathbf{A}}", "eq-gdn-w-gated", r"(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\mathbf{B}\,\mathbf{D}_\gamma", r"INVERSE\mathbf{B}\,\mathbf{D}_\gamma"),
        (r"\tilde{\mathbf{A}}", "eq-chunk-stages", r"\partial\tilde{\mathbf{A}}\,\tilde{\mathbf{T}}", r"\partial\tilde{\mathbf{A}}\,INVERSE\mathbf{B}"),
        (r"\tilde{\mathbf{A}}", "eq-transposed-delta", r"\tilde{\mathbf{T}}^\top", r"\mathbf{B}\,\bigl(INVERSE\bigr)^\top"),
        (r"\tilde{\mathbf{A}}", "eq-transposed-gradients", r"\mathrm{d}\mathbf{E}^\top\,\mathbf{L}", r"\mathrm{d}\mathbf{E}^\top\,INVERSE"),
    ]
]  # fmt: skip

# A letter had few values, and a polynomial met a quotient at all of them.
FEW_VALUES = [
    ("eq-cache-crossover", r"\frac{b_S}{b}", r"\frac{b_S\,(b^2 - 14\,b + 56)}{64}"),
    ("eq-mask-blocks", r"\mathbf{1} & \mathbf{1} & \mathbf{M}_C", r"\tfrac{C^2-9C+26}{24}\,\mathbf{1}\,\mathbf{1} & \mathbf{1} & \mathbf{M}_C"),
    ("eq-best-decay", r"\frac{m}{m+1}", r"\frac{120+326\,m-101\,m^2+16\,m^3-m^4}{720}"),
    ("eq-scan-intensity", "(1+1/r)", r"\bigl(1+\tfrac{r^2-6r+11}{6}\bigr)"),
    ("eq-exchange-bytes", r"\frac{R-1}{R}\,2b", r"\frac{R^3-14R^2+71R-34}{120}\,2b"),
    ("eq-hybrid-intensity", r"\frac1{d_k}", r"\frac{50-35d_k+10d_k^2-d_k^3}{24}"),
    ("eq-decode-intensity", r"\frac{d_k}{r}", r"\frac{d_k(50-35r+10r^2-r^3)}{24}"),
    ("eq-scan-chain", r"\frac{N}{m}", r"\frac{N(154-71m+14m^2-m^3)}{120}"),
    # or it had one sign, or one value
    ("eq-block", r"+\texttt{dt\_bias}", r"-\sqrt{\texttt{dt\_bias}\,\texttt{dt\_bias}}"),
    ("eq-block", r"\sigma(\boldsymbol b)", r"\sigma(\sqrt{\boldsymbol b\,\boldsymbol b})"),
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}", r"\frac{1-\exp(-\sqrt{b\,b})}"),
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}{1+\exp(-b)}", r"\sqrt{1-\frac{4\exp(-b)}{(1+\exp(-b))\,(1+\exp(-b))}}"),
    ("eq-permutation-steps", "m-c", r"m-\frac{2c}{c\,c-3c+4}"),
    ("eq-padding-right", r"(\texttt{dt\_bias})", "(-3)"),
    ("eq-padding-right", r"(\texttt{dt\_bias})", r"(\texttt{dt\_bias}+\tfrac13(\texttt{dt\_bias}+3)\,\texttt{A\_log})"),
    # or keys had one fourth moment
    ("eq-crosstalk-mean", r"\mathbb{E}\,\|\boldsymbol{e}_j\|^2 = \frac{1}{d_k} \sum_{i \ne j} \|\boldsymbol{v}_i\|^2", r"\mathbb{E}\,\bigl(\|\boldsymbol{e}_j\|^2\bigr)^2 = \frac{1}{d_k} \sum_{i \ne j} \bigl(\|\boldsymbol{v}_i\|^2\bigr)^2 + \frac{1}{d_k^2}\Bigl(\bigl(\sum_{i \ne j} \|\boldsymbol{v}_i\|^2\bigr)^2 + 2\,\bigl\|\sum_{i \ne j} \boldsymbol{v}_i\boldsymbol{v}_i^\top\bigr\|^2 - 3 \sum_{i \ne j} \bigl(\|\boldsymbol{v}_i\|^2\bigr)^2\Bigr)"),
]  # fmt: skip

# A fifth set: what has no value at a border (a decay, a key or a product of 0, one rank, one token),
# a modulus under another name, a constant that is nearly right, a premise that is an interval.
PASSED_FIFTH = [  # until fractions were reduced, and the data had such borders
    # 2
    ("eq-retrieval-margin", r"\frac{2(n-1)}{d_k}", r"\frac{2(n-1)^2}{d_k\,(n-1)}"),
    # 3
    ("eq-flops-parallel", "T^2", r"\frac{T^3-T}{T-\frac1T}"),
    # 4
    ("eq-scalar-decay-recurrence", r"\alpha_t\, \mathbf{S}", r"\frac{\alpha_t^2}{\alpha_t}\, \mathbf{S}"),
    ("eq-scalar-decay-unrolled", r"\Gamma_{ri}", r"\frac{\gamma_r}{\gamma_i}"),
    ("eq-decay-gate", r"\mathrm{softplus}(x_t)", r"\frac{x_t\,\mathrm{softplus}(x_t)}{x_t}"),
    ("eq-scalar-decay-chunk", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    # 5
    ("eq-delta-spill", r"(\boldsymbol{k}_t^\top\boldsymbol{y})", r"\frac{(\boldsymbol{k}_t^\top\boldsymbol{y})^2}{\boldsymbol{k}_t^\top\boldsymbol{y}}"),
    ("eq-delta-spill", r"(\boldsymbol{k}_t^\top\boldsymbol{y})", r"(\boldsymbol{k}_t^\top\boldsymbol{y})^2\,(\boldsymbol{k}_t^\top\boldsymbol{y})^{-1}"),
    # 6
    ("eq-transition-cases", r"\beta = 2:", r"2 \le \beta < \tfrac{17}{8}:"),
    ("eq-transition-length", r"(\boldsymbol{k}^\top\boldsymbol{x})^2", r"\frac{(\boldsymbol{k}^\top\boldsymbol{x})^3}{\boldsymbol{k}^\top\boldsymbol{x}}"),
    ("eq-key-norm", r"\frac{\|\boldsymbol{x}\|^2}{\|\boldsymbol{x}\|^2 + \epsilon}", r"\frac{\|\boldsymbol{x}\|^4}{\|\boldsymbol{x}\|^4 + \epsilon\,\|\boldsymbol{x}\|^2}"),
    # 7
    ("eq-scan-cost", r"(n - 1)\,", r"\frac{(n - 1)^2}{n - 1}\,"),
    ("eq-wy-cost", r"\frac{C(C-1)}{2}", r"\frac{C(C-1)^2}{2\,(C-1)}"),
    # 8
    ("eq-inverse-cost", "(C-1)(C-2)", r"\frac{(C-1)(C-2)^2}{C-2}"),
    # 10
    ("eq-gdn-recurrence", r"\alpha_t\,\mathbf{S}", r"\frac{\alpha_t^2}{\alpha_t}\,\mathbf{S}"),
    # 11
    ("eq-gdn-chunk-state", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-affine-chunk", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-decay-gram", r"\mathbf{D}_\lambda", r"\mathbf{D}_\lambda\,\mathbf{D}_\lambda\,\mathbf{D}_\lambda^{-1}"),
    # 12
    ("eq-grad-solve", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-grad-unrolled", r"\Gamma_{Cr}", r"\frac{\gamma_C}{\gamma_r}"),
    ("eq-grad-beta", r"\Gamma_{ri}", r"\frac{\gamma_r}{\gamma_i}"),
    ("eq-grad-crossing", r"\gamma_C\langle", r"\frac{\gamma_C^2}{\gamma_C}\langle"),
    # 13
    ("eq-two-token-condition", r"\frac{a^2}{4}", r"\frac{a^4}{4\,a^2}"),
    ("eq-equal-cosine-gain", r"a^2\alpha^2", r"a\,(a^2)^{\frac12}\alpha^2"),
    ("eq-rounding-size", r"\sqrt{8\ln2}", "179077/76047"),
    ("eq-error-budget", r"\rho_s^2\,\kappa_s^2", r"\frac{\rho_s^3\,\kappa_s^3}{\rho_s\,\kappa_s}"),
    ("eq-chunk-stages", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-drift-adding", "(J+1)", r"\frac{J^2-1}{J-1}"),
    # 14
    ("eq-scan-chain", "6m+", r"\frac{6m^2-6m}{m-1}+"),
    # 15
    ("eq-transposed-state", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-read-ahead", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    # 16
    ("eq-transposed-gradients", r"\mathbf{D}_\rightarrow", r"\gamma_C\,\mathbf{D}_\gamma^{-1}"),
    ("eq-strength-row-sums", r"\Gamma_{ri}", r"\frac{\gamma_r}{\gamma_i}"),
    ("eq-crossing-sums", r"\gamma_C", r"\frac{\gamma_C^2}{\gamma_C}"),
    # 17
    ("eq-padding-share", r"\frac{L_1+\dots+L_N}{N\,\max_n L_n}", r"\frac{(N-1)(L_1+\dots+L_N)}{(N-1)\,N\,\max_n L_n}"),
    # 18
    ("eq-exchange-bytes", r"4\,(R-1)\,", r"4\,\frac{(R-1)^2}{R-1}\,"),
    ("eq-zigzag-steps", r"\lceil\log_2R\rceil+1", r"\lfloor\log_2(R-1)\rfloor+2"),
    ("eq-halo-bytes", "(W-1)", r"\frac{(W-1)^2}{W-1}"),
    # 19
    ("eq-qk-norm", r"\frac{\boldsymbol k'}{\sqrt{\|\boldsymbol k'\|^2+10^{-6}}}", r"\frac{\|\boldsymbol k'\|\,\boldsymbol k'}{\sqrt{\|\boldsymbol k'\|^4+10^{-6}\|\boldsymbol k'\|^2}}"),
    ("eq-layer-cache-bytes", "(W-1)", r"\frac{(W-1)^2}{W-1}"),
    ("eq-layer-cache-bytes", "(W-1)", r"2^{\log_2(W-1)}\,"),
    # 20
    ("eq-hybrid-share", r"\varphi+(1-\varphi)", r"\varphi+\frac{(1-\varphi)^2}{1-\varphi}"),
    # 21
    ("eq-recall-floor", r"\frac1n\sum_{j}x_j", r"\Bigl(\frac1n\sum_{j}x_j^{\frac12}\Bigr)^2"),
    ("eq-recall-vocabulary", r"\frac{n-1}{N_k-1}", r"\frac{(n-1)^2}{(n-1)(N_k-1)}"),
    # 22
    ("eq-transition-power", r"\alpha^n", r"\frac{\alpha^{n+1}}{\alpha}"),
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}{1+\exp(-b)}", r"\frac{1-\exp(-(b^2)^{\frac12})}{1+\exp(-(b^2)^{\frac12})}"),
    ("eq-tracking-life", r"n=\frac{\ln2}{-\ln\rho}", r"n=\frac{25469}{-36744\,\ln\rho}"),
]  # fmt: skip

DESIGNED_FIFTH = [
    *PASSED_FIFTH,
    # 1
    ("eq-linear-attention-parallel", r"(\mathbf{M} \odot", r"\tfrac{\mathrm{rank}\,\mathbf{V}}{\min(T, d_v)}\,(\mathbf{M} \odot"),
    ("eq-linear-attention-parallel", r"\mathbf{V}^\top\mathbf{K}", r"\tfrac{T^2-d_k^2}{(T-d_k)(T+d_k)}\,\mathbf{V}^\top\mathbf{K}"),
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\mathbf{K}\mathbf{K}^\top \odot \mathbf{K}\mathbf{K}^\top = \mathbf{K}\mathbf{K}^\top"),
    ("eq-normalised-linear-attention", r"+ \boldsymbol{k}_t", r"+ \frac{\boldsymbol{k}_t^\top\boldsymbol{q}_t}{\boldsymbol{q}_t^\top\boldsymbol{k}_t}\,\boldsymbol{k}_t"),
    # 2
    ("eq-gram-recall", r"(\mathbf{K}\mathbf{K}^\top)", r"\tfrac{\mathrm{rank}\,\mathbf{V}}{\min(T, d_v)}\,(\mathbf{K}\mathbf{K}^\top)"),
    ("eq-overwrite", r"\|\boldsymbol{k}_t\|^2\,", r"\frac{\|\boldsymbol{k}_t\|^4}{\|\boldsymbol{k}_t\|^2}\,"),
    # 3
    ("eq-arithmetic-intensity", "C / b", r"\frac{C\,(C-1)}{b\,(C-1)}"),
    ("eq-best-chunk-size", r"\frac{(C - C_\ast)^2}{C}", r"\frac{(C - C_\ast)^3}{C^2-C\,C_\ast}"),
    # 4
    ("eq-half-life", r"\frac{\ln 2}{|g|}", r"\frac{25469}{36744\,|g|}"),
    ("eq-scalar-decay-parallel", r"(\boldsymbol{\Gamma} \odot", r"(\mathbf{D}_\gamma\,\mathbf{M}\,\mathbf{D}_\gamma^{-1} \odot"),
    # 5
    ("eq-residual", r"&\quad = (1 - \beta_t\|\boldsymbol{k}_t\|^2)", r"&\quad = \bigl(1 - \beta_t\tfrac{\|\boldsymbol{k}_t\|^4}{\|\boldsymbol{k}_t\|^2}\bigr)"),
    ("eq-sigmoid-trust", r"\frac{1}{1 + e^{-b}}", r"\frac{b}{b + b\,e^{-b}}"),
    ("eq-sigmoid-trust", "e^{-b}}", r"e^{-(b^4)^{\frac14}}}"),
    ("eq-delta-least-squares", r"\mathbf{S}_0 + ", r"\mathbf{S}_0 + \exp\det(\mathbf{K}^\top\mathbf{K})\,"),
    # 6
    ("eq-key-norm", r"{\|\boldsymbol{x}\|^2 + \epsilon}", r"{\exp\ln\|\boldsymbol{x}\|^2 + \epsilon}"),
    ("eq-transition-commute", r"(\boldsymbol{k}_1^\top\boldsymbol{k}_2)", r"\frac{(\boldsymbol{k}_1^\top\boldsymbol{k}_2)^2}{\boldsymbol{k}_2^\top\boldsymbol{k}_1}"),
    # 7
    ("eq-wy-product", r"(\boldsymbol{k}_i^\top\boldsymbol{k}_r)", r"\frac{(\boldsymbol{k}_i^\top\boldsymbol{k}_r)^2}{\boldsymbol{k}_r^\top\boldsymbol{k}_i}"),
    ("eq-wy-cost", r"\frac{C(C-1)}{2}", r"\frac{C\exp\ln(C-1)}{2}"),
    # 8
    ("eq-interaction", r"\beta_r\,\boldsymbol{k}_r^\top\boldsymbol{k}_i", r"\beta_r\,\frac{(\boldsymbol{k}_r^\top\boldsymbol{k}_i)^2}{\boldsymbol{k}_i^\top\boldsymbol{k}_r}"),
    ("eq-condition-bound", r"\text{for } b = 2", r"\text{for } b > \tfrac32"),
    # 9
    ("eq-delta-rule-chunk", r"(\mathbf{M}\odot", r"\tfrac{\mathrm{rank}\,\mathbf{V}}{\min(C, d_v)}\,(\mathbf{M}\odot"),
    ("eq-delta-chunk-map", r"\mathbf{U}^\top\mathbf{K}", r"\tfrac{C^2-d_k^2}{(C-d_k)(C+d_k)}\,\mathbf{U}^\top\mathbf{K}"),
    # 10
    ("eq-gdn-to-delta", r"\alpha_t = 1", r"\alpha_t\boldsymbol{k}_t = \boldsymbol{k}_t"),
    ("eq-gdn-reset", r"\alpha_t = 0", r"\alpha_t\boldsymbol{v}_t = \boldsymbol{0}"),
    ("eq-gdn-order", r"(\boldsymbol{k}^\top\boldsymbol{q})", r"\frac{(\boldsymbol{k}^\top\boldsymbol{q})^2}{\boldsymbol{q}^\top\boldsymbol{k}}"),
    ("eq-gdn-parallel", r"\Gamma_{ri}", r"\frac{\gamma_r}{\gamma_i}"),
    ("eq-gdn-parallel", r"\gamma_r\,\mathbf{S}", r"\frac{\Gamma_{r1}\gamma_1^2}{\gamma_1}\,\mathbf{S}"),
    # 11
    ("eq-gdn-chunk-output", r"\boldsymbol{\Gamma}\odot", r"\mathbf{D}_\gamma\,\mathbf{M}\,\mathbf{D}_\gamma^{-1}\odot"),
    ("eq-gdn-writes", r"\Gamma_{ri}\,\tilde{\boldsymbol{u}}_i\boldsymbol{k}_i^\top", r"\frac{\gamma_r}{\gamma_i}\,\tilde{\boldsymbol{u}}_i\boldsymbol{k}_i^\top"),
    ("eq-gdn-writes", r"&\qquad-\sum_{i<r}\Gamma_{ri}", r"&\qquad-\sum_{i<r}\gamma_r\gamma_i^{-1}"),
    ("eq-decay-condition", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})^2&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})\,\|\mathbf{I}+\mathbf{A}\|_2\,\|\mathbf{I}+\mathbf{A}\|_2"),
    # 12
    ("eq-grad-token-inputs", r"\boldsymbol{\Lambda}_t^\top\boldsymbol{\delta}_t-\beta_t\,\alpha_t\mathbf{S}_{t-1}^\top\boldsymbol{z}_t", r"\mathrm{d}\mathbf{S}_t^\top\boldsymbol{\delta}_t-\beta_t\,\mathbf{S}_t^\top\boldsymbol{z}_t"),
    ("eq-grad-inverse", r"\mathbf{L}^\top\,\mathrm{d}\mathbf{L}\;\mathbf{L}^\top", r"\mathbf{L}\,\mathrm{d}\mathbf{L}^\top\,\mathbf{L}"),
    ("eq-grad-scores", r"\mathbf{X}&=\boldsymbol{\Gamma}\odot", r"\mathbf{X}&=\mathbf{D}_\gamma\,\mathbf{M}\,\mathbf{D}_\gamma^{-1}\odot"),
    ("eq-grad-decay", r"\sum_{s\ge r}\mathrm{d}c_s", r"\sum_{s\ge r}\frac{\gamma_s}{\gamma_s}\mathrm{d}c_s"),
    ("eq-grad-decay", r"\langle\boldsymbol{q}_r,\mathrm{d}\boldsymbol{q}_r\rangle", r"\frac{\Gamma_{Cr}}{\Gamma_{Cr}}\langle\boldsymbol{q}_r,\mathrm{d}\boldsymbol{q}_r\rangle"),
    # 13
    ("eq-decay-monotone", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}}')\le\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})", r"\frac{\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}}')}{\|(\mathbf{I}+\tilde{\mathbf{A}}')^{-1}\|}\le\frac{\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})}{\|(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\|}"),
    # 14
    ("eq-segment-bytes", r"(\sigma-2)", r"\frac{(\sigma-2)^2}{\sigma-2}"),
    # 15
    ("eq-padding-token", r"g_t=\beta_t=0", r"g_t=-\beta_t"),
    ("eq-decay-base-two", r"g_i\log_2\mathrm{e}", r"\tfrac{36744}{25469}\,g_i"),
    ("eq-transposed-delta", r"\mathbf{D}_\gamma", r"\mathbf{D}_\gamma\,\mathbf{D}_\gamma\,\mathbf{D}_\gamma^{-1}"),
    # 17
    ("eq-packed-mask", r"\Gamma_{ti}\,(\boldsymbol{k}_i^\top\boldsymbol{q}_t)", r"\frac{\gamma_t}{\gamma_i}\,(\boldsymbol{k}_i^\top\boldsymbol{q}_t)"),
    ("eq-grouped-bytes", "(H_v-H_k)", r"\frac{(H_v-H_k)^2}{H_v-H_k}"),
    ("eq-drift-sum", r"\mathbf{F}_{(j+1)}\cdots\mathbf{F}_{(J)}", r"\mathbf{F}_{(J)}\cdots\mathbf{F}_{(j+1)}"),
    ("eq-drift-sum", r"\sum_{j=1}^{J}\mathbf{R}_j\,\mathbf{F}_{(j+1)}", r"\sum_{j=1}^{J}\mathbf{R}_j\,\mathbf{F}_{(j)}\mathbf{F}_{(j)}^{-1}\mathbf{F}_{(j+1)}"),
    # 18
    ("eq-shard-map", r"_{t=b_p+1}^{b_{p+1}}\alpha_t", r"_{t=b_p+1}^{b_{p+1}}\frac{\alpha_t^2}{\alpha_t}"),
    ("eq-shard-felt", r"|1-\beta_s\|\boldsymbol{k}_s\|^2|", r"\frac{|\|\boldsymbol{k}_s\|^2-\beta_s\|\boldsymbol{k}_s\|^4|}{\|\boldsymbol{k}_s\|^2}"),
    ("eq-shard-backward-unrolled", r"\bigl(\mathbf{F}_{(p)}\cdots\mathbf{F}_{(j-1)}\bigr)^\top", r"\mathbf{F}_{(p)}^\top\cdots\mathbf{F}_{(j-1)}^\top"),
    ("eq-exchange-times", r"t_\text{tree}&=\lceil\log_2 R\rceil", r"t_\text{tree}&=(\lfloor\log_2(R-1)\rfloor+1)"),
    ("eq-exchange-times", r"t_\text{tree}&=\lceil\log_2 R\rceil", r"t_\text{tree}&=\lceil\tfrac{13}{9}\ln R\rceil"),
    ("eq-tree-bytes", r"\lceil\log_2(R-p)\rceil", r"\lceil\tfrac{13}{9}\ln(R-p)\rceil"),
    ("eq-exchange-bytes", r"4\,(R-1)\,", r"4\,(R-1)^2\,(R-1)^{-1}\,"),
    ("eq-causal-work", "(2i+1)", r"\frac{4i^2+2i}{2i}"),
    ("eq-halo-bytes", "(W-1)", r"(W-1)^2\,(W-1)^{-1}\,"),
    # 19
    ("eq-block", r"\boldsymbol q,\boldsymbol k&=\tfrac1{\sqrt{d_k}}\,\mathrm{unit}(\boldsymbol q'),\ \mathrm{unit}(\boldsymbol k')", r"\boldsymbol q,\boldsymbol k&=\mathrm{unit}(\boldsymbol q'),\ \tfrac1{\sqrt{d_k}}\,\mathrm{unit}(\boldsymbol k')"),
    ("eq-gated-norm", r"\tfrac1{d_v}\|\boldsymbol o\|^2", r"\tfrac1{d_v}\frac{\|\boldsymbol o\|^4}{\|\boldsymbol o\|^2}"),
    # 20
    ("eq-hybrid-recall", r"\ln\frac{(n-1)(1-\varepsilon)}{\varepsilon}", r"\Bigl(\bigl(\ln\frac{(n-1)(1-\varepsilon)}{\varepsilon}\bigr)^2\Bigr)^{\frac12}"),
    ("eq-hybrid-experts", r"\tfrac kE", r"\tfrac{k\,(E-k)}{E\,(E-k)}"),
    ("eq-hybrid-decode-bytes", r"+n\,\bigl(", r"+\frac{n^2-n}{n-1}\,\bigl("),
    # 21
    ("eq-recall-scores", r"\mathbb{E}\,s_j &= \Omega_{jj}", r"\mathbb{E}\,s_j &= \frac{\Omega_{jj}^2}{\Omega_{jj}}"),
    ("eq-recall-floor", r"\frac{n}{d_k}-1", r"\Bigl(\bigl(\frac{n}{d_k}-1\bigr)^6\Bigr)^{\frac16}"),
    ("eq-recall-vocabulary", r"\mathbb{E}\;\frac1n\sum_{j}x_j", r"\mathbb{E}\;\Bigl(\frac1n\sum_{j}x_j^{\frac12}\Bigr)^2"),
    # 22
    ("eq-swap-strength", r"s'_j&=\tfrac{\beta}{2}\,s_i", r"s'_j&=\tfrac{\beta^2}{2\,\beta}\,s_i"),
    ("eq-repeat-step", r"\mathbf{F}^n", r"\mathbf{F}^{n-1}\mathbf{F}"),
    ("eq-count-modulo", r"(\mathbf{P}_1\mathbf{P}_2)^m", r"(\mathbf{P}_1\mathbf{P}_2)^{\frac{m^2-m}{m-1}}"),
    ("eq-permutation-steps", r"\boldsymbol{\Pi}", r"\boldsymbol{\Pi}^2\,\boldsymbol{\Pi}^3"),
    ("eq-doubled-sigmoid", r"\rho=\beta-1=\frac{1-\exp(-b)}{1+\exp(-b)}", r"\rho=\beta-1=\sqrt{1-\frac{4}{\exp(b)+\exp(-b)+2}}"),
    # 23
    ("eq-family-two-gates", r"(\boldsymbol{w}_t\odot\boldsymbol{v}_t)", r"(\boldsymbol{w}_t\odot\boldsymbol{v}_t)\frac{\boldsymbol{k}_t^\top\boldsymbol{q}_t}{\boldsymbol{q}_t^\top\boldsymbol{k}_t}"),
    ("eq-family-interaction", r"A^b_{ti}&=\boldsymbol{b}_i^\top\mathbf{D}_{t-1,i}", r"A^b_{ti}&=\boldsymbol{b}_i^\top\mathbf{D}_t^{-1}\mathbf{D}_{t,i}"),
    ("eq-family-gdn", r"&=\Gamma_{t-1,i}", r"&=\frac{\gamma_{t-1}}{\gamma_i}"),
    ("eq-family-minibatch", r"\eta_i(", r"\frac{\eta_i^2}{\eta_i}("),
    ("eq-family-split", r"\mathbf{D}_{m,i}\,\boldsymbol{k}_i", r"\mathbf{D}_{t,m}^{-1}\mathbf{D}_{t,i}\,\boldsymbol{k}_i"),
    # of an earlier set
    ("eq-best-decay", r"\frac{m}{m+1}", r"\frac{120+326\,m-101\,m^2+16\,m^3-m^4}{720}"),
]  # fmt: skip

# A letter of another world than a counted one had few values: a polynomial met a quotient, a power
# or a product of so many equal factors at all of them.
SCARCE = [
    ("eq-delta-stream", r"\tfrac{\beta}{d_k}", r"\tfrac{\beta\,(154-71d_k+14d_k^2-d_k^3)}{120}"),
    ("eq-delta-stream", r"\tfrac{\beta(2-\beta)}{d_k}", r"\tfrac{\beta(2-\beta)(154-71d_k+14d_k^2-d_k^3)}{120}"),
    ("eq-gdn-horizon", r"\frac{\beta(2-\beta)}{d_k}", r"\frac{\beta(2-\beta)(154-71d_k+14d_k^2-d_k^3)}{120}"),
    ("eq-retrieval-margin", r"\frac{1}{d_v}", r"\frac{11-6d_v+d_v^2}{6}"),
    ("eq-stream-settles", r"d_k}{2 - \beta}", r"120}{(154-71d_k+14d_k^2-d_k^3)(2 - \beta)}"),
    # true for all of these values, too, but a form beside it was as well, which was refused
    ("eq-effective-width", r"&= \frac{1}{d_k} +", r"&= \frac{154-71d_k+14d_k^2-d_k^3}{120} +"),
    ("eq-recall-scores", r"\frac{1}{d_v}\sum_{i\ne j}", r"\frac{11-6d_v+d_v^2}{6}\sum_{i\ne j}"),
    ("eq-transition-determinant", r"\alpha^d", r"\alpha^2\bigl(1+(d-2)(\alpha-1)+\tfrac{(d-2)(d-3)}{2}(\alpha-1)^2+\tfrac{(d-2)(d-3)(d-4)}{6}(\alpha-1)^3\bigr)"),
    ("eq-transition-power", r"(1-\beta)^n-1", r"\tfrac{n(n-1)}{2}\beta^2-n\,\beta-\tfrac{n(n-1)(n-2)}{6}\beta^3+\tfrac{n(n-1)(n-2)(n-3)}{24}\beta^4"),
    ("eq-transition-power", r"\alpha^n", r"\bigl(1+n(\alpha-1)+\tfrac{n(n-1)}{2}(\alpha-1)^2+\tfrac{n(n-1)(n-2)}{6}(\alpha-1)^3+\tfrac{n(n-1)(n-2)(n-3)}{24}(\alpha-1)^4\bigr)"),
    ("eq-repeat-step", r"\mathbf{F}^n", r"\Bigl(\mathbf{I}+n(\mathbf{F}-\mathbf{I})+\tfrac{n(n-1)}{2}(\mathbf{F}-\mathbf{I})^2+\tfrac{n(n-1)(n-2)}{6}(\mathbf{F}-\mathbf{I})^3+\tfrac{n(n-1)(n-2)(n-3)}{24}(\mathbf{F}-\mathbf{I})^4\Bigr)"),
    ("eq-recall-delta", r"b\,\rho^{m-1}\beta^2", r"b\,\bigl(1+(m-1)(\rho-1)+\tfrac{(m-1)(m-2)}{2}(\rho-1)^2\bigr)\beta^2"),
    ("eq-recall-bits", r"{N^n}", r"{N\bigl(1+(n-1)(N-1)+\tfrac{(n-1)(n-2)}{2}(N-1)^2\bigr)}"),
    ("eq-decay-recall", r"- \alpha^{2m}", r"- 1 - m(\alpha^2-1)-\tfrac{m(m-1)}{2}(\alpha^2-1)^2"),
    # or keys had one sixth moment
    ("eq-recall-step", r"\|\mathbf{X}\|^2\\", r"\|\mathbf{X}\|^2\\ \mathbb{E}\,(\boldsymbol{y}^\top\mathbf{F}\boldsymbol{y})^3 &= \alpha^3\Bigl(1-\frac{3\beta}{d_k}+\frac{9\beta^2}{d_k(d_k+2)}-\beta^3\frac{(2d_k+16)\,\|\boldsymbol{y}\odot\boldsymbol{y}\odot\boldsymbol{y}\|^2-30\,\|\boldsymbol{y}\odot\boldsymbol{y}\|^2+15}{d_k^2(d_k+2)}\Bigr)\\"),
]  # fmt: skip
