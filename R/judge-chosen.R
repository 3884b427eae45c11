# What a choice of the number of latents says of itself.

#' @rdname gps_choose
#' @param x a choice from `gps_choose()`.
#' @param digits number of significant digits to print.
#' @export
print.gps_choice <- function(x, digits = 6, ...) {
  digits <- shown_digits(digits, further(...))
  need_made(is_choice_sound(x), "x", "gps_choose()")
  table <- x$table
  has_several <- length(unique(table$model)) > 1
  say(sprintf("Chosen by %s: %d%s", x$criterion, as.integer(x$n_latents),
              if (has_several) sprintf(" (%s)", x$model) else ""))
  cat(if (x$criterion == "held-out") "held_out: nats a data point, larger is better\n" else
    "BIC, ICL: smaller is better\n")
  print(shown_choice(table, has_several, digits), row.names = FALSE)
  failed <- table[!is.na(table$error), ]
  for (i in seq_len(nrow(failed))) {
    say(sprintf("%d stopped: %s", failed$n_latents[i], printable(failed$error[i])))
  }
  if (any(is_unfinished(table))) say(describe_unfinished(table))
  endless <- describe_endless(table, x$fit)
  say(endless)
  if (is.null(endless)) say(describe_edge(table, x$fit))
  invisible(x)
}

# The columns that say something, in words and few digits, and a mark behind each row.
shown_choice <- function(table, has_several, digits) {
  has_emptied <- any(table$used != table$n_latents, na.rm = TRUE)
  shown <- c(if (has_several) "model", "n_latents", if (has_emptied) "used", "bound", "df", "BIC",
             "ICL", "entropy", "held_out", "start", if (any(is_unfinished(table))) "status")
  shown <- shown[!vapply(table[shown], function(column) all(is.na(column)), NA)]
  marked <- table[shown]
  numbers <- intersect(shown, c("bound", "BIC", "ICL", "held_out"))
  marked[numbers] <- lapply(marked[numbers], format, digits = digits)
  if ("entropy" %in% shown) marked$entropy <- formatC(marked$entropy, digits = 3, format = "g")
  marked$` ` <- trimws(paste(ifelse(table$degenerate %in% TRUE, "no maximum", ""),
                             ifelse(table$chosen, "<-", "")))
  marked
}

# Why a choice means nothing whose fit has a likelihood without a maximum; NULL where it has one.
# Such a fit is chosen only where all are such.
describe_endless <- function(table, fit) {
  if (!table$degenerate[table$chosen] %in% TRUE) return(NULL)
  reasons <- fit$standing$degenerate
  sprintf("The likelihood of the chosen fit has no maximum, so that the choice means nothing%s.",
          if (length(reasons) == 0) "" else paste0(": ", paste(reasons, collapse = "; ")))
}

# What to do where the chosen number is the first or the last of several, of the same model, beyond
# which there are others; NULL where it is not. A model that has put latents out does not want more.
describe_edge <- function(table, fit) {
  chosen <- table[table$chosen, ]
  numbers <- table$n_latents[table$model == chosen$model]
  if (length(numbers) < 2) return(NULL)
  is_one_hot <- fit$model$rule$min_active == 1
  most <- if (is_one_hot) fit$n_points else Inf
  at <- chosen$n_latents
  if (at == max(numbers) && at < most && chosen$used %in% at) {
    return(sprintf(paste("%d is the largest number on offer, and a larger one may be better: go on",
                         "with `n_latents` = %s."), at,
                   further_numbers(numbers, min(most, 2 * at))))
  }
  if (at == min(numbers) && at > 1) {
    sprintf(paste("%d is the smallest number on offer, and a smaller one may be better: go on with",
                  "`n_latents` = %d:%d."), at, max(1, at %/% 2), at)
  }
}

# From the largest of some numbers up to another one, as far apart as the last of them, as R writes
# it.
further_numbers <- function(numbers, most) {
  last <- utils::tail(sort(numbers), 2)
  step <- min(diff(last), most - last[2])
  if (step == 1) return(sprintf("%d:%.0f", last[2], most))
  sprintf("seq(%d, %.0f, by = %.0f)", last[2], most, step)
}

# The call of gps_fit() for the chosen number, out of the call of gps_choose() as it was `written`.
# `model` is what that got, with several models the one called `name`; `given`: list(selector,
# n_selected, max_active), of which NULL is what the fit had by default.
chosen_call <- function(written, fit, model, name, given) {
  code <- shown_call(written)$model
  if (!is.function(model) && !inherits(model, "gps_model")) {
    is_written <- is.call(code) && identical(code[[1]], as.name("list"))
    code <- if (is_written) code[[name]] else call("[[", code, name)
    model <- model[[name]]
  }
  call <- as.call(c(list(as.name("gps_fit")), as.list(written)[intersect(c("y", "data"),
                                                                         names(written))]))
  call$model <- sized_code(code, model, as.double(count_choices(fit$model)))
  call$selector <- if (!is.null(given$selector)) written$selector else
    call(sub("^gps_", "", class(fit$selector)[1]))
  for (argument in c("n_selected", "max_active")) {
    if (!is.null(given[[argument]])) call[[argument]] <- given[[argument]]
  }
  call$control <- if (is.null(written$control)) quote(gps_control(progress = FALSE)) else
    written$control
  if (!is.null(written$weights)) call$weights <- written$weights
  shown_call(call)
}

# Code that makes a model of so many latents, from code of one with another number, or of a function
# of the number.
sized_code <- function(code, model, number) {
  if (is.function(model)) return(as.call(list(code, number)))
  maker <- model_maker(model)
  make <- get(maker, envir = topenv(), mode = "function")
  if (is.call(code) && identical(code[[1]], as.name(maker))) {
    code <- match.call(make, code)
    code[[names(formals(make))[1]]] <- number
    return(code)
  }
  arguments <- model_arguments(unclass(model), make)[-1]
  # Of several choices the first is the default.
  is_usual <- vapply(names(arguments), function(name) {
    default <- formals(make)[[name]]
    identical(arguments[[name]], if (is.call(default)) eval(default)[1] else default)
  }, NA)
  as.call(c(as.name(maker), number, arguments[!is_usual]))
}

# What is asked of a fit is asked of the one that was chosen.
ask_chosen <- function(call) {
  gps_abort(sprintf("A choice holds its fit, which is to be asked: %s.", call))
}

#' @export
predict.gps_choice <- function(object, ...) ask_chosen("predict(choice$fit)")

#' @export
coef.gps_choice <- function(object, ...) ask_chosen("coef(choice$fit)")

#' @export
summary.gps_choice <- function(object, ...) {
  ask_chosen("summary(choice$fit), and print(choice) shows all numbers")
}

# Which fits of a table were cut short, so that more iterations could change the choice. Choices of
# earlier versions do not say it.
is_unfinished <- function(table) {
  if (is.null(table$status)) return(logical(nrow(table)))
  !is.na(table$status) & table$status != "converged"
}

describe_unfinished <- function(table) {
  at <- is_unfinished(table)
  limits <- intersect(c("max_iter", "time_limit"), table$status[at])
  sprintf("%d of %s %s cut short%s, so that a longer search may choose another number.", sum(at),
          plural(nrow(table), "fit"), if (sum(at) == 1) "was" else "were",
          if (length(limits) == 0) "" else
            sprintf(": raise %s of gps_control()", list_arguments(limits)))
}

# What is said of the data is the same for all fits, and no column of the table.
heard_warnings <- paste0("gps_warning_", c("baseline", "negative", "columns"))

# What the fits said of the data, with an intercept as models of several numbers have it, that fits
# were cut short, and that the chosen one has no maximum.
tell_search <- function(table, heard, fit, is_doubted) {
  for (kind in intersect(heard_warnings, names(heard))) {
    condition <- heard[[kind]]
    condition$message <- gsub("(model_[a-z_]+)[(][., ]*intercept",
                              "function(k) \\1(k, intercept", condition$message)
    warning(condition)
  }
  if (any(is_unfinished(table))) gps_warn(describe_unfinished(table), class = "unfinished")
  warn_degenerate(fit, is_said_of(fit, is_doubted), is_doubted)
}

is_choice_sound <- function(x) {
  is.list(x) && is.data.frame(x$table) && is_number(x$n_latents) &&
    is_one_of(x$criterion, c("BIC", "ICL", "held-out")) &&
    all(c("model", "n_latents", "used", "bound", "df", "BIC", "ICL", "entropy", "held_out", "start",
          "degenerate", "chosen", "error") %in% names(x$table))
}
