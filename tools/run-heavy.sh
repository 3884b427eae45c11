#!/usr/bin/env bash
# The slow parts of `make test-full`, one a call: tools/run-heavy.sh PART. Counted like all parts, see
# run-tests.sh, which sets the environment.
set -uo pipefail
cd "$(dirname "$0")/.."

part=$1
build=$PWD/build
library=$build/library
raw=$build/logs/$part.raw

# Prints the lines that a pattern finds in the raw log as failures and adds them to the suite's count.
count_findings() {
  local findings passed=0 failed=0 n
  findings=$(grep -E "$1" "$raw" | sort | uniq -c | sort -rn | sed "s/^ *[0-9]* /FAIL $part: /")
  n=$(grep -c . <<<"$findings")
  if [[ $(grep -E "^$part: [0-9]+ passed" "$raw" | tail -1) =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
  else
    echo "FAIL $part: the test suite did not come to its end"
    failed=1
  fi
  [ "$n" = 0 ] || echo "$findings" | head -30
  echo "$part: $passed passed, $((failed + n)) failed"
  [ $((failed + n)) = 0 ]
}

# The package compiled with address and undefined-behaviour sanitizers, in a stock R that preloads them.
testthat_asan() {
  local where=$build/library-asan makevars=$build/Makevars.asan
  local flags="-fsanitize=address,undefined -fno-omit-frame-pointer"
  printf 'CC = gcc %s\nCFLAGS = -g -O1\n' "$flags" >"$makevars"
  export LSAN_OPTIONS=detect_leaks=0 ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0
  export UBSAN_OPTIONS=print_stacktrace=1
  local preload
  preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
  GPSELECT_SYMBOLS=yes R_MAKEVARS_USER=$makevars LD_PRELOAD=$preload \
    tools/install.sh "$where" "$build/logs/install-asan.log" || return 1
  LD_PRELOAD=$preload R_LIBS=$where NOT_CRAN=true \
    Rscript --no-init-file tools/run-testthat.R "$part" 2>&1 | tee "$raw"
  count_findings 'runtime error:|ERROR: AddressSanitizer'
}

# Valgrind speaks of R and OpenBLAS too; what counts is an error with one of our sources on its stack.
# Expectations do not: under valgrind long doubles have 53 bits, so R reads numbers less exactly.
# OpenBLAS's kernels for AVX take many times as long there as those for SSE.
testthat_valgrind() {
  local reports=$build/valgrind ours
  rm -rf "$reports" && mkdir -p "$reports"
  ours=$(basename -a src/*.c | sed 's/\./[.]/' | paste -sd '|')
  export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Prescott
  R_LIBS=$library NOT_CRAN=true R --no-echo --no-restore --no-init-file \
    -d "valgrind --error-limit=no --num-callers=60 --log-file=$reports/%p.log" \
    --file=tools/run-testthat.R --args "$part" 2>&1 | sed 's/^FAIL /not counted: /' | tee "$raw.all"
  sed -E 's/ passed, [0-9]+ failed/ passed, 0 failed/' "$raw.all" >"$raw"
  awk -F '== ' -v ours="[(]($ours):[0-9]+[)]|gpselect[.]so" '
    function flush() {
      if (at != "") print "valgrind: " what ": " at
      what = ""
      at = ""
    }
    NF < 2 || $2 ~ /^ *$/ { flush(); next }
    what == "" { what = $2 }
    at == "" && $2 ~ ours { at = $2; sub(/^.*0x[0-9A-F]+: /, "", at) }
    END { flush() }' "$reports"/*.log >>"$raw"
  count_findings '^valgrind: '
}

# The help pages and NAMESPACE are what the comments in R/ say.
documents() {
  local copy passed=0 failed=0 file
  copy=$(mktemp -d)
  cp -r DESCRIPTION NAMESPACE LICENSE R src inst "$copy"
  for folder in man data vignettes; do [ ! -d $folder ] || cp -r $folder "$copy"; done
  rm -f "$copy"/man/*.Rd
  (cd "$copy" && R_LIBS=$library Rscript --no-init-file -e \
    'roxygen2::roxygenise(load_code = "installed")') || return 1
  for file in NAMESPACE $( (cd "$copy" && ls man/*.Rd; ls man/*.Rd) 2>/dev/null | sort -u); do
    if cmp -s "$file" "$copy/$file"; then
      passed=$((passed + 1))
    else
      echo "FAIL $part: $file is not what R/ says; make document"
      failed=$((failed + 1))
    fi
  done
  rm -rf "$copy"
  echo "$part: $passed passed, $failed failed"
  [ "$failed" = 0 ]
}

# Tests that take too long for every change.
testthat_slow() {
  R_LIBS=$library NOT_CRAN=true GPS_TEST_FULL=true \
    Rscript --no-init-file tools/run-testthat.R "$part"
}

# Random fits, odd arguments and altered objects, in child processes.
attack() { R_LIBS=$library OPENBLAS_NUM_THREADS=1 Rscript --no-init-file tools/attack.R; }

# Misspelt words in prose and comments.
spelling() { Rscript --no-init-file tools/check-spelling.R "$part"; }

# STANDARDS.md and the tags in the sources agree.
standards() { Rscript --no-init-file tools/check-standards.R "$part"; }

case $part in
  attack) attack ;;
  c-*) tests/c/run.sh "$part" ;;
  testthat-slow) testthat_slow ;;
  testthat-asan) testthat_asan ;;
  testthat-valgrind) testthat_valgrind ;;
  gctorture) R_LIBS=$library NOT_CRAN=true Rscript --no-init-file tools/gctorture.R ;;
  documents) documents ;;
  spelling) spelling ;;
  standards) standards ;;
  *)
    echo "usage: tools/run-heavy.sh PART" >&2
    exit 2
    ;;
esac
