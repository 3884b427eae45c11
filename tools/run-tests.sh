#!/usr/bin/env bash
# Runs the tests in parts, all of them even when one fails, and counts: tools/run-tests.sh [full|check].
# A part prints lines that begin with "FAIL " for what failed and at last "<part>: N passed, N failed". A part
# that ends without its count, or with a bad exit code and no failure counted, has crashed and counts as one
# failure. The last line printed is the total.
set -uo pipefail
cd "$(dirname "$0")/.."

suite=${1:-test}
build=$PWD/build
logs=$build/logs
library=$build/library
mkdir -p "$logs" "$library"

# Language, locale and threads are fixed, whatever the machine has. One BLAS thread: on matrices as
# small as those of tests a second one costs a fifth more CPU time; what threads must not change is
# tested with `n_threads`. Threads that wait do so without turning round.
export LC_ALL=C.UTF-8 LANGUAGE=en OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1 TESTTHAT_PARALLEL=FALSE
export OMP_WAIT_POLICY=passive
# Memory that R gives back and asks for again is faulted in page by page each time: the C library
# keeps it, which saves a tenth to a fifth of the CPU time of tests.
export MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432
# Where no time zone is set, packages that ask the system for it fail on machines without systemd.
export TZ=${TZ:-UTC}
# A user's own start-up files and compiler settings have no say.
export R_PROFILE_USER=/dev/null R_ENVIRON_USER=/dev/null R_MAKEVARS_USER=/dev/null
unset MAKEFLAGS MAKELEVEL MFLAGS R_LIBS

total_passed=0
total_failed=0
table=()
digest=$logs/failures.txt
: >"$digest"
rm -f "$logs/total.txt"

# Sets `cpu` to the CPU seconds of this script's children until now, user and system. A subshell
# would count its own.
read_cpu() {
  times >"$logs/times"
  cpu=$(awk 'NR == 2 {
    split($0, part, /[ms ]+/)
    printf "%.0f", 60 * part[1] + part[2] + 60 * part[3] + part[4]
  }' "$logs/times")
}

# run_part NAME COMMAND...: output to the terminal and to build/logs/NAME.log.
run_part() {
  local name=$1 log=$logs/$1.log started=$SECONDS status line passed=0 failed=0 note="" cpu before
  read_cpu
  before=$cpu
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 </dev/null | tee "$log"
  status=${PIPESTATUS[0]}
  line=$(grep -E "^$name: [0-9]+ passed, [0-9]+ failed" "$log" | tail -1)
  if [[ $line =~ ^$name:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed(.*)$ ]]; then
    passed=$((10#${BASH_REMATCH[1]}))
    failed=$((10#${BASH_REMATCH[2]}))
    note=${BASH_REMATCH[3]}
  fi
  if [ -z "$line" ] || [ "$status" -gt 1 ] || { [ "$status" = 1 ] && [ "$failed" = 0 ]; }; then
    failed=$((failed + 1))
    echo "FAIL $name: stopped with exit code $status before it had counted; its last lines:" >>"$log"
    {
      tail -1 "$log"
      grep -v '^FAIL ' "$log" | tail -15 | cut -c 1-160 | sed 's/^/    /'
    } >>"$digest"
  fi
  grep '^FAIL ' "$log" | grep -v 'before it had counted' | head -80 >>"$digest"
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  read_cpu
  table+=("$(printf '%-16s %6d passed %4d failed %5d s, %4d of CPU%s' \
    "$name" "$passed" "$failed" $((SECONDS - started)) $((cpu - before)) "$note")")
}

# The source package without built vignettes, and what it ships. What was installed before goes: a
# package that does not build must not be tested in an old form.
build_package() {
  rm -rf "$build/tarball" "$library" && mkdir -p "$build/tarball" "$library"
  if (cd "$build/tarball" && R CMD build --no-build-vignettes ../.. && tar -xzf gpselect_*.tar.gz); then
    echo "build: 1 passed, 0 failed"
  else
    echo "FAIL build: the package cannot be built"
    echo "build: 0 passed, 1 failed"
    return 1
  fi
}

run_testthat() { R_LIBS=$library NOT_CRAN=true Rscript --no-init-file tools/run-testthat.R "$@"; }

build_vignettes() {
  R_LIBS=$library Rscript --no-init-file tools/build-vignettes.R vignettes "$build/tarball/gpselect"
}

run_examples() { R_LIBS=$library Rscript --no-init-file tools/run-examples.R examples; }

# check_package NAME OPTIONS...: R CMD check of the tarball, counted.
check_package() {
  local name=$1 where=$build/$1
  shift
  rm -rf "$where" && mkdir -p "$where"
  _R_CHECK_FORCE_SUGGESTS_=false R_RD4PDF=times,hyper R_TEXI2DVICMD=emulation MAKEFLAGS=-j2 \
    R CMD check --output="$where" "$@" "$build"/tarball/gpselect_*.tar.gz
  Rscript --no-init-file tools/count-check.R "$name" "$where/gpselect.Rcheck/00check.log"
}

# Once for all: as CRAN checks, but examples and tests see only what the package imports, and the
# tests are all. No test depends on a network: what CRAN looks up there is left to `make check`. What
# it installs is the package of all parts after it, which build the vignettes and run the checks by
# codetools, too: those cost half as much by themselves. Room for garbage before R collects any
# saves half of what collecting takes, a twentieth of all.
check_as_cran() {
  local status=0
  echo 'CFLAGS += -Wall -Wextra -g0' >"$build/Makevars.check"
  R_NSIZE=3M R_VSIZE=64M \
    R_MAKEVARS_USER=$build/Makevars.check NOT_CRAN=true GPSELECT_RESULTS=$build/check-results.rds \
    _R_CHECK_DEPENDS_ONLY_EXAMPLES_=true _R_CHECK_DEPENDS_ONLY_TESTS_=true \
    _R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=false _R_CHECK_ORPHANED_=false \
    _R_CHECK_USE_CODETOOLS_=false check_package check --as-cran --ignore-vignettes || status=$?
  cp -r "$build/check/gpselect.Rcheck/gpselect" "$library/" && touch "$library/.installed"
  return "$status"
}

check_usage() {
  R_LIBS=$library R_DEFAULT_PACKAGES=NULL Rscript --no-init-file tools/check-usage.R usage
}

# The C core with the objects of that check.
test_core() {
  local where=$build/check/gpselect.Rcheck
  GPSELECT_OBJECTS=$where/00_pkg_src/gpselect/src GPSELECT_INSTALL_LOG=$where/00install.out \
    tests/c/run.sh
}

# What CRAN would get, vignettes inside, checked as CRAN checks it.
check_as_cran_online() {
  (cd "$build/tarball" && R CMD build ../..) && check_package check-online --as-cran
}

run_part build build_package
run_part layers Rscript --no-init-file tools/check-layers.R
if [ "$suite" = check ]; then
  run_part check-online check_as_cran_online
else
  run_part layers-self Rscript --no-init-file tools/test-check-layers.R
  rm -f "$build/check-results.rds"
  run_part check check_as_cran
  run_part usage check_usage
  run_part c test_core
  run_part tests run_testthat tests results="$build/check-results.rds"
  run_part suggested run_testthat suggested skipped="$build/check-results.rds"
  run_part examples run_examples
  run_part vignettes build_vignettes
fi
if [ "$suite" = full ]; then
  for part in testthat-slow attack c-asan c-tsan c-valgrind testthat-asan testthat-valgrind gctorture \
    documents spelling standards; do
    run_part $part tools/run-heavy.sh $part
  done
  run_part check-online check_as_cran_online
fi

printf '\n== summary\n'
printf '%s\n' "${table[@]}"
if [ -s "$digest" ]; then
  printf '\n== failures (logs in build/logs)\n'
  cat "$digest"
fi
echo
echo "$total_passed passed, $total_failed failed" | tee "$logs/total.txt"
[ "$total_failed" = 0 ] && [ "$total_passed" -gt 0 ]
