# Repairs of model E. A component is moved, doubled or lost on purpose.

mend_case <- function(seed = 1, n_channels = 3) {
  occlusive_case(seed, image = c(12, 14), size = c(6, 7), n_channels = n_channels, n = 30,
                 n_components = 4)
}

progress_of <- function(case, is_early = TRUE, iteration = 1L, notes = NULL, ...) {
  list(y = t(case$y), selected = t(case$selected), prob_on = 0 * t(case$selected),
       iteration = iteration, is_early = is_early, is_polishing = FALSE, notes = notes,
       seed = 1:2, is_monotone = FALSE, bound = 0, before = case$params)
}

# Statistics of a fit that uses every component, and every pixel of it.
busy_stats <- function(case) {
  stats <- gps_estep(case$model, case$params, case$y, case$selected)$stats
  stats$on[] <- 10
  stats$removal[] <- -1e3
  stats
}

# All masks in the middle of their window.
centred_masks <- function(case) {
  case$params$alpha[] <- 0.02
  case$params$alpha[, 2:5, 2:6] <- 0.9
  case
}

old_notes <- list(age = rep(20L, 4), taken = NULL)

test_that("at the prompt nothing is mended", {
  case <- mend_case()
  mended <- gps_mend(case$model, case$params, busy_stats(case))
  expect_identical(mended, list(params = case$params, relabel = NULL))
})

test_that("a window that is moved leaves the log joint as it was", {
  case <- mend_case()
  case$params$alpha[2, , ] <- 1e-300
  case$params$alpha[2, 1:3, 2:4] <- 0.8
  for (offset in list(c(-2L, 0L), c(0L, -1L), c(-1L, 1L), c(-3L, -2L))) {
    rolled <- case
    rolled$params <- roll_component(case$params, 2, offset, low = 1e-300)
    expect_identical(rolled$params$alpha[2, 1:3 - offset[1], 2:4 - offset[2]],
                     case$params$alpha[2, 1:3, 2:4])
    latents <- component_latents(case$model, 2)
    new <- seq_len(case$model$n_latents)
    new[latents] <- latents[move_latents(case$model, offset)]
    expect_setequal(new, seq_along(new))
    rolled$selected[] <- new[case$selected]
    a <- gps_estep(case$model, case$params, case$y, case$selected)
    b <- gps_estep(case$model, rolled$params, case$y, rolled$selected)
    expect_near(b$log_evidence, a$log_evidence, 1e-12)
    expect_near(b$prob_on, a$prob_on, 1e-10)
  }
})

test_that("components off centre are moved back while the fit explores", {
  case <- centred_masks(mend_case())
  case$params$alpha[3, , ] <- 0.02
  case$params$alpha[3, 1:2, 4:7] <- 0.9
  mended <- gps_mend(case$model, case$params, busy_stats(case), progress_of(case))
  expect_identical(mended$events, c(recentred = 1L, reseeded = 0L, merged = 0L))
  # The centre (1.5, 5.5) was to be (3.5, 4).
  expect_identical(mended$params$alpha[3, 3:4, 2:5], case$params$alpha[3, 1:2, 4:7])
  expect_identical(mended$params$alpha[3, 1, 1], 0.05)
  expect_identical(mended$params$alpha[-3, , ], case$params$alpha[-3, , ])
  places <- latent_places(case$model, mended$relabel)
  before <- latent_places(case$model, seq_len(case$model$n_latents))
  moved <- before$component == 3
  expect_identical(mended$relabel[!moved], which(!moved))
  expect_identical(places$row[moved], (before$row[moved] - 2) %% 12)
  expect_identical(places$column[moved], (before$column[moved] + 2) %% 14)
  late <- gps_mend(case$model, case$params, busy_stats(case), progress_of(case, is_early = FALSE))
  expect_identical(late[c("params", "relabel")], list(params = case$params, relabel = NULL))
})

test_that("a component that nobody uses starts where the data are explained worst", {
  case <- centred_masks(mend_case())
  case$params$w <- round(case$params$w, 1)
  case$y[] <- 0.1
  # Two bright windows; the brighter one is taken first.
  image <- array(0.1, c(12, 14, 3))
  bright <- array(runif(126, 3, 4), c(6, 7, 3))
  image[3:8, 5:11, ] <- bright
  case$y[7, ] <- c(image)
  image[3:8, 5:11, ] <- bright + 2
  case$y[9, ] <- c(image)
  stats <- busy_stats(case)
  stats$on[c(1, 4)] <- 0.001
  set.seed(4)
  mended <- gps_mend(case$model, case$params, stats, progress_of(case, notes = old_notes))
  expect_identical(mended$events[["reseeded"]], 2L)
  expect_identical(mended$labels$point, c(9L, 7L))
  corner <- 3 + 12 * 4
  expect_identical(mended$labels$latent, as.integer(c(corner, corner + 3 * 168)))
  expect_identical(c(mended$params$w[1, , , ]), c(bright + 2))
  expect_identical(c(mended$params$w[4, , , ]), c(bright))
  expect_identical(mended$params$pi[c(1, 4)], c(0.5, 0.5))
  expect_identical(range(mended$relabel[c(1:168, 505:672)]), c(0L, 0L))
  expect_identical(mended$relabel[169:504], 169:504)
  expect_identical(mended$notes$age, c(0L, 21L, 21L, 0L))
  # Windows that were taken are not taken again.
  again <- gps_mend(case$model, case$params, stats,
                    progress_of(case, notes = list(age = rep(20L, 4), taken = mended$notes$taken)))
  expect_false(any(paste(again$labels$point, again$labels$latent) %in%
                     paste(mended$labels$point, mended$labels$latent)))
  young <- gps_mend(case$model, case$params, stats, progress_of(case))
  expect_identical(young$events[["reseeded"]], 0L)
})

test_that("of two that are alike at a shift, one goes", {
  case <- centred_masks(mend_case())
  case$params$pi <- c(0.3, 0.2, 0.1, 0.2)
  case$params$w[3, 1:5, , ] <- case$params$w[1, 2:6, , ]
  case$params$alpha[3, 1:5, ] <- case$params$alpha[1, 2:6, ]
  stats <- busy_stats(case)
  early <- gps_mend(case$model, case$params, stats,
                    progress_of(case, iteration = 8L, notes = old_notes))
  expect_identical(early$events[c("merged", "reseeded")], c(merged = 1L, reseeded = 1L))
  expect_identical(early$labels$latent %/% 168L, 2L)
  between <- gps_mend(case$model, case$params, stats,
                      progress_of(case, iteration = 7L, notes = old_notes))
  expect_identical(between$events[["merged"]], 0L)
  # Later it is for the bound to judge, and images that had the one have the other.
  late <- gps_mend(case$model, case$params, stats,
                   progress_of(case, FALSE, iteration = 8L, notes = old_notes))
  expect_identical(late[c("params", "relabel")], list(params = case$params, relabel = NULL))
  moves <- merge_moves(list(model = case$model), list(params = case$params, notes = old_notes))
  expect_length(moves, 1)
  expect_identical(moves[[1]]$params$pi, c(0.3, 0.2, 0.005, 0.2))
  expect_lte(max(moves[[1]]$params$alpha[3, , ]), 0.05)
  expect_identical(moves[[1]]$params$alpha[-3, , ], case$params$alpha[-3, , ])
  places <- latent_places(case$model, moves[[1]]$relabel[337:504])
  before <- latent_places(case$model, 337:504)
  expect_identical(unique(places$component), 1)
  expect_identical(places$row, (before$row - 1) %% 12)
  expect_identical(places$column, before$column)
  expect_length(merge_moves(list(model = case$model),
                            list(params = moves[[1]]$params, notes = old_notes)), 0)
})

test_that("pixels that the background explains as well are taken from masks that stand", {
  case <- occlusive_case(3, image = c(12, 14), size = c(6, 7), n_channels = 3, n = 300,
                         n_components = 2)
  # What removal is, is tested against its definition in test-model-occlusive.R.
  case$params$alpha[] <- 0.6
  stats <- gps_estep(case$model, case$params, case$y, case$selected)$stats
  stats$on[] <- 100
  stats$removal[] <- -1000
  stats$removal[, 1:4, 1] <- -0.5 * 4 * log(300) + 1e-6
  stats$removal[, 1:2, 2] <- 3
  mend <- function(..., model = case$model, age = 20L) {
    gps_mend(model, case$params, stats,
             progress_of(case, ..., notes = list(age = rep(age, 2), taken = NULL)))$params$alpha
  }
  trimmed <- case$params$alpha
  trimmed[1, , 1:4] <- trimmed[2, , 1:2] <- lowest_alpha
  expect_identical(mend(is_early = FALSE), trimmed)
  expect_identical(mend(is_early = TRUE), case$params$alpha)
  stats$removal[, , 2] <- 0
  expect_identical(mend(is_early = FALSE)[2, , ], case$params$alpha[2, , ])
  expect_identical(mend(is_early = FALSE, age = 2L), case$params$alpha)
  old <- gps_bind(model_occlusive(2, c(6, 7), c(12, 14), c(background = 0.05)), case$y)
  case$params$clutter <- NULL
  expect_identical(mend(is_early = FALSE, model = old), case$params$alpha)
})

test_that("steps of masks are lengthened after annealing, while the bound rises", {
  case <- mend_case()
  old <- case$params
  old$alpha[] <- seq(0.1, 0.9, length.out = length(old$alpha))
  # Alone on a pixel: of the images in which it is on a share `goal` is owned.
  goal <- 0.95
  one_step <- goal * (1 + old$alpha / (1 - old$alpha))
  params <- replace(old, "alpha", list(array(one_step / (1 + one_step), dim(old$alpha))))
  step <- function(is_early, last) {
    progress <- progress_of(case, is_early)
    progress$before <- old
    stretch_masks(params, list(bound = last), progress)$params$alpha
  }
  expect_identical(step(TRUE, -1), params$alpha)
  expect_identical(step(FALSE, 1), params$alpha)
  expect_identical(step(FALSE, NULL), params$alpha)
  longer <- step(FALSE, -1)
  is_far <- abs(params$alpha - goal) > 0.01
  expect_true(all(abs(longer - goal)[is_far] < abs(params$alpha - goal)[is_far]))
  expect_true(all(longer > 0 & longer < 1))
})

test_that("of many slots the most probable ones say what is explained, by few states", {
  slots <- list(selected = rbind(c(1L, 2L), c(3L, 4L), c(7L, 5L), c(9L, 0L)),
                prob_on = rbind(c(0.1, 0), c(0.9, 0.2), c(0.8, 0.9), c(0.1, 0)))
  expect_identical(probable_latents(slots, 2L), rbind(c(3L, 4L), c(7L, 5L)))
  expect_identical(probable_latents(slots, 4L), slots$selected)
  set.seed(3)
  scenes <- simulate_scenes(scene_objects(2, 6), 3, size = c(11, 13), prob = 0.9)
  y <- matrix(scenes$y, 3)
  model <- gps_bind(model_occlusive(30, c(6, 6), image = c(11, 13, 3)), y)
  params <- gps_init(model, y)
  # A latent of each component, of which those of the last five are on.
  selected <- replicate(3, 143L * 0:29 + sample.int(143, 30))
  prob_on <- matrix(rep(c(0, 1), c(25, 5)), 30, 3)
  energy_of <- function(slots) unexplained_energy(model, params, t(y), slots)
  few <- c(1:11, 26:30)
  expect_identical(energy_of(list(selected = selected, prob_on = prob_on)),
                   energy_of(list(selected = selected[few, ], prob_on = prob_on[few, ])))
})
