# All commands of the project; `make help` lists them. Every command sets up what it needs first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

export LC_ALL := C.UTF-8
export LANGUAGE := en
unexport MAKEFLAGS MAKEOVERRIDES

BUILD := $(CURDIR)/build
LIBRARY := $(BUILD)/library
INSTALLED := $(LIBRARY)/.installed
RSCRIPT := R_LIBS="$(LIBRARY)" Rscript --no-init-file
# The folders are sources too: their time tells that a file was removed.
SOURCES := DESCRIPTION NAMESPACE LICENSE $(shell find R src inst man data 2>/dev/null | \
  grep -v -E '\.(o|so|dll)$$')

.PHONY: help setup setup-% demo install test test-full test-c layers check document lint format \
  spelling standards readme freeze freeze-check bench bench-peers coverage site clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile

setup: setup-core ## install what building needs (demo and test do it themselves)
setup-%:
	@tools/setup.sh $*

demo: install ## fit real data and write a report to demo-output/
	@$(RSCRIPT) tools/demo.R demo-output
	@report=$$(ls -t demo-output/*.html 2>/dev/null | head -1); \
	  echo "The report is in $(CURDIR)/$${report:-demo-output}"

install: setup-core $(INSTALLED) ## install the package into build/library
$(INSTALLED): $(SOURCES)
	@mkdir -p "$(LIBRARY)"
	@echo "installing gpselect into build/library"
	@tools/install.sh "$(LIBRARY)" "$(BUILD)/install.log"
	@touch $@

test: setup-test ## run every test; the last line counts them
	@tools/run-tests.sh

test-full: setup-full ## the same, and sanitizers, valgrind and gctorture: takes long
	@tools/run-tests.sh full

test-c: setup-core ## test the C core alone
	@tests/c/run.sh

layers: setup-core ## check the rules of ARCHITECTURE.md
	@Rscript --no-init-file tools/check-layers.R

check: setup-test ## layers and R CMD check as CRAN runs it, network checks included
	@tools/run-tests.sh check

document: setup-dev ## write NAMESPACE and man/ from the comments in R/
	@Rscript --no-init-file -e 'roxygen2::roxygenise()'
	@rm -f src/*.o src/*.so

lint: setup-dev ## look for style faults in R and C
	@Rscript --no-init-file tools/lint.R
	@clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')

format: setup-dev ## lay out the C sources
	@clang-format -i $$(git ls-files '*.c' '*.h')

spelling: setup-full ## look for misspelt and doubled words in prose and comments
	@Rscript --no-init-file tools/check-spelling.R

standards: setup-core ## hold STANDARDS.md against the tags in the sources
	@Rscript --no-init-file tools/check-standards.R

readme: install ## draw the picture of README.md by the example beside it
	@$(RSCRIPT) tools/readme-figure.R

freeze: install ## write the table of numbers that the tests hold anew
	@$(RSCRIPT) tools/freeze.R

freeze-check: install ## hold these numbers, bit for bit on the machine that wrote them
	@$(RSCRIPT) tools/freeze.R check

bench: install setup-bench ## measure speed beside other packages
	@for script in bench/*.R; do echo "== $$script"; $(RSCRIPT) "$$script" || exit 1; done

bench-peers: install ## fit mixtures with many clusters beside k-means and mixtures of others
	@tools/setup.sh peers
	@$(RSCRIPT) bench/peers/mixtures.R

reproduce-%: bench/paper/%.R install ## run one experiment of the paper, bench/paper/%.R
	@$(RSCRIPT) $<

coverage: setup-dev ## count the lines of R and C that tests reach: takes an hour
	@$(RSCRIPT) tools/coverage.R

site: install setup-dev ## build the web pages into build/site
	@$(RSCRIPT) -e 'options(pkgdown.internet = FALSE)' \
	  -e 'pkgdown::build_site(preview = FALSE, install = FALSE, devel = FALSE, new_process = FALSE)'

clean: ## remove all that was built
	rm -rf build demo-output gpselect.Rcheck gpselect_*.tar.gz src/*.o src/*.so src/*.dll
