# The figure "affinity": whether the selector ranks well.

most_ranked <- 2000L
n_bins <- 20L

draw_affinity <- function(fit, look) {
  y <- need_data(fit, "The figure \"affinity\"")
  points <- spaced_points(fit$n_points, most_ranked)
  affinity <- gps_affinity(fit$selector, fit, as_given(y), points)
  if (all(affinity == affinity[1])) {
    gps_abort(paste("The figure \"affinity\" needs a selector that ranks: here all latents have",
                    "the same affinity. \"selection\" shows how often each is on."))
  }
  n_latents <- fit$model$n_latents
  selected <- fit$selected[, points, drop = FALSE]
  posterior <- scatter_slots(selected, fit$prob_on[, points, drop = FALSE], n_latents)
  is_selected <- scatter_slots(selected, 1 + 0 * selected, n_latents)
  left <- setdiff(seq_len(n_latents), emptied_latents(fit$model, fit$params))
  shown <- left
  if (!is.null(look$n) || !is.null(look$select)) {
    most_used <- order(-component_usage(fit))
    shown <- chosen_latents(look, most_used, n_latents, fit$latent_names)
  }
  pairs <- list(affinity = c(affinity[, shown]), posterior = c(posterior[, shown]),
                selected = c(is_selected[, shown]))
  bins <- bin_pairs(pairs$affinity, pairs$posterior, pairs$selected)
  main <- title_of(look, counted_title("Affinity against the posterior", look, length(shown),
                                       length(left)))
  draw_figure(draw_bins(pairs, bins, inherits(fit$selector, "gps_selector_gp"), main, look))
  bins
}

# Pairs of point and latent, and means over bins of them.
draw_bins <- function(pairs, bins, is_learned, main, look) {
  xlab <- if (is_learned) "affinity (leave-one-out mean of the Gaussian process)" else "affinity"
  colours <- series_ink(look, unname(ink[c("blue", "orange")]))
  axis_panel(whole_part, range(pairs$affinity), c(-0.04, 1.04), xlab, "probability, share", main, {
    draw_pairs(pairs$affinity, pairs$posterior)
    if (is_learned) graphics::abline(0, 1, col = "grey50", lty = 2)
    graphics::lines(bins$affinity, bins$selected, type = "o", pch = 21, bg = "white",
                    col = colours[2], lwd = 2)
    graphics::lines(bins$affinity, bins$posterior, type = "o", pch = 21, bg = colours[1],
                    col = colours[1], lwd = 2)
    shown <- c(TRUE, TRUE, TRUE, is_learned)
    if (look$key) {
      top_legend(c("posterior (mean of a bin)", "share selected", "pairs of point and latent",
                   "equality")[shown],
                 c(colours, "grey50", "grey50")[shown], c(1, 1, 0, 2)[shown],
                 c(2, 2, 0, 1)[shown], c(21, 21, 16, NA)[shown],
                 c(colours[1], "white", NA, NA)[shown], c(1, 1, 0.5, 1)[shown])
    }
  })
}

# Means over bins of equal width: most pairs have an affinity of about 0, and bins of equally many
# pairs would nearly all stand there. Bins without a pair are left out.
bin_pairs <- function(affinity, posterior, selected) {
  place <- (affinity - min(affinity)) / diff(widen(range(affinity)))
  bin <- pmin(n_bins, 1 + floor(n_bins * place))
  mean_of <- function(x) as.vector(tapply(x, bin, mean))
  data.frame(affinity = mean_of(affinity), posterior = mean_of(posterior),
             selected = mean_of(selected), pairs = as.vector(tapply(affinity, bin, length)))
}

# At most 4000 pairs, evenly spaced in the order of affinity; probabilities are moved a little
# apart, always alike.
draw_pairs <- function(affinity, posterior) {
  pairs <- order(affinity)
  pairs <- pairs[spaced_points(length(pairs), 4000)]
  shift <- 0.06 * ((seq_along(pairs) * 0.618034) %% 1 - 0.5)
  graphics::points(affinity[pairs], posterior[pairs] + shift, pch = 16, cex = 0.4,
                   col = fade("black", 0.25))
}
