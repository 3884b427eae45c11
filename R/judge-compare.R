# Fits that differ by their selector alone, side by side.

#' Compare selectors
#'
#' Fits the same model to the same data with each of several selectors, from each of several seeds,
#' and puts side by side how good the fits are and what they cost: a selector is worth what its
#' bound costs in evaluations of the model and in seconds.
#'
#' @section What is counted:
#' `evaluations` are log joints of states that the model was asked for, a data point: gains in
#' screening (`gains`), and states of E-steps (`states`; where these are sampled, two for each slot
#' and sweep). Both include the short starts, in proportion to their rows. What a selector computes
#' without the model, such as a regression, shows in seconds alone. `evaluations_to` and
#' `seconds_to` are what a run needed until its bound was `target` for the first time, NA where it
#' was not.
#'
#' What fits warn of is said at the end, once for each kind, with the selectors and seeds that it is
#' of, unless all say the same.
#'
#' Seconds are of the short starts (`starts`), the iterations of the main run (`main`), those after
#' its explorers have stopped, if it had any (`polish`), and all else: reading data, choosing a
#' basis, repairs on trial (`rest`).
#' @param y data, as in [gps_fit()].
#' @param model a model, as made by a `model_*()` function.
#' @param selectors named list of selectors, as made by `selector_*()` functions or
#'   [new_gps_selector()].
#' @param seeds whole numbers: each fit is that of `set.seed(seed); gps_fit(...)`. The session's
#'   random numbers are put back.
#' @param n_selected,max_active,control as in [gps_fit()], the same for all but [selector_full()],
#'   which selects all.
#' @param truth NULL, or the true components as [match_components()] takes them.
#' @param latents NULL, or the true latents as [selection_recall()] takes them.
#' @param target a bound in nats a point; NULL: in each seed the lowest last bound, which all runs
#'   of it have reached.
#' @param audit_points data points of the audit of each fit, see [gps_audit()]; 0: none.
#' @param ... nothing; an unknown argument is an error.
#' @return An object of class `gps_comparison`: a list of `runs`, a data frame with one row for each
#'   selector and seed: `selector`, `seed`, `bound` and `bound_error` in nats a point, `recovery`
#'   (share of the true components that are found, in 0..1), `recall` (by `latents`, else that of
#'   the audit), `mass` and `verdict` of the audit, `iterations`, `gains`, `states`, `evaluations`,
#'   `evaluations_to`, `seconds`, `seconds_to`, `starts`, `main`, `polish`, `rest`, `degenerate`
#'   (whether the likelihood has no maximum, so that the bound means nothing, see [gps_fit()]), and
#'   `error`, the message of a fit that stopped, whose other columns are NA; `curves`, a data frame
#'   of `selector`, `seed`, `evaluations`, `seconds` and `bound` (a point) after each iteration of
#'   the main runs; and `table`, the means over seeds. `print()` shows the table, `plot()` the
#'   bound against evaluations and the seconds by phase.
#' @seealso [gps_audit()], [gps_compare()], which compares any fits of the same data
#' @examples
#' set.seed(1)
#' bars <- simulate_bars(150, size = 4)
#' compared <- compare_selectors(
#'   bars$y, model_binary_sparse(8),
#'   list(learned = selector_gp(), by_hand = selector_handcrafted(), random = selector_random()),
#'   seeds = 1, n_selected = 4, truth = bars, latents = bars$latents,
#'   control = gps_control(max_iter = 10, n_starts = 1, progress = FALSE)
#' )
#' compared
#' plot(compared)
#' @export
compare_selectors <- function(y, model, selectors, seeds = 1:3, n_selected = NULL,
                              max_active = NULL, control = gps_control(progress = FALSE),
                              truth = NULL, latents = NULL, target = NULL, audit_points = 100,
                              ...) {
  refuse_unknown(further(...), names(formals(compare_selectors)))
  need_given()
  model <- check_model(model)
  selectors <- check_selectors(selectors)
  seeds <- check_seeds(seeds)
  if (!is.null(target)) target <- check_number(target, "target")
  audit_points <- check_count(audit_points, "audit_points", 0)
  control <- check_control(control, "control")
  check_selection(n_selected, max_active)
  refuse_unscreened(selectors, control)
  # Data that are at fault are no matter of a selector.
  y <- blank_infinite(y, control$infinite)
  data <- keep_complete(read_data(y, may_miss = TRUE), control$missing)
  refuse_missing(data$y, model)
  latents <- latents_left(latents, data$omitted, n_points(data$y))
  runs <- heard <- list()
  for (seed in seeds) {
    for (name in names(selectors)) {
      told <- hear_warnings(run_selector(seed, function() {
        is_full <- inherits(selectors[[name]], "gps_selector_full")
        suppressWarnings(unless_interrupted(
          gps_fit(y, model, selectors[[name]], if (!is_full) n_selected, max_active, control)
        ), classes = "gps_warning_omitted")
      }, truth, latents, audit_points))
      one <- told$value
      heard <- c(heard, lapply(told$warned, list, selector = name, seed = seed))
      one$row <- c(list(selector = name, seed = seed), one$row)
      if (!is.null(one$curve)) one$curve <- data.frame(selector = name, seed = seed, one$curve)
      runs <- c(runs, list(one))
    }
  }
  table <- do.call(rbind, lapply(runs, function(one) as.data.frame(one$row)))
  if (!anyNA(table$error)) {
    gps_warn(sprintf("No fit came to its end. The first error: %s", table$error[1]),
             class = "stopped")
  }
  tell_runs(heard, length(runs))
  curves <- do.call(rbind, lapply(runs, `[[`, "curve"))
  table <- reach_bounds(table, curves, target)
  structure(list(runs = table, curves = curves, table = mean_runs(table, names(selectors))),
            class = "gps_comparison")
}

check_selectors <- function(selectors) {
  names <- names(selectors)
  is_named <- is.list(selectors) && !inherits(selectors, "gps_selector") && length(selectors) > 0 &&
    length(names) == length(selectors) && all(is_text(names) & nzchar(names)) &&
    anyDuplicated(names) == 0
  if (!is_named) {
    abort_value(selectors, "selectors", paste("a list of selectors with distinct names, such as",
                                              "list(gp = selector_gp(), all = selector_full())"),
                if (is.list(selectors) && is.null(names)) "Its elements have no names.")
  }
  for (name in names) {
    selectors[[name]] <- check_selector(selectors[[name]], paste0("selectors$", name))
  }
  selectors
}

# What no fit of any selector or number of latents takes; how many there are is up to each.
check_selection <- function(n_selected, max_active) {
  n_selected <- plain_numbers(n_selected)
  if (!is.null(n_selected) && !identical(n_selected, "auto") && !is_count(n_selected)) {
    abort_value(n_selected, "n_selected", "NULL, \"auto\" or a whole number of at least 1")
  }
  if (!is.null(max_active)) check_count(max_active, "max_active")
}

# A budget is of screening, which selector_full() never does.
refuse_unscreened <- function(selectors, control) {
  is_full <- vapply(selectors, inherits, NA, "gps_selector_full")
  if (is.null(control$budget) || !any(is_full)) return(invisible())
  gps_abort(sprintf(paste("`budget` limits what screening evaluates, and `selectors$%s` does not",
                          "screen: leave it out of the list, or `budget` NULL."),
                    names(selectors)[is_full][1]))
}

# True latents of the `n` data points that are left, where those of all were given. Those with
# places, in a table, name their data points by numbers.
latents_left <- function(latents, omitted, n) {
  if (length(omitted) > 0 && is.data.frame(latents) && is.numeric(latents$point)) {
    kept <- seq_len(n + length(omitted))[-omitted]
    latents <- latents[!latents$point %in% omitted, , drop = FALSE]
    # What is no data point stays one that is not there.
    latents$point <- match(latents$point, kept, nomatch = n + 1L)
    return(latents)
  }
  has_all <- length(omitted) > 0 && is.matrix(latents) && nrow(latents) == n + length(omitted)
  if (has_all) latents[-omitted, , drop = FALSE] else latents
}

check_seeds <- function(seeds) {
  is_whole <- is.numeric(seeds) && length(seeds) > 0 && all(is.finite(seeds)) &&
    all(seeds == round(seeds)) && all(abs(seeds) <= .Machine$integer.max) &&
    anyDuplicated(seeds) == 0
  if (!is_whole) abort_value(seeds, "seeds", "distinct whole numbers")
  as.integer(seeds)
}

# What was heard in so many fits, list(condition, selector, seed) each, once for each kind: as it
# was said where all fits say the same, else with the fits that it is of.
tell_runs <- function(heard, n_runs) {
  kind <- vapply(heard, function(one) {
    kind <- class(one[[1]])[1]
    if (kind == "gps_warning") conditionMessage(one[[1]]) else kind
  }, "")
  for (own in split(heard, factor(kind, unique(kind)))) {
    condition <- own[[1]][[1]]
    said <- unique(vapply(own, function(one) conditionMessage(one[[1]]), ""))
    if (length(said) > 1 || length(own) < n_runs) {
      condition$message <- sprintf(
        "%s%s: %s", describe_runs(vapply(own, `[[`, "", "selector"), vapply(own, `[[`, 1L, "seed")),
        if (length(said) > 1) "; the first of these says" else "", said[1]
      )
    }
    warning(condition)
  }
}

# "a (seeds 1, 2), b (seed 1)"
describe_runs <- function(selectors, seeds) {
  words <- lapply(split(seeds, factor(selectors, unique(selectors))), unique)
  paste(sprintf("%s (seed%s %s)", printable(names(words)), ifelse(lengths(words) > 1, "s", ""),
                vapply(words, paste, "", collapse = ", ")), collapse = ", ")
}

# list(row, curve) of one fit.
run_selector <- function(seed, make_fit, truth, latents, audit_points) {
  began <- elapsed()
  fit <- tryCatch(keep_stream({
    set.seed(seed)
    make_fit()
  }), gps_error = identity)
  seconds <- elapsed() - began
  if (inherits(fit, "gps_error")) {
    return(list(row = failed_run(conditionMessage(fit), seconds)))
  }
  curve <- cost_curve(fit)
  last <- utils::tail(curve, 1)
  audit <- if (audit_points > 0) gps_audit(fit, n = audit_points)
  value_of <- function(x) if (is.null(x)) NA_real_ else x
  recovery <- if (!is.null(truth)) mean(match_components(fit, truth)$matched)
  recall <- if (!is.null(latents)) selection_recall(fit, latents, truth = truth) else audit$recall
  phases <- phase_seconds(fit, seconds)
  row <- list(
    bound = fit$bound / fit$n_points, bound_error = fit$bound_error / fit$n_points,
    recovery = value_of(recovery), recall = value_of(recall), mass = value_of(audit$mass),
    verdict = if (is.null(audit)) NA_character_ else audit$verdict, iterations = fit$n_iter,
    gains = last$gains, states = last$states, evaluations = last$evaluations,
    evaluations_to = NA_real_, seconds = seconds, seconds_to = NA_real_
  )
  list(row = c(row, phases, list(degenerate = length(fit$standing$degenerate) > 0,
                                 error = NA_character_)),
       curve = curve[curve$start == 0, c("evaluations", "seconds", "bound")])
}

failed_run <- function(message, seconds) {
  none <- NA_real_
  list(bound = none, bound_error = none, recovery = none, recall = none, mass = none,
       verdict = NA_character_, iterations = NA_integer_, gains = none, states = none,
       evaluations = none, evaluations_to = none, seconds = seconds, seconds_to = none,
       starts = none, main = none, polish = none, rest = none, degenerate = NA, error = message)
}

# Costs after each iteration of a fit, a data point, in the order of the trace, whose starts have
# fewer rows.
cost_curve <- function(fit) {
  trace <- fit$trace
  share <- rep(1, nrow(trace))
  if (!is.null(fit$starts)) {
    rows <- fit$starts$rows[match(trace$start, fit$starts$start)]
    share[!is.na(rows)] <- rows[!is.na(rows)] / fit$n_points
  }
  n_states <- if (fit$method == "exact") {
    count_states(fit$model$rule, fit$n_selected, fit$max_active)
  } else {
    2 * sum(fit$control$sweeps) * fit$n_selected
  }
  gains <- cumsum(trace$evaluations * share)
  states <- cumsum(n_states * share)
  data.frame(start = trace$start, gains = gains, states = states, evaluations = gains + states,
             seconds = cumsum(trace$seconds), bound = trace$bound / fit$n_points)
}

phase_seconds <- function(fit, seconds) {
  trace <- fit$trace
  is_main <- trace$start == 0
  explores <- is_main & trace$explore > 0
  is_polish <- is_main & !explores & any(explores)
  phases <- list(starts = sum(trace$seconds[!is_main]),
                 main = sum(trace$seconds[is_main & !is_polish]),
                 polish = sum(trace$seconds[is_polish]))
  c(phases, list(rest = max(0, seconds - sum(unlist(phases)))))
}

# What each run needed for a bound, or for that which all of its seed have reached.
reach_bounds <- function(runs, curves, target) {
  for (i in which(!is.na(runs$bound))) {
    wanted <- if (is.null(target)) min(runs$bound[runs$seed == runs$seed[i]], na.rm = TRUE) else
      target
    own <- curves[curves$selector == runs$selector[i] & curves$seed == runs$seed[i], ]
    # The fit is the last iteration's, or of a later E-step that is no worse.
    is_reached <- own$bound >= wanted - 1e-9 * abs(wanted)
    is_reached[nrow(own)] <- is_reached[nrow(own)] || is.null(target)
    if (!any(is_reached)) next
    runs[i, c("evaluations_to", "seconds_to")] <-
      own[which(is_reached)[1], c("evaluations", "seconds")]
  }
  runs
}

mean_runs <- function(runs, names) {
  shown <- c("bound", "recovery", "recall", "mass", "evaluations", "evaluations_to", "seconds",
             "seconds_to", "starts", "main", "polish", "rest")
  rows <- lapply(names, function(name) {
    own <- runs[runs$selector == name, ]
    means <- lapply(own[shown], mean_known)
    known <- own$bound[!is.na(own$bound)]
    spread <- if (length(known) > 1) stats::sd(known) else NA_real_
    data.frame(selector = name, runs = length(known), means["bound"], spread = spread,
               means[shown[-1]])
  })
  do.call(rbind, rows)
}

#' @rdname compare_selectors
#' @param x a comparison from `compare_selectors()`.
#' @param digits number of significant digits to print.
#' @export
print.gps_comparison <- function(x, digits = 3, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_comparison_sound(x), "x", "compare_selectors()")
  table <- x$table
  say(sprintf("%s, means over %s; bounds and evaluations are a data point",
              plural(nrow(table), "selector"), plural(length(unique(x$runs$seed)), "seed")))
  known <- table[!vapply(table, function(column) all(is.na(column)), NA)]
  is_bound <- names(known) == "bound"
  known[is_bound] <- lapply(known[is_bound], plain_number, digits = digits + 3)
  for (part in comparison_parts) {
    cat(part$title)
    print(known[intersect(names(known), c("selector", part$columns))], digits = digits,
          row.names = FALSE)
  }
  endless <- x$runs[x$runs$degenerate %in% TRUE, ]
  if (nrow(endless) > 0) {
    say(sprintf("Degenerate, with a bound that floors make (see ?gps_fit): %s",
                describe_runs(endless$selector, endless$seed)))
  }
  failed <- x$runs[!is.na(x$runs$error), ]
  for (i in seq_len(nrow(failed))) {
    say(sprintf("%s, seed %d, stopped: %s", failed$selector[i], failed$seed[i],
                printable(failed$error[i])))
  }
  invisible(x)
}

comparison_parts <- list(
  list(title = "", columns = c("runs", "bound", "spread", "recovery", "recall", "mass")),
  list(title = "\nCost, in all and until the target was reached\n",
       columns = c("evaluations", "evaluations_to", "seconds", "seconds_to")),
  list(title = "\nSeconds by phase\n", columns = c("starts", "main", "polish", "rest"))
)

is_comparison_sound <- function(x) {
  is.list(x) && is.data.frame(x$runs) && is.data.frame(x$table) &&
    all(c("selector", "seed", "bound", "error") %in% names(x$runs)) &&
    all(c("selector", "bound", "seconds") %in% names(x$table))
}
