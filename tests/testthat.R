library(testthat)
library(gpselect)

test_check("gpselect")
