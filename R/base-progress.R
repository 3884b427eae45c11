# How far work is: a line on the error stream that replaces itself, so that output that is kept has
# none of it; and signals of package progressr where that is loaded, whose handlers show them.

# Work that is mostly short shows its line after so many seconds.
shown_after <- 1

# An environment that tells of a piece of work of so many steps; NULL where nobody would see it.
open_teller <- function(n_steps, is_shown, after = 0) {
  signal <- if (isNamespaceLoaded("progressr")) {
    progressr::progressor(n_steps, on_exit = FALSE, auto_finish = FALSE,
                          envir = environment())
  }
  if (!is_shown && is.null(signal)) return(NULL)
  list2env(list(n_steps = n_steps, signal = signal, is_shown = is_shown, due = elapsed() + after,
                began = elapsed(), step = 0, has_line = FALSE, is_over = FALSE),
           parent = emptyenv())
}

# So many steps are over; steps are never taken back. `line` is made only where somebody sees it.
tell <- function(teller, step, line) {
  if (is.null(teller)) return(invisible())
  teller$step <- max(teller$step, min(step, teller$n_steps))
  if (!is.null(teller$signal)) teller$signal(line, step = teller$step)
  if (teller$is_shown && elapsed() >= teller$due) {
    show_line(line)
    teller$has_line <- TRUE
  }
  invisible()
}

# A line that is longer than the console would begin another one each time.
show_line <- function(line) {
  width <- max(20L, getOption("width") - 1L)
  cat("\r", formatC(strtrim(line, width), width = -width), sep = "", file = stderr())
  utils::flush.console()
}

close_teller <- function(teller) {
  if (is.null(teller) || teller$is_over) return(invisible())
  teller$is_over <- TRUE
  if (!is.null(teller$signal)) teller$signal(type = "finish")
  if (teller$has_line) cat("\n", file = stderr())
  invisible()
}

# "point 2000 of 10000, 3 s gone, 12 s left", where all steps take as long as those that are over.
tell_count <- function(teller, done, what) {
  tell(teller, done, {
    gone <- elapsed() - teller$began
    sprintf("%s %.0f of %.0f, %.0f s gone, %.0f s left", what, done, teller$n_steps, gone,
            gone * (teller$n_steps - done) / max(done, 1))
  })
}
