# Data on which mixtures with many clusters are compared: name -> function(n) giving list(y, C,
# sigma), N x D, how many clusters are fitted, and where the data were drawn, what they were drawn
# from. Data of other packages are read from their sources, so that these need not be installed.

# Clusters on a square grid in the plane, as in BIRCH (Zhang, Ramakrishnan and Livny 1996).
grid_clusters <- function(side, n) {
  set.seed(1)
  centres <- as.matrix(expand.grid(seq_len(side), seq_len(side))) * 4 * sqrt(2)
  drawn_clusters(centres, n)
}

# Clusters of unit variance at these centres, equally many points in expectation.
drawn_clusters <- function(centres, n) {
  label <- sample.int(nrow(centres), n, replace = TRUE)
  y <- centres[label, ] + stats::rnorm(n * ncol(centres))
  list(y = unname(y), C = nrow(centres))
}

normal_clusters <- function(C, n, D = 16) {
  set.seed(2)
  drawn_clusters(matrix(stats::rnorm(C * D, sd = 3), C), n)
}

# An object of a package's data, from its source in R's repository; kept in build/peers.
package_data <- function(package, name) {
  file <- file.path("build", "peers", paste0(package, "-", name, ".rds"))
  if (file.exists(file)) return(readRDS(file))
  folder <- tempfile(package)
  dir.create(folder)
  source <- utils::download.packages(package, folder, type = "source", quiet = TRUE)[1, 2]
  utils::untar(source, exdir = folder)
  found <- list.files(file.path(folder, package, "data"), full.names = TRUE,
                      pattern = paste0("^", name, "[.](rda|RData)$"))
  inside <- new.env()
  if (length(found) == 1) load(found, inside)
  if (is.null(inside[[name]])) stop("no data ", name, " in the source of ", package)
  dir.create(dirname(file), showWarnings = FALSE, recursive = TRUE)
  saveRDS(inside[[name]], file)
  inside[[name]]
}

numbers_of <- function(frame) unname(as.matrix(frame[vapply(frame, is.numeric, NA)]) + 0)

# Columns in one unit, since spherical clusters have one.
in_one_unit <- function(y) {
  spread <- apply(y, 2, stats::sd)
  scale(y[, spread > 0], center = TRUE, scale = spread[spread > 0])[, ]
}

photograph_patches <- function(n) {
  set.seed(3)
  patches <- extract_patches(ascent, c(8, 8), n = n)
  y <- matrix(patches, nrow(patches))
  y - rowMeans(y)
}

peer_data <- list(
  grid_100 = function() grid_clusters(10, 1e5),
  grid_625 = function() grid_clusters(25, 1e5),
  normal_800 = function() normal_clusters(800, 2e4),
  letters = function() {
    list(y = in_one_unit(numbers_of(package_data("mlbench", "LetterRecognition"))), C = 200)
  },
  shuttle = function() {
    list(y = in_one_unit(numbers_of(package_data("mlbench", "Shuttle"))), C = 50)
  },
  digits = function() {
    list(y = numbers_of(package_data("IMIFA", "USPSdigits")$train[, -1]), C = 200)
  },
  patches = function() list(y = photograph_patches(20000), C = 500)
)
