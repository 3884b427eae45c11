set_image <- function(model, image_dim) model
temper_params <- function(model, params, temperature) params
check_smooth <- function(selector, model) NULL
