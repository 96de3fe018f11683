"""The laws of the critical m, by s and by the length of training."""
