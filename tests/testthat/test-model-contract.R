# What every model owes the algorithm, against the slow definitions of helper-reference.R.
# @srrstats {G5.4, PD4.0}

# The E-step of a case on a given template, n x slots.
estep_on <- function(case, selected, states, n_threads = 1, want = c("stats", "latent", "response",
                                                                      "prob"), beta = 1) {
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  storage.mode(selected) <- "integer"
  result <- run_estep(case$model, block_inputs(case$model, case$params, y, block), y, block,
                      t(selected), states, n_threads, want, beta = beta)
  for (name in c("prob_on", "latent", "response", "prob")) {
    if (!is.null(result[[name]])) result[[name]] <- t(result[[name]])
  }
  result
}

# Everything that an E-step gives, against brute force.
expect_brute_force <- function(row, case, selected, result, max_active, beta = 1,
                               truth = brute_force(row, case$params, case$y, selected, max_active,
                                                   beta)) {
  centre <- case$model$options$centre
  wanted <- row$stats(case$y, truth, centre)
  found <- plain_stats(row, result$stats)
  wanted <- c(lapply(wanted, c), list(
    log_evidence = truth$log_evidence, mean = truth$mean, value = truth$value,
    response = if (is.null(row$expected)) row$response(case$params, truth$value) else
      row$expected(case$params, truth),
    all_prob = rep(1, nrow(case$y))
  ))
  found <- c(lapply(found, c), list(
    log_evidence = result$log_evidence,
    mean = spread_slots(result$prob_on, selected, row$n_latents),
    value = spread_slots(result$latent, selected, row$n_latents), response = result$response,
    all_prob = rowSums(result$prob)
  ))
  expect_all_near(found, wanted, 1e-12)
}

for_models("the E-step equals brute force on every template", function(row) {
  case <- draw_case(row, 6)
  # None, some and all latents are left out.
  sizes <- if (is_full()) seq_len(row$n_latents) else c(1, 3, row$n_latents)
  for (n_selected in sizes) {
    selected <- draw_selected(6, row$n_latents, n_selected)
    for (max_active in seq_len(if (row$is_one_hot) 1 else n_selected)) {
      states <- enumerate_states(case$model$rule, n_selected, max_active)
      expect_identical(states$all_subsets, !row$is_one_hot && max_active == n_selected)
      ordered <- size_ordered(case$model$rule, n_selected, max_active)
      truth <- brute_force(row, case$params, case$y, selected, max_active)
      for (template in list(states, ordered)) {
        expect_brute_force(row, case, selected, estep_on(case, selected, template), truth = truth)
      }
    }
  }
})

for_models("states may stand without their parents, and more than once", function(row) {
  case <- draw_case(row, 12)
  selected <- draw_selected(12, row$n_latents, 4)
  max_active <- if (row$is_one_hot) 1 else 3
  whole <- size_ordered(case$model$rule, 4, max_active)
  expected <- estep_on(case, selected, whole)
  alone <- whole
  alone$parent[] <- 0L
  found <- estep_on(case, selected, alone)
  expect_near(found$prob, expected$prob, 1e-13)
  expect_all_near(found$stats, expected$stats, 1e-12)
  expect_near(found$latent, expected$latent, 1e-12)
  if (row$is_one_hot) return()
  # Twice each, the second with its parent and the first without.
  twice <- whole
  n <- whole$n_states
  twice$n_states <- 2L * n
  twice$n_active <- rep(whole$n_active, 2)
  twice$active <- cbind(whole$active, whole$active)
  twice$parent <- c(integer(n), ifelse(whole$parent > 0, whole$parent + n, 0L))
  found <- estep_on(case, selected, twice)
  expect_near(found$prob, cbind(expected$prob, expected$prob) / 2, 1e-13)
  expect_near(found$log_evidence, expected$log_evidence + log(2), 1e-12)
  expect_all_near(found$stats, expected$stats, 1e-12)
})

for_models("gps_estep() is the same E-step, rows as they come", function(row) {
  case <- draw_case(row, 12)
  selected <- draw_selected(12, row$n_latents, 3)
  want <- c("stats", "latent", "response", "prob")
  result <- gps_estep(case$model, case$params, case$y, selected, want = want)
  expect_brute_force(row, case, selected, result, if (row$is_one_hot) 1 else 3)
  expect_named(gps_estep(case$model, case$params, case$y, selected, want = character()),
               c("prob_on", "log_evidence"))
  expect_named(gps_estep(case$model, case$params, case$y, selected, want = "response"),
               c("prob_on", "log_evidence", "response"))
  if (!row$is_one_hot) {
    pairs <- gps_estep(case$model, case$params, case$y, selected, max_active = 2, want = want)
    expect_brute_force(row, case, selected, pairs, 2)
  }
})

for_all_models("slots may stand in any order", function(row) {
  case <- draw_case(row, 12)
  sorted <- draw_selected(12, row$n_latents, 3)
  order <- c(3, 1, 2)
  active <- row_active(row, 3)
  a <- gps_estep(case$model, case$params, case$y, sorted, active)
  b <- gps_estep(case$model, case$params, case$y, sorted[, order], active)
  expect_near(b$prob_on, a$prob_on[, order], 1e-14)
  expect_all_near(b$stats, a$stats, 1e-12)
})

for_models("empty slots hold nothing", function(row) {
  case <- draw_case(row, 12)
  selected <- draw_selected(12, row$n_latents, 3)
  for (columns in list(1, 2, 3, c(1, 3), c(2, 3))) {
    gapped <- selected
    gapped[, columns] <- 0
    for (max_active in if (row$is_one_hot) 1 else if (is_full()) 1:3 else c(1, 3)) {
      states <- enumerate_states(case$model$rule, 3, max_active)
      result <- estep_on(case, gapped, states)
      expect_brute_force(row, case, gapped, result, max_active)
      expect_identical(range(result$prob_on[, columns]), c(0, 0))
    }
  }
  states <- enumerate_states(case$model$rule, 3, if (row$is_one_hot) 1 else 3)
  empty <- selected
  empty[5, ] <- 0
  if (row$is_one_hot) {
    # No state is left: the point takes no part.
    result <- estep_on(case, empty, states)
    expect_identical(result$log_evidence[5], -Inf)
    expect_identical(range(result$prob_on[5, ]), c(0, 0))
    expect_identical(result$log_evidence[-5], estep_on(case, selected, states)$log_evidence[-5])
  } else {
    expect_brute_force(row, case, empty, estep_on(case, empty, states), 3)
  }
})

for_all_models("an empty slot is one that is not there", function(row) {
  case <- draw_case(row, 12)
  selected <- draw_selected(12, row$n_latents, 3)
  for (empty in 1:3) {
    gapped <- selected
    gapped[, empty] <- 0L
    active <- row_active(row, 2)
    found <- gps_estep(case$model, case$params, case$y, gapped, active)
    fewer <- gps_estep(case$model, case$params, case$y, selected[, -empty], active)
    expect_identical(range(found$prob_on[, empty]), c(0, 0))
    expect_near(found$prob_on[, -empty], fewer$prob_on, 1e-13)
    expect_near(found$log_evidence, fewer$log_evidence, 1e-12)
    expect_all_near(found$stats, fewer$stats, 1e-12)
  }
})

for_models("the temperature divides the log joint", function(row) {
  case <- draw_case(row, 12)
  selected <- draw_selected(12, row$n_latents, 3)
  states <- enumerate_states(case$model$rule, 3, if (row$is_one_hot) 1 else 3)
  for (beta in c(0.01, 0.5, 3)) {
    result <- estep_on(case, selected, states, beta = beta)
    expect_brute_force(row, case, selected, result, 3, beta)
  }
})

for_models("the M-step maximises", function(row) {
  case <- draw_case(row, 40)
  selected <- draw_selected(40, row$n_latents, 3)
  estep <- gps_estep(case$model, case$params, case$y, selected)
  posterior <- brute_force(row, case$params, case$y, selected,
                           if (row$is_one_hot) 1 else 3)
  step <- gps_mstep(case$model, case$params, estep$stats)
  wanted <- row$mstep(case$y, posterior)
  expect_named(step$params, names(case$params))
  expect_all_near(step$params[names(wanted)], wanted, 1e-10)
  expect_identical(sum(step$events), 0L)
  expect_named(step$events, case$model$events)
})

for_all_models("exact EM at a fixed selection never lowers the bound", function(row) {
  for (seed in seq_len(if (is_full()) 20 else 2)) {
    case <- draw_case(row, 30, seed)
    params <- gps_init(case$model, case$y)
    n_selected <- sample.int(min(row$n_latents, 5), 1)
    selected <- draw_selected(30, row$n_latents, n_selected)
    active <- row_active(row, n_selected)
    bounds <- numeric(15)
    for (iteration in 1:15) {
      step <- gps_estep(case$model, params, case$y, selected, active)
      bounds[iteration] <- sum(step$log_evidence)
      params <- gps_mstep(case$model, params, step$stats)$params
    }
    expect_no_fall(bounds)
  }
})

for_all_models("threads do not change a bit", function(row) {
  # Blocks of which the last is not full, with enough to do for three threads.
  case <- draw_case(row, 100)
  states <- enumerate_states(case$model$rule, 3, row_active(row, 3))
  work <- (states$n_slots + 1) * states$n_states * row$n_dims
  rows <- rep_len(1:100, max(1200, 3 * thread_work %/% work + 1))
  case$y <- case$y[rows, , drop = FALSE]
  selected <- draw_selected(100, row$n_latents, 3)[rows, ]
  one <- estep_on(case, selected, states)
  expect_identical(estep_on(case, selected, states, n_threads = 3), one)
  if (is_full()) expect_identical(estep_on(case, selected, states, n_threads = 2), one)
})

for_models("blocks of any size add up to the same bits", function(row) {
  case <- draw_case(row, 2200)
  y <- t(case$y)
  task <- list(y = y, model = case$model, n_selected = row$n_latents, selector = selector_full(),
               control = gps_control(), n_threads = 2, method = "exact",
               states = enumerate_states(case$model$rule, row$n_latents,
                                         if (row$is_one_hot) 1 else row$n_latents))
  state <- new_state(case$params, 0L, 0)
  with_blocks <- function(block_size) {
    offsets <- seq(0, 2199, by = block_size)
    task$blocks <- lapply(offsets, function(offset) {
      new_block(offset, min(block_size, 2200 - offset))
    })
    pass(task, state)
  }
  whole <- with_blocks(4096)
  expect_length(split_blocks(2200, row$n_latents), 1)
  for (block_size in c(512, 1024, 2048)) {
    parts <- with_blocks(block_size)
    expect_identical(parts$stats, whole$stats)
    expect_identical(parts$log_evidence, whole$log_evidence)
    expect_identical(parts$prob_on, whole$prob_on)
  }
})

for_all_models("rows permuted give results permuted", function(row) {
  # Each point stands with several selections, in two blocks.
  case <- draw_case(row, 100)
  case$y <- case$y[rep_len(1:100, 700), ]
  selected <- draw_selected(700, row$n_latents, 3)
  order <- sample.int(700)
  active <- row_active(row, 3)
  want <- c("stats", "response")
  a <- gps_estep(case$model, case$params, case$y, selected, active, want = want)
  b <- gps_estep(case$model, case$params, case$y[order, ], selected[order, ], active, want = want)
  expect_near(b$log_evidence, a$log_evidence[order], 1e-12)
  expect_near(b$prob_on, a$prob_on[order, ], 1e-12)
  expect_near(b$response, a$response[order, ], 1e-12)
  expect_all_near(b$stats, a$stats, 1e-10)
})

for_models("selecting all latents is exact EM for every selector", function(row) {
  case <- draw_case(row, 60)
  # Variants of a model are begun and selected for by the same code, and so are all models where no
  # screen asks for their log joints, nor a selector for their affinities.
  few <- grepl("shared|intercept|spherical|tied", row$name) && !is_full()
  all <- row$name %in% c("binary_sparse", "spike_slab full", "gaussian_mixture full") || is_full()
  fit_with <- function(selector, n_selected = row$n_latents) {
    set.seed(3)
    quiet_degenerate(gps_fit(case$y, row$model(), selector, n_selected,
                             control = gps_control(max_iter = 4, n_starts = if (all) 2 else 1,
                                                   progress = FALSE)))
  }
  full <- fit_with(selector_full(), NULL)
  selectors <- list(selector_handcrafted(screen = gps_screen()), selector_gp(kernel_linear()),
                    selector_handcrafted(), selector_random(),
                    selector_custom(function(params, y) matrix(0, nrow(y), row$n_latents)))
  for (selector in selectors[seq_len(if (few) 2 else if (all) 5 else 3)]) {
    fit <- fit_with(selector)
    expect_identical(fit$params, full$params)
    expect_identical(fit$bound, full$bound)
    expect_identical(fit$prob_on, full$prob_on)
  }
  posterior <- brute_force(row, full$params, case$y,
                           matrix(seq_len(row$n_latents), 60, row$n_latents, byrow = TRUE))
  expect_near(full$bound, sum(posterior$log_evidence), 1e-12)
  expect_near(t(full$prob_on), posterior$mean, 1e-12)
})

for_models("parameters survive the round trip", function(row) {
  case <- draw_case(row, 30)
  expect_identical(check_all_params(case$model, row$params, "params"), row$params)
  expect_identical(check_all_params(case$model, rev(row$params), "params"), row$params)
  as_integers <- lapply(row$params, function(x) {
    x[] <- round(x)
    storage.mode(x) <- "integer"
    x
  })
  as_integers$pi[] <- 1L
  is_double <- vapply(check_params(case$model, as_integers[1]), is.double, NA)
  expect_true(all(is_double))
  set.seed(5)
  init <- gps_init(case$model, case$y)
  expect_identical(check_all_params(case$model, init, "init"), init)
  expect_gps_error(check_all_params(case$model, row$params[-1], "params"),
                   sprintf("`params` must have the parameter `%s`", names(row$params)[1]))
})

for_models("gps_draw() has the model's moments", function(row) {
  n <- 20000
  case <- draw_case(row, 30)
  set.seed(9)
  drawn <- gps_draw(case$model, row$params, n)
  expect_identical(dim(drawn$y), c(as.integer(n), as.integer(row$n_dims)))
  expect_identical(dim(drawn$latents), c(as.integer(n), as.integer(row$n_latents)))
  prob <- rep_len(row$params$pi, row$n_latents)
  expect_frequency(colSums(drawn$latents), n, prob)
  truth <- row$moments(row$params)
  variance <- diag(truth$covariance)
  expect_true(all(abs(colMeans(drawn$y) - truth$mean) <= 5 * sqrt(variance / n)))
  # The spread of each product about its mean gives the standard error of the covariance.
  centred <- sweep(drawn$y, 2, truth$mean)
  for (i in seq_len(row$n_dims)) {
    for (j in seq_len(i)) {
      product <- centred[, i] * centred[, j]
      expect_lte(abs(mean(product) - truth$covariance[i, j]), 5 * sd(product) / sqrt(n))
    }
  }
  strength <- if (is.null(drawn$values)) drawn$latents else drawn$latents * drawn$values
  residual <- drawn$y - row$response(row$params, strength)
  expect_lt(mean(residual^2), mean(sweep(drawn$y, 2, colMeans(drawn$y))^2))
})

# Selections by screening of one block, n x n_selected.
screen_case <- function(case, n_selected, screen, affinity, kept = NULL, explore = 0) {
  y <- t(case$y)
  task <- list(y = y, model = case$model, n_selected = n_selected, n_threads = 2,
               selector = list(screen = screen))
  state <- new_state(case$params, 0L, explore)
  if (!is.null(kept)) state$selected <- t(kept)
  block <- new_block(0, ncol(y))
  stream <- list(seed = c(1L, 2L), start = 0L, iteration = 1L)
  selected <- screen_block(task, state, block, block_inputs(case$model, case$params, y, block),
                           if (!is.null(affinity)) t(affinity), task_screen(task), stream)
  t(matrix(selected, n_selected))
}

for_models("screening follows the differences of log joints", function(row) {
  n <- if (is_full()) 24 else 12
  case <- draw_case(row, n)
  n_latents <- row$n_latents
  affinity <- matrix(rnorm(n * n_latents), n)
  joints <- whole_problem(row, case$params, case$y)$joints
  for (rank_by in c("greedy", "singleton")) {
    for (n_selected in 1:3) {
      for (propose in c(n_selected, n_latents)) {
        screen <- gps_screen(rank_by, keep = FALSE, propose = propose, explore = c(0, 0),
                             inserts = 0)
        found <- screen_case(case, n_selected, screen, affinity)
        wanted <- t(vapply(seq_len(n), function(n) {
          candidates <- order(-affinity[n, ])[seq_len(propose)]
          screen_reference(row, joints[, n], candidates, n_selected, rank_by == "greedy")
        }, integer(n_selected)))
        expect_identical(c(found), c(if (n_selected == 1) t(wanted) else wanted))
      }
    }
  }
})

for_models("screening keeps the last selection among the candidates", function(row) {
  case <- draw_case(row, 20)
  n_latents <- row$n_latents
  kept <- draw_selected(20, n_latents, 2)
  affinity <- matrix(rnorm(20 * n_latents), 20)
  screen <- gps_screen(propose = 1, explore = c(0, 0), inserts = 0)
  found <- screen_case(case, 2, screen, affinity, kept)
  joints <- whole_problem(row, case$params, case$y)$joints
  wanted <- t(vapply(1:20, function(n) {
    candidates <- union(which.max(affinity[n, ]), kept[n, ])
    screen_reference(row, joints[, n], candidates, 2, TRUE)
  }, integer(2)))
  expect_identical(found, wanted)
  # Without proposals and explorers the selection stays, a gap included.
  kept[7, 1] <- 0L
  again <- screen_case(case, 2, screen, NULL, kept)
  expect_identical(again[-7, ], kept[-7, ])
  expect_identical(again[7, ], c(kept[7, 2], 0L))
})

test_that("the parts of a model refuse values that are not finite, by row and column", {
  for (model in list(model_binary_sparse(3), model_gaussian_mixture(3))) {
    y <- matrix(as.double(1:20), 10)
    bound <- gps_bind(model, y)
    params <- gps_init(bound, y)
    for (bad in c(NA, NaN, Inf)) {
      y[4, 2] <- bad
      where <- "`y` must have finite values, but row 4, column 2"
      expect_gps_error(gps_bind(model, y), where)
      expect_gps_error(gps_init(bound, y), where)
      expect_gps_error(gps_handcrafted(bound, params, y), where)
    }
  }
})
