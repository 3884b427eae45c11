# Pictures beside each other: the shift at which they look most alike.

# Best cosines of pictures under shifts, list(similarity [n_true x n_found], row, column): the
# object begins at that row and column offset of the window (0 = at its first row and column;
# negative: the window begins inside the object). Pictures are n x height x width x channels,
# 0 where masked.
best_shifts <- function(found, truth) {
  window <- dim(found)[2:3]
  box <- dim(truth)[2:3]
  truth_columns <- unit_columns(t(matrix(truth, dim(truth)[1])))
  n_shifts <- window + box - 1L
  pixels <- shifted_pixels(window, box)
  best <- list(similarity = matrix(0, dim(truth)[1], dim(found)[1]))
  best$row <- best$column <- array(0L, dim(best$similarity))
  for (k in seq_len(dim(found)[1])) {
    picture <- matrix(found[k, , , ], prod(window))
    picture[] <- unit_columns(matrix(picture))
    pieces <- rbind(0, picture)[1 + pixels, , drop = FALSE]
    # shifts x pixels of the box and channels
    dim(pieces) <- c(prod(n_shifts), nrow(truth_columns))
    cosine <- pieces %*% truth_columns
    at <- max.col(t(cosine), "first")
    best$similarity[, k] <- pmin(cosine[cbind(at, seq_along(at))], 1)
    best$row[, k] <- (at - 1L) %% n_shifts[1] - box[1] + 1L
    best$column[, k] <- (at - 1L) %/% n_shifts[1] - box[2] + 1L
  }
  best
}

# For every shift (rows) and every pixel of the box (columns) the pixel of the window, 0 outside.
shifted_pixels <- function(window, box) {
  along <- function(axis) {
    at <- outer(seq_len(window[axis] + box[axis] - 1L) - box[axis], seq_len(box[axis]), "+")
    at[at > window[axis]] <- 0
    pmax(at, 0)
  }
  row <- along(1)
  column <- along(2)
  i <- rep(seq_len(nrow(row)), nrow(column))
  j <- rep(seq_len(nrow(column)), each = nrow(row))
  pixels <- row[i, rep(seq_len(box[1]), box[2])] +
    (column[j, rep(seq_len(box[2]), each = box[1])] - 1) * window[1]
  pixels[row[i, rep(seq_len(box[1]), box[2])] == 0 |
           column[j, rep(seq_len(box[2]), each = box[1])] == 0] <- 0
  as.vector(pixels)
}
