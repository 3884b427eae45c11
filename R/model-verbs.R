# What a fit may ask of a model beside its tables: generics with an answer for models that have none
# of their own; and the arrays of blocks, how large they are and what those of all blocks make.

# A model of as many latents that is easier to fit, whose components begin those of this one; NULL
# where there is none.
simple_model <- function(model) UseMethod("simple_model")

#' @export
simple_model.default <- function(model) NULL

# Parameters of the model, in any order, from those of the simpler one.
from_simple <- function(model, params) UseMethod("from_simple")

# The model that short starts on so many rows run with: of fewer parameters where these are few.
start_model <- function(model, n_rows) UseMethod("start_model")

#' @export
start_model.default <- function(model, n_rows) model

# Short starts of a fit to so many data points, where the user does not say.
count_starts <- function(model, n_points) UseMethod("count_starts")

#' @export
count_starts.default <- function(model, n_points) {
  is_thin <- count_start_rows(model) < min(n_points, start_latent_rows * model$n_latents)
  if (is_thin) 1L else model$defaults$n_starts
}

# A start on a sample with fewer rows than these for each latent learns from so few that a fit which
# goes on from it ends at a worse bound than one that begins on all data.
start_latent_rows <- 10

# Rows of a start, a model's own number.
count_start_rows <- function(model) UseMethod("count_start_rows")

#' @export
count_start_rows.default <- function(model) max(start_rows, model$n_latents)

# Nanoseconds that a latent takes for each data point in an iteration, about, where all are selected
# and one is on in a state; NULL where a state may have more.
gain_cost <- function(model) UseMethod("gain_cost")

#' @export
gain_cost.default <- function(model) NULL

# Rows of a trial in mending.
count_trial_rows <- function(model) UseMethod("count_trial_rows")

#' @export
count_trial_rows.default <- function(model) count_start_rows(model)

# Running statistics after an M-step: those that are counted from the parameters begin anew with
# each, or what they ask for would be done again in every update.
settle_stats <- function(model, stats) UseMethod("settle_stats")

#' @export
settle_stats.default <- function(model, stats) stats

# The same where latents have new units: sums of values have them, too.
rescale_stats <- function(model, stats, rescale) UseMethod("rescale_stats")

#' @export
rescale_stats.default <- function(model, stats, rescale) stats

# The same model with the intensities of some latents, those of `sign` -1, turned round; where that
# would be another model, the parameters as they are.
flip_latents <- function(model, params, sign) UseMethod("flip_latents")

#' @export
flip_latents.default <- function(model, params, sign) params

# Which data a model can have: NULL where it takes all finite numbers; else a list of `words`, what
# they must be, `is_allowed(y)`, which of them are, and a `hint` for who has others.
data_rule <- function(model) UseMethod("data_rule")

#' @export
data_rule.default <- function(model) NULL

# Warns of data that cannot be a model's, before the fit: FALSE if it has. Else the value is what
# doubt_fit() needs of them once the parameters are known, or NULL.
doubt_data <- function(model, task) UseMethod("doubt_data")

#' @export
doubt_data.default <- function(model, task) NULL

doubt_fit <- function(model, params, facts) UseMethod("doubt_fit")

#' @export
doubt_fit.default <- function(model, params, facts) invisible()

# The generics without their checks, for loops whose model was checked where it entered.
bind_model <- function(model, y) UseMethod("gps_bind")

mstep_model <- function(model, params, stats) UseMethod("gps_mstep")

mend_model <- function(model, params, stats, progress) UseMethod("gps_mend")

rank_rows <- function(model, params, y) UseMethod("gps_handcrafted")

# The model as a fit from scratch begins with it: what would only disturb before components stand is
# held fixed, where the data have so many points. Its parameters have the shapes of the model's own.
hold_model <- function(model, n_points) UseMethod("hold_model")

#' @export
hold_model.default <- function(model, n_points) model

# After how many iterations it is freed, whether components stand by then or not.
held_iterations <- function(model) UseMethod("held_iterations")

#' @export
held_iterations.default <- function(model) Inf

# Whether a class of the model has a method of its own, here or in another package, for a generic of
# this one. getS3method() knows a generic by its call of UseMethod() only where that comes last.
has_method <- function(model, generic) !is.null(method_of(model, generic))

# The method of the first class of the model that has one, or NULL.
method_of <- function(model, generic) {
  here <- topenv()
  registered <- get(".__S3MethodsTable__.", envir = here)
  for (name in paste(generic, class(model), sep = ".")) {
    found <- get0(name, envir = registered, inherits = FALSE)
    if (is.null(found)) found <- get0(name, envir = here)
    if (!is.null(found)) return(found)
  }
  NULL
}

# Whether the hand-crafted ranking is by the log joint of the states themselves: of a mixture each
# has one latent on.
ranks_by_joint <- function(model) UseMethod("ranks_by_joint")

#' @export
ranks_by_joint.default <- function(model) FALSE

# Whether so many components may be missing that they are moved many at a time.
moves_in_bulk <- function(model) UseMethod("moves_in_bulk")

#' @export
moves_in_bulk.default <- function(model) FALSE

# What the E-step of a block needs of a model, by name: parameters, options and what it prepares.
block_inputs <- function(model, params, y, block) UseMethod("block_inputs")

# The E-step of a block: list(prob_on [slots x n], log_evidence [n], stats, latent, response, prob,
# value, variance, draws): stats, latent, response, prob and draws only where wanted. With a chain
# (see new_chain()) states are sampled: there are value [slots x n], variance [n] and draws
# [slots x draws x n] then, and no prob.
run_estep <- function(model, inputs, y, block, selected, states, n_threads, want, beta = 1,
                      iteration = 0L, chain = NULL) {
  UseMethod("run_estep")
}

# Affinities H x n of one block for selector_handcrafted(). `inputs` has the parameters, the options
# and what the model prepared for this block, so that a built-in model need not compute it again.
block_handcrafted <- function(model, inputs, y, block, n_threads = 1L) {
  UseMethod("block_handcrafted")
}

#' @export
block_handcrafted.default <- function(model, inputs, y, block, n_threads = 1L) {
  t(rank_rows(model, inputs[names(model$params)], t(block_data(y, block))))
}

# A model that needs the size of images takes it from the data where the user did not give it:
# image_dim is c(height, width) or c(height, width, channels), or NULL.
set_image <- function(model, image_dim) UseMethod("set_image")

#' @export
set_image.default <- function(model, image_dim) model

# Parameters by which candidates are screened at a temperature, so that what is nearly right can be
# told from what is wrong.
temper_params <- function(model, params, temperature) UseMethod("temper_params")

#' @export
temper_params.default <- function(model, params, temperature) params

has_ranking <- function(model) has_method(model, "gps_handcrafted")

# Whether this package has the model's numerics.
is_built_in <- function(model) identical(model$native$package, "gpselect")

# A model with its sizes fixed by D x N data or a source. Models of this package need only the
# moments of the data. Others see means of columns in missing cells, but functions of R, which are
# tried on the data as they are.
bind_data <- function(model, y, moments = data_moments(y), weights = NULL) {
  if (is_built_in(model)) return(bind_model(model, survey_data(model, y, moments, weights)))
  if (is_source(y)) y <- rows_data(y, even_rows(y))
  bind_model(model, t(if (inherits(model, "gps_custom_model")) y else fill_data(y)))
}

# Moments with what else a model of this package needs to know of all data, D x N or a source.
survey_data <- function(model, y, moments, weights = NULL) UseMethod("survey_data")

#' @export
survey_data.default <- function(model, y, moments, weights = NULL) moments

# Most moves that are tried in a round of mending.
trial_moves <- 3L

# Rounds of mending that may find nothing before there are no more.
mending_rounds <- function(model) UseMethod("mending_rounds")

#' @export
mending_rounds.default <- function(model) 3L

# Whether the model can rank rows that a start has not seen well enough to judge the start by them.
judges_unseen <- function(model) UseMethod("judges_unseen")

#' @export
judges_unseen.default <- function(model) has_ranking(model)

can_empty <- function(model) has_method(model, "emptied_latents")

# Whether a task or a fit leaves no latent out. Of a component with locations each place is a
# latent, and a slot holds one of them.
selects_all <- function(it) it$n_selected == it$model$n_latents

# ---- arrays of blocks ----

# Numbers behind the names of dimensions; `points` is the size of a block, `gaps` is 1 where cells
# of it may be missing, else 0.
dimension_sizes <- function(model, n_points = NA, has_gaps = FALSE) {
  c(one = 1, dims = model$n_dims, latents = model$n_latents, points = n_points,
    gaps = as.double(has_gaps), model$sizes)
}

# The same of a block of points.
block_sizes <- function(model, block) {
  dimension_sizes(model, block$n_points, !is.null(block$missing))
}

# A loop, since blocks ask for it: a function for each shape takes longer than all it does.
resolve_dims <- function(shapes, sizes) {
  for (i in seq_along(shapes)) shapes[[i]] <- as.integer(sizes[shapes[[i]]])
  shapes
}

# Results of blocks as those of all points.
join_parts <- function(parts) {
  if (length(parts) == 1) {
    joined <- parts[[1]]
  } else {
    joined <- list(log_evidence = unlist(lapply(parts, `[[`, "log_evidence")),
                   stats = join_stats(parts[[1]]$stats, lapply(parts, `[[`, "stats")))
    for (name in c("variance", "weights")) joined[[name]] <- unlist(lapply(parts, `[[`, name))
    sums <- lapply(parts, `[[`, "sums")
    if (!is.null(sums[[1]])) joined$sums <- fold_parts(sums)
    for (name in c("selected", "prob_on", "latent", "response", "prob", "value", "ranked")) {
      joined[[name]] <- join_columns(lapply(parts, `[[`, name))
    }
    draws <- lapply(parts, `[[`, "draws")
    if (!is.null(draws[[1]])) {
      joined$draws <- array(unlist(draws), c(dim(draws[[1]])[1:2], ncol(joined$prob_on)))
    }
  }
  joined$evaluations <- sum(0, unlist(lapply(parts, `[[`, "evaluations")))
  joined$bound <- sum_evidence(joined$log_evidence, joined$weights)
  joined$n_unreached <- sum(joined$log_evidence == -Inf)
  joined$bound_error <- sqrt(sum(weigh(weigh(joined$variance, joined$weights), joined$weights)))
  joined
}

# The bound: the sum over all points, each as often as it counts. Those that no latent has reached
# yet count like the others.
sum_evidence <- function(log_evidence, weights = NULL) {
  is_reached <- log_evidence > -Inf
  if (all(is_reached)) return(sum(weigh(log_evidence, weights)))
  if (!any(is_reached)) return(-Inf)
  mean_of(log_evidence[is_reached], weights[is_reached]) *
    total_weight(weights, length(log_evidence))
}

# Matrices of numbers side by side, of doubles where one has them.
join_columns <- function(parts) {
  if (is.null(parts[[1]])) return(NULL)
  if (!all(vapply(parts, is.integer, NA))) {
    parts <- lapply(parts, function(part) if (is.double(part)) part else part + 0)
  }
  .Call(C_join_columns, parts)
}

# Statistics of blocks together: sums, or what else a model has of its points.
join_stats <- function(first, parts) UseMethod("join_stats")

#' @export
join_stats.default <- function(first, parts) fold_parts(parts)
