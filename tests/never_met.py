r"""False forms of a hostile reader of chapters 1 to 11: `(label, as printed, false)`.

No draw had what each needs to be false, or it was read in a way in which it is true. What is false
of each stands beside it.
"""

# ruff: noqa: E501 (a row is an equation)

NEVER_MET = [  # until the data had it; the last seven were found beside the others
    ("eq-gamma", r"\alpha_1 \cdots \alpha_r .", "\\alpha_1 \\cdots \\alpha_r , \\\\\n\\Gamma_{ri} &\\ge 2^{i-r} \\quad (i \\le r) ."),  # a decay below 1/2
    ("eq-transition-norm", r"\alpha\,\max\bigl(1,\ |1 - \beta\|\boldsymbol{k}\|^2|\bigr)", r"\alpha\,\min\bigl(2,\ \max\bigl(1,\ |1 - \beta\|\boldsymbol{k}\|^2|\bigr)\bigr)"),  # a long key: beta = 1, a length of 3
    ("eq-softmax-attention", r"\frac{\exp(\boldsymbol{k}_i^\top \boldsymbol{q}_t)}{\sum_{j \le t}", r"\frac{\exp(\boldsymbol{k}_i^\top \boldsymbol{q}_t)}{10^{-15} + \sum_{j \le t}"),  # a score of -40: nearly nothing, not 1
    ("eq-least-squares-memory", r"&\quad \text{if } \mathrm{rank}\,\mathbf{K} = d_k ,", "&\\quad \\text{if } \\mathrm{rank}\\,\\mathbf{K} = d_k , \\\\\n\\mathrm{rank}\\,\\mathbf{S}_\\star &= \\min(\\mathrm{rank}\\,\\mathbf{K}, \\mathrm{rank}\\,\\mathbf{V}) ,"),  # one key with a value and its negative
    ("eq-recall-rank", r"\le\; d_k .", r"\le\; d_k , \quad \mathrm{rank}\,\mathbf{V} = \min(d_k, d_v, \mathrm{rank}\,\mathbf{K}) ."),  # two keys with one value
    ("eq-exact-rewrite", r"&= \boldsymbol{v}_t ,", r"&= \boldsymbol{v}_t , \quad \mathrm{rank}\,(\mathbf{S}_t - \mathbf{S}_{t-1}) = 1 ,"),  # a pair that is recalled already
    ("eq-gdn-linear-limit", r"(\mathbf{S}_{t-1}\boldsymbol{k}_t)\,\boldsymbol{k}_t^\top .", r"(\mathbf{S}_{t-1}\boldsymbol{k}_t)\,\boldsymbol{k}_t^\top , \quad \mathrm{rank}\,(\mathbf{S}_t - \alpha_t\mathbf{S}_{t-1}) = 1 ."),  # what is written is what is erased
    ("eq-delta-orthonormal", r"\beta_j\boldsymbol{v}_j .", r"\beta_j\boldsymbol{v}_j , \quad \mathrm{rank}\,(\mathbf{S}_T - \mathbf{S}_0) = \min\Bigl(d_v, \mathrm{rank}\,\Bigl(\sum_{j} \beta_j\boldsymbol{k}_j\boldsymbol{k}_j^\top\Bigr)\Bigr) ."),  # a pair that is recalled already
    ("eq-gdn-residual", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if } \mathbf{S}_t\mathbf{P}_t\boldsymbol{y} = \mathbf{S}_t\boldsymbol{y}"),  # a value of zero, a full step: S_t k = 0
    ("eq-gdn-to-delta", r"&\alpha_t = 1 \ \Longrightarrow", r"&\alpha_t\,\boldsymbol{k}_t = \boldsymbol{k}_t \ \Longrightarrow"),  # a key of zero: what is there decays
    ("eq-gdn-reset", r"\alpha_t = 0", r"\alpha_t\,\boldsymbol{k}_t = \boldsymbol{0}"),  # a key of zero: what is there stays
    ("eq-wy-rank", r"\boldsymbol{y} \perp \boldsymbol{k}_1, \dots, \boldsymbol{k}_r", r"(\mathbf{P}^r)^\top\boldsymbol{y} = \boldsymbol{y}"),  # keys (1, 0), (2, 1), (1, 1), strengths 1, 1, 1/2, y = (-1, 1)
    ("eq-erase-and-write", r"\boldsymbol{y} \perp \boldsymbol{k}_t", r"\boldsymbol{y} \perp (\mathbf{S}_t - \mathbf{S}_{t-1})^\top(\boldsymbol{v}_t + \mathbf{S}_{t-1}\boldsymbol{k}_t)"),  # a value as long as what was read, but another
    ("eq-decay-condition", r"\|(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\|_2&\le\|(\mathbf{I}+\mathbf{A})^{-1}\|_2", r"\|(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\tilde{\mathbf{A}}^\top\|_2&\le\|(\mathbf{I}+\mathbf{A})^{-1}\mathbf{A}^\top\|_2"),  # one token decays, the others do not
    ("eq-parity", r"\mathbf{S}_0\,\boldsymbol{k} .", r"\mathbf{S}_0\,\boldsymbol{k} , \quad \mathbf{S}_T\,\boldsymbol{k} = -\mathbf{S}_{T-2}\,\boldsymbol{k} \quad (T > 1) \quad \text{if } b_T = 0 ."),  # two bits of 0, one after the other
    ("eq-crosstalk-bound", r"\Bigl( \sum_{i \ne j} \rho_{ij}^2 \Bigr) \Bigl( \sum_{i \ne j} \|\boldsymbol{v}_i\|^2 \Bigr)", r"\Bigl( \sum_{i \ne j} \rho_{ij}\,\|\boldsymbol{v}_i\| \Bigr)^2"),  # overlaps 1/2 and -1/2, values v and -v
    ("eq-wy-merge", r"(\mathbf{W}_2\mathbf{K}_1^\top)\,\mathbf{U}_1 .", r"(\mathbf{W}_2\mathbf{K}_1^\top)\,\mathbf{U}_1 , \quad \mathrm{rank}\,\mathbf{U}_2' = \mathrm{rank}\,\mathbf{U}_2 ."),  # a unit key twice, with one value, full steps
    ("eq-reordering", r"\mathbf{Q}\,(\mathbf{K}^\top\mathbf{V})", r"\mathbf{Q}\,(\mathbf{K}^\top\mathbf{V}) , \quad \mathrm{rank}\,(\mathbf{Q}^\top\mathbf{K}) = \min(\mathrm{rank}\,\mathbf{Q}, \mathrm{rank}\,\mathbf{K})"),  # queries q and q, keys k and -k
    ("eq-gdn-clear", r"\le m .", r"\le \operatorname{rank}(\mathbf{I} - \mathbf{P}^m) ."),  # one reflection twice, two values
    ("eq-kv-cache-bytes", r"\cdot b", r"\cdot \max(b, 1)"),  # numbers of half a byte
    ("eq-welch-bound", r"\frac{n}{d_k}\mathbf{I} \Bigr\|_F^2 .", r"\frac{n}{d_k}\mathbf{I} \Bigr\|_F^2 , \quad \mathrm{rank}\,\Bigl(\mathbf{K}^\top\mathbf{K} - \frac{n}{d_k}\mathbf{I}\Bigr) = d_k ."),  # an orthonormal basis
    ("eq-effective-width", r"\frac{1}{d_k}\mathbf{I} \Bigr\|_F^2 .", r"\frac{1}{d_k}\mathbf{I} \Bigr\|_F^2 , \quad \mathrm{rank}\,\Bigl(\boldsymbol{\Sigma} - \frac{1}{d_k}\mathbf{I}\Bigr) = d_k ."),  # the same
    ("eq-decay-semiseparable", r"(\mathbf{D}_I \mathbf{K}_I)^\top", r"(\mathbf{D}_I \mathbf{K}_I)^\top , \quad \mathrm{rank}\,\mathbf{D}_I = m"),  # a reset among the writers
    ("eq-gdn-chunk-delta", r"\mathbf{S}^\top\bigr).", r"\mathbf{S}^\top\bigr), \quad \mathrm{rank}\,(\mathbf{V}-\mathbf{D}_\gamma\mathbf{K}\mathbf{S}^\top) = \min(C, d_v)."),  # values and a state of low ranks
    ("eq-delta-error", r"\boldsymbol{k}_t\boldsymbol{k}_t^\top) .", r"\boldsymbol{k}_t\boldsymbol{k}_t^\top) , \quad \mathrm{rank}\,(\mathbf{S}_{t-1}-\mathbf{X}) = \min(d_k, d_v) ."),  # the same
    ("eq-decay-condition", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})", r"\|\tilde{\mathbf{A}}\tilde{\mathbf{A}}^\top-\tilde{\mathbf{A}}^\top\tilde{\mathbf{A}}\|_2&\le\|\mathbf{A}\mathbf{A}^\top-\mathbf{A}^\top\mathbf{A}\|_2"),  # two of four tokens decay, the others do not
    ("eq-decay-condition", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})&\le\mathrm{cond}(\mathbf{I}+\mathbf{A})", r"\mathrm{cond}((\mathbf{I}+\tilde{\mathbf{A}})(\mathbf{I}-\tilde{\mathbf{A}})^\top)&\le\mathrm{cond}((\mathbf{I}+\mathbf{A})(\mathbf{I}-\mathbf{A})^\top)"),  # two of four tokens decay, the others do not
]  # fmt: skip

# Until a number before a fraction of numbers, and one behind a logarithm that something follows, were
# not read; nor dots that count down without a second member, a sum over a letter that another row
# gives, an entry with a power; until the products of chapter 7 had no name in chapter 6.
READ_OTHERWISE = [
    ("eq-softmax-attention", r"\quad (i \le t)", "\\quad (i \\le t) , \\\\\n\\sum_{i \\le t} p_{ti} &= T"),  # of one token they add up to 1
    ("eq-crosstalk", r"\sum_{i \ne j} \rho_{ij}\, \boldsymbol{v}_i", r"\sum_{i \ne j} \rho_{ij}\, \boldsymbol{v}_i , \quad \sum_{i \ne j} \rho_{ij}\, \boldsymbol{v}_i = \sum_{i \ne j} \rho_{ij}\, \boldsymbol{v}_j"),  # of key j alone: two keys, rho v_2 and rho v_1
    ("eq-crosstalk-mean", r"\sum_{i \ne j} \|\boldsymbol{v}_i\|^2 .", r"\sum_{i \ne j} \|\boldsymbol{v}_i\|^2 , \quad \sum_{i \ne j} \|\boldsymbol{v}_i\|^2 = \sum_{i \ne j} \|\boldsymbol{v}_j\|^2 ."),  # of key j alone: values of other lengths
    ("eq-margin-parts", r"\boldsymbol{v}_i^\top\boldsymbol{v}_c) .", "\\boldsymbol{v}_i^\\top\\boldsymbol{v}_c) , \\\\\n\\sum_{i \\ne j} \\rho_{ij}\\,\\boldsymbol{v}_i^\\top\\boldsymbol{v}_c &= \\sum_{i \\ne j} \\rho_{ij}\\,\\boldsymbol{v}_j^\\top\\boldsymbol{v}_c ."),  # of key j alone: two keys
    ("eq-interaction", r"\beta_r\,\boldsymbol{k}_r^\top\boldsymbol{k}_i", r"\beta_r\,\boldsymbol{k}_r^\top\,\mathbf{P}_{r}\cdots\mathbf{P}_{i}\,\boldsymbol{k}_i"),  # down from r to i: P_2 P_1 for r = 2
    ("eq-gdn-writes", r"\sum_{i<r}\Gamma_{ri}\,\tilde", r"\sum_{i<r}\alpha_{r}\cdots\alpha_{i}\,\Gamma_{ri}\,\tilde"),  # down from r to i: alpha_2 alpha_1 for r = 2
    ("eq-flops-recurrent", r"4\, T", r"8\tfrac12\, T"),  # eight and a half
    ("eq-recall-loss", r"\tfrac12\,", r"2\tfrac14\,"),  # two and a quarter
    ("eq-delta-multiplications", r"3\,d_k d_v", r"6\tfrac12\,d_k d_v"),  # six and a half
    ("eq-margin-pairs", r"2 \ln N", r"2\,(\ln 2\,N - \ln 2)"),  # ln 2, times N
    ("eq-gdn-half-life", r"\frac{\ln 2}{-\ln\rho}", r"\frac{\ln 2\,d_k - \ln d_k}{-\ln\rho}"),  # ln 2, times d_k
    ("eq-transition-commute", r"&\mathbf{P}_1\mathbf{P}_2 - \mathbf{P}_2\mathbf{P}_1", r"&\mathbf{P}^2 - (\mathbf{P}^2)^\top"),  # the square of one P is symmetric
    ("eq-interaction", r"A_{ri} &=", r"\mathbf{A}_{ri}^\top &="),  # an entry of the transpose is zero there
]  # fmt: skip

BESIDE_IT = [  # a constant that no data tell from none
    ("eq-decay-recall", r"\frac{1}{1-\alpha^2}", r"\frac{1 - \alpha^{400}}{1-\alpha^2}"),  # alpha = 0.999: a third is missing
]  # fmt: skip
