measure_size <- measure_claims <- measure_batches <- run_size <- function(options) NULL
