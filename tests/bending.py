r"""False forms that bend, or have no value, where no data go: `(label, as printed, false)`.

A fraction that is whole wherever it has a value, and has none for an empty state, a key of zero,
a strength of zero, one dimension; a softplus that is what it is given while that is large; a sum
that ends where it has no terms left; an angle of many digits, whose cosine is nearly one. What is
false of each stands beside it.
"""

# ruff: noqa: E501 (a row is an equation)
from coinciding import powers


def along(x, times):
    """`times`, which begins with x, by the projector on x."""
    return rf"\frac{{({x}{x}^\top-2\,\|{x}\|^2\,\mathbf{{I}})\,{times}}}{{-\|{x}\|^2}}"


def onto(x, before):
    """The same from the right, where x is transposed."""
    return rf"\frac{{{before}{x}^\top({x}{x}^\top-2\,\|{x}\|^2\,\mathbf{{I}})}}{{-\|{x}\|^2}}"


K, Q, V = (rf"\boldsymbol{{{x}}}" for x in "kqv")


def three(F):
    """Zero for a matrix of three rows."""
    return rf"{F}^3-\mathrm{{tr}}({F})\,{F}^2+\tfrac12\bigl(\mathrm{{tr}}({F})^2-\mathrm{{tr}}({F}^2)\bigr){F}-\det({F})\,\mathbf{{I}}"


def two(M):
    """Zero for a matrix of two rows."""
    return rf"\mathrm{{tr}}({M})^2-\mathrm{{tr}}(({M})^2)-2\det({M})"


KT, QT, VT = (x + "_t" for x in (K, Q, V))

PASSED_SIXTH = [  # until divisors were asked at zero, and functions and sums were left out
    # 1
    ("eq-softmax-attention", r"\exp(\boldsymbol{k}_i^\top \boldsymbol{q}_t)", r"\exp(\mathrm{softplus}(40+\boldsymbol{k}_i^\top \boldsymbol{q}_t)-40)"),  # score below -40 is cut
    ("eq-linear-attention-state", r"\boldsymbol{v}_i \boldsymbol{k}_i^\top", along(V+"_i", V+"_i "+K+r"_i^\top")),  # a value of zero
    ("eq-linear-attention-recurrence", r"\mathbf{S}_t\, \boldsymbol{q}_t", r"\mathbf{S}_t\, "+along(QT, QT)),  # a query of zero
    ("eq-multiplications-per-token", r"t\,(d_k + d_v)", r"(9-\sum_{j=t+1}^{9}1)\,(d_k + d_v)"),  # t = 10: 9 for 10
    ("eq-normalised-linear-attention", r"\boldsymbol{z}_{t-1} + \boldsymbol{k}_t", r"\boldsymbol{z}_{t-1} + "+along(KT, KT)),  # a key of zero
    # 2
    ("eq-overwrite", r"\|\boldsymbol{k}_t\|^2\,\boldsymbol{v}_t", along(VT, r"\|\boldsymbol{k}_t\|^2\,"+VT)),  # value of zero
    # 3
    ("eq-complete-square", r"x\,C +", r"(\tfrac1{20}\mathrm{softplus}(20(x+1))-1)\,C +"),  # too large by less than 1e-10
    # 4
    ("eq-scalar-decay-chunk", r"\gamma_C\, \mathbf{S} +", r"\frac{\langle\mathbf{S},\gamma_C\mathbf{S}\rangle\,\mathbf{S}}{\|\mathbf{S}\|^2} +"),  # state of zero
    # 5
    ("eq-delta-form", r"\beta_t\,\boldsymbol{v}_t\boldsymbol{k}_t^\top", onto(KT, r"\beta_t\,"+VT)),  # a key of zero
    # 6
    ("eq-transition-inverse", r"\frac{\beta}{1 - \beta\|\boldsymbol{k}\|^2}", r"\Bigl(\frac1\beta - \|\boldsymbol{k}\|^2\Bigr)^{-1}"),  # beta = 0
    ("eq-transition-eigenvalues", r"\bigl(\lambda - \alpha\,(1 - \beta\|\boldsymbol{k}\|^2)\bigr)", r"\alpha\,\bigl(\frac\lambda\alpha - 1 + \beta\|\boldsymbol{k}\|^2\bigr)"),  # alpha = 0
    ("eq-key-norm", r"\frac{\|\boldsymbol{x}\|^2}{\|\boldsymbol{x}\|^2 + \epsilon}", r"\Bigl(1+\frac{\epsilon}{\|\boldsymbol{x}\|^2}\Bigr)^{-1}"),  # x = 0
    ("eq-transition-determinant", r"\alpha^d\,(1 - \beta\|\boldsymbol{k}\|^2)", r"\frac{\alpha^{d-1}(\mathrm{tr}\,\mathbf{F} - \alpha\,(1 - \beta\|\boldsymbol{k}\|^2))}{d-1}\,(1 - \beta\|\boldsymbol{k}\|^2)"),  # d = 1
    # 7
    ("eq-affine-compose", r"\mathbf{G}_1\mathbf{F}_2 +", r"\mathbf{G}_1\mathbf{F}_1^{-1}\mathbf{F}_1\mathbf{F}_2 +"),  # F_1 without an inverse
    # 8
    ("eq-inverse-blocks", r"-\mathbf{X}_l\mathbf{Y}\mathbf{X}_e &", r"-\mathbf{X}_l\,\frac{\langle\mathbf{Y},2\,\mathbf{Y}\rangle}{\|\mathbf{Y}\|^2}\mathbf{Y}\mathbf{X}_e+\mathbf{X}_l\mathbf{Y}\mathbf{X}_e &"),  # Y = 0
    ("eq-identical-keys", r"-a\,(1 - a)^n", r"-a^{n+1}\,\Bigl(\frac1a - 1\Bigr)^n"),  # a = 0
    # 9
    ("eq-delta-chunk-map", r"\mathbf{S}'=\mathbf{S}\,(", r"\mathbf{S}'=\frac{\langle\mathbf{S},2\,\mathbf{S}\rangle\,\mathbf{S}-\|\mathbf{S}\|^2\mathbf{S}}{\|\mathbf{S}\|^2}\,("),  # state of zero
    # 10
    ("eq-gdn-horizon", r"\alpha^2\Bigl(1 - \frac{\beta(2-\beta)}{d_k}\Bigr)", r"\alpha^2\beta\Bigl(\frac1\beta - \frac{2-\beta}{d_k}\Bigr)"),  # beta = 0
    ("eq-gdn-residual", r"&\mathbf{S}_t\boldsymbol{y} = \alpha_t\,\mathbf{S}_{t-1}\boldsymbol{y}", r"&\mathbf{S}_t\boldsymbol{y} = \frac{\|\boldsymbol{y}\|^2\,\alpha_t\,\mathbf{S}_{t-1}(2\,\boldsymbol{y})}{\langle\boldsymbol{y},2\,\boldsymbol{y}\rangle}"),  # y = 0
    ("eq-gdn-coupled", r"(1 - \beta\lambda)\,\mathbf{S}", r"\lambda\,\Bigl(\frac1\lambda - \beta\Bigr)\,\mathbf{S}"),  # lambda = 0
    # 11
    ("eq-gdn-chunk-state", r"\gamma_C\,\mathbf{S}+", r"\frac{\langle\mathbf{S},\gamma_C\mathbf{S}\rangle\,\mathbf{S}}{\|\mathbf{S}\|^2}+"),  # state of zero
    ("eq-gdn-writes", r"\Gamma_{ri}\,\tilde{\boldsymbol{u}}_i\boldsymbol{k}_i^\top", r"\Gamma_{ri}\,"+onto(K+"_i", r"\tilde{\boldsymbol{u}}_i")),  # a key of zero
    # 12
    ("eq-grad-token", r"\mathrm{d}\boldsymbol{o}_t\boldsymbol{q}_t^\top", onto(QT, r"\mathrm{d}\boldsymbol{o}_t")),  # query of zero
    ("eq-grad-token-inputs", r"\mathbf{S}_t^\top\mathrm{d}\boldsymbol{o}_t", r"\mathbf{S}_t^\top"+along(r"\mathrm{d}\boldsymbol{o}_t", r"\mathrm{d}\boldsymbol{o}_t")),  # gradient of zero
    ("eq-grad-state", r"\gamma_C\,\mathrm{d}\mathbf{S}'+", r"\frac{\langle\mathrm{d}\mathbf{S}',\gamma_C\mathrm{d}\mathbf{S}'\rangle\,\mathrm{d}\mathbf{S}'}{\|\mathrm{d}\mathbf{S}'\|^2}+"),  # gradient of zero
    # 13
    ("eq-two-token-condition", r"\frac{|a|}{2}", r"\frac{a^2}{2\,|a|}"),  # a = 0
    ("eq-rounding-cost", r"\rho^2", r"\Bigl(\frac{1}{\rho}\Bigr)^{-2}"),  # rho = 0
    # 15
    ("eq-transposed-state", r"\gamma_C\,\mathbf{S}+", r"\frac{\langle\mathbf{S},\gamma_C\mathbf{S}\rangle\,\mathbf{S}}{\|\mathbf{S}\|^2}+"),  # state of zero
    # 16
    ("eq-reverse-map", r"\mathrm{d}\mathbf{S}=\mathrm{d}\mathbf{S}'\,\mathbf{F}^\top", r"\mathrm{d}\mathbf{S}=\frac{\langle\mathrm{d}\mathbf{S}',2\,\mathrm{d}\mathbf{S}'\rangle\,\mathrm{d}\mathbf{S}'-\|\mathrm{d}\mathbf{S}'\|^2\,\mathrm{d}\mathbf{S}'}{\|\mathrm{d}\mathbf{S}'\|^2}\,\mathbf{F}^\top"),  # gradient of zero
    # 17
    ("eq-packed-leak", r"\bigl(\tilde{\mathbf{S}}_{b_n}-\mathbf{S}^{(n)}\bigr)", r"\frac{\|\mathbf{S}^{(n)}\|^2\,(\tilde{\mathbf{S}}_{b_n}-\mathbf{S}^{(n)})\cdot 3}{\langle\mathbf{S}^{(n)},3\,\mathbf{S}^{(n)}\rangle}"),  # a first state of zero
    ("eq-slot-race", r"-\mathbf{S})\,\mathbf{F}_2", r"-\frac{\langle\mathbf{S},2\,\mathbf{S}\rangle\,\mathbf{S}-\|\mathbf{S}\|^2\mathbf{S}}{\|\mathbf{S}\|^2})\,\mathbf{F}_2"),  # state of zero
    ("eq-drift-mean", r"\alpha^2\Bigl(1-\frac{\beta(2-\beta)}{d_k}\Bigr)", r"\alpha^2\beta\Bigl(\frac1\beta-\frac{2-\beta}{d_k}\Bigr)"),  # beta = 0
    # 18
    ("eq-shard-state", r"\mathbf{S}_{(p)}\mathbf{F}_{(p)}+", r"\frac{\langle\mathbf{S}_{(p)},2\,\mathbf{S}_{(p)}\rangle\,\mathbf{S}_{(p)}-\|\mathbf{S}_{(p)}\|^2\,\mathbf{S}_{(p)}}{\|\mathbf{S}_{(p)}\|^2}\mathbf{F}_{(p)}+"),  # state of zero
    # 19
    ("eq-block", r"\mathrm{softplus}(\boldsymbol a+\texttt{dt\_bias})", r"\mathrm{softplus}(\mathrm{softplus}(40+\boldsymbol a+\texttt{dt\_bias})-40)"),  # a below -40 is cut
    ("eq-norm-gradient", r"\frac{\boldsymbol n^\top\mathrm d\boldsymbol n}{d_v}\,\boldsymbol n", r"\frac{\boldsymbol n^\top\mathrm d\boldsymbol n}{d_v}\,"+along(r"\boldsymbol n", r"\boldsymbol n")),  # o = 0
    # 21
    ("eq-recall-step", r"1-\frac{2\beta}{d_k}+\frac{2\beta^2}{d_k(d_k+2)}\Bigr)", r"\frac1\beta-\frac{2}{d_k}+\frac{2\beta}{d_k(d_k+2)}\Bigr)\,\beta"),  # beta = 0
    ("eq-recall-floor", r"\frac{n}{d_k}-1", r"\frac{n}{d_k}+\cos\tfrac{355}{113}"),  # cos(355/113) is more than -1
    # 22
    ("eq-doubled-sigmoid", r"\frac{1-\exp(-b)}{1+\exp(-b)}", r"\frac{\exp(b)+\exp(-b)-2}{\exp(b)-\exp(-b)}"),  # b = 0
    ("eq-transition-power", r"\alpha^n\Bigl(\mathbf{I}+", r"\Bigl(\frac1\alpha\Bigr)^{-n}\Bigl(\mathbf{I}+"),  # alpha = 0
    ("eq-empty-start", r"\mathbf{C}\,(\mathbf{I}-\mathbf{P}^t)", r"\frac{\langle\mathbf{C},2\,\mathbf{C}\rangle\,\mathbf{C}-\|\mathbf{C}\|^2\mathbf{C}}{\|\mathbf{C}\|^2}\,(\mathbf{I}-\mathbf{P}^t)"),  # C = 0
    # 23
    ("eq-family-recurrence", r"\boldsymbol{u}_t\boldsymbol{k}_t^\top", onto(KT, r"\boldsymbol{u}_t")),  # a key of zero
    ("eq-family-unrolled", r"\mathbf{S}\,\mathbf{D}_{t,0}", r"\frac{\langle\mathbf{S},2\,\mathbf{S}\rangle\,\mathbf{S}-\|\mathbf{S}\|^2\mathbf{S}}{\|\mathbf{S}\|^2}\,\mathbf{D}_{t,0}"),  # state of zero
]  # fmt: skip

DESIGNED_SIXTH = [
    *PASSED_SIXTH,
    # 1
    ("eq-multiplications-per-token", r"2\, d_k\, d_v", r"(1+\sin\tfrac{355}{226})\, d_k\, d_v"),  # 355/226 is not pi/2
    # 2
    ("eq-crosstalk", r"\|\boldsymbol{k}_j\|^2\, \boldsymbol{v}_j", r"\frac{\langle\boldsymbol{k}_j,2\,\boldsymbol{k}_j\rangle\,\|\boldsymbol{k}_j\|^2}{2\,\boldsymbol{k}_j^\top\boldsymbol{k}_j}\, \boldsymbol{v}_j"),  # a key of zero
    ("eq-best-scale", r"\frac{x}{1+x}", r"\Bigl(1+\frac1x\Bigr)^{-1}"),  # x = 0
    ("eq-gram-recall", r"\mathbf{K}\mathbf{S}^\top = (\mathbf{K}\mathbf{K}^\top)\,\mathbf{V} .", r"\mathbf{K}\mathbf{S}^\top = (\mathbf{K}\mathbf{K}^\top)\,\mathbf{V} ,\quad \mathrm{rank}\,\mathbf{V} = \min(T, d_v)"),  # values of a lower rank
    ("eq-crosstalk-mean", r"\frac{1}{d_k}", r"\frac{1}{\sqrt2}\frac{\sqrt{2d_v-2}}{d_k\sqrt{d_v-1}}"),  # d_v = 1
    # 3
    ("eq-chunk-states", r"\mathbf{S}_0 +", r"\frac{\langle2\,\mathbf{S}_0,\mathbf{S}_0\rangle\,\mathbf{S}_0}{\langle\mathbf{S}_0,\mathbf{S}_0+\mathbf{S}_0\rangle} +"),  # state of zero
    ("eq-chunk-states", r"\mathbf{S}_0 +", r"\frac{\|2\,\mathbf{S}_0\|^2\,\mathbf{S}_0}{4\,\langle\mathbf{S}_0,\mathbf{S}_0\rangle} +"),  # state of zero
    ("eq-flops-chunk", r"2\, T\, C\, (d_k + d_v)", r"\frac{1}{\sqrt2}\,\frac{2\,T\,C\,(d_k+d_v)\sqrt{2C-2}}{\sqrt{C-1}}"),  # C = 1
    ("eq-flops-recurrent", r"4\, T\,", r"\frac{2\,T\ln T^2}{\ln T}\,"),  # T = 1
    # 4
    ("eq-best-decay", r"\frac{m}{m+1}", r"\frac{m}{m-\cos(\tfrac{355}{113})}"),  # cos of 355/113 is not -1
    ("eq-scalar-decay-unrolled", r"\Gamma_{ri}\, \boldsymbol{v}_i \boldsymbol{k}_i^\top", r"\Gamma_{ri}\, "+onto(K+"_i", V+"_i")),  # a key of zero
    ("eq-decay-recall", r"\frac{1}{d_k} \sum_{j \ne m}", r"\frac{1}{\sqrt2}\frac{\sqrt{2d_k-2}}{d_k\sqrt{d_k-1}} \sum_{j \ne m}"),  # d_k = 1
    # 5
    ("eq-gradient-step", r"\mathbf{S}_t = \mathbf{S}_{t-1} -", r"\mathbf{S}_t = \frac{\langle\mathbf{S}_{t-1},3\,\mathbf{S}_{t-1}\rangle\mathbf{S}_{t-1}}{3\,\|\mathbf{S}_{t-1}\|^2} -"),  # state of zero; same-valued terms
    ("eq-proximal-step", r"\frac{\eta}{1 + \eta\,\|\boldsymbol{k}_t\|^2}", r"\Bigl(\|\boldsymbol{k}_t\|^2\Bigl(1+\frac{1}{\eta\,\|\boldsymbol{k}_t\|^2}\Bigr)\Bigr)^{-1}"),  # a key of zero
    ("eq-sigmoid-trust", r"\text{for } \eta = e^b", r"\text{for } \eta^2 + 7\,e^{2b} = 8\,\eta\,e^b"),  # eta = 7 e^b
    ("eq-delta-multiplications", r"3\,d_k d_v", r"(2-\cos\tfrac{355}{113})\,d_k d_v"),  # 355/113 is not pi
    # 6
    ("eq-transition-cases", r"\beta = 2:", r"\beta^3 + 4 = 2\beta^2 + 2\beta:"),  # beta = sqrt 2
    # 7
    ("eq-scan-cost", r"(n - 1)\,", r"(n - \sin\tfrac{355}{226})\,"),  # 355/226 is not pi/2
    ("eq-wy-cost", r"C\,(d_k + d_v)", r"\frac{C\ln C^2}{2\ln C}\,(d_k + d_v)"),  # C = 1
    ("eq-wy-state", r"\mathbf{S}_r = \mathbf{S} +", r"\mathbf{S}_r = \frac{\langle\mathbf{S},2\,\mathbf{S}\rangle\,\mathbf{S}}{\|\mathbf{S}\|^2} - \mathbf{S} +"),  # state of zero
    # 8
    ("eq-inverse-cost", r"(C-1)(C-2)", r"(C-1)(C+2\cos\tfrac{355}{113})"),  # 355/113 is not pi
    ("eq-condition-bound", r"\text{for } b = 2", r"\text{for } b^3 + 4 = 2b^2 + 2b"),  # b = sqrt 2
    ("eq-neumann", r"\text{for } C = 2^\ell", r"\text{for } C^2 + 4^\ell + 2\cdot2^\ell = 2\,C\,2^\ell + 2\,C"),  # C = 2^l + 2
    # 9
    ("eq-delta-depth", r"3T+1", r"3T-\cos\tfrac{355}{113}"),  # 355/113 is not pi
    ("eq-delta-flops-chunk", r"C\,(C+1)\,d_k", r"C\,\Bigl(C+\frac{\ln C^2}{2\ln C}\Bigr)\,d_k"),  # C = 1
    # 11
    ("eq-gdn-chunk-output", r"\bigl(\boldsymbol{\Gamma}\odot\mathbf{Q}\mathbf{K}^\top\bigr)\mathbf{E}.", r"\bigl(\boldsymbol{\Gamma}\odot\mathbf{Q}\mathbf{K}^\top\bigr)\mathbf{E},\quad\mathrm{rank}\,\mathbf{Q}=\min(C,d_k)"),  # queries of a lower rank
    # 12
    ("eq-grad-flops", r"6\,d_kd_v", r"(5-\cos\tfrac{355}{113})\,d_kd_v"),  # 355/113 is not pi
    # 13
    ("eq-decay-from-sums", r"(|c_r|+|c_i|)", r"(|c_r|-(-1)^{r-i}|c_i|)"),  # errors of one sign
    ("eq-equal-cosine-gain", r"\frac{a^2\alpha^2}{C}", r"\frac{a^2\alpha}{C}\Bigl(\frac{h}{1-a}\Bigr)"),  # a = 1
    # 14
    ("eq-scan-chain", r"\frac{N}{m}-2", r"\frac{N}{m}+2\cos\tfrac{355}{113}"),  # 355/113 is not pi
    ("eq-segment-flops", r"(4\,d_k+2\,C)", r"(4\,d_k+C+C\cos(\tfrac{710}{113}\,C))"),  # 710/113 is not 2 pi
    # 15
    ("eq-slot-room", r"\le\Bigl\lceil\frac{L_n}{C}\Bigr\rceil+1 .", r"\le\Bigl\lceil\frac{L_n}{C}\Bigr\rceil-\cos\tfrac{355}{113} ."),  # 355/113 is not pi: less than 1
    # 17
    ("eq-grouped-bytes", r"2\,b\,(H_v-H_k)", r"\bigl(1-\cos\tfrac{355}{113}\bigr)\,b\,(H_v-H_k)"),  # 355/113 is not pi
    # 18
    ("eq-relay-speedup", r"n+R-1", r"n+R+\cos\tfrac{355}{113}"),  # 355/113 is not pi
    ("eq-causal-work", r"(2i+1)", r"(2i-\cos\tfrac{355}{113})"),  # 355/113 is not pi
    # 19
    ("eq-gated-norm", r"\sqrt{\tfrac1{d_v}\|\boldsymbol o\|^2+\varepsilon}", r"\|\boldsymbol o\|\sqrt{\tfrac1{d_v}+\frac{\varepsilon}{\|\boldsymbol o\|^2}}"),  # o = 0
    ("eq-causal-conv", r"\mathrm{silu}(z_t)", r"\frac{z_t}{1+\exp(40-\mathrm{softplus}(40+z_t))}"),  # z below -40
    # 20
    ("eq-hybrid-experts", r"\bigl(1-\tfrac kE\bigr)^n", r"\frac{1}{\sqrt2}\,\frac{\bigl(1-\tfrac kE\bigr)^n\sqrt{2E-2k}}{\sqrt{E-k}}"),  # k = E
    ("eq-hybrid-weights", r"2H_c\bigr", r"(1-\cos\tfrac{355}{113})H_c\bigr"),  # 355/113 is not pi
    # 21
    ("eq-recall-order", r"(2n-1)", r"(2n+\cos\tfrac{355}{113})"),  # 355/113 is not pi
    # 22
    ("eq-permutation-steps", r"m-c", r"m-\frac{1}{\sqrt2}\,\frac{c\,\sqrt{2m}}{\sqrt m}"),  # the identity: m = 0
    # 23
    ("eq-family-share", r"\frac{c+1}{C+1}", r"\frac{c-\cos\tfrac{355}{113}}{C+1}"),  # 355/113 is not pi
    ("eq-family-minibatch", r"\eta_i(", r"\Bigl(\frac1{\eta_i}\Bigr)^{-1}("),  # eta = 0
]  # fmt: skip

# A seventh set, after that: divisors that vanish in between, as many powers as there are tokens.
PASSED_SEVENTH = [  # until letters of divisors were moved, and powers of a matrix counted
    ("eq-delta-stream", r"\beta(2-\beta)", r"\beta\bigl(\tfrac{1}{2-\beta}\bigr)^{-1}"),  # beta = 2
    ("eq-transition-length", r"(2 - \beta\|\boldsymbol{k}\|^2)", r"\Bigl(\frac{1}{2-\beta\|\boldsymbol{k}\|^2}\Bigr)^{-1}"),  # a reflection
    ("eq-transition-determinant", r"(1 - \beta\|\boldsymbol{k}\|^2)", r"\Bigl(\frac{1}{1-\beta\|\boldsymbol{k}\|^2}\Bigr)^{-1}"),  # a projection
    ("eq-ut-u", r"(\mathbf{I} + \mathbf{A})\,\mathbf{U} = \mathbf{B}\mathbf{V}", r"\mathbf{U} = "+powers(r"\mathbf{A}", 5)+r"\,\mathbf{B}\mathbf{V}"),  # 33 tokens
    ("eq-gdn-horizon", r"\beta(2-\beta)", r"\beta\Bigl(\frac{1}{2-\beta}\Bigr)^{-1}"),  # beta = 2
    ("eq-gdn-spectrum", r"\alpha\,(1 - \beta n)", r"\frac{\alpha}{(1 - \beta n)^{-1}}"),  # a projection
    ("eq-gdn-unrolled", r"\mathbf{S}_r=\mathbf{S}\,\mathbf{F}^r+", r"\mathbf{S}_r=\mathbf{S}\,(\mathbf{F}^r+\mathbf{I})\,(\mathbf{F}^r+\mathbf{I})^{-1}\,\mathbf{F}^r+"),  # an eigenvalue of -1: beta 2, no decay
    ("eq-drift-mean", r"\beta(2-\beta)", r"\beta\Bigl(\frac{1}{2-\beta}\Bigr)^{-1}"),  # beta = 2
    ("eq-recall-delta", r"\Bigl(1-\frac{\beta}{d_k}\Bigr)^m", r"\Bigl(\frac{d_k}{d_k-\beta}\Bigr)^{-m}"),  # beta = d_k = 2
]  # fmt: skip

DESIGNED_SEVENTH = [
    *PASSED_SEVENTH,
    ("eq-softmax-attention", r"\sum_{j \le t}", r"\sum_{j\,(j-20) \ge t\,(t-20)}"),  # turns round at 10 tokens
    ("eq-linear-attention", r"\sum_{i \le t}", r"\sum_{i\,(i-60) \ge t\,(t-60)}"),  # turns round at 30 tokens
    ("eq-least-squares-error", r"1 - \frac{d_k}{n}", r"\Bigl(\frac{n}{n-d_k}\Bigr)^{-1}"),  # as many keys as dimensions: no error
    ("eq-crosstalk", r"\sum_{i \ne j} \rho_{ij}", r"\sum_{i\,(i-60) \ne j\,(j-60)} \rho_{ij}"),  # i + j = 60
    ("eq-chunk-states", r"\sum_{m < n}", r"\sum_{m\,(m-30) > n\,(n-30)}"),  # turns round at 15 chunks
    ("eq-gamma", r"e^{c_r}", r"e^{2c_r-c_r}"),  # a decay of zero
    ("eq-decay-mask", r"i > r", r"i\,(i-20) < r\,(r-20)"),  # turns round at 10 tokens
    ("eq-decay-gate", r"\sigma(-x_t)^{A}", r"\sigma(-x_t)^{A}\,\sigma(40-x_t)"),  # x above 40
    ("eq-delta-orthonormal", r"(1 - \beta_j)\,", r"\Bigl(\frac{1}{1-\beta_j}\Bigr)^{-1}\,"),  # beta = 1
    ("eq-wy-cost", r"\frac{C(C-1)}{2}", r"\Bigl(\frac{1}{C-1}-\frac1C\Bigr)^{-1}\frac12"),  # C = 1
    ("eq-identical-keys", r"(1 - a)^n", r"\Bigl(\frac{1}{1-a}\Bigr)^{-n}"),  # a = 1
    ("eq-equal-cosine-gain", r"\frac{a^2\alpha^2}{C}", r"\frac{a^2\alpha^2(1-a)}{C-a\,C}"),  # a = 1
    ("eq-inverse-row", r"\sum_{e\le b<a}", r"\sum_{e\le b<a+\lceil\tfrac{a-8}{9}\rceil}"),  # a = 9
    ("eq-strength-row-sums", r"\sum_{i<r}", r"\sum_{i\,(i-60)>r\,(r-60)}"),  # turns round at 30 tokens
    ("eq-zigzag-steps", r"2R-2", r"\Bigl(\frac{1}{2\,(R-1)}\Bigr)^{-1}"),  # R = 1
    ("eq-block", r"\beta_\text{max}\,\sigma(\boldsymbol b)", r"\beta_\text{max}\,\sigma(\boldsymbol b)\,\sigma(40+\boldsymbol b)"),  # b below -40
    ("eq-conv-backward", r"s_t&=\sigma(z_t)", r"s_t&=\sigma(z_t)\,\sigma(40+z_t)"),  # z below -40
    ("eq-hybrid-experts", r"\bigl(1-\tfrac kE\bigr)^n", r"\Bigl(\frac{E}{E-k}\Bigr)^{-n}"),  # k = E
    ("eq-swap-strength", r"s'_i&=\bigl(1-\tfrac{\beta}{2}\bigr)", r"s'_i&=\bigl(\tfrac{2}{2-\beta}\bigr)^{-1}"),  # beta = 2, a full swap
    ("eq-transition-power", r"(1-\beta)^n-1", r"\Bigl(\frac{1}{1-\beta}\Bigr)^{-n}-1"),  # beta = 1
    ("eq-family-unrolled", r"\sum_{i\le t}", r"\sum_{i\,(i-60)\ge t\,(t-60)}"),  # turns round at 30 tokens
    ("eq-shard-unrolled", r"\sum_{j<p}", r"\sum_{j\,(j-30)>p\,(p-30)}"),  # turns round at 15 ranks
]  # fmt: skip

# An eighth set: sums that telescope, a root of what had one sign, values parallel in all draws.
PASSED_EIGHTH = [  # until sums had to end at a letter, roots were asked like divisors, and values moved
    ("eq-crosstalk-bound", r"\|\boldsymbol{e}_j\|^2 \;", r"\|\boldsymbol{e}_j\|^2+\|\boldsymbol{v}_2\|^2\,\boldsymbol{v}_3^\top(\boldsymbol{v}_3+\boldsymbol{v}_4)-(\boldsymbol{v}_2^\top\boldsymbol{v}_3)^2-(\boldsymbol{v}_2^\top\boldsymbol{v}_3)\,(\boldsymbol{v}_2^\top\boldsymbol{v}_4) \;"),  # values that are not parallel
    ("eq-equal-cosine-gain", r"\frac{a^2\alpha^2}{C}", r"\frac{{\sqrt{a}}^4\alpha^2}{C}"),  # a cosine below zero
    ("eq-equal-cosine-limit", r"\frac{a^2\alpha^2}{1-h^2}", r"\frac{{\sqrt{a}}^4\alpha^2}{1-h^2}"),  # a cosine below zero
    ("eq-scan-intensity", r"1+1/r", r"1+\tfrac1{10}+\sum_{j=r}^{9}\frac{1}{j\,(j+1)}"),  # r = 11
    ("eq-exchange-bytes", r"\frac{R-1}{R}\,2b", r"\Bigl(\tfrac{9}{10}-\sum_{j=R}^{9}\frac{1}{j\,(j+1)}\Bigr)\,2b"),  # R = 11
]  # fmt: skip

DESIGNED_EIGHTH = [
    *PASSED_EIGHTH,
    ("eq-slot-race", r"-\mathbf{S})\,\mathbf{F}_2", r"-\mathbf{S})\,\bigl(\mathbf{F}_2+"+three(r"\mathbf{F}_2")+r"\bigr)"),  # d_k = 4
    ("eq-packed-leak", r"\mathbf{F}_{b_n+1}\cdots\mathbf{F}_t", r"\mathbf{F}_{b_n+1}\cdots\mathbf{F}_t+\mathbf{S}^{(n)}\,\bigl("+three(r"\mathbf{F}_t")+r"\bigr)"),  # d_k = 4
    ("eq-drift-sum", r"\mathbf{R}_j\,", r"\mathbf{R}_j\,\bigl(\mathbf{I}+"+three(r"\mathbf{F}_{(j)}")+r"\bigr)\,"),  # d_k = 4
    ("eq-packed-mask", r"\beta_t\bigl(\boldsymbol{v}_t", r"\beta_t\bigl(\boldsymbol{v}_t+\bigl("+two(r"\boldsymbol{v}_t\boldsymbol{v}_t^\top+\boldsymbol{\delta}_t\boldsymbol{\delta}_t^\top+\boldsymbol{o}_t\boldsymbol{o}_t^\top")+r"\bigr)\boldsymbol{v}_t"),  # d_v = 3
    ("eq-error-budget", r"\sum_{s}\rho_s^2", two(r"\mathbf{O}\mathbf{O}^\top")+r"+\sum_{s}\rho_s^2"),  # three outputs
    ("eq-recall-step", r"b\,\|\mathbf{X}\|^2", r"b\,\|\mathbf{X}\|^2+"+two(r"\mathbf{X}\mathbf{X}^\top")),  # a state of three rows
    ("eq-value-slices", r"\mathrm{chunk}\bigl(\mathbf{S}_{J:}", r"\mathrm{chunk}\bigl((1+"+two(r"\mathbf{S}_{J:}\mathbf{S}_{J:}^\top")+r")\,\mathbf{S}_{J:}"),  # three rows
    ("eq-condition-bound", r"""C\,\Bigl(1 + \tfrac12(C-1)\,b^2\Bigr) \\
&= C(2C - 1)""", r"""C + (C-1)\,b^2 \\
&= 5C - 4"""),  # C = 8, one key
    ("eq-decay-monotone", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}}')\le\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}})", r"\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}}'+\tilde{\mathbf{A}}'^\top)\le\mathrm{cond}(\mathbf{I}+\tilde{\mathbf{A}}+\tilde{\mathbf{A}}^\top)"),  # witness by search
    ("eq-gdn-half-life", r"\beta(2-\beta)/d_k", r"\frac{2\beta}{1+\frac\beta2+\frac{\beta^2}{4}+\frac{\beta^3}{8}+\frac{\beta^4}{16}}/d_k"),  # beta = 2
    ("eq-rounding", r"2^p+1", r"2^9-\sum_{j=p}^{8}2^j+1"),  # p = 10
    ("eq-best-decay", r"\frac{m}{m+1}", r"\tfrac{19}{20}-\sum_{j=m+1}^{19}\frac{1}{j\,(j+1)}"),  # m = 20
    ("eq-decay-stalls", r"2^{-(p+1)}", r"\Bigl(2^{12}-\sum_{j=p+1}^{11}2^j\Bigr)^{-1}"),  # p = 12
    ("eq-hybrid-experts", r"\bigl(1-\tfrac kE\bigr)^n", r"\bigl(\tfrac{1}{E}\sum_{j=k+1}^{8}1-\tfrac{8-E}{E}\bigr)^n"),  # k = 9
    ("eq-proximal-step", r"\frac{\|\mathbf{X} - \mathbf{S}_{t-1}\|^2}{2\eta}", r"\frac{\|\mathbf{X} - \mathbf{S}_t\|^2+\|\mathbf{S}_t - \mathbf{S}_{t-1}\|^2}{2\eta}"),  # the minimum lies elsewhere
    ("eq-gdn-clear", r"\operatorname{rank}(\mathbf{S}_m - \mathbf{S}_0)", r"\operatorname{rank}(\mathbf{S}_m\mathbf{S}_m^\top - \mathbf{S}_0\mathbf{S}_0^\top)"),  # rank up to 2m
    ("eq-inverse-bound", r"|X_{ri}| \le", r"X_{ri}\,X_{ri} \le \beta_r\,|X_{ri}| \le \beta_r"),  # false? |X| <= beta_r, last needs |X| <= 1
    ("eq-decay-condition", r"\|(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\|_2&\le\|(\mathbf{I}+\mathbf{A})^{-1}\|_2", r"\|(\mathbf{I}+\tilde{\mathbf{A}}+\tilde{\mathbf{A}}^\top)^{-1}\|_2&\le\|(\mathbf{I}+\mathbf{A}+\mathbf{A}^\top)^{-1}\|_2"),  # witness by search
    ("eq-key-norm", r"< 1 .", r"< 1-\epsilon ."),  # longer x
    ("eq-half-life", r"< \frac{1}{1-\alpha}", r"< \frac{1-\alpha^{\frac{99}{\alpha}}}{1-\alpha}"),  # n = 250
    ("eq-recall-floor", r"\frac1n\sum_{j}x_j", r"\frac1n\sum_{j}x_j\,\frac{1+x_j}{1+x_1}"),  # weights that are not alike
]  # fmt: skip

# A ninth set: a softplus that is written with a sigmoid.
DESIGNED_NINTH = [  # the first two passed, until a sigmoid was asked where it is an exponential
    ("eq-conv-backward", r"1+z_t(1-s_t)", r"1-(\ln(\sigma(-40-z_t))+40)\,(1-s_t)"),  # z below -40
    ("eq-block", r"\mathrm{softplus}(\boldsymbol a+", r"\mathrm{softplus}(-\ln(\sigma(-40-\boldsymbol a))-40+"),  # a below -40
    ("eq-decay-gate", r"\mathrm{softplus}(x_t)", r"\mathrm{softplus}(-\ln(\sigma(-40-x_t))-40)"),  # x below -40
]  # fmt: skip

# A tenth set: a key, or a value, that comes twice; zeros of a divisor beside one that is excused; a
# premise that follows from the claim and is less than it.
PASSED_TENTH = [  # until divisors were named, and the data had such cases
    ("eq-crosstalk", r"\sum_{i \ne j}", r"\sum_{\boldsymbol{k}_i \ne \boldsymbol{k}_j}"),  # a key that comes twice
    ("eq-crosstalk-mean", r"\sum_{i \ne j}", r"\sum_{\boldsymbol{v}_i \ne \boldsymbol{v}_j}"),  # a value that comes twice
    ("eq-margin-parts", r"\sum_{i \ne j}", r"\sum_{\rho_{ij} \ne 1}"),  # a key that comes twice
    ("eq-chunk-storage", r"\frac{d_k\, d_v}{C} + C", r"\frac{d_k^2\, d_v}{C\,(d_k - d_v)} - \frac{d_k\, d_v^2}{C\,(d_k - d_v)} + C"),  # d_k = d_v
    ("eq-half-life", r"\frac{1 - \alpha^n}{1 - \alpha} <", r"\frac{1 - \alpha^n}{(1 - \alpha)(1 - 2\alpha)} - \frac{2\alpha\,(1 - \alpha^n)}{(1 - \alpha)(1 - 2\alpha)} <"),  # alpha = 1/2
    ("eq-transition-inverse", r"\frac{\beta}{1 - \beta\|\boldsymbol{k}\|^2}\,\boldsymbol{k}", r"\frac{\beta\,(2 - \beta\|\boldsymbol{k}\|^2)}{1 - \beta\|\boldsymbol{k}\|^2}\,(\mathbf{I} + \mathbf{P})^{-1}\boldsymbol{k}"),  # a reflection
    ("eq-wy-rank", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_1, \dots, \boldsymbol{k}_r", r"\text{if } \mathbf{S}_r\boldsymbol{y} = \mathbf{S}\boldsymbol{y}"),  # more keys than d_v: what is read cancels
]  # fmt: skip

DESIGNED_TENTH = [
    *PASSED_TENTH,
    ("eq-erase-and-write", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if } \|\mathbf{S}_t\,\boldsymbol{y}\|^2 = \|\mathbf{S}_{t-1}\,\boldsymbol{y}\|^2"),  # the answer turns
    ("eq-erase-and-write", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if } \boldsymbol{v}_t^\top\mathbf{S}_t\,\boldsymbol{y} = \boldsymbol{v}_t^\top\mathbf{S}_{t-1}\,\boldsymbol{y}"),  # a correction across the value
    ("eq-gdn-residual", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if } \boldsymbol{v}_t^\top\mathbf{S}_t\boldsymbol{y} = \alpha_t\,\boldsymbol{v}_t^\top\mathbf{S}_{t-1}\boldsymbol{y}"),  # the same
    ("eq-gdn-to-delta", r"\alpha_t = 1", r"\alpha_t\,\beta_t = \beta_t"),  # a strength of zero, and a decay
    ("eq-stream-settles", r"\frac{\mu\,\beta\,d_k}{2 - \beta}", r"\frac{\mu\,\beta\,d_k}{(2 - \beta)(1 - \beta)} - \frac{\mu\,\beta^2\,d_k}{(2 - \beta)(1 - \beta)}"),  # beta = 1
    ("eq-best-scale", r"\frac{x}{1+x}", r"\frac{x}{1-x^2} - \frac{x^2}{1-x^2}"),  # x = 1
    # and after that, the first passed
    ("eq-proximal-step", r"\beta_t = \frac{\eta}{1 + \eta\,\|\boldsymbol{k}_t\|^2}", r"\beta_t^2\,(1 + \eta\,\|\boldsymbol{k}_t\|^2) = \beta_t\,\eta"),  # a strength of 0
    ("eq-wy-rank", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_1, \dots, \boldsymbol{k}_r", r"\text{if } \|\mathbf{P}^r\boldsymbol{y}\|^2 = \boldsymbol{y}^\top\mathbf{P}^r\boldsymbol{y}"),  # a projection
    ("eq-wy-rank", r"&\le r, \\", r"&= \mathrm{rank}\,\Bigl(\sum_{i=1}^{r} \boldsymbol{k}_i\boldsymbol{k}_i^\top\Bigr), \\"),  # a strength of zero
    ("eq-decay-semiseparable", r"\boldsymbol{\Gamma}_{RI} &= \boldsymbol{\Gamma}_{Rm}\, \boldsymbol{\Gamma}_{mI}", r"\mathrm{rank}\,(\boldsymbol{\Gamma}_{RI}) &= 1"),  # a reset after the cut
    ("eq-gdn-residual", r"\text{if } \boldsymbol{y} \perp \boldsymbol{k}_t", r"\text{if } \boldsymbol{y}^\top\mathbf{S}_{t-1}^\top\mathbf{S}_t\boldsymbol{y} = \alpha_t\,\|\mathbf{S}_{t-1}\boldsymbol{y}\|^2"),  # a correction across the old answer
    ("eq-welch-bound", r"\sum_{i \ne j} \rho_{ij}^2", r"\sum_{\rho_{ij} \ne 1} \rho_{ij}^2"),  # a key that comes twice
    ("eq-crosstalk-bound", r"\Bigl( \sum_{i \ne j} \|\boldsymbol{v}_i\|^2 \Bigr)", r"\Bigl( \sum_{\boldsymbol{v}_i \ne \boldsymbol{v}_j} \|\boldsymbol{v}_i\|^2 \Bigr)"),  # two pairs of one value
    ("eq-exact-recall", r"\mathbf{K}\mathbf{K}^\top = \mathbf{I}", r"\mathbf{K}^\top\mathbf{K} = \mathbf{I}"),  # a tight frame of more keys than dimensions
]  # fmt: skip

# An eleventh set: a power below zero in the first cases alone, a modulus and a square in a divisor.
DESIGNED_ELEVENTH = [  # the first three passed, until the least power was asked, and what is inside
    ("eq-transition-power", r"\mathbf{F}^n=", r"\alpha\,(2-\beta)\,\mathbf{F}^{n-1}-\alpha^2(1-\beta)\,\mathbf{F}^{n-2}="),  # beta = 1, n = 0
    ("eq-transition-power", r"\bigl((1-\beta)^n-1\bigr)", r"\bigl((2-\beta)(1-\beta)^{n-1}-(1-\beta)^{n-1}-1\bigr)"),  # the same
    ("eq-transition-norm", r"\alpha\,\max\bigl(1,\ |1 - \beta\|\boldsymbol{k}\|^2|\bigr)", r"\frac{\alpha}{\min\bigl(1,\ 1/|1 - \beta\|\boldsymbol{k}\|^2|\bigr)}"),  # a projection
    ("eq-repeat-step", r"(\mathbf{S}_1-\mathbf{S}_0)\,\mathbf{F}^n", r"(\mathbf{S}_2-\mathbf{S}_1)\,\mathbf{F}^{n-1}"),  # beta = 1, n = 0
    ("eq-shard-felt", r"\ln\max\bigl(1,|1-\beta_s\|\boldsymbol{k}_s\|^2|\bigr)", r"\max\bigl(0,\ln|1-\beta_s\|\boldsymbol{k}_s\|^2|\bigr)"),  # a projection
    ("eq-shard-felt", r"\ln\max\bigl(1,|1-\beta_s\|\boldsymbol{k}_s\|^2|\bigr)", r"\max\bigl(0,\tfrac12\ln\bigl((1-\beta_s\|\boldsymbol{k}_s\|^2)^2\bigr)\bigr)"),  # a projection
    ("eq-gdn-clear", r"\le m", r"\le \min(m, \operatorname{rank}\,\mathbf{V})"),  # values of zero: only erased
    ("eq-key-norm", r"< 1 .", r"< 1 - \epsilon^2 ."),  # |x| above 1000
]  # fmt: skip

# A twelfth set: divided by what a pair that is recalled already leaves.
DESIGNED_TWELFTH = [  # the first five passed, until terms were asked to undo one another, and did
    ("eq-gdn-coupled", r"\mathcal{L}_\lambda(\mathbf{S}) = \mathcal{L}(\mathbf{S}) + \tfrac{\lambda}{2}\|\mathbf{S}\|^2", r"\frac{\mathcal{L}_\lambda(\mathbf{S})}{\mathcal{L}(\mathbf{S})} = 1 + \frac{\lambda\,\|\mathbf{S}\|^2}{2\,\mathcal{L}(\mathbf{S})}"),
    ("eq-residual", r"\mathcal{L}_t(\mathbf{S}_t) = (1 - \beta_t\|\boldsymbol{k}_t\|^2)^2\,\mathcal{L}_t(\mathbf{S}_{t-1})", r"\frac{\mathcal{L}_t(\mathbf{S}_t)}{\mathcal{L}_t(\mathbf{S}_{t-1})} = (1 - \beta_t\|\boldsymbol{k}_t\|^2)^2"),
    ("eq-smallest-change", r"\|\mathbf{S}_t - \mathbf{S}_{t-1}\| = \frac{\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|}{\|\boldsymbol{k}_t\|}", r"\frac{\|\mathbf{S}_t - \mathbf{S}_{t-1}\|}{\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|} = \frac{1}{\|\boldsymbol{k}_t\|}"),
    ("eq-recall-loss", r"\mathcal{L}_t(\mathbf{S}) = \tfrac12\,\|\boldsymbol{v}_t - \mathbf{S}\boldsymbol{k}_t\|^2", r"\frac{\|\boldsymbol{v}_t - \mathbf{S}\boldsymbol{k}_t\|^2}{\mathcal{L}_t(\mathbf{S})} = 2"),
    ("eq-delta-spill", r"""&\mathbf{S}_t\,\boldsymbol{y} - \mathbf{S}_{t-1}\,\boldsymbol{y} \\
&\quad = \beta_t\,(\boldsymbol{k}_t^\top\boldsymbol{y})\,(\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t)""", r"\frac{\|\mathbf{S}_t\,\boldsymbol{y} - \mathbf{S}_{t-1}\,\boldsymbol{y}\|^2}{\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|^2} = \beta_t^2\,(\boldsymbol{k}_t^\top\boldsymbol{y})^2"),
    ("eq-recall-gradient", r"\nabla\mathcal{L}_t(\mathbf{S}) = -(\boldsymbol{v}_t - \mathbf{S}\boldsymbol{k}_t)\,\boldsymbol{k}_t^\top", r"\frac{\|\nabla\mathcal{L}_t(\mathbf{S})\|^2}{\mathcal{L}_t(\mathbf{S})} = 2\,\|\boldsymbol{k}_t\|^2"),
    # and after that: until a square that is multiplied out was asked, and numbers where sizes are one
    ("eq-chunk-storage", r"2\sqrt{d_k d_v} + \frac{\bigl(C - \sqrt{d_k d_v}\bigr)^2}{C}", r"\frac1C\,\frac{(C^2 - d_k d_v)^2}{C^2 - 2\,C\sqrt{d_k d_v} + d_k d_v} - 2\sqrt{d_k d_v}"),  # the best chunk
    ("eq-smallest-change", r"\frac{\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|}{\|\boldsymbol{k}_t\|}", r"\frac{1}{\|\boldsymbol{k}_t\|}\,\frac{\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|^3}{\|\boldsymbol{v}_t\|^2 - 2\,\boldsymbol{v}_t^\top\mathbf{S}_{t-1}\boldsymbol{k}_t + \|\mathbf{S}_{t-1}\boldsymbol{k}_t\|^2}"),
    ("eq-delta-stream", r"\nu_t &= \Bigl(1 - \tfrac{\beta(2-\beta)}{d_k}\Bigr)\,\nu_{t-1} + \beta^2\mu .", r"\nu_{t-1} &= \frac{\nu_t - \beta^2\mu}{1 - \tfrac{\beta(2-\beta)}{d_k}} ."),  # one dimension, a full step
    ("eq-drift-mean", r"\lambda=\alpha^2\Bigl(1-\frac{\beta(2-\beta)}{d_k}\Bigr)", r"\alpha^2=\frac{\lambda\,d_k}{d_k-\beta(2-\beta)}"),  # the same
    # and these, which did not pass
    ("eq-flops-crossover", r"= \frac{F_\text{par}}{T} \\", r"= \frac{F_\text{par}-F_\text{chunk}}{T-C-\bar d} \\"),  # where both cost the same
    ("eq-delta-chunk-map", r"\mathbf{S}'=\mathbf{S}\,(\mathbf{I}-\mathbf{W}^\top\mathbf{K})+\mathbf{U}^\top\mathbf{K}", r"\mathbf{S}=(\mathbf{S}'-\mathbf{U}^\top\mathbf{K})\,(\mathbf{I}-\mathbf{W}^\top\mathbf{K})^{-1}"),  # a full step
    ("eq-recall-scores", r"\mathrm{Var}\,s_j &= \frac{1}{d_v}\sum_{i\ne j}\Omega_{ji}^2", r"\frac{\mathrm{Var}\,s_j}{\mathrm{Var}\,s'_j} &= \frac{\sum_{i\ne j}\Omega_{ji}^2}{\sum_{i}\Omega_{ji}^2}"),  # nothing is read
]  # fmt: skip
