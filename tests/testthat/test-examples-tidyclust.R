# The engine of inst/examples/tidyclust, where package tidyclust is there, which is large.

test_that("mixtures are an engine of tidyclust", {
  suppressWarnings(skip_if_not_installed("tidyclust"))
  of <- function(name) getExportedValue("tidyclust", name)
  # tidyclust finds an engine's functions where users have theirs.
  before <- ls(globalenv())
  on.exit(rm(list = setdiff(ls(globalenv()), before), envir = globalenv()))
  sys.source(system.file("examples", "tidyclust", "engine.R", package = "gpselect"), globalenv())
  spec <- of("gm_clust")(num_clusters = 3, circular = FALSE, zero_covariance = FALSE,
                         shared_orientation = FALSE, shared_shape = FALSE, shared_size = FALSE)
  spec <- of("set_engine")(spec, "gpselect", control = quick_control())
  set.seed(1)
  fitted <- of("fit")(spec, ~ ., data = iris[1:4])
  fit <- fitted$fit
  expect_s3_class(fit, "gps_fit")
  expect_identical(fit$model$settings$covariance, "full")
  found <- of("extract_cluster_assignment")(fitted)$.cluster
  expect_identical(as.integer(found), unname(predict(fit, type = "class")))
  expect_identical(levels(found), paste0("Cluster_", 1:3))
  # Clusters are numbered as rows come to them.
  expect_identical(unique(as.integer(found)), 1:3)
  new <- predict(fitted, iris[c(1, 51, 101), 4:1])
  expect_identical(as.integer(new$.pred_cluster),
                   unname(predict(fit, iris[c(1, 51, 101), 1:4], type = "class")))
  expect_identical(levels(predict(fitted, iris[1:2, ], prefix = "C")$.pred_cluster),
                   paste0("C", 1:3))
  centres <- of("extract_centroids")(fitted)
  expect_equal(as.matrix(centres[-1]), t(coef(fit)$mu), ignore_attr = TRUE)
  expect_identical(as.character(centres$.cluster), paste0("Cluster_", 1:3))
  other <- of("set_engine")(of("gm_clust")(num_clusters = 2), "gpselect")
  expect_error(of("fit")(other, ~ ., data = faithful), "has four covariances")
})
