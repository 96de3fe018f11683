"""Function classes at the leaves: norm-bounded linear maps and everything known to cover them."""

from dudley.classes.best import BestOf
from dudley.classes.covers import COVERS, Cover
from dudley.classes.linear import FORMS, LinearMap

__all__ = ["COVERS", "FORMS", "BestOf", "Cover", "LinearMap"]
