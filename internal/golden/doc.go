// Package golden finds the recorded results of the official tools that tests compare with.
//
// It owns where they are: the folder named by MLPERF_GO_GOLDEN, else shared/golden beside the repository. In: the name
// of a part. Out: its folder; the test is skipped, with a message, where it is absent.
//
// Only tests import it, and it imports nothing of the project.
package golden
