# What the end of a fit stands on: a likelihood without a maximum, where the bound is what floors
# make of it, and latents that nobody uses. Found once, when the fit is made; print(), summary() and
# logLik() repeat it.

# list(degenerate, unused, held, far, temperature): sentences on why the likelihood has no maximum,
# named by their kinds; the numbers of latents (components, where they have places) that are on in
# less than one point; the noise variance where annealing, which was not over, still held it; what
# far_columns() finds, which looks at the data only where they are in doubt; and the temperature of
# an E-step that was hot.
find_standing <- function(task, state, col_names) {
  usage <- slot_usage(task$model, state$selected, weigh_columns(state$prob_on, task$weights))
  found <- list(n_points = n_points(task$y), usage = usage, names = col_names)
  degenerate <- find_degenerate(task$model, state$params, found)
  if (any(c("collinear", "collapsed") %in% names(degenerate))) {
    # A source that cannot be read any more must not take a fit with it.
    found$far <- tryCatch(far_columns(task), gps_error_data = function(condition) NULL)
    degenerate <- find_degenerate(task$model, state$params, found)
  }
  list(degenerate = c(character(), degenerate),
       unused = setdiff(which(usage < 1), emptied_latents(task$model, state$params)),
       held = held_sigma2(state), far = found$far,
       temperature = if (state$beta < 1) 1 / state$beta)
}

# A fit that was cut short is not kept waiting for it: NULL where it takes long.
standing_in_time <- function(task, state, col_names) {
  found <- unless_long(state, find_standing(task, state, col_names))
  if (!is_cut(found)) found
}

held_sigma2 <- function(state) {
  floor <- state$noise_floor^2
  if (floor > 0 && isTRUE(state$params$sigma2 <= (1 + 1e-6) * floor)) floor else numeric()
}

# Sentences on why the likelihood has no maximum, named by their kinds; character() where it has
# one. `found` has the number of points, in how many each latent is on, the columns' names, and what
# far_columns() has found.
find_degenerate <- function(model, params, found) UseMethod("find_degenerate")

# Models with one noise variance: the bound grows without end as it goes to 0.
#' @export
find_degenerate.default <- function(model, params, found) {
  floor <- if (is_built_in(model)) model$options$floor_sigma2
  if (is.null(params$sigma2) || is.null(floor) || params$sigma2 > (1 + 1e-6) * floor) {
    return(character())
  }
  c(noise = sprintf(
    "the noise variance is at its floor, %s, as the data are explained with less or without any",
    plain_number(floor, 3)
  ))
}

# Mixtures: what has no width, in units of the floors of the variances.
#' @export
find_degenerate.gps_gaussian_mixture <- function(model, params, found) {
  kind <- model$settings$covariance
  if (has_matrices(model) && found$n_points <= model$n_dims) {
    return(c(few_rows = sprintf(
      "%s of %s: a %s covariance needs more rows than columns",
      plural(found$n_points, "row"), plural(model$n_dims, "column"), kind
    )))
  }
  total <- total_width(model, params, found)
  flat <- which(total$variance < at_floor)
  if (length(flat) == length(total$variance)) return(c(no_spread = "the rows are all equal"))
  collapsed <- describe_collapsed(model, params, total, flat, found)
  collinear <- describe_collinear(total, flat, found$names)
  no_spread <- describe_no_spread(flat, kind, found$names)
  far <- found$far
  if (is.null(far) || is.null(c(collapsed, collinear))) {
    return(c(no_spread = no_spread, collinear = collinear,
             few_points = describe_few_points(model, found), collapsed = collapsed))
  }
  # Clusters of few points or without width, and columns that look alike, follow from that.
  total <- total_beside(total, far$columns)
  c(no_spread = no_spread,
    collinear = describe_collinear(total, union(flat, far$columns), found$names),
    far = describe_far(far, found$names))
}

# Widths below this many floors are the floor's, not the data's.
at_floor <- 2

# What the clusters together say of the data, in units of the floors: `variance` of each column (of
# all at once, where covariances are spherical), and of a full covariance `low`, the directions
# without width, D x k. Clusters of too few points keep an older covariance, which says nothing.
total_width <- function(model, params, found) {
  floors <- sigma_floors(model)
  shift <- params$mu - drop(params$mu %*% params$pi)
  between <- drop(shift^2 %*% params$pi)
  kind <- model$settings$covariance
  if (kind == "spherical") {
    return(list(variance = (mean(between) + sum(params$pi * params$sigma)) / floors[1]))
  }
  if (kind == "diagonal") {
    return(list(variance = (between + drop(params$sigma %*% params$pi)) / floors))
  }
  n_dims <- model$n_dims
  enough <- found$usage >= points_needed(model) * (1 - 1e-9)
  within <- if (is_tied(params)) cluster_covariance(params, 1) else
    matrix(matrix(params$sigma, n_dims^2) %*% (params$pi * (enough | !any(enough))), n_dims)
  total <- within + tcrossprod(shift * rep(params$pi, each = n_dims), shift)
  list(variance = diag(total) / floors, low = low_directions(total, floors),
       within = total / sqrt(floors) / rep(sqrt(floors), each = n_dims))
}

# The same where some columns are not looked at, and count as having no width by themselves.
total_beside <- function(total, columns) {
  if (is.null(total$within)) return(total)
  total$within[columns, ] <- total$within[, columns] <- 0
  total$low <- low_directions(total$within, rep(1, nrow(total$within)))
  total
}

# Directions in which a covariance has less than `at_floor` floors: D x k. The factorisation is
# cheap and tells whether there are any.
low_directions <- function(sigma, floors) {
  check_deadline()
  unit <- sqrt(floors)
  scaled <- sigma / unit / rep(unit, each = length(unit))
  raised <- scaled
  diag(raised) <- diag(raised) - at_floor
  if (is.matrix(tryCatch(chol(raised), error = function(condition) NULL))) return(NULL)
  parts <- eigen(scaled, symmetric = TRUE)
  parts$vectors[, parts$values < at_floor, drop = FALSE]
}

count_low <- function(low) if (is.null(low)) 0L else ncol(low)

# The floors of the variances, one a column.
sigma_floors <- function(model) model$options$floor_sigma * model$options$scale^2

describe_no_spread <- function(flat, kind, names) {
  if (kind == "spherical" || length(flat) == 0) return(NULL)
  sprintf("%s no spread", column_words(flat, names, c("has", "have")))
}

# Columns of the directions without width, beyond those without spread.
describe_collinear <- function(total, flat, names) {
  if (count_low(total$low) <= length(flat)) return(NULL)
  weight <- rowSums(total$low^2)
  weight[flat] <- 0
  columns <- which(weight > 0.01)
  what <- if (length(columns) == 2) {
    "are the same but for unit and offset"
  } else {
    "determine one another: each follows from the others"
  }
  sprintf("%s %s", column_words(columns, names), what)
}

# Clusters whose covariance too few points determine, and that keep an older one. Unused ones count
# where there are too few points for all clusters.
describe_few_points <- function(model, found) {
  if (model$settings$covariance == "tied") return(describe_few_tied(model, found))
  is_full <- model$settings$covariance == "full"
  needed <- points_needed(model)
  least <- if (found$n_points < needed * model$n_latents) 0 else 1
  few <- which(found$usage < needed * (1 - 1e-9) & found$usage >= least)
  if (length(few) == 0) return(NULL)
  sprintf("%s %s %s, and %s covariance needs %d", listed(few, "cluster"),
          if (length(few) == 1) "has" else "have at most", shown_usage(max(found$usage[few])),
          if (is_full) sprintf("a full %d x %d", model$n_dims, model$n_dims) else "a",
          as.integer(needed))
}

# Points about the means of their clusters span no more directions than there are more points than
# clusters.
describe_few_tied <- function(model, found) {
  needed <- model$n_dims + model$n_latents
  if (found$n_points >= needed) return(NULL)
  sprintf("%s in %s, and a tied covariance of %s needs %d", plural(found$n_points, "point"),
          plural(model$n_latents, "cluster"), plural(model$n_dims, "column"), needed)
}

# Never rounded up to what would be enough.
shown_usage <- function(usage) {
  shown <- floor(10 * usage) / 10
  paste(plain_number(shown, 4), if (shown == 1) "point" else "points")
}

# Clusters that have shrunk onto a plane, a line or a point, beyond what all data lack.
describe_collapsed <- function(model, params, total, flat, found) {
  if (is_tied(params)) return(describe_collapsed_tied(model, params, total, flat, found))
  needed <- points_needed(model)
  enough <- which(found$usage >= needed * (1 - 1e-9))
  narrow <- lapply(enough, narrow_columns, model = model, params = params, total = total,
                   flat = flat)
  is_narrow <- lengths(narrow) > 0
  if (!any(is_narrow)) return(NULL)
  shown <- utils::head(which(is_narrow), 3)
  words <- vapply(shown, function(i) {
    columns <- narrow[[i]]
    sprintf("cluster %d (%s points) has shrunk to no width%s", enough[i],
            plain_number(found$usage[enough[i]], 3),
            if (length(columns) == model$n_dims) "" else
              paste(" in", column_words(columns, found$names)))
  }, "")
  more <- sum(is_narrow) - length(shown)
  paste(c(words, if (more > 0) sprintf("and so %s more", if (more == 1) "has one" else
    paste("have", more))), collapse = ", ")
}

# The same where all clusters have one covariance.
describe_collapsed_tied <- function(model, params, total, flat, found) {
  if (!is.null(describe_few_tied(model, found))) return(NULL)
  columns <- narrow_columns(1, model, params, total, flat)
  if (length(columns) == 0) return(NULL)
  sprintf("all clusters have shrunk to no width%s", if (length(columns) == model$n_dims) "" else
    paste(" in", column_words(columns, found$names)))
}

# Columns in which half of the values differ by less than the floor of the variances, a share of a
# spread that is then the doing of values far from all others: list(columns, value), of the first
# one the farthest value; NULL where there are none.
far_columns <- function(task) {
  most <- max(100, min(basis_rows, most_unit_numbers %/% n_dims(task$y)))
  step <- ceiling(n_points(task$y) / most)
  some <- do.call(cbind, map_blocks(task, function(task, block) {
    y <- gappy_data(task$y, block)
    y[, seq(1, ncol(y), by = step), drop = FALSE]
  }))
  quartiles <- apply(some, 1, stats::quantile, c(0.25, 0.75), na.rm = TRUE, names = FALSE)
  spread <- (quartiles[2, ] - quartiles[1, ]) / 1.35
  floors <- pmin(sigma_floors(task$model), cluster_floor * task$moments$variances)
  columns <- which(spread > 0 & spread^2 < at_floor * floors)
  if (length(columns) == 0) return(NULL)
  limits <- task_limits(task)[columns[1], ]
  list(columns = columns,
       value = limits[which.max(abs(limits - task$moments$centre[columns[1]]))])
}

describe_far <- function(far, names) {
  sprintf("nearly all the spread of %s is that of values far from all others, such as %s",
          column_words(far$columns, names), plain_number(far$value, 10))
}

# Columns in which a cluster has no width although all data have.
narrow_columns <- function(k, model, params, total, flat) {
  floors <- sigma_floors(model)
  switch(
    model$settings$covariance,
    spherical = if (params$sigma[k] < at_floor * floors[1]) seq_len(model$n_dims),
    diagonal = setdiff(which(params$sigma[, k] < at_floor * floors), flat),
    tied = ,
    full = {
      low <- low_directions(cluster_covariance(params, k), floors)
      if (count_low(low) > count_low(total$low)) {
        setdiff(which(rowSums(low^2) > 0.05), flat)
      }
    }
  )
}

# Images that are none are said to be so, and all else follows. Rows of a table that is doubted may
# still be what they are read as.
is_said_of <- function(fit, is_doubted) is_doubted && !is.null(fit$image_dim)

# One warning for all that is wrong, with what to do. What the fit has already said is left out.
warn_degenerate <- function(fit, is_said = FALSE, is_doubted = FALSE) {
  reasons <- fit$standing$degenerate
  if (length(reasons) == 0 || is_said) return(invisible())
  gps_warn(sprintf(
    paste("Degenerate fit: %s. %s The likelihood has no maximum here: bound, AIC and BIC depend on",
          "the lower limits of variances, and cannot be compared with those of other fits."),
    paste(reasons, collapse = "; "), paste(cures_of(fit, names(reasons), is_doubted),
                                            collapse = " ")
  ), class = "degenerate", reasons = reasons)
}

# What helps against the cause is enough. Of a table that may be transposed that comes first, unless
# it was told before.
cures_of <- function(fit, kinds, is_doubted) {
  if ("collapsed" %in% kinds) kinds <- setdiff(kinds, "few_points")
  wide <- advise_wide(fit$n_points, fit$model$n_dims, c(fit$image_dim, fit$pixels))
  is_few <- any(c("few_rows", "few_points", "collapsed") %in% kinds)
  c(if (is_few && nzchar(wide) && !is_doubted) trimws(wide), unique(degenerate_cures[kinds]))
}

degenerate_cures <- c(
  noise = paste("Use fewer latents, or data with noise. The floor is a share of the data's spread:",
                "values far from all others, such as codes for missing ones, raise it. Where the",
                "data lie far from 0 it is what rounding allows: subtract the column means."),
  few_rows = "Give more data points, or use covariance = \"diagonal\".",
  no_spread = "Drop what is constant: it tells nothing of clusters.",
  collinear = "Drop a column that others determine, or use covariance = \"diagonal\".",
  few_points = "Use fewer clusters, fewer columns or a simpler covariance.",
  collapsed = paste("Use fewer clusters or a simpler covariance, and look for rows or values that",
                    "are repeated, and for columns that follow from others."),
  far = paste("Look at the values far from all others: are they codes for missing ones? Make them",
              "NA, or leave these rows out: how the others differ there is not seen beside them.")
)

describe_annealing <- function(standing) {
  held <- standing$held
  heat <- standing$temperature
  if (length(c(held, heat)) == 0) return(NULL)
  paste0("was not over", if (length(held) > 0) {
    sprintf(", and held the noise variance at %s", plain_number(held, 3))
  }, if (!is.null(heat)) {
    sprintf(": probabilities are of temperature %s, the bound is a lower limit",
            plain_number(heat, 3))
  })
}

# Lines of print() on what the end of a fit stands on.
describe_standing <- function(fit) {
  unused <- fit$standing$unused
  emptied <- emptied_latents(fit$model, fit$params)
  floors <- last_floors(fit)
  reasons <- c(character(), fit$standing$degenerate)
  names(reasons) <- rep_len(c("Degenerate", rep("", length(reasons))), length(reasons))
  c(reasons, Annealing = describe_annealing(fit$standing),
    Floors = if (length(floors) > 0) {
      why <- explain_events(sub(" .*$", "", floors))
      paste0(paste(floors, collapse = ", "), " in the last M-step",
             if (length(why) > 0) sprintf(" (%s)", paste(sub("^.*: ", "", why), collapse = "; ")))
    },
    Emptied = if (length(emptied) > 0) {
      sprintf("%s, out of the model (see the section on mending in ?gps_control)",
              listed(emptied, "latent"))
    },
    Unused = if (length(unused) > 0) {
      sprintf("%s, on in less than one point",
              listed(latent_labels(fit, unused), choice_word(fit$model)))
    })
}

# What a time limit has cut in the beginning, as the trace has it.
describe_late <- function(fit) {
  if (fit$status != "time_limit") return("")
  events <- paste(fit$trace$events, collapse = ", ")
  n_seeds <- sub(".*seeds_by_chance ([0-9]+).*", "\\1", events)
  left <- c(if (n_seeds != events) sprintf("%s of the seeds left to chance", n_seeds),
            if (grepl("unranked", events, fixed = TRUE)) "before selection had begun to learn")
  if (length(left) == 0) "" else paste0(": ", paste(left, collapse = ", "))
}

# Floors and rescues of the model in the last M-step of the main run, and the jitter of its kernel
# matrix, as the trace has them.
last_floors <- function(fit) {
  row <- utils::tail(which(fit$trace$start == 0), 1)
  if (length(row) == 0) return(character())
  events <- strsplit(fit$trace$events[row], ", ", fixed = TRUE)[[1]]
  jitter <- fit$trace$jitter[row]
  c(events[sub(" [0-9]+$", "", events) %in% fit$model$events],
    if (jitter > 0) paste("jitter", plain_number(jitter, 2)))
}

# Warns of a bound that fell where nothing but the M-step can have done that: selections that are
# all latents, or that are kept where they are better.
warn_falls <- function(fit) {
  if (is_built_in(fit$model) || fit$method != "exact" || !is.null(fit$control$batch_size)) {
    return(invisible())
  }
  trace <- fit$trace[fit$trace$start == 0 & fit$trace$temperature == 1, ]
  is_whole <- selects_all(fit) || fit$control$monotone
  # Explorers end where points begin to keep selections; of a single slot there never were any.
  is_kept <- is_whole | trace$explore == 0 & fit$selector$explore > 0 & fit$n_selected > 1
  fall <- -diff(trace$bound)
  fell <- which(fall > 1e-8 * (1 + abs(trace$bound[-1])) & is_kept[-1] & is_kept[-nrow(trace)])
  if (length(fell) == 0) return(invisible())
  gps_warn(sprintf(paste(
    "The bound fell by %s from iteration %d to %d, %s in all: the M-step of the model %s does not",
    "maximise the expected log joint."
  ), plain_number(fall[fell[1]], 3), trace$iteration[fell[1]], trace$iteration[fell[1] + 1],
  plural(length(fell), "time"), quoted(fit$model$name)), class = "mstep")
}
