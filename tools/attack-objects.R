count_objects <- function() 0L
attack_object <- function(item) NULL
