"""Function classes at the leaves: norm-bounded linear maps and everything known to cover them."""
