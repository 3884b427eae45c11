# What gps_audit() says of small versions of the experiments of the paper: fits by defaults, by the
# paper's own algorithm (one start, no moves of components, no screening), and of selections that
# are known to fail. The table goes to inst/extdata/trust-audits.csv.
#
#   make reproduce-trust-audits, or: Rscript bench/paper/trust-audits.R [only=PATTERN]

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
options(width = 200)
only <- sub("^only=", "", grep("^only=", commandArgs(TRUE), value = TRUE))

defaults <- gps_control(progress = FALSE, n_threads = 1)
as_paper <- gps_control(max_iter = 40, tol = 0, n_starts = 1, polish = FALSE, mend = FALSE,
                        progress = FALSE, n_threads = 1)
short <- gps_control(max_iter = 12, progress = FALSE, n_threads = 1)

line <- function() simulate_clusters(150, layout = "line")$y
plane <- function() simulate_clusters(150)$y
mixture <- function(n) model_gaussian_mixture(n, "spherical")
bars <- function(...) function() simulate_bars(500, ...)$y
scenes <- function() {
  simulate_scenes(scene_objects(4, size = c(7, 7)), 200, size = c(12, 12),
                  prob = 0.25)$y
}
many <- function() {
  centre <- matrix(stats::rnorm(3200, sd = 3), 200)
  centre[sample(200, 4000, TRUE), ] + matrix(stats::rnorm(64000), 4000)
}
random_points <- function(y) list(mu = t(y[sample(nrow(y), 200), ]))
dictionary <- list(W = local({
  set.seed(9)
  matrix(stats::rnorm(64 * 128), 64)
}), pi = 4 / 128, sigma2 = 0.25)
causes <- function() {
  on <- matrix(stats::runif(1000 * 128) < 4 / 128, 1000)
  tcrossprod(on * 1, dictionary$W) + matrix(stats::rnorm(64000, sd = 0.5), 1000)
}
near <- function(...) selector_gp(kernel_rbf(), method = "neighbours", rank = 20, ...)
plain <- function(kernel) selector_gp(kernel, refit_every = 5, screen = FALSE)

# experiment, how it is fitted, data, model, selector, n_selected, control, start.
one <- function(experiment, way, data, model, selector = selector_gp(), n_selected = NULL,
                control = defaults, start = NULL) {
  list(experiment = experiment, way = way, data = data, model = model, selector = selector,
       n_selected = n_selected, control = control, start = start)
}
cases <- list(
  one("bars, model A", "defaults", bars(), model_binary_sparse(10)),
  one("bars, model A", "the paper's", bars(), model_binary_sparse(10),
      plain(kernel_composition()), 5, as_paper),
  one("bars, model B", "defaults", bars(model = "spike_slab"), model_spike_slab(10)),
  one("bars, model C", "defaults", bars(model = "max_spike_slab"), model_max_spike_slab(10)),
  one("three clusters in the plane", "defaults", plane, mixture(3)),
  one("three clusters in the plane", "the paper's, linear", plane, mixture(3),
      plain(kernel_linear()), 2, as_paper),
  one("three clusters on a line", "defaults", line, mixture(3)),
  one("three clusters on a line", "the paper's, RBF", line, mixture(3), plain(kernel_rbf()), 2,
      as_paper),
  one("three clusters on a line", "the paper's, linear", line, mixture(3),
      plain(kernel_linear()), 2, as_paper),
  one("three clusters on a line", "linear, screened", line, mixture(3),
      selector_gp(kernel_linear()), 2),
  one("objects that hide each other", "defaults", scenes, model_occlusive(4, c(7, 7)),
      n_selected = 3),
  one("200 clusters", "defaults", many, mixture(200)),
  one("200 clusters", "low rank from random points", many, mixture(200),
      selector_gp(method = "ichol", rank = 40, screen = FALSE), 5, short, random_points),
  one("200 clusters", "the same, screened", many, mixture(200),
      selector_gp(method = "ichol", rank = 40), 5, short, random_points),
  one("200 clusters", "neighbours", many, mixture(200), near()),
  one("dictionary of 128, known", "20 neighbours", causes, model_binary_sparse(128),
      near(screen = FALSE), 8, gps_control(max_iter = 1, progress = FALSE), dictionary),
  one("dictionary of 128, known", "20 neighbours, screened", causes, model_binary_sparse(128),
      near(), 8, gps_control(max_iter = 1, progress = FALSE), dictionary),
  one("dictionary of 128, known", "defaults", causes, model_binary_sparse(128), selector_gp(), 8,
      gps_control(max_iter = 1, progress = FALSE), dictionary)
)

judge <- function(case) {
  set.seed(1)
  y <- case$data()
  start <- if (is.function(case$start)) case$start(y) else case$start
  set.seed(2)
  seconds <- cpu_time_of(fit <- suppressWarnings(
    gps_fit(y, case$model, case$selector, case$n_selected, control = case$control, start = start),
    classes = "gps_warning"
  ))
  audit <- gps_audit(fit)
  alone <- audit$ranking
  known <- function(x) if (is.null(x)) NA else x
  data.frame(experiment = case$experiment, way = case$way, n_latents = fit$model$n_latents,
             n_selected = fit$n_selected, verdict = audit$verdict, mass = audit$mass,
             recall = audit$recall, gap = audit$gap, ranking = known(alone$verdict),
             ranking_mass = known(alone$mass), ranking_recall = known(alone$recall),
             loo_r2 = audit$loo_r2, reference = audit$reference, seconds = seconds)
}

if (length(only) > 0) {
  cases <- Filter(function(case) grepl(only, paste(case$experiment, case$way)), cases)
}
rows <- lapply(cases, function(case) {
  row <- judge(case)
  print(row[c("experiment", "way", "verdict", "mass", "ranking", "ranking_mass", "loo_r2",
              "seconds")], digits = 3, row.names = FALSE)
  row
})
table <- do.call(rbind, rows)
if (length(only) == 0) store_results(table, "trust-audits", "inst/extdata") else print(table)
