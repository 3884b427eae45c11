# The floors of the R code: which file calls which, read from parsed text; the families of files,
# which are the words before the first dash of their names, and the order in which they may call.

# From top to bottom: a family calls itself and those below it. Where this order holds, families are
# in no circle.
r_families <- c("gpselect", "image", "plot", "judge", "sim", "fit", "em", "select", "model",
                "gp", "kernel", "placed", "data", "base")

r_family <- function(file) sub("-.*$", "", sub("\\.R$", "", basename(file)))

# Uses of what other files define at their top level, one row for each: file and line where it is
# used, the function that uses it (NA at top level), the name, and the file that defines it. A
# generic stands where UseMethod() is called; its methods may be anywhere.
r_uses <- function(texts, tokens) {
  texts <- texts[!vapply(tokens[names(texts)], is.null, NA)]
  defined <- do.call(rbind, lapply(names(texts), function(file) {
    names <- r_assigned(texts[[file]])$name
    data.frame(name = names, file = rep(file, length(names)))
  }))
  uses <- do.call(rbind, lapply(names(texts), function(file) {
    used <- uses_of_file(tokens[[file]], defined$name)
    data.frame(file = rep(file, nrow(used)), used)
  }))
  uses$target <- defined$file[match(uses$name, defined$name)]
  uses[uses$file != uses$target, ]
}

uses_of_file <- function(tokens, names) {
  empty <- data.frame(line = integer(), user = character(), name = character())
  if (length(tokens) == 0) return(empty)
  tops <- tokens[tokens$parent == 0 & !tokens$terminal, ]
  tokens <- tokens[tokens$terminal & tokens$token != "COMMENT", ]
  top <- findInterval(tokens$line1 + tokens$col1 / 1e4, tops$line1 + tops$col1 / 1e4)
  columns <- as.list(tokens[c("line1", "token", "text")])
  used <- lapply(split(seq_along(top), factor(top, seq_len(nrow(tops)))), function(own) {
    uses_of_piece(lapply(columns, `[`, own), names)
  })
  part <- function(name) unlist(lapply(used, `[[`, name), use.names = FALSE)
  if (sum(lengths(lapply(used, `[[`, "line"))) == 0) return(empty)
  data.frame(line = part("line"), user = part("user"), name = part("name"))
}

# Uses in one top-level expression; tokens and uses are lists of columns. Formals and names that are
# assigned are its own; a name that is called is a variable only where a function was assigned to
# it.
uses_of_piece <- function(tokens, names) {
  after <- c(tokens$token[-1], "")
  before <- c("", tokens$token)[seq_along(tokens$token)]
  is_assigned <- tokens$token == "SYMBOL" & after %in% c("LEFT_ASSIGN", "EQ_ASSIGN")
  is_function <- is_assigned & c(tokens$token[-(1:2)], "", "")[seq_along(after)] == "FUNCTION"
  formals <- tokens$text[tokens$token == "SYMBOL_FORMALS"]
  is_free <- !before %in% c("'$'", "'@'", "NS_GET", "NS_GET_INT", "SLOT") & tokens$text %in% names
  is_call <- is_free & tokens$token == "SYMBOL_FUNCTION_CALL" &
    !tokens$text %in% c(formals, tokens$text[is_function][-1])
  is_value <- is_free & tokens$token == "SYMBOL" &
    !tokens$text %in% c(formals, tokens$text[is_assigned])
  is_used <- is_call | is_value
  user <- if (isTRUE(is_assigned[1])) tokens$text[1] else NA_character_
  list(line = tokens$line1[is_used], user = rep(user, sum(is_used)), name = tokens$text[is_used])
}

# Groups of names that can be reached from each other, for a data frame of edges `from`, `to`.
find_circles <- function(from, to) {
  names <- sort(unique(c(from, to)))
  reached <- matrix(FALSE, length(names), length(names), dimnames = list(names, names))
  reached[cbind(from, to)] <- TRUE
  for (k in seq_along(names)) reached <- reached | outer(reached[, k], reached[k, ], `&`)
  in_circle <- names[diag(reached)]
  both <- reached & t(reached)
  unique(lapply(in_circle, function(name) names[both[name, ] | names == name]))
}
