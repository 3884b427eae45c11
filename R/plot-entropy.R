# The figure "entropy" of a mixture: how sure the assignments become as clusters are merged.

# Most clusters whose merging is followed: the work grows with their square.
most_merged <- 200L

draw_entropy <- function(fit, look) {
  if (!is_one_hot(fit)) {
    gps_abort(paste("The figure \"entropy\" needs a fit of a mixture, as its points are assigned",
                    "to one cluster each. \"selection\" shows how often each latent is on."))
  }
  need_slots(fit, "The figure \"entropy\"")
  n_clusters <- fit$model$n_latents
  if (n_clusters > most_merged) {
    gps_abort(sprintf("The figure \"entropy\" is for at most %d clusters, not %d.", most_merged,
                      n_clusters))
  }
  merged <- merge_by_entropy(fit)
  colour <- series_ink(look, ink[["blue"]])
  draw_figure(axis_panel(
    whole_part, range(merged$n_clusters), range(merged$entropy, 0), "number of clusters",
    "entropy of assignments (nats)", title_of(look, "Entropy as clusters are merged"), {
      graphics::lines(merged$n_clusters, merged$entropy, type = "o", pch = 16, lwd = 2,
                      col = colour)
    }, ticks = "whole", note = if (look$key) "each time the two whose union lowers it most"
  ))
  merged
}

# Share of entropy: 0 for 0 and 1.
entropy_of <- function(prob) -ifelse(prob > 0, prob * log(prob), 0)

# data.frame(n_clusters, entropy, first, second): from all clusters of the fit to one, each time the
# two are merged that lower the entropy most; they are named by their first member.
merge_by_entropy <- function(fit) {
  prob <- scatter_slots(fit$selected, fit$prob_on, fit$model$n_latents)
  # Those who are sure have no part in it.
  is_unsure <- apply(prob, 1, max) < 1 - 1e-12
  weights <- if (is.null(fit$weights)) rep(1, sum(is_unsure)) else fit$weights[is_unsure]
  prob <- prob[is_unsure, , drop = FALSE]
  n <- ncol(prob)
  own <- colSums(weights * entropy_of(prob))
  gain <- matrix(-Inf, n, n)
  gain_with <- function(k, others) {
    own[k] + own[others] - colSums(weights * entropy_of(prob[, k] + prob[, others, drop = FALSE]))
  }
  for (k in seq_len(n)[-n]) gain[k, (k + 1):n] <- gain_with(k, (k + 1):n)
  left <- seq_len(n)
  steps <- data.frame(n_clusters = n:1, entropy = sum(own), first = NA_integer_,
                      second = NA_integer_)
  for (step in seq_len(n)[-1]) {
    pair <- arrayInd(which.max(gain), dim(gain))
    k <- pair[1]
    prob[, k] <- prob[, k] + prob[, pair[2]]
    left <- setdiff(left, pair[2])
    own[k] <- sum(weights * entropy_of(prob[, k]))
    gain[pair[2], ] <- gain[, pair[2]] <- -Inf
    others <- setdiff(left, k)
    new <- if (length(others) > 0) gain_with(k, others)
    gain[cbind(pmin(k, others), pmax(k, others))] <- new
    steps[step, c("entropy", "first", "second")] <- list(sum(own[left]), k, pair[2])
  }
  steps
}
