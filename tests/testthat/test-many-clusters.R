# Mixtures of many clusters: statistics and rankings by latent, points that have labels, those that
# no label has reached, and moves many at a time.

# Data, a bound model, parameters and slots of so many clusters. Statistics are many enough numbers
# to be gathered latent by latent.
many_case <- function(covariance = "full", n_points = 1600, n_clusters = 50, n_dims = 20,
                      n_slots = 4) {
  set.seed(4)
  mu <- matrix(rnorm(n_dims * n_clusters), n_dims)
  cluster <- sample.int(n_clusters, n_points, TRUE)
  y <- t(mu[, cluster]) + matrix(rnorm(n_points * n_dims), n_points)
  sigma <- switch(covariance, full = array(diag(n_dims), c(n_dims, n_dims, n_clusters)),
                  diagonal = matrix(1, n_dims, n_clusters), spherical = rep(1, n_clusters),
                  tied = array(diag(n_dims), c(n_dims, n_dims, 1)))
  selected <- t(replicate(n_points, sort(sample.int(n_clusters, n_slots))))
  list(y = y, cluster = cluster, selected = selected,
       model = gps_bind(model_gaussian_mixture(n_clusters, covariance), y),
       params = list(mu = mu, sigma = sigma, pi = rep(1 / n_clusters, n_clusters)))
}

step_of <- function(case, rows = seq_len(nrow(case$y)), selected = case$selected, ...) {
  gps_estep(case$model, case$params, case$y[rows, , drop = FALSE], selected[rows, , drop = FALSE],
            ...)
}

# The sums of the definition.
dense_stats <- function(case, step) {
  prob <- matrix(0, nrow(case$y), case$model$n_latents)
  held <- case$selected > 0
  prob[cbind(row(case$selected)[held], case$selected[held])] <- step$prob_on[held]
  x <- case$y - rep(case$model$options$centre, each = nrow(case$y))
  second <- vapply(seq_len(ncol(prob)), function(k) crossprod(x, prob[, k] * x),
                   diag(ncol(x)))
  list(count = sum(rowSums(prob) > 0), on = colSums(prob), first = crossprod(x, prob),
       second = second)
}

test_that("clusters grow from their seeds: points that no label has reached are taken by none", {
  set.seed(1)
  places <- 6 * as.matrix(expand.grid(1:7, 1:7))
  cluster <- sample.int(49, 3000, TRUE)
  y <- places[cluster, ] + rnorm(6000)
  fit <- function() {
    set.seed(2)
    gps_fit(y, model_gaussian_mixture(49, "spherical"), selector_gp(method = "neighbours"),
            n_selected = 4, control = gps_control(progress = FALSE, max_iter = 20))
  }
  grown <- fit()
  expect_false(any(grepl("empty_cluster", grown$trace$events)))
  # Every place has its mean and its points.
  found <- apply(coef(grown)$mu, 2, function(mu) which.min(colSums((t(places) - mu)^2)))
  expect_identical(sort(found), 1:49)
  expect_gt(mean(found[predict(grown, type = "class")] == cluster), 0.99)
  expect_true(all(grown$selected > 0))
})

test_that("a time limit cuts seeds and what comes before the first selection", {
  case <- many_case("spherical", n_points = 200, n_dims = 6)
  fit_within <- function(seconds, y = case$y, ...) {
    set.seed(1)
    suppressWarnings(gps_fit(y, model_gaussian_mixture(50, "spherical"),
                             selector_gp(method = "neighbours"), n_selected = 4,
                             control = gps_control(progress = FALSE, n_threads = 1, max_iter = 3,
                                                   time_limit = seconds, ...)))
  }
  short <- fit_within(1e-9)
  expect_identical(short$status, "time_limit")
  # On a busy machine a few seeds may be drawn before the clock is looked at.
  expect_match(short$trace$events, "(^|, )seeds_by_chance 4[0-9], unranked 1$")
  by_chance <- sub(".*_chance ([0-9]+),.*", "\\1", short$trace$events)
  said <- gsub("\\s+", " ", paste(capture.output(print(short)), collapse = " "))
  expect_match(said, paste(by_chance, "of the seeds left to chance, before selection had begun"))
  # Also where a start on a sample was cut before it could rank for all.
  many <- matrix(rnorm(4400), 2200)
  cut <- gps_fit(many, model_binary_sparse(8), selector_gp(), 3,
                 control = gps_control(progress = FALSE, time_limit = 1e-9))
  expect_identical(cut$status, "time_limit")
  # Every point has the best of all seeds, which are data points, each its own.
  expect_identical(anyDuplicated(t(coef(short)$mu)), 0L)
  step <- gps_estep(short$model, short$params, case$y, matrix(1:50, 200, 50, byrow = TRUE))
  expect_identical(max.col(expectations(short)), max.col(step$prob_on))
  in_batches <- fit_within(1e-9, batch_size = 100)
  expect_identical(in_batches$status, "time_limit")
  expect_true(is.finite(in_batches$bound))
  # Nothing of it where there is time.
  expect_no_match(paste(fit_within(1e6)$trace$events, collapse = " "), "chance|unranked")
  expect_false(gpselect:::is_late())
})

test_that("statistics by latent are those of the definition", {
  case <- many_case()
  expect_gt(length(case$model$stats_dims), 0)
  step <- step_of(case)
  wanted <- dense_stats(case, step)
  for (name in c("on", "first")) expect_near(c(step$stats[[name]]), c(wanted[[name]]), 1e-12)
  expect_near(step$stats$second[1:20, , ], wanted$second, 1e-12)
  expect_identical(c(step$stats$count), 1600)
})

test_that("statistics by latent are sums of blocks by one tree, for any number of threads", {
  case <- many_case(n_points = 4000)
  expect_gt(4000 * 5 * 4 * 20, 3 * thread_work)
  whole <- step_of(case)$stats
  parts <- lapply(split(1:4000, (0:3999) %/% 512), function(rows) step_of(case, rows)$stats)
  expect_identical(fold_parts(unname(parts)), whole)
  expect_identical(step_of(case, n_threads = 3)$stats, whole)
  # Few numbers are summed with the E-step, by the same tree.
  few <- many_case("spherical")
  expect_lt(sum(few$model$stats_lengths), 2^14)
  expect_near(step_of(few)$stats$first, step_of(many_case())$stats$first, 1e-12)
})

test_that("statistics and M-step follow permuted rows and clusters", {
  case <- many_case()
  whole <- step_of(case)$stats
  rows <- sample.int(1600)
  for (name in names(whole)) {
    expect_near(step_of(case, rows)$stats[[name]], whole[[name]], 1e-11)
  }
  place <- sample.int(50)
  turned <- case
  turned$params <- list(mu = case$params$mu[, place], sigma = case$params$sigma[, , place],
                        pi = case$params$pi[place])
  turned$selected <- t(apply(array(match(case$selected, place), dim(case$selected)), 1, sort))
  found <- gps_mstep(turned$model, turned$params, step_of(turned)$stats)$params
  plain <- gps_mstep(case$model, case$params, whole)$params
  expect_near(found$mu, plain$mu[, place], 1e-10)
  expect_near(found$sigma, plain$sigma[, , place], 1e-10)
})

test_that("a point without a latent in a slot takes no part and is no error", {
  for (case in list(many_case(), many_case("spherical", n_points = 60))) {
    out <- c(3, 20, 21, 55)
    case$selected[out, ] <- 0
    step <- step_of(case)
    expect_identical(step$log_evidence[out], rep(-Inf, 4))
    expect_true(all(is.finite(step$log_evidence[-out])))
    expect_identical(sum(step$prob_on[out, ]), 0)
    rows <- setdiff(seq_len(nrow(case$y)), out)
    others <- step_of(case, rows)$stats
    for (name in names(others)) expect_near(step$stats[[name]], others[[name]], 1e-11)
    expect_identical(c(step$stats$count), as.double(length(rows)))
    mean <- mean(step$log_evidence[-out])
    expect_near(sum_evidence(step$log_evidence), mean * nrow(case$y), 1e-12)
  }
  expect_identical(sum_evidence(c(-Inf, -Inf)), -Inf)
  latent <- step_of(case, want = c("latent", "response", "prob"))
  expect_identical(sum(abs(latent$response[out, ])), 0)
})

test_that("the ranking in C is the log joint of the help page", {
  for (covariance in c("full", "diagonal", "spherical", "tied")) {
    case <- many_case(covariance, n_points = 70, n_dims = 3)
    y <- t(case$y)
    block <- new_block(0, 70)
    inputs <- block_inputs(case$model, case$params, y, block)
    found <- block_handcrafted(case$model, inputs, y, block, 1L)
    wanted <- t(gps_handcrafted(case$model, case$params, case$y))
    expect_near(found, wanted, 1e-12)
    expect_identical(apply(found, 2, order), apply(wanted, 2, order))
    expect_identical(block_handcrafted(case$model, inputs, y, block, 3L), found)
    part <- new_block(30, 20)
    expect_identical(block_handcrafted(case$model, inputs, y, part, 1L), found[, 31:50])
  }
})

# Which of the clusters is nearest to each point, in units of columns.
nearest_cluster <- function(y, mu, scale) {
  distance <- vapply(seq_len(ncol(mu)), function(k) colSums(((t(y) - mu[, k]) / scale)^2),
                     numeric(nrow(y)))
  max.col(-distance, "first")
}

test_that("points of many clusters are labelled with their nearest seeds", {
  case <- many_case("spherical", n_points = 1010)
  y <- rbind(case$y, case$y + 9)
  for (covariance in c("spherical", "full")) {
    model <- gps_bind(model_gaussian_mixture(50, covariance), y)
    set.seed(1)
    params <- gps_init(model, y)
    labels <- attr(params, "labels")
    # Those that seeds were looked for among come first.
    expect_gt(nrow(y), count_seed_rows(50))
    expect_identical(sort(labels$point), seq_len(nrow(y)))
    expect_identical(labels$latent,
                     nearest_cluster(y[labels$point, ], params$mu, model$options$scale))
  }
  # Also where there are fewer places than clusters, each has a point.
  again <- y[rep(1:30, 20), ]
  labels <- attr(gps_init(gps_bind(model_gaussian_mixture(50), again), again), "labels")
  expect_identical(sort(unique(labels$latent)), 1:50)
  few <- gps_bind(model_gaussian_mixture(40), y)
  expect_null(attr(gps_init(few, y), "labels"))
})

test_that("of very many points those are labelled that seeds were looked for among", {
  case <- many_case("spherical", n_points = 1010)
  y <- rbind(case$y, case$y + 9)
  local_value("most_labelled", 1)
  model <- gps_bind(model_gaussian_mixture(50, "spherical"), y)
  set.seed(1)
  params <- gps_init(model, y)
  labels <- attr(params, "labels")
  expect_identical(nrow(labels), as.integer(count_seed_rows(50)))
  expect_lt(nrow(labels), nrow(y))
  # They are named by their numbers among all.
  expect_gt(max(labels$point), nrow(labels))
  expect_identical(labels$latent,
                   nearest_cluster(y[labels$point, ], params$mu, model$options$scale))
})

test_that("a learned selection begins with labels", {
  case <- many_case("spherical", n_points = 300)
  start <- function(selector, n_selected = 4) {
    task <- new_task(t(case$y), model_gaussian_mixture(50, "spherical"), selector, n_selected, NULL,
                     gps_control(n_threads = 1, progress = FALSE))
    begin_state(task, 1)
  }
  state <- start(selector_gp(method = "exact"))
  expect_identical(state$selected[1, ], nearest_cluster(case$y, state$params$mu, 1))
  expect_true(all(state$prob_on[1, ] == 1))
  expect_identical(sum(state$selected[-1, ]), 0L)
  expect_null(start(selector_handcrafted())$selected)
  expect_null(start(selector_full(), NULL)$selected)
})

test_that("bounds begin anew while points are unreached, and the last pass reaches all", {
  case <- many_case("spherical", n_points = 300)
  task <- new_task(t(case$y), model_gaussian_mixture(50, "spherical"), selector_gp(), 4, NULL,
                   gps_control(n_threads = 1, progress = FALSE))
  state <- new_state(case$params, 0L, 0)
  slots <- t(case$selected)
  slots[, 11:200] <- 0L
  state$given <- slots
  state$bounds <- c(-5, -4)
  stepped <- infer(task, state)
  expect_length(stepped$bounds, 0)
  expect_identical(c(stepped$stats$count), 110)
  expect_true(is.finite(stepped$bound))
  state$is_last <- TRUE
  last <- pass(task, state, character())
  expect_true(all(is.finite(last$log_evidence)))
  ranked <- gps_handcrafted(task$model, case$params, case$y)[11:200, ]
  expect_identical(last$selected[, 11:200],
                   unname(apply(ranked, 1, function(a) sort(order(-a)[1:4]))))
  expect_identical(last$selected[, -(11:200)], slots[, -(11:200)])
})

test_that("many clusters have one start and five slots, few what they had", {
  selected_of <- function(n) check_n_selected(NULL, model_gaussian_mixture(n))
  expect_identical(vapply(c(1, 3, 20, 40, 41, 5000), selected_of, 1L),
                   c(1L, 2L, 5L, 10L, 5L, 5L))
  starts_of <- function(n) {
    resolve_control(gps_control(), nominal_model(model_gaussian_mixture(n), diag(n)), n)$n_starts
  }
  expect_equal(vapply(c(2, 40, 41), starts_of, 1), c(8, 8, 1))
})

test_that("slots of all of many clusters are thin between passes, and whole at the end", {
  prob <- matrix(rexp(60 * 7)^3, 60)
  prob <- prob / rep(colSums(prob), each = 60)
  thin <- thin_slots(prob)
  for (n in 1:7) {
    best <- sort(order(-prob[, n])[1:10])
    expect_identical(thin$selected[, n], best)
    expect_identical(thin$prob_on[, n], prob[best, n])
  }
  few <- matrix(c(0, 0.25, 0, 0.75), 4, 2)
  expect_identical(thin_slots(few)$selected[1:3, 2], c(2L, 4L, 0L))
  case <- many_case("spherical", n_points = 300)
  task <- new_task(t(case$y), model_gaussian_mixture(50, "spherical"), selector_full(), NULL, NULL,
                   gps_control(n_threads = 1, progress = FALSE))
  state <- new_state(case$params, 0L, 0)
  expect_false(is_thinned(task, state))
  whole <- pass(task, state)$prob_on
  thin <- thin_slots(whole)
  wide <- widen_slots(task, c(thin, list(params = case$params)))
  expect_identical(wide$selected, matrix(1:50, 50, 300))
  is_kept <- wide$prob_on > 0
  expect_identical(wide$prob_on[is_kept], whole[is_kept])
  expect_near(colSums(wide$prob_on), colSums(thin$prob_on), 1e-15)
})

test_that("many clusters that a start has missed are found by moves of many", {
  set.seed(5)
  n_clusters <- if (is_full()) 100 else 60
  n <- if (is_full()) 4000 else 1500
  mu <- matrix(rnorm(n_clusters * 6, sd = 6), 6)
  y <- t(mu[, sample.int(n_clusters, n, TRUE)]) + matrix(rnorm(n * 6), n)
  found <- function(fit) {
    sum(apply(mu, 2, function(m) min(colSums((coef(fit)$mu - m)^2))) < 1)
  }
  kinds <- c("full", "neighbours", "handcrafted")[seq_len(if (is_full()) 3 else 2)]
  fit <- function(kind, mends) {
    set.seed(1)
    selector <- switch(kind, full = selector_full(), handcrafted = selector_handcrafted(),
                       neighbours = selector_gp(method = "neighbours", rank = 20))
    # Without moves a cluster may end with two points, which is warned of.
    suppressWarnings(gps_fit(
      y, model_gaussian_mixture(n_clusters, "spherical"), selector,
      control = gps_control(max_iter = if (is_full()) 40 else 30, mend = mends, progress = FALSE,
                            n_threads = 1)
    ))
  }
  # All kinds have one start.
  without <- fit("full", FALSE)
  expect_lt(found(without), 0.95 * n_clusters)
  bounds <- vapply(kinds, function(kind) {
    with <- fit(kind, TRUE)
    expect_equal(found(with), n_clusters)
    expect_gt(with$bound, without$bound)
    expect_match(paste(with$trace$events, collapse = ", "), "split [2-9]|split [1-9][0-9]")
    with$bound
  }, 1)
  expect_near(unname(bounds) / n, rep(bounds[[1]] / n, length(kinds)), 1e-3)
})

test_that("many clusters are split by the distances of points from the mean of their own cluster", {
  case <- many_case("diagonal", n_points = 300, n_dims = 3)
  for (is_missing in c(FALSE, TRUE)) {
    if (is_missing) case$y[1:5, 2] <- NA
    task <- new_task(t(case$y), case$model, selector_full(), NULL, NULL,
                     gps_control(n_threads = 1, progress = FALSE))
    state <- new_state(case$params, 0L, 0)
    result <- pass(task, state, character())
    held <- held_slots(result)
    # Most points are shared by several clusters.
    expect_lt(mean(held$prob > 0.9), 0.1)
    splits <- rank_splits(task, state, result, held)
    own <- owned_slots(held)
    for (i in seq_along(splits$latent)) {
      k <- splits$latent[i]
      away <- t(case$y[held$point[own][held$latent[own] == k], ]) - case$params$mu[, k]
      centre <- splits$centres[, , i] %*% splits$size[, i] / sum(splits$size[, i])
      expect_near(drop(centre), rowMeans(replace(away, is.na(away), 0)), 1e-12)
    }
  }
})

test_that("a fit by neighbours has the same bits in blocks of any size", {
  case <- many_case("spherical", n_points = 1100, n_clusters = 45, n_dims = 3)
  fit <- function() {
    gps_fit(case$y, model_gaussian_mixture(45, "spherical"),
            selector_gp(method = "neighbours", rank = 8, refit_every = 2),
            control = gps_control(max_iter = 5, progress = FALSE, n_threads = 1))
  }
  set.seed(1)
  whole <- suppressWarnings(fit())
  # One block, and three of 512 points at most.
  local_value("task_doubles", function(task) block_doubles)
  set.seed(1)
  parts <- suppressWarnings(fit())
  expect_identical(coef(parts), coef(whole))
  expect_identical(parts$bound, whole$bound)
  expect_identical(parts$trace$refit, whole$trace$refit)
  expect_gt(sum(whole$trace$refit), 0)
})
