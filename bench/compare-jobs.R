# The jobs that bench/compare.R has both versions do: a list of groups, each a function that makes a
# list of functions without arguments.
compare_groups <- function(engine) {
  force(engine)
  stages <- lapply(stage_setups(engine, n_large = 2000, n_clusters = 20000), function(setup) {
    function() stage_codes(engine, setup())
  })
  process <- list("Gaussian process, N 1000, D 25, 10 targets" = function() {
    gp_codes(engine, bars_like(1000, 25, 10))
  })
  fits <- lapply(fit_codes(), function(code) function() list("whole fit" = code))
  c(stages, process, fits)
}

# How many iterations a fit took, or evaluations a search; NA of all else.
count_steps <- function(x) {
  if (inherits(x, "gps_fit")) return(nrow(x$trace))
  if (is.list(x) && !is.null(x$n_evals)) x$n_evals else NA_real_
}

# Whole fits, each a function without arguments that makes its data too.
fit_codes <- function() {
  # The same random numbers each time, and one thread: threads that wait for each other count.
  fit <- function(data, model, ..., max_iter = 200) {
    y <- NULL
    function() {
      set.seed(1)
      if (is.null(y)) y <<- data()$y
      suppressWarnings(gps_fit(y, model, ...,
                               control = gps_control(max_iter = max_iter, n_threads = 1)))
    }
  }
  bars <- function() simulate_bars(2000)
  clusters <- function() simulate_clusters(20000, n_clusters = 20, n_dims = 10)
  on_bars <- function(selector, n_selected = 5) {
    fit(bars, model_binary_sparse(10), n_selected = n_selected, selector = selector)
  }
  ichol <- selector_gp(method = "ichol")
  list(
    "Fit: bars, hand-crafted" = on_bars(selector_handcrafted()),
    "Fit: bars, all latents" = on_bars(selector_full(), NULL),
    "Fit: bars, random" = on_bars(selector_random()),
    "Fit: bars, exact GP" = on_bars(selector_gp(method = "exact")),
    "Fit: bars, ichol" = on_bars(ichol),
    "Fit: spike and slab, hand-crafted" =
      fit(function() simulate_bars(1000, "spike_slab"), model_spike_slab(10), n_selected = 5,
          selector = selector_handcrafted()),
    "Fit: mixture of 20, all clusters" =
      fit(clusters, model_gaussian_mixture(20), selector = selector_full()),
    "Fit: mixture of 20, ichol" =
      fit(clusters, model_gaussian_mixture(20), n_selected = 4, selector = ichol),
    "Fit: mixture of 5, exact GP" =
      fit(function() simulate_clusters(500, n_clusters = 5, n_dims = 10),
          model_gaussian_mixture(5), n_selected = 3, selector = selector_gp()),
    "Fit: occlusive" =
      fit(function() simulate_scenes(n = 100, size = c(15, 15)),
          model_occlusive(3, size = c(7, 7)), n_selected = 3, max_iter = 20)
  )
}
