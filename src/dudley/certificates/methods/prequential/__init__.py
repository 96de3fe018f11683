"""One pass: the loss of the model before it learns from an example is an honest test.

An example is predicted, and only then learnt from. So the log of a training that reads every
example once is a test of all models of the pass, whatever they are, and nothing is paid for their
size. `forms` has the bounds and their proofs, `journal` the file that survives kills, `log` the
context manager for a training loop, `method` the certificate.
"""
