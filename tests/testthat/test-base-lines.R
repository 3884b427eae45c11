# Printed lines keep within the console.

test_that("texts are broken between words, set in below their own begin", {
  local_reproducible_output(width = 40)
  long <- "a model of many parts, each of which has a name that is not short"
  lines <- format_lines(c(Model = long, Data = "10 points"))
  expect_match(lines, "\n$")
  lines <- sub("\n", "", lines)
  expect_true(all(nchar(lines) <= 40))
  expect_match(lines[2], "^ {13}\\S")
  expect_identical(gsub(" +", " ", paste(lines[-length(lines)], collapse = " ")),
                   paste(" Model", long))
  expect_identical(lines[length(lines)], "  Data       10 points")
  # What fits to the last column stays, what does not fit in any line stays whole.
  expect_identical(wrap_text(strrep("x", 40)), strrep("x", 40))
  expect_identical(wrap_text(strrep("x", 60), "  "), paste0("  ", strrep("x", 60)))
  expect_identical(wrap_text("two  blanks"), "two  blanks")
})

test_that("what fits, models, kernels and reports print is no wider than the console", {
  objects <- list(a_fit("gp"), a_fit("learner"), summary(a_fit("mixture")), logLik(a_fit("gp")),
                  model_binary_sparse(10), gps_control(),
                  selector_gp(kernel_rbf() + kernel_linear()),
                  kernel_rbf(1, 1:30 / 7, ard = TRUE), gps_report(a_fit("gp")),
                  gp_fit(1:6, sin(1:6), kernel_rbf() + kernel_white(), optimise = FALSE))
  for (width in c(40, 50, 80)) {
    local_reproducible_output(width = width)
    for (object in objects) {
      lines <- utils::capture.output(print(object))
      longest <- lines[which.max(nchar(lines))]
      expect_lte(nchar(longest), width)
    }
  }
})

test_that("values of settings stand in one column", {
  lines <- utils::capture.output(print(gps_control()))
  values <- regexpr(" +", lines) + attr(regexpr(" +", lines), "match.length")
  expect_identical(length(unique(values)), 1L)
})

test_that("of one there are not all", {
  fit <- suppressWarnings(gps_fit(matrix(c(1, 2), 1), model_gaussian_mixture(1), selector_full(),
                                  control = gps_control(max_iter = 1, progress = FALSE)),
                          classes = "gps_warning")
  shown <- paste(utils::capture.output(print(gps_audit(fit))), collapse = "\n")
  expect_match(shown, "Points +the only data point\n")
  expect_match(shown, "exact, the only state of 1 latent\n")
})
