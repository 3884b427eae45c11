# The learned selection by exact Gaussian processes of random blocks of the data, see gp-divide.R.
# What an exact one does with all targets at once this does as well; only preparing differs.

# Numbers that the block inverses of all points, and the affinities, may take (1 GB each).
most_divided <- 2^27

#' @export
prepare_gp.gps_selector_divide <- function(selector, model, theta, y, n_threads) {
  check_divided(selector, model, ncol(y))
  blocks <- new_divide(ncol(y), selector$rank, selector$cross)
  divide_prepare(blocks, selector$kernel, theta, y, n_threads)
}

check_divided <- function(selector, model, n_points) {
  n_numbers <- as.double(n_points) * max(selector$rank, model$n_latents)
  if (n_numbers <= most_divided) return(invisible(n_points))
  gps_abort(sprintf(
    paste("`method` = \"divide\" keeps %.3g numbers for %.0f data points; the limit is %.3g:",
          "use \"ichol\", \"inducing\" or \"fourier\"."), n_numbers, n_points, most_divided
  ))
}
