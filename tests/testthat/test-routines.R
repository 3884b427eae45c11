# Routines in C refuse what does not fit together, before anything is read by it: what R hands them
# here no caller in the package would (tools/attack-routines.R tries much more).

case <- local({
  set.seed(3)
  y <- matrix(rnorm(60), 3)
  model <- gps_bind(model_binary_sparse(4), t(y))
  block <- new_block(0, 20)
  block$y_offset <- 0
  inputs <- block_inputs(model, gps_init(model, t(y)), y, block)
  list(y = y, model = model, block = block, inputs = inputs,
       selected = matrix(1:2, 2, 20), states = enumerate_states(model$rule, 2L, 2L))
})

estep <- function(selected = case$selected, states = case$states, shape = case$model$shape,
                  block = case$block, want = "stats", chain = NULL, n_threads = 1L) {
  .Call(C_estep, case$model$native, shape, case$inputs, attr(case$inputs, "lengths"),
        case$model$stats_dims, case$y, block, selected, states,
        list(beta = 1, iteration = 1L, n_threads = n_threads, want = want, chain = chain))
}

refuses <- function(code, words) expect_error(code, words, fixed = TRUE, class = "gps_error_model")

with_one <- function(x, at, value) replace(x, at, value)

test_that("an E-step refuses slots that name no latent, or one twice", {
  expect_length(estep()$log_evidence, 20)
  selected <- case$selected
  refuses(estep(with_one(selected, 7, 5L)), "`selected` names latent 5 of 4 for data point 4")
  refuses(estep(with_one(selected, 7, -1L)), "names latent -1 of 4")
  refuses(estep(with_one(selected, 8, NA)), "of 4 for data point 4")
  refuses(estep(with_one(selected, 8, 1L)), "names latent 1 twice for data point 4")
  refuses(estep(selected[, -1]), "`selected` must have 40 values, not 38")
  refuses(estep(selected + 0), "`selected` must be of type integer, not double")
  expect_length(estep(with_one(selected, 1:40, 0L))$log_evidence, 20)
})

test_that("slots may stand in any order, with empty ones between, but each once", {
  states <- enumerate_states(case$model$rule, 3L, 3L)
  of <- function(...) estep(matrix(c(...), 3, 20), states)
  expected <- of(1L, 3L, 0L)$log_evidence
  expect_equal(of(3L, 1L, 0L)$log_evidence, expected, tolerance = 1e-12)
  expect_equal(of(1L, 0L, 3L)$log_evidence, expected, tolerance = 1e-12)
  for (twice in list(c(1L, 0L, 1L), c(3L, 1L, 3L), c(0L, 2L, 2L))) {
    refuses(of(twice), "twice for data point 1")
    refuses(estep(cbind(matrix(3:1, 3, 10), twice, matrix(3:1, 3, 9)), states),
            "twice for data point 11")
  }
})

test_that("an E-step refuses templates, blocks, chains and sizes that do not fit", {
  change <- function(...) utils::modifyList(case$states, list(...))
  active <- with_one(case$states$active, length(case$states$active), 3L)
  refuses(estep(states = change(active = active)), "names slot 3 of 2")
  n_active <- with_one(case$states$n_active, 2, 9L)
  refuses(estep(states = change(n_active = n_active)), "has 9 slots on")
  refuses(estep(states = change(parent = with_one(case$states$parent, 4, 4L))), "has no parent 4")
  refuses(estep(states = change(n_slots = 0L)), "`n_slots` must be a whole number of at least 1")
  refuses(estep(states = change(max_active = NA)), "`max_active` must be one number")
  block <- function(...) utils::modifyList(case$block, list(...))
  refuses(estep(block = block(n_points = 21)), "does not fit 20 points")
  refuses(estep(block = block(y_offset = NaN)), "`y_offset` must be a number, not NA")
  refuses(estep(want = 1), "`want` must be words")
  refuses(estep(n_threads = 0L), "`n_threads` must be a whole number of at least 1")
  refuses(estep(shape = c(3L, 400L)), "`W` must be dims latents and has 12 values")
  chain <- new_chain(c(1L, 2L), c(1L, 2L), 0L, NULL, case$selected)
  expect_length(estep(chain = chain)$variance, 20)
  refuses(estep(chain = with_one(chain, "period", list(0L))), "`period`")
})

test_that("statistics, rankings and selections refuse numbers that are none of theirs", {
  stats <- estep()$stats
  mstep <- function(stats, shape = case$model$shape) {
    .Call(C_mstep, case$model$native, shape, case$inputs, case$model$lengths,
          case$inputs[names(case$model$params)], stats)
  }
  expect_named(mstep(stats), c("params", "events"))
  refuses(mstep(with_one(stats, "data_on", list(1))), "data_on")
  refuses(.Call(C_group_sums, matrix(1, 2, 3), c(1L, 2L, 3L), 2L), "`group` names 3 of 2")
  refuses(.Call(C_leading_directions, matrix(1, 2, 3), NULL, c(2L, 2L), 5L), "more than 3 columns")
  refuses(.Call(C_centre_distances, matrix(1, 2, 3), 4L, 1L, matrix(1, 2, 1), matrix(1, 2, 1)),
          "`points` names 4 of 3")
  refuses(.Call(C_thin_slots, matrix(0.5, 3, 2), 0L), "`n_kept`")
  refuses(.Call(C_dense_targets, case$selected, case$selected / 3, 1L), "names latent 2 of 1")
  refuses(.Call(C_gp_near, case$y, 1:3 + 0, case$y, NULL, 0L, -1L), "`n_near`")
  refuses(.Call(C_gp_gram, 1:3 + 0), "`features` must be a matrix")
  refuses(.Call(C_gp_linear_features, 1:2 + 0, matrix(1, 2, 3)), "`scale`")
  refuses(.Call(C_gp_linear_prepare, 1:2 + 0, matrix(1, 2, 3), 1), "`scale`")
  expect_error(.Call(C_gp_linear_prepare, 1:3 + 0, matrix(1, 2, 0), 1),
               "at least one data point", class = "gps_error_argument")
  refuses(.Call(C_gp_turn, diag(3), matrix(1, 2, 3)), "`transform`")
  features <- matrix(0.1, 2, 3)
  expect_identical(dim(.Call(C_gp_affinity, NULL, diag(2), features, NULL,
                             matrix(0.5, 2, 3), 1)$mean), c(2L, 3L))
  refuses(.Call(C_gp_affinity, NULL, diag(2), features, NULL, NULL, 1), "`transform`")
  refuses(.Call(C_gp_cross, features, NULL, matrix(1, 2, 4)), "`targets`")
  expect_error(.Call(C_sync_file, 1), class = "gps_error_argument")
})

test_that("features are turned by a lower triangular matrix, panel by panel", {
  set.seed(1)
  lower <- matrix(stats::rnorm(49), 7)
  lower[upper.tri(lower)] <- 0
  features <- matrix(stats::rnorm(7 * 700), 7)
  expect_equal(.Call(C_gp_turn, lower, features), lower %*% features, tolerance = 1e-13)
})

test_that("features of a linear kernel are prepared in one routine as those of any basis are", {
  set.seed(1)
  y <- matrix(stats::rnorm(6 * 700), 6)
  kernel <- kernel_linear(0.4) + kernel_bias(0.7) + kernel_white(0.2)
  theta <- gp_theta(kernel, y)
  engine <- engine_plan(new_engine("exact"), kernel, theta, y)
  prepared <- engine_prepare(engine, theta)
  in_steps <- engine_prepare.gps_engine_basis(engine, theta)
  for (part in c("transform", "turned", "noise", "jitter", "theta")) {
    expect_identical(prepared[[part]], in_steps[[part]])
  }
  expect_identical(class(prepared), class(in_steps))
})

test_that("a factor has zeros above its diagonal, not what memory held before", {
  y <- matrix(sin(1:60), 2)
  used <- lapply(1:50, function(i) rep(1, 900))
  rm(used)
  gc(full = FALSE)
  kernel <- kernel_rbf() + kernel_white()
  theta <- gp_theta(kernel, y)
  factor <- engine_prepare(engine_plan(new_engine("exact"), kernel, theta, y), theta)$factor
  expect_true(all(factor[upper.tri(factor)] == 0))
})

test_that("columns are copied and joined as a whole, of matrices that are alike", {
  slots <- matrix(1:20, 2)
  expect_identical(.Call(C_columns, slots, 3, 4L), slots[, 4:7])
  expect_identical(.Call(C_columns, slots + 0.5, 8, 2L), slots[, 9:10] + 0.5)
  refuses(.Call(C_columns, slots, 8, 3L), "No 3 columns of 10 from 9 on")
  refuses(.Call(C_columns, slots, 11, 0L), "No 0 columns of 10 from 12 on")
  refuses(.Call(C_columns, slots > 1, 0, 3L), "must be numbers, not of type logical")
  refuses(.Call(C_columns, 1:3, 0, 3L), "`matrix` must be a matrix")
  parts <- list(slots, slots[, 1, drop = FALSE], slots[, 0])
  expect_identical(.Call(C_join_columns, parts), cbind(slots, slots[, 1]))
  expect_identical(join_columns(list(slots, slots + 0.5)), cbind(slots, slots + 0.5))
  refuses(.Call(C_join_columns, list()), "No columns to join")
  refuses(.Call(C_join_columns, list(slots, slots + 0)), "Part 2 of columns is not like the first")
  refuses(.Call(C_join_columns, list(slots, t(slots))), "Part 2 of columns is not like the first")
})
