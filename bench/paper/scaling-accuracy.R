# Parts of bench/paper/scaling.R that tell what approximations spoil: ranking, recovery, bound. All
# are on bars, N = 2000, D = 25, H = 10, model A.

bars_of <- function(seed, n = 2000) {
  set.seed(100 + seed)
  simulate_bars(n)
}

# ---- ranking

# Posterior means at the true parameters, all latents selected: N x H.
true_expectations <- function(bars) {
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector_full(),
                 start = list(W = bars$W, pi = bars$pi, sigma2 = bars$sigma2),
                 control = gps_control(max_iter = 0, progress = FALSE))
  predict(fit, bars$y)
}

# "fitted": the composition kernel, learned as a selector learns it, by 20 evaluations on 500
# points; "short": a lengthscale far below the distances between points, for which no small basis
# does.
ranking_kernels <- function(bars, targets) {
  rows <- sort(sample.int(nrow(targets), 500))
  fit <- gp_fit(bars$y[rows, ], targets[rows, ], kernel_composition(), max_evals = 20)
  list(fitted = fit$kernel,
       short = kernel_rbf(variance = 1, lengthscale = 8) + kernel_white(0.01))
}

ranking_ranks <- c(25L, 50L, 100L, 200L, 400L)

# Leave-one-out means H x N of a planned basis. `counts`: whether what the basis leaves counts as
# noise, as it does in a selection.
loo_of_basis <- function(plan, targets, counts = TRUE) {
  view <- engine$engine_view(plan, plan$y)
  sums <- engine$engine_sums(plan, view, targets)
  if (counts) plan$basis <- engine$count_residual(plan$basis, sums)
  prepared <- engine$engine_prepare(plan, plan$theta, sums = sums)
  engine$view_means(prepared, sums$cross, view, targets)
}

basis_ranks <- function(method, objective = "vfe", counts = TRUE) {
  function(kernel, theta, y, targets, rank) {
    # Fourier features come in pairs.
    if (method == "fourier") rank <- rank - rank %% 2L
    plan <- engine$engine_plan(engine$new_engine(method, rank, objective), kernel, theta, y,
                               tol = engine$selection_tol)
    plan$basis$extra <- 0
    loo_of_basis(plan, targets, counts)
  }
}

divide_ranks <- function(cross) {
  function(kernel, theta, y, targets, rank) {
    blocks <- engine$engine_plan(engine$new_engine("divide", rank, cross = cross), kernel, theta, y)
    engine$engine_loo(engine$engine_prepare(blocks, theta, many = TRUE), targets)$mean
  }
}

# Inducing inputs and hyper-parameters learned by the bound of 1000 points, for 50 evaluations, from
# pivots among these.
learned_ranks <- function(kernel, theta, y, targets, rank) {
  rows <- seq(1, ncol(y), length.out = 1000)
  inducing <- engine$new_engine("inducing", rank, learn_inputs = TRUE)
  inducing <- engine$engine_plan(inducing, kernel, theta, y[, rows], tol = 1e-3)
  found <- engine$climb_engine(inducing, theta, targets[, rows], 50L)
  loo_of_basis(engine$hold_data(found$engine, kernel, found$theta, y, 1L), targets)
}

ranking_engines <- list(
  "ichol" = basis_ranks("ichol"),
  "ichol, residual not counted" = basis_ranks("ichol", counts = FALSE),
  "VFE" = basis_ranks("inducing", "vfe"), "VFE, inputs learned" = learned_ranks,
  "FITC" = basis_ranks("inducing", "fitc"), "Fourier" = basis_ranks("fourier"),
  "divide, crossed" = divide_ranks(TRUE), "divide, own block" = divide_ranks(FALSE)
)

# Share of the truly active latents of each point, at most five of them, that are among the best
# five. `ranked` is H x N, `latents` N x H.
share_on_top <- function(ranked, latents) {
  top <- apply(ranked, 2, function(a) rank(-a, ties.method = "first") <= 5)
  active <- t(latents) > 0
  sum(top & active) / sum(pmin(colSums(active), 5))
}

rank_seed <- function(seed) {
  bars <- bars_of(seed)
  targets <- true_expectations(bars)
  y <- t(bars$y)
  kernels <- ranking_kernels(bars, targets)
  rows <- lapply(names(kernels), function(name) {
    kernel <- kernels[[name]]
    theta <- engine$gp_theta(kernel, y)
    plan <- engine$engine_plan(engine$new_engine("exact"), kernel, theta, y)
    exact <- engine$engine_loo(engine$engine_prepare(plan, theta), t(targets))$mean
    row <- function(engine, rank, ranked) {
      data.frame(kernel = name, engine = engine, rank = rank, seed = seed,
                 rms = sqrt(mean((ranked - exact)^2)), top5 = share_on_top(ranked, bars$latents))
    }
    cells <- expand.grid(rank = ranking_ranks, engine = names(ranking_engines),
                         stringsAsFactors = FALSE)
    approximate <- Map(function(engine, rank) {
      row(engine, rank, ranking_engines[[engine]](kernel, theta, y, t(targets), rank))
    }, cells$engine, cells$rank)
    do.call(rbind, c(list(row("exact", nrow(targets), exact)), unname(approximate)))
  })
  do.call(rbind, rows)
}

measure_ranking <- function(options) {
  seeds <- if (is.null(options$seeds)) 1:10 else options$seeds
  runs <- do.call(rbind, lapply(seeds, rank_seed))
  key <- paste(runs$kernel, runs$engine, runs$rank)
  cells <- split(runs, factor(key, unique(key)))
  do.call(rbind, unname(lapply(cells, function(cell) {
    data.frame(cell[1, c("kernel", "engine", "rank")], seeds = nrow(cell), rms = mean(cell$rms),
               rms_sd = stats::sd(cell$rms), top5 = mean(cell$top5), top5_min = min(cell$top5),
               row.names = NULL)
  })))
}

# ---- recovery

recovery_selectors <- list(
  "exact" = selector_gp(method = "exact"), "ichol" = selector_gp(method = "ichol", rank = 200),
  "VFE" = selector_gp(method = "inducing", rank = 200),
  "Fourier" = selector_gp(method = "fourier", rank = 200)
)

fit_bars <- function(bars, seed, selector, n_selected = 5, start = NULL, ...) {
  set.seed(1000 + seed)
  gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = n_selected, start = start,
          control = gps_control(progress = FALSE, ...))
}

# The bound after 50 iterations, neither more nor less, from parameters that are given; the last
# fifth of them is without explorers.
bound_after_50 <- function(bars, seed, selector, start, monotone = FALSE) {
  fit_bars(bars, seed, selector, start = start, max_iter = 50, tol = 0, mend = FALSE,
           monotone = monotone)$bound
}

# The common start of the fifty iterations is the best of the short starts of the exact selection.
recover_seed <- function(seed) {
  bars <- bars_of(seed)
  start <- coef(fit_bars(bars, seed, recovery_selectors$exact, max_iter = 0))
  rows <- lapply(names(recovery_selectors), function(name) {
    selector <- recovery_selectors[[name]]
    seconds <- system.time(fit <- fit_bars(bars, seed, selector))[["elapsed"]]
    data.frame(method = name, seed = seed, found = sum(match_components(fit, bars)$matched),
               bound = fit$bound, iterations = fit$n_iter, seconds = seconds,
               fifty = bound_after_50(bars, seed, selector, start),
               fifty_monotone = bound_after_50(bars, seed, selector, start, TRUE))
  })
  rows <- do.call(rbind, rows)
  for (name in c("bound", "fifty", "fifty_monotone")) {
    rows[[paste0(name, "_short")]] <- (rows[[name]][1] - rows[[name]]) / abs(rows[[name]][1])
  }
  print(rows, digits = 6, row.names = FALSE)
  rows
}

measure_recovery <- function(options) {
  seeds <- if (is.null(options$seeds)) 1:20 else options$seeds
  do.call(rbind, lapply(seeds, recover_seed))
}

# ---- bound against n_selected

selected_selectors <- list(
  "hand-crafted" = selector_handcrafted(), "GP exact" = selector_gp(method = "exact"),
  "GP ichol" = selector_gp(method = "ichol", rank = 100)
)

measure_selected <- function(options) {
  seeds <- if (is.null(options$seeds)) 1:5 else options$seeds
  do.call(rbind, lapply(seeds, function(seed) {
    bars <- bars_of(seed)
    row <- function(label, n_selected, selector) {
      fit <- fit_bars(bars, seed, selector, n_selected)
      data.frame(selection = label, n_selected = n_selected, seed = seed,
                 bound = fit$bound / fit$n_points, sigma2 = coef(fit)$sigma2,
                 found = sum(match_components(fit, bars)$matched))
    }
    cells <- expand.grid(n_selected = 2:9, selection = names(selected_selectors),
                         stringsAsFactors = FALSE)
    rows <- Map(function(label, n) row(label, n, selected_selectors[[label]]),
                cells$selection, cells$n_selected)
    do.call(rbind, c(list(row("all latents", 10L, selector_full())), unname(rows)))
  }))
}
