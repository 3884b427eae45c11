# What a fit takes of the session, and what limits it there: memory, time, threads and random
# numbers.
#
# More than memory holds is refused before anything is made where that can be told from numbers,
# else R's own error comes in the package's class, with what was asked for.
#
# What cuts work short is an interrupt, R's own time limit or that of a fit, and what the fit
# returns then is its last complete E-step. Interrupts are suspended during a fit but in
# until_cut(), which awaits them; the core asks for them and for the deadline while it is at work
# (src/r_watch.c).

# Refuses what could not be held, before anything is allocated. `args` names the arguments at fault.
check_cells <- function(n_rows, n_cols, args) {
  if (as.double(n_rows) * n_cols > .Machine$integer.max) {
    gps_abort(sprintf("%s ask for %.0f x %.0f values; at most %d can be held at once.", args,
                      n_rows, n_cols, .Machine$integer.max),
              c("memory", "argument"))
  }
}

# Values of a dense result for users, unless the option says another number: 2 GB of doubles.
default_cells <- 2^28

most_cells <- function() {
  limit <- plain_numbers(getOption("gpselect.max_cells", default_cells))
  if (!is_number(limit) || limit < 1) {
    abort_value(limit, "options(gpselect.max_cells)", "a number of at least 1, which may be Inf")
  }
  as.double(limit)
}

# Refuses a dense result that is larger than the user may have had in mind. `what` makes it, and
# `instead` is a sentence that says what needs less; values take 8 bytes, or 4.
check_dense <- function(n_rows, n_cols, what, instead, bytes = 8) {
  limit <- most_cells()
  if (as.double(n_rows) * n_cols <= limit) return(invisible())
  size <- function(n) sprintf("%s GB", format(signif(bytes * n / 2^30, 3), decimal.mark = "."))
  gps_abort(sprintf(
    paste("%s: %s x %s values (%s) are more than the limit of %s (%s). %s",
          "options(gpselect.max_cells = ) sets the limit, and Inf ends it."),
    what, format_number(n_rows), format_number(n_cols), size(as.double(n_rows) * n_cols),
    format_number(limit), size(limit), instead
  ), c("memory", "argument"))
}

# Evaluates `code` without that limit: its result is no larger than what is already there.
with_any_size <- function(code) {
  before <- options(gpselect.max_cells = Inf)
  on.exit(options(before))
  code
}

# Evaluates `code`; where memory ends, an error of class gps_error_memory that says what was asked
# for: a format of sprintf() and its values. Of several, the outermost says it.
with_memory <- function(code, asked, ...) {
  withCallingHandlers(code, error = function(condition) {
    if (isTRUE(condition$is_outgrown)) condition <- condition$parent
    if (inherits(condition, "gps_error") || !is_memory_error(condition)) return()
    gps_abort(sprintf("%s: %s. There is not enough memory for that.", sprintf(asked, ...),
                      conditionMessage(condition)), "memory", parent = condition,
              is_outgrown = TRUE)
  })
}

# R's errors of memory have no class; only their words tell them from others, up to the size.
is_memory_error <- function(condition) {
  if (inherits(condition, "gps_error")) return(inherits(condition, "gps_error_memory"))
  words <- gettext(memory_words, domain = "R")
  any(startsWith(conditionMessage(condition), sub("%.*", "", words)))
}

memory_words <- c(
  "cannot allocate vector of size %0.1f Gb", "cannot allocate vector of size %0.1f Mb",
  "cannot allocate vector of size %0.f Kb", "cannot allocate memory block of size %0.1f Gb",
  "cannot allocate memory block of size %.0f", "cannot allocate vector of length %lld",
  "vector memory limit of %0.1f Gb reached, see mem.maxVSize()",
  "vector memory exhausted (limit reached?)", "memory exhausted (limit reached?)",
  "vector is too large", "vector size specified is too large", "negative length vectors are not",
  "allocMatrix: too many elements specified", "alloc3DArray: too many elements specified",
  "could not allocate memory (%u Mb) in C function 'R_AllocStringBuffer'"
)

clock <- new.env(parent = emptyenv())
clock$deadline <- Inf
clock$patience <- Inf
clock$late <- NULL

elapsed <- function() proc.time()[["elapsed"]]

# Without a deadline the clock is not looked at: on few data points that would be a good part of an
# iteration.
is_past <- function(deadline) deadline < Inf && elapsed() > deadline

# Evaluates `code`, which ends in a condition where it is still at work at the deadline.
with_deadline <- function(deadline, code) {
  before <- clock$deadline
  on.exit(clock$deadline <- before)
  clock$deadline <- deadline
  code
}

# list(value, late) of `code` that may not end without a value, but with less than it could do:
# after the deadline is_late() says so, and `late` is what was left out, named numbers.
with_patience <- function(deadline, code) {
  before <- mget(c("patience", "late"), envir = clock)
  on.exit(list2env(before, envir = clock))
  clock$patience <- deadline
  clock$late <- NULL
  value <- code
  list(value = value, late = clock$late)
}

is_late <- function() is_past(clock$patience)

note_late <- function(what, n) clock$late <- c(clock$late, stats::setNames(n, what))

# Asked by the core, and between blocks of data.
check_deadline <- function() {
  if (!is_past(clock$deadline)) return(invisible())
  # Once: what is called on the way out is not cut short.
  clock$deadline <- Inf
  stop(errorCondition("The time limit is reached.", class = "gps_time_limit", call = NULL))
}

# The value of `code`, or what cut it short, of class gps_cut. The deadline is awaited, and where
# there is a fit to return (`has_fit`) interrupts and R's own time limits: else these go on.
until_cut <- function(deadline, has_fit, code) {
  cut <- function(status) structure(list(status = status), class = "gps_cut")
  late <- function(condition) cut("time_limit")
  if (!has_fit) {
    return(tryCatch(allowInterrupts(with_deadline(deadline, code)), gps_time_limit = late))
  }
  tryCatch(allowInterrupts(with_deadline(deadline, code)), gps_time_limit = late,
           interrupt = function(condition) cut("interrupted"), error = function(condition) {
             if (is_time_limit(condition)) cut("interrupted") else stop(condition)
           })
}

is_cut <- function(x) inherits(x, "gps_cut")

# Whether a state or a fit ended as something cut it short.
was_cut_short <- function(it) it$status %in% c("interrupted", "time_limit")

# Seconds that a fit which was cut short may take for what is not its iterations.
patience <- 0.5

# What until_cut() has of `code` beside the iterations, for which such a fit is not kept waiting.
unless_long <- function(it, code) {
  until_cut(if (was_cut_short(it)) elapsed() + patience else Inf, TRUE, code)
}

# setTimeLimit() raises a plain error, which only its message tells from others.
is_time_limit <- function(condition) {
  messages <- c("reached elapsed time limit", "reached CPU time limit",
                "reached session elapsed time limit", "reached session CPU time limit")
  inherits(condition, "gps_time_limit") ||
    conditionMessage(condition) %in% gettext(messages, domain = "R")
}

# Whether an error is R's or that of other code, of whatever class: newer versions of R have one of
# their own for variables that are not found.
is_foreign <- function(condition) !inherits(condition, "gps_error") && !is_time_limit(condition)

# A state whose work was cut short.
cut_state <- function(state, cut) {
  state$cut <- cut
  state
}

# Whether there is a fit of all data points to return: the state, or a start before it, has a
# complete E-step of them.
has_fit <- function(task, state = NULL) {
  task$has_fit || !is.null(state$complete) && !task$is_part
}

# A state without a complete E-step goes on until it has one.
deadline_of <- function(task, state) if (is.null(state$complete)) Inf else task$deadline

# The last complete E-step as the state's: parameters, slots and bound that belong together.
take_complete <- function(state) {
  state[names(state$complete)] <- state$complete
  state
}

# Goes on with an interrupt that a fit has answered, where the user stopped more than the fit. What
# is there already travels in the condition.
raise_interrupt <- function(...) {
  signalCondition(structure(class = c("interrupt", "condition"),
                            list(message = "", call = NULL, ...)))
  invokeRestart("abort")
}

# The fit of a call that makes several, or goes on after it. An interrupt of the fit, also one that
# came when it was complete, is meant for the call.
unless_interrupted <- function(code) {
  fit <- withCallingHandlers(code, gps_warning_interrupted = function(condition) {
    raise_interrupt(fit = condition$fit)
  })
  if (identical(fit$status, "interrupted")) raise_interrupt(fit = fit)
  fit
}

# Threads to use now: what was asked, else the option, else all processors; capped by what this
# process may have.
resolve_threads <- function(n_threads) {
  available <- .Call(C_max_threads)
  limit <- Sys.getenv("_R_CHECK_LIMIT_CORES_", "")
  if (nzchar(limit) && lower_case(limit) != "false") available <- min(available, 2L)
  if (is.null(n_threads)) n_threads <- getOption("gpselect.threads", available)
  min(check_count(n_threads, "n_threads"), max(available, 1L))
}

# The value of a user's function, or an error that says which of them failed, and a sentence on what
# it was `given`.
name_failure <- function(name, code, given = NULL) {
  tryCatch(code, error = function(condition) {
    has_class <- inherits(condition, "gps_error") || is_memory_error(condition)
    if (has_class || is_time_limit(condition)) stop(condition)
    why <- conditionMessage(condition)
    if (!is.null(given)) why <- paste0(sub("[.[:space:]]+$", "", why), ". ", given)
    gps_abort(sprintf("`%s` failed: %s", name, why), "model", parent = condition)
  })
}

# ---- random numbers ----

# One draw from the session's stream seeds everything that follows.
# In C the seed is the key of counter-based streams; R code runs under with_seed().

# Standard normal numbers, n_rows x n_cols. Their count is no integer where it is large.
normal_matrix <- function(n_rows, n_cols) random_matrix(n_rows, n_cols, stats::rnorm)

uniform_matrix <- function(n_rows, n_cols) random_matrix(n_rows, n_cols, stats::runif)

random_matrix <- function(n_rows, n_cols, draw) {
  with_memory(matrix(draw(as.double(n_rows) * n_cols), n_rows), "%s x %s random numbers",
              plain_number(n_rows), plain_number(n_cols))
}

# Two 31-bit integers from R's own generator: the only draw a fit takes from the session's stream.
stream_seed <- function() {
  as.integer(floor(stats::runif(2) * .Machine$integer.max))
}

# Evaluates `code` under R's default generators seeded from a stream seed and a number, and puts the
# session's generator back afterwards, whatever happens.
with_seed <- function(seed, number, code) {
  keep_stream({
    mixed <- seed[1] + 7919 * as.double(number) + 104729 * as.double(seed[2])
    set.seed(as.integer(mixed %% .Machine$integer.max), kind = "Mersenne-Twister",
             normal.kind = "Inversion", sample.kind = "Rejection")
    code
  })
}

# Evaluates `code` and puts the session's generator back.
keep_stream <- function(code) {
  put_back <- session_stream()
  on.exit(put_back())
  code
}

# Evaluates `code`; where that ends in an error, the session's generator is put back.
keep_stream_if_refused <- function(code) {
  put_back <- session_stream()
  is_done <- FALSE
  on.exit(if (!is_done) put_back())
  value <- code
  is_done <- TRUE
  value
}

# A function that puts the session's generator back to where it is now.
session_stream <- function() {
  old_kind <- RNGkind()
  old_seed <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  function() {
    is_same <- identical(RNGkind(), old_kind)
    if (!is_same) suppressWarnings(RNGkind(old_kind[1], old_kind[2], old_kind[3]))
    if (is.null(old_seed)) {
      if (exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
        rm(".Random.seed", envir = globalenv())
      }
    } else {
      assign(".Random.seed", old_seed, envir = globalenv())
    }
  }
}

# What repeats draws, as stats::simulate() has it.
seed_of <- function(seed) {
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
  if (is.null(seed)) return(get(".Random.seed", envir = globalenv()))
  check_count(seed, "seed", -.Machine$integer.max)
  structure(seed, kind = as.list(RNGkind()))
}

# Evaluates `code` after set.seed(seed) and puts the session's generator back; NULL: as things are.
with_user_seed <- function(seed, code) {
  if (is.null(seed)) return(code)
  seed <- check_count(seed, "seed", -.Machine$integer.max)
  before <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  on.exit(if (is.null(before)) {
    rm(".Random.seed", envir = globalenv())
  } else {
    assign(".Random.seed", before, envir = globalenv())
  })
  set.seed(seed)
  code
}
