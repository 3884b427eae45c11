# Components of several fits beside the data and the truth, all in one order.

# Data points, components of fits and true ones side by side, all in one order. Of the reference,
# the truth or else the fit's own components, `n` or `select` says which columns are shown.
draw_comparison <- function(fit, look, truth, beside) {
  others <- list_of_fits(beside)
  fits <- c(list(fit), others)
  reference <- reference_components(fit, look, truth)
  args <- c("x", rep("beside", length(others)))
  has_spare <- is.null(look$n) && is.null(look$select)
  panels <- Map(function(x, title, arg) {
    c(list(title = title), align_components(x, reference, arg, has_spare))
  }, fits, comparison_titles(fits), args)
  if (!is.null(fit$y)) {
    shown <- spaced_points(fit$n_points, ncol(reference))
    base <- fit$params$intercept
    examples <- list(title = c("Data points", if (is.null(base)) "" else "less the intercept"),
                     values = rows_data(fit$y, shown) - if (is.null(base)) 0 else base)
    panels <- c(list(examples), panels)
  }
  if (!is.null(truth)) panels <- c(panels, list(list(title = c("Truth", ""), values = reference)))
  size <- component_size(fit, look$size)
  panels <- unname(lapply(panels, function(panel) {
    panel$values <- unname(panel$values)
    if (!is.null(size)) panel$values <- grey_pixels(panel$values, size)
    panel
  }))
  rival <- if (is.null(truth)) "that of the first fit" else "the true one"
  note <- paste(if (is.null(size)) "Below" else "Above",
                "each learned component: |cosine| with", rival)
  draw_figure(draw_panels(panels, fit, utils::head(size, 2), look, note))
  titles <- vapply(panels, function(panel) panel$title[1], "")
  drawn <- lapply(panels, function(panel) panel[names(panel) %in% c("values", "similarity")])
  stats::setNames(drawn, make.unique(titles, " "))
}

# D x K: the true components, or the fit's own that are in the model, the most used first.
reference_components <- function(fit, look, truth) {
  if (is.null(truth)) {
    most_used <- order(-component_usage(fit))
    left <- setdiff(most_used, emptied_latents(fit$model, fit$params))
    shown <- if (is.null(look$select)) {
      utils::head(if (length(left) > 0) left else most_used, if (is.null(look$n)) most_shown else
        look$n)
    } else {
      check_select(look$select, most_used, fit$latent_names)
    }
    reference <- get_components(fit, "x")[, shown, drop = FALSE]
  } else {
    reference <- get_components(truth, "truth")
    shown <- chosen_latents(look, seq_len(ncol(reference)), most_shown)
    reference <- reference[, shown, drop = FALSE]
  }
  place <- match_columns(rownames(reference), fit$col_names, "truth", "the fit's data", "row")
  if (!is.null(place)) reference <- reference[place, , drop = FALSE]
  if (is.null(rownames(reference)) && nrow(reference) == length(fit$col_names)) {
    rownames(reference) <- fit$col_names
  }
  reference
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

# list(values, labels, similarity): components in the order of those of `reference` and turned as
# they are where the sign is free; columns of zeros where there is none, and with `has_spare` those
# left over at the end, but emptied ones.
align_components <- function(x, reference, arg, has_spare = TRUE) {
  components <- get_components(x, arg)
  name <- if (inherits(x, "gps_fit")) "the fit" else sprintf("`%s`", arg)
  refuse_unequal(components, reference, name, if (name == "the fit") "`truth`" else "the others")
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
  spare <- if (has_spare) utils::head(setdiff(which(!is_emptied), order), most_shown)
  is_none <- is.na(order) | is_emptied[order]
  labels <- ifelse(is_none, "none", sprintf("%.2f", match$similarity))
  list(values = cbind(values, components[, spare, drop = FALSE]),
       labels = c(labels, rep("spare", length(spare))),
       similarity = ifelse(is_none, NA, match$similarity))
}

# A slab of either sign makes W and -W the same model; where weights are positive by the model, they
# stay so.
has_free_signs <- function(x) {
  params <- if (inherits(x, "gps_fit")) x$params else x
  is.list(params) && !is.null(params[["psi"]]) && any(params[["W"]] < 0)
}

# Panels of images or heat maps in as many rows as make them largest, equally large and in the same
# colours, with one scale of these.
draw_panels <- function(panels, fit, size, look, note) {
  range <- colour_range(unlist(lapply(panels, `[[`, "values")))
  n_most <- max(vapply(panels, function(panel) ncol(panel$values), 1L))
  frame <- c(1.6, 0.3, if (is.null(look$main)) 0.3 else 1.8,
             if (look$key) key_lines(range) else 0.3)
  in_part(whole_part, frame, {
    graphics::plot.window(0:1, 0:1)
    if (!is.null(look$main)) panel_title(look$main, lines = 0.6)
    if (look$key) {
      draw_key(range, function(values) image_colours(values, range, look$col))
      graphics::mtext(note, 1, adj = 0, line = 0.3, col = "grey30",
                      cex = graphics::par("cex") * fit_text(note, title_room(), 0.8))
    }
  }, 1)
  inset <- frame * line_inches() / rep(graphics::par("fin")[2:1], 2)
  inner <- c(inset[2], 1 - inset[4], inset[1], 1 - inset[3])
  across <- panels_across(length(panels), n_most, if (is.null(size)) c(1, 1) else size, inner)
  width <- graphics::par("fin")[1] * diff(inner[1:2])
  # Names of rows stand on the left of the first panel.
  extra <- if (is.null(size)) name_lines(row_labels(fit)) * line_inches() else 0
  widths <- (width - extra) / across + c(extra, rep(0, across - 1))
  parts <- split_part(widths, rep(1, ceiling(length(panels) / across)), inner)
  look$title_cex <- common_title_cex(panels, min(widths))
  for (i in seq_along(panels)) {
    panel <- panels[[i]]
    labels <- if (is.null(panel$labels)) rep("", ncol(panel$values)) else panel$labels
    if (is.null(size)) {
      rows <- if (i %% across == 1 || across == 1) row_labels(fit)
      draw_heat(parts[[i]], panel$values, rows, panel$title[1], panel$title[2],
                rep("", length(labels)), labels, "", look, range, FALSE)
    } else {
      draw_images(parts[[i]], panel$values, size, labels, panel$title, look, range, n_most, FALSE)
    }
  }
}

# The sizes of titles and second titles that all panels of so many inches have room for.
common_title_cex <- function(panels, width) {
  titles <- vapply(panels, function(panel) panel$title[1:2], c("", ""))
  c(fit_text(titles[1, ], 0.95 * width, 1, 2), fit_text(titles[2, ], 0.95 * width, 0.85))
}

# How many panels of so many images stand beside each other.
panels_across <- function(n_panels, n_images, size, part) {
  room <- graphics::par("fin") * (part[c(2, 4)] - part[c(1, 3)])
  scale <- vapply(seq_len(n_panels), function(across) {
    own <- room / c(across, ceiling(n_panels / across)) - line_inches() * c(1.2, 3.1)
    if (any(own <= 0)) return(0)
    arrange_images(n_images, size[1], size[2], own, line_inches())$scale
  }, 1)
  which(scale >= 0.95 * max(scale))[sum(scale >= 0.95 * max(scale))]
}
