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
  c(stages, process, list("whole fits" = fit_codes))
}

# How many iterations a fit took, or evaluations a search; NA of all else.
count_steps <- function(x) {
  if (inherits(x, "gps_fit")) return(nrow(x$trace))
  if (is.list(x) && !is.null(x$n_evals)) x$n_evals else NA_real_
}

fit_codes <- function() {
  bars <- simulate_bars(2000)$y
  slabs <- simulate_bars(1000, "spike_slab")$y
  clusters <- simulate_clusters(20000, n_clusters = 20, n_dims = 10)$y
  few <- simulate_clusters(500, n_clusters = 5, n_dims = 10)$y
  scenes <- simulate_scenes(n = 100, size = c(15, 15))$y
  # The same random numbers each time, and one thread: threads that wait for each other count.
  fit <- function(..., max_iter = 200) function() {
    set.seed(1)
    suppressWarnings(gps_fit(..., control = gps_control(max_iter = max_iter, n_threads = 1)))
  }
  on_bars <- function(selector) {
    fit(bars, model_binary_sparse(10), n_selected = 5, selector = selector)
  }
  list(
    "bars, hand-crafted" = on_bars(selector_handcrafted()),
    "bars, all latents" = fit(bars, model_binary_sparse(10), selector = selector_full()),
    "bars, random" = on_bars(selector_random()),
    "bars, exact GP" = on_bars(selector_gp(method = "exact")),
    "bars, ichol" = on_bars(selector_gp(method = "ichol")),
    "spike and slab, hand-crafted" =
      fit(slabs, model_spike_slab(10), n_selected = 5, selector = selector_handcrafted()),
    "mixture of 20, all clusters" =
      fit(clusters, model_gaussian_mixture(20), selector = selector_full()),
    "mixture of 20, ichol" = fit(clusters, model_gaussian_mixture(20), n_selected = 4,
                                 selector = selector_gp(method = "ichol")),
    "mixture of 5, exact GP" =
      fit(few, model_gaussian_mixture(5), n_selected = 3, selector = selector_gp()),
    "occlusive" = fit(scenes, model_occlusive(3, size = c(7, 7)), n_selected = 3,
                      max_iter = 20)
  )
}
