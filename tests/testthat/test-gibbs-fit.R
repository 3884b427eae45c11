# Fits and predictions by Gibbs sampling: when, how they end, what they hold and say.

# Points with sums of some of 24 patterns, in noise.
wide_data <- function(n = 150) {
  set.seed(81)
  w <- matrix(rnorm(30 * 24, sd = 2), 30)
  latents <- matrix(rbinom(n * 24, 1, 0.1), n)
  list(y = latents %*% t(w) + rnorm(30 * n), W = w, latents = latents)
}

wide_fit <- function(...) {
  set.seed(82)
  gps_fit(wide_data()$y, model_binary_sparse(24), selector_handcrafted(), 20,
          control = gps_control(max_iter = 30, n_starts = 1, progress = FALSE, n_threads = 1, ...))
}

test_that("too many states are sampled by themselves, and the fit says so", {
  fit <- wide_fit()
  expect_identical(fit$method, "gibbs")
  shown <- printed(fit)
  expect_match(shown, "20 of 24, at most 20 on: 1,048,576 states a point", all = FALSE)
  expect_match(shown, paste("Gibbs sampling, 2 sweeps and 4 draws a point",
                            "\\(more than 65,536 states\\)"), all = FALSE)
  expect_match(shown, "Bound .*\\(an estimate, standard error .* in all\\)", all = FALSE)
  expect_match(printed(summary(fit)), "Gibbs sampling, 2 sweeps", all = FALSE)
  expect_match(printed(logLik(fit)), ", estimated to ", all = FALSE)
  expect_identical(attr(logLik(fit), "error"), fit$bound_error)
  expect_identical(dim(fit$value), dim(fit$selected))
  expect_setequal(fit$value, 0:1)
  last <- fit$trace[nrow(fit$trace), ]
  expect_gt(last$bound, fit$trace$bound[1])
  expect_true(all(fit$trace$bound_error >= 0))
  # What is learned is what made the data: the residual is little more than noise.
  expect_lt(mean(residuals(fit)^2), 0.3 * mean(sweep(wide_data()$y, 2, colMeans(wide_data()$y))^2))
})

test_that("40 of 60 latents run without being asked for", {
  set.seed(83)
  w <- matrix(rnorm(20 * 60), 20)
  y <- matrix(rbinom(200 * 60, 1, 0.05), 200) %*% t(w) + matrix(rnorm(200 * 20), 200)
  fit <- gps_fit(y, model_binary_sparse(60), selector_gp(kernel_linear()), 40,
                 control = short_control(max_iter = 3))
  expect_identical(fit$method, "gibbs")
  expect_true(is.finite(fit$bound))
  expect_printed(fit, "1,099,511,627,776 states a point")
})

test_that("a fit says why it samples", {
  asked <- a_fit("sampled")
  expect_identical(describe_method(asked),
                   "Gibbs sampling, 2 sweeps and 4 draws a point (as asked for)")
  asked$control$sweeps <- c(1L, 1L)
  expect_match(describe_method(asked), "1 sweep and 1 draw a point", fixed = TRUE)
  asked$control$method <- "auto"
  asked$model$exact_active <- 1
  expect_match(describe_method(asked), "(sums have no closed form with more than 1 on)",
               fixed = TRUE)
  exact <- a_fit("handcrafted")
  expect_identical(describe_method(exact), "exact sums over the states")
  expect_identical(describe_error(exact), "")
  expect_identical(exact$bound_error, 0)
  expect_null(exact$value)
  expect_identical(unique(exact$trace$bound_error), 0)
})

test_that("a sampled fit finds what an exact one finds", {
  set.seed(84)
  bars <- simulate_bars(400, value = 5)
  fit_by <- function(method) {
    set.seed(85)
    gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), 5,
            control = gps_control(max_iter = 40, n_starts = 4, method = method, progress = FALSE))
  }
  sampled <- fit_by("gibbs")
  exact <- fit_by("exact")
  expect_true(all(match_components(sampled, bars)$matched))
  # At the solution the posterior is sharp: sampling adds little to the error of the parameters.
  expect_equal(sampled$params$sigma2, exact$params$sigma2, tolerance = 0.01)
  expect_equal(sampled$params$pi, exact$params$pi, tolerance = 0.01)
  expect_lt(sampled$bound, exact$bound + 5 * sampled$bound_error + 0.1)
  expect_gt(sampled$bound, exact$bound - 1e-3 * abs(exact$bound))
})

test_that("the bound is a sum over points, and its error the root of the sum of variances", {
  fit <- a_fit("sampled")
  y <- t(fit$y)
  exact <- sum(gps_estep(fit$model, fit$params, y, t(fit$selected), 4, character())$log_evidence)
  runs <- vapply(1:25, function(i) {
    sum(gps_estep(fit$model, fit$params, y, t(fit$selected), 4, character(), method = "gibbs",
                  value = t(fit$value))$log_evidence)
  }, 1)
  # An approximation, which leaves out what the draws have in common.
  expect_gt(fit$bound_error, sd(runs) / 4)
  expect_lt(fit$bound_error, sd(runs) * 2)
  expect_lt(mean(runs), exact)
  expect_lt(abs(fit$bound - mean(runs)), 5 * sd(runs))
})

test_that("polishing does not compare the estimates of single points", {
  fit <- a_fit("sampled")
  task <- new_task(fit$y, model_binary_sparse(10), selector_handcrafted(), 5, NULL, fit$control,
                   seed = 1:2)
  state <- stored_state(fit)
  # Other parameters, under which the slots of the fit explain some points better than new ones.
  set.seed(2)
  state$params$W <- state$params$W + rnorm(250)
  plain <- pass(task, state)
  state$is_polishing <- TRUE
  expect_identical(pass(task, state), plain)
  task$method <- "exact"
  task$states <- build_states(task$model, 5L, 5L, "exact")
  expect_false(identical(pass(task, state)$selected, plain$selected))
})

test_that("a sampled bound counts as noisy", {
  # Rises a little in each iteration, by less than it wavers.
  bounds <- -1000 + rep(c(-1, 1), 6) + 0.05 * (1:12)
  expect_false(has_settled(bounds, 1e-5, is_noisy = FALSE))
  expect_true(has_settled(bounds, 1e-5, is_noisy = TRUE))
  set.seed(89)
  fit <- gps_fit(simulate_bars(100, value = 2)$y, model_binary_sparse(10), selector_handcrafted(),
                 5, control = short_control(method = "gibbs", tol = 1e-4))
  expect_identical(fit$status, "converged")
  expect_gt(sd(utils::tail(fit$trace$bound, 5)), 0)
})

test_that("a trial must beat its rival by more than noise", {
  state <- function(bound, error) list(bound = bound, bound_error = error)
  expect_true(exceeds(state(-90, 0), state(-91, 0)))
  expect_false(exceeds(state(-90, 0), state(-91, 0), gain = 2))
  expect_false(exceeds(state(-90, 3), state(-100, 4)))
  expect_true(exceeds(state(-90, 3), state(-106, 4)))
})

test_that("mending finds the bars that a sampled fit has mixed up", {
  set.seed(86)
  bars <- simulate_bars(400, value = 5)
  mixed <- bars$W
  mixed[, 1] <- mixed[, 1] + mixed[, 2]
  mixed[, 2] <- 0
  control <- short_control(max_iter = 40, method = "gibbs")
  fit <- gps_fit(bars$y, model_binary_sparse(10), selector_handcrafted(), 5, control = control,
                 start = list(W = mixed, pi = 0.2, sigma2 = 2))
  expect_true(all(match_components(fit, bars)$matched))
  expect_match(paste(fit$trace$events, collapse = " "), "split|renewed")
})

test_that("chains go on through a model's own repairs", {
  # A model that renumbers its latents and halves the scale of each in every iteration.
  mend_method <- function(model, params, stats, progress) {
    params$W <- params$W[, c(2, 3, 1)]
    list(params = params, relabel = c(3L, 1L, 2L), rescale = c(1, 10, 100))
  }
  registerS3method("gps_mend", "gps_turning", mend_method, asNamespace("gpselect"))
  set.seed(87)
  y <- matrix(rnorm(200), 40)
  model <- model_binary_sparse(3)
  class(model) <- c("gps_turning", class(model))
  task <- new_task(t(y), model, selector_handcrafted(), 2, NULL, short_control(method = "gibbs"),
                   seed = 1:2)
  state <- em_step(task, begin_state(task, 1))
  expect_setequal(state$value[state$selected == 3], c(0, 1))
  expect_setequal(state$value[state$selected == 1], c(0, 10))
  expect_setequal(state$value[state$selected == 2], c(0, 100))
  expect_false(is.unsorted(apply(state$selected, 2, diff) > 0))
})

test_that("a fit goes on from its chains", {
  fit <- a_fit("sampled")
  task <- new_task(fit$y, model_binary_sparse(10), selector_handcrafted(), 5, 4, fit$control)
  state <- resume_state(task, fit)
  expect_identical(state[c("selected", "prob_on", "value")],
                   unclass(fit)[c("selected", "prob_on", "value")])
  # An exact fit has none to go on from, and an exact one needs none.
  exact <- update(fit, method = "exact", max_iter = 3, start = fit)
  expect_identical(exact$method, "exact")
  expect_null(exact$value)
  again <- update(exact, method = "gibbs", max_iter = 3, start = exact)
  expect_identical(again$method, "gibbs")
  # Where the posterior is sharp, a chain stays.
  sharp <- fit_at(wide_data()$y, model_binary_sparse(24),
                  list(W = wide_data()$W, pi = 0.1, sigma2 = 1e-3), wide_data()$latents, 20)
  gone_on <- update(sharp, start = sharp, max_iter = 0)
  expect_identical(gone_on$value, sharp$value)
  expect_equal(gone_on$bound, sharp$bound, tolerance = 1e-12)
})

test_that("annealing, explorers and starts on sampled rows work with chains", {
  set.seed(88)
  y <- simulate_bars(2100, size = 3, value = 3)$y
  fit <- gps_fit(y, model_binary_sparse(6), selector_gp(kernel_linear()), 4,
                 control = gps_control(max_iter = 6, n_starts = 2, anneal = 3, method = "gibbs",
                                       sweeps = c(0, 1), progress = FALSE))
  expect_identical(dim(fit$value), c(4L, 2100L))
  expect_true(is.finite(fit$bound))
  expect_gt(fit$bound_error, 0)
})

test_that("a sampled fit is of reasonable size", {
  sampled <- a_fit("sampled")
  # One number more a slot.
  sampled$value <- NULL
  expect_lt(as.numeric(object.size(a_fit("sampled")) - object.size(sampled)), 5 * 120 * 8 + 500)
})

test_that("sampled predictions have the means of exact ones", {
  fit <- a_fit("sampled")
  y <- t(fit$y)
  exact <- gps_estep(fit$model, fit$params, y, t(fit$selected), 4, c("latent", "response"))
  spread <- scatter_slots(fit$selected, t(exact$latent), 10)
  wanted <- list(prob = spread, latent = spread, response = exact$response)
  # Means over some points, over independent seeds.
  for (type in names(wanted)) {
    means <- vapply(1:16, function(seed) {
      fit$seed <- c(seed, 1L)
      colMeans(predict(fit, y[1:40, ], type))
    }, numeric(ncol(wanted[[type]])))
    error <- apply(means, 1, sd) / sqrt(16)
    expect_lte(max(abs(rowMeans(means) - colMeans(wanted[[type]][1:40, ])) / error), 5)
  }
  for (newdata in list(NULL, y)) {
    loglik <- predict(fit, newdata, "loglik")
    expect_lt(sum(loglik), sum(exact$log_evidence) + 5 * fit$bound_error)
    expect_gt(sum(loglik), sum(exact$log_evidence) - 0.1 * 120)
    state <- predict(fit, newdata, "state")
    expect_type(state, "integer")
    expect_lte(max(rowSums(state)), 4)
    expect_gt(mean(state == (spread > 0.5)), 0.95)
    expect_identical(dim(predict(fit, newdata, "latent")), c(120L, 10L))
  }
  expect_identical(predict(fit), expectations(fit))
  # Selections of new data may differ in what explains nothing.
  selected <- predict(fit, y, "selected")
  new <- gps_estep(fit$model, fit$params, y, selected, 4, character(), method = "exact")
  expect_gt(min(new$log_evidence - exact$log_evidence), -0.01)
})

test_that("sampled predictions are the same each time and leave the generator alone", {
  fit <- a_fit("sampled")
  y <- t(fit$y)[1:30, ]
  set.seed(5)
  first <- runif(1)
  set.seed(5)
  for (type in setdiff(prediction_types, c(names(scene_predictors), "class", "uncertainty",
                                           sparse_types))) {
    for (newdata in list(NULL, y)) {
      expect_identical(predict(fit, newdata, type, n_threads = 2), predict(fit, newdata, type))
    }
  }
  expect_identical(posterior_states(fit, 3), posterior_states(fit, 3))
  expect_identical(runif(1), first)
})

test_that("the most frequent state is the first of those drawn most often", {
  draws <- array(0, c(3, 5, 2))
  draws[, , 1] <- c(1, 0, 0, 0, 2.5, 0, 0, 1.5, 0, 1, 0, 0, 1, 1, 1)
  draws[, , 2] <- c(0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 2, 0)
  expect_identical(most_frequent(draws) + 0, cbind(c(1, 0, 0), c(1, 1, 0)))
  # States that differ in the last of many slots alone.
  wide <- array(0, c(70, 3, 1))
  wide[70, 2:3, 1] <- 1
  wide[35, 3, 1] <- 1
  expect_identical(match_states(wide != 0), 1:3)
  expect_identical(match_states(wide[, c(2, 2, 1), 1] != 0), c(1L, 1L, 3L))
})

test_that("states of a point are counted among draws, with exact log joints where there are any", {
  fit <- a_fit("sampled")
  exact_fit <- fit
  exact_fit$method <- "exact"
  exact_fit["value"] <- list(NULL)
  for (n in c(1, 40)) {
    found <- posterior_states(fit, n, top = 1000)
    exact <- posterior_states(exact_fit, n, top = 1000)
    expect_equal(sum(found$probability), 1, tolerance = 1e-12)
    at <- match(vapply(found$latents, toString, ""), vapply(exact$latents, toString, ""))
    expect_false(anyNA(at))
    expect_near(found$log_joint, exact$log_joint[at], 1e-12)
    # Neighbouring draws depend on each other: as good as a hundred independent ones, at least.
    prob <- exact$probability[at]
    expect_true(all(abs(found$probability - prob) <= 5 * sqrt(prob * (1 - prob) / 100) + 0.01))
  }
  fit$model$exact_active <- 1
  task <- new_prediction_task(fit, fit$y[, 1, drop = FALSE], "state", is_new = FALSE)
  on <- cbind(c(0, 1, 0, 0, 0), c(0, 1, 1, 0, 0))
  joint <- joint_of_states(task, fit, fit$selected[, 1, drop = FALSE], on)
  expect_identical(is.na(joint), c(FALSE, TRUE))
  pair <- on[, 2, drop = FALSE]
  expect_identical(joint_of_states(task, fit, fit$selected[, 1, drop = FALSE], pair), NA_real_)
})

test_that("draws of the posterior are those of the chains", {
  fit <- a_fit("sampled")
  points <- c(4, 9, 33)
  draws <- posterior_sample(fit, 3000, points, seed = 8)
  expect_identical(dim(draws), c(3000L, 3L, 10L))
  expect_type(draws, "integer")
  expect_identical(posterior_sample(fit, 3000, points, seed = 8), draws)
  exact <- gps_estep(fit$model, fit$params, t(fit$y), t(fit$selected), 4, "latent")$latent
  expected <- scatter_slots(fit$selected, t(exact), 10)[points, ]
  batches <- apply(array(draws, c(100, 30, 3, 10)), 2:4, mean)
  error <- apply(batches, 2:3, sd) / sqrt(30)
  expect_true(all(abs(apply(draws, 2:3, mean) - expected) <= 5 * error + 1e-3))
  expect_lte(max(apply(draws, 1:2, sum)), 4)
  expect_identical(dim(posterior_sample(fit)), c(120L, 10L))
})

test_that("a tampered chain is refused", {
  fit <- a_fit("sampled")
  expect_silent(check_fit(fit))
  empty <- fit
  empty$selected[1, 1] <- 0L
  empty$prob_on[1, 1] <- 0
  empty$value[1, 1] <- 1
  odd <- list(
    within_list(fit, value = fit$value[-1, ]), within_list(fit, value = fit$value > 0),
    within_list(fit, value = replace(fit$value, 1, NaN)), within_list(fit, value = list(NULL)),
    within_list(fit, bound_error = -1), within_list(fit, bound_error = NaN),
    within_list(fit, bound_error = "1"), within_list(fit, method = "auto"),
    within_list(fit, method = "gibs"), within_list(fit, method = "exact"),
    within_list(fit, method = c("gibbs", "gibbs")), empty,
    within_list(fit, control = within_list(fit$control, sweeps = c(1L, 0L))),
    within_list(fit, control = within_list(fit$control, sweeps = 1L)),
    within_list(fit, control = within_list(fit$control, method = NULL)),
    within_list(fit, control = within_list(fit$control, method = c("auto", "gibbs"))),
    within_list(a_fit("handcrafted"), method = "gibbs"),
    within_list(a_fit("handcrafted"), value = fit$value),
    within_list(a_fit("mixture"), method = "gibbs")
  )
  for (i in seq_along(odd)) {
    expect_error(check_whole(odd[[i]]), class = "gps_error_argument", info = paste("case", i))
  }
})

test_that("a sampled fit whose bound goes up and down is not called converged, and says so", {
  set.seed(2)
  y <- matrix(rnorm(600), 10)
  for (seed in 1:3) {
    set.seed(seed)
    fit <- suppressWarnings(gps_fit(y, model_binary_sparse(10), selector_gp(kernel_linear()), 5,
                                    control = short_control(method = "gibbs", max_iter = 60)))
    last <- utils::tail(fit$trace, 2 * settle_window)
    swings <- is_swinging(last$bound, last$bound_error, 10) && has_settled(last$bound, 1, TRUE)
    expect_false(swings && fit$status == "converged")
  }
  # As such fits were: of two selections in turn.
  fit$trace$bound <- -500 - 80 * (seq_len(nrow(fit$trace)) %% 2)
  fit$trace$bound_error <- 1e-3
  expect_false(ended_swinging(replace(fit, "status", "converged")))
  fit$status <- "max_iter"
  expect_match(describe_status(fit), "its bound going up and down by more than its error")
  expect_match(printed(fit), "going up and down", all = FALSE)
  task <- list(y = t(y), method = "gibbs", control = list(tol = 1e-4))
  state <- list(bounds = fit$trace$bound, explore = 0,
                trace = lapply(fit$trace$bound_error, function(x) list(bound_error = x)))
  expect_false(has_come_to_rest(task, state))
  state$bounds[] <- -500
  expect_true(has_come_to_rest(task, state))
  # One that rises only has not come to its end.
  fit$trace$bound <- seq(-900, -500, length.out = nrow(fit$trace))
  expect_false(ended_swinging(fit))
})
