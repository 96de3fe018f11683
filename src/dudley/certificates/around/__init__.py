"""Around a start: codes and posteriors of the difference to a model that has not seen the sample.

What does not count weights counts distance. θ₀ is fixed before the counted examples: a seed, a
checkpoint, or ordinary training on a declared share of the sample. A fine-tuned model θ is then a
code word for θ − θ₀, or the middle of a Gaussian whose prior stands around θ₀.

* `start`: θ₀, and which of its tensors may move · `shares`: the share, and what is counted
* `hashed`: weights that share a few coordinates · `words`: every code of a difference
* `coded`: the model of a code word · `posterior`: a Gaussian around the start · `draws`: its errors
"""
