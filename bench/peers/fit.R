# Fits one mixture or k-means of an R package: Rscript bench/peers/fit.R METHOD FOLDER N D C SEED.
# Reads FOLDER/y.bin (row by row), writes FOLDER/centres.bin, and prints CPU seconds of the fit,
# peak MB, and the log likelihood a point under the mixture that was fitted.

source("bench/common.R")
source("bench/peers/distances.R")

given <- commandArgs(TRUE)
method <- given[1]
folder <- given[2]
n <- as.integer(given[3])
d <- as.integer(given[4])
C <- as.integer(given[5])
set.seed(as.integer(given[6]))
y <- matrix(readBin(file.path(folder, "y.bin"), "double", n * d), n, byrow = TRUE)

# log sum_c pi_c N(y; mu_c, sigma_c I), mean over the points; mu is D x C, sigma are variances.
mixture_loglik <- function(y, mu, sigma, pi) {
  mean_by_distance(y, mu, function(distance) {
    joint <- sweep(-distance / rep(2 * sigma, each = nrow(distance)), 2,
                   log(pi) - ncol(y) / 2 * log(2 * base::pi * sigma), "+")
    top <- apply(joint, 1, max)
    top + log(rowSums(exp(joint - top)))
  })
}

kmeans_of <- function(...) list(mu = t(suppressWarnings(kmeans(y, C, iter.max = 30, ...))$centers))

by_gpselect <- function(selector, ...) {
  fit <- gpselect::gps_fit(y, gpselect::model_gaussian_mixture(C, "spherical"), selector, ...,
                           control = gpselect::gps_control(n_threads = 1, progress = FALSE))
  print(fit)
  params <- coef(fit)
  list(mu = params$mu, sigma = params$sigma, pi = params$pi)
}

# mclust begins by hierarchical clustering, whose memory grows with the square of the number of
# points: of so many at most, and five for each cluster. By the covariances of the mixture itself,
# since those of its default, full ones, take far longer.
most_begun <- 2000

by_mclust <- function() {
  library(mclust)
  some <- sample.int(n, min(n, max(most_begun, 5 * C)))
  pairs <- mclust::hc(y[some, ], modelName = "VII")
  fit <- mclust::Mclust(y, C, "VII", initialization = list(hcPairs = pairs, subset = some),
                        verbose = FALSE)
  params <- fit$parameters
  list(mu = params$mean, sigma = params$variance$sigmasq, pi = params$pro)
}

by_clusterr <- function() {
  fit <- ClusterR::GMM(y, C, "eucl_dist", "random_subset", km_iter = 10, em_iter = 30, seed = 1)
  sigma <- rowMeans(fit$covariance_matrices)
  list(mu = t(fit$centroids), sigma = sigma, pi = fit$weights)
}

methods <- list(
  "R kmeans" = function() kmeans_of(),
  "mclust, begun on a sample" = by_mclust,
  "ClusterR k-means" = function() {
    fit <- ClusterR::KMeans_rcpp(y, C, num_init = 1, max_iters = 30, initializer = "kmeans++")
    list(mu = t(fit$centroids))
  },
  "ClusterR mixture (diagonal)" = by_clusterr,
  "gpselect, default" = function() by_gpselect(gpselect::selector_gp()),
  "gpselect, neighbours" = function() {
    by_gpselect(gpselect::selector_gp(method = "neighbours"))
  },
  "gpselect, hand-crafted" = function() by_gpselect(gpselect::selector_handcrafted()),
  "gpselect, all clusters" = function() by_gpselect(gpselect::selector_full())
)

peak_mb <- function() {
  line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

if (startsWith(method, "gpselect")) loadNamespace("gpselect")
if (startsWith(method, "ClusterR")) loadNamespace("ClusterR")
seconds <- cpu_time_of(fit <- methods[[method]]())
peak <- peak_mb()
loglik <- if (is.null(fit$sigma)) NA else mixture_loglik(y, fit$mu, fit$sigma, fit$pi)
writeBin(as.vector(fit$mu), file.path(folder, "centres.bin"))
cat("result", seconds, peak, loglik, "\n")
