"""Selection: the best of a declared finite set, priced by its weight in the list.

**Meaning.** Candidates h_1, …, h_M (prompts, label words, thresholds, checkpoints, judges) were
declared before the data, and with them weights w_i ≥ 0, Σ w_i ≤ 1. One of them is chosen by its
errors on all n examples; nothing is set apart.

**Formula.** If candidate i errs on k of n independent examples, its risk is at most

    R(h_i) ≤ max{p : P[Bin(n, p) ≤ k] ≥ δ·w_i},

for all candidates at once, so for the chosen one too. The price is ln(1/w_i) nats, log₂(1/w_i)
bits. The candidate with the smallest bound is chosen.

**Proof.** For a fixed candidate, k is binomial with the risk R as its probability, and the set of
p with P[Bin(n, p) ≤ k] < δ′ misses R with probability at least 1 − δ′ (Clopper and Pearson). Take
δ′ = δ·w_i; by the union bound some candidate fails with probability at most Σ δ·w_i ≤ δ. Which one
is chosen, and how, does not matter. ∎

Nothing is asked of the candidates, in any number of classes: of a candidate only its predictions
are read, and a failure is a prediction that is not the label. A candidate that depends on the
sample, such as a threshold read off its scores, is no candidate: thresholds come from a declared
grid.

Reference: Langford, "Tutorial on practical prediction theory for classification", JMLR 6 (2005),
section 4 (Occam's razor bound). The parts: `.prior` (weights), `.candidates` (the list),
`.outcomes` (what the candidates predict), `.method`.
"""
