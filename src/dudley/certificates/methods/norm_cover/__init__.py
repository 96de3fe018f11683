"""Norm-cover: one sup-norm cover of the whole class, a union bound, an exact binomial inversion.

Let F be the networks whose weights lie in stated sets, m(f, z) the margin of an example, and N the
size of a set of functions such that every f ∈ F has one, f′, with |m(f, z) − m(f′, z)| ≤ ε for
*every* input of the encoding. Let fl(f) be the float64 program, |m(fl f, z) − m(f, z)| ≤ η for
every input, and γ ≥ 2ε + 2η. For one fixed f′, "m(f′, z) ≤ γ/2" is one event, so by Clopper and
Pearson, with probability at least 1 − δ/N over n independent examples of which k′ are in it,

    P[m(f′, z) ≤ γ/2] ≤ max{p : P[Bin(n, p) ≤ k′] ≥ δ/N}.

All N of these hold at once with probability 1 − δ. Then for every f ∈ F, whatever chose it,

    P[m(fl f, z) ≤ 0] ≤ P[m(f′, z) ≤ ε + η] ≤ P[m(f′, z) ≤ γ/2],    and
    m(f′, z_i) ≤ γ/2  ⇒  m(fl f, z_i) ≤ γ/2 + ε + η ≤ γ,   so   k′ ≤ k = #{i : m(fl f, z_i) ≤ γ},

and the right side grows with k′:

    P[m(fl f, z) ≤ 0] ≤ max{p : P[Bin(n, p) ≤ k] ≥ δ/N},

which is never above kl⁻¹(k/n, (log N + ln(1/δ))/n). What is certified is fl(f), the float64
reference forward of the hypothesis, ties counted as errors. The sets (norms read off the weights,
rounded up to a grid) and γ (rounded down) are choices: each is paid for in nats, and η is computed
from the sets, not from the weights. For logits a margin moves by twice the largest coordinate.

Reference: single-scale covering with a union bound (Bartlett 1998, §II, for margins); binomial
inversion after Langford 2005, Theorem 3.3. The parts: :mod:`~.sets` (what is read off, and its
price), :mod:`~.reduce` (the fixed-[CLS] query), :mod:`~.cover` (log N), :mod:`~.method`.
"""
