"""Edelman, Goel, Kakade, Zhang: *Inductive Biases and Variable Creation in Self-Attention
Mechanisms*.

Examined was the draft of 2021 that was submitted for double-blind review. The version of ICML 2022
(arXiv:2110.10090v2), which later papers cite, has other norms and other numbers; it was not
examined, and nothing here is said of it.

Notation. ‖W‖_{2,∞} is the largest ℓ2 norm of a *column*; tokens are the rows of X, so the paper's
‖Xᵀ‖_{2,∞} is ``X.row2inf``. W_V and W_C act as x ↦ W_Vᵀx, which is our x ↦ xW_v: the same
matrices, with columns as output coordinates. In section 4.2 a score is x_τᵀW_QK x, so W_QK is ours;
in section 4.3 and appendix A.6 the paper bounds the columns of W_K W_Qᵀ, the transpose of ours,
hence ``W_QK.row2inf``.

Covering numbers here allow centres outside the class, which is all that chaining needs; the
proper ones of Definition 2.1 cost at most half the resolution.
"""
