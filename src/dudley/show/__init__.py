"""Results for people: each is laid out once, as a document, and shown by one of the writers.

`document` has the blocks. `pages` builds documents from results; `as_text`, `as_html`,
`as_markdown` and `as_latex` write them. `figures` draws. `generated` makes files of the
repository from the registries.
"""
