# The paragraph says what the fit is.

test_that("a report has the numbers of its fit", {
  for (name in c("mixture", "gp", "sampled", "images")) {
    fit <- a_fit(name)
    report <- gps_report(fit)
    text <- report$text
    has <- function(words) expect_true(grepl(words, text, fixed = TRUE), info = words)
    has(fit$model$name)
    has(sprintf("%d points of %d dimensions", fit$n_points, fit$model$n_dims))
    has(format(fit$bound, digits = 6))
    has(format(BIC(fit), digits = 6))
    has(paste(fit$seed, collapse = " and "))
    has(R.version.string)
    has(as.character(fit$version))
    has("truncated bound")
    expect_false(grepl("NA|NULL|character\\(0\\)", text))
  }
  expect_match(gps_report(a_fit("gp"))$text, "max_iter = 15")
  whole <- gps_fit(faithful, model_gaussian_mixture(2), selector_full(),
                   control = gps_control(progress = FALSE))
  expect_match(gps_report(whole)$parts[["end"]], "with a log-likelihood of")
  expect_match(gps_report(whole)$parts[["settings"]], "defaults")
  expect_match(gps_report(a_fit("full"))$parts[["end"]], "with a log-likelihood of")
})

test_that("lines of a report are no longer than the console", {
  old <- options(width = 60)
  on.exit(options(old))
  lines <- capture.output(print(gps_report(a_fit("gp"))))
  expect_true(all(nchar(lines) <= 60))
})

test_that("a fit without maximum says so", {
  flat <- suppressWarnings(gps_fit(cbind(faithful, 1), model_gaussian_mixture(1), selector_full(),
                                   control = gps_control(progress = FALSE)))
  expect_match(gps_report(flat)$text, "no maximum")
})
