# How much memory this process has and can still get, as the system says it. Where nobody says it,
# it is NA, and nothing is decided by it.

# Bytes of the process now.
process_bytes <- function() {
  bytes <- read_status("/proc/self/status", "VmRSS")
  if (is.na(bytes)) bytes_used() else bytes
}

# Bytes of R's heap, now or at the peak since the last reset. Only what there is now asks for a
# collection of all garbage, which takes long in a session that holds much.
bytes_used <- function(peak = FALSE, reset = FALSE) {
  table <- gc(reset = reset, full = !peak)
  column <- if (peak) which(colnames(table) == "max used") else 1L
  sum(table[, column] * c(56, 8))
}

# Bytes that the system has free for it: of the machine, of the limits of the containers that it is
# in, and of the shell (`ulimit -v`), the least.
free_bytes <- function(root = "") {
  least <- c(read_status(file.path(root, "/proc/meminfo"), "MemAvailable"), group_bytes(root),
             address_bytes(root))
  if (all(is.na(least))) NA_real_ else max(0, min(least, na.rm = TRUE))
}

# What may be swapped out besides, where no other limit is nearer.
swap_bytes <- function(root = "") {
  bytes <- read_status(file.path(root, "/proc/meminfo"), "SwapFree")
  if (is.na(bytes)) 0 else bytes
}

# The value of a line "name: 12 kB".
read_status <- function(path, name) {
  line <- grep(paste0("^", name, ":"), read_quietly(path), value = TRUE)
  if (length(line) == 1) 1024 * as.double(gsub("[^0-9]", "", line)) else NA_real_
}

# Opening what cannot be read would leave a connection behind.
read_quietly <- function(path) {
  if (file.access(path, 4) != 0 || dir.exists(path)) return(character())
  tryCatch(readLines(path, warn = FALSE), error = function(condition) character(),
           warning = function(condition) character())
}

# Bytes that address space leaves, which `ulimit -v` bounds.
address_bytes <- function(root = "") {
  line <- grep("^Max address space", read_quietly(file.path(root, "/proc/self/limits")),
               value = TRUE)
  limit <- suppressWarnings(as.double(strsplit(sub("^Max address space +", "", line), " ")[1][[1]]))
  used <- read_status(file.path(root, "/proc/self/status"), "VmSize")
  if (length(limit) == 0) NA_real_ else limit[1] - used
}

# Bytes that Linux' control groups leave: that of this process and all around it have limits each.
# Pages of files that can be given up count as free.
group_bytes <- function(root = "") {
  lines <- read_quietly(file.path(root, "/proc/self/cgroup"))
  parts <- regmatches(lines, regexec("^[0-9]+:([^:]*):(.*)$", lines))
  left <- unlist(lapply(parts, function(part) {
    if (length(part) != 3) return(NULL)
    names <- group_files(part[2])
    if (is.null(names)) return(NULL)
    vapply(paths_above(part[3]), function(path) {
      folder <- paste0(root, names[["folder"]], path)
      room_in(file.path(folder, names[["limit"]]), file.path(folder, names[["used"]]),
              file.path(folder, "memory.stat"), names[["given_up"]])
    }, 1)
  }))
  if (all(is.na(left))) NA_real_ else min(left, na.rm = TRUE)
}

# Where the two versions of control groups keep it; NULL of a group of something else.
group_files <- function(controllers) {
  if (controllers == "") {
    c(folder = "/sys/fs/cgroup", limit = "memory.max", used = "memory.current",
      given_up = "inactive_file")
  } else if ("memory" %in% strsplit(controllers, ",")[[1]]) {
    c(folder = "/sys/fs/cgroup/memory", limit = "memory.limit_in_bytes",
      used = "memory.usage_in_bytes", given_up = "total_inactive_file")
  }
}

# "/a/b", "/a" and "": in a container the first ones may not be there.
paths_above <- function(path) {
  parts <- Filter(nzchar, strsplit(path, "/")[[1]])
  c(vapply(rev(seq_along(parts)), function(n) {
    paste0("/", paste(parts[seq_len(n)], collapse = "/"))
  }, ""), "")
}

room_in <- function(limit, used, stat, given_up) {
  number <- function(lines) {
    if (length(lines) == 1) suppressWarnings(as.double(lines)) else NA_real_
  }
  limit <- number(read_quietly(limit))
  # Most groups have none, and what they use is long to read.
  if (is.na(limit)) return(NA_real_)
  cached <- number(sub("^\\S+ ", "", grep(paste0("^", given_up, " "), read_quietly(stat),
                                          value = TRUE)))
  limit - max(0, number(read_quietly(used)) - sum(cached, na.rm = TRUE))
}

# Refuses work that needs more bytes than there are, before it begins. `what` says what needs them;
# an option turns this off.
check_memory <- function(needed, what, instead) {
  if (isFALSE(getOption("gpselect.check_memory", TRUE))) return(invisible())
  free <- free_bytes() + swap_bytes()
  if (is.na(free) || needed <= free) return(invisible())
  gps_abort(sprintf(
    "%s needs at least %s of memory, and %s are free. %s %s", what, say_bytes(needed),
    say_bytes(free), instead,
    "options(gpselect.check_memory = FALSE) begins all the same."
  ), "memory", needed = needed, free = free)
}

say_bytes <- function(bytes) {
  if (bytes >= 2^30) return(sprintf("%s GB", plain_number(bytes / 2^30, 3)))
  sprintf("%s MB", plain_number(bytes / 2^20, 3))
}
