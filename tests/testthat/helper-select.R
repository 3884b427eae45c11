# Plain selection, as the tests ask for it.

# Selections of n points by affinity H x n, n_selected x n.
select_points <- function(affinity, n_selected, share = 0, iteration = 1L, first_row = 0,
                          grid = NULL, n_threads = 2L, seed = c(11L, 22L), start = 0L) {
  stream <- list(seed = seed, start = start, iteration = iteration)
  .Call(C_select, affinity, as.integer(n_selected), share, grid, stream, first_row, n_threads)
}
