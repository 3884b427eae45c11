# Selection for new data: as good as the fit's own, of each point by itself.

small_bars <- function(n, model) {
  simulate_bars(n, model, prob = 0.15, value = 6, mu = if (model == "spike_slab") 0 else 1,
                psi = if (model == "max_spike_slab") 0.1 else 1)
}

# Fits from the truth: list(fit, own, new), made once a run.
new_case <- function(model, selector) {
  name <- paste("new", model, selector)
  if (!is.null(fit_store[[name]])) return(fit_store[[name]])
  set.seed(31)
  is_mixture <- model == "gaussian_mixture"
  data <- if (is_mixture) simulate_clusters(200, 8, 3) else small_bars(200, model)
  rows <- function(at) list(y = data$y[at, ], latents = data$latents[at, ])
  shape <- switch(model, binary_sparse = model_binary_sparse(10), spike_slab = model_spike_slab(10),
                  max_spike_slab = model_max_spike_slab(10),
                  gaussian_mixture = model_gaussian_mixture(8, "spherical"))
  start <- if (is_mixture) {
    list(mu = data$mu, sigma = rep(1, 8), pi = rep(1 / 8, 8))
  } else {
    data[intersect(c("W", "pi", "mu", "psi", "sigma2"), names(data))]
  }
  fit <- gps_fit(data$y[1:100, ], shape, new_selectors[[selector]](),
                 n_selected = if (is_mixture) 2 else 5, start = start,
                 control = short_control(max_iter = 6, n_threads = 1, mend = FALSE))
  fit_store[[name]] <- list(fit = fit, own = rows(1:100), new = rows(101:200))
}

new_selectors <- list(
  exact = function() selector_gp(kernel_rbf()),
  ichol = function() selector_gp(method = "ichol", rank = 40),
  inducing = function() selector_gp(kernel_rbf(), method = "inducing", rank = 30),
  fourier = function() selector_gp(kernel_rbf(), method = "fourier", rank = 60),
  divide = function() selector_gp(kernel_rbf(), method = "divide", rank = 50),
  handcrafted = function() selector_handcrafted(),
  random = function() selector_random(),
  custom = function() {
    selector_custom(function(params, y) {
      y %*% if (is.null(params$W)) params$mu else params$W
    })
  }
)
screening <- setdiff(names(new_selectors), c("random", "custom"))

mean_loglik <- function(fit, ...) mean(predict(fit, ..., type = "loglik"))

# The mean log evidence of y when all latents are summed over, at the parameters of the fit.
full_evidence <- function(fit, y) {
  n_latents <- fit$model$n_latents
  all <- matrix(seq_len(n_latents), nrow(y), n_latents, byrow = TRUE)
  mean(gps_estep(fit$model, fit$params, y, all, want = character())$log_evidence)
}

test_that("new data lose next to nothing to the sum over all latents", {
  for (model in c("binary_sparse", "spike_slab", "gaussian_mixture")) {
    # What stands for a kernel by few functions is the engine's matter, not the model's.
    all <- model == "binary_sparse" || is_full()
    for (selector in if (all) screening else c("exact", "ichol", "handcrafted")) {
      case <- suppressWarnings(new_case(model, selector), classes = "gps_warning")
      label <- paste(model, selector)
      loss <- full_evidence(case$fit, case$new$y) - mean_loglik(case$fit, case$new$y)
      expect_lt(loss, 0.5, label = paste("loss of new data,", label))
      expect_gt(loss, -1e-9, label = paste("loss of new data,", label))
      # As many of the latents that are on have probability 0 as of the fit's own.
      missed <- function(prob, latents) sum(prob == 0 & latents == 1) / sum(latents)
      if (model == "gaussian_mixture") next
      expect_lt(missed(predict(case$fit, case$new$y), case$new$latents),
                missed(predict(case$fit), case$own$latents) + 0.05, label = label)
    }
  }
})

test_that("new data of sampled and of random selections are like the fit's own", {
  for (selector in c("exact", "handcrafted")) {
    case <- new_case("max_spike_slab", selector)
    expect_gt(mean_loglik(case$fit, case$new$y), mean_loglik(case$fit) - 1.5, label = selector)
  }
  for (model in c("binary_sparse", "gaussian_mixture")) {
    case <- new_case(model, "random")
    expect_gt(mean_loglik(case$fit, case$own$y), mean_loglik(case$fit) - 0.5, label = model)
  }
})

test_that("the fit's own data as new data are explained as well", {
  for (model in c("binary_sparse", "spike_slab", "max_spike_slab", "gaussian_mixture")) {
    all <- model == "binary_sparse" || is_full()
    for (selector in c("exact", "handcrafted", if (all) c("ichol", "custom"))) {
      fit <- suppressWarnings(new_case(model, selector)$fit, classes = "gps_warning")
      y <- t(fit$y)
      expect_gt(mean_loglik(fit, y), mean_loglik(fit) - 0.1, label = paste(model, selector))
    }
  }
})

test_that("each new point is predicted by itself", {
  set.seed(32)
  models <- c("binary_sparse", "spike_slab", "max_spike_slab", "gaussian_mixture")
  selectors <- c("exact", "ichol", "handcrafted", "random")
  for (model in models) {
    # Each with one of the others, every pair in `make test-full`.
    for (selector in if (is_full()) selectors else selectors[match(model, models)]) {
      case <- suppressWarnings(new_case(model, selector), classes = "gps_warning")
      y <- case$new$y[1:20, ]
      shuffle <- sample(20)
      for (type in c("selected", "prob", "loglik", "state")) {
        whole <- as.matrix(predict(case$fit, y, type))
        label <- paste(model, selector, type)
        expect_equal(as.matrix(predict(case$fit, y[shuffle, ], type)),
                     whole[shuffle, , drop = FALSE], tolerance = 1e-8, label = label)
        expect_equal(as.matrix(predict(case$fit, y[7, , drop = FALSE], type)),
                     whole[7, , drop = FALSE], tolerance = 1e-8, label = label)
        expect_identical(as.matrix(predict(case$fit, y, type, n_threads = 2)), whole, label = label)
      }
    }
  }
})

test_that("streams of random numbers belong to the values of a point", {
  set.seed(33)
  y <- matrix(rnorm(60), 3)
  streams <- function(y) .Call(C_streams, y, new_block(0, ncol(y)))
  found <- streams(y)
  expect_false(anyNA(found))
  expect_length(unique(found), 20)
  shuffle <- sample(20)
  expect_identical(streams(y[, shuffle]), found[shuffle])
  expect_identical(streams(y * 2^9), found)
  expect_identical(streams(cbind(0, -0, y))[1:2], rep(streams(matrix(0, 3, 1)), 2))
  expect_identical(part_block(new_block(0, 20, streams = found), 4, 6)$streams, found[5:10])
})

test_that("what is given to a screen holds for new data, and no screen ranks alone", {
  y <- small_bars(60, "binary_sparse")$y
  fit_with <- function(selector) {
    set.seed(34)
    gps_fit(y, model_binary_sparse(10), selector, n_selected = 3, control = quick_control())
  }
  best <- function(affinity) t(apply(affinity, 1, function(a) sort(order(-a)[1:3])))
  alone <- fit_with(selector_handcrafted(screen = FALSE))
  expect_identical(predict(alone, y, "selected"), best(gps_affinity(alone$selector, alone, y)))
  few <- fit_with(selector_handcrafted(gps_screen(propose = 3, explore = c(0, 0))))
  expect_identical(predict(few, y, "selected"), best(gps_affinity(few$selector, few, y)))
})

test_that("fits of versions before 0.3.0 select once, by the number of the row", {
  case <- new_case("binary_sparse", "random")
  old <- case$fit
  old$version <- package_version("0.2.0")
  y <- case$new$y
  selected <- predict(old, y, "selected")
  expect_false(identical(predict(case$fit, y, "selected"), selected))
  expect_false(identical(predict(old, y[100:1, ], "selected"), selected[100:1, ]))
  expect_identical(predict(old, y[1:20, ], "selected"), selected[1:20, ])
})

test_that("objects of new images are selected about as often as those of the fit's own", {
  set.seed(35)
  objects <- scene_objects(4, c(6, 6))
  scenes <- simulate_scenes(objects, 140, c(12, 12), wrap = TRUE)
  alpha <- array(0.01, c(4, 7, 7))
  w <- array(0, c(4, 7, 7, 3))
  alpha[, 1:6, 1:6] <- pmin(pmax(objects$mask, 0.01), 0.99)
  w[, 1:6, 1:6, ] <- objects$image
  start <- list(alpha = alpha, w = w, pi = rep(0.2, 4), background = c(0, 0, 0), sigma2 = 9e-4)
  own <- scenes$y[1:100, , , ]
  new <- scenes$y[101:140, , , ]
  fit <- gps_fit(own, model_occlusive(4, c(7, 7)), selector_gp(), n_selected = 3, start = start,
                 control = short_control(max_iter = 6, n_threads = 1, anneal = 1, hold = 0,
                                         mend = FALSE))
  recall <- function(objects, rows) {
    true <- scenes$latents[scenes$latents$point %in% rows, ]
    key <- function(x, point, object) paste(point, object, x$row, x$column)
    mean(key(true, true$point - rows[1] + 1, true$object) %in%
           key(objects, objects$point, objects$component))
  }
  found <- predict(fit, new, "objects")
  expect_gt(recall(found, 101:140), recall(predict(fit, own, "objects"), 1:100) - 0.1)
  expect_gt(mean_loglik(fit, own), mean_loglik(fit) - 10)
  shuffle <- sample(40)
  expect_equal(predict(fit, new[shuffle, , , ]), predict(fit, new)[shuffle, ], tolerance = 1e-6)
})

test_that("clusters ranked by the log joint itself are selected as screening would", {
  set.seed(8)
  centres <- matrix(rnorm(120), 60)
  y <- centres[sample(60, 150, TRUE), ] + rnorm(300, sd = 0.3)
  new <- centres[sample(60, 100, TRUE), ] + rnorm(200, sd = 0.3)
  for (form in c("full", "diagonal", "spherical")) {
    pi <- c(rep(1 / 58, 58), 0, 0)
    sigma <- switch(form, full = array(0.09 * diag(2), c(2, 2, 60)), diagonal = matrix(0.09, 2, 60),
                    spherical = rep(0.09, 60))
    predictions <- lapply(list(NULL, gps_screen()), function(screen) {
      fit <- suppressWarnings(
        gps_fit(y, model_gaussian_mixture(60, form), selector_handcrafted(screen), n_selected = 4,
                start = list(mu = t(centres), sigma = sigma, pi = pi),
                control = short_control(max_iter = 0, n_threads = 1)), classes = "gps_warning"
      )
      expect_identical(is.null(new_prediction_task(fit, t(new), "prob")$selector$screen),
                       is.null(screen))
      predict(fit, new, "slots")
    })
    expect_identical(predictions[[1]], predictions[[2]])
  }
})

test_that("prediction by neighbours makes nothing of the size of latents x points", {
  skip_if_not_installed("Matrix")
  set.seed(9)
  centres <- matrix(rnorm(4000, sd = 3), 1000)
  draw <- function(n) centres[sample(1000, n, TRUE), ] + rnorm(4 * n, sd = 0.3)
  fit <- suppressWarnings(
    gps_fit(draw(1100), model_gaussian_mixture(1000, "spherical"),
            selector_gp(method = "neighbours"), control = short_control(max_iter = 0),
            start = list(mu = t(centres), sigma = rep(0.09, 1000), pi = rep(1e-3, 1000))),
    classes = "gps_warning"
  )
  new <- draw(4000)
  predict(fit, new[1:10, ], "sparse")
  # All probabilities are 4e6 numbers. What R has not yet collected counts, too.
  before <- gc(reset = TRUE)["Vcells", "used"]
  for (type in c("class", "slots", "sparse")) predict(fit, new, type)
  expect_lt(gc()["Vcells", 5] - before, 3.6e6)
})

test_that("new data look at what stood beside their best cluster in the fit", {
  set.seed(1)
  mu <- matrix(rnorm(8 * 300, sd = 3), 8)
  draw <- function(n) t(mu[, sample.int(300, n, TRUE)] + matrix(rnorm(8 * n), 8))
  y <- draw(2000)
  new <- draw(200)
  set.seed(2)
  fit <- suppressWarnings(gps_fit(
    y, model_gaussian_mixture(300, "spherical"),
    selector_gp(method = "neighbours", screen = gps_screen(propose = 8, neighbours = 5)),
    control = gps_control(max_iter = 8, n_threads = 1, progress = FALSE, mend = FALSE)
  ))
  expect_identical(dim(fit$gp$beside), c(20L, 300L))
  best_five <- predict(fit, new, type = "loglik")
  every <- matrix(1:300, 200, 300, byrow = TRUE)
  all <- gps_estep(fit$model, coef(fit), new, every)$log_evidence
  without <- fit
  without$gp["beside"] <- list(NULL)
  loss <- c(mean(all - best_five), mean(all - predict(without, new, type = "loglik")))
  expect_true(all(all >= best_five - 1e-8))
  expect_lt(loss[1], 0.6 * loss[2])
  expect_lt(loss[1], 0.05)
  for (bad in list(301L, -1L, NA_integer_)) {
    broken <- fit
    broken$gp$beside[3, 7] <- bad
    expect_error(predict(broken, new), "`gp$beside`", fixed = TRUE, class = "gps_error_argument")
  }
})
