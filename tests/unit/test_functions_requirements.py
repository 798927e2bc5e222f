import pytest

from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.functions.requirements import (
    ImportedModule,
    Requirements,
    check,
    distributions,
    is_standard,
    read,
)

PINNED = """\
opentelemetry-api==1.41.1
opentelemetry-sdk==1.41.1
opentelemetry-exporter-otlp-proto-http==1.41.1
opentelemetry-processor-baggage==0.62b1
loongsuite-util-genai==0.4.0
"""


def _check(text: str | None, *modules: str, uses_tracing: bool = False) -> list[SourceProblem]:
    imported = [ImportedModule(module, "f.py", number, 1) for number, module in enumerate(modules, start=1)]
    return check(read(None if text is None else text.encode()), imported, uses_tracing=uses_tracing)


def _rules(problems: list[SourceProblem]) -> list[tuple[str, int, str]]:
    return [(problem.rule, problem.line, problem.severity.value) for problem in problems]


def test_reads_what_pip_reads() -> None:
    found = Requirements(
        "# head\n"
        "OpenAI[realtime] >=2.8, <3  # the client\n"
        "\n"
        "--index-url https://mirror.example/simple\n"
        "httpx==0.28.1 \\\n"
        "    --hash=sha256:aa \\\n"
        "    --hash=sha256:bb\n"
        "ruamel.yaml\n"
        "pywin32; sys_platform == 'win32'\n"
        "numpy; python_version >= '3'\n"
        "pkg @ https://host.example/pkg.tar.gz\n"
        "git+https://host.example/x.git\n"
    )
    assert found.problems == []
    assert [(item.name, item.specifier, item.line) for item in found.items] == [
        ("openai", "<3,>=2.8", 2),
        ("httpx", "==0.28.1", 5),
        ("ruamel-yaml", "", 8),
        ("numpy", "", 10),
        ("pkg", "", 11),
    ]
    assert found.by_name["openai"].extras == {"realtime"}


def test_what_the_service_would_not_see_or_pip_would_refuse() -> None:
    problems = _check(
        "-r more.txt\n-e ./lib\n./wheels/a.whl\nnum py\nhttpx==1\nHTTPX==2\n--constraint=c.txt\nopenai>>2\n"
    )
    assert _rules(problems) == [
        ("requirements-nested", 1, "error"),
        ("requirements-local", 2, "error"),
        ("requirements-local", 3, "error"),
        ("requirements-syntax", 4, "error"),
        ("requirements-twice", 6, "error"),
        ("requirements-nested", 7, "error"),
        ("requirements-syntax", 8, "error"),
    ]
    assert all(problem.advice for problem in problems)


def test_missing_and_undecodable() -> None:
    assert _rules(_check(None)) == [("requirements-missing", 0, "error")]
    [problem] = read(b"httpx\nb\xff\n").problems
    assert (problem.rule, problem.line) == ("requirements-encoding", 2)
    assert read(b"\xef\xbb\xbfhttpx\r\nopenai\r\n").names == {"httpx", "openai"}


def test_dashscope_is_part_of_the_runtime() -> None:
    assert _rules(_check("openai\ndashscope>=2\n")) == [("requirements-dashscope", 2, "warning")]


@pytest.mark.parametrize(
    ("specifier", "severity"),
    [
        (">=4.25.8,<7.0", None),
        ("==6.33.6", None),
        ("==5.*", None),
        ("~=5.29", None),
        (">=4.25.8", Severity.WARNING),
        ("", Severity.WARNING),
        ("<=6.0", Severity.WARNING),
        ("==3.20.1", Severity.ERROR),
        (">=7", Severity.ERROR),
        ("<4", Severity.ERROR),
    ],
)
def test_protobuf_range(specifier: str, severity: Severity | None) -> None:
    problems = _check(f"protobuf{specifier}\n")
    assert [problem.severity for problem in problems] == ([] if severity is None else [severity])


def test_tracing_pins() -> None:
    assert _check(PINNED, uses_tracing=True) == []
    assert _check("openai\n", uses_tracing=False) == []
    loose = PINNED.replace("sdk==1.41.1", "sdk>=1.41").replace("loongsuite-util-genai==0.4.0\n", "")
    missing, unpinned = _check(loose, uses_tracing=True)
    assert "without loongsuite-util-genai==0.4.0" in missing.message
    assert (unpinned.line, unpinned.advice) == (2, "Write opentelemetry-sdk==1.41.1.")


def test_imports_that_nothing_provides() -> None:
    problems = _check(
        "openai\nPyYAML\nprotobuf>=4.25.8,<7\nopencv-python\nlangchain_openai\n",
        "openai.types",
        "yaml",
        "google.protobuf",
        "cv2",
        "langchain_openai",
        "langchain_core.messages",
        "pydantic",
        "sklearn.metrics",
        "google.genai",
    )
    assert _rules(problems) == [
        ("requirements-implied", 6, "info"),
        ("requirements-implied", 7, "info"),
        ("requirements-import", 8, "warning"),
        ("requirements-import", 9, "warning"),
    ]
    assert (
        problems[0].message == "imports langchain_core.messages, which is there only because langchain-openai brings it"
    )
    assert problems[2].advice == "Add scikit-learn to requirements.txt."


def test_names_of_modules_and_distributions() -> None:
    assert distributions("PIL.Image") == ("pillow",)
    assert distributions("my_pkg.sub") == ("my-pkg",)
    assert distributions("opentelemetry.sdk.trace") == ("opentelemetry-sdk",)
    assert is_standard("os.path")
    assert not is_standard("numpy")
