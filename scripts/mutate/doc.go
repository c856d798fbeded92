// Command mutate measures what tests notice: it changes the source in one place at a time, runs the tests, and lists
// the changes that every test passed.
//
//	go run ./scripts/mutate -n 20 -seed 1 submission/campaign
//	go run ./scripts/mutate -n 0 -run Limits run/limits.go run/ends.go:37:6
//	go run ./scripts/mutate -tests './backends/... ./run' backends/internal/wire/reader
//	go run ./scripts/mutate -n 200 -short -skip '^(scripts|cmd|internal/arch)' ./...
//	go run ./scripts/mutate -n 10 loadgen-cgo/bridge.cc
//
// The second line selects all mutants of a file, or of a place as survivors are named, and some tests of their
// package. The third runs the tests of other packages too, after the package's own and where they depend on it. The
// fourth draws from all packages that have tests, each with its own, so that large packages get more mutants. The
// fifth mutates C++, by patterns (cpp.go).
//
// A mutant negates a condition, moves a boundary, drops an operand, a statement or the check of an error, returns
// early or without the error, or changes an operator or a constant (find.go). Tests, log calls, the text of errors,
// literal limits such as 64 << 20, capacities, the size of ParseFloat, padding, constants beside a returned error,
// deferred calls of Close and files of other platforms have none. The seed chooses the sample; mutants that do not
// compile are passed over.
//
// The sampled mutants of a package share its test programs, so that each costs a run and no compilation (schema.go). A
// mutant is a copy of its whole function, and the function begins with a switch that chooses a copy by the number in a
// file. Every test runs alone first, without a mutant, which shows the functions that it reaches, sets the time limit
// and reports skipped tests, as recorded results may be missing (batch.go). Then a mutant runs only the tests that
// reach its function, the quick ones first. Mutants outside functions, in C++ and in files with cgo are compiled one by
// one (gotest.go).
//
// Processes that a test starts count too. Each reads the choice and maps the file of its notes when it starts, so that
// a process that confines itself later still notes what it reaches. A process that starts where it cannot read these
// files, such as a program inside a sandbox, runs the original.
//
// A mutant that exceeds its time limit gets a longer one (-patience), since the machine may be busy, and counts as
// noticed when it exceeds that too. So does one whose tests use more memory than -memory allows (memory.go), because
// endless growth would make the kernel end programs of others.
//
// The tree is never written: the go command reads mutants through an overlay, and so does a go build that a test
// starts. Where the machine allows it, tests run in a process namespace of their own, because a mutant may signal any
// process. Root keeps its rights in it; other users get a namespace of users as well.
//
// Standard output gets the survivors with their changes, and tables by file and kind; standard error gets a line per
// mutant. The exit code is 0 when -goal percent of the mutants were noticed, 1 when fewer were, and 2 when nothing was
// measured.
//
// Why not go-gremlins/gremlins: both were measured on the same internal/atomicfile. gremlins 0.6.0 reported 26 mutants
// killed, 10 timed out, none alive, "efficacy 100 %". This command reported 14 survivors among 25, such as a Sync whose
// error is dropped: gremlins has no mutant that drops a statement, an operand or the check of an error. Its time limit
// follows from its coverage run, and is too short for quick packages. It draws no sample, runs the tests of one package
// or of all, copies the module (tests that look for files beside it skip), and leaves out lines that only child
// processes reach as "not covered": 69 of 260 mutants of submission/campaign.
//
// The package imports nothing of the project and nothing imports it.
package main
