# Predictions in slots and as sparse matrices: the same numbers as types "prob" and "latent".

slot_fit <- function(row, y, n_selected = 3, ...) {
  control <- gps_control(max_iter = 3, n_starts = 1, progress = FALSE, n_threads = 1, ...)
  suppressWarnings(gps_fit(y, row$model(), selector_handcrafted(), n_selected = n_selected,
                           control = control), classes = "gps_warning")
}

# What slots say, as a matrix n x choices.
dense_slots <- function(fit, slots, value = slots$prob) {
  chosen <- if (is_placed(fit$model)) slots$selected[, , "component"] else slots$selected
  out <- matrix(0, nrow(value), count_choices(fit$model),
                dimnames = if (!is.null(rownames(value))) list(rownames(value), NULL))
  for (n in seq_len(nrow(out))) {
    for (slot in which(value[n, ] != 0)) {
      at <- matrix(chosen, nrow(out))[n, slot]
      out[n, at] <- out[n, at] + value[n, slot]
    }
  }
  out
}

for_all_models("slots and sparse matrices have the numbers of type \"prob\"", function(row) {
  y <- draw_case(row, 24)$y
  rownames(y) <- paste0("p", seq_len(24))
  fit <- slot_fit(row, y)
  for (newdata in list(NULL, unname(y)[1:15, ], y[7, , drop = FALSE])) {
    prob <- predict(fit, newdata)
    slots <- predict(fit, newdata, "slots")
    expect_named(slots, c("selected", "prob"))
    expect_identical(slots$selected, predict(fit, newdata, "selected"))
    expect_identical(dim(slots$prob), c(nrow(prob), as.integer(fit$n_selected)))
    expect_identical(dimnames(slots$prob), dimnames(prob))
    expect_identical(dense_slots(fit, slots), prob)
    skip_if_not_installed("Matrix")
    sparse <- predict(fit, newdata, "sparse")
    expect_s4_class(sparse, "dgCMatrix")
    expect_identical(as.matrix(sparse), prob)
    expect_identical(length(sparse@x), sum(prob != 0))
    expect_true(methods::validObject(sparse))
  }
})

for_all_models("slots and sparse matrices have the means of type \"latent\"", function(row) {
  y <- draw_case(row, 24)$y
  rownames(y) <- paste0("p", seq_len(24))
  fit <- slot_fit(row, y)
  if (is_one_hot(fit)) {
    expect_gps_error(predict(fit, type = "latent_slots"), "has its probabilities")
    expect_gps_error(predict(fit, y, type = "latent_sparse"), "\"sparse\" has its probabilities")
    return(invisible())
  }
  for (newdata in list(NULL, y[1:15, ], unname(y)[7, , drop = FALSE])) {
    latent <- predict(fit, newdata, "latent")
    slots <- predict(fit, newdata, "latent_slots")
    expect_named(slots, c("selected", "latent"))
    expect_identical(slots$selected, predict(fit, newdata, "selected"))
    expect_identical(dim(slots$latent), c(nrow(latent), as.integer(fit$n_selected)))
    expect_true(all(slots$latent[matrix(predict(fit, newdata, "slots")$prob == 0, nrow(latent))] ==
                      0))
    expect_identical(dense_slots(fit, slots, slots$latent), latent)
    skip_if_not_installed("Matrix")
    sparse <- predict(fit, newdata, "latent_sparse")
    expect_s4_class(sparse, "dgCMatrix")
    expect_identical(as.matrix(sparse), latent)
    expect_identical(length(sparse@x), sum(latent != 0))
  }
})

test_that("draws of a sampled fit and data of a source give slots, whatever the threads", {
  skip_if_not_installed("Matrix")
  fit <- a_fit("sampled")
  y <- t(fit$y)[1:30, ]
  for (newdata in list(NULL, y, gps_source(30, 25, function(from, to) y[from:to, , drop = FALSE]),
                       methods::as(y, "CsparseMatrix"))) {
    prob <- predict(fit, newdata)
    expect_identical(dense_slots(fit, predict(fit, newdata, "slots", n_threads = 2)), prob)
    expect_identical(as.matrix(predict(fit, newdata, "sparse")), prob)
    expect_identical(as.matrix(predict(fit, newdata, "latent_sparse", n_threads = 2)),
                     predict(fit, newdata, "latent"))
  }
})

test_that("a component in several slots has the sum of their probabilities", {
  skip_if_not_installed("Matrix")
  model <- gps_bind(model_occlusive(3, c(2, 2), c(3, 4)), matrix(0, 2, 12))
  selected <- cbind(c(1L, 5L, 13L, 25L), c(2L, 3L, 12L, 0L), 0L, c(13L, 14L, 26L, 27L))
  prob_on <- cbind(c(0.1, 0.2, 0, 0.3), c(0.1, 0.2, 0.3, 0), 0, c(0.7, 0.1, 0.2, 0.4))
  sparse <- sparse_choices(selected, prob_on, model, NULL)
  expect_identical(as.matrix(sparse), scatter_choices(selected, prob_on, model))
  expect_identical(length(sparse@x), 5L)
})

test_that("slots that are all empty make an empty sparse matrix", {
  skip_if_not_installed("Matrix")
  for (row in list(MODELS[[1]], occlusive_row())) {
    model <- gps_bind(row$model(), matrix(0, 2, row$n_dims))
    sparse <- sparse_choices(matrix(0L, 2, 3), matrix(0, 2, 3), model, NULL)
    expect_s4_class(sparse, "dgCMatrix")
    expect_identical(dim(sparse), c(3L, count_choices(model)))
    expect_identical(length(sparse@x), 0L)
  }
})

test_that("a fit that has not kept its slots says so", {
  y <- bars_data()$y
  fit <- gps_fit(y, model_binary_sparse(10), selector_handcrafted(), n_selected = 4,
                 control = quick_control(keep_slots = FALSE))
  expect_gps_error(predict(fit, type = "slots"), "keep_slots = TRUE")
  expect_gps_error(predict(fit, type = "latent_slots"), "keep_slots = TRUE")
  mixture <- quiet_degenerate(gps_fit(y, model_gaussian_mixture(2), selector_full(),
                                      control = short_control(keep_slots = FALSE, max_iter = 1)))
  expect_gps_error(predict(mixture, type = "class"), "predict() without `newdata` needs")
  expect_identical(dim(predict(fit, y[1:3, ], "slots")$prob), c(3L, 4L))
})
