"""Which quantity tracks the generalisation of trained Transformers?"""
