"""Documents written from the registries and from committed results."""
