# Threads: limits that the process was given, forks, and nothing that hangs. 2000 points are enough
# for two threads: 4 slots by 8 states by 25 columns each.

test_that("OMP_THREAD_LIMIT is kept to", {
  skip_on_cran()
  output <- run_script(c(
    "set.seed(1)",
    "y <- simulate_bars(2000, value = 5)$y",
    "fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), 3,",
    "               control = gps_control(max_iter = 3, n_starts = 1, n_threads = 8))",
    "cat('threads', gpselect:::resolve_threads(8), 'bound', format(fit$bound, digits = 17), '\\n')"
  ), env = "OMP_THREAD_LIMIT=1")
  expect_match(output, "^threads 1 bound", all = FALSE)
  set.seed(1)
  y <- simulate_bars(2000, value = 5)$y
  fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), 3,
                 control = short_control(max_iter = 3, n_threads = 2))
  bound <- sub(".*bound ([^ ]+).*", "\\1", grep("^threads", output, value = TRUE))
  expect_identical(as.double(bound), fit$bound)
})

test_that("forked children of a threaded fit use one thread and do not hang", {
  skip_on_cran()
  skip_on_os("windows")
  output <- run_script(c(
    "set.seed(1)",
    "y <- simulate_bars(2000, value = 5)$y",
    "fit <- function(...) {",
    "  set.seed(2)",
    "  gps_fit(y, model_binary_sparse(10), selector_handcrafted(), 3,",
    "          control = gps_control(max_iter = 2, n_starts = 1, n_threads = 2))$bound",
    "}",
    "here <- fit()",
    "there <- parallel::mclapply(1:2, fit, mc.cores = 2)",
    "threads <- parallel::mclapply(1:2, function(i) gpselect:::resolve_threads(8), mc.cores = 2)",
    "cat('same', identical(unlist(there), rep(here, 2)), 'threads', unlist(threads), '\\n')",
    "cat('again', identical(fit(), here), '\\n')"
  ), timeout = 60)
  expect_match(output, "^same TRUE threads 1 1", all = FALSE)
  expect_match(output, "^again TRUE", all = FALSE)
})

test_that("more threads than points, blocks and processors change nothing", {
  row <- MODELS[[1]]
  case <- draw_case(row, 5)
  y <- t(case$y)
  block <- new_block(0, 5)
  inputs <- block_inputs(case$model, case$params, y, block)
  states <- enumerate_states(case$model$rule, 2, 2)
  selected <- matrix(1:2, 2, 5)
  run <- function(n_threads) {
    run_estep(case$model, inputs, y, block, selected, states, n_threads, "stats")
  }
  expect_identical(run(16), run(1))
})
