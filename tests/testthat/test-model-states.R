# The template of states: which there are, their order, and the limit on their number.

rules <- list(state_rule(), state_rule(min_active = 1L, max_active = 1))

test_that("all states within the rule are there, once each", {
  for (n_slots in 1:7) {
    for (max_active in seq_len(n_slots)) {
      states <- enumerate_states(rules[[1]], n_slots, max_active)
      n_states <- sum(choose(n_slots, 0:max_active))
      expect_identical(states$n_states, as.integer(n_states))
      expect_identical(count_states(rules[[1]], n_slots, max_active), n_states)
      on <- vapply(seq_len(n_states), function(m) {
        sum(2^(states$active[seq_len(states$n_active[m]), m] - 1))
      }, 1)
      subsets <- 0:(2^n_slots - 1)
      size <- vapply(subsets, function(m) sum(bitwAnd(m, 2^(0:6)) > 0), 1)
      expect_setequal(on, subsets[size <= max_active])
      expect_identical(anyDuplicated(on), 0L)
    }
    one_hot <- enumerate_states(rules[[2]], n_slots, 1)
    expect_identical(one_hot$active, matrix(seq_len(n_slots), 1))
    expect_identical(one_hot$n_active, rep(1L, n_slots))
    expect_identical(one_hot$parent, rep(0L, n_slots))
  }
})

test_that("slots ascend, and parents are the state without its last slot and stand before it", {
  for (n_slots in 1:7) {
    for (max_active in seq_len(n_slots)) {
      states <- enumerate_states(rules[[1]], n_slots, max_active)
      expect_identical(which(states$n_active == 0L), 1L)
      slots_of <- function(m) states$active[seq_len(states$n_active[m]), m]
      is_right <- vapply(seq_len(states$n_states)[-1], function(m) {
        slots <- slots_of(m)
        parent <- states$parent[m]
        !is.unsorted(slots, strictly = TRUE) && parent >= 1 && parent < m &&
          identical(slots_of(parent), slots[-length(slots)])
      }, NA)
      expect_true(all(is_right))
      beyond <- row(states$active) > states$n_active[col(states$active)]
      expect_true(all(states$active[beyond] == 0L))
    }
  }
})

test_that("all subsets stand in the order of their numbers", {
  for (n_slots in 1:8) {
    states <- enumerate_states(rules[[1]], n_slots, n_slots)
    expect_true(states$all_subsets)
    for (m in c(1, 2, 2^n_slots)) {
      slots <- states$active[seq_len(states$n_active[m]), m]
      expect_identical(sum(2^(slots - 1)), m - 1)
    }
  }
  expect_false(enumerate_states(rules[[1]], 4, 3)$all_subsets)
  expect_false(enumerate_states(rules[[2]], 1, 1)$all_subsets)
})

test_that("shapes and types are those that the core reads", {
  states <- enumerate_states(rules[[1]], 4, 2)
  expect_s3_class(states, "gps_states")
  expect_type(states$active, "integer")
  expect_type(states$parent, "integer")
  expect_type(states$n_active, "integer")
  expect_identical(dim(states$active), c(2L, 11L))
})

test_that("too many states are refused with their number and what fits, before any is built", {
  model <- model_binary_sparse(40)
  condition <- expect_gps_error(
    resolve_method("exact", model, 40L, 40L),
    "`n_selected` = 40 with `max_active` = 40 gives 1,099,511,627,776 states"
  )
  expect_match(conditionMessage(condition), "more than 65,536", fixed = TRUE)
  expect_match(conditionMessage(condition), "is 16 with all of them allowed on, 361 with",
               fixed = TRUE)
  expect_identical(sum(choose(361, 0:2)) <= 2^16, TRUE)
  expect_identical(sum(choose(362, 0:2)) <= 2^16, FALSE)
  expect_match(conditionMessage(condition), "`method` = \"gibbs\" has no such limit", fixed = TRUE)
  expect_gps_error(resolve_method("exact", model, 17L, 17L), "131,072 states")
  expect_gps_error(resolve_method("exact", model, 5000L, 5000L), "gives Inf states")
  expect_identical(resolve_method("exact", model, 5000L, 1L), "exact")
  expect_identical(build_states(model, 16L, 1L, "exact")$n_states, 17L)
  # Where states cannot be sampled either, the number of states is the reason.
  many <- model_gaussian_mixture(70000)
  words <- "70,000 states"
  condition <- expect_gps_error(resolve_method("auto", many, 70000L, 1L), words)
  expect_no_match(conditionMessage(condition), "gibbs")
})

test_that("states are summed over where that is possible, and else sampled", {
  model <- model_binary_sparse(40)
  short <- model
  short$exact_active <- 1
  resolve <- function(...) resolve_method(...)
  expect_identical(resolve("auto", model, 16L, 16L), "exact")
  expect_identical(resolve("auto", model, 17L, 17L), "gibbs")
  expect_identical(resolve("auto", model, 17L, 2L), "exact")
  expect_identical(resolve("gibbs", model, 2L, 2L), "gibbs")
  expect_identical(resolve("auto", short, 3L, 1L), "exact")
  expect_identical(resolve("auto", short, 3L, 2L), "gibbs")
  expect_gps_error(resolve("exact", short, 3L, 2L),
                   "needs `max_active` of at most 1 for this model, not 2: use \"gibbs\"")
  mixture <- model_gaussian_mixture(4)
  expect_identical(resolve("auto", mixture, 4L, 1L), "exact")
  expect_gps_error(resolve("gibbs", mixture, 4L, 1L), "exactly one latent is on: use \"exact\"")
})

test_that("a template without states has the shapes of one", {
  states <- build_states(model_binary_sparse(40), 40L, 3L, "gibbs")
  full <- build_states(model_binary_sparse(40), 3L, 2L, "exact")
  expect_s3_class(states, "gps_states")
  expect_named(states, names(full))
  expect_identical(lapply(states, typeof), lapply(full, typeof))
  expect_identical(states$n_states, 0L)
  expect_identical(dim(states$active), c(3L, 0L))
})

test_that("a template of any states holds just these", {
  on <- cbind(c(0, 1, 0, 1), 0, 1, c(0, 0, 1, 0))
  states <- template_of(on)
  expect_identical(slots_on(states) + 0, on)
  expect_identical(states$n_active, c(2L, 0L, 4L, 1L))
  expect_identical(template_of(matrix(0, 3, 1))$active, matrix(0L, 1, 1))
})

test_that("the limit is the fit's too, whoever asks for the slots", {
  y <- matrix(rnorm(300), 10)
  for (selector in list(selector_full(), selector_handcrafted())) {
    expect_gps_error(gps_fit(y, model_binary_sparse(40), selector, 40,
                             control = gps_control(method = "exact")), "1,099,511,627,776 states")
  }
  model <- gps_bind(model_binary_sparse(40), y)
  set.seed(1)
  params <- gps_init(model, y)
  expect_gps_error(gps_estep(model, params, y, matrix(1:40, 10, 40, byrow = TRUE),
                             method = "exact"), "1,099,511,627,776 states")
  fine <- gps_estep(model, params, y, matrix(1:40, 10, 40, byrow = TRUE), max_active = 1)
  expect_identical(dim(fine$prob_on), c(10L, 40L))
})

test_that("the mixture needs no limit below its own", {
  states <- build_states(model_gaussian_mixture(3000), 3000L, 1L, "exact")
  expect_identical(states$n_states, 3000L)
})
