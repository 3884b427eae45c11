# How often one start, without the choice among several, finds all ten bars: with and without moves
# judged by the bound (gps_control(mend = )), for hand-crafted and learned selection. Rates with
# Clopper-Pearson 95 % intervals.
#
#   Rscript bench/paper/single-starts.R [seeds [selectors [first_seed]]]
#   Rscript bench/paper/single-starts.R 60 handcrafted,linear
#
# Seed r draws its data from set.seed(100 + r) and its start from set.seed(1000 + r); both settings
# see the same.

library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))

selectors <- list(
  handcrafted = function() selector_handcrafted(),
  linear = function() selector_gp(kernel_linear()),
  rbf = function() selector_gp(kernel_rbf()),
  composition = function() selector_gp(kernel_composition())
)

fit_bars <- function(r, selector, mend) {
  set.seed(100 + r)
  bars <- simulate_bars(2000)
  set.seed(1000 + r)
  control <- gps_control(n_starts = 1, n_threads = 1, mend = mend, progress = FALSE)
  seconds <- system.time(
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 5, control = control)
  )[["elapsed"]]
  n_moves <- sum(grepl("split|renewed", fit$trace$events))
  data.frame(r = r, mend = mend, n_found = sum(match_components(fit$params, bars)$matched),
             bound = fit$bound / 2000, sigma2 = fit$params$sigma2, n_iter = fit$n_iter,
             n_moves = n_moves, seconds = seconds)
}

report <- function(name, runs) {
  for (of_setting in split(runs, runs$mend)) {
    is_full <- of_setting$n_found == 10
    interval <- binom.test(sum(is_full), nrow(of_setting))$conf.int
    cat(sprintf("%-12s mend = %-5s  %3d of %3d (%.0f %%, interval %.0f to %.0f)", name,
                of_setting$mend[1], sum(is_full), nrow(of_setting), 100 * mean(is_full),
                100 * interval[1], 100 * interval[2]))
    cat(sprintf("  sigma2 %.3f, %g iterations, %.3f s (medians), %.2f moves\n",
                median(of_setting$sigma2), median(of_setting$n_iter), median(of_setting$seconds),
                mean(of_setting$n_moves)))
  }
  gain <- with(runs, bound[mend] - bound[!mend])
  cat(sprintf(paste("%-12s bound with moves minus without, per point:",
                    "lowest %.2g, median %.2g, highest %.2g\n"),
              name, min(gain), median(gain), max(gain)))
}

arguments <- commandArgs(trailingOnly = TRUE)
n_seeds <- if (length(arguments) >= 1) as.integer(arguments[1]) else 60L
wanted <- if (length(arguments) >= 2) strsplit(arguments[2], ",")[[1]] else names(selectors)
first_seed <- if (length(arguments) >= 3) as.integer(arguments[3]) else 1L

cat(sprintf("gpselect %s, %s, BLAS %s\n", packageVersion("gpselect"), R.version.string,
            extSoftVersion()[["BLAS"]]))
for (name in wanted) {
  runs <- lapply(first_seed + seq_len(n_seeds) - 1L, function(r) {
    rbind(fit_bars(r, selectors[[name]](), FALSE), fit_bars(r, selectors[[name]](), TRUE))
  })
  report(name, do.call(rbind, runs))
}
