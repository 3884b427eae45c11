# @srrstats {UL4.3, UL4.3a, UL4.4}

test_that("print says what was fitted, how, and whose functions it will call", {
  expect_printed(a_fit("handcrafted"), "Binary sparse coding: 10 latents", fixed = TRUE)
  shown <- capture.output(value <- print(a_fit("gp")))
  expect_identical(value, a_fit("gp"))
  expect_match(shown, "120 points of 25 dimensions", fixed = TRUE, all = FALSE)
  expect_match(shown, "Gaussian process (linear + white)", fixed = TRUE, all = FALSE)
  expect_match(shown, "4 of 10, at most 3 on: 15 states a point", fixed = TRUE, all = FALSE)
  expect_match(shown, "limit of 15 iterations", fixed = TRUE, all = FALSE)
  expect_false(any(grepl("Functions", shown)))
  learner <- printed(a_fit("learner"))
  expect_match(learner, "of the user: affinity(params, y, memory), learn(params, y, expectations)",
               fixed = TRUE, all = FALSE)
  expect_match(printed(a_fit("custom")), "of the user: affinity\\(params, y\\)$",
               all = FALSE)
  expect_printed(a_fit("images"), "(images 5 x 5)", fixed = TRUE)
  expect_printed(a_fit("mixture"), "best of 4; bounds a point", fixed = TRUE)
  fit <- a_fit("gp")
  short <- sprintf("%s, %s a point", signif(fit$bound, 4), signif(fit$bound / 120, 3))
  expect_match(capture.output(print(fit, digits = 4)), short, fixed = TRUE, all = FALSE)
  expect_gps_error(print(fit, digits = "a"), "`digits` must be")
  expect_gps_error(print(summary(fit), digits = 0), "`digits` must be")
})

test_that("print counts one as one", {
  one <- gps_fit(matrix(c(1, 2, 4, 7)), model_gaussian_mixture(1), selector_full(),
                 control = gps_control(max_iter = 1, progress = FALSE))
  shown <- printed(one)
  expect_match(shown, "mixture: 1 cluster,", fixed = TRUE, all = FALSE)
  expect_match(shown, "4 points of 1 dimension$", all = FALSE)
  expect_match(shown, "at most 1 on: 1 state a point", fixed = TRUE, all = FALSE)
  expect_match(printed(a_fit("gp")), "10 % explorers", fixed = TRUE, all = FALSE)
  alone <- a_fit("gp")
  alone[c("n_selected", "max_active")] <- list(1L, 1L)
  alone[c("selected", "prob_on")] <- list(alone$selected[1, , drop = FALSE],
                                          alone$prob_on[1, , drop = FALSE])
  expect_false(any(grepl("explorers", printed(alone))))
  expect_printed(model_spike_slab(1), "1 latent,", fixed = TRUE)
  one$starts <- data.frame(start = 1:2, bound_per_point = c(-0.5, 12.25))
  expect_match(describe_starts(one), "bounds a point 12.25, -0.50", fixed = TRUE)
})

test_that("coef has the shapes of the models and the names of the columns", {
  params <- coef(a_fit("handcrafted"))
  expect_named(params, c("W", "pi", "sigma2"))
  expect_identical(dimnames(params$W), list(paste0("pixel", 1:25), NULL))
  expect_identical(unname(params$W), a_fit("handcrafted")$params$W)
  expect_null(dimnames(coef(a_fit("gp"))$W))
  expect_length(coef(a_fit("full"))$pi, 8)
  mixture <- coef(a_fit("mixture"))
  names <- c("length", "width")
  expect_identical(dimnames(mixture$mu), list(names, NULL))
  expect_identical(dimnames(mixture$sigma), list(names, names, NULL))
  expect_null(names(coef(a_fit("spherical"))$sigma))
})

test_that("logLik is the labelled bound with the number of free parameters", {
  df <- function(name) attr(logLik(a_fit(name)), "df")
  expect_equal(df("handcrafted"), 25 * 10 + 1 + 1)
  expect_equal(df("full"), 25 * 8 + 8 + 1)
  expect_equal(df("mixture"), 3 * 2 + 3 * 3 + 2)
  expect_equal(df("spherical"), 3 * 2 + 3 + 2)
  diagonal <- gps_bind(model_gaussian_mixture(4, "diagonal"), matrix(rnorm(20), 4))
  expect_equal(count_free(diagonal), 4 * 5 + 4 * 5 + 3)
  count_slabs <- function(model) count_free(gps_bind(model, matrix(rnorm(20), 4)))
  expect_equal(count_slabs(model_spike_slab(3)), 5 * 3 + 1 + 3 + 3 + 1 - 3)
  expect_equal(count_slabs(model_spike_slab(3, "full", FALSE)), 5 * 3 + 3 + 3 + 6 + 1 - 3)
  expect_equal(count_slabs(model_max_spike_slab(3)), 5 * 3 + 1 + 3 + 3 + 1 - 3)
  fit <- a_fit("gp")
  expect_s3_class(logLik(fit), "logLik")
  expect_identical(as.numeric(logLik(fit)), fit$bound)
  expect_identical(nobs(fit), 120L)
  expect_equal(AIC(fit), -2 * fit$bound + 2 * 252)
  expect_equal(BIC(fit), -2 * fit$bound + log(120) * 252)
  expect_equal(sum(predict(fit, type = "loglik")), fit$bound, tolerance = 1e-12)
  expect_printed(logLik(fit), "Truncated bound .* \\(df = 252, nobs = 120\\)")
})

test_that("data are the sum of fitted values and residuals, shaped and named as they were", {
  fit <- a_fit("handcrafted")
  y <- named_bars()
  expect_identical(dimnames(fitted(fit)), dimnames(y))
  expect_equal(fitted(fit) + residuals(fit), y, tolerance = 1e-14, ignore_attr = "size")
  expect_equal(unname(fitted(fit)), expectations(fit) %*% t(coef(fit)$W), tolerance = 1e-12,
               ignore_attr = TRUE)
  images <- a_fit("images")
  expect_identical(dim(fitted(images)), c(120L, 5L, 5L))
  expect_equal(fitted(images) + residuals(images), array(bars_data()$y, c(120, 5, 5)),
               tolerance = 1e-14)
  expect_null(dimnames(fitted(images)))
})

test_that("expectations are the posterior on the slots and zero elsewhere", {
  fit <- a_fit("handcrafted")
  dense <- expectations(fit)
  expect_identical(dim(dense), c(120L, 10L))
  expect_identical(rownames(dense), paste0("case", 1:120))
  for (n in c(1, 60, 120)) {
    expect_identical(unname(dense[n, fit$selected[, n]]), fit$prob_on[, n])
    expect_identical(unname(dense[n, -fit$selected[, n]]), rep(0, 6))
  }
})

test_that("a fit without data says so, and does what needs none", {
  set.seed(1)
  fit <- gps_fit(bars_data()$y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                 control = quick_control(keep_data = FALSE))
  expect_null(fit$y)
  for (code in expression(fitted(fit), residuals(fit), update(fit), posterior_sample(fit),
                          predict(fit, type = "loglik"), posterior_states(fit, 1),
                          plot(fit, "affinity"))) {
    expect_error(eval(code), "keep_data = TRUE", class = "gps_error_argument")
  }
  expect_printed(fit, "not kept")
  expect_identical(nobs(fit), 120L)
  expect_identical(predict(fit), expectations(fit))
  expect_identical(dim(predict(fit, bars_data()$y[1:3, ])), c(3L, 10L))
  expect_length(simulate(fit, 1, seed = 1), 1)
  expect_s3_class(update(fit, y = bars_data()$y), "gps_fit")
})

test_that("simulate draws from the model, shaped as the data, and gives the generator back", {
  fit <- a_fit("handcrafted")
  set.seed(5)
  before <- .Random.seed
  drawn <- simulate(fit, 2, seed = 3)
  expect_identical(.Random.seed, before)
  expect_identical(drawn, simulate(fit, 2, seed = 3))
  expect_length(drawn, 2)
  expect_named(drawn[[1]], c("y", "latents"))
  expect_identical(dimnames(drawn[[1]]$y), list(NULL, paste0("pixel", 1:25)))
  expect_identical(dim(drawn[[2]]$latents), c(120L, 10L))
  expect_true(all(drawn[[1]]$latents %in% 0:1))
  expect_false(identical(drawn[[1]], drawn[[2]]))
  expect_identical(attr(drawn, "seed")[[1]], 3)
  again <- simulate(fit)
  assign(".Random.seed", attr(again, "seed"), envir = globalenv())
  expect_identical(simulate(fit)[[1]], again[[1]])
  expect_identical(dim(simulate(a_fit("images"), n = 7)[[1]]$y), c(7L, 5L, 5L))
  mixture <- simulate(a_fit("mixture"), seed = 1)[[1]]
  expect_identical(rowSums(mixture$latents), rep(1, 90))
  expect_error(simulate(fit, 0), class = "gps_error_argument")
  expect_error(simulate(fit, seed = "a"), class = "gps_error_argument")
})

test_that("simulate gives the values of slabs, on or off", {
  set.seed(6)
  y <- simulate_bars(60, "spike_slab", size = 3)$y
  fit <- gps_fit(y, model_spike_slab(6), selector_handcrafted(), 3, control = quick_control())
  drawn <- simulate(fit, seed = 1)[[1]]
  expect_named(drawn, c("y", "latents", "values"))
  expect_identical(dim(drawn$values), c(60L, 6L))
  rest <- drawn$y - (drawn$latents * drawn$values) %*% t(coef(fit)$W)
  expect_equal(mean(rest^2), coef(fit)$sigma2, tolerance = 5 * sqrt(2 / length(y)))
})

test_that("simulated data have the moments of the parameters", {
  fit <- a_fit("full")
  set.seed(8)
  drawn <- simulate(fit, 1, n = 20000)[[1]]
  truth <- coef(fit)
  sd <- sqrt(truth$pi * (1 - truth$pi) / 20000)
  expect_true(all(abs(colMeans(drawn$latents) - truth$pi) < 5 * sd))
  noise <- drawn$y - drawn$latents %*% t(truth$W)
  expect_equal(mean(noise^2), truth$sigma2, tolerance = 5 * sqrt(2 / 5e5))
})

test_that("update refits with what is changed and keeps the rest", {
  fit <- a_fit("handcrafted")
  y <- named_bars()
  set.seed(1)
  again <- update(fit)
  set.seed(1)
  direct <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                    control = quick_control())
  timeless <- function(fit) {
    fit$trace$seconds <- NULL
    fit["call"] <- NULL
    fit
  }
  expect_identical(timeless(again), timeless(direct))
  changed <- update(fit, n_selected = 5, max_iter = 2, keep_data = FALSE)
  expect_identical(c(changed$n_selected, changed$max_active), c(5L, 5L))
  expect_identical(changed$n_iter, 2L)
  expect_null(changed$y)
  expect_equal(update(a_fit("gp"), max_iter = 1)$max_active, 3)
  on <- update(fit, start = fit, max_iter = 1)
  expect_gte(on$bound, fit$bound - 1e-6 * abs(fit$bound))
  wider <- update(a_fit("full"), model = model_binary_sparse(9), max_iter = 1)
  expect_identical(dim(wider$params$W), c(25L, 9L))
  expect_identical(dim(residuals(update(a_fit("images"), max_iter = 1))), c(120L, 5L, 5L))
  given <- update(fit, control = gps_control(max_iter = 3, n_starts = 1), max_iter = 1)
  expect_identical(c(given$control$max_iter, given$control$n_starts), c(1L, 1L))
  expect_error(update(fit, n_select = 3), "Did you mean `n_selected`", class = "gps_error_argument")
  expect_error(update(fit, max_itr = 3), "Did you mean `max_iter`", class = "gps_error_argument")
  expect_error(update(fit, 3), "without a name", class = "gps_error_argument")
})

test_that("summary counts use, names dead and double components, and lists what was learned", {
  fit <- a_fit("gp")
  summary <- summary(fit)
  expect_equal(summary$usage, colSums(expectations(fit)), tolerance = 1e-12)
  expect_equal(summary$mean_active, mean(rowSums(expectations(fit))), tolerance = 1e-12)
  expect_named(summary$kernel, c("var_lin", "var_white"))
  expect_equal(unname(summary$kernel), unname(exp(fit$kernel_theta)))
  expect_identical(summary$params$shape, c("25 x 10", "1", "1"))
  summary$kernel[] <- c(0.5, 1.25e-7)
  expect_printed(summary, "Kernel of the selector\n  var_lin var_white *\n +0.5 +1.25e-07")
  expect_printed(summary(a_fit("mixture")), "Short starts", fixed = TRUE)
  expect_equal(summary$aic, AIC(fit))

  params <- list(W = cbind(c(3, 0, 0), c(0, 2, 0), c(-6, 0.001, 0), 0), pi = 0.3, sigma2 = 0.1)
  y <- rbind(c(3, 2, 0), c(0, 2, 0), c(3, 0, 0))
  affinity <- matrix(c(2, 3, 0, 1), 3, 4, byrow = TRUE)
  odd <- summary(fit_at(y, model_binary_sparse(4), params, affinity, 2))
  expect_identical(odd$dead, 3L)
  expect_identical(odd$emptied, 4L)
  expect_identical(odd$duplicates, cbind(1L, 3L))
  expect_printed(odd, "Nearly the same: 1 and 3", fixed = TRUE)
  expect_printed(odd, "Dead (less than one point): 3", fixed = TRUE)
})

test_that("clusters that lie across each other are not double, equal ones are", {
  cross <- array(c(1, 0.99, 0.99, 1, 1, -0.99, -0.99, 1, 1, 0.99, 0.99, 1), c(2, 2, 3))
  params <- list(mu = matrix(0, 2, 3), sigma = cross, pi = rep(1 / 3, 3))
  expect_identical(find_duplicates(params), cbind(1L, 3L))
  params$mu[, 3] <- 10
  expect_identical(nrow(find_duplicates(params)), 0L)
  spherical <- list(mu = cbind(0, 0, 5), sigma = c(1, 1.05, 1), pi = rep(1 / 3, 3))
  expect_identical(find_duplicates(spherical), cbind(1L, 2L))
  # The closed form for one dimension: N(0, 1) and N(1, 4).
  apart <- column_overlap(cbind(0, 1), cbind(1, 4), cbind(1, 2))
  integral <- integrate(function(x) sqrt(dnorm(x) * dnorm(x, 1, 2)), -30, 30, rel.tol = 1e-10)
  expect_equal(exp(apart[1, 1]), integral$value, tolerance = 1e-8)
  expect_equal(full_overlap(list(mu = cbind(0, 1), sigma = array(c(1, 4), c(1, 1, 2))), 1, 2),
               integral$value, tolerance = 1e-8)
  # Independent columns that each differ a little differ much together.
  many <- list(mu = cbind(rep(0, 20), rep(0.1, 20)), sigma = matrix(1, 20, 2), pi = c(0.5, 0.5))
  expect_identical(nrow(find_duplicates(many)), 0L)
  many$mu[2:20, 2] <- 0
  expect_identical(find_duplicates(many), cbind(1L, 2L))
})

test_that("pairs of clusters are those of all pairs compared one by one", {
  set.seed(3)
  n <- 30
  mu <- matrix(round(rnorm(2 * n)) + rnorm(2 * n, sd = 0.05) + 1e4, 2)
  scale <- sample(c(1, 1.1, 3), n, TRUE)
  tall <- matrix(c(2, 0.9, 0.9, 0.5), 2)
  kinds <- list(array(rep(tall, n) * rep(scale, each = 4), c(2, 2, n)), array(tall, c(2, 2, 1)),
                rbind(scale, 0.4 * scale), scale)
  for (sigma in kinds) {
    params <- list(mu = mu, sigma = sigma, pi = rep(1 / n, n))
    as_matrices <- params
    as_matrices$sigma <- vapply(seq_len(n), cluster_covariance, diag(2), params = params)
    all <- utils::combn(n, 2)
    is_double <- apply(all, 2, function(pair) full_overlap(as_matrices, pair[1], pair[2]) >= 0.99)
    expect_gt(sum(is_double), 2)
    found <- find_duplicates(params)
    expect_setequal(paste(found[, 1], found[, 2]),
                    paste(all[1, is_double], all[2, is_double]))
  }
})

test_that("print() names double clusters, and says what minibatches leave out", {
  set.seed(1)
  y <- simulate_clusters(60)$y
  start <- list(mu = matrix(colMeans(y), 2, 3), sigma = matrix(1, 2, 3), pi = rep(1 / 3, 3))
  fit <- gps_fit(y, model_gaussian_mixture(3, "diagonal"), selector_full(), start = start,
                 control = short_control(max_iter = 0))
  expect_printed(fit, "\n  Double +clusters 1 and 2, 1 and 3, 2 and 3, nearly")
  start$mu <- cbind(c(0, 0), c(9, 9), c(0, 0)) * 9
  colnames(start$mu) <- c("a", "b", "c")
  named <- gps_fit(y, model_gaussian_mixture(3, "diagonal"), selector_full(), start = start,
                   control = short_control(max_iter = 0))
  expect_printed(named, "Double +clusters a and c, nearly")
  expect_printed(summary(named), "Nearly the same: a and c", fixed = TRUE)
  expect_identical(pair_words(cbind(1:3, 4:6), NULL, 2), "1 and 4, 2 and 5, and 1 pair more")
  expect_false("Mending" %in% names(describe_fit(fit)))
  batches <- short_control(max_iter = 1, batch_size = 20)
  online <- gps_fit(y, model_gaussian_mixture(3), selector_full(), control = batches)
  expect_match(describe_fit(online)[["Mending"]],
               "^off in minibatches; update\\(fit, start = fit, control = gps_control\\(\\)\\)")
  expect_false("Double" %in% names(describe_fit(online)))
  on <- update(online, start = online, control = gps_control(progress = FALSE, n_threads = 1))
  expect_null(on$control$batch_size)
  expect_gte(on$bound, online$bound)
})

test_that("a summary of many components says where all are", {
  y <- matrix(rep(1:51, 4) + rep(c(0, 0.1), each = 102), 204, 2) + rep(0:1, each = 204)
  fit <- quiet_degenerate(gps_fit(y, model_gaussian_mixture(51, "spherical"), start = rep(1:51, 4),
                                  control = short_control(max_iter = 0)))
  expect_printed(summary(fit), "The 20 most used of 51; summary(fit)$classes has all", fixed = TRUE)
  expect_identical(nrow(summary(fit)$classes), 51L)
  bare <- quiet_degenerate(update(fit, keep_slots = FALSE))
  expect_printed(summary(bare), "summary(fit)$usage has all", fixed = TRUE)
})

test_that("floors that acted are in the summary", {
  set.seed(2)
  y <- matrix(rnorm(6), 3)[c(1, 2, 3, 1, 2, 3, 1, 2, 3), ]
  fit <- suppressWarnings(
    gps_fit(y, model_gaussian_mixture(3), selector_full(),
            control = gps_control(max_iter = 20, tol = 0, n_starts = 2, progress = FALSE)),
    classes = "gps_warning"
  )
  events <- summary(fit)$events
  expect_named(events, c("event", "iterations", "last"))
  expect_true("sigma_floor" %in% events$event)
  expect_identical(events$last[events$event == "sigma_floor"], 20L)
  expect_printed(summary(fit), "Floors, rescues and moves", fixed = TRUE)
  trace <- fit$trace[fit$trace$start == 0, ]
  expect_identical(events$iterations[events$event == "sigma_floor"],
                   sum(grepl("sigma_floor", trace$events)))
})

test_that("one point, one dimension, one latent and one slot keep all shapes", {
  fits <- degenerate_fits()
  for (name in names(fits)) {
    fit <- fits[[name]]
    n <- fit$n_points
    n_latents <- fit$model$n_latents
    n_dims <- fit$model$n_dims
    expect_identical(dim(expectations(fit)), c(n, n_latents), info = name)
    expect_identical(dim(fitted(fit)), c(n, n_dims), info = name)
    expect_identical(dim(residuals(fit)), c(n, n_dims), info = name)
    expect_identical(dim(predict(fit, type = "selected")), c(n, fit$n_selected), info = name)
    y <- t(fit$y)
    for (type in c("prob", "latent", "state")) {
      expect_identical(dim(predict(fit, type = type)), c(n, n_latents), info = name)
      expect_identical(dim(predict(fit, y[1, , drop = FALSE], type)), c(1L, n_latents), info = name)
    }
    expect_identical(dim(predict(fit, y, "response")), c(n, n_dims), info = name)
    expect_length(predict(fit, y, "loglik"), n)
    expect_identical(dim(posterior_sample(fit, 1)), c(n, n_latents), info = name)
    expect_identical(dim(posterior_sample(fit, 2, 1)), c(2L, 1L, n_latents), info = name)
    expect_s3_class(posterior_states(fit, 1), "data.frame")
    drawn <- simulate(fit, 1, seed = 1)[[1]]
    expect_identical(dim(drawn$y), c(n, n_dims), info = name)
    expect_identical(dim(drawn$latents), c(n, n_latents), info = name)
    expect_printed(summary(fit), "Parameters")
    expect_true(is.finite(BIC(fit)))
    expect_s3_class(suppressWarnings(update(fit, max_iter = 1), classes = "gps_warning"), "gps_fit")
  }
})

test_that("digits, decimal commas and Turkish letters change no number", {
  fit <- a_fit("gp")
  y <- bars_data()$y[1:5, ]
  numbers <- function() {
    list(predict(fit, y), coef(fit), summary(fit)$usage, c(logLik(fit)), posterior_states(fit, 2),
         simulate(fit, 1, seed = 2))
  }
  expected <- numbers()
  shown <- printed(fit)
  old <- options(OutDec = ",", digits = 3)
  on.exit(options(old))
  expect_identical(numbers(), expected)
  expect_identical(printed(fit), shown)
  expect_printed(summary(fit), "Parameters")
  options(old)
  locale <- Sys.getlocale("LC_ALL")
  on.exit(suppressWarnings(Sys.setlocale("LC_ALL", locale)), add = TRUE)
  if (nzchar(suppressWarnings(Sys.setlocale("LC_ALL", "tr_TR.UTF-8")))) {
    expect_identical(numbers(), expected)
    expect_error(predict(fit, y, "PROB"), "Did you mean \"prob\"", class = "gps_error_argument")
  }
})

test_that("update() resolves a number of selected latents anew that was not given", {
  set.seed(1)
  y <- matrix(rnorm(120), 60)
  model_of <- function(k) model_gaussian_mixture(k, "tied")
  begun <- gps_fit(y, model_of(3), control = short_control(max_iter = 1))
  expect_identical(begun$n_selected, 2L)
  few <- update(begun, model = model_of(1))
  expect_identical(few$n_selected, 1L)
  many <- update(begun, model = model_of(12))
  expect_identical(many$n_selected, eval(many$call)$n_selected)
  expect_identical(many$n_selected, 3L)
  # One that was given stays, also through a second update().
  given <- update(begun, n_selected = 1)
  expect_identical(update(given, model = model_of(12))$n_selected, 1L)
  # One that was chosen stays where nothing changes on which the choice depends.
  auto <- update(begun, n_selected = "auto")
  kept <- update(auto, max_iter = 2)
  expect_identical(kept$n_selected, auto$n_selected)
  expect_null(kept$chosen)
  for (fit in list(auto, kept)) {
    anew <- update(fit, model = model_of(5))
    expect_identical(anew$chosen$n_selected, anew$n_selected)
    expect_identical(anew$call$n_selected, "auto")
  }
  expect_null(update(auto, model = model_of(5), n_selected = 2)$chosen)
  k <- NULL
  left <- gps_fit(y, model_of(3), n_selected = k, control = begun$control)
  expect_false("n_selected" %in% names(left$call))
})
