# The picture of README.md, drawn by the example beside it: Rscript tools/readme-figure.R.

lines <- readLines("README.md", encoding = "UTF-8")
fences <- grep("^```", lines)
begin <- which(lines == "```r")[1]
code <- lines[(begin + 1):(fences[fences > begin][1] - 1)]
grDevices::png("man/figures/README-bars.png", 900, 420, res = 110)
source(exprs = parse(text = code))
invisible(grDevices::dev.off())
