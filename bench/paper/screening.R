# What screening does to models A to D, from package defaults: bound, noise variance beside that of
# a fit that starts at the truth and ranks what is truly on first, recovery, and seconds. The table
# goes to bench/results/screening.csv.
#
#   make reproduce-screening, or: Rscript bench/paper/screening.R [option=value ...]
#
#   data=A,B0,B1,C01,D,D9   some of the data sets (B0: model B with mu = 0; C01: C with psi = 0.1;
#                           D9: nine clusters of 900 points)
#   selection=hand,linear,rbf,composition   some of the selections
#   seeds=3                 seeds of each cell; seed r draws data from set.seed(100 + r) and fits
#                           from set.seed(1000 + r)
#   threads=1               of each fit

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(width = 200)

bars_of <- function(...) function() simulate_bars(2000, ...)
mixture <- function(n) model_gaussian_mixture(n, "spherical")
datasets <- list(
  A = list(draw = bars_of(model = "binary_sparse"), model = model_binary_sparse(10)),
  B0 = list(draw = bars_of(model = "spike_slab", mu = 0, psi = 1), model = model_spike_slab(10)),
  B1 = list(draw = bars_of(model = "spike_slab", mu = 1, psi = 1), model = model_spike_slab(10)),
  C01 = list(draw = bars_of(model = "max_spike_slab", mu = 1, psi = 0.1),
             model = model_max_spike_slab(10)),
  D = list(draw = function() simulate_clusters(150), model = mixture(3)),
  D9 = list(draw = function() simulate_clusters(900, 9), model = mixture(9))
)
selections <- list(
  hand = function(screen) selector_handcrafted(screen),
  linear = function(screen) selector_gp(kernel_linear(), screen = screen),
  rbf = function(screen) selector_gp(kernel_rbf(), screen = screen),
  composition = function(screen) selector_gp(screen = screen)
)
screens <- list(none = FALSE, default = gps_screen(), seven = gps_screen(propose = 7))

options <- list(data = "A,B0,B1,C01,D,D9", selection = "hand,linear", seeds = "3", threads = "1")
for (given in strsplit(commandArgs(TRUE), "=", fixed = TRUE)) {
  stopifnot(length(given) == 2, given[1] %in% names(options))
  options[[given[1]]] <- given[2]
}
split_names <- function(text) strsplit(text, ",", fixed = TRUE)[[1]]
n_seeds <- as.integer(options$seeds)
n_threads <- as.integer(options$threads)

is_mixture <- function(data) startsWith(data, "D")

draw <- function(data, seed) {
  set.seed(100 + seed)
  datasets[[data]]$draw()
}

noise_of <- function(fit) if (is.null(coef(fit)$sigma2)) mean(coef(fit)$sigma) else coef(fit)$sigma2

# Everything found: all bars, or clusters with an adjusted Rand index above 0.95.
is_recovered <- function(fit, truth, data) {
  if (!is_mixture(data)) return(all(match_components(fit, truth)$matched))
  engine$adjusted_rand(max.col(expectations(fit)), truth$cluster) > 0.95
}

references <- new.env()

# Noise variance of the fit that knows the truth.
reference_noise <- function(data, seed) {
  key <- paste(data, seed)
  if (is.null(references[[key]])) {
    truth <- draw(data, seed)
    model <- datasets[[data]]$model
    set.seed(1000 + seed)
    fit <- gps_fit(truth$y, model, selector_custom(function(params, y) truth$latents),
                   n_selected = if (is_mixture(data)) NULL else 5,
                   start = truth[names(model$params)],
                   control = gps_control(progress = FALSE, n_threads = n_threads, mend = FALSE))
    references[[key]] <- noise_of(fit)
  }
  references[[key]]
}

run_one <- function(data, selection, screen, seed) {
  truth <- draw(data, seed)
  set.seed(1000 + seed)
  seconds <- cpu_time_of(
    fit <- gps_fit(truth$y, datasets[[data]]$model, selections[[selection]](screens[[screen]]),
                   n_selected = if (is_mixture(data)) NULL else 5,
                   control = gps_control(progress = FALSE, n_threads = n_threads))
  )
  noise <- noise_of(fit)
  c(recovered = is_recovered(fit, truth, data), bound = fit$bound / fit$n_points, noise = noise,
    by_reference = noise / reference_noise(data, seed), iterations = fit$n_iter, seconds = seconds)
}

summarise <- function(data, selection, screen) {
  runs <- vapply(seq_len(n_seeds), function(seed) run_one(data, selection, screen, seed),
                 numeric(6))
  middle <- apply(runs, 1, stats::median)
  row <- data.frame(data = data, selection = selection, screen = screen, seeds = n_seeds,
                    recovered = sum(runs["recovered", ]), bound = middle[["bound"]],
                    sigma2 = middle[["noise"]], sigma2_by_reference = middle[["by_reference"]],
                    iterations = middle[["iterations"]], seconds = middle[["seconds"]])
  print(row, digits = 5, row.names = FALSE)
  row
}

cells <- expand.grid(screen = names(screens), selection = split_names(options$selection),
                     data = split_names(options$data), stringsAsFactors = FALSE)
# Seven proposals are more than there are clusters.
cells <- cells[!(is_mixture(cells$data) & cells$screen == "seven"), ]
table <- do.call(rbind, Map(summarise, cells$data, cells$selection, cells$screen))
table$threads <- n_threads
store_results(table, "screening")
