# The learned selection by few basis functions: sums over blocks, leave-one-out, and whole fits.

# CRAN's machines leave the slowest files out.
skip_on_cran()

methods <- c("ichol", "inducing", "fourier")

many_bars <- function(n = 400) {
  set.seed(61)
  simulate_bars(n, value = 5)
}

# A task and a state after some iterations; `size` makes several blocks of the data.
basis_work <- function(selector, n_iter = 2, size = NULL, n = 400, ...) {
  task <- new_task(t(many_bars(n)$y), model_binary_sparse(10), selector, 4, NULL,
                   short_control(n_threads = 1, ...), seed = c(3L, 5L))
  if (!is.null(size)) {
    offsets <- seq(0, n - 1, by = size)
    task$blocks <- lapply(offsets, function(at) new_block(at, min(size, n - at)))
  }
  state <- begin_state(task, 1)
  for (iteration in seq_len(n_iter)) state <- em_step(task, state)
  list(task = task, state = state)
}

test_that("affinities are leave-one-out means: each point's own targets make no difference", {
  for (method in methods) {
    work <- basis_work(selector_gp(method = method, rank = 30))
    task <- work$task
    memory <- work$state$memory
    work$state$view <- block_view(task, work$state$memory, task$blocks[[1]])
    affinity <- block_affinity(task$selector, task, work$state, task$blocks[[1]], NULL)
    targets <- dense_targets(work$state, 10)
    view <- work$state$view
    u <- memory$prepared$transform %*% view$features
    scale <- if (is.null(view$scale)) rep(1, 400) else view$scale
    for (point in c(1, 200, 400)) {
      # The regression without the point: its features and targets taken out of the sums.
      gram <- solve(crossprod(memory$prepared$transform)) - tcrossprod(view$features[, point])
      cross <- tcrossprod(view$features[, -point], targets[, -point])
      expect_near(affinity[, point], drop(crossprod(cross, solve(gram, view$features[, point]))),
                  1e-7)
    }
    expect_true(all(colSums(u^2) < 1))
  }
})

test_that("sums over three blocks equal those of one block", {
  for (method in methods) {
    work <- basis_work(selector_gp(method = method, rank = 30))
    memory <- work$state$memory
    targets <- slot_targets(work$state, work$task$model)
    whole <- survey(work$task, memory, targets)$sums
    split <- work$task
    split$blocks <- lapply(c(0, 150, 300), function(at) new_block(at, min(150, 400 - at)))
    parts <- survey(split, memory, targets)$sums
    for (name in names(whole)) expect_near(parts[[name]], whole[[name]], 1e-12)
    memory["kept"] <- list(NULL)
    work$state$memory <- memory
    one <- em_update(work$task, work$state)
    three <- em_update(split, work$state)
    expect_near(three$bound, one$bound, 1e-12)
    expect_near(three$sums$cross, one$sums$cross, 1e-10)
  }
})

test_that("sums gathered in a pass are those of a pass for the sums alone", {
  work <- basis_work(selector_gp(method = "ichol", rank = 30), size = 150)
  state <- work$state
  targets <- slot_targets(state, work$task$model)
  surveyed <- survey(work$task, state$memory, targets)
  expect_near(state$memory$cross, surveyed$sums$cross, 1e-12)
  forgetful <- state
  forgetful$memory["kept"] <- list(NULL)
  expect_near(em_step(work$task, forgetful)$memory$cross, em_step(work$task, state)$memory$cross,
              1e-12)
})

test_that("with the residual as noise the ranking comes close to the exact one and stays there", {
  kernel <- kernel_rbf(0.03, 10) + kernel_linear(1e-4) + kernel_bias(0.03) + kernel_white(1e-3)
  bars <- many_bars(500)
  y <- t(bars$y)
  theta <- gp_theta(kernel, y)
  targets <- t(bars$latents) + 0
  exact <- gp_loo_means(gp_prepare(kernel, theta, y), targets)
  error_at <- function(rank, is_counted = TRUE) {
    basis <- new_basis("ichol", kernel, theta, y, rank, tol = 0)
    view <- basis_features(basis, kernel, theta, y)
    moments <- feature_moments(view)
    basis <- if (is_counted) count_residual(basis, moments) else replace(basis, "extra", 0)
    cross <- cross_targets(targets, view$features, view$scale)
    loo <- view_means(prepare_from(basis, kernel, theta, moments), cross, view, targets)
    sqrt(mean((loo - exact)^2))
  }
  errors <- vapply(c(25, 50, 100, 200), error_at, 1)
  expect_true(all(diff(errors) < 0))
  expect_gt(error_at(200, FALSE), error_at(25, FALSE))
  expect_lt(errors[4], error_at(200, FALSE) / 2)
})

test_that("every method finds the bars, in blocks too, and predicts from what the fit holds", {
  bars <- many_bars(300)
  for (method in c(methods, "divide")) {
    set.seed(62)
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector_gp(method = method, rank = 60),
                   n_selected = 4,
                   control = gps_control(max_iter = 30, n_starts = 2, progress = FALSE,
                                         n_threads = 1))
    expect_true(all(match_components(coef(fit)$W, bars$W)$matched), label = method)
    expect_identical(fit$gp$method, method)
    # New points are ranked without leaving them out.
    expect_lt(mean(abs(predict(fit, bars$y) - predict(fit)) > 0.05), 0.005)
    expect_identical(is.null(fit$gp$cross), method == "divide")
    if (method != "divide") {
      bare <- fit
      bare["y"] <- list(NULL)
      expect_identical(predict(bare, bars$y), predict(fit, bars$y))
    }
  }
})

test_that("objectives, learned inputs and refits on many rows work in a fit", {
  bars <- many_bars(300)
  selectors <- list(
    selector_gp(method = "inducing", rank = 40, objective = "fitc"),
    selector_gp(method = "inducing", rank = 40, objective = "dtc"),
    selector_gp(method = "inducing", rank = 20, learn_inputs = TRUE, refit_every = 5),
    selector_gp(method = "divide", rank = 100, cross = FALSE)
  )
  for (selector in selectors) {
    set.seed(63)
    fit <- gps_fit(bars$y, model_binary_sparse(10), selector, n_selected = 4,
                   control = gps_control(max_iter = 30, n_starts = 2, progress = FALSE,
                                         n_threads = 1))
    expect_gte(sum(match_components(coef(fit)$W, bars$W)$matched), 9)
    expect_gt(nrow(fit$kernel_trace), 1)
  }
  moved <- basis_work(selectors[[3]], 6, n = 300)$state$memory$basis$z
  expect_false(any(colSums(abs(moved[, 1] - t(bars$y))) == 0))
})

test_that("the number of points decides where the choice is free, and print() says so", {
  model <- gps_bind(model_binary_sparse(10), matrix(0, 2, 25))
  pick <- function(n, kernel = kernel_composition(), ...) {
    resolve_engine(selector_gp(kernel), model, matrix(0, 25, n), ...)
  }
  expect_identical(pick(2000)$method, "exact")
  expect_identical(pick(2001)[c("method", "rank")], list(method = "ichol", rank = 200L))
  expect_identical(pick(1e5, kernel_linear() + kernel_bias())$method, "exact")
  expect_identical(pick(100, is_batched = TRUE)$method, "ichol")
  expect_match(format_selector(pick(2001)), "Cholesky of rank 200 (chosen by", fixed = TRUE)
  bars <- many_bars(2001)
  set.seed(64)
  fit <- gps_fit(bars$y, model_binary_sparse(10), n_selected = 4,
                 control = short_control(max_iter = 2, n_threads = 1))
  expect_printed(fit, "incomplete Cholesky of rank 200 (chosen by the number", fixed = TRUE)
})

test_that("the number of threads does not change a bit, nor does a file", {
  bars <- many_bars()
  fit_with <- function(n_threads, method) {
    set.seed(65)
    gps_fit(bars$y, model_binary_sparse(10), selector_gp(method = method, rank = 50),
            n_selected = 4, control = short_control(max_iter = 2, n_threads = n_threads))
  }
  ones <- list()
  for (method in c(methods, "divide")) {
    ones[[method]] <- fit_with(1, method)
    two <- fit_with(2, method)
    same <- c("params", "bound", "selected", "prob_on", "gp", "kernel_theta")
    expect_identical(unclass(ones[[method]])[same], unclass(two)[same])
  }
  one <- ones$ichol
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(one, file)
  # A new session has been asked by the tests of engines and of determinism.
  expect_identical(predict(readRDS(file), bars$y), predict(one, bars$y))
})

test_that("a kernel that no basis can stand for is refused by name", {
  fit_by <- function(method) {
    gps_fit(many_bars()$y, model_binary_sparse(10), selector_gp(kernel_white(), method),
            n_selected = 4, control = quick_control())
  }
  for (method in c("ichol", "inducing", "fourier")) {
    expect_gps_error(fit_by(method), "`kernel` must have a term that is not white")
  }
})

test_that("a fit whose Gaussian process was changed is refused", {
  set.seed(66)
  fit <- gps_fit(many_bars()$y, model_binary_sparse(10), selector_gp(method = "ichol", rank = 20),
                 n_selected = 4, control = short_control(max_iter = 2, n_threads = 1))
  y <- many_bars()$y[1:3, ]
  damage <- list(
    function(gp) replace(gp, "cross", list(gp$cross[-1, ])),
    function(gp) modifyList(gp, list(prepared = list(transform = diag(3)))),
    function(gp) modifyList(gp, list(prepared = list(basis = list(z = gp$prepared$basis$z * NA)))),
    function(gp) modifyList(gp, list(prepared = list(noise = "1"))),
    function(gp) modifyList(gp, list(prepared = list(noise = 0))),
    function(gp) modifyList(gp, list(prepared = list(basis = list(extra = Inf)))),
    function(gp) replace(gp, "method", "guess"),
    function(gp) replace(gp, "method", "auto"),
    function(gp) replace(gp, "rank", list(NULL)),
    function(gp) replace(gp, "rank", -1),
    function(gp) replace(gp, "rank", "a")
  )
  for (change in damage) {
    damaged <- fit
    damaged$gp <- change(fit$gp)
    expect_gps_error(predict(damaged, y), "`gp`")
  }
})

test_that("latents on a grid are ranked by few basis functions or neighbours too", {
  data <- scene_data()
  bound <- vapply(c("exact", "ichol", "fourier", "neighbours"), function(method) {
    set.seed(67)
    fit <- gps_fit(data$y, model_occlusive(4, c(8, 8)), selector_gp(method = method),
                   n_selected = 3, control = gps_control(max_iter = 10, n_starts = 2,
                                                         progress = FALSE, n_threads = 1))
    expect_identical(dim(predict(fit, data$y[1:3, , , ])), c(3L, 4L))
    fit$bound
  }, 1)
  expect_lt(max(abs(bound / bound[1] - 1)), 0.05)
  for (selector in list(selector_gp(method = "divide"),
                        selector_gp(method = "inducing", objective = "fitc"))) {
    expect_gps_error(gps_fit(data$y, model_occlusive(4, c(8, 8)), selector), "lie on a grid")
  }
})

test_that("blocks that would not fit are refused before anything is made", {
  selector <- resolve_engine(selector_gp(method = "divide"), list(grid = NULL, n_latents = 10L),
                             matrix(0, 2, 1e6))
  expect_gps_error(engine_check_size(selector_engine(selector), selector$kernel, 2, 1e6, 10L),
                   "\"divide\" keeps")
})
