# Columns that belong together: one rule of matching, held by every door through which names come.
# @srrstats {UL1.3, UL7.3}

two_clusters <- function(n = 40) {
  set.seed(61)
  cbind(a = c(rnorm(n), rnorm(n, 8)), b = c(rnorm(n, 100, 5), rnorm(n, 140, 5)),
        c = rnorm(2 * n, -3))
}

zero_control <- function() gps_control(max_iter = 0, n_starts = 1, progress = FALSE)

test_that("columns are matched by name where names tell them apart, else by position", {
  match <- function(given, wanted) match_columns(given, wanted, "y", "`x`")
  expect_identical(match(c("b", "a"), c("a", "b")), 2:1)
  expect_identical(match(c("c", "b", "a"), c("a", "b")), 3:2)
  expect_identical(match(c("b", "", "a"), c("a", "b")), c(3L, 1L))
  as_they_are <- list(
    list(NULL, c("a", "b")), list(c("a", "b"), NULL), list(c("a", "b"), c("a", "b")),
    list(c("a", ""), c("a", "")), list(c("a", ""), c("a", "b")), list(c("", "b"), c("a", "")),
    list(c("a", NA), c("a", "b")), list(c("a", "a"), c("a", "a")), list(c("", ""), c("a", "b")),
    list(c("a", "", "c"), c("a", ""))
  )
  for (pair in as_they_are) expect_null(match(pair[[1]], pair[[2]]))
  expect_gps_error(match(c("a", "c"), c("a", "b")), "by name, but \"b\" is missing")
  expect_gps_error(match(letters[5:9], letters[1:5]), "(4 in all) are missing")
  expect_gps_error(match(c("a", "b", "a"), c("b", "a")), "has two columns \"a\"")
  expect_gps_error(match(c("", "a"), c("a", "b")), "column 2 is \"a\", not \"b\"")
  expect_gps_error(match(c("b", ""), c("a", "")), "column 1 is \"b\", not \"a\"")
  expect_gps_error(match(c("a", "b"), c("a", "a")), "column 2 is \"b\", not \"a\"")
})

test_that("the data of a fit are its own data whatever their names are", {
  y <- unname(two_clusters()[, 1:2])
  tables <- list(c("a", ""), c("a", NA), c("a", "a"), c("", ""), c("a", "b"), NULL)
  for (names in tables) {
    named <- y
    colnames(named) <- names
    frame <- as.data.frame(y)
    if (!is.null(names)) names(frame) <- names
    for (given in list(named, frame)) {
      fit <- gps_fit(given, model_gaussian_mixture(2), selector_full(), control = zero_control())
      expect_identical(predict(fit, given, "loglik"), predict(fit, type = "loglik"))
      gp <- gp_fit(given, y[, 1], kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
      expect_identical(unname(predict(gp, given)$mean), unname(fitted(gp)))
    }
  }
})

test_that("every door takes columns in another order as the same data, or refuses other names", {
  y <- two_clusters()
  order <- c("c", "a", "b")
  other <- y[, order]
  foreign <- y
  colnames(foreign)[2] <- "B"
  for (covariance in c("full", "diagonal", "spherical")) {
    model <- model_gaussian_mixture(2, covariance)
    fit <- gps_fit(y, model, selector_full(), control = quick_control())
    slots <- matrix(1:2, nrow(y), 2, byrow = TRUE)
    from <- function(y, start) {
      gps_fit(y, model, selector_full(), start = start, control = zero_control())
    }
    step <- function(y, params) gps_estep(fit$model, params, y, slots, want = "response")
    doors <- list(
      predict = function(y) predict(fit, y, "loglik"),
      start_fit = function(y) predict(from(y, fit), type = "loglik"),
      start_params = function(y) predict(from(y, coef(fit)), type = "loglik"),
      start_some = function(y) coef(from(y, coef(fit)["mu"]))$mu[colnames(two_clusters()), ],
      update = function(y) fitted(update(fit, y = y, start = fit, max_iter = 0))[, order],
      estep = function(y) step(y, coef(fit))$log_evidence,
      response = function(y) step(y, coef(fit))$response[, order],
      handcrafted = function(y) gps_handcrafted(fit$model, coef(fit), y),
      affinity = function(y) gps_affinity(selector_handcrafted(), fit, y),
      affinity_state = function(y) {
        gps_affinity(selector_handcrafted(), list(model = fit$model, params = coef(fit)), y)
      }
    )
    for (door in doors) {
      expect_near(door(other), door(y), 1e-9)
      expect_gps_error(door(foreign), " is missing")
    }
  }
})

test_that("parameters of a start are put into one order, each by its own names", {
  y <- two_clusters()
  fit <- gps_fit(y, model_gaussian_mixture(2), selector_full(), control = quick_control())
  params <- coef(fit)
  dimnames(params$mu)[[2]] <- names(params$pi) <- c("near", "far")
  dimnames(params$sigma)[[3]] <- c("near", "far")
  mixed <- list(pi = params$pi[2:1], mu = params$mu[3:1, ],
                sigma = params$sigma[c(2, 3, 1), c(2, 1, 3), 2:1])
  again <- gps_fit(y, model_gaussian_mixture(2), selector_full(), start = mixed,
                   control = zero_control())
  expect_near(sort(predict(again, type = "loglik")), sort(predict(fit, type = "loglik")), 1e-12)
  names(mixed$pi) <- c("near", "else")
  expect_gps_error(gps_fit(y, model_gaussian_mixture(2), start = mixed),
                   "the columns of `start$pi` by name, but \"else\" is missing")
})

test_that("a learned kernel goes along with its columns", {
  kernel <- kernel_rbf(1, c(1, 2, 3), ard = TRUE) + kernel_linear(c(4, 5, 6), ard = TRUE) +
    kernel_white()
  theta <- coef(kernel)
  moved <- permute_theta(kernel, theta, c(3, 1, 2))
  expect_identical(names(moved), names(theta))
  expect_near(unname(exp(moved)), c(1, 3, 1, 2, 6, 4, 5, 0.1), 1e-14)
  expect_identical(permute_theta(kernel, theta, NULL), theta)
})

test_that("steps give back the names that they are given", {
  y <- two_clusters()
  for (model in list(model_binary_sparse(2), model_spike_slab(2), model_max_spike_slab(2),
                     model_gaussian_mixture(2, "diagonal"))) {
    bound <- gps_bind(model, y)
    set.seed(1)
    params <- gps_init(bound, y)
    first <- if (is.null(params$W)) params$mu else params$W
    expect_identical(rownames(first), c("a", "b", "c"))
    set.seed(1)
    expect_identical(lapply(gps_init(bound, unname(y)), as.vector), lapply(params, as.vector))
    slots <- matrix(1:2, nrow(y), 2, byrow = TRUE)
    stats <- gps_estep(bound, params, y, slots, max_active = 1)$stats
    named <- gps_mstep(bound, params, stats)$params
    expect_identical(lapply(named, axis_names), lapply(params, axis_names))
    plain <- gps_mstep(bound, lapply(params, function(x) unname(x)), stats)$params
    expect_identical(lapply(named, as.vector), lapply(plain, as.vector))
    expect_identical(colnames(gps_draw(bound, params, 3)$y), c("a", "b", "c"))
  }
})

test_that("components and true latents are matched by name", {
  set.seed(62)
  truth <- matrix(rnorm(20), 5, dimnames = list(letters[1:5], paste0("k", 1:4)))
  expect_true(all(match_components(truth[5:1, ], truth)$matched))
  expect_false(all(match_components(unname(truth[5:1, ]), truth)$matched))
  expect_gps_error(match_components(structure(truth, dimnames = list(letters[2:6], NULL)), truth),
                   "`found` must have the rows of `truth` by name, but \"a\" is missing")
  bars <- bars_data()
  fit <- a_fit("handcrafted")
  latents <- bars$latents
  dimnames(latents) <- list(fit$row_names, paste0("bar", 1:10))
  truth <- bars$W
  colnames(truth) <- colnames(latents)
  wanted <- selection_recall(fit, bars$latents, truth = bars)
  expect_identical(selection_recall(fit, latents[120:1, 10:1], truth = truth), wanted)
  expect_gps_error(selection_recall(fit, latents[, 10:1], truth = unname(truth)[, 1:3]),
                   "must be a matrix of 120 x 3")
})

test_that("names that are no valid text are refused with their number", {
  for (bad in list("\xff", structure("\xff", Encoding = "UTF-8"))) {
    y <- two_clusters(5)
    colnames(y)[2] <- bad
    expect_gps_error(gps_fit(y, model_gaussian_mixture(1)), "The name of column 2 of `y` is not")
    y <- two_clusters(5)
    rownames(y) <- c(bad, letters[1:9])
    expect_gps_error(gps_fit(y, model_gaussian_mixture(1)), "The name of row 1 of `y` is not")
    expect_gps_error(gp_fit(y, y[, 1]), "The name of row 1 of `x` is not")
  }
})

test_that("a function's points have the names that its matrices have", {
  y <- two_clusters()
  source <- function(y, names = NULL) {
    gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE], names)
  }
  fit <- gps_fit(y, model_gaussian_mixture(2), selector_full(), control = quick_control())
  wanted <- predict(fit, y)
  turned <- y[, c("c", "a", "b")]
  for (given in list(source(turned), source(turned, colnames(y)), source(unname(y)))) {
    expect_identical(predict(fit, given), wanted)
    expect_identical(gps_estep(fit$model, coef(fit), given, matrix(1:2, 80, 2, TRUE))$prob_on,
                     gps_estep(fit$model, coef(fit), y, matrix(1:2, 80, 2, TRUE))$prob_on)
  }
  # Names of a source's own are other names for the same columns.
  renamed <- source(unname(turned), c("c", "a", "b"))
  expect_identical(predict(fit, renamed), wanted)
  expect_gps_error(predict(fit, source(y[, c(1, 2, 2)])), "by name, but \"c\" is missing")
  read <- function(from, to) y
  expect_gps_error(gps_source(3, 2, read, c("a", NA)), "2 names, not names with an NA")
})
