# What a model in C of another package must have, may have, and must have in common with what it
# declares in R.

test_that("a table is used as it is declared, and its order means nothing in R", {
  skip_without_tables()
  y <- draw_counts()
  fit_with <- function(...) {
    set.seed(1)
    model <- gps_bind(table_model("whole", ...), y)
    params <- gps_init(model, y)
    for (iteration in 1:5) {
      step <- gps_estep(model, params, y, matrix(1:3, 200, 3, byrow = TRUE))
      params <- gps_mstep(model, params, step$stats)$params
    }
    list(bound = sum(step$log_evidence), params = params[c("rate", "share")])
  }
  expected <- fit_with()
  expect_gt(expected$bound, -2000)
  stats <- list(count = "one", on = "latents", sum = c("dims", "latents"))
  expect_identical(fit_with(stats = rev(stats)), expected)
  expect_identical(fit_with(params = list(share = "latents", rate = c("dims", "latents"))),
                   expected)
})

test_that("entries that change places by name change nothing in what is computed", {
  y <- simulate_bars(80, size = 3)$y
  model <- gps_bind(model_binary_sparse(6), y)
  set.seed(1)
  params <- gps_init(model, y)
  selected <- matrix(1:6, 80, 6, byrow = TRUE)
  block <- new_block(0, 80)
  states <- enumerate_states(model$rule, 6, 6)
  run <- function(model) {
    inputs <- block_inputs(model, params, t(y), block)
    turned <- structure(rev(inputs), lengths = attr(inputs, "lengths"))
    run_estep(model, turned, t(y), block, t(selected), states, 1L, "stats")
  }
  expected <- run(model)
  for (part in c("params", "prepared", "stats")) model[[part]] <- rev(model[[part]])
  model$options <- rev(model$options)
  expect_identical(run(model), expected)
})

test_that("what a declaration lacks, adds or misshapes is named", {
  skip_without_tables()
  y <- draw_counts(20)
  whole <- list(rate = c("dims", "latents"), share = "latents")
  odd <- list(
    "parameter `share` of the model .* missing in R" = table_model("whole", params = whole[1]),
    "parameter `more` of the model .* unknown in C" =
      table_model("whole", params = c(whole, more = "one")),
    "parameter `rate` .* declared as latents x dims in R and as dims x latents in C" =
      table_model("whole", params = within_list(whole, rate = c("latents", "dims"))),
    "parameter `rate` .* as dims x latents in R and as latents x dims in C" =
      table_model("turned_params"),
    "parameter `shape` .* missing in R" = table_model("further_params"),
    "option `lowest` .* missing in R" = table_model("whole", options = list()),
    "option `lowest` .* unknown in C" = table_model("no_options"),
    "option `lowest` .* has 2 values" = table_model("whole", options = list(lowest = c(1, 2))),
    "prepared array `log_share` .* missing" = table_model("whole", prepared = list()),
    "statistic `on` .* missing" =
      table_model("whole", stats = list(count = "one", sum = c("dims", "latents"))),
    "event `empty` .* is not in both" = table_model("whole", events = c("rate_floor", "empty")),
    "event `rate_floor` .* is not in both" = table_model("whole", events = character())
  )
  for (message in names(odd)) {
    expect_error(gps_bind(odd[[message]], y), message, class = "gps_error_model")
  }
})

test_that("a table without what every model must have, or of another version, is refused", {
  skip_without_tables()
  y <- draw_counts(20)
  for (member in c("params", "stats", "scratch_size", "log_joint", "accumulate")) {
    expect_error(gps_bind(table_model(paste0("no_", member)), y),
                 sprintf("Model no_%s has no `%s`", member, member), class = "gps_error_model")
  }
  expect_error(gps_bind(table_model("later"), y), "version 5 of the model interface",
               class = "gps_error_model")
  # What a table of an earlier version does not have is not read of it.
  expect_false(takes_missing(table_model("earlier")))
  expect_error(gps_bind(table_model("no_table"), y), "has no `table`", class = "gps_error_model")
  expect_error(gps_bind(table_model("nobody"), y), "nobody of package gpstables is not there",
               class = "gps_error_model")
})

test_that("what may be missing may be missing", {
  skip_without_tables()
  y <- draw_counts()
  bound_of <- function(model, want = "stats") {
    model <- gps_bind(model, y)
    set.seed(1)
    gps_estep(model, gps_init(model, y), y, matrix(1:3, 200, 3, byrow = TRUE), want = want)
  }
  expected <- bound_of(table_model("whole"), c("stats", "latent", "response"))
  least <- table_model("least", prepared = list(), events = character())
  found <- bound_of(least)
  expect_identical(found$log_evidence, expected$log_evidence)
  expect_identical(found$stats, expected$stats)
  for (want in c("latent", "response")) {
    for (model in list(least, table_model("not_described"))) {
      expect_error(bound_of(model, want), "has no `describe`", class = "gps_error_model")
    }
  }
  bound <- gps_bind(least, y)
  expect_error(gps_mstep(bound, gps_init(bound, y), found$stats), "has no `mstep`",
               class = "gps_error_model")
  expect_error(gps_bind(table_model("not_prepared"), y),
               "`log_share` .* needs the member `prepare`", class = "gps_error_model")
})
