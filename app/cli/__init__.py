"""Headless verbs, one module a verb group. stdout is data, stderr is narration, exit codes are in `exits`."""
