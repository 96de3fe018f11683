"""Language models trained in one pass: documents to bytes, models of bytes, certificate of the log.

A document is a string of bytes and ends with a byte 0, which counts as one of its bytes. A longer
document than declared is cut there and then has no end. So `gzip` and `xz` of the documents, one
after the other, count the same bytes as the model does.
"""
