# New data that are not of the kind that was fitted.

plain <- as.matrix(iris[1:4])
scaled <- gps_fit(scale(plain), model_gaussian_mixture(3, "diagonal"), selector_full(),
                  control = short_control(max_iter = 3))

test_that("raw data beside a fit of scaled ones are told of, with the column and its values", {
  told <- expect_warning(predict(scaled, plain), class = "gps_warning_far")
  expect_match(conditionMessage(told), "column 1 (\"Sepal.Length\") has -1.864 to 2.484",
               fixed = TRUE)
  expect_match(conditionMessage(told), "such as 5.8.", fixed = TRUE)
  expect_warning(gps_audit(scaled, plain), "Most of `y` lies far", class = "gps_warning_far")
  expect_warning(predict(scaled, plain[51:53, 4:1]), class = "gps_warning_far")
  holes <- plain
  holes[cbind(1:150, rep(1:4, length.out = 150))] <- NA
  expect_warning(predict(scaled, holes, "loglik"), class = "gps_warning_far")
  set.seed(1)
  bars <- simulate_bars(60, size = 3)$y
  fit <- gps_fit(bars / 255, model_binary_sparse(3), selector_full(),
                 control = short_control(max_iter = 2))
  expect_warning(predict(fit, bars), class = "gps_warning_far")
})

test_that("new data of the same kind, parts of them and single outliers are not", {
  expect_warning(predict(scaled, scale(plain)[101:150, ]), NA)
  expect_warning(predict(scaled, rbind(scale(plain)[1:4, ], 1e6)), NA)
  expect_warning(predict(scaled, plain[1, ]), NA)
  # What is rare in the fit, and asked for by itself.
  set.seed(1)
  y <- cbind(rnorm(300), rep(c(0, 1), c(297, 3)), rnorm(300))
  fit <- gps_fit(y, model_gaussian_mixture(1, "spherical"), selector_full(),
                 control = short_control(max_iter = 1))
  expect_warning(predict(fit, y[298:300, ]), NA)
  # Rare counts in very many columns.
  counts <- matrix(rpois(40 * 2000, 0.02) + rnorm(80000, sd = 1e-3), 40)
  fit <- gps_fit(counts[1:30, ], model_gaussian_mixture(1, "spherical"), selector_full(),
                 control = short_control(max_iter = 1))
  expect_warning(predict(fit, counts[31:40, ]), NA)
})

test_that("fits of sources, and those that keep no data, know where these lay", {
  holed <- replace(scale(plain), cbind(1:3, c(1, 3, 4)), NA)
  path <- tempfile(fileext = ".csv")
  write.csv(holed, path, row.names = FALSE)
  fits <- list(gps_source_csv(path), holed, gps_source(150, 4, function(first, last) {
    holed[first:last, , drop = FALSE]
  }))
  controls <- list(short_control(max_iter = 2), short_control(max_iter = 2, keep_data = FALSE))
  words <- lapply(fits, function(y) {
    lapply(controls, function(control) {
      fit <- gps_fit(y, model_gaussian_mixture(2, "diagonal"), selector_full(), control = control)
      expect_warning(predict(fit, scale(plain)[101:150, ]), NA)
      conditionMessage(expect_warning(predict(fit, plain), class = "gps_warning_far"))
    })
  })
  expect_length(unique(sub(" \\(\"[^)]*\\)", "", unlist(words))), 1)
  expect_match(unlist(words), "has -1.864 to 2.484", fixed = TRUE)
  # Learned selections hold a source in memory.
  fit <- gps_fit(fits[[3]], model_gaussian_mixture(2, "diagonal"), selector_gp(),
                 control = controls[[1]])
  expect_match(conditionMessage(expect_warning(predict(fit, plain), class = "gps_warning_far")),
               "has -1.864 to 2.484", fixed = TRUE)
  # Blocks meet in the least and greatest values, and a column without values has none.
  y <- rbind(c(3, -7, 2), c(NA, 5, 5))
  expect_identical(dimension_limits(y, find_missing(y)), rbind(c(-7, 3), c(5, 5)))
  empty <- rbind(NA_real_)
  expect_identical(dimension_limits(empty, find_missing(empty)), cbind(Inf, -Inf))
})
