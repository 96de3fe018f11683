"""The views of the explorer: their addresses, and what is there once they are complete."""

VIEWS = {
    "bounds": "#bounds",
    "statements": "#statements",
    "statement": "#statements/trauger2024/lemma-3.5",
    "architecture": "#architecture",
    "files": "#files",
    "experiments": "#experiments",
    "experiment": "#experiments/committed/edelman2021-parity/laptop",
}
LOADED = {
    "bounds": "#view-bounds[data-state]",
    "statements": "#list tbody tr",
    "statement": "#statement .u-wrap",
    "architecture": "#view-architecture[data-state]",
    "files": "#drop",
    "experiments": "#experiments .cards",
    "experiment": "#experiment img",
}
