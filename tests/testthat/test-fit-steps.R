a_state <- function(selector = NULL) {
  y <- bars_data()$y
  model <- gps_bind(model_binary_sparse(10), y)
  set.seed(21)
  state <- list(model = model, params = gps_init(model, y))
  state$selected <- t(replicate(nrow(y), sort(sample.int(10, 4))))
  state$prob_on <- gps_estep(model, state$params, y, state$selected)$prob_on
  state
}

expectations_of <- function(state) {
  dense <- matrix(0, nrow(state$selected), 10)
  dense[cbind(c(row(state$selected)), c(state$selected))] <- state$prob_on
  dense
}

test_that("affinities are those of the selector, in rows", {
  y <- bars_data()$y
  state <- a_state()
  handcrafted <- gps_affinity(selector_handcrafted(), state, y)
  expect_equal(handcrafted, gps_handcrafted(state$model, state$params, y), tolerance = 1e-12)
  custom <- selector_custom(function(params, y) y %*% params$W)
  expect_equal(gps_affinity(custom, state, y), y %*% state$params$W)
  expect_identical(gps_affinity(selector_full(), state, y), matrix(0, 120, 10))
  expect_identical(gps_affinity(selector_random(), state, y), matrix(0, 120, 10))
  expect_equal(gps_affinity(selector_handcrafted(), state, y, c(7, 3)), handcrafted[c(7, 3), ],
               tolerance = 1e-12)
  expect_identical(dim(gps_affinity(custom, state, y, 5)), c(1L, 10L))
  mixture <- a_fit("spherical")
  expect_equal(gps_affinity(selector_handcrafted(), mixture, t(mixture$y)),
               gps_handcrafted(mixture$model, mixture$params, t(mixture$y)), tolerance = 1e-10)
})

test_that("the learned selector's affinity is the leave-one-out mean", {
  y <- bars_data()$y
  state <- a_state()
  selector <- selector_gp(kernel_linear(0.1) + kernel_white(0.2))
  state$memory <- gps_learn(selector, state, y)
  affinity <- gps_affinity(selector, state, y)
  process <- gp_fit(y, expectations_of(state), selector$kernel, optimise = FALSE)
  expect_equal(affinity, unname(gp_loo(process)$mean), tolerance = 1e-10)
  expect_identical(gps_affinity(selector, state, y, c(9, 1)), affinity[c(9, 1), ])
  state$memory <- NULL
  expect_error(gps_affinity(selector, state, y), "gps_learn()", class = "gps_error_argument",
               fixed = TRUE)
})

test_that("memory goes from learning to ranking, and from refit to refit", {
  y <- bars_data()$y
  state <- a_state()
  learner <- selector_custom(function(params, y, memory) y %*% memory,
                             function(params, y, expectations) crossprod(y, expectations))
  expect_error(gps_affinity(learner, state, y), class = "gps_error_argument")
  state$memory <- gps_learn(learner, state, y)
  expect_equal(state$memory, crossprod(y, expectations_of(state)), tolerance = 1e-12)
  expect_equal(gps_affinity(learner, state, y, 2:3), y[2:3, ] %*% state$memory, tolerance = 1e-12)
  expect_null(gps_learn(selector_handcrafted(), state, y))

  selector <- selector_gp(kernel_linear(), refit_every = 1)
  truth <- bars_data()
  state$params$W <- truth$W
  state$prob_on <- gps_estep(state$model, state$params, y, state$selected)$prob_on
  expect_error(gps_learn(selector, state, y), "`state$memory`", class = "gps_error_argument",
               fixed = TRUE)
  state$memory <- NULL
  state$iteration <- 1
  state$memory <- gps_learn(selector, state, y)
  expect_false(state$memory$refit)
  state$iteration <- 2
  state$memory <- gps_learn(selector, state, y)
  expect_true(state$memory$refit)
})

test_that("a fit is a state: its selector ranks its data as at its end", {
  fit <- a_fit("gp")
  y <- bars_data()$y
  affinity <- gps_affinity(fit$selector, fit, y)
  kernel <- kernel_with_theta(fit$selector$kernel, fit$kernel_theta, 25)
  seen <- t(in_units(t(y), fit$gp$units))
  process <- gp_fit(seen, expectations(fit), kernel, optimise = FALSE)
  expect_equal(affinity, unname(gp_loo(process)$mean), tolerance = 1e-9)
  expect_identical(gps_affinity(fit$selector, fit, y, 4), affinity[4, , drop = FALSE])
  learner <- a_fit("learner")
  expect_equal(gps_affinity(learner$selector, learner, y), y %*% learner$memory$learned)
  other <- selector_custom(function(params, y, memory) y %*% memory,
                           function(params, y, expectations) -crossprod(y, expectations))
  expect_equal(gps_affinity(other, learner, y), -y %*% crossprod(y, expectations(learner)))
  named <- gps_affinity(selector_handcrafted(), a_fit("handcrafted"), named_bars(), 2:3)
  expect_identical(dimnames(named), list(c("case2", "case3"), NULL))
  expect_equal(gps_learn(learner$selector, fit, y), crossprod(y, expectations(fit)))
})

test_that("the steps make an EM iteration", {
  y <- bars_data()$y
  state <- a_state()
  fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(screen = FALSE), n_selected = 4,
                 start = state$params, control = gps_control(max_iter = 1, progress = FALSE))
  affinity <- gps_affinity(selector_handcrafted(), state, y)
  selected <- t(apply(affinity, 1, function(a) sort(order(-a)[1:4])))
  estep <- gps_estep(state$model, state$params, y, selected)
  expect_equal(fit$trace$bound[1], sum(estep$log_evidence), tolerance = 1e-12)
  expect_equal(fit$params, gps_mstep(state$model, state$params, estep$stats)$params,
               tolerance = 1e-10)
})

test_that("states and points that do not fit are refused", {
  y <- bars_data()$y
  state <- a_state()
  refused <- function(code, words) {
    expect_error(code, words, class = "gps_error_argument", fixed = TRUE)
  }
  refused(gps_affinity(1, state, y), "`selector`")
  refused(gps_affinity(selector_full(), 1, y), "`state`")
  refused(gps_affinity(selector_full(), state["params"], y), "`state$model`")
  refused(gps_affinity(selector_full(), state, y[, -1]), "must have 25 columns, not 24")
  refused(gps_affinity(selector_full(), state, y, 121), "`points`")
  refused(gps_learn(selector_full(), state[c("model", "params")], y), "`selected`")
  refused(gps_learn(selector_full(), state, y[-1, ]), "`selected`")
  state$prob_on <- state$prob_on[, -1]
  refused(gps_learn(selector_full(), state, y), "`state$prob_on`")
  refused(gps_affinity(selector_full(), a_fit("gp"), y[-1, ]), "120 data points")
  refused(gps_affinity(selector_full(), a_fit("gp"), "y"), "`y` must be a numeric matrix")
})

test_that("slots that a screen leaves empty do no harm", {
  y <- bars_data()$y
  for (rank_by in c("greedy", "singleton")) {
    screen <- gps_screen(rank_by, keep = FALSE, propose = 3, explore = c(0, 0))
    for (seed in 1:12) {
      set.seed(seed)
      fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(screen = screen),
                     n_selected = 5, control = quick_control())
      expect_identical(fit$selected[4:5, ], matrix(0L, 2, 120))
      expect_true(all(fit$prob_on[4:5, ] == 0))
      expect_equal(rowSums(predict(fit, y, "state") > 0 & expectations(fit) == 0), rep(0, 120))
    }
  }
})

test_that("a function of the user's that fails is named, in a fit and in single steps", {
  y <- bars_data()$y
  fit <- a_fit("handcrafted")
  n_latents <- fit$model$n_latents
  bad <- selector_custom(function(params, y, memory) stop("no rank"))
  deaf <- selector_custom(function(params, y, memory) matrix(1, nrow(y), n_latents),
                          function(params, y, expectations) stop("no lesson"))
  run <- function(selector) {
    gps_fit(y, model_binary_sparse(n_latents), selector, n_selected = 3, control = quick_control())
  }
  for (code in expression(gps_affinity(bad, fit, y), run(bad))) {
    expect_gps_error(eval(code), "`affinity` failed: no rank", "model")
  }
  for (code in expression(gps_learn(deaf, fit, y), run(deaf))) {
    expect_gps_error(eval(code), "`learn` failed: no lesson", "model")
  }
})
