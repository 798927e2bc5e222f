"""Wire models, domain types and errors: the bottom layer, which imports nothing of the project."""
