#!/usr/bin/env bash
# Compiles the C core without R, as strict C99, and runs every test_*.c of this folder against it:
# tests/c/run.sh [c|c-asan|c-tsan|c-valgrind]. linalg.c alone sees R's headers, for BLAS routines.
# Where GPSELECT_OBJECTS names a folder with the objects of an installed package, part c reads the
# sources as strict C99 but tests these: what ships. GPSELECT_INSTALL_LOG has what the compiler said
# of them with -Wall -Wextra.
set -uo pipefail
cd "$(dirname "$0")/../.."

mode=${1:-c}
objects=build/$mode
compiler=gcc
strict=(-std=c99 -pedantic -Wall -Wextra -Wstrict-prototypes)
flags=(-fopenmp)
test_flags=()
built=${GPSELECT_OBJECTS:-}
runner=(timeout 300)
export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2

case $mode in
  c)
    strict+=(-Werror)
    flags+=(-O2)
    # Compiling a test takes longer than running it.
    test_flags+=(-O0)
    ;;
  c-asan)
    flags+=(-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    ;;
  c-tsan)
    # GCC's OpenMP library hides its barriers from the thread sanitizer; clang's announces them.
    compiler=clang
    strict+=(-Wno-pass-failed)
    flags+=(-g -O1 -fsanitize=thread)
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=0 exitcode=66"
    ;;
  c-valgrind)
    flags+=(-g -O1 -DGPS_NO_CLONES)
    # Under valgrind OpenBLAS's kernels for AVX take many times as long as those for SSE.
    runner=(timeout 1200 valgrind --quiet --error-exitcode=99 --leak-check=full)
    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Prescott
    ;;
  *)
    echo "usage: tests/c/run.sh [c|c-asan|c-tsan|c-valgrind]" >&2
    exit 2
    ;;
esac

[ "$mode" = c ] && [ -e "$built/linalg.o" ] || built=""

include=(-Iinst/include -Isrc -Itests/c)
read -r -a r_include <<<"$(R CMD config --cppflags | sed 's/-I/-isystem /g')"
read -r -a libraries <<<"$(R CMD config LAPACK_LIBS) $(R CMD config BLAS_LIBS) -lm"

passed=0
failed=0
pass() { passed=$((passed + 1)); }
fail() {
  echo "FAIL $mode: $*"
  failed=$((failed + 1))
}
compile() { "$compiler" "${strict[@]}" "${flags[@]}" "${include[@]}" "$@"; }

rm -rf "$objects" && mkdir -p "$objects"

# A header that compiles alone can be included anywhere.
for header in inst/include/gpselect/*.h src/*.h; do
  case $(basename "$header") in
    r_*.h | entries.h | model_list.h) continue ;;
  esac
  if compile -Wno-unused-function -fsyntax-only -x c "$header"; then pass; else fail "$header does not compile alone"; fi
done

core=()
for source in src/*.c; do
  name=$(basename "$source" .c)
  case $name in
    init | r_*) continue ;;
    linalg) extra=("${r_include[@]}") ;;
    *) extra=() ;;
  esac
  # test_normal.c holds normal.c to the last digit, which fused multiply-adds do not keep: strict C99
  # has none.
  if [ -n "$built" ] && [ "$name" != normal ]; then
    object=$built/$name.o
    task=(-fsyntax-only)
  else
    object=$objects/$name.o
    task=(-c -o "$object")
  fi
  if compile "${extra[@]}" "${task[@]}" "$source" && [ -e "$object" ]; then
    pass
    core+=("$object")
  else
    fail "$source does not compile without R"
  fi
done
if [ -n "$built" ]; then
  warnings=$(grep -E '^[^ ]*\.[ch]:.* warning: ' "$GPSELECT_INSTALL_LOG" |
    grep -v -E '^(r_[a-z0-9_]*|init)\.[ch]:')
  if [ -z "$warnings" ]; then pass; else fail "the compiler warns: $(head -1 <<<"$warnings")"; fi
fi
ar rcs "$objects/libcore.a" "${core[@]}"

for source in tests/c/test_*.c; do
  name=$(basename "$source" .c)
  if ! compile "${test_flags[@]}" "$source" "$objects/libcore.a" "${libraries[@]}" -o "$objects/$name"; then
    fail "$source does not compile"
    continue
  fi
  "${runner[@]}" "$objects/$name" >"$objects/$name.log" 2>&1
  status=$?
  sed "s/^FAIL c: /FAIL $mode: /" "$objects/$name.log" | grep -v '^c: '
  counts=$(grep -E '^c: [0-9]+ passed, [0-9]+ failed$' "$objects/$name.log" | tail -1)
  if [[ $counts =~ ^c:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    echo "$name: ${BASH_REMATCH[1]} passed, ${BASH_REMATCH[2]} failed"
  else
    BASH_REMATCH=("" 0 0)
  fi
  if [ "$status" != 0 ] && [ "${BASH_REMATCH[2]}" = 0 ]; then
    fail "$name stopped with exit code $status"
  fi
done

echo "$mode: $passed passed, $failed failed"
[ "$failed" = 0 ]
