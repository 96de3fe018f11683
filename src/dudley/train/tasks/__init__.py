"""What is learnt: data and labels as functions of the trials' keys."""
