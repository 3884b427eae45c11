# Model E against its definition (helper-occlusive.R) and against exact numbers.

expect_occlusive <- function(case, max_active = ncol(case$selected), tolerance = 1e-12) {
  found <- gps_estep(case$model, case$params, case$y, case$selected, max_active,
                     want = c("stats", "latent", "response", "prob"))
  truth <- brute_force_occlusive(case$model, case$params, case$y, case$selected, max_active)
  expect_near(found$log_evidence, truth$log_evidence, tolerance)
  expect_near(found$prob_on, truth$prob_on, tolerance)
  expect_near(found$latent, truth$prob_on, tolerance)
  expect_near(found$response, truth$response, tolerance)
  expect_named(found$stats, names(truth$stats))
  for (name in names(truth$stats)) {
    expect_near(c(found$stats[[name]]), c(truth$stats[[name]]), tolerance)
  }
}

test_that("the E-step equals brute force: channels, empty slots, a component twice", {
  for (n_channels in 1:3) {
    case <- occlusive_case(n_channels, n_channels = n_channels, n = 5)
    case$selected[2, 1] <- 0L
    case$selected[3, ] <- c(1L, 2L, 9L, 40L)
    case$selected[4, ] <- 0L
    expect_occlusive(case)
    expect_occlusive(case, max_active = 2)
  }
})

test_that("windows as large as the image meet themselves on both sides", {
  expect_occlusive(occlusive_case(4, image = c(4, 3), size = c(4, 3), n_channels = 2, n = 4))
  expect_occlusive(occlusive_case(5, image = c(11, 9), size = c(9, 5), n_channels = 3, n = 3))
})

test_that("without clutter, or where terms leave the range of numbers, it is done in logs", {
  expect_occlusive(occlusive_case(6, n_channels = 3, clutter = 0, n = 5), tolerance = 1e-11)
  expect_occlusive(occlusive_case(7, clutter = 1e-99, n = 5))
  case <- occlusive_case(8, n_channels = 3, clutter = 0, n = 5)
  case$params$sigma2 <- 1e-6
  found <- gps_estep(case$model, case$params, case$y, case$selected)
  expect_true(all(is.finite(found$log_evidence)))
  truth <- brute_force_occlusive(case$model, case$params, case$y, case$selected)
  expect_near(found$log_evidence, truth$log_evidence, 1e-12)
})

# Oracle: all states of two components; states by two slots that hold every pair. Its clutter is the
# background's alone.
oracle_case <- function(clutter = c(background = 0.05)) {
  oracle <- read_model_oracle("E_case1")
  y <- t(apply(oracle$Y, 1, function(image) as.vector(matrix(image, 3))))
  model <- gps_bind(model_occlusive(2, c(2, 2), c(3, 3), clutter, density = 1), y)
  on <- cbind(0, diag(18))
  for (i in 1:9) on <- cbind(on, on[, i + 1] + on[, 1 + 10:18])
  list(oracle = oracle, y = y, model = model, states = template_of(on),
       params = list(alpha = oracle$alpha, w = array(oracle$w, c(2, 2, 2, 1)), pi = oracle$pi,
                     background = oracle$background, sigma2 = oracle$sigma2))
}

estep_all <- function(case, params = case$params) {
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  run_estep(case$model, block_inputs(case$model, params, y, block), y, block,
            matrix(seq_len(case$model$n_latents), case$model$n_latents, ncol(y)), case$states, 1L,
            "stats")
}

test_that("the oracle's case is met: evidence, marginals, statistics, M-step", {
  case <- oracle_case()
  oracle <- case$oracle
  found <- estep_all(case)
  expect_near(found$log_evidence, oracle$F_n, 1e-10)
  by_column <- c(matrix(1:9, 3, byrow = TRUE))
  for (h in 1:2) {
    expect_near(t(found$prob_on[(h - 1) * 9 + 1:9, ]), oracle$location_marginals[, h, by_column],
                1e-10)
  }
  turn <- function(x) aperm(x, c(3, 1, 2))
  expect_near(turn(found$stats$owned), oracle$stats$A, 1e-10)
  expect_near(turn(found$stats$owned_data[, , 1, ]), oracle$stats$S[, , , 1], 1e-10)
  expect_near(turn(found$stats$owned_square), oracle$stats$Q, 1e-10)
  expect_near(turn(found$stats$exposure), oracle$stats$M, 1e-10)
  expect_near(found$stats$background_count, oracle$stats$background_count, 1e-10)
  expect_near(found$stats$background_data, oracle$stats$background_sum, 1e-10)
  expect_near(found$stats$background_square, oracle$stats$background_sq, 1e-10)
  step <- gps_mstep(case$model, case$params, found$stats)
  expect_near(step$params$w, oracle$Mstep$w, 1e-10)
  expect_near(step$params$alpha, oracle$Mstep$alpha_minorised, 1e-10)
  expect_near(step$params$pi, oracle$Mstep$pi, 1e-10)
  expect_near(step$params$background, oracle$Mstep$background, 1e-10)
  expect_near(step$params$sigma2, oracle$Mstep$sigma2_new_background, 1e-10)
  expect_identical(sum(step$events), 0L)
  fixed <- gps_bind(model_occlusive(2, c(2, 2), c(3, 3), c(background = 0.05), density = 1,
                                    background = oracle$background), case$y)
  step <- gps_mstep(fixed, case$params, found$stats)
  expect_near(step$params$sigma2, oracle$Mstep$sigma2_fixed_background, 1e-10)
  expect_identical(step$params$background, case$params$background)
})

test_that("exact EM never lowers the bound, whoever's the clutter is", {
  for (clutter in list(c(background = 0.05), 0.05, 0.5, 1e-6, 0, c(fixed = 0.1))) {
    case <- oracle_case(clutter)
    params <- complete_params(case$model, case$params)
    bounds <- numeric(25)
    for (iteration in 1:25) {
      step <- estep_all(case, params)
      bounds[iteration] <- sum(step$log_evidence)
      params <- gps_mstep(case$model, params, step$stats)$params
    }
    expect_true(all(diff(bounds) >= 0))
    expect_gt(bounds[25], bounds[1] + 1)
    is_fixed <- !is.null(names(clutter)) || clutter == 0
    expect_identical(identical(params$clutter, complete_params(case$model, list())$clutter),
                     is_fixed)
  }
})

# Where the M-step moves nothing, the bound has no slope: checked by its own differences.
test_that("the M-step rests where the bound has no slope in any parameter", {
  case <- oracle_case(0.05)
  params <- complete_params(case$model, case$params)
  for (iteration in 1:1000) {
    params <- gps_mstep(case$model, params, estep_all(case, params)$stats)$params
  }
  slope <- function(name, i) {
    up <- down <- params
    size <- 1e-6 * max(abs(params[[name]][i]), 1e-3)
    up[[name]][i] <- params[[name]][i] + size
    down[[name]][i] <- params[[name]][i] - size
    bound <- function(params) sum(estep_all(case, params)$log_evidence)
    (bound(up) - bound(down)) / (2 * size)
  }
  inside <- function(x, lower, upper) which(x > lower & x < upper)
  expect_near(slope("clutter", 1) * params$clutter, 0, 1e-4)
  expect_near(slope("sigma2", 1) * params$sigma2, 0, 1e-4)
  expect_near(slope("background", 1) * sqrt(params$sigma2), 0, 1e-4)
  for (i in inside(params$alpha, 0.0011, 0.9989)) {
    expect_near(slope("alpha", i) * params$alpha[i] * (1 - params$alpha[i]), 0, 1e-3)
  }
  for (i in which(params$alpha > 0.1)) expect_near(slope("w", i) * sqrt(params$sigma2), 0, 1e-3)
})

test_that("the bound does not fall at a fixed selection either, in colour", {
  for (seed in 1:5) {
    case <- occlusive_case(seed, n_channels = 3, n = 40)
    params <- case$params
    case$y[sample(length(case$y), 30)] <- runif(30, -3, 4)
    bounds <- numeric(15)
    for (iteration in 1:15) {
      step <- gps_estep(case$model, params, case$y, case$selected)
      bounds[iteration] <- sum(step$log_evidence)
      params <- gps_mstep(case$model, params, step$stats)$params
    }
    expect_no_fall(bounds)
  }
})

test_that("the form of old has clutter in the background alone", {
  expect_occlusive(occlusive_case(6, n_channels = 2, clutter = c(background = 0.1), n = 4))
  expect_occlusive(occlusive_case(6, clutter = c(background = 1e-99), n = 4))
  expect_occlusive(occlusive_case(6, n_channels = 2, clutter = c(fixed = 0.1), n = 4))
})

test_that("far beyond the data the E-step is right, and clutter still has a density", {
  for (clutter in c(0.05, 1e-99)) {
    case <- occlusive_case(15, n_channels = 2, clutter = clutter, n = 6)
    case$y[cbind(1:6, c(1, 5, 9, 20, 40, 50))] <- c(3, -20, 1e3, -1e5, 1e9, 1e12)
    expect_occlusive(case, tolerance = 1e-11)
  }
  model <- occlusive_case(1)$model
  density <- function(y) exp(log_clutter_density(model, matrix(y)))
  parts <- vapply(list(c(-Inf, model$lowest), model$lowest + c(0, model$extent),
                       c(model$lowest + model$extent, Inf)), function(at) {
    integrate(density, at[1], at[2], rel.tol = 1e-9)$value
  }, 1)
  expect_near(parts, c(0.125, 0.75, 0.125), 1e-8)
  # A fit of huge numbers far off is finite, and so are gains.
  case$y[1, 1] <- 1e100
  expect_true(all(is.finite(gps_estep(case$model, case$params, case$y,
                                      case$selected)$log_evidence)))
})

test_that("shifted images have shifted posteriors", {
  case <- occlusive_case(9, n_channels = 2)
  shift <- function(y, by) {
    t(apply(y, 1, function(image) {
      image <- array(image, c(5, 7, 2))
      c(image[(1:5 - 1 - by[1]) %% 5 + 1, (1:7 - 1 - by[2]) %% 7 + 1, ])
    }))
  }
  here <- latent_places(case$model, c(case$selected))
  moved <- case$selected
  moved[] <- as.integer(latent_of(case$model, here$component, (here$row + 2) %% 5,
                                  (here$column + 3) %% 7))
  want <- c("stats", "response")
  a <- gps_estep(case$model, case$params, case$y, case$selected, want = want)
  b <- gps_estep(case$model, case$params, shift(case$y, c(2, 3)), moved, want = want)
  expect_near(b$log_evidence, a$log_evidence, 1e-13)
  expect_near(b$prob_on, a$prob_on, 1e-12)
  expect_near(b$response, shift(a$response, c(2, 3)), 1e-12)
  for (name in names(a$stats)) expect_near(b$stats[[name]], a$stats[[name]], 1e-11)
})

test_that("threads do not change a bit", {
  case <- occlusive_case(10, n = 1100)
  run <- function(n_threads) {
    gps_estep(case$model, case$params, case$y, case$selected, n_threads = n_threads,
              want = c("stats", "latent", "response", "prob"))
  }
  expect_identical(run(2), run(1))
  y <- t(case$y)
  block <- new_block(0, ncol(y))
  inputs <- block_inputs(case$model, case$params, y, block)
  expect_identical(block_handcrafted(case$model, inputs, y, block, 2L),
                   block_handcrafted(case$model, inputs, y, block, 1L))
})

test_that("draws have the model's means, and clutter where it may be", {
  case <- occlusive_case(11, image = c(4, 3), size = c(2, 2), n_components = 2)
  set.seed(1)
  n <- if (is_full()) 8000 else 1000
  drawn <- gps_draw(case$model, case$params, n)
  expect_named(drawn$latents, c("point", "component", "row", "column"))
  expect_frequency(tabulate(drawn$latents$component, 2), n, case$params$pi)
  expect_frequency(tabulate(drawn$latents$row[drawn$latents$component == 1], 4),
                   sum(drawn$latents$component == 1), 1 / 4)
  # The mean over all positions, by the definition.
  at <- as.matrix(expand.grid(0:12, 0:12))
  prob <- function(h, x) if (x == 0) 1 - case$params$pi[h] else case$params$pi[h] / 12
  clutter_mean <- 0.05 * (case$model$lowest + case$model$extent / 2)
  mean <- 0
  for (i in seq_len(nrow(at))) {
    state <- c(at[i, 1], if (at[i, 2] > 0) 12 + at[i, 2])
    state <- state[state > 0]
    odds <- pixel_terms(case$model, case$params, numeric(12), state)$odds
    signal <- odds[, 1] * case$params$background
    places <- if (length(state) > 0) latent_places(case$model, state)
    for (k in seq_along(state)) {
      inside <- window_pixels(case$model, 1 + places$row[k] + 4 * places$column[k])
      signal[inside] <- signal[inside] +
        odds[inside, k + 1] * case$params$w[places$component[k], , , 1]
    }
    mean <- mean + prob(1, at[i, 1]) * prob(2, at[i, 2]) * signal / rowSums(odds)
  }
  mean <- 0.95 * mean + clutter_mean
  error <- apply(drawn$y, 2, sd) / sqrt(n)
  expect_true(all(abs(colMeans(drawn$y) - mean) < 5 * error))
})

test_that("the scan finds components where they are, and rates them by their gain", {
  set.seed(2)
  image <- c(17, 20)
  size <- c(6, 5)
  model <- model_occlusive(3, size, image)
  params <- list(alpha = array(0.95, c(3, size)), w = array(runif(270), c(3, size, 3)),
                 pi = rep(0.3, 3), background = numeric(3), sigma2 = 0.03^2, clutter = 0.05)
  pixel <- c(45, 200, 292)
  bound <- gps_bind(model, matrix(c(0, 1), 2, 3 * prod(image)))
  y <- rbind(draw_scene(bound, params, 1:3, pixel), draw_scene(bound, params, 2, 340))
  for (clutter in c(0.05, 0)) {
    bound <- gps_bind(model_occlusive(3, size, image, clutter, density = 1), y)
    params$clutter <- clutter
    affinity <- gps_handcrafted(bound, params, y)
    expect_identical(dim(affinity), c(2L, bound$n_latents))
    best <- apply(matrix(affinity[1, ], 3, byrow = TRUE), 1, which.max)
    expect_identical(best, as.integer(pixel))
    expect_identical(which.max(affinity[2, ]), 340L + 340L)
    expect_true(all(rowSums(affinity > -1e299) == 6))
    for (h in 1:3) {
      latent <- pixel[h] + prod(image) * (h - 1)
      states <- gps_estep(bound, params, y[1, , drop = FALSE], matrix(c(latent, 0L), 1))
      empty <- gps_estep(bound, params, y[1, , drop = FALSE], matrix(0L, 1, 2))
      odds <- states$log_evidence - empty$log_evidence
      expect_near(affinity[1, latent], odds + log1p(-exp(-odds)), 1e-5)
    }
  }
})

test_that("first components are windows of the data, labelled", {
  case <- occlusive_case(12, image = c(8, 9), size = c(4, 3), n_channels = 2, n = 20)
  set.seed(3)
  params <- gps_init(case$model, case$y)
  labels <- attr(params, "labels")
  attr(params, "labels") <- NULL
  expect_identical(check_all_params(case$model, params, "params"), params)
  expect_identical(dim(params$w), c(3L, 4L, 3L, 2L))
  expect_identical(anyDuplicated(labels$point), 0L)
  places <- latent_places(case$model, labels$latent)
  expect_identical(places$component, as.numeric(1:3))
  for (h in 1:3) {
    pixel <- labels$latent[h] - 72 * (h - 1)
    expect_identical(c(params$w[h, , , ]),
                     c(cut_window(case$model, case$y[labels$point[h], ], pixel)))
  }
  expect_setequal(params$alpha, c(0.05, 0.55))
  expect_identical(params$alpha[1, 1, 1], 0.05)
  set.seed(3)
  expect_identical(gps_init(case$model, case$y)$w, params$w)
  fixed <- gps_bind(model_occlusive(3, c(4, 3), c(8, 9), background = 0.5), case$y)
  expect_identical(gps_init(fixed, case$y)$background, c(0.5, 0.5))
})

test_that("sums over windows go around the edges", {
  model <- occlusive_case(13)$model
  x <- matrix(runif(70), 35)
  sums <- box_sums(model, x)
  for (pixel in c(1, 5, 20, 35)) {
    expect_near(sums[pixel, ], colSums(x[window_pixels(model, pixel), ]), 1e-14)
  }
})

test_that("sizes and settings that cannot be are refused", {
  y <- matrix(runif(40), 2)
  expect_gps_error(model_occlusive(0, c(2, 2)), "`n_components` must be")
  expect_gps_error(model_occlusive(2, 3), "`size` must be whole numbers")
  expect_gps_error(model_occlusive(2, c(2, 0)), "`size` must be whole numbers")
  expect_gps_error(model_occlusive(2, c(2, 1.5)), "`size` must be whole numbers")
  expect_gps_error(model_occlusive(2, c(2, 6), c(4, 5)),
                   "`size` must not exceed the image of 4 x 5")
  expect_gps_error(model_occlusive(2, c(2, 2), 20), "`image` must be whole numbers")
  expect_gps_error(model_occlusive(2, c(2, 2), clutter = 1), "`clutter` must be")
  expect_gps_error(model_occlusive(2, c(2, 2), clutter = -0.1), "`clutter` must be")
  expect_gps_error(model_occlusive(2, c(2, 2), density = 0), "`density` must be")
  expect_gps_error(model_occlusive(2, c(2, 2), background = "black"), "`background` must be")
  expect_gps_error(gps_bind(model_occlusive(2, c(2, 2)), y), "`image` of model_occlusive()")
  expect_gps_error(gps_bind(model_occlusive(2, c(2, 2), c(3, 5)), y), "`image` of 3 x 5 does not")
  expect_gps_error(gps_bind(model_occlusive(2, c(2, 2), c(4, 5, 3)), y),
                   "does not fit data with 20")
  expect_gps_error(gps_bind(model_occlusive(2, c(2, 2), c(4, 5), background = 1:2), y),
                   "`background` must be one number or 1")
})

test_that("the image's size may come from the data", {
  model <- model_occlusive(2, c(2, 2))
  expect_identical(set_image(model, NULL), model)
  expect_identical(set_image(model, c(4, 5))$image, 4:5)
  given <- model_occlusive(2, c(2, 2), c(5, 4))
  expect_identical(set_image(given, c(4, 5)), given)
  expect_identical(set_image(model_binary_sparse(3), c(4, 5)), model_binary_sparse(3))
  bound <- gps_bind(set_image(model, c(4, 5)), matrix(runif(120), 2))
  expect_identical(bound$grid, 4:5)
  expect_identical(bound$n_latents, 40L)
  expect_identical(bound$n_channels, 3L)
})

test_that("screening parameters have at least the temperature's noise, and the first clutter", {
  case <- occlusive_case(14)
  sharp <- replace(case$params, "clutter", 1e-3)
  expect_identical(temper_params(case$model, sharp, 0), case$params)
  expect_identical(temper_params(case$model, case$params, 0), case$params)
  expect_identical(temper_params(case$model, case$params, 0.5)$sigma2, 0.25)
  expect_identical(temper_params(model_binary_sparse(3), list(W = 1), 0.5), list(W = 1))
})

test_that("the model prints its components", {
  expect_printed(model_occlusive(20, c(14, 14)),
                 "Occlusive components: 20 components, size = 14 x 14, clutter = 0.05",
                 fixed = TRUE)
  expect_printed(occlusive_case(1)$model, "3 components", fixed = TRUE)
})

test_that("guided candidates are where the image is unexplained", {
  set.seed(5)
  objects <- scene_objects(2, size = c(6, 6))
  scenes <- simulate_scenes(objects, 40, size = c(20, 20), prob = 1)
  model <- gps_bind(model_occlusive(2, c(6, 6), image = c(20, 20, 3)), matrix(scenes$y, 40))
  params <- list(alpha = ifelse(objects$mask == 1, 0.98, 0.02), w = objects$image,
                 pi = c(0.5, 0.5), background = rep(0, 3), sigma2 = 0.03^2, clutter = 0.05)
  params <- check_all_params(model, params, "params")
  y <- t(matrix(scenes$y, 40))
  task <- list(y = y, model = model, n_selected = 2L, n_threads = 1L)
  state <- new_state(params, 0L, 0)
  # What is kept explains the first object; the second is to be found by few candidates.
  first <- scenes$latents[scenes$latents$object == 1, ]
  second <- scenes$latents[scenes$latents$object == 2, ]
  number <- function(place, object) {
    as.integer(place$row + 20 * (place$column - 1) + 400 * (object - 1))
  }
  first <- first[order(first$point), ]
  second <- second[order(second$point), ]
  state$selected <- rbind(number(first, 1), 0L)
  block <- new_block(0, 40)
  found <- function(...) {
    screen <- gps_screen(propose = 1, explore = c(0, 0), moves = 0, conditional = c(0, 10), ...)
    selected <- screen_block(task, state, block, block_inputs(model, params, y, block), NULL,
                             resolve_screen(screen, model, as.integer(task$n_selected)),
                             list(seed = 1:2, start = 0L, iteration = 1L))
    mean(colSums(selected == rep(number(second, 2), each = 2)) > 0)
  }
  expect_gt(found(guided = c(0, 60)), 0.4)
  expect_lt(found(guided = c(0, 0)), 0.1)
})
