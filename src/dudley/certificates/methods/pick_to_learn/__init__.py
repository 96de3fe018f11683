"""Pick-to-learn: a model trained on a few examples that it picks itself; the rest is its test.

Nothing is asked of the model. `bound` has the rule, the bound and its proof; `rule` runs it.
"""
