#!/bin/sh
#SBATCH --job-name=loopfit-0d91bfadedce-merge
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=/home/me/runs/slurm/merge.log
#SBATCH --partition=short --time=01:00:00

# After the shares of paper, however they ended: nothing is merged unless all of it is there.
set -eu
cd /home/me
if ! /opt/loopfit study status /home/me/runs --check; then
    echo "shares are missing or not complete: submit again, what is done is not run again" >&2
    exit 1
fi
# A merged store appears whole or not at all, and of complete shares there is only one.
[ -e /home/me/runs/merged/study.sqlite ] || /opt/loopfit study merge /home/me/runs --out /home/me/runs/merged
/opt/loopfit study verify /home/me/runs/merged
/opt/loopfit study report /home/me/runs/merged --data-dir '/data/it'\''s here'
