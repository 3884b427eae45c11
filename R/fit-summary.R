# summary() of a fit: how much each component is used, which are dead or double, what was rescued,
# what was learned.

#' Summary of a fit
#'
#' @param object a fit, as made by [gps_fit()].
#' @param audit NULL, or an audit of this fit by [gps_audit()], which the summary then shows in a
#'   line.
#' @param bootstrap NULL, or a bootstrap of this fit by [gps_bootstrap()], whose standard errors and
#'   intervals of 95 % the summary then has.
#' @param x its summary.
#' @param digits number of significant digits to print.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return a list of class `summary.gps_fit` with
#' * `about`: what `print()` of the fit says, named character vector;
#' * `params`: data frame, one row a parameter: `parameter`, `shape`, `min`, `mean`, `max`;
#' * `usage`: H expected numbers of data points in which each component is on, each as often as its
#'   weight says (weights below 1 on average: divided by their mean);
#' * `classes`: of mixtures, else NULL: data frame of `cluster` (number or name), `points` (how
#'   many, counted as in `usage`, are most probably in it), `expected` (`usage`), `uncertainty`
#'   (mean over these points of 1 - the largest probability; NA where there are none);
#' * `dead`: numbers of the components used by less than one data point, with their names if they
#'   have some;
#' * `emptied`: numbers of the latents that are out of the model, see [gps_control()];
#' * `duplicates`: matrix of two columns, pairs of components that are nearly the same (|cosine| of
#'   at least 0.99, or clusters that overlap by a Bhattacharyya coefficient of at
#'   least 0.99; components with locations: cosine at the best shift above 0.9), none beyond 2000
#'   components, and of clusters with covariance matrices among the first 2000 pairs whose columns
#'   overlap;
#' * `degenerate`: why the likelihood has no maximum, see [gps_fit()]; `character()` where it has;
#' * `events`: data frame of floors, rescues, jitter and moves of components (see [gps_control()])
#'   in the trace: `event`, `iterations` (how many), `last` (iteration of the main run);
#' * `starts`: the table of short starts, or NULL; `kernel`: learned hyper-parameters of the
#'   selector's kernel, named, or NULL;
#' * `audit`: NULL, or the audit in one line;
#' * `intervals`: NULL, or the summary of the bootstrap, see there;
#' * `bound`, `df`, `nobs`, `aic`, `bic`, `mean_active` (expected number of latents on, a point).
#' @seealso [gps_fit()], [plot.gps_fit()], [gps_report()]
#' @examples
#' set.seed(1)
#' clusters <- simulate_clusters(90)
#' summary(gps_fit(clusters$y, model_gaussian_mixture(3), selector_full(),
#'                 control = gps_control(n_starts = 2)))
#' @export
summary.gps_fit <- function(object, audit = NULL, bootstrap = NULL, ...) {
  refuse_unknown(further(...), c("audit", "bootstrap"))
  object <- check_fit(object)
  if (!is.null(audit)) check_audit(audit, object)
  if (!is.null(bootstrap)) check_own_bootstrap(bootstrap, object)
  bound <- fit_bound(object)
  usage <- component_usage(object)
  emptied <- emptied_latents(object$model, object$params)
  structure(
    list(about = describe_fit(object), params = summarise_params(object$params), usage = usage,
         dead = named_numbers(object, setdiff(which(usage < 1), emptied)), emptied = emptied,
         classes = class_table(object, usage),
         duplicates = find_duplicates(object$params, object$model),
         degenerate = c(character(), object$standing$degenerate),
         events = summarise_events(object), starts = object$starts,
         kernel = exp_theta(object$kernel_theta), bound = object$bound, df = attr(bound, "df"),
         nobs = fit_weight(object), aic = stats::AIC(bound),
         bic = stats::BIC(bound), mean_active = sum(usage) / count_observations(object),
         by_prior = is.null(object$selected), audit = audit$line,
         intervals = if (!is.null(bootstrap)) summary(bootstrap)),
    class = "summary.gps_fit"
  )
}

# Clusters with their points, where a model has clusters and slots were kept.
class_table <- function(fit, usage) {
  if (!is_one_hot(fit) || is.null(fit$selected)) return(NULL)
  class <- most_probable_cluster(fit)
  points <- tabulate(class, fit$model$n_latents)
  weights <- observation_weights(fit)
  if (!is.null(weights)) points <- sum_by(weights, class, length(points))
  doubt <- weigh(doubt_of(fit$prob_on), weights)
  total <- sum_by(doubt, class, length(points))
  data.frame(cluster = names_of_latents(fit, seq_along(points)), points = points, expected = usage,
             uncertainty = ifelse(points > 0, total / points, NA))
}

# Sums of x for each class 1..n.
sum_by <- function(x, class, n) {
  vapply(split(x, factor(class, seq_len(n))), sum, 1, USE.NAMES = FALSE)
}

# An audit whose fit this is.
check_audit <- function(audit, fit) {
  if (is_number(audit)) {
    gps_abort("`audit` must be NULL or an audit from gps_audit(). print() takes `digits`.")
  }
  check_class(audit, "audit", "gps_audit", "NULL or an audit from gps_audit()")
  need_made(is_line(audit$line), "audit", "gps_audit()")
  is_own <- identical(audit$bound, fit$bound) && identical(audit$n_selected, fit$n_selected) &&
    identical(audit$n_points, fit$n_points)
  if (!is_own) gps_abort("`audit` is not of this fit: gps_audit(fit) makes it.")
}

# A bootstrap whose fit this is.
check_own_bootstrap <- function(bootstrap, fit) {
  check_class(bootstrap, "bootstrap", "gps_bootstrap", "NULL or a bootstrap from gps_bootstrap()")
  if (!identical(bootstrap$estimate, stats::coef(fit))) {
    gps_abort("`bootstrap` is not of this fit: gps_bootstrap(fit) makes it.")
  }
}

# Expected number of data points in which each latent (wherever it is) is on, from the slots; by
# the prior probability where a fit has not kept them.
component_usage <- function(fit) {
  if (is.null(fit$selected)) {
    return(count_observations(fit) * rep_len(fit$params$pi, count_choices(fit$model)))
  }
  slots <- need_slots(fit, "How much each component is used")
  slot_usage(fit$model, slots$selected, weigh_columns(slots$prob_on, observation_weights(fit)))
}

summarise_params <- function(params) {
  shape <- vapply(params, function(x) shown_dim(if (is.null(dim(x))) length(x) else dim(x)), "")
  part <- function(f) vapply(params, f, 1, USE.NAMES = FALSE)
  data.frame(parameter = names(params), shape = unname(shape), min = part(min), mean = part(mean),
             max = part(max))
}

# Floors, rescues and moves of the main run: in how many iterations, and when last.
summarise_events <- function(fit) {
  trace <- fit$trace[fit$trace$start == 0, ]
  found <- strsplit(trace$events, ", ", fixed = TRUE)
  event <- c(sub(" [0-9]+$", "", unlist(found)), rep("jitter", sum(trace$jitter > 0)))
  iteration <- c(rep(trace$iteration, lengths(found)), trace$iteration[trace$jitter > 0])
  names <- unique(event)
  data.frame(event = names,
             iterations = vapply(names, function(name) sum(event == name), 1L, USE.NAMES = FALSE),
             last = vapply(names, function(name) max(iteration[event == name]), 1L,
                           USE.NAMES = FALSE))
}

# Hyper-parameters from their logarithms, without "log_" in the names; NULL where there are none.
exp_theta <- function(theta) {
  if (!is.null(theta)) stats::setNames(exp(theta), sub("^log_", "", names(theta)))
}

# The first lines of a table of intervals, and where all of it is.
show_intervals <- function(table, digits, where = "summary(fit, bootstrap = )$intervals") {
  print(utils::head(table, 12), digits = digits, row.names = FALSE)
  if (nrow(table) > 12) {
    cat(sprintf("... and %d more: %s has all\n", nrow(table) - 12, where))
  }
}

is_summary_sound <- function(x) {
  numbers <- x[c("df", "aic", "bic", "mean_active")]
  is_table <- function(part) is.data.frame(part) && all(vapply(part, is.atomic, NA))
  is.list(x) && is.character(x$about) && length(names(x$about)) == length(x$about) &&
    all(vapply(numbers, is_number, NA)) && is_table(x$params) && is_table(x$events) &&
    (is.null(x$starts) || is_table(x$starts)) && (is.null(x$classes) || is_table(x$classes)) &&
    is.numeric(x$usage) && is.numeric(x$dead) &&
    is.numeric(x$duplicates) && ncol(x$duplicates) == 2 &&
    (is.null(x$kernel) || is.numeric(x$kernel)) &&
    (is.null(x$audit) || is.character(x$audit)) &&
    (is.null(x$intervals) || is_table(x$intervals)) &&
    (is.null(x$degenerate) || is.character(x$degenerate))
}

#' @rdname summary.gps_fit
#' @export
print.summary.gps_fit <- function(x, digits = 4, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_summary_sound(x), "x", "summary()")
  show <- function(values) plain_number(values, digits)
  say(fit_title)
  cat(format_lines(x$about), sep = "")
  cat(format_lines(c(Criteria = sprintf("df %d, AIC %s, BIC %s (by the bound)", as.integer(x$df),
                                        show(x$aic), show(x$bic)), Audit = x$audit)), sep = "")
  cat("\nParameters\n")
  print(x$params, digits = digits, row.names = FALSE)
  if (!is.null(x$intervals)) {
    cat("\nStandard errors and 95 % intervals by bootstrap\n")
    show_intervals(x$intervals, digits)
  }
  shown <- if (length(x$usage) <= 50) seq_along(x$usage) else utils::head(order(-x$usage), 20)
  title <- if (is.null(x$classes)) {
    sprintf("Expected number of points in which each component is on (%s a point%s)",
            show(x$mean_active), if (isTRUE(x$by_prior)) ", by `pi`" else "")
  } else {
    "Points by most probable cluster, expected points, mean uncertainty"
  }
  cat("\n")
  say(title)
  if (length(shown) < length(x$usage)) {
    say(sprintf("The 20 most used of %d; summary(fit)$%s has all:", length(x$usage),
                if (is.null(x$classes)) "usage" else "classes"))
  }
  if (is.null(x$classes)) {
    print(stats::setNames(round(x$usage[shown], 1), shown))
  } else {
    rounded <- x$classes
    # Weighted, neither is whole.
    rounded[c("points", "expected")] <- round(rounded[c("points", "expected")], 1)
    rounded$uncertainty <- signif(rounded$uncertainty, 3)
    print(rounded[shown, ], row.names = FALSE)
  }
  if (length(x$dead) > 0) {
    say(paste("Dead (less than one point):", paste(shown_numbers(x$dead), collapse = ", ")))
  }
  if (nrow(x$duplicates) > 0) {
    say(paste("Nearly the same:", pair_words(x$duplicates, x$classes$cluster)))
  }
  if (nrow(x$events) > 0) {
    cat("\n")
    say("Floors, rescues and moves in the main run")
    print(x$events, row.names = FALSE)
    say(explain_events(x$events$event))
  }
  if (!is.null(x$kernel)) {
    cat("\nKernel of the selector\n")
    print(noquote(vapply(x$kernel, format, "", digits = digits)), right = TRUE)
  }
  if (!is.null(x$starts)) {
    cat("\nShort starts\n")
    print(x$starts, digits = digits + 2, row.names = FALSE)
  }
  invisible(x)
}
