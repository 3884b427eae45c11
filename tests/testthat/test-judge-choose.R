# How many latents: the choice, its criteria by their definitions, warm starts, refusals.

quiet <- gps_control(n_starts = 2, progress = FALSE, n_threads = 1)

# Where a test is not about how fits end.
choose_cut <- function(...) {
  suppressWarnings(gps_choose(...), classes = "gps_warning_unfinished")
}

clusters_choice <- local({
  kept <- list()
  function(criterion = "BIC") {
    if (is.null(kept[[criterion]])) {
      set.seed(1)
      y <- simulate_clusters(200, 4, 2, separation = 8)$y
      numbers <- if (criterion == "BIC" || is_full()) 2:6 else 3:5
      choice <- gps_choose(y, model_gaussian_mixture, numbers, criterion, control = quiet)
      kept[[criterion]] <<- list(y = y, choice = choice)
    }
    kept[[criterion]]
  }
})

test_that("the planted number of clusters is chosen, by each criterion", {
  for (criterion in c("BIC", "ICL", "held-out")) {
    expect_identical(clusters_choice(criterion)$choice$n_latents, 4L)
  }
})

test_that("the table is that of the fits", {
  case <- clusters_choice()
  table <- case$choice$table
  fit <- case$choice$fit
  chosen <- table[table$chosen, ]
  expect_identical(chosen$n_latents, fit$model$n_latents)
  expect_equal(chosen$BIC, BIC(fit))
  expect_equal(chosen$ICL, icl(fit))
  prob <- predict(fit)
  expect_equal(chosen$entropy, -sum(ifelse(prob > 0, prob * log(prob), 0)), tolerance = 1e-8)
  expect_equal(table$BIC, table$df * log(200) - 2 * table$bound)
  expect_true(all(is.na(table$held_out)))
  expect_false(is.unsorted(table$bound))
})

test_that("held-out densities are of data that no fit has seen", {
  case <- clusters_choice("held-out")
  set.seed(1)
  y <- simulate_clusters(200, 4, 2, separation = 8)$y
  split <- split_data(y, 0.25)
  expect_identical(nrow(split$unseen), 50L)
  expect_identical(nrow(split$seen), 150L)
  expect_identical(split$seen[!duplicated(rbind(split$unseen, split$seen))[-(1:50)], ], split$seen)
  table <- case$choice$table
  expect_true(all(is.finite(table$held_out)))
  expect_identical(which.max(table$held_out), which(table$chosen))
  expect_identical(case$choice$fit$n_points, 200L)
})

test_that("warm starts are no worse than the starts of a number alone, and often better", {
  set.seed(2)
  y <- simulate_clusters(120, 5, 2, separation = 4)$y
  control <- gps_control(n_starts = 1, progress = FALSE, n_threads = 1)
  gain <- lapply(3:4, function(seed) {
    tables <- lapply(c(TRUE, FALSE), function(warm) {
      set.seed(seed)
      gps_choose(y, model_gaussian_mixture(2, "diagonal"), 2:4, control = control,
                 warm = warm)$table
    })
    expect_true(all(tables[[2]]$start == "own"))
    expect_false(is.unsorted(tables[[1]]$bound))
    tables[[1]]$bound - tables[[2]]$bound
  })
  expect_gt(min(unlist(gain)), -0.01)
  expect_gt(max(unlist(gain)), 1)
})

test_that("latents are added and taken away without a change of what is there", {
  fit <- a_fit("mixture")
  grown <- resized_params(fit, 5)
  model <- gps_bind(resize_model(fit$model, 5), t(fit$y))
  all <- matrix(1:5, fit$n_points, 5, byrow = TRUE)
  before <- gps_estep(fit$model, fit$params, t(fit$y), all[, 1:3])$log_evidence
  after <- gps_estep(model, grown, t(fit$y), all)$log_evidence
  expect_equal(after, before, tolerance = 1e-10)
  back <- update(fit, model = model, start = grown, n_selected = 5,
                 control = gps_control(max_iter = 0, progress = FALSE))
  pruned <- resized_params(back, 3)
  expect_equal(sum(pruned$pi), 1)
  expect_equal(pruned$mu[, order(pruned$mu[1, ])], fit$params$mu[, order(fit$params$mu[1, ])],
               tolerance = 1e-6)
  sparse <- a_fit("full")
  more <- resized_params(sparse, 10)
  expect_identical(more$W[, 1:8], sparse$params$W)
  expect_true(all(more$W[, 9:10] == 0) && all(more$pi[9:10] == 0))
})

test_that("bars are counted", {
  set.seed(4)
  y <- simulate_bars(200, size = 3, value = 10)$y
  choice <- gps_choose(y, model_binary_sparse(2), 5:7, control = quiet)
  expect_identical(choice$n_latents, 6L)
  expect_true(all(is.na(choice$table$ICL)))
  expect_true(all(choice$table$used <= choice$table$n_latents))
})

test_that("models side by side, printing and figures", {
  set.seed(5)
  choice <- gps_choose(faithful, list(full = model_gaussian_mixture(1), plain = function(k) {
    model_gaussian_mixture(k, "spherical")
  }), 1:3, "ICL", control = short_control(n_threads = 1))
  expect_identical(choice$model, "full")
  expect_identical(choice$n_latents, 2L)
  expect_printed(choice, "Chosen by ICL: 2 \\(full\\)")
  # The numbers of a column have their points below each other.
  bounds <- shown_choice(choice$table, TRUE, 6)$bound
  expect_length(unique(nchar(sub(".*[.]", "", bounds))), 1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  shown <- plot(choice)
  expect_identical(nrow(shown), 6L)
  expect_named(plot(choice, which = "entropy"), c("model", "n_latents", "value", "chosen",
                                                  "unfinished"))
})

test_that("fits that were cut short are marked, warned of and shown", {
  y <- simulate_clusters(60)$y
  control <- function(...) gps_control(n_starts = 1, progress = FALSE, n_threads = 1, ...)
  set.seed(1)
  said <- expect_warning(
    choice <- gps_choose(y, model_gaussian_mixture, 2:3, control = control(max_iter = 2)),
    "2 of 2 fits were cut short: raise `max_iter`", class = "gps_warning_unfinished"
  )
  expect_s3_class(said, "gps_warning")
  expect_identical(choice$table$status, rep("max_iter", 2))
  expect_printed(choice, "max_iter.*2 of 2 fits were cut short")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(choice)$unfinished, c(TRUE, TRUE))
  expect_warning(gps_choose(y, model_gaussian_mixture, 3, control = control(time_limit = 1e-9)),
                 "raise `time_limit`", class = "gps_warning_unfinished")
  expect_true(all(clusters_choice()$choice$table$status == "converged"))
  printed <- paste(utils::capture.output(clusters_choice()$choice), collapse = " ")
  expect_false(grepl("cut short|on offer", printed))
})

test_that("a choice at the end of the numbers on offer says so", {
  choice <- clusters_choice()$choice
  offer <- function(numbers) {
    table <- choice$table[choice$table$n_latents %in% numbers, ]
    describe_edge(table, choice$fit)
  }
  expect_match(offer(2:4), "4 is the largest number on offer.*`n_latents` = 4:8")
  expect_match(offer(4:6), "4 is the smallest number on offer.*`n_latents` = 2:4")
  expect_match(offer(c(2, 4)), "`n_latents` = seq\\(4, 8, by = 2\\)")
  expect_null(offer(3:5))
  expect_null(offer(4))
  # There is no mixture of more clusters than points, nor one of less than one cluster.
  few <- list(model = choice$fit$model, n_points = 4L)
  expect_null(describe_edge(choice$table[choice$table$n_latents <= 4, ], few))
  one <- transform(choice$table, n_latents = n_latents - 3L)[3:5, ]
  expect_null(describe_edge(one, choice$fit))
})

test_that("what cannot be chosen is refused before a fit", {
  y <- simulate_clusters(20)$y
  expect_gps_error(gps_choose(y, model_gaussian_mixture, 2:30), "at most the number of data points")
  expect_gps_error(gps_choose(y, model_binary_sparse, 2:3, "ICL"), "is for mixtures")
  expect_gps_error(gps_choose(y, model_gaussian_mixture, c(2, 2)), "distinct whole numbers")
  expect_gps_error(gps_choose(y, "mixture"), "a model, a function")
  expect_gps_error(gps_choose(y, list(model_gaussian_mixture)), "a name for each")
  expect_gps_error(gps_choose(y, function(k) k), "must be a model, as made")
  for (bad in list(-1, "a", 1:2, NA, selector_gp)) {
    expect_gps_error(gps_choose(y, model_gaussian_mixture, 2, n_selected = bad), "`n_selected`")
    expect_gps_error(gps_choose(y, model_binary_sparse, 2, max_active = bad), "`max_active` must")
  }
  expect_gps_error(gps_choose(y, model_gaussian_mixture, 2, selector = "full"), "`selector` must")
  expect_gps_error(gps_choose(y, model_gaussian_mixture, 2, G = 3), "Unknown argument `G`")
  expect_gps_error(gps_choose(y, model_gaussian_mixture, 2:3,
                              control = gps_control(keep_slots = FALSE)), "needs the slots")
})

test_that("a number that stops is in the table", {
  y <- simulate_clusters(60)$y
  selector <- selector_custom(function(params, y) {
    if (ncol(params$mu) == 2) stop("no such file") else matrix(0, nrow(y), ncol(params$mu))
  })
  choice <- choose_cut(y, model_gaussian_mixture, 1:3, selector = selector, n_selected = 1,
                       control = quiet)
  expect_match(choice$table$error[2], "no such file")
  expect_identical(is.na(choice$table$error), c(TRUE, FALSE, TRUE))
  expect_printed(choice, "2 stopped: .*no such file")
})

test_that("a fit without maximum is not chosen", {
  set.seed(6)
  y <- cbind(c(rnorm(40), rep(3, 40)))
  choice <- gps_choose(y, model_gaussian_mixture, 1:2, control = quiet)
  expect_true(any(choice$table$degenerate))
  expect_false(choice$table$degenerate[choice$table$chosen])
  expect_printed(choice, "no maximum")
})

test_that("a choice among fits without a maximum says that it means nothing", {
  brief <- gps_control(max_iter = 5, n_starts = 1, progress = FALSE)
  set.seed(1)
  y <- cbind(iris[1:4], zero = 0)
  said <- capture_warnings(choice <- gps_choose(y, model_gaussian_mixture, 1:2, control = brief))
  expect_identical(sum(grepl("^Degenerate fit: column 5 .* has no spread", said)), 1L)
  expect_true(all(choice$table$degenerate))
  shown <- printed(choice)
  expect_identical(sum(grepl("no maximum <-$", shown)), 1L)
  expect_match(paste(shown, collapse = " "), "the choice means nothing: column 5")
  expect_no_match(paste(shown, collapse = " "), "number on offer")
  kinds <- capture_warnings(gps_choose(t(y), model_gaussian_mixture, 1, control = brief))
  expect_identical(sum(grepl("4 data points|5 data points", kinds)), 1L)
  images <- array(rnorm(400), c(4, 5, 20))
  expect_warning(expect_gps_error(gps_choose(images, model_gaussian_mixture(2), 2:6), "points, 4"),
                 "images come first", class = "gps_warning_reading")
})

test_that("the number of selected latents can be left to each fit", {
  set.seed(1)
  y <- simulate_bars(60, value = 5)$y
  control <- gps_control(n_starts = 1, max_iter = 3, progress = FALSE)
  choice <- choose_cut(y, model_binary_sparse, c(4, 8), n_selected = "auto", control = control)
  expect_true(choice$n_latents %in% c(4, 8))
})

test_that("a choice takes weights and a formula", {
  quick <- gps_control(max_iter = 15, n_starts = 1, progress = FALSE)
  choose <- function(...) {
    set.seed(3)
    choose_cut(..., model = model_gaussian_mixture, n_latents = 1:3, control = quick)
  }
  d <- data.frame(faithful[1:60, ], label = "a")
  by_formula <- choose(~ eruptions + waiting, data = d)
  plain <- choose(d[1:2])
  rest <- setdiff(names(plain$table), "seconds")
  expect_identical(by_formula$table[rest], plain$table[rest])
  expect_gps_error(choose(~ eruptions), "A formula needs `data`")
  # A row of weight 2 is a row twice.
  weights <- rep(c(1, 2, 0), 20)
  weighted <- choose(d[1:2], weights = weights)
  twice <- d[rep(1:60, weights), 1:2]
  again <- gps_fit(twice, weighted$fit$model, selector_full(), start = coef(weighted$fit),
                   control = gps_control(max_iter = 0, progress = FALSE))
  chosen <- weighted$table[weighted$table$chosen, ]
  expect_equal(chosen$bound, again$bound, tolerance = 1e-10)
  expect_equal(chosen$entropy, sum(-again$prob_on * log(pmax(again$prob_on, 1e-300))),
               tolerance = 1e-10)
  expect_gps_error(choose(d[1:2], weights = 1:3), "`weights` must have 60 numbers")
  held <- choose(d[1:2], weights = weights, criterion = "held-out")
  expect_true(all(is.finite(held$table$held_out)))
  expect_equal(sum(held$fit$weights), 60)
  expect_gps_error(choose(d[1:2], weights = c(1, rep(0, 59)), criterion = "held-out"),
                   "too few data points have a weight above 0")
})

test_that("too large a number of latents on at once counts as all", {
  set.seed(1)
  choice <- choose_cut(simulate_bars(40, size = 2)$y, model_binary_sparse(3), 1:2, max_active = 2,
                       warm = FALSE, control = short_control(max_iter = 2))
  expect_identical(choice$table$error, c(NA_character_, NA_character_))
  expect_error(gps_choose(faithful[1:30, ], model_gaussian_mixture, 1:2, max_active = 2,
                          control = short_control(max_iter = 1)),
               "`max_active` must be 1", class = "gps_error")
})

test_that("rows that are left out are numbered in the user's data, held out or not", {
  y <- unname(as.matrix(faithful[1:60, ]))
  y[c(7, 55), 1] <- NA
  expect_warning(split <- split_data(y, 0.25, 1:60, "omit"), "rows 7 and 55",
                 class = "gps_warning_omitted")
  expect_false(anyNA(split$seen) || anyNA(split$unseen))
  expect_setequal(c(split$weights, split$unseen_weights), setdiff(1:60, c(7, 55)))
  expect_identical(split$seen, y[split$weights, ])
  expect_error(split_data(y, 0.25, NULL, "error"), "row 7, column 1", class = "gps_error_data")
  said <- list()
  set.seed(1)
  choice <- withCallingHandlers(
    choose_cut(y, model_gaussian_mixture, 1:2, criterion = "held-out", warm = FALSE,
               control = quick_control(missing = "omit")),
    gps_warning_omitted = function(condition) {
      said <<- c(said, list(condition$rows))
      invokeRestart("muffleWarning")
    }
  )
  expect_identical(said, list(c(7L, 55L)))
  expect_identical(choice$fit$omitted, c(7L, 55L))
})
