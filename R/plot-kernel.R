# Figure of a learned selector's kernel over EM.

# What is less stands at the foot of the logarithmic axis.
least_share <- 1e-5

draw_kernel <- function(fit, look) {
  if (is.null(fit$kernel_trace)) {
    gps_abort(paste("The figure \"kernel\" needs a fit whose selector has learned a kernel:",
                    "selector_gp(), with `n_selected` below the number of latents."))
  }
  shares <- kernel_shares(fit)
  height <- log10(pmax(shares$share, least_share))
  at <- c(shares$iteration, shares$last)
  limits <- range(0, floor(min(height)))
  terms <- colnames(height)
  colours <- series_ink(look, cluster_ink(seq_along(terms)))
  draw_figure(axis_panel(
    whole_part, c(0, shares$last), limits, "EM iteration", "share of the variance",
    title_of(look, "Terms of the learned kernel"), y_ticks = seq(limits[1], 0),
    y_labels = paste(format_power(seq(limits[1], 0) + 2), "%"), code = {
      if (shares$main_begins > 0) {
        graphics::abline(v = shares$main_begins, lty = 2, col = "grey50")
        graphics::text(shares$main_begins, mean(limits), "main run", adj = c(0.5, -0.4), cex = 0.8,
                       srt = 90, col = "grey30")
      }
      for (k in seq_along(terms)) {
        graphics::lines(at, c(height[, k], height[nrow(height), k]), type = "s", lwd = 2.5,
                        col = colours[k], lty = k)
        graphics::points(shares$iteration, height[, k], pch = 21, bg = "white", lwd = 1.5,
                         col = colours[k])
      }
      if (look$key) top_legend(terms, colours, seq_along(terms), 2.5)
    }, ticks = "whole"
  ))
  data.frame(iteration = rep(shares$iteration, length(terms)),
             term = rep(terms, each = length(shares$iteration)), share = c(shares$share))
}

# Powers of ten in full, at most six digits after the point.
format_power <- function(power) {
  formatC(10^power, format = "f", digits = max(0, -min(power)), drop0trailing = TRUE)
}

# list(iteration, share [refits x terms], main_begins, last): iterations of the short start come
# before those of the main run.
kernel_shares <- function(fit) {
  y <- need_matrix(fit, "The figure \"kernel\"")
  trace <- fit$kernel_trace
  kernel <- fit$selector$kernel
  theta <- as.matrix(trace[names(fit$kernel_theta)])
  y <- in_units(y, fit$gp$units)
  mean_squares <- rowMeans(y^2)
  variance <- apply(theta, 1, function(theta) {
    term_levels(kernel_with_theta(kernel, theta, nrow(y)), y, mean_squares)
  })
  variance <- matrix(variance, length(kernel$terms),
                     dimnames = list(make.unique(vapply(kernel$terms, term_label, ""), " "), NULL))
  main_begins <- 0L
  if (!is.null(fit$starts)) {
    main_begins <- sum(fit$trace$start == fit$starts$start[fit$starts$chosen])
  }
  list(iteration = trace$iteration + ifelse(trace$start == 0, main_begins, 0L),
       share = t(variance) / colSums(variance), main_begins = main_begins,
       last = main_begins + fit$n_iter)
}
