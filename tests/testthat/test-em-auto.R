# `n_selected` = "auto": what is chosen, what it captures by brute force, and what print() says.

auto_control <- function(..., n_starts = 3) {
  gps_control(progress = FALSE, n_starts = n_starts, ...)
}

auto_fit <- function(y, model, seed = 1, ...) {
  set.seed(seed)
  gps_fit(y, model, n_selected = "auto", ...)
}

# Mean share of the posterior over all states that the states of the selected latents hold.
mass_by_hand <- function(fit, y, selected) {
  n_latents <- fit$model$n_latents
  states <- t(as.matrix(expand.grid(rep(list(0:1), n_latents))))
  means <- fit$params$W %*% states
  prior <- colSums(states * log(fit$params$pi) + (1 - states) * log(1 - fit$params$pi))
  mean(vapply(seq_len(nrow(y)), function(n) {
    joint <- prior + colSums(dnorm(y[n, ], means, sqrt(fit$params$sigma2), log = TRUE))
    prob <- exp(joint - max(joint))
    held <- seq_len(n_latents) %in% selected[n, ]
    inside <- colSums(states[!held, , drop = FALSE]) == 0 & colSums(states) <= fit$max_active
    sum(prob[inside]) / sum(prob)
  }, 1))
}

test_that("few latents are selected where few are on, more where many are, and they suffice", {
  set.seed(1)
  draws <- lapply(c(few = 0.1, many = 0.45), function(prob) {
    simulate_bars(300, size = 4, prob = prob)
  })
  fits <- lapply(draws, function(bars) {
    auto_fit(bars$y[1:240, ], model_binary_sparse(8), control = auto_control())
  })
  expect_lt(fits$few$n_selected, fits$many$n_selected)
  for (name in names(fits)) {
    fit <- fits[[name]]
    new <- draws[[name]]$y[241:300, ]
    expect_gte(mass_by_hand(fit, new, predict(fit, new, "selected")), 0.95)
    own <- seq(2, 240, by = 4)
    expect_gte(mass_by_hand(fit, draws[[name]]$y[own, ], t(fit$selected[, own])), 0.95)
    expect_identical(fit$chosen$n_selected, fit$n_selected)
    expect_gte(fit$chosen$mass, 0.95)
    said <- paste(capture.output(print(fit)), collapse = "\n")
    expect_match(said, "Chosen +the fewest for 0.95 of the posterior: [0-9.]+ captured")
    expect_match(said, "[0-9.]+ in the fit")
    expect_match(paste(capture.output(print(summary(fit))), collapse = "\n"), "the fewest for")
  }
  # The number itself gives the same fit.
  set.seed(1)
  given <- gps_fit(draws$few$y[1:240, ], model_binary_sparse(8), n_selected = fits$few$n_selected,
                   control = auto_control())
  expect_identical(fits$few$params, given$params)
})

test_that("the smallest number that reaches the target is chosen, whatever the threads", {
  set.seed(1)
  bars <- simulate_bars(200, size = 4, prob = 0.2)
  fits <- lapply(1:2, function(n_threads) {
    auto_fit(bars$y, model_binary_sparse(8), control = auto_control(n_threads = n_threads,
                                                                    target_mass = 0.8))
  })
  expect_identical(fits[[1]]$params, fits[[2]]$params)
  expect_identical(fits[[1]]$chosen, fits[[2]]$chosen)
  sizes <- fits[[1]]$chosen$sizes
  table <- sizes$table
  chosen <- sizes$chosen
  sure <- (table$mass - table$mass_error)[match(chosen - 0:1, table$n_selected)]
  expect_gte(sure[1], 0.8)
  expect_true(chosen == 2 || sure[2] < 0.8)
  expect_printed(sizes, "chosen")
  pdf(NULL)
  expect_invisible(plot(sizes))
  dev.off()
})

test_that("all latents are selected where that costs no more", {
  set.seed(1)
  y <- simulate_bars(60, size = 3)$y
  fit <- auto_fit(y, model_binary_sparse(6), control = auto_control(max_iter = 3))
  expect_identical(fit$n_selected, 6L)
  expect_identical(fit$method, "exact")
  expect_null(fit$chosen$sizes)
  expect_printed(fit, "Chosen +all, as their states are no more than a selection")
  full <- auto_fit(y, model_binary_sparse(6), selector = selector_full(),
                   control = auto_control(max_iter = 3))
  expect_identical(full$n_selected, 6L)
  mixture <- auto_fit(simulate_clusters(90)$y, model_gaussian_mixture(5),
                      control = auto_control(max_iter = 3))
  expect_identical(mixture$n_selected, 5L)
})

test_that("a mixture of many clusters and components with places have a number chosen", {
  set.seed(1)
  centre <- matrix(stats::rnorm(160, sd = 8), 80)
  y <- centre[rep(1:80, each = 5), ] + stats::rnorm(800)
  mixture <- quiet_degenerate(auto_fit(y, model_gaussian_mixture(80, "spherical"), seed = 2,
                                       control = auto_control(max_iter = 5, n_starts = 1)))
  expect_lt(mixture$n_selected, 40)
  expect_gte(mixture$chosen$mass, 0.95)
  case <- occlusive_case(7, image = c(3, 3), size = c(2, 2), n_components = 3, n = 40)
  placed <- auto_fit(case$y, model_occlusive(3, c(2, 2), c(3, 3)),
                     control = auto_control(max_iter = 10, n_starts = 1))
  expect_true(placed$n_selected %in% 2:3)
  expect_true(nrow(placed$chosen$sizes$table) >= 1)
})

test_that("a target that is out of reach is said, and wrong settings are refused", {
  set.seed(1)
  bars <- simulate_bars(60, size = 6, prob = 0.5)
  y <- bars$y
  fit <- auto_fit(y, model_binary_sparse(12), max_active = 2, control = auto_control(max_iter = 0),
                  start = list(W = bars$W, pi = 0.5, sigma2 = 2))
  expect_identical(fit$max_active, 2L)
  expect_printed(fit, "too few for 0.95 of the posterior")
  expect_gps_error(auto_fit(y, model_binary_sparse(12), max_active = 13), "`max_active` must be")
  expect_gps_error(gps_control(target_mass = 0), "`target_mass` must be")
  expect_gps_error(gps_control(target_mass = 1.1), "`target_mass` must be")
  expect_gps_error(gps_fit(y, model_binary_sparse(8), n_selected = "best"), "`n_selected` must be")
  short <- auto_fit(y, model_binary_sparse(12), control = auto_control(time_limit = 0.01))
  expect_identical(short$status, "time_limit")
})

test_that("labels of a start are those of the pilot's own points", {
  set.seed(5)
  data <- simulate_clusters(800, n_clusters = 80, n_dims = 3)
  fit <- gps_fit(data$y, model_gaussian_mixture(80, "spherical"), n_selected = "auto",
                 start = data$cluster, control = gps_control(max_iter = 3))
  # Clusters that are far apart: with labels of other points many would have to be looked at.
  expect_identical(fit$n_selected, 2L)
  expect_gt(fit$chosen$mass, 0.99)
})

test_that("why all are selected is said by what fewer would do", {
  expect_match(why_dear(12, 12), "fewer hold less of the posterior")
  expect_match(why_dear(7, 12), "all together have no more states than a selection of 7 costs")
})

test_that("a fit is there also where its source cannot be read once it is complete", {
  set.seed(1)
  counter <- counted_source(simulate_bars(60, size = 3)$y)
  ended <- function() {
    set.seed(2)
    counter$n_reads <- 0
    gps_fit(counter$source, model_binary_sparse(6), selector_handcrafted(), "auto",
            control = short_control(max_iter = 3))
  }
  fit <- ended()
  counter$most <- counter$n_reads - 1
  expect_warning(found <- ended(), "could not be looked at: Reading data points")
  expect_identical(found$params, fit$params)
  # It is said once the fit stands, and where that is an error this has the fit.
  old <- options(warn = 2)
  on.exit(options(old))
  lost <- tryCatch(ended(), error = identity)
  expect_match(conditionMessage(lost), "could not be looked at")
  expect_identical(lost$fit$params, fit$params)
})
