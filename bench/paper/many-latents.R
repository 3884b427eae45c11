# Mixtures of very many clusters: what an iteration costs and how good a fit becomes, with a learned
# selection by neighbours beside sums over all clusters. CPU seconds of one thread.
#
#   make reproduce-many-latents, or: Rscript bench/paper/many-latents.R [part=regex] [n=100000]
#
#   part   size: 100 to 10,000 clusters of n points; full: full covariances; fit: whole fits

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))

options <- list(part = ".", n = "1e5")
for (argument in strsplit(commandArgs(TRUE), "=", fixed = TRUE)) {
  stopifnot(length(argument) == 2, argument[1] %in% names(options))
  options[[argument[1]]] <- argument[2]
}
n_points <- as.integer(as.double(options$n))
wants <- function(part) grepl(options$part, part)

# Points about centres N(0, spread^2 I) with unit noise.
clusters <- function(n, C, D, spread = 3) {
  set.seed(1)
  mu <- matrix(stats::rnorm(C * D, sd = spread), D)
  t(mu[, sample.int(C, n, replace = TRUE)]) + matrix(stats::rnorm(n * D), n)
}

near <- selector_gp(method = "neighbours", rank = 20)

fit_for <- function(y, C, covariance, selector, n_iter, start = NULL, ...) {
  set.seed(2)
  # A few of very many clusters are left with a point or two, which is warned of.
  suppressWarnings(gps_fit(
    y, model_gaussian_mixture(C, covariance), selector, start = start,
    control = gps_control(max_iter = n_iter, tol = 0, n_threads = 1, progress = FALSE,
                          mend = FALSE, polish = FALSE, ...)
  ))
}

# CPU microseconds a point and iteration between `from` and `to` iterations of the same fit; what
# comes before and after them is the same in both.
cost_between <- function(y, C, covariance, selector, from, to, start = NULL) {
  gc()
  first <- cpu_time_of(fit_for(y, C, covariance, selector, from, start))
  last <- cpu_time_of(fit <- fit_for(y, C, covariance, selector, to, start))
  list(fit = fit, microseconds = 1e6 * (last - first) / (to - from) / nrow(y), before = first)
}

size_row <- function(C, D = 16) {
  y <- clusters(n_points, C, D)
  by_near <- cost_between(y, C, "spherical", near, 8, 24)
  few <- y[seq_len(max(C, 2e4)), ]
  start <- coef(by_near$fit)
  all <- cost_between(few, C, "spherical", selector_full(), 1, 3, start)
  trace <- by_near$fit$trace
  data.frame(N = n_points, D = D, C = C, covariance = "spherical",
             us_neighbours = by_near$microseconds, us_all = all$microseconds,
             joints = mean(trace$evaluations[trace$iteration > 8]),
             joints_first = mean(trace$evaluations[trace$iteration <= 8]),
             before_s = by_near$before, bound = by_near$fit$bound / n_points)
}

# The same number of iterations from the same seeds.
full_row <- function(C = 1000L, D = 20L, n = 50000L) {
  y <- clusters(n, C, D, spread = 2)
  by_near <- cost_between(y, C, "full", near, 8, 24)
  all <- cost_between(y, C, "full", selector_full(), 1, 8)
  trace <- by_near$fit$trace
  data.frame(N = n, D = D, C = C, covariance = "full", us_neighbours = by_near$microseconds,
             us_all = all$microseconds, joints = mean(trace$evaluations[trace$iteration > 8]),
             joints_first = mean(trace$evaluations[trace$iteration <= 8]),
             before_s = by_near$before, bound = by_near$fit$bound / n,
             bound_all_8 = all$fit$bound / n)
}

quantisation <- function(y, mu) {
  rows <- split(seq_len(nrow(y)), (seq_len(nrow(y)) - 1) %/% 1000)
  mean(unlist(lapply(rows, function(r) {
    x <- y[r, , drop = FALSE]
    rowSums(x^2) + apply(rep(colSums(mu^2), each = nrow(x)) - 2 * x %*% mu, 1, min)
  })))
}

# Whole fits, with all that the defaults do: selections take turns, medians of three runs, which
# have the same seed and so the same result.
fit_rows <- function(n, C, D, covariance) {
  y <- clusters(n, C, D)
  selectors <- list(default = selector_gp(), "all clusters" = selector_full())
  runs <- lapply(rep(names(selectors), 3), function(name) {
    set.seed(3)
    gc()
    seconds <- cpu_time_of(fit <- gps_fit(y, model_gaussian_mixture(C, covariance),
                                          selectors[[name]],
                                          control = gps_control(n_threads = 1, progress = FALSE)))
    data.frame(N = n, D = D, C = C, covariance = covariance, selection = name,
               selected = fit$n_selected, seconds = seconds, bound = fit$bound / n,
               quantisation = quantisation(y, coef(fit)$mu), iterations = fit$n_iter)
  })
  runs <- do.call(rbind, runs)
  seconds <- tapply(runs$seconds, runs$selection, stats::median)
  rows <- runs[!duplicated(runs$selection), ]
  rows$seconds <- seconds[rows$selection]
  rows
}

store <- function(part, table) {
  store_results(table, paste0("many-latents-", part), "inst/extdata")
}

if (wants("size")) store("size", do.call(rbind, lapply(c(100, 300, 1000, 3000, 10000), size_row)))
if (wants("full")) store("full", full_row())
if (wants("fit")) {
  store("fit", rbind(fit_rows(20000L, 800L, 16L, "spherical"), fit_rows(20000L, 50L, 10L, "full")))
}
