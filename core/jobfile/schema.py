"""Every key a job file may hold.

The checks, the completion and the help for the key under the cursor all read this table.
"""

from agentic_rl_tui.core.i18n import N_
from agentic_rl_tui.core.jobfile.keys import (
    CLIENT,
    FUNCTION_PAGE,
    OBSERVE_PAGE,
    OPD_OVERVIEW_PAGE,
    TRAINING_PAGE,
    Key,
    Kind,
    count,
    table,
)
from agentic_rl_tui.core.jobfile.parameters import HYPER_PARAMETERS, RESOURCES

RUNTIME = table(
    Key("cpu", Kind.NUMBER, N_("Processor cores of one instance; 2 is usual."), "1", above=0, source=TRAINING_PAGE),
    count(
        "memory_size",
        1_048_576,
        N_("Memory of one instance in MB (not GB); 4096 or more is usual."),
        "10",
    ),
    count("disk_size", 1_048_576, N_("Disk of one instance in MB; 512 or more is usual."), "10"),
    count(
        "concurrency",
        100_000,
        N_("Calls that one instance takes at once; 30 for functions that wait for a model, fewer for heavy ones."),
        "2",
    ),
    count("capacity", 100_000, N_("Instances at the start."), "10"),
    count("max_capacity", 100_000, N_("Most instances: the brake on a runaway bill."), "50"),
    count("min_capacity", 100_000, N_("Fewest instances."), low=0),
    Key(
        "memory_scale_threshold",
        Kind.NUMBER,
        N_("Share of memory in use above which instances are added, 0 to 1; 0.6 to 0.7 is usual."),
        low=0,
        high=1,
        source=TRAINING_PAGE,
    ),
    Key(
        "concurrency_scale_threshold",
        Kind.NUMBER,
        N_("Share of concurrency in use above which instances are added, 0 to 1; 0.6 to 0.7 is usual."),
        low=0,
        high=1,
        source=TRAINING_PAGE,
    ),
    Key("enable_vpc_config", Kind.BOOL, N_("Whether the function runs inside a private network."), source=CLIENT),
    Key("enable_log", Kind.BOOL, N_("Whether the function's log is kept."), source=CLIENT),
    Key("security_group_id", Kind.TEXT, N_("Security group of the private network."), source=CLIENT),
    Key("vpc_id", Kind.TEXT, N_("Id of the private network."), source=CLIENT),
    Key("vpc_role", Kind.TEXT, N_("Role under which the private network is joined."), source=CLIENT),
    Key("layer_code", Kind.TEXT, N_("Dependency layer; set by registration."), source=CLIENT),
    Key("switch_ids", Kind.TEXTS, N_("Switches of the private network."), source=CLIENT),
    Key(
        "env",
        Kind.VALUES,
        N_(
            'Environment variables of the function. ENABLE_TRAJECTORY: "false" turns tracing off, which saves money on '
            "large runs. The values are stored with the job: no secrets here."
        ),
        source=OBSERVE_PAGE,
    ),
)

FCMODEL = table(
    Key("zipdir", Kind.TEXT, N_("Folder to package, relative to this file."), "./", is_nullable=False),
    Key(
        "classpath",
        Kind.TEXT,
        N_("The class to run: pkg.module.Class, pkg.module:Class or path/file.py:Class, relative to zipdir."),
        is_nullable=False,
    ),
    Key(
        "filepath",
        Kind.TEXT,
        N_("File of the class, with classname; classpath wins."),
        source=CLIENT,
        is_nullable=False,
    ),
    Key("classname", Kind.TEXT, N_("Name of the class in filepath."), source=CLIENT, is_nullable=False),
    Key(
        "requirements_path",
        Kind.TEXT,
        N_("Python requirements of the function."),
        "./requirements.txt",
        is_nullable=False,
    ),
    Key(
        "extra_files", Kind.TEXTS, N_("Files from elsewhere that go into the package's top folder."), is_nullable=False
    ),
    Key("oss_id", Kind.TEXT, N_("Id of a package that was uploaded before."), source=CLIENT),
    Key("oss_signed_url", Kind.TEXT, N_("Address of a package that was uploaded before."), source=CLIENT),
)

FUNCTION_KINDS = ("rollout", "reward", "group_reward")

FUNCTION = Key(
    "functions[]",
    Kind.SECTION,
    N_("One function of the job."),
    is_nullable=False,
    keys=table(
        Key(
            "type",
            Kind.CHOICE,
            N_(
                "What the function does: rollout makes trajectories, reward scores one, group_reward scores all "
                "attempts "
                "at one prompt together."
            ),
            choices=FUNCTION_KINDS,
            is_nullable=False,
        ),
        Key("name", Kind.TEXT, N_("Name of the function; each only once in a file."), N_("made up")),
        count("timeout", 86_400, N_("Seconds one call may take; 600 for a rollout, 120 for a reward.")),
        Key("weight", Kind.NUMBER, N_("Share of this reward in the total; rewards only."), source=FUNCTION_PAGE),
        Key(
            "reward_metric_weight",
            Kind.NUMBERS,
            N_(
                "Weights of the reward's sub-rewards by name. The total is the sum of weight x sub-weight x this, "
                "normalised."
            ),
            source=FUNCTION_PAGE,
        ),
        Key("entity_id", Kind.TEXT, N_("Id of a function that is registered already; it is not registered again.")),
        Key("instance_id", Kind.TEXT, N_("Id of a loaded instance; not used when a job is submitted."), source=CLIENT),
        Key("instance_status", Kind.INT, N_("State of the instance; not used when a job is submitted."), source=CLIENT),
        Key("instance_url", Kind.TEXT, N_("Address of the instance; not used when a job is submitted."), source=CLIENT),
        Key("instance_token", Kind.TEXT, N_("Token of the instance; not used when a job is submitted."), source=CLIENT),
        Key("fcmodel", Kind.SECTION, N_("What to package and which class to run."), keys=FCMODEL, is_nullable=False),
        Key("runtime", Kind.SECTION, N_("Resources of the function."), keys=RUNTIME),
    ),
)

DATASET_TYPES = ("training", "validation", "testing")
DATA_SOURCES = ("file_id", "download_url", "oss_mount")

DATASET = Key(
    "datasets[]",
    Kind.SECTION,
    N_("One data set of the job."),
    is_nullable=False,
    keys=table(
        Key(
            "type",
            Kind.CHOICE,
            N_("What the rows are for. testing is uploaded but never sent."),
            "training",
            choices=DATASET_TYPES,
            is_nullable=False,
        ),
        Key(
            "data_source_type",
            Kind.CHOICE,
            N_("Where the rows come from."),
            "file_id",
            choices=DATA_SOURCES,
            is_nullable=False,
        ),
        Key("file_name", Kind.TEXT, N_("A JSONL file, relative to this file; it is uploaded.")),
        Key("file_id", Kind.TEXT, N_("Id of a file that was uploaded before.")),
        Key("download_url", Kind.TEXT, N_("Address from which the service fetches the rows.")),
        Key(
            "mount_storage",
            Kind.SECTION,
            N_("A place in OSS."),
            keys=table(
                Key("region", Kind.TEXT, N_("Region of the bucket."), source=CLIENT),
                Key("bucket", Kind.TEXT, N_("Name of the bucket."), source=CLIENT),
                Key("file_path", Kind.TEXT, N_("Path inside the bucket."), source=CLIENT),
            ),
            source=CLIENT,
        ),
    ),
)

TRAINING_TYPES = ("reinforcement", "pg_opd")

TRAINING = Key(
    "training",
    Kind.SECTION,
    N_("How to train."),
    is_nullable=False,
    keys=table(
        Key(
            "type",
            Kind.CHOICE,
            N_(
                "reinforcement learns from rewards, pg_opd from a teacher model. A teacher_model makes it pg_opd "
                "anyway."
            ),
            "reinforcement",
            choices=TRAINING_TYPES,
            is_nullable=False,
        ),
        Key(
            "hyper_parameters",
            Kind.SECTION,
            N_("Settings of the training."),
            keys=HYPER_PARAMETERS,
            is_open=True,
            is_nullable=False,
        ),
        Key(
            "resources",
            Kind.SECTION,
            N_("Machines to train on and how they are paid."),
            keys=RESOURCES,
            is_open=True,
            is_nullable=False,
        ),
    ),
)

ROOT = Key(
    "",
    Kind.SECTION,
    N_("A job."),
    is_nullable=False,
    keys=table(
        Key(
            "name",
            Kind.TEXT,
            N_("Name of the job, 1 to 256 characters; a random ending is added."),
            "agentic-rl",
            is_nullable=False,
        ),
        Key(
            "model",
            Kind.SECTION,
            N_("The model to train."),
            keys=table(
                Key(
                    "name",
                    Kind.TEXT,
                    N_("Id of the base model, or of a model an earlier job produced."),
                    is_nullable=False,
                )
            ),
            is_nullable=False,
        ),
        Key(
            "teacher_model",
            Kind.TEXT,
            N_(
                "The model to learn from. Its presence makes the job OPD (distillation on the student's own "
                "answers). It "
                "must be of the student's family and stronger."
            ),
            source=OPD_OVERVIEW_PAGE,
        ),
        Key(
            "functions",
            Kind.LIST,
            N_(
                "Rollout, reward and group reward functions. RL needs a rollout and a reward; in OPD each may be "
                "left out."
            ),
            "none",
            item=FUNCTION,
            is_nullable=False,
        ),
        Key("datasets", Kind.LIST, N_("Training and validation data."), "none", item=DATASET, is_nullable=False),
        TRAINING,
        Key(
            "observability",
            Kind.VALUES,
            N_("Settings of tracing; unknown ones are ignored."),
            source=CLIENT,
            is_nullable=False,
        ),
    ),
)


def key_at(path: tuple[str | int, ...]) -> Key | None:
    """The table entry for a path in a job file; None where the file may hold what it likes."""
    key: Key | None = ROOT
    for step in path:
        if key is None:
            return None
        key = key.item if isinstance(step, int) else key.keys.get(step)
    return key
