# Beside other R packages on the same data, from the same start: mclust for one EM iteration of a
# Gaussian mixture, kernlab and DiceKriging for Gaussian process regression. Only what they can do
# is compared; a package for one output is run on one and multiplied.
# OPENBLAS_NUM_THREADS=1 Rscript bench/peers.R; `tools/setup.sh bench` installs the peers.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
engine <- asNamespace("gpselect")
options(matprod = "blas")

# ---- mixture: N 1e5, D 10, C 20, full covariances, ten iterations from the same parameters

bench_mixture <- function(n_iter = 10L) {
  set.seed(1)
  y <- simulate_clusters(1e5, n_clusters = 20, n_dims = 10)$y
  control <- gps_control(n_starts = 1, n_threads = 1, max_iter = n_iter, tol = 0, keep_data = FALSE)
  task <- engine$new_task(t(y), model_gaussian_mixture(20), selector_full(), 20, NULL, control)
  start <- engine$begin_state(task, 1)$params
  ours <- median_time(function() {
    state <- engine$first_state(task, start)
    for (i in seq_len(n_iter)) state <- engine$em_step(task, state)
  }, runs = 5) / n_iter
  rows <- data.frame(job = "mixture, one EM iteration", package = "gpselect", value = NA, t(ours))
  if (!requireNamespace("mclust", quietly = TRUE)) return(rows)
  peer_start <- list(pro = start$pi, mean = start$mu,
                     variance = list(modelName = "VVV", d = 10, G = 20, sigma = start$sigma,
                                     cholsigma = array(apply(start$sigma, 3, chol),
                                                       dim(start$sigma))))
  peer <- median_time(function() {
    mclust::emVVV(data = y, parameters = peer_start,
                  control = mclust::emControl(itmax = n_iter, tol = 0, eps = 0))
  }, runs = 3) / n_iter
  rbind(rows, data.frame(job = rows$job, package = "mclust", value = NA, t(peer)))
}

# ---- Gaussian process: N 2000, D 25, 10 outputs

bars_targets <- function() {
  set.seed(1)
  bars <- simulate_bars(2000)
  list(x = bars$y, targets = bars$latents + 0.1 * matrix(stats::rnorm(2e4), 2000))
}

row <- function(job, package, time, times = 1) {
  data.frame(job = job, package = package, value = NA, t(time * times))
}

bench_regression <- function(data) {
  kernel <- kernel_rbf(lengthscale = 20) + kernel_white(0.1)
  theta <- engine$gp_theta(kernel, t(data$x))
  y <- t(data$x)
  targets <- t(data$targets)
  plan <- function() engine$engine_plan(engine$new_engine("exact"), kernel, theta, y)
  prepare <- function() engine$engine_prepare(plan(), theta)
  gradient <- median_time(function() {
    engine$engine_evaluate(plan(), theta, engine$new_goal(targets))
  }, runs = 5)
  loo <- median_time(function() engine$engine_loo(prepare(), targets), runs = 5)
  fit <- median_time(function() engine$engine_train(prepare(), targets), runs = 5)
  rbind(row("value and gradient of 10 marginal likelihoods", "gpselect", gradient),
        row("leave-one-out means of 10 outputs", "gpselect", loo),
        row("fit of 10 outputs, parameters fixed", "gpselect", fit))
}

bench_kernlab <- function(data) {
  if (!requireNamespace("kernlab", quietly = TRUE)) return(NULL)
  fit <- median_time(function() {
    kernlab::gausspr(data$x, data$targets[, 1], type = "regression", scaled = FALSE,
                     kernel = "rbfdot", kpar = list(sigma = 1 / (2 * 20^2)), var = 0.1,
                     variance.model = FALSE, cross = 0)
  }, runs = 3)
  row("fit of 10 outputs, parameters fixed", "kernlab (1 output x 10)", fit, 10)
}

bench_dicekriging <- function(data) {
  if (!requireNamespace("DiceKriging", quietly = TRUE)) return(NULL)
  x <- as.data.frame(data$x)
  model <- DiceKriging::km(~1, design = x, response = data$targets[, 1], covtype = "gauss",
                           coef.trend = 0, coef.cov = rep(20, 25), coef.var = 1, nugget = 0.1)
  loo <- median_time(function() DiceKriging::leaveOneOut.km(model, type = "SK"), runs = 1)
  row("leave-one-out means of 10 outputs", "DiceKriging (1 output x 10)", loo, 10)
}

set.seed(1)
square <- matrix(stats::rnorm(4e6), 2000)
dgemm <- median_time(function() square %*% square)
data <- bars_targets()
table <- rbind(row("dgemm 2000", "BLAS", dgemm), bench_mixture(), bench_regression(data),
               bench_kernlab(data), bench_dicekriging(data))
table$value <- NULL
ours <- table$cpu[match(paste(table$job, "gpselect"), paste(table$job, table$package))]
table$times_ours <- table$cpu / ours
store_results(table, "peers")
