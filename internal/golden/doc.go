// Package golden finds the recorded results of the official tools that tests compare with.
//
// They are in the folder named by MLPERF_GO_GOLDEN, or in the default folder that Dir names. Dir returns the
// folder of one part and skips the test with a message if it is absent.
//
// Only tests import it, and it imports nothing of the project.
package golden
