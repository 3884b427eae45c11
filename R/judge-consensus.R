# What the short starts of a fit agree about.

#' What the short starts of a fit agree about
#'
#' EM ends in a local optimum. Components that most short starts have found by themselves are in the
#' data; one that a single start has found may be an accident, or what the other starts missed: look
#' at how many reached the best bound.
#'
#' @section Matching:
#' Components of each start are matched one to one with those of the fit by the largest sum of
#' similarities, as in [gps_bootstrap()]: \eqn{|\cos|}{|cos|} between columns of `W`, or
#' \eqn{\exp(-d^2 / 2 v)}{exp(-d^2 / 2 v)} between centres of clusters at distance d, with the mean
#' square v of distances of the fit's own centres to their mean. A start has found a component where
#' the similarity is at least `threshold`. A short start has few iterations on a sample, and the fit
#' many on all data points, among them moves of components: so even the start that went on need not
#' have all components of the fit. A start has reached the best bound where its own is within 0.001
#' nats for each number of a data point of that.
#' @param fit a fit that has had short starts, by `gps_control(keep_starts = TRUE)`, of a model
#'   without locations, which has one start unless told otherwise.
#' @param threshold from which similarity on a component counts as found, in 0..1.
#' @param ... nothing; an unknown argument is an error.
#' @return a list of class `gps_consensus` with
#' * `components`, a data frame with a row for each component of the fit: `component` (number or
#'   name), `found` (in how many starts), `share` (of the starts), `found_by_best` (in how many of
#'   those that reached the best bound), `similarity` (median over the starts); NA where the latent
#'   is out of the model;
#' * `starts`, a data frame with a row for each start: `start`, `bound_per_point`, `chosen`,
#'   `reached` (the best bound), `found` (how many of the components);
#' * `similarity`, matrix components x starts; `permutation`, likewise, which component of a start
#'   stands for it; `threshold`.
#'
#'   `plot()` shows for each component the share of all starts that have found it, and of those
#'   that reached the best bound; it returns what it draws, invisibly.
#' @seealso [gps_fit()], [gps_bootstrap()], [match_components()]
#' @examples
#' set.seed(1)
#' y <- simulate_bars(300, value = 5)$y
#' fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 5,
#'                control = gps_control(max_iter = 20, keep_starts = TRUE))
#' agreed <- gps_consensus(fit)
#' agreed
#' plot(agreed)
#' @export
gps_consensus <- function(fit, threshold = 0.95, ...) {
  refuse_unknown(further(...), "threshold")
  need_given()
  fit <- check_fit(fit)
  threshold <- check_number(threshold, "threshold", 0, 1)
  params <- need_starts(fit)
  out <- emptied_latents(fit$model, fit$params)
  matches <- lapply(params, function(one) {
    assign_components(component_likeness(one, fit$params, fit$model), 0)
  })
  part <- function(name) {
    x <- vapply(matches, `[[`, matches[[1]][[name]], name)
    x <- matrix(x, fit$model$n_latents)
    x[out, ] <- NA
    x
  }
  similarity <- part("similarity")
  is_found <- similarity >= threshold
  starts <- fit$starts[c("start", "bound_per_point", "chosen")]
  starts$reached <- reach_best(starts, fit$model$n_dims)
  starts$found <- as.integer(colSums(is_found, na.rm = TRUE))
  components <- data.frame(
    component = names_of_latents(fit, seq_len(nrow(similarity))),
    found = as.integer(rowSums(is_found)), share = rowMeans(is_found),
    found_by_best = as.integer(rowSums(is_found[, starts$reached, drop = FALSE])),
    similarity = apply(similarity, 1, stats::median)
  )
  structure(list(components = components, starts = starts, similarity = similarity,
                 permutation = part("permutation"), threshold = threshold),
            class = "gps_consensus")
}

# The parameters at the end of each short start, as the model wants them.
need_starts <- function(fit) {
  refuse_places(fit$model, "gps_consensus()",
                ": a component may stand anywhere in its window")
  if (is.null(fit$starts)) {
    gps_abort(paste("gps_consensus() is of short starts, which this fit had none of:",
                    "gps_control(n_starts = 8, keep_starts = TRUE)."))
  }
  if (is.null(fit$start_params)) {
    gps_abort(paste("gps_consensus() needs the parameters of the short starts: refit with",
                    "gps_control(keep_starts = TRUE)."))
  }
  need_fit(is.list(fit$start_params) && length(fit$start_params) == nrow(fit$starts),
           "`start_params` are not those of its `starts`")
  lapply(fit$start_params, function(one) {
    check_all_params(fit$model, one, "fit$start_params")
  })
}

#' @rdname gps_consensus
#' @param x what `gps_consensus()` returned.
#' @param digits number of significant digits to print.
#' @export
print.gps_consensus <- function(x, digits = 3, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_consensus(x), "x", "gps_consensus()")
  table <- x$components
  known <- table[!is.na(table$found), ]
  n <- nrow(x$starts)
  lines <- c(
    Starts = sprintf("%d, of which %d reached the best bound", n, sum(x$starts$reached)),
    Components = sprintf(
      "%d of %d found by all starts, %d by most but not all, %d by half or fewer, %d by none",
      sum(known$found == n), nrow(known), sum(known$found > n / 2 & known$found < n),
      sum(known$found > 0 & known$found <= n / 2), sum(known$found == 0)
    )
  )
  cat(sprintf("What short starts agree about (similarity of at least %s)\n",
              plain_number(x$threshold, 4)), format_lines(lines), sep = "")
  rare <- utils::head(known[order(known$found, known$similarity), ], 12)
  if (nrow(rare) < nrow(known)) cat("The 12 that the fewest have found:\n")
  print(rare, digits = digits, row.names = FALSE)
  invisible(x)
}

is_consensus <- function(x) {
  is.list(x) && is.data.frame(x$components) && is.data.frame(x$starts) && is_number(x$threshold) &&
    all(c("component", "found", "share", "found_by_best", "similarity") %in% names(x$components)) &&
    all(c("start", "bound_per_point", "reached", "found") %in% names(x$starts)) &&
    is.logical(x$starts$reached) && is.numeric(x$components$found) &&
    is.matrix(x$similarity) && identical(dim(x$similarity), c(nrow(x$components), nrow(x$starts)))
}
