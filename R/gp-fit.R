# Gaussian-process regression for users: rows are data points. Everything is computed by engines
# (gp-engine.R), where columns are.
# @srrstats {PD3.2, PD3.3}

#' Gaussian-process regression of many targets at once
#'
#' Gaussian-process regression with one kernel shared by all targets: one factorisation serves all
#' of them. The kernel's parameters maximise the log marginal likelihood, whose gradient is exact.
#' The exact engine takes time that grows with the cube of the number of points; five others
#' approximate it, four of them in time that grows linearly.
#'
#' With \eqn{K} the kernel matrix including its white noise, and targets \eqn{T} (n x H),
#' \deqn{\log p(T) = -\frac12 \mathrm{tr}(T^\top K^{-1} T) - \frac H2 \log|K|
#'   - \frac{nH}2 \log 2\pi}{
#'   log p(T) = -1/2 tr(T' K^-1 T) - H/2 log|K| - n H / 2 log(2 pi)}
#' (Rasmussen and Williams 2006, eq. 2.30, summed over targets). The targets are not centred: the
#' prior mean is zero, and `kernel_bias()` learns a common level.
#'
#' A kernel made of linear, bias and white terms only is degenerate: with fewer dimensions than
#' points everything is done in second moments, exactly, in time that grows linearly with n. Any
#' other kernel needs matrices of n x n for the exact engine, and at most 20,000 points.
#'
#' Where the kernel matrix cannot be factorised, the smallest of a ladder of small numbers that
#' helps is added to its diagonal and reported as `jitter`.
#'
#' @section The search:
#' The marginal likelihood can have several maxima, such as a curve and all noise. The search looks
#' at the kernel's own values, at lengthscales of 1, 0.3, 0.1, 0.03 and 0.01 times those that a
#' kernel takes if they are left open (see [kernels]), and at five times the median distance to the
#' nearest other point, with variances by the scales of the targets; with `ard`, where the values of
#' a column lie in groups far apart, at lengthscales by the distances within its groups, too; where
#' the kernel has periods, which count as lengthscales here, at those of the three highest peaks of
#' the targets' periodogram in each column;
#' it climbs a little from the kernel's own values and from the best of the others, `n_starts` in
#' all, and, since what has a period has its multiples too, from where each period found is a half
#' or a third; and goes on from the best. All this counts as evaluations; where `max_evals` leaves
#' fewer than 8 for each climb, or with `n_starts = 1`, it climbs from the kernel's own values
#' alone. No random numbers are drawn. The likelihood found is never below that of the kernel given,
#' unless `lower` or `upper` exclude it, or a variance of it begins elsewhere, as follows. (With
#' `"neighbours"` that is so of the objective of its search.)
#'
#' The search sees the targets in a unit of their own, a power of two near their spread, so that it
#' goes the same way whatever yours is. What you give is in your unit, and so is the result. A
#' variance that is what it is if nobody gives one (1, of noise 0.1) begins there in that unit,
#' unless it is `fixed` or the kernel has a [kernel_custom()].
#'
#' The parameters are sought within wide limits around the scales of the data: variances within
#' 1e-6 to 1e3 of the mean square of the targets, noise at least 1e-8 of their variance about
#' their means, lengthscales from a tenth of the distance of close neighbours (at most 1e-3 of those
#' left open) to 1e4 of those left open, likewise periods; `alpha` of a rational quadratic within
#' 0.01 to 100, the lengthscale of a periodic term within 0.02 to 50, and parameters of
#' [kernel_custom()] within a factor of 1e4; with `ard` each column has its
#' own limits, so that its unit does not matter. The variance of a linear term is in units of the
#' inputs, and that of a bias term reaches as far as a line's level where all inputs are 0. What the
#' kernel holds is always within, with a factor of 10 to go. `lower` and `upper` set other limits,
#' `fixed` parameters stay. A parameter that ended at a limit is among the `limits` of the fit and
#' printed; it is warned of where the likelihood still rises there by a nat or more for a factor of
#' e, unless the limit is your own, the noise is at its lowest (the curve goes through all points)
#' or the lengthscale of a column at its largest (nothing depends on that column).
#'
#' @section Which method when:
#' With \eqn{K_0} the kernel without its white noise \eqn{\sigma^2}{s2}, all but `"divide"` and
#' `"neighbours"` replace it by \eqn{F^\top F}{F'F} with `rank` features for each point, so that
#' what is inverted is \eqn{B = \sigma^2 I + F F^\top}{B = s2 I + F F'} of that size. They take time
#' of order \eqn{n \cdot rank^2}{n rank^2} and need a `kernel_white()`.
#'
#' * `"exact"`: up to a few thousand points, or for kernels that are linear in the data.
#' * `"ichol"`: the first choice beyond. Incomplete Cholesky factorisation with pivots (Fine and
#'   Scheinberg 2001): \eqn{F^\top F = K_{nP} K_{PP}^{-1} K_{Pn}}{F'F = K_nP K_PP^-1 K_Pn} of the
#'   points \eqn{P} that are explained worst by those before them, at most `rank`; fewer where a
#'   millionth of the trace is left. The mean of what is left on the diagonal counts as
#'   noise. Pivots are kept while the parameters are sought, and chosen anew where the search ended,
#'   which is repeated as long as it helps; `lml` is at the pivots that go with `theta`.
#' * `"inducing"`: the same with points \eqn{Z} in place of pivots. They begin as the pivots of the
#'   kernel given, fewer than `rank` where these leave 1e-8 of the trace, and can be learned too
#'   (`learn_inputs`, D x `rank` further parameters, within the box of the data), for few but
#'   well-placed points. `objective`: `"vfe"` is a lower bound of the exact log marginal likelihood,
#'   which subtracts
#'   \eqn{\frac{H}{2\sigma^2} \mathrm{tr}(K_0 - F^\top F)}{H / (2 s2) tr(K_0 - F'F)} (Titsias 2009);
#'   `"fitc"` gives each point what its features leave as noise of its own (Snelson and Ghahramani
#'   2006), which suits noise that varies; `"dtc"` does neither (Quinonero-Candela and Rasmussen
#'   2005, who compare them).
#' * `"fourier"`: random Fourier features (Rahimi and Recht 2007) for many dimensions, where few
#'   points represent no others. \eqn{s\,k(x - z)}{s k(x - z)} is the mean of
#'   \eqn{s\cos(\omega_m^\top (x - z)/l)}{s cos(w_m'(x - z) / l)} over `rank` / 2 frequencies from
#'   the spectral density of a stationary term: normal for an RBF, Student's t with \eqn{2\nu}{2 nu}
#'   degrees of freedom for a Matern kernel of smoothness \eqn{\nu}{nu}; others are refused (see
#'   [kernels]). Several stationary terms
#'   share them evenly; linear and bias terms are exact. The frequencies are always the same.
#' * `"divide"`: exact Gaussian processes on blocks of at most `rank` points drawn at random, whose
#'   predictions are averaged (Zhang, Duchi and Wainwright 2015). It needs no noise and suits short
#'   lengthscales, for which no small basis does. `lml` is the sum over blocks, and the variance a
#'   single block's, on average. A point's leave-one-out mean is
#'   \eqn{\frac1m[\mu_n^{own} + \sum_{other} f_k(x_n)]}{(1/m) [own + sum of the others]}; with
#'   `cross = FALSE` it is its own block's alone, at a cost that does not grow with the number
#'   \eqn{m} of blocks.
#' * `"neighbours"`: each point is predicted from the `rank` points nearest to it alone, with
#'   weights \eqn{w_n = K_{BB}^{-1} k_B(x_n)}{w_n = K_BB^-1 k_B(x_n)} over these (Vecchia 1988;
#'   Datta and others 2016), \eqn{K_{BB}}{K_BB} with its noise. Near is by the terms that fall with
#'   distance: in column \eqn{d} differences count with
#'   \eqn{\sum_t s_t / l_{td}^2}{sum_t s_t / l_td^2}. The search for neighbours is exact, of order
#'   \eqn{n^2 D}{n^2 D} but fast, or by an index (`index`); all else takes time of order
#'   \eqn{n \cdot rank^3}{n rank^3}. It suits clusters and short lengthscales in few or many
#'   dimensions, and needs a term that falls with distance. Parameters maximise the leave-one-out
#'   log predictive density \eqn{\sum_{nh} \log N(t_{nh}; w_n^\top t_{Bh}, v_n)}{sum_nh log N(t_nh;
#'   w_n't_Bh, v_n)}, \eqn{v_n = k(x_n, x_n) + \sigma^2 - k_B^\top w_n}{v_n = k(x_n, x_n) + s2 -
#'   k_B' w_n} (Rasmussen and Williams 2006, section 5.4.2), of at most 2000 evenly spaced points
#'   that stand for all, with neighbours that are sought anew where the search ended; the `trace`
#'   and [gp_gradient()] are of this objective. `lml`, and `logLik()`, are Vecchia's likelihood
#'   instead: each point given the nearest of those before it, in an order that is random and always
#'   the same.
#' * `"auto"`: `"exact"` up to 2000 points, for kernels that are linear in the data, and for those
#'   without noise or with a [kernel_custom()], else `"ichol"`. What was chosen, and why, is
#'   printed.
#'
#' Leave-one-out predictions keep the basis as it is, that is pivots, inducing points and
#' frequencies; they are exact for it.
#'
#' In which order points and columns are given does not matter. What some methods take first (a
#' pivot among equally good ones, the points of a block, those that come before others in Vecchia's
#' likelihood, the points whose scales stand for those of many, the frequencies of a column) they
#' take in an order of the data's own: points by their values in the first column, columns by where
#' their values lie between the least and the largest. Rounding is left, which a search may amplify
#' a little; pivots that are equally good but for rounding, as on a grid, count as equally good.
#'
#' @section Trend:
#' With `trend = "constant"` or `"linear"` the targets are \eqn{h(x)^\top B}{h(x)'B} plus the
#' Gaussian process, \eqn{h = 1}{h = 1} or \eqn{h = (1, x_1, \dots, x_D)}{h = (1, x_1, ..., x_D)}.
#' `B` is that of generalised least squares, `B = (H'K^-1 H)^-1 H'K^-1 T`, and the kernel's
#' parameters maximise the likelihood with it: both take turns until neither changes. `lml` is that
#' maximum, and each coefficient of the trend counts in `df`. Predictions have what is not known of
#' `B` in their variance, `u'(H'K^-1 H)^-1 u` with `u = h - H'K^-1 k` (universal kriging: Rasmussen
#' and Williams 2006, section 2.7), and leave-one-out predictions are those of a trend found without
#' the point. Far from the data a prediction goes back to the trend, without one to 0. Kernels with
#' [kernel_bias()] or [kernel_linear()], as the default, have a trend already, whose coefficients
#' have a prior: give `trend` with kernels without. Methods `"exact"`, `"ichol"` and `"fourier"`
#' have trends.
#'
#' @param x Numeric matrix or data frame, n x D, rows are data points; or a vector of n numbers.
#'   Finite values. Or a formula, `y ~ a + b`, `y ~ .` or `cbind(y, z) ~ a`: the targets by columns
#'   of `data`, which may stand in the second place. Right of `~` there are names of columns alone,
#'   left of it there may be an expression such as `log(y)`. A level is up to `trend` and the
#'   kernel: `- 1` and `offset()` are refused.
#' @param targets Numeric matrix or data frame, n x H, or a vector of length n. Finite values;
#'   logical ones count as 0 and 1. A search needs what they vary by, or their size if they are
#'   constant, between 1e-140 and 1e140. Few far from all others, as codes for missing ones are,
#'   have a warning of class `gps_warning_far`; of inputs by `"fourier"` alone.
#' @param kernel A kernel, see [kernels].
#' @param method `"exact"`, `"auto"`, `"ichol"`, `"inducing"`, `"fourier"`, `"divide"` or
#'   `"neighbours"`: see below.
#' @param optimise `TRUE`: learn the kernel's parameters; `FALSE`: keep those of `kernel`.
#' @param max_evals Whole number of at least 1: cap on the evaluations of the marginal likelihood,
#'   by all starts together.
#' @param n_threads number of threads, a whole number of at least 1, or `NULL`: see [gps_control()].
#'   The result does not depend on it.
#' @param rank Whole number of at least 1, or `NULL`: `"ichol"` and `"inducing"`, number of points
#'   (200; at most n); `"fourier"`, number of cosines and sines together, even (200); `"divide"`,
#'   largest number of points in a block (500); `"neighbours"`, number of neighbours of a point (20;
#'   at most all others). Not for `"exact"`.
#' @param objective `"vfe"`, `"fitc"` or `"dtc"`, for `"inducing"`.
#' @param learn_inputs `TRUE`: learn the inducing points as well, for `"inducing"`.
#' @param cross `TRUE` or `FALSE`, for `"divide"`: whether leave-one-out asks all blocks, or a
#'   point's own.
#' @param n_starts Whole number of at least 1: how many starts the search climbs from, see below.
#' @param fixed `NULL`, or names of parameters, as in `coef()`, that keep the kernel's own values. A
#'   name without the number of a column (`"log_len"`) means the parameters of all columns.
#' @param lower,upper `NULL`, or numbers with such names: limits of the logarithms. The search
#'   starts from the nearest value within.
#' @param index for `"neighbours"`: `TRUE`, they are sought by an index, `FALSE`, exactly; `NULL`:
#'   by an index where the search would take more than 2^31 distances. See the section "Search" of
#'   [selector_gp()].
#' @param trend `"none"`, `"constant"` or `"linear"`: see below.
#' @param data `NULL`, or with a formula the data frame that has its columns.
#' @param progress TRUE: where it takes more than a second, a line on the error stream tells which
#'   evaluation of at most `max_evals` the search is at, the best objective so far and the time. For
#'   package progressr see `progress` in [gps_control()].
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @return An object of class `gp_fit`, a list with `kernel` (with the fitted parameters), `theta`
#'   (named vector of log parameters), `x` (n x D), `targets` (n x H), `lml` (log marginal
#'   likelihood, of the approximation if it is one), `jitter`, `method`, `why` (reason of `"auto"`,
#'   else `NULL`), `form` (`"dense"`, `"features"`, `"basis"`, `"divide"` or `"neighbours"`),
#'   `trace` (data frame of the evaluations of the search: `evaluation`, `lml`, and which `start`
#'   they are of), `converged` (`FALSE` if the cap on evaluations ended the search, `NA` without a
#'   search), `fixed` (names of parameters that were not learned), `limits` (which of the others
#'   ended at a limit, and at which: `"lower"` or `"upper"`, with their names), and what the engine
#'   keeps: `basis` and `sums` over the data, `divide`, or `engine`. It has methods for `predict()`,
#'   `fitted()`, `residuals()`, `coef()`, `logLik()`, `nobs()`, `summary()`, `simulate()`,
#'   `update()` and `plot()`; [gp_loo()] gives leave-one-out predictions, [gp_gradient()] the
#'   gradient. With a trend it has `trend`, whose `coefficients` (p x H) are the level and slopes in
#'   the units of the inputs; with a formula, `formula`; `given` are the arguments, for `update()`.
#' @seealso [predict.gp_fit()], [plot.gp_fit()], [gp_loo()], [kernels]
#' @references Datta, Banerjee, Finley and Gelfand (2016) Hierarchical nearest-neighbor Gaussian
#'   process models for large geostatistical datasets. *JASA* 111, 800-812.
#'
#'   Fine and Scheinberg (2001) Efficient SVM training using low-rank kernel
#'   representations. *JMLR* 2, 243-264.
#'
#'   Quinonero-Candela and Rasmussen (2005) A unifying view of sparse approximate Gaussian process
#'   regression. *JMLR* 6, 1939-1959.
#'
#'   Rahimi and Recht (2007) Random features for large-scale kernel machines. *NIPS* 20.
#'
#'   Rasmussen and Williams (2006) *Gaussian Processes for Machine Learning*, chapters 2 and 5.
#'
#'   Snelson and Ghahramani (2006) Sparse Gaussian processes using pseudo-inputs. *NIPS* 18.
#'
#'   Titsias (2009) Variational learning of inducing variables in sparse Gaussian processes.
#'   *AISTATS* 12.
#'
#'   Vecchia (1988) Estimation and model identification for continuous spatial processes. *JRSS B*
#'   50, 297-312.
#'
#'   Zhang, Duchi and Wainwright (2015) Divide and conquer kernel ridge regression. *JMLR* 16,
#'   3299-3340.
#' @concept Gaussian process
#' @concept kriging
#' @concept nonparametric regression
#' @examples
#' set.seed(1)
#' x <- seq(0, 6, length.out = 40)
#' y <- cbind(sin(x), cos(x)) + rnorm(80, sd = 0.1)
#' fit <- gp_fit(x, y, kernel_rbf() + kernel_white(0.01))
#' fit
#' predict(fit, c(1.5, 2.5))
#' gp_fit(x, y, kernel_rbf() + kernel_white(0.01), method = "ichol", rank = 10)
#' gp_fit(x, y, kernel_rbf() + kernel_white(0.01), fixed = "log_var_white",
#'        upper = c(log_len = log(2)))
#' steam <- gp_fit(log(pressure) ~ temperature, pressure, kernel_rbf() + kernel_white(1e-4),
#'                 trend = "linear")
#' steam
#' predict(steam, data.frame(temperature = c(50, 400)), interval = "prediction")
#' @export
gp_fit <- function(x, targets, kernel = kernel_composition(),
                   method = "exact", optimise = TRUE, max_evals = 200, n_threads = NULL,
                   rank = NULL, objective = c("vfe", "fitc", "dtc"), learn_inputs = FALSE,
                   cross = TRUE, n_starts = 5, fixed = NULL, lower = NULL, upper = NULL,
                   index = NULL, trend = c("none", "constant", "linear"), data = NULL,
                   progress = interactive(), ...) {
  extra <- further(...)
  formula <- if (!missing(x) && inherits(x, "formula")) x else extra$formula
  if (!missing(x) && inherits(extra$formula, "formula")) {
    gps_abort("`x` and `formula` are both given: gp_fit(y ~ a + b, data = d) has one of them.")
  }
  if (inherits(formula, "formula")) {
    read <- read_gp_formula(formula, if (!missing(targets)) targets, data)
    x <- read$x
    targets <- read$targets
    extra$formula <- NULL
  } else if (!missing(x) && is_quoted_formula(x)) {
    gps_abort(paste0("`x` is text.", advise_text(x)))
  } else if (!is.null(data)) {
    gps_abort("`data` goes with a formula: gp_fit(y ~ a + b, data = d).")
  }
  refuse_unknown(extra, names(formals(gp_fit)), pages = "gp_fit")
  if (!missing(targets) && inherits(targets, "formula")) {
    gps_abort(sprintf("The formula comes first: gp_fit(%s, data = d).", shown_formula(targets)))
  }
  need_given()
  refuse_column_name(targets, x)
  trend <- check_choice(trend, "trend", trend_forms)
  given <- list(kernel = kernel, method = method, optimise = optimise, max_evals = max_evals,
                rank = rank, objective = objective, learn_inputs = learn_inputs, cross = cross,
                n_starts = n_starts, fixed = fixed, lower = lower, upper = upper, index = index,
                trend = trend)
  advise <- function() advise_gaps(x, targets, formula, if (!is.null(formula)) read$data)
  heard <- fit_given(x, targets, given, advise, n_threads, progress)
  fit <- heard$value
  fit["formula"] <- if (inherits(formula, "formula")) list(formula)
  fit$given <- given
  fit$call <- shown_call(match.call(), "gp_fit")
  carry_fit(fit, say_warnings(heard$warned))
  fit
}

# list(value, warned) as hear_warnings() has them: the fit of what gp_fit() is given. What is to be
# said of the data is said before the search; what to do about values that are not finite says
# advise().
fit_given <- function(x, targets, given, advise, n_threads, progress) {
  tell_logical(x, "x")
  if (inherits(targets, "gps_kernel")) {
    gps_abort("`targets` is a kernel, which comes third: gp_fit(x, targets, kernel).")
  }
  tell_logical(targets, "targets")
  x <- check_points(x, "x", advise())
  is_logical <- is.logical(targets)
  targets <- check_points(targets, "targets", advise())
  if (nrow(targets) != nrow(x)) {
    gps_abort(sprintf(
      "`targets` must have one row per row of `x`: %d, not %d.%s", nrow(x), nrow(targets),
      if (ncol(x) == nrow(targets)) " Is `x` transposed? Data points are rows." else ""
    ))
  }
  kernel <- check_kernel(given$kernel, "kernel")
  search <- list(
    optimise = check_flag(given$optimise, "optimise"),
    max_evals = check_count(given$max_evals, "max_evals"),
    n_threads = resolve_threads(n_threads), gain = 1e-7,
    n_starts = check_count(given$n_starts, "n_starts"), fixed = given$fixed, lower = given$lower,
    upper = given$upper
  )
  check_flag(progress, "progress")
  plan <- choose_engine(kernel, dim(x), given$method, given$rank, given$objective,
                        given$learn_inputs, given$cross, given$index)
  refuse_trend(given$trend, plan, x)
  if (plan$engine$learn_inputs && !search$optimise) {
    gps_abort("`learn_inputs` must be FALSE where `optimise` is FALSE: both are one search.")
  }
  if (!search$optimise && !is.null(c(given$fixed, given$lower, given$upper))) {
    gps_abort("`fixed`, `lower` and `upper` belong to a search: `optimise` must be TRUE.")
  }
  plan$order <- own_order(plan$engine, x, targets)
  plan$engine$columns <- plan$order$columns
  tell_constant(x)
  tell_far_targets(targets)
  tell_far_inputs(plan$engine, x)
  teller <- open_teller(search$max_evals, progress, shown_after)
  on.exit(close_teller(teller))
  search["watch"] <- list(watch_search(teller))
  heard <- hear_warnings(with_memory(if (given$trend == "none") {
    new_gp_fit(x, targets, kernel, plan, search)
  } else {
    fit_trend(x, targets, kernel, plan, search, given$trend)
  }, "A Gaussian process on %s", plural(nrow(x), "data point")))
  heard$value["is_logical"] <- if (is_logical) TRUE
  heard
}

#' Leave-one-out prediction of a Gaussian process
#'
#' Prediction of each data point's targets from all other points, with the kernel's parameters as
#' they are, in closed form:
#' \eqn{\mu_n = t_n - [K^{-1}T]_n / [K^{-1}]_{nn}}{mu_n = t_n - [K^-1 T]_n / [K^-1]_nn} and
#' \eqn{\sigma^2_n = 1/[K^{-1}]_{nn}}{sigma^2_n = 1 / [K^-1]_nn} (Rasmussen and Williams 2006, eq.
#' 5.12; eq. 5 of the paper). The same numbers as n fits that leave out one point each, at the cost
#' of one. An approximation keeps its pivots, inducing points, frequencies or blocks when a point is
#' left out.
#'
#' @param fit An object of class `gp_fit`.
#' @param n_threads See [gp_fit()].
#' @return A list of class `gp_loo` with `mean`, n x H, and `variance`, n numbers: the variance of
#'   the left-out observation, noise included, the same for all targets.
#' @seealso [gp_fit()], [selector_gp()], which ranks by it
#' @concept leave-one-out
#' @concept cross-validation
#' @examples
#' set.seed(1)
#' x <- seq(0, 6, length.out = 40)
#' fit <- gp_fit(x, sin(x) + rnorm(40, sd = 0.1), kernel_rbf() + kernel_white(0.01))
#' loo <- gp_loo(fit)
#' sqrt(mean((loo$mean - fit$targets)^2))
#' plot(fit$targets, loo$mean)
#' @export
gp_loo <- function(fit, n_threads = NULL) {
  need_given()
  check_gp_fit(fit, "fit", points = TRUE)
  n_threads <- resolve_threads(n_threads)
  loo <- if (is.null(fit$trend)) {
    engine_loo(trained_engine(fit, n_threads), t(fit$targets))
  } else {
    trend_loo(fit, n_threads)
  }
  mean <- t(loo$mean)
  dimnames(mean) <- dimnames(fit$targets)
  structure(list(mean = mean, variance = stats::setNames(loo$variance, rownames(fit$targets))),
            class = c("gp_loo", "list"))
}

#' Gradient of a Gaussian process's log marginal likelihood
#'
#' @param fit An object of class `gp_fit`.
#' @param n_threads See [gp_fit()].
#' @return Named numeric vector: derivatives by the log parameters of `coef(fit)`, at their values;
#'   of an approximation, with its basis or blocks as they are.
#' @seealso [gp_fit()]
#' @examples
#' x <- seq(0, 6, length.out = 30)
#' fit <- gp_fit(x, sin(x), kernel_rbf() + kernel_white(0.01), optimise = FALSE)
#' gp_gradient(fit)
#' @export
gp_gradient <- function(fit, n_threads = NULL) {
  need_given()
  check_gp_fit(fit, "fit", points = TRUE)
  fit_gradient(fit, resolve_threads(n_threads))
}
