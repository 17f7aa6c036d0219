#!/usr/bin/env bash
# One study, several workers on one database. Run the same line on as many machines as you like: together they do 200 trials.
#
#   examples/postgres_workers.sh postgresql://USER:PASSWORD@HOST/DATABASE
set -euo pipefail
storage=${1:?give the storage URL, for instance postgresql://me@db.example.org/tuning}
here=$(dirname "$0")
addtree run "$here/cash.py" --storage "$storage" --study digits --trials 200 --workers 4
addtree best digits --storage "$storage"
