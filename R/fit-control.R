# All knobs of a fit in one checked object.
# @srrstats {PD3.0}

#' Control of a fit
#'
#' @param max_iter most EM iterations after the starts, a whole number of at least 0.
#' @param tol in nats a point: the fit has settled when the mean bound a point of six iterations
#'   differs from that of the six before by less than this, or, while random explorers or sampling
#'   make it noisy, has not risen by more than the standard error of the difference; at least 0. 0
#'   never stops early. NULL: 4e-6 for each column of the data (0.0001 for 25 columns), 0.001 for
#'   each in [model_occlusive()], and in minibatches at least 4e-5, for windows of two passes.
#' @param anneal temperature at the first iteration, at least 1; it falls linearly to 1 over the
#'   first half of the iterations, for [model_occlusive()] over 8. The log joint is divided by it.
#'   NULL: the model's default, 1 (none), and 5 for [model_occlusive()]. See the section on
#'   annealing.
#' @param hold iterations at the first temperature before it falls, a whole number of at least 0; or
#'   "auto": until 85 % of the posterior mass lies on latents that were selected for their points
#'   in the iteration before, too, at most 20. NULL: the model's default, 0, and 5 for
#'   [model_occlusive()].
#' @param grow NULL, or a number of data points, at least 2, that the fit begins on: 20 iterations
#'   on so many sampled rows, at the first temperature, instead of short starts; a learned selector
#'   then ranks for all data by what it has learned there. The cheapest beginning for models with
#'   very many latents.
#' @param n_starts number of short starts, of which the one with the best bound goes on; a whole
#'   number of at least 1. NULL: 8; 1 for [model_occlusive()] and for mixtures of more than 40
#'   clusters, whose starts would cost more than the fit, and for other models where the sampled
#'   rows of a start are fewer than ten for each latent (more than 200 latents); 32 for
#'   [model_spike_slab()] with fewer than ten data points for each latent, and fewer than 500. 1,
#'   with `mend = FALSE`, is the paper's algorithm. See the section below.
#' @param monotone TRUE: each point keeps last iteration's selection where that explains it better,
#'   so that the bound never falls; not together with annealing or Gibbs sampling.
#' @param polish TRUE: when the bound has settled (at the latest after 80 % of `max_iter`) random
#'   explorers stop, each point keeps last iteration's selection where that explains it better, and
#'   the fit ends when it settles again. Explorers displace needed latents and so bias the noise
#'   variance; without them this is done where a learned ranking of few data points alternates
#'   between selections. With Gibbs sampling explorers stop, but selections are not compared.
#'   Mixtures whose clusters are screened have nothing to polish: a point keeps the best of its
#'   clusters anyway.
#' @param method "exact" sums over all states of the selected latents; "gibbs" samples them, for
#'   models in which any number of latents may be on; "auto" sums where the model can and there are
#'   at most 65,536 states, and samples otherwise. See the section on Gibbs sampling.
#' @param sweeps two whole numbers: sweeps of the Gibbs sampler for each data point in each
#'   iteration before the first draw (at least 0), and draws (at least 1). NULL: 2 and 4.
#' @param n_threads threads for the E-step, selection and kernel matrices, a whole number of at
#'   least 1. NULL: the option `gpselect.threads`, else all processors; 2 where R's checks limit
#'   them. Never more than `OMP_THREAD_LIMIT`, and one for what takes about a millisecond or less.
#'   The result does not depend on it, to the last bit. Threads of the BLAS are set outside R.
#' @param time_limit seconds, above 0, or a difftime, after which the fit ends with its last
#'   complete E-step, in the middle of an iteration; Inf: none. The first E-step of all data points
#'   is always completed.
#'   Where the time is over before it, the seeds of clusters that are still wanting are data points
#'   drawn at random, and a search for neighbours or a first factorisation is left out: the model's
#'   own ranking selects, if that is quick. `print()` says so, and the trace has it as
#'   "seeds_by_chance" and "unranked".
#' @param keep_data TRUE: the fit holds the data, which `fitted()`, `residuals()`, `update()` and a
#'   learned selector's `predict()` need.
#' @param keep_slots TRUE: the fit holds the selected latents of each data point and their
#'   probabilities, which `expectations()`, all that `predict()` says of the fit's own data, and
#'   selection for new data by an exact learned selector need. With `keep_data = FALSE` and
#'   `keep_slots = FALSE` the size of a fit does not depend on the number of data points.
#' @param progress TRUE: one line on the console, by the error stream, tells how far the fit is: the
#'   start or the main run, its iteration, the bound and by how much it changed, seconds since the
#'   fit began, and how many the phase takes if all its iterations are used. Where package progressr
#'   is loaded each iteration is also its signal, whatever `progress` is:
#'   `progressr::with_progress(gps_fit(...))` shows them, best with `progress = FALSE`.
#' @param trace TRUE: the trace has the iterations of all starts; FALSE: of the chosen one and the
#'   main run.
#' @param mend TRUE: once the bound has flattened, components that the fit could do without are
#'   moved to where the data are explained worst, if that raises the bound. See the section below.
#' @param batch_size NULL: every iteration uses all data points; or how many data points each update
#'   of the parameters uses, a whole number of at least 1. See the section on minibatches.
#' @param step for minibatches: an exponent above 0.5 and at most 1, with which the step sizes
#'   fall, or a function of the number of the update (1, 2, ...) that returns a number above 0 and
#'   at most 1; NULL: 0.7.
#' @param target_mass for `n_selected = "auto"`: share of the posterior mass that the states of the
#'   selected latents are to hold, above 0 and at most 1; see [gps_fit()].
#' @param checkpoint NULL, or the path of a file to which the fit writes, now and then, what
#'   [gps_resume()] needs to go on with it after a crash, an interrupt or a time limit.
#' @param checkpoint_every seconds from one writing to the next, a number of at least 0, which means
#'   after each iteration (in minibatches each update); NULL: 60, or 20 times what the last one took
#'   where that is more, so that at most a twentieth of the time is for writing.
#' @param keep_starts TRUE: the fit holds the parameters with which each short start ended, for
#'   [gps_consensus()].
#' @param budget NULL, or the number of log joints that screening (see [gps_screen()]) may evaluate,
#'   a data point and iteration on average, at least a tenth of `n_selected`. See the section on a
#'   budget.
#' @param missing what becomes of data points with missing cells: "allow" fits the cells that are
#'   there, "error" refuses them, "omit" leaves these rows out with a warning, see [missing_cells].
#' @param infinite "error" refuses infinite values; "missing" takes them as missing cells, with a
#'   warning.
#' @param cluster not available yet; anything but NULL is an error.
#' @param ... nothing; a misspelt name is an error that suggests the nearest valid one.
#'
#' @section Starts:
#' Whether the true solution is found is a matter of local optima, which the bound tells apart. Each
#' short start runs 12 iterations on at most 2000 sampled rows, or ten for each cluster of a mixture
#' where that is more, with fewer iterations then (at least 4); all share one kernel and, for the
#' exact Gaussian process, one factorisation.
#' In [model_spike_slab()] and [model_max_spike_slab()] two starts of three (2, 3, 5, 6, ...) are
#' begun as [model_binary_sparse()] with the same ranking, whose noise takes up by how much values
#' vary while components form: on few data points they then find components that the models
#' themselves miss. After 12 iterations ("simpler" among the events of the trace, whose bounds up to
#' there are those of that model) the model itself goes on from there for 4 more, with intensities
#' of mean 1 and variance 1/4, so that all starts are judged by bounds of one model. A function of
#' [selector_custom()] would meet parameters of another model, and has none of these starts.
#' Where at least 200 other rows are left, starts are judged by the bound of up to 1000 of these,
#' which none has seen, with latents ranked by the model itself; else by the bound of their own
#' rows. `print()` of the fit says on which rows the bounds stand, and its table `starts` too. Where
#' a mixture has fewer than 5 D rows for each full covariance (10 for each of another kind) its
#' clusters have one covariance in common until the starts are over: own ones would fit the sample.
#'
#' @section Annealing:
#' At temperature T the log joint is divided by T, and a bound is one of the tempered posterior.
#' [model_occlusive()] also has a floor for the noise: its standard deviation stays above a quarter
#' of the data's range while the temperature is held, and above a limit that falls by 13 % in each
#' iteration afterwards, until the noise of the data is reached. All explorers of a screen (see
#' [gps_screen()]) work until then, few after. This takes 25 iterations or more: with a smaller
#' `max_iter` the noise is still raised at the end. The floor is off with `monotone = TRUE`.
#' In a mixture clusters become the same at a temperature at which the data no longer tell them
#' apart, most easily where their covariance is tied, and EM alone keeps them the same. Mending
#' parts all of them at once (see below), so that such a fit mostly ends where one without annealing
#' does, or a little below or above; with `mend = FALSE` they stay, and `print()` has a line
#' "Double".
#'
#' @section Mending:
#' In a local optimum one component typically stands for two, or two for one, while another is all
#' but idle. Mending takes the component whose removal would cost the bound least, when others take
#' its points over (in a mixture the one that shares most points with it, or whose mean is nearest,
#' as wide as both), and
#' proposes to put it where the residuals fall into two groups, along the direction in which they
#' vary most or, in mixtures, along the column in which they look most like two:
#' beside another component, which is split ("split" among the events of the trace; one that has
#' taken over may be split anew), or, where
#' any number of latents may be on, as a new cause of its own ("renewed"). In [model_spike_slab()]
#' two components may also be mixtures of the same two causes: they are turned towards the two lines
#' on which the values of most points that need both lie ("turned"). Where more than two are on
#' together more often than chance has it, all of these are turned at once, by the rotation at which
#' fourth moments of their values are those of independent ones, as in independent component
#' analysis (Comon 1994, *Signal Processing* 36, 287). Up to three proposals run for
#' five iterations on as many sampled rows as a start; the first that beats the present solution
#' continued equally long by 8e-5 nats a number is taken, if it does not lower the bound of all
#' rows, as one row of the trace, and the fit goes on, as long as there is something to gain; a
#' round that finds nothing is made again where the bound has risen since. A merge and a split
#' judged by the bound is as in Ueda, Nakano, Ghahramani and Hinton (2000, *Neural Computation* 12,
#' 2109). All this works with any selector and every built-in model.
#'
#' Clusters of a mixture whose means are the same, and in a fit that anneals the two that could best
#' be one, begin anew among the points that they share, all of them in one move before the others
#' (one "split" for each but one of a group): by seeds far apart, greedy k-means++ as at the
#' beginning of a fit, in `n_starts` ways, of which five iterations tell the best one.
#'
#' Latents that are surplus turn into sums or copies of others. In [model_binary_sparse()],
#' [model_spike_slab()] and [model_max_spike_slab()] those without which the bound, after a few
#' iterations, is lower by less than half of log N for each of their parameters (as in the BIC) are
#' emptied ("emptied" among the events): their columns of `W` are 0 then, their own `pi` 0, their
#' slabs of mean 0 and variance 1. Of those that are on in the very same points, as several may be
#' that share one row far from all others, the first stands for their sum in the first two models,
#' and the others are emptied ("joined"). A latent with such a column is out of the model, wherever
#' the parameters come from: its probability is 0, it is never selected, it counts neither in a
#' shared `pi` nor among the free parameters of `logLik()`; `print()` and `summary()` name it. It is
#' where a later move puts a new cause, if that gains twice as much. `mend = FALSE` leaves all
#' latents in, and so do `monotone`, minibatches, [selector_random()] and a `max_iter` that ends
#' before the bound is flat for the first time. A latent that stands for a sum of others can stay
#' for the sake of points that have more of them on than `max_active`. Mixtures keep as many
#' clusters as were asked for.
#'
#' @section A budget:
#' What screening evaluates is `evaluations` of a fit's trace, a data point; the E-step has the
#' states of `n_selected` latents besides. With a `budget` not every point is screened in each
#' iteration: the others keep their latents, for which the E-step infers new probabilities. In an
#' iteration as many points have a turn as the budget allows at what a point took in the iteration
#' before. Those have it that need it most, by a sum over the iterations since their last turn:
#' \deqn{\sum_t \Big(0.05 + \sum_h p_{th} (1 - p_{th}) + m_t\Big)}{sum over t of (0.05 + sum over h
#'   of p_th (1 - p_th) + m_t)}
#' with the posterior probabilities \eqn{p_{th}}{p_th} of the point's latents, and
#' \eqn{m_t}{m_t} their sum over those latents that were not selected for it before. A point whose
#' posterior is concentrated and whose selection stays waits longest. Points without latents, as all
#' are in the first iteration, are screened anyway; what that takes beyond the budget is paid back
#' by later iterations, up to half of the budget in each. The budget holds for short starts and for
#' minibatches as well, and the last pass, which is not in the trace, screens all points. Compare
#' bounds with and without: fewer evaluations can mean more iterations, or a lower bound.
#'
#' @section Minibatches:
#' With a `batch_size` the parameters are updated after every batch, by stepwise EM (Cappe and
#' Moulines 2009, On-line expectation-maximization algorithm for latent data models, *Journal of the
#' Royal Statistical Society B* 71, 593; Liang and Klein 2009, Online EM for unsupervised models,
#' *NAACL*): the statistics \eqn{s}{s} from which the M-step maximises become
#' \deqn{s \leftarrow (1 - \rho_t) s + \rho_t \frac{N}{|b|} s_b, \quad \rho_t = (t +
#'   t_0)^{-\kappa}}{s <- (1 - rho_t) s + rho_t (N / |b|) s_b, rho_t = (t + t0)^-kappa}
#' with the statistics \eqn{s_b}{s_b} of the batch and \eqn{\kappa}{kappa} the exponent `step`.
#' They begin with the statistics at the first parameters, of all points or of whole batches spread
#' evenly that hold 10,000, so that a `start` is not forgotten. \eqn{t_0}{t0} is 1 but for batches
#' of fewer points than the model needs, 4 for each of its free parameters by the number of columns
#' (or all there are): theirs is larger, such that \eqn{\rho_1}{rho_1} is the share of those that a
#' batch has. A function as `step` is taken at its word: one that begins at more than twice that
#' share has a warning of class `gps_warning_small_batch`.
#'
#' The sums of a learned selector's regression follow by the same rule, which is a natural-gradient
#' step of the variational posterior of its inducing points (Hensman, Fusi and Lawrence 2013,
#' Gaussian processes for big data, *UAI*); a point is left out of them by the weight that its batch
#' still has. They begin with those of whole batches that hold about 10,000 points (or all), among
#' which basis functions and hyper-parameters are chosen, too. It must be a method that learns from
#' sums, or from neighbours (whose statistics begin with those of all batches, where seeds of
#' clusters are labels), see [selector_gp()], and a model whose latents lie on no grid:
#' [model_occlusive()] learns in batches with [selector_handcrafted()].
#'
#' `max_iter` counts passes over the data, and the trace has a row for each: its `iteration` is the
#' number of updates so far, its bound the sum of the bounds of the batches at the parameters of
#' their time. `refit_every` counts updates; the gap doubles with each refit, because new
#' hyper-parameters begin the sums anew. Batches are random rows of a matrix, and runs of
#' neighbouring rows of a source that is read block by block, whose order should not matter
#' therefore; they are visited in random order. Short starts are as always. Mending is off, so that
#' clusters that have merged stay so, no surplus latent is emptied, latents of a model with an
#' intercept are not turned round, and `monotone` is refused. `print()` says so.
#' `update(fit, start = fit, control = gps_control())`, or [gps_fit()] with `start = fit` and
#' without `batch_size`, goes on from there on all data points in each iteration, and mends.
#' Mixtures of more than 40 clusters, which have one start, should: of 10,000 data points batches of
#' 1000 ended 0.02 to 0.07 nats a data point below the fit by all (50 and 200 clusters in 4 columns)
#' and 0.44 to 0.51 below (200 in 16), and going on led to within 0.006 of it. Fits of 20 clusters,
#' and of bars by [model_binary_sparse()], lost no more than 0.001.
#'
#' @section Gibbs sampling:
#' One sweep draws each selected latent in turn given the others, where `max_active` others are on
#' it is off. Burn-in sweeps also exchange latents that are on for others that are off: always
#' where `max_active` are on, elsewhere in the first sweep of new chains. Up to a `max_active` of 6
#' the kept sweeps draw, where that is fewer than are selected, what each of `max_active` places
#' holds: such sweeps lead from every state to every other. Models whose latents are on or off are
#' sampled by the differences of their log joints; others bring their conditional distributions.
#' The chain of each data point goes on where the last iteration left it; newly selected latents
#' start as off. A new chain starts with all off and has 20 sweeps more, at temperatures that fall
#' geometrically from 1000, or it would be caught in the first state that explains the point
#' somehow.
#'
#' New chains, and all in the last pass, are compared with three to seven others of different
#' beginnings (hot, greedy, from the latents that are off): the states that each of them leads to
#' are counted. Before the last pass a chain that goes on has less, to save time: it is compared
#' with one other once in 32 iterations, and sweeps over places are kept for chains at the limit,
#' of models whose latents are on or off. Where a `max_active` binds, the bounds of these
#' iterations are therefore lower than that of the last.
#'
#' A fit may stop when its bound has not risen by more than the standard error, as while explorers
#' make it noisy; the polish does not compare selections, since the estimates for single data points
#' are too noisy for that. A learned ranking of few data points may then alternate between
#' selections, and the bound with it, by far more than its standard error: such a fit goes on to
#' `max_iter`, is not called converged, and `print()` says so.
#'
#' After the burn-in sweeps, which lead to a state \eqn{h^*}{h*}, the draws \eqn{h_1, \dots, h_S}
#' are a chain in which \eqn{h_s}, \eqn{s} at random, comes from \eqn{h^*}{h*} by a sweep in reverse
#' order, those after it by sweeps in ascending and those before it by sweeps in reverse order. With
#' \eqn{T} the density of an ascending sweep,
#' \deqn{\hat Z = p(h^*, y) \Big/ \frac{1}{S} \sum_s T(h^* \leftarrow h_s)}{Zhat = p(h*, y) /
#'   mean over s of T(h* <- h_s)}
#' has the mean \eqn{Z = \sum_s p(s, y)}{Z = sum of p(s, y)}, whatever \eqn{h^*}{h*} (Murray and
#' Salakhutdinov 2009, Evaluating probabilities under high-dimensional latent variable models,
#' *Advances in Neural Information Processing Systems* 21), so that on average \eqn{\log \hat Z}{log
#' Zhat} is a lower bound of \eqn{\log Z}{log Z}. Where a sweep cannot lead from every state to
#' every other, as with a `max_active` of 7 or more but fewer than are selected, the mean is at most
#' \eqn{Z}. Of several beginnings one is \eqn{h^*}{h*} at random, and \eqn{T(h^* \leftarrow h_s) /
#' p(h^*, y)}{T(h* <- h_s) / p(h*, y)} becomes the mean of this over all of them, by the
#' probabilities that they had. The bound of a fit is the sum of the logarithms.
#'
#' Its standard error follows from the spread of these terms by the delta method, as if the draws
#' were independent; of a single draw from another one beside it; and where all draws are one state,
#' from the probability to leave it. To that comes what the first beginnings disagree about, by the
#' jackknife. It is approximate, and knows nothing of states that no beginning led to. Posterior
#' means are means over the draws, probabilities of being on are means of p(on | rest) over the
#' sweeps that led to them.
#' @return a list of class `gps_control`.
#' @seealso [gps_fit()], [gps_resume()], [gpselect_choices]
#' @concept convergence
#' @concept deterministic annealing
#' @concept minibatches
#' @examples
#' gps_control(max_iter = 50, n_starts = 1)
#' @export
gps_control <- function(max_iter = 200, tol = NULL, anneal = NULL, hold = NULL, n_starts = NULL,
                        monotone = FALSE, polish = TRUE, method = c("auto", "exact", "gibbs"),
                        sweeps = NULL, batch_size = NULL, step = NULL, cluster = NULL,
                        n_threads = NULL, time_limit = Inf, checkpoint = NULL, keep_data = TRUE,
                        progress = interactive(), trace = TRUE, mend = TRUE, grow = NULL,
                        keep_slots = TRUE, target_mass = 0.95, checkpoint_every = NULL,
                        keep_starts = FALSE, budget = NULL, missing = c("allow", "error", "omit"),
                        infinite = c("error", "missing"), ...) {
  refuse_unknown(further(...), setdiff(names(formals(gps_control)), "cluster"),
                 pages = "gps_control")
  refuse_unbuilt(list(cluster = cluster))
  method <- check_choice(method, "method", c("auto", "exact", "gibbs"))
  if (!is.null(anneal)) anneal <- check_number(anneal, "anneal", 1)
  monotone <- check_flag(monotone, "monotone")
  if (monotone && !is.null(anneal) && anneal > 1) {
    gps_abort(paste("`monotone` = TRUE excludes `anneal` above 1: the bound may fall while",
                    "annealing ends. Leave one of them out."))
  }
  if (monotone && method == "gibbs") refuse_monotone()
  if (!is.null(batch_size)) batch_size <- check_count(batch_size, "batch_size")
  if (monotone && !is.null(batch_size)) {
    gps_abort("`monotone` = TRUE excludes `batch_size`: the bound of all points is not known.")
  }
  step <- check_step(step)
  if (!is.null(step) && is.null(batch_size)) {
    gps_abort("`step` is for minibatches: give a `batch_size`, too.")
  }
  structure(
    list(max_iter = check_count(max_iter, "max_iter", 0),
         tol = if (!is.null(tol)) check_number(tol, "tol", 0),
         anneal = anneal, hold = check_hold(hold),
         n_starts = if (!is.null(n_starts)) check_count(n_starts, "n_starts"),
         grow = if (!is.null(grow)) check_count(grow, "grow", 2),
         monotone = monotone, polish = check_flag(polish, "polish"), method = method,
         sweeps = check_sweeps(sweeps), batch_size = batch_size, step = step,
         n_threads = if (!is.null(n_threads)) check_count(n_threads, "n_threads"),
         time_limit = check_time_limit(time_limit), keep_data = check_flag(keep_data, "keep_data"),
         progress = check_flag(progress, "progress"), trace = check_flag(trace, "trace"),
         mend = check_flag(mend, "mend"), keep_slots = check_flag(keep_slots, "keep_slots"),
         target_mass = check_number(target_mass, "target_mass", 0, 1, open = TRUE),
         checkpoint = check_checkpoint(checkpoint),
         checkpoint_every = check_every(checkpoint_every, checkpoint),
         keep_starts = check_flag(keep_starts, "keep_starts"),
         budget = if (!is.null(budget)) check_number(budget, "budget", 0, open = TRUE),
         missing = check_choice(missing, "missing", missing_policies),
         infinite = check_choice(infinite, "infinite", infinite_policies)),
    class = "gps_control"
  )
}

check_time_limit <- function(time_limit) {
  if (identical(time_limit, Inf)) return(Inf)
  if (inherits(time_limit, "difftime")) time_limit <- as.double(time_limit, units = "secs")
  time_limit <- plain_numbers(time_limit)
  if (!is_number(time_limit) || time_limit <= 0) {
    abort_value(time_limit, "time_limit", "a number of seconds above 0 (Inf: none)")
  }
  as.double(time_limit)
}

check_checkpoint <- function(checkpoint) {
  if (!is.null(checkpoint)) check_path(checkpoint, "checkpoint", "NULL or the path of a file")
}

check_every <- function(every, checkpoint) {
  if (is.null(every)) return(NULL)
  if (is.null(checkpoint)) {
    gps_abort("`checkpoint_every` is for checkpoints: give a `checkpoint`, too.")
  }
  check_number(every, "checkpoint_every", 0)
}

check_step <- function(step) {
  if (is.null(step) || is.function(step)) return(step)
  step <- plain_numbers(step)
  allowed <- "NULL, a number above 0.5 and at most 1, or a function of the update's number"
  if (!is_number(step) || step <= 0.5 || step > 1) {
    abort_value(step, "step", allowed, "It is the power by which steps shrink, not their size.")
  }
  as.double(step)
}

check_hold <- function(hold) {
  if (is.null(hold) || identical(hold, "auto")) return(hold)
  if (!is.numeric(hold)) abort_value(hold, "hold", "NULL, \"auto\" or a whole number")
  check_count(hold, "hold", 0)
}

#' @export
print.gps_control <- function(x, ...) {
  refuse_shown(further(...))
  show_settings(check_control(x, "x"))
  invisible(x)
}

# One line a setting that is not NULL.
show_settings <- function(x) {
  shown <- Filter(Negate(is.null), unclass(x))
  values <- vapply(shown, function(x) {
    if (is.function(x)) "a function" else paste(format(x), collapse = ", ")
  }, "")
  begin <- sprintf("%-*s ", max(nchar(names(shown)), 0L), names(shown))
  cat(unlist(Map(wrap_text, values, begin)), sep = "\n")
}

# Options that later versions will have must not pass in silence.
refuse_unbuilt <- function(values) {
  for (name in names(values)) {
    if (!is.null(values[[name]])) {
      gps_abort(sprintf("`%s` is not available yet: leave it NULL.", name))
    }
  }
}

check_control <- function(control, arg = "control") {
  check_class(control, arg, "gps_control", "made by gps_control()")
  remake(control, arg, "gps_control")
}
