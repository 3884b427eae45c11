#' gpselect: expectation maximisation with learned selection of latent variables
#'
#' @keywords internal
#' @useDynLib gpselect, .registration = TRUE, .fixes = "C_"
"_PACKAGE"
