# Lines of R and C that the tests reach, by package covr: Rscript tools/coverage.R [filter=REGEX]
# Prints the share of each file and what is reached of all, and stores the lines that are not in
# build/coverage/missed.csv. The package is compiled anew without optimisation, so that the whole
# suite takes an hour and more; `filter` chooses test files.
args <- commandArgs(TRUE)
filter <- sub("^filter=", "", grep("^filter=", args, value = TRUE))
folder <- file.path(getwd(), "build", "coverage")
unlink(folder, recursive = TRUE)
dir.create(folder, recursive = TRUE)
Sys.setenv(NOT_CRAN = "true", OMP_NUM_THREADS = "1", R_MAKEVARS_USER = "")

run <- bquote(testthat::test_dir(.(file.path(getwd(), "tests", "testthat")),
                                 filter = .(if (length(filter) > 0) filter), package = "gpselect",
                                 load_package = "installed", reporter = "summary",
                                 stop_on_failure = FALSE))
reached <- covr::package_coverage(type = "none", quiet = FALSE, clean = FALSE,
                                  install_path = folder,
                                  code = paste(deparse(run), collapse = "\n"))
# Objects that count lines are no good for a library that is used.
unlink(list.files("src", "\\.(o|so|gcda|gcno)$", full.names = TRUE))
lines <- covr::tally_coverage(reached, by = "line")
share <- function(part) c(reached = sum(part$value > 0), lines = nrow(part))
by_file <- t(vapply(split(lines, lines$filename), share, c(reached = 1, lines = 1)))
by_file <- cbind(by_file, percent = round(100 * by_file[, "reached"] / by_file[, "lines"], 1))
print(by_file[order(by_file[, "percent"]), ])
utils::write.csv(lines[lines$value == 0, c("filename", "functions", "line")],
                 file.path(folder, "missed.csv"), row.names = FALSE)
for (language in c("R", "C")) {
  part <- lines[grepl(if (language == "R") "\\.R$" else "\\.[ch]$", lines$filename), ]
  cat(sprintf("%s: %d of %d lines, %.1f %%\n", language, sum(part$value > 0), nrow(part),
              100 * mean(part$value > 0)))
}
