# Figures of components: images or a heat map of those of one fit; several fits beside the data and
# the truth.

draw_components <- function(fit) {
  values <- component_values(fit$model, fit$params)
  if (is.null(values)) {
    gps_abort(sprintf("The figure \"components\" needs parameters of %d x %d, which %s.",
                      fit$model$n_dims, fit$model$n_latents, "this model has not"))
  }
  usage <- component_usage(fit) / count_observations(fit)
  shown <- utils::head(order(-usage), most_shown)
  kind <- if (is_one_hot(fit)) "Cluster means" else "Components"
  if (length(shown) < length(usage)) {
    kind <- sprintf("%s (the %d most used of %d)", kind, length(shown), length(usage))
  }
  share <- percent(usage[shown])
  share[shown %in% emptied_latents(fit$model, fit$params)] <- "out"
  labels <- sprintf("%d: %s", shown, share)
  size <- component_size(fit)
  if (is.null(size)) return(draw_heat(fit, values, kind, shown, share))
  values <- matrix(grey_pixels(values, fit$image_dim)[, shown], ncol = length(shown))
  with_par(list(oma = c(0.5, 0.5, 0.5, 0.5)), {
    image_grid(values, size[1], size[2], titles = labels,
               main = paste0(kind, ", with the share of data points in which each is on"))
  })
}

# Height and width of a component as an image, or NULL where it is none: columns with names are no
# pixels, however many they are.
component_size <- function(fit) {
  if (!is.null(fit$image_dim)) return(fit$image_dim[1:2])
  if (fit$model$n_dims >= 16 && is.null(fit$col_names)) guess_image_dim(fit$model$n_dims)
}

# Mean over the channels of coloured images: pixels x K.
grey_pixels <- function(values, image_dim) {
  if (length(image_dim) < 3) return(values)
  rowMeans(aperm(array(values, c(prod(image_dim[1:2]), image_dim[3], ncol(values))), c(1, 3, 2)),
           dims = 2)
}

# Dimensions x components in colours, with a key.
draw_heat <- function(fit, values, main, shown, share) {
  if (is_mixture(fit)) {
    values <- standardise_means(fit$params)
    main <- paste0(main, ", in standard deviations of each variable")
  } else {
    main <- paste0(main, ", in the units of the data")
  }
  values <- values[, shown, drop = FALSE]
  names <- if (is.null(fit$col_names)) seq_len(nrow(values)) else abbreviate(fit$col_names, 12)
  n <- dim(values)
  with_par(list(mar = c(3.6, min(8, 2.5 + 0.5 * max(nchar(names))), 3.2, 6)), {
    graphics::plot.new()
    graphics::plot.window(c(0, n[2]), c(n[1], 0), xaxs = "i", yaxs = "i")
    graphics::rasterImage(matrix(image_colours(values), n[1]), 0, n[1], n[2], 0,
                          interpolate = FALSE)
    graphics::rect(0, 0, n[2], n[1], border = "grey60")
    some <- function(count, most) unique(round(seq(1, count, length.out = min(count, most))))
    rows <- some(n[1], 40)
    columns <- some(n[2], if (n[2] <= 12) 12 else 25)
    labels <- if (n[2] <= 12) sprintf("%d: %s", shown, share) else shown
    graphics::axis(2, rows - 0.5, names[rows], las = 1, lwd = 0, mgp = c(3, 0.3, 0), cex.axis = 0.8)
    graphics::axis(1, columns - 0.5, labels[columns], lwd = 0, mgp = c(2, 0.1, 0), cex.axis = 0.8)
    graphics::title(xlab = ranked_label(fit), line = 1.8)
    panel_title(main, 1)
    draw_key(range(values, 0), image_colours)
  })
}

# Means of clusters from the mean of the mixture, in its standard deviations.
standardise_means <- function(params) {
  mu <- params$mu
  n_clusters <- ncol(mu)
  within <- vapply(seq_len(n_clusters), function(k) diag(cluster_covariance(params, k)), mu[, 1])
  dim(within) <- dim(mu)
  centre <- drop(mu %*% params$pi)
  spread <- sqrt(drop((within + (mu - centre)^2) %*% params$pi))
  (mu - centre) / spread
}

# Data points, components of fits and true ones side by side, all in one order.
draw_comparison <- function(fit, truth, beside) {
  others <- list_of_fits(beside)
  fits <- c(list(fit), others)
  reference <- if (is.null(truth)) {
    most_used_first <- order(-component_usage(fit))
    left <- setdiff(most_used_first, emptied_latents(fit$model, fit$params))
    get_components(fit, "x")[, if (length(left) > 0) left else most_used_first, drop = FALSE]
  } else {
    get_components(truth, "truth")
  }
  reference <- reference[, seq_len(min(ncol(reference), most_shown)), drop = FALSE]
  place <- match_columns(rownames(reference), fit$col_names, "truth", "the fit's data", "row")
  if (!is.null(place)) reference <- reference[place, , drop = FALSE]
  if (is.null(rownames(reference)) && nrow(reference) == length(fit$col_names)) {
    rownames(reference) <- fit$col_names
  }
  args <- c("x", rep("beside", length(others)))
  panels <- Map(function(x, title, arg) c(list(title = title), align_components(x, reference, arg)),
                fits, comparison_titles(fits), args)
  if (!is.null(fit$y)) {
    n <- min(fit$n_points, ncol(reference))
    shown <- unique(round(seq(1, fit$n_points, length.out = n)))
    base <- fit$params$intercept
    examples <- list(title = c("Data points", if (is.null(base)) "" else "less the intercept"),
                     values = rows_data(fit$y, shown) - if (is.null(base)) 0 else base)
    panels <- c(list(examples), panels)
  }
  if (!is.null(truth)) panels <- c(panels, list(list(title = c("Truth", ""), values = reference)))
  rival <- if (is.null(truth)) "that of the first fit" else "the true one"
  note <- if (is.null(component_size(fit))) {
    "Rows are dimensions, columns are data points and components"
  } else {
    paste("Above each learned component: |cosine| with", rival)
  }
  draw_panels(panels, fit, note)
}

# What was given as `beside`, as a list of fits or components.
list_of_fits <- function(beside) {
  is_one <- inherits(beside, "gps_fit") || !is.list(beside) || is.data.frame(beside) ||
    any(c("W", "mu", "rate") %in% names(beside))
  if (is_one && !is.null(beside)) list(beside) else beside
}

# Two lines each: the name that was given, and what selected.
comparison_titles <- function(fits) {
  given <- if (is.null(names(fits))) rep("", length(fits)) else printable(names(fits))
  lapply(seq_along(fits), function(i) {
    is_fit <- inherits(fits[[i]], "gps_fit")
    c(if (nzchar(given[i])) given[i] else if (is_fit) "Learned" else "Beside",
      if (is_fit) selection_label(fits[[i]]$selector) else "")
  })
}

# White noise is in every learned kernel and goes without saying.
selection_label <- function(selector) {
  kernel <- selector$kernel
  if (is.null(kernel)) return(selector$label)
  kernel$terms <- Filter(function(term) term$type != "white", kernel$terms)
  paste("GP,", kernel_label(kernel))
}

# list(values, labels): components in the order of those of `reference` and turned as they are where
# the sign is free; columns of zeros where there is none, and those left over at the end, but
# emptied ones.
align_components <- function(x, reference, arg) {
  components <- get_components(x, arg)
  match <- match_components(components, reference)
  place <- match_columns(rownames(components), rownames(reference), arg, "the components", "row")
  components <- unname(if (is.null(place)) components else components[place, , drop = FALSE])
  order <- match$permutation
  values <- matrix(0, nrow(reference), ncol(reference))
  values[, !is.na(order)] <- components[, order[!is.na(order)]]
  if (has_free_signs(x)) {
    values <- sweep(values, 2, ifelse(colSums(values * reference) < 0, -1, 1), "*")
  }
  is_emptied <- colSums(components != 0) == 0
  spare <- utils::head(setdiff(which(!is_emptied), order), most_shown)
  labels <- ifelse(is.na(order) | is_emptied[order], "none", sprintf("%.2f", match$similarity))
  list(values = cbind(values, components[, spare, drop = FALSE]),
       labels = c(labels, rep("spare", length(spare))))
}

# A slab of either sign makes W and -W the same model.
has_free_signs <- function(x) {
  params <- if (inherits(x, "gps_fit")) x$params else x
  is.list(params) && !is.null(params[["psi"]])
}

# Grids of images in one row, equally large and in the same colours.
draw_panels <- function(panels, fit, note) {
  size <- component_size(fit)
  is_signed <- any(vapply(panels, function(panel) any(panel$values < 0), NA))
  n_most <- max(vapply(panels, function(panel) ncol(panel$values), 1L))
  with_par(list(mfrow = c(1, 1), oma = c(1.4, 0.5, 0.5, 0.5), cex = 1), {
    graphics::layout(t(seq_along(panels)))
    graphics::par(cex = 1)
    for (panel in panels) {
      values <- grey_pixels(panel$values, fit$image_dim)
      if (is.null(size)) {
        image_grid(list(values), main = panel$title, is_signed = is_signed)
      } else {
        labels <- if (is.null(panel$labels)) rep("", ncol(values)) else panel$labels
        image_grid(values, size[1], size[2], titles = labels, main = panel$title,
                   is_signed = is_signed, n_cells = n_most)
      }
    }
    graphics::mtext(note, 1, outer = TRUE, adj = 0.5, line = 0.2, cex = 0.8, col = "grey30")
  })
}
