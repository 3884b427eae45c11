# What short starts agree about.

consensus_fit <- function(...) {
  set.seed(1)
  y <- simulate_bars(150, size = 3, value = 5)$y
  gps_fit(y, model_binary_sparse(7), selector_handcrafted(), n_selected = 3,
          control = gps_control(max_iter = 15, n_starts = 4, progress = FALSE, n_threads = 1,
                                keep_starts = TRUE, ...))
}

test_that("components of starts are counted for those of the fit, in whatever order they stand", {
  fit <- consensus_fit()
  expect_length(fit$start_params, 4)
  agreed <- gps_consensus(fit, 0.9)
  out <- gpselect:::emptied_latents(fit$model, fit$params)
  known <- setdiff(1:7, out)
  # By the definition: cosines of matched columns.
  for (start in 1:4) {
    W <- fit$start_params[[start]]$W[, agreed$permutation[known, start]]
    own <- fit$params$W[, known]
    cosine <- abs(colSums(W * own)) / sqrt(colSums(W^2) * colSums(own^2))
    expect_near(agreed$similarity[known, start], cosine, 1e-12)
    expect_identical(agreed$starts$found[start], sum(cosine >= 0.9))
  }
  expect_identical(agreed$components$found[known],
                   as.integer(rowSums(agreed$similarity[known, , drop = FALSE] >= 0.9)))
  reached <- fit$starts$bound_per_point >= max(fit$starts$bound_per_point) - 1e-3 * 9
  expect_identical(agreed$starts$reached, reached)
  others <- sum(reached) - 1
  expect_output(print(fit), paste(if (others == 0) "no" else others, "other"), fixed = TRUE)
  expect_output(print(agreed), sprintf("4, of which %d reached the best bound", sum(reached)))
  turned <- fit
  turned$start_params[[2]]$W <- turned$start_params[[2]]$W[, 7:1]
  expect_equal(gps_consensus(turned, 0.9)$components, agreed$components)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  drawn <- plot(agreed)
  expect_identical(sort(drawn$component), known)
  expect_false(is.unsorted(rev(drawn$share)))
})

test_that("a resumed run has the starts of the undisturbed one", {
  file <- tempfile()
  fit <- consensus_fit(checkpoint = file)
  expect_identical(gps_resume(file, t(fit$y))$start_params, fit$start_params)
})

test_that("clusters are matched by their centres, under their names", {
  set.seed(2)
  clusters <- simulate_clusters(90, 3)
  fit <- gps_fit(clusters$y, model_gaussian_mixture(3), selector_full(),
                 control = gps_control(n_starts = 3, progress = FALSE, keep_starts = TRUE))
  fit$latent_names <- c("a", "b", "c")
  expect_identical(gps_consensus(fit)$components$component, c("a", "b", "c"))
  expect_identical(gps_consensus(fit, 0)$components$share, rep(1, 3))
})

test_that("what it cannot say is refused", {
  fit <- consensus_fit()
  expect_gps_error(gps_consensus(fit, 2), "`threshold`")
  expect_gps_error(gps_consensus(), "`fit` is missing")
  expect_gps_error(gps_consensus(scene_fit()), "components have locations")
  expect_gps_error(gps_consensus(update(fit, keep_starts = FALSE)), "keep_starts = TRUE")
  expect_gps_error(gps_consensus(update(fit, n_starts = 1)), "which this fit had none of")
  fit$start_params <- fit$start_params[-1]
  expect_gps_error(gps_consensus(fit), "`start_params` are not those of its `starts`")
  expect_gps_error(gps_control(keep_starts = 1), "`keep_starts` must be TRUE or FALSE")
  broken <- structure(list(components = 1), class = "gps_consensus")
  expect_gps_error(print(broken), "is not as gps_consensus() made it")
  expect_gps_error(plot(broken), "is not as gps_consensus() made it")
})

test_that("each component is counted once, however many starts have found it", {
  agreed <- structure(list(
    components = data.frame(component = 1:6, found = c(4L, 3L, 2L, 1L, 0L, NA), share = 0,
                            found_by_best = 0L, similarity = 0.5),
    starts = data.frame(start = 1:4, bound_per_point = 0, chosen = FALSE, reached = TRUE,
                        found = 0L),
    similarity = matrix(0.5, 6, 4), threshold = 0.9
  ), class = "gps_consensus")
  shown <- gsub("\\s+", " ", paste(capture.output(print(agreed)), collapse = " "))
  expect_match(shown, "1 of 5 found by all starts, 1 by most but not all, 2 by half or fewer, 1 by")
})
