# Functions as a fit stores them: what they use comes along, and nothing else.

test_that("functions carry what they use, at any depth, and no luggage", {
  local_jit()
  luggage <- numeric(1e6)
  make <- function() {
    heavy <- numeric(1e6)
    scale <- 3
    unused <- function() heavy
    helper <- function(x) if (x > 1) other(x - 1) + scale else 0
    other <- function(x) helper(x) + 1
    y <- numeric(1e6)
    function(params, y, n = scale) {
      local_name <- params$heavy
      luggage <- y
      for (i in seq_len(2)) local_name <- local_name + i
      inner <- function(heavy) heavy + local_name
      inner(sum(luggage)) + helper(n) + params@luggage
    }
  }
  f <- make()
  carried <- carry_functions(list(f = f))$f
  expect_lt(length(serialize(carried, NULL)), 1e5)
  home <- environment(carried)
  expect_setequal(ls(home), c("scale", "helper", "other"))
  setClass("gps_test_slots", representation(luggage = "numeric", heavy = "numeric"))
  on.exit(removeClass("gps_test_slots"))
  g <- function(x) helper_of_test(x)
  expect_identical(environmentName(parent.env(environment(carry_functions(list(g))[[1]]))),
                   environmentName(environment(carry_functions(list(g))[[1]])))
})

test_that("carried functions work where nothing of them is left, and give the same", {
  local_jit()
  make <- function() {
    rate <- 2
    twice <- function(x) rate * x
    quote_only <- 5
    function(x) twice(x) + stats::sd(c(1, 2, x))
  }
  f <- make()
  carried <- carry_functions(list(a = f, b = NULL, c = sum))
  expect_identical(carried$a(3), f(3))
  expect_identical(carried$c, sum)
  expect_identical(carry_functions(carried)$a, carried$a)
  expect_setequal(ls(environment(carried$a)), c("rate", "twice"))
  packaged <- carry_functions(list(stats::sd))[[1]]
  expect_identical(environment(packaged), asNamespace("stats"))
})

test_that("names that are read before they are set are found outside", {
  expect_setequal(free_names(function(a) {
    b <- a + outside
    outside <- 1
    b[[other]] <- x$field
    lapply(b, function(z) z + deep)
    stats::thing(b)
    m[, 1]
  }), c("{", "<-", "+", "outside", "[[", "other", "$", "x", "lapply", "deep", "m", "["))
})

test_that("a fit with functions of the global environment predicts in a new session", {
  skip_on_cran()
  folder <- tempfile("carry")
  dir.create(folder)
  run <- function(code) {
    script <- tempfile(fileext = ".R")
    writeLines(c(sprintf("setwd(%s)", dQuote(folder, FALSE)), "library(gpselect)", code), script)
    libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
    suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE,
                             stderr = TRUE, env = paste0("R_LIBS=", shQuote(libraries)),
                             timeout = 100))
  }
  first <- run(c(
    "luggage <- rnorm(2e6)", "width <- 1.5",
    "density <- function(y, mean) -0.5 * colSums((y - mean)^2) / width^2",
    "log_joint <- function(params, y, states) density(y, params$W %*% states) - colSums(states)",
    "init <- function(y) list(W = matrix(rnorm(ncol(y) * 3), ncol(y)))",
    "mstep <- function(params, y, posterior) list(W = params$W * width / 2)",
    "set.seed(1)", "y <- matrix(rnorm(120), 30)",
    "fit <- gps_fit(y, model_custom(3, init, log_joint, mstep), selector_random(),",
    "               n_selected = 2, control = gps_control(max_iter = 3, n_starts = 1))",
    "saveRDS(list(fit = fit, y = y, p = predict(fit, y)), 'fit.rds')",
    "cat('size', file.size('fit.rds'), '\\n')"
  ))
  size <- as.numeric(sub("size ", "", grep("^size", first, value = TRUE)))
  expect_true(length(size) == 1 && size < 1e5, info = paste(first, collapse = "\n"))
  second <- run(c("kept <- readRDS('fit.rds')", "width <- 100",
                  "stopifnot(identical(predict(kept$fit, kept$y), kept$p))", "cat('same\\n')"))
  expect_true("same" %in% second, info = paste(second, collapse = "\n"))
})
