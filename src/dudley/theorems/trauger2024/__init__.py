"""Trauger, Tewari: *Sequence Length Independent Norm-Based Generalization Bounds for Transformers*.

Examined was the text of AISTATS 2024 (PMLR 238; arXiv:2310.13088); later versions, if there are
any, were not. Covers of linear maps whose size ignores the number of points, and what they give
for one attention head, for L blocks and for word masking.

Notation. The paper's section 3 writes maps as x ↦ Wx with ‖W‖_{q,p} the p-norm of the q-norms of
the *columns* of W ∈ R^{k×d}. Here maps are x ↦ xW with W ∈ R^{d×k}, the transpose; so the paper's
column norms of W are our row norms: its ‖W‖_{2,1} is ``row21``, its ‖W‖_{1,∞} is ``row1inf``.
Sections 2.6 and 4 already use W_v ∈ R^{d×k}, W_c ∈ R^{k×d} and W_QK ∈ R^{d×d} as we do, so there
‖W_vᵀ‖_{1,∞} is ``W_v.row1inf`` and ‖W_QK‖_{2,1} is ``W_QK.col21``.

Sample sizes are called m, n and N in the paper: ``n`` here, with the others as aliases. The number
of tokens T never enters a derived form; it may be given, and nothing moves. A ``best`` form uses
covers on the given points, whose size does depend on T, only where T is given.
"""
