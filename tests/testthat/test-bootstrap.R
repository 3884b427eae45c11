# Refits of resampled and simulated data.

boot_control <- function(...) gps_control(n_threads = 1, progress = FALSE, n_starts = 2, ...)

mixture_of <- local({
  kept <- list()
  function(n = 300) {
    name <- as.character(n)
    if (is.null(kept[[name]])) {
      set.seed(11)
      y <- cbind(c(rnorm(n / 2), rnorm(n / 2, 8, 2)))
      kept[[name]] <<- gps_fit(y, model_gaussian_mixture(2, "spherical"), selector_full(),
                               control = boot_control())
    }
    kept[[name]]
  }
})

test_that("standard errors of means of clusters that do not overlap are those of theory", {
  fit <- mixture_of()
  for (type in c("nonparametric", "parametric")) {
    set.seed(1)
    boot <- gps_bootstrap(fit, if (is_full()) 100 else 30, type)
    found <- summary(boot)
    place <- order(coef(fit)$mu)
    se <- found$se[match(sprintf("mu[1,%d]", place), found$parameter)]
    # 100 replicates know a standard error to 7 %, 30 to 13 %.
    expect_lt(max(abs(log(se / (c(1, 2) / sqrt(150))))), 0.3)
    share <- found$se[match("pi[1]", found$parameter)]
    expect_lt(abs(log(share / sqrt(0.25 / 300))), 0.3)
    expect_identical(boot$failures, character())
  }
})

test_that("data points are drawn with their weights", {
  set.seed(12)
  y <- cbind(c(rnorm(50), rnorm(50, 8)))
  fit <- gps_fit(y, model_gaussian_mixture(2, "spherical"), selector_full(),
                 weights = rep(c(1, 3), each = 50), control = boot_control())
  for (type in c("nonparametric", "parametric")) {
    ends <- confint(gps_bootstrap(fit, 8, type), "pi")
    expect_true(all(ends[, 1] < coef(fit)$pi & coef(fit)$pi < ends[, 2]))
  }
})

test_that("intervals are percentiles of replicates, named by cell", {
  set.seed(1)
  boot <- gps_bootstrap(mixture_of(), 8)
  ends <- confint(boot, "mu", level = 0.5)
  expect_identical(rownames(ends), c("mu[1,1]", "mu[1,2]"))
  expect_near(ends[2, ], quantile(boot$replicates$mu[1, 2, ], c(0.25, 0.75)), 1e-14)
  expect_identical(dim(boot$similarity), c(2L, 8L))
  expect_identical(nrow(confint(boot)), nrow(summary(boot)))
  expect_printed(boot, "8, nonparametric.*similarity to the fit's")
  expect_gps_error(confint(boot, "sd"), "`parm` must be among")
  expect_gps_error(confint(boot, level = 1), "`level`")
  boot$similarity <- 1
  expect_gps_error(print(boot), "is not as gps_bootstrap() made it")
})

test_that("the figure of a bootstrap returns what it draws", {
  boot <- gps_bootstrap(mixture_of(), 4)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  shown <- expect_invisible(plot(boot, "mu", level = 0.5, main = "Means"))
  ends <- confint(boot, "mu", 0.5)
  expect_identical(shown$parameter, rownames(ends))
  expect_identical(cbind(shown$lower, shown$upper), unname(ends))
  expect_identical(shown$estimate, c(boot$estimate$mu))
  expect_identical(plot(boot, "mu", select = 2, key = FALSE)$parameter, rownames(ends)[2])
  expect_gps_error(plot(boot, "nu"), "`parm` must be among")
})

test_that("components stand in the order of the fit's, whatever the refit made of them", {
  set.seed(3)
  y <- simulate_bars(80, size = 3, value = 5)$y
  fit <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                 control = boot_control(max_iter = 15))
  set.seed(4)
  plain <- gps_bootstrap(fit, 3)
  turn <- function() {
    likeness <- gpselect:::component_likeness
    # As if the refit had its components in the reverse order.
    local_value("component_likeness", function(...) likeness(...)[, 6:1])
    set.seed(4)
    gps_bootstrap(fit, 3)
  }
  expect_identical(turn()$replicates$W[, 6:1, ], plain$replicates$W)
  expect_gt(min(plain$similarity), 0.8)
  expect_identical(dim(plain$replicates$W), c(9L, 6L, 3L))
})

test_that("symmetric matrices stand in tables and figures once, in confint() whole", {
  set.seed(5)
  fit <- gps_fit(matrix(rnorm(120), 60), model_gaussian_mixture(2), selector_full(),
                 control = gps_control(n_starts = 1, max_iter = 3, progress = FALSE))
  boot <- gps_bootstrap(fit, 2)
  cells <- sprintf("sigma[%d,%d,%d]", c(1, 1, 2), c(1, 2, 2), rep(1:2, each = 3))
  table <- summary(boot)
  expect_identical(grep("sigma", table$parameter, value = TRUE), cells)
  expect_identical(table$estimate[table$parameter == cells[5]], boot$estimate$sigma[1, 2, 2])
  expect_identical(plot(boot, "sigma")$parameter, cells)
  expect_identical(nrow(confint(boot, "sigma")), 8L)
})

test_that("a bootstrap refuses what it cannot do", {
  fit <- mixture_of(40)
  expect_gps_error(gps_bootstrap(fit, 1), "`n` must be")
  expect_gps_error(gps_bootstrap(fit, type = "jack"), "`type` must be one of")
  expect_gps_error(gps_bootstrap(scene_fit(), 2), "have locations")
  lean <- update(fit, keep_data = FALSE)
  expect_gps_error(gps_bootstrap(lean, 2), "needs the data")
  expect_s3_class(gps_bootstrap(lean, 2, "parametric"), "gps_bootstrap")
  expect_gps_error(confint(fit), "gps_bootstrap(fit) gives intervals")
})

test_that("clusters of counts are matched by their rates, one cluster is like itself", {
  set.seed(1)
  y <- matrix(rpois(200, c(1, 9)), 100, byrow = TRUE)
  quiet <- gps_control(n_starts = 1, progress = FALSE)
  fit <- gps_fit(y, model_poisson_mixture(2), selector_full(), control = quiet)
  expect_identical(dim(gps_bootstrap(fit, 3)$replicates$rate), c(2L, 2L, 3L))
  # Rows of weight 0 are never drawn: with three rows that count, none is left without any.
  y <- matrix(rnorm(600), 300)
  one <- gps_fit(y, model_gaussian_mixture(1, "spherical"), selector_full(),
                 weights = c(rep(0, 297), 1, 1, 1), control = quiet)
  drawn <- gps_bootstrap(one, 10)
  expect_length(drawn$failures, 0)
  expect_identical(drawn$similarity, matrix(1, 1, 10))
})

test_that("intervals stand in the summary of the fit, replicates are told", {
  fit <- mixture_of(40)
  boot <- gps_bootstrap(fit, 3)
  found <- summary(fit, bootstrap = boot)
  expect_identical(found$intervals, summary(boot))
  expect_output(print(found), "95 % intervals by bootstrap.*mu\\[1,1\\]")
  expect_null(summary(fit)$intervals)
  expect_gps_error(summary(fit, bootstrap = 3), "`bootstrap` must be NULL or a bootstrap")
  other <- update(fit, max_iter = 0, n_starts = 1, mend = FALSE)
  expect_gps_error(summary(other, bootstrap = boot), "`bootstrap` is not of this fit")
  expect_gps_error(gps_bootstrap(scene_fit(), 2), "may stand anywhere in its window")
  local_value("shown_after", 0)
  told <- capture.output(gps_bootstrap(fit, 2, progress = TRUE), type = "message")
  expect_match(paste(told, collapse = ""), "replicate 2 of 2, ")
})

test_that("refits whose likelihood has no maximum are counted", {
  set.seed(1)
  y <- rbind(matrix(rnorm(60), 30), matrix(5, 12, 2))
  fit <- suppressWarnings(gps_fit(y, model_gaussian_mixture(2), selector_full(),
                                  control = boot_control(max_iter = 20)))
  boot <- gps_bootstrap(fit, 3)
  expect_identical(boot$degenerate, rep(TRUE, 3))
  expect_printed(boot, "Degenerate 3 refits, whose parameters depend on floors")
})

test_that("signs that spike-and-slab leaves open are those of the fit", {
  set.seed(4)
  weights <- cbind(c(3, 3, 0, 0), c(0, 0, 3, 3))
  z <- matrix(rbinom(240, 1, 0.5) * rnorm(240), 120)
  y <- z %*% t(weights) + 0.3 * rnorm(480)
  for (covariance in c("diagonal", "full")) {
    fit <- gps_fit(y, model_spike_slab(2, covariance = covariance), selector_full(),
                   control = boot_control(max_iter = 60))
    boot <- gps_bootstrap(fit, 12, control = boot_control(max_iter = 40))
    side <- apply(boot$replicates$W, 3, function(W) colSums(W * coef(fit)$W))
    expect_true(all(side > 0))
    # Without sides there would be standard errors as large as the components.
    expect_lt(max(apply(boot$replicates$W, 1:2, sd)), 1)
    # Some means have gone to the other side of 0, and the model is the same.
    expect_true(any(boot$replicates$mu < 0))
    turned <- fit
    turned$params <- flip_latents(fit$model, coef(fit), c(-1, 1))
    expect_equal(turned$params$W, coef(fit)$W %*% diag(c(-1, 1)))
    expect_equal(predict(turned, y, "loglik"), predict(fit, y, "loglik"), tolerance = 1e-10)
  }
})
