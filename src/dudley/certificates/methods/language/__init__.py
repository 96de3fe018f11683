"""Certificates for language models: bits per symbol on a new *document*, from training documents.

`corpus` holds documents as strings of symbols (`wordnet` reads one from a Debian package), `gpt`
is the causal Transformer whose float64 forward is certified, `smoothing` makes its loss bounded,
`bound` turns losses and a code length into a number, `certificate` puts them together, `fit`
trains a model with few bits; `files` reads and writes models and documents, and `method` is what
`dudley verify` calls.
"""
