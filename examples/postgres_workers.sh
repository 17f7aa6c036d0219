#!/usr/bin/env bash
# Run one study with several workers that share a database. Run the same command on as many machines as you like: together they run
# 200 trials.
#
#   examples/postgres_workers.sh postgresql://USER:PASSWORD@HOST/DATABASE
set -euo pipefail
storage=${1:?give the storage URL, for instance postgresql://me@db.example.org/tuning}
here=$(dirname "$0")
addtree run "$here/cash.py" --storage "$storage" --study digits --trials 200 --workers 4
addtree best digits --storage "$storage"
