# How many latents? The same model with several numbers of them, side by side.

#' Choose the number of latents
#'
#' Fits a model, or several, with each of some numbers of clusters or other latents, and chooses by
#' a criterion.
#'
#' @section Fits:
#' Every number is fitted from its own short starts as [gps_fit()] does it; with `warm`, also from
#' the fit with the next smaller number, to which a latent is added that mending may move, and,
#' once all are there, from the fit with the next larger number, less the latent that it can best do
#' without. The one with the largest bound counts. So a larger model is hardly ever the worse
#' one because its starts were unlucky, which is what spoils such a choice most often.
#'
#' @section Criteria:
#' `BIC` is that of [stats::BIC()], by the bound; `ICL` that of [icl()], for mixtures. *Smaller is
#' better* of both, as of R's own; package mclust has them times -1. Of numbers that differ by less
#' than 2 from the best the smallest is chosen, since that is no evidence (Raftery 1995, *Bayesian
#' model selection in social research*). `held-out` is the mean logarithm of the density of data
#' points (of the bound on it) that the fit has not seen, `share` of all, drawn once for all fits;
#' *larger is better*; the chosen model is fitted to all data points at the end, from where it is.
#' A fit whose likelihood has no maximum (see [gps_fit()]) is not chosen unless all are such: its
#' criterion is what floors make of it. Where all are such the choice means nothing: `print()` says
#' why, and there is the warning of class `gps_warning_degenerate` that [gps_fit()] gives.
#'
#' A fit that `max_iter` or a time limit has cut short can be behind others only because it had
#' less time: `status` says how each ended, a warning of class `gps_warning_unfinished` how many
#' were cut, and `print()` and `plot()` mark them. A choice at the end of the numbers on offer may
#' be one only because others were not offered: `print()` says so.
#'
#' Latents that mending has put out of the model are counted in no criterion; `used` says how many
#' are left.
#' @param y data, as in [gps_fit()], also a formula; for `"held-out"` in memory.
#' @param model a model, as made by a `model_*()` function of this package, whose number of latents
#'   does not matter; or a function that makes one of a number, such as `model_gaussian_mixture` or
#'   `function(k) model_custom(k, ...)`; or a named list of such, which are all compared.
#' @param n_latents numbers of latents, clusters or components: distinct whole numbers of at least
#'   1.
#' @param criterion "BIC", "ICL" or "held-out".
#' @param selector a selector; NULL: [selector_full()] for mixtures, [selector_handcrafted()] for
#'   other models with such a ranking, else [selector_gp()].
#' @param n_selected,max_active as in [gps_fit()]; a number of either that is too large for a model
#'   counts as all of its latents, and `max_active` above a given `n_selected` as that.
#' @param control see [gps_control()].
#' @param share of the data points that are held out, between 0 and 0.9.
#' @param warm FALSE: every number from its own starts alone, in about a third of the time.
#' @param weights as in [gps_fit()]; `held_out` is then a weighted mean.
#' @param ... `data`, a data frame, where `y` is a formula; else nothing: an unknown argument is an
#'   error.
#' @return a list of class `gps_choice` with `table`, a data frame with one row for each model and
#'   number: `model`, `n_latents`, `used`, `bound`, `df`, `BIC`, `ICL` (NA but for mixtures),
#'   `entropy` (sum over points of -sum_c p log p in nats, of mixtures), `held_out` (NA with other
#'   criteria), `start` ("own", "smaller", "larger": where the best fit began), `status`
#'   ("converged", or what cut it short: "max_iter" or "time_limit"), `degenerate`,
#'   `chosen`, `seconds` and `error` (the message of a fit that stopped); `n_latents` and `model`,
#'   the chosen ones; `fit`, the chosen fit, whose `call` is the call of [gps_fit()] for that number
#'   (with `warm` the fit may have begun elsewhere than such a call does); `criterion`. `print()`
#'   shows the table; `plot()` the criterion, or with `which = "entropy"` the entropy of the
#'   assignments, against the number. The entropy falls to near 0 where clusters can be told apart.
#' @seealso [gps_fit()], [icl()]
#' @concept number of clusters
#' @concept model selection
#' @concept information criterion
#' @examples
#' set.seed(1)
#' choice <- gps_choose(faithful, model_gaussian_mixture, 1:4,
#'                      control = gps_control(n_starts = 2, max_iter = 500, progress = FALSE))
#' choice
#' plot(choice)
#' coef(choice$fit)$mu
#' @export
gps_choose <- function(y, model, n_latents = 2:20, criterion = c("BIC", "ICL", "held-out"),
                       selector = NULL, n_selected = NULL, max_active = NULL,
                       control = gps_control(progress = FALSE), share = 0.25, warm = TRUE,
                       weights = NULL, ...) {
  need_given()
  refuse_called(substitute(model))
  extra <- further(...)
  if (inherits(y, "formula")) {
    weights <- beside_formula(weights, "weights")
    y <- read_formula(y, extra$data, list(model, n_latents), "gps_choose")
    extra["data"] <- NULL
  }
  if (is.character(y) && !is.null(extra$data)) refuse_text(y)
  refuse_unknown(extra, names(formals(gps_choose)), c("control", "selector", "sized"))
  criterion <- check_choice(criterion, "criterion", c("BIC", "ICL", "held-out"))
  models <- check_models(model)
  numbers <- sort(check_numbers(n_latents))
  if (missing(n_latents)) tell_own_numbers(models, numbers)
  control <- check_control(control)
  if (!is.null(selector)) check_selector(selector)
  check_selection(n_selected, max_active)
  y <- blank_infinite(y, control$infinite)
  warm <- check_flag(warm, "warm")
  split <- list(seen = y, weights = weights)
  if (criterion == "held-out") {
    share <- check_number(share, "share", 0, 0.9, open = TRUE)
    split <- split_data(y, share, weights, control$missing)
  }
  search <- list(y = split$seen, unseen = split$unseen, weights = split$weights,
                 unseen_weights = split$unseen_weights, criterion = criterion, selector = selector,
                 n_selected = n_selected, max_active = max_active, control = control, warm = warm,
                 heard = new.env())
  # How data may be meant is told once for all fits, before any of them stops at it.
  tell_opacity(y)
  is_doubted <- tell_reading(y)
  check_search(search, models, numbers)
  rows <- unlist(lapply(names(models), function(name) {
    search_numbers(search, models[[name]], name, numbers)
  }), recursive = FALSE)
  chosen <- choose_row(rows, criterion)
  table <- do.call(rbind, lapply(rows, function(one) as.data.frame(one$row)))
  table$chosen <- seq_along(rows) == chosen
  fit <- rows[[chosen]]$fit
  if (criterion == "held-out") fit <- fit_to_all(search, fit, y, weights)
  fit["call"] <- list(chosen_call(match.call(), fit, model, table$model[chosen], list(
    selector = selector, n_selected = given_selected(search, fit$model, fit$selector),
    max_active = given_active(search, fit$model, fit$selector)
  )))
  tell_search(table, search$heard, fit, is_doubted)
  structure(list(table = table, n_latents = table$n_latents[chosen], model = table$model[chosen],
                 fit = fit, criterion = criterion), class = "gps_choice")
}

# The chosen fit, gone on with where no data points are held out.
fit_to_all <- function(search, fit, y, weights) {
  quietly(unless_interrupted(gps_fit(
    y, fit$model, fit$selector, given_selected(search, fit$model), given_active(search, fit$model),
    search$control, start = stats::coef(fit), weights = weights
  )))
}

# Models by name; one without a name has that of its constructor.
check_models <- function(model) {
  is_one <- is.function(model) || inherits(model, "gps_model")
  models <- if (is_one) list(model) else model
  is_list <- is.list(models) && length(models) > 0 && !is.object(models)
  if (!is_list) refuse_models(model)
  if (is_one) names(models) <- if (is.function(model)) "model" else model$name
  is_named <- !is.null(names(models)) && all(nzchar(names(models))) &&
    anyDuplicated(names(models)) == 0
  if (!is_named) {
    gps_abort(paste("The list `model` must have a name for each model, no two alike:",
                    "list(first = , second = )."))
  }
  for (name in names(models)) check_sizable(models[[name]])
  models
}

# Who gives models of several numbers, and no numbers, hardly means all those of the default.
tell_own_numbers <- function(models, numbers) {
  sized <- Filter(function(model) !is.function(model), models)
  own <- unique(vapply(sized, count_choices, 1))
  if (length(own) < 2) return(invisible())
  gps_warn(sprintf(paste("The models' own numbers do not count: each is fitted with %d to %d.",
                         "n_latents = c(%s) takes theirs, for each model; gps_compare() compares",
                         "fits of models as they are."), min(numbers), max(numbers),
                   paste(sort(own), collapse = ", ")), class = "numbers")
}

# A constructor of ours that is called without the number it needs.
refuse_called <- function(code) {
  is_bare <- is.call(code) && length(code) == 1 && is.name(code[[1]])
  if (!is_bare) return(invisible())
  name <- as.character(code[[1]])
  if (startsWith(name, "model_") && is_exported(name)) {
    gps_abort(sprintf("`model` is the function itself here, without parentheses: %s.", name))
  }
}

# What stands in the place of models.
refuse_models <- function(model) {
  form <- if (is_one_of(model, names(value_synonyms))) value_synonyms[[model]] else model
  hint <- if (is_one_of(form, c("full", "diagonal", "spherical", "tied"))) {
    sprintf(" That is function(k) model_gaussian_mixture(k, %s).", quoted(form))
  } else if (is.numeric(model)) {
    " The numbers come third: gps_choose(y, model_gaussian_mixture, 2:4)."
  } else {
    " One is model_gaussian_mixture, without quotes and parentheses."
  }
  gps_abort(sprintf("`model` must be %s, not %s.%s",
                    "a model, a function that makes one, or a list of such",
                    describe_value(model), hint))
}

check_numbers <- function(n_latents) {
  is_sound <- is.numeric(n_latents) && length(n_latents) > 0 && all(is.finite(n_latents)) &&
    all(n_latents == round(n_latents)) && all(n_latents >= 1) && all(n_latents < 2^31) &&
    anyDuplicated(n_latents) == 0
  if (!is_sound) {
    bad <- if (is.numeric(n_latents)) {
      n_latents[duplicated(n_latents) | !vapply(n_latents, is_count, NA)]
    }
    given <- if (length(bad) == 0) {
      describe_value(n_latents)
    } else {
      paste(given_number(bad[1]), if (sum(n_latents %in% bad[1]) > 1) "twice" else "among them")
    }
    gps_abort(sprintf("`n_latents` must be distinct whole numbers of at least 1, not %s.", given))
  }
  as.integer(n_latents)
}

# What can be refused before a fit.
check_search <- function(search, models, numbers) {
  if (isFALSE(search$control$keep_slots)) {
    gps_abort("gps_choose() needs the slots of its fits: gps_control(keep_slots = TRUE).")
  }
  data <- read_data(search$y, may_miss = TRUE)
  keep_complete(data, search$control$missing)
  check_weights(search$weights, n_points(data$y))
  for (model in models) {
    largest <- resize_model(model, max(numbers))
    is_one_hot <- largest$rule$min_active == 1
    if (search$criterion == "ICL" && !is_one_hot) {
      gps_abort("`criterion` = \"ICL\" is for mixtures, of which one cluster is on in each point.")
    }
    if (is_one_hot && max(numbers) > n_points(data$y)) {
      gps_abort(sprintf("`n_latents` must be at most the number of data points, %.0f, not %d.",
                        n_points(data$y), max(numbers)))
    }
  }
  invisible(search)
}

# list(seen, unseen, weights, unseen_weights) of the rows of data in memory. Of rows with weights
# both parts have some that count, and neither has rows that `missing` leaves out: a warning
# names these by their numbers among all.
split_data <- function(y, share, weights = NULL, missing = "allow") {
  if (is_source(y)) gps_abort("`criterion` = \"held-out\" needs data in memory, not a source.")
  n <- if (is.list(y) && is.null(dim(y))) length(y) else nrow(y)
  if (is.null(n)) gps_abort("`y` has too few data points to hold some out.")
  weights <- check_weights(weights, n)
  left <- seq_len(n)
  if (missing != "allow") {
    left <- setdiff(left, keep_complete(read_data(y, may_miss = TRUE), missing)$omitted)
  }
  n_unseen <- max(1, round(share * length(left)))
  if (length(left) <= n_unseen) gps_abort("`y` has too few data points to hold some out.")
  rows <- left[sort(sample.int(length(left), n_unseen))]
  seen <- setdiff(left, rows)
  if (!is.null(weights) && min(sum(weights[rows]), sum(weights[seen])) == 0) {
    gps_abort("`weights`: too few data points have a weight above 0 to hold some of them out.")
  }
  list(seen = take_rows(y, seen), unseen = take_rows(y, rows), weights = weights[seen],
       unseen_weights = weights[rows])
}

take_rows <- function(y, rows) {
  if (is.null(dim(y))) return(y[rows])
  if (length(dim(y)) == 2) return(y[rows, , drop = FALSE])
  take_along(y, 1, rows)
}

# The rows of one model: list(row, fit) for each number.
search_numbers <- function(search, model, name, numbers) {
  fits <- list()
  for (k in seq_along(numbers)) {
    began <- elapsed()
    sized <- resize_model(model, numbers[k])
    fit <- try_fit(search, sized, NULL)
    start <- "own"
    if (search$warm && k > 1) {
      better <- warm_fit(search, sized, fits[[k - 1]]$fit, fit)
      if (!is.null(better)) start <- "smaller"
      if (!is.null(better)) fit <- better
    }
    fits[[k]] <- list(fit = fit, start = start, seconds = elapsed() - began)
  }
  for (k in rev(seq_along(numbers)[-length(numbers)])) {
    if (!search$warm) break
    began <- elapsed()
    better <- warm_fit(search, resize_model(model, numbers[k]), fits[[k + 1]]$fit, fits[[k]]$fit)
    if (!is.null(better)) fits[[k]][c("fit", "start")] <- list(better, "larger")
    fits[[k]]$seconds <- fits[[k]]$seconds + elapsed() - began
  }
  Map(function(one, number) describe_number(search, one, name, number), fits, numbers)
}

# A fit, or the error that stopped it. What is to be said of each fit stands in the table.
try_fit <- function(search, model, start) {
  selector <- search$selector
  if (is.null(selector)) {
    selector <- if (model$rule$min_active == 1) selector_full() else
      if (has_ranking(model)) selector_handcrafted() else selector_gp()
  }
  fit <- function() {
    gps_fit(search$y, model, selector, given_selected(search, model, selector),
            given_active(search, model, selector), search$control, start, search$weights)
  }
  listening <- function() {
    withCallingHandlers(unless_interrupted(fit()), gps_warning = function(condition) {
      for (kind in intersect(class(condition), heard_warnings)) search$heard[[kind]] <- condition
    })
  }
  tryCatch(quietly(listening()), gps_error = identity)
}

quietly <- function(code) suppressWarnings(code, classes = "gps_warning")

# The number of selected latents that a model can have; NULL where all are selected anyway.
given_selected <- function(search, model, selector = search$selector) {
  if (is.null(search$n_selected) || inherits(selector, "gps_selector_full")) return(NULL)
  if (identical(search$n_selected, "auto")) return("auto")
  min(search$n_selected, count_choices(model))
}

# The number of latents on at once that a model can have. One cluster is on whatever their number,
# so of mixtures any other is refused for all of them.
given_active <- function(search, model, selector = search$selector) {
  max_active <- search$max_active
  if (!is_number(max_active) || model$rule$max_active == 1) return(max_active)
  selected <- given_selected(search, model, selector)
  min(max_active, count_choices(model), if (is_number(selected)) selected)
}

# The fit from the parameters of `other`, where it is better than `fit`, else NULL.
warm_fit <- function(search, model, other, fit) {
  if (inherits(other, "gps_error")) return(NULL)
  params <- resized_params(other, model$n_latents)
  if (is.null(params)) return(NULL)
  new <- try_fit(search, model, params)
  if (inherits(new, "gps_error")) return(NULL)
  is_better <- inherits(fit, "gps_error") || is_sounder(new, fit)
  if (is_better) new
}

# Whether a fit is better than another. A likelihood without a maximum is larger than any, and no
# reason to leave one that has a maximum.
is_sounder <- function(fit, other) {
  flaws <- c(length(fit$standing$degenerate), length(other$standing$degenerate)) > 0
  fit$bound > other$bound && !(flaws[1] && !flaws[2])
}

# list(row, fit) of one number of latents.
describe_number <- function(search, one, name, number) {
  fit <- one$fit
  none <- NA_real_
  row <- list(model = name, n_latents = number, used = NA_integer_, bound = none, df = none,
              BIC = none, ICL = none, entropy = none, held_out = none, start = one$start,
              status = NA_character_, degenerate = NA, seconds = one$seconds, error = NA_character_)
  if (inherits(fit, "gps_error")) {
    row$error <- conditionMessage(fit)
    return(list(row = row, fit = NULL))
  }
  bound <- fit_bound(fit)
  used <- if (chooses_latents(fit$model)) n_left(fit$model, fit$params) else number
  row[c("used", "bound", "df", "BIC", "status", "degenerate")] <-
    list(as.integer(used), fit$bound, attr(bound, "df"), stats::BIC(bound), fit$status,
         length(fit$standing$degenerate) > 0)
  if (is_one_hot(fit)) {
    row$ICL <- fit_icl(fit, bound)
    disorder <- ifelse(fit$prob_on > 0, -fit$prob_on * log(fit$prob_on), 0)
    row$entropy <- sum(weigh_columns(disorder, fit$weights))
  }
  if (!is.null(search$unseen)) {
    row$held_out <- mean_of(stats::predict(fit, search$unseen, type = "loglik"),
                            search$unseen_weights)
  }
  list(row = row, fit = fit)
}

# Differences of BIC and ICL below this are no evidence.
no_evidence <- 2

# The number of the chosen row.
choose_row <- function(rows, criterion) {
  value_of <- function(name) vapply(rows, function(one) as.numeric(one$row[[name]]), 1)
  column <- c(BIC = "BIC", ICL = "ICL", `held-out` = "held_out")[[criterion]]
  score <- value_of(column) * (if (criterion == "held-out") -1 else 1)
  if (all(is.na(score))) {
    gps_abort(sprintf("No fit came to its end. The first error: %s", rows[[1]]$row$error), "model")
  }
  is_sound <- !is.na(score) & !value_of("degenerate") %in% 1
  if (!any(is_sound)) is_sound <- !is.na(score)
  score[!is_sound] <- Inf
  margin <- if (criterion == "held-out") 0 else no_evidence
  near <- which(score <= min(score) + margin)
  near[order(value_of("df")[near])[1]]
}
