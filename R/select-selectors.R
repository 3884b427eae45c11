# Selectors: who ranks the latents of a data point. The learned one regresses last iteration's
# posterior means on the data (section 4 of the paper).

#' Selectors
#'
#' A selector gives each latent of a data point an affinity; the `n_selected` best may be on in the
#' E-step.
#'
#' `selector_gp()` is the paper's: a Gaussian process regresses the posterior means of the last
#' iteration on the data, and its leave-one-out prediction is the affinity (equation 5). Its
#' hyper-parameters are shared by all latents and learned by maximum marginal likelihood every
#' `refit_every` iterations, as soon as the targets carry a signal; a refit that cannot begin is
#' skipped and counted among the events of the trace ("refit_skipped"). Hyper-parameters under which
#' leave-one-out explains nothing any more go back to where they began before the next refit. A
#' kernel without a white
#' term gets one, since the kernel matrix would be singular otherwise. For models whose latents lie
#' on a grid, the variance of a linear term begins in units of the data's mean squared norm, and
#' refits are to the smoothed expectations. `selector_handcrafted()` uses the
#' affinity that the model's author designed, `selector_full()` selects all latents (exact EM; an
#' error for models whose latents lie on a grid, where a state holds one place of each component),
#' `selector_random()` any (a control), and `selector_custom()` those with the largest values of a
#' function of yours.
#'
#' @param kernel a kernel, see [kernel_rbf()].
#' @param method how the Gaussian process is computed, see the section below. "auto": "exact" up to
#'   2000 data points, and for kernels of linear, bias and white terms, whose cost is linear in the
#'   number of points anyway; "neighbours" for more points and a mixture; else "ichol", and for up
#'   to 2000 points in minibatches. Where ranking by neighbours would take less time than "ichol"
#'   does, which depends on the numbers of points, dimensions and latents, and `rank` is NULL, both
#'   are compared early in the main run: of the latents that are on in 128 data points (by the
#'   posterior over many more latents than are selected) the share that is among the `n_selected`
#'   best. "neighbours" takes over if its share is no smaller; data with missing cells, sources and
#'   minibatches stay with "ichol". Of more than 2000 points all clusters are selected where that
#'   takes less time than learning to select some, by a count of what the computer does for each,
#'   and neither `n_selected` nor `screen` is given; then `gp` of the fit says what selection would
#'   have been by. A fit's print() says which.
#' @param rank size of the approximation, a whole number of at least 1: number of basis functions of
#'   "ichol" and "inducing" (at most the number of points), of random features of "fourier" (even),
#'   of data points of a block of "divide", of neighbours of a data point of "neighbours". NULL:
#'   200, 500 for "divide" and 20 for "neighbours".
#' @param refit_every EM iterations between refits, T* in the paper, a whole number of at least 1;
#'   with "neighbours", whose ranking depends little on the kernel, twice as many after each.
#' @param refit_evals most evaluations of the marginal likelihood a refit, a whole number of at
#'   least 1.
#' @param refit_rows most data points for a refit, sampled anew each time; at least 10. Predictions
#'   use all points.
#' @param explore share of the slots given to random latents, in \[0, 1\]; on average exact for any
#'   `n_selected`.
#' @param smooth standard deviation in grid cells, 0 to 100, of a Gaussian blur of the predictions
#'   over neighbouring positions, cut off at three standard deviations; 0: none; NULL: the model's
#'   default. A number above 0 is an error for models whose latents lie on no grid.
#' @param screen a [gps_screen()]: the model chooses among candidates; FALSE: no screening, as in
#'   the paper; NULL: `gps_screen()`, with its defaults for the model. Models of sparse coding then
#'   look at all latents where these are few, so that the ranking matters where they are many.
#'   `selector_full()`, `selector_random()` and `selector_custom()` never screen.
#' @param objective for "inducing": "vfe", variational free energy; "fitc", fully independent
#'   training conditional; "dtc", deterministic training conditional. See [gp_fit()].
#' @param learn_inputs TRUE: refits of "inducing" move the inducing inputs too; FALSE: they are data
#'   points chosen by incomplete Cholesky.
#' @param cross for "divide": TRUE: a point's prediction is the mean of the predictions from all
#'   blocks, its own leaving it out; FALSE: its own block's alone.
#' @param index for "neighbours": TRUE: they are sought by an index; FALSE: exactly; NULL: by an
#'   index where the search would take more than 2^31 distances. See the section on the search.
#' @param affinity function of `(params, y)`, `y` n x D, that returns n x H affinities; with `learn`
#'   it gets the memory as third argument. One with a fourth, `rows`, gets the numbers of these
#'   points among those that `learn` saw last, which it needs to leave each out when that is ranked
#'   itself, and NULL for new data.
#' @param learn function of `(params, y, expectations)`, called after each E-step with the n x H
#'   posterior means; its value is the memory.
#' @param ... nothing; an unknown argument is an error that says which there are.
#'
#' @section Many data points:
#' "exact" takes time and memory that grow with the cube and the square of the number of points. The
#' others approximate the kernel. "ichol" is incomplete Cholesky factorisation, whose basis are data
#' points chosen one after the other where the approximation is worst; its mean residual counts as
#' noise. "inducing" has inducing inputs, "fourier" random Fourier features with exact linear and
#' bias terms: all three need sums over the data only, which are gathered in the same pass as the
#' E-step, so that time and memory grow linearly. Hyper-parameters are learned on `refit_rows`
#' sampled points: exactly up to 1000 of them, by the approximation's own objective on more. The
#' basis is chosen anew after each refit. "divide" fits exact processes to random blocks; it keeps
#' affinities of all points, of up to 2^27 numbers. [gp_fit()] has formulas and references.
#' @section Many latents:
#' "neighbours" ranks at a cost that does not grow with the number of latents: the latents of a data
#' point that count are those that its `rank` nearest points have in their slots, \eqn{\sum_j w_{nj}
#' \langle s_h\rangle_j}{sum_j w_nj <s_h>_j} is the affinity, and that of all others is 0.
#' Neighbours are sought once a fit, and again where the scales of columns have moved much; weights
#' are made after each refit. It suits data that lie in
#' clusters. Where points that share several causes are rare, as with large dictionaries, nothing
#' tells from few neighbours what a linear kernel tells from all points. It needs a kernel with a
#' term that falls with distance. Of latents with places ([model_occlusive()]) the posterior means
#' of the neighbours are smoothed by `smooth` before they are summed, which is the same as smoothing
#' the predictions.
#'
#' Sources of at most 2^25 numbers (256 MB) are read as a whole for the search. Of larger ones a
#' thinned set of references is held, as many data points as fit into that, and at least ten for
#' each latent; among them are all seeds of clusters. Neighbours of every point are among them
#' (`gp$refs` of the fit has their numbers). Neighbours and weights of all points, 12 bytes times
#' `rank` a point, are in memory. In minibatches neighbours are sought among all points, too, and a
#' batch is ranked by the posterior that they had when their own batch was last visited; the kernel
#' is refitted between passes.
#' @section Search:
#' Up to 46,340 points neighbours are sought exactly, in time that grows with the square of their
#' number (about half a second for 20,000 points in 16 dimensions on one core). An index serves
#' more: points are sorted into \eqn{2\sqrt{N}}{2 sqrt(N)} cells about means of sampled points (four
#' of Lloyd's iterations), and each is compared exactly with the points of the cells whose means are
#' nearest to it. How many cells is settled by recall: of 256 points evenly spaced among all, 98 %
#' of the true neighbours must be found; where that takes more than a quarter of the cells, the
#' search is exact. `print()` of a fit says that there was an index, and with what recall, which is
#' `gp$index$recall`; a fit of more than 8191 points also keeps one for new data (four bytes a
#' point). Nothing is random: the index and what it finds are the same for any number of threads.
#' But other orders of the points make other cells; with `index = FALSE` the order does not matter.
#' @section Units:
#' What `selector_gp()` ranks does not depend on the data's unit: its kernel sees
#' \eqn{(y - c) / s}{(y - c) / s}. For [model_gaussian_mixture()] \eqn{c} are the medians of the
#' columns, and with full and diagonal covariances \eqn{s} is a spread for each column (quartiles'
#' distance over 1.35), so that each column may be in a unit of its own. For spherical covariances
#' \eqn{s} is one number, and for all other models, which have no mean and one noise variance,
#' \eqn{c} is 0 as well: \eqn{s} is the root mean square of the median data point. Both are made
#' from quantiles, which one far value hardly moves, of at most 5000 rows, and kept in the fit as
#' `gp$units` (`centre`, `scale`). Values \eqn{x} more than 64 scales from 0 are drawn nearer, to
#' \eqn{64 + 8 \log(|x| / 64)}{64 + 8 log(|x| / 64)} with their sign, so that no far value outweighs
#' all others in a linear term. Lengthscales left `NULL` are the median distance of data so
#' divided, and a linear term's variance left out is 1 there; a lengthscale, or a linear term's
#' variance, that is given is in the data's own units, and converted. As one number for all columns
#' (`ard = FALSE`) it says that these have one unit, which a mixture's columns then share. The
#' hyper-parameters in `kernel_theta` and `kernel_trace` of a fit are those of the divided data:
#' multiply lengthscales by the scale to have them in the data's unit.
#' @return a list of class `gps_selector`.
#' @seealso [gps_fit()], [gps_screen()], [kernels], [compare_selectors()]
#' @concept variable selection
#' @concept preselection
#' @concept truncated inference
#' @examples
#' set.seed(1)
#' y <- simulate_bars(100, size = 4, value = 5)$y
#' bound <- function(selector) {
#'   gps_fit(y, model_binary_sparse(8), selector, n_selected = 4,
#'           control = gps_control(n_starts = 2, max_iter = 20))$bound
#' }
#' bound(selector_gp(kernel_rbf(), refit_every = 5))
#' bound(selector_custom(function(params, y) y %*% params$W))
#' bound(selector_random())
#' @name selector
NULL

new_selector <- function(kind, label, explore = 0, screen = FALSE, ...) {
  structure(list(label = label, explore = explore, screen = check_screen(screen), ...),
            class = c(paste0("gps_selector_", kind), "gps_selector"))
}

#' @rdname selector
#' @export
selector_gp <- function(kernel = kernel_composition(),
                        method = "auto", rank = NULL, refit_every = 10, refit_evals = 20,
                        refit_rows = 500, explore = 0.1, smooth = NULL, screen = NULL,
                        objective = c("vfe", "fitc", "dtc"), learn_inputs = FALSE,
                        cross = TRUE, index = NULL, ...) {
  refuse_unknown(further(...), names(formals(selector_gp)), pages = "selector_gp")
  kernel <- check_kernel(kernel, "kernel")
  method <- check_choice(method, "method", unique(c("auto", gp_methods)))
  # A selector that is made anew of its parts has the usual objective whatever its method.
  if (identical(objective, objectives[1])) objective <- objectives
  options <- check_engine_options(method, rank, objective, learn_inputs, cross, index)
  if (!is.null(rank)) rank <- check_count(rank, "rank")
  if (!is.null(rank) && isTRUE(engines[[method]]$even)) check_even(rank)
  if (!is.null(smooth)) smooth <- check_number(smooth, "smooth", 0, 100)
  if (!has_white(kernel)) kernel <- kernel + kernel_white()
  new_selector("gp", "learned by a Gaussian process", check_number(explore, "explore", 0, 1),
               screen, kernel = kernel, method = method, rank = rank,
               objective = options$objective, learn_inputs = options$learn_inputs,
               cross = options$cross, index = options$index,
               refit_every = check_count(refit_every, "refit_every"),
               refit_evals = check_count(refit_evals, "refit_evals"),
               refit_rows = check_count(refit_rows, "refit_rows", 10), smooth = smooth)
}

#' @rdname selector
#' @export
selector_handcrafted <- function(screen = NULL, ...) {
  refuse_unknown(further(...), names(formals(selector_handcrafted)))
  new_selector("handcrafted", "hand-crafted", screen = screen)
}

#' @rdname selector
#' @export
selector_full <- function(...) {
  refuse_unknown(further(...), character(),
                 otherwise = "It selects all latents of every data point.")
  new_selector("full", "all latents")
}

#' @rdname selector
#' @export
selector_random <- function(...) {
  refuse_unknown(further(...), character(),
                 otherwise = "`n_selected` of gps_fit() says how many latents are selected.")
  new_selector("random", "random")
}

#' @rdname selector
#' @export
selector_custom <- function(affinity, learn = NULL, ...) {
  refuse_unknown(further(...), names(formals(selector_custom)))
  need_given()
  if (!is.function(affinity)) abort_value(affinity, "affinity", "a function of (params, y)")
  if (!is.null(learn) && !is.function(learn)) {
    abort_value(learn, "learn", "NULL or a function of (params, y, expectations)")
  }
  check_argument_order(affinity, "affinity", c("params", "y", if (!is.null(learn)) "memory"))
  if (!is.null(learn)) check_argument_order(learn, "learn", c("params", "y", "expectations"))
  new_selector("custom", "custom", affinity = affinity, learn = learn)
}

#' @rdname new_gps_model
#' @export
new_gps_selector <- function(class, label, affinity, learn = NULL, explore = 0, settings = list()) {
  need_given()
  is_text <- function(x) is.character(x) && length(x) > 0 && !anyNA(x) && all(nzchar(x))
  if (!is_text(class) || anyDuplicated(class) > 0) {
    abort_value(class, "class", "distinct names of classes")
  }
  own <- class[is_own_selector(class)]
  if (length(own) > 0) abort_value(own[1], "class", "a name that is no class of this package")
  if (!is_text(label) || length(label) != 1) abort_value(label, "label", "one text")
  if (!is_named_list(settings) || !all(vapply(settings, is.atomic, NA))) {
    abort_value(settings, "settings", "a named list of plain values")
  }
  made <- selector_custom(affinity, learn)
  parts <- list(label = label, explore = check_number(explore, "explore", 0, 1),
                settings = settings)
  made[names(parts)] <- parts
  structure(made, class = c(class, class(made)))
}

#' @export
print.gps_selector <- function(x, ...) {
  refuse_shown(further(...))
  say(format_selector(check_selector(x, "x")))
  invisible(x)
}

format_selector <- function(selector) {
  settings <- selector$settings
  details <- c(
    format_settings(settings),
    if (!is.null(selector$kernel)) sprintf("kernel %s", format(selector$kernel)),
    if (!is.null(selector$method) && selector$method != "auto") selector_words(selector),
    if (selector$explore > 0) sprintf("%g %% explorers", 100 * selector$explore),
    if (isTRUE(selector$smooth > 0)) {
      sprintf("smoothed over %g cell%s", selector$smooth, if (selector$smooth == 1) "" else "s")
    },
    if (is.list(selector$screen)) sprintf("screened (%s)", selector$screen$rank_by)
  )
  paste0(selector$label, if (length(details) > 0) paste0(": ", paste(details, collapse = ", ")))
}

# The memory before the first E-step of an uninformed start.
begin_memory <- function(selector, task, state) UseMethod("begin_memory")

#' @export
begin_memory.default <- function(selector, task, state) NULL

# A state with the `memory` that its selector begins with; or with none where this takes longer than
# the fit may, which then ends with its first E-step.
begin_ranking <- function(task, state, memory) {
  begun <- until_cut(task$deadline, FALSE, memory)
  if (is_cut(begun)) state$late <- c(state$late, unranked = 1)
  state["memory"] <- list(if (!is_cut(begun)) begun)
  state
}

#' @export
block_affinity.gps_selector_handcrafted <- function(selector, task, state, block, inputs) {
  block_handcrafted(task$model, inputs, task$y, block, task$n_threads)
}

#' @export
block_affinity.gps_selector_custom <- function(selector, task, state, block, inputs) {
  y <- t(block_data(task$y, block))
  if (!is.null(selector$learn) && is.null(state$memory)) return(NULL)
  arguments <- list(state$params, y)
  if (!is.null(selector$learn) || takes_own(selector$affinity, "rows", 4)) {
    arguments <- c(arguments, list(state$memory$learned))
  }
  if (takes_own(selector$affinity, "rows", 4)) {
    arguments <- c(arguments, list(rows_of_block(task, block)))
  }
  value <- name_failure("affinity", do.call(selector$affinity, arguments, quote = TRUE),
                        describe_sizes(list(params = state$params, y = y)))
  t(read_own_affinity(value, nrow(y), task$model$n_latents))
}

# What `affinity` returns, points x latents.
read_own_affinity <- function(value, n_points, n_latents) {
  value <- plain_numbers(value)
  is_shaped <- is.numeric(value) && identical(dim(value), c(n_points, n_latents))
  if (is_shaped && !anyNA(value)) return(plain_double_matrix(value))
  odd <- if (is_shaped) {
    bad <- which(is.na(value), arr.ind = TRUE)[1, ]
    sprintf("but row %d has %s for latent %d", bad[1], format(value[bad[1], bad[2]]), bad[2])
  } else {
    paste("not", describe_value(value))
  }
  gps_abort(sprintf("`affinity` must return a numeric matrix of %d x %d without NA, %s.", n_points,
                    n_latents, odd), "model")
}

# Numbers of a block's points among the data that the selector learned from; NULL for others.
rows_of_block <- function(task, block) {
  if (task$is_new) return(NULL)
  if (is.null(block$rows)) block$first_row + seq_len(block$n_points) else block$rows
}

#' @export
learn_selector.gps_selector_custom <- function(selector, task, state) {
  if (is.null(selector$learn)) return(NULL)
  expectations <- t(dense_targets(state, task$model$n_latents))
  y <- t(task$y)
  learned <- name_failure("learn", selector$learn(state$params, y, expectations), describe_sizes(
    list(params = state$params, y = y, expectations = expectations)
  ))
  list(learned = learned)
}

# The data as a selector can use them: a matrix where it needs all at once. With places it regresses
# in slots, by coefficients of each point over all others.
selector_data <- function(y, selector, model) {
  what <- needs_whole(selector)
  if (isTRUE(selector$by_candidates) && is_small_source(y)) {
    what <- "a search for neighbours"
  }
  if (regresses_slots(model) && inherits(selector, "gps_selector_gp")) {
    what <- "selector_gp() for latents on a grid"
  }
  if (is.null(what)) y else whole_data(y, what)
}

# What of a selector needs all data at once, in words, or NULL.
needs_whole <- function(selector) UseMethod("needs_whole")

#' @export
needs_whole.default <- function(selector) NULL

#' @export
needs_whole.gps_selector_gp <- function(selector) {
  row <- engines[[selector$method]]
  if (!is.null(row) && !isTRUE(row$sums) && !isTRUE(row$few)) {
    sprintf("selector_gp() with `method` = \"%s\"", selector$method)
  }
}

#' @export
needs_whole.gps_selector_custom <- function(selector) {
  if (!is.null(selector$learn)) "selector_custom() with `learn`"
}

check_selector <- function(selector, arg = "selector") {
  check_class(selector, arg, "gps_selector", "a selector, as made by a selector_*() function")
  if (inherits(selector, "gps_selector_custom") && class(selector)[1] != "gps_selector_custom") {
    return(check_outside_selector(selector, arg))
  }
  maker <- sub("^gps_", "", class(selector)[1])
  if (!startsWith(maker, "selector_") || !is_exported(maker)) {
    abort_altered(arg, "selector_*", sprintf("it is of the unknown class %s",
                                             quoted(class(selector)[1])))
  }
  remake(selector, arg, maker)
}

# Whether classes are of selectors of this package, with methods that know their parts.
is_own_selector <- function(class) {
  class == "gps_selector" |
    startsWith(class, "gps_selector_") & vapply(sub("^gps_", "", class), is_exported, NA)
}

# A selector from elsewhere, made anew of its parts.
check_outside_selector <- function(selector, arg) {
  parts <- named_parts(selector, arg, "new_gps_selector")
  own <- setdiff(class(selector), c("gps_selector_custom", "gps_selector"))
  made <- make_of(new_gps_selector, c(list(class = own),
                                      parts[intersect(names(parts),
                                                      names(formals(new_gps_selector)))]),
                  arg, "new_gps_selector")
  if (!identical(class(made), class(selector))) {
    abort_altered(arg, "new_gps_selector", "its class is another one")
  }
  made
}
