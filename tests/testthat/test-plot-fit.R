# @srrstats {UL6.0, UL6.2}

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
})

test_that("figures that make no sense are refused with the reason", {
  refused <- function(code, words) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
  }
  refused(plot(a_fit("gp"), "componets"), "Did you mean \"components\"?")
  refused(plot(a_fit("gp"), "clusters"), "For other models: \"components\" and \"selection\"")
  refused(plot(a_fit("gp"), "functions"), "a fit of model_gaussian_mixture() to data of two dim")
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

test_that("ellipses are where the covariance says, pairs of colour and symbol differ", {
  covariance <- matrix(c(4, 1.5, 1.5, 2), 2)
  outline <- ellipse_points(list(centre = c(3, -1), covariance = covariance), 2)
  expect_equal(mahalanobis(t(outline), c(3, -1), covariance), rep(4, 100))
  keys <- paste(cluster_ink(1:84), cluster_symbol(1:84))
  expect_identical(anyDuplicated(keys), 0L)
  # As far apart for those who see no green as for others.
  channels <- t(grDevices::col2rgb(ink[1:12])) / 255
  linear <- ifelse(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055)^2.4)
  deuteranopia <- rbind(c(0.367322, 0.860646, -0.227968), c(0.280085, 0.672501, 0.047413),
                        c(-0.01182, 0.04294, 0.968881))
  seen <- pmin(pmax(linear %*% t(deuteranopia), 0), 1)
  seen <- ifelse(seen <= 0.0031308, 12.92 * seen, 1.055 * seen^(1 / 2.4) - 0.055)
  expect_gt(min(stats::dist(grDevices::convertColor(seen, "sRGB", "Lab"))), 15)
})

test_that("binned pairs average what they hold", {
  bins <- bin_pairs(1:100, (1:100) / 100, rep(0:1, each = 50))
  expect_identical(nrow(bins), 20L)
  expect_equal(bins$affinity, 5 * (1:20) - 2)
  expect_equal(bins$posterior, bins$affinity / 100)
  expect_equal(bins$selected, rep(0:1, each = 10))
  expect_identical(bins$pairs, rep(5L, 20))
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
  expect_error(draw(plot(hand, truth = truth$W[1:5, ])), "the fit has 25 rows, `truth` 5.",
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
  expect_null(component_size(plain))
  expect_null(component_size(named))
  expect_identical(component_size(plain, 4), c(4L, 4L))
  expect_null(component_size(plain, NA))
  expect_identical(component_size(named, c(2, 8)), c(2L, 8L))
  expect_gps_error(component_size(named, 5), "`size` = 5 x 5 does not fit components of 16")
  # Rows are pictures where the data say so, by the attribute that extract_patches() gives.
  pictures <- structure(unname(y), size = c(2, 8))
  set.seed(1)
  came <- gps_fit(pictures, model_binary_sparse(3), selector_full(), control = control)
  expect_identical(component_size(came), c(2L, 8L))
  expect_identical(component_size(update(came, max_iter = 1)), c(2L, 8L))
  expect_identical(component_size(came, 4), c(4L, 4L))
  set.seed(1)
  expect_identical(update(plain)$params, came$params)
  for (size in list(c(4, 5), "a", c(0, 16), c(2, NA), 1:3)) {
    expect_null(read_data(structure(y, size = size))$pixels)
  }
  colour <- extract_patches(array(y, c(20, 15, 3)), c(2, 3), n = 20)
  came <- gps_fit(colour, model_binary_sparse(2), selector_full(), control = control)
  expect_identical(component_size(came), c(2L, 3L, 3L))
  came$pixels <- NULL
  expect_identical(component_size(came, c(2, 3)), c(2L, 3L, 3L))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  drawn <- plot(came, size = c(2, 3))
  expect_equal(drawn$values[, "1"], rowMeans(matrix(came$params$W[, 1], 6)), ignore_attr = TRUE)
  came$pixels <- c(5L, 5L)
  expect_gps_error(coef(came), "`pixels` is not the shape")
  bins <- bin_pairs(c(rep(0, 970), seq(0.1, 1, length.out = 30)), rep(0, 1000), rep(0, 1000))
  expect_identical(sum(bins$affinity < 0.05), 1L)
  expect_gt(nrow(bins), 15)
  grDevices::pdf(NULL, 7, 4)
  on.exit(grDevices::dev.off())
  mixture <- gps_fit(iris[1:4], model_gaussian_mixture(3), selector_full(), control = control)
  plot(mixture, which = "clusters")
  # Of one panel the window stays as it is; its size is what the margins leave.
  side <- panel_margins * graphics::par("cin")[2]
  pin <- graphics::par("fin") - c(side[2] + side[4], side[1] + side[3])
  usr <- graphics::par("usr")
  expect_equal(pin[1] / diff(usr[1:2]), pin[2] / diff(usr[3:4]), tolerance = 0.02)
})

test_that("regression functions have panels that can be seen, on any device", {
  for (n in c(1, 2, 3, 5, 12, 25)) {
    for (figure in list(c(16, 16), c(25, 20), c(35, 35), c(60, 20), c(10, 10))) {
      layout <- arrange_panels(n, figure)
      drawn <- min(n, prod(layout))
      expect_true(drawn <= 12 && prod(layout) - drawn < layout[2])
      sides <- (figure - c(7, 5)) / rev(layout)
      expect_true(all(sides >= least_side | rev(layout) == 1))
    }
  }
  expect_identical(arrange_panels(3, c(35, 35)), c(2, 2))
  expect_identical(arrange_panels(3, c(35, 20)), c(1, 3))
})

# Numbers of panels and of pages that a figure takes: the pages of a file, the panels by a hook.
count_drawn <- function(code, ...) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, ...)
  panels <- 0
  setHook("plot.new", function() panels <<- panels + 1)
  on.exit({
    setHook("plot.new", NULL, "replace")
    unlink(file)
  })
  force(code)
  grDevices::dev.off()
  lines <- readLines(file, warn = FALSE)
  pages <- sum(grepl("/Type /Page ", lines, fixed = TRUE, useBytes = TRUE))
  c(panels = panels, pages = pages)
}

test_that("every figure takes one place of a page that is divided", {
  figures <- list(c("gp", "components"), c("gp", "bound"), c("gp", "selection"),
                  c("gp", "affinity"), c("gp", "kernel"), c("mixture", "clusters"),
                  c("mixture", "functions"), c("mixture", "entropy"))
  drawn <- count_drawn({
    graphics::par(mfrow = c(2, 4))
    for (figure in figures) plot(a_fit(figure[1]), figure[2])
    at <- graphics::par("mfg")
  }, 14, 7)
  expect_equal(drawn[["pages"]], 1)
  expect_identical(at, c(2L, 4L, 2L, 4L))
  drawn <- count_drawn({
    graphics::layout(matrix(c(1, 1, 2, 3), 2, byrow = TRUE))
    plot(a_fit("gp"), truth = bars_data())
    plot(a_fit("images"))
    plot(a_fit("gp"), "bound")
  }, 3.3, 3.3)
  expect_equal(drawn[["pages"]], 1)
  expect_equal(count_drawn(plot(a_fit("gp"), c("bound", "kernel")))[["pages"]], 2)
  # One panel more for the figure as a whole.
  expect_equal(count_drawn(plot(a_fit("mixture"), "bound"))[["panels"]], 3)
  expect_equal(count_drawn(plot(a_fit("mixture"), "functions"), 7, 7)[["panels"]], 5)
})

test_that("figures return what they show, of the latents that were asked for", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- a_fit("gp")
  usage <- component_usage(fit) / fit$n_points
  shown <- plot(fit, "components", n = 3)
  expect_identical(colnames(shown$values), as.character(order(-usage)[1:3]))
  expect_equal(unname(shown$values), fit$params$W[, order(-usage)[1:3]])
  expect_equal(unname(shown$usage), sort(usage, decreasing = TRUE)[1:3])
  expect_equal(unname(plot(fit, select = c(7, 2))$values), fit$params$W[, c(7, 2)])
  expect_identical(plot(fit, "selection", select = c(7, 2))$latents$on, usage[c(7, 2)])
  expect_equal(plot(fit, "selection")$points, colSums(fit$prob_on))
  bound <- plot(fit, "bound")
  expect_equal(bound$value, fit$trace$bound / fit$n_points)
  expect_identical(sum(plot(fit, "affinity")$pairs), 1200L)
  expect_identical(sum(plot(fit, "affinity", n = 4)$pairs), 480L)
  expect_equal(sum(plot(fit, "kernel")$share), nrow(fit$kernel_trace))
  both <- plot(fit, c("bound", "components"), select = 4)
  expect_named(both, c("bound", "components"))
  expect_identical(dim(both$components$values), c(25L, 1L))
  beside <- plot(fit, truth = bars_data(), beside = a_fit("handcrafted"), n = 4)
  expect_named(beside, c("Data points", "Learned", "Learned 1", "Truth"))
  expect_equal(beside$Truth$values, bars_data()$W[, 1:4])
  expect_equal(beside$Learned$similarity,
               match_components(fit, bars_data()$W[, 1:4])$similarity)
  mixture <- a_fit("mixture")
  cluster <- predict(mixture, type = "class")
  found <- plot(mixture, select = c(3, 1))
  expect_identical(sort(found$points$point), which(cluster != 2))
  expect_identical(unique(found$ellipses$cluster), c(3L, 1L))
  expect_equal(found$points$cluster, as.integer(as.character(cluster))[found$points$point])
  expect_identical(dim(plot(mixture, "functions", select = 2)$values), c(80L, 80L, 1L))
})

test_that("clusters with names are chosen by them, and entropy falls as they are merged", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  start <- rep(c("left", "middle", "right"), each = 40)
  set.seed(33)
  y <- cbind(rnorm(120) + c(left = 0, middle = 2, right = 9)[start], rnorm(120))
  fit <- gps_fit(y, model_gaussian_mixture(3, "spherical"), selector_full(), start = start,
                 control = short_control(max_iter = 5))
  expect_identical(names(plot(fit, "components", select = c("right", "left"))$usage),
                   c("right", "left"))
  expect_gps_error(plot(fit, select = "midle"), "there is no latent \"midle\". Did you mean")
  merged <- plot(fit, "entropy")
  prob <- predict(fit, type = "prob")
  expect_identical(merged$n_clusters, 3:1)
  expect_equal(merged$entropy[1], -sum(prob * log(prob)))
  # The two that overlap are merged first.
  expect_identical(unlist(merged[2, c("first", "second")], use.names = FALSE), 1:2)
  both <- cbind(prob[, 1] + prob[, 2], prob[, 3])
  expect_equal(merged$entropy[2:3], c(-sum(ifelse(both > 0, both * log(both), 0)), 0))
})

test_that("arguments of figures are checked by name", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- a_fit("gp")
  expect_gps_error(plot(fit, n = 0), "`n` must be a whole number of at least 1")
  expect_gps_error(plot(fit, n = 2, select = 1), "`n` and `select` are two ways")
  expect_gps_error(plot(fit, select = 11), "`select` must be numbers of latents between 1 and 10")
  expect_gps_error(plot(fit, select = c(1, 1)), "none twice")
  expect_gps_error(plot(fit, "bound", n = 2), "which the figure \"bound\" does not show")
  expect_gps_error(plot(fit, main = 1), "`main` must be one title")
  expect_gps_error(plot(fit, "selection", main = letters[1:3]), "must be one title, or 2, one")
  expect_gps_error(plot(fit, c("bound", "kernel"), main = c("a", "b")), "it is that of each")
  expect_gps_error(plot(fit, col = "no colour"), "`col` must be colours")
  expect_gps_error(plot(fit, key = NA), "`key` must be TRUE or FALSE")
  expect_gps_error(plot(fit, "entropy"), "needs a fit of a mixture")
  expect_gps_error(plot(fit, "bound", size = 5), "`size` is for the figure \"components\"")
  expect_silent(plot(fit, truth = bars_data(), size = NA))
  expect_silent(plot(a_fit("images"), size = NA))
  expect_silent(plot(fit, "selection", main = c("", "Activity"), col = c("red", 4), key = FALSE))
})

test_that("positive weights stand as they are where the model has no others", {
  truth <- cbind(c(-1, 0), c(0, -1))
  aligned <- align_components(list(W = diag(2), psi = c(1, 1)), truth, "x")
  expect_equal(aligned$values, diag(2))
})
