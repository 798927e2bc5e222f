"""The table of rules: what is checked, why, who says so and when that was read.

Where the sources contradict each other, `why` names both and says what is assumed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.diagnostics import Severity
from agentic_rl_tui.core.jobfile.keys import (
    CHECKLIST_PAGE,
    CLIENT,
    FUNCTION_PAGE,
    GUIDE,
    OPD_OVERVIEW_PAGE,
    OPD_PAGE,
    OVERVIEW_PAGE,
    TRAINING_PAGE,
)

READ_ON = "2026-12-01"
_YAML = "YAML 1.1 and 1.2"
_OURS = "agentic-rl-tui"


@dataclass(frozen=True, slots=True)
class Rule:
    """severity is the usual one; a check may lower it. date is when the source was read."""

    id: str
    severity: Severity
    title: str
    why: str
    source: str
    date: str = READ_ON

    @property
    def reason(self) -> str:
        """What a diagnostic carries: the reason with its source."""
        return _("{why} (source: {source}, {date})").format(why=_(self.why), source=self.source, date=self.date)


def _error(id: str, title: str, why: str, source: str = CLIENT) -> Rule:  # noqa: A002
    return Rule(id, Severity.ERROR, title, why, source)


def _warning(id: str, title: str, why: str, source: str = TRAINING_PAGE) -> Rule:  # noqa: A002
    return Rule(id, Severity.WARNING, title, why, source)


def _info(id: str, title: str, why: str, source: str = TRAINING_PAGE) -> Rule:  # noqa: A002
    return Rule(id, Severity.INFO, title, why, source)


_TEXT = (
    _error(
        "encoding", N_("Not UTF-8"), N_("The service's client reads job files as UTF-8 and stops at anything else.")
    ),
    _info(
        "byte-order-mark", N_("Byte order mark"), N_("It is accepted, but other tools may take it for part of a key.")
    ),
    _info(
        "line-ends",
        N_("Mixed line ends"),
        N_("Some lines end in CRLF, others in LF; diffs and editors stumble."),
        _OURS,
    ),
    _error("yaml-syntax", N_("YAML syntax"), N_("A YAML reader stops here and reads nothing of the file."), _YAML),
    _error("yaml-tab", N_("Tab in the indentation"), N_("YAML allows only spaces in front of a key."), _YAML),
    _error(
        "yaml-empty", N_("Empty file"), N_("An empty job file makes the service's client fail with a Python error.")
    ),
    _error("yaml-documents", N_("Several documents"), N_("A job file is one YAML document; a second one is refused.")),
    _error("yaml-mapping", N_("Not a mapping"), N_("A job file is a list of keys with values, such as 'model:'.")),
    _error("yaml-duplicate", N_("Key given twice"), N_("The last one wins without a word, so the first one misleads.")),
    _error("yaml-key", N_("Not a usable key"), N_("Keys of a job file are single texts."), _YAML),
    _error(
        "yaml-alias",
        N_("Alias loop"),
        N_("An alias that leads back to itself, or to far too much, has no value."),
        _OURS,
    ),
    _error("yaml-merge", N_("Unusable merge"), N_("'<<' takes a mapping or a list of mappings."), _YAML),
    _error(
        "yaml-tag", N_("Unknown tag"), N_("The service's client reads plain YAML and refuses tags of its own making.")
    ),
    _error("yaml-depth", N_("Nested too deeply"), N_("No job file needs more than a few levels."), _OURS),
    _warning(
        "number-as-text",
        N_("Number that YAML reads as text"),
        N_(
            "YAML 1.1, which the service's client uses, takes a number with an exponent for text unless it has a "
            "decimal "
            "point and a signed exponent. The job then carries a text where a number is meant."
        ),
        CLIENT,
    ),
    _warning(
        "ambiguous-value",
        N_("Value with two readings"),
        N_("YAML 1.1 and 1.2 read this differently, and so do the programs that read this file."),
        _YAML,
    ),
    _warning("quoted-number", N_("Number in quotes"), N_("It is sent as text; a number is meant here."), CLIENT),
)

_SCHEMA = (
    _error(
        "unknown-key",
        N_("Unknown key"),
        N_("The service's client refuses keys it does not know. A key that begins with 'x-' is let through unchecked."),
    ),
    _warning(
        "unknown-parameter",
        N_("Unknown parameter"),
        N_(
            "The service ignores parameters it does not know, and trains at its default without a word. A key that "
            "begins "
            "with 'x-' is sent without the prefix, unchecked."
        ),
        OPD_PAGE,
    ),
    _info(
        "foreign-key",
        N_("Key of your own"),
        N_("This program ignores it; the service's own client refuses it."),
        CLIENT,
    ),
    _error("wrong-type", N_("Wrong type"), N_("The value cannot be used as what the key stands for.")),
    _error("out-of-range", N_("Out of range"), N_("The service allows only values of this range."), TRAINING_PAGE),
    _error("not-a-choice", N_("Not one of the choices"), N_("The service knows only these values.")),
    _error(
        "null-value", N_("Empty value"), N_("An empty value here makes the service's client fail; leave the key out.")
    ),
    _error("name-length", N_("Length of the name"), N_("The service takes names of 1 to 256 characters.")),
)

_MODEL = (
    _error(
        "model-missing", N_("No model"), N_("Without model.name nothing says what to train; the service answers 400.")
    ),
    _info(
        "model-unlisted", N_("Model not listed"), N_("The service's pages do not list it for this use."), OVERVIEW_PAGE
    ),
    _error(
        "moe-algorithm",
        N_("Mixture of experts needs gspo"),
        N_("Token-level algorithms are unstable when routing changes from token to token."),
        TRAINING_PAGE,
    ),
    _error(
        "expert-parallel-dense",
        N_("Expert parallelism"),
        N_("A dense model has no experts to spread out."),
        TRAINING_PAGE,
    ),
)

_TRAINING = (
    _warning(
        "parameters-missing",
        N_("Hyper-parameters missing"),
        N_(
            "The service's pages disagree on which are required (11 or 15) and state no defaults; what is left out is "
            "trained at values you do not see."
        ),
        f"{TRAINING_PAGE}; {OVERVIEW_PAGE}",
    ),
    _error(
        "mini-batch",
        N_("Mini batch larger than the step"),
        N_("ppo_mini_batch_size <= batch_size x n_rollouts: a step has no more samples than that."),
        TRAINING_PAGE,
    ),
    _error(
        "rows-batch",
        N_("Too few rows"),
        N_("Training rows must be more than batch_size; the service fails about ten minutes after the start."),
        f"{OVERVIEW_PAGE}; {CHECKLIST_PAGE}",
    ),
    _error(
        "gpu-product",
        N_("GPUs do not divide"),
        N_("n_gpus_training = tensor x pipeline x data parallelism, so tensor x pipeline must divide it."),
        TRAINING_PAGE,
    ),
    _warning("gpu-inference", N_("Sampling GPUs"), N_("An engine of this tensor parallelism needs as many GPUs.")),
    _error(
        "prompt-length",
        N_("No room for an answer"),
        N_("max_length counts prompt and answer together, so max_prompt_length must be smaller."),
        TRAINING_PAGE,
    ),
    _warning(
        "lr-high",
        N_("Learning rate of supervised tuning"),
        N_("RL at 5.0e-5 or more wrecks the policy in a few steps."),
    ),
    _warning("lr-zero", N_("Learning rate 0"), N_("Nothing is learnt at learning rate 0.")),
    _warning("epochs-many", N_("Many epochs"), N_("With 10 or more the policy learns the rows by heart.")),
    _warning(
        "kl-zero", N_("No KL penalty"), N_("Without it the policy drifts into gibberish; only dapo works without.")
    ),
    _info("kl-dapo", N_("KL penalty with dapo"), N_("dapo is made to run without one.")),
    _warning("rollouts-one", N_("One rollout a prompt"), N_("The advantage compares attempts; a single one has none.")),
    _warning("length-large", N_("Very long max_length"), N_("32K 'to be safe' costs memory and time on every sample.")),
    _warning("eval-never", N_("Validation never runs"), N_("eval_steps lies beyond the last step.")),
    _info(
        "eval-often",
        N_("Validation very often"),
        N_("eval_steps of total steps / 10 to 20 is enough; each one costs time."),
    ),
    _warning("save-never", N_("No checkpoint before the end"), N_("save_steps lies beyond the last step.")),
    _info(
        "save-often", N_("Checkpoints more often than validations"), N_("save_steps is usually eval_steps x 2 to 3.")
    ),
    _info(
        "units-few",
        N_("Fewer training units than advised"),
        N_("The service's pages advise more for this model."),
        OVERVIEW_PAGE,
    ),
)

_OPD = (
    _error(
        "teacher-missing", N_("No teacher"), N_("pg_opd learns from a teacher; the service's client stops without one.")
    ),
    _warning(
        "teacher-type",
        N_("A teacher makes the job OPD"),
        N_("The service's client sends pg_opd whenever there is a teacher, whatever the type says."),
        CLIENT,
    ),
    _error(
        "teacher-family",
        N_("Teacher of another family"),
        N_("Teacher and student need the same tokenizer: the same family of models."),
        OPD_OVERVIEW_PAGE,
    ),
    _warning(
        "teacher-weak", N_("Teacher not stronger"), N_("A student learns nothing from its equal."), OPD_OVERVIEW_PAGE
    ),
    _warning(
        "teacher-unlisted",
        N_("Teacher not listed"),
        N_("The service refuses ids it does not offer."),
        OPD_OVERVIEW_PAGE,
    ),
    _warning(
        "student-unlisted", N_("Student not listed"), N_("The service offers OPD for few models."), OPD_OVERVIEW_PAGE
    ),
    _error("opd-algorithm", N_("OPD runs on gspo"), N_("OPD takes no other algorithm."), OPD_PAGE),
    _error("opd-scheduler", N_("Scheduler of OPD"), N_("OPD takes cosine or constant."), OPD_PAGE),
    _error("opd-save", N_("Checkpoints of OPD"), N_("OPD takes steps or epoch."), OPD_PAGE),
    _info(
        "opd-kl", N_("KL penalty in OPD"), N_("OPD does not use kl_loss_coef; the teacher takes its place."), OPD_PAGE
    ),
    _info(
        "opd-keys",
        N_("Teacher settings without a teacher"),
        N_("They do nothing in a job without teacher_model."),
        OPD_PAGE,
    ),
)

_FUNCTIONS = (
    _error("rollout-missing", N_("No rollout"), N_("RL needs a rollout function; only OPD samples by itself."), GUIDE),
    _error(
        "reward-missing",
        N_("No reward"),
        N_(
            "RL needs at least one reward. One page of the service calls it optional where the rollout sets "
            "AgentOutput.reward_score; the guide does not, and so it is an error here."
        ),
        GUIDE,
    ),
    _error(
        "rollout-several", N_("Several rollouts"), N_("The first one is used; the others are registered, then dropped.")
    ),
    _error("type-missing", N_("No type"), N_("The service's client takes a function without type for a rollout.")),
    _error("name-twice", N_("Name given twice"), N_("Each function needs its own name.")),
    _error(
        "class-missing", N_("No class"), N_("A function needs fcmodel.classpath, or the entity_id of a registered one.")
    ),
    _error(
        "classpath-form",
        N_("Not a class path"),
        N_("A class is named as pkg.module.Class, pkg.module:Class or path/file.py:Class."),
        GUIDE,
    ),
    _info(
        "classpath-colon",
        N_("Class path only this program reads"),
        N_("The guide names the form pkg.module:Class, but the service's own client looks for a file of that name."),
        CLIENT,
    ),
    _error("class-file", N_("File of the class missing"), N_("The package would hold no such file."), GUIDE),
    _error("class-unknown", N_("Class not found"), N_("The function would fail as soon as it is loaded."), GUIDE),
    _error(
        "class-kind",
        N_("Class of another kind"),
        N_("Its process() takes other input than this type of function gets."),
        GUIDE,
    ),
    _error("class-abstract", N_("Abstract class"), N_("It cannot be made into an object."), FUNCTION_PAGE),
    _warning("weight-unused", N_("Weight without effect"), N_("Weights belong to rewards."), CLIENT),
    _warning(
        "weight-zero", N_("Weights sum to nothing"), N_("Rewards of weight 0 take no part in the total."), FUNCTION_PAGE
    ),
    _warning(
        "weight-negative",
        N_("Negative weight"),
        N_("A negative weight punishes what the reward praises."),
        FUNCTION_PAGE,
    ),
    _error(
        "metric-unknown",
        N_("No such sub-reward"),
        N_("A weight for a name that the reward does not have does nothing."),
        FUNCTION_PAGE,
    ),
    _error("requirements-missing", N_("Requirements missing"), N_("The package needs its requirements.txt."), GUIDE),
    _error(
        "extra-missing", N_("Extra file missing"), N_("The service's client only warns, and the function fails later.")
    ),
    _warning("path-outside", N_("Path outside the folder"), N_("It exists only on this machine."), _OURS),
    _error(
        "list-length",
        N_("Lists of different length"),
        N_("Runtimes, names and weights belong to functions one by one."),
        GUIDE,
    ),
)

_RUNTIME = (
    _warning(
        "memory-small",
        N_("Very little memory"),
        N_("memory_size counts MB. The guide's own sample says 4, which is 4 MB; the configuration page advises 4096."),
        f"{TRAINING_PAGE}; {GUIDE}",
    ),
    _info("memory-low", N_("Little memory"), N_("The service's page advises 4096 MB or more.")),
    _warning("disk-small", N_("Very little disk"), N_("disk_size counts MB; the service's page advises 512 or more.")),
    _info("runtime-default", N_("Defaults of the service"), N_("Its stated defaults are 10 MB of memory and of disk.")),
    _error("capacity-order", N_("Capacities out of order"), "min_capacity <= capacity <= max_capacity.", TRAINING_PAGE),
    _warning(
        "threshold-percent",
        N_("Threshold in percent"),
        N_(
            "The configuration page counts from 0 to 1, a description in the service's client from 0 to 100. Its own "
            "example says 0.6, so a share is assumed."
        ),
        f"{TRAINING_PAGE}; {CLIENT}",
    ),
    _warning(
        "throughput",
        N_("Function slower than the training"),
        N_(
            "concurrency x capacity >= 1.2 x calls a step / seconds a step; the training waits for the function "
            "otherwise."
        ),
    ),
    _warning(
        "secret",
        N_("Secret in the file"),
        N_("The file is shared and the values of env are stored with the job and shown by the service's client."),
        CLIENT,
    ),
)

_DATA = (
    _error(
        "training-data-missing",
        N_("No training data"),
        N_("The service answers 400 without a training data set."),
        GUIDE,
    ),
    _warning(
        "validation-missing", N_("No validation data"), N_("Without it nothing shows whether the policy generalises.")
    ),
    _warning(
        "testing-unused",
        N_("testing is never sent"),
        N_("The service's client uploads the file, then drops it."),
        CLIENT,
    ),
    _error("file-missing", N_("File not found"), N_("The service's client only logs it and goes on without the file.")),
    _warning(
        "file-type", N_("Not a JSONL file"), N_("The service takes JSON lines: one object a line."), OVERVIEW_PAGE
    ),
    _warning(
        "file-both", N_("file_id and file_name"), N_("The service's client uploads the file and drops file_id."), CLIENT
    ),
    _error(
        "source-empty", N_("Data set without data"), N_("An entry without a file is sent as it is, and the job fails.")
    ),
    _error(
        "source-mismatch",
        N_("Source and place differ"),
        N_("data_source_type says where to look; nothing is found there."),
    ),
    _warning(
        "data-shared", N_("Same data twice"), N_("Validation on training rows shows memory, not skill."), CHECKLIST_PAGE
    ),
    _error(
        "override", N_("Value from outside the file"), N_("An option or argument does not fit the job file."), _OURS
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in (*_TEXT, *_SCHEMA, *_MODEL, *_TRAINING, *_OPD, *_FUNCTIONS, *_RUNTIME, *_DATA)}
)
