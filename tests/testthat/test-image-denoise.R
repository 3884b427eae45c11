# Stripes of two orientations and a flat quarter, 24 x 24, grey levels 40 and 200.
stripes <- function() {
  wave <- rep(c(40, 40, 200, 200), 6)
  image <- matrix(wave, 24, 24)
  image[1:12, 13:24] <- matrix(wave[1:12], 12, 12, byrow = TRUE)
  image[13:24, 1:12] <- 40
  image
}

add_noise <- function(image, sd, seed = 1) {
  set.seed(seed)
  image + stats::rnorm(length(image), sd = sd)
}

# A quick run: 16 components of 5 x 5 patches.
denoise_stripes <- function(..., noisy = add_noise(stripes(), 40), sd = 40,
                            model = model_spike_slab(16),
                            control = short_control(max_iter = 15, mend = FALSE)) {
  set.seed(2)
  gps_denoise(noisy, sd, model, size = 5, control = control, ...)
}

test_that("much of the noise goes, and little else", {
  clean <- stripes()
  denoised <- denoise_stripes()
  gain <- peak_ratio(denoised$image, clean, 255) - peak_ratio(denoised$noisy, clean, 255)
  # 8.1 to 9.2 dB in six draws of the noise.
  expect_gt(gain, 7)
  flat <- denoised$image[16:22, 3:9]
  expect_lt(mean((flat - 40)^2), 40^2 / 10)
  removed <- denoised$noisy - denoised$image
  expect_gt(stats::cor(as.vector(removed), as.vector(denoised$noisy - clean)), 0.9)
})

test_that("an image of noise alone becomes flat", {
  denoised <- denoise_stripes(noisy = add_noise(matrix(100, 24, 24), 10), sd = 10)
  # The mean over 25 pixels leaves a fifth of the noise; what patches learn by heart adds to it.
  expect_lt(stats::sd(denoised$image), 10 / 3)
  expect_lt(mean(rowSums(expectations(denoised$fit))), 0.5)
})

test_that("it is the mean over overlapping patches of the posterior means", {
  denoised <- denoise_stripes(step = c(2, 3), remainder = FALSE)
  patches <- extract_patches(denoised$noisy, 5, c(2, 3), as = "array")
  centre <- rowMeans(patches)
  signal <- predict(denoised$fit, patches - centre, "response")
  at <- attr(patches, "positions")
  expect_identical(denoised$image, assemble_patches(signal + centre, 24, positions = at))
  expect_identical(denoised[c("sd", "size", "step")],
                   list(sd = 40, size = c(5L, 5L), step = c(2L, 3L)))
  expect_s3_class(denoised, "gps_denoised")
})

test_that("the remainder is what exceeds noise by a standard deviation", {
  left <- rbind(c(3, 0, 0, 0, 0), c(9, -9, 0, 4, -4), 0)
  shrunk <- shrink_remainder(left, 2)
  # 4 degrees of freedom: noise has squares of 16, their standard deviation is 4 sqrt(8).
  expected <- 16 + 4 * sqrt(8)
  expect_equal(shrunk, left * c(0, 1 - expected / 194, 0), tolerance = 1e-14)

  denoised <- denoise_stripes()
  patches <- extract_patches(denoised$noisy, 5, as = "array")
  patches <- patches - rowMeans(patches)
  signal <- predict(denoised$fit, patches, "response")
  added <- assemble_patches(shrink_remainder(patches - signal, 40), 24)
  without <- denoise_stripes(remainder = FALSE)
  expect_gt(stats::sd(added), 1)
  # The same sums in another order.
  expect_equal(denoised$image - without$image, added, tolerance = 1e-12)
})

test_that("with next to no noise the image stays as it is", {
  noisy <- add_noise(stripes(), 40)
  for (sd in c(1e-150, 1e-6)) {
    expect_equal(denoise_stripes(noisy = noisy, sd = sd)$image, noisy, tolerance = 1e-9)
  }
})

test_that("the noise variance stays at what is known, and the fit is an ordinary one", {
  denoised <- denoise_stripes(n_train = 300)
  fit <- denoised$fit
  expect_identical(coef(fit)$sigma2, 1600)
  expect_identical(fit$n_points, 300L)
  expect_identical(fit$image_dim, c(5L, 5L))
  expect_identical(fit$model, gps_bind(model_spike_slab(16), t(fit$y)))
  expect_silent(check_fit(fit))
  expect_s3_class(update(fit, max_iter = 1, start = fit), "gps_fit")
  again <- denoise_stripes(start = fit)
  expect_identical(coef(again$fit)$sigma2, 1600)
  given <- denoise_stripes(start = list(W = coef(fit)$W, sigma2 = 7),
                           control = short_control(max_iter = 0))
  expect_identical(coef(given$fit)[c("W", "sigma2")], list(W = coef(fit)$W, sigma2 = 1600))
})

test_that("with the noise known the bound still never falls", {
  noisy <- add_noise(stripes(), 40)
  for (model in list(model_spike_slab(6), model_binary_sparse(6))) {
    fit <- denoise_stripes(noisy = noisy, model = model, selector = selector_full(),
                           n_selected = 6, max_active = 6)$fit
    expect_no_fall(fit$trace$bound)
  }
})

test_that("units and an offset of the image do not matter", {
  noisy <- add_noise(stripes(), 40)
  control <- short_control(max_iter = 3, mend = FALSE)
  denoised <- denoise_stripes(noisy = noisy, control = control)$image
  # Rounding differs, and EM amplifies it a little.
  scaled <- denoise_stripes(noisy = noisy / 64 - 3, sd = 40 / 64, control = control)$image
  expect_equal(64 * (scaled + 3), denoised, tolerance = 1e-8)
})

test_that("a seed decides, whatever the number of threads", {
  first <- denoise_stripes(n_train = 200)
  expect_identical(denoise_stripes(n_train = 200)$image, first$image)
  two <- denoise_stripes(n_train = 200,
                         control = short_control(max_iter = 15, mend = FALSE, n_threads = 2))
  expect_identical(two$image, first$image)
})

test_that("selections and models of all kinds denoise", {
  clean <- stripes()
  gain <- function(...) {
    denoised <- denoise_stripes(...)
    peak_ratio(denoised$image, clean, 255) - peak_ratio(denoised$noisy, clean, 255)
  }
  expect_gt(gain(selector = selector_handcrafted(gps_screen())), 5)
  expect_gt(gain(selector = selector_gp(kernel_rbf()), n_train = 200), 5)
  expect_gt(gain(model = model_binary_sparse(16)), 5)
})

test_that("defaults follow the size of the image", {
  set.seed(3)
  small <- matrix(stats::rnorm(30, sd = 5), 5)
  control <- short_control(max_iter = 1)
  denoised <- gps_denoise(small, 5, size = c(4, 2), control = control)
  expect_identical(denoised$fit[c("n_points", "n_selected", "max_active")],
                   list(n_points = 10L, n_selected = 1L, max_active = 1L))
  expect_identical(denoised$fit$model$n_latents, 1L)
  wider <- gps_denoise(matrix(stats::rnorm(900, sd = 5), 30), 5, size = 4, control = control)
  expect_identical(wider$fit[c("n_points", "n_selected", "max_active")],
                   list(n_points = 729L, n_selected = 8L, max_active = 4L))
  expect_identical(wider$fit$model$n_latents, 36L)
  expect_identical(wider$fit$selector, selector_handcrafted(FALSE))
})

test_that("pictures in colour are denoised jointly, better than channel by channel", {
  clean <- array(c(stripes(), 240 - stripes(), stripes() / 2), c(24, 24, 3))
  joint <- denoise_stripes(noisy = add_noise(clean, 60), sd = 60)
  expect_identical(dim(joint$image), c(24L, 24L, 3L))
  # 23.0 to 23.8 dB against 20.5 to 21.7 in four draws of the noise, which has 12.3 to 12.8.
  apart <- vapply(1:3, function(k) {
    denoise_stripes(noisy = joint$noisy[, , k], sd = 60)$image
  }, clean[, , 1])
  expect_gt(peak_ratio(joint$image, clean, 255), peak_ratio(apart, clean, 255) + 1)
  expect_identical(joint$fit$image_dim, c(5L, 5L, 3L))
  # The definition, with a mean for each channel.
  patches <- extract_patches(joint$noisy, 5, as = "array")
  centre <- patches
  for (k in 1:3) centre[, , , k] <- rowMeans(patches[, , , k])
  signal <- predict(joint$fit, patches - centre, "response")
  left <- patches - centre - signal
  squares <- rowSums((left / 60)^2)
  signal <- signal + left * pmax(0, 1 - (72 + 12) / squares)
  expect_equal(joint$image, assemble_patches(signal + centre, dim(clean),
                                             positions = attr(patches, "positions")),
               tolerance = 1e-12)
  expect_output(print(joint), "Denoised image of 24 x 24 pixels in colour", fixed = TRUE)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(joint))
  expect_silent(shown <- plot(joint, clean))
  expect_identical(shown$clean, clean)
  expect_gps_error(plot(joint, col = "red"), "`col` is for pictures in grey levels")
})

test_that("the level of noise is found where it is not given", {
  flat <- outer(1:200, 1:200, function(i, j) 100 + i / 9 - j / 7)
  for (sd in c(1e-20, 0.3, 10)) {
    # Overlapping differences of 40,000 pixels: a standard error of 1 %.
    found <- noise_level(sd * add_noise(0 * flat, 1) + 1e-16 * sd * flat)
    expect_equal(found / sd, 1, tolerance = 0.03)
  }
  expect_equal(noise_level(add_noise(flat, 2)), 2, tolerance = 0.03)
  expect_equal(noise_level(add_noise(ascent, 25)), 25, tolerance = 0.08)
  tiny <- matrix(c(1, 5, 2, 9), 2)
  expect_equal(noise_level(tiny), abs(1 - 5 - 2 + 9) / 2 / stats::qnorm(0.75), tolerance = 1e-12)
  noisy <- add_noise(stripes()[13:24, 1:12], 3)
  found <- denoise_stripes(noisy = noisy, sd = NULL, control = short_control(max_iter = 1))
  expect_true(found$estimated)
  expect_identical(found$sd, noise_level(noisy))
  expect_output(print(found), "(estimated); sd of what was removed", fixed = TRUE)
  expect_gps_error(gps_denoise(stripes()), "`sd` must be given: no noise is found in `image`")
  expect_gps_error(gps_denoise(matrix(1:5, 1)), "an image of one row or column")
})

test_that("an image without contrast stays as it is", {
  expect_warning(denoised <- gps_denoise(matrix(3, 6, 6), 1, model_spike_slab(2), size = 3,
                                         control = short_control(max_iter = 2)), "constant")
  expect_identical(denoised$image, matrix(3, 6, 6))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(denoised))
})

test_that("print() says what was done", {
  denoised <- denoise_stripes(n_train = 100)
  printed <- printed(denoised)
  expect_identical(printed[1], "Denoised image of 24 x 24 pixels")
  expect_match(printed[2], "^  Noise      sd 40; sd of what was removed [0-9.]+$")
  expect_identical(printed[3], "  Patches    400 of 5 x 5 pixels, 100 to learn from")
  expect_match(printed[4], "Spike-and-slab sparse coding: 16 latents")
  expect_identical(printed[5], "  Selector   hand-crafted")
  expect_identical(printed[6], "  Selected   8 of 16, at most 4 on: 163 states a point")
  expect_length(printed, 7)
})

test_that("plot() draws three pictures and puts the parameters back", {
  denoised <- denoise_stripes(control = short_control(max_iter = 1))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  before <- graphics::par(c("mfrow", "mar", "cex"))
  expect_silent(plot(denoised))
  expect_identical(plot(denoised, stripes(), peak = 200),
                   list(noisy = denoised$noisy, denoised = denoised$image, clean = stripes()))
  expect_named(plot(denoised, main = letters[1:3], col = "red", key = FALSE),
               c("noisy", "denoised", "removed"))
  expect_named(plot(denoised, main = "over all"), c("noisy", "denoised", "removed"))
  expect_gps_error(plot(denoised, main = c("one", "two")), "must be one title, or 3, one for each")
  expect_gps_error(plot(denoised, main = 3), "one for each panel, as text, not 3.")
  expect_identical(graphics::par(c("mfrow", "mar", "cex")), before)
  expect_gps_error(plot(denoised, stripes()[, 1:5]), "`clean` must be an image of 24 x 24")
  expect_gps_error(plot(denoised, "clean"), "`clean` must be a numeric matrix")
  expect_gps_error(plot(denoised, peak = 0), "`peak` must be a finite number above 0, not 0")
})

test_that("an object that was cut or edited is refused", {
  denoised <- denoise_stripes(control = short_control(max_iter = 1))
  edit <- function(name, value) {
    denoised[name] <- list(value)
    denoised
  }
  broken <- list(edit("image", NULL), edit("image", denoised$image[-1, ]), edit("noisy", "a"),
                 edit("noisy", replace(denoised$noisy, 1, NA)), edit("sd", NA_real_),
                 edit("sd", -1), edit("sd", Inf),
                 edit("size", c(25L, 5L)), edit("step", 0L),
                 edit("step", denoised$size + 1L), structure(1, class = "gps_denoised"))
  for (x in broken) {
    expect_gps_error(print(x), "`x` is not as gps_denoise() made it")
    expect_gps_error(plot(x), "`x` is not as gps_denoise() made it")
  }
  expect_gps_error(print(edit("fit", NULL)), "`fit` must be a fit")
  expect_gps_error(print(edit("fit", denoised$fit[-1])), "`fit` must be a fit")
})

test_that("the ratio is that of its definition", {
  expect_equal(peak_ratio(matrix(5, 2, 2), matrix(0, 2, 2), 50), 20, tolerance = 1e-12)
  expect_identical(peak_ratio(matrix(1, 2, 2), matrix(1, 2, 2), 255), Inf)
})

test_that("bad arguments are refused", {
  image <- stripes()
  expect_gps_error(gps_denoise(replace(image, 30, NA), 1),
                   "`image` must have finite values, but row 6, column 2 is NA")
  for (bad in list(list(1), NA_character_, character())) {
    expect_gps_error(gps_denoise(bad, 1), "`image` must be a numeric matrix, height x width")
  }
  expect_gps_error(gps_denoise(image, 1, start = data.frame()), "`start` must be a named list")
  for (bad in list(0, -1, NA_real_, Inf, 1e151, 1:2, "1")) {
    expect_gps_error(gps_denoise(image, bad), "`sd` must be a number above 0")
  }
  expect_gps_error(gps_denoise(image, 1, remainder = NA), "`remainder` must be TRUE or FALSE")
  for (bad in c(1e151, 1e-155)) {
    expect_gps_error(gps_denoise(bad * image, 1, model_spike_slab(9)),
                     "`image` has differences that are too large or too small to square")
  }
  expect_gps_error(gps_denoise(image, 1, size = 25),
                   "`size` must be a whole number between 1 and 24, not 25")
  expect_gps_error(gps_denoise(image, 1, size = 1), "`size` must be at least two pixels")
  expect_gps_error(gps_denoise(image, 1, size = c(4, 2), step = 3),
                   "`step` must be a whole number between 1 and 2, not 3")
  expect_gps_error(gps_denoise(image, 1, n_train = 0),
                   "`n_train` must be a whole number of at least 1")
  expect_gps_error(gps_denoise(image, 1, model = 3), "`model` must be a model")
  expect_gps_error(gps_denoise(image, 1, model = model_gaussian_mixture(3)),
                   "`model` must have a noise variance `sigma2`, which the model")
  expect_gps_error(gps_denoise(image, 1, model_spike_slab(9), n_selected = 10),
                   "`n_selected` must be a whole number between 1 and 9")
  expect_gps_error(gps_denoise(image, 1, model_spike_slab(9), start = 3), "`start` must be")
  expect_gps_error(gps_denoise(image, 1, start = structure(1, class = "gps_fit")),
                   "`fit` must be a fit")
  expect_gps_error(gps_denoise(image, 1, model_spike_slab(9), selector = "gp"),
                   "`selector` must be a selector")
})
