# One thread wherever a test does not say otherwise: small fits only wait for others. That their
# number changes nothing has tests of its own.
options(gpselect.threads = 1)
