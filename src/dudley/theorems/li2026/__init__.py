"""Li, Hu, Lian, Tian, Peng, Zhang, Li: *Sharper Generalization Bounds for Transformer*.

Examined was arXiv:2603.21541v1 of 23 March 2026; later versions, if there are any, were not. Excess
risk of empirical risk minimisers by offset Rademacher complexity.

Notation. The paper's B is ``target.bound``, its B_X = ‖X‖_{2→2} is ``X.op``, the norm B_x of tokens
``X.row2inf`` (the paper bounds only [CLS], but every token enters), its resolution δ of the cover
inside a bound is ``resolution`` (the best one if not given); there is no confidence, everything is
in expectation. Section 4 bounds spectral norms, section 5 sums of absolute entries or ranks.

What is known about the noise is an input, because it decides the rate: ``noise.free=1`` if the
target minimises the loss at almost every example, ``bernstein.V`` if E g² ≤ V·E g with the target
in the class; with neither, derived forms give the slow rate. The approximation error
``class.approximation`` = inf_F exc is 0 unless given.
"""
