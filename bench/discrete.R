# How often planted parameters of the models of binary data and of counts are found, with the
# default selector. Rscript bench/discrete.R [noisy_or|poisson_mixture] [seeds]
#
# noisy_or: 10 bars on 5 x 5 pixels, each on with probability 0.2, whose pixels fire with 0.8; leak
# 0.02; 1000 images. poisson_mixture: 5 clusters in 10 dimensions, rates from a gamma distribution
# of shape 2 and mean 5; 500 points. Found is what has a component of its own whose numbers are all
# within 0.15 (probabilities) or 15 % + 0.5 (rates) of the planted ones.
library(gpselect)
source("bench/common.R")

wanted <- commandArgs(TRUE)
n_seeds <- if (length(wanted) > 1) as.integer(wanted[2]) else 20L

bars_case <- function(seed) {
  bars <- vapply(1:10, function(h) {
    c(if (h <= 5) row(diag(5)) == h else col(diag(5)) == h - 5) + 0
  }, numeric(25))
  params <- list(W = -log1p(-0.8 * bars), pi = 0.2, leak = rep(0.02, 25))
  model <- model_noisy_or(10)
  list(model = model, y = gps_draw(gps_bind(model, matrix(0, 1000, 25)), params, 1000)$y,
       truth = 0.8 * bars, found = function(params) 1 - exp(-params$W),
       allowed = function(truth) 0.15)
}

count_case <- function(seed) {
  rate <- matrix(stats::rgamma(50, 2, 0.4), 10)
  params <- list(rate = rate, pi = c(0.3, 0.25, 0.2, 0.15, 0.1))
  model <- model_poisson_mixture(5)
  list(model = model, y = gps_draw(gps_bind(model, matrix(0, 500, 10)), params, 500)$y,
       truth = rate, found = function(params) params$rate,
       allowed = function(truth) 0.15 * truth + 0.5)
}

cases <- list(noisy_or = bars_case, poisson_mixture = count_case)

# How many of the planted columns have a fitted one of their own within what is allowed, and the
# largest difference.
count_found <- function(truth, found, allowed) {
  place <- match_components(found, truth)$permutation
  error <- abs(truth - found[, place])
  c(found = sum(colSums(error > allowed) == 0), largest_error = max(error))
}

run_seed <- function(name, seed) {
  set.seed(seed)
  case <- cases[[name]](seed)
  seconds <- cpu_time_of(fit <- gps_fit(case$y, case$model,
                                        control = gps_control(progress = FALSE, n_threads = 1)))
  found <- count_found(case$truth, case$found(coef(fit)), case$allowed(case$truth))
  row <- data.frame(model = name, seed = seed, planted = ncol(case$truth), t(found),
                    bound = fit$bound, iterations = fit$n_iter, cpu_seconds = seconds)
  message(paste(format(row, digits = 3), collapse = "  "))
  row
}

names <- if (length(wanted) > 0) wanted[1] else names(cases)
table <- do.call(rbind, lapply(names, function(name) {
  do.call(rbind, lapply(seq_len(n_seeds), function(seed) run_seed(name, seed)))
}))
store_results(table, paste(c("discrete", if (length(wanted) > 0) wanted[1]), collapse = "-"))
for (name in names) {
  rows <- table[table$model == name, ]
  cat(sprintf("%s: all found in %d of %d seeds\n", name, sum(rows$found == rows$planted),
              nrow(rows)))
}
