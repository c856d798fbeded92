#!/usr/bin/env bash
# gofmt, go vet (with and without LoadGen), staticcheck, misspell, clang-format. The last three are pinned and fetched
# by package name.
set -euo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has deprecated.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  printf 'lint: gofmt would change:\n%s\n' "$unformatted" >&2
  exit 1
fi
go vet ./...
go vet -tags noloadgen ./...
go build -modfile=tools/go.mod -o .cache/staticcheck honnef.co/go/tools/cmd/staticcheck
.cache/staticcheck ./...
go build -modfile=tools/go.mod -o .cache/misspell github.com/golangci/misspell/cmd/misspell
# The ignored words are wrong on purpose: an official script prints them, or tests use them as wrong names.
git ls-files '*.go' '*.md' '*.c' '*.cc' '*.h' '*.sh' '*.yaml' | xargs .cache/misspell -error -i sucessfully,modle,acuracy
version=$(sed -n 's/^clang-format==//p' tools/requirements.txt)
if [ "$(cat .cache/clang-format/.version 2>/dev/null)" != "$version" ]; then
  rm -rf .cache/clang-format
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --target .cache/clang-format -r tools/requirements.txt
  printf '%s' "$version" >.cache/clang-format/.version
fi
git ls-files '*.c' '*.cc' '*.h' | PYTHONPATH=.cache/clang-format xargs .cache/clang-format/bin/clang-format --dry-run -Werror
