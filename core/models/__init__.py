"""Wire models, domain types and errors: the bottom layer, imported by everything and importing nothing of the project."""
