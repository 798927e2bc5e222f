"""Small functions of the vendor's package that user code may import.

What talks to the service is not for function code; those names exist and say so when they are called.
"""

import ast
import fnmatch
import os
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel

from agentic_rl_tui.core.functions.processors import constants
from agentic_rl_tui.core.functions.processors.errors import InputError, RuntimeErrorWithCode
from agentic_rl_tui.core.functions.processors.log import logger

_EMPTY: tuple[Any, ...] = (None, "", [], {})


def check_file(file: str) -> None:
    """Raises InputError when there is no such file."""
    if not os.path.isfile(file):
        raise InputError(f"File {file} not found", 4011)


def deep_mask(data: Any) -> Any:
    """A copy in which the values of keys that name secrets are stars."""
    if isinstance(data, dict):
        return {
            key: "***" if value and str(key).lower() in constants.LOGGER_FILTER_FIELDS else deep_mask(value)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return type(data)(deep_mask(item) for item in data)
    return data


def deep_remove_none(obj: Any) -> Any:
    """A copy without None, empty text, empty lists and empty mappings, at every depth."""
    if isinstance(obj, dict):
        kept = ((key, deep_remove_none(value)) for key, value in obj.items())
        return {key: value for key, value in kept if not _is_empty(value)}
    if isinstance(obj, list):
        return [item for item in map(deep_remove_none, obj) if not _is_empty(item)]
    return obj


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def generate_random_id(prefix: str = "") -> str:
    return f"{prefix}-{uuid4()}" if prefix else str(uuid4())


def get_func_type_id(func_type: Any) -> str:
    """``reward`` -> ``reward_id``."""
    return f"{getattr(func_type, 'value', func_type)}_id"


def get_filepath_classname(full_path: str) -> tuple[str, str]:
    """``a.b.C`` or ``a/b.py:C`` -> ``("a/b.py", "C")``. Raises InputError."""
    place, colon, name = full_path.rpartition(":")
    if not colon:
        place, dot, name = full_path.rpartition(".")
        if not dot:
            raise InputError(
                f"Invalid format '{full_path}'. Expected 'module.path.ClassName' or 'path/to/file.py:ClassName'", 4043
            )
        place = place.replace(".", "/")
    return (place if place.endswith(".py") else f"{place}.py"), name


def serialize_for_output(data: Any) -> Any:
    """Plain dicts and lists in the place of models, at every depth."""
    if isinstance(data, BaseModel):
        return data.model_dump()
    if isinstance(data, dict):
        return {key: serialize_for_output(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [serialize_for_output(item) for item in data]
    return data


def set_api_key(api_key: str | None = None) -> None:
    """Set the key for this process; None leaves it as it is."""
    if api_key:
        os.environ["DASHSCOPE_API_KEY"] = api_key
        constants.DASHSCOPE_API_KEY = constants.FC_API_KEY = api_key


def extract_reward_weights(source_code: str, classname: str) -> dict[str, float]:
    """Weights of a class's sub-rewards, read from its source. A weight that is no literal number is left out."""
    for node in ast.walk(ast.parse(source_code)):
        if isinstance(node, ast.ClassDef) and node.name == classname:
            return dict(_weights(node))
    return {}


def get_weights_from_file(filepath: str, classname: str = "") -> dict[str, float]:
    if not os.path.isfile(filepath):
        logger.error("File not found or empty filepath: %s", filepath)
        return {}
    with open(filepath, encoding="utf-8") as file:
        return extract_reward_weights(file.read(), classname)


def _weights(node: ast.ClassDef) -> Iterator[tuple[str, float]]:
    for method in node.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in method.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func).rpartition(".")[2] == "sub_reward_func":
                given = dict(zip(("name", "sub_weight"), mark.args, strict=False))
                given |= {word.arg: word.value for word in mark.keywords if word.arg}
                try:
                    name = ast.literal_eval(given["name"]) if "name" in given else None
                    weight = ast.literal_eval(given["sub_weight"]) if "sub_weight" in given else 1.0
                    yield name or method.name, float(weight)
                except (ValueError, TypeError):
                    logger.warning("the weight of %s.%s is no literal number", node.name, method.name)


def zip_dir(
    dirpath: str,
    output_zip: str,
    extra_files: list[str] | None = None,
    rw_type: Literal["r", "w", "x", "a"] = "w",
    exclude_patterns: list[str] | None = None,
) -> None:
    """Zip a folder without what the patterns match, plus extra files at the top."""
    patterns = exclude_patterns or constants.FC_ZIP_EXCLUDE_PATTERNS.split(",")

    def is_left_out(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)

    with zipfile.ZipFile(output_zip, rw_type, zipfile.ZIP_DEFLATED) as archive:
        for folder, folders, files in os.walk(dirpath):
            folders[:] = sorted(name for name in folders if not is_left_out(name))
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not is_left_out(name) and os.path.abspath(path) != os.path.abspath(output_zip):
                    archive.write(path, os.path.relpath(path, dirpath))
        for extra in extra_files or ():
            archive.write(extra, os.path.basename(extra))


def _outside(name: str) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeErrorWithCode(f"{name} talks to the service and is not for function code; use AgenticRL instead")

    refuse.__name__ = name
    return refuse


client_fc = _outside("client_fc")
create_deployment_files = _outside("create_deployment_files")
to_bailian_data = _outside("to_bailian_data")
upload_zip_to_oss_and_by_signed_url = _outside("upload_zip_to_oss_and_by_signed_url")
app = _outside("app")
