# A small fit of scenes that several files share, and the scenes.

scene_data <- function() {
  set.seed(21)
  simulate_scenes(scene_objects(3, 6), 60, size = c(11, 13), prob = 0.4)
}

scene_fit <- function(name = "scene") {
  if (is.null(fit_store[[name]])) {
    set.seed(22)
    sampled <- name == "scene_sampled"
    y <- scene_data()$y
    if (sampled) y <- y[1:20, , , ]
    fit_store[[name]] <- suppressWarnings(
      gps_fit(y, model_occlusive(4, c(8, 8)), selector_handcrafted(), n_selected = 3,
              control = gps_control(max_iter = if (sampled) 3 else 25, progress = FALSE,
                                    n_threads = 1, method = if (sampled) "gibbs" else "auto")),
      classes = "gps_warning"
    )
  }
  fit_store[[name]]
}

# Draws on a device that shows nothing, and puts the parameters back as they were.
draw_quiet <- function(code) {
  grDevices::pdf(NULL, 7, 3.3)
  on.exit(grDevices::dev.off())
  before <- graphics::par(c("mar", "oma", "mfrow", "cex"))
  force(code)
  expect_identical(graphics::par(names(before)), before)
  invisible(code)
}
