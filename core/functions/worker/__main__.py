"""Entry of a function process: ``python <this file> CONTROL_FD CORE_DIR KIND``.

Run by path, so that an interpreter without this package can be used: `agentic_rl_tui.core` is mapped to CORE_DIR.
Keep this file readable for old Pythons, which must be able to say that they are too old.
"""

import sys


def map_package(core_dir):  # type: ignore[no-untyped-def]
    """Make `agentic_rl_tui.core` importable from a folder, and nothing else of the package."""
    from importlib.util import module_from_spec, spec_from_file_location

    root = type(sys)("agentic_rl_tui")
    root.__path__ = []
    sys.modules["agentic_rl_tui"] = root
    spec = spec_from_file_location(
        "agentic_rl_tui.core", core_dir + "/__init__.py", submodule_search_locations=[core_dir]
    )
    assert spec is not None
    assert spec.loader is not None
    core = module_from_spec(spec)
    sys.modules["agentic_rl_tui.core"] = core
    root.core = core  # type: ignore[attr-defined]
    spec.loader.exec_module(core)


def main():  # type: ignore[no-untyped-def]
    sys.path.pop(0)
    if sys.version_info < (3, 11):  # noqa: UP036
        version = sys.version.split()[0]
        sys.stderr.write(f"Functions need Python 3.11 or newer; {sys.executable} is {version}\n")
        sys.exit(3)
    control_fd, core_dir, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    map_package(core_dir)  # type: ignore[no-untyped-call]
    from agentic_rl_tui.core.functions.worker.keeper import run

    run(control_fd, kind)


if __name__ == "__main__":
    main()  # type: ignore[no-untyped-call]
