#!/usr/bin/env bash
# Installs what is missing on a Debian machine, and nothing else: where nothing is, no package manager
# is called. Levels: core (build, install, demo), test, full (sanitizers, valgrind), dev
# (documentation, lint, format, site), bench (packages the benchmarks compare with), peers (k-means and
# mixtures of others).
set -euo pipefail

level=${1:-core}
packages=() # Debian packages to install
from_cran=() # R packages that Debian does not have

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

need_package() { is_installed "$1" || packages+=("$1"); }

need_command() { command -v "$1" >/dev/null || packages+=("$2"); }

need_file() { [ -e "$1" ] || packages+=("$2"); }

# Finds R packages wherever R finds them; a machine without R has none.
need_r() {
  local name missing=("$@")
  if command -v Rscript >/dev/null; then
    mapfile -t missing < <(Rscript --vanilla -e '
      wanted <- commandArgs(TRUE)
      writeLines(wanted[!nzchar(vapply(wanted, function(p) system.file(package = p), ""))])' "$@")
  fi
  for name in "${missing[@]}"; do packages+=("r-cran-${name,,}"); done
}

# Debian's dplyr, which recipes is made of, cannot be used with a newer vctrs that a package of R's own
# repository has brought.
need_dplyr_of_vctrs() {
  command -v Rscript >/dev/null || return 0
  Rscript --vanilla -e 'v <- function(p) if (nzchar(system.file(package = p))) packageVersion(p) else "0"
    quit(status = v("vctrs") >= "0.6.6" && v("dplyr") > "0" && v("dplyr") < "1.1.0")' >/dev/null ||
    from_cran+=(dplyr)
}

need_tex() {
  local file
  need_command pdflatex texlive-latex-base
  for file in "$@"; do
    if ! command -v kpsewhich >/dev/null || ! kpsewhich "$file" >/dev/null; then
      packages+=(texlive-latex-base texlive-fonts-recommended texlive-latex-recommended)
      return
    fi
  done
}

need_core() {
  need_command R r-base-core
  need_command gcc gcc
  need_command g++ g++
  need_command gfortran gfortran
  need_command make make
  need_package libc6-dev
  need_package libblas-dev
  need_package liblapack-dev
  is_installed libopenblas0-openmp || is_installed libopenblas0-serial ||
    need_package libopenblas0-pthread
  need_r clue
}

# What `R CMD check --as-cran` and the test suite ask for. The TeX set is the smallest that typesets the
# manual in Times (R_RD4PDF=times,hyper).
need_test() {
  need_core
  need_r testthat jsonlite knitr rmarkdown png hdf5r kernlab bit64 ranger generics ggplot2 mclust \
    progressr nanoparquet recipes
  need_dplyr_of_vctrs
  need_command pandoc pandoc
  need_command qpdf qpdf
  need_command tidy tidy
  need_command ps procps
  need_command git git
  need_tex times.sty hyperref.sty ptmr8t.tfm amssymb.sty
}

need_full() {
  need_test
  need_r roxygen2 pkgload
  need_command valgrind valgrind
  need_command hunspell hunspell
  need_package hunspell-en-gb
  need_command clang clang
  need_file "$(gcc -print-file-name=libasan.so 2>/dev/null || echo /missing)" gcc
  compgen -G '/usr/lib/llvm-*/lib/libomp.so' >/dev/null || packages+=(libomp-dev)
  compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.tsan-*.a' >/dev/null ||
    packages+=(libclang-rt-dev)
  need_package libc6-dbg
}

need_dev() {
  need_test
  need_r roxygen2 pkgload lintr pkgdown covr
  need_command clang-format clang-format
}

need_bench() {
  need_core
  need_r mclust kernlab png
  if ! Rscript --vanilla -e 'quit(status = !nzchar(system.file(package = "DiceKriging")))' \
    >/dev/null 2>&1; then
    from_cran+=(DiceKriging)
  fi
}

# Debian's ggplot2 comes first: with one of its own ClusterR brings newer packages from R's repository
# than those of Debian can be used with.
need_peers() {
  need_core
  need_r ggplot2 mclust ClusterR
  need_command python3 python3
  need_package python3-sklearn
  need_package python3-faiss
}

case $level in
  core | test | full | dev | bench | peers) "need_$level" ;;
  *)
    echo "usage: tools/setup.sh [core|test|full|dev|bench|peers]" >&2
    exit 2
    ;;
esac

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup: must be root, or have sudo, to run: $*" >&2
    exit 1
  fi
}

# Answers no question and waits for another package manager to finish.
apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "$@"
}

has_candidate() { [[ $(apt-cache policy "$1") =~ Candidate:\ [0-9] ]]; }

install_from_debian() {
  local name known=()
  if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian system; please install by hand: $*" >&2
    exit 1
  fi
  echo "setup ($level): installing $*"
  apt update >/dev/null
  for name in "$@"; do
    case $name in
      r-cran-*) if has_candidate "$name"; then known+=("$name"); else from_cran+=("${name#r-cran-}"); fi ;;
      *) known+=("$name") ;;
    esac
  done
  if [ ${#known[@]} -gt 0 ]; then apt install --no-install-recommends "${known[@]}" >"$log" 2>&1; fi
}

# The repository is the one R is configured with. A name from Debian is in lower case, so it is looked up.
install_from_cran() {
  echo "setup ($level): installing from R's repository: $*"
  as_root Rscript --no-init-file -e '
    wanted <- commandArgs(TRUE)
    if ("@CRAN@" %in% getOption("repos")) chooseCRANmirror(graphics = FALSE, ind = 1)
    known <- rownames(available.packages())
    names <- known[match(tolower(wanted), tolower(known))]
    lost <- if (is.null(names)) wanted else wanted[is.na(names)]
    if (length(lost)) stop("the repository does not have ", paste(lost, collapse = ", "))
    install.packages(names, quiet = TRUE)
    missing <- names[!nzchar(vapply(names, function(p) system.file(package = p), ""))]
    if (length(missing)) stop("could not install ", paste(missing, collapse = ", "))' "$@" >"$log" 2>&1
}

log=$(mktemp)
trap 'status=$?; if [ $status != 0 ] && [ -s "$log" ]; then tail -30 "$log" >&2; fi; rm -f "$log"' EXIT
if [ ${#packages[@]} -gt 0 ]; then
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
  install_from_debian "${packages[@]}"
fi
if [ ${#from_cran[@]} -gt 0 ]; then install_from_cran "${from_cran[@]}"; fi
