# Neighbours among very many points. Points are sorted into cells about means of sampled points, and
# each is compared with those of the cells nearest to its own alone, by the same blocks of products
# and the same exact distances as in the search among all. An index is plain numbers: it is stored
# with a fit, and what it finds has the same bits for any number of threads.

# Up to so many distances the search is among all points: seconds.
most_distances_exact <- 2^31

# Cells for each root of the number of points, points that their means are made of for each, and how
# often these are improved.
cells_by_root <- 2
cell_points <- 16L
cell_rounds <- 4L

# Points whose true neighbours an index is held against, the share of these that it must find, and
# the cells that it looks at: so many at first, up to this share of all.
index_sample <- 256L
enough_recall <- 0.98
first_probes <- 8L
most_probed <- 0.25

has_index <- function(engine, scale) identical(engine$index$scale, scale)

# An engine with an index where the neighbours of `n_asked` points are sought by one.
add_index <- function(engine, n_asked, scale) {
  is_large <- as.double(ncol(engine$y)) * n_asked > most_distances_exact
  wanted <- if (is.null(engine$use_index)) is_large else isTRUE(engine$use_index)
  if (!wanted || has_index(engine, scale)) return(engine)
  rank <- as.integer(min(engine$rank, ncol(engine$y) - 1L))
  engine["index"] <- list(new_index(engine$y, scale, rank))
  engine
}

# list(scale, centres, cell, n_probes, recall) for points y in scaled columns, in which the `rank`
# neighbours of a point are sought; NULL where too many cells would have to be looked at.
new_index <- function(y, scale, rank) {
  if (rank == 0) return(NULL)
  centres <- cell_centres(y, scale)
  index <- list(scale = scale, centres = centres,
                cell = nearest_cell(centres, scale, y))
  own <- as.integer(spaced_points(ncol(y), index_sample))
  at <- columns_of(y, own)
  true <- .Call(C_gp_near, y, scale, at, own, 0L, rank)
  n_probes <- min(first_probes, ncol(centres))
  while (n_probes <= max(first_probes, most_probed * ncol(centres))) {
    index$n_probes <- as.integer(n_probes)
    found <- search_index(index, y, at, own, rank)
    shared <- vapply(seq_along(own), function(i) mean(true[, i] %in% found[, i]), 1)
    index$recall <- mean(shared)
    if (index$recall >= enough_recall) return(index)
    n_probes <- ceiling(1.3 * n_probes)
  }
  NULL
}

# Means of the points that are nearest to each, by Lloyd's iterations on some of all points. A cell
# that has none stays where it is.
cell_centres <- function(y, scale) {
  n_cells <- ceiling(cells_by_root * sqrt(ncol(y)))
  x <- some_points(y, cell_points * n_cells)
  centres <- some_points(x, n_cells)
  for (round in seq_len(cell_rounds)) {
    cell <- nearest_cell(centres, scale, x)
    sums <- rowsum(t(x), cell)
    held <- as.integer(rownames(sums))
    centres[, held] <- t(sums / tabulate(cell, ncol(centres))[held])
  }
  centres
}

nearest_cell <- function(centres, scale, at) {
  c(.Call(C_gp_near, centres, scale, at, NULL, 0L, 1L))
}

# Of each column of y, at least two, the number of the nearest other one.
nearest_others <- function(y) {
  c(.Call(C_gp_near, y, rep(1, nrow(y)), y, seq_len(ncol(y)), 0L, 1L))
}

# Numbers of the nearest points of y, as find_near() gives them, of so many points at a time.
asked_at_once <- 2^17

search_index <- function(index, y, at, own, rank) {
  n <- ncol(at)
  found <- lapply(seq(1, n, by = asked_at_once), function(from) {
    part <- from:min(n, from + asked_at_once - 1)
    x <- if (length(part) == n) at else columns_of(at, part)
    probe <- .Call(C_gp_near, index$centres, index$scale, x, NULL, 0L, index$n_probes)
    .Call(C_gp_near_cells, y, index$scale, index$cell, ncol(index$centres), probe, x, own[part],
          rank)
  })
  if (length(found) == 1) found[[1]] else do.call(cbind, found)
}

# Whether an index, which may come from a file, is one of so many points; cells of points are looked
# at where they are used.
is_index_sound <- function(index, n_dims, n_points) {
  is.list(index) && is.double(index$scale) && length(index$scale) == n_dims &&
    all(is.finite(index$scale) & index$scale > 0) &&
    is_finite_matrix(index$centres, n_dims) && ncol(index$centres) > 0 &&
    is.integer(index$cell) && length(index$cell) == n_points &&
    is_count(index$n_probes) && index$n_probes <= ncol(index$centres) && is_number(index$recall)
}
