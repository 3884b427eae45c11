# How much memory is free, by files such as Linux has.

# A root folder with these files: lists of lines by path.
fake_root <- function(files) {
  root <- tempfile()
  for (path in names(files)) {
    dir.create(dirname(file.path(root, path)), recursive = TRUE, showWarnings = FALSE)
    writeLines(files[[path]], file.path(root, path))
  }
  root
}

free_in <- function(...) gpselect:::free_bytes(fake_root(list(...)))

machine <- c("MemTotal: 9000 kB", "MemAvailable:    4000 kB", "SwapFree:  500 kB")

test_that("the least of machine, control groups and address space is free", {
  expect_identical(free_in("proc/meminfo" = machine), 4000 * 1024)
  expect_identical(free_in(), NA_real_)
  expect_identical(gpselect:::swap_bytes(fake_root(list("proc/meminfo" = machine))), 500 * 1024)
  expect_identical(gpselect:::swap_bytes(tempfile()), 0)
  # Version 2: the group has no limit, the one around it has, of which pages of files are given up.
  second <- list("proc/meminfo" = machine, "proc/self/cgroup" = "0::/outer/inner",
                 "sys/fs/cgroup/outer/inner/memory.max" = "max",
                 "sys/fs/cgroup/outer/inner/memory.current" = "5",
                 "sys/fs/cgroup/outer/memory.max" = "1000000",
                 "sys/fs/cgroup/outer/memory.current" = "700000",
                 "sys/fs/cgroup/outer/memory.stat" = c("anon 3", "inactive_file 200000"))
  expect_identical(do.call(free_in, second), 1e6 - 7e5 + 2e5)
  # Version 1, in a container that does not see its own path.
  first <- list("proc/meminfo" = machine,
                "proc/self/cgroup" = c("3:cpu:/", "4:memory:/docker/17", "0::/"),
                "sys/fs/cgroup/memory/memory.limit_in_bytes" = "800000",
                "sys/fs/cgroup/memory/memory.usage_in_bytes" = "900000",
                "sys/fs/cgroup/memory/memory.stat" = c("inactive_file 1", "total_inactive_file 2"))
  expect_identical(do.call(free_in, first), 0)
  bounded <- list("proc/meminfo" = machine,
                  "proc/self/limits" = "Max address space         3000000        unlimited   bytes",
                  "proc/self/status" = c("VmSize:   1000 kB", "VmRSS: 10 kB"))
  expect_identical(do.call(free_in, bounded), 3e6 - 1024 * 1000)
  bounded[["proc/self/limits"]] <- "Max address space         unlimited      unlimited   bytes"
  expect_identical(do.call(free_in, bounded), 4000 * 1024)
})

test_that("this process has some memory", {
  expect_gt(gpselect:::process_bytes(), 2^20)
  free <- gpselect:::free_bytes()
  expect_true(is.na(free) || free > 0)
})
