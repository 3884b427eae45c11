# What is said of a fit before it is begun. Memory and time are measured by bench/plan.R.

plan_control <- function(...) gps_control(n_threads = 1, progress = FALSE, ...)

# Where a test is about neither the seconds of an iteration nor its memory, two are measured, of
# which one is usual, for as short as the clock tells, and no garbage is collected before.
measure_briefly <- function(frame = parent.frame()) {
  local_value("measured_iterations", 2L, frame)
  local_value("least_measured", 2 * clock_step, frame)
  local_value("bytes_used", function(...) 0, frame)
}

test_that("a plan counts, and takes nothing from the session's random numbers", {
  set.seed(1)
  y <- simulate_bars(200, value = 5)$y
  set.seed(2)
  before <- .Random.seed
  plan <- gps_plan(y, model_binary_sparse(10), n_selected = 6, max_active = 3,
                   control = plan_control(max_iter = 30))
  expect_identical(.Random.seed, before)
  expect_s3_class(plan, "gps_plan")
  expect_identical(plan$n_states, sum(choose(6, 0:3)))
  expect_identical(c(plan$n_points, plan$n_dims, plan$n_latents), c(200L, 25L, 10L))
  expect_identical(plan$bytes, sum(plan$memory))
  expect_identical(plan$memory[["data"]], 8 * 200 * 25)
  expect_named(plan$seconds, c("reading", "starts", "iterations", "mending"))
  expect_true(all(plan$seconds >= 0) && plan$seconds[["iterations"]] > 0)
  expect_identical(plan$samples$n, c(64, 100, 200))
  expect_printed(plan, "42 a point.*if all 30 iterations are needed")
  # All matrices of points x points that stand at once.
  expect_gt(plan$memory[["kernel"]], 3 * 8 * 200^2)
})

test_that("what grows is planned to grow", {
  measure_briefly()
  set.seed(1)
  y <- simulate_bars(200, size = 3, value = 5)$y
  plan <- function(rows, ...) {
    gps_plan(y[seq_len(rows), ], model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
             control = plan_control(...))
  }
  small <- plan(60, mend = FALSE)
  large <- plan(200)
  expect_gt(large$memory[["points"]], small$memory[["points"]])
  expect_identical(large$seconds[["mending"]] > 0, TRUE)
  expect_identical(small$seconds[["mending"]], 0)
  batched <- plan(200, batch_size = 60)
  expect_lte(max(batched$samples$n), 60)
})

test_that("a fit that does not fit in memory says so with the number", {
  measure_briefly()
  set.seed(1)
  y <- simulate_bars(60, value = 5)$y
  local_value("free_bytes", function() 2^20)
  local_value("process_bytes", function() 2^26)
  expect_warning(plan <- gps_plan(y, model_binary_sparse(6), n_selected = 3,
                                  control = plan_control(max_iter = 3)),
                 "needs about .* MB of memory, and 65 MB are free", class = "gps_warning_memory")
  expect_printed(plan, "MORE than the 65 MB that are free")
})

test_that("a plan refuses what a fit refuses, and is shown only as it was made", {
  measure_briefly()
  y <- matrix(rnorm(60), 20)
  expect_gps_error(gps_plan(model = model_binary_sparse(3)), "`y` is missing")
  expect_gps_error(gps_plan(y), "`model` is missing")
  expect_gps_error(gps_plan(y, model_binary_sparse(3), n_selected = 4), "`n_selected`")
  expect_gps_error(gps_plan(y, model_binary_sparse(3), maxiter = 4), "Unknown argument `maxiter`")
  plan <- gps_plan(y, model_gaussian_mixture(2), selector_full(), control = plan_control())
  plan$memory <- "much"
  expect_gps_error(print(plan), "`x` is not as gps_plan() made it")
})

test_that("a fit that cannot fit is refused with the number before it begins", {
  set.seed(1)
  y <- simulate_bars(300, value = 5)$y
  local_value("em_update", function(...) stop("it has begun"))
  local_value("swap_bytes", function() 0)
  # Fits of some MB are asked; here of one, which are sooner made.
  expect_lte(asked_bytes, 8 * 2^20)
  local_value("asked_bytes", 2^20)
  fit_with <- function(free, ..., n_points = 300) {
    local_value("free_bytes", function() free)
    gps_fit(y[rep_len(1:300, n_points), ], model_binary_sparse(6), ..., n_selected = 3,
            control = plan_control(max_iter = 3, n_starts = 1))
  }
  # Two matrices of points x points, and two times slots of an integer and a double.
  needed <- 2 * 8 * 300^2 + 2 * 300 * 3 * 12
  refused <- expect_gps_error(
    fit_with(needed - 1, selector_gp(method = "exact")),
    "A fit of 300 data points with 6 latents and 25 dimensions needs at least 1.39 MB", "memory"
  )
  expect_identical(c(refused$needed, refused$free), c(needed, needed - 1))
  expect_match(conditionMessage(refused), "gps_plan() says what takes it", fixed = TRUE)
  expect_error(fit_with(needed, selector_gp(method = "exact")), "it has begun")
  large <- function(free) fit_with(free, selector_handcrafted(), n_points = 20000)
  expect_gps_error(large(1000), "needs at least 1.37 MB", "memory")
  # Who does not know refuses nothing, nor who was told not to, nor is it asked of very little.
  expect_error(large(NA_real_), "it has begun")
  expect_error(fit_with(1000, selector_handcrafted()), "it has begun")
  before <- options(gpselect.check_memory = FALSE)
  on.exit(options(before), add = TRUE)
  expect_error(large(1000), "it has begun")
})

test_that("a mixture of more clusters than the first sample has points is planned", {
  measure_briefly()
  set.seed(1)
  # More clusters than `first_sample`, and a sample of twice as many points is all but one.
  y <- matrix(rnorm(266), 133)
  plan_of <- function(y, model, selector) {
    plan <- gps_plan(y, model, selector, control = short_control(max_iter = 3))
    expect_true(all(is.finite(plan$seconds)) && sum(plan$seconds) > 0 && plan$bytes > 0)
  }
  plan_of(y, model_gaussian_mixture(66, "spherical"), selector_gp())
  plan_of(round(abs(9 * y)), model_poisson_mixture(66), selector_full())
})

test_that("iterations shorter than the clock's step are repeated until it tells them", {
  now <- 0
  local_value("elapsed", function() floor(1000 * now) / 1000)
  local_value("step_in_parts", function(task, state) now <<- now + 4e-4)
  # Two of three iterations are settled, of 0.4 ms each; the clock counts in ms.
  ms <- 1000 * gpselect:::settled_seconds(list(), list(), 1e-3)
  expect_equal(ms, 0.6, tolerance = 0.05)
})
