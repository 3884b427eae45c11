# One component found for each true one: the assignment with the largest sum of similarities.

# The best assignment by a matrix of similarities, true x found.
assign_components <- function(cosine, threshold) {
  n_found <- ncol(cosine)
  n_true <- nrow(cosine)
  # Columns of zeros stand for "not found": the assignment needs at least as many columns as rows.
  cosine <- cbind(cosine, matrix(0, n_true, max(0, n_true - n_found)))
  permutation <- as.integer(clue::solve_LSAP(cosine, maximum = TRUE))
  similarity <- cosine[cbind(seq_len(n_true), permutation)]
  permutation[permutation > n_found] <- NA
  list(permutation = permutation, similarity = similarity,
       matched = !is.na(permutation) & similarity >= threshold)
}
