# The figures of a choice of the number of latents.

#' @rdname gps_choose
#' @param which for `plot()`: "criterion", the one that chose, or "entropy".
#' @param main title of the figure; NULL: one that says what it shows.
#' @export
plot.gps_choice <- function(x, which = c("criterion", "entropy"), main = NULL, ...) {
  refuse_unknown(list(...), c("which", "main"))
  need_made(is_choice_sound(x), "x", "gps_choose()")
  which <- check_choice(which, "which", c("criterion", "entropy"))
  table <- x$table
  column <- if (which == "entropy") "entropy" else
    c(BIC = "BIC", ICL = "ICL", `held-out` = "held_out")[[x$criterion]]
  data <- data.frame(model = table$model, n_latents = table$n_latents, value = table[[column]],
                     chosen = table$chosen)
  data <- data[is.finite(data$value), ]
  if (nrow(data) == 0) gps_abort("The figure \"entropy\" is of mixtures, whose points have labels.")
  label <- c(BIC = "BIC (smaller is better)", ICL = "ICL (smaller is better)",
             held_out = "log density of new points (nats)",
             entropy = "entropy of assignments (nats)")[[column]]
  if (is.null(main)) main <- "How many?"
  with_par(list(mar = panel_margins), {
    open_panel(range(data$n_latents), range(data$value), "number of latents", label, main)
    draw_choice(data)
  })
  invisible(data)
}

# A line for each model; the chosen one has a filled point.
draw_choice <- function(data) {
  models <- unique(data$model)
  for (k in seq_along(models)) {
    line <- data[data$model == models[k], ]
    graphics::lines(line$n_latents, line$value, col = cluster_ink(k), lwd = 2, lty = k)
    graphics::points(line$n_latents, line$value, pch = 21, cex = ifelse(line$chosen, 1.8, 0.9),
                     bg = ifelse(line$chosen, cluster_ink(k), "white"), col = cluster_ink(k),
                     lwd = 1.5)
  }
  labels <- c(if (length(models) > 1) models, "chosen")
  colours <- c(if (length(models) > 1) cluster_ink(seq_along(models)), "grey30")
  top_legend(labels, col = colours, pt.bg = colours,
             lwd = c(rep(2, length(labels) - 1), NA),
             lty = c(seq_len(length(labels) - 1), 0), pch = c(rep(NA, length(labels) - 1), 21))
}
