import sys


def has_screen() -> bool:
    """Whether the full-screen app can run: keys come from stdin, and Textual draws on stderr."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
