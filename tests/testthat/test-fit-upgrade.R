# Fits of other versions of the same major number.

test_that("what a fit lacked gets what it meant, step by step", {
  fit <- a_fit("handcrafted")
  old <- unclass(fit)
  old$version <- package_version("0.1.0")
  old$seed <- NULL
  old <- structure(old, class = "gps_fit")
  expect_gps_error(check_fit(old), "it has no `seed`")
  changes <- list("0.0.9" = function(parts) stop("never for this one"),
                  "0.1.5" = function(parts) c(parts, list(seed = 1L)),
                  "0.2.0" = function(parts) within_list(parts, seed = c(parts$seed, 2L)))
  new <- upgrade_fit(old, changes)
  expect_identical(new$seed, c(1L, 2L))
  expect_identical(coef(check_fit(new)), coef(fit))
  expect_identical(upgrade_fit(fit, changes), fit)
  junk <- structure(list(version = package_version("0.1.0")), class = "gps_fit")
  expect_identical(upgrade_fit(junk, list("0.2.0" = function(parts) stop("no"))), junk)
})

test_that("a control and a model of an earlier version lack what came later", {
  fit <- a_fit("handcrafted")
  old <- fit
  old$control$keep_slots <- NULL
  old$control$mend <- NULL
  old$model$version <- NULL
  old$model$events <- NULL
  expect_identical(check_fit(old)$control$keep_slots, TRUE)
  expect_identical(check_fit(old)$model, fit$model)
  expect_identical(predict(old, named_bars()[1:3, ]), predict(fit, named_bars()[1:3, ]))
})

test_that("a fit of a newer version is taken where it is sound, else its version is said", {
  fit <- a_fit("handcrafted")
  fit$version <- package_version("0.999.0")
  fit$model$version <- "0.999.0"
  fit$later <- "a field of later"
  expect_identical(predict(fit, named_bars()[1:3, ]),
                   predict(a_fit("handcrafted"), named_bars()[1:3, ]))
  odd <- fit
  odd$model$events <- c(odd$model$events, "later")
  expect_gps_error(coef(odd), "version 0.999.0 made it, and this is version")
  odd <- fit
  odd$selector$later <- 1
  expect_gps_error(coef(odd), "It comes from version 0.999.0")
  odd <- fit
  odd$version <- package_version("1.0.0")
  expect_gps_error(coef(odd), "it comes from version 1.0.0")
})
