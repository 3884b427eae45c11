# Random numbers of a fit: one draw from the session's stream seeds everything that follows.
# In C the seed is the key of counter-based streams; R code runs under with_seed().

# Standard normal numbers, n_rows x n_cols. Their count is no integer where it is large.
normal_matrix <- function(n_rows, n_cols) random_matrix(n_rows, n_cols, stats::rnorm)

uniform_matrix <- function(n_rows, n_cols) random_matrix(n_rows, n_cols, stats::runif)

random_matrix <- function(n_rows, n_cols, draw) {
  with_memory(matrix(draw(as.double(n_rows) * n_cols), n_rows), "%s x %s random numbers",
              format(n_rows), format(n_cols))
}

# Two 31-bit integers from R's own generator: the only draw a fit takes from the session's stream.
stream_seed <- function() {
  as.integer(floor(stats::runif(2) * .Machine$integer.max))
}

# Evaluates `code` under R's default generators seeded from a stream seed and a number, and puts the
# session's generator back afterwards, whatever happens.
with_seed <- function(seed, number, code) {
  keep_stream({
    mixed <- seed[1] + 7919 * as.double(number) + 104729 * as.double(seed[2])
    set.seed(as.integer(mixed %% .Machine$integer.max), kind = "Mersenne-Twister",
             normal.kind = "Inversion", sample.kind = "Rejection")
    code
  })
}

# Evaluates `code` and puts the session's generator back.
keep_stream <- function(code) {
  put_back <- session_stream()
  on.exit(put_back())
  code
}

# Evaluates `code`; where that ends in an error, the session's generator is put back.
keep_stream_if_refused <- function(code) {
  put_back <- session_stream()
  is_done <- FALSE
  on.exit(if (!is_done) put_back())
  value <- code
  is_done <- TRUE
  value
}

# A function that puts the session's generator back to where it is now.
session_stream <- function() {
  old_kind <- RNGkind()
  old_seed <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  function() {
    suppressWarnings(RNGkind(old_kind[1], old_kind[2], old_kind[3]))
    if (is.null(old_seed)) {
      if (exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
        rm(".Random.seed", envir = globalenv())
      }
    } else {
      assign(".Random.seed", old_seed, envir = globalenv())
    }
  }
}
