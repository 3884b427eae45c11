# How far the selection of a fit can be trusted, without a known truth.

#' Audit of the selection of a fit
#'
#' The E-step sums over the states of the selected latents alone. What it misses shows in an E-step
#' over all states, or where these are too many over those of many more latents: the audit takes
#' such steps for some data points and says how much of the posterior the selection has captured.
#'
#' @section What is measured:
#' For a data point \eqn{y} let \eqn{K} be the states of its selected latents and \eqn{R} those of
#' the reference, which has all of \eqn{K}.
#' * The mass that is captured is \eqn{\sum_{s \in K} p(s, y) / \sum_{s \in R} p(s, y)}{sum of p(s,
#'   y) over K / sum of p(s, y) over R}, in 0..1, and the gap of the bound minus its logarithm, in
#'   nats a point. Their means over the points are reported.
#' * Recall: of all pairs of a point and a latent whose probability in the reference is at least
#'   `probable`, the share in which the latent is selected; NA where there is none.
#' * Verdict: "green" where the mass is at least 0.95 and the recall at least 0.98; "red" where the
#'   mass is below 0.8 or the recall below 0.9; "amber" between.
#' * Ranking: mass, recall and verdict, by the same levels, of the `n_selected` latents that the
#'   selector ranks best, before screening and without what earlier iterations have left in the
#'   slots. It is red, too, where the leave-one-out \eqn{R^2}{R^2} is below 0.1. Where it is red and
#'   the verdict is not, the selection stands on screening and on its own history: the selector has
#'   not learned what is on. NULL where nothing is ranked or all latents are selected. What ranks by
#'   candidates, as neighbours do, selects no others.
#' * Rank correlation: Spearman's, of the affinities of the reference's latents and their
#'   probabilities, in each point; the mean over the points. Where a selector ranks by candidates it
#'   is over these alone, since all others have the affinity 0. NA for selectors that rank nothing,
#'   and where no point has two latents of different affinities.
#' * Leave-one-out \eqn{R^2}{R^2} of the regression of a learned selection, on the fit's own points:
#'   1 - the mean square of ⟨s⟩ less its leave-one-out prediction, in units of the variance of ⟨s⟩
#'   over the points, all latents together.
#'
#' The reference is over all states where there are at most 8192 (of mixtures 65536), and all
#' numbers are exact. Else each point has as many more latents as give so many states, those with
#' the largest gain in log joint, of all latents, beside nothing or beside what is probably on: the
#' selector has no say in it. Where that is too few, or the model's log joint has no closed form,
#' such states are sampled (400 sweeps), and the mass is the share of the draws that are in
#' \eqn{K}{K}. Unless all states are summed over, the selection may be worse than it seems. Where
#' latents have places and not all states are summed over, those added are of other components.
#'
#' @section Numbers of selected latents:
#' With `n_selected = 2:10`, say, the selection is made anew with each of these numbers, at the
#' fit's parameters, by its ranking and with its screen, and each is measured as above. This is what
#' `n_selected = "auto"` of [gps_fit()] does after a pilot. The object of class `gps_sizes` is a
#' list of `table`, a data frame with a row for each number: `n_selected`, `states` (how many a data
#' point then has), `mass`, `mass_error` (standard error of this mean), `gap`, `bound` (both in nats
#' a point: the mean of log sum p(s, y) over the states), `recall` and `reference`; `n_points`, how
#' many were looked at, `n_latents`, and `chosen` and `target`, which are NULL unless a fit has
#' chosen. [plot()] draws mass and bound against the number. As no fit is made, it is not said what
#' parameters would be learned by it.
#'
#' @param fit a fit, as made by [gps_fit()], that has kept its data and slots; with `y` neither is
#'   needed where the selector does without.
#' @param y NULL: the fit's own data points, with the latents that it selected; or new ones, for
#'   which they are selected as in [predict()].
#' @param n number of data points to look at, at least 1, all if there are no more; or "all".
#' @param probable probability from which on a latent counts as truly probable, in 0..1.
#' @param n_threads number of threads; NULL: see [gps_control()].
#' @param n_selected NULL; or numbers of selected latents to compare, distinct whole numbers in
#'   1..H (where latents have places 1..components).
#' @param ... nothing; an unknown argument is an error.
#' @return With `n_selected` an object of class `gps_sizes`, see the section on it; else of class
#'   `gps_audit`: a list of `verdict`, `mass`, `recall`, `gap`, `ranking`, `rank_correlation`,
#'   `loo_r2`, see "What is measured"; `never`, numbers of the latents (where these have places
#'   components), with their names if they have some, that are selected for none of the data points,
#'   without those that are out of the model; `reference`, a text, and `is_exact`; `points`, a data
#'   frame of `point`, `mass`, `gap`, `n_probable`, `n_found` and `correlation`; `curve`, a data
#'   frame with the recall that the best `n_selected` latents by affinity would have, or NULL; and
#'   `line`, a text. The points are the same ones in each call. [plot()] draws the captured mass of
#'   all points and the curve, `summary(fit, audit = )` shows the audit in one line.
#' @seealso [selection_recall()], where the truth is known; [check_gps_model()].
#' @concept diagnostics
#' @concept approximation error
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(200, value = 5)
#' fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, n_starts = 2))
#' audit <- gps_audit(fit, n = 50)
#' audit
#' plot(audit)
#' sizes <- gps_audit(fit, n = 50, n_selected = 2:8)
#' sizes
#' plot(sizes)
#' @export
gps_audit <- function(fit, y = NULL, n = 200, probable = 0.1, n_threads = NULL, n_selected = NULL,
                      ...) {
  refuse_unknown(further(...), names(formals(gps_audit)))
  need_given()
  fit <- check_fit(fit)
  if (is_number(y) && fit$model$n_dims > 1) {
    gps_abort(sprintf("`y` must be data, not %s. How many points to look at is `n`: n = %s.",
                      describe_value(y), format(y)))
  }
  n <- if (identical(n, "all")) .Machine$integer.max else check_count(n, "n")
  probable <- check_number(probable, "probable", 0, 1, open = TRUE)
  if (!is.null(n_threads)) n_threads <- check_count(n_threads, "n_threads")
  if (!is.null(n_selected)) n_selected <- check_selected_sizes(n_selected, fit)
  any_size <- !is.null(n_selected)
  case <- if (is.null(y)) own_points(fit, n, n_threads, any_size) else
    new_points(fit, y, n, n_threads, any_size)
  if (any_size) return(audit_sizes(fit, case, n_selected, probable))
  plan <- plan_reference(case$task)
  found <- with_memory(refer_points(case$task, fit$params, plan, case$selected),
                       "An audit of %s", plural(ncol(case$task$y), "data point"))
  pairs <- which(found$prob_on >= probable & found$slots > 0, arr.ind = TRUE)
  is_found <- is_in_slots(case$selected, pairs[, 2], found$slots[pairs])
  points <- data.frame(
    point = case$points, mass = found$mass, gap = found$gap,
    n_probable = tabulate(pairs[, 2], length(case$points)),
    n_found = tabulate(pairs[is_found, 2], length(case$points)),
    correlation = rank_correlations(case$affinity, found, isTRUE(case$task$selector$by_candidates))
  )
  mass <- mean(found$mass)
  recall <- if (nrow(pairs) > 0) mean(is_found) else NA_real_
  loo_r2 <- loo_share(fit, case)
  audit <- structure(
    list(verdict = audit_verdict(mass, recall), mass = mass, recall = recall,
         gap = mean(found$gap), ranking = judge_ranking(fit, case, probable, loo_r2),
         rank_correlation = mean_known(points$correlation),
         loo_r2 = loo_r2, never = never_selected(fit, case$all_selected),
         reference = plan$said, is_exact = plan$kind == "whole", probable = probable,
         n_selected = fit$n_selected, n_latents = fit$model$n_latents, n_points = fit$n_points,
         is_weighted = !is.null(fit$weights) && is.null(y), is_new = !is.null(y),
         bound = fit$bound, points = points,
         curve = recall_curve(case$affinity, pairs, found$slots)),
    class = "gps_audit"
  )
  audit$line <- audit_line(audit)
  audit
}

# list(task, points, selected, all_selected, affinity [H x n] or NULL, targets [H x n]):
# some of a fit's own points.
own_points <- function(fit, n, n_threads, any_size = FALSE) {
  all <- need_data(fit, "gps_audit() without `y`")
  slots <- need_slots(fit, "gps_audit() without `y`")
  points <- sample_points(fit, fit$n_points, n)
  if (!is.null(fit$weights)) {
    # Rows of weight 0 were not fitted.
    counted <- which(fit$weights > 0)
    points <- counted[sample_points(fit, length(counted), n)]
  }
  task <- new_prediction_task(fit, rows_data(all, points), "prob", n_threads, is_new = FALSE)
  affinity <- if (ranks_few(fit, length(points), any_size)) {
    t(unname(gps_affinity(fit$selector, fit, as_given(all), points)))
  }
  selected <- slots$selected[, points, drop = FALSE]
  list(task = task, points = points, selected = selected, all_selected = slots$selected,
       affinity = known_ranking(affinity),
       targets = if (!is.null(affinity)) {
         t(scatter_slots(selected, slots$prob_on[, points, drop = FALSE], fit$model$n_latents))
       })
}

# The same of new data.
new_points <- function(fit, y, n, n_threads, any_size = FALSE) {
  data <- read_newdata(fit, y, "y")
  points <- sample_points(fit, n_points(data$y), n)
  task <- new_prediction_task(fit, rows_data(data$y, points), "prob", n_threads)
  y <- task$y
  block <- whole_block(task)
  block$streams <- .Call(C_streams, y, block)
  state <- prediction_state(fit)
  selected <- infer_block(task, state, block, NULL)$selected
  attributes(selected) <- list(dim = dim(selected))
  affinity <- if (ranks_few(fit, length(points), any_size)) {
    inputs <- block_inputs(task$model, state$params, y, block)
    rank_answer(block_affinity(task$selector, task, state, block, inputs), fit$model$n_latents)
  }
  list(task = task, points = points, selected = selected, all_selected = selected,
       affinity = known_ranking(affinity))
}

# The same points in each call.
sample_points <- function(fit, n_all, n) {
  if (n >= n_all) return(seq_len(n_all))
  with_seed(fit$seed, audit_stream, sort(sample.int(n_all, n)))
}

audit_stream <- 4001

# Whether there is a ranking whose numbers may be held at once.
ranks_few <- function(fit, n, any_size = FALSE) {
  (any_size || !selects_all(fit)) &&
    as.double(n) * fit$model$n_latents <= most_affinities
}

# NULL of a selector that ranks nothing.
known_ranking <- function(affinity) {
  if (is.null(affinity) || anyNA(affinity) || all(affinity == affinity[1])) NULL else affinity
}

mean_known <- function(x) if (all(is.na(x))) NA_real_ else mean(x, na.rm = TRUE)

# How well the leave-one-out regression of a learned selection knows its targets.
loo_share <- function(fit, case) {
  is_learned <- inherits(fit$selector, "gps_selector_gp")
  if (!is_learned || is.null(case$targets) || is.null(case$affinity)) return(NA_real_)
  centred <- case$targets - rowMeans(case$targets)
  total <- sum(centred^2)
  if (total == 0) return(NA_real_)
  1 - sum((case$targets - case$affinity)^2) / total
}

# Latents, or components wherever they are, that are selected nowhere.
never_selected <- function(fit, selected) {
  choice <- choice_of(fit$model, selected)
  emptied <- emptied_latents(fit$model, fit$params)
  named_numbers(fit, setdiff(seq_len(count_choices(fit$model)), c(choice, emptied)))
}

#' @rdname gps_audit
#' @param x an audit from `gps_audit()`.
#' @param digits number of significant digits to print.
#' @export
print.gps_audit <- function(x, digits = 3, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_audit_sound(x), "x", "gps_audit()")
  show <- function(value, unit = "") {
    if (is.na(value)) "not known" else paste0(plain_number(value, digits), unit)
  }
  is_all <- nrow(x$points) == x$n_points && !x$is_new
  counted <- if (is_all) all_of else plural
  never <- utils::head(x$never, 10)
  lines <- c(
    Verdict = x$verdict,
    Points = paste0(
      counted(nrow(x$points), if (x$is_new) "new data point" else "data point"),
      if (!is_all && !x$is_new) sprintf(" of %d", x$n_points),
      if (isTRUE(x$is_weighted)) ", each counted once, whatever its weight"
    ),
    Reference = x$reference,
    Mass = sprintf("%s captured of the posterior, %s in the worst point", show(x$mass),
                   show(min(x$points$mass))),
    Recall = sprintf("%s of %s of a point and a latent with a probability of %s or more",
                     show(x$recall), plural(sum(x$points$n_probable), "pair"), show(x$probable)),
    Gap = show(x$gap, " nats a point"),
    Ranking = describe_ranking(x, show),
    Never = if (length(never) == 0) "every latent is selected for some point" else
      sprintf("%d selected for no point: %s%s", length(x$never),
              paste(shown_numbers(never), collapse = ", "),
              if (length(x$never) > 10) ", ..." else "")
  )
  say(sprintf("Audit of %d selected of %s", x$n_selected, plural(x$n_latents, "latent")))
  cat(format_lines(lines), sep = "")
  invisible(x)
}

describe_ranking <- function(audit, show) {
  alone <- audit$ranking
  by_itself <- if (!is.null(alone)) {
    sprintf("%s by itself: mass %s, recall %s; ", alone$verdict, show(alone$mass),
            show(alone$recall))
  }
  sprintf("%scorrelation %s; leave-one-out R^2 %s", paste0("", by_itself),
          show(audit$rank_correlation), show(audit$loo_r2))
}

is_audit_sound <- function(x) {
  numbers <- x[c("mass", "recall", "gap", "rank_correlation", "loo_r2", "probable", "n_points")]
  is.list(x) && is_one_of(x$verdict, c("green", "amber", "red")) && is.data.frame(x$points) &&
    all(vapply(numbers, function(value) is.numeric(value) && length(value) == 1, NA)) &&
    is.numeric(x$points$mass) && is.character(x$reference) &&
    (is.null(x$ranking) || is_ranking_sound(x$ranking))
}

is_ranking_sound <- function(x) {
  is.list(x) && is_one_of(x$verdict, c("green", "amber", "red")) && is_number(x$mass) &&
    is.numeric(x$recall) && length(x$recall) == 1
}

# "green: mass 0.985, recall 0.997 of 200 points (exact, ...)".
audit_line <- function(audit) {
  alone <- audit$ranking$verdict
  said <- if (is.null(alone) || alone == audit$verdict) "" else
    sprintf(" (ranking alone %s)", alone)
  sprintf("%s%s: mass %s, recall %s, gap %s nats a point (%s%s; %s)", audit$verdict,
          said,
          plain_number(audit$mass, 3), plain_number(audit$recall, 3), plain_number(audit$gap, 2),
          if (audit$is_new) "new data, " else "", plural(nrow(audit$points), "point"),
          audit$reference)
}
