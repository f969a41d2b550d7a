"""One migration: look, decide, write down what is about to be done, do it, look again."""
