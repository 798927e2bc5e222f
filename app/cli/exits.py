"""Exit codes. Scripts rely on them: changing one is a breaking change."""

OK = 0
REJECTED = 1
USAGE = 2
UNREACHABLE = 3
JOB_FAILED = 4
INTERRUPTED = 130
