# What memory does not hold is refused in the package's class, with what was asked for.

most <- .Machine$integer.max

test_that("counts beyond the limit of integers are refused with the limit", {
  read <- function(from, to) matrix(0, to - from + 1, 2)
  for (bad in list(3e9, 2^31, 1e300, Inf)) {
    expect_gps_error(gps_source(bad, 2, read), "`n` must be a whole number between 1 and 21474836")
    expect_gps_error(gps_control(max_iter = bad), "between 0 and 2147483647")
    expect_gps_error(gps_control(batch_size = bad), "between 1 and 2147483647")
    expect_gps_error(model_binary_sparse(bad), "between 1 and 2147483647")
    expect_gps_error(simulate_bars(bad), "between 1 and 2147483647")
  }
  expect_gps_error(model_occlusive(1, c(3e9, 2)), "must be whole numbers between 1 and 100000")
  expect_gps_error(gps_control(sweeps = c(1, 3e9)), "`sweeps[2]` must be a whole number between 1")
  for (bad in list(0, 2.5, -3e9, NA, "5")) {
    expect_gps_error(gps_source(bad, 2, read), "`n` must be a whole number of at least 1")
  }
  source <- gps_source(most, 2, read)
  expect_output(print(source), "2147483647 data points")
})

test_that("a file of too many data points is said to be one", {
  skip_on_os("windows")
  path <- tempfile()
  on.exit(unlink(path))
  # A file with a hole takes no room.
  connection <- file(path, "wb")
  seek(connection, 3e9, rw = "write")
  writeBin(as.raw(1), connection)
  close(connection)
  skip_if(file.size(path) < 3e9, "no large files")
  expect_gps_error(gps_source_binary(path, 1, "uint8"),
                   "has 3000000001 data points; a source has at most 2147483647")
})

test_that("as many draws as there are integers are refused before anything is made", {
  set.seed(1)
  y <- matrix(abs(rnorm(60)), 20)
  for (model in list(model_binary_sparse(3), model_spike_slab(3), model_spike_slab(3, "full"),
                     model_max_spike_slab(3), model_gaussian_mixture(3),
                     model_gaussian_mixture(3, "diagonal"))) {
    model <- gps_bind(model, y)
    condition <- expect_gps_error(gps_draw(model, gps_init(model, y), most),
                                  "`n` draws ask for 2147483647 x 3 values", "memory")
    expect_s3_class(condition, "gps_error_argument")
  }
  image <- gps_bind(model_occlusive(1, c(2, 2), c(3, 3)), matrix(rnorm(90), 10))
  expect_gps_error(gps_draw(image, gps_init(image, matrix(rnorm(90), 10)), most),
                   "2147483647 x 9 values", "memory")
  fit <- gps_fit(y, model_binary_sparse(3), selector_full(), control = short_control(max_iter = 2))
  expect_gps_error(simulate(fit, n = most), "2147483647 x 3 values", "memory")
  expect_gps_error(posterior_sample(fit, most, 1), "2147483647 x 3 values", "memory")
  expect_gps_error(simulate_bars(most), "2147483647 x 25 values", "memory")
  expect_gps_error(simulate_clusters(most), "2147483647 x 3 values", "memory")
  expect_gps_error(simulate_scenes(n = most), "2147483647 x 2700 values", "memory")
  expect_gps_error(scene_objects(most), "2147483647 x 300 values", "memory")
})

test_that("where memory ends, the error has the package's class and says what was asked for", {
  skip_on_cran()
  skip_on_os(c("windows", "mac"))
  skip_if(grepl("asan", Sys.getenv("LD_PRELOAD"), fixed = TRUE), "memory cannot be limited")
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c(
    package_call(),
    "set.seed(1)",
    "say <- function(what, code) tryCatch({ code; cat(what, 'made\\n') }, error = function(e) {",
    "  cat(what, if (inherits(e, 'gps_error_memory')) 'memory' else 'other',",
    "      gsub('\\n', ' ', conditionMessage(e)), '\\n')",
    "})",
    "y <- matrix(abs(rnorm(60)), 20)",
    "short <- gps_control(max_iter = 1, n_starts = 1)",
    "fit <- gps_fit(y, model_binary_sparse(2), selector_full(), control = short)",
    "model <- gps_bind(model_binary_sparse(2), y)",
    "say('draw', gps_draw(model, coef(fit), 4e8))",
    "say('simulate', simulate(fit, n = 4e8))",
    "say('sets', simulate(fit, 2^31 - 1))",
    "say('posterior', posterior_sample(fit, 4e7))",
    "say('fit', suppressWarnings(gps_fit(y, model_binary_sparse(1e9), selector_random())))",
    "say('bars', simulate_bars(8e7))",
    "say('clusters', simulate_clusters(6e8))",
    "say('process', gp_fit(matrix(rnorm(2e4), ncol = 1), rnorm(2e4), optimise = FALSE))",
    "wide <- gps_source(9, 2e9, function(from, to) 0)",
    "say('source', gps_fit(wide, model_binary_sparse(2), selector_random()))",
    "say('match', match_components(matrix(1, 2, 4e4), matrix(1, 2, 4e4)))",
    "say('small', gps_fit(y, model_binary_sparse(2), selector_full(), control = short))"
  ), file)
  command <- sprintf("ulimit -v 2500000; exec %s --vanilla %s", file.path(R.home("bin"), "Rscript"),
                     file)
  output <- suppressWarnings(system2("bash", c("-c", shQuote(command)), stdout = TRUE,
                                     stderr = TRUE, env = "OPENBLAS_NUM_THREADS=1", timeout = 60))
  for (words in c("^draw memory `n` = 400000000 draws: cannot allocate .*not enough memory",
                  "^simulate memory `nsim` = 1 data sets of `n` = 400000000 points: cannot",
                  "^sets memory `nsim` = 2147483647 data sets", "^posterior memory `n_draws` = 4",
                  "^fit memory A fit of 20 data points with 1000000000 latents",
                  "^bars memory `n` = 80000000 images", "^clusters memory `n` = 6",
                  "^process memory A Gaussian process on 20000 data points",
                  "^source memory A fit of 9 data points of 2000000000 dimensions",
                  "^match memory Similarities of 40000 x 40000 components", "^small made")) {
    expect_match(output, words, all = FALSE)
  }
})

test_that("numbers of points are checked without a list of all", {
  expect_identical(check_point_numbers(c(most, 1), most), c(most, 1L))
  for (bad in list(0, 1.5, 4, NA, numeric(), "1", -1, c(1, NaN), TRUE, Inf)) {
    expect_gps_error(check_point_numbers(bad, 3), "`points` must be whole numbers between 1 and 3")
  }
  expect_identical(check_point_numbers(NULL, 3), 1:3)
})
