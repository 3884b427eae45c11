# What cannot go together is refused before any data are read; and whose prediction ranks a point.

# Of numbers that do not matter.
unread_source <- function(n = 60, d = 9) counted_source(matrix(sin(seq_len(n * d)), n))

expect_refused_unread <- function(words, ..., n = 60, d = 9) {
  counter <- unread_source(n, d)
  stream <- get0(".Random.seed", globalenv())
  expect_gps_error(gps_fit(counter$source, ...), words)
  expect_identical(get0(".Random.seed", globalenv()), stream)
  expect_identical(counter$n_reads, 0)
}

test_that("pairs that cannot go together are refused before a source is read", {
  set.seed(1)
  binary <- model_binary_sparse(6)
  grid <- model_occlusive(2, c(2, 2), image = c(3, 3))
  moves <- gps_screen(moves = 3)
  for (model in list(binary, model_spike_slab(6), model_max_spike_slab(6),
                     model_gaussian_mixture(6))) {
    expect_refused_unread("`moves` must be 0 or NULL", model, selector_handcrafted(moves))
    expect_refused_unread("`moves` must be 0 or NULL", model,
                          selector_gp(method = "ichol", rank = 8, screen = moves))
    expect_refused_unread("`smooth` = 1 needs latents on a grid", model, selector_gp(smooth = 1))
    expect_refused_unread("between 1 and 6", model, n_selected = 7)
    expect_refused_unread("`start` has no parameter", model, start = list(gamma = 1))
    expect_refused_unread("`start$sigma2` must lie", binary, start = list(sigma2 = -1))
  }
  expect_refused_unread("`max_active`", binary, n_selected = 3, max_active = 4)
  expect_refused_unread("needs `max_active` of at most", model_max_spike_slab(6),
                        control = gps_control(method = "exact"))
  expect_refused_unread("not for this model", model_gaussian_mixture(6),
                        control = gps_control(method = "gibbs"))
  expect_refused_unread("`monotone` = TRUE excludes Gibbs", binary,
                        control = gps_control(method = "gibbs", monotone = TRUE))
  expect_refused_unread("selector_full() is not for the model \"Occlusive components\"", grid,
                        selector_full())
  expect_refused_unread("does not fit data with 9 columns", model_occlusive(2, 2:3, c(4, 5)))
  expect_refused_unread("lie on a grid", grid, selector_gp(method = "divide"))
  counter <- unread_source()
  steep <- gps_control(batch_size = 9, step = function(n) 2)
  expect_gps_error(gps_fit(counter$source, binary, control = steep), "`step` must return", "model")
  expect_identical(counter$n_reads, 0)
})

test_that("what a learned selector cannot do is known before a source is read", {
  binary <- model_binary_sparse(6)
  expect_refused_unread("of the kernel has 2 values, but the data have 9 columns", binary,
                        selector_gp(kernel_rbf(lengthscale = 1:2, ard = TRUE)))
  expect_refused_unread("this kernel has none", binary,
                        selector_gp(kernel_linear(), method = "fourier"))
  expect_refused_unread("a cosine and a sine for each", binary,
                        selector_gp(kernel_rbf() + kernel_rbf(), method = "fourier", rank = 2))
  expect_refused_unread("The exact Gaussian process on 30000 points", binary,
                        selector_gp(method = "exact"), n = 30000)
  expect_refused_unread("keeps", binary, selector_gp(method = "divide", rank = 1e4), n = 20000)
  for (method in c("exact", "divide")) {
    expect_refused_unread("Minibatches need a selector", binary, selector_gp(method = method),
                          control = gps_control(batch_size = 20))
  }
  custom <- selector_custom(function(params, y, memory) y, function(params, y, expectations) 1)
  expect_refused_unread("Minibatches need a selector", binary, custom,
                        control = gps_control(batch_size = 20))
  for (method in c("auto", "exact", "ichol", "inducing", "fourier")) {
    expect_refused_unread(
      "`batch_size` cannot be used with selector_gp() for the model \"Occlusive components\"",
      model_occlusive(2, c(2, 2), image = c(3, 3)), selector_gp(method = method),
      control = gps_control(batch_size = 20)
    )
  }
})

test_that("steps refuse alike, and check what they do not use", {
  y <- matrix(sin(1:60), 20)
  model <- gps_bind(model_binary_sparse(3), y)
  params <- gps_init(model, y)
  slots <- matrix(1:2, 20, 2, byrow = TRUE)
  state <- list(model = model, params = params)
  expect_gps_error(gps_affinity(selector_handcrafted(gps_screen(moves = 1)), state, y), "`moves`")
  expect_gps_error(gps_estep(model, params, y, slots, method = "exact", sweeps = "many"),
                   "`sweeps` must be two whole numbers")
  expect_gps_error(gps_estep(model, params, y, slots, method = "exact", value = "many"), "`value`")
  fit <- gps_fit(y, model_binary_sparse(3), selector_full(), control = short_control(max_iter = 1))
  expect_gps_error(predict(fit, n_threads = "many"), "`n_threads` must be")
})

test_that("a fit of a source goes on, its kernel with it", {
  set.seed(3)
  source <- function_source(matrix(stats::rnorm(60), 20))
  fit_from <- function(start, max_iter) {
    gps_fit(source, model_binary_sparse(3), selector_gp(kernel_rbf()), 2, start = start,
            control = short_control(max_iter = max_iter))
  }
  first <- fit_from(NULL, 2)
  expect_identical(fit_from(first, 0)$kernel_theta, first$kernel_theta)
})

test_that("what is no choice, number or seed is refused in words", {
  fit <- gps_fit(matrix(sin(1:60), 20), model_binary_sparse(3), selector_full(),
                 control = short_control(max_iter = 1))
  for (bad in list(mean, y ~ x, quote(x), globalenv())) {
    expect_gps_error(predict(fit, type = bad), "`type` must be one of")
    expect_gps_error(stats::simulate(fit, seed = bad), "`seed` must be a whole number")
    expect_gps_error(gps_denoise(matrix(1:64, 8), 1, model_binary_sparse(2), size = 2,
                                 n_selected = bad), "`n_selected` must be a whole number")
  }
})

# Expectations for all points, in slots of distinct latents.
ranking_state <- function(model, y, n_slots) {
  n <- nrow(y)
  by_component <- model$n_latents / count_choices(model)
  latents <- t(vapply(seq_len(n), function(i) {
    components <- sort(sample.int(count_choices(model), n_slots))
    as.integer(by_component * (components - 1) + sample.int(by_component, n_slots, TRUE))
  }, integer(n_slots)))
  list(model = model, params = gps_init(model, y), selected = matrix(latents, n),
       prob_on = matrix(stats::runif(n * n_slots, 0.2, 0.9), n))
}

# Affinities, points x latents, as a pass over blocks makes them.
pass_affinity <- function(selector, state, y) {
  step <- read_step(selector, state, y)
  task <- step$task
  parts <- map_blocks(task, function(task, block) {
    view <- if (!is.null(step$state$memory$basis)) block_view(task, step$state$memory, block)
    parts <- lapply(c(0, 40), function(offset) {
      part <- part_block(block, offset, if (offset == 0) 40 else block$n_points - 40)
      part_state <- step$state
      part_state["view"] <- list(view)
      inputs <- block_inputs(task$model, step$state$params, task$y, part)
      block_affinity(task$selector, task, part_state, part, inputs)
    })
    do.call(cbind, parts)
  })
  t(do.call(cbind, parts))
}

# A point's own expectations must not change how it is ranked, whatever they are; those of others
# must. Were a point ranked by the prediction of another, they would.
expect_left_out <- function(selector, state, y, point) {
  learned <- state
  learned$memory <- gps_learn(selector, state, y)
  changed <- state
  changed$prob_on[point, ] <- 1 - state$prob_on[point, ]
  changed$memory <- gps_learn(selector, changed, y)
  before <- pass_affinity(selector, learned, y)
  after <- pass_affinity(selector, changed, y)
  expect_near(after[point, ], before[point, ], 1e-8)
  expect_gt(max(abs(after - before)), 1e-6)
  some <- c(point, 3, 600, 512, 513)
  expect_near(gps_affinity(selector, learned, y, points = some), before[some, ], 1e-10)
}

test_that("every engine ranks a point by its own prediction, in blocks, parts and sources", {
  set.seed(2)
  plain <- matrix(stats::rnorm(600 * 4), 600)
  images <- matrix(stats::runif(600 * 9), 600)
  kernel <- kernel_rbf(lengthscale = 1.5) + kernel_linear() + kernel_white(0.3)
  engines <- list(
    exact = selector_gp(kernel), features = selector_gp(kernel_linear(), "exact"),
    ichol = selector_gp(kernel, "ichol", 40), vfe = selector_gp(kernel, "inducing", 40),
    fitc = selector_gp(kernel, "inducing", 40, objective = "fitc"),
    dtc = selector_gp(kernel, "inducing", 40, objective = "dtc"),
    fourier = selector_gp(kernel, "fourier", 40), divide = selector_gp(kernel, "divide", 200),
    alone = selector_gp(kernel, "divide", 200, cross = FALSE)
  )
  on_grid <- c("exact", "features", "ichol", "vfe", "fourier")
  with_small_blocks({
    for (name in names(engines)) {
      state <- ranking_state(gps_bind(model_binary_sparse(5), plain), plain, 2)
      expect_left_out(engines[[name]], state, plain, 520)
      if (name == "ichol") expect_left_out(engines[[name]], state, function_source(plain), 7)
      if (name %in% on_grid) {
        model <- gps_bind(model_occlusive(3, c(2, 2), image = c(3, 3)), images)
        state <- ranking_state(model, images, 2)
        expect_left_out(engines[[name]], state, images, 520)
        if (name == "exact") expect_left_out(engines[[name]], state, function_source(images), 7)
      }
    }
  })
})

test_that("parameters that are given to begin with make the first expectations", {
  expect_true(has_ranking(model_occlusive(2, c(2, 2))))
  expect_false(has_ranking(structure(list(), class = c("none", "gps_model"))))
  set.seed(4)
  bars <- simulate_bars(100)
  start <- list(W = bars$W, pi = 0.2, sigma2 = 2)
  for (selector in list(selector_random(), selector_gp())) {
    task <- new_task(t(bars$y), model_binary_sparse(10), selector, 4, NULL, short_control(),
                     seed = c(1L, 2L))
    state <- first_state(task, start)
    on <- dense_targets(state, 10)
    expect_gt(stats::cor(c(on), c(t(bars$latents))), 0.9)
  }
})

test_that("the screen of a fit is ready, but not for another selector, number of slots or model", {
  set.seed(33)
  y <- t(simulate_bars(50)$y)
  task <- new_task(y, model_max_spike_slab(40), selector_handcrafted(), 4, NULL,
                   gps_control(n_threads = 1))
  anew <- function(task) resolve_screen(task$selector$screen, task$model, task$n_selected)
  expect_identical(task_screen(task), task$screen$whole)
  expect_identical(task$screen$whole, anew(task))
  task$screen$whole <- "ready"
  expect_identical(task_screen(restrict_task(task, 1:20)), "ready")
  others <- list(screen = task, slots = task, model = task)
  others$screen$selector$screen$propose <- 3L
  others$slots$n_selected <- 5L
  others$model <- simple_task(task)
  for (other in others) expect_identical(task_screen(other), anew(other))
  expect_false(identical(task_screen(others$model), anew(task)))
  task$selector <- selector_full()
  expect_null(task_screen(task))
})

test_that("a mixture of more clusters than a batch has points is planned", {
  set.seed(1)
  local_value("measured_iterations", 2L)
  plan <- gps_plan(matrix(rnorm(266), 133), model_gaussian_mixture(66, "spherical"),
                   selector_full(), control = short_control(max_iter = 3, batch_size = 50))
  expect_true(sum(plan$seconds) > 0 && plan$bytes > 0)
})

test_that("moments that are assumed are those that such data have", {
  y <- rbind(c(2, 4), c(2, 4), c(2, 4))
  known <- data_moments(y)
  assumed <- assumed_moments(2L, 3L, centre = 3, variance = 1)
  expect_equal(assumed, structure(unclass(known)[names(assumed)], class = "gps_moments"))
})
