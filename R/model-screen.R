# What screening is to be like: a model has a default, a selector may say otherwise. How it is done
# is select-slots.R.

#' Screening of candidates
#'
#' A step between ranking and selection, for every model: candidates are the best-ranked latents,
#' the point's own last ones, some of their neighbours and a few at random; the model's log joint
#' decides which of them fill the slots. It evaluates single states only, so it costs far less than
#' a scan of all latents.
#'
#' Models whose latents lie on a grid have groups of latents: the locations of one component, of
#' which a state holds one at most. Slots get latents of different groups there, and neighbours are
#' locations of the same component, on a grid that is cyclic. The other models have no neighbours.
#'
#' Screening has up to four steps. All candidates are judged by the log joint of the states in
#' which they are on alone; the `pool` best are left, and by `conditional` more that explain the
#' data best beside those selected last, and these themselves. A state is then grown latent by
#' latent, by the gain in log joint given those before, as long as one gains something. With
#' `sweeps` it takes back: where what was more on than off in the last iteration has a higher log
#' joint, it begins there; each latent of the state is left out on trial, and the state grown again
#' without it; and `inserts` other latents are tried in it, those that then gain nothing leaving it.
#' A change stays where the log joint is higher. The slots hold the state, and what is left of them
#' the latents of the best other states that were looked at (without `sweeps`, those that gain most
#' beside the state). Of each kind there are at most as many candidates as latents. Where all
#' latents are candidates of a screen with sweeps, or those that a point's neighbours have
#' (`method = "neighbours"`), and an iteration raises the bound by less than 0.1 nats a data point,
#' each point is screened in every third iteration only, and keeps its slots between.
#'
#' @param rank_by "greedy": as described; "singleton": by the first step alone.
#' @param keep TRUE: the latents that were selected for the point in the last iteration are
#'   candidates.
#' @param propose number of best-ranked latents that are candidates, all of them if there are no
#'   more than that; NULL: one and a half times `n_selected`, ten times for models on a grid, and at
#'   least 128 for [model_binary_sparse()] and [model_spike_slab()], whose gains cost little, 24 for
#'   [model_max_spike_slab()].
#' @param explore two whole numbers: uniform random candidates for each point while the fit
#'   explores, and after; NULL: 4 and 1, or of models on a grid 2 % and 0.1 % of the latents, at
#'   least `n_selected`.
#' @param guided two whole numbers, while the fit explores and after: candidates that the model
#'   proposes where the data are unexplained by what was selected last, if it can. NULL: 0 and 0.5
#'   % of the latents, at least `n_selected`, for [model_occlusive()], which looks at pixels that
#'   are left to the clutter and draws components a pixel of which looks like them. None for other
#'   models, and none without `keep`.
#' @param random_slot TRUE: while the fit explores, the selector's explorers replace slots after
#'   screening, too; NULL: for models on a grid only.
#' @param moves random neighbours of each latent that was selected last among the candidates, at
#'   most two steps away in each direction, a whole number between 0 and 24; NULL: 4 for models on a
#'   grid, 0 for others, which have none.
#' @param pool number of candidates left after the first step, at least 1; NULL: all for the models
#'   of sparse coding, else 4 times `n_selected`.
#' @param conditional two whole numbers: candidates that the second step adds to the pool while the
#'   fit explores, and after; NULL: none and then 3 times `n_selected` for models on a grid, none
#'   for others. Needs `keep`.
#' @param temperature least standard deviation of the noise by which candidates are judged, in the
#'   units of the data, at least 0: a sharp posterior tells nothing of a candidate that is nearly
#'   right. NULL: the model's default, 0.08 of the data's range for [model_occlusive()]. For models
#'   on a grid; others are judged as they are, and so is every model once annealing is over.
#' @param sweeps how often each latent of the state is left out on trial, at most, 0 to 100; it ends
#'   as soon as nothing changes. NULL: 2, and 0 for models on a grid.
#' @param inserts number of other candidates that are tried in the state, each the better ranked of
#'   two random ones; NULL: 2 for the models of sparse coding, else 0. None without `sweeps`.
#' @param neighbours number of candidates that have stood beside the data point's best latent
#'   elsewhere, 0 to 1000, of models whose latents have no places: each pass adds \eqn{1 / r}{1 / r}
#'   to the weight of a latent beside another where it was the \eqn{r}-th best candidate of a data
#'   point whose best one was the other, by the first step; weights are halved with each pass, and
#'   the latents of largest weight beside the one that was most probable for the point last are its
#'   candidates. NULL: 5 with selector_gp(method = "neighbours"), else 0. Hughes and Sudderth
#'   (2016), Forster and Luecke (2018) and Exarchakis and others (2022) find clusters so that lie
#'   beside each other.
#' @param ... nothing; an unknown argument is an error that says which there are.
#' @seealso [selector_gp()], [gps_audit()], [compare_selectors()]
#' @references Exarchakis, Oubari and Lenz (2022) A sampling-based approach for efficient clustering
#'   in large datasets. *CVPR*.
#'
#'   Forster and Luecke (2018) Can clustering scale sublinearly with its clusters? *AISTATS* 21.
#'
#'   Hughes and Sudderth (2016) Fast learning of clusters and topics via sparse posteriors.
#'   *arXiv:1609.07521*.
#' @return a list of class `gps_screen` for the `screen` argument of a selector.
#' @examples
#' selector_handcrafted(screen = gps_screen(propose = 6))
#' @export
gps_screen <- function(rank_by = c("greedy", "singleton"), keep = TRUE, propose = NULL,
                       explore = NULL, random_slot = NULL, moves = NULL, pool = NULL,
                       conditional = NULL, temperature = NULL, guided = NULL, sweeps = NULL,
                       inserts = NULL, neighbours = NULL, ...) {
  refuse_unknown(further(...), names(formals(gps_screen)))
  conditional <- check_early_late(conditional, "conditional")
  guided <- check_early_late(guided, "guided")
  if (!check_flag(keep, "keep") && any(c(conditional, guided) > 0)) {
    gps_abort("`conditional` and `guided` above 0 need `keep` = TRUE: they add to what was kept.")
  }
  structure(
    list(rank_by = check_choice(rank_by, "rank_by", c("greedy", "singleton")), keep = keep,
         propose = if (!is.null(propose)) check_count(propose, "propose"),
         explore = check_early_late(explore, "explore"),
         random_slot = if (!is.null(random_slot)) check_flag(random_slot, "random_slot"),
         moves = if (!is.null(moves)) check_count(moves, "moves", 0, most_moves),
         pool = if (!is.null(pool)) check_count(pool, "pool"),
         conditional = conditional,
         temperature = if (!is.null(temperature)) check_number(temperature, "temperature", 0),
         guided = guided,
         sweeps = if (!is.null(sweeps)) check_count(sweeps, "sweeps", 0, most_visits),
         inserts = if (!is.null(inserts)) check_count(inserts, "inserts", 0, most_draws),
         neighbours = if (!is.null(neighbours)) {
           check_count(neighbours, "neighbours", 0, most_neighbours)
         }),
    class = "gps_screen"
  )
}

# NULL, or two whole numbers: while the fit explores, and after.
check_early_late <- function(x, arg) {
  x <- plain_numbers(x)
  if (is.null(x)) return(NULL)
  if (!is.numeric(x) || length(x) != 2) abort_value(x, arg, "two whole numbers")
  c(check_count(x[1], arg, 0, most_draws), check_count(x[2], arg, 0, most_draws))
}

# Neighbours on the grid that src/screen.c draws from.
most_moves <- 24L

# Sweeps end by themselves where none of the latents is better taken back.
most_visits <- 100L

# Latents that are kept in mind for each latent are a few times as many.
most_neighbours <- 1000L

# Candidates of a kind that a data point may ask for.
most_draws <- 1e6

# A screen, or what stands for the model's default or for none.
check_screen <- function(screen, arg = "screen") {
  if (is.null(screen) || identical(screen, FALSE)) return(screen)
  check_class(screen, arg, "gps_screen", "NULL, FALSE or a gps_screen()")
  remake(screen, arg, "gps_screen")
}

# Candidates are judged by a table in C.
can_screen <- function(model) !inherits(model, "gps_custom_model")

# A screen that the model can have; neighbours have latents with places only.
check_screened <- function(screen, model) {
  if (is.list(screen) && !can_screen(model)) {
    gps_abort(sprintf("`screen` must be NULL or FALSE for the model %s, whose %s.",
                      quoted(model$name), "log joint is an R function"))
  }
  if (is.list(screen) && isTRUE(screen$neighbours > 0) && has_neighbours(model)) {
    gps_abort(sprintf(paste(
      "`neighbours` must be 0 or NULL for the model %s, not %d: its latents have places, and moves",
      "between these."
    ), quoted(model$name), screen$neighbours))
  }
  if (!is.list(screen) || !isTRUE(screen$moves > 0) || has_neighbours(model)) {
    return(invisible(screen))
  }
  gps_abort(sprintf("`moves` must be 0 or NULL for the model %s, not %d: %s.",
                    quoted(model$name), screen$moves, "its latents have no neighbours"))
}
