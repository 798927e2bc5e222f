"""Pages for people, shipped with the package. The references among them are generated from the code."""
