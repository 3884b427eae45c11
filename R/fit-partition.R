# Where a mixture begins if a user says it by data points: which cluster each belongs to, or where
# the clusters' centres are. Any model of which exactly one latent is on can begin so: its own
# M-step makes parameters of labels.

# A `start` as gps_fit() takes it: a fit and a list of parameters as they are; labels or centres as
# an object of class gps_partition, list(label [n], names, centres).
read_start <- function(start, model, data) {
  refuse_start(start, model, data)
  start <- unpack_partition(start, n_points(data$y))
  is_table <- is.data.frame(start) || length(dim(start)) == 2
  is_labels <- is.atomic(start) && is.null(dim(start))
  if (!is_table && !is_labels) return(start)
  if (model$rule$min_active != 1) {
    gps_abort(paste("`start` must be a named list of parameters, as coef() gives them, or a fit:",
                    "labels and centres are for mixtures."))
  }
  parts <- if (is_table) read_centres(start, model, data) else
    read_labels(start, model, n_points(data$y))
  structure(parts, class = "gps_partition")
}

# Starts of another kind, of another model or of other sizes, with the way to one.
refuse_start <- function(start, model, data) {
  if (inherits(start, "hclust")) {
    gps_abort(sprintf("`start` is a tree of clusters: cutree(tree, %d) makes labels of it.",
                      model$n_latents))
  }
  if (is_one_of(start, start) && is_text(start) && file_ending(start) %in% names(file_readers)) {
    gps_abort(sprintf("`start` is the name of a file.%s", advise_file(start)))
  }
  if (inherits(start, "gps_fit")) {
    if (inherits(start$model, "gps_model")) refuse_other_fit(start, model, data)
    return(invisible())
  }
  known <- c("gps_partition", "kmeans", "Mclust", "data.frame")
  is_foreign <- is.list(start) && is.object(start) && !inherits(start, known)
  is_inside <- is.list(start) && length(start) == 1 && inherits(start[[1]], "gps_fit")
  if (!is_foreign && !is_inside) return(invisible())
  way <- if (is_inside) {
    "Take the fit out of the list, [[1]]."
  } else if (inherits(start, "gps_checkpoint")) {
    refused_classes$gps_checkpoint[2]
  }
  abort_value(start, "start", "a fit, or a named list of parameters as coef() gives them", way)
}

refuse_other_fit <- function(start, model, data) {
  if (is_other_model(start, model)) {
    gps_abort(sprintf("`start` must be a fit of the same model, not of this: %s. %s",
                      format_model(start$model), advise_other_model(start, model)))
  }
  sizes <- list(c(count_choices(start$model), count_choices(model)),
                c(start$model$n_dims, n_dims(data$y)))
  is_other <- vapply(sizes, function(pair) {
    all(vapply(pair, is_count, NA)) && pair[1] != pair[2]
  }, NA)
  # Components in images may go on in images of another size.
  if (has_images(model) || has_images(start$model)) is_other[2] <- FALSE
  if (!any(is_other)) return(invisible())
  words <- c(choice_word(model), "column")
  gps_abort(sprintf(
    "`start` must be a fit of the same size, but it has %s, and the %s %d.%s %s",
    plural(sizes[is_other][[1]][1], words[is_other][1]), c("model", "data")[is_other][1],
    as.integer(sizes[is_other][[1]][2]),
    if (is_other[1]) "" else say_new_columns(data$col_names, start$col_names),
    advise_other_size(sizes, model, is_other, names(start$params))))
}

# The columns of the data that a fit does not have, or those of the fit that the data lack.
say_new_columns <- function(names, own) {
  if (is.null(names) || is.null(own)) return("")
  new <- setdiff(names, own)
  lost <- setdiff(own, names)
  paste0(if (length(new) > 0) sprintf(" Not in the fit: %s", columns_said(new)),
         if (length(lost) > 0) sprintf(" Not in the data: %s", columns_said(lost)))
}

# Whether a fit has other parameters than one of this model, which knows its own before it is bound.
is_other_model <- function(fit, model) {
  is_known <- chooses_latents(model) && !is.null(model_maker(model)) && length(model$params) > 0
  if (!is_known) return(FALSE)
  # Without an intercept it is one that is 0.
  own <- union(names(fit$params), if (has_intercept(model)) "intercept")
  !setequal(own, names(model$params)) ||
    !identical(fit$model$settings$covariance, model$settings$covariance)
}

# What of a fit of another model can be begun with.
advise_other_model <- function(fit, model) {
  if (fit$model$rule$min_active == 1 && model$rule$min_active == 1) {
    return("Its clusters can be one: start = predict(fit, type = \"class\").")
  }
  if (setequal(setdiff(names(fit$params), "intercept"), names(model$params))) {
    return("Give the model an intercept, too.")
  }
  has_both <- !is.null(fit$params$W) && "W" %in% names(model$params)
  if (has_both && fit$model$n_latents == model$n_latents) {
    return("Its components can be one: start = list(W = coef(fit)$W).")
  }
  "Leave it out, and the fit begins anew."
}

# What of a fit of another size can be begun with. `sizes`: numbers of latents and of columns, each
# of the fit and wanted.
advise_other_size <- function(sizes, model, is_other, params) {
  if (is_other[1] && !chooses_latents(model)) return("Leave it out, and the fit begins anew.")
  if (is_other[1]) {
    return(sprintf("gps_choose(y, model, c(%d, %d)) begins each from the other.",
                   as.integer(min(sizes[[1]])), as.integer(max(sizes[[1]]))))
  }
  if (model$rule$min_active == 1) {
    return(paste("Its clusters can be one, where the rows are the same:",
                 "predict(fit, type = \"class\")."))
  }
  if (sizes[[2]][1] < sizes[[2]][2] || !"W" %in% params) {
    return("Leave it out, and the fit begins anew.")
  }
  "Rows of its components can be one: list(W = coef(fit)$W[columns, ])."
}

# The labels of what other packages return; where these were made without some of the data points,
# such as those with missing cells, its centres, one a row.
unpack_partition <- function(start, n_points) {
  if (inherits(start, "kmeans")) {
    return(if (length(start$cluster) == n_points) start$cluster else start$centers)
  }
  if (!inherits(start, "Mclust")) return(start)
  label <- start$classification
  if (length(label) == n_points) label else t(rbind(start$parameters$mean))
}

# list(label, names): the number of each point's cluster from a factor, from words or from numbers.
read_labels <- function(labels, model, n_points) {
  n_clusters <- model$n_latents
  if (length(labels) != n_points) {
    is_word <- is.character(labels) && length(labels) == 1
    gps_abort(sprintf("`start` must have a label for each of %s, not %s.%s",
                      plural(n_points, "data point"), plural(length(labels), "label"),
                      if (is_word) " The name of a method is none: kmeans(y, 3) makes labels." else
                        ""))
  }
  if (anyNA(labels)) {
    gps_abort(sprintf(paste("`start` must have a label for each data point, but that of point %d",
                            "is NA. Without labels of some points give centres, one a row, as",
                            "`start`."), which(is.na(labels))[1]))
  }
  names <- NULL
  if (is.factor(labels) || is.character(labels)) {
    labels <- droplevels(as.factor(labels))
    names <- levels(labels)
  }
  label <- if (is.null(names)) as.numeric(plain_numbers(labels)) else as.integer(labels)
  allowed <- sprintf("`start` must have labels of all %s of the model",
                     plural(n_clusters, "cluster"))
  n_names <- if (is.null(names)) length(unique(label)) else length(names)
  if (n_names != n_clusters) gps_abort(sprintf("%s, not of %d.", allowed, n_names))
  if (!setequal(label, seq_len(n_clusters))) {
    gps_abort(sprintf("%s: whole numbers from 1 to %d, a factor or words, not %s.", allowed,
                      n_clusters, given_number(setdiff(label, seq_len(n_clusters))[1])))
  }
  list(label = as.integer(label), names = names, n_clusters = n_clusters)
}

# Labels of rows that count, of which each cluster must have one.
refuse_uncounted <- function(start, why = "a weight of 0") {
  if (!inherits(start, "gps_partition") || is.null(start$label)) return(invisible())
  absent <- setdiff(seq_len(start$n_clusters), start$label)
  if (length(absent) == 0) return(invisible())
  name <- if (is.null(start$names)) absent[1] else quoted(start$names[absent[1]])
  gps_abort(sprintf(paste("`start`: all data points with the label %s have %s, so that they say",
                          "nothing of this cluster."), name, why))
}

# What a start is, in words.
start_kind <- function(start) {
  if (inherits(start, "gps_fit")) return("the end of another fit")
  if (!inherits(start, "gps_partition")) {
    return(sprintf("given values of %s", paste0("`", names(start), "`", collapse = ", ")))
  }
  if (is.null(start$label)) "given centres" else "given labels"
}

# list(names, centres [D x C]) from a table with a centre in each row, as stats::kmeans() gives it.
read_centres <- function(centres, model, data) {
  centres <- pick_columns(plain_numbers(centres), data$col_names, "start", "`y`")
  centres <- check_matrix(centres, "start")
  n_dims <- n_dims(data$y)
  if (ncol(centres) != n_dims || nrow(centres) != model$n_latents) {
    hint <- if (identical(dim(centres), as.integer(c(n_points(data$y), model$n_latents)))) {
      " Probabilities of clusters become labels by max.col()."
    } else if (identical(rev(dim(centres)), as.integer(c(model$n_latents, n_dims)))) {
      " Is it transposed?"
    }
    gps_abort(sprintf(paste("`start` must have a centre in each row, %d x %d numbers for %s of %s,",
                            "not %s.%s"), model$n_latents, n_dims,
                      plural(model$n_latents, "cluster"), plural(n_dims, "column"),
                      shown_dim(dim(centres)), paste(hint, collapse = "")))
  }
  # Numbers are what rows have where nobody has named them.
  names <- rownames(centres)
  if (identical(names, as.character(seq_along(names)))) names <- NULL
  list(names = names, centres = unname(t(centres)))
}

# The model's parameters of a partition: those that its M-step makes of labels, each point surely in
# its cluster. Without labels each point has that of the nearest centre, and the centres stay.
partition_params <- function(task, params, partition) {
  label_of <- function(task, block) {
    if (!is.null(partition$label)) return(partition$label[block_columns(block)])
    nearest_centre(task$model, block_data(task$y, block), partition$centres)
  }
  made <- label_mstep(task, params, label_of)
  # What is expected in missing cells depends on the parameters: the M-step is repeated until it
  # no longer does on those that it began with.
  if (lacks_cells(task)) {
    for (pass in seq_len(label_passes)) {
      before <- unlist(made)
      made <- label_mstep(task, made, label_of)
      if (max(abs(unlist(made) - before) / pmax(abs(before), 1e-300)) < 1e-9) break
    }
  }
  centre <- centre_param(task$model, made)
  if (!is.null(partition$centres) && !is.null(centre)) {
    made[[centre]][] <- allowed_centres(task$model$ranges[[centre]], partition$centres,
                                        made[[centre]])
  }
  check_all_params(task$model, made, "start")
}

# Centres as a model can have them: where it excludes an end of their range, such as a rate of 0,
# what its M-step makes of the points there stands for that end.
allowed_centres <- function(range, centres, made) {
  if (is.null(range)) return(centres)
  bad <- centres[centres < range[1] | centres > range[2]]
  if (length(bad) > 0) {
    gps_abort(sprintf("`start` must have centres between %s and %s, not %s.",
                      plain_number(range[1]), plain_number(range[2]), given_number(bad[1])))
  }
  ifelse(centres == range[1] & isTRUE(attr(range, "is_open")), made, centres)
}

label_passes <- 500L

# Which centre [D x C] is nearest to each point of y [D x n], in the model's units.
nearest_centre <- function(model, y, centres) {
  origin <- rowMeans(centres)
  nearest_seed((y - origin) / residual_unit(model), (centres - origin) / residual_unit(model))
}

# The parameter D x C that says where clusters are, by name; NULL where there is none.
centre_param <- function(model, params) {
  values <- component_values(model, params)
  if (!is.null(values)) names(params)[vapply(params, identical, NA, values)][1]
}

# Names of clusters that a start has: of its labels or centres, of the parameters of a list, or of a
# fit that had them.
names_of_start <- function(start, model) {
  if (model$rule$min_active != 1) return(NULL)
  if (inherits(start, "gps_partition")) return(start$names)
  if (inherits(start, "gps_fit")) return(start$latent_names)
  for (name in intersect(names(start), names(model$params))) {
    axis <- which(model$params[[name]] == "latents")
    given <- param_names(start[[name]], model$params[[name]], axis[1])
    if (length(given) == model$n_latents && all(!is.na(given) & nzchar(given))) return(given)
  }
  NULL
}

# The names at the end of a fit. Where mending has moved a cluster it is another one than the name
# says, and no cluster has a name.
kept_names <- function(task, state) {
  if (is.null(task$latents)) return(NULL)
  is_main <- vapply(state$trace, function(row) row$start == 0, NA)
  events <- unlist(strsplit(vapply(state$trace[is_main], `[[`, "", "events"), ", ", fixed = TRUE))
  if (!any(sub(" [0-9]+$", "", events) %in% moved_events)) return(task$latents)
  gps_warn(paste("Mending has moved clusters away from where `start` had them, so that their names",
                 "are not kept: gps_control(mend = FALSE) leaves them there."))
  NULL
}

moved_events <- c("split", "renewed", "turned", "emptied", "joined", "merged", "reseeded")
