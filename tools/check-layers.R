# Checks the rules of ARCHITECTURE.md: Rscript tools/check-layers.R. One line for each place that
# breaks a rule, then how many rules hold. tools/test-check-layers.R shows that each rule fires.

here <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
here <- if (length(here) == 1) dirname(here) else "tools"
for (name in c("source-text.R", "r-floors.R")) source(file.path(here, name))

max_file <- 400
max_line <- 100
max_function <- 60

# A rule may be broken where a line here says why: rule, place (a file, or file:function), reason.
exceptions <- rbind(
  data.frame(rule = character(), place = character(), reason = character())
)

# Which files of the C core a file may include, beside its own family: ARCHITECTURE.md, "Who may
# depend on whom". The shell (r_*, init) may include all.
may_include <- list(
  public = character(),
  vector_math = "public",
  threads = character(),
  linalg = c("public", "vector_math"),
  blocks = c("public", "vector_math"),
  subsets = c("public", "vector_math"),
  select = c("public", "vector_math", "threads"),
  screen = c("public", "vector_math", "select", "candidates", "threads"),
  candidates = "public",
  kernel = c("public", "vector_math", "linalg"),
  gp = c("public", "vector_math", "linalg", "kernel", "blocks", "threads"),
  normal = c("public", "vector_math"),
  max = c("public", "vector_math", "normal"),
  model = c("public", "vector_math", "linalg", "subsets", "normal", "max"),
  infer = c("public", "vector_math", "blocks", "subsets", "threads")
)

# The family of a C file: its first word, or its name.
family_of <- function(path) {
  name <- sub("\\.[ch]$", "", basename(path))
  if (grepl("(^|/)gpselect/[^/]*$", path)) return("public")
  if (name %in% c("init", "entries", "model_list") || startsWith(name, "r_")) return("shell")
  if (name %in% names(may_include)) return(name)
  sub("_.*$", "", name)
}

files_in <- function(root, folders, pattern) {
  found <- list.files(file.path(root, folders), pattern, recursive = TRUE, full.names = TRUE)
  sort(substring(found, nchar(root) + 2))
}

# All sources under `root`, read once. `core` is C that ships, `c` and `r` all that people write.
read_tree <- function(root) {
  written <- c("R", "src", "inst", "tests", "tools", "bench", "data-raw")
  tree <- list(root = root, core = files_in(root, c("src", "inst/include"), "\\.[ch]$"))
  tree$c <- files_in(root, written, "\\.[ch]$")
  tree$r <- files_in(root, written, "\\.R$")
  tree$package_r <- tree$r[startsWith(tree$r, "R/")]
  tree$prose <- c(list.files(root, "\\.md$"), files_in(root, c("vignettes", "man"), "\\.(Rmd|Rd)$"))
  all <- unique(c(tree$c, tree$r, tree$prose))
  tree$text <- lapply(stats::setNames(file.path(root, all), all), read_text)
  tree$code <- lapply(tree$text[tree$c], code_only)
  tree$tokens <- lapply(tree$text[tree$r], r_tokens)
  tree$uses <- r_uses(tree$text[tree$package_r], tree$tokens[tree$package_r])
  tree
}

# "file:line: message" for each line of the texts that matches.
grep_lines <- function(texts, pattern, message) {
  unlist(lapply(names(texts), function(file) {
    hits <- grep(pattern, split_lines(texts[[file]]), perl = TRUE)
    if (length(hits) > 0) sprintf("%s:%d: %s", file, hits, message)
  }))
}

is_shell <- function(paths) vapply(paths, family_of, "") == "shell"

check_includes <- function(tree) {
  unlist(lapply(tree$core, function(file) {
    lines <- split_lines(without_comments(tree$text[[file]]))
    at <- grep("^[ \t]*#[ \t]*include[ \t]*\"", lines)
    target <- sub("^[^\"]*\"([^\"]*)\".*$", "\\1", lines[at])
    own <- family_of(file)
    if (own == "shell") return(NULL)
    bare <- own == "public" & !grepl("/", target)
    target[bare] <- paste0("gpselect/", target[bare])
    family <- vapply(target, family_of, "")
    bad <- !family %in% c(own, may_include[[own]])
    sprintf("%s:%d: includes %s, which does not lie below it", file, at[bad], target[bad])
  }))
}

check_known <- function(tree) {
  family <- vapply(tree$core, family_of, "")
  bad <- tree$core[!family %in% c("shell", names(may_include))]
  sprintf("%s:1: has no place in the order of layers (may_include in tools/check-layers.R)", bad)
}

check_r_headers <- function(tree) {
  core <- tree$core[!is_shell(tree$core)]
  header <- "^[ \t]*#[ \t]*include[ \t]*[<\"](R\\.h|R[a-z]+\\.h|R_ext/.*)[>\"]"
  blas <- "^[ \t]*#[ \t]*include[ \t]*[<\"](R_ext/(BLAS|Lapack|RS)\\.h|Rconfig\\.h)[>\"]"
  text <- lapply(tree$text[core], without_comments)
  linalg <- basename(core) == "linalg.c"
  text[linalg] <- lapply(text[linalg], function(x) blank(x, paste0("(?m)", blas)))
  c(grep_lines(text, header, "includes a header of R outside the shell (init.c, r_*.c)"),
    grep_lines(tree$code[core], "\\b(SEXP|Rf_\\w+|R_alloc|R_NilValue)\\b",
               "knows R's objects outside the shell (init.c, r_*.c)"))
}

check_blas <- function(tree) {
  others <- tree$core[basename(tree$core) != "linalg.c"]
  grep_lines(tree$code[others], "\\bF77_(CALL|NAME|SUB)\\b",
             "calls BLAS or LAPACK outside linalg.c")
}

check_forbidden <- function(tree) {
  grep_lines(tree$code[tree$core], "\\b((m|c|re)alloc|free|assert|printf|omp_set_\\w+)\\b",
             "allocates, frees, asserts, prints or sets OpenMP's state")
}

# Mutable data outside functions, and static data in them.
check_state <- function(tree) {
  core <- tree$core[!is_shell(tree$core)]
  unlist(lapply(core, function(file) {
    code <- without_directives(tree$code[[file]])
    inside <- grep("^[ \t]+static\\b(?!.*\\b(const|inline)\\b)", split_lines(code), perl = TRUE)
    pieces <- top_level_pieces(code)
    is_type <- grepl("^(typedef|struct|union|enum|extern)\\b", pieces$text)
    is_function <- grepl("\\(", pieces$text)
    is_const <- grepl("\\bconst\\b", pieces$text)
    is_name <- grepl("^(}|\\w+)?$", pieces$text)
    outside <- pieces$from[!is_type & !is_function & !is_const & !is_name]
    lines <- sort(unique(c(inside, outside)))
    if (length(lines) > 0) sprintf("%s:%d: keeps state between calls", file, lines)
  }))
}

check_c_comments <- function(tree) {
  text <- lapply(tree$text[tree$c], function(x) {
    blank(x, paste("/\\*(?s:.*?)\\*/", c_string, sep = "|"))
  })
  grep_lines(text, "//", "has a comment of the // form")
}

# Pragmas that open a parallel region: line and whole text, continued lines joined.
parallel_pragmas <- function(text) {
  text <- without_comments(text)
  pattern <- "#[ \t]*pragma[ \t]+omp[ \t](?:[^\n]*\\\\\n)*[^\n]*|_Pragma[^\n]*omp[^\n]*"
  found <- gregexpr(pattern, text, perl = TRUE)
  pragma <- gsub("\\\\\n", " ", regmatches(text, found)[[1]])
  keep <- grepl("\\bparallel\\b", pragma)
  list(line = line_of(text, found[[1]])[keep], text = pragma[keep])
}

check_parallel_place <- function(tree) {
  allowed <- "^src/(infer_.*|gp_.*|select|screen|r_estep|r_occlusive)\\.c$"
  unlist(lapply(tree$core[!grepl(allowed, tree$core)], function(file) {
    line <- parallel_pragmas(tree$text[[file]])$line
    if (length(line)) sprintf("%s:%d: opens a parallel region; that is not its task", file, line)
  }))
}

check_parallel_threads <- function(tree) {
  unlist(lapply(tree$core, function(file) {
    pragma <- parallel_pragmas(tree$text[[file]])
    line <- pragma$line[!grepl("\\bnum_threads *\\(", pragma$text)]
    if (length(line)) sprintf("%s:%d: opens a parallel region without num_threads()", file, line)
  }))
}

check_models <- function(tree) {
  list_file <- "src/model_list.h"
  if (!list_file %in% names(tree$code)) return(character())
  lines <- split_lines(tree$code[[list_file]])
  pattern <- "^[ \t]*MODEL\\((\\w+)\\).*$"
  at <- grep(pattern, lines)
  unlist(lapply(at, function(line) {
    name <- sub(pattern, "\\1", lines[line])
    dashed <- gsub("_", "-", name)
    needed <- c(sprintf("R/model-%s.R", dashed), sprintf("src/model_%s.c", name),
                sprintf("tests/testthat/test-model-%s.R", dashed))
    missing <- needed[!file.exists(file.path(tree$root, needed))]
    if (length(missing) > 0) sprintf("%s:%d: %s lacks %s", list_file, line, name, missing)
  }))
}

check_file_length <- function(tree) {
  text <- tree$text[c(tree$c, tree$r)]
  n <- vapply(text, function(x) length(split_lines(x)), 0L)
  long <- n > max_file
  sprintf("%s:%d: has %d lines, more than %d", names(text)[long], max_file + 1, n[long], max_file)
}

check_line_length <- function(tree) {
  grep_lines(tree$text[c(tree$c, tree$r)], sprintf("^.{%d}", max_line + 1),
             sprintf("is longer than %d characters", max_line))
}

check_function_length <- function(tree) {
  r_files <- tree$package_r[!vapply(tree$tokens[tree$package_r], is.null, NA)]
  found <- c(lapply(tree$code[tree$core], c_functions), lapply(tree$tokens[r_files], r_functions))
  unlist(lapply(names(found), function(file) {
    long <- found[[file]][found[[file]]$to - found[[file]]$from + 1 > max_function, ]
    if (nrow(long) == 0) return(NULL)
    sprintf("%s:%d: %s() has %d lines, more than %d", file, long$from, long$name,
            long$to - long$from + 1, max_function)
  }))
}

check_unfinished <- function(tree) {
  words <- paste0("\\b(TO", "DO|FIX", "ME|XX", "X)\\b")
  grep_lines(tree$text, words, "is unfinished by its own word")
}

check_r_readable <- function(tree) {
  bad <- names(tree$tokens)[vapply(tree$tokens, is.null, NA)]
  sprintf("%s:1: R cannot read it", bad)
}

# Where each of these files defines what, in their order: file, name, line.
definitions_in <- function(tree, files) {
  files <- files[!vapply(tree$tokens[files], is.null, NA)]
  found <- lapply(files, function(file) {
    assigned <- r_assigned(tree$text[[file]])
    data.frame(file = rep(file, nrow(assigned)), assigned)
  })
  do.call(rbind, c(list(data.frame(file = "", name = "", from = 0L)[0, ]), found))
}

# The last definition of a name would win without a word: in the package, among what all tests
# share, and in a test file that takes a name of the latter.
check_r_twice <- function(tree) {
  tests <- grep("^tests/testthat/[^/]*$", tree$r, value = TRUE)
  is_shared <- grepl("/(helper|setup)[^/]*$", tests)
  shared <- definitions_in(tree, tests[is_shared])
  own <- definitions_in(tree, tests[!is_shared])
  c(tell_twice(definitions_in(tree, tree$package_r)), tell_twice(shared),
    tell_twice(rbind(shared, own[own$name %in% shared$name, ]), nrow(shared)))
}

# "file:line: message" for each name of these definitions that an earlier one has, behind the first
# `n_told` of them.
tell_twice <- function(found, n_told = 0) {
  first <- match(found$name, found$name)
  twice <- which(first != seq_along(first) & seq_along(first) > n_told)
  sprintf("%s:%d: defines %s(), which %s:%d does too", found$file[twice], found$from[twice],
          found$name[twice], found$file[first[twice]], found$from[first[twice]])
}

# Tokens of the package's R files: "file:line: message" where `is_bad` of the file's tokens holds.
token_lines <- function(tree, is_bad, message) {
  unlist(lapply(tree$package_r, function(file) {
    tokens <- tree$tokens[[file]]
    if (length(tokens) == 0) return(NULL)
    tokens <- tokens[tokens$terminal, ]
    lines <- tokens$line1[is_bad(tokens)]
    if (length(lines) > 0) sprintf("%s:%d: %s", file, lines, message)
  }))
}

check_r_library <- function(tree) {
  token_lines(tree, function(tokens) {
    tokens$token == "SYMBOL_FUNCTION_CALL" &
      tokens$text %in% c("library", "require", "attachNamespace")
  }, "attaches a package; say package::function()")
}

check_r_true <- function(tree) {
  token_lines(tree, function(tokens) {
    follows <- c("", tokens$text[-nrow(tokens)]) %in% c("$", "@")
    tokens$token == "SYMBOL" & tokens$text %in% c("T", "F") & !follows
  }, "uses T or F; say TRUE or FALSE")
}

check_r_browser <- function(tree) {
  token_lines(tree, function(tokens) {
    tokens$token == "SYMBOL_FUNCTION_CALL" & tokens$text %in% c("browser", "debug", "debugonce")
  }, "stops for a debugger")
}

check_r_family <- function(tree) {
  bad <- tree$package_r[!r_family(tree$package_r) %in% r_families]
  sprintf("%s:1: is of no known family", bad)
}

check_r_order <- function(tree) {
  uses <- tree$uses
  user <- match(r_family(uses$file), r_families)
  uses <- uses[which(user > match(r_family(uses$target), r_families)), ]
  sprintf("%s:%d: %s() calls %s() of %s, a family above it", uses$file, uses$line, uses$user,
          uses$name, uses$target)
}

check_r_circles <- function(tree) {
  uses <- tree$uses
  vapply(find_circles(uses$file, uses$target), function(circle) {
    inner <- uses[uses$file %in% circle & uses$target %in% circle, ]
    inner <- inner[!duplicated(inner[c("file", "target")]), ]
    sprintf("%s:%d: %d files in a circle: %s", inner$file[1], inner$line[1], length(circle),
            paste0(inner$user, "() calls ", inner$name, "() of ", inner$target, collapse = "; "))
  }, "")
}

# What others than a model whose latents have places ask about these has verbs in placed-latents.R.
check_r_places <- function(tree) {
  bad <- token_lines(tree, function(tokens) {
    follows <- c("", tokens$text[-nrow(tokens)]) == "$"
    tokens$text == "is_placed" & tokens$token == "SYMBOL_FUNCTION_CALL" |
      tokens$text == "grid" & follows
  }, "tests whether latents have places; ask a verb of R/placed-latents.R")
  bad[!grepl("^R/(placed|model-occlusive)[-a-z]*\\.R:", bad)]
}

# R code of a vignette, at its lines.
chunks_only <- function(text) {
  lines <- split_lines(text)
  is_fence <- startsWith(lines, "```")
  fence <- cumsum(is_fence)
  is_code <- c(FALSE, startsWith(lines[is_fence], "```{r"))[fence + 1]
  paste(ifelse(is_code & !is_fence, lines, ""), collapse = "\n")
}

# Names that R code asks of the namespace, engine$name or gpselect:::name, with their lines.
names_asked <- function(tokens) {
  tokens <- tokens[tokens$terminal & tokens$token != "COMMENT", ]
  before <- c("", "", tokens$text)[seq_len(nrow(tokens))]
  sign <- c("", tokens$text)[seq_len(nrow(tokens))]
  further <- c("", "", "", tokens$text)[seq_len(nrow(tokens))]
  is_asked <- before == "engine" & sign == "$" & !further %in% c("$", "@") |
    before == "gpselect" & sign == ":::"
  data.frame(name = tokens$text[is_asked], line = tokens$line1[is_asked])
}

check_r_asked <- function(tree) {
  files <- tree$package_r[!vapply(tree$tokens[tree$package_r], is.null, NA)]
  defined <- unlist(lapply(tree$text[files], function(text) r_assigned(text)$name))
  vignettes <- grep("^vignettes/", tree$prose, value = TRUE)
  scripts <- c(tree$tokens[grepl("^(bench|tools|data-raw)/", names(tree$tokens))],
               lapply(tree$text[vignettes], function(text) r_tokens(chunks_only(text))))
  scripts <- scripts[vapply(scripts, NROW, 0L) > 0]
  unlist(lapply(names(scripts), function(file) {
    asked <- names_asked(scripts[[file]])
    asked <- asked[!asked$name %in% defined, ]
    sprintf("%s:%d: asks the package for %s, which no file of R/ defines", file, asked$line,
            asked$name)
  }))
}

rules <- list(
  "include-order" = check_includes, "known-layer" = check_known, "r-headers" = check_r_headers,
  "blas-place" = check_blas, "forbidden-calls" = check_forbidden, "no-state" = check_state,
  "c-comments" = check_c_comments, "parallel-place" = check_parallel_place,
  "parallel-threads" = check_parallel_threads, "model-files" = check_models,
  "file-length" = check_file_length, "line-length" = check_line_length,
  "function-length" = check_function_length, "unfinished" = check_unfinished,
  "r-readable" = check_r_readable, "r-twice" = check_r_twice, "r-library" = check_r_library,
  "r-true" = check_r_true, "r-browser" = check_r_browser, "r-family" = check_r_family,
  "r-order" = check_r_order, "r-circles" = check_r_circles,
  "r-places" = check_r_places, "r-asked" = check_r_asked
)

# Takes out what the exceptions allow; an exception that allows nothing is itself a fault.
apply_exceptions <- function(broken, exceptions) {
  stale <- character()
  for (i in seq_len(nrow(exceptions))) {
    rule <- exceptions$rule[i]
    place <- strsplit(exceptions$place[i], ":", fixed = TRUE)[[1]]
    allowed <- startsWith(as.character(broken[[rule]]), paste0(place[1], ":"))
    if (length(place) > 1) {
      allowed <- allowed & grepl(paste0(": ", place[2], "()"), broken[[rule]], fixed = TRUE)
    }
    if (!any(allowed)) stale <- c(stale, paste(place[1], "needs no exception to", rule, sep = " "))
    broken[[rule]] <- broken[[rule]][!allowed]
  }
  c(broken, list("exceptions" = if (length(stale)) paste0("tools/check-layers.R:1: ", stale)))
}

# For each rule the lines that break it.
check_tree <- function(root, exceptions) {
  tree <- read_tree(normalizePath(root))
  apply_exceptions(lapply(rules, function(rule) as.character(rule(tree))), exceptions)
}

print_places <- function(places, rule, at_most = 20) {
  more <- length(places) - at_most
  if (more > 0) places <- c(places[seq_len(at_most)], paste(more, "more places"))
  if (length(places) > 0) cat(sprintf("FAIL layers: %s [%s]\n", places, rule), sep = "")
}

main <- function(root = ".") {
  broken <- check_tree(root, exceptions)
  for (rule in names(broken)) print_places(broken[[rule]], rule)
  n_failed <- sum(lengths(broken) > 0)
  cat(sprintf("layers: %d passed, %d failed\n", length(broken) - n_failed, n_failed))
  quit(status = if (n_failed > 0) 1 else 0)
}

if (sys.nframe() == 0) do.call(main, as.list(commandArgs(TRUE)))
