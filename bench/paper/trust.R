# Rivals of the learned selection at equal bounds: how many log joints of states, a data point, each
# asks for until it has the bound that evolved states reach (`to_evolved`), and that which the
# learned selection reaches (`to_learned`). Selectors of the user's own are those of
# inst/examples/selectors. The table goes to inst/extdata/trust-rivals.csv.
#
#   make reproduce-trust, or: Rscript bench/paper/trust.R [option=value ...]
#
#   data=bars10,bars32,dictionary   some of the data sets: 10 bars in 5 x 5 and 32 bars in 16 x 16
#                                   pixels, learned from a random start; a random dictionary of 512
#                                   elements of 144 numbers, at its true parameters
#   seeds=3                         of each
#   parts=FOLDER                    where the runs of each data set are kept, for a table of several
#                                   calls

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
for (name in c("near", "forest", "evolutionary")) {
  source(file.path("inst", "examples", "selectors", paste0(name, ".R")))
}
options(width = 200)

options <- list(data = "bars10,bars32,dictionary", seeds = "3", parts = "build/trust")
for (given in strsplit(commandArgs(TRUE), "=", fixed = TRUE)) {
  stopifnot(length(given) == 2, given[1] %in% names(options))
  options[[given[1]]] <- given[2]
}

bars <- function(n, size, prob) {
  made <- simulate_bars(n, size = size, prob = prob)
  list(y = made$y, W = made$W, n_latents = 2 * size)
}

# A random dictionary, with its parameters.
dictionary <- function(n, n_latents = 512, n_dims = 144, n_on = 4) {
  W <- matrix(stats::rnorm(n_dims * n_latents), n_dims)
  on <- matrix(stats::runif(n * n_latents) < n_on / n_latents, n)
  y <- tcrossprod(on * 1, W) + matrix(stats::rnorm(n * n_dims, sd = 0.5), n)
  list(y = y, W = W, n_latents = n_latents,
       known = list(W = W, pi = n_on / n_latents, sigma2 = 0.25))
}

# `kept` and `generations` of the evolved states, the number of selected latents, most iterations.
datasets <- list(
  bars10 = list(draw = function() bars(500, 5, 0.2), kept = 20, generations = 1, n_selected = 8,
                n_iter = 100),
  bars32 = list(draw = function() bars(500, 16, 1 / 16), kept = 20, generations = 2,
                n_selected = 8, n_iter = 200),
  dictionary = list(draw = function() dictionary(200), kept = 20, generations = 2, n_selected = 10,
                    n_iter = 80)
)

# Bounds that differ by less, in nats a point, are the same.
alike <- 0.05

random_start <- function(data) {
  y <- data$y
  W <- colMeans(y) + matrix(stats::rnorm(ncol(y) * data$n_latents, sd = stats::sd(y) / 4), ncol(y))
  list(W = W, pi = 0.2, sigma2 = mean(apply(y, 2, stats::var)))
}

run_evolved <- function(data, set, seed) {
  set.seed(seed)
  start <- if (is.null(data$known)) random_start(data) else data$known
  seconds <- cpu_time_of(fit <- fit_evolutionary(data$y, start, set$n_iter, set$kept, 5,
                                                 set$generations, learn = is.null(data$known)))
  list(name = "evolved states", curve = fit$curve, W = fit$params$W, seconds = seconds)
}

# A fit with so many short starts.
run_selector <- function(name, selector, data, set, seed, n_starts) {
  control <- gps_control(n_starts = n_starts, progress = FALSE, n_threads = 1)
  set.seed(seed)
  seconds <- cpu_time_of(fit <- gps_fit(data$y, model_binary_sparse(data$n_latents), selector,
                                        set$n_selected, control = control))
  curve <- asNamespace("gpselect")$cost_curve(fit)
  curve <- curve[curve$start == 0, ]
  # What the last pass keeps is no worse than the last iteration.
  curve$bound[nrow(curve)] <- max(fit$bound / fit$n_points, curve$bound[nrow(curve)])
  list(name = name, curve = curve, W = coef(fit)$W, seconds = seconds)
}

# The first E-step at known parameters. A learned selection has learned from another one before,
# which is ranked by hand: `before` are its evaluations.
run_known <- function(name, selector, data, set, seed, before = 0) {
  control <- gps_control(max_iter = 1, mend = FALSE, progress = FALSE, n_threads = 1)
  set.seed(seed)
  seconds <- cpu_time_of(fit <- suppressWarnings(
    gps_fit(data$y, model_binary_sparse(data$n_latents), selector, set$n_selected,
            control = control, start = data$known), classes = "gps_warning"))
  curve <- asNamespace("gpselect")$cost_curve(fit)[1, ]
  curve$evaluations <- curve$evaluations + before
  list(name = name, curve = curve, W = data$W, seconds = seconds)
}

run_all_known <- function(data, set, seed) {
  by_hand <- run_known("hand-crafted", selector_handcrafted(), data, set, seed)
  before <- by_hand$curve$evaluations
  list(run_evolved(data, set, seed),
       run_known("learned", selector_gp(), data, set, seed, before), by_hand,
       run_known("learned, linear", selector_gp(kernel_linear()), data, set, seed, before),
       run_known("nearest neighbours", selector_near(20), data, set, seed, before))
}

run_all_learned <- function(name, data, set, seed) {
  selectors <- list(learned = selector_gp(), "hand-crafted" = selector_handcrafted(),
                    "nearest neighbours" = selector_near(20))
  # A forest for each latent in each iteration takes long.
  if (name == "bars10" && seed == 1) selectors[["regression forests"]] <- selector_forest(50)
  c(list(run_evolved(data, set, seed)), lapply(names(selectors), function(one) {
    run_selector(paste0(one, ", one start"), selectors[[one]], data, set, seed, 1)
  }), list(run_selector("learned, eight starts", selector_gp(), data, set, seed, 8)))
}

# Evaluations until a bound is reached, NA where it is not.
cost_of_bound <- function(curve, bound) {
  reached <- which(curve$bound >= bound - alike)
  if (length(reached) > 0) curve$evaluations[reached[1]] else NA
}

run_all <- function(name, seed) {
  set <- datasets[[name]]
  set.seed(100 + seed)
  data <- set$draw()
  is_known <- !is.null(data$known)
  runs <- if (is_known) run_all_known(data, set, seed) else run_all_learned(name, data, set, seed)
  best <- function(run) max(run$curve$bound)
  rows <- lapply(runs, function(run) {
    data.frame(data = name, seed = seed, rival = run$name, bound = best(run),
               recovery = if (is_known) NA else
                 mean(match_components(list(W = run$W), list(W = data$W))$matched),
               evaluations = max(run$curve$evaluations),
               to_evolved = cost_of_bound(run$curve, best(runs[[1]])),
               to_learned = cost_of_bound(run$curve, best(runs[[2]])), seconds = run$seconds)
  })
  do.call(rbind, rows)
}

dir.create(options$parts, showWarnings = FALSE, recursive = TRUE)
for (name in strsplit(options$data, ",", fixed = TRUE)[[1]]) {
  for (seed in seq_len(as.integer(options$seeds))) {
    rows <- run_all(name, seed)
    print(rows, digits = 4, row.names = FALSE)
    saveRDS(rows, file.path(options$parts, sprintf("%s-%d.rds", name, seed)))
  }
}
files <- list.files(options$parts, "[.]rds$", full.names = TRUE)
store_results(do.call(rbind, lapply(files, readRDS)), "trust-rivals", "inst/extdata")
