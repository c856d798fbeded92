# Finds what `make` would silently ignore: a misspelled variable, or a word that is no target. ENDPONT=http://host:8000
# would otherwise measure the simulator. It prints one sentence about the first such word, and nothing if all are known.
#
#   awk -v goals='run' -v given='MODEL ENDPONT' -f scripts/check-make.awk Makefile
#
# The Makefile's help lines ("## make run ...: MODEL= [ENDPOINT=]") are the table of targets and their variables.

BEGIN {
  # Accepted with every target: tools that build the program read them.
  standard = "^(GO[A-Z0-9]*|CGO_[A-Z]+|CC|CXX|AR|LD|C(XX|PP)?FLAGS|LDFLAGS|V|BIN|CI|SHELL|PATH|HOME|TMPDIR|LANG|LC_[A-Z]+" \
    "|NO_COLOR|PIP_[A-Z_]+|[a-z]+_proxy|[A-Z]+_PROXY|LOADGEN_(SDIST|SRC|ROOT)|MLPERF_GO_[A-Z0-9_]+)$"
}

/^## make / {
  targets[$3] = 1
  line = $0
  while (match(line, /[A-Z][A-Z_]*=/)) {
    known[$3] = known[$3] " " substr(line, RSTART, RLENGTH - 1)
    line = substr(line, RSTART + RLENGTH)
  }
}

END {
  if (goals == "") names = known["build"]
  count = split(goals, goal, " ")
  for (i = 1; i <= count; i++) {
    if (!(goal[i] in targets) && goal[i] != "tools-check") {
      near = nearest(goal[i], keys(targets))
      print "there is no target '" goal[i] "'" (near == "" ? "." : "; did you mean '" near "'?") \
        " Nothing was started. `make help` lists the targets; variables are written NAME=VALUE"
      exit
    }
    names = names known[goal[i]]
  }
  count = split(given, word, " ")
  for (i = 1; i <= count; i++) {
    if (word[i] ~ standard || index(names " ", " " word[i] " ")) continue
    near = nearest(word[i], names)
    print "`make " (goals == "" ? "build" : goals) "` has no variable " word[i] \
      (near != "" ? "; did you mean " near "?" : owners(word[i])) " Nothing was started. " \
      (names == "" ? "`make help` lists the variables of each target" : "Its variables are" names)
    exit
  }
}

function keys(of, k, all) {
  for (k in of) all = all " " k
  return all
}

# owners names the targets that have a variable.
function owners(name, k, all) {
  for (k in known) if (index(known[k] " ", " " name " ")) all = all (all == "" ? "" : ", ") k
  return all == "" ? "." : "; it belongs to: " all "."
}

# nearest returns the word of a list with the fewest edits, if that is at most a third of the letters. Of several it is
# the one whose length is nearest.
function nearest(word, list, n, i, words, d, least, best, other, off) {
  least = int(length(word) / 3) + 1
  n = split(list, words, " ")
  for (i = 1; i <= n; i++) {
    d = distance(toupper(word), toupper(words[i]))
    other = length(word) - length(words[i])
    if (other < 0) other = -other
    if (d < least || d == least && best != "" && other < off) { least = d; best = words[i]; off = other }
  }
  return best
}

# distance counts the letters to insert, delete or replace, and the neighbours to swap.
function distance(a, b, i, j, at, cost) {
  for (j = 0; j <= length(b); j++) at[0, j] = j
  for (i = 1; i <= length(a); i++) {
    at[i, 0] = i
    for (j = 1; j <= length(b); j++) {
      cost = at[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1))
      if (at[i - 1, j] + 1 < cost) cost = at[i - 1, j] + 1
      if (at[i, j - 1] + 1 < cost) cost = at[i, j - 1] + 1
      if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1) \
          && at[i - 2, j - 2] + 1 < cost) cost = at[i - 2, j - 2] + 1
      at[i, j] = cost
    }
  }
  return at[length(a), length(b)]
}
