"""PAC-Bayes for any torch module: a Gaussian around the start, and one around what it became."""
