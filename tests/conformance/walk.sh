#!/bin/sh
# The life of a job as the user guide walks it, in the current workspace.
# RL: the command line to walk with. OUT: where its answers go. FIELD: prints a field of a JSON file.
# UNTIL: reads a job's events until it has one of the states.
# IS_OURS: set where the command line also has status and delete.
set -eu

$RL register_functions \
    --rollout-classpaths fns.Slow --reward-classpaths fns.One --no-lazy-load --workspace-dir ./ -o json >"$OUT/register.json"
$RL test_functions "$($FIELD "$OUT/register.json" rollout_instance_ids 0)" \
    --type rollout --input rollout_input.json -o json >"$OUT/rollout.json"
$RL test_functions "$($FIELD "$OUT/register.json" reward_instance_ids 0)" \
    --type reward --input reward_input.json -o json >"$OUT/reward.json"
$RL upload_data --training-files train.jsonl --validation-files train.jsonl -o json >"$OUT/upload.json"
$RL run -c job.yaml -o json >"$OUT/run.json"
job=$($FIELD "$OUT/run.json" job_id)
$UNTIL "$job" RUNNING
$RL get "$job" -o json >"$OUT/get.json"
$RL list -p 1 -s 100 -o json >"$OUT/list.json"
$RL cancel "$job" >"$OUT/cancel.txt"
$UNTIL "$job" CANCELED
$RL get "$job" -o json >"$OUT/ended.json"
$RL logs "$job" --offset 0 --lines 1000 -o json >"$OUT/logs.json"
[ -z "${IS_OURS-}" ] && exit
$RL status "$job" -o json >"$OUT/status.json"
$RL delete "$job" -o json >"$OUT/delete.json"
if $RL get "$job" >"$OUT/gone.txt" 2>&1; then
    echo "$job is still there" >&2
    exit 1
fi
