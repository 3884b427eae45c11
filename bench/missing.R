# Missing cells: what is found, how well cells are restored, and what an E-step costs.
# Rscript bench/missing.R [part] [seeds]: part is bars, mixtures, scenes, times, ranking or all.
# Stored in bench/results/missing-<part>.csv. Mixtures: mclust on its own imputation (package mix)
# beside, where both are installed.

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
arguments <- commandArgs(TRUE)
part <- if (length(arguments) > 0) arguments[1] else "all"
n_seeds <- if (length(arguments) > 1) as.integer(arguments[2]) else NULL

seeds_of <- function(default) seq_len(if (is.null(n_seeds)) default else n_seeds)
quiet <- gps_control(progress = FALSE)

# ---- bars: 500 points of 25 pixels, 30 % of the cells missing, 10 bars

bars_models <- list(binary_sparse = model_binary_sparse(10), spike_slab = model_spike_slab(10),
                    max_spike_slab = model_max_spike_slab(10))

# The error of a reconstruction at missing cells, in standard deviations of the noise.
error_at <- function(response, data, gap) sqrt(mean((response - data$y)[gap]^2) / data$sigma2)

# The same with the parameters that the data were drawn from and no selection: nobody can do better.
best_error <- function(model, data, y, gap) {
  model <- gps_bind(model, data$y)
  params <- c(list(W = data$W, pi = 0.2), if (!is.null(data$psi)) list(
    mu = rep(data$mu, length.out = 10), psi = rep(data$psi, length.out = 10)
  ), list(sigma2 = data$sigma2))
  every <- matrix(1:10, nrow(y), 10, byrow = TRUE)
  sampled <- inherits(model, "gps_max_spike_slab")
  step <- gps_estep(model, params, y, every, want = "response",
                    sweeps = if (sampled) c(30, 100))
  error_at(step$response, data, gap)
}

bench_bars <- function() {
  rows <- lapply(names(bars_models), function(name) {
    lapply(seeds_of(20), function(seed) {
      set.seed(seed)
      data <- simulate_bars(500, model = name)
      gap <- matrix(stats::runif(length(data$y)) < 0.3, nrow(data$y))
      y <- replace(data$y, gap, NA)
      seconds <- cpu_time_of(fit <- gps_fit(y, bars_models[[name]], control = quiet))
      data.frame(model = name, seed = seed,
                 found = sum(match_components(coef(fit)$W, data$W)$matched),
                 error = error_at(predict(fit, type = "response"), data, gap),
                 best_error = best_error(bars_models[[name]], data, y, gap), seconds = seconds)
    })
  })
  rows <- do.call(rbind, unlist(rows, recursive = FALSE))
  all_found <- tapply(rows$found == 10, rows$model, sum)
  cat("All bars in", paste(names(all_found), all_found, sep = ": ", collapse = ", "), "\n")
  store_results(rows, "missing-bars")
}

# ---- mixtures: iris and 20 clusters in 10 dimensions, 20 % of the cells missing

# The adjusted Rand index of two partitions (Hubert and Arabie 1985).
rand_index <- function(a, b) {
  pairs <- function(x) sum(choose(x, 2))
  table <- table(a, b)
  expected <- pairs(rowSums(table)) * pairs(colSums(table)) / choose(length(a), 2)
  (pairs(table) - expected) / ((pairs(rowSums(table)) + pairs(colSums(table))) / 2 - expected)
}

mixture_data <- list(
  iris = function(seed) {
    list(y = as.matrix(datasets::iris[1:4]), k = 3, cluster = as.integer(datasets::iris$Species))
  },
  clusters = function(seed) {
    data <- simulate_clusters(2000, n_clusters = 20, n_dims = 10)
    list(y = data$y, k = 20, cluster = if (is.null(data$cluster)) max.col(data$latents) else
      data$cluster)
  }
)

# Log likelihood of complete data under a mixture of full covariances.
complete_loglik <- function(y, pi, mu, sigma) {
  logs <- vapply(seq_along(pi), function(k) {
    root <- chol(sigma[, , k])
    z <- backsolve(root, t(y) - mu[, k], transpose = TRUE)
    log(pi[k]) - sum(log(diag(root))) - colSums(z^2) / 2 - ncol(y) / 2 * log(2 * base::pi)
  }, numeric(nrow(y)))
  top <- apply(logs, 1, max)
  sum(top + log(rowSums(exp(logs - top))))
}

bench_one_mixture <- function(name, seed) {
  set.seed(seed)
  data <- mixture_data[[name]](seed)
  gap <- matrix(stats::runif(length(data$y)) < 0.2, nrow(data$y))
  y <- replace(data$y, gap, NA)
  seconds <- cpu_time_of(fit <- gps_fit(y, model_gaussian_mixture(data$k), control = quiet))
  params <- coef(fit)
  ours <- data.frame(data = name, seed = seed, package = "gpselect",
                     rand = rand_index(predict(fit, type = "class"), data$cluster),
                     loglik = complete_loglik(data$y, params$pi, params$mu, params$sigma),
                     seconds = seconds)
  if (!requireNamespace("mclust", quietly = TRUE) || !requireNamespace("mix", quietly = TRUE)) {
    return(ours)
  }
  mclustBIC <- mclust::mclustBIC
  seconds <- cpu_time_of({
    utils::capture.output(filled <- mclust::imputeData(y, seed = seed))
    peer <- mclust::Mclust(filled, G = data$k, modelNames = "VVV", verbose = FALSE)
  })
  if (is.null(peer)) return(ours)
  found <- peer$parameters
  rbind(ours, data.frame(data = name, seed = seed, package = "mclust",
                         rand = rand_index(peer$classification, data$cluster),
                         loglik = complete_loglik(data$y, found$pro, found$mean,
                                                  found$variance$sigma), seconds = seconds))
}

bench_mixtures <- function() {
  rows <- lapply(names(mixture_data), function(name) {
    lapply(seeds_of(10), function(seed) bench_one_mixture(name, seed))
  })
  rows <- do.call(rbind, unlist(rows, recursive = FALSE))
  print(stats::aggregate(cbind(rand, loglik, seconds) ~ data + package, rows, mean))
  store_results(rows, "missing-mixtures")
}

# ---- scenes: 16 objects, 20 % of the pixels masked

bench_scenes <- function() {
  rows <- lapply(seeds_of(1), function(seed) {
    set.seed(seed)
    scenes <- simulate_scenes(n = 1000)
    y <- scenes$y
    masked <- array(stats::runif(prod(dim(y)[1:3])) < 0.2, dim(y))
    y[masked] <- NA
    seconds <- cpu_time_of(fit <- gps_fit(y, model_occlusive(16, c(10, 10)),
                                          selector_handcrafted(), control = quiet))
    found <- match_components(fit, scenes$objects)
    data.frame(seed = seed, found = sum(found$matched), of = 16, seconds = seconds)
  })
  store_results(do.call(rbind, rows), "missing-scenes")
}

# ---- times: an E-step with statistics, complete and with 30 % of the cells missing

times_jobs <- list(
  binary_sparse = list(model_binary_sparse(50), 100, 6),
  spike_slab = list(model_spike_slab(50), 100, 6),
  max_spike_slab = list(model_max_spike_slab(50), 100, 3),
  full = list(model_gaussian_mixture(20), 10, 20),
  full_50 = list(model_gaussian_mixture(20), 50, 20),
  full_100 = list(model_gaussian_mixture(20), 100, 20),
  tied = list(model_gaussian_mixture(20, "tied"), 10, 20),
  tied_50 = list(model_gaussian_mixture(20, "tied"), 50, 20),
  diagonal = list(model_gaussian_mixture(20, "diagonal"), 10, 20),
  spherical = list(model_gaussian_mixture(20, "spherical"), 10, 20)
)

# The least time of runs that take turns: what else the machine does falls on both alike.
time_one <- function(name) {
  job <- times_jobs[[name]]
  is_slow <- grepl("_[0-9]+$", name) || name == "max_spike_slab"
  n <- if (is_slow) 1000 else 8000
  set.seed(1)
  y <- matrix(stats::rnorm(n * job[[2]]), n)
  model <- gps_bind(job[[1]], y)
  params <- gps_init(model, y)
  selected <- t(replicate(n, sort(sample.int(model$n_latents, job[[3]]))))
  sampled <- name == "max_spike_slab"
  measure <- function(y) {
    cpu_time_of(gps_estep(model, params, y, selected, n_threads = 1,
                          sweeps = if (sampled) c(5, 5)))
  }
  gaps <- replace(y, stats::runif(length(y)) < 0.3, NA)
  least <- apply(replicate(9, c(measure(y), measure(gaps))), 1, min)
  data.frame(model = name, complete = least[1], missing = least[2], ratio = least[2] / least[1])
}

bench_times <- function() {
  store_results(do.call(rbind, lapply(names(times_jobs), time_one)), "missing-times")
}

# ---- ranking: what a learned selection sees in missing cells, column means or a reconstruction

# At a fit's parameters after some iterations: recall of the latents that are on among the best
# four, without screening, and how much of the bound these lose against all.
rank_seen <- function(fit, y, data, seen) {
  state <- list(model = fit$model, params = coef(fit), selected = t(fit$selected),
                prob_on = t(fit$prob_on), iteration = 1L)
  state$memory <- gps_learn(selector_gp(), state, seen)
  affinity <- gps_affinity(selector_gp(), state, seen)
  selected <- t(apply(affinity, 1, function(a) sort(order(-a)[1:4])))
  bound <- function(selected) {
    mean(gps_estep(fit$model, coef(fit), y, selected, want = character())$log_evidence)
  }
  every <- matrix(1:10, nrow(y), 10, byrow = TRUE)
  place <- match_components(coef(fit)$W, data$W)$permutation
  recall <- vapply(seq_len(nrow(y)), function(n) {
    on <- place[data$latents[n, ] != 0]
    mean(on[!is.na(on)] %in% selected[n, ])
  }, 1)
  c(recall = mean(recall, na.rm = TRUE), loss = bound(every) - bound(selected))
}

bench_ranking <- function() {
  jobs <- expand.grid(seed = seeds_of(3), iterations = c(5, 100),
                      model = c("binary_sparse", "spike_slab"), stringsAsFactors = FALSE)
  rows <- lapply(seq_len(nrow(jobs)), function(i) {
    job <- jobs[i, ]
    set.seed(job$seed)
    data <- simulate_bars(500, model = job$model)
    gap <- matrix(stats::runif(length(data$y)) < 0.3, nrow(data$y))
    y <- replace(data$y, gap, NA)
    control <- gps_control(progress = FALSE, max_iter = job$iterations,
                           n_starts = if (job$iterations < 20) 1 else 8)
    fit <- suppressWarnings(gps_fit(y, bars_models[[job$model]], n_selected = 4,
                                    control = control))
    means <- replace(y, gap, colMeans(y, na.rm = TRUE)[col(y)[gap]])
    by_means <- rank_seen(fit, y, data, means)
    by_filled <- rank_seen(fit, y, data, predict(fit, type = "imputed"))
    data.frame(job, recall_means = by_means[["recall"]], recall_filled = by_filled[["recall"]],
               loss_means = by_means[["loss"]], loss_filled = by_filled[["loss"]])
  })
  store_results(do.call(rbind, rows), "missing-ranking")
}

parts <- list(bars = bench_bars, mixtures = bench_mixtures, scenes = bench_scenes,
              times = bench_times, ranking = bench_ranking)
for (name in if (part == "all") names(parts) else part) parts[[name]]()
