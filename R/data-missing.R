#' Missing cells
#'
#' NA in the data of [gps_fit()], [predict.gps_fit()] and [gps_estep()] is a cell without a value,
#' and so is NaN; infinite values are refused. [model_binary_sparse()], [model_spike_slab()],
#' [model_max_spike_slab()], [model_gaussian_mixture()], [model_occlusive()], [model_noisy_or()] and
#' [model_poisson_mixture()] allow for them.
#'
#' @section What is computed:
#' With O the dimensions that data point n has, a state s is judged by the density of these alone,
#' `p(s, y_O)`, the integral of `p(s, y)` over the others: the bound, `logLik()` and
#' `predict(type = "loglik")` are of the cells that are there, and so are posteriors, screening and
#' hand-crafted affinities. The M-step maximises the expected log joint of complete data, in which a
#' missing cell is a latent too: the statistics have its mean and second moment given `y_O` and s,
#' averaged over the states (Dempster, Laird and Rubin 1977, *JRSS B* 39, 1-38). So the bound never
#' falls where it would not with complete data, and a fit may need more iterations the more cells
#' are missing. That cells are missing must not depend on their values, given those that are there.
#'
#' Where dimensions are independent given a state, as in [model_noisy_or()] and
#' [model_poisson_mixture()], a missing cell adds no factor to `p(s, y_O)`, and to the statistics
#' what the state expects of it: each cause that is on fires with its own probability; a cluster has
#' its rate.
#'
#' In images of [model_occlusive()] a pixel of which a channel is missing is masked: nobody's, and
#' no part of the statistics.
#' @section What ranks and starts:
#' A learned selection, functions of [selector_custom()], the initialisation and trials of mending
#' look at whole data points. They see column means in missing cells, in images the means of the
#' pixels around, and in new data those of the fit's data.
#'
#' A reconstruction by the parameters of the moment would rank better. On bars (500 points of 25
#' pixels, 30 % of the cells missing, three data sets), with the best 4 of 10 latents by a learned
#' ranking without screening, these are the share of the latents that are on which are among the
#' four, and how many nats a point the bound loses against all latents:
#'
#' | | column means | reconstruction |
#' |---|---|---|
#' | [model_binary_sparse()], 5 iterations | 85.3 %, 0.14 | 86.1 %, 0.03 |
#' | [model_binary_sparse()], at the end | 98.3 %, 2.9 | 99.0 %, 2.0 |
#' | [model_spike_slab()], 5 iterations | 76.0 %, 1.02 | 76.8 %, 0.63 |
#' | [model_spike_slab()], at the end | 78.3 %, 19.7 | 82.1 %, 11.2 |
#'
#' Column means are taken all the same, as they stay what they are: the kernel's factors and the
#' neighbours are those of one set of data points throughout a fit. With many missing cells more
#' selected latents make up for it, and so does screening, which sees the cells that are there.
#' @section Results:
#' `predict(type = "imputed")` is the data with the reconstruction in missing cells;
#' `type = "response"` is the reconstruction everywhere, which in a missing cell is the posterior
#' mean of the cell: in a mixture with full covariances it follows from the other cells, too.
#' `residuals()` are NA in missing cells, and `print()` says how many there are. A data point
#' without a single cell has the prior of the selected latents.
#' @section What is refused:
#' A column without a single value, by name; and missing cells in models that do not say that they
#' allow for them, by an error of class `gps_error_data`, or `gps_error_argument`, that names the
#' first one. Of a model of R functions `takes_missing` of [model_custom()] says so, of a model in C
#' of another package the member `takes_missing` of its table ([model_native()]). [gps_bind()],
#' [gps_init()], [gps_handcrafted()] and [check_gps_model()] take complete data alone.
#' @section Other ways:
#' By [gps_control()]:
#' * `missing = "allow"`, the default: the likelihood of the cells that are there.
#' * `missing = "error"`: missing cells are refused, with the place of the first one.
#' * `missing = "omit"`: rows with missing cells are left out, with a warning of class
#'   `gps_warning_omitted` that has their numbers in `rows`, as the fit has them in `omitted`;
#'   `weights`, `start` and `labels` are given for all rows. Rows without names get their numbers
#'   among all as names, as those of [stats::lm()] do.
#' * `infinite = "error"`, the default: infinite values are refused.
#' * `infinite = "missing"`: they are missing cells, with a warning of class `gps_warning_infinite`.
#'
#' This is so in [gps_fit()], [gps_choose()], [gps_plan()] and [gps_resume()]; [predict.gps_fit()]
#' allows for missing cells where the model does. "omit" and `infinite` are for data in memory: a
#' source leaves rows out itself, and says by NA what is missing. Rows of a sparse matrix S are left
#' out by `S[rows, ]`.
#' @section Sources and sparse matrices:
#' Sources ([gps_source()]) may have NA (in files of whole numbers there is none but in "int32", in
#' which R takes the least number for it; in files of doubles NaN counts). Which cells are missing
#' is seen each time that a block is read, and not kept: they cost no memory and no pass of their
#' own. `source[i, j]`, `head()` and `as.matrix()` have NA there, and [gps_write_binary()] writes it
#' where the type can hold it. A sparse matrix of package
#' Matrix lacks the cells whose entries are stored as NA; all that
#' is not stored is 0 and there.
#' @concept missing data
#' @concept imputation
#' @examples
#' set.seed(1)
#' clusters <- simulate_clusters(120, 3)
#' y <- clusters$y
#' y[sample(length(y), 40)] <- NA
#' fit <- gps_fit(y, model_gaussian_mixture(3), selector_full())
#' fit
#' filled <- predict(fit, type = "imputed")
#' head(cbind(y, filled)[rowSums(is.na(y)) > 0, ])
#' @name missing_cells
NULL

# @srrstats {G2.14, G2.16}

# Missing cells: NA or NaN in the data. The data that users give, and those that a fit keeps, have
# them as NA. Inside a task `y` holds something finite in their place, for who looks at whole points
# (rankings, starts), and `missing` says where they are: list(start [N + 1], row), for each data
# point its dimensions without a value, counted from 0, ascending, as src/r_model.c reads them.
# NULL: there are none. Models see the cells that are there alone.

# In sources cells may be missing where `may_miss` is TRUE. Which ones is found as points are read,
# and kept nowhere; `gaps` of a task's source, list(fill [D], model), says what readers of whole
# points see there, NULL: NA.

# Where the cells of D x N data are missing; of a source it is not known before it is read.
find_missing <- function(y) {
  if (is_source(y) || !anyNA(y)) return(NULL)
  at <- which(is.na(y)) - 1
  count <- tabulate(at %/% nrow(y) + 1, ncol(y))
  list(start = c(0L, cumsum(count)), row = as.integer(at %% nrow(y)))
}

# Their places in a matrix of D rows.
missing_places <- function(missing, n_dims) {
  count <- diff(missing$start)
  rep(seq_along(count) - 1, count) * n_dims + missing$row + 1
}

count_missing <- function(missing) if (is.null(missing)) 0L else length(missing$row)

# Those of some data points, in any order.
cut_missing <- function(missing, points) {
  if (is.null(missing)) return(NULL)
  first <- missing$start[points]
  count <- missing$start[points + 1L] - first
  if (sum(count) == 0) return(NULL)
  list(start = c(0L, cumsum(count)), row = missing$row[rep(first, count) + sequence(count)])
}

# D x N data with `fill` [D] in place of what is missing, or a source that will be read so.
fill_missing <- function(y, missing, fill) {
  if (is_source(y)) {
    if (isTRUE(y$may_miss)) y$gaps <- list(fill = fill)
    return(y)
  }
  if (is.null(missing)) return(y)
  y[missing_places(missing, nrow(y))] <- fill[missing$row + 1L]
  y
}

# The same with what the data themselves say of each dimension.
fill_data <- function(y, missing = find_missing(y)) {
  if (is.null(missing) || is_source(y)) y else fill_missing(y, missing, observed_means(y))
}

# What was read of a source, filled as its `gaps` say.
fill_gaps <- function(y, gaps) {
  if (is.null(gaps) || !anyNA(y)) return(y)
  missing <- find_missing(y)
  y <- fill_missing(y, missing, gaps$fill)
  if (is.null(gaps$model)) y else fill_cells(gaps$model, y, missing)
}

# Entries of sparse data without those that are missing.
observed_entries <- function(entries) {
  if (is.null(entries) || !anyNA(entries$value)) return(entries)
  is_there <- !is.na(entries$value)
  list(start = c(0L, cumsum(is_there))[entries$start + 1L], row = entries$row[is_there],
       value = entries$value[is_there])
}

# Whether any point of a task lacks a cell.
lacks_cells <- function(task) {
  !is.null(task$missing) || is_source(task$y) && isTRUE(task$moments$n_missing > 0)
}

# Means [D] of the values that are there, 0 where there are none.
observed_means <- function(y) {
  means <- rowMeans(y, na.rm = TRUE)
  ifelse(is.finite(means), means, 0)
}

# What stands in for the missing cells of data that a fit has not seen: means of its own, as far as
# it knows them.
fit_fill <- function(fit) {
  if (!is.null(fit$cell_means)) return(fit$cell_means)
  if (is.matrix(fit$y)) {
    counts <- is.null(fit$weights) | fit$weights > 0
    return(observed_means(if (all(counts)) fit$y else fit$y[, counts, drop = FALSE]))
  }
  centre <- fit$model$options$centre
  if (length(centre) == fit$model$n_dims) centre else numeric(fit$model$n_dims)
}

# Data of a prediction with something in their missing cells.
fill_new <- function(fit, y, missing) {
  if (is.null(missing) && !is_source(y)) return(y)
  fill_cells(fit$model, fill_missing(y, missing, fit_fill(fit)), missing)
}

# Whether a model allows for missing cells.
takes_missing <- function(model) UseMethod("takes_missing")

#' @export
takes_missing.default <- function(model) FALSE

# Filled data with a better guess in missing cells, where the model has one.
fill_cells <- function(model, y, missing) UseMethod("fill_cells")

#' @export
fill_cells.default <- function(model, y, missing) y

# Data D x N, or a source that may have missing cells, or an error for those that a model does not
# allow for, or that the setting `missing` refuses. A source may turn out to have some only when it
# is read: it knows who refuses them then.
admit_missing <- function(y, model, arg = "y", missing = "allow") {
  refuse_missing(y, model, arg)
  if (!is_source(y)) return(y)
  y$may_miss <- takes_missing(model) && missing != "error"
  y$refused_by <- if (takes_missing(model) && !y$may_miss) "`missing` = \"error\""
  y
}

# The error.
refuse_missing <- function(y, model, arg = "y") {
  if (is.null(y) || takes_missing(model)) return(invisible(y))
  missing <- if (is_source(y)) stored_missing(y) else find_missing(y)
  if (is.null(missing)) return(invisible(y))
  refuse_cells(y, missing, sprintf("the model %s", quoted(model$name)), arg)
}

# The same for whoever does not.
refuse_cells <- function(y, missing, who, arg = "y") {
  if (is.null(missing)) return(invisible(y))
  point <- which(diff(missing$start) > 0)[1]
  gps_abort(sprintf(paste(
    "`%s` must have finite values, but row %d, column %d is NA: %s does not allow for missing",
    "cells."
  ), arg, point, missing$row[missing$start[point] + 1L] + 1L, who), c("data", "argument"))
}

# Columns without a single value.
unobserved_columns <- function(missing, n_dims) {
  if (is.null(missing)) return(integer())
  which(tabulate(missing$row + 1L, n_dims) == length(missing$start) - 1)
}

# A dimension without a single value tells nothing, and its parameters could be anything.
refuse_unobserved <- function(empty, names) {
  if (length(empty) == 0) return(invisible())
  gps_abort(sprintf(
    "`y` has no value in %s, of which all cells are missing: leave %s out.",
    column_words(empty, names), if (length(empty) == 1) "it" else "them"
  ), c("data", "argument"))
}

# Residuals D x n of points (NULL: all) of a task's data from what is expected there, 0 where cells
# are missing.
task_residuals <- function(task, expected, points = NULL) {
  residual <- (if (is.null(points)) task$y else task$y[, points, drop = FALSE]) - expected
  missing <- if (is.null(points)) task$missing else cut_missing(task$missing, points)
  if (!is.null(missing)) residual[missing_places(missing, nrow(residual))] <- 0
  residual
}

# Moments of a block as block_moments() gives them, each dimension by the values that it has.
masked_moments <- function(y, missing, weights = NULL) {
  places <- missing_places(missing, nrow(y))
  y[places] <- NA
  if (!is.null(weights)) return(weighed_moments(y, weights))
  count <- ncol(y) - tabulate(missing$row + 1L, nrow(y))
  centre <- observed_means(y)
  list(n_points = ncol(y), count = count, centre = centre,
       deviations = rowSums((y - centre)^2, na.rm = TRUE), squares = rowSums(y^2, na.rm = TRUE),
       range = if (any(count > 0)) range(y, na.rm = TRUE))
}

# The same with NA in missing cells, where points have weights.
weighed_moments <- function(y, weights) {
  there <- !is.na(y)
  y[!there] <- 0
  weights <- there * rep(weights, each = nrow(y))
  count <- rowSums(weights)
  centre <- rowSums(weights * y) / ifelse(count > 0, count, 1)
  list(n_points = ncol(y), count = count, centre = centre,
       deviations = rowSums(weights * (y - centre)^2), squares = rowSums(weights * y^2),
       range = if (any(there)) range(y[there]))
}

# ---- what a user wants ----

# What a fit does with cells that have no finite value is what users choose by
# gps_control(missing = , infinite = ).

missing_policies <- c("allow", "error", "omit")
infinite_policies <- c("error", "missing")

# Data in memory with NA in place of infinite values where `infinite` is "missing"; a warning counts
# them. What is no data passes, for the door to refuse it.
blank_infinite <- function(y, infinite, arg = "y") {
  if (infinite == "error") return(y)
  if (is_source(y)) {
    gps_abort(paste("`infinite` = \"missing\" is for data in memory: a source says itself which",
                    "cells are missing, by NA."))
  }
  blanked <- blank_values(plain_numbers(y))
  if (blanked$n == 0) return(y)
  gps_warn(sprintf("`%s` has %s, taken as missing.", arg, plural(blanked$n, "infinite value")),
           class = "infinite")
  blanked$y
}

# list(y, n): numbers, tables, images or sparse data without infinite values, and how many there
# were.
blank_values <- function(y) {
  if (is_sparse_matrix(y)) {
    inner <- blank_values(y@x)
    y@x <- inner$y
    return(list(y = y, n = inner$n))
  }
  if (is.list(y)) {
    parts <- lapply(unclass(y), blank_values)
    y[] <- lapply(parts, `[[`, "y")
    return(list(y = y, n = sum(vapply(parts, `[[`, 0L, "n"))))
  }
  if (!is.numeric(y)) return(list(y = y, n = 0L))
  is_bad <- is.infinite(y)
  y[is_bad] <- NA
  list(y = y, n = sum(is_bad))
}

# Data as read_data() gives them, without the rows that `missing` does not want: their numbers are
# in `omitted`, and a warning names them. "error" refuses what is missing in memory, also in
# sparse matrices, whose rows are not left out here; sources are refused as they are read.
keep_complete <- function(data, missing) {
  if (missing == "allow") return(data)
  is_sparse <- inherits(data$y, "gps_source_sparse")
  if (is_source(data$y) && !is_sparse) {
    if (missing == "error") return(data)
    gps_abort(paste("`missing` = \"omit\" is for data in memory: let the source leave these rows",
                    "out."))
  }
  cells <- if (is_sparse) stored_missing(data$y) else find_missing(data$y)
  if (is.null(cells)) return(data)
  if (missing == "error") refuse_cells(data$y, cells, "`missing` = \"error\"", "y")
  if (is_sparse) {
    gps_abort(sprintf(paste("`missing` = \"omit\" is for dense data: leave %s with missing cells",
                            "out of the sparse matrix S that is `y`, by S[rows, ]."),
                      plural(sum(diff(cells$start) > 0), "row")))
  }
  has_gaps <- diff(cells$start) > 0
  if (all(has_gaps)) {
    gps_abort(paste("`y`: no data point has a value in every column, so that `missing` = \"omit\"",
                    "would leave none."), c("data", "argument"))
  }
  data$omitted <- which(has_gaps)
  gps_warn(sprintf("%s of `y` with missing cells %s left out: %s.",
                   plural(length(data$omitted), "data point"),
                   if (length(data$omitted) == 1) "is" else "are",
                   listed(as.character(data$omitted), "row")), class = "omitted",
           rows = data$omitted)
  data$y <- data$y[, !has_gaps, drop = FALSE]
  # Rows without names keep their numbers among all, as those of lm() do.
  names <- if (is.null(data$row_names)) as.character(seq_along(has_gaps)) else data$row_names
  data$row_names <- names[!has_gaps]
  data
}
