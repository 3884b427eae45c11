# The figures of a choice of the number of latents.

#' @rdname gps_choose
#' @param which for `plot()`: "criterion", the one that chose, or "entropy". Fits that were cut
#'   short have a cross.
#' @param main for `plot()`: title; NULL: one that says what it shows.
#' @param col for `plot()`: colours of the models; NULL: those of the package.
#' @param key for `plot()`: FALSE leaves out the legend.
#' @export
plot.gps_choice <- function(x, which = c("criterion", "entropy"), main = NULL, col = NULL,
                            key = TRUE, ...) {
  refuse_unknown(further(...), c("which", "main", "col", "key"))
  need_made(is_choice_sound(x), "x", "gps_choose()")
  which <- check_choice(which, "which", c("criterion", "entropy"))
  look <- new_look(main, col, key)
  table <- x$table
  column <- if (which == "entropy") "entropy" else
    c(BIC = "BIC", ICL = "ICL", `held-out` = "held_out")[[x$criterion]]
  data <- data.frame(model = table$model, n_latents = table$n_latents, value = table[[column]],
                     chosen = table$chosen, unfinished = is_unfinished(table))
  data <- data[is.finite(data$value), ]
  if (nrow(data) == 0) gps_abort("The figure \"entropy\" is of mixtures, whose points have labels.")
  label <- c(BIC = "BIC (smaller is better)", ICL = "ICL (smaller is better)",
             held_out = "log density of new points (nats)",
             entropy = "entropy of assignments (nats)")[[column]]
  draw_figure(axis_panel(whole_part, range(data$n_latents), range(data$value), "number of latents",
                         label, title_of(look, "How many?"), draw_choice(data, look),
                         ticks = "whole"))
  invisible(data)
}

# A line for each model; the chosen one has a filled point, fits that were cut short a cross.
draw_choice <- function(data, look) {
  models <- unique(data$model)
  colours <- series_ink(look, cluster_ink(seq_along(models)))
  for (k in seq_along(models)) {
    line <- data[data$model == models[k], ]
    graphics::lines(line$n_latents, line$value, col = colours[k], lwd = 2, lty = k)
    graphics::points(line$n_latents, line$value, pch = 21, cex = ifelse(line$chosen, 1.8, 0.9),
                     bg = ifelse(line$chosen, colours[k], "white"), col = colours[k], lwd = 1.5)
    cut <- line[line$unfinished, ]
    graphics::points(cut$n_latents, cut$value, pch = 4, cex = 1.8, lwd = 1.5)
  }
  if (!look$key) return(invisible())
  if (length(models) == 1) models <- character()
  marks <- c(chosen = 21, "cut short" = 4)[c(TRUE, any(data$unfinished))]
  n <- length(models)
  top_legend(c(models, names(marks)), c(colours[seq_len(n)], rep("grey30", length(marks))),
             c(seq_len(n), rep(0, length(marks))), 2, c(rep(NA, n), marks), "grey30")
}
