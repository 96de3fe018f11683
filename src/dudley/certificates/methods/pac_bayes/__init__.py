"""PAC-Bayes: a bound on the *randomised* predictor, whose weights are drawn from a posterior.

Q = N(w, diag σ²) may depend on the data in any way; P is fixed before the examples that are
counted; the price of Q is KL(Q‖P). What is bounded is L(Q) = E_{W∼Q} P[the model with weights W
errs], never the error of the model with weights w: that one may err where most draws do not.

* `divergence`: KL(Q‖P), rounded up · `prior`: what P may be · `posterior`: Q, and its file
* `form`: from errors and divergence to a bound; `forms`: kl, Catoni's, quadratic
* `monte_carlo`: errors of drawn weights, and what they say of the mean over all draws
* `scales`: the prior's scales, the choice of the form, and the bill
* `method`: the certificate
"""
