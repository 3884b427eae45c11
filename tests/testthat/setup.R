# Two threads wherever a test does not say otherwise.
options(gpselect.threads = 2)
