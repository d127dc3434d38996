#!/bin/sh
# Submits the shares of paper and what comes after them; prints the numbers of both jobs. What is queued or running is not
# submitted twice.
set -eu
for program in sbatch squeue; do
    if ! command -v "$program" >/dev/null; then
        echo "$program is not installed on this machine: run this where it is" >&2
        exit 3
    fi
done
# Who does not know what is queued submits nothing.
queued() {
    listed=$(squeue --noheader --user="$(id -un)" --name="$1" --format=%F) || {
        echo "squeue does not say what is queued: nothing was submitted" >&2
        return 3
    }
    echo "$listed" | sort -u | head -n 1 | tr -d ' '
}
array=$(queued loopfit-0d91bfadedce)
merge=
if [ -n "$array" ]; then
    echo "the shares are queued already" >&2
    merge=$(queued loopfit-0d91bfadedce-merge)
else
    array=$(sbatch --parsable /home/me/runs/slurm/shards.sh)
    array=${array%%;*}
fi
if [ -z "$merge" ]; then
    merge=$(sbatch --parsable --dependency=afterany:"$array" /home/me/runs/slurm/merge.sh)
    merge=${merge%%;*}
fi
echo "$array $merge"
