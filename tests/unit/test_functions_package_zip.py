import io
import os
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.functions import package
from agentic_rl_tui.core.functions.package import unpack
from agentic_rl_tui.core.functions.package_unpack import UnpackLimits
from agentic_rl_tui.core.functions.package_zip import ZipSink
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "功能").mkdir(parents=True)
    (root / "功能" / "奖励.py").write_text("x = '奖励'\n" * 500)
    (root / "empty.txt").touch()
    (root / "noise.bin").write_bytes(os.urandom(3 << 20))
    (root / "zeros.bin").write_bytes(b"\0" * (5 << 20))
    (root / "run.sh").write_text("echo\n")
    (root / "run.sh").chmod(0o755)
    return root


def _tree(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o111))
        for path in root.rglob("*")
        if path.is_file()
    }


def test_round_trip(workspace: Path, tmp_path: Path) -> None:
    archive = tmp_path / "p.zip"
    info = package.write(package.plan(workspace), archive)
    assert info.bytes == archive.stat().st_size
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        methods = {item.filename: item.compress_type for item in opened.infolist()}
    assert methods["noise.bin"] == zipfile.ZIP_STORED
    assert methods["zeros.bin"] == zipfile.ZIP_DEFLATED
    unpack(archive, tmp_path / "out")
    assert _tree(tmp_path / "out") == _tree(workspace)


def test_equal_input_gives_equal_bytes(workspace: Path, tmp_path: Path) -> None:
    first = package.write(package.plan(workspace), tmp_path / "a.zip")
    for path in workspace.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    second = package.write(package.plan(workspace), tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert first.content_hash == second.content_hash


def test_start_script_is_in_the_archive_and_runs(workspace: Path, tmp_path: Path) -> None:
    plan = package.plan(workspace, kind=FunctionKind.ROLLOUT, classpath=ClassPath.parse("a.b.It"))
    package.write(plan, tmp_path / "p.zip")
    unpack(tmp_path / "p.zip", tmp_path / "out")
    script = tmp_path / "out" / "start.sh"
    assert stat.S_IMODE(script.stat().st_mode) & 0o100
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_progress_ends_at_the_total(workspace: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    plan = package.plan(workspace)
    package.write(plan, tmp_path / "p.zip", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (plan.total_bytes, plan.total_bytes)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) > len(plan.entries)


def test_cancel_from_progress_leaves_nothing(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "p.zip").write_text("the old one")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        package.write(package.plan(workspace), out / "p.zip", progress=stop)
    assert [path.name for path in out.iterdir()] == ["p.zip"]
    assert (out / "p.zip").read_text() == "the old one"


@pytest.mark.parametrize("change", ["longer", "touched", "removed"])
def test_file_that_changed_since_the_plan(workspace: Path, tmp_path: Path, change: str) -> None:
    plan = package.plan(workspace)
    target = workspace / "run.sh"
    if change == "longer":
        target.write_text("echo more\n")
    elif change == "touched":
        os.utime(target, (1, 1))
    else:
        target.unlink()
    with pytest.raises(PackageError, match=r"run\.sh changed while"):
        package.write(plan, tmp_path / "p.zip")
    assert not list(tmp_path.glob("*p.zip*"))


def test_archive_over_the_limit_is_refused(workspace: Path, tmp_path: Path) -> None:
    (workspace / "more.bin").write_bytes(os.urandom(3 << 20))
    with pytest.raises(PackageError, match="takes at most 4 MiB"):
        package.write(package.plan(workspace, limit_bytes=4 << 20), tmp_path / "p.zip")
    assert not list(tmp_path.glob("*p.zip*"))


def test_limit_holds_while_writing_too(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="takes at most"), ZipSink(tmp_path / "p.zip", limit_bytes=1000) as sink:
        sink.add("a", os.urandom(2000))
    assert not list(tmp_path.glob("*p.zip*"))


def test_more_members_than_16_bits_count(tmp_path: Path) -> None:
    count = 66_000
    with ZipSink(tmp_path / "p.zip", limit_bytes=1 << 30) as sink:
        for number in range(count):
            sink.add(f"{number}", b"")
    with zipfile.ZipFile(tmp_path / "p.zip") as opened:
        assert len(opened.namelist()) == count


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_stays_small(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    with (root / "big.bin").open("wb") as file:
        for _ in range(120):
            file.write(os.urandom(1 << 20))
    program = (
        "import sys; from pathlib import Path; from agentic_rl_tui.core.functions import package\n"
        "package.write(package.plan(Path(sys.argv[1])), Path(sys.argv[2]))\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root), str(tmp_path / "p.zip")], capture_output=True, check=True, text=True
    )
    assert int(done.stdout) << 10 < 80 << 20


_NAMES = st.text(st.characters(exclude_characters="/\\\0:", exclude_categories=("Cs",)), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 200
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(_NAMES, st.binary(max_size=2000), max_size=6))
def test_any_names_and_contents_survive(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    root = tmp_path_factory.mktemp("any")
    with ZipSink(root / "p.zip", limit_bytes=1 << 20) as sink:
        for name, content in files.items():
            sink.add(f"d/{name}", content)
    unpack(root / "p.zip", root / "out")
    assert {path.name: path.read_bytes() for path in root.glob("out/d/*")} == files


class Hostile:
    """Archives that no client would make."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, *names: str) -> Path:
        return self.infos(*[(zipfile.ZipInfo(name), b"x") for name in names])

    def infos(self, *members: tuple[zipfile.ZipInfo, bytes]) -> Path:
        path = self._root / "hostile.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for info, content in members:
                archive.writestr(info, content)
        return path


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Hostile]:
    yield Hostile(tmp_path)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "has an absolute path"),
        ("C:/x", "has an absolute path"),
        ("../x", "leaves the package"),
        ("a/../../x", "leaves the package"),
        ("a\\b", "has a backslash"),
        ("a//b", "has an empty or '.' part"),
        ("./a", "has an empty or '.' part"),
    ],
)
def test_names_that_leave_the_destination(hostile: Hostile, tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(PackageError, match=why) as caught:
        unpack(hostile.names("fine.py", name), tmp_path / "out")
    assert repr(name) in str(caught.value)


def test_nul_in_a_name(hostile: Hostile, tmp_path: Path) -> None:
    path = hostile.names("abcd")
    path.write_bytes(path.read_bytes().replace(b"abcd", b"a\0cd"))
    with pytest.raises(PackageError, match="NUL in its name"):
        unpack(path, tmp_path / "out")


@pytest.mark.parametrize(("kind", "why"), [(stat.S_IFLNK, "symbolic link"), (stat.S_IFIFO, "neither a file")])
def test_links_and_devices(hostile: Hostile, tmp_path: Path, kind: int, why: str) -> None:
    info = zipfile.ZipInfo("it")
    info.external_attr = (kind | 0o777) << 16
    with pytest.raises(PackageError, match=why):
        unpack(hostile.infos((info, b"/etc/passwd")), tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicates(hostile: Hostile, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="'a' occurs twice"):
        unpack(hostile.names("a", "b", "a"), tmp_path / "out")
    with pytest.raises(PackageError, match="same place as another"):
        unpack(hostile.names("a", "a/b"), tmp_path / "out")


def test_bombs(hostile: Hostile, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("bomb")
    info.compress_type = zipfile.ZIP_DEFLATED
    path = hostile.infos((info, b"\0" * (4 << 20)))
    with pytest.raises(PackageError, match="'bomb' makes the archive unpack to"):
        unpack(path, tmp_path / "out", limits=UnpackLimits(total_bytes=1 << 20))
    with pytest.raises(PackageError, match="'bomb' makes the archive grow more than 200-fold"):
        unpack(path, tmp_path / "out", limits=UnpackLimits(free_bytes=1 << 20))
    with pytest.raises(PackageError, match="has 1 members, more than 0"):
        unpack(path, tmp_path / "out", limits=UnpackLimits(members=0))


def test_a_size_that_lies(hostile: Hostile, tmp_path: Path) -> None:
    path = hostile.names("liar")
    raw = bytearray(path.read_bytes())
    central = raw.index(b"PK\x01\x02")
    raw[central + 24 : central + 28] = struct.pack("<I", 0)
    path.write_bytes(raw)
    with pytest.raises(PackageError, match="'liar' is damaged"):
        unpack(path, tmp_path / "out")


def test_members_that_share_bytes(hostile: Hostile, tmp_path: Path) -> None:
    path = hostile.names("aaaa", "bbbb")
    raw = bytearray(path.read_bytes())
    second = raw.index(b"PK\x01\x02", raw.index(b"PK\x01\x02") + 4)
    raw[second + 42 : second + 46] = struct.pack("<I", 0)
    path.write_bytes(raw)
    with pytest.raises(PackageError, match="overlaps another member"):
        unpack(path, tmp_path / "out")


def test_encrypted_and_foreign_methods(hostile: Hostile, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    info.compress_type = zipfile.ZIP_LZMA
    with pytest.raises(PackageError, match="uses compression method 14"):
        unpack(hostile.infos((info, b"x")), tmp_path / "out")
    path = hostile.names("a")
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(PackageError, match="is encrypted"):
        unpack(path, tmp_path / "out")


def test_not_an_archive(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "hostile.zip").write_bytes(b"no zip")
    with pytest.raises(PackageError, match=r"hostile\.zip is no usable zip"):
        unpack(tmp_path / "hostile.zip", tmp_path / "out")
    with pytest.raises(PackageError, match="cannot be unpacked"):
        unpack(tmp_path / "absent.zip", tmp_path / "out")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damage_anywhere_is_a_package_error_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    root = tmp_path_factory.mktemp("damage")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.py", "print('x')\n" * 9)
        archive.writestr("c.txt", "hello")
    raw = bytearray(buffer.getvalue())
    at %= len(raw)
    raw[at : at + len(junk)] = junk
    (root / "p.zip").write_bytes(raw)
    try:
        unpack(root / "p.zip", root / "out")
    except PackageError:
        assert {path.name for path in root.iterdir()} == {"p.zip"}


def test_destination_must_be_empty(workspace: Path, tmp_path: Path) -> None:
    package.write(package.plan(workspace), tmp_path / "p.zip")
    with pytest.raises(PackageError, match="is not empty"):
        unpack(tmp_path / "p.zip", workspace)
    (tmp_path / "out").mkdir()
    unpack(tmp_path / "p.zip", tmp_path / "out")
    assert (tmp_path / "out" / "run.sh").exists()
