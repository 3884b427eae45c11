# compare_selectors(): its fits are those of gps_fit(), and what is counted is what they did.

compare_case <- function(selectors = list(hand = selector_handcrafted(), any = selector_random()),
                         seeds = 1:2, ...) {
  set.seed(1)
  bars <- simulate_bars(80, size = 3)
  compare_selectors(bars$y, model_binary_sparse(6), selectors, seeds, n_selected = 3,
                    control = gps_control(max_iter = 6, n_starts = 2, progress = FALSE),
                    truth = bars, latents = bars$latents, audit_points = 30, ...)
}

test_that("each run is the fit of its seed, judged as the judges do", {
  set.seed(3)
  seed <- .Random.seed
  bars <- local({
    set.seed(1)
    simulate_bars(80, size = 3)
  })
  .GlobalEnv$.Random.seed <- seed
  compared <- compare_case()
  expect_s3_class(compared, "gps_comparison")
  expect_identical(compared$runs$selector, rep(c("hand", "any"), 2))
  expect_identical(compared$runs$seed, rep(1:2, each = 2))
  for (i in c(1, 4)) {
    run <- compared$runs[i, ]
    set.seed(run$seed)
    fit <- gps_fit(bars$y, model_binary_sparse(6),
                   list(hand = selector_handcrafted(), any = selector_random())[[run$selector]], 3,
                   control = gps_control(max_iter = 6, n_starts = 2, progress = FALSE))
    audit <- gps_audit(fit, n = 30)
    expect_identical(run$bound, fit$bound / 80)
    expect_identical(run$recovery, mean(match_components(fit, bars)$matched))
    expect_identical(run$recall, selection_recall(fit, bars$latents, truth = bars))
    expect_identical(run$mass, audit$mass)
    expect_identical(run$verdict, audit$verdict)
    expect_identical(run$iterations, fit$n_iter)
    expect_equal(run$gains, sum(fit$trace$evaluations))
    # Eight states in each iteration of starts and main run.
    expect_equal(run$states, 8 * nrow(fit$trace))
    expect_equal(run$evaluations, run$gains + run$states)
    phases <- unlist(run[c("starts", "main", "polish", "rest")])
    expect_equal(sum(phases), run$seconds, tolerance = 0.05)
  }
  for (name in c("hand", "any")) {
    own <- compared$runs[compared$runs$selector == name, ]
    row <- compared$table[compared$table$selector == name, ]
    expect_equal(row$bound, mean(own$bound))
    expect_equal(row$spread, sd(own$bound))
    expect_equal(row$evaluations_to, mean(own$evaluations_to))
  }
  expect_true(all(compared$runs$evaluations_to <= compared$runs$evaluations))
})

test_that("what a bound costs is read off the iterations, by hand", {
  runs <- data.frame(selector = c("a", "b"), seed = 1L, bound = c(-3, -2),
                     evaluations_to = NA_real_, seconds_to = NA_real_)
  curves <- data.frame(selector = rep(c("a", "b"), each = 3), seed = 1L,
                       evaluations = c(10, 20, 30, 5, 15, 25), seconds = 1:6 / 10,
                       bound = c(-5, -4, -3, -6, -3, -2))
  found <- reach_bounds(runs, curves, NULL)
  expect_identical(found$evaluations_to, c(30, 15))
  expect_identical(found$seconds_to, c(0.3, 0.5))
  found <- reach_bounds(runs, curves, -2.5)
  expect_identical(found$evaluations_to, c(NA, 25))
})

test_that("starts on fewer rows count as much less", {
  set.seed(2)
  y <- simulate_bars(4000, size = 2, value = 3)$y
  fit <- gps_fit(y, model_binary_sparse(4), selector_handcrafted(screen = FALSE), 2,
                 control = gps_control(max_iter = 2, n_starts = 2, progress = FALSE))
  curve <- cost_curve(fit)
  share <- ifelse(fit$trace$start == 0, 1, fit$starts$rows[1] / 4000)
  expect_lt(share[1], 1)
  expect_equal(utils::tail(curve$states, 1), 4 * sum(share))
})

test_that("a selector that cannot fit has a row that says why, and all latents need no number", {
  compared <- compare_case(list(
    full = selector_full(), bad = selector_custom(function(params, y) stop("not today"))
  ), seeds = 1)
  expect_identical(compared$runs$iterations, c(compared$runs$iterations[1], NA))
  expect_equal(compared$runs$mass[1], 1)
  expect_match(compared$runs$error[2], "not today")
  expect_printed(compared, "bad, seed 1, stopped: .*not today")
  expect_identical(compared$table$runs, 1:0)
})

test_that("a comparison is printed and drawn", {
  compared <- compare_case(list(hand = selector_handcrafted(), learned = selector_gp()), seeds = 1)
  expect_printed(compared, "2 selectors, means over 1 seed.*Cost, in all.*Seconds by phase")
  pdf(NULL)
  on.exit(dev.off())
  old <- par(no.readonly = TRUE)[c("mfrow", "mar")]
  expect_invisible(plot(compared))
  expect_identical(par(no.readonly = TRUE)[c("mfrow", "mar")], old)
  expect_warning(
    none <- compare_case(list(bad = selector_custom(function(params, y) stop("no"))), seeds = 1),
    "No fit came to its end. The first error: .*no", class = "gps_warning_stopped"
  )
  expect_gps_error(plot(none), "with a fit that did not stop")
})

test_that("arguments of compare_selectors() are checked", {
  y <- simulate_bars(20, size = 3)$y
  model <- model_binary_sparse(3)
  compare <- function(...) compare_selectors(y, model, ...)
  expect_gps_error(compare_selectors("a", model, list(a = selector_gp())), "`y` must be")
  expect_gps_error(compare(selector_gp()), "`selectors` must be a list of selectors")
  expect_gps_error(compare(list(selector_gp())), "`selectors` must be")
  expect_gps_error(compare(list(a = 1)), "`selectors$a` must be a selector")
  expect_gps_error(compare(list(a = selector_gp()), seeds = c(1, 1)), "`seeds` must be")
  expect_gps_error(compare(list(a = selector_gp()), target = "a"), "`target` must be")
  expect_gps_error(compare(list(a = selector_gp()), audit_points = -1), "`audit_points` must be")
  for (bad in list(-1, "a", 1:2, NA, selector_gp)) {
    expect_gps_error(compare(list(a = selector_full()), n_selected = bad), "`n_selected` must be")
    expect_gps_error(compare(list(a = selector_full()), max_active = bad), "`max_active` must be")
  }
  expect_gps_error(compare(list(a = selector_gp()), what = 1), "Unknown argument `what`")
  expect_gps_error(print(structure(list(), class = "gps_comparison")), "compare_selectors()")
})

test_that("the policy of missing cells is applied once, and a budget is of screening", {
  set.seed(1)
  bars <- simulate_bars(30, size = 3)
  y <- unname(bars$y)
  y[4, 2] <- Inf
  compare <- function(..., selectors = list(hand = selector_handcrafted())) {
    compare_selectors(y, model_binary_sparse(6), selectors, 1:2, n_selected = 3,
                      latents = bars$latents, audit_points = 0,
                      control = gps_control(max_iter = 1, n_starts = 1, progress = FALSE, ...))
  }
  said <- character()
  compared <- withCallingHandlers(compare(missing = "omit", infinite = "missing"),
                                  gps_warning = function(condition) {
    said <<- c(said, class(condition)[1])
    invokeRestart("muffleWarning")
  })
  expect_identical(sum(said == "gps_warning_omitted"), 1L)
  expect_identical(sum(said == "gps_warning_infinite"), 1L)
  expect_identical(compared$runs$error, rep(NA_character_, 2))
  expect_false(anyNA(compared$runs$recall))
  expect_gps_error(compare(budget = 50, infinite = "missing",
                           selectors = list(hand = selector_handcrafted(screen = gps_screen()),
                                            all = selector_full())),
                   "`selectors$all` does not screen")
})

test_that("what fits warn of is said once for each kind, with the selector and seeds", {
  compare <- function(y, model, seeds, max_iter) {
    compare_selectors(y, model, list(all = selector_full(), hand = selector_handcrafted()), seeds,
                      2, audit_points = 0,
                      control = gps_control(max_iter = max_iter, n_starts = 1, progress = FALSE))
  }
  y <- as.matrix(iris[1:4])
  some <- hear_warnings(compare(rbind(y, y[rep(1:3, 10), ]), model_gaussian_mixture(5), 1:3, 40))
  bad <- some$value$runs$degenerate
  expect_true(any(bad) && !all(bad))
  expect_length(some$warned, 1)
  expect_s3_class(some$warned[[1]], "gps_warning_degenerate")
  runs <- with(some$value$runs[bad, ], describe_runs(selector, seed))
  message <- conditionMessage(some$warned[[1]])
  expect_identical(startsWith(message, runs), TRUE)
  expect_match(message, ": Degenerate fit: ")
  expect_printed(some$value, "Degenerate, with a bound that floors make")
  # What is so in all fits is no matter of one.
  same <- hear_warnings(compare(y[, 1:2] + 100, model_binary_sparse(3), 1:2, 1))
  expect_length(same$warned, 1)
  expect_match(conditionMessage(same$warned[[1]]), "^`y` stays away from 0")
  expect_identical(describe_runs(c("a", "b", "a"), c(1L, 1L, 2L)), "a (seeds 1, 2), b (seed 1)")
})
