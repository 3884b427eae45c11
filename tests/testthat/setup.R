# One thread wherever a test does not say otherwise: small fits only wait for others. That their
# number changes nothing has tests of its own.
options(gpselect.threads = 1)
# R's checks allow two threads; the tests that ask for more are none of CRAN's.
if (identical(Sys.getenv("NOT_CRAN"), "true")) Sys.unsetenv("_R_CHECK_LIMIT_CORES_")
