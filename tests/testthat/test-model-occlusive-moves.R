# Moves of model E: parts of one object are found and joined, idle components start anew.

# An object whose left half is component 1 and right half component 2, each centred in its window.
split_case <- function() {
  set.seed(11)
  objects <- scene_objects(2, size = c(6, 6))
  objects$mask[1, , ] <- 1L
  objects$image[1, , , ] <- stats::runif(6 * 6 * 3, 0.2, 1)
  scenes <- simulate_scenes(objects, 80, size = c(16, 16), prob = 0.6)
  y <- matrix(scenes$y, 80)
  model <- gps_bind(model_occlusive(3, c(8, 8), image = c(16, 16, 3)), y)
  params <- list(alpha = array(0.02, c(3, 8, 8)), w = array(0.5, c(3, 8, 8, 3)),
                 pi = c(0.5, 0.5, 0.01), background = rep(0, 3), sigma2 = 9e-4)
  params$alpha[1, 2:7, 3:5] <- 0.95
  params$w[1, 2:7, 3:5, ] <- objects$image[1, , 1:3, ]
  params$alpha[2, 2:7, 3:5] <- 0.95
  params$w[2, 2:7, 3:5, ] <- objects$image[1, , 4:6, ]
  place <- scenes$latents[scenes$latents$object == 1, ]
  number <- function(component, down, right) {
    as.integer((place$row - 1 + down) %% 16 + 1 + 16 * ((place$column - 1 + right) %% 16) +
                 256 * (component - 1))
  }
  state <- new_state(complete_params(model, params), 0L, 0)
  state$notes <- list(age = rep(20L, 3))
  state$selected <- matrix(0L, 2, 80)
  state$selected[1, place$point] <- number(1, -1, -2)
  state$selected[2, place$point] <- number(2, -1, 1)
  state$prob_on <- matrix(as.double(state$selected > 0), 2)
  task <- list(y = t(y), model = model, n_selected = 2L, n_threads = 1L,
               selector = list(screen = gps_screen()), control = list(monotone = FALSE))
  list(task = task, state = state, objects = objects, scenes = scenes)
}

test_that("components that stand side by side wherever they are become one", {
  case <- split_case()
  on <- scatter_choices(case$state$selected, case$state$prob_on, case$task$model)
  parts <- find_parts(case$task, case$state, on)
  expect_length(parts, 1)
  expect_equal(c(parts[[1]]$a, parts[[1]]$b), c(1, 2))
  expect_equal(parts[[1]]$shift, c(0, 3))
  moves <- join_moves(case$task, case$state, on)
  expect_identical(moves[[1]]$event, "joined")
  joined <- list(alpha = moves[[1]]$params$alpha, w = moves[[1]]$params$w)
  found <- match_components(joined, case$objects)
  expect_identical(found$permutation[1], 1L)
  expect_gt(found$similarity[1], 0.99)
  expect_true(all(joined$alpha[2, , ] <= low_alpha))
  # The joined component, whose window is centred, stands where its halves stood.
  moved <- relabel_slots(case$state, moves[[1]]$relabel)
  stands <- colSums(case$state$selected > 0) > 0
  expect_identical(colSums(moved$selected > 0), as.numeric(stands))
  place <- case$scenes$latents[case$scenes$latents$object == 1, ]
  expect_identical(moved$selected[1, place$point],
                   as.integer((place$row - 2) %% 16 + 1 + 16 * ((place$column - 2) %% 16)))
  # An image in which only one half was seen tells as much.
  for (half in 1:2) {
    alone <- case$state
    alone$selected[1, ] <- alone$selected[half, ]
    alone$selected[2, ] <- 0L
    expect_identical(relabel_slots(alone, moves[[1]]$relabel)$selected, moved$selected)
  }
})

test_that("pairs that have no component in common are joined at once", {
  pairs <- list(list(a = 1, b = 2), list(a = 2, b = 3), list(a = 4, b = 3), list(a = 5, b = 4))
  expect_identical(disjoint_pairs(pairs), pairs[c(1, 3)])
  expect_identical(disjoint_pairs(list()), list())
})

test_that("a renewed component begins with what the images in which it was found have in common", {
  case <- split_case()
  model <- case$task$model
  place <- case$scenes$latents[case$scenes$latents$object == 2, ]
  # Its window stands two pixels off, and its first image shows something else there.
  state <- case$state
  state$selected[] <- 0L
  state$prob_on[] <- 0
  corner <- as.integer((place$row + 1) %% 16 + 1 + 16 * ((place$column + 1) %% 16))
  state$selected[1, place$point] <- corner + 512L
  state$prob_on[1, place$point] <- 1
  state$params$pi[3] <- 0.4
  settled <- settle_components(case$task, state, 3L)
  expect_identical(settled$params$pi, state$params$pi)
  expect_identical(settled$sought, 3L)
  expect_true(all(settled$selected == 0))
  object <- array(0, c(8, 8, 3))
  shown <- rep(c(case$objects$mask[2, , ]) == 1, 3)
  object[2:7, 2:7, ][shown] <- case$objects$image[2, , , ][shown]
  window <- array(settled$params$w[3, , , ], c(8, 8, 3))
  # Objects need not fill their own square, so that the window is right up to a shift.
  distance <- outer(-2:2, -2:2, Vectorize(function(down, right) {
    rows <- (seq_len(8) - 1 + down) %% 8 + 1
    columns <- (seq_len(8) - 1 + right) %% 8 + 1
    stats::median(abs(window - object[rows, columns, ]))
  }))
  expect_lt(min(distance), 0.03)
  state$prob_on[] <- 0
  expect_identical(settle_components(case$task, state, 3L)$params, state$params)
})

test_that("components that meet by chance stay apart", {
  case <- split_case()
  on_places <- which(case$state$selected[2, ] > 0)
  case$state$selected[2, on_places] <- 256L + seq_along(on_places)
  on <- scatter_choices(case$state$selected, case$state$prob_on, case$task$model)
  expect_length(find_parts(case$task, case$state, on), 0)
  case$state$prob_on[] <- 0
  expect_length(find_parts(case$task, case$state, 0 * on), 0)
})

test_that("the idle component is offered what is explained worst, and nothing without a screen", {
  case <- split_case()
  moves <- find_moves(case$task, case$state)
  events <- vapply(moves, `[[`, "", "event")
  expect_identical(events[1], "joined")
  expect_true("renewed" %in% events)
  renewed <- moves[[which(events == "renewed")[1]]]
  expect_identical(renewed$components, 3L)
  # The window shows the second object, which no component has.
  renewed$params$alpha[3, , ] <- 0.9
  seen <- match_components(list(alpha = renewed$params$alpha, w = renewed$params$w), case$objects)
  expect_identical(seen$permutation[2], 3L)
  expect_gt(seen$similarity[2], 0.7)
  case$task$selector$screen <- NULL
  expect_length(find_moves(case$task, case$state), 0)
})

test_that("all idle components begin anew at once, or the one that is needed least", {
  on <- cbind(rep(1, 200), c(rep(0.9, 150), rep(0, 50)), c(1, rep(0, 199)), rep(0, 200))
  expect_identical(idle_components(on), c(4L, 3L))
  expect_identical(idle_components(on[, 1:2]), 2L)
  case <- split_case()
  # No window shows an object that another has already.
  expect_length(renewing_moves(case$task, case$state, 2:3), 1)
  case$state$selected[] <- 0L
  case$state$prob_on[] <- 0
  moves <- renewing_moves(case$task, case$state, 2:3)
  expect_identical(lapply(moves, `[[`, "components"), list(2:3, 2L, 2L))
  expect_identical(vapply(moves, `[[`, 1L, "times"), c(2L, 1L, 1L))
  # Each has a window of its own, with an object of its own.
  params <- moves[[1]]$params
  expect_setequal(match_components(params[c("alpha", "w")], case$objects)$permutation, 2:3)
  expect_identical(moves[[1]]$params$w[2, , , ], moves[[2]]$params$w[2, , , ])
})

test_that("a component is worth half of log N for each pixel of its mask and features", {
  case <- split_case()
  task <- c(case$task, n_whole = 320)
  params <- case$state$params
  # Two halves of 6 x 3 pixels; a quarter of the rows stands for a quarter of the price.
  expect_equal(parameter_price(task, params), 0.5 * log(320) * 80 / 320 * 36 * 4)
  more <- params
  more$alpha[3, 1:2, 1:5] <- 0.6
  new <- list(params = more, bound = 30, bound_error = 0)
  old <- list(params = params, bound = 0, bound_error = 0)
  price <- 0.5 * log(320) / 4 * 40
  expect_equal(saved_price(task, new, old), -price)
  expect_identical(exceeds(new, old, 0, saved_price(task, new, old)), 30 > price)
  new$bound <- 28
  expect_identical(exceeds(new, old, 0, saved_price(task, new, old)), 28 > price)
})

test_that("components that are looked for are selected nowhere", {
  case <- split_case()
  state <- forget_components(case$task$model, case$state, 2L)
  expect_false(any(choice_of(case$task$model, state$selected) == 2))
  expect_identical(state$sought, 2L)
  expect_identical(sum(state$selected > 0), sum(case$state$selected[1, ] > 0))
})

test_that("images in any unit are the same images", {
  set.seed(2)
  y <- simulate_scenes(scene_objects(3, size = c(6, 6), channels = 1), 20, size = c(9, 9))$y
  fit <- function(unit) {
    set.seed(3)
    suppressWarnings(gps_fit(unit * y, model_occlusive(3, c(6, 6)), selector_handcrafted(),
                             control = gps_control(max_iter = 3, n_starts = 1, mend = FALSE)))
  }
  before <- fit(1)
  # Sums over pixels in single precision had no squares beyond 1e19, nor below 1e-19.
  for (unit in 2^c(-400, -80, 80, 400)) {
    after <- fit(unit)
    expect_near(after$bound + length(y) * log(unit), before$bound, 1e-9)
    expect_near(after$params$w / unit, before$params$w, 1e-9)
    expect_near(after$params$alpha, before$params$alpha, 1e-9)
  }
})
