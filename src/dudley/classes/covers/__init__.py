"""Every cover known here, one idea per file; the registry ``COVERS`` imports them."""
