# The paragraph says what the fit is.

test_that("a Gaussian process is told where it is told of", {
  gp <- gp_fit(1:5, sin(1:5), kernel_rbf(1, 1) + kernel_white(), optimise = FALSE)
  expect_gps_error(gps_report(gp), "not a Gaussian process of gp_fit(), of which print()")
})

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

test_that("a bound is called the log-likelihood where it is that, by logLik() as in a report", {
  source <- gps_source(nrow(faithful), 2, function(from, to) as.matrix(faithful[from:to, ]))
  fit_by <- function(...) {
    gps_fit(source, model_gaussian_mixture(2), ...,
            control = gps_control(progress = FALSE, max_iter = 3, n_starts = 1))
  }
  whole <- fit_by(selector_full())
  expect_printed(logLik(whole), "^Log-likelihood: -[0-9.]+ \\(df = 11, nobs = 272\\)$")
  expect_true(attr(logLik(whole), "whole"))
  cut <- fit_by(selector_handcrafted(), n_selected = 1)
  expect_printed(logLik(cut), "^Truncated bound on the log-likelihood: ")
  expect_null(attr(logLik(cut), "whole"))
  # A paper has no use for where this fit's data are.
  expect_match(gps_report(whole)$parts[["model"]], "to 272 points of 2 dimensions.", fixed = TRUE)
  # What is at another temperature than 1 is a lower limit.
  whole$standing$temperature <- 2
  expect_printed(logLik(whole), "^Truncated bound on the log-likelihood: ")
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

test_that("a report says what was missing, where the fit began and who chose, and no path", {
  set.seed(1)
  y <- as.matrix(faithful)[1:80, ]
  y[cbind(c(3, 9), 1:2)] <- NA
  fit_from <- function(start, ...) {
    gps_fit(y, model_gaussian_mixture(2), selector_full(), start = start,
            control = gps_control(progress = FALSE, max_iter = 2, mend = FALSE, ...))
  }
  by_labels <- fit_from(rep(1:2, 40), checkpoint = tempfile())
  text <- gps_report(by_labels)$text
  expect_match(text, "2 cells, 1.25 % of all, were missing and integrated out")
  expect_match(text, "starting points: given labels")
  expect_false(grepl("checkpoint", text))
  expect_output(print(fit_from(coef(by_labels))), "Starts +given values of `mu`, `sigma`, `pi`")
  expect_output(print(fit_from(y[1:2, ])), "Starts +given centres")
  expect_output(print(fit_from(by_labels)), "Starts +the end of another fit")
  expect_output(print(fit_from(NULL, n_starts = 1)), "Starts +one, from random first values$")
  by_labels["begun"] <- list(NULL)
  expect_output(print(by_labels), "Starts +one, or as given")
  set.seed(1)
  bars <- simulate_bars(100, size = 3, value = 5)$y
  auto <- gps_fit(bars, model_binary_sparse(6), selector_handcrafted(), n_selected = "auto",
                  control = gps_control(progress = FALSE, max_iter = 2, n_starts = 1))
  expect_match(gps_report(auto)$text, paste0("a number chosen automatically (", auto$chosen$line),
               fixed = TRUE)
})

test_that("a report is grammatical, and of placed latents says how many are selected", {
  set.seed(1)
  ones <- matrix(rbinom(400, 1, 0.4), 50)
  auto <- gps_fit(ones, model_noisy_or(4), n_selected = "auto",
                  control = short_control(max_iter = 1))
  expect_match(gps_report(auto)$text, "chosen automatically \\([^,]*.*\\), with at most")
  expect_false(grepl(",,", gps_report(auto)$text, fixed = TRUE))
  y <- array(rnorm(20 * 64, 0, 0.1), c(20, 8, 8))
  y[, 3:5, 3:5] <- y[, 3:5, 3:5] + 1
  placed <- suppressWarnings(gps_fit(
    y, model_occlusive(2, size = c(3, 3), image = c(8, 8)), selector_handcrafted(), n_selected = 2,
    control = short_control(max_iter = 1)
  ))
  text <- gps_report(placed)$text
  expect_match(text, "over 2 of 128 placed latents (2 components at 8 x 8 places) for each data",
               fixed = TRUE)
  expect_match(text, "selection: .*; Shelton et al., 2017")
  expect_match(text, "with a truncated bound on the log-likelihood of")
})

test_that("every status makes a sentence", {
  fit <- a_fit("spherical")
  verbs <- c(time_limit = "The fit ran out of time after ",
             interrupted = "The fit was interrupted ",
             converged = "The fit converged after ", max_iter = "The fit stopped at the limit of ")
  for (status in names(verbs)) {
    fit$status <- status
    expect_match(gps_report(fit)$parts[["end"]], verbs[[status]], fixed = TRUE, info = status)
  }
})
