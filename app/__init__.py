"""Everything a person touches: the full-screen app and the headless verbs."""
