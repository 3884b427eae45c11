# Shows that each rule of check-layers.R fires, at the right line, and on nothing else: small trees
# in a temporary folder, one sound, the others with one fault each.

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
rules_of <- new.env()
sys.source(file.path(here, "check-layers.R"), rules_of, chdir = FALSE)

sound <- list(
  "inst/include/gpselect/model.h" = paste0(
    "#include <stddef.h>\n#include \"rng.h\"\n",
    "typedef struct {\n  int a;\n} gps_shape;\n"
  ),
  "inst/include/gpselect/rng.h" = "static inline int gps_word(int x) { return x; }\n",
  "src/vector_math.h" = "void exp_array(double *x);\n",
  "src/vector_math.c" = paste0(
    "/* free, malloc() and SEXP are words here; so is // and F77_CALL. */\n",
    "#include \"vector_math.h\"\n#include <math.h>\n#define BLOCK \\\n  {\n",
    "static const double table[2] = {1, 2};\nstatic const char *const word = \"printf\";\n",
    "static double one(double x);\n",
    "static double one(double x) {\n  static const int n = 1;\n  return x + n + table[0];\n}\n",
    "void exp_array(double *x) { *x = one(*x); }\n"
  ),
  "src/linalg.h" = "int factor(double *a);\n",
  "src/linalg.c" = paste0(
    "#include \"linalg.h\"\n#include <R_ext/BLAS.h>\n#include <R_ext/Lapack.h>\n",
    "int factor(double *a) {\n  F77_CALL(dpotrf)(a);\n  return 0;\n}\n"
  ),
  "src/model_toy.c" = paste0(
    "#include \"gpselect/model.h\"\n#include \"vector_math.h\"\n#include \"linalg.h\"\n"
  ),
  "src/infer.h" = "#include \"gpselect/model.h\"\n",
  "src/infer_exact.c" = paste0(
    "#include \"infer.h\"\n#include \"vector_math.h\"\nvoid infer(int n) {\n",
    "#pragma omp parallel for schedule(static) \\\n    num_threads(n)\n",
    "  for (int i = 0; i < n; i++) {\n  }\n}\n"
  ),
  "src/model_list.h" = "MODEL(toy)\n",
  "src/r_shell.h" = "#include <R.h>\n#include <Rinternals.h>\n#include \"infer.h\"\n",
  "src/init.c" = "#include \"r_shell.h\"\n#include \"model_list.h\"\nstatic int calls;\n",
  "R/model-toy.R" = paste0(
    "# library(x), T and browser() in a comment, \"T\" in a string.\n",
    "model_toy <- function(T = 1, x) {\n  x$T + if (TRUE) help_toy(x) else 0\n}\n",
    "toy_cost.toy <- function(x) model_toy(x = x)\n"
  ),
  "R/model-help.R" = "help_toy <- function(x, model_toy = 1) {\n  model_toy + x$model_toy\n}\n",
  "R/base-cost.R" = paste0(
    "toy_cost <- function(x) UseMethod(\"toy_cost\")\n",
    "dear <- function(x) {\n  model_toy <- x\n  model_toy > toy_cost(x)\n}\n"
  ),
  "tests/testthat/helper-toy.R" = "toy_case <- function(dear) dear\n",
  "tests/testthat/test-model-toy.R" = "library(testthat)\nown_case <- function() 1\n",
  "tests/testthat/test-model-two.R" = "own_case <- function(x) {\n  toy_case <- x\n}\n",
  "bench/toy.R" = "# engine$gone\nengine$dear(x$engine$gone, \"engine$gone\")\n",
  "vignettes/toy.Rmd" = "engine$gone\n```{r}\ngpselect:::dear\n```\n```\na b\n```\n",
  "README.md" = "# A package\n"
)

# Each fault: the rule that must fire, at which line of which file, and the file's new text.
fault <- function(rule, file, line, text) list(rule = rule, file = file, line = line, text = text)
lines_of <- function(n, line) strrep(paste0(line, "\n"), n)

faults <- list(
  fault("include-order", "src/vector_math.h", 1, "#include \"linalg.h\"\n"),
  fault("include-order", "src/linalg.h", 2, "\n#include \"infer.h\"\n"),
  fault("include-order", "src/infer_exact.c", 1, "#include \"model_toy.h\"\n"),
  fault("include-order", "src/model_toy.c", 1, "#include \"select.h\"\n"),
  fault("include-order", "inst/include/gpselect/rng.h", 1, "#include \"../src/r_shell.h\"\n"),
  fault("known-layer", "src/wizard.c", 1, "int a(void);\n"),
  fault("r-headers", "src/vector_math.h", 1, "#include <R.h>\n"),
  fault("r-headers", "src/model_toy.c", 2, "\n#include <R_ext/Lapack.h>\n"),
  fault("r-headers", "src/linalg.c", 1, "#include <Rinternals.h>\n"),
  fault("r-headers", "src/infer.h", 3, "/* a\n */\nSEXP infer(void);\n"),
  fault("blas-place", "src/model_toy.c", 2, "void f(double *a) {\n  F77_CALL(dpotrf)(a);\n}\n"),
  fault("forbidden-calls", "src/infer.h", 2, "/* a */\nvoid *f(void) { return malloc(1); }\n"),
  fault("forbidden-calls", "src/init.c", 1, "#include <assert.h>\n"),
  fault("forbidden-calls", "src/model_toy.c", 1, "void f(void) { omp_set_num_threads(2); }\n"),
  fault("forbidden-calls", "src/r_shell.h", 1, "void f(void) { printf(\"\\\"a\"); }\n"),
  fault("no-state", "src/vector_math.h", 2, "typedef int a;\nstatic int calls;\n"),
  fault("no-state", "src/linalg.h", 1, "double cache[3] = {1, 2, 3};\n"),
  fault("no-state", "src/model_toy.c", 2, "void f(void) {\n  static int n = 0;\n  n++;\n}\n"),
  fault("c-comments", "src/init.c", 2, "/* http://a */\nint a; // here\n"),
  fault("parallel-place", "src/model_toy.c", 2,
        "void f(int n) {\n#pragma omp parallel num_threads(n)\n  {}\n}\n"),
  fault("parallel-threads", "src/infer_exact.c", 2,
        "void f(int n) {\n#pragma omp parallel for /* num_threads(n) */\n  for (;;) {}\n}\n"),
  fault("model-files", "src/model_list.h", 2, "MODEL(toy)\nMODEL(two_words)\n"),
  fault("file-length", "src/linalg.h", 401, lines_of(401, "int a(void);")),
  fault("file-length", "tests/testthat/test-model-toy.R", 401, lines_of(401, "1")),
  fault("line-length", "R/model-toy.R", 2, paste0("1\n# ", strrep("\u00e9", 99), "\n")),
  fault("line-length", "src/infer.h", 1, paste0("/*", strrep(" ", 97), "*/\n")),
  fault("function-length", "src/model_toy.c", 3,
        paste0("\n\nstatic int\nf(void) {\n", lines_of(58, "  ;"), "}\n")),
  fault("function-length", "R/model-toy.R", 2,
        paste0("1\nf <- function() {\n", lines_of(59, "  1"), "}\n")),
  fault("unfinished", "README.md", 2, paste0("a\n<!-- TO", "DO: more -->\n")),
  fault("unfinished", "src/infer.h", 1, paste0("/* FIX", "ME */\n")),
  fault("r-readable", "R/model-toy.R", 1, "f <- function( {\n"),
  fault("r-twice", "R/model-toy.R", 3, "f <- 1\n\nf <- function() {\n  f <- 2\n}\n"),
  fault("r-twice", "R/model-zoo.R", 1, "model_toy <- 1\n"),
  fault("r-twice", "R/model-zoo.R", 1, "(function(x) x) -> model_toy\n"),
  fault("r-twice", "R/model-zoo.R", 2, "\nanimal <- \"model_toy\" <- function(x) x\n"),
  fault("r-twice", "R/model-zoo.R", 1, "if (TRUE) {\n  model_toy <- 1\n} else zoo <- 1\n"),
  fault("r-twice", "R/model-zoo.R", 2, "zoo <- 1\nassign(\"model_toy\", function(x) x)\n"),
  fault("r-twice", "tests/testthat/helper-zoo.R", 1, "toy_case <- function() 1\n"),
  fault("r-twice", "tests/testthat/test-model-toy.R", 2, "\ntoy_case <- function(x) x\n"),
  fault("r-library", "R/model-toy.R", 2, "1\nlibrary(stats)\n"),
  fault("r-library", "R/model-toy.R", 1, "if (require(stats)) 1\n"),
  fault("r-true", "R/model-toy.R", 2, "x <- 1\ny <- T\n"),
  fault("r-browser", "R/model-toy.R", 1, "f <- function(x) browser()\n"),
  fault("r-family", "R/wizard-toy.R", 1, "f <- function(x) x\n"),
  fault("r-order", "R/base-low.R", 2, "f <- function(x) {\n  model_toy(x)\n}\n"),
  fault("r-order", "R/base-low.R", 1, "f <- function(x) lapply(x, model_toy)\n"),
  fault("r-order", "R/base-low.R", 2, "\nlow <- list(model_toy)\n"),
  fault("r-places", "R/select-toy.R", 1, "f <- function(model) is.null(model$grid)\n"),
  fault("r-places", "R/fit-toy.R", 2, "f <- function(model) {\n  is_placed(model)\n}\n"),
  fault("r-asked", "bench/toy.R", 2, "1\nx <- engine$gone(1)\n"),
  fault("r-asked", "tools/toy.R", 1, "f <- function(x) gpselect:::gone\n"),
  fault("r-asked", "vignettes/toy.Rmd", 3, "engine$gone\n```{r}\ngpselect:::gone()\n```\n"),
  fault("r-circles", "R/model-help.R", 3, "\nhelp_toy <- function(x) {\n  x + model_toy(x)\n}\n")
)

write_tree <- function(texts) {
  root <- tempfile("tree-")
  for (file in names(texts)) {
    dir.create(dirname(file.path(root, file)), recursive = TRUE, showWarnings = FALSE)
    writeLines(enc2utf8(texts[[file]]), file.path(root, file), sep = "", useBytes = TRUE)
  }
  root
}

broken_lines <- function(texts, exceptions = rules_of$exceptions[0, ]) {
  root <- write_tree(texts)
  on.exit(unlink(root, recursive = TRUE))
  unlist(rules_of$check_tree(root, exceptions))
}

passed <- 0
failed <- 0
expect <- function(is_true, what, got) {
  if (is_true) {
    passed <<- passed + 1
  } else {
    failed <<- failed + 1
    cat(sprintf("FAIL layers-self: %s; got:\n", what), sprintf("    %s\n", got), sep = "")
  }
}

got <- broken_lines(sound)
expect(length(got) == 0, "a sound tree breaks no rule", got)
for (case in faults) {
  got <- broken_lines(utils::modifyList(sound, stats::setNames(list(case$text), case$file)))
  want <- sprintf("%s:%d: ", case$file, case$line)
  is_right <- length(got) > 0 && all(sub("[0-9]*$", "", names(got)) == case$rule) &&
    all(startsWith(got, want))
  expect(is_right, sprintf("%s fires at %s and nothing else does", case$rule, want),
         paste(names(got), got))
}
untested <- setdiff(names(rules_of$rules), vapply(faults, `[[`, "", "rule"))
expect(length(untested) == 0, "every rule has a test", untested)

# A fault that is excepted is silent; an exception without a fault speaks.
excepted <- data.frame(rule = "function-length", place = "R/model-toy.R:f", reason = "a test")
long <- Filter(function(case) case$rule == "function-length" && case$line == 2, faults)[[1]]
got <- broken_lines(utils::modifyList(sound, stats::setNames(list(long$text), long$file)), excepted)
expect(length(got) == 0, "an exception silences its fault", got)
got <- broken_lines(sound, excepted)
expect(identical(names(got), "exceptions"), "an exception that is not needed is a fault", got)

cat(sprintf("layers-self: %d passed, %d failed\n", passed, failed))
quit(status = if (failed > 0) 1 else 0)
