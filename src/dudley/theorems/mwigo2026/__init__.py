"""Mwigo, Dasgupta: *Generalization bound for a Shallow Transformer trained using Gradient Descent*.

Gradient descent near its initialisation. Examined was the anonymous submission 5721 to Transactions
on Machine Learning Research. The paper that was published there in 2026 has another abstract (it
assumes a regime of bounded drift, and has experiments with text and images); it was not examined,
and nothing here is said of it.

Notation. The paper's N, d_s, d, d_m are n, T, d, k here. Its encoder, T tokens x_i as rows of X,

    f(X) = (1/d_s) Σ_i w_O·relu(W_V Xᵀ softmax(X W_Kᵀ W_Q x_i/√d_m)),

has W_Q, W_K, W_V ∈ R^{d_m×d} acting as Wx; ours act as xW, so W_v = W_Vᵀ and so on: Frobenius and
spectral norms are the same, and its ‖W‖_{2,1}, a sum of column norms, is our ``row21``. R_Q, R_K,
R_V, R_O are ``W_Q.moved``, …, ``w.moved``; η = ‖W⁰‖_F + R is ``fro`` (``w.l2``), ξ = ‖W⁰‖₂ + R is
``op``; √d_s·R_X is ``X.fro``; α is ``features.smin`` and Φ(θ⁰) is ``loss.initial``.
"""
