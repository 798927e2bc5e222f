"""Facts about well-known distributions: what their modules are called, and what they bring along."""

from collections.abc import Mapping

TRACING_PINS: Mapping[str, str] = {
    "opentelemetry-api": "1.41.1",
    "opentelemetry-sdk": "1.41.1",
    "opentelemetry-exporter-otlp-proto-http": "1.41.1",
    "opentelemetry-processor-baggage": "0.62b1",
    "loongsuite-util-genai": "0.4.0",
}
"""The versions that the user guide gives for tracing."""

PREINSTALLED = frozenset(
    {
        "aiohttp", "requests", "websocket-client", "cryptography", "certifi", "typer", "rich", "httpx", "httpx-sse",
        "typing-extensions", "tiktoken", "pydantic", "tenacity", "pyyaml", "fastapi", "uvicorn", "opentelemetry-api",
        "opentelemetry-sdk", "starlette", "anyio", "pydantic-core", "urllib3", "click", "httpcore", "regex",
    }
)  # fmt: skip
"""What the SDK of the runtime depends on."""

DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "Bio": ("biopython",),
    "Crypto": ("pycryptodome", "pycrypto"),
    "Cryptodome": ("pycryptodomex",),
    "Levenshtein": ("levenshtein", "python-levenshtein"),
    "MySQLdb": ("mysqlclient",),
    "OpenSSL": ("pyopenssl",),
    "PIL": ("pillow",),
    "agents": ("openai-agents",),
    "aliyunsdkcore": ("aliyun-python-sdk-core",),
    "antlr4": ("antlr4-python3-runtime",),
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "cairo": ("pycairo",),
    "clickhouse_driver": ("clickhouse-driver",),
    "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "docx": ("python-docx",),
    "dotenv": ("python-dotenv",),
    "duckduckgo_search": ("duckduckgo-search", "ddgs"),
    "faiss": ("faiss-cpu", "faiss-gpu"),
    "fitz": ("pymupdf",),
    "git": ("gitpython",),
    "github": ("pygithub",),
    "google.auth": ("google-auth",),
    "google.genai": ("google-genai",),
    "google.generativeai": ("google-generativeai",),
    "google.protobuf": ("protobuf",),
    "grpc": ("grpcio",),
    "grpc_status": ("grpcio-status",),
    "igraph": ("igraph", "python-igraph"),
    "jose": ("python-jose",),
    "jwt": ("pyjwt",),
    "kafka": ("kafka-python", "kafka-python-ng"),
    "langgraph.checkpoint": ("langgraph-checkpoint", "langgraph"),
    "langgraph.prebuilt": ("langgraph-prebuilt", "langgraph"),
    "ldap": ("python-ldap",),
    "llama_index": ("llama-index", "llama-index-core"),
    "magic": ("python-magic",),
    "markdown_it": ("markdown-it-py",),
    "mpl_toolkits": ("matplotlib",),
    "multipart": ("python-multipart",),
    "nacl": ("pynacl",),
    "odps": ("pyodps",),
    "opentelemetry": ("opentelemetry-api", "opentelemetry-sdk"),
    "opentelemetry.exporter.otlp.proto.grpc": ("opentelemetry-exporter-otlp-proto-grpc", "opentelemetry-exporter-otlp"),
    "opentelemetry.exporter.otlp.proto.http": ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-exporter-otlp"),
    "opentelemetry.processor.baggage": ("opentelemetry-processor-baggage",),
    "opentelemetry.sdk": ("opentelemetry-sdk",),
    "opentelemetry.semconv": ("opentelemetry-semantic-conventions", "opentelemetry-sdk"),
    "opentelemetry.util.genai": ("loongsuite-util-genai", "opentelemetry-util-genai"),
    "pkg_resources": ("setuptools",),
    "pptx": ("python-pptx",),
    "psycopg2": ("psycopg2-binary", "psycopg2"),
    "pymysql": ("pymysql",),
    "pythonjsonlogger": ("python-json-logger",),
    "pywintypes": ("pywin32",),
    "rest_framework": ("djangorestframework",),
    "ruamel": ("ruamel-yaml",),
    "serial": ("pyserial",),
    "setuptools": ("setuptools",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "slugify": ("python-slugify",),
    "socketio": ("python-socketio",),
    "socks": ("pysocks",),
    "tavily": ("tavily-python",),
    "telegram": ("python-telegram-bot",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "tree_sitter_languages": ("tree-sitter-languages",),
    "usb": ("pyusb",),
    "websocket": ("websocket-client",),
    "win32api": ("pywin32",),
    "wx": ("wxpython",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
}
"""Modules whose distribution has another name, by the longest dotted name that tells them apart."""

_HTTP = frozenset({"httpx", "anyio", "pydantic", "typing-extensions", "httpcore", "pydantic-core", "certifi"})
_LANGCHAIN = frozenset({"langchain-core", "langsmith", "pydantic", "tenacity", "pyyaml", "typing-extensions"})
_NUMERIC = frozenset({"numpy"})

BROUGHT_ALONG: Mapping[str, frozenset[str]] = {
    "anthropic": _HTTP,
    "datasets": _NUMERIC | {"pyarrow", "pandas", "requests", "tqdm", "huggingface-hub", "fsspec", "dill", "pyyaml"},
    "fastapi": frozenset({"starlette", "pydantic", "typing-extensions", "anyio"}),
    "gymnasium": _NUMERIC | {"cloudpickle"},
    "langchain": _LANGCHAIN | {"langgraph", "langgraph-prebuilt", "langgraph-checkpoint"},
    "langchain-community": _LANGCHAIN | {"aiohttp", "requests", "numpy", "sqlalchemy"},
    "langchain-core": _LANGCHAIN,
    "langchain-mcp-adapters": _LANGCHAIN | {"mcp"},
    "langchain-openai": _LANGCHAIN | _HTTP | {"openai", "tiktoken"},
    "langgraph": _LANGCHAIN | {"langgraph-prebuilt", "langgraph-checkpoint", "langgraph-sdk"},
    "math-verify": frozenset({"latex2sympy2-extended", "sympy"}),
    "matplotlib": _NUMERIC | {"pillow", "python-dateutil"},
    "mcp": _HTTP | {"starlette", "uvicorn", "httpx-sse", "pydantic-settings"},
    "openai": _HTTP | {"tqdm", "distro", "jiter"},
    "openai-agents": _HTTP | {"openai", "mcp", "requests"},
    "pandas": _NUMERIC | {"python-dateutil", "pytz"},
    "qwen-agent": _HTTP | {"openai", "dashscope", "tiktoken", "json5", "requests"},
    "scikit-learn": _NUMERIC | {"scipy", "joblib"},
    "scipy": _NUMERIC,
    "sentence-transformers": _NUMERIC | {"transformers", "torch", "scikit-learn", "scipy", "huggingface-hub", "pillow"},
    "sympy": frozenset({"mpmath"}),
    "torch": frozenset({"sympy", "networkx", "jinja2", "fsspec", "filelock", "typing-extensions"}),
    "transformers": _NUMERIC
    | {"tokenizers", "safetensors", "huggingface-hub", "regex", "requests", "tqdm", "pyyaml", "packaging", "filelock"},
}
"""Distributions that well-known ones install with them; such imports work, but nobody promised them."""
