# Where a fit begins: short starts, the one start of the paper, and what a user gives.

bars_of <- function(n = 80) {
  set.seed(31)
  simulate_bars(n, size = 3, value = 5)$y
}

fit_bars <- function(..., seed = 1, selector = selector_handcrafted(), n_selected = 3, start = NULL,
                     y = bars_of()) {
  force(y)
  set.seed(seed)
  gps_fit(y, model_binary_sparse(6), selector, n_selected, start = start,
          control = gps_control(progress = FALSE, ...))
}

test_that("the start with the best bound goes on", {
  for (selector in list(selector_handcrafted(), selector_gp(kernel_linear()), selector_random())) {
    fit <- fit_bars(max_iter = 2, n_starts = 5, selector = selector)
    starts <- fit$starts
    expect_named(starts, c("start", "bound_per_point", "chosen", "rows", "unseen"))
    expect_identical(c(starts$rows, starts$unseen), rep(c(80L, 0L), each = 5))
    expect_identical(starts$start, 1:5)
    expect_near(starts$bound_per_point[starts$chosen], max(starts$bound_per_point),
                equal_bounds)
    last <- fit$trace$start > 0 & fit$trace$iteration == start_iterations
    expect_near(fit$trace$bound[last] / 80, starts$bound_per_point, 1e-12)
  }
})

test_that("which start goes on does not depend on the unit of the data", {
  # Two starts that ended within 3e-8 nats a point of each other.
  apart <- c(-22.2, -17.6379659043980, -17.6379658760536)
  chosen <- vapply(2^c(-30, 0, 17), function(unit) first_of_best(apart - 9 * log(unit), 9), 1L)
  expect_identical(chosen, rep(3L, 3))
  expect_identical(first_of_best(c(-2, -1 - 1e-12, -1), 9), 2L)
})

test_that("the main run begins with the chosen start's parameters and slots", {
  y <- bars_of()
  none <- fit_bars(max_iter = 0, n_starts = 4)
  one <- fit_bars(max_iter = 1, n_starts = 4)
  # Iteration 1 of the main run is an E-step at the parameters that the start arrived at.
  step <- gps_estep(none$model, none$params, y, t(none$selected))
  expect_near(one$trace$bound[one$trace$start == 0], sum(step$log_evidence), 1e-12)
  expect_near(gps_mstep(none$model, none$params, step$stats)$params$W, one$params$W, 1e-12)
})

test_that("one start is the paper's algorithm and has no table", {
  fit <- fit_bars(max_iter = 6, n_starts = 1)
  expect_null(fit$starts)
  expect_identical(fit$trace$start, rep(0L, 6))
  # It is the first of many starts, as far as that goes.
  many <- fit_bars(max_iter = 6, n_starts = 3)
  expect_identical(fit$trace$bound[1:6], many$trace$bound[1:6])
})

test_that("starts differ from each other and are repeated by the seed", {
  fit <- fit_bars(max_iter = 1, n_starts = 4)
  first <- fit$trace$bound[fit$trace$iteration == 1 & fit$trace$start > 0]
  expect_length(unique(first), 4)
  strip <- function(fit) fit$trace[names(fit$trace) != "seconds"]
  expect_identical(strip(fit_bars(max_iter = 1, n_starts = 4)), strip(fit))
  expect_false(identical(fit_bars(max_iter = 1, n_starts = 4, seed = 2)$params, fit$params))
})

test_that("large data are started on 2000 rows, judged on others, and all rows go on", {
  set.seed(31)
  y <- simulate_bars(2300, size = 3, value = 5)$y
  for (selector in list(selector_handcrafted(), selector_gp(kernel_linear()),
                        selector_gp(method = "ichol", rank = 10))) {
    fit <- fit_bars(max_iter = 2, n_starts = 2, selector = selector, y = y)
    expect_identical(dim(fit$selected), c(3L, 2300L))
    main <- fit$trace[fit$trace$start == 0, ]
    per_point <- c(max(fit$starts$bound_per_point), main$bound / 2300)
    expect_lt(diff(range(per_point)) / abs(per_point[1]), 0.2)
    expect_identical(c(fit$starts$rows, fit$starts$unseen), rep(c(2000L, 300L), each = 2))
    expect_printed(fit, "300 other rows, unlike the bound above", fixed = TRUE)
  }
  # Too few others.
  fit <- fit_bars(max_iter = 2, n_starts = 2, y = y[1:2100, ])
  starts <- fit$trace[fit$trace$start > 0, ]
  expect_near(fit$starts$bound_per_point,
              starts$bound[starts$iteration == start_iterations] / 2000, 1e-12)
  expect_printed(fit, "a sample of 2000 rows", fixed = TRUE)
})

test_that("a start's bound on rows that it did not see is the model's own", {
  set.seed(31)
  y <- simulate_bars(2300, size = 3, value = 5)$y
  task <- new_task(t(y), model_binary_sparse(6), selector_random(), 3, NULL,
                   gps_control(n_starts = 1, n_threads = 1, progress = FALSE))
  rows <- sample_rows(task)
  unseen <- restrict_unseen(task, rows)
  short <- restrict_task(task, rows)
  state <- em_step(short, begin_state(short, 1))
  others <- y[setdiff(1:2300, rows), ]
  selected <- t(apply(gps_handcrafted(task$model, state$params, others), 1,
                      function(affinity) sort(order(-affinity)[1:3])))
  bound <- sum(gps_estep(task$model, state$params, others, selected)$log_evidence)
  expect_near(judge_start(state, short, unseen), bound / 300, 1e-10)
  # Screened as the fit is, lest starts be judged otherwise as soon as there are unseen rows.
  for (screen in list(NULL, gps_screen(propose = 5), FALSE)) {
    task <- new_task(t(y), model_binary_sparse(6), selector_handcrafted(screen = screen), 3, NULL,
                     gps_control(n_starts = 1, n_threads = 1, progress = FALSE))
    expect_identical(restrict_unseen(task, rows)$selector$screen, task$selector$screen)
    expect_identical(is.null(task$selector$screen), isFALSE(screen))
  }
})

test_that("rows of a start follow the number of clusters", {
  task <- list(y = matrix(0, 1, 3000), model = model_gaussian_mixture(250), seed = c(1L, 2L))
  rows <- sample_rows(task)
  expect_length(rows, 2500)
  expect_false(is.unsorted(rows, strictly = TRUE))
  task$model <- model_gaussian_mixture(3)
  expect_length(sample_rows(task), start_rows)
  task$model <- model_gaussian_mixture(301)
  expect_null(sample_rows(task))
  expect_identical(vapply(c(50, 2000, 4000, 1e6), count_start_iterations, 1L),
                   c(12L, 12L, 6L, 4L))
})

test_that("starts of few rows for each cluster have one covariance in common", {
  set.seed(2)
  clusters <- simulate_clusters(300, 6, 8)
  common <- function(covariance, n_rows) {
    model <- gps_bind(model_gaussian_mixture(6, covariance), clusters$y)
    start_model(model, n_rows)$options$common
  }
  expect_identical(c(common("full", 239), common("full", 240)), c(1, 0))
  expect_identical(c(common("diagonal", 59), common("diagonal", 60)), c(1, 0))
  fit <- gps_fit(clusters$y[1:120, ], model_gaussian_mixture(6), selector_full(),
                 control = gps_control(max_iter = 0, n_starts = 2, progress = FALSE))
  expect_identical(fit$params$sigma[, , 6], fit$params$sigma[, , 1])
  expect_identical(fit$model$options$common, 0)
})

test_that("given parameters are where the fit begins", {
  y <- bars_of()
  set.seed(3)
  given <- list(W = matrix(rnorm(54), 9), pi = 0.3, sigma2 = 2)
  fit <- fit_bars(max_iter = 0, start = given, n_starts = 4)
  expect_identical(fit$params, given)
  expect_null(fit$starts)
  partial <- fit_bars(max_iter = 0, start = given["W"])
  expect_identical(partial$params$W, given$W)
  expect_identical(partial$params$pi, 1 / 6)
  whole_numbers <- list(W = matrix(1:54, 9), pi = 0.5, sigma2 = 2L)
  expect_identical(fit_bars(max_iter = 0, start = whole_numbers)$params$W,
                   matrix(as.double(1:54), 9))
})

test_that("starts that do not fit the model are refused by name", {
  refuse <- function(start, words) {
    expect_gps_error(fit_bars(max_iter = 1, start = start), words)
  }
  refuse(list(W = matrix(0, 6, 9)), "`start$W` must be a numeric array of 9 x 6")
  refuse(list(V = 1), "`start` has no parameter \"V\"")
  refuse(list(sigma2 = 0), "`start$sigma2` must lie between 0 and Inf, both excluded")
  refuse(list(pi = NA_real_), "`start$pi` must have finite values")
  refuse(list(1, 2), "`start` must be a named list of W, pi, sigma2")
  refuse("best", "`start` must be a named list of parameters, as coef() gives them, or a fit")
  refuse(3, "`start` must be")
  mixture <- list(pi = c(1, 1) / 3)
  expect_gps_error(gps_fit(bars_of(), model_gaussian_mixture(2), selector_full(), start = mixture),
                   "`start$pi` must add up to 1")
})

test_that("a fit goes on from a fit", {
  y <- bars_of()
  for (selector in list(selector_handcrafted(), selector_gp(kernel_rbf(2, 3)), selector_full())) {
    n_selected <- if (inherits(selector, "gps_selector_full")) 6 else 3
    first <- fit_bars(max_iter = 14, n_starts = 1, selector = selector, n_selected = n_selected)
    none <- fit_bars(max_iter = 0, start = first, selector = selector, n_selected = n_selected)
    expect_identical(none$params, first$params)
    expect_identical(none$kernel_theta, first$kernel_theta)
    more <- fit_bars(max_iter = 3, tol = 0, start = first, selector = selector,
                     n_selected = n_selected, monotone = TRUE)
    expect_no_fall(c(first$bound, more$trace$bound))
  }
  # Other data, another selector, another number of slots: the parameters go on.
  other <- fit_bars(max_iter = 0, start = first, selector = selector_random(), n_selected = 2,
                    y = y[1:50, ])
  expect_identical(other$params, first$params)
  expect_identical(dim(other$selected), c(2L, 50L))
})

test_that("a fit of another model or another width is refused", {
  set.seed(1)
  mixture <- gps_fit(bars_of(), model_gaussian_mixture(2, "spherical"), selector_full(),
                     control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE))
  expect_gps_error(fit_bars(max_iter = 1, start = mixture), "`start`")
  narrow <- fit_bars(max_iter = 1, y = bars_of()[, 1:5])
  expect_gps_error(fit_bars(max_iter = 1, start = narrow),
                   "`start` must be a fit of the same size, but it has 5 columns, and the data 9")
})

test_that("a start on fewer points than clusters is refused", {
  expect_error(
    gps_fit(bars_of(), model_gaussian_mixture(6), selector_handcrafted(), 3,
            control = gps_control(grow = 4, progress = FALSE)),
    "start on 4 data points cannot have 6 clusters", class = "gps_error_argument"
  )
})

# The bounds of one start in the trace.
bounds_of_start <- function(fit, number) fit$trace$bound[fit$trace$start == number]

slab_models <- list(model_spike_slab(6), model_spike_slab(6, "full", FALSE),
                    model_spike_slab(6, intercept = TRUE), model_max_spike_slab(6))

test_that("two starts of three begin as binary sparse coding, and are judged by the model itself", {
  set.seed(31)
  y <- simulate_bars(80, size = 3, value = 5)$y
  run <- function(model) {
    set.seed(1)
    gps_fit(y, model, selector_handcrafted(FALSE), 3,
            control = gps_control(max_iter = 0, n_starts = 3, trace = TRUE, progress = FALSE))
  }
  for (model in slab_models) {
    fit <- run(model)
    simple <- run(binary_of(model))
    expect_identical(as.integer(table(fit$trace$start)), c(12L, 16L, 16L))
    for (number in 2:3) {
      expect_identical(bounds_of_start(fit, number)[1:12], bounds_of_start(simple, number))
      expect_identical(which(fit$trace$events[fit$trace$start == number] == "simpler 1"), 12L)
    }
    last <- vapply(1:3, function(number) utils::tail(bounds_of_start(fit, number), 1), 1)
    expect_near(fit$starts$bound_per_point, last / 80, 1e-12)
    expect_false("simpler 1" %in% fit$trace$events[fit$trace$start == 1])
  }
  # Mixtures have no simpler model, and binary sparse coding is the simplest.
  expect_null(simple_model(model_gaussian_mixture(2)))
  expect_null(simple_model(model_binary_sparse(2)))
})

test_that("starts on a sample with fewer than ten rows for each latent are left out", {
  starts_of <- function(model, n_points) {
    y <- matrix(as.numeric(seq_len(2 * n_points) %% 2), ncol = n_points)
    plan_task(y, model, selector_handcrafted(), 2, NULL, gps_control())$control$n_starts
  }
  for (make in list(model_binary_sparse, model_spike_slab, model_max_spike_slab, model_noisy_or)) {
    n_starts <- c(starts_of(make(200), 2500), starts_of(make(201), 2500),
                  starts_of(make(201), 2000))
    expect_equal(n_starts, c(8, 1, 8), label = class(make(1))[1])
  }
})

test_that("spike-and-slab has more starts where there are few data points for each latent", {
  starts_of <- function(model, n, ...) {
    y <- matrix(as.numeric(seq_len(10 * n) %% 7), ncol = n)
    plan_task(y, model, selector_handcrafted(), 2, NULL, gps_control(...))$control$n_starts
  }
  for (model in list(model_spike_slab(6), model_spike_slab(6, "full", FALSE))) {
    expect_identical(vapply(c(59, 60, 2000), starts_of, 1L, model = model), c(32L, 8L, 8L))
    expect_identical(starts_of(model, 59, n_starts = 3), 3L)
  }
  # Latents in plenty do not make many data points few.
  expect_identical(vapply(c(499, 500), starts_of, 1L, model = model_spike_slab(90)), c(32L, 8L))
  for (model in list(model_binary_sparse(6), model_max_spike_slab(6), model_gaussian_mixture(6))) {
    expect_equal(starts_of(model, 50), 8)
  }
})

test_that("few data points do not hide the components of spike-and-slab", {
  # With eight starts both fits miss components, 5 of 20.
  seeds <- if (is_full()) c(4, 10) else 10
  found <- vapply(seeds, function(seed) {
    set.seed(seed)
    bars <- simulate_bars(60, "spike_slab")
    set.seed(seed)
    fit <- gps_fit(bars$y, model_spike_slab(10), control = gps_control(progress = FALSE))
    sum(match_components(fit, bars)$matched)
  }, 1)
  expect_gte(sum(found), 9 * length(seeds))
})

test_that("what the simpler model hands on has the model's shapes, in any unit of the data", {
  set.seed(32)
  y <- simulate_bars(60, size = 3, value = 5)$y
  for (model in slab_models) for (unit in 2^c(0, -40, 40)) {
    bound <- gps_bind(model, unit * y)
    params <- gps_init(gps_bind(binary_of(model), unit * y), unit * y)
    params$W[1, 1] <- -1
    handed <- from_simple(bound, params)[names(bound$params)]
    expect_identical(check_all_params(bound, handed, "params"), handed)
    kept <- intersect(names(handed), c("pi", "sigma2", "intercept"))
    expect_identical(handed[kept], params[kept])
    is_max <- inherits(model, "gps_max_spike_slab")
    expect_identical(handed$W[1, 1], if (is_max) bound$options$floor_W else -1)
    expect_identical(handed$W[-1], if (is_max) pmax(params$W, handed$W[1, 1])[-1] else params$W[-1])
  }
})

test_that("a user's ranking sees the parameters of its own model alone", {
  ranking <- selector_custom(function(params, y) {
    stopifnot(length(params$mu) == 6)
    y %*% params$W
  })
  set.seed(1)
  fit <- gps_fit(bars_of(), model_spike_slab(6), ranking, 3,
                 control = gps_control(max_iter = 1, n_starts = 3, trace = TRUE,
                                       progress = FALSE))
  expect_identical(as.integer(table(fit$trace$start)), c(1L, 12L, 12L, 12L))
})

test_that("a start that is cut short while its model is the simpler one leaves nothing", {
  task <- new_task(t(bars_of()), model_spike_slab(6), selector_handcrafted(), 3, NULL,
                   gps_control(n_starts = 3, n_threads = 1, progress = FALSE))
  short <- restrict_task(task, NULL)
  short$deadline <- 0
  expect_identical(run_start(short, 1, NULL)$complete$params$mu, rep(1, 6))
  expect_null(run_start(short, 2, NULL)$complete)
  set.seed(1)
  fit <- gps_fit(bars_of(), model_spike_slab(6), selector_handcrafted(), 3,
                 control = gps_control(time_limit = 1e-9, progress = FALSE))
  expect_identical(fit$status, "time_limit")
  expect_length(coef(fit)$mu, 6)
})

test_that("annealing that is asked for raises the noise of a fit that goes on, too", {
  set.seed(1)
  y <- simulate_scenes(n = 12, size = c(10, 10))$y
  run <- function(start = NULL, ...) {
    control <- gps_control(max_iter = 2, n_starts = 1, n_threads = 1, ...)
    suppressWarnings(gps_fit(y, model_occlusive(2, size = c(5, 5)), selector_handcrafted(),
                             n_selected = 2, start = start, control = control))
  }
  fit <- run()
  sigma2_from <- function(start, ...) coef(run(start, ...))$sigma2
  expect_identical(sigma2_from(fit, anneal = 4), sigma2_from(coef(fit), anneal = 4))
  expect_gt(sigma2_from(fit, anneal = 4), 1.5 * sigma2_from(fit))
})

# Bars found of ten, on the average of the seeds, and by how much the truth is better at least.
find_few_bars <- function(seeds, kind) {
  found <- vapply(seeds, function(seed) {
    set.seed(seed)
    bars <- simulate_bars(100, kind, psi = 0.1)
    model <- (if (kind == "spike_slab") model_spike_slab else model_max_spike_slab)(10)
    set.seed(1)
    fit <- gps_fit(bars$y, model)
    truth <- list(W = bars$W, mu = rep(1, 10), psi = rep(0.1, 10), sigma2 = 2)
    best <- gps_fit(bars$y, model, start = truth)$bound
    c(sum(match_components(fit$params$W, bars$W)$matched), (best - fit$bound) / 100)
  }, numeric(2))
  list(n_found = mean(found[1, ]), loss = max(found[2, ]))
}

test_that("a hundred points show ten bars to models with values", {
  skip_unless_full()
  for (kind in c("spike_slab", "max_spike_slab")) {
    found <- find_few_bars(2:4, kind)
    expect_identical(found$n_found, 10)
    expect_lt(found$loss, 0.2)
  }
})

test_that("a hundred points of many data sets show ten bars to models with values", {
  skip_unless_full()
  for (kind in c("spike_slab", "max_spike_slab")) {
    expect_gte(find_few_bars(1:20, kind)$n_found, 9.75)
  }
})
