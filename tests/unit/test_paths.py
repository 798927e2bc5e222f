import stat
from pathlib import Path

from agentic_rl_tui.core.paths import PlatformPaths, private_dir


def test_the_socket_lies_beside_the_state_where_its_path_is_short() -> None:
    assert PlatformPaths(Path("/s/platform")).socket == Path("/s/platform/platform.sock")


def test_a_long_state_path_gets_a_short_socket_of_its_own() -> None:
    first, second = PlatformPaths(Path("/" + "a" * 120)).socket, PlatformPaths(Path("/" + "b" * 120)).socket
    assert len(str(first)) < 100
    assert first != second


def test_private_directories_are_tightened(tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o755)
    assert stat.S_IMODE(private_dir(loose).stat().st_mode) == 0o700
