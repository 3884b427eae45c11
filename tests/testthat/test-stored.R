# Fits that earlier versions stored, with the numbers that they gave (data-raw/stored-fits.R).

stored_fits <- function() {
  files <- list.files(test_path("stored"), "[.]rds$", recursive = TRUE, full.names = TRUE)
  cases <- lapply(files, readRDS)
  names(cases) <- sub("[.]rds$", "", file.path(basename(dirname(files)), basename(files)))
  unlist(cases, recursive = FALSE)
}

# What is not as stored, each leaf relative to its largest.
unlike_stored <- function(now, then, name) {
  if (!is.list(then)) {
    unlike <- !is.numeric(now) || length(now) != length(then)
    off <- if (unlike) Inf else max(0, abs(now - then)) / max(1, abs(then))
    return(if (!isTRUE(off <= 1e-12)) sprintf("%s is off by %.3g.", name, off))
  }
  if (!identical(names(now), names(then))) return(paste(name, "has other parts."))
  unlist(lapply(names(then), function(part) {
    unlike_stored(now[[part]], then[[part]], paste0(name, "$", part))
  }))
}

# A gradient has a term for each observation, and they cancel where a search has ended: what is left
# has the rounding of the terms, which differs between processors.
by_observation <- function(numbers) {
  if (is.null(numbers$gradient)) return(numbers)
  numbers$gradient <- numbers$gradient / length(numbers$own$mean)
  numbers
}

# Which are looked at from every side: all by `make test-full`, else every kind of fit in one
# version, by turns.
has_turn <- function(names) {
  kind <- sub("^[^/]*/", "", names)
  turn <- stats::ave(seq_along(names), kind, FUN = function(at) {
    seq_along(at) == 1 + at[1] %% length(at)
  })
  stats::setNames(is_full() | turn == 1, names)
}

# Of the others, what they hold and what they make of new data.
short_numbers <- function(fit, newdata, then) {
  list(coef = coef(fit), logLik = c(logLik(fit)), df = attr(logLik(fit), "df"),
       new = if (!is.null(then$new)) list(response = predict(fit, newdata, type = "response")))
}

shorten <- function(then) {
  c(then[c("coef", "logLik", "df")], list(new = then$new["response"]))
}

test_that("fits of earlier versions give the same numbers", {
  cases <- stored_fits()
  expect_gt(length(cases), 45)
  in_full <- has_turn(names(cases))
  for (name in names(cases)) {
    case <- cases[[name]]
    then <- case$numbers
    is_short <- !inherits(case$fit, "gp_fit") && !in_full[[name]]
    if (is_short) then <- shorten(then)
    # Some new data are in other units than what was fitted, which later versions say.
    now <- suppressWarnings(classes = "gps_warning_far", {
      if (inherits(case$fit, "gp_fit")) {
        gp_numbers(case$fit, case$newdata)
      } else if (is_short) {
        short_numbers(case$fit, case$newdata, then)
      } else {
        numbers_of(case$fit, case$newdata)
      }
    })
    expect_identical(unlike_stored(by_observation(now), by_observation(then), name), NULL)
  }
})

test_that("fits of earlier versions can be shown, drawn from and continued", {
  cases <- Filter(function(case) inherits(case$fit, "gps_fit"), stored_fits())
  shown <- names(which(has_turn(names(cases))))
  # What update() does with a fit depends on its model at most; gps_fit() is called with all parts.
  updated <- shown[is_full() | !duplicated(sub("^[^/]*/([^.]*).*", "\\1", shown))]
  for (name in shown) {
    fit <- cases[[name]]$fit
    expect_printed(fit, "Fit by", info = name)
    expect_output(print(summary(fit)), info = name)
    expect_length(simulate(fit, 2, seed = 1, n = 3), 2)
    if (is.null(fit$y)) next
    y <- if (is.null(fit$image_dim)) t(fit$y) else array(t(fit$y), c(fit$n_points, fit$image_dim))
    # The control as it was stored, but for going on until nothing moves.
    control <- fit$control
    control$max_iter <- 1L
    expect_no_error(suppressWarnings({
      if (name %in% updated) update(fit, max_iter = 1, n_starts = 1, progress = FALSE)
      gps_fit(y, fit$model, fit$selector, fit$n_selected, control = control, start = fit)
    }, classes = "gps_warning"))
  }
})
