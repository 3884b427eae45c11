# Fields that spike-and-slab sparse coding learns from patches of the photograph `ascent` and from
# handwritten digits: draws them into build/fields and prints how oriented and how localised they
# are, beside white noise.
# make reproduce-fields, or: Rscript bench/paper/fields.R

library(gpselect, lib.loc = if (nzchar(Sys.getenv("GPS_LIB"))) Sys.getenv("GPS_LIB"))
folder <- "build/fields"
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
set.seed(1)

photograph <- function(size, n) {
  patches <- extract_patches(ascent, size, n = n, as = "array")
  patches - rowMeans(patches)
}
digits <- aperm(array(t(digits8$x), c(8, 8, nrow(digits8$x))), c(3, 1, 2))
cases <- list("ascent-8x8" = list(y = photograph(8, 10000), n_latents = 100),
              "ascent-12x12" = list(y = photograph(12, 8000), n_latents = 100),
              "digits-8x8" = list(y = digits, n_latents = 40))

# Gradients between the pixels, down and across.
gradients <- function(field) {
  n <- dim(field)
  list(down = (field[-1, -1] - field[-n[1], -1] + field[-1, -n[2]] - field[-n[1], -n[2]]) / 2,
       across = (field[-1, -1] - field[-1, -n[2]] + field[-n[1], -1] - field[-n[1], -n[2]]) / 2)
}

# 1 where all gradients lie on one line, near 0 where they point anywhere.
orientation <- function(field) {
  g <- gradients(field)
  difference <- sum(g$down^2) - sum(g$across^2)
  sqrt(difference^2 + 4 * sum(g$down * g$across)^2) / sum(g$down^2 + g$across^2)
}

# The smallest share of the places that has 80 % of the gradients' squares.
extent <- function(field) {
  g <- gradients(field)
  squares <- sort(as.vector(g$down^2 + g$across^2), decreasing = TRUE)
  which(cumsum(squares) >= 0.8 * sum(squares))[1] / length(squares)
}

describe <- function(fields, name) {
  data.frame(fields = name, orientation = stats::median(vapply(fields, orientation, 1)),
             extent = stats::median(vapply(fields, extent, 1)))
}

run <- function(name) {
  case <- cases[[name]]
  fit <- gps_fit(case$y, model_spike_slab(case$n_latents),
                 selector_handcrafted(gps_screen(propose = 32)), n_selected = 8, max_active = 4,
                 control = gps_control(max_iter = 30, n_starts = 1, mend = FALSE, progress = FALSE))
  grDevices::png(file.path(folder, paste0(name, ".png")), 1000, 1000, res = 110)
  plot(fit, "components")
  grDevices::dev.off()
  size <- dim(case$y)[-1]
  as_fields <- function(w) lapply(seq_len(ncol(w)), function(h) matrix(w[, h], size[1]))
  noise <- matrix(stats::rnorm(prod(size) * case$n_latents), prod(size))
  rbind(describe(as_fields(coef(fit)$W), name),
        describe(as_fields(noise), sprintf("white noise, %d x %d", size[1], size[2])))
}

print(do.call(rbind, lapply(names(cases), run)), digits = 2, row.names = FALSE)
cat("Drawn into", folder, "\n")
