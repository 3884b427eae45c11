# The most probable states of data points, from probabilities of the template or from draws.

# n x H of 0 and 1: the most probable state of each point, the first of the template where several
# are; or the most frequent draw.
best_states <- function(result, task) {
  on <- scatter_choices(result$selected, best_slots(result, task), task$model)
  storage.mode(on) <- "integer"
  on
}

# slots x n of 0 and 1: which are on in the most probable state.
best_slots <- function(result, task) {
  if (!is.null(result$draws)) return(most_frequent(result$draws))
  best <- max.col(t(result$prob), ties.method = "first")
  slots_on(task$states)[, best, drop = FALSE]
}

# slots x n of 0 and 1 from draws [slots x draws x n].
most_frequent <- function(draws) {
  size <- dim(draws)
  key <- matrix(match_states(draws != 0), size[2])
  best <- apply(key, 2, function(k) which.max(tabulate(match(k, k), size[2])))
  on <- array(draws != 0, size)[cbind(rep(seq_len(size[1]), size[3]), rep(best, each = size[1]),
                                      rep(seq_len(size[3]), each = size[1]))]
  matrix(on, size[1])
}

# The number of the first equal column for each column of an array of slots x anything: slots are
# read as binary digits, thirty at a time.
match_states <- function(on) {
  n_slots <- dim(on)[1]
  on <- matrix(as.double(on), n_slots)
  id <- rep(1L, ncol(on))
  for (first in seq(1, n_slots, by = 30)) {
    digits <- on[first:min(first + 29, n_slots), , drop = FALSE]
    key <- paste(id, colSums(digits * 2^(seq_len(nrow(digits)) - 1)))
    id <- match(key, key)
  }
  id
}

is_one_hot <- function(fit) fit$model$rule$min_active == 1

is_mixture <- function(fit) {
  all(c("mu", "sigma") %in% names(fit$params)) && fit$model$rule$min_active == 1
}
