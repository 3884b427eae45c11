# The levels of an audit, and what the ranking of a selector is worth by itself, before screening.

audit_levels <- data.frame(verdict = c("green", "red"), mass = c(0.95, 0.8), recall = c(0.98, 0.9))

audit_verdict <- function(mass, recall) {
  if (is.na(recall)) recall <- 1
  if (mass < audit_levels$mass[2] || recall < audit_levels$recall[2]) return("red")
  if (mass >= audit_levels$mass[1] && recall >= audit_levels$recall[1]) "green" else "amber"
}

# A regression that explains less of its targets' variance than this has learned next to nothing,
# however many of the probable latents are among those that happen to come first.
least_r2 <- 0.1

# list(verdict, mass, recall) of the best latents by affinity alone; NULL where nothing is ranked.
judge_ranking <- function(fit, case, probable, loo_r2) {
  if (is.null(case$affinity) || selects_all(fit)) return(NULL)
  selected <- best_ranked(case$task, prediction_state(fit), case$affinity)
  found <- judge_selection(case$task, fit$params, selected, probable)
  verdict <- audit_verdict(found$mass, found$recall)
  if (isTRUE(loo_r2 < least_r2)) verdict <- "red"
  list(verdict = verdict, mass = found$mass, recall = found$recall)
}

# The best latents of each point before screening, slots x n; 0 where candidates are fewer.
best_ranked <- function(task, state, affinity) {
  task$selector["screen"] <- list(NULL)
  selected <- select_size(task, state, affinity)
  if (!isTRUE(task$selector$by_candidates)) return(selected)
  held <- selected > 0
  at <- cbind(selected[held], col(selected)[held])
  selected[held][affinity[at] == 0] <- 0L
  apply_columns(selected, function(slots) c(slots[slots > 0], slots[slots == 0]))
}

apply_columns <- function(x, f) matrix(apply(x, 2, f), nrow(x))

# Spearman's correlation in each point, over the latents of the reference; `of_candidates`: over
# those of them that are ranked at all.
rank_correlations <- function(affinity, found, of_candidates = FALSE) {
  n <- ncol(found$slots)
  if (is.null(affinity)) return(rep(NA_real_, n))
  vapply(seq_len(n), function(point) {
    held <- found$slots[, point] > 0
    x <- affinity[found$slots[held, point], point]
    y <- found$prob_on[held, point]
    if (of_candidates) {
      y <- y[x != 0]
      x <- x[x != 0]
    }
    if (length(unique(x)) < 2 || length(unique(y)) < 2) return(NA_real_)
    stats::cor(x, y, method = "spearman")
  }, 1)
}

# Recall of the best 1, 2, ... latents by affinity; equal ones count as the last of them.
recall_curve <- function(affinity, pairs, slots) {
  if (is.null(affinity) || nrow(pairs) == 0) return(NULL)
  place <- vapply(seq_len(nrow(pairs)), function(i) {
    at <- affinity[, pairs[i, 2]]
    sum(at >= at[slots[pairs[i, 1], pairs[i, 2]]])
  }, 1)
  n_latents <- nrow(affinity)
  data.frame(n_selected = seq_len(n_latents),
             recall = cumsum(tabulate(place, n_latents)) / nrow(pairs))
}
