# Mixtures of very many clusters: what an iteration costs and how good a fit becomes, with a learned
# selection by neighbours beside sums over all clusters. One thread, on a machine that has nothing
# else to do.
#
#   make reproduce-many-latents, or:
#   Rscript bench/paper/many-latents.R [part=regex] [n=100000] [iterations=12]
#
#   part   size: 100 to 10,000 clusters of n points; full: full covariances; fit: whole fits;
#          ranking: truly active latents among the best eight, of bars and of a random dictionary;
#          source: 10,000 clusters of n points that are read from a file; heldout: log likelihood
#          of points that no fit has seen; dictionary: 1000 components of patches of a photograph

source("bench/common.R")
library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))

options <- list(part = ".", n = "1e5", iterations = "12")
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

near_selector <- selector_gp(method = "neighbours", rank = 20)

fit_for <- function(y, C, covariance, selector, n_iter, start = NULL, ...) {
  set.seed(2)
  # A few of very many clusters are left with a point or two, which is warned of.
  suppressWarnings(gps_fit(
    y, model_gaussian_mixture(C, covariance), selector, start = start,
    control = gps_control(max_iter = n_iter, tol = 0, n_threads = 1, progress = FALSE,
                          mend = FALSE, polish = FALSE, ...)
  ))
}

# A fit and its median microseconds a point and iteration, from iteration `from` on, without those
# that refit the kernel: those of the clock, as the trace has them, so that the machine must have
# nothing else to do. `before`: CPU seconds of all that is not in the trace, seeds and search.
time_fit <- function(y, C, covariance, selector, n_iter, from, start = NULL) {
  gc()
  seconds <- cpu_time_of(fit <- fit_for(y, C, covariance, selector, n_iter, start))
  trace <- fit$trace
  is_late <- trace$iteration >= from & !trace$refit
  list(fit = fit, microseconds = 1e6 * stats::median(trace$seconds[is_late]) / nrow(y),
       first = 1e6 * stats::median(trace$seconds[trace$iteration < from & !trace$refit]) / nrow(y),
       before = seconds - sum(trace$seconds),
       joints = mean(trace$evaluations[is_late]),
       joints_first = mean(trace$evaluations[trace$iteration < from]))
}

size_row <- function(C, D = 16) {
  y <- clusters(n_points, C, D)
  near <- time_fit(y, C, "spherical", near_selector, 24, 9)
  few <- y[seq_len(max(C, 2e4)), ]
  all <- time_fit(few, C, "spherical", selector_full(), 4, 2, coef(near$fit))
  data.frame(N = n_points, D = D, C = C, covariance = "spherical",
             us_first = near$first, us_neighbours = near$microseconds, us_all = all$microseconds,
             joints_first = near$joints_first, joints = near$joints, before_s = near$before,
             bound = near$fit$bound / n_points)
}

# The same seeds for both.
full_row <- function(C = 1000L, D = 20L, n = 50000L) {
  y <- clusters(n, C, D, spread = 2)
  near <- time_fit(y, C, "full", near_selector, 24, 9)
  all <- time_fit(y, C, "full", selector_full(), 8, 2)
  data.frame(N = n, D = D, C = C, covariance = "full", us_first = near$first,
             us_neighbours = near$microseconds, us_all = all$microseconds,
             joints_first = near$joints_first, joints = near$joints, before_s = near$before,
             bound = near$fit$bound / n, bound_all_8 = all$fit$bound / n)
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

# ---- ranking where several latents are on ----

engine <- asNamespace("gpselect")

# Slots [16 x N] of the true states of data points.
true_slots <- function(latents) {
  selected <- apply(latents > 0, 1, function(on) c(which(on), integer(16))[1:16])
  list(selected = selected, prob_on = (selected > 0) + 0)
}

# Leave-one-out predictions of the true states, at the kernel's parameters before any refit: share
# of the latents on (eight at most) among the best eight of 2000 points, and CPU microseconds a
# point of the ranking alone.
ranking_row <- function(name, data, method, rank, kernel) {
  y <- t(data$y)
  y <- (y - mean(y)) / stats::sd(y)
  n_latents <- ncol(data$latents)
  theta <- engine$gp_theta(kernel, y)
  prepared <- engine$engine_plan(engine$new_engine(method, rank), kernel, theta, y, 1L,
                                 engine$selection_tol)
  prepared <- engine$engine_prepare(prepared, theta, many = TRUE)
  slots <- true_slots(data$latents)
  targets <- if (method == "neighbours") {
    engine$slot_targets(slots, list(n_latents = n_latents, grid = NULL))
  } else {
    engine$dense_targets(slots, n_latents)
  }
  points <- seq_len(ncol(y))
  loo <- function() engine$engine_loo(prepared, targets, points)$mean
  # So often that the ticks in which CPU time is told do not show.
  seconds <- median_time(loo, times = 20)[["cpu"]]
  affinity <- engine$rank_answer(loo(), n_latents)[, 1:2000]
  hits <- vapply(1:2000, function(n) {
    on <- which(data$latents[n, ] > 0)
    c(sum(on %in% order(-affinity[, n])[1:8]), min(length(on), 8))
  }, c(1, 1))
  data.frame(data = name, method = method, rank = if (is.null(rank)) NA else rank,
             kernel = paste(vapply(kernel$terms, `[[`, "", "type"), collapse = " + "),
             among_best = sum(hits[1, ]) / sum(hits[2, ]), us_ranking = 1e6 * seconds / ncol(y))
}

ranking_rows <- function() {
  set.seed(1)
  bars <- simulate_bars(10000, size = 16, prob = 3 / 32)
  latents <- matrix(stats::rbinom(10000 * 512, 1, 4 / 512), 10000)
  dictionary <- list(latents = latents, y = latents %*% matrix(stats::rnorm(512 * 144), 512) +
                       matrix(stats::rnorm(10000 * 144), 10000))
  local <- kernel_rbf() + kernel_white()
  linear <- kernel_linear() + kernel_bias() + kernel_white()
  rows <- Map(function(name, data) {
    rbind(ranking_row(name, data, "neighbours", 20L, local),
          ranking_row(name, data, "neighbours", 60L, local),
          ranking_row(name, data, "ichol", 200L, local),
          ranking_row(name, data, "ichol", 200L, kernel_rbf() + linear),
          ranking_row(name, data, "exact", NULL, linear))
  }, c("bars, 32", "dictionary, 512"), list(bars, dictionary))
  do.call(rbind, rows)
}

# ---- a dictionary of a photograph ----

# 1000 components of 20,000 patches of 8 x 8 pixels without their means, from nothing. Components
# of the first selection are stored in steps of 1 / 127 of each one's largest number, by use.
dictionary_rows <- function(n_latents = 1000L, n_iter = 40L) {
  set.seed(3)
  patches <- extract_patches(ascent, c(8, 8), n = 20000)
  y <- matrix(patches, nrow(patches))
  y <- y - rowMeans(y)
  y <- y / stats::sd(y)
  selectors <- list(default = selector_gp(), "hand-crafted" = selector_handcrafted())
  do.call(rbind, lapply(names(selectors), function(name) {
    set.seed(1)
    seconds <- cpu_time_of(fit <- gps_fit(
      y, model_spike_slab(n_latents), selectors[[name]],
      control = gps_control(max_iter = n_iter, n_threads = 1, progress = FALSE, mend = FALSE)
    ))
    if (name == names(selectors)[1]) store_dictionary(coef(fit)$W, colSums(expectations(fit)))
    data.frame(N = nrow(y), D = ncol(y), H = n_latents, selection = name,
               method = if (is.null(fit$gp)) NA else fit$gp$method, selected = fit$n_selected,
               seconds = seconds,
               seconds_iteration = stats::median(utils::tail(fit$trace$seconds, fit$n_iter)),
               bound = fit$bound / nrow(y), noise_sd = sqrt(fit$params$sigma2),
               on = sum(fit$prob_on) / nrow(y), iterations = fit$n_iter)
  }))
}

store_dictionary <- function(w, use) {
  w <- w[, order(-use)]
  steps <- round(127 * w / rep(apply(abs(w), 2, max), each = nrow(w)))
  saveRDS(matrix(as.raw(steps + 127), nrow(w)), "inst/extdata/many-latents-dictionary.rds",
          compress = "xz")
}

# ---- points that no fit has seen ----

# log sum_c pi_c N(y; mu_c, sigma_c I), mean over the points, of a spherical mixture: over all of
# its clusters, however a fit has selected.
mean_loglik <- function(params, y) {
  rows <- split(seq_len(nrow(y)), (seq_len(nrow(y)) - 1) %/% 1000)
  constant <- log(params$pi) - ncol(y) / 2 * log(2 * pi * params$sigma)
  mean(unlist(lapply(rows, function(r) {
    x <- y[r, , drop = FALSE]
    distance <- outer(rowSums(x^2), colSums(params$mu^2), "+") - 2 * x %*% params$mu
    joint <- rep(constant, each = nrow(x)) - distance / rep(2 * params$sigma, each = nrow(x))
    top <- apply(joint, 1, max)
    top + log(rowSums(exp(joint - top)))
  })))
}

# The same seeds for all.
heldout_rows <- function(C = 1000L, D = 16L, n_unused = 20000L) {
  y <- clusters(n_points + n_unused, C, D)
  unused <- y[n_points + seq_len(n_unused), ]
  y <- y[seq_len(n_points), ]
  row <- function(selection, selector, n_iter) {
    seconds <- cpu_time_of(fit <- fit_for(y, C, "spherical", selector, n_iter))
    data.frame(N = n_points, D = D, C = C, selection = selection, iterations = fit$n_iter,
               loglik_unused = mean_loglik(coef(fit), unused),
               loglik = mean_loglik(coef(fit), y[seq_len(n_unused), ]),
               bound = fit$bound / n_points, seconds = seconds)
  }
  rbind(row("all clusters", selector_full(), 10), row("neighbours", near_selector, 10),
        row("neighbours", near_selector, 24))
}

# ---- data in a file ----

# A file of points about centres N(0, 9 I), and its source.
clusters_in_file <- function(n, C, D) {
  set.seed(1)
  mu <- matrix(stats::rnorm(C * D, sd = 3), D)
  path <- tempfile(fileext = ".bin")
  file <- base::file(path, "wb")
  on.exit(close(file))
  for (from in seq(1, n, by = 1e5)) {
    size <- min(n - from + 1, 1e5)
    y <- mu[, sample.int(C, size, replace = TRUE)] + stats::rnorm(size * D)
    writeBin(as.vector(y), file, endian = "little")
  }
  path
}

# CPU seconds at the end of each iteration of a fit that evaluating `code` makes.
step_times <- function(code) {
  marks <- new.env()
  marks$cpu <- numeric()
  note <- function() marks$cpu <- c(marks$cpu, sum(proc.time()[1:2]))
  suppressMessages(trace("end_step", exit = as.call(list(note)),
                         where = asNamespace("gpselect"), print = FALSE))
  on.exit(suppressMessages(untrace("end_step", where = asNamespace("gpselect"))))
  force(code)
  marks$cpu
}

# CPU microseconds a point of the median iteration from the second on that refits no kernel, and
# CPU seconds of all that comes before the iterations: seeds, search and weights.
source_row <- function(C = 10000L, D = 16L) {
  path <- clusters_in_file(n_points, C, D)
  on.exit(unlink(path))
  began <- sum(proc.time()[1:2])
  marks <- step_times(fit <- fit_for(gps_source_binary(path, D), C, "spherical", near_selector,
                                     as.integer(options$iterations)))
  steps <- diff(marks)[!fit$trace$refit[-1]]
  recall <- fit$gp$index$recall
  data.frame(N = n_points, D = D, C = C, covariance = "spherical", iterations = fit$n_iter,
             us_iteration = 1e6 * stats::median(steps) / n_points,
             us_first = 1e6 * steps[1] / n_points,
             before_s = marks[1] - began - steps[1], all_s = sum(proc.time()[1:2]) - began,
             references = if (is.null(fit$gp$refs)) n_points else length(fit$gp$refs),
             recall = if (is.null(recall)) 1 else recall, peak_mb = peak_memory(),
             bound = fit$bound / n_points)
}

store <- function(part, table) {
  store_results(table, paste0("many-latents-", part), "inst/extdata")
}

if (wants("size")) store("size", do.call(rbind, lapply(c(100, 300, 1000, 3000, 10000), size_row)))
if (wants("full")) store("full", full_row())
if (wants("fit")) {
  store("fit", rbind(fit_rows(20000L, 800L, 16L, "spherical"), fit_rows(20000L, 50L, 10L, "full")))
}
# Memory that a ranking has freed stays with its process, which has to begin like that: in a virtual
# machine new pages take longer than all else a ranking does.
if (wants("ranking") && nzchar(Sys.getenv("MALLOC_TRIM_THRESHOLD_"))) {
  store("ranking", ranking_rows())
} else if (wants("ranking")) {
  status <- system2(file.path(R.home("bin"), "Rscript"),
                    c("--no-init-file", "bench/paper/many-latents.R", "part=ranking"),
                    env = c("MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=17179869184"))
  stopifnot(status == 0)
}
if (wants("dictionary")) store("dictionary", dictionary_rows())
if (wants("source")) store("source", source_row())
if (wants("heldout")) store("heldout", heldout_rows())
