# Weighted fits and how far parameters are apart.

# Largest difference of two lists of parameters, relative to each parameter's size.
far_apart <- function(found, wanted) {
  max(mapply(function(x, y) max(abs(x - y)) / max(abs(y), 1e-300), found[names(wanted)], wanted))
}

# Data of a row of the table of models, with whole weights, some of them 0, and the fit of them. All
# latents are selected or, where they have places, always the same.
weights_case <- function(row, n = 60) {
  case <- draw_case(row, n, seed = 3)
  y <- case$y
  is_placed <- row$name == "occlusive"
  ranked <- selector_custom(function(params, y) gps_handcrafted(case$model, row$params, y))
  weights <- sample(0:3, nrow(y), TRUE)
  weights[1] <- 2
  list(y = y, weights = weights, repeated = rep(seq_len(nrow(y)), weights),
       fit = function(y, weights = NULL, ..., iterations = 4) {
         set.seed(1)
         control <- gps_control(max_iter = iterations, tol = 0, mend = FALSE, n_starts = 1,
                                anneal = 1, hold = 0, ...)
         suppressWarnings(gps_fit(y, row$model(), if (is_placed) ranked else selector_full(),
                                  n_selected = if (is_placed) 3, max_active = row$most_active,
                                  control = control, start = row$params, weights = weights))
       })
}
