"""Catalogues of translations, one folder a language, and the tool that keeps them in step with the sources."""
