"""Files of the repository that are made from the registries: ERRATA.md, docs/tightness.md."""
