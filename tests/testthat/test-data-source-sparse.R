# Sparse matrices of package Matrix as data.

skip_if_not_installed("Matrix")

# Counts, a tenth of which are not 0.
counts <- function(n = 600, d = 40) {
  set.seed(81)
  matrix(rbinom(n * d, 1, 0.1) * (1 + rpois(n * d, 2)), n, d,
         dimnames = list(paste0("n", seq_len(n)), paste0("d", seq_len(d))))
}

sparse <- function(y) methods::as(y, "CsparseMatrix")

seeded_fit <- function(y, model, ...) {
  set.seed(82)
  quiet_degenerate(gps_fit(y, model, ..., control = short_control(max_iter = 5)))
}

test_that("a sparse matrix gives the fit of the dense one", {
  y <- counts()
  for (row in list(
    list(model_binary_sparse(5), selector_handcrafted(), 3),
    list(model_spike_slab(4), selector_full()),
    list(model_max_spike_slab(4), selector_handcrafted(), 2),
    list(model_binary_sparse(5), selector_gp(kernel_linear()), 3)
  )) {
    fit <- do.call(seeded_fit, c(list(sparse(y)), row))
    plain <- do.call(seeded_fit, c(list(y), row))
    # Sums over the entries and over all numbers round differently.
    expect_near(fit$bound, plain$bound, 1e-9)
    for (name in names(fit$params)) expect_near(fit$params[[name]], plain$params[[name]], 1e-8)
    expect_identical(fit$selected, plain$selected)
    expect_identical(fit[c("row_names", "col_names")], plain[c("row_names", "col_names")])
  }
  mixture <- list(model_gaussian_mixture(3, "diagonal"), selector_handcrafted(), 2)
  expect_identical(without_data(do.call(seeded_fit, c(list(sparse(y)), mixture))),
                   without_data(do.call(seeded_fit, c(list(y), mixture))))
})

test_that("W'y comes from the entries, in whatever part of a block", {
  y <- counts(700, 30)
  w <- matrix(rnorm(30 * 7), 30)
  task <- list(y = read_data(sparse(y))$y,
               blocks = with_small_blocks(split_blocks(700, 30)))
  expect_length(task$blocks, 2)
  open <- open_block(task, task$blocks[[2]])
  expect_identical(open$task$y, unname(t(y[513:700, ])))
  expect_near(project_block(w, open$task$y, open$block), crossprod(w, unname(t(y[513:700, ]))),
              1e-14)
  part <- part_block(open$block, 20, 50)
  expect_near(project_block(w, open$task$y, part), crossprod(w, unname(t(y[533:582, ]))), 1e-14)
  model <- gps_bind(model_binary_sparse(7), y)
  params <- list(W = w, pi = 0.2, sigma2 = 1)
  inputs <- block_inputs(model, params, open$task$y, part)
  part["entries"] <- list(NULL)
  dense <- block_inputs(model, params, open$task$y, part)
  expect_near(inputs$proj, dense$proj, 1e-14)
  expect_identical(inputs$y_square, dense$y_square)
})

test_that("entries that cannot be are refused before they are used", {
  project <- function(start, row, value, n_points = 2, y_offset = 0) {
    .Call(C_project, diag(3), list(n_points = n_points, y_offset = y_offset,
                                   entries = list(start = start, row = row, value = value)))
  }
  expect_identical(project(c(0L, 1L, 2L), c(2L, 0L), c(5, 7)), cbind(c(0, 0, 5), c(7, 0, 0)))
  refuse <- function(words, ...) expect_gps_error(project(...), words, "model")
  refuse("have too few points", c(0L, 1L), 0L, 1)
  refuse("have too few points", c(0L, 1L, 2L), 0:1, c(1, 1), y_offset = 1)
  refuse("no valid entries for point 2", c(0L, 1L, 3L), 0:1, c(1, 1))
  refuse("no valid entries for point 1", c(0L, -1L, 2L), 0:1, c(1, 1))
  refuse("no dimension 3", c(0L, 1L, 2L), c(0L, 3L), c(1, 1))
  refuse("no dimension -1", c(0L, 1L, 2L), c(0L, -1L), c(1, 1))
  refuse("`row` must have 2 values", c(0L, 1L, 2L), 0L, c(1, 1))
})

test_that("every kind of sparse matrix is read", {
  y <- counts(12, 12)
  square <- crossprod(y)
  both <- list(
    list(sparse(y), y), list(methods::as(sparse(y), "TsparseMatrix"), y),
    list(methods::as(sparse(y), "RsparseMatrix"), y), list(sparse(y > 0), 1 * (y > 0)),
    list(methods::as(sparse(y > 0), "nMatrix"), 1 * (y > 0)),
    list(methods::as(sparse(square), "symmetricMatrix"), square),
    list(Matrix::triu(sparse(y)), y * upper.tri(y, TRUE)),
    list(Matrix::Diagonal(12, 1:12), diag(1:12)),
    list(Matrix::Diagonal(12), diag(12)), list(sparse(0 * y), 0 * y),
    list(methods::as(c(2:12, 1L), "pMatrix"), diag(12)[c(2:12, 1), ]),
    list(Matrix::sparseMatrix(i = c(1, 1, 3), j = c(2, 2, 1), x = c(1, 2, 4), repr = "T"),
         rbind(c(0, 3), c(0, 0), c(4, 0)))
  )
  for (pair in both) {
    source <- read_data(pair[[1]])$y
    expect_true(is_source_sound(source))
    expect_identical(rows_data(source, seq_len(n_points(source))), unname(t(pair[[2]])) + 0)
  }
})

test_that("what a sparse matrix may not have is named", {
  fit <- function(y) gps_fit(y, model_binary_sparse(2), selector_handcrafted())
  holes <- sparse(counts(20, 5))
  holes@x[7] <- NA
  at <- which(is.na(as.matrix(holes)), arr.ind = TRUE)
  expect_gps_error(gps_bind(model_binary_sparse(2), holes),
                   sprintf("finite values, but row %d, column %d is NA.", at[1], at[2]))
  holes@x[7] <- -Inf
  expect_gps_error(fit(holes), sprintf("row %d, column %d is -Inf.", at[1], at[2]))
  holes@x[7] <- 1
  holes@i[1] <- 99999L
  expect_gps_error(fit(holes), "`y` is not a valid matrix of package Matrix.")
  expect_gps_error(fit(Matrix::Matrix(0, 0, 3, sparse = TRUE)), "at least one row and one column")
  expect_gps_error(fit(Matrix::Matrix(0, 3, 0, sparse = TRUE)), "at least one row and one column")
  expect_gps_error(fit(Matrix::Matrix(c(-Inf, 2:6), 2)), "row 1, column 1 is -Inf.")
})

test_that("a fit of a sparse matrix predicts, also of sparse new data", {
  y <- counts(300)
  fit <- seeded_fit(sparse(y), model_binary_sparse(5), selector_gp(kernel_linear()), 3)
  expect_printed(fit, sprintf("from a sparse matrix (%.3g %% of its numbers are stored)",
                                    100 * mean(y != 0)), fixed = TRUE)
  for (type in c("prob", "response", "loglik")) {
    expect_near(predict(fit, sparse(y), type), predict(fit, y, type), 1e-10)
  }
  expect_identical(rownames(predict(fit, sparse(y)[3:4, ])), c("n3", "n4"))
  expect_near(predict(fit, sparse(y[, 40:1])), predict(fit, y), 1e-10)
  expect_identical(dimnames(residuals(fit)), dimnames(y))
  expect_near(residuals(fit) + fitted(fit), y, 1e-12)
  set.seed(83)
  further <- update(fit, max_iter = 1, start = fit)
  set.seed(83)
  expect_near(further$bound, update(fit, y = y, max_iter = 1, start = fit)$bound, 1e-9)
  odd <- fit
  odd$y$row[3] <- 99L
  expect_gps_error(predict(odd, type = "response"), "`y` is not its data")
})

test_that("the steps take sparse matrices", {
  y <- unname(counts(200))
  model <- gps_bind(model_binary_sparse(4), sparse(y))
  expect_identical(model, gps_bind(model_binary_sparse(4), y))
  params <- gps_init(model, sparse(y))
  selected <- matrix(1:3, 200, 3, byrow = TRUE)
  step <- gps_estep(model, params, sparse(y), selected)
  expect_near(step$log_evidence, gps_estep(model, params, y, selected)$log_evidence, 1e-11)
  state <- list(model = model, params = params)
  expect_near(gps_affinity(selector_handcrafted(), state, sparse(y)),
              gps_affinity(selector_handcrafted(), state, y), 1e-12)
  expect_near(gps_affinity(selector_handcrafted(), state, sparse(y), 190:200),
              gps_affinity(selector_handcrafted(), state, y, 190:200), 1e-12)
})
