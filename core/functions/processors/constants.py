"""Settings of the vendor's package under their names, read from the environment when this is imported."""

import os


def get_bool_env(env_var: str, default: bool) -> bool:
    return os.getenv(env_var, str(default)).strip().lower() in {"true", "1", "yes"}


def get_int_env(env_var: str, default: int) -> int:
    try:
        return int(os.getenv(env_var, ""))
    except ValueError:
        return default


def _text(name: str, default: str) -> str:
    return os.environ.get(name, default)


DASHSCOPE_HTTP_BASE_URL = _text("DASHSCOPE_HTTP_BASE_URL", "https://dashscope.aliyuncs.com/api/v1")
_TUNES = f"{DASHSCOPE_HTTP_BASE_URL}/fine-tunes"

DASHSCOPE_API_KEY = _text("DASHSCOPE_API_KEY", "")
FC_API_KEY = _text("FC_API_KEY", DASHSCOPE_API_KEY)

LOGGER_NAME = _text("LOGGER_NAME", "dashscope.finetune.reinforcement")
LOG_LEVEL = _text("LOG_LEVEL", "info").upper()
LOGGER_FILTER_FIELDS = {
    "access_key",
    "api_key",
    "api_token",
    "instance_token",
    "password",
    "secret_key",
    "trigger_token",
}

HTTP_REQUEST_TIMEOUT = get_int_env("HTTP_REQUEST_TIMEOUT", 600)
BAILIAN_FILE_API = _text("BAILIAN_FILE_API", f"{DASHSCOPE_HTTP_BASE_URL}/files")
BAILIAN_FILE_TIMEOUT = get_int_env("BAILIAN_FILE_TIMEOUT", 600)

FC_UPLOAD_OSS_API = _text("FC_UPLOAD_OSS_API", f"{_TUNES}/generate/faas/upload/url")
FC_REGISTER_ROLLOUT_API = _text("FC_REGISTER_ROLLOUT_API", f"{_TUNES}/create/rollout")
FC_REGISTER_REWARD_API = _text("FC_REGISTER_REWARD_API", f"{_TUNES}/create/reward")
FC_REGISTER_GROUP_REWARD_API = _text("FC_REGISTER_GROUP_REWARD_API", f"{_TUNES}/create/group-reward")
FC_LOAD_API = _text("FC_LOAD_API", f"{_TUNES}/online/faas")
FC_QUERY_API = _text("FC_QUERY_API", f"{_TUNES}/query/faas")
FC_QUERY_LOG_API = _text("FC_QUERY_LOG_API", f"{_TUNES}/query/faas/log")
FC_DELETE_API = _text("FC_DELETE_API", f"{_TUNES}/delete/faas")
FC_LAYER_CREATE_API = _text("FC_LAYER_CREATE_API", f"{_TUNES}/create/faas/layer")
FC_LAYER_QUERY_API = _text("FC_LAYER_QUERY_API", f"{_TUNES}/query/faas/layer/status")

FC_FILES_START = "start.sh"
FC_PYPI_LIB = _text("FC_PYPI_LIB", "")
FC_PYPI_REPO = _text("FC_PYPI_REPO", "https://mirrors.aliyun.com/pypi/simple/")
FC_SERVER_CLASSPATH = _text("FC_SERVER_CLASSPATH", "dashscope.finetune.reinforcement.component.server.server")
FC_WORKERS_COUNT = get_int_env("FC_WORKERS_COUNT", 2)
FC_LAYER_USED = get_bool_env("FC_LAYER_USED", True)
FC_LAYER_NAME = "fc_layer"
FC_REQUIREMENTS_FILE = "./requirements.txt"
FC_ZIP_EXCLUDE_PATTERNS = _text(
    "FC_ZIP_EXCLUDE_PATTERNS",
    ".git,.gitignore,.DS_Store,.vscode,.Python,.env,.venv,.idea,__pycache__,*.swp,*.egg,*.egg-info,*.pyc,*.md,*.log,"
    "*.tmp,*.bak,build,develop-eggs,.eggs,test,tests,tmp,temp,data",
)
FC_OSS_FILE_SIZE_WARNING = get_int_env("FC_OSS_FILE_SIZE_WARNING", 200 << 20)
DATASETS_FILE_SIZE_WARNING = get_int_env("DATASETS_FILE_SIZE_WARNING", 1 << 30)
ENABLE_TRAJECTORY = get_bool_env("ENABLE_TRAJECTORY", True)
