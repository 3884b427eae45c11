draw <- function(code) {
  grDevices::pdf(NULL, 10, 7)
  on.exit(grDevices::dev.off())
  before <- graphics::par(no.readonly = TRUE)
  force(code)
  after <- graphics::par(no.readonly = TRUE)
  kept <- c("mar", "oma", "mfrow", "cex", "mgp", "pty", "xpd", "bg", "font")
  expect_identical(after[kept], before[kept])
  invisible(code)
}

test_that("every figure draws without a word and puts the parameters back", {
  for (name in c("handcrafted", "gp", "full", "random", "images", "mixture", "spherical")) {
    fit <- a_fit(name)
    for (which in c("components", "bound", "selection")) {
      expect_silent(draw(plot(fit, which)))
    }
  }
  for (name in c("handcrafted", "gp", "custom", "learner", "mixture")) {
    expect_silent(draw(plot(a_fit(name), "affinity")))
  }
  expect_silent(draw(plot(a_fit("mixture"), c("clusters", "functions"))))
  expect_silent(draw(plot(a_fit("spherical"))))
  expect_identical(draw(plot(a_fit("gp"))), a_fit("gp"))
})

test_that("figures that make no sense are refused with the reason", {
  refused <- function(code, words) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
  }
  refused(plot(a_fit("gp"), "componets"), "Did you mean \"components\"?")
  refused(plot(a_fit("gp"), "clusters"), "needs a fit of a mixture")
  refused(plot(a_fit("gp"), "functions"), "mixture in two dimensions")
  refused(plot(a_fit("spherical"), "functions"), "learned selector")
  refused(plot(a_fit("full"), "affinity"), "a selector that ranks")
  refused(plot(a_fit("random"), "affinity"), "a selector that ranks")
})

test_that("one point, one dimension, one latent draw", {
  fits <- degenerate_fits()
  for (fit in fits) {
    for (which in c("components", "bound", "selection")) expect_silent(draw(plot(fit, which)))
  }
  for (name in c("one_cluster", "one_dim_mixture")) {
    expect_silent(draw(plot(fits[[name]], "clusters")))
  }
})

test_that("a single weight, odd or zero, has a key", {
  for (weight in c(-0.83, 0, 0.371)) {
    fit <- fit_at(matrix(c(1, 2)), model_binary_sparse(1),
                  list(W = matrix(weight), pi = 0.5, sigma2 = 1), matrix(0, 2, 1), 1)
    expect_silent(draw(plot(fit, "components")))
  }
})

test_that("other dimensions than two show principal components, many components the most used", {
  set.seed(31)
  y <- matrix(rnorm(400), 100) + rep(c(0, 6), each = 50)
  colnames(y) <- paste0("variable_with_a_long_name_", 1:4)
  fit <- gps_fit(y, model_gaussian_mixture(2, "diagonal"), selector_handcrafted(), n_selected = 1,
                 control = quick_control())
  expect_silent(draw(plot(fit, c("clusters", "components"))))
  plane <- choose_plane(fit, fit$y)
  expect_equal(abs(crossprod(plane$axes, prcomp(y)$rotation[, 1:2])), diag(2), tolerance = 1e-8,
               ignore_attr = TRUE)
  many <- suppressWarnings(gps_fit(
    bars_data()$y, model_binary_sparse(150), selector_handcrafted(), n_selected = 3,
    control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE)
  ), classes = "gps_warning")
  for (which in c("components", "selection", "affinity")) expect_silent(draw(plot(many, which)))
})

test_that("a fit without iterations has no bound to draw, but the rest", {
  y <- bars_data()$y
  model <- gps_bind(model_binary_sparse(10), y)
  set.seed(1)
  fit <- fit_at(y, model, gps_init(model, y), y[, 1:10], 4)
  expect_identical(nrow(fit$trace), 0L)
  expect_named(fit$trace, c("start", "iteration", "bound", "bound_error", "temperature",
                            "explore", "refit", "jitter", "events", "evaluations", "seconds"))
  expect_error(plot(fit, "bound"), "no iterations", class = "gps_error_argument")
  expect_silent(draw(plot(fit, c("components", "selection"))))
})

test_that("ellipses are where the covariance says, colours repeat with new symbols", {
  covariance <- matrix(c(4, 1.5, 1.5, 2), 2)
  outline <- ellipse_points(list(centre = c(3, -1), covariance = covariance), 2)
  expect_equal(mahalanobis(t(outline), c(3, -1), covariance), rep(4, 100))
  keys <- paste(cluster_ink(1:64), cluster_symbol(1:64))
  expect_identical(anyDuplicated(keys), 0L)
})

test_that("binned pairs average what they hold", {
  bins <- bin_pairs(1:100, (1:100) / 100, rep(0:1, each = 50))
  expect_identical(nrow(bins), 20L)
  expect_equal(bins$affinity, 5 * (1:20) - 2)
  expect_equal(bins$posterior, bins$affinity / 100)
  expect_equal(bins$selected, rep(0:1, each = 10))
})

test_that("coloured components show the mean over their channels", {
  values <- matrix(seq_len(24), 12)
  grey <- grey_pixels(values, c(2L, 2L, 3L))
  expect_equal(grey[, 1], rowMeans(matrix(1:12, 4)))
  expect_equal(grey[, 2], rowMeans(matrix(13:24, 4)))
})

test_that("the kernel's figure shows each term's share of its variance at the data", {
  kernel <- kernel_matern(2.5, 0.7, 2) + kernel_linear(c(0.2, 0.5, 0.1), ard = TRUE) +
    kernel_bias(0.3) + kernel_white(0.05)
  set.seed(32)
  y <- matrix(rnorm(60, 1), 3)
  found <- term_levels(kernel, y)
  all <- .Call(C_gp_kernel_matrix, gp_kernel_code(kernel), coef(kernel), y, 1L)
  expect_equal(sum(found), mean(diag(all)), tolerance = 1e-12)
  expect_equal(found[c(1, 3, 4)], c(0.7, 0.3, 0.05))
  fit <- a_fit("mixture")
  shares <- kernel_shares(fit)
  expect_identical(colnames(shares$share), c("RBF", "white"))
  expect_equal(rowSums(shares$share), rep(1, nrow(fit$kernel_trace)))
  expect_equal(shares$share[nrow(shares$share), 1] / shares$share[nrow(shares$share), 2],
               exp(fit$kernel_theta[["log_var_rbf"]] - fit$kernel_theta[["log_var_white"]]),
               ignore_attr = TRUE)
  of_start <- sum(fit$trace$start == fit$starts$start[fit$starts$chosen])
  expect_identical(shares$main_begins, of_start)
  expect_identical(shares$last, of_start + fit$n_iter)
  expect_false(is.unsorted(shares$iteration))
  twice <- gps_fit(bars_data()$y, model_binary_sparse(10),
                   selector_gp(kernel_rbf() + kernel_rbf(lengthscale = 1)), n_selected = 4,
                   control = quick_control())
  expect_identical(colnames(kernel_shares(twice)$share), c("RBF", "RBF 1", "white"))
  for (one in list(a_fit("gp"), fit, twice)) expect_silent(draw(plot(one, "kernel")))
  expect_error(draw(plot(a_fit("handcrafted"), "kernel")), "whose selector has learned a kernel",
               class = "gps_error_argument")
})

test_that("powers of ten are written out", {
  expect_identical(format_power(-3:2), c("0.001", "0.01", "0.1", "1", "10", "100"))
  expect_identical(format_power(2), "100")
})

test_that("components stand beside the true ones in their order and sign", {
  truth <- cbind(diag(3), 0)
  learned <- cbind(c(0, 0, -3), c(0.1, 2, 0), c(1, 1, 1), c(-1, 0, 0), c(0, 0, 1))
  aligned <- align_components(learned, truth[, 1:3], "x")
  expect_equal(aligned$values, cbind(learned[, c(4, 2, 1)], learned[, c(3, 5)]))
  expect_identical(aligned$labels, c("1.00", "1.00", "1.00", "spare", "spare"))
  slabs <- align_components(list(W = learned, psi = rep(1, 5)), truth[, 1:3], "x")
  expect_equal(slabs$values[, 1:3], cbind(-learned[, 4], learned[, 2], -learned[, 1]))
  fewer <- align_components(learned[, 1:2], truth[, 1:3], "x")
  expect_equal(fewer$values, cbind(0, learned[, 2], learned[, 1]))
  expect_identical(fewer$labels, c("none", "1.00", "1.00"))
})

test_that("fits, components and the truth are drawn side by side", {
  truth <- bars_data()
  hand <- a_fit("handcrafted")
  bare <- gps_fit(truth$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                  control = quick_control(keep_data = FALSE))
  expect_silent(draw(plot(a_fit("gp"), truth = truth)))
  expect_silent(draw(plot(a_fit("gp"), truth = truth$W[, 1:4], beside = hand)))
  expect_silent(draw(plot(a_fit("gp"), beside = list(hand = hand, bare, truth$W))))
  expect_silent(draw(plot(bare, c("components", "bound"), truth = hand)))
  expect_silent(draw(plot(a_fit("images"), truth = truth)))
  expect_silent(draw(plot(a_fit("mixture"), truth = matrix(c(0, 6, 6, 0, 3, 3), 2))))
  titles <- comparison_titles(list(a_fit("gp"), mine = hand, truth$W))
  expect_identical(titles, list(c("Learned", "GP, linear"), c("mine", "hand-crafted"),
                                c("Beside", "")))
  expect_identical(list_of_fits(truth), list(truth))
  expect_null(list_of_fits(NULL))
  expect_error(draw(plot(hand, "bound", truth = truth)),
               "`truth` and `beside` are for the figure \"components\"",
               class = "gps_error_argument", fixed = TRUE)
  expect_error(draw(plot(hand, truth = truth$W[1:5, ])), "must have 5 rows like `truth`, not 25",
               class = "gps_error_argument", fixed = TRUE)
  expect_error(draw(plot(hand, truth = truth, beside = "hand")), "`beside` must be",
               class = "gps_error_argument", fixed = TRUE)
})

test_that("an argument that the plot of a fit does not have is no figure in silence", {
  expect_error(draw(plot(a_fit("gp"), type = "bound")), "Unknown argument `type`",
               class = "gps_error_argument", fixed = TRUE)
})

test_that("latents that are out of the model are no components, and data stand on the intercept", {
  set.seed(6)
  bars <- simulate_bars(60, intercept = 50)
  start <- list(W = cbind(bars$W, 0, 0), pi = 0.2, sigma2 = 2, intercept = rep(50, 25))
  out <- gps_fit(bars$y, model_binary_sparse(12, intercept = TRUE), selector_gp(), 4,
                 control = short_control(max_iter = 3, mend = FALSE), start = start)
  none <- gps_fit(bars$y - 50, model_binary_sparse(2), selector_full(),
                  start = list(W = matrix(0, 25, 2)),
                  control = short_control(max_iter = 1, mend = FALSE))
  for (which in c("components", "selection", "affinity")) expect_silent(draw(plot(out, which)))
  expect_silent(draw(plot(out, truth = bars)))
  expect_silent(draw(plot(none, beside = out)))
  aligned <- align_components(out, bars$W, "x")
  expect_identical(ncol(aligned$values), 10L)
  aligned <- align_components(out, cbind(bars$W, 1), "x")
  expect_identical(aligned$labels[11], "none")
})

test_that("named columns are no pixels, bins have one width, axes of components one scale", {
  y <- bars_data()$y[, 1:16]
  control <- quick_control()
  plain <- gps_fit(y, model_binary_sparse(3), selector_full(), control = control)
  colnames(y) <- paste0("gene", 1:16)
  named <- gps_fit(y, model_binary_sparse(3), selector_full(), control = control)
  expect_identical(component_size(plain), c(4L, 4L))
  expect_null(component_size(named))
  bins <- bin_pairs(c(rep(0, 970), seq(0.1, 1, length.out = 30)), rep(0, 1000), rep(0, 1000))
  expect_identical(sum(bins$affinity < 0.05), 1L)
  expect_gt(nrow(bins), 15)
  grDevices::pdf(NULL, 7, 4)
  on.exit(grDevices::dev.off())
  mixture <- gps_fit(iris[1:4], model_gaussian_mixture(3), selector_full(), control = control)
  plot(mixture, which = "clusters")
  usr <- graphics::par("usr")
  pin <- with_par(list(mar = panel_margins), graphics::par("pin"))
  expect_equal(pin[1] / diff(usr[1:2]), pin[2] / diff(usr[3:4]), tolerance = 1e-6)
})

test_that("regression functions have panels that can be seen, on any device", {
  for (n in c(1, 2, 3, 5, 12, 25)) {
    for (device in list(c(3.3, 3.3), c(5, 4), c(7, 7), c(12, 4), c(2, 2))) {
      layout <- arrange_panels(n, device)
      drawn <- min(n, prod(layout))
      expect_true(drawn <= 12 && prod(layout) - drawn < layout[2])
      sides <- (device - c(1.36, 0.96)) / rev(layout)
      expect_true(all(sides >= least_side | rev(layout) == 1))
    }
  }
  expect_identical(arrange_panels(3, c(7, 7)), c(1, 3))
  fit <- a_fit("mixture")
  expect_identical(most_used(fit, 2), sort(order(-colSums(expectations(fit)))[1:2]))
})
