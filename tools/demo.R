# The demonstration: two fits of real data with the learned selection, figures and a one-page
# report.
# Rscript tools/demo.R [folder]; `make demo` calls it with the package installed in build/library.

library(gpselect)
given <- commandArgs(TRUE)
folder <- if (length(given) > 0) given[1] else "demo-output"
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

draw <- function(file, code, width = 1100, height = 700) {
  grDevices::png(file.path(folder, file), width, height, res = 110)
  on.exit(grDevices::dev.off())
  force(code)
}

say <- function(...) cat(sprintf(...), "\n", sep = "")

# Digits and what the fit makes of them: a row of originals above a row of reconstructions.
draw_reconstructions <- function(original, response) {
  images <- t(rbind(original, pmax(response, 0)))
  title <- "Digits the fit has not seen (above), and their reconstruction (below)"
  gpselect:::image_grid(images, 8, 8, n_columns = nrow(original), titles = NULL, main = title)
}

fit_digits <- function() {
  held_out <- seq(6, nrow(digits8$x), by = 6)
  set.seed(1)
  seconds <- system.time(
    fit <- gps_fit(digits8$x[-held_out, ], model_binary_sparse(40), n_selected = 8,
                   control = gps_control(n_starts = 2, max_iter = 60))
  )[["elapsed"]]
  new <- digits8$x[held_out, ]
  response <- predict(fit, new, "response")
  explained <- 1 - sum((new - response)^2) / sum(sweep(new, 2, colMeans(new))^2)
  draw("digits-components.png", plot(fit, "components", size = 8))
  draw("digits-bound.png", plot(fit, "bound"))
  draw("digits-affinity.png", plot(fit, "affinity"))
  shown <- held_out[seq(1, length(held_out), length.out = 12)]
  draw("digits-reconstruction.png", height = 240,
       draw_reconstructions(digits8$x[shown, ], predict(fit, digits8$x[shown, ], "response")))
  list(fit = fit, seconds = seconds, n_new = length(held_out), explained = explained)
}

fit_faithful <- function() {
  set.seed(2)
  seconds <- system.time(
    fit <- gps_fit(scale(faithful), model_gaussian_mixture(3), n_selected = 2)
  )[["elapsed"]]
  draw("faithful-clusters.png", plot(fit, "clusters"))
  draw("faithful-functions.png", height = 420, plot(fit, "functions"))
  list(fit = fit, seconds = seconds)
}

escape <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)

printed <- function(fit) {
  paste0("<pre>", escape(paste(utils::capture.output(print(fit)), collapse = "\n")), "</pre>")
}

figure <- function(file, caption) {
  sprintf("<figure><img src=\"%s\" alt=\"%s\"><figcaption>%s</figcaption></figure>",
          file, caption, caption)
}

write_report <- function(digits, eruptions) {
  style <- paste(
    paste0("body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;",
           "padding:0 1em;color:#222}"),
    "img{max-width:100%;border:1px solid #ddd}figure{margin:1.5em 0}",
    paste0("figcaption{color:#555;font-size:.9em}pre{background:#f6f6f6;padding:1em;",
           "overflow:auto;font-size:.85em}"),
    ".row{display:grid;grid-template-columns:1fr 1fr;gap:1em}"
  )
  page <- c(
    paste0("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">",
           "<title>gpselect at work</title>"),
    sprintf("<style>%s</style></head><body>", style),
    "<h1>gpselect at work</h1>",
    "<p>In each iteration of expectation maximisation a Gaussian process, trained on the",
    "posterior means of the iteration before, ranks the latent variables of every data point;",
    "the E-step is exact on the states of the best ones. Nothing about the models was told to",
    "the ranking.</p>",
    "<h2>Handwritten digits: binary sparse coding</h2>",
    sprintf(paste("<p>%d images of 8 x 8 pixels, 40 components, 8 of which may be on in an image:",
                  "256 states instead of 2<sup>40</sup>. The fit took %.1f seconds with its",
                  "starts. On %d images that it has not seen it explains %.0f %% of the",
                  "variance.</p>"),
            digits$fit$n_points, digits$seconds, digits$n_new, 100 * digits$explained),
    figure("digits-components.png", "The learned components, the most used first."),
    figure("digits-reconstruction.png",
           "New digits and their reconstruction from the components that are on."),
    "<div class=\"row\">",
    figure("digits-bound.png", "The bound over the iterations, all starts."),
    figure("digits-affinity.png",
           "What the Gaussian process predicts against the posterior probability."),
    "</div>", printed(digits$fit),
    "<h2>Eruptions of the Old Faithful geyser: a Gaussian mixture</h2>",
    sprintf("<p>Three clusters, two of which are looked at for each eruption; %.1f seconds.</p>",
            eruptions$seconds),
    figure("faithful-clusters.png", "Eruptions, standardised, by their most probable cluster."),
    figure("faithful-functions.png", "The regression functions that rank the clusters."),
    printed(eruptions$fit),
    "<p>The digits are from the UCI data set Optical Recognition of Handwritten Digits by",
    "E. Alpaydin and C. Kaynak (CC BY 4.0); the eruptions come with R.</p></body></html>"
  )
  file <- file.path(folder, "report.html")
  writeLines(page, file)
  file
}

say("Fitting 40 components to handwritten digits ...")
digits <- fit_digits()
print(digits$fit)
say("%.1f seconds; %.0f %% of the variance of %d new digits explained.\n", digits$seconds,
    100 * digits$explained, digits$n_new)
say("Fitting three clusters to the eruptions of Old Faithful ...")
eruptions <- fit_faithful()
print(eruptions$fit)
say("\nFigures are in %s, the report is %s", normalizePath(folder),
    normalizePath(write_report(digits, eruptions)))
