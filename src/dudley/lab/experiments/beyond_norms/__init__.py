"""Training confined to norm balls: what a tighter ball does to accuracy and to the bound."""
