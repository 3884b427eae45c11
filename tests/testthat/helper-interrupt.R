# Work that is interrupted in a process of its own, at a moment that is drawn. Each entry prepares
# its data and returns the work; all would go on for far longer than anyone waits.

endless <- function(...) {
  gps_control(max_iter = 1e6, tol = 0, n_threads = 1, progress = FALSE, ...)
}

interrupted_work <- list(
  binary_basis = function() {
    y <- simulate_bars(4000, value = 5)$y
    function() {
      gps_fit(y, model_binary_sparse(10), selector_gp(kernel_rbf(), "ichol", rank = 60), 5,
              control = endless(n_starts = 3))
    }
  },
  binary_exact_gp = function() {
    y <- simulate_bars(700, value = 5)$y
    function() {
      gps_fit(y, model_binary_sparse(10), selector_gp(kernel_rbf(), "exact"), 5,
              control = endless(n_starts = 4))
    }
  },
  binary_gibbs = function() {
    y <- simulate_bars(300, value = 5)$y
    function() {
      gps_fit(y, model_binary_sparse(10), selector_handcrafted(), 8,
              control = endless(n_starts = 1, method = "gibbs", sweeps = c(200, 200)))
    }
  },
  spike_slab = function() {
    y <- simulate_bars(3000, "spike_slab")$y
    function() gps_fit(y, model_spike_slab(10), selector_gp(), 5, control = endless(n_starts = 2))
  },
  max_spike_slab = function() {
    y <- simulate_bars(2000, "max_spike_slab", psi = 0.1)$y
    function() {
      gps_fit(y, model_max_spike_slab(10), selector_random(), 6, control = endless(n_starts = 2))
    }
  },
  mixture = function() {
    y <- matrix(rnorm(900 * 120), 900)
    function() {
      gps_fit(y, model_gaussian_mixture(12), selector_full(), control = endless(n_starts = 1))
    }
  },
  occlusive = function() {
    y <- simulate_scenes(scene_objects(3, 6), 150, size = c(11, 13), prob = 0.4)$y
    function() {
      gps_fit(y, model_occlusive(4, c(8, 8)), selector_handcrafted(), 3,
              control = endless(n_starts = 1, anneal = 1))
    }
  },
  batches = function() {
    y <- simulate_bars(3000, value = 5)$y
    function() {
      gps_fit(y, model_binary_sparse(10), selector_gp(rank = 50), 5,
              control = endless(n_starts = 1, batch_size = 200))
    }
  },
  source = function() {
    y <- simulate_bars(2500, value = 5)$y
    read <- function(from, to) {
      Sys.sleep(0.05)
      y[from:to, , drop = FALSE]
    }
    function() {
      gps_fit(gps_source(nrow(y), ncol(y), read), model_binary_sparse(10),
              selector_handcrafted(), 5, control = endless(n_starts = 1))
    }
  },
  gp_fit = function() {
    x <- matrix(rnorm(9000), 1500)
    y <- sin(x[, 1]) + rnorm(1500) / 10
    function() repeat gp_fit(x, y)
  },
  gp_predict = function() {
    x <- matrix(rnorm(5000), 1000)
    gp <- gp_fit(x, cbind(sin(x[, 1]), x[, 2]), optimise = FALSE)
    new <- matrix(rnorm(3e6), ncol = 5)
    function() predict(gp, new)
  },
  estep = function() {
    y <- simulate_bars(512, value = 5)$y
    model <- gps_bind(model_binary_sparse(10), y)
    params <- gps_init(model, y)
    selected <- matrix(1:5, 512, 5, byrow = TRUE)
    function() gps_estep(model, params, y, selected, method = "gibbs", sweeps = c(1e6, 1))
  },
  pivots = function() {
    x <- matrix(rnorm(60000 * 4), 60000)
    y <- sin(x[, 1])
    function() {
      gp_fit(x, y, kernel_rbf(0.3) + kernel_white(), method = "ichol", rank = 2000,
             optimise = FALSE)
    }
  },
  denoise = function() {
    image <- matrix(rnorm(90000, 100, 20), 300)
    function() gps_denoise(image, 20, size = 8, n_train = 4000)
  }
)

# What came of one interrupt: CPU seconds until the answer, its class, and whether what belongs
# together in a fit does.
answer_interrupt <- function(work, wait, rule) {
  file <- tempfile()
  on.exit(unlink(file))
  pid <- Sys.getpid()
  # The moment is one of the work's own, CPU time since it began, however busy the machine is; of
  # work that waits it is an end of patience.
  script <- c(
    "begun=", "for i in $(seq 2000); do",
    sprintf("  read -r line < /proc/%d/stat || break", pid),
    "  set -- ${line##*[)] }", "  now=$((${12} + ${13}))", "  [ -n \"$begun\" ] || begun=$now",
    sprintf("  [ $((now - begun)) -ge %.0f ] && break", 100 * wait), "  sleep 0.01", "done",
    sprintf("cat /proc/%d/stat > %s; kill -INT %d", pid, file, pid)
  )
  system(sprintf("sh -c %s > /dev/null 2>&1 &", shQuote(paste(script, collapse = "\n"))))
  answer <- tryCatch(suppressWarnings(work()), interrupt = function(condition) "interrupt")
  seconds <- sum(proc.time()[1:2])
  ticks <- as.numeric(strsplit(sub("^.*[)] ", "", readLines(file)), " ")[[1]][12:13])
  class <- if (is.character(answer)) answer else class(answer)[1]
  list(cpu = seconds - sum(ticks) / 100, class = class, sound = rule(answer))
}

# Parameters, slots and bound of a fit that was interrupted.
is_fit_whole <- function(fit) {
  if (identical(fit, "interrupt")) return(TRUE)
  if (!inherits(fit, "gps_fit")) return(inherits(fit, "gps_denoised"))
  if (!identical(fit$status, "interrupted") || !is.finite(fit$bound)) return(FALSE)
  if (fit$method == "gibbs" || !is.null(fit$control$batch_size)) {
    return(identical(dim(fit$selected), dim(fit$prob_on)) && ncol(fit$selected) == fit$n_points)
  }
  y <- if (is.matrix(fit$y)) t(fit$y) else return(TRUE)
  step <- gps_estep(fit$model, fit$params, y, t(fit$selected), max_active = fit$max_active)
  abs(sum(step$log_evidence) - fit$bound) <= 1e-10 * max(1, abs(fit$bound))
}

# One line for each moment: work, CPU seconds, class, and whether it is sound.
interrupt_at <- function(moments) {
  code <- c(
    "set.seed(1)",
    paste("endless <-", paste(deparse(endless), collapse = "\n")),
    paste("answer_interrupt <-", paste(deparse(answer_interrupt), collapse = "\n")),
    paste("is_fit_whole <-", paste(deparse(is_fit_whole), collapse = "\n")),
    paste("works <-", paste(deparse(interrupted_work[unique(moments$work)]), collapse = "\n")),
    "made <- list()",
    sprintf("moments <- %s", paste(deparse(moments), collapse = "\n")),
    "for (i in seq_len(nrow(moments))) {",
    "  name <- moments$work[i]",
    "  if (is.null(made[[name]])) made[[name]] <- works[[name]]()",
    "  set.seed(i)",
    "  found <- answer_interrupt(made[[name]], moments$wait[i], is_fit_whole)",
    "  next_fit <- gps_fit(simulate_bars(60)$y, model_binary_sparse(4), selector_handcrafted(),",
    "                      control = gps_control(max_iter = 3, n_starts = 1))",
    "  cat('moment', name, found$cpu, found$class, found$sound, class(next_fit), '\\n')",
    "}"
  )
  output <- run_script(code, env = "OPENBLAS_NUM_THREADS=1", timeout = 60 + 20 * nrow(moments))
  lines <- grep("^moment ", output, value = TRUE)
  found <- utils::read.table(text = lines, stringsAsFactors = FALSE,
                             col.names = c("", "work", "cpu", "class", "sound", "next_fit"))[-1]
  attr(found, "output") <- output
  found
}
