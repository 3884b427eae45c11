# The session's generator: what a fit takes from it, and that nothing else changes.

# What a session can see of its generator.
generator_state <- function() {
  list(kind = RNGkind(), seed = get0(".Random.seed", globalenv(), inherits = FALSE))
}

# Runs code under other generators and puts the session's back.
with_kind <- function(kind, normal, sample, code) {
  old_kind <- RNGkind()
  old_seed <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit({
    suppressWarnings(RNGkind(old_kind[1], old_kind[2], old_kind[3]))
    if (is.null(old_seed)) {
      suppressWarnings(rm(".Random.seed", envir = globalenv()))
    } else {
      assign(".Random.seed", old_seed, envir = globalenv())
    }
  })
  suppressWarnings(RNGkind(kind, normal, sample))
  code
}

kinds <- list(c("Mersenne-Twister", "Inversion", "Rejection"),
              c("Wichmann-Hill", "Box-Muller", "Rounding"),
              c("L'Ecuyer-CMRG", "Ahrens-Dieter", "Rejection"),
              c("Knuth-TAOCP-2002", "Kinderman-Ramage", "Rounding"))

test_that("with_seed() gives the same numbers under every kind and leaves the session alone", {
  draw <- function() with_seed(c(1L, 2L), 3, c(runif(2), rnorm(2), sample.int(1000, 2)))
  wanted <- draw()
  for (kind in kinds) {
    with_kind(kind[1], kind[2], kind[3], {
      set.seed(5)
      before <- generator_state()
      expect_identical(draw(), wanted)
      expect_identical(generator_state(), before)
    })
  }
})

test_that("with_seed() leaves an absent seed absent and the kind as it was", {
  for (kind in kinds) {
    with_kind(kind[1], kind[2], kind[3], {
      rm(".Random.seed", envir = globalenv())
      with_seed(c(1L, 2L), 3, runif(1))
      expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
      # RNGkind() itself may not make a seed; a draw does, of the kind that was set.
      expect_identical(RNGkind(), kind)
      runif(1)
      expect_identical(RNGkind(), kind)
    })
  }
})

test_that("with_seed() restores the generator after an error and a jump", {
  set.seed(5)
  before <- generator_state()
  expect_error(with_seed(c(1L, 2L), 3, {
    rnorm(1)
    stop("no")
  }))
  expect_identical(generator_state(), before)
  withCallingHandlers(
    withRestarts(with_seed(c(1L, 2L), 3, {
      rnorm(1)
      warning("out")
    }), leave = function() NULL),
    warning = function(condition) invokeRestart("leave")
  )
  expect_identical(generator_state(), before)
})

test_that("numbers, starts and halves of the seed give different streams", {
  first <- with_seed(c(1L, 2L), 3, runif(1))
  expect_false(with_seed(c(1L, 2L), 4, runif(1)) == first)
  expect_false(with_seed(c(2L, 2L), 3, runif(1)) == first)
  expect_false(with_seed(c(1L, 3L), 3, runif(1)) == first)
  top <- .Machine$integer.max
  expect_silent(with_seed(c(top, top), 1e6, runif(1)))
})

test_that("stream_seed() takes two uniforms", {
  set.seed(1)
  seed <- stream_seed()
  after <- runif(1)
  set.seed(1)
  uniforms <- runif(3)
  expect_identical(seed, as.integer(floor(uniforms[1:2] * .Machine$integer.max)))
  expect_identical(after, uniforms[3])
})

test_that("a fit takes two uniforms from the session, whatever it does", {
  set.seed(9)
  y <- simulate_bars(60, value = 5)$y
  binary <- model_binary_sparse(10)
  fits <- list(
    list(binary, selector_handcrafted(), 4,
         control = gps_control(max_iter = 5, n_starts = 3, progress = FALSE)),
    list(binary, selector_gp(kernel_rbf()), 4, control = short_control(max_iter = 11)),
    list(model_gaussian_mixture(3, "diagonal"), selector_random(), 2,
         control = short_control(max_iter = 5)),
    list(binary, selector_handcrafted(), 4, control = short_control(max_iter = 5, method = "gibbs"))
  )
  for (fit in fits) {
    for (kind in kinds[c(1, 3)]) {
      with_kind(kind[1], kind[2], kind[3], {
        set.seed(4)
        do.call(gps_fit, c(list(y), fit))
        after <- generator_state()
        set.seed(4)
        runif(2)
        expect_identical(after, generator_state())
      })
    }
  }
})

test_that("the same seed gives the same fit under any kind that gives the same uniforms", {
  y <- matrix(rnorm(120), 40)
  fit_under <- function(kind) {
    with_kind(kind[1], kind[2], kind[3], {
      set.seed(4)
      gps_fit(y, model_binary_sparse(4), selector_gp(kernel_linear()), 2,
              control = gps_control(max_iter = 3, n_starts = 2, progress = FALSE))$params
    })
  }
  wanted <- fit_under(kinds[[1]])
  expect_identical(fit_under(c("Mersenne-Twister", "Box-Muller", "Rounding")), wanted)
  for (kind in kinds[-1]) expect_identical(fit_under(kind), fit_under(kind))
})

test_that("a fit in a session without a seed works and makes one", {
  y <- matrix(rnorm(120), 40)
  with_kind("Mersenne-Twister", "Inversion", "Rejection", {
    rm(".Random.seed", envir = globalenv())
    fit <- gps_fit(y, model_binary_sparse(4), selector_handcrafted(), 2,
                   control = short_control(max_iter = 3))
    expect_s3_class(fit, "gps_fit")
    expect_true(exists(".Random.seed", globalenv(), inherits = FALSE))
  })
})

test_that("a refused fit takes nothing from the session", {
  set.seed(4)
  before <- generator_state()
  expect_gps_error(gps_fit(matrix(NaN, 3, 3), model_binary_sparse(2)), "has no value in columns")
  expect_gps_error(gps_fit(matrix(1:9, 3), model_binary_sparse(2), n_selected = 5), "`n_selected`")
  smooth <- selector_gp(smooth = 1)
  expect_gps_error(gps_fit(matrix(1:27, 9), model_binary_sparse(2), smooth, "auto"),
                   "`smooth` = 1 needs")
  expect_identical(generator_state(), before)
})
