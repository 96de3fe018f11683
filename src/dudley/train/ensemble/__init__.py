"""Independent models of one architecture, side by side along one axis."""
