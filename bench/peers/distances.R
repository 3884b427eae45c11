# Mean over the points y, N x D, of what `each` makes of their squared distances from the centres,
# D x C: a function of a matrix n x C, with n values.
mean_by_distance <- function(y, centres, each) {
  blocks <- split(seq_len(nrow(y)), (seq_len(nrow(y)) - 1) %/% 2000)
  sums <- vapply(blocks, function(rows) {
    x <- y[rows, , drop = FALSE]
    sum(each(outer(rowSums(x^2), colSums(centres^2), "+") - 2 * x %*% centres))
  }, 0)
  sum(sums) / nrow(y)
}
