#!/bin/sh
#SBATCH --job-name=loopfit-0d91bfadedce
#SBATCH --array=1-3,7
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
#SBATCH --output=/home/me/runs/slurm/shard-%a.log
#SBATCH --partition=short --time=01:00:00

# One share of paper. Every fit that ends is in the share's store, so that whatever stops this job costs at most the fits that
# were running: it is queued again and goes on.
cd /home/me || exit 1
share="$SLURM_ARRAY_TASK_ID/64"
job="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
child=
stopped=
# Preempted or cancelled: Slurm knows what comes next. USR1 comes 60 s before the time limit, and means that nobody else
# will queue this job again.
trap 'stopped=${stopped:-TERM}; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT
trap 'stopped=USR1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1
tries=0
while [ -z "$stopped" ]; do
    tries=$((tries + 1))
    echo "share $share: try $tries on $(hostname), started $((${SLURM_RESTART_COUNT:-0} + 1)) times"
    /opt/loopfit study run paper --quick --data-dir '/data/it'\''s here' --out /home/me/runs --shard "$share" --threads "${SLURM_CPUS_PER_TASK:-1}" --quiet &
    child=$!
    # A signal that came just before had nobody to go to.
    [ -z "$stopped" ] || kill -TERM "$child" 2>/dev/null
    wait "$child"
    code=$?
    # A signal ends `wait` before the share has saved.
    while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    child=
    echo "share $share: exit code $code"
    if [ "$code" -eq 0 ]; then exit 0; fi
    # Wrong usage does not get better, and what fails 3 times fails again.
    if [ -z "$stopped" ] && { [ "$code" -eq 2 ] || [ "$tries" -ge 3 ]; }; then exit "$code"; fi
    [ -n "$stopped" ] || sleep 5
done
if [ "$stopped" = USR1 ]; then
    echo "share $share: the time is nearly over, queued again"
    scontrol requeue "$job"
fi
exit 143
