"""Broken, odd and hostile YAML ends in diagnostics with a place, never in an exception."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from agentic_rl_tui.core.jobfile import JobDocument, Severity, apply_fix, check, decode, fix_all, load
from agentic_rl_tui.core.jobfile import tree as tree_module
from agentic_rl_tui.core.jobfile.scalars import read_plain, render_number, render_text
from agentic_rl_tui.core.models.errors import ConfigError

Checked = Callable[..., JobDocument]


def told(document: JobDocument) -> list[tuple[str, int, int]]:
    return [(item.rule, item.line, item.col) for item in document.diagnostics]


@pytest.mark.parametrize(
    ("text", "rule", "line", "col"),
    [
        ("", "yaml-empty", 1, 1),
        ("\n\n", "yaml-empty", 1, 1),
        ("# only words\n", "yaml-empty", 1, 1),
        ("- a\n- b\n", "yaml-mapping", 1, 1),
        ("just words\n", "yaml-mapping", 1, 1),
        ("null\n", "yaml-mapping", 1, 1),
        ("a: [1, 2\nb: 3\n", "yaml-syntax", 1, 4),
        ("a: 'open\n", "yaml-syntax", 1, 4),
        ("a: b: c\n", "yaml-syntax", 1, 5),
        ("a: *nobody\n", "yaml-syntax", 1, 4),
        ("a: \x07\n", "yaml-syntax", 1, 4),
        ("a: `b`\n", "yaml-syntax", 1, 4),
        ("name: x\nmodel:\n\tname: y\n", "yaml-tab", 3, 1),
        ("name: x\n---\nname: y\n", "yaml-documents", 2, 1),
        ("name: x\n...\n---\nname: [\n", "yaml-documents", 3, 1),
        ("a: &a [*a]\n", "unknown-key", 1, 1),
        ("? [a, b]\n: 1\n", "yaml-key", 1, 3),
    ],
)
def test_odd_text(checked: Checked, text: str, rule: str, line: int, col: int) -> None:
    document = checked(text)
    assert (rule, line, col) in told(document), [str(item) for item in document.diagnostics]
    assert not document.is_ok


def test_every_top_level_section_is_checked_beside_a_broken_one(checked: Checked) -> None:
    text = "name: 7\nmodel:\n  name: [a\nfunctions:\n  - type: Reward\ntraining:\n  type: : x\ndatasets: 3\n"
    document = checked(text)
    assert document.job is None
    assert [rule for rule, _, _ in told(document)] == [
        "wrong-type", "yaml-syntax", "not-a-choice", "yaml-syntax", "wrong-type"
    ]  # fmt: skip


def test_tabs_are_all_told_and_fixed(checked: Checked) -> None:
    text = "name: x\nmodel:\n\tname: qwen3.5-9b\ntraining:\n\ttype: reinforcement\n"
    document = checked(text)
    assert [place for place in told(document) if place[0] == "yaml-tab"] == [("yaml-tab", 3, 1), ("yaml-tab", 5, 1)]
    assert fix_all(document).startswith("name: x\nmodel:\n  name: qwen3.5-9b\n")
    assert "\ntraining:\n  type: reinforcement\n" in fix_all(document)


def test_a_tab_inside_a_text_block_is_no_problem(checked: Checked, sound: str) -> None:
    text = sound.replace('ENABLE_TRAJECTORY: "true"', "NOTE: |\n          a\n          \tb\n")
    assert checked(text).diagnostics == ()


def test_a_byte_order_mark_is_told_and_shifts_nothing(checked: Checked, sound: str) -> None:
    document = checked("\ufeff" + sound.replace("# A small run\nname: calc-agent", "name: 7"))
    assert told(document) == [("byte-order-mark", 1, 1), ("wrong-type", 1, 7)]
    assert document.diagnostics[0].severity is Severity.INFO
    assert fix_all(document).startswith('name: "7"\n')


def test_windows_line_ends_are_kept(checked: Checked, sound: str) -> None:
    text = sound.replace("\n", "\r\n")
    assert checked(text).diagnostics == ()
    broken = text.replace("    n_epochs: 1\r\n", "").replace("2.0e-6", "2e-6")
    fixed = fix_all(checked(broken))
    assert "\n" not in fixed.replace("\r\n", "")
    assert checked(fixed).diagnostics == ()


def test_mixed_line_ends(checked: Checked, sound: str) -> None:
    text = sound.replace("\n", "\r\n", 3)
    document = checked(text)
    assert told(document) == [("line-ends", 4, 29)]
    assert document.diagnostics[0].fix is not None
    assert apply_fix(text, document.diagnostics[0].fix) == sound.replace("\n", "\r\n")


def test_anchors_and_merges_are_followed(checked: Checked, sound: str) -> None:
    text = sound.replace("    runtime:\n      cpu: 2", "    runtime: &small\n      cpu: 2").replace(
        "    runtime:\n      memory_size: 4096\n      disk_size: 512\n      concurrency: 30\n      capacity: 30\n",
        "    runtime:\n      <<: *small\n      cpu: 1\n",
    )
    document = checked(text)
    assert document.diagnostics == ()
    assert document.job is not None
    runtime = document.job.rewards[0].runtime
    assert runtime is not None
    assert (runtime.cpu, runtime.memory_size) == (1, 4096)


def test_a_problem_behind_an_alias_is_told_once(checked: Checked, sound: str) -> None:
    text = sound.replace("    runtime:\n      cpu: 2", "    runtime: &small\n      cpu: -2").replace(
        "    runtime:\n      memory_size: 4096\n      disk_size: 512\n      concurrency: 30\n      capacity: 30\n",
        "    runtime: *small\n",
    )
    assert told(checked(text)) == [("out-of-range", 15, 12)]


def test_an_alias_bomb_goes_off_in_nobodys_face(checked: Checked) -> None:
    lines = ["observability:", "  a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert ("yaml-alias",) in {(rule,) for rule, _, _ in told(checked("\n".join(lines)))}


def test_an_alias_loop_ends(checked: Checked) -> None:
    document = checked("observability: &o\n  again: *o\n")
    assert "yaml-depth" in {item.rule for item in document.diagnostics}


@pytest.mark.parametrize("text", ["[" * 5000, "a: " + "{b: " * 3000, "- " * 5000, "a:\n" + "".join(
    " " * n + "b:\n" for n in range(1, 300))])  # fmt: skip
def test_depth_does_no_harm(checked: Checked, text: str) -> None:
    assert not checked(text).is_ok


def test_the_pure_parser_gives_the_same(checked: Checked, sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [sound, "\ufeff" + sound, sound.replace("\n", "\r\n"), sound.replace("2.0e-6", "2e-6")]
    fast = [checked(text) for text in texts]
    monkeypatch.setattr(tree_module, "_composer", tree_module._PureComposer)
    for text, document in zip(texts, fast, strict=True):
        assert checked(text) == document
    assert not checked("[" * 5000).is_ok


def test_a_lone_surrogate_is_no_end(checked: Checked) -> None:
    assert not checked("name: \ud800\n").is_ok


class TestLoading:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read") as caught:
            load(tmp_path / "no.yaml")
        assert caught.value.advice

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError):
            load(tmp_path)

    def test_bytes_that_are_no_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "job.yaml"
        path.write_bytes("name: x\n# 训".encode() + b"\xff\n")
        document = load(path)
        assert ("encoding", 2, 4) in told(document)
        assert "0xff" in next(item.message for item in document.errors if item.rule == "encoding")

    def test_utf16(self, tmp_path: Path, sound: str) -> None:
        path = tmp_path / "job.yaml"
        path.write_text(sound, encoding="utf-16")
        document = load(path)
        assert told(document) == [("encoding", 1, 1)]
        assert document.job is not None

    def test_line_ends_survive_reading(self, tmp_path: Path, sound: str) -> None:
        path = tmp_path / "job.yaml"
        path.write_bytes(sound.replace("\n", "\r\n").encode())
        assert load(path).text == sound.replace("\n", "\r\n")

    def test_decode_names_the_place_in_characters(self) -> None:
        assert decode("训练".encode() + b"\x80")[1] == (2, "Byte 0x80 is no UTF-8; save the file as UTF-8.")


class TestScalars:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1", 1), ("-1", -1), ("+7", 7), ("010", 10), ("0o10", 8), ("0x1F", 31), ("1.5", 1.5), (".5", 0.5),
            ("2e-6", 2e-6), ("2.0e-6", 2e-6), ("1e3", 1000.0), ("true", True), ("False", False), ("~", None),
            ("", None), ("null", None), ("yes", "yes"), ("Off", "Off"), ("1_000", "1_000"), ("1:30", "1:30"),
            ("2026-12-01", "2026-12-01"), ("./data", "./data"), ("-", "-"), ("1.2.3", "1.2.3"), ("e5", "e5"),
        ],
    )  # fmt: skip
    def test_reading_follows_yaml_1_2(self, text: str, value: object) -> None:
        reading = read_plain(text).value
        assert reading == value
        assert type(reading) is type(value)

    @pytest.mark.parametrize("text", ["1", "1.5", "2.0e-6", "true", "null", "abc", "2.0e+6", "0x1F", "-3.", "1_0.5"])
    def test_what_both_versions_read_alike_is_not_odd(self, text: str) -> None:
        reading = read_plain(text)
        same = yaml.safe_load(text) == reading.value
        assert (reading.oddity is None) == same

    @pytest.mark.parametrize("number", [2e-6, 5e-5, 1e16, 1.5e300, 0.1, 1.0, -2.5e-7, 3, -4, 10**30])
    def test_written_numbers_are_numbers_for_both_versions(self, number: float) -> None:
        text = render_number(number)
        assert yaml.safe_load(text) == number
        assert read_plain(text).value == number
        assert read_plain(text).oddity is None

    @pytest.mark.parametrize(
        "text",
        ["plain", "two words", "训练", "yes", "No", "null", "1", "1e5", "1:30", "a: b", "# x", "x #y", "- a", "", " a",
         "a ", "it's", 'q"q', "\\", "\n", "\x7f", "\u2028", "😀", "%x", "@x", "`x`", "&a", "*a", "!t", "|", ">", "=",
         "<<", "[a]", "{a}", "a,b", "2026-12-01", "./x y/z.py:C", "\ufeffx", "---", "..."],
    )  # fmt: skip
    def test_written_texts_are_texts_for_both_versions(self, text: str) -> None:
        written = render_text(text)
        assert yaml.safe_load(f"k: {written}\n") == {"k": text}
        assert yaml.safe_load(f"k: [{written}, 1]\n") == {"k": [text, 1]}
        assert yaml.safe_load(f"{written}: 1\n") == {text: 1}


def test_the_text_is_never_executed(tmp_path: Path) -> None:
    document = check("name: !!python/object/apply:os.system ['touch x']\n", path=tmp_path / "job.yaml")
    assert {"yaml-tag", "wrong-type"} & {item.rule for item in document.diagnostics}
    assert not list(tmp_path.glob("x"))


@pytest.mark.parametrize("levels", [40, 600, 900])
@pytest.mark.parametrize("step", ["a:\n", "-\n"])
def test_depth_without_end(checked: Checked, levels: int, step: str) -> None:
    document = checked("model:\n" + "".join(" " * (level + 1) + step for level in range(levels)))
    assert not document.is_ok
    assert {item.rule for item in document.diagnostics} & {"yaml-depth", "yaml-syntax", "unknown-key", "wrong-type"}
