"""Sources: data sets out of packages that are on this machine, with licence, units and copies."""
