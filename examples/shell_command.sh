#!/usr/bin/env bash
# Tune a shell command: find the program and the level that compress a file best, if a second costs as much as 5 % of the file's size.
# It uses only `addtree suggest` and `addtree tell`, so any experiment that a shell can run can be tuned in this way.
#
#   examples/shell_command.sh FILE [TRIALS]
set -euo pipefail
file=${1:?give a file to compress}
trials=${2:-20}
here=$(dirname "$0")
storage=${STORAGE:-compressor.db}
field() { python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(d["id"] if sys.argv[2] == "id" else d["config"].get(sys.argv[2], ""))' "$1" "$2"; }

for _ in $(seq "$trials"); do
  suggested=$(addtree suggest compressor --storage "$storage" --space "$here/compressor.json" --seed 0)
  id=$(field "$suggested" id)
  program=$(field "$suggested" program)
  case $program in
    gzip) command=(gzip "-$(field "$suggested" gzip_level)") ;;
    bzip2) command=(bzip2 "-$(field "$suggested" bzip2_level)") ;;
    xz) command=(xz "-$(field "$suggested" xz_level)")
      if [ "$(field "$suggested" extreme)" = yes ]; then command+=(--extreme); fi ;;
  esac
  begin=$(date +%s.%N)
  if size=$("${command[@]}" --stdout "$file" | wc -c); then
    value=$(python3 -c 'import sys; size, whole, begin, end = map(float, sys.argv[1:]); print(size / whole + 0.05 * (end - begin))' \
      "$size" "$(wc -c < "$file")" "$begin" "$(date +%s.%N)")
    addtree tell compressor "$id" "$value" --storage "$storage"
  else
    addtree tell compressor "$id" --failed --storage "$storage"
  fi
done
addtree best compressor --storage "$storage"
