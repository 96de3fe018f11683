"""What is trained: a trial, a grid of trials, and the batches that fit the memory."""
