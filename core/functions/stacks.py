"""Reading what a worker wrote when it was asked where its threads stand."""

import re
from itertools import takewhile

_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<name>.*)')


def own_stack(text: str, package_dir: str) -> str:
    """The frames inside the package, thread by thread, innermost last as in a traceback; empty without any."""
    threads: list[str] = []
    for block in re.split(r"(?m)^(?:Current thread|Thread) .*$", text):
        lines = takewhile(lambda line: line.strip(), block.strip("\n").splitlines())
        frames = [match for line in lines if (match := _FRAME.match(line)) and match["file"].startswith(package_dir)]
        if frames:
            threads.append("".join(f'  File "{f["file"]}", line {f["line"]}, in {f["name"]}\n' for f in frames[::-1]))
    return "".join(f"Where it stood (innermost call last):\n{frames}" for frames in threads)
