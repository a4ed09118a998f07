#!/bin/sh
# One step of a CI job, for the GitHub Action and the GitLab template alike; what to do comes by the environment.
set -eu
run="$(dirname "$0")/run.py"
[ -z "${NEBULA_CI_MODEL:-}" ] || export NEBULA_MODEL="$NEBULA_CI_MODEL"
case "${NEBULA_ACTION:-review}" in
  review) exec python3 "$run" review ;;
  task) exec python3 "$run" task -- "${NEBULA_TASK:?say what to do}" ;;
  batch) exec python3 "$run" batch "${NEBULA_TASK:?name the file of tasks}" ;;
  *) echo "nebula-ci: NEBULA_ACTION is review, task or batch" >&2; exit 64 ;;
esac
