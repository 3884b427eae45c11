#' What makes gpselect fast or slow
#'
#' Matrix products take most of the time of a learned selection, so the BLAS library of R matters
#' more than anything else; threads and the memory allocator come after it.
#'
#' @section See whether BLAS is slow:
#' `sessionInfo()` names the library, and this measures it, in Gflop/s:
#'
#' ```
#' a <- matrix(rnorm(4e6), 2000)
#' 2 * 2000^3 / system.time(a %*% a)[["elapsed"]] / 1e9
#' ```
#'
#' A path that ends in `/blas/libblas.so.3` is the reference BLAS, at a few Gflop/s at most. A
#' current processor does 30 or more per core with a good library.
#'
#' @section Cure it:
#' On Debian and its relatives, as root:
#'
#' ```
#' apt-get install libopenblas0-pthread
#' update-alternatives --config libblas.so.3-x86_64-linux-gnu
#' update-alternatives --config liblapack.so.3-x86_64-linux-gnu
#' ```
#'
#' OpenBLAS chooses its kernels by the processor it believes to be on. In virtual machines, and on
#' processors newer than itself, it can take a current processor for an old one. In a shell,
#'
#' ```
#' OPENBLAS_VERBOSE=2 Rscript -e 'invisible(1)'
#' grep -o -m1 -w -E 'avx2|avx512f' /proc/cpuinfo
#' ```
#'
#' print what it chose and what the processor can do: `Haswell` and `Zen` need AVX2, `SkylakeX`
#' needs AVX-512. `Prescott`, `Core2`, `Nehalem` or `Barcelona` on a machine that has AVX2 is the
#' mistake, and `OPENBLAS_CORETYPE=SkylakeX` in front of the command corrects it. Other kernels
#' round differently, so the same seed then gives another fit of the same quality.
#'
#' @section Threads:
#' Two kinds of threads are at work, never at the same time.
#' * *OpenMP*, in the E-step and the selection: `gps_control(n_threads = )`, or
#'   `options(gpselect.threads = )`; else all processors that OpenMP reports. `OMP_THREAD_LIMIT`
#'   caps it. Results have the same bits for any number. What takes about a millisecond or less
#'   runs on one thread. Between the loops of a larger fit threads wait actively;
#'   `OMP_WAIT_POLICY=passive`, set before R starts, leaves the processor to others.
#' * *BLAS*, in the Gaussian process and the M-step: the library decides. OpenBLAS takes
#'   `OPENBLAS_NUM_THREADS`. With another number sums are added in another order.
#'
#' Where several fits run side by side, one thread of each kind for each fit is fastest.
#'
#' @section Memory that is given back too early:
#' A fit that reads its data in blocks allocates and frees arrays of a few megabytes all the time.
#' The C library
#' of Linux hands freed memory back to the system, which has to clear it again for the
#' next block. With 10,000 to 100,000 points in blocks that takes up to half of the time; these
#' variables, set before R starts, keep the memory:
#'
#' ```
#' MALLOC_TRIM_THRESHOLD_=4000000000
#' MALLOC_MMAP_THRESHOLD_=4000000000
#' ```
#'
#' @section What to change in the call:
#' * Fewer candidates: `n_selected` and `max_active` of [gps_fit()] decide how many states the
#'   E-step sums over. [gps_audit()] tells what a smaller number loses.
#' * A cheaper ranking: `method` of [selector_gp()]. Above 2000 data points the process is
#'   approximated anyway; neighbours suit many clusters.
#' * Fewer or shorter starts: `n_starts` of [gps_control()].
#' * Small steps: `batch_size` of [gps_control()] updates parameters after each batch of points.
#'
#' @examples
#' # How fast is this R's BLAS? Gflop/s, by a small product.
#' a <- matrix(rnorm(250000), 500)
#' seconds <- max(system.time(for (i in 1:4) a %*% a)[["elapsed"]], 1e-3)
#' 4 * 2 * 500^3 / seconds / 1e9
#' @name gpselect_performance
#' @aliases gpselect-performance
#' @concept performance
#' @concept BLAS
NULL
