# Every argument of every exported function with what does not belong there: a classed refusal, or
# success; nothing of R's own but that it knows no such argument or method.

methods::setClass("AttackJunk", representation(x = "numeric"))

junk_values <- function() {
  bad_bytes <- rawToChar(as.raw(c(0x66, 0xff, 0xfe)))
  list(
    null = NULL, na = NA, na_real = NA_real_, na_character = NA_character_, nan = NaN, inf = Inf,
    minus = -1, zero = 0, half = 0.5, large = 1e9, larger = 1e300, most = .Machine$integer.max,
    empty_string = "", bytes = bad_bytes, word = "abc", words = c("a", "b"), true = TRUE,
    numbers = c(1, NA, 3), nothing = numeric(0), list = list(), lists = list(a = 1, "b", NULL),
    fun = function(...) stop("a function of the attack"), formula = y ~ x, call = quote(f(x)),
    name = quote(x), expression = expression(1, x), environment = globalenv(),
    frame = data.frame(a = 1:2, b = c("x", "y")), no_frame = data.frame(), factor = factor(1:3),
    date = as.Date("2026-01-01"), time = as.POSIXct("2026-01-01"), complex = 1i, raw = as.raw(1:3),
    s4 = methods::new("AttackJunk", x = 1), big = structure(4.9e-324, class = "integer64"),
    array = array(0, c(2, 2, 2, 2)), no_matrix = matrix(0, 0, 3), text = matrix("a", 2, 2),
    mixed = matrix(list(1, "a"), 1), infinite = matrix(Inf, 30, 9), model = model_binary_sparse(2),
    own = structure(list(), class = c("gps_fit", "gps_model", "gps_selector", "gps_control")),
    fit = fit_of("handcrafted"), vector = structure(1:3, dim = 3L),
    long = rep(0, 1e5)
  )
}

base_generics <- c("predict", "simulate", "update", "plot", "print", "summary", "coef", "logLik",
                   "nobs", "residuals", "fitted")

# call, argument and value of each item.
junk_items <- function() {
  if (is.null(attack_store$junk)) {
    attack_store$calls <- sound_calls()
    attack_store$values <- junk_values()
    parts <- lapply(seq_along(attack_store$calls), function(i) {
      expand.grid(value = names(attack_store$values), call = i,
                  argument = names(attack_store$calls[[i]]$arguments), stringsAsFactors = FALSE)
    })
    items <- do.call(rbind, parts)
    # A method sees its first argument only if its class is the package's.
    is_elsewhere <- items$argument %in% c("x", "object") &
      !items$value %in% c("own", "fit", "model")
    is_generic <- vapply(attack_store$calls, function(call) call$name %in% base_generics, NA)
    attack_store$junk <- items[!(is_elsewhere & is_generic[items$call]), ]
  }
  attack_store$junk
}

count_junk <- function() {
  suppressPackageStartupMessages(library(gpselect))
  nrow(junk_items())
}

attack_argument <- function(item) {
  what <- junk_items()[item, ]
  call <- attack_store$calls[[what$call]]
  call$arguments[what$argument] <- attack_store$values[what$value]
  set.seed(item)
  wrong <- outcome_of(do.call(call$name, call$arguments, quote = TRUE))
  if (!is.null(wrong)) sprintf("%s(%s = <%s>): %s", call$name, what$argument, what$value, wrong)
}

# What R itself says of arguments, methods and routines that there are not, and of memory.
own_words <- paste("unused argument|is missing, with no default|no applicable method|matched by",
                   "multiple|non-numeric argument to binary|cannot allocate",
                   "not provided by package", sep = "|")

# NULL, or what is wrong with how `code` ends.
outcome_of <- function(code) {
  odd <- NULL
  setTimeLimit(elapsed = 20, transient = TRUE)
  on.exit(setTimeLimit())
  tryCatch(
    withCallingHandlers(force(code), warning = function(condition) {
      if (!inherits(condition, "gps_warning")) {
        odd <<- paste("plain warning:", conditionMessage(condition))
      }
      invokeRestart("muffleWarning")
    }),
    error = function(condition) {
      is_sound <- inherits(condition, "gps_error") || grepl(own_words, conditionMessage(condition))
      if (!is_sound) odd <<- paste("plain error:", conditionMessage(condition))
    }
  )
  odd
}
