"""Forms of PAC-Bayes: from errors and divergence to a bound, a file each."""
