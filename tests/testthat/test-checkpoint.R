# Runs that are stopped and gone on with: the bits of an undisturbed run, and what is refused.

lean_control <- function(...) gps_control(n_threads = 1, progress = FALSE, ...)

bars_y <- function(n = 120) {
  set.seed(41)
  simulate_bars(n, size = 3, value = 5)$y
}

# Without a word on what differs, which would be long.
expect_same <- function(object, expected, label = "the fit") {
  found <- bits_of(object)
  wanted <- bits_of(expected)
  is_same <- mapply(identical, found, wanted[names(found)])
  expect(all(is_same), sprintf("%s differs in %s.", label, toString(names(found)[!is_same])))
}

# Starts of a few iterations, which are stopped and gone on with as long ones are.
short_starts <- function(frame = parent.frame()) {
  if (!is_full()) local_value("start_iterations", 4L, frame)
}

# From a point in the starts and one in the main run; with `first`, from the first and the last as
# well.
expect_same_bits <- function(y, model, ..., control, first = is_full()) {
  short_starts()
  run <- fit_with_copies(y, model, ..., control = control)
  n <- length(run$copies)
  at <- if (first) c(0, 0.25, 0.5, 0.75, 1) else c(0.3, 0.75)
  for (number in unique(1 + round((n - 1) * at))) {
    resumed <- gps_resume(run$copies[number], y)
    expect_same(resumed, run$fit, paste("point", number, "of", n))
  }
  invisible(run$fit)
}

test_that("each model goes on to the bits of an undisturbed run", {
  y <- bars_y()
  set.seed(42)
  clusters <- simulate_clusters(150)$y
  scenes <- scene_data()$y[1:30, , , ]
  few <- lean_control(max_iter = 6, n_starts = 2)
  expect_same_bits(y, model_binary_sparse(6), n_selected = 3, control = few, first = TRUE)
  expect_same_bits(y, model_spike_slab(6, "full"), n_selected = 3, control = few)
  expect_same_bits(y, model_max_spike_slab(6), n_selected = 3, max_active = 2,
                   control = few)
  expect_same_bits(clusters, model_gaussian_mixture(4), control = few)
  expect_same_bits(scenes, model_occlusive(2, c(8, 8)), selector_handcrafted(),
                   control = lean_control(max_iter = if (is_full()) 9 else 5, n_starts = 2))
})

test_that("so do sampling, annealing, mending and minibatches", {
  y <- bars_y()
  model <- model_binary_sparse(6)
  expect_same_bits(y, model, n_selected = 3,
                   control = lean_control(max_iter = 4, n_starts = 2, method = "gibbs"))
  expect_same_bits(y, model, n_selected = 3,
                   control = lean_control(max_iter = 10, n_starts = 1, anneal = 3))
  expect_same_bits(y, model, n_selected = 3,
                   control = lean_control(max_iter = 3, n_starts = 2, batch_size = 40))
  expect_same_bits(y, model, selector_gp(method = "ichol", rank = 20), n_selected = 3,
                   control = lean_control(max_iter = 3, n_starts = 2, batch_size = 40))
  mended <- expect_same_bits(y, model_binary_sparse(8), selector_handcrafted(), n_selected = 3,
                             control = lean_control(max_iter = 40, n_starts = 1))
  expect_true(any(grepl("emptied|split|renewed", mended$trace$events)))
})

test_that("so do fits of sources, growing fits, those from a start and models of R functions", {
  local_jit()
  y <- bars_y()
  model <- model_binary_sparse(6)
  source <- gps_source(nrow(y), ncol(y), function(from, to) y[from:to, , drop = FALSE])
  few <- lean_control(max_iter = 6, n_starts = 2)
  expect_same_bits(source, model, selector_handcrafted(), n_selected = 3, control = few)
  expect_same_bits(source, model, n_selected = 3, control = few)
  expect_same_bits(y, model, n_selected = 3, control = lean_control(max_iter = 6, grow = 40))
  expect_same_bits(y, model_binary_sparse(8), selector_handcrafted(), n_selected = "auto",
                   control = few)
  set.seed(1)
  fit <- gps_fit(y, model, n_selected = 3, control = lean_control(max_iter = 3, n_starts = 1))
  expect_same_bits(y, model, n_selected = 3, start = fit, control = few)
  custom <- model_custom(
    2, init = function(y) list(mu = y[1:2, 1]),
    log_joint = function(params, y, states) -(y - drop(params$mu %*% states))^2 / 2
  )
  expect_same_bits(y[1:30, 1, drop = FALSE], custom, selector_full(),
                   control = lean_control(max_iter = 4, n_starts = 1))
})

test_that("a run at its limit goes on as one with a larger limit", {
  short_starts()
  compare <- function(y, model, ..., few, many, control = list()) {
    file <- tempfile()
    run <- function(max_iter, checkpoint = NULL) {
      set.seed(5)
      gps_fit(y, model, ..., control = do.call(lean_control, c(
        list(max_iter = max_iter, n_starts = 2, checkpoint = checkpoint), control
      )))
    }
    whole <- run(many)
    for (n in few) {
      expect_lt(run(n, file)$n_iter, whole$n_iter)
      expect_same(gps_resume(file, y, max_iter = many), whole)
    }
  }
  y <- bars_y()
  # Explorers end, mending is refused and what was held is freed because of the limit.
  compare(y, model_binary_sparse(6), n_selected = 3, few = c(0, 4, 9), many = 18)
  compare(y, model_spike_slab(6, "full"), n_selected = 3, few = c(4, 10), many = 22)
  compare(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3, few = 3, many = 6,
          control = list(batch_size = 40))
})

test_that("interrupts, time limits and errors leave the last whole iteration", {
  y <- bars_y()
  # Calls 1 to 4 and 5 to 8 are those of the two starts.
  local_value("start_iterations", 4L)
  set.seed(3)
  whole <- gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                   control = lean_control(max_iter = 9, n_starts = 2))
  stop_at <- function(call, how) {
    file <- tempfile()
    n <- 0
    step <- gpselect:::em_update
    local_value("em_update", function(...) {
      n <<- n + 1
      if (n == call) how()
      step(...)
    })
    set.seed(3)
    fit <- tryCatch(suppressWarnings(
      gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
              control = lean_control(max_iter = 9, n_starts = 2, checkpoint = file))
    ), error = identity, interrupt = identity)
    list(fit = fit, file = file)
  }
  interrupt <- function() {
    stop(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  }
  fail <- function() stop("the disk is gone")
  for (call in c(1, 6, 8, 10, 14)) for (how in list(interrupt, fail)) {
    stopped <- stop_at(call, how)
    resumed <- gps_resume(stopped$file, y)
    is_same <- identical(how, interrupt) || call > 8
    if (is_same) expect_same(resumed, whole)
    expect_identical(resumed$status, whole$status)
  }
  # A start that fails is not made again.
  expect_identical(gps_resume(stop_at(6, fail)$file, y)$failed_starts$start, 2L)
})

test_that("a time limit can be gone on from", {
  y <- bars_y()
  file <- tempfile()
  run <- function(...) {
    set.seed(3)
    gps_fit(y, model_binary_sparse(6), n_selected = 3, control = lean_control(max_iter = 25, ...))
  }
  short <- run(checkpoint = file, time_limit = 0.05)
  expect_identical(short$status, "time_limit")
  expect_same(gps_resume(file, y, time_limit = Inf), run())
})

test_that("a start that fails is recorded and said, and fatal only where all fail", {
  y <- bars_y()
  fit_with <- function(fails) {
    starts <- 0
    begin <- gpselect:::begin_state
    local_value("begin_state", function(task, number, ...) {
      if (number %in% fails) gpselect:::gps_abort("no luck", "numeric")
      begin(task, number, ...)
    })
    set.seed(3)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
            control = lean_control(max_iter = 3, n_starts = 3))
  }
  fit <- fit_with(2)
  expect_identical(fit$failed_starts, data.frame(start = 2L, message = "no luck"))
  expect_identical(fit$starts$start, c(1L, 3L))
  expect_printed(fit, "Failed +1 start of 3: no luck")
  expect_identical(fit_with(1)$starts$start, 2:3)
  expect_null(fit_with(integer())$failed_starts)
  expect_gps_error(fit_with(1:3), "no luck", "numeric")
  fit$failed_starts$start <- "two"
  expect_gps_error(predict(fit), "`failed_starts`")
})

test_that("other data, files and versions are refused by name", {
  y <- bars_y()
  file <- tempfile()
  set.seed(1)
  gps_fit(y, model_binary_sparse(6), n_selected = 3,
          control = lean_control(max_iter = 2, n_starts = 1, checkpoint = file))
  expect_gps_error(gps_resume(file, y[-1, ]), "`y` is not the data of this run: it has 119 x 9")
  expect_gps_error(gps_resume(file, y[c(2:1, 3:120), ]), "it has other numbers")
  other <- y
  other[77, 3] <- other[77, 3] * (1 + 1e-9)
  expect_gps_error(gps_resume(file, other), "it has other numbers")
  swapped <- y[c(1:60, 62, 61, 63:120), ]
  expect_gps_error(gps_resume(file, swapped), "it has other numbers")
  expect_gps_error(gps_resume(file, `colnames<-`(y, letters[1:9])), "the run had none: unname(y)")
  expect_gps_error(gps_resume(file), "`y` is missing")
  expect_gps_error(gps_resume(tempfile(), y), "there is no file")
  expect_gps_error(gps_resume(file, y, tol = 1), "`max_iter`, `time_limit`")
  expect_gps_error(gps_resume(file, y, max_iter = -1), "`max_iter`")
  bytes <- readBin(file, "raw", file.size(file))
  for (n in c(0, 10, 1000, length(bytes) %/% 2, length(bytes) - 1)) {
    writeBin(bytes[seq_len(n)], broken <- tempfile())
    expect_gps_error(gps_resume(broken, y), "is no checkpoint of a fit, or was damaged", "data")
  }
  local_value("this_version", function() "0.0.1")
  expect_gps_error(gps_resume(file, y), "and this is version 0.0.1")
})

test_that("named columns are gone on with in any order, others are named", {
  y <- `colnames<-`(bars_y(), letters[1:9])
  file <- tempfile()
  run <- function(max_iter, to) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
            control = lean_control(max_iter = max_iter, n_starts = 1, checkpoint = to))
  }
  whole <- run(3, NULL)
  run(2, file)
  for (again in list(y[, 9:1], as.data.frame(y)[c(5:9, 1:4)], cbind(x = 0, y), unname(y),
                     function_source(y)[, ])) {
    copy <- tempfile()
    file.copy(file, copy)
    expect_identical(coef(gps_resume(copy, again, max_iter = 3)), coef(whole))
  }
  expect_gps_error(gps_resume(file, y[, -2]), "the columns of the run's data by name, but \"b\"")
  expect_gps_error(gps_resume(file, unname(y)[, 9:1]), "it has other numbers")
})

test_that("what cannot be written is an error at first and a warning later", {
  y <- bars_y()
  fit_to <- function(path) {
    set.seed(1)
    gps_fit(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
            control = lean_control(max_iter = 4, n_starts = 1, checkpoint = path,
                                   checkpoint_every = 0))
  }
  expect_gps_error(fit_to(file.path(tempfile(), "a.rds")), "cannot be written")
  expect_gps_error(fit_to(tempdir()), "it is a folder")
  writeLines("mine", file <- tempfile())
  expect_gps_error(fit_to(file), "is no checkpoint of a fit, and is not replaced", "data")
  expect_identical(readLines(file), "mine")
  folder <- tempfile()
  dir.create(folder)
  file <- file.path(folder, "run.rds")
  n <- 0
  local_value("em_update", local({
    update <- gpselect:::em_update
    function(...) {
      n <<- n + 1
      # What was written so far can no longer be replaced.
      if (n == 2) dir.create(paste0(file, ".new"))
      update(...)
    }
  }))
  expect_warning(fit <- fit_to(file), "goes on", class = "gps_warning_checkpoint")
  expect_identical(fit$n_iter, 4L)
  expect_identical(gpselect:::read_header(file, "file")$version, gpselect:::this_version())
  expect_printed(readRDS(file), sprintf("fit to %d x %d numbers", nrow(y), ncol(y)))
  unlink(paste0(file, ".new"), recursive = TRUE)
  n <- 10
  expect_same(gps_resume(file, y), fit)
})

test_that("shared vectors are written once, and come back as they were", {
  x <- c(-0, NaN, NA, seq_len(600))
  object <- list(a = x, b = data.frame(x = x, y = x + 1), c = list(x, NULL, "d", sum),
                 d = matrix(x, 3), e = structure(list(x), class = "s"))
  packed <- gpselect:::pack_shared(object, x)
  expect_length(packed$vectors, 2)
  expect_identical(gpselect:::unpack_shared(packed, x), object)
  expect_length(gpselect:::pack_shared(object, c(0, x[-1]))$vectors, 3)
})

test_that("the control says what it takes", {
  expect_gps_error(gps_control(checkpoint = 3), "`checkpoint` must be NULL or the path of a file")
  expect_gps_error(gps_control(checkpoint_every = 3), "give a `checkpoint`, too")
  expect_gps_error(gps_control(checkpoint = "a", checkpoint_every = -1), "`checkpoint_every`")
})

test_that("data with missing values are known again", {
  y <- bars_y()
  y[cbind(c(3, 50, 77), c(1, 5, 9))] <- NA
  few <- lean_control(max_iter = 5, n_starts = 2)
  expect_same_bits(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3, control = few)
  file <- fit_with_copies(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                          control = few)$file
  y[4, 4] <- NA
  expect_gps_error(gps_resume(file, y), "other cells are missing")
})

test_that("an update can leave the checkpoint out, and a longer run selects as many latents", {
  set.seed(1)
  y <- simulate_bars(120, value = 5)$y
  file <- tempfile()
  on.exit(unlink(file))
  fit_for <- function(max_iter, ...) {
    set.seed(2)
    gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = "auto",
            control = gps_control(n_starts = 1, max_iter = max_iter, progress = FALSE, ...))
  }
  short <- fit_for(3, checkpoint = file, checkpoint_every = 0)
  whole <- fit_for(8)
  gone_on <- gps_resume(file, y, max_iter = 8)
  expect_identical(gone_on$n_selected, whole$n_selected)
  expect_identical(coef(gone_on), coef(whole))
  expect_null(update(short, checkpoint = NULL)$control$checkpoint)
})

test_that("a pass over minibatches is gone on with in its middle", {
  y <- bars_y()
  y[5, 5] <- NA
  few <- lean_control(max_iter = 2, n_starts = 1, batch_size = 30, checkpoint_every = 0,
                      checkpoint = tempfile())
  run <- fit_with_copies(y, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                         weights = rep(1:3, 40), control = few)
  done <- vapply(run$copies, function(file) {
    saved <- gpselect:::read_checkpoint(file, gpselect:::checkpoint_form())
    n <- gpselect:::unpack_at(saved$points, c("point", "state", "course", "n_done"))
    if (is.null(n)) 0L else n
  }, 1L)
  expect_setequal(done, 0:4)
  for (file in run$copies[done %in% 1:3]) expect_same(gps_resume(file, y), run$fit)
})

test_that("runs and fits by a formula are gone on with and made again by data", {
  d <- data.frame(label = "a", `colnames<-`(bars_y(40), letters[1:9]))
  quiet <- lean_control(max_iter = 2, n_starts = 1, checkpoint = tempfile())
  set.seed(1)
  fit <- gps_fit(~ . - label, model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                 control = quiet, data = d)
  file <- quiet$checkpoint
  expect_same(gps_resume(file, ~ . - label, data = d), fit)
  expect_same(gps_resume(file, data = d[10:1]), fit)
  expect_same(gps_resume(file, d[-1]), fit)
  expect_gps_error(gps_resume(file), "`y` is missing")
  expect_gps_error(gps_resume(file, d[-1], data = d), "`data` is for a formula, or in place of `y`")
  expect_gps_error(gps_resume(file, data = d[-2]), "`data`")
  expect_gps_error(gps_resume(file, ~ a), "A formula needs `data`")
  again <- function(...) {
    set.seed(2)
    update(fit, ..., checkpoint = NULL)
  }
  other <- d[40:1, ]
  expect_same(again(data = other), again(y = other[-1]))
  expect_identical(colnames(again(y = ~ a + b + c, data = d)$y), NULL)
  expect_identical(again(y = ~ a + b + c, data = d)$col_names, c("a", "b", "c"))
  expect_gps_error(again(data = 3), "`data` must be a data frame")
  nameless <- gps_fit(bars_y(40), model_binary_sparse(6), selector_handcrafted(), n_selected = 3,
                      control = lean_control(max_iter = 1, n_starts = 1))
  expect_gps_error(update(nameless, data = d), "columns are found by their names")
})
