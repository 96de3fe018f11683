"""li2026: excess risk against n, printed rates against true ones (the paper has no experiments)."""
