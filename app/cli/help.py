"""The text of ``--help``. It is kept as text so that printing it imports nothing; a test holds it to `help_text`."""

HELP = """\
agentic-rl-tui - a terminal cockpit for agentic reinforcement learning

Usage: agentic-rl-tui [OPTIONS]              open the full-screen app on this directory
       agentic-rl-tui [OPTIONS] VERB ...     do one thing and leave

Start
  quickstart   Write the example workspace and open it, ready to submit
  init         Write a workspace from a template

Functions and data
  functions            List, test, package or serve functions; logs of instances
  validate             Check the job file, its data and its functions
  register_functions   Register functions and print their ids
  test_functions       Call a registered instance with an input
  upload_data          Check and upload data sets and print their ids

Jobs
  run            Register functions, upload data and submit a job
  list           List jobs, newest first
  get            Show one job (also: status)
  wait           Wait until a job has ended
  logs           Print a job's log, optionally following it
  clone          Write a job's settings as a new job file, or go on from a checkpoint
  diff           Compare two jobs: settings, code and data
  cancel         Cancel a running job
  delete         Delete a finished job's record
  metrics        Print the numbers of a job step by step, also as CSV
  trajectories   Show steps, samples and rollouts, and why groups teach nothing
  trace          List, show, export or import traces of functions (also: traces)

Local platform
  serve      Run the local platform in the foreground
  platform   Show, stop, reset, export or import the local platform

This program
  doctor       Look at the surroundings and say what to do
  config       Show or change settings: list, get, set, unset, path
  keys         Show the keys in force and their problems
  completion   Print a completion script for bash, zsh or fish

Options
  --profile NAME    local (default, needs no key), dashscope, or one of your own
  --base-url URL    talk to this server instead of the profile's
  --api-key KEY     use this key instead of DASHSCOPE_API_KEY
  --workspace DIR   work on this directory instead of the current one
  --read-only       open the app without any action that changes something
  --fresh           open the app anew, not where it was left the last time
  --low-bandwidth   open the app for a slow line: nothing moves by itself, fewer updates
  -V, --version     print the version
  -h, --help        print this text; `agentic-rl-tui VERB --help` tells more of a verb

Exit codes: 0 ok, 1 rejected, 2 usage or configuration, 3 unreachable, 4 the job failed, 130 interrupted
"""


def shown() -> str:
    """The text in the language in force."""
    from agentic_rl_tui.core.i18n import language

    if language() == "en":
        return HELP
    from agentic_rl_tui.app.cli.help_text import help_text

    return help_text()
